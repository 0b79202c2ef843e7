"""The trees of a random forest, each on its own bootstrap, with identical rows merged.

scikit-learn's forests fit each tree on all rows, weighted by how often its bootstrap drew them. A
tree cannot separate rows that are equal in X. It needs only their weight, mean and variance (or
their class counts). The bootstrap is drawn over the original rows, with scikit-learn's own seeds,
and merged afterwards; so the trees are scikit-learn's up to rounding, for any number of rows a
cell::

    row        0  1  2  3  4  5        cell      a        b      c
    X          a  b  a  a  c  b   ->   weight    4        2      0
    drawn      2  1  0  2  0  1        two rows  mean +- std of the 4 and of the 2 drawn targets
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Merging pays once rows are at least this much more than cells; below, rows are fitted as they are.
_MIN_ROWS_PER_CELL = 4


class RegressionRows(NamedTuple):
    """Training rows, sorted so that those of a cell are neighbours."""

    # (n_points, n_features): rows to fit the trees on: every row, or every cell twice
    X: NDArray[np.float32]
    # (n_rows,): Targets in sorted order. In merged cells the cell's mean is subtracted.
    y: FloatArray
    cell_mean: FloatArray  # (n_cells,)
    # (n_cells,): where each cell begins in `y`; empty where nothing is merged
    starts: NDArray[np.intp]
    # (n_rows,): the place of each original row in `y`; bootstraps draw original rows
    sorted_place: NDArray[np.intp]
    has_missing: bool  # whether X has NaN


class ClassRows(NamedTuple):
    """Distinct pairs of a row and a class."""

    X: NDArray[np.float32]  # (n_pairs, n_features)
    y: NDArray[np.int64]  # (n_pairs,): class codes
    pair_of_row: NDArray[np.intp]  # (n_rows,)
    has_missing: bool


def merge_for_regression(X: NDArray[np.float32], y: FloatArray) -> RegressionRows:
    """Prepare rows for `grow_regression_tree`."""
    n_rows = len(X)
    first, cell_of_row = _distinct_rows(X)
    has_missing = bool(np.isnan(X).any())
    if n_rows < _MIN_ROWS_PER_CELL * len(first):
        nothing = np.empty(0, dtype=np.intp)
        return RegressionRows(X, y, np.zeros(0), nothing, np.arange(n_rows), has_missing)
    order = np.argsort(cell_of_row, kind="stable")
    sizes = np.bincount(cell_of_row, minlength=len(first))
    starts = np.cumsum(sizes) - sizes
    sorted_place = np.empty(n_rows, dtype=np.intp)
    sorted_place[order] = np.arange(n_rows)
    mean = np.add.reduceat(y[order], starts) / sizes
    # Centred, so that the variance of a cell is not a difference of large squares.
    centred = y[order] - np.repeat(mean, sizes)
    points = np.repeat(X[first], 2, axis=0)
    return RegressionRows(points, centred, mean, starts, sorted_place, has_missing)


def merge_for_classes(X: NDArray[np.float32], codes: NDArray[np.int64]) -> ClassRows:
    """Prepare rows and class codes (n_rows,) for `grow_class_tree`."""
    has_missing = bool(np.isnan(X).any())
    _, cell_of_row = _distinct_rows(X)
    pairs = cell_of_row * (int(codes.max()) + 1) + codes
    _, first, pair_of_row = np.unique(pairs, return_index=True, return_inverse=True)
    if len(X) < _MIN_ROWS_PER_CELL * len(first):
        return ClassRows(X, codes, np.arange(len(X)), has_missing)
    return ClassRows(X[first], codes[first], pair_of_row, has_missing)


def grow_regression_tree(rows: RegressionRows, seed: int, max_depth: int) -> Any:
    """Fit one tree as ``RandomForestRegressor(max_depth=max_depth)`` does with this tree seed."""
    from sklearn import config_context
    from sklearn.tree import DecisionTreeRegressor

    drawn = _bootstrap_counts(seed, rows.sorted_place, len(rows.y))
    if len(rows.starts):
        weight = np.add.reduceat(drawn, rows.starts)
        share = 1.0 / np.maximum(weight, 1.0)
        mean = np.add.reduceat(drawn * rows.y, rows.starts) * share
        square = np.add.reduceat(drawn * rows.y * rows.y, rows.starts) * share
        std = np.sqrt(np.maximum(square - mean * mean, 0.0))
        centre = rows.cell_mean + mean
        # Two points with the cell's weight, mean and variance: one alone would be a node of a
        # single row, which scikit-learn turns into a leaf without drawing a feature first.
        y = np.column_stack((centre - std, centre + std)).ravel()
        sample_weight = np.repeat(0.5 * weight, 2)
    else:
        y, sample_weight = rows.y, drawn
    tree = DecisionTreeRegressor(max_depth=max_depth, random_state=seed)
    with config_context(skip_parameter_validation=True):  # once a forest is enough, not per tree
        return tree.fit(rows.X, y, sample_weight=sample_weight, check_input=rows.has_missing)


def grow_class_tree(rows: ClassRows, seed: int, max_depth: int) -> Any:
    """Fit one tree as ``RandomForestClassifier(max_depth=max_depth)`` does with this tree seed."""
    from sklearn import config_context
    from sklearn.tree import DecisionTreeClassifier

    drawn = _bootstrap_counts(seed, rows.pair_of_row, len(rows.y))
    tree = DecisionTreeClassifier(max_depth=max_depth, max_features="sqrt", random_state=seed)
    with config_context(skip_parameter_validation=True):
        return tree.fit(rows.X, rows.y, sample_weight=drawn, check_input=rows.has_missing)


def draw_tree_seeds(seed: int, n_trees: int) -> list[int]:
    """The seeds that a scikit-learn forest of this ``random_state`` gives its trees."""
    return RandomState(seed).randint(np.iinfo(np.int32).max, size=n_trees).tolist()


def tree_bytes(tree: Any) -> int:
    """Memory that a fitted tree's nodes take, in bytes: 64 a node and its predicted values."""
    return int(tree.tree_.node_count * 64 + tree.tree_.value.nbytes)


def _bootstrap_counts(seed: int, place_of_row: NDArray[np.intp], n_places: int) -> FloatArray:
    """How often a bootstrap of the rows, drawn as scikit-learn draws it, hits each place."""
    n_rows = len(place_of_row)
    drawn = RandomState(seed).randint(0, n_rows, n_rows)
    return np.bincount(place_of_row[drawn], minlength=n_places).astype(np.float64)


def _distinct_rows(X: NDArray[np.float32]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First row of each distinct row of X, and the number of the distinct row of each row."""
    as_bytes = np.ascontiguousarray(X).view(np.dtype((np.void, X.shape[1] * X.itemsize))).ravel()
    _, first, cell_of_row = np.unique(as_bytes, return_index=True, return_inverse=True)
    return first, cell_of_row
