"""A scored table looked at again without training: cut ensembles, code, words."""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
