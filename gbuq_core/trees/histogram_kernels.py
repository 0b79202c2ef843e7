"""Gradient histograms of the leaves of one growing oblivious tree.

A histogram is one float64 array (max_leaves, total_bins, n_channels). ``total_bins`` counts the
bins of all features one after another (feature ``f`` starts at ``offset[f]``); the channels are the
sums of each output's gradients and, last, the number of rows. Sums are float64: a leaf may add up
1e6 gradients of both signs.

Rows are visited through ``order``, which keeps each leaf's rows together:

    order:    | leaf 0 ....... | leaf 2 .. | leaf 1 ... | leaf 3 ..... |
    begin[l], end[l] give each leaf's part; a split turns the part of leaf l into
              | leaf l | leaf l + 2^level |   (both keep their rows in ascending order)

Only the child with fewer rows is counted; its sibling is the parent minus the child.
``width`` is a tuple with one entry a channel: its length is part of the compiled type, so that the
loop over channels is unrolled; an empty tuple compiles the loop for any number of channels.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gbuq_core.trees.lane_kernels import add_lanes, fetch_row, load_lanes

_AHEAD = 8  # rows that are on their way from memory while one is counted


@njit(nogil=True, cache=True)
def count_rows(order, low, high, codes, offset, channels, histogram, width):
    """Add rows ``order[low:high]`` to ``histogram`` (total_bins, n_channels).

    ``order`` (n,) uint32, ``codes`` (n, n_features) uint8 C, ``offset`` (n_features,) uint64,
    ``channels`` (n, n_channels) float64 C.
    """
    for position in range(low, high):
        row = np.uint64(order[position])
        soon = np.uint64(order[min(position + _AHEAD, high - 1)])
        fetch_row(codes, soon)
        fetch_row(channels, soon)
        if len(width) > 0:
            lanes = load_lanes(channels, row, width)
            for feature in range(codes.shape[1]):
                add_lanes(histogram, offset[feature] + np.uint64(codes[row, feature]), lanes)
            continue
        for feature in range(codes.shape[1]):
            slot = offset[feature] + np.uint64(codes[row, feature])
            for channel in range(channels.shape[1]):
                histogram[slot, channel] += channels[row, channel]


@njit(nogil=True, cache=True)
def clear_histogram(histogram):
    """Set ``histogram`` (total_bins, n_channels) to zero."""
    for slot in range(histogram.shape[0]):
        for channel in range(histogram.shape[1]):
            histogram[slot, channel] = 0.0


@njit(nogil=True, cache=True)
def split_histogram(parent, child, swap):
    """Turn ``parent`` into the sibling of ``child``, and then swap both if ``swap``."""
    for slot in range(parent.shape[0]):
        for channel in range(parent.shape[1]):
            counted = child[slot, channel]
            rest = parent[slot, channel] - counted
            parent[slot, channel] = counted if swap else rest
            child[slot, channel] = rest if swap else counted


@njit(nogil=True, cache=True)
def part_rows(order, spare, low, high, column, code, is_equal):
    """Put the rows of ``order[low:high]`` that stay left first, keeping their order.

    A row goes right when its code is greater than ``code``, or for a category when it is equal.
    ``spare`` (n,) uint32 is scratch; the return value is where the right part begins.
    """
    left = low
    right = 0
    for position in range(low, high):
        row = order[position]
        goes_right = column[row] == code if is_equal else column[row] > code
        order[left] = row
        spare[right] = row
        left += 1 - np.int64(goes_right)
        right += np.int64(goes_right)
    for i in range(right):
        order[left + i] = spare[i]
    return left
