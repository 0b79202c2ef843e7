"""What the papers compare with: methods of other libraries behind this project's conventions.

Random forests as ensembles, one in groups (vRF) or several, on scikit-learn's trees (Malinin et
al., 2021, appendix C); Euclidean neighbours and averages of distributions (Brophy and Lowd, IBUG,
2022, appendix C.2 and section 5.2); posteriors over functions, XBART and a Gaussian process
(Cinquin et al., 2022, section 5).
"""

from gbuq_core.baselines.averaging import (
    AveragedDistribution,
    AveragingRegressor,
    average_distributions,
)
from gbuq_core.baselines.forests import ForestEnsembleClassifier, ForestEnsembleRegressor
from gbuq_core.baselines.gaussian_process import GaussianProcessBaseline
from gbuq_core.baselines.neighbours import EuclideanNeighborsRegressor
from gbuq_core.baselines.xbart import XBARTRegressor

__all__ = [
    "AveragedDistribution",
    "AveragingRegressor",
    "EuclideanNeighborsRegressor",
    "ForestEnsembleClassifier",
    "ForestEnsembleRegressor",
    "GaussianProcessBaseline",
    "XBARTRegressor",
    "average_distributions",
]
