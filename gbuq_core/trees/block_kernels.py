"""One tree of many rows, grown by blocks of rows that any number of threads can share.

A tree on more than `BLOCK_ROWS` rows is grown phase by phase. Within a phase nobody waits:

    begin_root      each block    its rows' histogram of the root
    split_block     each block    its rows to their sides, histograms of the smaller children
    merge_first     one thread    the first feature's part of the next phase, and the leaves' sums
    merge_and_score each chunk    sums over blocks, in their order; larger children by subtraction;
                                  scores of the candidates, all leaves

A chunk is a range of features. The blocks depend on the number of rows only, and every sum is in
the order of the blocks, so results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import lean
from gbuq_core.trees.growing_kernels import BinnedRows, mark_right, split_leaf
from gbuq_core.trees.histogram_kernels import clear_histogram, count_rows
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


class LevelScratch(NamedTuple):
    """What the blocks' histograms of one level are merged to.

    counted (n_blocks, max_leaves / 4, total_bins, n_channels): of each block, the children that are
    counted; histogram (max_leaves / 2, total_bins, n_channels): of all rows, the level's leaves,
    until they are merged their parents; running (max_leaves / 2, 2, n_channels), with the sums over
    a leaf's rows second; products, squares (total_bins,): the candidates' scores; left_is_smaller
    (max_leaves / 2,) bool: which child of each leaf is counted.
    """

    counted: np.ndarray
    histogram: np.ndarray
    running: np.ndarray
    products: np.ndarray
    squares: np.ndarray
    left_is_smaller: np.ndarray


def make_level_scratch(n_blocks: int, depth: int, total_bins: int, n_channels: int) -> LevelScratch:
    """Scratch for trees of ``depth`` levels on so many blocks of rows."""
    n_counted = max(1, 2 ** (depth - 1))  # the last level's leaves are never split
    return LevelScratch(
        counted=np.empty((n_blocks, max(1, n_counted // 2), total_bins, n_channels)),
        histogram=np.empty((n_counted, total_bins, n_channels)),
        running=np.empty((n_counted, 2, n_channels)),
        products=np.empty(total_bins),
        squares=np.empty(total_bins),
        left_is_smaller=np.zeros(n_counted, np.bool_),
    )


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


@lean
@njit(nogil=True, cache=True)
def split_block(rows, channels, scratch, level, feature, code, left_is_smaller, is_last, width):
    """Split every leaf's rows; count those of its smaller child unless this level ``is_last``."""
    column = rows.columns[feature]
    is_equal = rows.is_category[feature]
    mark_right(column, code, is_equal, level, scratch.leaf_of_row)
    if is_last:
        return
    for leaf in range(1 << level):
        low, middle, high = split_leaf(scratch, leaf, level, column, code, is_equal)
        child = scratch.counted[leaf]
        clear_histogram(child)
        low, high = (low, middle) if left_is_smaller[leaf] else (middle, high)
        count_rows(scratch.order, low, high, rows.codes, rows.offset, channels, child, width)


@njit(nogil=True, cache=True)
def _merge_slots(level, n_parents, low, high):
    """Make the histograms of ``2 n_parents`` leaves of their parents', or the root's of none."""
    counted, histogram = level.counted, level.histogram
    for leaf in range(max(n_parents, 1)):
        left = level.left_is_smaller[leaf]
        for slot in range(low, high):
            for channel in range(histogram.shape[2]):
                total = counted[0, leaf, slot, channel]
                for block in range(1, counted.shape[0]):
                    total += counted[block, leaf, slot, channel]
                if n_parents == 0:
                    histogram[0, slot, channel] = total
                    continue
                rest = histogram[leaf, slot, channel] - total
                histogram[leaf, slot, channel] = total if left else rest
                histogram[leaf + n_parents, slot, channel] = rest if left else total


@lean
@njit(nogil=True, cache=True)
def merge_first(level, rows, n_leaves, width):
    """Merge the blocks' histograms of the first feature, and write the leaves' sums.

    Every chunk of features needs the sums to score by, so they come before `merge_and_score`.
    """
    _merge_slots(level, n_leaves // 2, 0, rows.n_bins[0])
    for leaf in range(n_leaves):
        sum_leaf(level.histogram[leaf], rows.offset, rows.n_bins, level.running[leaf], width)


@lean
@njit(nogil=True, cache=True)
def merge_and_score(level, rows, n_leaves, l2, first, last, width):
    """Merge the blocks' histograms of the features ``first:last``, and score their candidates.

    Writes `scoring_kernels.add_leaf_scores` of all leaves to ``level.products`` and
    ``level.squares``. The histogram of feature 0 has been merged by `merge_first`.
    """
    low = np.int64(rows.offset[first])
    high = np.int64(rows.offset[last - 1]) + rows.n_bins[last - 1]
    _merge_slots(level, n_leaves // 2, max(low, rows.n_bins[0]), high)
    for slot in range(low, high):
        level.products[slot] = 0.0
        level.squares[slot] = 0.0
    n_channels = level.running.shape[2]
    running = np.empty((2, n_channels))
    for leaf in range(n_leaves):
        if level.running[leaf, 1, n_channels - 1] > 0.0:
            running[1] = level.running[leaf, 1]
            add_leaf_scores(
                level.histogram[leaf],
                rows.offset[first:last],
                rows.n_bins[first:last],
                rows.is_category[first:last],
                l2,
                level.products,
                level.squares,
                running,
                width,
            )
