"""Fitting a family to the neighbours of many rows at once: closed forms, or a few bulk steps.

Brophy and Lowd (IBUG, 2022), section 3.2, equation 3: a distribution is fitted to the k targets in
one of two ways. The first keeps the model's location and the calibrated scale, and only the shape
comes from the neighbours. The second is maximum likelihood alone. scipy.stats fits one row at a
time, in about a millisecond. Here a few array operations fit all rows of a table together.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma, gammaln, log_ndtr, ndtr

FloatArray = NDArray[np.float64]

EULER_GAMMA = float(np.euler_gamma)
_STEPS = 60  # of a Newton iteration; all but odd rows are done after ten
_FAR = -30.0  # where the normal cdf is 1e-198, still a float64
_DONE = 1e-12  # relative step at which a Newton iteration has converged
# The skewness of a skew-normal lies within +-0.9953; the grid ends before its shape runs away.
_SKEWNESS = np.linspace(-0.95, 0.95, 25)
# A Student t has a variance above two degrees of freedom; 1/df = 0 would be the normal.
_INVERSE_DF = np.linspace(0.002, 0.49, 25)


class Parameters(NamedTuple):
    """scipy.stats parameters of one distribution a row, each (n,); no shape for two parameters."""

    loc: FloatArray
    scale: FloatArray
    shape: FloatArray | None = None


def mean_over(values: FloatArray, places: FloatArray | None) -> FloatArray:
    """The mean of each row (n, k), where a value counts as the ``places`` (n, k) that it takes."""
    if places is None:
        return values.mean(axis=1)
    return (places * values).sum(axis=1) / places.sum(axis=1)


def spread_of(
    targets: FloatArray, places: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Mean and std (divided by k) of the neighbours' targets (n, k); exactly 0 if all are equal."""
    first = targets[:, :1]
    centred = targets - first
    mean = mean_over(centred, places)
    return first[:, 0] + mean, np.sqrt(mean_over(np.square(centred - mean[:, None]), places))


def standardise(targets: FloatArray, places: FloatArray | None = None) -> FloatArray:
    """``(targets - mean) / std`` by row, (n, k); zeros in rows whose targets are all equal."""
    mean, std = spread_of(targets, places)
    return (targets - mean[:, None]) / np.where(std > 0.0, std, 1.0)[:, None]


def skew_normal(mean: FloatArray, std: FloatArray, skewness: FloatArray) -> Parameters:
    """The skew-normal with these moments, (n,) each.

    ``delta^2 = pi/2 |g|^(2/3) / (|g|^(2/3) + ((4 - pi)/2)^(2/3))`` for skewness g; the shape is
    ``delta / sqrt(1 - delta^2)``, the scale ``std / sqrt(1 - 2 delta^2 / pi)``.
    """
    power = np.abs(skewness) ** (2.0 / 3.0)
    square = 0.5 * math.pi * power / (power + (0.5 * (4.0 - math.pi)) ** (2.0 / 3.0))
    delta = np.sign(skewness) * np.sqrt(square)
    scale = std / np.sqrt(1.0 - 2.0 * square / math.pi)
    return Parameters(
        mean - scale * delta * math.sqrt(2.0 / math.pi), scale, delta / np.sqrt(1.0 - square)
    )


def best_skewness(z: FloatArray, places: FloatArray | None = None) -> FloatArray:
    """Most likely skewness of a skew-normal of mean 0 and std 1, (n,), for standardised z (n, k).

    The likelihood is smooth in the skewness, also at 0 where it is not in the usual shape
    (Azzalini's centred parameters), so a grid and a parabola through its top find the maximum.
    """
    return _climb(lambda skewness: _skew_normal_likelihood(z, skewness, places), _SKEWNESS, len(z))


def _skew_normal_likelihood(
    z: FloatArray, skewness: FloatArray, places: FloatArray | None = None
) -> FloatArray:
    """Mean log density, less a constant, of each row of z (n, k) at its skewness (n,)."""
    loc, scale, shape = skew_normal(np.zeros(len(z)), np.ones(len(z)), skewness)
    assert shape is not None
    u = (z - loc[:, None]) / scale[:, None]
    tail = shape[:, None] * u
    # log_ndtr itself takes four times as long and is needed where ndtr is 0 only.
    log_share = np.log(ndtr(np.maximum(tail, _FAR)))
    far = tail < _FAR
    if far.any():
        log_share[far] = log_ndtr(tail[far])
    log_share -= 0.5 * np.square(u)
    return mean_over(log_share, places) - np.log(scale)


def best_inverse_df(z: FloatArray, places: FloatArray | None = None) -> FloatArray:
    """Most likely 1/df of a Student t of mean 0 and std 1, (n,), for standardised z (n, k)."""
    return _climb(lambda inverse: _student_t_likelihood(z, inverse, places), _INVERSE_DF, len(z))


