"""What draws of a soft tree's parameters say about rows: plain functions over the kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.array_checks import check_array, check_same_length
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.soft_trees.block_kernels import MIN_RAW, allocate_scratch
from gbuq_core.soft_trees.class_kernels import class_gradient, write_class_log_densities
from gbuq_core.soft_trees.layout import TreeShape, inverse_softplus, softplus
from gbuq_core.soft_trees.mean_kernels import mean_gradient, write_mean_log_densities, write_means
from gbuq_core.soft_trees.mixture_kernels import mixture_gradient, write_mixture_log_densities
from gbuq_core.soft_trees.tree_kernels import (
    write_gates,
    write_mixture_moments,
    write_probabilities,
)
from gbuq_core.validation import check_number

Floats = NDArray[np.float64]

# One kernel an output: nobody waits until those of the others are compiled.
_MOMENTS = {"mixture": write_mixture_moments, "mean": write_means}
_LOG_DENSITIES = {
    "mixture": write_mixture_log_densities,
    "mean": write_mean_log_densities,
    "classes": write_class_log_densities,
}
_GRADIENTS = {"mixture": mixture_gradient, "mean": mean_gradient, "classes": class_gradient}


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


class LogLikelihood(NamedTuple):
    """Log-likelihood, its gradient (n_parameters,) and its derivative in the raw noise."""

    value: float
    gradient: Floats
    noise_gradient: float


def _checked(shape: TreeShape, thetas: Any, X: Any) -> tuple[Floats, Floats]:
    """Return ``thetas`` (n_draws, n_parameters) and the rows, feature by feature."""
    thetas, X = check_array("thetas", thetas, 2), check_array("X", X, 2)
    if thetas.shape[1] != shape.n_parameters:
        raise InvalidData(
            f"thetas must have {shape.n_parameters} columns, the parameters of the tree; "
            f"got {thetas.shape[1]}."
        )
    if X.shape[1] != shape.n_features:
        raise InvalidData(f"X must have {shape.n_features} features; got {X.shape[1]}.")
    return np.ascontiguousarray(thetas), np.ascontiguousarray(X.T)


def _checked_targets(shape: TreeShape, y: Any, n_rows: int) -> Floats:
    y = check_array("y", y, 1)
    check_same_length(X=np.empty(n_rows), y=y)
    if shape.output == "classes" and not np.isin(y, np.arange(shape.n_classes)).all():
        raise InvalidData(f"y must hold the class numbers 0 to {shape.n_classes - 1}.")
    return np.ascontiguousarray(y)


def _checked_beta(beta: float) -> float:
    return float(check_number("beta", beta, 0, low_open=True))


def draw_moments(shape: TreeShape, beta: float, thetas: Any, X: Any) -> Moments:
    """Return mean and variance of the target given each draw (eq. 6 or eq. 4)."""
    if shape.output == "classes":
        raise InvalidParameter("Classes have no moments; use draw_probabilities.")
    thetas, Xt = _checked(shape, thetas, X)
    moments = Moments(*np.empty((2, len(thetas), Xt.shape[1])))
    _MOMENTS[shape.output](shape.codes, _checked_beta(beta), thetas, Xt, *moments)
    return moments


def draw_probabilities(shape: TreeShape, beta: float, thetas: Any, X: Any) -> Floats:
    """Return the class probabilities of each draw, (n_draws, n, n_classes)."""
    if shape.output != "classes":
        raise InvalidParameter("Only a tree for classes has probabilities; use draw_moments.")
    thetas, Xt = _checked(shape, thetas, X)
    out = np.empty((len(thetas), Xt.shape[1], shape.n_classes))
    write_probabilities(shape.codes, _checked_beta(beta), thetas, Xt, out)
    return out


def draw_gates(shape: TreeShape, beta: float, thetas: Any, X: Any) -> Gates:
    """Return the gates of each draw and the probabilities of the leaves (eq. 7 to 9)."""
    thetas, Xt = _checked(shape, thetas, X)
    size = (len(thetas), Xt.shape[1])
    gates = Gates(np.empty((*size, shape.n_nodes)), np.empty((*size, shape.n_leaves)))
    write_gates(shape.codes, _checked_beta(beta), thetas, Xt, *gates)
    return gates


def draw_leaves(shape: TreeShape, thetas: Any, X: Any) -> Leaves:
    """Return means and stds of the Gaussian leaves at rows (eq. 10 to 14), without the gates."""
    if shape.output == "classes":
        raise InvalidParameter("The leaves of a tree for classes have no mean and no std.")
    thetas, Xt = _checked(shape, thetas, X)
    parts = shape.split(thetas)

    def lines(weights: Floats, biases: Floats) -> Floats:
        if not weights.shape[-1]:
            return np.repeat(biases[:, None], Xt.shape[1], axis=1)
        return (weights @ Xt).transpose(0, 2, 1) + biases[:, None]

    means = lines(parts.leaf_weights, parts.leaf_biases)
    raws = lines(parts.scale_weights, parts.scale_biases)
    return Leaves(means, softplus(np.maximum(raws, MIN_RAW)))


def draw_log_densities(
    shape: TreeShape, beta: float, thetas: Any, X: Any, y: Any, noises: Any = 1.0
) -> Floats:
    """Return ``log p(y_i | x_i, theta_s)`` as (n_draws, n)."""
    thetas, Xt = _checked(shape, thetas, X)
    y = _checked_targets(shape, y, Xt.shape[1])
    noises = np.broadcast_to(np.asarray(noises, dtype=np.float64), (len(thetas),))
    if not (np.isfinite(noises).all() and (noises > 0).all()):
        raise InvalidParameter("noises must be greater than 0: one number, or one for each draw.")
    out = np.empty((len(thetas), Xt.shape[1]))
    _LOG_DENSITIES[shape.output](
        shape.codes, _checked_beta(beta), thetas, np.ascontiguousarray(noises), Xt, y, out
    )
    return out


def log_likelihood(
    shape: TreeShape, beta: float, theta: Any, X: Any, y: Any, noise: float = 1.0
) -> LogLikelihood:
    """Return ``log p(y | X, theta)`` and its gradient, by hand in kernels."""
    theta = check_array("theta", theta, 1)
    thetas, Xt = _checked(shape, theta[None], X)
    y = _checked_targets(shape, y, Xt.shape[1])
    raw_noise = float(inverse_softplus(check_number("noise", noise, 0, low_open=True)))
    gradient = np.zeros(shape.n_parameters + 1)
    codes, beta = shape.codes, _checked_beta(beta)
    value = _GRADIENTS[shape.output](
        codes, beta, thetas[0], raw_noise, Xt, y, allocate_scratch(codes), gradient
    )
    return LogLikelihood(float(value), gradient[:-1], float(gradient[-1]))
