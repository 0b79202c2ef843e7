"""Logistic regressions in thousands of leaves at once, with the delta method's variances.

``table`` and ``scaling`` are the NamedTuples of `gbuq_core.macau.leaves`, ``model`` is the one of
`gbuq_core.macau.class_leaves`: leaf g with k features has k weights and then the intercept.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from gbuq_core.compiling import INNER, OUTER

_MAX_STEPS = 100
_MAX_HALVINGS = 40
# On the gradient's largest entry, for each row. scikit-learn's own default stops at 1e-4.
_TOLERANCE = 1e-10
_LOSS_ROUNDING = 1e-12  # so much may a loss rise: near the end, its fall is less than that
_LEAST_PIVOT = 1e-14  # of the largest one: what is below is rounding
_FARTHEST = 1e60  # scaled values are cut there, as for distances


@njit(nogil=True, cache=True, **INNER)
def _sigmoid(z):
    """``1 / (1 + exp(-z))`` without overflow."""
    t = math.exp(-abs(z))
    return (1.0 if z >= 0.0 else t) / (1.0 + t)


@njit(nogil=True, cache=True, **INNER)
def _logit(Z, i, weights):
    """Log odds of row i."""
    k = len(weights) - 1
    z = weights[k]
    for a in range(k):
        z += Z[i, a] * weights[a]
    return z


@njit(nogil=True, cache=True, **INNER)
def _loss(Z, y, weights):
    """Negative log likelihood of the rows and half the squared weights, without the intercept."""
    total = 0.0
    for a in range(len(weights) - 1):
        total += 0.5 * weights[a] * weights[a]
    for i in range(len(y)):
        z = _logit(Z, i, weights)
        total += max(z, 0.0) - y[i] * z + math.log1p(math.exp(-abs(z)))
    return total


@njit(nogil=True, cache=True, **INNER)
def _write_derivatives(Z, y, weights, gradient, hessian):
    """Write gradient (k + 1,) and Hessian (lower triangle) of `_loss`."""
    k = len(weights) - 1
    gradient[:] = 0.0
    hessian[:, :] = 0.0
    for i in range(len(y)):
        p = _sigmoid(_logit(Z, i, weights))
        v = p * (1.0 - p)
        for a in range(k):
            gradient[a] += (p - y[i]) * Z[i, a]
            hessian[k, a] += v * Z[i, a]
            for b in range(a + 1):
                hessian[a, b] += v * Z[i, a] * Z[i, b]
        gradient[k] += p - y[i]
        hessian[k, k] += v
    for a in range(k):
        gradient[a] += weights[a]
        hessian[a, a] += 1.0


@njit(nogil=True, cache=True, **INNER)
def _solve(A, b):
    """Overwrite b by ``A^-1 b`` and the positive definite A (lower triangle) by its factor."""
    largest = 0.0
    for i in range(len(b)):
        largest = max(largest, A[i, i])
    for i in range(len(b)):
        for j in range(i + 1):
            total = A[i, j]
            for c in range(j):
                total -= A[i, c] * A[j, c]
            if i == j:
                A[i, i] = math.sqrt(max(total, _LEAST_PIVOT * largest))
            else:
                A[i, j] = total / A[j, j]
        for c in range(i):
            b[i] -= A[i, c] * b[c]
        b[i] /= A[i, i]
    for i in range(len(b) - 1, -1, -1):
        for c in range(i + 1, len(b)):
            b[i] -= A[c, i] * b[c]
        b[i] /= A[i, i]


@njit(nogil=True, cache=True, **OUTER)
def fit_logistic(Z, y, weights):
    """Fit the logistic regression of y (n,), 0 or 1, both there, on Z (n, k) by Newton's method.

    Minimises scikit-learn's default: L2 penalty with C = 1, the intercept is not penalised. Steps
    are halved until the loss falls.
    """
    n, k = Z.shape
    share = 0.0
    for i in range(n):
        share += y[i] / n
    weights[:] = 0.0
    weights[k] = math.log(share / (1.0 - share))
    step, trial, hessian = np.empty(k + 1), np.empty(k + 1), np.empty((k + 1, k + 1))
    loss = _loss(Z, y, weights)
    for _ in range(_MAX_STEPS):
        _write_derivatives(Z, y, weights, step, hessian)
        largest = 0.0
        for a in range(k + 1):
            largest = max(largest, abs(step[a]))
        if largest <= _TOLERANCE * n:
            break
        _solve(hessian, step)
        length, reached, allowed = 1.0, np.inf, loss + _LOSS_ROUNDING * abs(loss)
        for _ in range(_MAX_HALVINGS):
            for a in range(k + 1):
                trial[a] = weights[a] - length * step[a]
            reached = _loss(Z, y, trial)
            if reached <= allowed:
                break
            length *= 0.5
        if not reached <= allowed:
            break
        for a in range(k + 1):
            weights[a] = trial[a]
        loss = reached


@njit(nogil=True, cache=True, **INNER)
def _scaled(X, row, g, j, scaling):
    """Feature j of a row, its gap filled, on the scaling of leaf g."""
    value = scaling.median[g, j] if np.isnan(X[row, j]) else X[row, j]
    value = (value - scaling.centre[g, j]) / scaling.scale[g, j]
    return min(max(value, -_FARTHEST), _FARTHEST)


@njit(nogil=True, cache=True, **OUTER)
def fit_logistic_leaves(X, target, low, high, table, scaling, model, fitted):
    """Fit leaves ``low`` to ``high`` into ``model.weights``; write its training probabilities.

    target (n,) float64, 0 or 1; ``fitted`` goes with ``table.rows``. A leaf of a single class
    predicts that class with certainty: its intercept is infinite, its weights are 0. In
    ``model.covariance`` the kernel leaves what is to be inverted, ``X^T V X`` of equation 3.
    """
    for g in range(low, high):
        start, n = table.begin[g], table.begin[g + 1] - table.begin[g]
        path = table.path[table.path_begin[g] : table.path_begin[g + 1]]
        k = len(path)
        Z, y, ones = np.empty((n, k)), np.empty(n), 0
        for r in range(n):
            row = table.rows[start + r]
            y[r] = target[row]
            ones += y[r] > 0.5
            for a in range(k):
                Z[r, a] = _scaled(X, row, g, path[a], scaling)
        weights = model.weights[table.path_begin[g] + g : table.path_begin[g + 1] + g + 1]
        information = model.covariance[model.first[g] : model.first[g + 1]]
        information[:] = 0.0
        if 0 < ones < n:
            fit_logistic(Z, y, weights)
        else:
            weights[:] = 0.0
            weights[k] = np.inf if ones > 0 else -np.inf
        for r in range(n):
            p = _sigmoid(_logit(Z, r, weights))
            fitted[start + r] = p
            for a in range(k):
                for b in range(k):
                    information[a * k + b] += p * (1.0 - p) * Z[r, a] * Z[r, b]


@njit(nogil=True, cache=True, **OUTER)
def write_class_members(X, numbers, table, scaling, model, means, variances):
    """Write probability and variance of rows X in leaves ``numbers`` (n, k), shaped like these.

    The variance is that of equations 4 and 5: ``g^T Cov g`` with ``g = p (1 - p) x``.
    """
    x = np.empty(X.shape[1] + 1)
    for i in range(numbers.shape[0]):
        for t in range(numbers.shape[1]):
            g = numbers[i, t]
            path = table.path[table.path_begin[g] : table.path_begin[g + 1]]
            k = len(path)
            weights = model.weights[table.path_begin[g] + g : table.path_begin[g + 1] + g + 1]
            covariance = model.covariance[model.first[g] : model.first[g + 1]]
            z = weights[k]
            for a in range(k):
                x[a] = _scaled(X, i, g, path[a], scaling)
                z += weights[a] * x[a]
            p = _sigmoid(z)
            total = 0.0
            for a in range(k):
                for b in range(k):
                    total += (p * (1.0 - p)) ** 2 * x[a] * covariance[a * k + b] * x[b]
            means[i, t] = p
            variances[i, t] = max(total, 0.0)
