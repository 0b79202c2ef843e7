"""What is true about the spiral: its density, its class probabilities, rows nobody trained on.

The grid of the maps lies here too. See `gbuq_core.synthetic.spiral_log_density` for the formula.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from gbuq_core.synthetic import SpiralData, make_spiral, spiral_log_density, spiral_posterior
from gbuq_core.uncertainty import entropy

Array = npt.NDArray[np.float64]

SIDE, EXTENT = 80, (-600.0, 600.0)
ARM_RADIUS = (6.0 * np.pi) ** 2  # of the arms' ends, without noise
AXIS = EXTENT[0] + (np.arange(SIDE) + 0.5) * (EXTENT[1] - EXTENT[0]) / SIDE
# One row a cell, the second feature upwards: predict(...).reshape(80, 80) is a map.
GRID = np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2)
GRID.setflags(write=False)

FRESH_PER_CLASS = 500
_FRESH_STREAM, _QUANTILE_STREAM = 1, 2  # of the seed: rows that are nobody's training rows
_LEAST_MASS = 0.01  # of the data lies outside the support that the maps draw


class FreshSample(NamedTuple):
    """1,500 rows that no method trained on, and their true class probabilities (n_rows, 3)."""

    data: SpiralData
    proba: Array


class SpiralTruth(NamedTuple):
    """What is true at each cell of `GRID`; see `gbuq_core.synthetic.spiral_log_density`."""

    data_uncertainty: Array  # (80, 80): entropy of the true class probabilities, in nats
    # `density`, `log_density`: (80, 80): of all rows, whatever their class, per unit area
    density: Array
    log_density: Array
    # (80, 80): where the density exceeds that of all but 1 % of the rows
    in_support: npt.NDArray[np.bool_]
    proba: Array  # (3, 80, 80): true class probabilities


@lru_cache(maxsize=8)
def spiral_truth(noise: float) -> SpiralTruth:
    """The true density and data uncertainty on `GRID`."""
    by_class = spiral_log_density(GRID, noise)
    log_density = marginal_log_density(by_class).reshape(SIDE, SIDE)
    proba = softmax(by_class, axis=1)
    truth = SpiralTruth(
        data_uncertainty=entropy(proba).reshape(SIDE, SIDE),
        density=np.exp(log_density),
        log_density=log_density,
        in_support=log_density > support_limit(noise),
        proba=proba.T.reshape(3, SIDE, SIDE),
    )
    for array in truth:
        array.setflags(write=False)
    return truth


@lru_cache(maxsize=8)
def support_limit(noise: float) -> float:
    """The log density that 1 % of the rows do not reach: the border of the support."""
    rows = make_spiral(FRESH_PER_CLASS, noise, [0, _QUANTILE_STREAM]).X[:, :2]
    return float(np.quantile(marginal_log_density(spiral_log_density(rows, noise)), _LEAST_MASS))


@lru_cache(maxsize=8)
def fresh_sample(noise: float, seed: int) -> FreshSample:
    """1,500 rows of the same law as the training rows, and none of them."""
    data = make_spiral(FRESH_PER_CLASS, noise, [seed, _FRESH_STREAM])
    return FreshSample(data, spiral_posterior(data.X[:, :2], noise))


def marginal_log_density(by_class: Array) -> Array:
    """Log density of a row of any class from those of each (n, 3)."""
    return np.logaddexp.reduce(by_class, axis=1) - np.log(3.0)
