from gbuq_core.distribution import Distribution
from gbuq_core.ibug.affinity import LeafDensity
from gbuq_core.ibug.class_view import ClassNeighbors, ClassShares, class_neighbors
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
from gbuq_core.ibug.family_distribution import FamilyDistribution
from gbuq_core.ibug.results import FamilyScores, Setting
from gbuq_core.ibug.search import Neighborhood, ScalePath

__all__ = [
    "FAMILIES",
    "ClassNeighbors",
    "ClassShares",
    "Distribution",
    "FamilyDistribution",
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
