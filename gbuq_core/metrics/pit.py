"""Probability integral transforms: where y falls in its predicted distribution.

Uniform on (0, 1) if the predicted distributions are right (Dawid, 1984).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from gbuq_core.metrics.binomial import binomial_band
from gbuq_core.metrics.inputs import FloatArray, check_gaussian, check_mixture
from gbuq_core.validation import check_array, check_number


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
    """Share of PIT values in equal bins: a hump is overdispersed, a bowl overconfident.

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
