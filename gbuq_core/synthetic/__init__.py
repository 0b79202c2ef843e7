"""Synthetic data sets with their true mean and noise, and the regions that have training rows.

A larger set only appends rows. The first rows, the cell means and the standard normals behind the
noise stay the same, so a slider for the size or the noise changes nothing else.
Impossible arguments are refused by `InvalidParameter`, in one sentence.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
