"""Baselines from the papers: methods of other libraries behind this project's conventions.

Random forests as ensembles, either one forest in groups (vRF) or several forests, on scikit-learn's
trees (Malinin et al., 2021, appendix C); Euclidean neighbours and averages of distributions (Brophy
and Lowd, IBUG, 2022, appendix C.2 and section 5.2); posteriors over functions, XBART and a Gaussian
process (Cinquin et al., 2022, section 5). The peers of MACAU (Merilinna, 2023, section 4): forests
with the spread of their trees, quantiles, conformal intervals, a linear log-variance (GNLL),
NGBoost, CatBoost and isolation forests. `gbuq_core.methods` lists them all by name.
"""

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
from gbuq_core.baselines.quantiles import QuantileDistribution, QuantileForestRegressor
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
    "QuantileDistribution",
    "QuantileForestRegressor",
    "XBARTRegressor",
    "average_distributions",
]
