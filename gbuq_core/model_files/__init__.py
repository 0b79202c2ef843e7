"""Saved models: the container, and one walker that fills it.

No pickle: an npz archive with a JSON header. `fields` walks estimators by the fields that their
classes declare, `libraries` knows the models of other libraries.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
