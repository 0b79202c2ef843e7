"""What draws of a soft tree's parameters predict for rows.

Rows come feature by feature, ``Xt`` (n_features, n) C-contiguous; ``thetas`` is
(n_draws, n_parameters) float64.
"""

from __future__ import annotations

from numba import njit

from gbuq_core.compiling import INNER, OUTER
from gbuq_core.soft_trees.block_kernels import (
    BLOCK,
    allocate_scratch,
    evaluate_gates,
    exp_into,
    reach_nodes,
)
from gbuq_core.soft_trees.class_kernels import evaluate_softmax
from gbuq_core.soft_trees.mixture_kernels import evaluate_leaves


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
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


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def write_mixture_moments(codes, beta, thetas, Xt, means, variances):
    """Write mean and variance of the target given each draw, each (n_draws, n).

    The variance is that inside the leaves plus that between their means.
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
            _leaf_probabilities(codes, beta, thetas[s], Xt, start, m, scratch)
            evaluate_leaves(codes, thetas[s], Xt, start, m, scratch)
            shares = scratch.shares[(n_leaves - 1) * m :]
            for leaf in range(n_leaves):
                own = slice(leaf * m, (leaf + 1) * m)
                share, loc = shares[own], scratch.means[own]
                for i in range(m):
                    mean[i] += share[i] * loc[i]
            for leaf in range(n_leaves):
                own = slice(leaf * m, (leaf + 1) * m)
                share, loc, inverse = shares[own], scratch.means[own], scratch.inverses[own]
                for i in range(m):
                    off, std = loc[i] - mean[i], 1.0 / inverse[i]
                    variance[i] += share[i] * (std * std + off * off)


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
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


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
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
