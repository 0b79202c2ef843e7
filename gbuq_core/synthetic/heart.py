"""The heart: categories with an empty region, and noise that is larger around it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.synthetic.draws import MAX_ROWS, generator_of
from gbuq_core.validation import check_number

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


class HeartData(NamedTuple):
    """Two categorical features of nine levels; no training rows inside a heart.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 2)
        Level codes 0 to 8 as float64. Rows cycle through the filled cells: row i is in filled cell
        ``i % n_filled``. So a set with fewer rows per cell is a prefix of a larger one.
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
    rng = generator_of(random_state)
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
