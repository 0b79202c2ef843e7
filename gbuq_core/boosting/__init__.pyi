from gbuq_core.boosting.base import load_ensemble
from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
from gbuq_core.boosting.regressor import BoostedEnsembleRegressor
from gbuq_core.boosting.virtual import VirtualEnsemble

__all__ = [
    "BoostedEnsembleClassifier",
    "BoostedEnsembleRegressor",
    "VirtualEnsemble",
    "load_ensemble",
]
