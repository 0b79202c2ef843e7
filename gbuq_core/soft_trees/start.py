"""Where training starts: gates at training rows, leaves fitted to the rows that reach them.

Gradients of a gate vanish where no row is near it, so gates start at rows; a leaf that starts far
from its rows would first have to raise its std. The prior stays what it is: this is only the point
from which the ELBO is climbed.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from gbuq_core.soft_trees.layout import TreeParts, TreeShape, inverse_softplus

MAX_START_ROWS = 5_000  # more tell no more about where to start
_RIDGE = 0.3  # of the leaves' least squares, in units of a standardised row
_SMALLEST_STD = 0.05  # of a leaf at the start, in units of the target's std


def start_means(
    shape: TreeShape, X: np.ndarray, target: np.ndarray, beta: float, seed: int
) -> np.ndarray:
    """A parameter vector (n_parameters,) to start from.

    Parameters
    ----------
    X : (n, p) float64
        Standardised rows.
    target : (n,)
        The inner target, or class codes.
    beta : float
        The gates' inverse temperature (eq. 9).
    seed : int
        Which of the possible starts.

    Returns
    -------
    ndarray of shape (n_parameters,)
    """
    rng = np.random.default_rng([seed, 0x57A7])
    if len(X) > MAX_START_ROWS:
        chosen = np.sort(rng.choice(len(X), MAX_START_ROWS, replace=False))
        X, target = X[chosen], target[chosen]
    theta = np.zeros(shape.n_parameters)
    if len(X) == 0:
        return theta
    parts = shape.split(theta)  # views
    reach = _place_gates(shape, X, beta, rng, parts)
    if shape.output == "classes":
        _start_classes(shape, reach, target, parts)
    else:
        _start_lines(shape, X, reach, target, parts)
    return theta


def _place_gates(
    shape: TreeShape, X: np.ndarray, beta: float, rng: np.random.Generator, parts: TreeParts
) -> np.ndarray:
    """Put each gate through a row that reaches it, in a random direction: reach (n, n_leaves)."""
    weights, biases = parts.node_weights, parts.node_biases
    reach = np.ones((len(X), 2 * shape.n_nodes + 1))
    for node in range(shape.n_nodes):
        here = reach[:, node]
        row = X[np.searchsorted(np.cumsum(here), rng.random() * here.sum())]
        direction = rng.normal(size=X.shape[1])
        weights[node] = direction / np.linalg.norm(direction)
        biases[node] = -row @ weights[node]
        right = expit(beta * (X @ weights[node] + biases[node]))
        reach[:, 2 * node + 1], reach[:, 2 * node + 2] = here * (1.0 - right), here * right
    return reach[:, shape.n_nodes :]


def _start_lines(
    shape: TreeShape, X: np.ndarray, reach: np.ndarray, target: np.ndarray, parts: TreeParts
) -> None:
    """Leaf means by ridge least squares, leaf stds from what they leave."""
    linear = shape.leaf == "linear"
    columns = np.column_stack([X, np.ones(len(X))]) if linear else np.ones((len(X), 1))
    ridge = _RIDGE * np.eye(columns.shape[1])
    for leaf in range(shape.n_leaves):
        weighted = columns * reach[:, leaf, None]
        line = np.linalg.solve(columns.T @ weighted + ridge, weighted.T @ target)
        parts.leaf_biases[leaf] = line[-1]
        if linear:
            parts.leaf_weights[leaf] = line[:-1]
        if shape.output == "mixture":
            left = target - columns @ line
            weight = reach[:, leaf].sum()
            spread = np.sqrt((reach[:, leaf] @ left**2) / weight) if weight > 0.0 else 1.0
            parts.scale_biases[leaf] = inverse_softplus(max(spread, _SMALLEST_STD))


def _start_classes(
    shape: TreeShape, reach: np.ndarray, codes: np.ndarray, parts: TreeParts
) -> None:
    """Leaf logits from the classes of the rows that reach each leaf."""
    one_hot = codes[:, None] == np.arange(shape.n_classes)
    share = reach.T @ one_hot + 1.0
    logits = np.log(share / share.sum(axis=1, keepdims=True))
    parts.leaf_biases[:] = logits - logits.mean(axis=1, keepdims=True)
