"""The arrays of a boosted sequence of oblivious trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


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
