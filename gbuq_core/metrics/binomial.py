"""Exact binomial bands for observed shares.

Clopper and Pearson's (1934) intervals cover the true share at least as often as they say, also for
shares of 0 and 1 and for a handful of rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from gbuq_core.errors import InvalidData
from gbuq_core.metrics.inputs import FloatArray
from gbuq_core.validation import check_number


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
