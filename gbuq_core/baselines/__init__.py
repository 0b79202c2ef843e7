"""What the papers compare with: methods of other libraries behind this project's conventions.

Random forests as ensembles, one in groups (vRF) or several, on scikit-learn's trees (Malinin et
al., 2021, appendix C); Euclidean neighbours and averages of distributions (Brophy and Lowd, IBUG,
2022, appendix C.2 and section 5.2).
"""

from gbuq_core.baselines.averaging import (
    AveragedDistribution,
    AveragingRegressor,
    average_distributions,
)
from gbuq_core.baselines.forests import ForestEnsembleClassifier, ForestEnsembleRegressor
from gbuq_core.baselines.neighbours import EuclideanNeighborsRegressor

__all__ = [
    "AveragedDistribution",
    "AveragingRegressor",
    "EuclideanNeighborsRegressor",
    "ForestEnsembleClassifier",
    "ForestEnsembleRegressor",
    "average_distributions",
]
