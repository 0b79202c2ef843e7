"""The sets, their splits, and out-of-distribution rows from another set.

Sets of classes come with scikit-learn (`BUILTIN`), others from a folder or from a download.
"""

from __future__ import annotations

import hashlib
from collections import namedtuple
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.model_selection import train_test_split

from benchmarks.report import load_split


class Task(NamedTuple):
    """One method on one split of one set; ``known`` are settings that the first split chose."""

    data_dir: Path | None
    set: str
    split: int
    method: str
    known: Mapping[str, Any] | None = None


class Found(NamedTuple):
    """Numbers of a task by measure, and the settings that it chose."""

    scores: Mapping[str, float]
    settings: Mapping[str, Any]


class Missing(Exception):
    """A cell that cannot be computed here; the message says why in one sentence."""


class Rows(NamedTuple):
    """One split: rows to choose settings with, rows to judge them, and test rows."""

    X_fit: np.ndarray
    y_fit: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    seed: int = 0

    @property
    def X_all(self) -> np.ndarray:
        """All training rows, those that choose last."""
        return np.concatenate([self.X_fit, self.X_val])

    @property
    def y_all(self) -> np.ndarray:
        """Their targets."""
        return np.concatenate([self.y_fit, self.y_val])


# Where a set comes from (arguments of `sklearn.datasets.fetch_openml`), and what has to come: rows,
# features, the target's place, decimals of the values, and the papers' splits.
Source = namedtuple("Source", "openml rows columns target decimals splits sha256")
SOURCES = {
    "boston": Source({"data_id": 531}, 506, 13, 13, 5, 20,
                     "832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7"),
    "concrete": Source({"data_id": 4353}, 1030, 8, 8, 2, 20,
                       "d0e2d2f0f50277624d7d00b98c4e8b66465e8d5f2f51738500552b8b10a4689b"),
    "energy": Source({"data_id": 1472}, 768, 8, 8, 2, 20,
                     "3563209cb65c108b72e6ee45f56f12e53c3f346f10b6b30a79ec5b7c0a0a1dd9"),
    "power": Source({"name": "combined_cycle_power_plant", "version": 1}, 9568, 4, 4, 2, 20,
                    "d3c75624ea5df1256c9b8e81560e1f9381014565c5f558d3293831fa521b82e9"),
    "protein": Source({"data_id": 42903}, 45730, 9, 0, 5, 5,
                      "f6b5464cc80059ab37be9e962d49b74965e32d44b1124dda897f7a4f28223177"),
    "wine": Source({"data_id": 40691}, 1599, 11, 11, 9, 20,
                   "ffdd0f059716d8102239eb80e54e7bee8598d43763b3ecf33ddcb8998741c4aa"),
    # scikit-learn checks it, and the paper has no splits of it.
    "california": Source({}, 20640, 8, 8, 12, 0, ""),
}  # fmt: skip
BUILTIN = {
    "breast_cancer": datasets.load_breast_cancer, "wine_cultivars": datasets.load_wine,
    "digits": datasets.load_digits,
}  # fmt: skip
# Where out-of-distribution rows come from. No other set of the folder has boston's 13 columns.
FOREIGN = {
    "boston": "breast_cancer", "concrete": "protein", "energy": "protein", "power": "protein",
    "protein": "boston", "wine": "boston", "breast_cancer": "digits",
    "wine_cultivars": "breast_cancer", "digits": "breast_cancer",
}  # fmt: skip


def regression_rows(data_dir: Path, name: str, split: int) -> Rows:
    """A split in an order drawn from its number; the last fifth of the training rows chooses."""
    data = load_split(data_dir, name, split)
    order = np.random.default_rng(split).permutation(len(data.y_train))
    X, y, n = data.X_train[order], data.y_train[order], int(0.8 * len(order))
    return Rows(X[:n], y[:n], X[n:], y[n:], data.X_test, data.y_test, split)


def held_out_rows(data_dir: Path, name: str, split: int) -> Rows:
    """A split in the order of the file; a random fifth of the training rows chooses."""
    data = load_split(data_dir, name, split)
    order = np.random.default_rng(split).permutation(len(data.y_train))
    n = round(0.2 * len(order))
    val, fit = np.sort(order[:n]), np.sort(order[n:])
    X, y = data.X_train, data.y_train
    return Rows(X[fit], y[fit], X[val], y[val], data.X_test, data.y_test, split)


