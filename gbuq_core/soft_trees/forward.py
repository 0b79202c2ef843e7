"""What draws of a soft tree's parameters say about rows: plain functions over the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.soft_trees.block_kernels import MIN_RAW
from gbuq_core.soft_trees.class_kernels import write_class_log_densities
from gbuq_core.soft_trees.layout import TreeShape, softplus
from gbuq_core.soft_trees.mean_kernels import write_mean_log_densities, write_means
from gbuq_core.soft_trees.mixture_kernels import write_mixture_log_densities
from gbuq_core.soft_trees.tree_kernels import (
    write_gates,
    write_mixture_moments,
    write_probabilities,
)

Floats = NDArray[np.float64]

# One kernel an output: nobody waits until those of the others are compiled.
_MOMENTS = {"mixture": write_mixture_moments, "mean": write_means}
_LOG_DENSITIES = {
    "mixture": write_mixture_log_densities,
    "mean": write_mean_log_densities,
    "classes": write_class_log_densities,
}


class Moments(NamedTuple):
    """Mean and variance of the target given each draw, each (n_draws, n)."""

    means: Floats
    variances: Floats


class Gates(NamedTuple):
    """P(right | node) (n_draws, n, n_nodes) and P(leaf) (n_draws, n, n_leaves) of each draw."""

    right: Floats
    leaves: Floats


class Leaves(NamedTuple):
    """Means and stds (none but of a mixture) of the leaves at each row, (n_draws, n, n_leaves)."""

    means: Floats
    stds: Floats


def draw_moments(shape: TreeShape, beta: float, thetas: Floats, X: Floats) -> Moments:
    """Return mean and variance of the target given each draw (eq. 6 or eq. 4)."""
    moments = Moments(*np.empty((2, len(thetas), len(X))))
    Xt = np.ascontiguousarray(X.T)
    _MOMENTS[shape.output](shape.codes, float(beta), thetas, Xt, *moments)
    return moments


def draw_probabilities(shape: TreeShape, beta: float, thetas: Floats, X: Floats) -> Floats:
    """Return the class probabilities of each draw, (n_draws, n, n_classes)."""
    out = np.empty((len(thetas), len(X), shape.n_classes))
    write_probabilities(shape.codes, float(beta), thetas, np.ascontiguousarray(X.T), out)
    return out


def draw_gates(shape: TreeShape, beta: float, thetas: Floats, X: Floats) -> Gates:
    """Return the gates of each draw and the probabilities of the leaves (eq. 7 to 9)."""
    size = (len(thetas), len(X))
    gates = Gates(np.empty((*size, shape.n_nodes)), np.empty((*size, shape.n_leaves)))
    write_gates(shape.codes, float(beta), thetas, np.ascontiguousarray(X.T), *gates)
    return gates


def draw_leaves(shape: TreeShape, thetas: Floats, X: Floats) -> Leaves:
    """Return means and stds of the Gaussian leaves at rows (eq. 10 to 14), without the gates."""
    parts, Xt = shape.split(thetas), np.ascontiguousarray(X.T)

    def lines(weights: Floats, biases: Floats) -> Floats:
        if not weights.shape[-1]:
            return np.repeat(biases[:, None], Xt.shape[1], axis=1)
        return (weights @ Xt).transpose(0, 2, 1) + biases[:, None]

    means = lines(parts.leaf_weights, parts.leaf_biases)
    raws = lines(parts.scale_weights, parts.scale_biases)
    return Leaves(means, softplus(np.maximum(raws, MIN_RAW)))


def draw_log_densities(
    shape: TreeShape, beta: float, thetas: Floats, X: Floats, y: Floats, noise: float = 1.0
) -> Floats:
    """Return ``log p(y_i | x_i, theta_s)`` as (n_draws, n)."""
    Xt, y = np.ascontiguousarray(X.T), np.ascontiguousarray(y)
    noises, out = np.full(len(thetas), noise), np.empty((len(thetas), len(X)))
    _LOG_DENSITIES[shape.output](shape.codes, float(beta), thetas, noises, Xt, y, out)
    return out
