"""Synthetic data sets, each with its true mean and noise, and where it has training rows at all.

Growing a set only appends rows: the first rows, the cell means and the standard normals behind
the noise stay as they are, so that a slider of the size or the noise changes nothing else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, softmax

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.validation import check_array, check_number

# Noise variance of each heart cell in multiples of ``noise``; 0 = no training rows. From the
# authors' code (methods of Malinin et al., section 4; figure 2a shows it).
_HEART_ROWS = (
    "111111111",
    "114111411",
    "140414041",
    "400040004",
    "140000041",
    "114000411",
    "111404111",
    "111141111",
    "111111111",
)
_HEART = np.array([[float(digit) for digit in row] for row in _HEART_ROWS])

MAX_ROWS = 10_000_000


class HeartData(NamedTuple):
    """Two categorical features of nine levels; no training rows inside a heart.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 2)
        Level codes 0 to 8 as float64. Rows go round the filled cells: row i is in filled cell
        ``i % n_filled``, so fewer rows per cell are a prefix of more.
    y : ndarray of shape (n_samples,)
    mean : ndarray of shape (9, 9)
        True mean of y in every cell, also the empty ones; row = feature 0, column = feature 1.
    variance : ndarray of shape (9, 9)
        True noise variance, NaN where there are no training rows.
    in_support : ndarray of shape (9, 9), bool
        Which cells have training rows.
    grid : ndarray of shape (81, 2)
        One row per cell in row-major order: ``predict(grid).reshape(9, 9)`` is a map.
    cell_counts : ndarray of shape (9, 9), int64
        Training rows per cell.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    in_support: NDArray[np.bool_]
    grid: NDArray[np.float64]
    cell_counts: NDArray[np.int64]


