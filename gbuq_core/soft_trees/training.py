"""Training a soft tree's posterior: the plan, the start, and what comes out.

`run_steps` does the steps, so a fit calls it in chunks and looks up in between.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidParameter
from gbuq_core.soft_trees.block_kernels import CLASSES, MEAN, MIXTURE
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.gaussian_kernels import start_columns
from gbuq_core.soft_trees.layout import TreeShape, inverse_softplus, softplus
from gbuq_core.soft_trees.training_kernels import (
    Plan,
    State,
    run_class_steps,
    run_mean_steps,
    run_mixture_steps,
)
from gbuq_core.validation import check_array, check_number

__all__ = [
    "factor_rate",
    "noise_of",
    "posterior",
    "run_steps",
    "start_state",
    "training_plan",
]

Floats = NDArray[np.float64]

_RUNS = {MIXTURE: run_mixture_steps, MEAN: run_mean_steps, CLASSES: run_class_steps}

# The rank up to which V trains at the learning rate of all else.
_FULL_RATE_RANK = 5


def factor_rate(rank: int, learning_rate: float) -> float:
    """Return the learning rate of V: lower the more columns it has.

    Adam moves each entry by about its rate whatever the gradient, so a step moves a row of V, whose
    length is the std that it gives to a parameter, by the rate times sqrt(rank) if the columns
    agree. The rate falls with the rank itself, which keeps the rows' steps short besides: at the
    full rate rank 20 ended 70 nats lower on 150 rows.

    Examples
    --------
    >>> factor_rate(5, 0.03), factor_rate(20, 0.03)
    (0.03, 0.0075)
    """
    return learning_rate * min(1.0, _FULL_RATE_RANK / max(rank, 1))


def training_plan(
    shape: TreeShape,
    n_rows: int,
    *,
    beta: float = 2.0,
    prior_scale: float = 2.5,
    rank: int = 5,
    n_steps: int = 3000,
    learning_rate: float = 0.03,
    n_draws: int = 2,
    antithetic: bool = False,
    batch_size: int | None = None,
    learn_noise: bool | None = None,
    warm_up: float = 0.03,
    seed: int = 0,
    member: int = 0,
) -> Plan:
    """Return how to train, for `run_steps`.

    Parameters
    ----------
    shape : TreeShape
    n_rows : int
        Rows of the training table; 0 is allowed and leads to the prior.
    beta : float
        Inverse temperature of the gates (eq. 9).
    prior_scale : float
        Std of the prior (eq. 15).
    rank : int
        Columns of V; 0 is mean field.
    n_steps : int
        Steps of Adam, over which the learning rate falls to 0 as a cosine.
    learning_rate : float
    n_draws : int
        Draws of the parameters a step (eq. 20).
    antithetic : bool
        Whether every second draw mirrors the one before: steadier gradients in the mean, noisier
        ones in scale and V once trained, and no higher ELBO in our trials.
    batch_size : int, optional
        Rows a step; all of them by default.
    learn_noise : bool, optional
        Whether the noise std of a mean output is learnt as a point; by default it is.
    warm_up : float
        Share of the steps over which the learning rate rises.
    seed, member : int
        Name the random numbers.

    Raises
    ------
    InvalidParameter
        With one sentence that names what is out of range.

    Examples
    --------
    >>> training_plan(TreeShape(3, 1), n_rows=150, n_steps=1000).warm_up
    30
    """
    for name, value in (("beta", beta), ("prior_scale", prior_scale)):
        check_number(name, value, 0, low_open=True)
    check_number("learning_rate", learning_rate, 0, low_open=True)
    check_number("warm_up", warm_up, 0, 1)
    for name, value, low in (("n_steps", n_steps, 1), ("n_draws", n_draws, 1), ("rank", rank, 0)):
        check_number(name, value, low, integer=True)
    if batch_size is not None:
        check_number("batch_size", batch_size, 1, integer=True)
    if learn_noise is None:
        learn_noise = shape.output == "mean"
    elif learn_noise and shape.output != "mean":
        raise InvalidParameter("Only a mean output has a noise to learn; leave learn_noise away.")
    return Plan(
        shape.codes,
        float(beta),
        float(prior_scale),
        float(learning_rate),
        factor_rate(rank, float(learning_rate)),
        int(n_steps),
        round(warm_up * n_steps),
        int(n_draws),
        int(antithetic),
        int(batch_size) if batch_size is not None and batch_size < n_rows else 0,
        int(learn_noise),
        np.uint64(seed),
        int(member),
    )


def start_state(
    shape: TreeShape,
    mean: Any,
    scale: Any,
    rank: int,
    *,
    noise: float = 1.0,
    factor_scale: float = 0.01,
    n_rows: int = 0,
    seed: int = 0,
    member: int = 0,
) -> State:
    """Return a state to train from.

    Parameters
    ----------
    shape : TreeShape
    mean : array-like of shape (n_parameters,)
    scale : float or array-like of shape (n_parameters,)
        Stds, greater than 0.
    rank : int
    noise : float
        Std of the noise of a mean output, where it starts or stays.
    factor_scale : float
        Std of the entries of V at the start; at V = 0 its gradient would vanish.
    n_rows : int
        Rows of the training table where minibatches are used.
    seed, member : int
        Name the random numbers that V starts from.

    Examples
    --------
    >>> state = start_state(TreeShape(1, 1), np.zeros(10), 0.1, rank=2)
    >>> state.mean.shape, state.columns.shape
    ((10,), (2, 10))
    """
    n = shape.n_parameters
    mean = check_array("mean", mean, 1)
    if mean.shape != (n,):
        raise InvalidParameter(f"mean must have {n} entries, the tree's; got {len(mean)}.")
    check_number("rank", rank, 0, integer=True)
    check_number("noise", noise, 0, low_open=True)
    scale = np.broadcast_to(np.asarray(scale, dtype=np.float64), (n,))
    if not (np.isfinite(scale).all() and (scale > 0).all()):
        raise InvalidParameter("scale must be finite and greater than 0.")
    values = np.empty((2 + rank) * n + 1)
    state = _with_views(
        values,
        rank,
        n,
        np.zeros_like(values),
        np.zeros_like(values),
        np.zeros(1, dtype=np.int64),
        np.arange(n_rows, dtype=np.int64),
    )
    state.mean[:] = mean
    state.raw_scale[:] = inverse_softplus(scale)
    state.raw_noise[0] = inverse_softplus(noise)
    start_columns(np.uint64(seed), member, float(factor_scale), state.columns)
    return state


def _with_views(values: Floats, rank: int, n: int, *others: Any) -> State:
    columns = values[2 * n : (2 + rank) * n].reshape(rank, n)
    return State(values, values[:n], values[n : 2 * n], columns, values[(2 + rank) * n :], *others)


def run_steps(
    plan: Plan, state: State, Xt: Floats, y: Floats, elbo_path: Floats, n_steps: int
) -> None:
    """Do the next ``n_steps`` steps of the plan, or as many as are left of it.

    Each output has a kernel of its own: nobody waits until those of the others are compiled.

    Parameters
    ----------
    plan : Plan
    state : State
        Changed in place.
    Xt : float64 array of shape (n_features, n), C-contiguous
    y : float64 array of shape (n,)
    elbo_path : float64 array of shape (plan.n_steps,)
        Written: the estimate of the ELBO in nats before each step.
    n_steps : int
    """
    _RUNS[plan.codes.output](plan, state, Xt, y, elbo_path, n_steps)


def posterior(state: State) -> LowRankGaussian:
    """Return the posterior as it is now; further steps do not change it.

    Examples
    --------
    >>> posterior(start_state(TreeShape(1, 1), np.zeros(10), 0.1, rank=2)).factor.shape
    (10, 2)
    """
    return LowRankGaussian(
        state.mean.copy(), softplus(state.raw_scale), np.ascontiguousarray(state.columns.T)
    )


def noise_of(state: State) -> float:
    """Return the noise std of a mean output."""
    return float(softplus(state.raw_noise[0]))
