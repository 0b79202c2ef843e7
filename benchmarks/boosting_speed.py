"""How fast boosted ensembles are, against CatBoost in the same run on the same threads."""

from __future__ import annotations

import io
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report import Row, load_split, median_seconds
from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, make_heart, make_spiral
from gbuq_core.jobs import JobRunner, effective_n_jobs


def _catboost(kind: str, **options: Any) -> Any:
    import catboost

    return getattr(catboost, kind)(
        verbose=0,
        allow_writing_files=False,
        posterior_sampling=True,
        thread_count=effective_n_jobs(None),
        **options,
    )


def heart() -> list[Row]:
    """Ten SGLB models of 1000 trees; CatBoost's time is ten times that of its one model."""
    data = make_heart(random_state=0)
    knobs: dict[str, Any] = {"stopping": None, "learning_rate": 0.3, "categorical_features": [0, 1]}

    def ours() -> None:
        model = BoostedEnsembleRegressor(random_state=0, **knobs).fit(data.X, data.y)
        model.predict_uncertainty(data.grid)

    seconds = median_seconds(ours, repeats=15)
    rows = [Row(
        "heart, 10 SGLB x 1000 trees, fit + predict 81 cells", f"{seconds:.3f} s", "<= 0.5 s",
        seconds <= 0.5, {"seconds": seconds},
    )]  # fmt: skip
    X, grid = (pd.DataFrame(values.astype(int)) for values in (data.X, data.grid))
    for name, one_hot, bar in (("target statistics", 2, 200), ("one-hot", 32, 80)):
        began = time.perf_counter()
        peer = _catboost(
            "CatBoostRegressor", loss_function="RMSEWithUncertainty", iterations=1000,
            learning_rate=0.3, depth=6, cat_features=[0, 1], one_hot_max_size=one_hot,
        ).fit(X, data.y)  # fmt: skip
        peer.predict(grid)
        peer_seconds = time.perf_counter() - began
        ratio = 10 * peer_seconds / seconds
        rows.append(Row(
            f"CatBoost ({name}), one model {peer_seconds:.1f} s, ten of them against ours",
            f"{ratio:.0f} x", f">= {bar} x", ratio >= bar,
            {"peer_seconds_one_model": peer_seconds, "ratio": ratio},
        ))  # fmt: skip
    return rows


def knobs() -> list[Row]:
    """Moving K, the start or the number of members of fitted ensembles."""
    data = make_heart(random_state=0)
    options: dict[str, Any] = {"learning_rate": 0.3, "categorical_features": [0, 1]}
    rows = []
    for ensemble, move in (
        ("virtual", {"truncation_step": 20, "truncation_start": 0.3}),
        ("independent", {"n_members": 7}),
    ):
        model = BoostedEnsembleRegressor(
            stopping=None, ensemble=ensemble, random_state=0, **options
        )
        model.fit(data.X, data.y)
        seconds = median_seconds(
            lambda model=model, move=move: model.predict_uncertainty(data.grid, **move), 31
        )
        rows.append(Row(
            f"{', '.join(move)} of a fitted {ensemble} ensemble moved, 81 cells",
            f"{1e3 * seconds:.1f} ms", "<= 20 ms", seconds <= 0.02, {"seconds": seconds},
        ))  # fmt: skip
    return rows


def spiral() -> list[Row]:
    """Twenty SGLB models of 1000 trees on 4,500 x 9; CatBoost is timed on three models."""
    data = make_spiral(random_state=0)
    options: dict[str, Any] = {"n_trees": 1000, "random_strength": 100.0, "random_state": 0}
    BoostedEnsembleClassifier(stopping=None, n_members=1, n_trees=2).fit(data.X, data.y)  # compile
    peers, ours = [], []
    for seed in range(3):  # in turn, so that both see the same machine
        peer = _catboost(
            "CatBoostClassifier", loss_function="MultiClass", iterations=1000, learning_rate=0.1,
            depth=6, border_count=128, random_strength=100.0, random_seed=seed,
        )  # fmt: skip
        peers.append(median_seconds(lambda peer=peer: peer.fit(data.X, data.y), 1, warm_ups=0))
        model = BoostedEnsembleClassifier(stopping=None, n_members=20, **options)
        ours.append(median_seconds(lambda model=model: model.fit(data.X, data.y), 1, warm_ups=0))
    peer_seconds, seconds = float(np.median(peers)), float(np.median(ours)) / 20
    ratio = peer_seconds / seconds
    return [Row(
        f"spiral, 4,500 x 9, 1000 trees a model: ours {seconds:.2f} s (20 models side by side), "
        f"CatBoost {peer_seconds:.2f} s",
        f"{ratio:.1f} x", ">= 4 x", ratio >= 4,
        {"seconds_a_model": seconds, "peer_seconds_a_model": peer_seconds, "ratio": ratio},
    )]  # fmt: skip


