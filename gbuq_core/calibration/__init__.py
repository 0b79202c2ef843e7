"""Making stated uncertainty true: how long to boost the mean, how long the scale, and by what
factor the scale is off, chosen on rows that the model has not learnt from.

No paper's method: Malinin et al. and Tan et al. train to the end (`stopping=None`); see
docs/departures.md for what that costs.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
