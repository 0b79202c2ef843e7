"""Two interleaved half circles with a third, irrelevant feature."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.synthetic.draws import MAX_ROWS, generator_of, normals_from
from gbuq_core.synthetic.plane import Extent, Floats, cell_middles, check_points, posterior_of
from gbuq_core.validation import check_number

MOONS_SIDE = 60  # cells of the maps along each feature
MOONS_EXTENT: Extent = ((-2.0, 3.0), (-2.25, 2.75))  # of the two features that matter
MIN_MOONS_NOISE, MAX_MOONS_NOISE = 0.02, 10.0  # with less there is no width, and no probability
_SUPPORT_STDS = 3.0
_BLOCK = 1000  # points at a time, for bounded memory
_CENTRES = np.array([[0.0, 0.0], [1.0, 0.5]])


class MoonsData(NamedTuple):
    """Two classes on half circles, and a third, irrelevant feature.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 3)
        The place in the plane, and a standard normal that has nothing to do with y.
    y : ndarray of shape (n_samples,), int64
        The class, 0 (the upper half circle) or 1; rows alternate.
    grid : ndarray of shape (3600, 3)
        The middles of 60 x 60 cells of the plane, the second feature upwards, the third 0:
        ``predict(grid).reshape(60, 60)`` is a map.
    axes : pair of ndarrays of shape (60,)
        The middles along the first feature (columns of a map) and the second (rows).
    mean, variance : ndarray of shape (60, 60)
        Of y there: the true probability p of class 1, and ``p (1 - p)``.
    in_support : ndarray of shape (60, 60), bool
        Within three noise stds of a half circle: more than 99 % of the rows are.
    """

    X: Floats
    y: NDArray[np.int64]
    grid: Floats
    axes: tuple[Floats, Floats]
    mean: Floats
    variance: Floats
    in_support: NDArray[np.bool_]


def make_moons3(n: int = 500, noise: float = 0.15, random_state: Any = None) -> MoonsData:
    """Two moons in the plane and a third, irrelevant feature.

    With t uniform on (0, pi), class 0 lies around ``(cos t, sin t)`` and class 1 around
    ``(1 - cos t, 0.5 - sin t)``, each with noise N(0, noise^2) in both directions.

    Parameters
    ----------
    n : int
        Rows of both classes together, at least 2.
    noise : float
        Standard deviation around the half circles, 0.02 to 10.
    random_state : int, numpy Generator, RandomState, SeedSequence or None

    Returns
    -------
    MoonsData

    Examples
    --------
    >>> moons = make_moons3(random_state=0)
    >>> moons.X.shape, moons.mean.shape
    ((500, 3), (60, 60))
    """
    rows = check_number("n", n, 2, MAX_ROWS, integer=True)
    std = check_number("noise", noise, MIN_MOONS_NOISE, MAX_MOONS_NOISE)
    # Four uniforms a row, so that more rows leave the first ones alone.
    uniforms = generator_of(random_state).random((rows, 4))
    y = np.arange(rows, dtype=np.int64) % 2
    normals = normals_from(uniforms[:, 1:])
    plane = _on_arcs(np.pi * uniforms[:, 0], y) + std * normals[:, :2]
    axes, cells = cell_middles(MOONS_EXTENT, MOONS_SIDE)
    mean = moons_posterior(cells, std).reshape(MOONS_SIDE, MOONS_SIDE)
    near = _distance_to_arcs(cells) <= _SUPPORT_STDS * std
    return MoonsData(
        X=np.column_stack([plane, normals[:, 2]]),
        y=y,
        grid=np.column_stack([cells, np.zeros(len(cells))]),
        axes=axes,
        mean=mean,
        variance=mean * (1.0 - mean),
        in_support=near.reshape(MOONS_SIDE, MOONS_SIDE),
    )


def moons_log_density(points: ArrayLike, noise: float = 0.15) -> Floats:
    """Log of each class's density in the plane of the two features that matter, by quadrature.

    ``p(x, y | class) = 1/pi int_0^pi N((x, y); arc(t), noise^2 I) dt``, summed as logarithms, so
    that it is finite far from the moons, where the density itself underflows.
    """
    std = check_number("noise", noise, MIN_MOONS_NOISE, MAX_MOONS_NOISE)
    where = check_points(points)
    # Gauss-Legendre nodes, at most 0.6 stds apart in the middle, where they are sparsest: exact to
    # rounding for normal densities.
    node, weight = np.polynomial.legendre.leggauss(20 + int(9.0 / std))
    t = 0.5 * np.pi * (node + 1.0)
    log_density = np.empty((len(where), 2))
    for label in range(2):
        arc = _on_arcs(t, np.full(len(t), label))
        for low in range(0, len(where), _BLOCK):
            x, y = where[low : low + _BLOCK].T
            exponent = np.subtract.outer(x, arc[:, 0]) ** 2 + np.subtract.outer(y, arc[:, 1]) ** 2
            exponent *= -0.5 / std**2
            top = exponent.max(axis=1)
            summed = np.exp(exponent - top[:, None]) @ weight
            log_density[low : low + _BLOCK, label] = top + np.log(summed)
    # The weights sum to 2, and t to pi has the density 1 / pi.
    return log_density - np.log(4.0 * np.pi * std**2)


def moons_posterior(points: ArrayLike, noise: float = 0.15) -> Floats:
    """The true probability of class 1 at points of the plane; classes are equally frequent.

    Parameters and errors as for `moons_log_density`.
    """
    return posterior_of(moons_log_density(points, noise))


def _on_arcs(t: Floats, y: NDArray[np.int64]) -> Floats:
    """Places (n, 2) at angle t on the half circle of class y; the second is the first turned."""
    sign = np.where(y == 0, 1.0, -1.0)[:, None]
    return _CENTRES[y] + sign * np.stack([np.cos(t), np.sin(t)], axis=-1)


def _distance_to_arcs(points: Floats) -> Floats:
    """Distance (n,) from points of the plane to the nearer half circle."""
    distances = []
    for centre, sign in zip(_CENTRES, (1.0, -1.0), strict=True):
        x, y = sign * (points - centre).T
        to_ends = np.hypot(np.abs(x) - 1.0, y)
        distances.append(np.where(y >= 0.0, np.abs(np.hypot(x, y) - 1.0), to_ends))
    return np.minimum(*distances)
