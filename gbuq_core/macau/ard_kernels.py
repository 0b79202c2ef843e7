"""Automatic relevance determination in every leaf: linear models whose features prune themselves.

The algorithm is scikit-learn's ``ARDRegression`` with its defaults (Tipping, "Sparse Bayesian
learning and the relevance vector machine", 2001; MacKay, "Bayesian interpolation", 1992): weights
``w_j ~ N(0, 1 / lambda_j)``, noise ``N(0, 1 / alpha)``, and in turn

    sigma = (diag(lambda) + alpha Z^T Z)^-1,  w = alpha sigma Z^T y
    gamma_j = 1 - lambda_j sigma_jj,  lambda_j = gamma_j / w_j^2
    alpha = (n - sum gamma) / |y - Z w|^2

until w moves by less than `TOLERANCE`; features with ``lambda_j >= PRUNED`` leave for good. Rows
are met once, for ``Z^T Z`` and ``Z^T y``: an iteration costs p^3 and not n p^2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import INNER, OUTER

MAX_ITERATIONS = 300
TOLERANCE = 1e-3  # of the sum of the moves of all weights
PRUNED = 1e4
PRIOR = 1e-6  # shape and rate of the gamma priors of alpha and of lambda
_EPS = 2.220446049250313e-16
# A sum of squared errors below this share of its terms is summed anew from the rows.
_CANCELLED = 1e-6
# Below so many times the cutoff of the pseudo-inverse an inverse is taken through eigenvalues.
_DOUBTFUL = 100.0


class LinearLeaves(NamedTuple):
    """Linear models of all leaves, on their own scaling; path features of leaf g as in the table.

    level, noise : (n_leaves,) float64
        Mean of y at the leaf's mean row, and the noise's variance 1 / alpha.
    weight, offset : (path_begin[-1],) float64
        Weights, 0 for pruned features, and the scaled features' means.
    sigma_begin : (n_leaves + 1,) int64
    sigma : (sigma_begin[-1],) float64
        Covariance of the weights (p, p) of leaf g, from ``sigma_begin[g]``; 0 for pruned ones.
    """

    level: np.ndarray
    noise: np.ndarray
    weight: np.ndarray
    offset: np.ndarray
    sigma_begin: np.ndarray
    sigma: np.ndarray


@njit(nogil=True, cache=True, inline="always", **INNER)
def _invert_cholesky(a, k, out):
    """Inverse of the positive definite a[:k, :k] into out; False where it is doubtful."""
    lower = np.empty((k, k))
    trace = 0.0
    for i in range(k):
        trace += a[i, i]
        for j in range(i + 1):
            s = a[i, j]
            for m in range(j):
                s -= lower[i, m] * lower[j, m]
            if i == j:
                if not s > 0.0:
                    return False
                lower[i, i] = np.sqrt(s)
            else:
                lower[i, j] = s / lower[j, j]
    for j in range(k):  # the inverse of the factor, in its place
        lower[j, j] = 1.0 / lower[j, j]
        for i in range(j + 1, k):
            s = 0.0
            for m in range(j, i):
                s -= lower[i, m] * lower[m, j]
            lower[i, j] = s / lower[i, i]
    inverse_trace = 0.0
    for i in range(k):
        for j in range(i + 1):
            s = 0.0
            for m in range(i, k):
                s += lower[m, i] * lower[m, j]
            out[i, j] = s
            out[j, i] = s
        inverse_trace += out[i, i]
    # 1 / trace of the inverse is at most the least eigenvalue, the trace at least the largest.
    return inverse_trace * trace * _DOUBTFUL * k * _EPS < 1.0


@njit(nogil=True, cache=True, **INNER)
def _invert_eigen(a, k, out):
    """Pseudo-inverse of the symmetric a[:k, :k] into out, with scipy's cutoff of eigenvalues."""
    square = np.empty((k, k))
    for i in range(k):
        for j in range(k):
            square[i, j] = a[i, j]
    values, vectors = np.linalg.eigh(square)
    cutoff = k * _EPS * max(abs(values[0]), abs(values[k - 1]))
    for i in range(k):
        for j in range(k):
            s = 0.0
            for m in range(k):
                if abs(values[m]) > cutoff:
                    s += vectors[i, m] * vectors[j, m] / values[m]
            out[i, j] = s


