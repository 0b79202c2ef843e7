"""How the rows of a split are held out for tuning in IBUG's and the soft trees' tables."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.report import Rows, load_split

SCORES = ("crps", "nll", "rmse")
VALIDATION_SHARE = 0.2


def load_parts(data_dir: Path, name: str, split: int) -> Rows:
    """One split of a set, a fifth of its training rows held out for tuning; split is the seed."""
    data = load_split(data_dir, name, split)
    order = np.random.default_rng(split).permutation(len(data.y_train))
    n_val = round(VALIDATION_SHARE * len(order))
    val, fit = np.sort(order[:n_val]), np.sort(order[n_val:])
    X, y = data.X_train, data.y_train
    return Rows(X[fit], y[fit], X[val], y[val], data.X_test, data.y_test, split)
