"""Compile, or load from the cache, the kernels that a first soft tree needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.soft_trees.boosting_machine import VariationalSoftGBMRegressor
from gbuq_core.soft_trees.classifier import VariationalSoftTreeClassifier
from gbuq_core.soft_trees.regressor import VariationalSoftTreeRegressor

_SMALL: dict[str, Any] = {
    "depth": 1, "n_steps": 2, "n_restarts": 1, "n_draws": 2, "random_state": 0,
}  # fmt: skip
_X = np.linspace(-1.0, 1.0, 8)[:, None]


def warm_up() -> None:
    """Fit a tiny tree with the default output and draw from it, so that no user waits."""
    tree = VariationalSoftTreeRegressor(n_jobs=1, **_SMALL).fit(_X, _X[:, 0])
    tree.predict_uncertainty(_X)
    tree.log_score(_X, _X[:, 0])
    tree.tree_picture(_X)


def compile_means() -> None:
    """Trees whose leaves are means, as a machine of several trees has them."""
    trees = VariationalSoftGBMRegressor(n_trees=1, **_SMALL).fit(_X, _X[:, 0])
    trees.log_score(_X, _X[:, 0])


def compile_classes() -> None:
    """Trees of classes."""
    classes = VariationalSoftTreeClassifier(**_SMALL).fit(_X, _X[:, 0] > 0.0)
    classes.log_score(_X, _X[:, 0] > 0.0)
