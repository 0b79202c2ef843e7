"""Growing one oblivious tree: every level splits all leaves by the same feature and bin."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import lean
from gbuq_core.trees.histogram_kernels import (
    clear_histogram,
    count_rows,
    part_rows,
    split_histogram,
)
from gbuq_core.trees.scoring_kernels import add_leaf_scores, best_candidate, sum_leaf


class BinnedRows(NamedTuple):
    """What a tree may split on; ``n`` rows here are merged cells where merging is exact.

    codes (n, n_features) uint8 C; columns (n_features, n) uint8 C, the same transposed;
    offset (n_features,) uint64 and n_bins (n_features,) int64: where a feature's bins lie in a
    histogram; is_category (n_features,) bool; is_candidate (total_bins,) bool; slot_feature,
    slot_bin (total_bins,) int64: what a slot of the histogram stands for.
    """

    codes: np.ndarray
    columns: np.ndarray
    offset: np.ndarray
    n_bins: np.ndarray
    is_category: np.ndarray
    is_candidate: np.ndarray
    slot_feature: np.ndarray
    slot_bin: np.ndarray


class TreeScratch(NamedTuple):
    """Memory that one member's trees reuse.

    order, spare (n,) uint32; begin, end (max_leaves,) int64; histogram (max_leaves, total_bins,
    n_channels); products, squares (total_bins,); running (2, n_channels); leaf_of_row (n,) uint16.
    """

    order: np.ndarray
    spare: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    histogram: np.ndarray
    products: np.ndarray
    squares: np.ndarray
    running: np.ndarray
    leaf_of_row: np.ndarray


def make_tree_scratch(n_rows: int, depth: int, total_bins: int, n_channels: int) -> TreeScratch:
    """Scratch for trees of ``depth`` levels on ``n_rows`` rows."""
    n_leaves = 2**depth
    n_counted = max(1, n_leaves // 2)  # the last level's leaves are never split
    return TreeScratch(
        order=np.empty(n_rows, np.uint32),
        spare=np.empty(n_rows, np.uint32),
        begin=np.zeros(n_leaves, np.int64),
        end=np.zeros(n_leaves, np.int64),
        histogram=np.zeros((n_counted, total_bins, n_channels)),
        products=np.empty(total_bins),
        squares=np.empty(total_bins),
        running=np.empty((2, n_channels)),
        leaf_of_row=np.empty(n_rows, np.uint16),
    )


@njit(nogil=True, cache=True)
def grow_tree(rows, channels, scratch, l2, noise_std, noise_base, features, bins, width):
    """Choose the splits of one tree and the leaf of every row.

    ``channels`` (n, n_outputs + 1) float64: gradient sums and the number of rows of each cell;
    cells without rows take no part in choosing but get a leaf. Writes ``features`` (depth,) int16
    and ``bins`` (depth,) uint8 and ``scratch.leaf_of_row``; returns the number of levels (0 when
    there is nothing to split on). Bit ``level`` of a leaf index tells whether the row went right
    there.
    """
    histogram = scratch.histogram
    total_bins = rows.slot_bin.shape[0]
    depth = features.shape[0]
    begin_root(rows, channels, scratch, histogram[0], width)
    for level in range(depth):
        for slot in range(total_bins):
            scratch.products[slot] = 0.0
            scratch.squares[slot] = 0.0
        for leaf in range(1 << level):
            if scratch.end[leaf] > scratch.begin[leaf]:
                sum_leaf(histogram[leaf], rows.offset, rows.n_bins, scratch.running, width)
                add_leaf_scores(
                    histogram[leaf],
                    rows.offset,
                    rows.n_bins,
                    rows.is_category,
                    l2,
                    scratch.products,
                    scratch.squares,
                    scratch.running,
                    width,
                )
        best = best_candidate(
            scratch.products,
            scratch.squares,
            rows.is_candidate,
            noise_std,
            noise_base,
            level * total_bins,
        )
        if best < 0:
            return level
        feature = rows.slot_feature[best]
        code = np.uint8(rows.slot_bin[best])
        features[level] = feature
        bins[level] = code
        is_equal = rows.is_category[feature]
        column = rows.columns[feature]
        mark_right(column, code, is_equal, level, scratch.leaf_of_row)
        if level + 1 < depth:
            _split_leaves(rows, channels, scratch, level, column, code, is_equal, width)
    return depth


@lean
@njit(nogil=True, cache=True)
def begin_root(rows, channels, scratch, histogram, width):
    """Put all rows with a count in leaf 0 and count them to ``histogram`` (total_bins,
    n_channels).
    """
    last = channels.shape[1] - 1
    n_filled = 0
    for row in range(channels.shape[0]):
        scratch.leaf_of_row[row] = 0
        scratch.order[n_filled] = row
        n_filled += 1 if channels[row, last] > 0.0 else 0
    scratch.begin[0] = 0
    scratch.end[0] = n_filled
    clear_histogram(histogram)
    # Read from arrays, so that only one `count_rows` is compiled, not one for a literal 0 too.
    low, high = scratch.begin[0], scratch.end[0]
    count_rows(scratch.order, low, high, rows.codes, rows.offset, channels, histogram, width)


@lean
@njit(nogil=True, cache=True)
def split_leaf(scratch, leaf, level, column, code, is_equal):
    """Part the rows of ``leaf`` from those of its new sibling ``leaf + 2^level``.

    Returns where the leaf's rows begin in ``scratch.order``, where the sibling's do, and where
    those end.
    """
    sibling = leaf + (1 << level)
    low, high = scratch.begin[leaf], scratch.end[leaf]
    middle = part_rows(scratch.order, scratch.spare, low, high, column, code, is_equal)
    scratch.end[leaf] = middle
    scratch.begin[sibling] = middle
    scratch.end[sibling] = high
    return low, middle, high


@njit(nogil=True, cache=True)
def mark_right(column, code, is_equal, level, leaf_of_row):
    """Set bit ``level`` of the leaf of every row that goes right."""
    bit = np.uint16(1 << level)
    if is_equal:
        for row in range(column.shape[0]):
            leaf_of_row[row] |= bit if column[row] == code else np.uint16(0)
    else:
        for row in range(column.shape[0]):
            leaf_of_row[row] |= bit if column[row] > code else np.uint16(0)


@lean
@njit(nogil=True, cache=True)
def _split_leaves(rows, channels, scratch, level, column, code, is_equal, width):
    """Part every leaf's rows and make both children's histograms."""
    histogram = scratch.histogram
    for leaf in range(1 << level):
        low, middle, high = split_leaf(scratch, leaf, level, column, code, is_equal)
        if middle == high:
            continue
        child = histogram[leaf + (1 << level)]
        clear_histogram(child)
        left_is_smaller = middle - low < high - middle
        small_low, small_high = (low, middle) if left_is_smaller else (middle, high)
        count_rows(
            scratch.order, small_low, small_high, rows.codes, rows.offset, channels, child, width
        )
        split_histogram(histogram[leaf], child, left_is_smaller)
