"""Tables of the user: reading, inferring what the columns are, cleaning, scoring and exporting.

The page "Your data" and ``python -m gbuq_core score`` share it. It follows no paper of its own:
what it trains and measures is `gbuq_core.boosting` and `gbuq_core.metrics`.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
