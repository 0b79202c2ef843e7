"""Blobs in two opposite corners. The empty corners share each single feature's range with rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

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

BLOBS_SIDE = 60  # cells of the maps along each feature
BLOBS_EXTENT: Extent = ((-7.0, 7.0), (-7.0, 7.0))
MIN_BLOBS_NOISE, MAX_BLOBS_NOISE = 0.02, 10.0  # with less there is no width, and no density

# Class 0 is the first blob; class 1 is the second, which touches it, and the third, each half the
# time. Stds along the blob's own axes are in units of the noise; the third is turned by 45 degrees.
_CENTRES = np.array([[-2.0, 2.0], [-0.6, 2.6], [2.0, -2.0]])
_STDS = np.array([[1.0, 1.0], [1.0, 1.0], [1.5, 0.5]])
_TURN = np.sqrt(0.5) * np.array([[1.0, 1.0], [-1.0, 1.0]])  # rows: the third's own axes
_AXES = np.stack([np.eye(2), np.eye(2), _TURN])
_SUPPORT_STDS = float(np.sqrt(-2.0 * np.log(0.01)))  # 99 % of a normal in the plane lie within


def make_blobs(n: int = 500, noise: float = 0.6, random_state: Any = None) -> PlaneData:
    """Normal blobs: two classes that touch on the upper left, and a tilted blob on the lower right.

    Class 0 is N((-2, 2), noise^2 I). Class 1 is, half the time each, N((-0.6, 2.6), noise^2 I) or a
    normal around (2, -2) with std 1.5 noise along the diagonal and 0.5 noise across it.
    """
    rows = check_number("n", n, 2, MAX_ROWS, integer=True)
    std = check_number("noise", noise, MIN_BLOBS_NOISE, MAX_BLOBS_NOISE)
    # Three uniforms a row, so that more rows leave the first ones alone.
    uniforms = generator_of(random_state).random((rows, 3))
    y = np.arange(rows, dtype=np.int64) % 2
    blob = np.where(y == 0, 0, np.where(uniforms[:, 0] < 0.5, 1, 2))
    along = std * _STDS[blob] * normals_from(uniforms[:, 1:])
    X = _CENTRES[blob] + np.einsum("ij,ijk->ik", along, _AXES[blob])
    axes, cells = cell_middles(BLOBS_EXTENT, BLOBS_SIDE)
    inside = _squares(cells, std).min(axis=1) <= _SUPPORT_STDS**2
    return plane_data(X, y, axes, cells, blobs_log_density(cells, std), inside)


def blobs_log_density(points: ArrayLike, noise: float = 0.6) -> Floats:
    """Log of each class's density in the plane, in closed form."""
    std = check_number("noise", noise, MIN_BLOBS_NOISE, MAX_BLOBS_NOISE)
    log_blobs = -0.5 * _squares(check_points(points), std)
    log_blobs -= np.log(2.0 * np.pi * std**2 * _STDS.prod(axis=1))
    second = np.logaddexp(log_blobs[:, 1], log_blobs[:, 2]) - np.log(2.0)
    return np.column_stack([log_blobs[:, 0], second])


def blobs_posterior(points: ArrayLike, noise: float = 0.6) -> Floats:
    """The true probability of class 1; classes are equally frequent.

    Parameters and errors as for `blobs_log_density`.
    """
    return posterior_of(blobs_log_density(points, noise))


def _squares(points: Floats, std: float) -> Floats:
    """Squared Mahalanobis distance (n, 3) of points to each blob."""
    away = points[:, None, :] - _CENTRES
    along = np.einsum("njd,jkd->njk", away, _AXES) / (std * _STDS)
    return (along**2).sum(axis=-1)
