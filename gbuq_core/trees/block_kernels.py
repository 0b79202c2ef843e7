"""One tree of many rows, grown by blocks of rows that any number of threads can share.

A tree on more than `BLOCK_ROWS` rows is grown phase by phase. Within a phase nobody waits:

    begin_block     each block    its rows' histogram of the root
    split_block     each block    its rows to their sides, histograms of the smaller children
    merge_slots     each chunk    sums over blocks, in their order; larger children by subtraction
    score_slots     each chunk    scores of the candidates, all leaves

A chunk is a range of features. The blocks depend on the number of rows only, and every sum is in
the order of the blocks, so results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.trees.growing_kernels import BinnedRows, mark_right
from gbuq_core.trees.histogram_kernels import clear_histogram, count_rows, part_rows
from gbuq_core.trees.scoring_kernels import add_leaf_scores, sum_leaf

BLOCK_ROWS = 65_536
_MOST_BLOCKS = 32  # so that their histograms of very many rows stay small beside the rows


class BlockScratch(NamedTuple):
    """Memory of one block's trees.

    order, spare (n,) uint32 and begin, end (max_leaves,) int64 as in `TreeScratch`; counted
    (max_leaves / 4, total_bins, n_channels): histograms of the children that are counted at one
    level; leaf_of_row (n,) uint16.
    """

    order: np.ndarray
    spare: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    counted: np.ndarray
    leaf_of_row: np.ndarray


def block_edges(n_rows: int) -> np.ndarray:
    """Where the blocks of ``n_rows`` begin and end, (n_blocks + 1,).

    Their number is even, because two threads share an even number fairly.

    Examples
    --------
    >>> block_edges(100_000).tolist()
    [0, 50000, 100000]
    """
    n_blocks = 1 if n_rows <= BLOCK_ROWS else min(_MOST_BLOCKS, 2 * -(-n_rows // (2 * BLOCK_ROWS)))
    return np.linspace(0, n_rows, n_blocks + 1).astype(np.int64)


def make_block_scratch(n_rows: int, depth: int, counted: np.ndarray) -> BlockScratch:
    """Scratch of a block of ``n_rows``; ``counted`` is its part of all blocks' histograms."""
    n_leaves = 2**depth
    return BlockScratch(
        order=np.empty(n_rows, np.uint32),
        spare=np.empty(n_rows, np.uint32),
        begin=np.zeros(n_leaves, np.int64),
        end=np.zeros(n_leaves, np.int64),
        counted=counted,
        leaf_of_row=np.empty(n_rows, np.uint16),
    )


def rows_of_block(rows: BinnedRows, low: int, high: int) -> BinnedRows:
    """The rows ``low:high`` as rows of their own."""
    codes = rows.codes[low:high]
    return rows._replace(codes=codes, columns=np.ascontiguousarray(codes.T))


@njit(nogil=True, cache=True)
def begin_block(rows, channels, scratch, width):
    """Put all rows with a count in one leaf and count them to ``scratch.counted[0]``."""
    last = channels.shape[1] - 1
    n_filled = 0
    for row in range(channels.shape[0]):
        scratch.leaf_of_row[row] = 0
        scratch.order[n_filled] = row
        n_filled += 1 if channels[row, last] > 0.0 else 0
    scratch.begin[0] = 0
    scratch.end[0] = n_filled
    clear_histogram(scratch.counted[0])
    low, high = scratch.begin[0], scratch.end[0]
    count_rows(
        scratch.order, low, high, rows.codes, rows.offset, channels, scratch.counted[0], width
    )


@njit(nogil=True, cache=True)
def choose_smaller(histogram, rows, feature, code, n_leaves, left_is_smaller):
    """Write to ``left_is_smaller`` (n_leaves,) bool which child of each leaf has fewer rows."""
    last = histogram.shape[2] - 1
    first = np.int64(rows.offset[feature])
    for leaf in range(n_leaves):
        left, right = 0.0, 0.0
        for bin_ in range(rows.n_bins[feature]):
            n = histogram[leaf, first + bin_, last]
            goes_right = bin_ == code if rows.is_category[feature] else bin_ > code
            left += 0.0 if goes_right else n
            right += n if goes_right else 0.0
        left_is_smaller[leaf] = left < right


@njit(nogil=True, cache=True)
def split_block(rows, channels, scratch, level, feature, code, left_is_smaller, is_last, width):
    """Split every leaf's rows; count those of its smaller child unless this level ``is_last``."""
    column = rows.columns[feature]
    is_equal = rows.is_category[feature]
    mark_right(column, code, is_equal, level, scratch.leaf_of_row)
    if is_last:
        return
    for leaf in range(1 << level):
        sibling = leaf + (1 << level)
        low, high = scratch.begin[leaf], scratch.end[leaf]
        middle = part_rows(scratch.order, scratch.spare, low, high, column, code, is_equal)
        scratch.end[leaf] = middle
        scratch.begin[sibling] = middle
        scratch.end[sibling] = high
        child = scratch.counted[leaf]
        clear_histogram(child)
        low, high = (low, middle) if left_is_smaller[leaf] else (middle, high)
        count_rows(scratch.order, low, high, rows.codes, rows.offset, channels, child, width)


@njit(nogil=True, cache=True)
def merge_slots(counted, histogram, n_leaves, left_is_smaller, first, last):
    """Histograms of the slots ``first:last`` of ``2 n_leaves`` leaves, of ``n_leaves`` parents.

    ``counted`` (n_blocks, max_leaves / 4, total_bins, n_channels); ``histogram`` (max_leaves / 2,
    total_bins, n_channels) holds the parents, if there are any, and then the children.
    """
    for leaf in range(max(n_leaves, 1)):
        for slot in range(first, last):
            for channel in range(histogram.shape[2]):
                total = counted[0, leaf, slot, channel]
                for block in range(1, counted.shape[0]):
                    total += counted[block, leaf, slot, channel]
                if n_leaves == 0:
                    histogram[0, slot, channel] = total
                    continue
                rest = histogram[leaf, slot, channel] - total
                left = left_is_smaller[leaf]
                histogram[leaf, slot, channel] = total if left else rest
                histogram[leaf + n_leaves, slot, channel] = rest if left else total


@njit(nogil=True, cache=True)
def score_slots(
    histogram, rows, n_leaves, l2, first_feature, last_feature, products, squares, width
):
    """Write `scoring_kernels.add_leaf_scores` of all leaves for a range of features."""
    low = np.int64(rows.offset[first_feature])
    high = np.int64(rows.offset[last_feature - 1]) + rows.n_bins[last_feature - 1]
    for slot in range(low, high):
        products[slot] = 0.0
        squares[slot] = 0.0
    running = np.empty((2, histogram.shape[2]))
    for leaf in range(n_leaves):
        sum_leaf(histogram[leaf], rows.offset, rows.n_bins, running, width)
        if running[1, histogram.shape[2] - 1] > 0.0:
            add_leaf_scores(
                histogram[leaf], rows.offset[first_feature:last_feature],
                rows.n_bins[first_feature:last_feature],
                rows.is_category[first_feature:last_feature], l2, products, squares, running,
                width,
            )  # fmt: skip
