"""Codes of binned values, many rows at a time."""

from __future__ import annotations

import numpy as np
from numba import njit

PADDED_BORDERS = 255  # of every feature, so that eight halvings find any code
_BLOCK = 512  # rows whose values stay in the first-level cache while each feature is coded


@njit(nogil=True, cache=True, inline="always")
def _code(x, edges, below):
    """One plus the borders below ``x``, of which ``below`` and at most 127 more are."""
    below += np.uint64(64) * np.uint64(x > edges[below + np.uint64(63)])
    below += np.uint64(32) * np.uint64(x > edges[below + np.uint64(31)])
    below += np.uint64(16) * np.uint64(x > edges[below + np.uint64(15)])
    below += np.uint64(8) * np.uint64(x > edges[below + np.uint64(7)])
    below += np.uint64(4) * np.uint64(x > edges[below + np.uint64(3)])
    below += np.uint64(2) * np.uint64(x > edges[below + np.uint64(1)])
    below += np.uint64(x > edges[below])
    return np.uint8(below + np.uint64(1))


@njit(nogil=True, cache=True)
def code_rows(X, borders, n_levels, unseen, first_row, last_row, out):
    """Write the codes of rows ``first_row:last_row`` to ``out`` (n_features, n) uint8.

    ``X`` (n, n_features) float64; ``borders`` (n_features, 255) float64 ascending, with infinity
    after the last: a number gets ``1 + borders below it`` and NaN gets 0. ``n_levels``
    (n_features,) int64 is negative for a number, else how many levels a category has: its codes are
    its own, and ``unseen`` stands for any other. The seven or eight comparisons of a value have
    no branch.
    """
    for low in range(first_row, last_row, _BLOCK):
        high = min(low + _BLOCK, last_row)
        for feature in range(X.shape[1]):
            if n_levels[feature] >= 0:
                for row in range(low, high):
                    x = X[row, feature]
                    known = x >= 0.0 and x < n_levels[feature]
                    out[feature, row] = np.uint8(x) if known else unseen
                continue
            edges = borders[feature]
            if edges[127] < np.inf:
                for row in range(low, high):
                    x = X[row, feature]
                    below = np.uint64(128) * np.uint64(x > edges[127])
                    out[feature, row] = np.uint8(0) if x != x else _code(x, edges, below)
            else:
                for row in range(low, high):
                    x = X[row, feature]
                    out[feature, row] = np.uint8(0) if x != x else _code(x, edges, np.uint64(0))