@njit(nogil=True, cache=True, **INNER)
def _invert_by_rows(z, alpha, penalty, kept, k, sigma):
    """Covariance of the k kept weights from an inverse of as many rows as z has (Woodbury)."""
    n = len(z)
    inner, inverse = np.empty((n, n)), np.empty((n, n))
    for a in range(n):
        for b in range(n):
            s = 0.0
            for i in range(k):
                s += z[a, kept[i]] * z[b, kept[i]] / penalty[kept[i]]
            inner[a, b] = s
        inner[a, a] += 1.0 / alpha
    _invert_eigen(inner, n, inverse)
    for i in range(k):
        for j in range(k):
            s = 0.0
            for a in range(n):
                for b in range(n):
                    s += z[a, kept[i]] * inverse[a, b] * z[b, kept[j]]
            sigma[i, j] = -s / (penalty[kept[i]] * penalty[kept[j]])
        sigma[i, i] += 1.0 / penalty[kept[i]]


@njit(nogil=True, cache=True, **INNER)
def _covariance(z, gram, alpha, penalty, kept, k, work, sigma):
    """Covariance of the k kept weights into sigma[:k, :k].

    Where floats cannot hold the inverse, it is done as scikit-learn does it: with as many rows as
    features by a pseudo-inverse, in which directions that the data know too well get no variance;
    with fewer rows by Woodbury's identity, which loses no direction.
    """
    for i in range(k):
        for j in range(k):
            work[i, j] = alpha * gram[kept[i], kept[j]]
        work[i, i] += penalty[kept[i]]
    if _invert_cholesky(work, k, sigma):
        return
    if len(z) >= len(gram):
        _invert_eigen(work, k, sigma)
    else:
        _invert_by_rows(z, alpha, penalty, kept, k, sigma)


@njit(nogil=True, cache=True, inline="always", **INNER)
def _squared_errors(z, y, gram, moment, power, weight):
    """|y - Z w|^2 from the moments, or from the rows where those cancel."""
    p = len(weight)
    total, size = power, power
    for i in range(p):
        if weight[i] == 0.0:
            continue
        s = 0.0
        for j in range(p):
            s += gram[i, j] * weight[j]
        total += weight[i] * (s - 2.0 * moment[i])
        size += abs(weight[i] * moment[i]) + weight[i] * weight[i] * gram[i, i]
    if total >= _CANCELLED * size:
        return total
    total = 0.0
    for row in range(len(y)):
        error = y[row]
        for i in range(p):
            error -= z[row, i] * weight[i]
        total += error * error
    return total


@njit(nogil=True, cache=True, inline="always", **INNER)
def _moments(z, y, gram, moment):
    """Write Z^T Z and Z^T y, and return y^T y."""
    p, power = len(moment), 0.0
    for row in range(len(y)):
        power += y[row] * y[row]
        for i in range(p):
            moment[i] += z[row, i] * y[row]
            for j in range(i + 1):
                gram[i, j] += z[row, i] * z[row, j]
    for i in range(p):
        for j in range(i):
            gram[j, i] = gram[i, j]
    return power


@njit(nogil=True, cache=True, **INNER)
def fit_ard(z, y, weight, covariance):
    """Fit one leaf to centred features z (n, p) and targets y (n,); return 1 / alpha.

    Writes weight (p,) and covariance (p * p,), which must be 0 and stay so for pruned features.
    """
    n, p = z.shape
    gram, moment = np.zeros((p, p)), np.zeros(p)
    power = _moments(z, y, gram, moment)
    alpha = 1.0 / (power / n + _EPS)
    penalty, kept, k = np.ones(p), np.arange(p), p
    previous, work, sigma = np.zeros(p), np.empty((p, p)), np.empty((p, p))
    iteration, last = 0, False
    while k > 0:
        _covariance(z, gram, alpha, penalty, kept, k, work, sigma)
        for i in range(k):
            s = 0.0
            for j in range(k):
                s += sigma[i, j] * moment[kept[j]]
            weight[kept[i]] = alpha * s
        if last:
            break
        errors = _squared_errors(z, y, gram, moment, power, weight)
        gamma_sum, still = 0.0, 0
        for i in range(k):
            feature = kept[i]
            gamma = 1.0 - penalty[feature] * sigma[i, i]
            gamma_sum += gamma
            penalty[feature] = (gamma + 2.0 * PRIOR) / (weight[feature] ** 2 + 2.0 * PRIOR)
            if penalty[feature] < PRUNED:
                kept[still] = feature
                still += 1
            else:
                weight[feature] = 0.0
        alpha = (n - gamma_sum + 2.0 * PRIOR) / (errors + 2.0 * PRIOR)
        k = still
        moved = 0.0
        for i in range(p):
            moved += abs(previous[i] - weight[i])
            previous[i] = weight[i]
        # Once more for the last alpha and lambda.
        last = iteration == MAX_ITERATIONS - 1 or (iteration > 0 and moved < TOLERANCE)
        iteration += 1
    for i in range(k):
        for j in range(k):
            covariance[kept[i] * p + kept[j]] = sigma[i, j]
    return 1.0 / alpha


