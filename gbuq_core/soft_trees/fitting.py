"""Fitting one soft tree: where it starts, the steps of its posterior, and the climb of the ELBO.

Gradients of a gate vanish where no row is near it, so gates start at training rows; a leaf that
starts far from its rows would first have to raise its std, so leaves start fitted to the rows that
reach them. The prior stays what it is: this is only the point from which the ELBO is climbed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gbuq_core.compilers import need_kernels
from gbuq_core.jobs import advance, parallel_map, stage
from gbuq_core.soft_trees.block_kernels import CLASSES, MEAN, MIXTURE
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.gaussian_kernels import start_columns
from gbuq_core.soft_trees.layout import TreeParts, TreeShape, inverse_softplus, softplus
from gbuq_core.soft_trees.results import ElboPath, FittedTree, Snapshots
from gbuq_core.soft_trees.training_kernels import (
    Plan,
    State,
    run_class_steps,
    run_mean_steps,
    run_mixture_steps,
)

Floats = NDArray[np.float64]

_STEPS = {"mixture": "mixtures", "mean": "means", "classes": "soft_classes"}
_RUNS = {MIXTURE: run_mixture_steps, MEAN: run_mean_steps, CLASSES: run_class_steps}

# The rank up to which V trains at the learning rate of all else.
_FULL_RATE_RANK = 5
MAX_START_ROWS = 5_000  # more tell no more about where to start
_RIDGE = 0.3  # of the leaves' least squares, in units of a standardised row
_SMALLEST_STD = 0.05  # of a leaf at the start, in units of the target's std
ALL_ROWS_UP_TO = 5_000  # beyond, each step sees a minibatch unless batch_size says otherwise
DEFAULT_BATCH = 1_000
N_SNAPSHOTS = 60
START_SCALE = 0.05  # posterior stds at the start
_START_FACTOR = 0.01  # and the size of V
START_NOISE = 0.5  # and the noise std of a mean output, in units of the target's std
_CHUNK_SECONDS = 0.04  # between two looks at whether anybody still wants the result
_HEAT = 0.2  # share of the steps after which the best of several starts goes on alone
_RECENT_STEPS = 100  # whose mean ELBO decides
_SETTLED = 0.4  # share of the steps before which flatness is not looked for
_WINDOW = 0.1  # share of the steps whose mean ELBO is compared with that of the window before
_LANDING = 1.5  # once it is flat, the rate falls to 0 until this multiple of the steps so far


def factor_rate(rank: int, learning_rate: float) -> float:
    """Return the learning rate of V: lower the more columns it has.

    Adam moves each entry by about its rate whatever the gradient, so a step moves a row of V, whose
    length is the std that it gives to a parameter, by the rate times sqrt(rank) if the columns
    agree. The rate falls with the rank itself, which keeps the rows' steps short besides: at the
    full rate rank 20 ended 70 nats lower on 150 rows.
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
    """Return how to train, for `run_steps`, by numbers that are checked already."""
    if learn_noise is None:
        learn_noise = shape.output == "mean"
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
    mean: np.ndarray,
    scale: float,
    rank: int,
    *,
    noise: float = 1.0,
    n_rows: int = 0,
    seed: int = 0,
    member: int = 0,
) -> State:
    """Return a state to train from: a posterior at ``mean`` (n_parameters,) of stds ``scale``."""
    n = shape.n_parameters
    values = np.empty((2 + rank) * n + 1)
    state = State(
        values,
        values[:n],
        values[n : 2 * n],
        values[2 * n : -1].reshape(rank, n),
        values[-1:],
        np.zeros_like(values),
        np.zeros_like(values),
        np.zeros(1, np.int64),
        np.arange(n_rows, dtype=np.int64),
    )
    state.mean[:] = mean
    state.raw_scale[:] = inverse_softplus(np.full(n, scale))
    state.raw_noise[0] = inverse_softplus(noise)
    start_columns(np.uint64(seed), member, _START_FACTOR, state.columns)
    return state


