"""IBUG: a point-predicting tree model made probabilistic by the training rows behind a prediction.

Brophy and Lowd (2022): affinity kernels, neighbours, posterior families, calibration, estimator.
"""

from gbuq_core.ibug.class_view import ClassNeighbors, class_neighbors
from gbuq_core.ibug.estimator import IBUGRegressor
from gbuq_core.ibug.families import (
    FAMILIES,
    Posterior,
    cdf,
    check_family,
    fit_posterior,
    log_density,
    moments,
    quantile,
    sample,
)
from gbuq_core.ibug.results import (
    ClassShares,
    Distribution,
    FamilyScores,
    Neighborhood,
    ScalePath,
    Setting,
)
from gbuq_core.ibug.train_leaves import LeafDensity

__all__ = [
    "FAMILIES",
    "ClassNeighbors",
    "ClassShares",
    "Distribution",
    "FamilyScores",
    "IBUGRegressor",
    "LeafDensity",
    "Neighborhood",
    "Posterior",
    "ScalePath",
    "Setting",
    "cdf",
    "check_family",
    "class_neighbors",
    "fit_posterior",
    "log_density",
    "moments",
    "quantile",
    "sample",
]
