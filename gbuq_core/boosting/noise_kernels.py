"""The random parts of choosing a tree: Langevin noise on gradients and noise on split scores."""

from __future__ import annotations

import math

from numba import njit

from gbuq_core.seeding import normal_at


@njit(nogil=True, cache=True)
def add_split_noise(gradients, counts, noise, base, channels):
    """Copy ``gradients`` (n, n_outputs) to ``channels``, with the sum of ``counts`` row noises
    each.
    """
    n_outputs = gradients.shape[1]
    for cell in range(gradients.shape[0]):
        spread = noise * math.sqrt(counts[cell])
        for output in range(n_outputs):
            value = gradients[cell, output]
            if spread > 0.0:
                value += spread * normal_at(base, cell * n_outputs + output)
            channels[cell, output] = value


@njit(nogil=True, cache=True)
def score_noise_std(numbers, rms, tree):
    """The std of the noise that CatBoost's ``random_strength`` adds to every candidate's score.

    ``random_strength * rms * m / (1 + m)`` with ``m = n_rows * exp(-tree * learning_rate)``: strong
    for about the first ``ln(n_rows) / learning_rate`` trees and gone after.
    """
    fading = numbers.n_rows * math.exp(-tree * numbers.learning_rate)
    return numbers.random_strength * rms * fading / (1.0 + fading)