def run_steps(
    plan: Plan, state: State, Xt: Floats, y: Floats, elbo_path: Floats, n_steps: int
) -> None:
    """Do the next ``n_steps`` steps of the plan, or as many as are left of it."""
    _RUNS[plan.codes.output](plan, state, Xt, y, elbo_path, n_steps)


def posterior(state: State) -> LowRankGaussian:
    """Return the posterior as it is now; further steps do not change it."""
    return LowRankGaussian(
        state.mean.copy(), softplus(state.raw_scale), np.ascontiguousarray(state.columns.T)
    )


def noise_of(state: State) -> float:
    """Return the noise std of a mean output."""
    return float(softplus(state.raw_noise[0]))


def start_means(
    shape: TreeShape, X: np.ndarray, target: np.ndarray, beta: float, seed: int
) -> np.ndarray:
    """A parameter vector (n_parameters,) to start from."""
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


@dataclass(frozen=True, kw_only=True)
class FitKnobs:
    """How one tree is fitted; `VariationalSoftTreeRegressor` explains the names."""

    beta: float
    prior_scale: float
    rank: int
    n_steps: int
    learning_rate: float | None
    n_gradient_draws: int
    batch_size: int | None
    n_restarts: int
    flat_tolerance: float
    noise: float | None = None  # the fixed noise std of a mean output; None learns it

    def fitting(self, shape: TreeShape) -> FitKnobs:
        """The same with a rank that is at most full: more columns of V add nothing to it."""
        return replace(self, rank=min(self.rank, shape.n_parameters))


def batch_rows(n_rows: int, batch_size: int | None) -> int | None:
    """Rows of a gradient step, or None for all: `DEFAULT_BATCH` above `ALL_ROWS_UP_TO` rows.

    >>> batch_rows(150, None), batch_rows(9_000, None), batch_rows(150, 50)
    (None, 1000, 50)
    """
    if batch_size is None:
        return DEFAULT_BATCH if n_rows > ALL_ROWS_UP_TO else None
    return batch_size if batch_size < n_rows else None


def default_rate(n_features: int, minibatches: bool) -> float:
    """The learning rate where none is given.

    A gate adds up the steps of all its weights, and minibatches make gradients noisier.

    >>> default_rate(1, False), round(default_rate(9, True), 4)
    (0.03, 0.0033)
    """
    return 0.03 / n_features**0.5 / (3.0 if minibatches else 1.0)


def fit_tree(
    shape: TreeShape,
    matrix: np.ndarray,
    target: np.ndarray,
    knobs: FitKnobs,
    seed: int,
    member: int = 0,
    n_jobs: int | None = None,
) -> FittedTree:
    """Fit one tree's posterior; of several starts that of the highest ELBO goes all the way."""
    need_kernels(_STEPS[shape.output])
    heat = knobs.n_steps if knobs.n_restarts == 1 else max(1, round(_HEAT * knobs.n_steps))

    def run_heat(restart: int) -> Climb:
        lane = member * 1000 + restart
        mean = start_means(shape, matrix, target, knobs.beta, seed * 1000 + lane)
        climb = Climb(shape, matrix, target, mean, knobs, seed, lane)
        climb.go(heat)
        return climb

    with stage(knobs.n_restarts * heat + knobs.n_steps - heat):
        climbs = parallel_map(run_heat, range(knobs.n_restarts), n_jobs)
        best = max(climbs, key=lambda climb: climb.recent_elbo)
        best.go(knobs.n_steps)
    return best.result()


