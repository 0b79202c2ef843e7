"""One training step of a variational soft tree: our kernels against JAX, on one core.

The same model on both sides (mixture, linear leaves, low-rank posterior, two draws a step, Adam),
in float64; JAX differentiates it, ours is by hand. JAX is timed step by step and, more to its
favour, with the steps of a chunk inside one compiled loop. Run as
``python -m benchmarks.soft_trees_jax``; without JAX it says so and does nothing.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from benchmarks.report import Row
from gbuq_core.soft_trees.fitting import run_steps, start_state, training_plan
from gbuq_core.soft_trees.layout import TreeShape, inverse_softplus

BETA, PRIOR_SCALE, RATE = 2.0, 2.5, 0.03
STEPS = 20  # a chunk

# XLA reads it when JAX is first imported.
ONE_CORE = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def _jax() -> Any:
    """JAX in float64 on one core, or None where it is not installed."""
    if importlib.util.find_spec("jax") is None:
        return None
    os.environ.setdefault("XLA_FLAGS", ONE_CORE)
    import jax

    jax.config.update("jax_enable_x64", True)
    return jax


def log_likelihood(jax: Any, shape: TreeShape, theta: Any, X: Any, y: Any) -> Any:
    """Eq. 6 of the linear leaves, by levels of the tree, in log space."""
    jnp, parts = jax.numpy, shape.slices
    n_nodes, n_leaves, p = shape.n_nodes, shape.n_leaves, shape.n_features
    logits = BETA * (X @ theta[parts.node_weights].reshape(n_nodes, p).T + theta[parts.node_biases])
    log_right, log_left = jax.nn.log_sigmoid(logits), jax.nn.log_sigmoid(-logits)
    reach = jnp.zeros((len(X), 1))
    for level in range(shape.depth):
        own = slice(2**level - 1, 2 ** (level + 1) - 1)
        both = jnp.stack([reach + log_left[:, own], reach + log_right[:, own]], axis=2)
        reach = both.reshape(len(X), -1)
    means = X @ theta[parts.leaf_weights].reshape(n_leaves, p).T + theta[parts.leaf_biases]
    raws = X @ theta[parts.scale_weights].reshape(n_leaves, p).T + theta[parts.scale_biases]
    stds = jax.nn.softplus(raws)
    logs = reach - 0.5 * ((y[:, None] - means) / stds) ** 2 - jnp.log(stds)
    return jax.nn.logsumexp(logs, axis=1).sum() - 0.5 * len(X) * jnp.log(2 * jnp.pi)


def negative_elbo(jax: Any, shape: TreeShape, values: Any, key: Any, X: Any, y: Any) -> Any:
    """Eq. 19 to 21 with two draws."""
    jnp = jax.numpy
    mean, raw_scale, factor = values
    scale = jax.nn.softplus(raw_scale)
    white = factor / scale[:, None]
    gram = jnp.eye(factor.shape[1]) + white.T @ white
    log_det = 2 * jnp.log(jnp.diag(jnp.linalg.cholesky(gram))).sum()
    g = PRIOR_SCALE**2
    squares = (scale**2).sum() + (factor**2).sum() + (mean**2).sum()
    kl = 0.5 * (squares / g - 2 * jnp.log(scale).sum() - log_det + len(mean) * (jnp.log(g) - 1))
    normals = jax.random.normal(key, (2, sum(factor.shape)))
    own, shared = normals[:, : len(mean)], normals[:, len(mean) :]
    thetas = mean + scale * own + shared @ factor.T
    each = jax.vmap(lambda theta: log_likelihood(jax, shape, theta, X, y))(thetas)
    return kl - each.mean()


def adam_step(jax: Any, shape: TreeShape, X: Any, y: Any, carry: Any) -> Any:
    """One step of Adam on (values, first and second moments, number of the step, key)."""
    jnp = jax.numpy
    values, first, second, step, key = carry
    key, own = jax.random.split(key)
    value, slopes = jax.value_and_grad(partial(negative_elbo, jax, shape))(values, own, X, y)

    def joined(function: Any, *trees: Any) -> Any:
        return jax.tree.map(function, *trees)

    first = joined(lambda m, s: 0.9 * m + 0.1 * s, first, slopes)
    second = joined(lambda v, s: 0.999 * v + 0.001 * s * s, second, slopes)
    b1, b2 = 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)
    rate = RATE * 0.5 * (1 + jnp.cos(jnp.pi * step / 3000))
    values = joined(
        lambda t, m, v: t - rate * (m / b1) / (jnp.sqrt(v / b2) + 1e-8), values, first, second
    )
    return (values, first, second, step + 1.0, key), value


def step_seconds(n: int, p: int, depth: int, rank: int, repeats: int) -> dict[str, float]:
    """Median seconds of a step: ours, JAX step by step, JAX in a loop; taken in turns.

    Processor time, which on one core is what the step takes on an idle machine.
    """
    jax = _jax()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    shape = TreeShape(depth, p)
    mean = 0.5 * rng.normal(size=shape.n_parameters)
    plan = training_plan(shape, n, rank=rank, n_steps=10**9)
    state, Xt = start_state(shape, mean, 0.05, rank), np.ascontiguousarray(X.T)
    path = np.empty(STEPS * (repeats + 1))
    runs = {"ours": lambda: run_steps(plan, state, Xt, y, path, STEPS)}
    if jax is not None:
        jnp = jax.numpy
        values = (
            jnp.asarray(mean),
            jnp.full(len(mean), float(inverse_softplus(0.05))),
            jnp.asarray(0.01 * rng.normal(size=(len(mean), rank))),
        )
        zeros = jax.tree.map(jnp.zeros_like, values)
        carry = (values, zeros, zeros, 0.0, jax.random.key(0))
        take_step = partial(adam_step, jax, shape, jnp.asarray(X), jnp.asarray(y))
        single = jax.jit(take_step)
        loop = jax.jit(lambda c: jax.lax.scan(lambda c, _: take_step(c), c, None, length=STEPS))

        def step_by_step() -> None:
            moved = carry
            for _ in range(STEPS):
                moved, _ = single(moved)
            jax.block_until_ready(moved)

        runs["jax"] = step_by_step
        runs["jax loop"] = lambda: jax.block_until_ready(loop(carry))
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            began = time.process_time()
            run()
            if turn:  # the first compiles
                seconds[name].append((time.process_time() - began) / STEPS)
    return {name: statistics.median(times) for name, times in seconds.items()}


def step_rows(repeats: int = 15) -> list[Row]:
    """The lines of the table: a step of ours over one of JAX, which should be at most 1."""
    rows = []
    for n, p, depth, rank in ((150, 1, 3, 5), (1000, 8, 4, 5), (1000, 8, 4, 20)):
        seconds = step_seconds(n, p, depth, rank, repeats)
        what = f"ELBO step, {n} x {p}, depth {depth}, rank {rank}"
        numbers: dict[str, Any] = {f"{name} [us]": 1e6 * s for name, s in seconds.items()}
        if "jax" not in seconds:
            rows.append(Row(what, f"{1e6 * seconds['ours']:.0f} us", "JAX is not there", None, {}))
            continue
        best = min(seconds["jax"], seconds["jax loop"])
        words = ", ".join(f"{name} {1e6 * s:.0f} us" for name, s in seconds.items())
        ratio = seconds["ours"] / best
        rows.append(Row(what, f"{ratio:.2f} x JAX ({words})", "<= 1 x JAX", ratio <= 1.0, numbers))
    return rows


@contextmanager
def one_core() -> Iterator[None]:
    """All of it on one core, where the system lets a process choose."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    with one_core():
        rows = step_rows(repeats)
    for row in rows:
        print(f"{row.what}: {row.measured} (bar: {row.bar})")


if __name__ == "__main__":
    main()
