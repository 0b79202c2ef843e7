"""Covariances of thousands of leaves, and Mahalanobis distances to them.

A leaf's covariance S, on the leaf's own scaling, is kept as ``W`` with ``S^-1 = W^T W``: the
inverse of the Cholesky factor, lower triangular, its rows one after the other (``W[i, j]`` stands
at ``i (i + 1) / 2 + j``). A squared distance is then a sum of squares, never below zero.

``table`` and ``scaling`` are the NamedTuples of `gbuq_core.macau.leaves`, ``model`` the one of
`gbuq_core.macau.novelty`.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from gbuq_core.compiling import INNER, OUTER

# Deviations in interquartile ranges are cut here and variances below are nothing, so that no
# square and no quotient of finite inputs overflows.
_FARTHEST = 1e60
_NO_VARIANCE = 1e-60
_LEAST_PIVOT = 1e-14  # below it is rounding: shrinkage keeps pivots above 1 / (n + 1)


@njit(nogil=True, cache=True, **INNER)
def scale_row(x, g, scaling, out):
    """Write row ``x`` (p,), gaps filled and scaled as in leaf ``g``, into ``out`` (p,)."""
    for j in range(x.shape[0]):
        value = scaling.median[g, j] if np.isnan(x[j]) else x[j]
        value = (value - scaling.centre[g, j]) / scaling.scale[g, j]
        out[j] = min(max(value, -_FARTHEST), _FARTHEST)


@njit(nogil=True, cache=True, **INNER)
def _deviate(x, g, scaling, location, out):
    """Write the deviation of row ``x`` from the mean of leaf ``g``, scaled, into ``out`` (p,)."""
    scale_row(x, g, scaling, out)
    for j in range(x.shape[0]):
        out[j] -= location[g, j]


@njit(nogil=True, cache=True, **INNER)
def _write_moments(X, rows, g, scaling, location, covariance, row):
    """Write mean (into row g of ``location``) and covariance (lower triangle), divided by n."""
    n, p = len(rows), X.shape[1]
    for j in range(p):
        location[g, j] = 0.0
        for k in range(j + 1):
            covariance[j, k] = 0.0
    for i in rows:
        scale_row(X[i], g, scaling, row)
        for j in range(p):
            location[g, j] += row[j]
    for j in range(p):
        location[g, j] /= max(n, 1)
    for i in rows:
        _deviate(X[i], g, scaling, location, row)
        for j in range(p):
            for k in range(j + 1):
                covariance[j, k] += row[j] * row[k]
    for j in range(p):
        for k in range(j + 1):
            covariance[j, k] /= max(n, 1)


@njit(nogil=True, cache=True, **OUTER)
def shrink(S, k, n):
    """Shrink the covariance S[:k, :k] of n rows (lower triangle, mean variance 1) in place.

    Oracle approximating shrinkage towards the identity (Chen et al., 2010, equation 23, without
    the factor 2 / p, as scikit-learn has it). Returns the weight of the identity.
    """
    squares = 0.0
    for a in range(k):
        for b in range(a):
            squares += 2.0 * S[a, b] * S[a, b]
        squares += S[a, a] * S[a, a]
    squares /= k * k
    gap = (n + 1.0) * (squares - 1.0 / k)
    weight = 1.0 if gap <= 0.0 else min((squares + 1.0) / gap, 1.0)
    for a in range(k):
        for b in range(a):
            S[a, b] *= 1.0 - weight
        S[a, a] = (1.0 - weight) * S[a, a] + weight
    return weight


@njit(nogil=True, cache=True, **INNER)
def _invert_factor(S, k, out):
    """Overwrite S[:k, :k] by its Cholesky factor; write the factor's inverse into ``out``."""
    for a in range(k):
        for b in range(a + 1):
            total = S[a, b]
            for c in range(b):
                total -= S[a, c] * S[b, c]
            S[a, b] = np.sqrt(max(total, _LEAST_PIVOT)) if a == b else total / S[b, b]
    for b in range(k):
        out[b * (b + 1) // 2 + b] = 1.0 / S[b, b]
        for a in range(b + 1, k):
            total = 0.0
            for c in range(b, a):
                total -= S[a, c] * out[c * (c + 1) // 2 + b]
            out[a * (a + 1) // 2 + b] = total / S[a, a]


@njit(nogil=True, cache=True, **INNER)
def _write_factor(covariance, features, n, fallback, S, out):
    """Shrink the covariance of some ``features`` (k,) and write its W into ``out``.

    ``covariance`` (p, p) has a lower triangle only, ``S`` (p, p) is scratch. Where no feature
    varies, W is that of the diagonal of ``fallback`` (p,): see `fit_novelty`.
    """
    k = len(features)
    mean_variance = 0.0
    for j in features:
        mean_variance += covariance[j, j] / k
    if not mean_variance > _NO_VARIANCE:
        for a in range(k):
            at = a * (a + 1) // 2
            for b in range(a):
                out[at + b] = 0.0
            out[at + a] = 1.0 / np.sqrt(fallback[features[a]])
        return
    for a in range(k):
        for b in range(a + 1):
            S[a, b] = covariance[features[a], features[b]] / mean_variance
    shrink(S, k, n)
    _invert_factor(S, k, out)
    for i in range(k * (k + 1) // 2):
        out[i] /= np.sqrt(mean_variance)


@njit(nogil=True, cache=True, **INNER)
def _distance(factor, features, deviation):
    """Length of ``W d`` for the deviations ``d`` of some features."""
    total, at = 0.0, 0
    for a in range(len(features)):
        z = 0.0
        for b in range(a + 1):
            z += factor[at + b] * deviation[features[b]]
        at += a + 1
        total += z * z
    return np.sqrt(total)


@njit(nogil=True, cache=True, **OUTER)
def fit_leaves(X, low, high, table, scaling, model, fallback):
    """Fit leaves ``low`` to ``high`` into ``model``."""
    p = X.shape[1]
    row, everything = np.empty(p), np.arange(p).astype(table.path.dtype)
    covariance, S = np.empty((p, p)), np.empty((p, p))
    for g in range(low, high):
        rows = table.rows[table.begin[g] : table.begin[g + 1]]
        _write_moments(X, rows, g, scaling, model.location, covariance, row)
        for of_path in range(2):  # one call, since each is compiled anew
            features, out = everything, model.factor[g]
            if of_path == 1:
                features = table.path[table.path_begin[g] : table.path_begin[g + 1]]
                out = model.path_factor[model.path_first[g] : model.path_first[g + 1]]
            _write_factor(covariance, features, len(rows), fallback, S, out)


@njit(nogil=True, cache=True, **OUTER)
def write_distances(X, numbers, table, scaling, model, distances, path_distances):
    """Write distances of rows X (n, p) to the leaves ``numbers`` (n, n_trees), shaped like these.

    In all features, and in those on the path to the leaf.
    """
    p = X.shape[1]
    deviation, everything = np.empty(p), np.arange(p).astype(table.path.dtype)
    for i in range(X.shape[0]):
        for t in range(numbers.shape[1]):
            g = numbers[i, t]
            _deviate(X[i], g, scaling, model.location, deviation)
            distances[i, t] = _distance(model.factor[g], everything, deviation)
            path = table.path[table.path_begin[g] : table.path_begin[g + 1]]
            path_distances[i, t] = distances[i, t]
            if len(path) < p:
                own = model.path_factor[model.path_first[g] : model.path_first[g + 1]]
                path_distances[i, t] = _distance(own, path, deviation)


@njit(nogil=True, cache=True, **OUTER)
def write_contributions(X, numbers, table, scaling, model, conditional, out):
    """Write ``d * (S^-1 d)`` of rows X for each tree into ``out`` (n, n_trees, p).

    With ``conditional`` on the path features, and 0 for the others.
    """
    p = X.shape[1]
    deviation, whitened = np.empty(p), np.empty(p)
    everything = np.arange(p).astype(table.path.dtype)
    for i in range(X.shape[0]):
        for t in range(numbers.shape[1]):
            g = numbers[i, t]
            _deviate(X[i], g, scaling, model.location, deviation)
            features, factor = everything, model.factor[g]
            if conditional:
                features = table.path[table.path_begin[g] : table.path_begin[g + 1]]
                factor = model.path_factor[model.path_first[g] : model.path_first[g + 1]]
            for j in range(p):
                out[i, t, j] = 0.0
            for a in range(len(features)):
                at = a * (a + 1) // 2
                whitened[a] = 0.0
                for b in range(a + 1):
                    whitened[a] += factor[at + b] * deviation[features[b]]
                for b in range(a + 1):
                    out[i, t, features[b]] += factor[at + b] * whitened[a]
            for j in range(p):
                out[i, t, j] *= deviation[j]