class Climb:
    """One tree on its way up from the posterior mean ``mean``; ``lane`` names its draws."""

    def __init__(
        self,
        shape: TreeShape,
        matrix: np.ndarray,
        target: np.ndarray,
        mean: np.ndarray,
        knobs: FitKnobs,
        seed: int,
        lane: int,
    ) -> None:
        self._shape, self._knobs, n_rows = shape, knobs, len(target)
        self._columns = np.ascontiguousarray(matrix.T)
        self._target = np.ascontiguousarray(target, dtype=np.float64)
        batch = batch_rows(n_rows, knobs.batch_size)
        rate = knobs.learning_rate
        if rate is None:
            rate = default_rate(shape.n_features, batch is not None)
        self._plan = training_plan(
            shape,
            n_rows,
            beta=knobs.beta,
            prior_scale=knobs.prior_scale,
            rank=knobs.rank,
            n_steps=knobs.n_steps,
            learning_rate=rate,
            n_draws=knobs.n_gradient_draws,
            batch_size=batch,
            learn_noise=shape.output == "mean" and knobs.noise is None,
            seed=seed,
            member=lane,
        )
        self._state = start_state(
            shape,
            mean,
            START_SCALE,
            knobs.rank,
            noise=START_NOISE if knobs.noise is None else knobs.noise,
            n_rows=n_rows,
            seed=seed,
            member=lane,
        )
        self._path = np.full(knobs.n_steps, np.nan)
        self._stops = np.linspace(0, knobs.n_steps, N_SNAPSHOTS + 1).round().astype(int)
        self._seen, self._means = [0], [mean.copy()]
        self._done, self._chunk = 0, 1

    def go(self, until: int) -> None:
        """Take all steps up to number ``until``, or fewer where the ELBO is flat before."""
        last = min(until, self._plan.n_steps)
        while self._done < last:
            next_stop = self._stops[np.searchsorted(self._stops, self._done, side="right")]
            self._take_steps(min(int(next_stop), last))
            if self._done in (next_stop, self._plan.n_steps):
                self._seen.append(self._done)
                self._means.append(self._state.mean.copy())
                self._land_if_flat()
                last = min(until, self._plan.n_steps)
        advance(until - last)

    def _take_steps(self, until: int) -> None:
        while self._done < until:
            n = min(self._chunk, until - self._done)
            began = time.perf_counter()
            run_steps(self._plan, self._state, self._columns, self._target, self._path, n)
            self._done += n
            advance(n)
            wanted = int(n * _CHUNK_SECONDS / max(time.perf_counter() - began, 1e-6))
            self._chunk = max(1, min(wanted, 4 * self._chunk))

    def _land_if_flat(self) -> None:
        """Let the learning rate fall to 0 soon once the ELBO no longer rises."""
        tolerance = self._knobs.flat_tolerance * len(self._target)
        n_steps = self._knobs.n_steps
        if self._plan.n_steps == n_steps and _is_flat(self._path[: self._done], n_steps, tolerance):
            self._plan = self._plan._replace(n_steps=min(n_steps, int(_LANDING * self._done)))

    @property
    def recent_elbo(self) -> float:
        """Mean ELBO of the last steps, in nats."""
        return float(self._path[max(0, self._done - _RECENT_STEPS) : self._done].mean())

    def result(self) -> FittedTree:
        """The tree as it is now."""
        is_mean = self._shape.output == "mean"
        return FittedTree(
            self._shape,
            self._knobs.beta,
            posterior(self._state),
            noise_of(self._state) if is_mean else None,
            ElboPath(np.arange(1, self._done + 1), self._path[: self._done].copy()),
            Snapshots(np.array(self._seen), np.array(self._means)),
        )


def _is_flat(path: np.ndarray, n_steps: int, tolerance: float) -> bool:
    """Whether the last window's mean ELBO is no longer above the one before by ``tolerance``."""
    window = max(50, round(_WINDOW * n_steps))
    if tolerance <= 0.0 or len(path) < max(_SETTLED * n_steps, 2 * window):
        return False
    return bool(path[-window:].mean() - path[-2 * window : -window].mean() < tolerance)


def estimate_bytes(shape: TreeShape, n_rows: int, knobs: FitKnobs) -> int:
    """Roughly what `fit_tree` holds at its peak, in bytes."""
    posterior_numbers = shape.n_parameters * (knobs.rank + 2)
    state = 6 * posterior_numbers + (N_SNAPSHOTS + 1) * shape.n_parameters + 2 * knobs.n_steps
    rows = n_rows * (2 * shape.n_features + 2)
    start = min(n_rows, 5_000) * (2 * shape.n_nodes + 2 + 2 * shape.n_features)
    return 8 * (knobs.n_restarts * (state + start) + rows)
