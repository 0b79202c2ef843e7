"""Compile, or load from the cache, every kernel that a first fit needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
from gbuq_core.boosting.regressor import BoostedEnsembleRegressor


def warm_up() -> None:
    """Fit and predict tiny models with the real types, so that no user waits for a compiler.

    Takes under a second with a warm cache and about half a minute the first time ever.
    """
    X = np.arange(12.0).reshape(6, 2)
    small: dict[str, Any] = {
        "stopping": None,
        "n_members": 1,
        "n_trees": 2,
        "depth": 2,
        "random_state": 0,
        "n_jobs": 1,
    }
    BoostedEnsembleRegressor(**small).fit(X, X[:, 0]).predict_uncertainty(X)
    for n_classes in (2, 3):
        classes = np.arange(6) % n_classes
        BoostedEnsembleClassifier(**small).fit(X, classes).predict_uncertainty(X)
