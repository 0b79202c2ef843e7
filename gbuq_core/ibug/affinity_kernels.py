"""Counting the trees in which two rows share a leaf, and keeping the rows that share most.

A block of training rows is compared with a group of query rows while it is in the cache:

    tile      252 trees x 512 training rows, one byte each: in the second-level cache
    counters  16 query rows x 512 training rows, one byte each: in the first-level cache

    for four trees: for each query row: counters[row, :] += (tile[tree, :] == code[row, tree])

The inner loop is one comparison and one addition a byte, 64 bytes at a time where the processor
can; counters are added to wider totals before a 256th tree could overflow them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import lean

BLOCK = 512  # training rows at a time
GROUP = 16  # query rows at a time
_CHUNK = 252  # trees between two flushes of the 8-bit counters: below 256, a multiple of four

NO_CODE = 65_535  # the code of a leaf that no training row is in; its low byte is no code either
NARROW_LEAVES = 255  # leaves that one byte can tell apart, with one value left for no leaf


class LeafPlanes(NamedTuple):
    """The leaf codes of ``n`` training rows in ``n_trees`` trees, tree by tree.

    low (n_trees, n) uint8 C: the low byte of every code; high (n_wide, n) uint8 C: the high byte
    in the trees with more than 255 leaves; high_row (n_trees,) int32: the row of ``high`` that
    belongs to a tree, -1 where its codes fit into one byte.
    """

    low: np.ndarray
    high: np.ndarray
    high_row: np.ndarray


class TreeOrder(NamedTuple):
    """Which trees count: trees (m,) int64, the first ``n_narrow`` of them with one-byte codes."""

    trees: np.ndarray
    n_narrow: int
    in_a_row: bool  # each tree is the one after the tree before


class Scratch(NamedTuple):
    """Memory for one thread: tile (252, 512) uint8, counters (16, 512) uint8 and totals
    (n_queries, 512) uint32.
    """

    tile: np.ndarray
    counters: np.ndarray
    totals: np.ndarray


class Candidates(NamedTuple):
    """The best training rows so far of each query row, by ascending training index.

    affinity, row (n_queries, k + 2 * 512) int32; size (n_queries,) int64: how many are in use;
    threshold (n_queries,) int64: a later row must share more trees than this to be among the k.
    """

    affinity: np.ndarray
    row: np.ndarray
    size: np.ndarray
    threshold: np.ndarray


def make_scratch(n_queries: int) -> Scratch:
    """Scratch for ``n_queries`` query rows."""
    return Scratch(
        np.zeros((_CHUNK, BLOCK), np.uint8),
        np.zeros((GROUP, BLOCK), np.uint8),
        np.zeros((n_queries, BLOCK), np.uint32),
    )


def make_candidates(n_queries: int, k: int) -> Candidates:
    """Candidates for ``n_queries`` query rows before any training row was seen."""
    room = k + 2 * BLOCK
    return Candidates(
        np.zeros((n_queries, room), np.int32),
        np.zeros((n_queries, room), np.int32),
        np.zeros(n_queries, np.int64),
        np.full(n_queries, -1, np.int64),
    )


@lean
@njit(nogil=True, cache=True)
def assign_codes(leaves, lookup, n_leaves, codes):
    """Number the leaves of each tree in the order in which training rows come into them.

    ``leaves`` (n_here, n_trees) int32 leaf numbers of the library; ``lookup`` (n_trees, n_numbers)
    int32, -1 for a leaf not met yet, and ``n_leaves`` (n_trees,) int64 carry over from one chunk to
    the next; writes ``codes`` (n_trees, n_here) uint16, wrong where a tree has more than 65,535
    leaves.
    """
    n_here, n_trees = leaves.shape
    for low in range(0, n_here, 64):  # a block of rows of all trees stays in the cache
        high = min(low + 64, n_here)
        for tree in range(n_trees):
            known = lookup[tree]
            for row in range(low, high):
                leaf = leaves[row, tree]
                if known[leaf] < 0:
                    known[leaf] = n_leaves[tree]
                    n_leaves[tree] += 1
                codes[tree, row] = np.uint16(known[leaf])


@lean
@njit(nogil=True, cache=True)
def encode_leaves(leaves, lookup, trees, codes):
    """Write the codes of query rows, one contiguous row a query, in the given order of trees.

    ``leaves`` (n_queries, n_trees) int32; ``lookup`` (n_trees, n_numbers) int32 as `assign_codes`
    left it; ``trees`` (m,) int64; ``codes`` (n_queries, m) uint16, `NO_CODE` for a leaf without
    training rows.
    """
    n_numbers = lookup.shape[1]
    for query in range(leaves.shape[0]):
        for place in range(trees.shape[0]):
            tree = trees[place]
            leaf = leaves[query, tree]
            code = lookup[tree, leaf] if leaf < n_numbers else -1
            codes[query, place] = np.uint16(code) if code >= 0 else np.uint16(NO_CODE)


@njit(nogil=True, cache=True)
def count_leaf_rows(planes, tree, counts):
    """Count the training rows in each leaf of ``tree`` into ``counts`` (n_leaves,) int64."""
    counts[:] = 0
    row_of_high = planes.high_row[tree]
    for row in range(planes.low.shape[1]):
        code = np.int64(planes.low[tree, row])
        if row_of_high >= 0:
            code += np.int64(planes.high[row_of_high, row]) << 8
        counts[code] += 1


@njit(nogil=True, cache=True)
def _flush(counters, totals):
    """Add 8-bit counters to totals (n_group, 512) uint32 and clear them."""
    for query in range(totals.shape[0]):
        count, total = counters[query], totals[query]
        for j in range(BLOCK):
            total[j] += count[j]
            count[j] = 0


@lean
@njit(nogil=True, cache=True)
def _add_narrow(tile, codes, begin, end, counters, totals):
    """Add trees ``begin:end`` with one-byte codes, in the tile, to totals (n_queries, 512) uint32.

    Four trees a pass over the counters, so that these are loaded and stored a quarter as often.
    """
    n_fours = (end - begin) // 4 * 4
    for first in range(0, codes.shape[0], GROUP):
        last = min(first + GROUP, codes.shape[0])
        for place in range(0, n_fours, 4):
            a, b, c, d = tile[place], tile[place + 1], tile[place + 2], tile[place + 3]
            for query in range(first, last):
                mine = codes[query, begin + place : begin + place + 4]
                p, q = np.uint8(mine[0]), np.uint8(mine[1])
                r, s = np.uint8(mine[2]), np.uint8(mine[3])
                count = counters[query - first]
                for j in range(BLOCK):
                    total = np.uint8(count[j] + np.uint8(a[j] == p))
                    total = np.uint8(total + np.uint8(b[j] == q))
                    total = np.uint8(total + np.uint8(c[j] == r))
                    count[j] = np.uint8(total + np.uint8(d[j] == s))
        for place in range(n_fours, end - begin):
            a = tile[place]
            for query in range(first, last):
                p = np.uint8(codes[query, begin + place])
                count = counters[query - first]
                for j in range(BLOCK):
                    count[j] = np.uint8(count[j] + np.uint8(a[j] == p))
        _flush(counters, totals[first:last])


@lean
@njit(nogil=True, cache=True)
def _add_wide(low, high, codes, begin, end, counters, totals):
    """Add trees ``begin:end`` whose codes have two bytes: both must be equal."""
    for first in range(0, codes.shape[0], GROUP):
        last = min(first + GROUP, codes.shape[0])
        for place in range(end - begin):
            a, b = low[place], high[place]
            for query in range(first, last):
                code = codes[query, begin + place]
                p, q = np.uint8(code & 255), np.uint8(code >> 8)
                count = counters[query - first]
                for j in range(BLOCK):
                    count[j] = np.uint8(count[j] + (np.uint8(a[j] == p) & np.uint8(b[j] == q)))
        _flush(counters, totals[first:last])


def _rows(places: np.ndarray, in_a_row: bool) -> np.ndarray | slice:
    """Rows of a plane; a slice is copied four times as fast as a list of them."""
    return slice(int(places[0]), int(places[-1]) + 1) if in_a_row else places


def count_block(
    planes: LeafPlanes, order: TreeOrder, codes: np.ndarray, low: int, high: int, scratch: Scratch
) -> None:
    """Count co-leaf trees of all queries with training rows ``low:high`` (at most 512).

    ``codes`` (n_queries, m) uint16 C in the order of the trees; writes ``scratch.totals``, whose
    columns from ``high - low`` on mean nothing. IBUG algorithm 1, equation 1.
    """
    n_trees, width = codes.shape[1], high - low
    tile, counters, totals = scratch
    totals[:] = 0
    for begin in range(0, order.n_narrow, _CHUNK):
        end = min(begin + _CHUNK, order.n_narrow)
        trees = _rows(order.trees[begin:end], order.in_a_row)
        tile[: end - begin, :width] = planes.low[trees, low:high]
        _add_narrow(tile, codes, begin, end, counters, totals)
    half = _CHUNK // 2  # low bytes in the first half of the tile, high bytes in the second
    for begin in range(order.n_narrow, n_trees, half):
        end = min(begin + half, n_trees)
        trees = _rows(order.trees[begin:end], order.in_a_row)
        tile[: end - begin, :width] = planes.low[trees, low:high]
        rows = _rows(planes.high_row[trees], order.in_a_row)
        tile[half : half + end - begin, :width] = planes.high[rows, low:high]
        _add_wide(tile, tile[half:], codes, begin, end, counters, totals)


@njit(nogil=True, cache=True)
def _keep_best(affinity, index, size, k, histogram):
    """Keep the k best of ``size`` > k candidates in place, in order, and return the k-th affinity.

    Counting selection: the histogram tells the affinity of the k-th and how many of the rows that
    have exactly that one are let in, those of the lowest index.
    """
    histogram[:] = 0
    for i in range(size):
        histogram[affinity[i]] += 1
    threshold = histogram.shape[0] - 1
    above = 0
    while above + histogram[threshold] < k:
        above += histogram[threshold]
        threshold -= 1
    room = k - above
    kept = 0
    for i in range(size):
        here = affinity[i]
        if here > threshold or (here == threshold and room > 0):
            if here == threshold:
                room -= 1
            affinity[kept] = here
            index[kept] = index[i]
            kept += 1
    return threshold


@lean
@njit(nogil=True, cache=True)
def keep_block(totals, low, width, k, best, histogram):
    """Bring the candidates up to date with the training rows from ``low`` on, ``width`` of them.

    ``totals`` (n_queries, 512) uint32 as `count_block` left them; ``histogram`` (m + 1,) int64.
    Blocks come in ascending order, so a row that ties with the k-th best before it loses.
    """
    for query in range(totals.shape[0]):
        total = totals[query]
        limit = best.threshold[query]
        largest = np.uint32(0)
        for j in range(BLOCK):
            largest = max(largest, total[j])
        if np.int64(largest) <= limit:
            continue
        size = best.size[query]
        for j in range(width):
            if np.int64(total[j]) > limit:
                best.affinity[query, size] = np.int32(total[j])
                best.row[query, size] = np.int32(low + j)
                size += 1
        if size >= k + BLOCK:
            best.threshold[query] = _keep_best(
                best.affinity[query], best.row[query], size, k, histogram
            )
            size = k
        best.size[query] = size


@lean
@njit(nogil=True, cache=True)
def sort_best(best, k, histogram, index, affinity):
    """Write each query's k best rows, by affinity descending and then by index ascending.

    ``index``, ``affinity`` (n_queries, k) int32. A counting sort: it keeps the order of ties.
    """
    for query in range(index.shape[0]):
        histogram[:] = 0
        for i in range(best.size[query]):
            histogram[best.affinity[query, i]] += 1
        place = 0
        for value in range(histogram.shape[0] - 1, -1, -1):
            here = histogram[value]
            histogram[value] = place
            place += here
        for i in range(best.size[query]):
            value = best.affinity[query, i]
            place = histogram[value]
            histogram[value] += 1
            if place < k:
                index[query, place] = best.row[query, i]
                affinity[query, place] = value