def _student_t_likelihood(
    z: FloatArray, inverse_df: FloatArray, places: FloatArray | None = None
) -> FloatArray:
    """Mean log density, less a constant, of each row of z (n, k) at its 1/df (n,)."""
    df = 1.0 / inverse_df
    constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * np.log(df - 2.0)
    tails = mean_over(np.log1p(z * z / (df - 2.0)[:, None]), places)
    return constant - 0.5 * (df + 1.0) * tails


def _climb(
    likelihood: Callable[[FloatArray], FloatArray], grid: FloatArray, n_rows: int
) -> FloatArray:
    """Where over an even ``grid`` of 25 the likelihood of each row is highest, (n_rows,).

    ``likelihood`` takes one value a row. Every fourth value first, then both neighbours of the
    best at half the step and at a quarter: 11 passes in place of 25. A parabola through the top
    ends it.
    """
    values = np.full((len(grid), n_rows), -np.inf)
    rows = np.arange(n_rows)
    for place in range(0, len(grid), 4):
        values[place] = likelihood(np.full(n_rows, grid[place]))
    best = values.argmax(axis=0)
    for step in (2, 1):
        for side in (-step, step):
            place = np.clip(best + side, 0, len(grid) - 1)
            values[place, rows] = likelihood(grid[place])
        best = values.argmax(axis=0)
    inner = np.clip(best, 1, len(grid) - 2)
    left, top, right = (values[inner + shift, rows] for shift in (-1, 0, 1))
    bend = left - 2.0 * top + right
    shift = np.where(bend < 0.0, 0.5 * (left - right) / np.where(bend < 0.0, bend, 1.0), 0.0)
    refined = grid[inner] + np.clip(shift, -1.0, 1.0) * (grid[1] - grid[0])
    return np.where(best == inner, refined, grid[best])


def log_normal(mean: FloatArray, std: FloatArray) -> Parameters:
    """The log-normal on (0, inf) with these moments, (n,) each; the means are positive."""
    variance = np.log1p(np.square(std / mean))
    return Parameters(np.zeros_like(mean), mean * np.exp(-0.5 * variance), np.sqrt(variance))


def weibull(mean: FloatArray, std: FloatArray) -> Parameters:
    """The Weibull on (0, inf) with these moments, (n,) each; the means are positive.

    Newton steps on ``log Gamma(1 + 2u) - 2 log Gamma(1 + u) = log(1 + (std/mean)^2)``, shape 1/u.
    """
    ratio = np.clip(std / mean, 1e-6, 1e6)  # beyond, the shape leaves what the gamma function takes
    wanted = np.log1p(ratio * ratio)
    log_u = 1.086 * np.log(ratio)  # Justus et al. (1978), good to a few per cent near 0.3
    log_u = np.minimum(log_u, np.log1p(0.75 * wanted))
    for _ in range(_STEPS):
        u = np.exp(log_u)
        gap = gammaln(1.0 + 2.0 * u) - 2.0 * gammaln(1.0 + u) - wanted
        slope = 2.0 * u * (digamma(1.0 + 2.0 * u) - digamma(1.0 + u))
        step = np.clip(gap / slope, -1.0, 1.0)
        log_u -= step
        if np.abs(step).max(initial=0.0) < _DONE:
            break
    u = np.exp(log_u)
    return Parameters(np.zeros_like(mean), mean * np.exp(-gammaln(1.0 + u)), 1.0 / u)


def half_are_equal(targets: FloatArray, places: FloatArray | None = None) -> NDArray[np.bool_]:
    """Rows in which half of the targets (n, k), two at least, are equal: no Student t is best."""
    weights = np.ones(targets.shape) if places is None else places
    count = np.zeros(len(targets))
    for middle in _middle(targets, places):
        of_middle = np.where(targets == middle[:, None], weights, 0.0).sum(axis=1)
        count = np.maximum(count, of_middle)
    return (count >= 0.5 * weights.sum(axis=1)) & (count >= 2.0)


def likeliest_laplace(targets: FloatArray, places: FloatArray | None = None) -> Parameters:
    """Maximum likelihood: the median and the mean distance from it."""
    low, high = _middle(targets, places)
    centre = 0.5 * (low + high)
    return Parameters(centre, mean_over(np.abs(targets - centre[:, None]), places))


