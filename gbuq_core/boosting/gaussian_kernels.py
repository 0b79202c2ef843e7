"""Boosting the mean and the log standard deviation of a Gaussian (virtual ensembles, eq. 9-12, 16).

Rows may be merged into cells. A cell keeps its number of rows ``n``, its mean and the sums of the
second, third and fourth powers of its rows' deviations from that mean; with ``d = mean - mu``

    sum (y - mu)   = n d
    sum (y - mu)^2 = m2 + n d^2
    sum (y - mu)^4 = m4 + 4 d m3 + 6 d^2 m2 + n d^4

so every sum over rows that a tree needs is exact. A row may have a weight, and counts as so many
rows. Bootstrapped rows (cyclical paper, algorithm 1)
keep a second set of these sums, over those rows only whose gradients count.

Langevin noise samples from the posterior only if its covariance is the curvature that divides the
gradients. At the temperature "posterior" and at numbers (``numbers.preconditioned``) it is: with
``s`` the std of a row, the curvature is ``1 / s^2`` for its mean and 2 for its log std. CatBoost's
noise has one size for all rows and outputs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.boosting.monotone_kernels import project_monotone
from gbuq_core.boosting.noise_kernels import (
    add_split_noise,
    draw_mask,
    is_drawn,
    mask_changes,
    score_noise_std,
)
from gbuq_core.compiling import lean
from gbuq_core.seeding import (
    LEAF_NOISE,
    MASK_ROWS,
    N_PURPOSES,
    SAMPLE_ROWS,
    SCORE_NOISE,
    SPLIT_NOISE,
    fill_streams,
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
HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)


class GaussianSums(NamedTuple):
    """Of some rows of every cell: their number, mean, and sums of the second, third and fourth
    powers of their deviations from it, (n,) float64 each.
    """

    n_rows: np.ndarray
    mean: np.ndarray
    m2: np.ndarray
    m3: np.ndarray
    m4: np.ndarray


class GaussianCells(NamedTuple):
    """Targets of the cells.

    ``every`` sums up all rows and ``graded`` those whose gradients count, by ``mask`` (n_rows,)
    uint8; ``deviation`` (n_rows,) float64 are the rows' deviations from their cell's mean and
    ``weight`` (n_rows,) float64 how many rows each counts as, cell by cell like the mask; ``begin``
    (n + 1,) int64 says where each cell's rows begin, and ``order`` (n_rows,) int64 which row of the
    table each of them is.
    """

    every: GaussianSums
    graded: GaussianSums
    mask: np.ndarray
    deviation: np.ndarray
    weight: np.ndarray
    begin: np.ndarray
    order: np.ndarray


@njit(nogil=True, cache=True, inline="always")
def noise_log_std(log_std, numbers):
    """The log std that weights a row and sizes its noise: at most 12 from the target's own.

    Absurd noise carries a log std to where its weight would be 0 or its noise infinite.
    """
    return min(max(log_std, numbers.log_std_floor), numbers.log_std_floor - 2.0 * LOG_STD_FLOOR)


@njit(nogil=True, cache=True)
def mask_gaussian(cells, share, base):
    """Let a random ``share`` of the rows count; writes ``cells.mask`` and ``cells.graded``."""
    draw_mask(cells.order, share, base, cells.mask)
    grade_gaussian(cells)


@njit(nogil=True, cache=True)
def grade_gaussian(cells):
    """Write to ``cells.graded`` the sums over the rows in ``cells.mask``."""
    sums = cells.graded
    for cell in range(sums.mean.shape[0]):
        n, total = 0.0, 0.0
        for row in range(cells.begin[cell], cells.begin[cell + 1]):
            counted = cells.mask[row] * cells.weight[row]
            n += counted
            total += counted * cells.deviation[row]
        centre = total / n if n > 0.0 else 0.0
        m2, m3, m4 = 0.0, 0.0, 0.0
        for row in range(cells.begin[cell], cells.begin[cell + 1]):
            counted = cells.mask[row] * cells.weight[row]
            value = cells.deviation[row] - centre
            m2 += counted * value * value
            m3 += counted * value * value * value
            m4 += counted * value * value * value * value
        sums.n_rows[cell] = n
        sums.mean[cell] = cells.every.mean[cell] + centre
        sums.m2[cell] = m2
        sums.m3[cell] = m3
        sums.m4[cell] = m4


@lean
@njit(nogil=True, cache=True)
def gaussian_gradients(cells, state, numbers, scale, base):
    """Gradient sums of every cell; the root mean square of the rows' gradients, and their mean NLL.

    Newton: ``(y - mu, z^2 - 1)`` with Hessian ``(1, 2 z^2)``; otherwise the natural gradient of eq.
    16, ``(y - mu, (z^2 - 1) / 2)``. ``scale`` multiplies the gradients, of which only the graded
    rows have any; ``base`` numbers the draws of the row sample. Reads ``state.raw``; writes
    ``gradients`` and ``curvature`` (n, 2) of all rows, for the leaves, and to ``channels`` (n, 3)
    the gradients and the number of the sampled rows, which choose the splits. If preconditioned,
    the mean's gradient and curvature for the leaves are multiplied by ``1 / s^2``.
    """
    raw, channels = state.raw, state.channels
    gradients, curvature = state.gradients, state.curvature
    factor = 1.0 if numbers.newton else 0.5
    threshold = np.uint64(numbers.subsample * 4294967296.0)
    total, loss = 0.0, 0.0
    every, graded = cells.every, cells.graded
    for cell in range(raw.shape[0]):
        log_std = max(raw[cell, 1], numbers.log_std_floor)
        precision = math.exp(-2.0 * log_std)
        n = every.n_rows[cell]
        d = every.mean[cell] - raw[cell, 0]
        scaled = (every.m2[cell] + n * d * d) * precision
        loss += n * log_std + 0.5 * scaled
        weight = 1.0
        if numbers.preconditioned:
            weight = math.exp(-2.0 * noise_log_std(raw[cell, 1], numbers))
        curvature[cell, 0] = weight * n
        curvature[cell, 1] = 2.0 * scaled if numbers.newton else n
        n_graded = graded.n_rows[cell]
        d = graded.mean[cell] - raw[cell, 0]
        dd = d * d
        square = graded.m2[cell] + n_graded * dd
        fourth = graded.m4[cell] + 4.0 * d * graded.m3[cell] + 6.0 * dd * graded.m2[cell]
        fourth += n_graded * dd * dd
        slope = square * precision - n_graded
        total += square
        total += factor * factor * (fourth * precision * precision - square * precision - slope)
        if raw[cell, 1] <= numbers.log_std_floor:
            slope = max(slope, 0.0)
        graded_sum = scale * n_graded * d
        gradients[cell, 0] = weight * graded_sum
        gradients[cell, 1] = scale * factor * slope
        if numbers.subsample < 1.0:
            n, n_graded, sum_1, sum_2 = 0.0, 0.0, 0.0, 0.0
            for row in range(cells.begin[cell], cells.begin[cell + 1]):
                kept = cells.weight[row] * is_drawn(base, row, threshold)
                n += kept
                kept *= cells.mask[row]
                value = kept * cells.deviation[row]
                n_graded += kept
                sum_1 += value
                sum_2 += value * cells.deviation[row]
            d = every.mean[cell] - raw[cell, 0]
            slope = (sum_2 + 2.0 * d * sum_1 + n_graded * d * d) * precision - n_graded
            if raw[cell, 1] <= numbers.log_std_floor:
                slope = max(slope, 0.0)
            channels[cell, 0] = scale * (sum_1 + n_graded * d)
            channels[cell, 1] = scale * factor * slope
        else:
            channels[cell, 0] = graded_sum
            channels[cell, 1] = gradients[cell, 1]
        channels[cell, 2] = n
    rms = scale * math.sqrt(max(total, 0.0) / numbers.n_rows)
    return rms, loss / numbers.n_rows + HALF_LOG_TWO_PI


@lean
@njit(nogil=True, cache=True)
def add_gaussian_noise(noise, base, state, numbers):
    """Add to the gradient sums in ``state.channels`` (n, 3) the Langevin noise of their rows.

    Preconditioned, a row's has std ``noise * s`` on ``y - mu`` and ``noise * sqrt(2)`` on ``z^2 -
    1``, half that on its half; else it is CatBoost's.
    """
    channels = state.channels
    if not numbers.preconditioned:
        add_split_noise(noise, base, channels)
        return
    if noise <= 0.0:
        return
    size = math.sqrt(2.0 if numbers.newton else 0.5)
    for cell in range(channels.shape[0]):
        spread = noise * math.sqrt(channels[cell, 2])
        std = math.exp(noise_log_std(state.raw[cell, 1], numbers))
        channels[cell, 0] += spread * std * normal_at(base, 2 * cell)
        channels[cell, 1] += spread * size * normal_at(base, 2 * cell + 1)


@njit(nogil=True, cache=True)
def gaussian_leaves(cells, state, numbers, base, tree, n_levels):
    """Leaf values of one tree from noise-free gradients plus one draw a leaf and output.

    A step is ``(G + leaf_noise * sqrt(W) * N(0, 1)) / H`` with ``H = W = curvature + l2``. If
    preconditioned, ``H = W = sum(1 / s^2) * (1 + l2 / n)`` for the mean, and ``W = H / 2`` for the
    log std of gradient leaves, whose ``G`` is half a derivative. Leaves without rows stay at 0.
    Writes ``state.forest.values[tree]`` and moves ``state.raw``; returns the root mean square over
    rows of what the tree adds.
    """
    sum_gaussian_leaves(cells, state, numbers, n_levels)
    rms = set_gaussian_leaves(state.leaf_sums, state.forest, numbers, base, tree, n_levels)
    move_gaussian(state, numbers, tree)
    return rms


@njit(nogil=True, cache=True)
def sum_gaussian_leaves(cells, state, numbers, n_levels):
    """Write the sums over each leaf's rows to ``state.leaf_sums`` (max_leaves, 5): gradients,
    curvatures, count. ``numbers`` are not needed; those of a softmax are.
    """
    sums, leaf_of_row = state.leaf_sums, state.scratch.leaf_of_row
    sums[: 1 << n_levels, :] = 0.0
    for row in range(state.raw.shape[0]):
        leaf = np.uint64(leaf_of_row[row])
        sums[leaf, 0] += state.gradients[row, 0]
        sums[leaf, 1] += state.gradients[row, 1]
        sums[leaf, 2] += state.curvature[row, 0]
        sums[leaf, 3] += state.curvature[row, 1]
        sums[leaf, 4] += cells.every.n_rows[row]


@njit(nogil=True, cache=True)
def set_gaussian_leaves(sums, forest, numbers, base, tree, n_levels):
    """Write one tree's leaf values from the sums over its leaves; see `gaussian_leaves`."""
    values = forest.values[tree]
    noise = numbers.leaf_noise * numbers.schedule.noise[tree]
    half = 0.5 if numbers.preconditioned and not numbers.newton else 1.0
    square = 0.0
    for leaf in range(1 << n_levels):
        n = sums[leaf, 4]
        if n > 0.0:
            for output in range(2):
                weight = sums[leaf, 2 + output] + numbers.l2
                if numbers.preconditioned and output == 0:
                    weight = sums[leaf, 2] * (1.0 + numbers.l2 / n)
                variance = half * weight if output == 1 else weight
                total = sums[leaf, output]
                if noise > 0.0:
                    total += noise * math.sqrt(variance) * normal_at(base, 2 * leaf + output)
                if output == 0:
                    step = total / weight
                else:
                    step = total / max(weight, 1e-12)
                    step = min(max(step, -LOG_STD_STEP), LOG_STD_STEP)
                values[leaf, output] = numbers.learning_rate * step
                square += n * values[leaf, output] ** 2
    if numbers.monotone.shape[0] > 0:
        square = project_monotone(
            values, sums[:, 4], forest.features[tree], numbers.monotone, n_levels
        )
    return math.sqrt(square / numbers.n_rows)