@njit(nogil=True, cache=True, inline="always", **INNER)
def _scaled(x, leaf, feature, scaling):
    """One value on the leaf's scaling; a missing one is the median."""
    if np.isnan(x):
        x = scaling.median[leaf, feature]
    return (x - scaling.centre[leaf, feature]) / scaling.scale[leaf, feature]


@njit(nogil=True, cache=True, **OUTER)
def fit_linear_leaves(X, y, low, high, table, scaling, model):
    """Fit the leaves ``low:high`` to their rows of X (n, n_features) and y (n,)."""
    for leaf in range(low, high):
        rows = table.rows[table.begin[leaf] : table.begin[leaf + 1]]
        first = table.path_begin[leaf]
        path = table.path[first : table.path_begin[leaf + 1]]
        n, p = len(rows), len(path)
        if n == 0:
            continue
        z, target = np.empty((n, p)), np.empty(n)
        level, least, most = 0.0, y[rows[0]], y[rows[0]]
        for i in range(n):
            value = y[rows[i]]
            level += value
            least, most = min(least, value), max(most, value)
        # The mean of equal numbers may differ from them by its rounding.
        level = least if least == most else level / n
        for i in range(n):
            target[i] = y[rows[i]] - level
        for j in range(p):
            mean = 0.0
            for i in range(n):
                z[i, j] = _scaled(X[rows[i], path[j]], leaf, path[j], scaling)
                mean += z[i, j]
            mean /= n
            for i in range(n):
                z[i, j] -= mean
            model.offset[first + j] = mean
        begin = model.sigma_begin[leaf]
        model.level[leaf] = level
        model.noise[leaf] = fit_ard(
            z, target, model.weight[first : first + p], model.sigma[begin : begin + p * p]
        )


@njit(nogil=True, cache=True, **INNER)
def _predict_one(x, leaf, table, scaling, model, deviation):
    """Mean and variance of y at the row x (n_features,) by the model of a leaf."""
    first, last = table.path_begin[leaf], table.path_begin[leaf + 1]
    mean, variance = model.level[leaf], model.noise[leaf]
    place = model.sigma_begin[leaf]
    for i in range(last - first):
        feature = table.path[first + i]
        d = _scaled(x[feature], leaf, feature, scaling) - model.offset[first + i]
        deviation[i] = d
        mean += model.weight[first + i] * d
    for i in range(last - first):
        s = 0.0
        for j in range(i):
            s += 2.0 * model.sigma[place + j] * deviation[j]
        s += model.sigma[place + i] * deviation[i]
        variance += s * deviation[i]
        place += last - first
    # Rounding may leave a variance of the weights below 0.
    return mean, max(variance, model.noise[leaf])


@njit(nogil=True, cache=True, **OUTER)
def predict_linear_rows(X, numbers, table, scaling, model, means, variances):
    """Means and variances (n, n_trees) of rows X (n, n_features) in the leaves ``numbers``."""
    deviation = np.empty(X.shape[1])
    for row in range(numbers.shape[0]):
        for tree in range(numbers.shape[1]):
            means[row, tree], variances[row, tree] = _predict_one(
                X[row], numbers[row, tree], table, scaling, model, deviation
            )


@njit(nogil=True, cache=True, **OUTER)
def predict_linear_training(X, low, high, table, scaling, model, means):
    """Means (len(table.rows),) of the training rows in their own leaves ``low:high``."""
    deviation = np.empty(X.shape[1])
    for leaf in range(low, high):
        for place in range(table.begin[leaf], table.begin[leaf + 1]):
            means[place], _ = _predict_one(
                X[table.rows[place]], leaf, table, scaling, model, deviation
            )
