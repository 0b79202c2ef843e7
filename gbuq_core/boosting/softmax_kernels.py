"""Boosting the logits of a softmax over ``n_classes`` classes, one output a class.

Rows may be merged into cells: the number of rows of each class is all that a tree needs, and
besides, where rows are bootstrapped (cyclical paper, algorithm 1), of those whose gradients count.

Langevin noise samples from the posterior only if its covariance is the curvature that divides the
gradients. At the temperature "posterior" and at numbers (``numbers.preconditioned``) it is that of
a row, ``diag p - p p^T``. CatBoost's noise has one size and is independent from class to class.
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

# A leaf's logits move by at most this much a tree, before the learning rate: without l2 the Newton
# step of a leaf that is sure of another class has no bound.
LOGIT_STEP = 1e3


class ClassCells(NamedTuple):
    """Targets of the cells.

    ``n_rows`` (n,) and ``class_counts`` (n, n_classes) float64 count all rows, ``graded`` (n,
    n_classes) those whose gradients count, by ``mask`` (n_rows,) uint8; ``class_of_row`` (n_rows,)
    int32 is the class of each row and ``weight`` (n_rows,) float64 how many rows it counts as, cell
    by cell like the mask; ``begin`` (n + 1,) int64 says where
    each cell's rows begin, and ``order`` (n_rows,) int64 which row of the table each of them is.
    """

    n_rows: np.ndarray
    class_counts: np.ndarray
    graded: np.ndarray
    mask: np.ndarray
    class_of_row: np.ndarray
    weight: np.ndarray
    begin: np.ndarray
    order: np.ndarray


@njit(nogil=True, cache=True)
def mask_classes(cells, share, base):
    """Let a random ``share`` of the rows count; writes ``cells.mask`` and ``cells.graded``."""
    draw_mask(cells.order, share, base, cells.mask)
    grade_classes(cells)


@njit(nogil=True, cache=True)
def grade_classes(cells):
    """Write to ``cells.graded`` the counts of the rows in ``cells.mask``."""
    cells.graded[:, :] = 0.0
    for cell in range(cells.n_rows.shape[0]):
        for row in range(cells.begin[cell], cells.begin[cell + 1]):
            cells.graded[cell, cells.class_of_row[row]] += cells.mask[row] * cells.weight[row]


@lean
@njit(nogil=True, cache=True)
def softmax_gradients(cells, state, numbers, scale, base):
    """Gradient sums ``sum(onehot - p)`` of every cell; the rows' gradients' rms and their mean NLL.

    ``scale`` multiplies the gradients, of which only the graded rows have any; ``base`` numbers the
    draws of the row sample. Reads ``state.raw``; writes ``gradients`` (n, n_classes), the
    probabilities to ``curvature`` (n, n_classes), both of all rows, for the leaves; and to
    ``channels`` (n, n_classes + 1) the gradients and the number of the sampled rows, which choose
    the splits.
    """
    raw, channels = state.raw, state.channels
    gradients, curvature = state.gradients, state.curvature
    n_classes = raw.shape[1]
    threshold = np.uint64(numbers.subsample * 4294967296.0)
    squares, loss = 0.0, 0.0
    for cell in range(raw.shape[0]):
        largest = raw[cell, 0]
        for k in range(1, n_classes):
            largest = max(largest, raw[cell, k])
        total, n_graded = 0.0, 0.0
        for k in range(n_classes):
            curvature[cell, k] = math.exp(raw[cell, k] - largest)
            total += curvature[cell, k]
            n_graded += cells.graded[cell, k]
            loss -= cells.class_counts[cell, k] * (raw[cell, k] - largest)
        n = cells.n_rows[cell]
        loss += n * math.log(total)
        inverse = 1.0 / total
        for k in range(n_classes):
            p = curvature[cell, k] * inverse
            curvature[cell, k] = p
            counted = cells.graded[cell, k]
            gradients[cell, k] = scale * (counted - n_graded * p)
            channels[cell, k] = counted
            squares += counted * (1.0 - 2.0 * p) + n_graded * p * p
        if numbers.subsample < 1.0:
            n, n_graded = 0.0, 0.0
            for k in range(n_classes):
                channels[cell, k] = 0.0
            for row in range(cells.begin[cell], cells.begin[cell + 1]):
                kept = cells.weight[row] * is_drawn(base, row, threshold)
                n += kept
                kept *= cells.mask[row]
                n_graded += kept
                channels[cell, cells.class_of_row[row]] += kept
        for k in range(n_classes):
            channels[cell, k] = scale * (channels[cell, k] - n_graded * curvature[cell, k])
        channels[cell, n_classes] = n
    return scale * math.sqrt(max(squares, 0.0) / numbers.n_rows), loss / numbers.n_rows


@njit(nogil=True, cache=True)
def sum_softmax_leaves(cells, state, numbers, n_levels):
    """Sums over each leaf's rows: gradients, the row count, and (Newton) the softmax Hessian.

    ``state.leaf_sums`` (max_leaves, n_classes + 1 + n_classes (n_classes + 1) / 2): gradients
    first, then the count, then the lower triangle of ``sum n (diag p - p p^T)`` row by row.
    """
    sums, n_classes = state.leaf_sums, state.raw.shape[1]
    sums[: 1 << n_levels, :] = 0.0
    for row in range(state.raw.shape[0]):
        leaf = np.uint64(state.scratch.leaf_of_row[row])
        n = cells.n_rows[row]
        for k in range(n_classes):
            sums[leaf, k] += state.gradients[row, k]
        sums[leaf, n_classes] += n
        if numbers.newton:
            slot = n_classes + 1
            for k in range(n_classes):
                weighted = n * state.curvature[row, k]
                for other in range(k):
                    sums[leaf, slot] -= weighted * state.curvature[row, other]
                    slot += 1
                sums[leaf, slot] += weighted * (1.0 - state.curvature[row, k])
                slot += 1


@lean
@njit(nogil=True, cache=True)
def add_softmax_noise(noise, base, state, numbers):
    """Add to the gradient sums in ``state.channels`` (n, n_classes + 1) the noise of their rows.

    Preconditioned, a row's has covariance ``noise^2 (diag p - p p^T)``: with ``v = sqrt(p) *
    N(0, 1)`` for each class, ``v - p sum(v)`` has the covariance in brackets. Else it is
    CatBoost's. The probabilities are in ``state.curvature``.
    """
    probabilities, channels = state.curvature, state.channels
    if not numbers.preconditioned:
        add_split_noise(noise, base, channels)
        return
    if noise <= 0.0:
        return
    n_classes = probabilities.shape[1]
    for cell in range(channels.shape[0]):
        spread = noise * math.sqrt(channels[cell, n_classes])
        total = 0.0
        for k in range(n_classes):
            part = math.sqrt(probabilities[cell, k]) * normal_at(base, cell * n_classes + k)
            channels[cell, k] += spread * part
            total += part
        for k in range(n_classes):
            channels[cell, k] -= spread * probabilities[cell, k] * total


@njit(nogil=True, cache=True)
def factor_cholesky(lower):
    """Turn the lower triangle of A (n, n) into L with ``A = L L^T``, in place.

    A is positive definite but for rounding: a pivot below 1e-12 counts as 1e-12.
    """
    n = lower.shape[0]
    for j in range(n):
        for i in range(j, n):
            value = lower[i, j]
            for k in range(j):
                value -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(max(value, 1e-12)) if i == j else value / lower[j, j]


@njit(nogil=True, cache=True)
def solve_cholesky(lower, right):
    """Solve ``L L^T x = right`` in place; ``lower`` (n, n) holds L."""
    n = right.shape[0]
    for i in range(n):
        for k in range(i):
            right[i] -= lower[i, k] * right[k]
        right[i] /= lower[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            right[i] -= lower[k, i] * right[k]
        right[i] /= lower[i, i]


@njit(nogil=True, cache=True)
def softmax_leaves(cells, state, numbers, base, tree, n_levels):
    """Leaf values of one tree: ``(H + l2 I)^-1 (G + noise)``, or ``(G + noise) / (n + l2)``.

    In the Newton step ``G + noise`` is centred: the part that would move all logits alike.

    The noise on output k of a leaf has std ``leaf_noise * sqrt(H_kk + l2)`` (Newton) or
    ``leaf_noise * sqrt(n + l2)``. If preconditioned, that of a Newton step has the covariance
    ``leaf_noise^2 (H + l2 I)``, by way of its Cholesky factor. Leaves without
    rows stay at 0. Moves ``state.raw``; returns the root mean square over rows of what the tree
    adds.
    """
    sum_softmax_leaves(cells, state, numbers, n_levels)
    rms = set_softmax_leaves(state.leaf_sums, state.forest, numbers, base, tree, n_levels)
    move_softmax(state, numbers, tree)
    return rms


@lean
@njit(nogil=True, cache=True)
def set_softmax_leaves(sums, forest, numbers, base, tree, n_levels):
    """Write one tree's leaf values from the sums over its leaves; see `softmax_leaves`."""
    values = forest.values[tree]
    n_classes = values.shape[1]
    lower = np.empty((n_classes, n_classes))
    right = np.empty(n_classes)
    noise = numbers.leaf_noise * numbers.schedule.noise[tree]
    by_factor = noise > 0.0 and numbers.newton and numbers.preconditioned
    square = 0.0
    for leaf in range(1 << n_levels):
        n = sums[leaf, n_classes]
        if n == 0.0:
            continue
        slot = n_classes + 1
        for k in range(n_classes):
            if numbers.newton:
                for other in range(k + 1):
                    lower[k, other] = sums[leaf, slot]
                    slot += 1
                lower[k, k] = abs(lower[k, k]) + numbers.l2
            weight = lower[k, k] if numbers.newton else n + numbers.l2
            right[k] = sums[leaf, k]
            if noise > 0.0 and not by_factor:
                right[k] += noise * math.sqrt(weight) * normal_at(base, leaf * n_classes + k)
            if not numbers.newton:
                right[k] /= weight
        if numbers.newton:
            factor_cholesky(lower)
            if by_factor:
                for other in range(n_classes):
                    draw = noise * normal_at(base, leaf * n_classes + other)
                    for k in range(other, n_classes):
                        right[k] += lower[k, other] * draw
            shift = right.mean()  # equal steps of all logits change nothing, and H is flat there
            for k in range(n_classes):
                right[k] -= shift
            solve_cholesky(lower, right)
        for k in range(n_classes):
            step = min(max(right[k], -LOGIT_STEP), LOGIT_STEP)
            values[leaf, k] = numbers.learning_rate * step
            square += n * values[leaf, k] ** 2
    if numbers.monotone.shape[0] > 0:
        square = project_monotone(
            values, sums[:, n_classes], forest.features[tree], numbers.monotone, n_levels
        )
    return math.sqrt(square / numbers.n_rows)


@njit(nogil=True, cache=True)
def move_softmax(state, numbers, tree):
    """Move ``state.raw`` by one tree's leaf values."""
    raw, values = state.raw, state.forest.values[tree]
    decay = numbers.decay if tree > 0 else 1.0
    for row in range(raw.shape[0]):
        leaf_of = np.uint64(state.scratch.leaf_of_row[row])
        for k in range(raw.shape[1]):
            raw[row, k] = raw[row, k] * decay + values[leaf_of, k]


@lean
@njit(nogil=True, cache=True)
def boost_softmax(rows, cells, state, numbers, seed, member, first, last, width):
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
                mask_classes(cells, share, stream(seed, member, schedule.cycle[tree], MASK_ROWS))
        fill_streams(seed, member, tree, draws)
        rms, state.trace[0, tree] = softmax_gradients(
            cells, state, numbers, scale, draws[SAMPLE_ROWS]
        )
        if tree == n_trees:
            break
        noise = numbers.noise * schedule.noise[tree]
        add_softmax_noise(noise, draws[SPLIT_NOISE], state, numbers)
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
        state.trace[1, tree] = softmax_leaves(
            cells, state, numbers, draws[LEAF_NOISE], tree, n_levels
        )
