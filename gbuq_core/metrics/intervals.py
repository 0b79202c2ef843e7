"""Calibration of intervals: exact binomial bands, PIT values, coverage and width.

The probability integral transform is uniform on (0, 1) if predicted distributions are right (Dawid,
1984). Clopper and Pearson's (1934) bands have at least their nominal coverage, also for shares of 0
and 1 and for a handful of rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtr

from gbuq_core.errors import InvalidData
from gbuq_core.validation import (
    FloatArray,
    check_array,
    check_gaussian,
    check_mixture,
    check_number,
    check_same_length,
)


def binomial_band(
    n_successes: ArrayLike, n_trials: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Exact (Clopper-Pearson) interval of a share, elementwise.

    Parameters
    ----------
    n_successes, n_trials : array-like of whole numbers
        ``0 <= n_successes <= n_trials``, ``n_trials >= 1``.
    confidence : float
        Two-sided.

    Returns
    -------
    low, high : ndarray

    References
    ----------
    Clopper and Pearson (1934), as quantiles of the beta distribution.

    Examples
    --------
    >>> low, high = binomial_band(9, 10)
    >>> float(low.round(3)), float(high.round(3))
    (0.555, 0.997)
    """
    tail = 0.5 * (1.0 - check_number("confidence", confidence, 0.0, 1.0))
    k, n = np.broadcast_arrays(np.asarray(n_successes, float), np.asarray(n_trials, float))
    if k.size and (k.min() < 0 or n.min() < 1 or (k > n).any()):
        raise InvalidData("n_successes must lie between 0 and n_trials, and n_trials be 1 or more.")
    # The beta quantile is undefined at the ends, where the limits are 0 and 1.
    low = np.where(k == 0, 0.0, betaincinv(np.maximum(k, 1.0), n - k + 1.0, tail))
    high = np.where(k == n, 1.0, betaincinv(k + 1.0, np.maximum(n - k, 1.0), 1.0 - tail))
    return low, high


class PitHistogram(NamedTuple):
    """Shares of PIT values in equal bins (flat if calibrated) with binomial bands.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
    share, low, high : ndarray of shape (n_bins,)
        Compare with ``1 / n_bins``.
    """

    edges: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray


def pit_gaussian(y: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Probability integral transform ``Phi((y - loc)/scale)``: uniform on (0, 1) if calibrated.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    loc, scale : array-like of shape (n_samples,), or a number for all rows
        In units of y; the scale is a positive std.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> pit_gaussian([0.0, 1.0], 0.0, 1.0).round(4)
    array([0.5   , 0.8413])
    """
    y, loc, scale = check_gaussian(y, loc, scale, positive=True)
    return ndtr((y - loc) / scale)


def pit_mixture(y: ArrayLike, means: ArrayLike, variances: ArrayLike) -> FloatArray:
    """Probability integral transform of the equal mixture of the members' normals.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    means, variances : array-like of shape (n_members, n_samples)

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> pit_mixture([0.0], [[-1.0], [1.0]], [[1.0], [1.0]])
    array([0.5])
    """
    y, means, variances = check_mixture(y, means, variances, positive=True)
    return ndtr((y - means) / np.sqrt(variances)).mean(axis=0)


def pit_histogram(pit: ArrayLike, n_bins: int = 10, confidence: float = 0.95) -> PitHistogram:
    """Share of PIT values in equal bins: a hump means too wide, a bowl means too narrow.

    Parameters
    ----------
    pit : array-like of shape (n_samples,)
    n_bins : int
    confidence : float
        Of each bin's binomial band, for one bin at a time.

    Examples
    --------
    >>> pit_histogram([0.1, 0.2, 0.9], n_bins=2).share.round(4)
    array([0.6667, 0.3333])
    """
    values = check_array("pit", pit, 1, low=0.0, high=1.0)
    count = check_number("n_bins", n_bins, 1, 1000, integer=True)
    found, edges = np.histogram(values, bins=count, range=(0.0, 1.0))
    low, high = binomial_band(found, len(values), confidence)
    return PitHistogram(edges, found / len(values), low, high)


DEFAULT_LEVELS = (0.5, 0.8, 0.9, 0.95)


class Coverage(NamedTuple):
    """Nominal and observed coverage of central intervals, with the binomial band of the observed
    one.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Nominal coverage.
    observed : ndarray of shape (n_levels,)
        Share of rows inside their interval.
    low, high : ndarray of shape (n_levels,)
        Exact binomial interval of the observed share. If the level lies inside, there is no
        evidence of miscalibration.
    n_rows : int
    """

    levels: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    n_rows: int


def coverage(
    y: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    levels: ArrayLike = DEFAULT_LEVELS,
    confidence: float = 0.95,
) -> Coverage:
    """Observed coverage of one normal per row's central intervals, with its binomial band.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    loc, scale : array-like of shape (n_samples,), or a number for all rows
        In units of y; the scale is a positive std.
    levels : array-like of shape (n_levels,)
        Nominal coverage, from 0 to 1.
    confidence : float
        Of the binomial band.

    Returns
    -------
    Coverage

    Raises
    ------
    InvalidData
        If a scale is not positive, or the arrays are not finite or do not match.

    Examples
    --------
    >>> coverage([0.0, 0.5, 3.0], 0.0, 1.0, levels=[0.9]).observed.round(4)
    array([0.6667])
    """
    return pit_coverage(pit_gaussian(y, loc, scale), levels, confidence)


def pit_coverage(
    pit: ArrayLike, levels: ArrayLike = DEFAULT_LEVELS, confidence: float = 0.95
) -> Coverage:
    """Coverage of central intervals from PIT values, whatever distribution they come from.

    A central interval of level L holds y exactly where ``|2 pit - 1| <= L``.

    Parameters
    ----------
    pit : array-like of shape (n_samples,)
        From `pit_gaussian` or `pit_mixture`.
    levels, confidence
        As for `coverage`.

    Examples
    --------
    >>> pit_coverage([0.2, 0.5, 0.99], levels=[0.9]).observed.round(4)
    array([0.6667])
    """
    values = check_array("pit", pit, 1, low=0.0, high=1.0)
    nominal = check_array("levels", levels, 1, low=0.0, high=1.0)
    centrality = np.sort(np.abs(2.0 * values - 1.0))
    inside = np.searchsorted(centrality, nominal, side="right")
    low, high = binomial_band(inside, len(values), confidence)
    return Coverage(nominal, inside / len(values), low, high, len(values))


def interval_coverage(
    y: ArrayLike, lower: ArrayLike, upper: ArrayLike, level: float, confidence: float = 0.95
) -> Coverage:
    """Observed coverage of given intervals (both ends included), with its binomial band.

    Parameters
    ----------
    y, lower, upper : array-like of shape (n_samples,)
    level : float
        The intervals' nominal coverage. It is copied to the result.
    confidence : float
        Of the binomial band.

    Returns
    -------
    Coverage
        With a single level.

    Examples
    --------
    >>> interval_coverage([1.0, 5.0], [0.0, 0.0], [2.0, 2.0], 0.9).observed
    array([0.5])
    """
    target = check_array("y", y, 1)
    low = check_array("lower", lower, 1)
    high = check_array("upper", upper, 1)
    check_same_length(y=target, lower=low, upper=high)
    nominal = np.array([check_number("level", level, 0.0, 1.0)])
    inside = np.array([np.count_nonzero((low <= target) & (target <= high))])
    band_low, band_high = binomial_band(inside, len(target), confidence)
    return Coverage(nominal, inside / len(target), band_low, band_high, len(target))


def mace(y: ArrayLike, loc: ArrayLike, scale: ArrayLike, n_levels: int = 100) -> float:
    """Mean absolute calibration error: gap between observed and nominal coverage, levels 0 to 1.

    Parameters
    ----------
    y, loc, scale
        As for `coverage`.
    n_levels : int
        Number of equally spaced levels, 0 and 1 included.

    References
    ----------
    Brophy and Lowd (2022), table 11.

    Examples
    --------
    >>> round(mace([0.0], [0.0], [1.0]), 4)  # always inside: off by 1 - level
    0.5
    """
    count = check_number("n_levels", n_levels, 2, 10_000, integer=True)
    found = coverage(y, loc, scale, np.linspace(0.0, 1.0, count))
    return float(np.abs(found.observed - found.levels).mean())


def sharpness(scale: ArrayLike) -> float:
    """Root mean square of the predicted stds, in units of y. It does not look at the errors.

    References
    ----------
    Brophy and Lowd (2022), table 11.

    Examples
    --------
    >>> sharpness([3.0, 4.0]).__round__(4)
    3.5355
    """
    std = check_array("scale", scale, 1, low=0.0)
    return float(np.sqrt(np.mean(std * std)))
