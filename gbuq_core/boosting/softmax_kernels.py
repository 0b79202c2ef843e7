"""Boosting the logits of a softmax over ``n_classes`` classes, one output a class.

Rows may be merged into cells: the number of rows of each class is all that a tree needs.
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

# A leaf's logits move by at most this much a tree, before the learning rate: without l2 the Newton
# step of a leaf that is sure of another class has no bound.
LOGIT_STEP = 1e3


class ClassCells(NamedTuple):
    """Targets of the cells: n_rows (n,) and class_counts (n, n_classes) float64; the class of each
    row, cell by cell, (n_rows,) int32; and where each cell's rows begin (n + 1,) int64.
    """

    n_rows: np.ndarray
    class_counts: np.ndarray
    class_of_row: np.ndarray
    begin: np.ndarray


@njit(nogil=True, cache=True)
def softmax_gradients(cells, raw, numbers, base, gradients, curvature, channels):
    """Gradient sums ``sum(onehot - p)`` of every cell, and the rms of the rows' gradients.

    Writes ``gradients`` (n, n_classes), the probabilities to ``curvature`` (n, n_classes), both
    of all rows, for the leaves; and to ``channels`` (n, n_classes + 1) the gradients and the number
    of the sampled rows, which choose the splits.
    """
    n_classes = raw.shape[1]
    threshold = np.uint64(numbers.subsample * 4294967296.0)
    squares = 0.0
    for cell in range(raw.shape[0]):
        largest = raw[cell, 0]
        for k in range(1, n_classes):
            largest = max(largest, raw[cell, k])
        total = 0.0
        for k in range(n_classes):
            curvature[cell, k] = math.exp(raw[cell, k] - largest)
            total += curvature[cell, k]
        inverse = 1.0 / total
        n = cells.n_rows[cell]
        for k in range(n_classes):
            p = curvature[cell, k] * inverse
            curvature[cell, k] = p
            counted = cells.class_counts[cell, k]
            gradients[cell, k] = counted - n * p
            channels[cell, k] = counted
            squares += counted * (1.0 - 2.0 * p) + n * p * p
        if numbers.subsample < 1.0:
            n = 0.0
            for k in range(n_classes):
                channels[cell, k] = 0.0
            for row in range(cells.begin[cell], cells.begin[cell + 1]):
                half = bits_at(base, row >> 1) >> np.uint64(32 * (row & 1))
                kept = np.float64(half & np.uint64(0xFFFFFFFF) < threshold)  # no branch to guess
                n += kept
                channels[cell, cells.class_of_row[row]] += kept
        for k in range(n_classes):
            channels[cell, k] -= n * curvature[cell, k]
        channels[cell, n_classes] = n
    return math.sqrt(max(squares, 0.0) / numbers.n_rows)


@njit(nogil=True, cache=True)
def sum_leaves(state, n_rows, newton):
    """Sums over each leaf's rows: gradients, the row count, and (Newton) the softmax Hessian.

    ``state.leaf_sums`` (max_leaves, n_classes + 1 + n_classes (n_classes + 1) / 2): gradients
    first, then the count, then the lower triangle of ``sum n (diag p - p p^T)`` row by row.
    """
    sums, n_classes = state.leaf_sums, state.raw.shape[1]
    for row in range(state.raw.shape[0]):
        leaf = np.uint64(state.scratch.leaf_of_row[row])
        n = n_rows[row]
        for k in range(n_classes):
            sums[leaf, k] += state.gradients[row, k]
        sums[leaf, n_classes] += n
        if newton:
            slot = n_classes + 1
            for k in range(n_classes):
                weighted = n * state.curvature[row, k]
                for other in range(k):
                    sums[leaf, slot] -= weighted * state.curvature[row, other]
                    slot += 1
                sums[leaf, slot] += weighted * (1.0 - state.curvature[row, k])
                slot += 1


@njit(nogil=True, cache=True)
def solve_cholesky(lower, right):
    """Solve ``A x = right`` in place; ``lower`` (n, n) holds A's lower triangle and is overwritten.

    A is positive definite but for rounding: a pivot below 1e-12 counts as 1e-12.
    """
    n = right.shape[0]
    for j in range(n):
        for i in range(j, n):
            value = lower[i, j]
            for k in range(j):
                value -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(max(value, 1e-12)) if i == j else value / lower[j, j]
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
    ``leaf_noise * sqrt(n + l2)``. Leaves without rows stay at 0. Moves ``state.raw``.
    """
    raw, sums = state.raw, state.leaf_sums
    n_classes, n_leaves = raw.shape[1], 1 << n_levels
    sums[:n_leaves, :] = 0.0
    sum_leaves(state, cells.n_rows, numbers.newton)
    values = state.forest.values[tree]
    lower = np.empty((n_classes, n_classes))
    right = np.empty(n_classes)
    for leaf in range(n_leaves):
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
            if numbers.leaf_noise > 0.0:
                right[k] += (
                    numbers.leaf_noise * math.sqrt(weight) * normal_at(base, leaf * n_classes + k)
                )
            if not numbers.newton:
                right[k] /= weight
        if numbers.newton:
            shift = right.mean()  # equal steps of all logits change nothing, and H is flat there
            for k in range(n_classes):
                right[k] -= shift
            solve_cholesky(lower, right)
        for k in range(n_classes):
            step = min(max(right[k], -LOGIT_STEP), LOGIT_STEP)
            values[leaf, k] = numbers.learning_rate * step
    decay = numbers.decay if tree > 0 else 1.0
    for row in range(raw.shape[0]):
        leaf_of = np.uint64(state.scratch.leaf_of_row[row])
        for k in range(n_classes):
            raw[row, k] = raw[row, k] * decay + values[leaf_of, k]


@njit(nogil=True, cache=True)
def boost_softmax(rows, cells, state, numbers, seed, member, first, last, width):
    """Add trees ``first:last`` to one member."""
    forest = state.forest
    for tree in range(first, last):
        rms = softmax_gradients(
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
        softmax_leaves(cells, state, numbers, leaf_base, tree, forest.levels[tree])
