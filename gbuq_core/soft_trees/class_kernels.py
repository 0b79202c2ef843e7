"""Softmax leaves: log-likelihood of a class and its gradient.

The paper leaves classification to future work; this is ours, by the analogy of eq. 6:
``p(c | x) = sum_l P(l | x) softmax(logits_l(x))_c``.
"""

from __future__ import annotations

import math

from numba import njit

from gbuq_core.compiling import INNER, OUTER
from gbuq_core.soft_trees.block_kernels import (
    BLOCK,
    FIRST,
    add_affine_gradient,
    affine,
    allocate_scratch,
    evaluate_gates,
    exp_into,
    gate_slopes,
    reach_nodes,
)
from gbuq_core.soft_trees.mixture_kernels import leaf_places


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def evaluate_softmax(codes, theta, Xt, start, m, scratch):
    """Write the leaves of a block, (n_leaves, n_classes, m).

    ``means`` holds the logits less the largest of the leaf, ``smalls`` their exponentials and
    ``inverses`` (n_leaves, m) the sum of these.
    """
    n_leaves, n_classes = 2**codes.depth, codes.n_classes
    weights, biases, _, _, slopes = leaf_places(codes)
    logits, sums, largest = scratch.means, scratch.inverses, scratch.raws
    affine(theta, weights, biases, n_leaves * n_classes, slopes, Xt, start, m, logits)
    for leaf in range(n_leaves):
        first = leaf * n_classes * m
        for i in range(m):
            largest[i] = logits[first + i]
        for c in range(1, n_classes):
            row = logits[first + c * m : first + (c + 1) * m]
            for i in range(m):
                largest[i] = largest[i] if largest[i] > row[i] else row[i]
        for c in range(n_classes):
            row = logits[first + c * m : first + (c + 1) * m]
            for i in range(m):
                row[i] -= largest[i]
    exp_into(logits, scratch.smalls, n_leaves * n_classes * m, scratch.bits)
    for leaf in range(n_leaves):
        total = sums[leaf * m : (leaf + 1) * m]
        for i in range(m):
            total[i] = 0.0
        for c in range(n_classes):
            first = (leaf * n_classes + c) * m
            row = scratch.smalls[first : first + m]
            for i in range(m):
                total[i] += row[i]


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _weigh_leaves(codes, y, start, m, scratch):
    """Write the ``shares`` of the leaves at the classes, ``peaks`` and ``totals``."""
    n_leaves, n_classes = 2**codes.depth, codes.n_classes
    n_nodes = n_leaves - 1
    peaks, totals = scratch.peaks, scratch.totals
    leaves = slice(n_nodes * m, (n_nodes + n_leaves) * m)
    exponents, shares, spread = scratch.log_reach[leaves], scratch.shares[leaves], scratch.spread
    for leaf in range(n_leaves):
        for i in range(m):
            at = (leaf * n_classes + int(y[start + i])) * m + i
            exponents[leaf * m + i] += scratch.means[at]
    for i in range(m):
        peaks[i] = exponents[i]
        totals[i] = 0.0
    for leaf in range(1, n_leaves):
        for i in range(m):
            at = leaf * m + i
            peaks[i] = peaks[i] if peaks[i] > exponents[at] else exponents[at]
    for leaf in range(n_leaves):
        for i in range(m):
            exponents[leaf * m + i] -= peaks[i]
    exp_into(exponents, shares, n_leaves * m, scratch.bits)
    for leaf in range(n_leaves):
        for i in range(m):
            at = leaf * m + i
            shares[at] /= scratch.inverses[at] * spread[n_nodes * m + at]
            totals[i] += shares[at]


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _block_log_densities(codes, beta, theta, Xt, y, start, m, scratch):
    """Write the log probabilities of a block's classes into ``totals``."""
    evaluate_gates(codes, beta, theta, Xt, start, m, scratch)
    reach_nodes(codes, m, scratch)
    evaluate_softmax(codes, theta, Xt, start, m, scratch)
    _weigh_leaves(codes, y, start, m, scratch)
    for i in range(m):
        scratch.totals[i] = scratch.peaks[i] + math.log(scratch.totals[i])


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _block_gradient(codes, beta, theta, Xt, y, start, m, scratch, gradient):
    """Add the gradient of a block's log-likelihood to ``gradient``; return the log-likelihood.

    In the logit of class ``c`` of leaf ``l``: ``share_l (1[c = y] - softmax_c)``.
    """
    n_leaves, n_classes, p = 2**codes.depth, codes.n_classes, codes.n_features
    n_nodes = n_leaves - 1
    _block_log_densities(codes, beta, theta, Xt, y, start, m, scratch)
    value = 0.0
    for i in range(m):
        value += scratch.totals[i]
        scratch.totals[i] = math.exp(scratch.peaks[i] - scratch.totals[i])
    shares = scratch.shares[n_nodes * m : (n_nodes + n_leaves) * m]
    slope = scratch.smalls
    for leaf in range(n_leaves):
        for i in range(m):
            shares[leaf * m + i] *= scratch.totals[i]
        for c in range(n_classes):
            first = (leaf * n_classes + c) * m
            for i in range(m):
                at = leaf * m + i
                slope[first + i] *= -shares[at] / scratch.inverses[at]
        for i in range(m):
            slope[(leaf * n_classes + int(y[start + i])) * m + i] += shares[leaf * m + i]
    gate_slopes(codes, m, scratch)
    weights, biases, _, _, slopes = leaf_places(codes)
    add_affine_gradient(
        scratch.logits, FIRST, n_nodes * p, n_nodes, p, Xt, start, m, beta, gradient
    )
    add_affine_gradient(
        slope, weights, biases, n_leaves * n_classes, slopes, Xt, start, m, 1.0, gradient
    )
    return value


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def class_gradient(codes, beta, theta, raw_noise, Xt, y, scratch, gradient):
    """Return ``log p(y | X, theta)`` and add its gradient to ``gradient`` (n_parameters + 1,).

    Classes have no noise: ``raw_noise`` is not read, the last entry not written.
    """
    value = 0.0
    for start in range(0, y.shape[0], BLOCK):
        m = min(BLOCK, y.shape[0] - start)
        value += _block_gradient(codes, beta, theta, Xt, y, start, m, scratch, gradient)
    return value


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def write_class_log_densities(codes, beta, thetas, noises, Xt, y, out):
    """Write ``log p(y_i | x_i, theta_s)`` into ``out`` (n_draws, n); ``noises`` is not read."""
    scratch = allocate_scratch(codes)
    for s in range(thetas.shape[0]):
        for start in range(0, y.shape[0], BLOCK):
            m = min(BLOCK, y.shape[0] - start)
            _block_log_densities(codes, beta, thetas[s], Xt, y, start, m, scratch)
            for i in range(m):
                out[s, start + i] = scratch.totals[i]
