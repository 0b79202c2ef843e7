"""How the rows of a split are held out for tuning in IBUG's and the soft trees' tables."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.report import load_split

SCORES = ("crps", "nll", "rmse")
VALIDATION_SHARE = 0.2


class Parts(NamedTuple):
    """Training rows in two parts, all of them together, and the test rows; all float64."""

    X_fit: np.ndarray
    y_fit: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    seed: int

    @property
    def X_all(self) -> np.ndarray:
        """All training rows, the validation part last."""
        return np.concatenate([self.X_fit, self.X_val])

    @property
    def y_all(self) -> np.ndarray:
        """Their targets."""
        return np.concatenate([self.y_fit, self.y_val])


def load_parts(data_dir: Path, name: str, split: int) -> Parts:
    """One split of a set, a fifth of its training rows held out for tuning; split is the seed."""
    data = load_split(data_dir, name, split)
    order = np.random.default_rng(split).permutation(len(data.y_train))
    n_val = round(VALIDATION_SHARE * len(order))
    val, fit = np.sort(order[:n_val]), np.sort(order[n_val:])
    X, y = data.X_train, data.y_train
    return Parts(X[fit], y[fit], X[val], y[val], data.X_test, data.y_test, split)
