"""The numbers of a scorecard: proper scores, errors, calibration and ranking.

Proper scores are lowest on average for the true distribution. Names ending in ``_values`` return
one score per row. The others return their mean.

Calibration of intervals: exact binomial bands, PIT values, coverage and width. The probability
integral transform is uniform on (0, 1) if predicted distributions are right (Dawid, 1984). Clopper
and Pearson's (1934) bands have at least their nominal coverage, also for shares of 0 and 1 and for
a handful of rows. Calibration of class probabilities: does a confidence of 80 % mean 80 % right
answers?

How well an uncertainty ranks: rejection curves and PRR for errors, AUROC for detection.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, betaincinv, betaln, erf, logsumexp, ndtr, ndtri, poch, stdtr

from gbuq_core.array_checks import (
    FloatArray,
    check_array,
    check_gaussian,
    check_mixture,
    check_same_length,
    class_codes,
)
from gbuq_core.errors import InvalidData
from gbuq_core.uncertainty import check_probabilities
from gbuq_core.validation import check_number


def rmse(y: ArrayLike, loc: ArrayLike) -> float:
    """Root mean squared error, ``sqrt(mean((y - loc)^2))``, in units of y.

    Parameters
    ----------
    y, loc : array-like of shape (n_samples,)
        Observed and predicted values.

    Examples
    --------
    >>> rmse([1.0, 2.0], [1.0, 4.0]).__round__(4)
    1.4142
    """
    target = check_array("y", y, 1)
    prediction = check_array("loc", loc, 1)
    check_same_length(y=target, loc=prediction)
    return float(np.sqrt(np.mean((target - prediction) ** 2)))


def error_rate(y: ArrayLike, predicted: ArrayLike) -> float:
    """Share of rows whose predicted class is wrong, from 0 to 1.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        Observed and predicted labels of one kind (codes with codes, names with names).

    Examples
    --------
    >>> error_rate(["yes", "no", "no", "no"], ["yes", "yes", "no", "no"])
    0.25
    """
    observed = np.asarray(y)
    labels = np.asarray(predicted)
    if observed.ndim != 1 or observed.shape != labels.shape or observed.size == 0:
        raise InvalidData(
            "y and predicted must be two columns of the same rows; got shapes "
            f"{observed.shape} and {labels.shape}."
        )
    return float(np.mean(observed != labels))


_LOG_2_PI = math.log(2.0 * math.pi)


def nll_gaussian_values(y: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Per-row form of `nll_gaussian`: (n_samples,) in nats."""
    y, loc, scale = check_gaussian(y, loc, scale, positive=True)
    return 0.5 * ((y - loc) / scale) ** 2 + np.log(scale) + 0.5 * _LOG_2_PI


