"""Log-likelihood of the mixture of Gaussian leaves and its gradient (eq. 6 to 14)."""

from __future__ import annotations

import math

from numba import njit

from gbuq_core.compiling import INNER, OUTER
from gbuq_core.soft_trees.block_kernels import (
    BLOCK,
    FIRST,
    HALF_LOG_TWO_PI,
    MIN_RAW,
    add_affine_gradient,
    affine,
    allocate_scratch,
    evaluate_gates,
    exp_into,
    gate_slopes,
    log1p_unit,
    reach_nodes,
)


@njit(nogil=True, cache=True, inline="always")
def leaf_places(codes):
    """Where leaf weights, leaf biases, scale weights and scale biases begin; slopes a leaf."""
    n_leaves = 2**codes.depth
    slopes = codes.n_features * codes.is_linear
    leaf_weights = (n_leaves - 1) * (codes.n_features + 1)
    leaf_biases = leaf_weights + n_leaves * codes.n_classes * slopes
    scale_weights = leaf_biases + n_leaves * codes.n_classes
    return leaf_weights, leaf_biases, scale_weights, scale_weights + n_leaves * slopes, slopes


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def evaluate_leaves(codes, theta, Xt, start, m, scratch):
    """Write the leaves of a block: ``means``, ``raws``, ``smalls`` = exp(-|raw|), ``inverses``."""
    n_leaves = 2**codes.depth
    leaf_weights, leaf_biases, scale_weights, scale_biases, slopes = leaf_places(codes)
    raws, smalls, inverses = scratch.raws, scratch.smalls, scratch.inverses
    exponents = scratch.exponents
    affine(theta, leaf_weights, leaf_biases, n_leaves, slopes, Xt, start, m, scratch.means)
    affine(theta, scale_weights, scale_biases, n_leaves, slopes, Xt, start, m, raws)
    for i in range(n_leaves * m):
        raw = raws[i] if raws[i] > MIN_RAW else MIN_RAW
        exponents[i] = -abs(raw)
    exp_into(exponents, smalls, n_leaves * m, scratch.bits)
    for i in range(n_leaves * m):
        positive = raws[i] if raws[i] > 0.0 else 0.0
        inverses[i] = 1.0 / (positive + log1p_unit(smalls[i]))


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def weigh_leaves(codes, y, start, m, scratch):
    """Write the ``shares`` of the leaves at the targets, ``peaks`` and ``totals``.

    The log density of row ``i`` is ``peaks[i] + log(totals[i]) - log(2 pi) / 2``. What varies
    without bound stays in the exponent; ``spread`` and the stds are factors.
    """
    n_leaves = 2**codes.depth
    n_nodes = n_leaves - 1
    peaks, totals, means, inverses = scratch.peaks, scratch.totals, scratch.means, scratch.inverses
    target = y[start : start + m]
    leaves = slice(n_nodes * m, (n_nodes + n_leaves) * m)
    exponents, shares = scratch.log_reach[leaves], scratch.shares[leaves]
    spread = scratch.spread[leaves]
    for leaf in range(n_leaves):
        exponent, mean = exponents[leaf * m : (leaf + 1) * m], means[leaf * m : (leaf + 1) * m]
        inverse = inverses[leaf * m : (leaf + 1) * m]
        for i in range(m):
            residual = (target[i] - mean[i]) * inverse[i]
            mean[i] = residual  # from here on ``means`` holds standardised residuals
            value = exponent[i] - 0.5 * residual * residual
            exponent[i] = value
        if leaf == 0:
            for i in range(m):
                peaks[i] = exponent[i]
        else:
            for i in range(m):
                peaks[i] = peaks[i] if peaks[i] > exponent[i] else exponent[i]
    for leaf in range(n_leaves):
        exponent = exponents[leaf * m : (leaf + 1) * m]
        for i in range(m):
            exponent[i] -= peaks[i]
    exp_into(exponents, shares, n_leaves * m, scratch.bits)
    for i in range(n_leaves * m):
        shares[i] = shares[i] * inverses[i] / spread[i]
    for i in range(m):
        totals[i] = 0.0
    for leaf in range(n_leaves):
        share = shares[leaf * m : (leaf + 1) * m]
        for i in range(m):
            totals[i] += share[i]


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _leaf_slopes(codes, m, scratch):
    """Turn ``means`` and ``raws`` into the gradient in them, with ``shares`` normalised."""
    n_leaves = 2**codes.depth
    n_nodes = n_leaves - 1
    shares = scratch.shares[n_nodes * m : (n_nodes + n_leaves) * m]
    totals, means, raws = scratch.totals, scratch.means, scratch.raws
    for i in range(m):
        totals[i] = 1.0 / totals[i]
    for leaf in range(n_leaves):
        share = shares[leaf * m : (leaf + 1) * m]
        for i in range(m):
            share[i] *= totals[i]
    smalls, inverses = scratch.smalls, scratch.inverses
    for i in range(n_leaves * m):
        residual, small, raw = means[i], smalls[i], raws[i]
        pull = shares[i] * inverses[i]
        means[i] = pull * residual
        slope = (1.0 if raw >= 0.0 else small) / (1.0 + small)
        slope = slope if raw > MIN_RAW else 0.0
        raws[i] = pull * (residual * residual - 1.0) * slope


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def mixture_gradient(codes, beta, theta, raw_noise, Xt, y, scratch, gradient):
    """Return ``log p(y | X, theta)`` and add its gradient to ``gradient`` (n_parameters + 1,).

    A mixture has no noise of its own: ``raw_noise`` is not read, the last entry not written.
    """
    n, p, n_leaves = y.shape[0], codes.n_features, 2**codes.depth
    n_nodes = n_leaves - 1
    weights, biases, scale_weights, scale_biases, slopes = leaf_places(codes)
    value = -HALF_LOG_TWO_PI * n
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        evaluate_gates(codes, beta, theta, Xt, start, m, scratch)
        reach_nodes(codes, m, scratch)
        evaluate_leaves(codes, theta, Xt, start, m, scratch)
        weigh_leaves(codes, y, start, m, scratch)
        for i in range(m):
            value += scratch.peaks[i] + math.log(scratch.totals[i])
        _leaf_slopes(codes, m, scratch)
        gate_slopes(codes, m, scratch)
        logits, means, raws = scratch.logits, scratch.means, scratch.raws
        add_affine_gradient(logits, FIRST, n_nodes * p, n_nodes, p, Xt, start, m, beta, gradient)
        add_affine_gradient(means, weights, biases, n_leaves, slopes, Xt, start, m, 1.0, gradient)
        add_affine_gradient(
            raws, scale_weights, scale_biases, n_leaves, slopes, Xt, start, m, 1.0, gradient
        )
    return value


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def write_mixture_log_densities(codes, beta, thetas, noises, Xt, y, out):
    """Write ``log p(y_i | x_i, theta_s)`` into ``out`` (n_draws, n); ``noises`` is not read."""
    scratch = allocate_scratch(codes)
    for s in range(thetas.shape[0]):
        for start in range(0, y.shape[0], BLOCK):
            m = min(BLOCK, y.shape[0] - start)
            evaluate_gates(codes, beta, thetas[s], Xt, start, m, scratch)
            reach_nodes(codes, m, scratch)
            evaluate_leaves(codes, thetas[s], Xt, start, m, scratch)
            weigh_leaves(codes, y, start, m, scratch)
            for i in range(m):
                log_total = math.log(scratch.totals[i])
                out[s, start + i] = scratch.peaks[i] + log_total - HALF_LOG_TWO_PI
