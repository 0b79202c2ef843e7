"""Ripples: two features, a smooth mean, noise that varies over the plane, and an empty disc."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.synthetic.draws import MAX_ROWS, generator_of, normals_from
from gbuq_core.synthetic.plane import Floats, cell_middles, check_points
from gbuq_core.validation import check_number

MAX_RIPPLES_NOISE = 1e6
RIPPLES_SIDE = 60  # cells of the maps along each feature
HOLE_CENTRE = (-0.35, 0.35)
HOLE_RADIUS = 0.4
_NOISY_CENTRE = (0.5, -0.5)
_NOISY_WIDTH = 0.35
_QUIET = 0.1  # the noise far from there, of its largest value


class RipplesTruth(NamedTuple):
    """True mean and noise variance of y, and where there can be rows, (n_points,) each."""

    mean: Floats
    variance: Floats
    in_support: NDArray[np.bool_]


class RipplesData(NamedTuple):
    """Two features on the square [-1, 1]^2 with a disc that has no rows."""

    X: Floats  # (n_samples, 2)
    y: Floats  # (n_samples,)
    # (3600, 2): the middles of 60 x 60 cells, the second feature upwards:
    # `predict(grid).reshape(60, 60)` is a map
    grid: Floats
    # (60,): the middles along the first feature (columns of a map) and the second (rows)
    axes: tuple[Floats, Floats]
    # `mean`, `variance`: (60, 60): the true mean and noise variance of y, also in the disc
    mean: Floats
    variance: Floats
    in_support: NDArray[np.bool_]  # (60, 60): where there can be training rows: outside the disc
    # `row_mean`, `row_variance`: (n_samples,): the true mean and noise variance of y at each row
    row_mean: Floats
    row_variance: Floats


def make_ripples(n: int = 1000, noise: float = 0.5, random_state: Any = None) -> RipplesData:
    """Ripples from a corner, a noisy spot, and a disc without rows.

    Rows are uniform on the square [-1, 1]^2 without the disc of radius 0.4 around (-0.35, 0.35).
    With d the distance to the corner (-1, -1) and s that to the noisy spot (0.5, -0.5), ``y = cos(4
    d) + noise * (0.1 + 0.9 exp(-(s / 0.35)^2 / 2)) * N(0, 1)``. This project made the set. The
    noise is ten times larger in the spot than far from it, and small around the disc. So a large
    predicted scale inside the disc is not noise.
    """
    rows = check_number("n", n, 2, MAX_ROWS, integer=True)
    factor = check_number("noise", noise, 0.0, MAX_RIPPLES_NOISE)
    # Three uniforms a row, two for the place, so that more rows leave the first ones alone.
    uniforms = generator_of(random_state).random((rows, 3))
    X = _outside_the_hole(uniforms[:, 0], uniforms[:, 1])
    at_rows = ripples_truth(X, factor)
    axes, grid = cell_middles(((-1.0, 1.0), (-1.0, 1.0)), RIPPLES_SIDE)
    on_grid = ripples_truth(grid, factor)
    shape = (RIPPLES_SIDE, RIPPLES_SIDE)
    return RipplesData(
        X=X,
        y=at_rows.mean + np.sqrt(at_rows.variance) * normals_from(uniforms[:, 2]),
        grid=grid,
        axes=axes,
        mean=on_grid.mean.reshape(shape),
        variance=on_grid.variance.reshape(shape),
        in_support=on_grid.in_support.reshape(shape),
        row_mean=at_rows.mean,
        row_variance=at_rows.variance,
    )


def ripples_truth(points: ArrayLike, noise: float = 0.5) -> RipplesTruth:
    """True mean, noise variance and support at any points (n_points, 2); see `make_ripples`."""
    factor = check_number("noise", noise, 0.0, MAX_RIPPLES_NOISE)
    where = check_points(points)
    squares = ((where - np.array(_NOISY_CENTRE)) ** 2).sum(axis=1)
    std = factor * (_QUIET + (1.0 - _QUIET) * np.exp(-0.5 * squares / _NOISY_WIDTH**2))
    in_square = (np.abs(where) <= 1.0).all(axis=1)
    from_hole = np.hypot(where[:, 0] - HOLE_CENTRE[0], where[:, 1] - HOLE_CENTRE[1])
    return RipplesTruth(
        mean=np.cos(4.0 * np.hypot(where[:, 0] + 1.0, where[:, 1] + 1.0)),
        variance=std**2,
        in_support=in_square & (from_hole > HOLE_RADIUS),
    )


def _outside_the_hole(u: Floats, v: Floats) -> Floats:
    """Places uniform on the square without the disc, from two uniforms each, (n, 2).

    The first feature by the quantile of its margin, the second on what the disc leaves of that
    line: no place is drawn twice, so that row i depends on its own uniforms only.
    """
    # Dense at the disc's rim, where the margin bends; between the knots the line is straight.
    angle = np.linspace(0.0, np.pi, 2001)
    knots = HOLE_CENTRE[0] - HOLE_RADIUS * np.cos(angle)
    gone = HOLE_RADIUS**2 * (angle - np.sin(angle) * np.cos(angle))  # of the disc, left of a knot
    left = 2.0 * (knots + 1.0) - gone
    area = 4.0 - np.pi * HOLE_RADIUS**2
    x = np.interp(u * area, np.r_[0.0, left, area], np.r_[-1.0, knots, 1.0])
    half = np.sqrt(np.maximum(HOLE_RADIUS**2 - (x - HOLE_CENTRE[0]) ** 2, 0.0))
    y = -1.0 + v * (2.0 - 2.0 * half)
    y = np.where(y > HOLE_CENTRE[1] - half, y + 2.0 * half, y)
    return np.column_stack([x, y])