def class_rows(name: str, split: int) -> Rows:
    """65 % of the rows to fit, 15 % to choose and 20 % to test, each class in proportion."""
    X, y = BUILTIN[name](return_X_y=True)
    rest, X_test, y_rest, y_test = train_test_split(
        X, y, test_size=0.2, random_state=split, stratify=y
    )
    X_fit, X_val, y_fit, y_val = train_test_split(
        rest, y_rest, test_size=0.15 / 0.8, random_state=split, stratify=y_rest
    )
    return Rows(X_fit, y_fit, X_val, y_val, X_test, y_test, split)


def foreign_rows(task: Task, X_train: np.ndarray, n: int) -> np.ndarray:
    """``n`` rows of another set, with the first columns of it, put on the scales of ``X_train``."""
    other = FOREIGN[task.set]
    if other in BUILTIN:
        rows = BUILTIN[other]().data
    else:
        data = load_split(task.data_dir, other, 0)
        rows = np.concatenate([data.X_train, data.X_test])
    rows = rows[:, rows.std(axis=0) > 0.0]
    standard = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    rng = np.random.default_rng((task.split, 29))
    parts: list[np.ndarray] = []
    while (left := X_train.shape[1] - sum(part.shape[1] for part in parts)) > 0:
        drawn = np.resize(rng.permutation(len(standard)), n)
        parts.append(standard[drawn][:, :left])
    return np.asarray(X_train.mean(axis=0) + X_train.std(axis=0) * np.hstack(parts))


def checksum(rows: np.ndarray) -> str:
    """The SHA-256 of rows as little-endian doubles, row after row, with the target last."""
    return hashlib.sha256(np.ascontiguousarray(rows, dtype="<f8").tobytes()).hexdigest()


def draw_splits(n_rows: int, n_splits: int) -> dict[str, np.ndarray]:
    """The test rows of each split: the last tenth of a permutation of NumPy's old generator."""
    rng = np.random.RandomState(1)  # as the papers' folders of splits were made
    first = round(0.9 * n_rows)
    return {
        f"test_{split}": rng.choice(n_rows, n_rows, replace=False)[first:]
        for split in range(n_splits)
    }


def fetch_rows(name: str, cache: Path) -> np.ndarray:
    """The rows of a set with the target last; libraries keep what they fetch in ``cache``."""
    source = SOURCES[name]
    if source.openml:
        table = datasets.fetch_openml(
            **source.openml, data_home=cache, as_frame=True, parser="auto"
        ).frame
    else:
        table = datasets.fetch_california_housing(data_home=cache, as_frame=True).frame
    values = table.apply(pd.to_numeric).to_numpy(dtype=np.float64)
    features = np.delete(values, source.target, axis=1)[:, : source.columns]
    return np.round(np.column_stack([features, values[:, source.target]]), source.decimals) + 0.0


def fetch_set(
    name: str, folder: Path, fetch: Callable[[str, Path], np.ndarray] = fetch_rows
) -> None:
    """Fetch a set and write its files; a set is in the folder whole or not at all."""
    source, cache = SOURCES[name], folder / "downloads"
    advice = f"copy {name}.csv.gz and {name}_splits.npz into {folder}."
    try:
        cache.mkdir(parents=True, exist_ok=True)
        rows = fetch(name, cache)
    except (OSError, ValueError, KeyError, IndexError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise Missing(f"{name} could not be fetched ({reason}): {advice}") from error
    if rows.shape != (source.rows, source.columns + 1):
        raise Missing(f"What came for {name} has other rows or columns than the papers': {advice}")
    if source.sha256 not in ("", checksum(rows)):
        raise Missing(f"What came for {name} has not the SHA-256 of the papers' set: {advice}")
    if source.splits:
        np.savez(folder / f"{name}_splits.npz", **draw_splits(len(rows), source.splits))
    columns = [*(f"x{k}" for k in range(source.columns)), "target"]
    part = cache / f"{name}.csv.gz"
    pd.DataFrame(rows, columns=columns).to_csv(part, index=False)
    part.replace(folder / part.name)