def protein(data_dir: Path) -> list[Row]:
    """One model of 1000 trees on 41,157 unmerged rows."""
    data = load_split(data_dir, "protein", 0)
    peers, ours = [], []
    for seed in range(3):
        peer = _catboost(
            "CatBoostRegressor", loss_function="RMSEWithUncertainty", iterations=1000, depth=6,
            learning_rate=0.1, border_count=128, bootstrap_type="No", random_seed=seed,
        )  # fmt: skip
        model = BoostedEnsembleRegressor(stopping=None, ensemble="virtual", random_state=seed)
        fits = ((peer, peers), (model, ours))
        for estimator, seconds in fits:
            began = time.perf_counter()
            estimator.fit(data.X_train, data.y_train)
            seconds.append(time.perf_counter() - began)
    ratio = float(np.median(peers) / np.median(ours))
    return [Row(
        f"protein, {len(data.X_train):,} x 9, 1000 trees: ours {np.median(ours):.1f} s, CatBoost "
        f"{np.median(peers):.1f} s", f"{ratio:.2f} x", ">= 1 x", ratio >= 1,
        {"seconds": float(np.median(ours)), "peer_seconds": float(np.median(peers))},
    )]  # fmt: skip


def table() -> list[Row]:
    """A CSV of 100,000 x 20 from its bytes to the finished per-row table."""
    from gbuq_core.tables import ScorePlan, read_table, score_table

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 19)).round(4)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(19)])
    frame["y"] = (X[:, 0] + np.sin(X[:, 1]) + 0.3 * rng.normal(size=len(X))).round(4)
    buffer = io.BytesIO()
    frame.to_csv(buffer, index=False)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    read = read_table(buffer.getvalue())
    score_table(read, "y", plan=ScorePlan(ensemble="virtual", n_trees=500))
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    return [Row(
        "CSV of 100,000 x 20, virtual SGLB of 500 trees, bytes to scored table (this process's "
        f"peak was {before / 1024**2:.2f} GB before)",
        f"{seconds:.1f} s, {peak:.2f} GB", "<= 60 s, <= 2 GB", seconds <= 60 and peak <= 2,
        {"seconds": seconds, "peak_gb": peak},
    )]  # fmt: skip


def stale() -> list[Row]:
    """From asking for another fit to the end of the one nobody wants any more."""
    rng = np.random.default_rng(0)
    rows = []
    for n_rows, n_features, ensemble in ((4_500, 20, "independent"), (100_000, 20, "virtual")):
        X = rng.normal(size=(n_rows, n_features))
        y = X[:, 0] + rng.normal(size=n_rows)
        runner, delays = JobRunner(), []
        for attempt in range(12):
            model = BoostedEnsembleRegressor(
                stopping=None, ensemble=ensemble, n_trees=5000, random_state=0
            )
            job = runner.want("tab", attempt, lambda job, model=model, X=X, y=y: model.fit(X, y))
            time.sleep(0.1 + 0.1 * attempt)  # from the binning to the middle of the trees
            began = time.perf_counter()
            runner.want("tab", ("other", attempt), lambda job: None)
            if not job.wait(timeout=60):
                raise RuntimeError("the stale fit went on for a minute")
            delays.append(time.perf_counter() - began)
        delay, worst = float(np.median(delays)), max(delays)
        rows.append(Row(
            f"stale fit of {n_rows:,} x {n_features} ({ensemble}) stopped, worst {1e3 * worst:.0f} "
            "ms", f"{1e3 * delay:.0f} ms", "<= 100 ms", delay <= 0.1,
            {"median_seconds": delay, "worst_seconds": worst},
        ))  # fmt: skip
    return rows
