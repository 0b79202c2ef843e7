"""Compile, or load from the cache, the kernels that a first MACAU fit needs."""

from __future__ import annotations

import numpy as np

from gbuq_core.macau.classifier import MacauClassifier
from gbuq_core.macau.regressor import MacauRegressor


def warm_up() -> None:
    """Fit a tiny forest of a regression and predict with it, so that no user waits."""
    x = np.linspace(-1.0, 1.0, 16)[:, None]
    model = MacauRegressor(n_trees=2, min_child_samples=4, random_state=0, n_jobs=1)
    model.fit(x, x[:, 0] ** 2).score_novelty(x)
    model.explain_novelty(x)


def compile_classes() -> None:
    """Logistic leaves."""
    x = np.linspace(-1.0, 1.0, 16)[:, None]
    classifier = MacauClassifier(n_trees=2, min_child_samples=4, random_state=0, n_jobs=1)
    classifier.fit(x, x[:, 0] > 0.0).score_novelty(x)
