"""gbuq: uncertainty in gradient-boosted and other tree ensembles, usable without the app.

The public names stand in ``__init__.pyi``; each loads when it is used.
"""

from gbuq_core.lazy import lazy_names
from gbuq_core.numba_start import prepare_with_numba

prepare_with_numba()

__version__ = "0.2.0"  # the only place: the package takes its version from this line

__getattr__, __dir__, __all__ = lazy_names(__name__)
