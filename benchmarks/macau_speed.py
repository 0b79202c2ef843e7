"""How fast MACAU is fitted and scores rows, against scikit-learn leaf by leaf in the same run.

"Scoring" is everything there is to know of a row: its mean, the three uncertainties and the three
novelties. A bar counts as met by the clock, or by processor time summed over all threads, which the
clock of an idle machine does not exceed.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_moons

from benchmarks.macau_twin import TwinAnswer, fit_twin, score_twin
from benchmarks.report import Row, load_split
from gbuq_core import MacauClassifier, MacauRegressor
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.macau.warmup import warm_up

TWIN_TREES = 3  # of the 100 that are fitted: the twin takes seconds a tree
AUTHORS = (33.0, 17.0)  # seconds to fit concrete and to score 103 rows
CONCRETE_BARS, LARGE_BARS = (0.4, 0.05), (15.0, 3.0)
CLOSE = 1e-5  # of the members' std: the twin's own rounding, and where lbfgs stops


class Seconds(NamedTuple):
    """Medians: by the clock, and of the processor, all threads together."""

    clock: float
    cpu: float


def timed(run: Callable[[], Any], repeats: int) -> Seconds:
    """Medians of ``repeats`` runs."""
    clock, cpu = [], []
    for _ in range(repeats):
        began, worked = time.perf_counter(), time.process_time()
        run()
        clock.append(time.perf_counter() - began)
        cpu.append(time.process_time() - worked)
    return Seconds(statistics.median(clock), statistics.median(cpu))


def score(model: Any, X: np.ndarray) -> None:
    """All that MACAU says of new rows."""
    model.predict_uncertainty(X)
    model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)
    model.score_novelty(X)


def speed(data_dir: Path | None, n_jobs: int | None = None, repeats: int = 5) -> list[Row]:
    """Concrete and moons with their twins."""
    compiling = timed(warm_up, 1)
    rows = [
        Row(
            "compiling the regression's kernels, or loading them",
            f"{compiling.clock:.1f} s ({compiling.cpu:.1f} s of the processor)",
            "",
            None,
            compiling._asdict(),
        )
    ]
    if data_dir is None:
        print("speed of concrete: left out, it needs --data-dir")
    else:
        data = load_split(data_dir, "concrete", 0)
        regressor = MacauRegressor(leaf_features="path", n_jobs=n_jobs, random_state=0)
        rows += with_twin(
            "concrete", regressor, data.X_train, data.y_train, data.X_test, repeats,
            CONCRETE_BARS, AUTHORS,
        )  # fmt: skip
    X, y = make_moons(2103, noise=0.3, random_state=0)
    model = MacauClassifier(n_jobs=n_jobs, random_state=0)
    return [*rows, *with_twin("moons", model, X[:2000], y[:2000], X[2000:], repeats)]


def with_twin(
    name: str,
    model: Any,
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    repeats: int,
    bars: tuple[float, float] | None = None,
    authors: tuple[float, float] | None = None,
    n_trees: int = TWIN_TREES,
) -> list[Row]:
    """Fit and score, ours and the twin's on a few trees of the same forest, which must agree."""
    model.fit(X, y)  # compiles what is left to compile
    score(model, X_test)
    fit = timed(lambda: model.fit(X, y), repeats)
    scored = timed(lambda: score(model, X_test), repeats)
    trees, share = range(n_trees), model.forest_.n_trees / n_trees
    target, classes = y.astype(np.float64), hasattr(model, "classes_")
    if not classes:
        target = (target - model.target_scale_.centre) / model.target_scale_.spread
    began = time.process_time()
    twin = fit_twin(X, target, model.forest_, trees, classes)
    twin_fit = share * (time.process_time() - began)
    began = time.process_time()
    theirs = score_twin(twin, X_test, model.forest_, trees)
    twin_score = share * (time.process_time() - began)
    worst = compare(model, X_test, theirs)
    size = f"{name}, {len(X):,} x {X.shape[1]}, {model.forest_.n_trees} trees"
    rows = []
    for i, (what, seconds, naive) in enumerate(
        (
            ("fit", fit, twin_fit),
            (f"scoring {len(X_test)} rows", scored, twin_score),
        )
    ):
        bar = None if bars is None else bars[i]
        more = "" if authors is None else f", {authors[i] / seconds.cpu:.0f} x the authors' code"
        rows.append(
            Row(
                f"{size}: {what}; the twin {naive:.2f} s ({n_trees} trees x {share:.0f}, without "
                f"the forest), which ours equals to {worst:.0e}",
                f"{_words(seconds, model.n_jobs)}, {naive / seconds.cpu:.0f} x the twin{more}",
                "" if bar is None else f"<= {bar:g} s",
                None if bar is None else min(seconds) <= bar,
                {**seconds._asdict(), "twin_cpu": naive, "worst": worst},
            )
        )
    return rows


def compare(model: Any, X: np.ndarray, theirs: TwinAnswer) -> float:
    """The worst difference of members' means to the twin's, in their std."""
    members = model.predict_members(X)
    if hasattr(model, "classes_"):
        members = members[:, :, 1, :]
    else:  # the twin's target is standardised
        scale = model.target_scale_
        members = (members - [scale.centre, 0.0]) / [scale.spread, scale.spread**2]
    n_trees = theirs.mean.shape[1]
    mean, variance = members[:n_trees, :, 0].T, members[:n_trees, :, 1].T
    spread = float(theirs.mean.std())
    worst = max(
        float(np.abs(mean - theirs.mean).max()) / spread,
        float(np.abs(np.sqrt(variance) - theirs.std).max()) / spread,
    )
    if worst > CLOSE:
        raise RuntimeError(f"ours differs from the twin by {worst:.1e} of the members' std")
    return worst


def large(
    n_jobs: int | None = None, rows: int = 20_000, scored: int = 10_000, repeats: int = 3
) -> list[Row]:
    """A smooth function of eight features with noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 8))
    y = 3.0 * np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3] + 0.5 * rng.normal(size=rows)
    new = rng.normal(size=(scored, 8))
    warm_up()
    model = MacauRegressor(leaf_features="path", n_jobs=n_jobs, random_state=0)
    fit = timed(lambda: model.fit(X, y), repeats)
    ask = timed(lambda: score(model, new), repeats)
    megabytes = model.memory_bytes_ / 1e6
    size = f"synthetic, {rows:,} x 8, {model.forest_.n_trees} trees, {model.n_leaves_:,} leaves"
    return [
        Row(
            f"{size}: fit",
            f"{_words(fit, n_jobs)}; the model holds {megabytes:.0f} MB",
            f"<= {LARGE_BARS[0]:g} s",
            min(fit) <= LARGE_BARS[0],
            {**fit._asdict(), "megabytes": megabytes},
        ),
        Row(
            f"{size}: scoring {scored:,} rows",
            _words(ask, n_jobs),
            f"<= {LARGE_BARS[1]:g} s",
            min(ask) <= LARGE_BARS[1],
            ask._asdict(),
        ),
    ]


def _words(seconds: Seconds, n_jobs: int | None) -> str:
    n = effective_n_jobs(n_jobs)
    threads = "1 thread" if n == 1 else f"{n} threads"
    return f"{seconds.clock:.3f} s ({seconds.cpu:.3f} s of the processor, {threads})"
