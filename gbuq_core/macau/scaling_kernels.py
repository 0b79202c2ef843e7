"""Medians and interquartile ranges of the rows of a tree's leaves."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from gbuq_core.compiling import INNER, OUTER

# Below this scikit-learn's scalers take a range for 0: rounding. Of numbers below 1 it is a share,
# so that tiny units are none.
_NO_RANGE = 10.0 * 2.220446049250313e-16


@njit(nogil=True, cache=True, **INNER)
def _filled_at(values, n_present, n_all, rank, median):
    """Place ``rank`` among ``values[:n_present]`` (ascending) and medians for the missing rest."""
    # The medians stand right behind the values below and equal to the lower middle.
    half = (n_present + 1) // 2
    gaps = n_all - n_present
    if rank < half:
        return values[rank]
    if rank < half + gaps:
        return median
    return values[rank - gaps]


@njit(nogil=True, cache=True, **INNER)
def _filled_quantile(values, n_present, n_all, share, median):
    """The quantile between places as numpy interpolates it, from the nearer of the two."""
    place = share * (n_all - 1)
    low = np.int64(math.floor(place))
    part = place - low
    below = _filled_at(values, n_present, n_all, low, median)
    above = _filled_at(values, n_present, n_all, min(low + 1, n_all - 1), median)
    if part >= 0.5:
        return above - (above - below) * (1.0 - part)
    return below + (above - below) * part


@njit(nogil=True, cache=True, **OUTER)
def scale_tree(columns, order, present, rows, begin, first, last, centre, scale):
    """Write centre and scale (n_leaves, n_features) of the leaves ``first:last`` of one tree.

    columns (n_features, n) float64; order (n_features, n) int32, the rows by ascending value with
    missing ones last; present (n_features,) int64, how many are not missing; rows and begin as in
    `gbuq_core.macau.leaves.LeafTable`.
    """
    n_features, n_rows = columns.shape
    start = begin[first]
    leaf_of = np.empty(n_rows, np.int32)
    for leaf in range(first, last):
        for place in range(begin[leaf], begin[leaf + 1]):
            leaf_of[rows[place]] = leaf - first
    values = np.empty(n_rows)
    filled = np.empty(last - first, np.int64)
    for feature in range(n_features):
        for leaf in range(first, last):
            filled[leaf - first] = begin[leaf] - start
        for rank in range(present[feature]):
            row = order[feature, rank]
            leaf = leaf_of[row]
            values[filled[leaf]] = columns[feature, row]
            filled[leaf] += 1
        for leaf in range(first, last):
            low = begin[leaf] - start
            n_all = begin[leaf + 1] - begin[leaf]
            n_present = filled[leaf - first] - low
            if n_all == 0:
                continue
            if n_present == 0:
                scale[leaf, feature] = np.inf
                continue
            mine = values[low : low + n_present]
            middle = n_present // 2
            median = mine[middle]
            if n_present % 2 == 0:
                median = 0.5 * (mine[middle - 1] + median)
            lower = _filled_quantile(mine, n_present, n_all, 0.25, median)
            upper = _filled_quantile(mine, n_present, n_all, 0.75, median)
            size = min(1.0, max(abs(lower), abs(upper)))
            is_range = upper > lower and upper - lower >= _NO_RANGE * size
            centre[leaf, feature] = median
            scale[leaf, feature] = upper - lower if is_range else 1.0
