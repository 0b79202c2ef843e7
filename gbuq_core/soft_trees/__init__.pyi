from gbuq_core.soft_trees.boosting_machine import VariationalSoftGBMRegressor
from gbuq_core.soft_trees.classifier import VariationalSoftTreeClassifier
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.layout import DEFAULT_GRID, TreeShape
from gbuq_core.soft_trees.regressor import VariationalSoftTreeRegressor
from gbuq_core.soft_trees.results import (
    ClassTreePicture,
    ElboPath,
    FittedTree,
    Snapshots,
    TreePicture,
    TunedSoftTree,
)
from gbuq_core.soft_trees.tuning import tune_soft_tree

__all__ = [
    "DEFAULT_GRID",
    "ClassTreePicture",
    "ElboPath",
    "FittedTree",
    "LowRankGaussian",
    "Snapshots",
    "TreePicture",
    "TreeShape",
    "TunedSoftTree",
    "VariationalSoftGBMRegressor",
    "VariationalSoftTreeClassifier",
    "VariationalSoftTreeRegressor",
    "tune_soft_tree",
]
