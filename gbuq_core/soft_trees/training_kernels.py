"""Adam on the ELBO (eq. 19, 20): whole training steps, reparameterised draws and all.

Every draw is a function of (seed, member, step), and all else that a step needs is in the state,
so a training cut into chunks of steps comes out the same.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import INNER, OUTER
from gbuq_core.seeding import bits_at, stream
from gbuq_core.soft_trees.block_kernels import ShapeCodes, allocate_scratch, softplus_scalar
from gbuq_core.soft_trees.class_kernels import class_gradient
from gbuq_core.soft_trees.gaussian_kernels import (
    BATCHES,
    TRAINING,
    allocate_kl_work,
    combine,
    fill_draw,
    kl_gradient,
)
from gbuq_core.soft_trees.mean_kernels import mean_gradient
from gbuq_core.soft_trees.mixture_kernels import mixture_gradient

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


@njit(nogil=True, cache=True, inline="always")
def _allocate_gradient(state):
    rank, n = state.columns.shape
    values = np.empty((2 + rank) * n + 1)
    columns = values[2 * n : (2 + rank) * n].reshape((rank, n))
    return Gradient(values, values[:n], values[n : 2 * n], columns, values[(2 + rank) * n :])


@njit(nogil=True, cache=True, inline="always")
def _allocate_draw(state):
    rank, n = state.columns.shape
    return Draw(np.empty(n), np.empty(n), np.empty(n), np.empty(rank), np.empty(n), np.empty(n + 1))


@njit(nogil=True, cache=True, inline="always")
def rate_share(step, warm_up, n_steps):
    """Learning rate at a step over the largest: a linear warm-up, then a cosine down to 0."""
    if step < warm_up:
        return (step + 1.0) / (warm_up + 1.0)
    return 0.5 + 0.5 * math.cos(math.pi * (step - warm_up) / max(n_steps - warm_up, 1))


@njit(nogil=True, cache=True, **INNER)
def _shuffle(order, base):
    """Fisher and Yates's shuffle of 0 .. n - 1."""
    for row in range(order.shape[0]):
        order[row] = row
    for last in range(order.shape[0] - 1, 0, -1):
        other = np.int64(bits_at(base, last) % np.uint64(last + 1))
        order[last], order[other] = order[other], order[last]


@njit(nogil=True, cache=True, inline="always")
def _allocate_batch(plan, Xt, y):
    """Room for the rows of a minibatch; for none where a step takes all rows."""
    size = plan.batch_size if 0 < plan.batch_size < y.shape[0] else 0
    return np.empty((Xt.shape[0], size)), np.empty(size)


@njit(nogil=True, cache=True, inline="always")
def _rows_of_step(plan, state, Xt, y, batch):
    """Return all rows or, of minibatches, those of this step, gathered into ``batch``.

    Every epoch has an order of its own and drops its remainder.
    """
    X_step, y_step = Xt, y
    size = batch[1].shape[0]
    if size > 0:
        X_step, y_step = batch
        per_epoch = y.shape[0] // size
        epoch, number = state.step[0] // per_epoch, state.step[0] % per_epoch
        if number == 0:
            _shuffle(state.order, np.uint64(stream(plan.seed, plan.member, epoch, BATCHES)))
        for i in range(size):
            row = state.order[number * size + i]
            y_step[i] = y[row]
            for j in range(Xt.shape[0]):
                X_step[j, i] = Xt[j, row]
    return X_step, y_step


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _begin_step(plan, state, gradient, draw, work):
    """Write scales and the gradient of minus the KL; return minus the KL, in nats."""
    for d in range(state.mean.shape[0]):
        draw.scale[d], draw.slope[d] = softplus_scalar(state.raw_scale[d])
    gaussian = (state.mean, draw.scale, state.columns)
    divergence = kl_gradient(
        gaussian, plan.prior_scale, work, gradient.mean, gradient.raw_scale, gradient.columns
    )
    gradient.raw_noise[0] = 0.0
    for i in range(gradient.values.shape[0]):
        gradient.values[i] = -gradient.values[i]
    return -divergence


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _begin_draw(plan, state, s, draw):
    """Write draw ``s`` of the parameters; antithetic, every second one mirrors the one before."""
    rank, n = state.columns.shape
    if plan.antithetic == 1 and s % 2 == 1:
        for d in range(n):
            draw.own[d] = -draw.own[d]
        for c in range(rank):
            draw.shared[c] = -draw.shared[c]
    else:
        base = np.uint64(stream(plan.seed, plan.member, state.step[0], TRAINING))
        fill_draw(base, s * (n + rank), draw.shared, draw.own)
    combine(state.mean, draw.scale, state.columns, draw.own, draw.shared, draw.theta)
    for i in range(n + 1):
        draw.gradient[i] = 0.0


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def _end_draw(weight, draw, gradient):
    """Add ``weight`` times the log-likelihood's gradient at the draw to that of the ELBO."""
    rank, n = gradient.columns.shape
    for d in range(n):
        pull = weight * draw.gradient[d]
        gradient.mean[d] += pull
        gradient.raw_scale[d] += pull * draw.own[d]
    for c in range(rank):
        amount, column = weight * draw.shared[c], gradient.columns[c]
        for d in range(n):
            column[d] += amount * draw.gradient[d]
    gradient.raw_noise[0] += weight * draw.gradient[n]


