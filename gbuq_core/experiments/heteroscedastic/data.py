"""Rows of the page on noise that grows: one feature, noise that grows with it, and foreign rows.

MACAU (doi 10.5121/csit.2023.131920), section 4.1 and equation 6 as `make_heteroscedastic` reads it.
Training, calibration, test and foreign rows come from streams of the seed of their own.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.heteroscedastic.plan import (
    LEFTMOST,
    RIGHTMOST,
    SUPPORT,
    HeteroscedasticSettings,
)
from gbuq_core.synthetic import make_heteroscedastic

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

N_CALIBRATION = 1000
SHOWN = (-10.0, 20.0)  # the picture, at least: that of the paper
PER_UNIT, PER_UNIT_BEYOND = 20, 4  # places of the grid per unit of x, there and beyond
_CALIBRATION, _TEST, _FOREIGN = 1, 2, 3  # streams of the seed


class HeteroscedasticData(NamedTuple):
    """Training and calibration rows, the widest grid, and the truth; arrays are read-only."""

    # `X`, `y`: (n_rows, 1)
    X: Array
    y: Array
    # (761,): Increasing, from -30 to 40, as far as foreign rows may lie; denser from -10 to 20
    x: Array
    # `true_mean`, `true_variance`: (761,): mean and noise variance of y; beyond the rows they
    # follow the formula
    true_mean: Array
    true_variance: Array
    support: Mask  # (761,): where rows can lie
    # `calibration_X`, `calibration_y`: (1000, 1): rows of the same law that no fit sees
    calibration_X: Array
    calibration_y: Array

    @property
    def grid(self) -> Array:
        """``x`` as a column, (761, 1)."""
        return self.x[:, None]


class HeteroscedasticTest(NamedTuple):
    """Rows of the training law that neither a fit nor a calibration sees, with their truth."""

    X: Array  # (n, 1)
    y: Array  # (n,), as all that follow
    mean: Array
    std: Array  # of the noise


@lru_cache(maxsize=16)
def load_heteroscedastic_data(
    rows: int = 2000, noise_slope: float = 0.1, seed: int = 0
) -> HeteroscedasticData:
    """Draw training and calibration rows."""
    drawn = make_heteroscedastic(rows, noise_slope, seed)
    calibration = make_heteroscedastic(N_CALIBRATION, noise_slope, [seed, _CALIBRATION])
    x = np.concatenate(
        [
            _places(LEFTMOST, SHOWN[0], PER_UNIT_BEYOND)[:-1],
            _places(*SHOWN, PER_UNIT),
            _places(SHOWN[1], RIGHTMOST, PER_UNIT_BEYOND)[1:],
        ]
    )
    data = HeteroscedasticData(
        drawn.X,
        drawn.y,
        x,
        true_mean(x),
        np.square(noise_slope * x),
        (x >= SUPPORT[0]) & (x <= SUPPORT[1]),
        calibration.X,
        calibration.y,
    )
    for array in data:
        array.setflags(write=False)
    return data


def _places(low: float, high: float, per_unit: int) -> Array:
    return np.arange(low * per_unit, high * per_unit + 1) / per_unit


def true_mean(x: Array) -> Array:
    """``x / 2 + sin x``, equation 6 without its noise."""
    return 0.5 * x + np.sin(x)


def data_of(settings: HeteroscedasticSettings) -> HeteroscedasticData:
    """The data of settings, or of a fit's key."""
    return load_heteroscedastic_data(settings.rows, settings.noise_slope, settings.seed)


def draw_test(plan: HeteroscedasticSettings) -> HeteroscedasticTest:
    """Rows of the training law for scores alone."""
    drawn = make_heteroscedastic(plan.test_rows, plan.noise_slope, [plan.seed, _TEST])
    return HeteroscedasticTest(drawn.X, drawn.y, drawn.row_mean, np.sqrt(drawn.row_variance))


def draw_foreign(plan: HeteroscedasticSettings) -> Array:
    """Foreign rows (n, 1), uniform over ``[left_from, 0)`` and ``(10, right_to]``."""
    low, high = SUPPORT
    left, right = low - plan.left_from, plan.right_to - high
    n_left = round(plan.ood_rows * left / (left + right))
    uniform = np.random.default_rng([plan.seed, _FOREIGN]).random(plan.ood_rows)
    x = plan.right_to - uniform * right  # in (10, right_to], as the uniform is below 1
    x[:n_left] = plan.left_from + uniform[:n_left] * left
    return x[:, None]


def shown_range(settings: HeteroscedasticSettings) -> tuple[float, float]:
    """Where the picture begins and ends: that of the paper, or as far as foreign rows lie.

    >>> shown_range(HeteroscedasticSettings(left_from=-2.0, right_to=30.0))
    (-10.0, 30.0)
    """
    return min(SHOWN[0], settings.left_from), max(SHOWN[1], settings.right_to)
