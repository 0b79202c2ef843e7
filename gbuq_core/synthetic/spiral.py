"""The spiral: three arms in the plane, and their true density and class probabilities."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax

from gbuq_core.array_checks import check_array
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.synthetic.draws import MAX_ROWS, generator_of, normals_from
from gbuq_core.validation import check_number


class SpiralData(NamedTuple):
    """Three interleaved spiral arms, one class each.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 9)
        ``x, y, x+y, x-y, 2x+y, x-2y, x+2y, 2x-y`` and the radius, see `spiral_features`.
    y : ndarray of shape (n_samples,), int64
        The class, 0 to 2; rows cycle through the classes, so a set with fewer rows per class is a
        prefix of a larger one.
    """

    X: NDArray[np.float64]
    y: NDArray[np.int64]


def spiral_features(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The nine features of points (n, 2): rotated axes and the radius help trees along the arms."""
    x, y = points[:, 0], points[:, 1]
    mixed = [x + y, x - y, 2 * x + y, x - 2 * y, x + 2 * y, 2 * x - y]
    return np.column_stack([x, y, *mixed, np.hypot(x, y)])


def make_spiral(
    n_per_class: int = 1500, noise: float = 0.4, random_state: Any = None
) -> SpiralData:
    """Three spiral arms that widen outwards: a hard problem for axis-parallel splits.

    ``t = sqrt(U(0, 1)) * 6 pi``; with the offset ``2 pi i / 3`` of class i,
    ``x = -cos(t + offset) t^2 + noise t^1.5 N(0, 1)`` and ``y = sin(t + offset) t^2`` likewise.

    Parameters
    ----------
    n_per_class : int
        Rows of each of the three classes.
    noise : float
        Factor of the arms' width, at most 1000.
    random_state : int, numpy Generator, RandomState, SeedSequence or None

    Returns
    -------
    SpiralData

    References
    ----------
    Malinin et al. (2021), section 4 and figure 3; the generator is that of the authors' code.

    Examples
    --------
    >>> make_spiral(random_state=0).X.shape
    (4500, 9)
    """
    n = check_number("n_per_class", n_per_class, 1, MAX_ROWS // 3, integer=True)
    factor = check_number("noise", noise, 0.0, MAX_SPIRAL_NOISE)
    # Three uniforms a row, arm position and both noises, so that more rows leave the first alone.
    uniforms = generator_of(random_state).random((n, 3, 3))
    t = np.sqrt(uniforms[..., 0]) * (6.0 * np.pi)
    angle = t + 2.0 * np.pi * np.arange(3) / 3.0
    normals = normals_from(uniforms[..., 1:])
    spread = factor * t[..., None] ** 1.5 * normals
    arm = np.stack([-np.cos(angle), np.sin(angle)], axis=-1) * t[..., None] ** 2
    points = (arm + spread).reshape(3 * n, 2)
    return SpiralData(spiral_features(points), np.tile(np.arange(3), n))


# 8.2 std, the largest normal that the generator draws, stay within the million of a point.
MAX_SPIRAL_NOISE = 1000.0
MIN_SPIRAL_NOISE = 0.02  # with less the arms have no width to speak of, and no density
_ARM_END = 6.0 * np.pi
_PANEL_STDS, _PANEL_NODES = 3.0, 8  # Gauss-Legendre: within 1e-4 of the density


def spiral_log_density(points: ArrayLike, noise: float = 0.4) -> NDArray[np.float64]:
    """Log of each class's density in the plane, ``log p(x, y | class)``, by quadrature.

    ``p(x, y | i) = int_0^6pi 2t/(6 pi)^2 N((x, y); (-cos(t + o_i) t^2, sin(t + o_i) t^2), noise^2
    t^3 I) dt`` with ``o_i = 2 pi i / 3``. Summed as logarithms, so that it is finite far from the
    arms, where the density itself underflows. At the origin, where all arms start, it is infinite.
    """
    factor = check_number("noise", noise, 0.0, MAX_SPIRAL_NOISE)
    where = check_array("points", points, 2, low=-1e6, high=1e6, min_length=2)
    if where.shape[1] != 2:
        raise InvalidData(f"points must have two columns, x and y; got {where.shape[1]}.")
    if factor < MIN_SPIRAL_NOISE:
        raise InvalidParameter(
            f"noise must be at least {MIN_SPIRAL_NOISE:g} for the arms to have a density in the "
            f"plane; got {noise!r}."
        )
    t, log_weight = _arm_quadrature(factor)
    precision = 1.0 / (factor**2 * t**3)
    log_weight = log_weight + np.log(2.0 * t / _ARM_END**2 * precision / (2.0 * np.pi))
    log_density = np.empty((len(where), 3))
    size = max(1, 400_000 // len(t))  # points at a time: the exponents stay in the cache
    for label in range(3):
        angle = t + 2.0 * np.pi * label / 3.0
        arm = np.stack([-np.cos(angle), np.sin(angle)]) * t**2
        constant = log_weight - 0.5 * precision * t**4  # |arm| = t^2
        for low in range(0, len(where), size):
            block = where[low : low + size]
            squares = (block**2).sum(axis=1, keepdims=True)
            exponent = (block @ arm - 0.5 * squares) * precision + constant
            top = exponent.max(axis=1)
            exponent -= top[:, None]
            log_density[low : low + size, label] = top + np.log(np.exp(exponent).sum(axis=1))
    return log_density


def spiral_density(points: ArrayLike, noise: float = 0.4) -> NDArray[np.float64]:
    """Each class's density in the plane, (n_points, 3) per unit area; see `spiral_log_density`."""
    return np.exp(spiral_log_density(points, noise))


def spiral_posterior(points: ArrayLike, noise: float = 0.4) -> NDArray[np.float64]:
    """The true class probabilities, (n_points, 3): classes are equally frequent.

    Their entropy is the data uncertainty of a perfect model. They exist everywhere, even where no
    row will ever lie; see `spiral_log_density`.
    """
    return softmax(spiral_log_density(points, noise), axis=1)


def _arm_quadrature(noise: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Nodes t in (0, 6 pi) and log weights: Gauss-Legendre panels a few noise stds long.

    With ``y = sqrt(t)`` the arm advances ``(2 / noise) sqrt(4 + y^4) dy`` stds. Panels halve
    towards both ends: near the origin all scales matter, and far outside only the very tip does.
    """
    end = np.sqrt(_ARM_END)
    y = np.linspace(0.0, end, 4001)
    stds = np.concatenate([[0.0], np.cumsum(np.diff(y) * np.sqrt(4.0 + (y[1:] - end / 8000) ** 4))])
    stds *= 2.0 / noise
    n_panels = int(np.ceil(stds[-1] / _PANEL_STDS))
    edges = np.interp(np.linspace(0.0, stds[-1], n_panels + 1), stds, y)
    halves = 0.5 ** np.arange(12, 0, -1)
    tail = end - (end - edges[-2]) * halves[::-1]
    edges = np.unique(np.concatenate([edges[1] * halves, edges[1:-1], tail, [end]]))
    node, weight = np.polynomial.legendre.leggauss(_PANEL_NODES)
    width = np.diff(edges)[:, None]
    nodes = (edges[:-1, None] + 0.5 * width * (node + 1.0)).ravel()
    weights = (0.5 * width * weight).ravel() * 2.0 * nodes  # dt = 2 y dy
    return nodes**2, np.log(weights)
