"""Raw predictions of a forest on a grid: every value of two columns, the other columns fixed.

An oblivious tree is constant on boxes of such a grid. So each tree adds to the corners of its boxes
in an array of differences, and only where a stage ends is that array summed over both axes.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def _mark_side(codes, code, is_equal, bit, n, pattern):
    """Set ``bit`` in ``pattern`` (n,) uint16 where ``codes`` (n,) uint8 go right."""
    for i in range(n):
        right = codes[i] == code if is_equal else codes[i] > code
        if right:
            pattern[i] |= bit


@njit(nogil=True, cache=True)
def _end_of_run(pattern, first):
    """The first place after ``first`` where ``pattern`` differs from its value there."""
    last = first + 1
    while last < pattern.shape[0] and pattern[last] == pattern[first]:
        last += 1
    return last


@njit(nogil=True, cache=True)
def fill_grid(
    forest, is_category, own, axis, place, codes_a, codes_b, start, decay, checkpoints, out
):
    """Write the raw predictions after each of ``checkpoints`` trees to ``out`` (n_checkpoints, n_a,
    n_b, n_outputs) float64.

    ``own`` (n_features,) uint8 are the row's codes. ``axis`` (n_features,) int8 is 1 or 2 for
    columns that follow the first or the second axis, else 0, and ``place`` (n_features,) int64
    their position in ``codes_a`` (width_a, n_a) or ``codes_b`` (width_b, n_b) uint8. ``start``,
    ``decay`` and ``checkpoints`` as in `forest_kernels.predict_checkpoints`.
    """
    n_a, n_b, n_outputs = out.shape[1], out.shape[2], out.shape[3]
    corners = np.zeros((n_a + 1, n_b + 1, n_outputs))  # in units of the growth so far
    constant = start.copy()
    pattern_a, pattern_b = np.zeros(n_a, np.uint16), np.zeros(n_b, np.uint16)
    growth, tree = 1.0, 0
    for checkpoint in range(checkpoints.shape[0]):
        while tree < checkpoints[checkpoint]:
            if tree > 0:
                growth *= decay
            base, on_a, on_b = np.uint16(0), False, False
            for level in range(forest.levels[tree]):
                feature, code = forest.features[tree, level], forest.bins[tree, level]
                is_equal, bit = is_category[feature], np.uint16(1 << level)
                if axis[feature] == 1:
                    if not on_a:
                        pattern_a[:] = 0
                    on_a = True
                    _mark_side(codes_a[place[feature]], code, is_equal, bit, n_a, pattern_a)
                elif axis[feature] == 2:
                    if not on_b:
                        pattern_b[:] = 0
                    on_b = True
                    _mark_side(codes_b[place[feature]], code, is_equal, bit, n_b, pattern_b)
                else:
                    right = own[feature] == code if is_equal else own[feature] > code
                    if right:
                        base |= bit
            values = forest.values[tree]
            if not on_a and not on_b:
                for output in range(n_outputs):
                    constant[output] += values[np.uint64(base), output] / growth
                tree += 1
                continue
            first_a = 0
            while first_a < n_a:
                last_a = _end_of_run(pattern_a, first_a) if on_a else n_a
                side_a = base | pattern_a[first_a] if on_a else base
                first_b = 0
                while first_b < n_b:
                    last_b = _end_of_run(pattern_b, first_b) if on_b else n_b
                    leaf = np.uint64(side_a | pattern_b[first_b] if on_b else side_a)
                    for output in range(n_outputs):
                        value = values[leaf, output] / growth
                        corners[first_a, first_b, output] += value
                        corners[last_a, first_b, output] -= value
                        corners[first_a, last_b, output] -= value
                        corners[last_a, last_b, output] += value
                    first_b = last_b
                first_a = last_a
            tree += 1
        here = out[checkpoint]
        for i in range(n_a):
            for output in range(n_outputs):
                along = 0.0
                for j in range(n_b):
                    along += corners[i, j, output]
                    above = here[i - 1, j, output] if i > 0 else 0.0
                    here[i, j, output] = above + along
        for i in range(n_a):
            for j in range(n_b):
                for output in range(n_outputs):
                    here[i, j, output] = growth * (constant[output] + here[i, j, output])
