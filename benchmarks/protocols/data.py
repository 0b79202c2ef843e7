"""The sets that protocols share: their splits, and rows of another set that stand for foreign ones.

The folder of ``--data-dir`` has regression sets (`benchmarks.report.load_split`). Sets of classes
come with scikit-learn: `BUILTIN`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

from benchmarks.report import Rows, load_split

ROWS = {
    "boston": 506, "concrete": 1030, "energy": 768, "power": 9568, "protein": 45730, "wine": 1599,
    "california": 20640, "breast_cancer": 569, "wine_cultivars": 178, "digits": 1797,
}  # fmt: skip
SPLITS = {"boston": 20, "concrete": 20, "energy": 20, "power": 20, "protein": 5, "wine": 20}
# Of all rows: what papers with standardised targets have divided by.
TARGET_STD = {
    "boston": 9.188, "concrete": 16.70, "energy": 10.08, "power": 17.07, "protein": 6.118,
    "wine": 0.8073,
}  # fmt: skip
CLASS_SPLITS = {"breast_cancer": 20, "wine_cultivars": 20, "digits": 20}
BUILTIN = {"breast_cancer": load_breast_cancer, "wine_cultivars": load_wine, "digits": load_digits}
# Where foreign rows come from: a set with as many columns. Boston has 13 columns, which no other
# set of the folder has.
FOREIGN = {
    "boston": "breast_cancer", "concrete": "protein", "energy": "protein", "power": "protein",
    "protein": "boston", "wine": "boston", "breast_cancer": "digits",
    "wine_cultivars": "breast_cancer", "digits": "breast_cancer",
}  # fmt: skip
SMOKE_ROWS = 120
SEED_OF_TEST_ROWS = 1000  # of made-up sets: that of their training rows is below it


def whole_rows(data_dir: Path, name: str) -> np.ndarray:
    """All rows of a set of the folder, (n, n_features + 1) with the target last."""
    table = pd.read_csv(data_dir / f"{name}.csv.gz")
    return table.to_numpy(dtype=np.float64)


def regression_rows(data_dir: Path, name: str, split: int, smoke: bool = False) -> Rows:
    """A split of a set of the folder; the last fifth of its training rows is for validation.

    The authors' files have the training rows in random order; here they are shuffled with the
    split's number as the seed.
    """
    data = load_split(data_dir, name, split)
    order = np.random.default_rng(split).permutation(len(data.y_train))
    test = slice(None)
    if smoke:
        order, test = order[:SMOKE_ROWS], slice(SMOKE_ROWS)
    X, y = data.X_train[order], data.y_train[order]
    n = int(0.8 * len(y))
    return Rows(X[:n], y[:n], X[n:], y[n:], data.X_test[test], data.y_test[test])


def class_rows(name: str, split: int, smoke: bool = False) -> Rows:
    """65 % of the rows to fit, 15 % for validation and 20 % to test, each class in proportion."""
    X, y = BUILTIN[name](return_X_y=True)
    if smoke:
        X, _, y, _ = train_test_split(X, y, train_size=SMOKE_ROWS, random_state=0, stratify=y)
    rest, X_test, y_rest, y_test = train_test_split(
        X, y, test_size=0.2, random_state=split, stratify=y
    )
    X_fit, X_val, y_fit, y_val = train_test_split(
        rest, y_rest, test_size=0.15 / 0.8, random_state=split, stratify=y_rest
    )
    return Rows(X_fit, y_fit, X_val, y_val, X_test, y_test)


def foreign_rows(
    data_dir: Path | None, name: str, X_train: np.ndarray, n: int, seed: int
) -> np.ndarray:
    """``n`` rows of another set, with the first columns of it, put on the scales of ``X_train``."""
    other = FOREIGN[name]
    if other in BUILTIN:
        rows = BUILTIN[other]().data
    else:
        assert data_dir is not None
        data = load_split(data_dir, other, 0)
        rows = np.concatenate([data.X_train, data.X_test])
    rows = rows[:, rows.std(axis=0) > 0.0]
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rng = np.random.default_rng((seed, 29))
    parts: list[np.ndarray] = []
    while sum(part.shape[1] for part in parts) < X_train.shape[1]:
        left = X_train.shape[1] - sum(part.shape[1] for part in parts)
        drawn = np.resize(rng.permutation(len(standard)), n)
        parts.append(standard[drawn][:, :left])
    return np.asarray(X_train.mean(axis=0) + X_train.std(axis=0) * np.hstack(parts))
