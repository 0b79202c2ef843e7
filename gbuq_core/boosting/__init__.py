"""Boosted ensembles: losses, Langevin noise, truncation, the estimators and their two engines.

Follows "Uncertainty in gradient boosting via ensembles" (sections 2-3, appendix A.1) and, for
cycles, "Cyclical gradient MCMC" (section 4). Kernels see cells of identical binned rows and raw
predictions; everything around them is NumPy.
"""

from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
from gbuq_core.boosting.regressor import BoostedEnsembleRegressor
from gbuq_core.boosting.saving import load_ensemble
from gbuq_core.boosting.smallest_change import SmallestChange, find_smallest_change
from gbuq_core.boosting.virtual import VirtualEnsemble

__all__ = [
    "BoostedEnsembleClassifier",
    "BoostedEnsembleRegressor",
    "SmallestChange",
    "VirtualEnsemble",
    "find_smallest_change",
    "load_ensemble",
]
