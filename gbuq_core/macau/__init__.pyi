from gbuq_core.distribution import Distribution
from gbuq_core.macau.classifier import MacauClassifier
from gbuq_core.macau.leaves import (
    LeafScaling,
    LeafTable,
    fit_scaling,
    make_leaf_table,
    number_leaves,
)
from gbuq_core.macau.regressor import MacauRegressor
from gbuq_core.macau.results import LeafEllipses, Novelty, NoveltyDetail

__all__ = [
    "Distribution",
    "LeafEllipses",
    "LeafScaling",
    "LeafTable",
    "MacauClassifier",
    "MacauRegressor",
    "Novelty",
    "NoveltyDetail",
    "fit_scaling",
    "make_leaf_table",
    "number_leaves",
]
