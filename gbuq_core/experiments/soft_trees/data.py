"""The data of the Soft trees page: four curves of the paper, or points that the user places.

Cinquin et al., "Variational boosted soft trees" (2022), figures 2 and 5 to 7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.placed import Points, check_points
from gbuq_core.synthetic import CurveData, make_daubechies, make_gap, make_step, make_tails
from gbuq_core.validation import check_choice

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

OWN = "own"
LEAST_POINTS = 5  # of a fit
BOARD = ((-3.0, 3.0), (-2.0, 2.0))  # what the picture of own points shows at least
N_FRESH = 500  # rows that no training sees
_FRESH_STREAM = 1  # of the seed
_OWN_GRID = 400
_MARGIN = 0.35  # of the points' width, shown on either side of them
_NEIGHBOURS_APART = 0.08  # of the points' width: a wider space between two of them is empty,
_TYPICALLY_APART = 1.5  # unless most are so far apart: times the median space
_PAD, _DRAWN_PAD = 0.12, 0.35  # of the height, above and below own points and drawn rows


class SoftTreesDataset(NamedTuple):
    """A data set of the page: its name, what it is, and where it has no rows."""

    label: str
    about: str
    empty: str


_DATASETS = {
    "tails": SoftTreesDataset(
        "Tails",
        "Rows in the middle only: x from -1 to 1, y = 0.7 sin 3x plus noise.",
        "to the left or right of these",
    ),
    "gap": SoftTreesDataset(
        "Gap",
        "Two groups of rows with a gap between them: x from -2 to -0.8 and from 0.8 to 2, "
        "y = sin 2x plus noise.",
        "in the gap or outside these",
    ),
    "step": SoftTreesDataset("Step", "A jump from 0 to 1 at x = 0, plus noise.", ""),
    "wavelet": SoftTreesDataset(
        "Wavelet",
        "A Daubechies wavelet (db4), flat at first and then fast up and down, plus noise.",
        "",
    ),
    OWN: SoftTreesDataset(
        "Own points",
        "Points that you place yourself.",
        "in the hatched parts",
    ),
}
DATASETS: Mapping[str, SoftTreesDataset] = MappingProxyType(_DATASETS)
MAKERS: Mapping[str, Callable[..., CurveData]] = {
    "tails": make_tails,
    "gap": make_gap,
    "step": make_step,
    "wavelet": make_daubechies,
}
_THINNED = {"gap": 2}  # every second point of 601

# Where the page begins when somebody wants to place points: a valley, a space, a slope.
# fmt: off
OWN_START: Points = (
    (-2.29, 0.8), (-2.2, 0.71), (-2.12, 0.62), (-2.06, 0.42),
    (-1.94, 0.35), (-1.87, 0.23), (-1.8, 0.09), (-1.69, -0.09),
    (-1.61, -0.14), (-1.53, -0.25), (-1.45, -0.43), (-1.35, -0.66),
    (-1.29, -0.67), (-1.19, -0.89), (-1.11, -0.82), (-1.01, -1.01),
    (-0.93, -0.88), (-0.85, -0.94), (-0.77, -0.99), (-0.68, -0.86),
    (-0.59, -0.78), (-0.51, -0.71), (-0.4, -0.75), (-0.32, -0.71),
    (-0.29, -0.53), (1.07, 0.93), (1.17, 0.88), (1.24, 0.81),
    (1.32, 0.51), (1.39, 0.55), (1.49, 0.51), (1.51, 0.28),
    (1.59, 0.13), (1.7, 0.14), (1.75, -0.01), (1.82, -0.07),
    (1.88, -0.28), (1.93, -0.48), (2.03, -0.48), (2.1, -0.62),
)
# fmt: on


@dataclass(frozen=True, kw_only=True)
class SoftTreesData:
    """Training rows, the grid that pictures are drawn on, and the truth; arrays are read-only."""

    # `key`, `title`: A key of `DATASETS` and its label
    key: str
    title: str
    # `X`, `y`: (n_rows, 1)
    X: Array
    y: Array
    x: Array  # (n_grid,): evenly spaced over the picture; 301 to 441 places
    # `x_range`, `y_range`: what the picture shows
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    # (n_grid,): Where training rows can lie. For own points: no farther from the next one than 4 %
    # of their width, or than three quarters of the space that most have between them.
    support: Mask
    # `true_mean`, `true_std`: (n_grid,): mean of y and std of its noise; unknown for own points
    true_mean: Array | None
    true_std: Array | None
    # std of the training y: the unit of errors on the page; 1 where all are equal
    target_std: float
    # `fresh_X`, `fresh_y`, `fresh_mean`: (500, 1): other rows of the same law and their true mean
    fresh_X: Array | None = None
    fresh_y: Array | None = None
    fresh_mean: Array | None = None

    @property
    def grid(self) -> Array:
        """``x`` as a column, (n_grid, 1)."""
        return self.x[:, None]


@lru_cache(maxsize=16)
def load_soft_trees_data(
    key: str, rows: int = 150, noise: float = 0.1, seed: int = 0, points: Points = OWN_START
) -> SoftTreesData:
    """Draw the rows of a data set, or take the user's points."""
    check_choice("data", key, tuple(DATASETS))
    if key == OWN:
        data = _own_data(check_points(points))
    else:
        data = _drawn_data(key, rows, noise, seed)
    for array in vars(data).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return data