@njit(nogil=True, cache=True)
def move_gaussian(state, numbers, tree):
    """Move ``state.raw`` by one tree's leaf values."""
    raw, values, leaf_of_row = state.raw, state.forest.values[tree], state.scratch.leaf_of_row
    decay = numbers.decay if tree > 0 else 1.0
    for row in range(raw.shape[0]):
        leaf = np.uint64(leaf_of_row[row])
        raw[row, 0] = raw[row, 0] * decay + values[leaf, 0]
        raw[row, 1] = raw[row, 1] * decay + values[leaf, 1]


@lean
@njit(nogil=True, cache=True)
def boost_gaussian(rows, cells, state, numbers, seed, member, first, last, width):
    """Add trees ``first:last`` to one member, which alone writes the mask of ``cells``.

    After the last tree of all, ``state.trace`` gets the loss that is left.
    """
    forest, schedule = state.forest, numbers.schedule
    n_trees = forest.levels.shape[0]
    draws = np.empty(N_PURPOSES, np.uint64)
    for tree in range(first, last + 1 if last == n_trees else last):
        scale = 1.0
        if tree < n_trees:
            scale = schedule.scale[tree]
            if mask_changes(schedule, tree):
                share = schedule.share[tree]
                mask_gaussian(cells, share, stream(seed, member, schedule.cycle[tree], MASK_ROWS))
        fill_streams(seed, member, tree, draws)
        rms, state.trace[0, tree] = gaussian_gradients(
            cells, state, numbers, scale, draws[SAMPLE_ROWS]
        )
        if tree == n_trees:
            break
        noise = numbers.noise * schedule.noise[tree]
        add_gaussian_noise(noise, draws[SPLIT_NOISE], state, numbers)
        score_noise = score_noise_std(numbers, rms, tree)
        forest.levels[tree] = grow_tree(
            rows,
            state.channels,
            state.scratch,
            numbers.l2,
            score_noise,
            draws[SCORE_NOISE],
            forest.features[tree],
            forest.bins[tree],
            width,
        )
        n_levels = forest.levels[tree]
        state.trace[1, tree] = gaussian_leaves(
            cells, state, numbers, draws[LEAF_NOISE], tree, n_levels
        )
