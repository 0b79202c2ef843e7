"""Calibration of class probabilities: does a confidence of 80 % mean 80 % right answers?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.metrics.intervals import binomial_band
from gbuq_core.uncertainty import check_probabilities
from gbuq_core.validation import FloatArray, check_number, class_codes


class Reliability(NamedTuple):
    """Confidence against accuracy of the predicted class, in equal bins of confidence.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
    confidence, accuracy, low, high : ndarray of shape (n_bins,)
        Mean confidence, share of right rows and its binomial band; NaN in empty bins.
    n_rows : ndarray of shape (n_bins,), int64
        Rows in each bin.
    """

    edges: FloatArray
    confidence: FloatArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    n_rows: NDArray[np.int64]


def reliability(
    y: ArrayLike,
    probabilities: ArrayLike,
    classes: ArrayLike | None = None,
    n_bins: int = 10,
    confidence: float = 0.95,
) -> Reliability:
    """How often the predicted class is right, for each level of confidence.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class codes, or labels if ``classes`` is given.
    probabilities : array-like of shape (n_samples, n_classes)
        For an ensemble, the mean over its members.
    classes : array-like of shape (n_classes,), optional
    n_bins : int
        Equal bins of the highest probability.
    confidence : float
        Of the binomial bands.

    Returns
    -------
    Reliability

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural networks".

    Examples
    --------
    >>> reliability([0, 1], [[0.9, 0.1], [0.9, 0.1]], n_bins=2).accuracy
    array([nan, 0.5])
    """
    p = check_probabilities("probabilities", probabilities, 2)
    codes = class_codes(y, p.shape[1], classes)
    if len(codes) != len(p):
        raise InvalidData(f"y has {len(codes)} rows and probabilities have {len(p)}.")
    n = check_number("n_bins", n_bins, 1, 1000, integer=True)
    sure = p.max(axis=1)
    bins = np.minimum((sure * n).astype(np.int64), n - 1)
    count = np.bincount(bins, minlength=n)
    right = np.bincount(bins, weights=p.argmax(axis=1) == codes, minlength=n)
    filled = count > 0
    rows = np.maximum(count, 1)
    low, high = binomial_band(right, rows, confidence)
    means = np.bincount(bins, weights=sure, minlength=n) / rows
    return Reliability(
        edges=np.linspace(0.0, 1.0, n + 1),
        confidence=np.where(filled, means, np.nan),
        accuracy=np.where(filled, right / rows, np.nan),
        low=np.where(filled, low, np.nan),
        high=np.where(filled, high, np.nan),
        n_rows=count,
    )


def calibration_error(
    y: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None = None, n_bins: int = 10
) -> float:
    """Expected calibration error: mean gap between accuracy and confidence over rows; 0 is best.

    References
    ----------
    Guo et al. (2017), equation 3.

    Examples
    --------
    >>> round(calibration_error([0, 1], [[0.9, 0.1], [0.9, 0.1]]), 4)
    0.4
    """
    found = reliability(y, probabilities, classes, n_bins)
    filled = found.n_rows > 0
    gaps = np.abs(found.accuracy - found.confidence)[filled]
    return float(np.average(gaps, weights=found.n_rows[filled]))
