"""The low-rank Gaussian ``N(mean, diag(scale^2) + V V^T)``: draws, and its KL to the prior.

Kernels take the columns of V as rows, ``columns`` (rank, n_parameters): their loops then run over
neighbouring parameters, whatever the rank.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import INNER, OUTER
from gbuq_core.seeding import normal_at, stream

# What a stream is for; the numbers lie beyond those of trees and samplers, so one seed serves all.
# Of type int64: for literals `stream` would be compiled for each.
PARAMETERS, TRAINING, BATCHES, FACTOR_START = (np.int64(purpose) for purpose in range(32, 36))


class KLWork(NamedTuple):
    """Scratch of `kl_gradient`: ``cholesky``, ``inverse`` (rank, rank), ``whitened`` (rank, P)."""

    cholesky: np.ndarray
    inverse: np.ndarray
    whitened: np.ndarray


@njit(nogil=True, cache=True, inline="always")
def allocate_kl_work(rank, n_parameters):
    """Scratch for one Gaussian."""
    return KLWork(np.zeros((rank, rank)), np.zeros((rank, rank)), np.empty((rank, n_parameters)))


@njit(nogil=True, cache=True, inline="always", fastmath={"contract"})
def combine(mean, scale, columns, own, shared, out):
    """Write ``mean + scale * own + V shared`` into ``out`` (n_parameters,): one draw of theta."""
    for d in range(mean.shape[0]):
        out[d] = mean[d] + scale[d] * own[d]
    for c in range(columns.shape[0]):
        column, amount = columns[c], shared[c]
        for d in range(mean.shape[0]):
            out[d] += amount * column[d]


@njit(nogil=True, cache=True, **INNER)
def fill_draw(base, first, shared, own):
    """Write the standard normals of one draw, number ``first`` on of a stream."""
    for c in range(shared.shape[0]):
        shared[c] = normal_at(base, first + c)
    first += shared.shape[0]
    for d in range(own.shape[0]):
        own[d] = normal_at(base, first + d)


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def draw_parameters(mean, scale, columns, seed, member, first, out):
    """Write draws number ``first`` on into ``out`` (n_draws, n_parameters).

    Each is a function of (seed, member, its number): more draws keep the earlier ones.
    """
    shared, own = np.empty(columns.shape[0]), np.empty(mean.shape[0])
    for s in range(out.shape[0]):
        fill_draw(
            np.uint64(stream(seed, member, first + s, PARAMETERS)),
            np.int64(0),
            shared,
            own,
        )
        combine(mean, scale, columns, own, shared, out[s])


@njit(nogil=True, cache=True, **OUTER)
def start_columns(seed, member, size, columns):
    """Write the start of V: normals of std ``size`` (at zero its gradient vanishes)."""
    for c in range(columns.shape[0]):
        base = np.uint64(stream(seed, member, c, FACTOR_START))
        for d in range(columns.shape[1]):
            columns[c, d] = size * normal_at(base, d)


@njit(nogil=True, cache=True, **INNER, fastmath={"contract", "reassoc"})
def _dot(a, b):
    # reassoc: lets the compiler sum in lanes.
    total = 0.0
    for d in range(a.shape[0]):
        total += a[d] * b[d]
    return total


@njit(nogil=True, cache=True, **INNER)
def _factorise(scale, columns, work):
    """Write ``V^T / scale`` and ``L^-1``, ``L L^T = I + V^T diag(scale^-2) V``; return log det."""
    rank, cholesky, inverse, whitened = columns.shape[0], work.cholesky, work.inverse, work.whitened
    for c in range(rank):
        for d in range(scale.shape[0]):
            whitened[c, d] = columns[c, d] / scale[d]
    log_det = 0.0
    for i in range(rank):
        for j in range(i + 1):
            entry = _dot(whitened[i], whitened[j]) + (1.0 if i == j else 0.0)
            for c in range(j):
                entry -= cholesky[i, c] * cholesky[j, c]
            # The pivots are at least 1 but for rounding.
            cholesky[i, j] = math.sqrt(max(entry, 1.0)) if i == j else entry / cholesky[j, j]
        log_det += 2.0 * math.log(cholesky[i, i])
    for j in range(rank):
        inverse[j, j] = 1.0 / cholesky[j, j]
        for i in range(j + 1, rank):
            total = 0.0
            for c in range(j, i):
                total += cholesky[i, c] * inverse[c, j]
            inverse[i, j] = -total / cholesky[i, i]
    return log_det


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def kl_gradient(gaussian, prior_scale, work, to_mean, to_scale, to_columns):
    """Return KL(q || N(0, prior_scale^2 I)) (eq. 21) and write its gradients.

    With ``L L^T = I + V^T diag(scale^-2) V`` and ``U = L^-1 V^T / scale``, of which each column is
    at most 1 long, the derivatives are ``mean / g``, ``scale / g - (1 - |U_d|^2) / scale`` and, in
    V^T, ``V^T / g - L^-T U / scale``, where ``g = prior_scale^2``.

    Parameters
    ----------
    gaussian : tuple of mean (n_parameters,), scale (n_parameters,) and columns (rank, n_parameters)
    prior_scale : float64
    work : KLWork
    to_mean, to_scale, to_columns : float64 arrays
        Written: the gradients, of the shapes of what they are gradients in.
    """
    mean, scale, columns = gaussian
    rank, n = columns.shape
    precision = 1.0 / (prior_scale * prior_scale)
    log_det = _factorise(scale, columns, work)
    inverse, whitened = work.inverse, work.whitened
    for i in range(rank - 1, -1, -1):  # from the last row on, so that it can be done in place
        row = whitened[i]
        own = inverse[i, i]
        for d in range(n):
            row[d] *= own
        for j in range(i):
            other, amount = whitened[j], inverse[i, j]
            for d in range(n):
                row[d] += amount * other[d]
    value = _dot(mean, mean) + _dot(scale, scale)
    for c in range(rank):
        value += _dot(columns[c], columns[c])
    value = value * precision - log_det - n
    for d in range(n):
        value -= 2.0 * math.log(scale[d] / prior_scale)
        to_mean[d] = mean[d] * precision
        to_scale[d] = 1.0
    for c in range(rank):
        row = whitened[c]
        for d in range(n):
            to_scale[d] -= row[d] * row[d]
    for d in range(n):
        to_scale[d] = scale[d] * precision - to_scale[d] / scale[d]
    for j in range(rank):
        row = to_columns[j]
        for d in range(n):
            row[d] = 0.0
        for i in range(j, rank):
            other, amount = whitened[i], inverse[i, j]
            for d in range(n):
                row[d] += amount * other[d]
        for d in range(n):
            row[d] = columns[j, d] * precision - row[d] / scale[d]
    return 0.5 * value