def _middle(targets: FloatArray, places: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """The middle of each row's k places twice, or the two targets around it, (n,) each."""
    if places is None:
        k = targets.shape[1]
        ranked = np.partition(targets, ((k - 1) // 2, k // 2), axis=1)
        return ranked[:, (k - 1) // 2], ranked[:, k // 2]
    order = np.argsort(targets, axis=1)
    ranked = np.take_along_axis(targets, order, axis=1)
    below = np.cumsum(np.take_along_axis(places, order, axis=1), axis=1)
    half = 0.5 * below[:, -1:]
    low = np.take_along_axis(ranked, (below < half).sum(axis=1)[:, None], axis=1)
    high = np.take_along_axis(ranked, (below <= half).sum(axis=1)[:, None], axis=1)
    return low[:, 0], high[:, 0]


def likeliest_logistic(targets: FloatArray, places: FloatArray | None = None) -> Parameters:
    """Maximum likelihood by Newton steps in ``(loc, 1) / scale``, where it is concave."""
    mean, std = spread_of(targets, places)
    z = (targets - mean[:, None]) / std[:, None]
    a, b = np.zeros(len(z)), np.full(len(z), math.pi / math.sqrt(3.0))
    for _ in range(_STEPS):
        half = np.tanh(0.5 * (b[:, None] * z - a[:, None]))
        curve = 0.5 * (1.0 - half * half)
        grad_a, grad_b = mean_over(half, places), 1.0 / b - mean_over(half * z, places)
        aa, ab = mean_over(curve, places), mean_over(curve * z, places)
        bb = mean_over(curve * z * z, places) + 1.0 / (b * b)
        determinant = aa * bb - ab * ab
        step_a = (bb * grad_a + ab * grad_b) / determinant
        step_b = (ab * grad_a + aa * grad_b) / determinant
        damp = np.minimum(1.0, 0.5 * b / np.maximum(np.abs(step_b), 1e-300))
        a, b = a + damp * step_a, b + damp * step_b
        if max(np.abs(step_a).max(initial=0.0), np.abs(step_b / b).max(initial=0.0)) < _DONE:
            break
    return Parameters(mean + std * a / b, std / b)


def likeliest_gumbel(targets: FloatArray, places: FloatArray | None = None) -> Parameters:
    """Maximum likelihood of the right-skewed Gumbel: Newton steps on its one equation for scale.

    ``mean y - beta = sum_i w_i y_i`` with weights proportional to ``exp(-y_i / beta)``.
    """
    mean, std = spread_of(targets, places)
    z = (targets - mean[:, None]) / std[:, None]
    low = z.min(axis=1, keepdims=True)
    beta = np.full(len(z), math.sqrt(6.0) / math.pi)
    for _ in range(_STEPS):
        weights = np.exp((low - z) / beta[:, None])
        if places is not None:
            weights *= places
        weights /= weights.sum(axis=1, keepdims=True)
        centre = (weights * z).sum(axis=1)
        spread = (weights * np.square(z - centre[:, None])).sum(axis=1)
        step = -(centre + beta) / (1.0 + spread / (beta * beta))
        fresh = np.clip(beta + step, 0.3 * beta, 3.0 * beta)
        moved, beta = np.abs(fresh / beta - 1.0).max(initial=0.0), fresh
        if moved < _DONE:
            break
    of_mean = np.log(mean_over(np.exp((low - z) / beta[:, None]), places))
    log_mean = of_mean - low[:, 0] / beta
    return Parameters(mean - std * beta * log_mean, std * beta)


def likeliest_log_normal(targets: FloatArray, places: FloatArray | None = None) -> Parameters:
    """Maximum likelihood on (0, inf): mean and std of the logarithms."""
    mean, std = spread_of(np.log(targets), places)
    return Parameters(np.zeros_like(mean), np.exp(mean), std)


def likeliest_weibull(targets: FloatArray, places: FloatArray | None = None) -> Parameters:
    """Maximum likelihood on (0, inf): ``-log y`` follows a Gumbel of scale ``1 / shape``."""
    gumbel = likeliest_gumbel(-np.log(targets), places)
    return Parameters(np.zeros_like(gumbel.loc), np.exp(-gumbel.loc), 1.0 / gumbel.scale)


def likeliest_student_t(targets: FloatArray, places: FloatArray | None = None) -> Parameters:
    """Maximum likelihood by EM for loc and scale, the best of several df from 1 to 500."""
    mean, std = spread_of(targets, places)
    z = (targets - mean[:, None]) / std[:, None]
    best = np.full(len(z), -np.inf)
    parts = np.zeros((3, len(z)))
    loc, square = np.zeros(len(z)), np.ones(len(z))
    for df in (500.0, 100.0, 50.0, 30.0, 20.0, 14.0, 10.0, 8.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.5, 1.0):
        for _ in range(12):  # from the df before, already close
            away = np.square(z - loc[:, None])
            weights = (df + 1.0) / (df + away / square[:, None])
            if places is not None:
                weights *= places
            total = weights.sum(axis=1)
            loc = (weights * z).sum(axis=1) / total
            # Divided by the weights, not by k: the fixed point is the same and is met sooner.
            square = (weights * np.square(z - loc[:, None])).sum(axis=1) / total
            square = np.maximum(square, 1e-12)
        tails = mean_over(np.log1p(np.square(z - loc[:, None]) / (df * square[:, None])), places)
        constant = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * math.log(df)
        likelihood = constant - 0.5 * np.log(square) - 0.5 * (df + 1.0) * tails
        better = likelihood > best
        best = np.where(better, likelihood, best)
        parts = np.where(better, (loc, np.sqrt(square), np.full(len(z), df)), parts)
    return Parameters(mean + std * parts[0], std * parts[1], parts[2])
