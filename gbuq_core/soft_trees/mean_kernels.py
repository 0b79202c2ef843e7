"""Log-likelihood of a tree that outputs a mean, one noise for all rows (eq. 4, section 4.2)."""

from __future__ import annotations

import math

from numba import njit

from gbuq_core.compiling import INNER, OUTER
from gbuq_core.soft_trees.block_kernels import (
    BLOCK,
    FIRST,
    HALF_LOG_TWO_PI,
    add_affine_gradient,
    affine,
    allocate_scratch,
    evaluate_gates,
    softplus_scalar,
)
from gbuq_core.soft_trees.mixture_kernels import leaf_places


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def average_leaves(codes, beta, theta, Xt, start, m, scratch):
    """Write each node's mean output given that it is reached, and ``shares``: P(reached).

    ``log_reach`` holds the mean outputs, leaves and nodes, so that of the tree is its first row.
    """
    n_leaves = 2**codes.depth
    n_nodes = n_leaves - 1
    weights, biases, _, _, slopes = leaf_places(codes)
    outputs, reached = scratch.log_reach, scratch.shares
    evaluate_gates(codes, beta, theta, Xt, start, m, scratch)
    affine(theta, weights, biases, n_leaves, slopes, Xt, start, m, outputs[n_nodes * m :])
    for i in range(m):
        reached[i] = 1.0
    for node in range(n_nodes):
        here = slice(node * m, (node + 1) * m)
        z, t, own = scratch.logits[here], scratch.small[here], reached[here]
        left = reached[(2 * node + 1) * m : (2 * node + 2) * m]
        right = reached[(2 * node + 2) * m : (2 * node + 3) * m]
        for i in range(m):
            likely = 1.0 / (1.0 + t[i])
            unlikely = t[i] * likely
            right[i] = own[i] * (likely if z[i] >= 0.0 else unlikely)
            left[i] = own[i] * (unlikely if z[i] >= 0.0 else likely)
    for node in range(n_nodes - 1, -1, -1):
        here = slice(node * m, (node + 1) * m)
        z, t, own = scratch.logits[here], scratch.small[here], outputs[here]
        left = outputs[(2 * node + 1) * m : (2 * node + 2) * m]
        right = outputs[(2 * node + 2) * m : (2 * node + 3) * m]
        for i in range(m):
            likely = 1.0 / (1.0 + t[i])
            unlikely = t[i] * likely
            near = right[i] if z[i] >= 0.0 else left[i]
            far = left[i] if z[i] >= 0.0 else right[i]
            own[i] = likely * near + unlikely * far


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _block_gradient(codes, beta, theta, raw_noise, Xt, y, start, m, scratch, gradient):
    """Add the gradient of a block's log-likelihood to ``gradient``; return the log-likelihood.

    The last entry of ``gradient`` (n_parameters + 1,) is that in the raw noise, whose softplus is
    the std.
    """
    n_leaves, p = 2**codes.depth, codes.n_features
    n_nodes = n_leaves - 1
    average_leaves(codes, beta, theta, Xt, start, m, scratch)
    outputs, reached, pulls = scratch.log_reach, scratch.shares, scratch.totals
    noise, noise_slope = softplus_scalar(raw_noise)
    squares = 0.0
    for i in range(m):
        residual = (y[start + i] - outputs[i]) / noise
        squares += residual * residual
        pulls[i] = residual / noise
    gradient[gradient.shape[0] - 1] += (squares - m) / noise * noise_slope
    for node in range(n_nodes):
        here = slice(node * m, (node + 1) * m)
        z, t, own = scratch.logits[here], scratch.small[here], reached[here]
        left = outputs[(2 * node + 1) * m : (2 * node + 2) * m]
        right = outputs[(2 * node + 2) * m : (2 * node + 3) * m]
        for i in range(m):
            likely = 1.0 / (1.0 + t[i])
            z[i] = pulls[i] * own[i] * (right[i] - left[i]) * (t[i] * likely * likely)
    leaf_slopes = reached[n_nodes * m :]
    for leaf in range(n_leaves):
        row = leaf_slopes[leaf * m : (leaf + 1) * m]
        for i in range(m):
            row[i] *= pulls[i]
    weights, biases, _, _, slopes = leaf_places(codes)
    add_affine_gradient(
        scratch.logits, FIRST, n_nodes * p, n_nodes, p, Xt, start, m, beta, gradient
    )
    add_affine_gradient(leaf_slopes, weights, biases, n_leaves, slopes, Xt, start, m, 1.0, gradient)
    return -0.5 * squares - m * (HALF_LOG_TWO_PI + math.log(noise))


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def mean_gradient(codes, beta, theta, raw_noise, Xt, y, scratch, gradient):
    """Return ``log p(y | X, theta)`` and add its gradient to ``gradient`` (n_parameters + 1,)."""
    value = 0.0
    for start in range(0, y.shape[0], BLOCK):
        m = min(BLOCK, y.shape[0] - start)
        value += _block_gradient(codes, beta, theta, raw_noise, Xt, y, start, m, scratch, gradient)
    return value


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def write_mean_log_densities(codes, beta, thetas, noises, Xt, y, out):
    """Write ``log p(y_i | x_i, theta_s)`` into ``out`` (n_draws, n), with stds ``noises``."""
    scratch = allocate_scratch(codes)
    for s in range(thetas.shape[0]):
        constant = -HALF_LOG_TWO_PI - math.log(noises[s])
        for start in range(0, y.shape[0], BLOCK):
            m = min(BLOCK, y.shape[0] - start)
            average_leaves(codes, beta, thetas[s], Xt, start, m, scratch)
            for i in range(m):
                residual = (y[start + i] - scratch.log_reach[i]) / noises[s]
                out[s, start + i] = constant - 0.5 * residual * residual


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def write_means(codes, beta, thetas, Xt, means, variances):
    """Write the mean of the target given each draw into ``means`` (n_draws, n), 0 into the other.

    The variance is that of the noise alone, which is left out.
    """
    scratch = allocate_scratch(codes)
    n = Xt.shape[1]
    for s in range(thetas.shape[0]):
        for start in range(0, n, BLOCK):
            m = min(BLOCK, n - start)
            average_leaves(codes, beta, thetas[s], Xt, start, m, scratch)
            for i in range(m):
                means[s, start + i] = scratch.log_reach[i]
                variances[s, start + i] = 0.0
