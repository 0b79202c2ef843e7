"""Adam on the ELBO (eq. 19, 20): whole training steps, reparameterised draws and all.

Every draw is a function of (seed, member, step), and all else that a step needs is in the state,
so a training cut into chunks of steps comes out the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.seeding import bits_at, stream
from gbuq_core.soft_trees.block_kernels import ShapeCodes, allocate_scratch, softplus_scalar
from gbuq_core.soft_trees.gaussian_kernels import (
    BATCHES,
    TRAINING,
    allocate_kl_work,
    combine,
    fill_draw,
    kl_gradient,
)
from gbuq_core.soft_trees.tree_kernels import add_gradient

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8  # the defaults of Adam


class Plan(NamedTuple):
    """How to train; see `training_plan`."""

    codes: ShapeCodes
    beta: float
    prior_scale: float
    learning_rate: float
    factor_rate: float
    n_steps: int
    warm_up: int
    n_draws: int
    antithetic: int
    batch_size: int
    learn_noise: int
    seed: np.uint64
    member: int


class State(NamedTuple):
    """What training changes.

    ``values`` holds mean, raw scales, columns of V and raw noise one after the other; ``mean``
    (P,), ``raw_scale`` (P,), ``columns`` (rank, P) and ``raw_noise`` (1,) are views of it. A scale
    is the softplus of the raw one. ``first`` and ``second`` are Adam's moments, ``step`` (1,) int64
    counts the steps done, ``order`` int64 is the order of the rows in this epoch, empty without
    minibatches.
    """

    values: np.ndarray
    mean: np.ndarray
    raw_scale: np.ndarray
    columns: np.ndarray
    raw_noise: np.ndarray
    first: np.ndarray
    second: np.ndarray
    step: np.ndarray
    order: np.ndarray


class Gradient(NamedTuple):
    """Gradient of the ELBO: ``values``, with views of it as in `State`."""

    values: np.ndarray
    mean: np.ndarray
    raw_scale: np.ndarray
    columns: np.ndarray
    raw_noise: np.ndarray


class Draw(NamedTuple):
    """One draw of the parameters, (n_parameters,) each unless said.

    ``scale`` and ``slope``: the scales and their derivatives in the raw ones; ``own`` and
    ``shared`` (rank,): the standard normals; ``theta``: the parameters; ``gradient``
    (n_parameters + 1,): the log-likelihood's, that in the raw noise last.
    """

    scale: np.ndarray
    slope: np.ndarray
    own: np.ndarray
    shared: np.ndarray
    theta: np.ndarray
    gradient: np.ndarray


@njit(nogil=True, cache=True)
def _allocate_gradient(rank, n):
    values = np.empty((2 + rank) * n + 1)
    columns = values[2 * n : (2 + rank) * n].reshape((rank, n))
    return Gradient(values, values[:n], values[n : 2 * n], columns, values[(2 + rank) * n :])


@njit(nogil=True, cache=True)
def _allocate_draw(rank, n):
    return Draw(np.empty(n), np.empty(n), np.empty(n), np.empty(rank), np.empty(n), np.empty(n + 1))


@njit(nogil=True, cache=True)
def rate_share(step, warm_up, n_steps):
    """Learning rate at a step over the largest: a linear warm-up, then a cosine down to 0."""
    if step < warm_up:
        return (step + 1.0) / (warm_up + 1.0)
    return 0.5 + 0.5 * math.cos(math.pi * (step - warm_up) / max(n_steps - warm_up, 1))


@njit(nogil=True, cache=True)
def _shuffle(order, base):
    """Fisher and Yates's shuffle of 0 .. n - 1."""
    for row in range(order.shape[0]):
        order[row] = row
    for last in range(order.shape[0] - 1, 0, -1):
        other = np.int64(bits_at(base, last) % np.uint64(last + 1))
        order[last], order[other] = order[other], order[last]


@njit(nogil=True, cache=True)
def _take_batch(plan, state, Xt, y, batch_X, batch_y):
    """Gather the rows of this step; every epoch has an order of its own and drops its remainder."""
    per_epoch = y.shape[0] // plan.batch_size
    epoch, number = state.step[0] // per_epoch, state.step[0] % per_epoch
    if number == 0:
        _shuffle(state.order, np.uint64(stream(plan.seed, plan.member, epoch, BATCHES)))
    for i in range(plan.batch_size):
        row = state.order[number * plan.batch_size + i]
        batch_y[i] = y[row]
        for j in range(Xt.shape[0]):
            batch_X[j, i] = Xt[j, row]


