"""Boosting the mean and the log standard deviation of a Gaussian (virtual ensembles, eq. 9-12, 16).

Rows may be merged into cells. A cell keeps its number of rows ``n``, its mean and the sums of the
second, third and fourth powers of its rows' deviations from that mean; with ``d = mean - mu``

    sum (y - mu)   = n d
    sum (y - mu)^2 = m2 + n d^2
    sum (y - mu)^4 = m4 + 4 d m3 + 6 d^2 m2 + n d^4

so every sum over rows that a tree needs is exact.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.boosting.noise_kernels import add_split_noise, score_noise_std
from gbuq_core.seeding import (
    LEAF_NOISE,
    SAMPLE_ROWS,
    SCORE_NOISE,
    SPLIT_NOISE,
    bits_at,
    normal_at,
    stream,
)
from gbuq_core.trees.growing_kernels import grow_tree

# So far below the target's own log std a standard deviation is not followed further down: rows
# without any noise would drive it to zero and its gradients to infinity.
LOG_STD_FLOOR = -12.0
# The log std of a leaf moves by at most this much a tree, before the learning rate: a Newton step
# from a far too large std overshoots without bound as the Hessian 2 z^2 vanishes.
LOG_STD_STEP = 10.0


class GaussianCells(NamedTuple):
    """Targets of the cells: n_rows, mean, m2, m3, m4 (n,) float64; the deviations of the rows from
    their cell's mean, cell by cell, (n_rows,) float64; and where each cell's rows begin (n + 1,)
    int64.
    """

    n_rows: np.ndarray
    mean: np.ndarray
    m2: np.ndarray
    m3: np.ndarray
    m4: np.ndarray
    deviation: np.ndarray
    begin: np.ndarray


@njit(nogil=True, cache=True)
def gaussian_gradients(cells, raw, numbers, base, gradients, curvature, channels):
    """Gradient sums of every cell, and the root mean square of the rows' gradients.

    Newton: ``(y - mu, z^2 - 1)`` with Hessian ``(1, 2 z^2)``; otherwise the natural gradient of eq.
    16, ``(y - mu, (z^2 - 1) / 2)``. ``base`` numbers the draws of the row sample. Writes
    ``gradients`` and ``curvature`` (n, 2) of all rows, for the leaves, and to ``channels`` (n, 3)
    the gradients and the number of the sampled rows, which choose the splits.
    """
    factor = 1.0 if numbers.newton else 0.5
    threshold = np.uint64(numbers.subsample * 4294967296.0)
    total = 0.0
    for cell in range(raw.shape[0]):
        precision = math.exp(-2.0 * max(raw[cell, 1], numbers.log_std_floor))
        d = cells.mean[cell] - raw[cell, 0]
        n = cells.n_rows[cell]
        dd = d * d
        square = cells.m2[cell] + n * dd
        fourth = cells.m4[cell] + 4.0 * d * cells.m3[cell] + 6.0 * dd * cells.m2[cell] + n * dd * dd
        total += square
        total += factor * factor * (fourth * precision * precision - 2.0 * square * precision + n)
        scaled = square * precision
        slope = scaled - n
        if raw[cell, 1] <= numbers.log_std_floor:
            slope = max(slope, 0.0)
        gradients[cell, 0] = n * d
        gradients[cell, 1] = factor * slope
        curvature[cell, 0] = n
        curvature[cell, 1] = 2.0 * scaled if numbers.newton else n
        if numbers.subsample < 1.0:
            n, sum_1, sum_2 = 0.0, 0.0, 0.0
            for row in range(cells.begin[cell], cells.begin[cell + 1]):
                half = bits_at(base, row >> 1) >> np.uint64(32 * (row & 1))
                kept = np.float64(half & np.uint64(0xFFFFFFFF) < threshold)  # no branch to guess
                value = kept * cells.deviation[row]
                n += kept
                sum_1 += value
                sum_2 += value * value
            slope = (sum_2 + 2.0 * d * sum_1 + n * dd) * precision - n
            if raw[cell, 1] <= numbers.log_std_floor:
                slope = max(slope, 0.0)
            channels[cell, 0] = sum_1 + n * d
            channels[cell, 1] = factor * slope
        else:
            channels[cell, 0] = gradients[cell, 0]
            channels[cell, 1] = gradients[cell, 1]
        channels[cell, 2] = n
    return math.sqrt(max(total, 0.0) / numbers.n_rows)


@njit(nogil=True, cache=True)
def gaussian_leaves(state, numbers, base, tree, n_levels):
    """Leaf values of one tree from noise-free gradients plus one draw a leaf and output.

    The noise on a leaf's gradient sum has std ``leaf_noise * sqrt(curvature + l2)``. Leaves without
    rows stay at 0. Writes ``state.forest.values[tree]`` and moves ``state.raw``.
    """
    sums, leaf_of_row, raw = state.leaf_sums, state.scratch.leaf_of_row, state.raw
    n_leaves = 1 << n_levels
    sums[:n_leaves, :] = 0.0
    for row in range(raw.shape[0]):
        leaf = np.uint64(leaf_of_row[row])
        sums[leaf, 0] += state.gradients[row, 0]
        sums[leaf, 1] += state.gradients[row, 1]
        sums[leaf, 2] += state.curvature[row, 0]
        sums[leaf, 3] += state.curvature[row, 1]
    values = state.forest.values[tree]
    for leaf in range(n_leaves):
        if sums[leaf, 2] > 0.0:
            for output in range(2):
                weight = sums[leaf, 2 + output] + numbers.l2
                total = sums[leaf, output]
                if numbers.leaf_noise > 0.0:
                    draw = normal_at(base, 2 * leaf + output)
                    total += numbers.leaf_noise * math.sqrt(weight) * draw
                step = total / max(weight, 1e-12)
                if output == 1:
                    step = min(max(step, -LOG_STD_STEP), LOG_STD_STEP)
                values[leaf, output] = numbers.learning_rate * step
    decay = numbers.decay if tree > 0 else 1.0
    for row in range(raw.shape[0]):
        leaf = np.uint64(leaf_of_row[row])
        raw[row, 0] = raw[row, 0] * decay + values[leaf, 0]
        raw[row, 1] = raw[row, 1] * decay + values[leaf, 1]


@njit(nogil=True, cache=True)
def boost_gaussian(rows, cells, state, numbers, seed, member, first, last, width):
    """Add trees ``first:last`` to one member."""
    forest = state.forest
    for tree in range(first, last):
        rms = gaussian_gradients(
            cells, state.raw, numbers, stream(seed, member, tree, SAMPLE_ROWS),
            state.gradients, state.curvature, state.channels,
        )  # fmt: skip
        add_split_noise(numbers.noise, stream(seed, member, tree, SPLIT_NOISE), state.channels)
        score_noise = score_noise_std(numbers, rms, tree)
        forest.levels[tree] = grow_tree(
            rows, state.channels, state.scratch, numbers.l2, score_noise,
            stream(seed, member, tree, SCORE_NOISE), forest.features[tree], forest.bins[tree],
            width,
        )  # fmt: skip
        leaf_base = stream(seed, member, tree, LEAF_NOISE)
        gaussian_leaves(state, numbers, leaf_base, tree, forest.levels[tree])
