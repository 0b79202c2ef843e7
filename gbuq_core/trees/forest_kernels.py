"""A boosted sequence of oblivious trees: its arrays, and walking them.

Predictions at any number of trees in one pass, and leaf indices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import lean

_BLOCK = 1024  # rows whose leaf indices and predictions stay in the first-level cache
_BYTE_DEPTH = 8  # levels of a tree whose leaf indices fit into a byte


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


def leaf_scratch(depth: int) -> np.ndarray:
    """Scratch (4, rows) for `predict_checkpoints`, of the type that holds leaves of this depth.

    Examples
    --------
    >>> leaf_scratch(6).dtype, leaf_scratch(9).dtype
    (dtype('uint8'), dtype('uint16'))
    """
    return np.empty((4, _BLOCK), np.uint8 if depth <= _BYTE_DEPTH else np.uint16)


@njit(nogil=True, cache=True)
def find_leaves(columns, is_category, forest, tree, low, high, leaves):
    """Write the leaf index in ``tree`` of rows ``low:high`` to ``leaves`` (high - low,).

    ``columns`` (n_features, n) uint8 holds binned rows; ``leaves`` is uint8 where trees have at
    most eight levels, which is fastest, or uint16.
    """
    code_type = leaves.dtype.type
    leaves[:] = 0
    for level in range(forest.levels[tree]):
        feature = forest.features[tree, level]
        code = forest.bins[tree, level]
        column = columns[feature, low:high]
        bit = code_type(1 << level)
        if is_category[feature]:
            for i in range(column.shape[0]):
                leaves[i] |= bit if column[i] == code else code_type(0)
        else:
            for i in range(column.shape[0]):
                leaves[i] |= bit if column[i] > code else code_type(0)


@njit(nogil=True, cache=True)
def add_tree(leaves, values, factor, raw, width):
    """Multiply ``raw`` (n, n_outputs) by ``factor`` and add each row's leaf of one tree."""
    n_outputs = len(width) if len(width) > 0 else raw.shape[1]
    for i in range(leaves.shape[0]):
        leaf = np.uint64(leaves[i])
        for output in range(n_outputs):
            raw[i, output] = raw[i, output] * factor + values[leaf, output]


@njit(nogil=True, cache=True)
def add_four_trees(leaves, values, first_factor, factor, raw, width):
    """What `add_tree` does four times, reading and writing every row of ``raw`` once.

    ``leaves`` (4, n); ``values`` (4, n_leaves, n_outputs); ``first_factor`` belongs to the first.
    """
    n_outputs = len(width) if len(width) > 0 else raw.shape[1]
    for i in range(leaves.shape[1]):
        leaf_0, leaf_1 = np.uint64(leaves[0, i]), np.uint64(leaves[1, i])
        leaf_2, leaf_3 = np.uint64(leaves[2, i]), np.uint64(leaves[3, i])
        for output in range(n_outputs):
            value = raw[i, output] * first_factor + values[0, leaf_0, output]
            value = value * factor + values[1, leaf_1, output]
            value = value * factor + values[2, leaf_2, output]
            raw[i, output] = value * factor + values[3, leaf_3, output]


@lean
@njit(nogil=True, cache=True)
def predict_checkpoints(
    columns, is_category, forest, start, decay, checkpoints, first_row, last_row, leaves, width, out
):
    """Write the raw predictions of rows ``first_row:last_row`` after each of ``checkpoints`` trees
    (paper eq. 12 and 15).

    ``checkpoints`` (n_checkpoints,) int64 ascending; ``leaves`` (4, block) is scratch whose type
    holds every leaf index, and block the number of rows that are walked at a time; ``width`` as in
    `histogram_kernels`, one entry an output; ``out`` (n_checkpoints, n, n_outputs) float64.
    ``decay`` multiplies the whole model before every tree but the first, so that the value at
    checkpoint ``t`` is that of a model trained for ``t`` trees only.
    """
    n_outputs = len(width) if len(width) > 0 else start.shape[0]
    block = leaves.shape[1]
    raw = np.empty((block, start.shape[0]))
    for low in range(first_row, last_row, block):
        high = min(low + block, last_row)
        here = leaves[:, : high - low]
        for i in range(high - low):
            for output in range(n_outputs):
                raw[i, output] = start[output]
        tree = 0
        for checkpoint in range(checkpoints.shape[0]):
            while tree < checkpoints[checkpoint]:
                first_factor = decay if tree > 0 else 1.0
                if tree + 4 <= checkpoints[checkpoint]:
                    for k in range(4):
                        find_leaves(columns, is_category, forest, tree + k, low, high, here[k])
                    values = forest.values[tree : tree + 4]
                    add_four_trees(here, values, first_factor, decay, raw, width)
                    tree += 4
                else:
                    find_leaves(columns, is_category, forest, tree, low, high, here[0])
                    add_tree(here[0], forest.values[tree], first_factor, raw, width)
                    tree += 1
            for i in range(high - low):
                for output in range(n_outputs):
                    out[checkpoint, low + i, output] = raw[i, output]


@lean
@njit(nogil=True, cache=True)
def fill_leaf_matrix(columns, is_category, forest, out):
    """Write the leaf index of every row in every tree to ``out`` (n, n_trees) uint16."""
    n_rows = columns.shape[1]
    leaves = np.empty(n_rows, np.uint16)
    for tree in range(forest.levels.shape[0]):
        find_leaves(columns, is_category, forest, tree, 0, n_rows, leaves)
        for row in range(n_rows):
            out[row, tree] = leaves[row]
