"""Proper scores, lowest on average for the true distribution, and errors of point predictions.

Names ending in ``_values`` return one score per row. The others return their mean.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.special import betaln, erf, logsumexp, ndtri

from gbuq_core.errors import InvalidData
from gbuq_core.uncertainty import check_probabilities
from gbuq_core.validation import (
    FloatArray,
    check_array,
    check_gaussian,
    check_mixture,
    check_number,
    check_same_length,
    class_codes,
)


def rmse(y: ArrayLike, loc: ArrayLike) -> float:
    """Root mean squared error, ``sqrt(mean((y - loc)^2))``, in units of y.

    Parameters
    ----------
    y, loc : array-like of shape (n_samples,)
        Observed and predicted values.

    Raises
    ------
    InvalidData
        If the arrays are empty, not finite or of different lengths.

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

    Raises
    ------
    InvalidData
        If the arrays are empty or of different lengths.

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

    Raises
    ------
    InvalidData
        If a scale is not positive, or the arrays are not finite or of different lengths.

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

    Raises
    ------
    InvalidData
        If a variance is not positive, or the arrays are not finite or do not match.

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

    Raises
    ------
    InvalidData
        If rows are not probabilities, or a label is unknown.

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

    Raises
    ------
    InvalidData
        If a scale is negative, or the arrays are not finite or of different lengths.

    References
    ----------
    Gneiting and Raftery (2007), "Strictly proper scoring rules", equation 21.

    Examples
    --------
    >>> round(crps_gaussian([0.0], [0.0], [1.0]), 4)
    0.2337
    """
    return float(crps_gaussian_values(y, loc, scale).mean())


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

    Raises
    ------
    InvalidData
        If a width is negative, or the arrays are not finite or of different lengths.

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
    given = np.broadcast_to(np.asarray(df, dtype=np.float64), y.shape)
    heavy = (given < _NORMAL_DF) & (width > 0.0)
    nu, s = given[heavy], width[heavy]
    z = (y[heavy] - loc[heavy]) / s
    with np.errstate(over="ignore"):  # z^2 of a distant y, where the density is 0
        near = 2.0 * np.exp(stats.t.logpdf(z, nu) + np.log1p(z * z / nu)) * nu / (nu - 1.0)
    spread = np.exp(betaln(0.5, nu - 0.5) - 2.0 * betaln(0.5, 0.5 * nu))
    centre = 2.0 * np.sqrt(nu) / (nu - 1.0) * spread
    out[heavy] = s * (z * (2.0 * stats.t.cdf(z, nu) - 1.0) + near - centre)
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

    Raises
    ------
    InvalidData
        If a variance is negative, or the arrays are not finite or do not match.

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
    """Per-row form of `crps_mixture`: (n_samples,) in units of y.

    ``weights`` (n_members,) sum to 1; all members are equal without them.
    """
    y, means, variances = check_mixture(y, means, variances, positive=False)
    n_members = len(means)
    from_y = _mean_absolute_normal(y - means, np.sqrt(variances))
    near = from_y.mean(axis=0) if weights is None else weights @ from_y
    apart = np.zeros_like(y)
    for m in range(n_members):
        pair_std = np.sqrt(variances[m:] + variances[m])
        distance = _mean_absolute_normal(means[m:] - means[m], pair_std)
        if weights is not None:
            distance *= (weights[m] * weights[m:])[:, None]
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

    Raises
    ------
    InvalidData
        If the arrays are empty, not finite or of different lengths.

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