def make_heart(n_per_cell: int = 1000, noise: float = 0.01, random_state: Any = None) -> HeartData:
    """The heart: 81 cells, 17 of them without training rows, noise four times larger around them.

    ``y = mean[cell] + sqrt(noise * V[cell]) N(0, 1)`` with cell means uniform on (0, 1) and
    ``V`` 1 or 4.

    Parameters
    ----------
    n_per_cell : int
        Training rows in each of the 64 filled cells.
    noise : float
        Noise variance where ``V`` is 1, in squared units of y.
    random_state : int, numpy Generator, RandomState, SeedSequence or None
        Seed of the cell means and of the noise.

    Returns
    -------
    HeartData

    Raises
    ------
    InvalidParameter
        If ``n_per_cell``, ``noise`` or ``random_state`` is impossible.

    References
    ----------
    Malinin et al. (2021), section 4 and figure 2; the matrix is that of the authors' code.

    Examples
    --------
    >>> heart = make_heart(random_state=0)
    >>> heart.X.shape, int(heart.in_support.sum())
    ((64000, 2), 64)
    """
    in_support = _HEART > 0
    n_filled = int(in_support.sum())
    n = check_number("n_per_cell", n_per_cell, 1, MAX_ROWS // n_filled, integer=True)
    factor = check_number("noise", noise, 0.0)
    rng = _generator(random_state)
    mean = rng.random((9, 9))
    variance = np.where(in_support, factor * _HEART, np.nan)
    # One line of the array is one row of every filled cell: more lines leave the first ones alone.
    y = rng.standard_normal((n, n_filled))
    y *= np.sqrt(variance[in_support])
    y += mean[in_support]
    grid = np.stack(np.divmod(np.arange(81), 9), axis=1).astype(np.float64)
    return HeartData(
        X=np.tile(grid[in_support.ravel()], (n, 1)),
        y=y.ravel(),
        mean=mean,
        variance=variance,
        in_support=in_support,
        grid=grid,
        cell_counts=np.where(in_support, n, 0),
    )


_WAVE_X = np.arange(61) / 10.0  # where y is measured
_WAVE_BEYOND = np.arange(61, 70) / 10.0  # no rows there
_WAVE_RARE = (_WAVE_X > 3.0) & (_WAVE_X < 4.5)


class WaveData(NamedTuple):
    """One feature, measured in steps of 0.1 from 0 to 6; one stretch has one row a position.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)
    grid : ndarray of shape (70, 1)
        The 61 positions and 9 more beyond them.
    mean, variance : ndarray of shape (70,)
        The true mean and noise variance of y on the grid.
    in_support : ndarray of shape (70,), bool
        Where there can be training rows.
    is_rare : ndarray of shape (70,), bool
        Where there is one row a position however large the set: 3.1 to 4.4.
    """

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    grid: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    in_support: NDArray[np.bool_]
    is_rare: NDArray[np.bool_]


def make_wave(n: int = 400, noise: float = 1.0, random_state: Any = None) -> WaveData:
    """A wave with a noisy stretch, a stretch of few rows, and an end beyond all rows.

    ``y = sin(2x) + 0.3x + noise * (0.06 + 0.3 exp(-((x - 1.4) / 0.45)^2 / 2)) N(0, 1)``.

    The first 14 rows are those of the rare stretch, one a position; all others lie elsewhere.
    A position is a bin of its own for trees: bins of equally many rows would just grow wider
    where rows are rare, and hide it.

    Parameters
    ----------
    n : int
        Training rows, at least 20.
    noise : float
        Factor of the noise's standard deviation.
    random_state : int, numpy Generator, RandomState, SeedSequence or None

    Returns
    -------
    WaveData

    Raises
    ------
    InvalidParameter
        If ``n``, ``noise`` or ``random_state`` is impossible.

    Examples
    --------
    >>> wave = make_wave(n=200, random_state=0)
    >>> wave.X.shape, int(wave.in_support.sum())
    ((200, 1), 61)
    """
    rows = check_number("n", n, 20, MAX_ROWS, integer=True)
    factor = check_number("noise", noise, 0.0)
    # Two uniforms a row, position and noise, so that more rows leave the first ones alone.
    uniforms = _generator(random_state).random((rows, 2))
    rare, plenty = np.flatnonzero(_WAVE_RARE), np.flatnonzero(~_WAVE_RARE)
    position = plenty[(uniforms[:, 0] * plenty.size).astype(np.int64)]
    position[: rare.size] = rare
    grid = np.concatenate([_WAVE_X, _WAVE_BEYOND])
    mean = np.sin(2.0 * grid) + 0.3 * grid
    std = factor * (0.06 + 0.3 * np.exp(-0.5 * ((grid - 1.4) / 0.45) ** 2))
    normals = ndtri(np.maximum(uniforms[:, 1], np.finfo(np.float64).tiny))  # uniform on [0, 1)
    in_support = np.arange(grid.size) < _WAVE_X.size
    return WaveData(
        X=grid[position][:, None],
        y=mean[position] + std[position] * normals,
        grid=grid[:, None],
        mean=mean,
        variance=std**2,
        in_support=in_support,
        is_rare=np.concatenate([_WAVE_RARE, np.zeros(_WAVE_BEYOND.size, dtype=bool)]),
    )


class SpiralData(NamedTuple):
    """Three interleaved spiral arms, one class each.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 9)
        ``x, y, x+y, x-y, 2x+y, x-2y, x+2y, 2x-y`` and the radius, see `spiral_features`.
    y : ndarray of shape (n_samples,), int64
        The class, 0 to 2; rows go round the classes, so fewer rows per class are a prefix of more.
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

    Raises
    ------
    InvalidParameter
        If ``n_per_class``, ``noise`` or ``random_state`` is impossible.

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
    uniforms = _generator(random_state).random((n, 3, 3))
    t = np.sqrt(uniforms[..., 0]) * (6.0 * np.pi)
    angle = t + 2.0 * np.pi * np.arange(3) / 3.0
    normals = ndtri(np.maximum(uniforms[..., 1:], np.finfo(np.float64).tiny))
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

    Parameters
    ----------
    points : array-like of shape (n_points, 2)
        In the units of the first two features of `make_spiral`.
    noise : float
        As for `make_spiral`, at least 0.02.

    Returns
    -------
    ndarray of shape (n_points, 3)
        Natural logarithms of densities per unit area.

    Raises
    ------
    InvalidData, InvalidParameter
        If the points are not pairs of finite numbers, or the noise is too small for a density or
        above 1000.

    Examples
    --------
    >>> spiral_log_density([[88.8, 0.0]]).round(1)
    array([[-10.8, -19.3, -14.9]])
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
    """Each class's density in the plane, (n_points, 3) per unit area; see `spiral_log_density`.

    Examples
    --------
    >>> spiral_density([[88.8, 0.0]])[0, 0].round(7)
    np.float64(2.02e-05)
    """
    density: NDArray[np.float64] = np.exp(spiral_log_density(points, noise))
    return density


def spiral_posterior(points: ArrayLike, noise: float = 0.4) -> NDArray[np.float64]:
    """The true class probabilities, (n_points, 3): classes are equally frequent.

    Their entropy is the data uncertainty that a perfect model would report. Defined everywhere,
    also where no row will ever lie; see `spiral_log_density`.

    Examples
    --------
    >>> spiral_posterior([[88.8, 0.0]]).round(3)
    array([[0.984, 0.   , 0.016]])
    """
    probabilities: NDArray[np.float64] = softmax(spiral_log_density(points, noise), axis=1)
    return probabilities


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


def _generator(random_state: Any) -> np.random.Generator:
    """A numpy Generator from anything that numpy accepts as a seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidParameter(
            "random_state must be None, a whole number of at least 0 or a numpy generator; "
            f"got {random_state!r}."
        ) from None