def nll_gaussian(y: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> float:
    """Mean negative log-likelihood of one normal per row, in nats.

    ``(y - loc)^2 / (2 scale^2) + log scale + log(2 pi) / 2``. For an ensemble, ``loc`` is the mean
    of the members' means and ``scale`` the square root of the total uncertainty: the normal with
    the mixture's first two moments. It depends on the unit of y: ``a y`` adds ``log a``.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Observed values.
    loc, scale : array-like of shape (n_samples,), or a number for all rows
        Mean and standard deviation of each row's normal, in units of y.

    References
    ----------
    Malinin et al. (2021), equation 10.

    Examples
    --------
    >>> round(nll_gaussian([0.0], [0.0], [1.0]), 4)
    0.9189
    """
    return float(nll_gaussian_values(y, loc, scale).mean())


def nll_mixture_values(
    y: ArrayLike, means: ArrayLike, variances: ArrayLike, weights: FloatArray | None = None
) -> FloatArray:
    """Per-row form of `nll_mixture`: (n_samples,) in nats.

    ``weights`` (n_members,) sum to 1; all members are equal without them.
    """
    y, means, variances = check_mixture(y, means, variances, positive=True)
    log_density = -0.5 * ((y - means) ** 2 / variances + np.log(variances) + _LOG_2_PI)
    if weights is not None:
        return -logsumexp(log_density, axis=0, b=weights[:, None])
    return math.log(len(means)) - logsumexp(log_density, axis=0)


def nll_mixture(y: ArrayLike, means: ArrayLike, variances: ArrayLike) -> float:
    """Mean negative log-likelihood of the equal mixture of the members' normals, in nats.

    ``-log(mean_m N(y; mu_m, s_m^2))``: the ensemble's NLL as its authors report it (they add 1e-8
    to the variances, we do not). It never exceeds the mean of the members' own NLL.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Observed values.
    means, variances : array-like of shape (n_members, n_samples)
        Units of y and squared units of y.

    References
    ----------
    Malinin et al. (2021), equation 2.

    Examples
    --------
    >>> round(nll_mixture([0.0], [[0.0], [0.0]], [[1.0], [1.0]]), 4)
    0.9189
    """
    return float(nll_mixture_values(y, means, variances).mean())


def nll_classification_values(
    y: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None = None
) -> FloatArray:
    """Per-row form of `nll_classification`: (n_samples,) in nats."""
    p = check_probabilities("probabilities", probabilities, 2)
    codes = class_codes(y, p.shape[1], classes)
    if len(codes) != len(p):
        raise InvalidData(f"y has {len(codes)} rows and probabilities have {len(p)}.")
    chosen = p[np.arange(len(p)), codes]
    return -np.log(np.clip(chosen, np.finfo(np.float64).eps, 1.0))


def nll_classification(
    y: ArrayLike, probabilities: ArrayLike, classes: ArrayLike | None = None
) -> float:
    """Mean negative log-probability of the observed class (log loss), in nats.

    For an ensemble pass the mean of the members' probabilities: that is its mixture.
    A probability of 0 counts as 2.2e-16, as in scikit-learn, so the worst row costs 36 nats.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Class codes, or labels if ``classes`` is given.
    probabilities : array-like of shape (n_samples, n_classes)
    classes : array-like of shape (n_classes,), optional
        The label of each column.

    Examples
    --------
    >>> round(nll_classification(["b"], [[0.5, 0.5]], classes=["a", "b"]), 4)
    0.6931
    """
    return float(nll_classification_values(y, probabilities, classes).mean())


_NORMAL_DF = 1e8  # a t of more degrees of freedom differs from the normal by less than rounding


def _mean_absolute_normal(mean: FloatArray, std: FloatArray) -> FloatArray:
    """``E|Z|`` for Z normal; ``|mean|`` where the std is 0."""
    z = np.zeros(np.broadcast(mean, std).shape)
    with np.errstate(over="ignore"):  # a std near 0 against a distant mean: certain
        np.divide(mean, std, out=z, where=std > 0.0)
    z = np.clip(z, -40.0, 40.0)  # beyond, exp(-z^2/2) is 0 and erf is 1 in float64
    spread = std * math.sqrt(2.0 / math.pi) * np.exp(-0.5 * z * z)
    return np.where(std > 0.0, spread + mean * erf(z / math.sqrt(2.0)), np.abs(mean))


def crps_gaussian_values(y: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> FloatArray:
    """Per-row form of `crps_gaussian`: (n_samples,) in units of y."""
    y, loc, scale = check_gaussian(y, loc, scale, positive=False)
    return _mean_absolute_normal(y - loc, scale) - scale / math.sqrt(math.pi)


def crps_gaussian(y: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> float:
    """Mean continuous ranked probability score of one normal per row, in units of y.

    ``scale [z (2 Phi(z) - 1) + 2 phi(z) - 1/sqrt(pi)]`` with ``z = (y - loc)/scale``; the absolute
    error where the scale is 0.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Observed values.
    loc, scale : array-like of shape (n_samples,), or a number for all rows
        Mean and standard deviation of each row's normal, in units of y.

    References
    ----------
    Gneiting and Raftery (2007), "Strictly proper scoring rules", equation 21.

    Examples
    --------
    >>> round(crps_gaussian([0.0], [0.0], [1.0]), 4)
    0.2337
    """
    return float(crps_gaussian_values(y, loc, scale).mean())


def student_log_density(z: FloatArray, df: FloatArray) -> FloatArray:
    """Of the standard t; a normal where df is infinite."""
    normal = -0.5 * z**2 - 0.5 * math.log(2.0 * math.pi)
    n = np.where(np.isinf(df), 1.0, df)
    heavy = np.log(poch(0.5 * n, 0.5)) - 0.5 * (np.log(n) + math.log(math.pi))
    return np.where(np.isinf(df), normal, heavy - 0.5 * (n + 1.0) * np.log1p(z * z / n))


def crps_student_values(
    y: ArrayLike, loc: ArrayLike, width: ArrayLike, df: ArrayLike
) -> FloatArray:
    """CRPS of one Student t per row, closed form: (n_samples,) in units of y.

    ``width [z (2 F(z) - 1) + 2 f(z) (df + z^2) / (df - 1) - c]`` with ``z = (y - loc) / width`` and
    ``c = 2 sqrt(df) / (df - 1) B(1/2, df - 1/2) / B(1/2, df/2)^2``.

    Parameters
    ----------
    y, loc : array-like of shape (n_samples,)
    width : array-like of shape (n_samples,)
        The t's own scale: its std times ``sqrt((df - 2) / df)``. 0 gives the absolute error.
    df : array-like of shape (n_samples,), or a number
        Degrees of freedom, above 1; inf is the normal.

    References
    ----------
    Jordan, Krueger and Lerch (2019), "Evaluating probabilistic forecasts with scoringRules",
    appendix A.2.

    Examples
    --------
    >>> crps_student_values([0.0], [0.0], [1.0], 5.0).round(4), crps_gaussian([0.0], 0.0, 1.0)
    (array([0.257]), 0.2336...)
    """
    y, loc, width = check_gaussian(y, loc, width, positive=False)
    out = crps_gaussian_values(y, loc, width)
    degrees = np.broadcast_to(np.asarray(df, dtype=np.float64), y.shape)
    heavy = (degrees < _NORMAL_DF) & (width > 0.0)
    nu, s = degrees[heavy], width[heavy]
    z = (y[heavy] - loc[heavy]) / s
    with np.errstate(over="ignore"):  # z^2 of a distant y, where the density is 0
        near = 2.0 * np.exp(student_log_density(z, nu) + np.log1p(z * z / nu)) * nu / (nu - 1.0)
    spread = np.exp(betaln(0.5, nu - 0.5) - 2.0 * betaln(0.5, 0.5 * nu))
    centre = 2.0 * np.sqrt(nu) / (nu - 1.0) * spread
    out[heavy] = s * (z * (2.0 * stdtr(nu, z) - 1.0) + near - centre)
    return out


def crps_mixture(y: ArrayLike, means: ArrayLike, variances: ArrayLike) -> float:
    """Mean CRPS of the equal mixture of the members' normals, closed form, in units of y.

    ``mean_m A(y - mu_m, s_m^2) - mean_mk A(mu_m - mu_k, s_m^2 + s_k^2) / 2`` with ``A`` the mean
    absolute value of a normal. The sum runs over pairs of members, so time grows with the square of
    their number.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    means, variances : array-like of shape (n_members, n_samples)
        Units of y and squared units of y.

    References
    ----------
    Grimit, Gneiting, Berrocal and Johnson (2006), equation 5.

    Examples
    --------
    >>> round(crps_mixture([0.0], [[0.0], [0.0]], [[1.0], [1.0]]), 4)
    0.2337
    """
    return float(crps_mixture_values(y, means, variances).mean())


def crps_mixture_values(
    y: ArrayLike, means: ArrayLike, variances: ArrayLike, weights: FloatArray | None = None
) -> FloatArray:
    """Per-row form of `crps_mixture`, (n_samples,); ``weights`` may differ by row."""
    y, means, variances = check_mixture(y, means, variances, positive=False)
    n_members = len(means)
    from_y = _mean_absolute_normal(y - means, np.sqrt(variances))
    own = weights[:, None] if weights is not None and weights.ndim == 1 else weights
    if weights is None:
        near = from_y.mean(axis=0)
    else:
        near = weights @ from_y if weights.ndim == 1 else (weights * from_y).sum(axis=0)
    apart = np.zeros_like(y)
    for m in range(n_members):
        pair_std = np.sqrt(variances[m:] + variances[m])
        distance = _mean_absolute_normal(means[m:] - means[m], pair_std)
        if own is not None:
            distance *= own[m] * own[m:]
        apart += 2.0 * distance.sum(axis=0) - distance[0]  # (m, m) once, (m, k) and (k, m) at once
    if weights is None:
        apart = apart / n_members**2
    return np.maximum(near - 0.5 * apart, 0.0)


def crps_ensemble(y: ArrayLike, draws: ArrayLike) -> float:
    """Mean CRPS of the empirical distribution of draws, in units of y, by sorting.

    ``mean_i |x_i - y| - mean_ij |x_i - x_j| / 2`` (the plain, not the "fair", estimator).

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    draws : array-like of shape (n_draws, n_samples)
        Draws from each row's predicted distribution, in units of y.

    References
    ----------
    Gneiting and Raftery (2007), equation 21, in the order-statistics form.

    Examples
    --------
    >>> crps_ensemble([0.0], [[-1.0], [1.0]])
    0.5
    """
    return float(crps_ensemble_values(y, draws).mean())


def crps_ensemble_values(y: ArrayLike, draws: ArrayLike) -> FloatArray:
    """Per-row form of `crps_ensemble`: (n_samples,) in units of y."""
    target = check_array("y", y, 1)
    x = np.sort(check_array("draws", draws, 2), axis=0)
    check_same_length(y=target, draws=x)
    n = len(x)
    # sum_ij |x_i - x_j| / 2 = sum_i (2 i - n + 1) x_(i), each gap counted by who is on either side.
    weights = (2.0 * np.arange(n) - n + 1.0) / n**2
    spread = weights @ (x - x[0])
    return np.maximum(np.abs(x - target).mean(axis=0) - spread, 0.0)


def pinball_score(y: ArrayLike, quantile: ArrayLike, level: float) -> float:
    """Mean pinball (check) loss of one predicted quantile, in units of y.

    ``max(level (y - q), (level - 1) (y - q))``.

    Examples
    --------
    >>> pinball_score([1.0], [3.0], 0.9).__round__(4)
    0.2
    """
    alpha = check_number("level", level, 0.0, 1.0)
    target = check_array("y", y, 1)
    q = check_array("quantile", quantile, 1)
    check_same_length(y=target, quantile=q)
    over = target - q
    return float(np.maximum(alpha * over, (alpha - 1.0) * over).mean())


def check_score(y: ArrayLike, loc: ArrayLike, scale: ArrayLike, n_levels: int = 99) -> float:
    """Pinball score of one normal per row, averaged over levels 0.01 to 0.99, in units of y.

    About half the CRPS, which is twice the integral over all levels.

    References
    ----------
    Brophy and Lowd (2022), table 9.

    Examples
    --------
    >>> round(check_score([0.0], [0.0], [1.0]), 4)
    0.118
    """
    y, loc, scale = check_gaussian(y, loc, scale, positive=False)
    levels = _levels(n_levels)
    scores = [pinball_score(y, loc + scale * ndtri(level), level) for level in levels]
    return float(np.mean(scores))


def interval_score(y: ArrayLike, lower: ArrayLike, upper: ArrayLike, level: float) -> float:
    """Mean interval score of predicted intervals of nominal coverage ``level``, in units of y.

    The width, plus ``2 / (1 - level)`` times the distance of y outside it.

    References
    ----------
    Gneiting and Raftery (2007), equation 43.

    Examples
    --------
    >>> interval_score([3.0], [0.0], [2.0], 0.5)
    6.0
    """
    alpha = 1.0 - check_number("level", level, 0.0, 1.0 - 1e-12)
    target = check_array("y", y, 1)
    low = check_array("lower", lower, 1)
    high = check_array("upper", upper, 1)
    check_same_length(y=target, lower=low, upper=high)
    outside = np.maximum(low - target, 0.0) + np.maximum(target - high, 0.0)
    return float((high - low + 2.0 / alpha * outside).mean())


def mean_interval_score(
    y: ArrayLike, loc: ArrayLike, scale: ArrayLike, n_levels: int = 99
) -> float:
    """Interval score of one normal per row's central intervals, mean over levels 0.01 to 0.99.

    References
    ----------
    Brophy and Lowd (2022), table 10.

    Examples
    --------
    >>> round(mean_interval_score([0.0], [0.0], [1.0]), 4)
    1.58
    """
    y, loc, scale = check_gaussian(y, loc, scale, positive=False)
    scores = []
    for level in _levels(n_levels):
        half = scale * ndtri(0.5 + 0.5 * level)
        scores.append(interval_score(y, loc - half, loc + half, level))
    return float(np.mean(scores))


def _levels(n_levels: int) -> list[float]:
    count = check_number("n_levels", n_levels, 1, 9999, integer=True)
    return np.linspace(0.01, 0.99, count).tolist() if count > 1 else [0.5]


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


def wilson_band(
    n_successes: ArrayLike, n_trials: ArrayLike, confidence: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval of a share, elementwise.

    Shorter than `binomial_band`, with its nominal coverage on average over shares rather than at
    least; never empty, also for shares of 0 and 1.

    Parameters
    ----------
    n_successes, n_trials : array-like
        ``0 <= n_successes <= n_trials``, ``n_trials >= 1``.
    confidence : float
        Two-sided.

    Returns
    -------
    low, high : ndarray

    References
    ----------
    Wilson (1927); Brown, Cai and DasGupta (2001), equation 4.

    Examples
    --------
    >>> low, high = wilson_band(9, 10)
    >>> float(low.round(3)), float(high.round(3))
    (0.596, 0.982)
    """
    z = ndtri(0.5 + 0.5 * check_number("confidence", confidence, 0.0, 1.0))
    k, n = np.broadcast_arrays(np.asarray(n_successes, float), np.asarray(n_trials, float))
    if k.size and (k.min() < 0 or n.min() < 1 or (k > n).any()):
        raise InvalidData("n_successes must lie between 0 and n_trials, and n_trials be 1 or more.")
    share, more = k / n, z * z / n
    centre = share + 0.5 * more
    reach = np.sqrt(more * (share * (1.0 - share) + 0.25 * more))
    # Exactly 0 and 1 at the ends, where the two terms cancel but for rounding.
    low = np.where(k == 0, 0.0, (centre - reach) / (1.0 + more))
    high = np.where(k == n, 1.0, (centre + reach) / (1.0 + more))
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
    counts, edges = np.histogram(values, bins=count, range=(0.0, 1.0))
    low, high = binomial_band(counts, len(values), confidence)
    return PitHistogram(edges, counts / len(values), low, high)


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
    covered = coverage(y, loc, scale, np.linspace(0.0, 1.0, count))
    return float(np.abs(covered.observed - covered.levels).mean())


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
    bins = reliability(y, probabilities, classes, n_bins)
    filled = bins.n_rows > 0
    gaps = np.abs(bins.accuracy - bins.confidence)[filled]
    return float(np.average(gaps, weights=bins.n_rows[filled]))


class RejectionCurve(NamedTuple):
    """The error that remains as more and more of the most uncertain rows are rejected.

    Attributes
    ----------
    rejected : ndarray of shape (n_points,)
        Share of the rows rejected, from 0 to 1.
    remaining : ndarray of shape (n_points,)
        Sum of the retained rows' errors, divided by the number of *all* rows, in units of the
        errors. A rejected row goes to an expert, and its error counts as 0.
    oracle : ndarray of shape (n_points,)
        The same if the largest errors are rejected first. No ranking does better.
    random : ndarray of shape (n_points,)
        The same for a random order, on average: a straight line.
    retained : ndarray of shape (n_points,)
        Mean error of the retained rows, NaN if none is left.
    """

    rejected: FloatArray
    remaining: FloatArray
    oracle: FloatArray
    random: FloatArray
    retained: FloatArray


def rejection_curve(
    errors: ArrayLike, uncertainty: ArrayLike, n_points: int | None = None
) -> RejectionCurve:
    """Reject rows from the most to the least uncertain and follow the error that remains.

    Rows of equal uncertainty share their mean error, as if rejected in random order. So the order
    of the rows never matters.

    Parameters
    ----------
    errors : array-like of shape (n_samples,)
        Non-negative error of each row: squared errors, or 0 and 1 for right and wrong classes.
    uncertainty : array-like of shape (n_samples,)
        Only its order matters.
    n_points : int, optional
        Thin the curve to at most this many points for drawing; None keeps all n_samples + 1.

    Returns
    -------
    RejectionCurve

    References
    ----------
    Malinin (2019), PhD thesis, and Malinin et al. (2021), section 5.

    Examples
    --------
    >>> rejection_curve([0.0, 3.0, 1.0], [0.1, 0.9, 0.5]).remaining.round(4)
    array([1.3333, 0.3333, 0.    , 0.    ])
    """
    by_uncertainty, by_error = _sorted_errors(errors, uncertainty)
    n = len(by_error)
    kept_rows = np.arange(n, -1, -1)
    if n_points is not None:
        count = check_number("n_points", n_points, 2, integer=True)
        kept_rows = kept_rows[np.unique(np.linspace(0, n, min(count, n + 1)).round().astype(int))]
    rejected = 1.0 - kept_rows / n
    sums = _partial_sums(by_uncertainty)[kept_rows]
    oracle = _partial_sums(by_error)[kept_rows]
    return RejectionCurve(
        rejected=rejected,
        remaining=sums / n,
        oracle=oracle / n,
        random=oracle[0] / n * (1.0 - rejected),
        retained=np.divide(sums, kept_rows, out=np.full(len(sums), np.nan), where=kept_rows > 0),
    )


def prr(errors: ArrayLike, uncertainty: ArrayLike) -> float:
    """Prediction-rejection ratio in percent: 100 ranks like the errors themselves, 0 like chance.

    The area between the random and the model's rejection curve, divided by the area between the
    random and the oracle's curve. Trapezoids from 0 to ``(n - 1)/n`` rejected, in O(n log n).
    Higher is better; below 0 is worse than chance.

    Parameters
    ----------
    errors : array-like of shape (n_samples,)
        Squared errors (regression), or 0 and 1 for right and wrong classes.
    uncertainty : array-like of shape (n_samples,)
        Only its order matters; ties count with their mean error (see `rejection_curve`).

    Returns
    -------
    float
        NaN if all errors are equal, because every ranking is then equally good.

    Notes
    -----
    Equals the authors' code for regression where no uncertainties tie. Their code for classes
    counts one row less on every curve; the two agree to O(1/n).

    References
    ----------
    Malinin (2019), PhD thesis, and Malinin et al. (2021), section 5 and table 1.

    Examples
    --------
    >>> prr([0.0, 3.0, 1.0], [0.1, 0.9, 0.5])
    100.0
    """
    by_uncertainty, by_error = _sorted_errors(errors, uncertainty)
    if by_error[0] == by_error[-1]:
        return math.nan
    best = _area_below_random(by_error)
    return 100.0 * (_area_below_random(by_uncertainty) / best)


def f1_auc(wrong: ArrayLike, uncertainty: ArrayLike) -> float:
    """Area under the F1 of trusting a prediction against the share of rows that are trusted.

    Of the k least uncertain rows, precision is the share with the right class, and recall their
    share of all rows with the right class. F1 is their harmonic mean, and the area is taken by
    trapezoids over the shares 1/n, 2/n, ..., 1. It rises with fewer errors and with uncertainty
    that ranks them better. Higher is better.

    Parameters
    ----------
    wrong : array-like of shape (n_samples,)
        1 for a wrong class, 0 for the right one.
    uncertainty : array-like of shape (n_samples,)
        Only its order matters; ties count with their mean error (see `rejection_curve`).

    Returns
    -------
    float
        From 0, where no class is right, to below 1.

    References
    ----------
    Malinin et al., "Shifts: a dataset of real distributional shift across multiple large-scale
    tasks" (2021), section 2; Tan, Huertas and Zhao (cyclical SGLB), table 1.

    Examples
    --------
    >>> round(f1_auc([0.0, 0.0, 1.0], [0.1, 0.2, 0.9]), 4)
    0.5778
    """
    check_array("wrong", wrong, 1, low=0.0, high=1.0)
    ranked, _ = _sorted_errors(wrong, uncertainty)
    n = len(ranked)
    right = np.cumsum(1.0 - ranked)
    if right[-1] == 0.0:
        return 0.0
    f1 = 2.0 * right / (np.arange(1, n + 1) + right[-1])
    return float((f1[1:] + f1[:-1]).sum() / (2 * n))


def auroc(is_positive: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve: the chance that a positive row scores above a negative one.

    Ties count one half. 1 separates perfectly, 0.5 is chance; higher is better.

    Parameters
    ----------
    is_positive : array-like of shape (n_samples,), bool or 0 and 1
        For detection: which rows are outside the training data.
    scores : array-like of shape (n_samples,)
        For detection: their knowledge uncertainty. Only its order matters.

    Returns
    -------
    float
        NaN if there is no positive or no negative row.

    References
    ----------
    Malinin et al. (2021), section 5; Mann and Whitney (1947).

    Examples
    --------
    >>> auroc([True, False, False], [2.0, 1.0, 2.0])
    0.75
    """
    positive, values = _detection(is_positive, scores)
    members = values[positive == 1.0]
    others = np.sort(values[positive == 0.0])
    if not len(members) or not len(others):
        return math.nan
    below = np.searchsorted(others, members, side="left")
    not_above = np.searchsorted(others, members, side="right")
    # Whole numbers summed as integers: exact, whatever the order of the rows.
    twice_won = int(below.sum()) + int(not_above.sum())
    return twice_won / (2 * len(members) * len(others))


def average_precision(is_positive: ArrayLike, scores: ArrayLike) -> float:
    """Area under the precision-recall curve as a sum of steps; the share of positives is chance.

    ``sum_k (recall_k - recall_{k-1}) precision_k`` over the distinct scores from the highest down.
    Higher is better. Unlike `auroc` it looks at the top of the list only, so it tells for rare
    positives.

    Parameters
    ----------
    is_positive : array-like of shape (n_samples,), bool or 0 and 1
    scores : array-like of shape (n_samples,)
        Only their order matters.

    Returns
    -------
    float
        NaN if there is no positive row.

    Examples
    --------
    >>> round(average_precision([True, False, True], [0.9, 0.5, 0.1]), 4)
    0.8333
    """
    positive, values = _detection(is_positive, scores)
    order = np.argsort(-values, kind="stable")
    ends = np.flatnonzero(np.r_[np.diff(values[order]) != 0.0, True])
    positives = np.cumsum(positive[order])[ends]
    if not positives[-1]:
        return math.nan
    new = np.diff(positives, prepend=0.0)
    return float((new * positives / (ends + 1.0)).sum() / positives[-1])


class RecallThreshold(NamedTuple):
    """From which score on rows are called positive, so that enough positive rows are found.

    Attributes
    ----------
    threshold : float
        NaN if there are too few positive rows to be sure; then all else is NaN too.
    recall : float
        The share of the positive rows that are found, on the rows that chose the threshold.
    called : float
        The share of all rows at or above the threshold.
    precision : float
        The share of these that are positive.
    """

    threshold: float
    recall: float
    called: float
    precision: float


def recall_threshold(
    is_positive: ArrayLike, scores: ArrayLike, recall: float = 0.95, confidence: float = 0.95
) -> RecallThreshold:
    """The largest threshold on a score that is sure to find enough of the positive rows.

    It is the k-th smallest score of the n positive rows, with the largest k for which fewer than k
    of n misses have probability at most ``1 - confidence`` if each is missed with probability
    ``1 - recall``: new positive rows are found as promised for this share of all sets of rows that
    choose. The rows must be like the new ones, and must not have taught the model.

    Parameters
    ----------
    is_positive : array-like of shape (n_samples,), bool or 0 and 1
        Such as the rows of a class, or those with a large error.
    scores : array-like of shape (n_samples,)
        Such as the probability of the class, or the uncertainty.
    recall, confidence : float
        At 0.95 and 0.95, 59 positive rows are needed.

    References
    ----------
    Wilks (1941), "Determination of sample sizes for setting tolerance limits".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.random(2000)
    >>> choice = recall_threshold(rng.random(2000) < probability, probability)
    >>> [round(share, 2) for share in choice]
    [0.18, 0.96, 0.82, 0.59]
    """
    missed = 1.0 - float(check_number("recall", recall, 0.01, 0.999))
    unsure = 1.0 - float(check_number("confidence", confidence, 0.01, 0.999))
    positive, values = _detection(is_positive, scores)
    found = np.sort(values[positive == 1.0])
    fewer = np.arange(int(missed * len(found)) + 1)
    k = int((bdtr(fewer, len(found), missed) <= unsure).sum())
    if not k:
        return RecallThreshold(math.nan, math.nan, math.nan, math.nan)
    called = values >= found[k - 1]
    return RecallThreshold(
        float(found[k - 1]),
        float(called[positive == 1.0].mean()),
        float(called.mean()),
        float(positive[called].mean()),
    )


def _detection(is_positive: ArrayLike, scores: ArrayLike) -> tuple[FloatArray, FloatArray]:
    positive = check_array("is_positive", is_positive, 1)
    values = check_array("scores", scores, 1)
    check_same_length(is_positive=positive, scores=values)
    if not np.isin(positive, (0.0, 1.0)).all():
        raise InvalidData("is_positive must hold only true and false, or 1 and 0.")
    return positive, values


def _sorted_errors(errors: ArrayLike, uncertainty: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Errors from the least to the most uncertain row (ties averaged), and sorted by themselves."""
    error = check_array("errors", errors, 1, low=0.0)
    score = check_array("uncertainty", uncertainty, 1)
    check_same_length(errors=error, uncertainty=score)
    # Errors break ties, so that even the rounding of the sums is free of the order of the rows.
    order = np.lexsort((error, score))
    ranked, score = error[order], score[order]
    starts: NDArray[np.intp] = np.flatnonzero(np.r_[True, score[1:] != score[:-1]])
    if len(starts) < len(ranked):
        sizes = np.diff(np.r_[starts, len(ranked)])
        ranked = np.repeat(np.add.reduceat(ranked, starts) / sizes, sizes)
    return ranked, np.sort(error)


def _partial_sums(ranked: FloatArray) -> FloatArray:
    """Sum of the first k errors for k = 0 .. n: what remains if only those rows are retained."""
    return np.concatenate(([0.0], np.cumsum(ranked)))


def _area_below_random(ranked: FloatArray) -> float:
    """Area between the straight line of random rejection and the curve of ``ranked``, unscaled."""
    n = len(ranked)
    sums = _partial_sums(ranked)
    gap = sums[-1] * np.arange(n + 1) / n - sums  # over the number of rows retained
    # The trapezoid rule from nothing rejected (gap 0) to one row retained, which counts half.
    return float(gap[2:].sum() + 0.5 * gap[1])
