"""Climbing the ELBO of one tree: starts, restarts, when to stop, progress, snapshots."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from gbuq_core.jobs import advance, parallel_map, stage
from gbuq_core.soft_trees.layout import TreeShape
from gbuq_core.soft_trees.results import ElboPath, FittedTree, Snapshots
from gbuq_core.soft_trees.start import start_means
from gbuq_core.soft_trees.training import (
    noise_of,
    posterior,
    run_steps,
    start_state,
    training_plan,
)

ALL_ROWS_UP_TO = 5_000  # beyond, each step sees a minibatch unless batch_size says otherwise
DEFAULT_BATCH = 1_000
N_SNAPSHOTS = 60
START_SCALE = 0.05  # posterior stds at the start
START_NOISE = 0.5  # and the noise std of a mean output, in units of the target's std
_CHUNK_SECONDS = 0.04  # between two looks at whether anybody still wants the result
_HEAT = 0.2  # share of the steps after which the best of several starts goes on alone
_RECENT_STEPS = 100  # whose mean ELBO decides
_SETTLED = 0.4  # share of the steps before which flatness is not looked for
_WINDOW = 0.1  # share of the steps whose mean ELBO is compared with that of the window before
_LANDING = 1.5  # once it is flat, the rate falls to 0 until this multiple of the steps so far


@dataclass(frozen=True, kw_only=True)
class FitKnobs:
    """How one tree is fitted; `VariationalSoftTreeRegressor` explains the names.

    ``noise`` is the fixed noise std of a mean output, or None for one that is learnt.
    """

    beta: float
    prior_scale: float
    rank: int
    n_steps: int
    learning_rate: float | None
    n_gradient_draws: int
    batch_size: int | None
    n_restarts: int
    flat_tolerance: float
    noise: float | None = None

    def fitting(self, shape: TreeShape) -> FitKnobs:
        """The same with a rank that is at most full: more columns of V add nothing to it.

        >>> knobs = FitKnobs(
        ...     beta=2.0, prior_scale=2.5, rank=50, n_steps=100, learning_rate=None,
        ...     n_gradient_draws=2, batch_size=None, n_restarts=1, flat_tolerance=0.0,
        ... )
        >>> knobs.fitting(TreeShape(depth=1, n_features=1)).rank
        10
        """
        return replace(self, rank=min(self.rank, shape.n_parameters))


def batch_rows(n_rows: int, batch_size: int | None) -> int | None:
    """Rows of a gradient step, or None for all: `DEFAULT_BATCH` above `ALL_ROWS_UP_TO` rows.

    Examples
    --------
    >>> batch_rows(150, None), batch_rows(9_000, None), batch_rows(150, 50)
    (None, 1000, 50)
    """
    if batch_size is None:
        return DEFAULT_BATCH if n_rows > ALL_ROWS_UP_TO else None
    return batch_size if batch_size < n_rows else None


def default_rate(n_features: int, minibatches: bool) -> float:
    """The learning rate where none is given.

    A gate adds up the steps of all its weights, and minibatches make gradients noisier.

    Examples
    --------
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
    """Fit one tree's posterior; of several starts that of the highest ELBO goes all the way.

    Parameters
    ----------
    shape : TreeShape
    matrix : (n, p) float64
        Standardised rows; without any the posterior becomes the prior.
    target : (n,)
        The inner target, or class codes.
    seed, member : int
        Random numbers depend on these and on the number of the start.

    Returns
    -------
    FittedTree
    """
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
    """One tree on its way up from one start.

    Parameters
    ----------
    shape, matrix, target, knobs, seed
        As for `fit_tree`.
    mean : (n_parameters,)
        Where the posterior mean starts.
    lane : int
        Names the random numbers, with the seed.
    """

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
            shape, n_rows, beta=knobs.beta, prior_scale=knobs.prior_scale, rank=knobs.rank,
            n_steps=knobs.n_steps, learning_rate=rate, n_draws=knobs.n_gradient_draws,
            batch_size=batch,
            learn_noise=shape.output == "mean" and knobs.noise is None, seed=seed, member=lane,
        )  # fmt: skip
        self._state = start_state(
            shape, mean, START_SCALE, knobs.rank,
            noise=START_NOISE if knobs.noise is None else knobs.noise,
            n_rows=n_rows, seed=seed, member=lane,
        )  # fmt: skip
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
            self._chunk = _next_chunk(self._chunk, n, time.perf_counter() - began)

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
            self._shape, self._knobs.beta, posterior(self._state),
            noise_of(self._state) if is_mean else None,
            ElboPath(np.arange(1, self._done + 1), self._path[: self._done].copy()),
            Snapshots(np.array(self._seen), np.array(self._means)),
        )  # fmt: skip


def _next_chunk(chunk: int, n: int, seconds: float) -> int:
    """Steps that take about `_CHUNK_SECONDS`, never more than four times as many as before."""
    wanted = int(n * _CHUNK_SECONDS / max(seconds, 1e-6))
    return max(1, min(wanted, 4 * chunk))


def _is_flat(path: np.ndarray, n_steps: int, tolerance: float) -> bool:
    """Whether the last window's mean ELBO is no longer above the one before by ``tolerance``."""
    window = max(50, round(_WINDOW * n_steps))
    if tolerance <= 0.0 or len(path) < max(_SETTLED * n_steps, 2 * window):
        return False
    return bool(path[-window:].mean() - path[-2 * window : -window].mean() < tolerance)


def estimate_seconds(shape: TreeShape, n_rows: int, knobs: FitKnobs) -> float:
    """Roughly how long `fit_tree` takes with one thread, in seconds."""
    rows = batch_rows(n_rows, knobs.batch_size) or n_rows
    cells = rows * (shape.n_nodes + shape.n_leaves) * (2.0 + 0.2 * shape.n_features)
    by_draw = 10e-9 * cells + 4e-9 * shape.n_parameters * (knobs.rank + 4)
    divergence = 1.1e-9 * shape.n_parameters * knobs.rank**2
    by_step = knobs.n_gradient_draws * by_draw + divergence
    return 1e-5 + knobs.n_restarts * knobs.n_steps * by_step


def estimate_bytes(shape: TreeShape, n_rows: int, knobs: FitKnobs) -> int:
    """Roughly what `fit_tree` holds at its peak, in bytes."""
    posterior_numbers = shape.n_parameters * (knobs.rank + 2)
    state = 6 * posterior_numbers + (N_SNAPSHOTS + 1) * shape.n_parameters + 2 * knobs.n_steps
    rows = n_rows * (2 * shape.n_features + 2)
    start = min(n_rows, 5_000) * (2 * shape.n_nodes + 2 + 2 * shape.n_features)
    return 8 * (knobs.n_restarts * (state + start) + rows)
