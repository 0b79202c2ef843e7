"""Leaves and predictions of fitted tree models of several libraries, and of their model files.

What IBUG (Brophy and Lowd, 2022, algorithm 1) needs of a model: in which leaf a row ends in each
tree. Nothing here is ever unpickled; each library is imported when a model of it comes along.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
