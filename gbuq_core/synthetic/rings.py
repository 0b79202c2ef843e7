"""Two rings, one inside the other. No single axis-parallel split isolates the empty middle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import i0e

from gbuq_core.synthetic.draws import MAX_ROWS, generator_of, normals_from
from gbuq_core.synthetic.plane import (
    Extent,
    Floats,
    PlaneData,
    cell_middles,
    check_points,
    plane_data,
    posterior_of,
)
from gbuq_core.validation import check_number

RINGS_SIDE = 60  # cells of the maps along each feature
RINGS_EXTENT: Extent = ((-4.0, 4.0), (-4.0, 4.0))
RING_RADII = (1.0, 2.0)
MIN_RINGS_NOISE, MAX_RINGS_NOISE = 0.02, 10.0  # with less there is no width, and no density
_SUPPORT_STDS = 3.0


def make_rings(n: int = 500, noise: float = 0.15, random_state: Any = None) -> PlaneData:
    """Two concentric rings of radius 1 and 2, with an empty middle.

    With t uniform on (0, 2 pi), class k lies around ``r_k (cos t, sin t)``, with noise
    N(0, noise^2) in both directions.
    """
    rows = check_number("n", n, 2, MAX_ROWS, integer=True)
    std = check_number("noise", noise, MIN_RINGS_NOISE, MAX_RINGS_NOISE)
    # Three uniforms a row, so that more rows leave the first ones alone.
    uniforms = generator_of(random_state).random((rows, 3))
    y = np.arange(rows, dtype=np.int64) % 2
    angle = 2.0 * np.pi * uniforms[:, 0]
    ring = np.array(RING_RADII)[y, None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    X = ring + std * normals_from(uniforms[:, 1:])
    axes, cells = cell_middles(RINGS_EXTENT, RINGS_SIDE)
    away = np.abs(np.hypot(*cells.T)[:, None] - np.array(RING_RADII)).min(axis=1)
    inside = away <= _SUPPORT_STDS * std  # more than 99 % of the rows are
    return plane_data(X, y, axes, cells, rings_log_density(cells, std), inside)


def rings_log_density(points: ArrayLike, noise: float = 0.15) -> Floats:
    """Log of each class's density in the plane, in closed form.

    A ring of radius r blurred by N(0, s^2 I) has, at distance d from the middle, the density
    ``exp(-(d - r)^2 / (2 s^2)) I0e(d r / s^2) / (2 pi s^2)``, where ``I0e(z) = exp(-z) I0(z)`` is
    the scaled Bessel function: finite far from the rings, where the density underflows.
    """
    std = check_number("noise", noise, MIN_RINGS_NOISE, MAX_RINGS_NOISE)
    distance = np.hypot(*check_points(points).T)[:, None]
    radii = np.array(RING_RADII)
    log_bessel = np.log(i0e(distance * radii / std**2))
    return -0.5 * ((distance - radii) / std) ** 2 + log_bessel - np.log(2.0 * np.pi * std**2)


def rings_posterior(points: ArrayLike, noise: float = 0.15) -> Floats:
    """The true probability of class 1, the outer ring; classes are equally frequent.

    Parameters and errors as for `rings_log_density`.
    """
    return posterior_of(rings_log_density(points, noise))
