"""The wave: one feature in steps of 0.1, with a noisy stretch, a rare one and an end."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.synthetic.draws import MAX_ROWS, generator_of, normals_from
from gbuq_core.validation import check_number

_WAVE_X = np.arange(61) / 10.0  # where y is measured
_WAVE_BEYOND = np.arange(61, 70) / 10.0  # no rows there
RARE_END = float(_WAVE_X[-1])  # the stretch of rare rows ends here at the latest
RARE_FROM, RARE_WIDTH = 3.0, 1.5  # between the positions with many rows on either side
LEAST_RARE_WIDTH, MOST_RARE_WIDTH = 0.5, 3.0
MOST_RARE_FROM = RARE_END - LEAST_RARE_WIDTH


class WaveData(NamedTuple):
    """One feature, measured in steps of 0.1 from 0 to 6; one stretch has one row a position."""

    X: NDArray[np.float64]  # (n_samples, 1)
    y: NDArray[np.float64]  # (n_samples,)
    grid: NDArray[np.float64]  # (70, 1): the 61 positions and 9 more beyond them
    # `mean`, `variance`: (70,): the true mean and noise variance of y on the grid
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    in_support: NDArray[np.bool_]  # (70,): where there can be training rows
    # (70,): where each position has one row, whatever the size of the set: 3.1 to 4.4, or elsewhere
    is_rare: NDArray[np.bool_]


def make_wave(
    n: int = 400,
    noise: float = 1.0,
    random_state: Any = None,
    rare_from: float = RARE_FROM,
    rare_width: float = RARE_WIDTH,
) -> WaveData:
    """A wave with a noisy stretch, a stretch of few rows, and an end beyond all rows.

    ``y = sin(2x) + 0.3x + noise * (0.06 + 0.3 exp(-((x - 1.4) / 0.45)^2 / 2)) N(0, 1)``.

    The first 14 rows lie in the rare stretch, one at each position. All others lie elsewhere. For
    trees, each position is its own bin. Bins of equally many rows would only be wider where rows
    are rare, and hide the stretch.
    """
    is_rare = np.zeros(_WAVE_X.size + _WAVE_BEYOND.size, dtype=bool)
    is_rare[_rare_places(rare_from, rare_width)] = True
    rows = check_number("n", n, max(20, int(is_rare.sum())), MAX_ROWS, integer=True)
    factor = check_number("noise", noise, 0.0)
    # Two uniforms a row, position and noise, so that more rows leave the first ones alone.
    uniforms = generator_of(random_state).random((rows, 2))
    rare, plenty = np.flatnonzero(is_rare), np.flatnonzero(~is_rare[: _WAVE_X.size])
    position = plenty[(uniforms[:, 0] * plenty.size).astype(np.int64)]
    position[: rare.size] = rare
    grid = np.concatenate([_WAVE_X, _WAVE_BEYOND])
    mean = np.sin(2.0 * grid) + 0.3 * grid
    std = factor * (0.06 + 0.3 * np.exp(-0.5 * ((grid - 1.4) / 0.45) ** 2))
    normals = normals_from(uniforms[:, 1])
    in_support = np.arange(grid.size) < _WAVE_X.size
    return WaveData(
        X=grid[position][:, None],
        y=mean[position] + std[position] * normals,
        grid=grid[:, None],
        mean=mean,
        variance=std**2,
        in_support=in_support,
        is_rare=is_rare,
    )


def describe_rare(rare_from: float = RARE_FROM, rare_width: float = RARE_WIDTH) -> str:
    """How many rows `make_wave` draws where rows are rare, whatever the size of the set."""
    places = _rare_places(rare_from, rare_width)
    low, high = _WAVE_X[places.start - 1], _WAVE_X[places.stop]
    return (
        f"Between {low:g} and {high:g} there are {places.stop - places.start} rows, one at each "
        "step of 0.1, however many there are in all."
    )


def _rare_places(rare_from: float, rare_width: float) -> slice:
    """The positions with one row: those inside the stretch, without its ends."""
    left = round(10.0 * check_number("rare_from", rare_from, 0.0, MOST_RARE_FROM))
    width = check_number("rare_width", rare_width, LEAST_RARE_WIDTH, MOST_RARE_WIDTH)
    return slice(left + 1, min(left + round(10.0 * width), _WAVE_X.size - 1))
