"""A soft tree on rows: what draws of its parameters predict, and the log-likelihood's gradient.

Rows come feature by feature, ``Xt`` (n_features, n) C-contiguous, and ``y`` (n,) float64: targets,
or the numbers of the classes. ``thetas`` is (n_draws, n_parameters) float64.
"""

from __future__ import annotations

from numba import njit

from gbuq_core.soft_trees.block_kernels import (
    BLOCK,
    CLASSES,
    MIXTURE,
    allocate_scratch,
    evaluate_gates,
    exp_into,
    reach_nodes,
)
from gbuq_core.soft_trees.class_kernels import (
    class_gradient,
    class_log_densities,
    evaluate_softmax,
)
from gbuq_core.soft_trees.mean_kernels import average_leaves, mean_gradient, mean_log_densities
from gbuq_core.soft_trees.mixture_kernels import (
    evaluate_leaves,
    mixture_gradient,
    mixture_log_densities,
)


@njit(nogil=True, cache=True)
def add_gradient(codes, beta, theta, raw_noise, Xt, y, scratch, gradient):
    """Return ``log p(y | X, theta)`` and add its gradient to ``gradient`` (n_parameters + 1,).

    The last entry is the derivative in ``raw_noise``, of the mean output only.
    """
    value = 0.0
    n = Xt.shape[1]
    for start in range(0, n, BLOCK):
        m = min(BLOCK, n - start)
        if codes.output == MIXTURE:
            value += mixture_gradient(codes, beta, theta, Xt, y, start, m, scratch, gradient)
        elif codes.output == CLASSES:
            value += class_gradient(codes, beta, theta, Xt, y, start, m, scratch, gradient)
        else:
            value += mean_gradient(
                codes, beta, theta, raw_noise, Xt, y, start, m, scratch, gradient
            )
    return value


@njit(nogil=True, cache=True)
def log_likelihood_gradient(codes, beta, theta, raw_noise, Xt, y, gradient):
    """`add_gradient` from zero, with scratch of its own."""
    gradient[:] = 0.0
    return add_gradient(codes, beta, theta, raw_noise, Xt, y, allocate_scratch(codes), gradient)


@njit(nogil=True, cache=True)
def write_log_densities(codes, beta, thetas, noises, Xt, y, out):
    """Write ``log p(y_i | x_i, theta_s)`` into ``out`` (n_draws, n).

    ``noises`` (n_draws,) is the std of the mean output; others do not read it.
    """
    scratch = allocate_scratch(codes)
    n = Xt.shape[1]
    for s in range(thetas.shape[0]):
        theta = thetas[s]
        for start in range(0, n, BLOCK):
            m = min(BLOCK, n - start)
            if codes.output == MIXTURE:
                mixture_log_densities(codes, beta, theta, Xt, y, start, m, scratch)
            elif codes.output == CLASSES:
                class_log_densities(codes, beta, theta, Xt, y, start, m, scratch)
            else:
                mean_log_densities(codes, beta, theta, noises[s], Xt, y, start, m, scratch)
            for i in range(m):
                out[s, start + i] = scratch.totals[i]


@njit(nogil=True, cache=True)
def _leaf_probabilities(codes, beta, theta, Xt, start, m, scratch):
    """Write the leaves' probabilities of a block into ``shares`` (as all nodes' are numbered)."""
    evaluate_gates(codes, beta, theta, Xt, start, m, scratch)
    reach_nodes(codes, m, scratch)
    n_leaves = 2**codes.depth
    leaves = slice((n_leaves - 1) * m, (2 * n_leaves - 1) * m)
    shares, spread = scratch.shares[leaves], scratch.spread[leaves]
    exp_into(scratch.log_reach[leaves], shares, n_leaves * m, scratch.bits)
    for i in range(n_leaves * m):
        shares[i] /= spread[i]


@njit(nogil=True, cache=True, fastmath={"contract"})
def write_moments(codes, beta, thetas, Xt, means, variances):
    """Write mean and variance of the target given each draw, each (n_draws, n).

    The variance of the mixture is that inside its leaves plus that between their means; the mean
    output has none but its noise, which is left out.
    """
    scratch = allocate_scratch(codes)
    n, n_leaves = Xt.shape[1], 2**codes.depth
    for s in range(thetas.shape[0]):
        for start in range(0, n, BLOCK):
            m = min(BLOCK, n - start)
            mean, variance = means[s, start : start + m], variances[s, start : start + m]
            for i in range(m):
                mean[i] = 0.0
                variance[i] = 0.0
            if codes.output != MIXTURE:
                average_leaves(codes, beta, thetas[s], Xt, start, m, scratch)
                for i in range(m):
                    mean[i] = scratch.log_reach[i]
                continue
            _leaf_probabilities(codes, beta, thetas[s], Xt, start, m, scratch)
            evaluate_leaves(codes, thetas[s], Xt, start, m, scratch)
            shares = scratch.shares[(n_leaves - 1) * m :]
            for leaf in range(n_leaves):
                own = slice(leaf * m, (leaf + 1) * m)
                share, loc, inverse = shares[own], scratch.means[own], scratch.inverses[own]
                for i in range(m):
                    mean[i] += share[i] * loc[i]
            for leaf in range(n_leaves):
                own = slice(leaf * m, (leaf + 1) * m)
                share, loc, inverse = shares[own], scratch.means[own], scratch.inverses[own]
                for i in range(m):
                    off, std = loc[i] - mean[i], 1.0 / inverse[i]
                    variance[i] += share[i] * (std * std + off * off)


@njit(nogil=True, cache=True)
def write_probabilities(codes, beta, thetas, Xt, out):
    """Write the class probabilities of each draw into ``out`` (n_draws, n, n_classes)."""
    scratch = allocate_scratch(codes)
    n, n_leaves, n_classes = Xt.shape[1], 2**codes.depth, codes.n_classes
    out[:, :, :] = 0.0
    for s in range(thetas.shape[0]):
        for start in range(0, n, BLOCK):
            m = min(BLOCK, n - start)
            _leaf_probabilities(codes, beta, thetas[s], Xt, start, m, scratch)
            evaluate_softmax(codes, thetas[s], Xt, start, m, scratch)
            for leaf in range(n_leaves):
                for i in range(m):
                    share = scratch.shares[(n_leaves - 1 + leaf) * m + i]
                    share /= scratch.inverses[leaf * m + i]
                    for c in range(n_classes):
                        at = (leaf * n_classes + c) * m + i
                        out[s, start + i, c] += share * scratch.smalls[at]


@njit(nogil=True, cache=True)
def write_gates(codes, beta, thetas, Xt, gates, leaves):
    """Write P(right) into ``gates`` and P(leaf) into ``leaves``.

    They are (n_draws, n, n_nodes) and (n_draws, n, n_leaves).
    """
    scratch = allocate_scratch(codes)
    n, n_leaves = Xt.shape[1], 2**codes.depth
    n_nodes = n_leaves - 1
    for s in range(thetas.shape[0]):
        for start in range(0, n, BLOCK):
            m = min(BLOCK, n - start)
            _leaf_probabilities(codes, beta, thetas[s], Xt, start, m, scratch)
            for node in range(n_nodes):
                for i in range(m):
                    z, t = scratch.logits[node * m + i], scratch.small[node * m + i]
                    gates[s, start + i, node] = (1.0 if z >= 0.0 else t) / (1.0 + t)
            for leaf in range(n_leaves):
                for i in range(m):
                    leaves[s, start + i, leaf] = scratch.shares[(n_nodes + leaf) * m + i]
