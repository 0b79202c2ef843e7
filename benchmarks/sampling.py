"""Langevin samplers: seconds a chain, against NumPy loops, and the modes that each finds.

    python -m benchmarks.sampling [--only speed modes peers compiling]

Compile time has a row of its own: every kernel runs once before anything else is timed. Samples
are counted and labelled within the time of a chain.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.report import Row, median_seconds, parse_arguments, report
from gbuq_core import sample_mixture
from gbuq_core.sampling import (
    SAMPLERS,
    TARGETS,
    Schedule,
    Target,
    autocorrelation,
    diagnose,
    first_visits,
    make_schedule,
    mode_sequence,
    mode_timeline,
    modes_by_step,
)

_STEPS = 50_000

# What a first call costs in a process of its own: seconds of the first short chain.
_FIRST_CALL = """
import time
from gbuq_core import sample_mixture
began = time.perf_counter()
sample_mixture("cg", n_steps=30, random_state=0)
print(time.perf_counter() - began)
"""


def speed() -> list[Row]:
    """One chain, a hundred, and all that the page shows first."""
    slowest = max(
        median_seconds(lambda name=name: sample_mixture(name, _STEPS, random_state=1), 9)
        for name in SAMPLERS
    )
    hundred = median_seconds(lambda: sample_mixture("clr", _STEPS, 100, random_state=1), 3)

    def race() -> None:
        for name in SAMPLERS:
            chains = sample_mixture(name, _STEPS, random_state=1)
            diagnose(chains)
            autocorrelation(chains.samples[0].T, 1000)
            for view in (mode_timeline, first_visits, modes_by_step, mode_sequence):
                view(chains)

    page = median_seconds(race, 5)
    return [
        Row("one chain of 50,000 steps, the slowest of four samplers", f"{1e3 * slowest:.1f} ms",
            "<= 30 ms", slowest <= 0.03, {"seconds": slowest}),
        Row("100 chains of 50,000 steps (clr-SGLD)", f"{hundred:.2f} s",
            "<= 2.5 s", hundred <= 2.5, {"seconds": hundred}),
        Row("4 samplers x 50,000 steps, all diagnostics", f"{page:.2f} s",
            "<= 1 s", page <= 1.0, {"seconds": page}),
    ]  # fmt: skip


def modes() -> list[Row]:
    """Modes in one chain of the paper's length, over 20 seeds."""
    rows = []
    for name, bar in (("sgld", "<= 2"), ("nsgld", ""), ("clr", ">= 7"), ("cg", ">= 7")):
        runs = [sample_mixture(name, _STEPS, random_state=seed) for seed in range(20)]
        visited = np.array([run.modes_visited[0] for run in runs])
        share = float(np.mean([run.share_in_modes[0] for run in runs]))
        error = float(np.mean([run.occupancy_error[0] for run in runs]))
        median = float(np.median(visited))
        met = None if not bar else median <= 2 if name == "sgld" else median >= 7
        rows.append(Row(
            f"{SAMPLERS[name].label}: modes in one chain, median of 20 seeds",
            f"{median:g} ({visited.min()} to {visited.max()}), {share:.0%} of samples in modes, "
            f"occupancy error {error:.2f}",
            bar, met, {"median": median, "share_in_modes": share, "occupancy_error": error},
        ))  # fmt: skip
    return rows


def peers() -> list[Row]:
    """The same steps by NumPy: one chain point by point, and a hundred chains side by side."""
    target, schedule = TARGETS["gaussians25"], make_schedule("clr", _STEPS)
    rows = []
    for n_chains, n_steps in ((1, 5000), (100, 2000)):
        ours = median_seconds(
            lambda n=n_chains: sample_mixture("clr", _STEPS, n, random_state=1), 3
        )
        began = time.perf_counter()
        _numpy_chains(target, schedule, n_chains, n_steps)
        theirs = (time.perf_counter() - began) * _STEPS / n_steps
        rows.append(Row(
            f"NumPy loop, {n_chains} chain{'s' if n_chains > 1 else ''}: {theirs:.1f} s (from "
            f"{n_steps:,} of 50,000 steps), without counting",
            f"{theirs / ours:.0f} x", "", None, {"peer_seconds": theirs, "seconds": ours},
        ))  # fmt: skip
    return rows


def compiling() -> list[Row]:
    """The first chain of a process, with an empty and with a full cache of kernels."""
    seconds: list[float] = []
    with tempfile.TemporaryDirectory() as cache:
        environment: dict[str, Any] = {**os.environ, "NUMBA_CACHE_DIR": cache}
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", _FIRST_CALL],
                env=environment, capture_output=True, text=True, check=True,
            )  # fmt: skip
            seconds.append(float(done.stdout))
    return [Row(
        "first chain of a process: empty cache, full cache",
        f"{seconds[0]:.1f} s, {seconds[1]:.2f} s", "", None,
        {"empty": seconds[0], "full": seconds[1]},
    )]  # fmt: skip


def _numpy_chains(target: Target, schedule: Schedule, n_chains: int, n_steps: int) -> np.ndarray:
    """Plain NumPy over chains, a Python loop over steps; isotropic modes of equal weight."""
    rng = np.random.default_rng(0)
    precision = 1.0 / target.mode_std**2
    x = rng.uniform(-10.0, 10.0, (n_chains, 2))
    samples = np.empty((n_steps, n_chains, 2), dtype=np.float32)
    for step in range(n_steps):
        offsets = x[:, None, :] - target.modes
        exponents = -0.5 * precision * (offsets**2).sum(axis=2)
        shares = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        gradient = precision * (shares[:, :, None] * offsets).sum(axis=1)
        gradient += rng.standard_normal(x.shape)
        x = x - schedule.step_sizes[step] * schedule.scales[step] * gradient
        x += schedule.noises[step] * rng.standard_normal(x.shape)
        samples[step] = x
    return samples


def main() -> None:
    """Run the sections asked for and report them."""
    sections = {"speed": speed, "modes": modes, "peers": peers, "compiling": compiling}
    arguments = parse_arguments(__doc__.splitlines()[0], list(sections))
    rows = [row for section in arguments.only for row in sections[section]()]
    report("Langevin samplers", rows, arguments.json)


if __name__ == "__main__":
    main()
