"""Scores of all candidate splits of one level of an oblivious tree.

The cosine score (CatBoost's default; gradients ``G_l`` and rows ``n_l`` of leaf ``l`` after the
split, ``a_l = G_l / (n_l + l2)``) is ``sum_l G_l a_l / sqrt(sum_l n_l a_l^2)``, summed over leaves
and outputs.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from gbuq_core.seeding import normal_at


@njit(nogil=True, cache=True)
def sum_leaf(histogram, offset, n_bins, running, width):
    """Write to ``running[1]`` (n_channels,) the sums over a leaf's rows, from its first feature."""
    n_channels = len(width) if len(width) > 0 else histogram.shape[1]
    for channel in range(n_channels):
        running[1, channel] = 0.0
    first = np.int64(offset[0])
    for bin_ in range(n_bins[0]):
        for channel in range(n_channels):
            running[1, channel] += histogram[first + bin_, channel]


@njit(nogil=True, cache=True)
def add_leaf_scores(histogram, offset, n_bins, is_category, l2, products, squares, running, width):
    """Add one leaf's terms of every candidate's score to ``products`` and ``squares``
    (total_bins,).

    ``histogram`` (total_bins, n_channels) float64 of the leaf; ``running`` (2, n_channels) is
    scratch and holds in its second row what `sum_leaf` writes. An empty bin repeats the terms of
    the bin before it, so they are computed once a filled bin.
    """
    n_channels = len(width) if len(width) > 0 else histogram.shape[1]
    n_outputs = n_channels - 1
    n_total = running[1, n_outputs]
    for feature in range(offset.shape[0]):
        start = offset[feature]
        for channel in range(n_channels):
            running[0, channel] = 0.0
        product = 0.0
        square = 0.0
        filled = True
        for bin_ in range(n_bins[feature]):
            slot = start + np.uint64(bin_)
            n_here = histogram[slot, n_outputs]
            if n_here > 0.0 or filled:
                filled = n_here > 0.0 and is_category[feature]
                n_left = 0.0
                size_left = 0.0
                size_right = 0.0
                if is_category[feature]:
                    n_left = n_here
                    for channel in range(n_outputs):
                        left = histogram[slot, channel]
                        right = running[1, channel] - left
                        size_left += left * left
                        size_right += right * right
                else:
                    running[0, n_outputs] += n_here
                    n_left = running[0, n_outputs]
                    for channel in range(n_outputs):
                        running[0, channel] += histogram[slot, channel]
                        left = running[0, channel]
                        right = running[1, channel] - left
                        size_left += left * left
                        size_right += right * right
                n_right = n_total - n_left
                product = 0.0
                square = 0.0
                if n_left > 0.0:
                    inverse = 1.0 / (n_left + l2)
                    product = size_left * inverse
                    square = n_left * product * inverse
                if n_right > 0.0:
                    inverse = 1.0 / (n_right + l2)
                    product += size_right * inverse
                    square += n_right * size_right * inverse * inverse
            products[slot] += product
            squares[slot] += square


@njit(nogil=True, cache=True)
def best_candidate(products, squares, is_candidate, noise_std, noise_base, first_draw):
    """The slot of the best score with ``noise_std`` times a standard normal added to each.

    Draws are numbered by slot from ``first_draw``, so that they do not depend on what else is a
    candidate. Returns -1 when there is no candidate; the first of equal scores wins.
    """
    best = -1
    best_score = -math.inf
    for slot in range(products.shape[0]):
        if is_candidate[slot]:
            score = products[slot] / math.sqrt(squares[slot]) if squares[slot] > 0.0 else 0.0
            if noise_std > 0.0:
                score += noise_std * normal_at(noise_base, first_draw + slot)
            if score > best_score:
                best_score = score
                best = slot
    return best
