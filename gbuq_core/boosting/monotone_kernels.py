"""Leaf values that a constrained column may only move one way."""

from __future__ import annotations

from numba import njit

_SWEEPS = 8  # with one constrained split in a tree one sweep is the projection


@njit(nogil=True, cache=True)
def project_monotone(values, counts, features, monotone, n_levels):
    """Make one tree's ``values`` (n_leaves, n_outputs) monotone; returns their sum of squares over
    rows, of which ``counts`` (n_leaves,) says how many a leaf has.

    ``monotone`` (n_outputs, n_columns) int8 is 1 where an output may only rise with a column, -1
    where it may only fall. A column that rises turns bits of a row's leaf from 0 to 1, so it is
    enough that no turn of a constrained level goes the wrong way. Two leaves that do are pooled,
    by their rows, in some sweeps over all pairs. The last sweep lets one follow the other, which
    ends exactly: levels that are in order stay so while another one is put in order.
    """
    square = 0.0
    for output in range(values.shape[1]):
        for sweep in range(_SWEEPS + 1):
            is_sorted = True
            for level in range(n_levels):
                sign = monotone[output, features[level]]
                if sign == 0:
                    continue
                for leaf in range(1 << n_levels):
                    sibling = leaf | (1 << level)
                    low, high = values[leaf, output], values[sibling, output]
                    if sign * (high - low) >= 0.0:  # also where both are one leaf
                        continue
                    is_sorted = False
                    if sweep < _SWEEPS:
                        n = counts[leaf] + counts[sibling]
                        share = counts[leaf] / n if n > 0.0 else 0.5
                        low = share * low + (1.0 - share) * high
                        values[leaf, output] = low
                    values[sibling, output] = low
            if is_sorted:
                break
        for leaf in range(1 << n_levels):
            square += counts[leaf] * values[leaf, output] ** 2
    return square
