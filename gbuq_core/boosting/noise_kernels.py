"""The random parts of choosing a tree: Langevin noise on gradients and noise on split scores."""

from __future__ import annotations

import math

from numba import njit

from gbuq_core.seeding import normal_at


@njit(nogil=True, cache=True)
def add_split_noise(noise, base, channels):
    """Add to the gradient sums in ``channels`` (n, n_outputs + 1) the noise of each of their rows.

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
