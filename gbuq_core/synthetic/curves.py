"""One feature and a known curve: tails, a gap, a step, a wavelet, and noise that grows.

The first four are those of the soft trees' figures (Cinquin et al., 2022, figures 2 and 5 to 7;
this project chose the numbers because the paper gives none). The last one is that of MACAU's
experiment.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.synthetic.draws import MAX_ROWS, generator_of, normals_from
from gbuq_core.validation import check_number

Floats = NDArray[np.float64]

# More than that and squares of the noise leave the floats' range.
MAX_CURVE_NOISE = 1e6
_DAUBECHIES_ORDER = 4  # vanishing moments; the paper does not name its own
_DAUBECHIES_LEVEL = 10  # 1024 points a unit of the wavelet's support


class CurveData(NamedTuple):
    """One feature, a known mean and a known noise.

    Attributes
    ----------
    X : ndarray of shape (n_samples, 1)
    y : ndarray of shape (n_samples,)
    grid : ndarray of shape (n_grid, 1)
        Evenly spaced over the range of a picture, ends included. The grid is wider than the rows if
        the set is about what happens outside them.
    mean, variance : ndarray of shape (n_grid,)
        The true mean and noise variance of y on the grid, also where there are no rows.
    in_support : ndarray of shape (n_grid,), bool
        Where there can be training rows.
    row_mean, row_variance : ndarray of shape (n_samples,)
        The true mean and noise variance of y at each row.
    """

    X: Floats
    y: Floats
    grid: Floats
    mean: Floats
    variance: Floats
    in_support: NDArray[np.bool_]
    row_mean: Floats
    row_variance: Floats


def make_tails(n: int = 150, noise: float = 0.1, random_state: Any = None) -> CurveData:
    """Rows in the middle only: x uniform on [-1, 1], ``y = 0.7 sin(3x) + noise N(0, 1)``.

    Parameters
    ----------
    n : int
        Training rows, at least 2.
    noise : float
        Standard deviation of the noise, in units of y, at most a million.
    random_state : int, numpy Generator, RandomState, SeedSequence or None

    Returns
    -------
    CurveData
        With 441 grid points on [-2.2, 2.2].

    References
    ----------
    Cinquin et al. (2022), figure 2.

    Examples
    --------
    >>> tails = make_tails(random_state=0)
    >>> tails.X.shape, int(tails.in_support.sum()), len(tails.grid)
    ((150, 1), 201, 441)
    """
    return _make_curve(
        n,
        noise,
        random_state,
        place=lambda u: 2.0 * u - 1.0,
        mean=lambda x: 0.7 * np.sin(3.0 * x),
        grid=np.arange(-220, 221) / 100.0,
        intervals=((-1.0, 1.0),),
    )


def make_gap(n: int = 150, noise: float = 0.1, random_state: Any = None) -> CurveData:
    """Two blobs and nothing in between: x on [-2, -0.8] or [0.8, 2], ``y = sin(2x) + noise``.

    Parameters as for `make_tails`.

    Returns
    -------
    CurveData
        With 601 grid points on [-3, 3].

    References
    ----------
    Cinquin et al. (2022), figure 5.

    Examples
    --------
    >>> gap = make_gap(random_state=0)
    >>> bool((np.abs(gap.X) >= 0.8).all()), int(gap.in_support.sum())
    (True, 242)
    """
    return _make_curve(
        n,
        noise,
        random_state,
        place=lambda u: 2.4 * u - np.where(u < 0.5, 2.0, 0.4),
        mean=lambda x: np.sin(2.0 * x),
        grid=np.arange(-300, 301) / 100.0,
        intervals=((-2.0, -0.8), (0.8, 2.0)),
    )


def make_step(n: int = 150, noise: float = 0.1, random_state: Any = None) -> CurveData:
    """A step: x uniform on [-1, 1], ``y = 1[x > 0] + noise N(0, 1)``.

    Parameters as for `make_tails`.

    Returns
    -------
    CurveData
        With 401 grid points on [-1, 1], all of them in the support.

    References
    ----------
    Cinquin et al. (2022), figure 6.

    Examples
    --------
    >>> make_step(random_state=0).mean[[0, 200, 201, 400]]
    array([0., 0., 1., 1.])
    """
    return _make_curve(
        n,
        noise,
        random_state,
        place=lambda u: 2.0 * u - 1.0,
        mean=lambda x: (x > 0.0).astype(np.float64),
        grid=np.arange(-200, 201) / 200.0,
        intervals=((-1.0, 1.0),),
    )


def make_daubechies(n: int = 150, noise: float = 0.1, random_state: Any = None) -> CurveData:
    """A Daubechies wavelet: x uniform on [0, 1], ``y = psi(7x) + noise N(0, 1)``.

    ``psi`` is the wavelet of four vanishing moments (db4), of support [0, 7] and unit norm there.
    It comes from PyWavelets, maintained and with NumPy as its only requirement.

    Parameters as for `make_tails`.

    Returns
    -------
    CurveData
        With 401 grid points on [0, 1], all of them in the support.

    References
    ----------
    Cinquin et al. (2022), figure 7; Daubechies (1988), "Orthonormal bases of compactly supported
    wavelets".

    Examples
    --------
    >>> wavelet = make_daubechies(random_state=0)
    >>> wavelet.mean.min().round(2), wavelet.mean.max().round(2)
    (np.float64(-0.93), np.float64(1.36))
    """
    return _make_curve(
        n,
        noise,
        random_state,
        place=lambda u: u,
        mean=_daubechies,
        grid=np.arange(401) / 400.0,
        intervals=((0.0, 1.0),),
    )


def make_heteroscedastic(
    n: int = 2000, noise_slope: float = 0.1, random_state: Any = None
) -> CurveData:
    """Noise that grows with x: x uniform on [0, 10], ``y = x/2 + sin x + noise_slope x N(0, 1)``.

    With the paper's slope of 0.1 the best possible CRPS is 0.282, which fits its table.

    Parameters
    ----------
    n : int
        Rows, at least 2.
    noise_slope : float
        Standard deviation of the noise per unit of x, at most a million.
    random_state : int, numpy Generator, RandomState, SeedSequence or None

    Returns
    -------
    CurveData
        With 601 grid points on [-10, 20]. Rows lie on [0, 10]. The paper takes its
        out-of-distribution rows from the rest of the grid. There, too, ``variance`` follows the
        formula.

    References
    ----------
    MACAU, section 4.1 and equation 6, read as above.

    Examples
    --------
    >>> data = make_heteroscedastic(random_state=0)
    >>> data.X.shape, np.sqrt(data.variance[400]).round(3)  # at x = 10
    ((2000, 1), np.float64(1.0))
    """
    check_number("noise_slope", noise_slope, 0.0, MAX_CURVE_NOISE)
    return _make_curve(
        n,
        noise_slope,
        random_state,
        place=lambda u: 10.0 * u,
        mean=lambda x: 0.5 * x + np.sin(x),
        grid=np.arange(-200, 401) / 20.0,
        intervals=((0.0, 10.0),),
        relative_std=np.abs,
    )


def _make_curve(
    n: Any,
    noise: Any,
    random_state: Any,
    *,
    place: Callable[[Floats], Floats],
    mean: Callable[[Floats], Floats],
    grid: Floats,
    intervals: tuple[tuple[float, float], ...],
    relative_std: Callable[[Floats], Floats] = np.ones_like,
) -> CurveData:
    """Rows at ``place(uniform)`` with ``mean(x) + noise * relative_std(x) * N(0, 1)``."""
    rows = check_number("n", n, 2, MAX_ROWS, integer=True)
    factor = check_number("noise", noise, 0.0, MAX_CURVE_NOISE)
    # Two uniforms a row, place and noise, so that more rows leave the first ones alone.
    uniforms = generator_of(random_state).random((rows, 2))
    x = place(uniforms[:, 0])
    row_mean, row_std = mean(x), factor * relative_std(x)
    in_support = np.zeros(grid.size, dtype=bool)
    for low, high in intervals:
        in_support |= (grid >= low) & (grid <= high)
    return CurveData(
        X=x[:, None],
        y=row_mean + row_std * normals_from(uniforms[:, 1]),
        grid=grid[:, None],
        mean=mean(grid),
        variance=(factor * relative_std(grid)) ** 2,
        in_support=in_support,
        row_mean=row_mean,
        row_variance=row_std**2,
    )


def _daubechies(x: Floats) -> Floats:
    """The wavelet stretched from its support to [0, 1]; linear between 7168 points."""
    where, psi = _daubechies_table()
    return np.interp(x, where, psi)


@lru_cache(maxsize=1)
def _daubechies_table() -> tuple[Floats, Floats]:
    import pywt

    wavelet = pywt.Wavelet(f"db{_DAUBECHIES_ORDER}")
    _, psi, where = wavelet.wavefun(level=_DAUBECHIES_LEVEL)
    return where / where[-1], psi
