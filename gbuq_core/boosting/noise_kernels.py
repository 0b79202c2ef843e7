"""The random parts of growing a tree: noise on gradients and on split scores, masks of rows."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from gbuq_core.seeding import bits_at, normal_at


@njit(nogil=True, cache=True)
def add_split_noise(noise, base, channels):
    """Add to the gradient sums in ``channels`` (n, n_outputs + 1) CatBoost's noise of their rows.

    The last column counts the rows: ``n`` independent noises of std ``noise`` add up to one of std
    ``noise * sqrt(n)``.
    """
    if noise <= 0.0:
        return
    n_outputs = channels.shape[1] - 1
    for cell in range(channels.shape[0]):
        spread = noise * math.sqrt(channels[cell, n_outputs])
        for output in range(n_outputs):
            channels[cell, output] += spread * normal_at(base, cell * n_outputs + output)


@njit(nogil=True, cache=True)
def score_noise_std(numbers, rms, tree):
    """The std of the noise that CatBoost's ``random_strength`` adds to every candidate's score.

    ``random_strength * rms * m / (1 + m)`` with ``m = n_rows * exp(-tree * learning_rate)``: strong
    for about the first ``ln(n_rows) / learning_rate`` trees and gone after.
    """
    fading = numbers.n_rows * math.exp(-tree * numbers.learning_rate)
    return numbers.random_strength * rms * fading / (1.0 + fading)


@njit(nogil=True, cache=True)
def mask_changes(schedule, tree):
    """Whether other rows have gradients from ``tree`` on: a cycle begins or its exploration ends.

    Before the first tree all rows have.
    """
    if tree == 0:
        return schedule.share[0] < 1.0
    share, before = schedule.share[tree], schedule.share[tree - 1]
    return share != before or (share < 1.0 and schedule.cycle[tree] != schedule.cycle[tree - 1])


@njit(nogil=True, cache=True)
def is_drawn(base, row, threshold):
    """Whether draw ``row`` of a stream is below ``threshold``, a share times 2^32.

    Two draws share a number of 64 bits.
    """
    half = bits_at(base, row >> 1) >> np.uint64(32 * (row & 1))
    return half & np.uint64(0xFFFFFFFF) < threshold


@njit(nogil=True, cache=True)
def draw_mask(order, share, base, mask):
    """Write to ``mask`` (n_rows,) uint8 whether each row has gradients: Bernoulli(``share``).

    ``order`` (n_rows,) says which row of the table each place holds, and so which draw of the
    stream is its: merging rows into cells changes no mask.
    """
    threshold = np.uint64(share * 4294967296.0)
    for place in range(order.shape[0]):
        mask[place] = is_drawn(base, order[place], threshold)