@njit(nogil=True, cache=True, inline="always", fastmath={"contract"})
def _end_step(plan, state, gradient, draw, value, elbo_path):
    """Note the ELBO's estimate, then ascend."""
    for d in range(state.mean.shape[0]):
        gradient.raw_scale[d] *= draw.slope[d]
    elbo_path[state.step[0]] = value
    _adam(plan, state, gradient)
    state.step[0] += 1


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
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


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def run_mixture_steps(plan, state, Xt, y, elbo_path, n_steps):
    """Do steps of the plan for a tree of Gaussian leaves; see `training.run_steps`."""
    gradient, draw = _allocate_gradient(state), _allocate_draw(state)
    rank, n = state.columns.shape
    scratch, work = allocate_scratch(plan.codes), allocate_kl_work(rank, n)
    batch = _allocate_batch(plan, Xt, y)
    for _ in range(min(n_steps, plan.n_steps - state.step[0])):
        X_step, y_step = _rows_of_step(plan, state, Xt, y, batch)
        weight = y.shape[0] / max(y_step.shape[0], 1) / plan.n_draws
        value = _begin_step(plan, state, gradient, draw, work)
        for s in range(plan.n_draws):
            _begin_draw(plan, state, s, draw)
            value += weight * mixture_gradient(
                plan.codes,
                plan.beta,
                draw.theta,
                state.raw_noise[0],
                X_step,
                y_step,
                scratch,
                draw.gradient,
            )
            _end_draw(weight, draw, gradient)
        _end_step(plan, state, gradient, draw, value, elbo_path)


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def run_mean_steps(plan, state, Xt, y, elbo_path, n_steps):
    """Do steps of the plan for a tree of a mean output; see `training.run_steps`."""
    gradient, draw = _allocate_gradient(state), _allocate_draw(state)
    rank, n = state.columns.shape
    scratch, work = allocate_scratch(plan.codes), allocate_kl_work(rank, n)
    batch = _allocate_batch(plan, Xt, y)
    for _ in range(min(n_steps, plan.n_steps - state.step[0])):
        X_step, y_step = _rows_of_step(plan, state, Xt, y, batch)
        weight = y.shape[0] / max(y_step.shape[0], 1) / plan.n_draws
        value = _begin_step(plan, state, gradient, draw, work)
        for s in range(plan.n_draws):
            _begin_draw(plan, state, s, draw)
            value += weight * mean_gradient(
                plan.codes,
                plan.beta,
                draw.theta,
                state.raw_noise[0],
                X_step,
                y_step,
                scratch,
                draw.gradient,
            )
            _end_draw(weight, draw, gradient)
        _end_step(plan, state, gradient, draw, value, elbo_path)


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def run_class_steps(plan, state, Xt, y, elbo_path, n_steps):
    """Do steps of the plan for a tree of softmax leaves; see `training.run_steps`."""
    gradient, draw = _allocate_gradient(state), _allocate_draw(state)
    rank, n = state.columns.shape
    scratch, work = allocate_scratch(plan.codes), allocate_kl_work(rank, n)
    batch = _allocate_batch(plan, Xt, y)
    for _ in range(min(n_steps, plan.n_steps - state.step[0])):
        X_step, y_step = _rows_of_step(plan, state, Xt, y, batch)
        weight = y.shape[0] / max(y_step.shape[0], 1) / plan.n_draws
        value = _begin_step(plan, state, gradient, draw, work)
        for s in range(plan.n_draws):
            _begin_draw(plan, state, s, draw)
            value += weight * class_gradient(
                plan.codes,
                plan.beta,
                draw.theta,
                state.raw_noise[0],
                X_step,
                y_step,
                scratch,
                draw.gradient,
            )
            _end_draw(weight, draw, gradient)
        _end_step(plan, state, gradient, draw, value, elbo_path)