def _drawn_data(key: str, rows: int, noise: float, seed: int) -> SoftTreesData:
    make = MAKERS[key]
    curve = make(rows, noise, seed)
    fresh = make(N_FRESH, noise, [seed, _FRESH_STREAM])
    thin = slice(None, None, _THINNED.get(key, 1))
    x = curve.grid[thin, 0].copy()
    mean = curve.mean[thin].copy()
    lowest = min(float(curve.y.min()), float(mean.min()))
    highest = max(float(curve.y.max()), float(mean.max()))
    return SoftTreesData(
        key=key,
        title=DATASETS[key].label,
        X=curve.X,
        y=curve.y,
        x=x,
        x_range=(float(x[0]), float(x[-1])),
        y_range=_span(np.array([lowest, highest]), _DRAWN_PAD),
        support=curve.in_support[thin].copy(),
        true_mean=mean,
        true_std=np.sqrt(curve.variance[thin]),
        target_std=_spread_of(curve.y),
        fresh_X=fresh.X,
        fresh_y=fresh.y,
        fresh_mean=fresh.row_mean,
    )


def _own_data(points: Points) -> SoftTreesData:
    placed = np.array(points, dtype=np.float64).reshape(-1, 2)
    X, y = placed[:, :1].copy(), placed[:, 1].copy()
    low, high = _span(X, 0.0)
    width = high - low
    left = min(BOARD[0][0], low - _MARGIN * width)
    right = max(BOARD[0][1], high + _MARGIN * width)
    x = np.linspace(left, right, _OWN_GRID)
    nearest = np.abs(x[:, None] - X[:, 0]).min(axis=1, initial=np.inf)
    y_low, y_high = _span(y, _PAD)
    return SoftTreesData(
        key=OWN,
        title=DATASETS[OWN].label,
        X=X,
        y=y,
        x=x,
        x_range=(left, right),
        y_range=(min(BOARD[1][0], y_low), max(BOARD[1][1], y_high)),
        support=nearest
        <= 0.5 * max(_NEIGHBOURS_APART * width, _TYPICALLY_APART * _median_space(X[:, 0])),
        true_mean=None,
        true_std=None,
        target_std=_spread_of(y),
    )


def _median_space(x: Array) -> float:
    """Median distance of neighbours, 0 of fewer than two places."""
    places = np.unique(x)
    return float(np.median(np.diff(places))) if len(places) > 1 else 0.0


def _span(values: Array, pad: float) -> tuple[float, float]:
    """Least and greatest, and a part of their distance to either side; (0, 0) of none."""
    if not values.size:
        return 0.0, 0.0
    low, high = float(values.min()), float(values.max())
    return low - pad * (high - low), high + pad * (high - low)


def _spread_of(y: Array) -> float:
    spread = float(y.std()) if y.size else 0.0
    return spread if spread > 0.0 else 1.0


def why_no_fit(points: Points) -> str:
    """Why checked points are not enough for a fit, in a sentence; empty if they are."""
    if len(points) < LEAST_POINTS:
        return (
            f"Training needs at least {LEAST_POINTS} points, but there are {len(points)}: add "
            f"{LEAST_POINTS - len(points)}."
        )
    for axis, name in enumerate("xy"):
        if len({point[axis] for point in points}) == 1:
            return f"All points have {name} = {points[0][axis]:g}: add a point with another {name}."
    return ""
