"""Boosted ensembles: losses, Langevin noise, truncation, the estimators and their two engines.

Follows "Uncertainty in gradient boosting via ensembles" (sections 2-3, appendix A.1) and, for
cycles, "Cyclical gradient MCMC" (section 4). Kernels see cells of identical binned rows and raw
predictions; everything around them is NumPy.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
