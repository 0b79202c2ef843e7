from gbuq_core.boosting.base import load_ensemble
from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
from gbuq_core.boosting.regressor import BoostedEnsembleRegressor
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