@njit(nogil=True, cache=True)
def _elbo_gradient(plan, state, Xt, y, n_rows, gradient, draw, scratch, work):
    """Write an unbiased estimate of the ELBO's gradient; return that of the ELBO, in nats.

    The likelihood of the rows given is scaled to ``n_rows``. With antithetic draws every second
    one is the mirror image of the one before.
    """
    rank, n = state.columns.shape
    scale, slope, own, shared = draw.scale, draw.slope, draw.own, draw.shared
    for d in range(n):
        scale[d], slope[d] = softplus_scalar(state.raw_scale[d])
    gaussian = (state.mean, scale, state.columns)
    value = -kl_gradient(
        gaussian, plan.prior_scale, work, gradient.mean, gradient.raw_scale, gradient.columns
    )
    gradient.raw_noise[0] = 0.0
    for i in range(gradient.values.shape[0]):
        gradient.values[i] = -gradient.values[i]
    weight = n_rows / max(y.shape[0], 1) / plan.n_draws
    base = np.uint64(stream(plan.seed, plan.member, state.step[0], TRAINING))
    for s in range(plan.n_draws):
        if plan.antithetic == 1 and s % 2 == 1:
            for d in range(n):
                own[d] = -own[d]
            for c in range(rank):
                shared[c] = -shared[c]
        else:
            fill_draw(base, s * (n + rank), shared, own)
        combine(state.mean, scale, state.columns, own, shared, draw.theta)
        for i in range(n + 1):
            draw.gradient[i] = 0.0
        value += weight * add_gradient(
            plan.codes, plan.beta, draw.theta, state.raw_noise[0], Xt, y, scratch, draw.gradient
        )
        for d in range(n):
            pull = weight * draw.gradient[d]
            gradient.mean[d] += pull
            gradient.raw_scale[d] += pull * own[d]
        for c in range(rank):
            amount, column = weight * shared[c], gradient.columns[c]
            for d in range(n):
                column[d] += amount * draw.gradient[d]
        gradient.raw_noise[0] += weight * draw.gradient[n]
    for d in range(n):
        gradient.raw_scale[d] *= slope[d]
    return value


@njit(nogil=True, cache=True)
def _adam(plan, state, gradient):
    """One ascent step of Adam (Kingma and Ba, 2014), V at a rate of its own."""
    rank, n = state.columns.shape
    step = state.step[0]
    share = rate_share(step, plan.warm_up, plan.n_steps)
    correct_1, correct_2 = 1.0 - _BETA_1 ** (step + 1), 1.0 - _BETA_2 ** (step + 1)
    ends = (2 * n, (2 + rank) * n, (2 + rank) * n + plan.learn_noise)
    rates = (plan.learning_rate, plan.factor_rate, plan.learning_rate)
    begin = 0
    for group in range(3):
        rate = rates[group] * share / correct_1
        for i in range(begin, ends[group]):
            slope = gradient.values[i]
            state.first[i] += (1.0 - _BETA_1) * (slope - state.first[i])
            state.second[i] += (1.0 - _BETA_2) * (slope * slope - state.second[i])
            root = math.sqrt(state.second[i] / correct_2)
            state.values[i] += rate * state.first[i] / (root + _EPSILON)
        begin = ends[group]


@njit(nogil=True, cache=True)
def run_steps(plan, state, Xt, y, elbo_path, n_steps):
    """Do the next ``n_steps`` steps of the plan, or as many as are left of it.

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
    rank, n = state.columns.shape
    n_rows = y.shape[0]
    gradient, draw = _allocate_gradient(rank, n), _allocate_draw(rank, n)
    scratch, work = allocate_scratch(plan.codes), allocate_kl_work(rank, n)
    batched = 0 < plan.batch_size < n_rows
    size = plan.batch_size if batched else 0
    batch_X, batch_y = np.empty((Xt.shape[0], size)), np.empty(size)
    for _ in range(min(n_steps, plan.n_steps - state.step[0])):
        X_step, y_step = Xt, y
        if batched:
            _take_batch(plan, state, Xt, y, batch_X, batch_y)
            X_step, y_step = batch_X, batch_y
        value = _elbo_gradient(plan, state, X_step, y_step, n_rows, gradient, draw, scratch, work)
        elbo_path[state.step[0]] = value
        _adam(plan, state, gradient)
        state.step[0] += 1
