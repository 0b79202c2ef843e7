from gbuq_core.baselines.averaging import (
    AveragedDistribution,
    AveragingRegressor,
    average_distributions,
)
from gbuq_core.baselines.boosted_distributions import CatBoostUncertaintyRegressor, NGBoostRegressor
from gbuq_core.baselines.conformal import ConformalizedQuantileRegressor, ConformalRegressor
from gbuq_core.baselines.forests import ForestEnsembleClassifier, ForestEnsembleRegressor
from gbuq_core.baselines.gaussian_nll import GaussianNLLRegressor
from gbuq_core.baselines.gaussian_process import GaussianProcessBaseline
from gbuq_core.baselines.interval_regressor import ForestVarianceRegressor
from gbuq_core.baselines.isolation import DistanceScore, IsolationForestScore
from gbuq_core.baselines.neighbours import EuclideanNeighborsRegressor
from gbuq_core.baselines.peers import PeerClassifier, PeerRegressor, declare_peer
from gbuq_core.baselines.quantiles import (
    QuantileDistribution,
    QuantileForestRegressor,
    RoundedDistribution,
)
from gbuq_core.baselines.xbart import XBARTRegressor

__all__ = [
    "AveragedDistribution",
    "AveragingRegressor",
    "CatBoostUncertaintyRegressor",
    "ConformalRegressor",
    "ConformalizedQuantileRegressor",
    "DistanceScore",
    "EuclideanNeighborsRegressor",
    "ForestEnsembleClassifier",
    "ForestEnsembleRegressor",
    "ForestVarianceRegressor",
    "GaussianNLLRegressor",
    "GaussianProcessBaseline",
    "IsolationForestScore",
    "NGBoostRegressor",
    "PeerClassifier",
    "PeerRegressor",
    "QuantileDistribution",
    "QuantileForestRegressor",
    "RoundedDistribution",
    "XBARTRegressor",
    "average_distributions",
    "declare_peer",
]
