"""A boosted sequence of oblivious trees: its arrays, and walking them.

Predictions at any number of trees in one pass, and leaf indices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

_BLOCK = 2048  # rows whose leaf indices and predictions stay in the first-level cache


class ObliviousForest(NamedTuple):
    """``n_trees`` oblivious trees of at most ``depth`` levels.

    features (n_trees, depth) int16 and bins (n_trees, depth) uint8: the split of each level;
    levels (n_trees,) int16: how many levels are in use; values (n_trees, 2**depth, n_outputs)
    float64: what a leaf adds, learning rate included, before any later shrinkage. Bit ``level`` of
    a leaf index is 1 where the row went right.
    """

    features: np.ndarray
    bins: np.ndarray
    levels: np.ndarray
    values: np.ndarray


def empty_forest(n_trees: int, depth: int, n_outputs: int) -> ObliviousForest:
    """A forest whose trees add nothing."""
    return ObliviousForest(
        features=np.zeros((n_trees, depth), np.int16),
        bins=np.zeros((n_trees, depth), np.uint8),
        levels=np.zeros(n_trees, np.int16),
        values=np.zeros((n_trees, 2**depth, n_outputs)),
    )


def forest_bytes(n_trees: int, depth: int, n_outputs: int) -> int:
    """Memory of one forest in bytes."""
    return n_trees * (3 * depth + 2 + 8 * 2**depth * n_outputs)


@njit(nogil=True, cache=True)
def find_leaves(columns, is_category, forest, tree, low, high, leaves):
    """Write the leaf index in ``tree`` of rows ``low:high`` to ``leaves`` (high - low,) uint16.

    ``columns`` (n_features, n) uint8 holds binned rows.
    """
    leaves[:] = 0
    for level in range(forest.levels[tree]):
        feature = forest.features[tree, level]
        code = forest.bins[tree, level]
        column = columns[feature, low:high]
        bit = np.uint16(1 << level)
        if is_category[feature]:
            for i in range(column.shape[0]):
                leaves[i] |= bit if column[i] == code else np.uint16(0)
        else:
            for i in range(column.shape[0]):
                leaves[i] |= bit if column[i] > code else np.uint16(0)


@njit(nogil=True, cache=True)
def predict_checkpoints(
    columns, is_category, forest, start, decay, checkpoints, first_row, last_row, out
):
    """Write the raw predictions of rows ``first_row:last_row`` after each of ``checkpoints`` trees
    (paper eq. 12 and 15).

    ``checkpoints`` (n_checkpoints,) int64 ascending; ``out`` (n_checkpoints, n, n_outputs) float64.
    ``decay`` multiplies the whole model before every tree but the first, so that the value at
    checkpoint ``t`` is that of a model trained for ``t`` trees only.
    """
    n_outputs = start.shape[0]
    raw = np.empty((_BLOCK, n_outputs))
    leaves = np.empty(_BLOCK, np.uint16)
    for low in range(first_row, last_row, _BLOCK):
        high = min(low + _BLOCK, last_row)
        n_here = high - low
        for i in range(n_here):
            for output in range(n_outputs):
                raw[i, output] = start[output]
        tree = 0
        for checkpoint in range(checkpoints.shape[0]):
            while tree < checkpoints[checkpoint]:
                find_leaves(columns, is_category, forest, tree, low, high, leaves[:n_here])
                values = forest.values[tree]
                factor = decay if tree > 0 else 1.0
                for i in range(n_here):
                    leaf = np.uint64(leaves[i])
                    for output in range(n_outputs):
                        raw[i, output] = raw[i, output] * factor + values[leaf, output]
                tree += 1
            for i in range(n_here):
                for output in range(n_outputs):
                    out[checkpoint, low + i, output] = raw[i, output]


@njit(nogil=True, cache=True)
def fill_leaf_matrix(columns, is_category, forest, out):
    """Write the leaf index of every row in every tree to ``out`` (n, n_trees) uint16."""
    n_rows = columns.shape[1]
    leaves = np.empty(n_rows, np.uint16)
    for tree in range(forest.levels.shape[0]):
        find_leaves(columns, is_category, forest, tree, 0, n_rows, leaves)
        for row in range(n_rows):
            out[row, tree] = leaves[row]
