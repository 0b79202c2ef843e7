"""Do predicted intervals hold as many rows as they promise, and how wide are they?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbuq_core.metrics.binomial import binomial_band
from gbuq_core.metrics.inputs import FloatArray
from gbuq_core.metrics.pit import pit_gaussian
from gbuq_core.validation import check_array, check_number, check_same_length

DEFAULT_LEVELS = (0.5, 0.8, 0.9, 0.95)


class Coverage(NamedTuple):
    """Nominal and observed coverage of central intervals, with the binomial band of the latter.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Nominal coverage.
    observed : ndarray of shape (n_levels,)
        Share of rows inside their interval.
    low, high : ndarray of shape (n_levels,)
        Exact binomial interval of the observed share; the level inside it is no evidence of
        miscalibration.
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
        The nominal coverage that the intervals were made for; it is only carried along.
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
    """Mean absolute calibration error: gap of observed to nominal coverage over levels 0 to 1.

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
    """Root mean square of the predicted stds, in units of y; says nothing about being right.

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
