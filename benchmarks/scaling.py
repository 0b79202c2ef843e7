"""How training and prediction of one boosted model grow with rows, columns and threads.

``python -m benchmarks.scaling`` compares with CatBoost and LightGBM in the same run, one after the
other, so that a busy machine slows all of them. Compiling is not in it: each kernel runs once on
few rows before. `growth` measures each size in a process of its own, for its peak memory.

- `threads`: one virtual SGLB ensemble on 400,000 x 20, 100 trees, on one and on two threads.
- `predict`: ten virtual members of 100,000 x 20 on one thread.
- `growth`: seconds and memory from 10,000 to 4,000,000 rows, 200 trees, and 100 columns.
- `methods`: IBUG, MACAU and soft trees along rows, trees and columns, one of them at a time.

README's picture is drawn of ``--json benchmarks/results/scaling.json`` by
``python -m benchmarks.pictures --only scaling``.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.report import Row, make_parser, report
from gbuq_core import (
    BoostedEnsembleRegressor,
    IBUGRegressor,
    MacauRegressor,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeRegressor,
)

N_MEMBERS = 10
SIZES = ((10_000, 20), (100_000, 20), (1_000_000, 20), (4_000_000, 20), (100_000, 100))
REPEATS = 3

# The axes of `methods`: what grows, with the other two at their base.
BASE = {"rows": 10_000, "trees": 100, "columns": 10}
AXES = {"rows": (1_000, 10_000, 100_000), "trees": (50, 100, 200), "columns": (10, 40, 160)}
BOOSTED_SOFT_TREES = {50: 2, 100: 4, 200: 8}  # a soft tree costs as much as many hard ones
N_STEPS = 300  # of the optimiser; its seconds are in proportion to them


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns; the mean depends on two of them and the noise on a third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    noise = np.exp(0.3 * X[:, 2]) * rng.normal(size=n_rows)
    return X, X[:, 0] + np.sin(3.0 * X[:, 1]) + noise


def ours(n_trees: int, n_jobs: int) -> BoostedEnsembleRegressor:
    """Virtual SGLB of ten members from the second half of the trees."""
    return BoostedEnsembleRegressor(
        method="sglb", ensemble="virtual", n_trees=n_trees, truncation_step=n_trees // 20,
        learning_rate=0.1, stopping=None, n_jobs=n_jobs, random_state=0,
    )  # fmt: skip


def catboost(n_trees: int, n_threads: int) -> Any:
    """Its model of a mean and a variance, with the same trees."""
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        loss_function="RMSEWithUncertainty", posterior_sampling=True, iterations=n_trees, depth=6,
        learning_rate=0.1, border_count=127, thread_count=n_threads, random_seed=0, verbose=0,
        allow_writing_files=False,
    )  # fmt: skip


def fit_lightgbm(X: np.ndarray, y: np.ndarray, n_trees: int, n_threads: int) -> None:
    """Two models of one output each, for a mean and for a variance."""
    from lightgbm import LGBMRegressor

    for target in (y, np.square(y)):
        LGBMRegressor(
            n_estimators=n_trees, num_leaves=63, max_bin=127, learning_rate=0.1, verbose=-1,
            n_jobs=n_threads, random_state=0,
        ).fit(X, target)  # fmt: skip


def in_turns(runs: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """Median seconds of each, taken in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    return {name: float(np.median(taken)) for name, taken in seconds.items()}


def ratio_row(what: str, ratio: float, bar: float, seconds: dict[str, float]) -> Row:
    """One ratio with its bar, below which it is not met."""
    return Row(what, f"{ratio:.2f} x", f">= {bar:g} x", ratio >= bar, {"ratio": ratio, **seconds})


def seconds_row(what: str, seconds: float) -> Row:
    """Seconds without a bar."""
    return Row(what, f"{seconds:.3g} s", "", None, {"seconds": seconds})


def threads() -> list[Row]:
    """400,000 x 20, 100 trees."""
    X, y = make_table(400_000, 20)
    ours(20, 2).fit(X[:70_000], y[:70_000])
    taken = in_turns(
        {
            "ours, 1 thread": lambda: ours(100, 1).fit(X, y),
            "ours, 2 threads": lambda: ours(100, 2).fit(X, y),
            "CatBoost, 2 threads": lambda: catboost(100, 2).fit(X, y),
            "two of LightGBM, 2 threads": lambda: fit_lightgbm(X, y, 100, 2),
        }
    )
    two = taken["ours, 2 threads"]
    return [
        *(seconds_row(f"400,000 x 20, 100 trees: {name}", taken[name]) for name in taken),
        ratio_row("two threads against one", taken["ours, 1 thread"] / two, 1.6, taken),
        ratio_row("ours against CatBoost, 2 threads", taken["CatBoost, 2 threads"] / two, 1.5, {}),
        ratio_row(
            "ours against two of LightGBM, 2 threads",
            taken["two of LightGBM, 2 threads"] / two, 0.9, {},
        ),
    ]  # fmt: skip


def predict() -> list[Row]:
    """100,000 x 20, ten virtual members, one thread."""
    X, y = make_table(100_000, 20)
    rows = []
    for n_trees in (200, 1000):
        model = ours(n_trees, 1).fit(X[:20_000], y[:20_000])
        peer = catboost(n_trees, 1).fit(X[:20_000], y[:20_000])
        model.predict_uncertainty(X)
        taken = in_turns(
            {
                "ours": lambda model=model: model.predict_uncertainty(X),
                "CatBoost": lambda peer=peer: peer.virtual_ensembles_predict(
                    X, prediction_type="TotalUncertainty", virtual_ensembles_count=N_MEMBERS,
                    thread_count=1,
                ),
            },
            repeats=7,
        )  # fmt: skip
        what = f"predict 100,000 x 20, {n_trees} trees, one thread"
        rows += [seconds_row(f"{what}: {name}", taken[name]) for name in taken]
        rows.append(
            ratio_row(f"{what}, against CatBoost", taken["CatBoost"] / taken["ours"], 1.5, taken)
        )
    return rows


def grow_one(who: str, n_rows: int, n_columns: int, n_threads: int, n_trees: int) -> None:
    """Print the seconds of one fit and the peak memory that it added, as JSON."""
    X, y = make_table(n_rows, n_columns)
    small = slice(0, 70_000)
    fits: dict[str, Callable[[int, np.ndarray, np.ndarray], Any]] = {
        "ours": lambda trees, X, y: ours(trees, n_threads).fit(X, y),
        "CatBoost": lambda trees, X, y: catboost(trees, n_threads).fit(X, y),
        "LightGBM x 2": lambda trees, X, y: fit_lightgbm(X, y, trees, n_threads),
    }
    fits[who](20, X[small], y[small])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    fits[who](n_trees, X, y)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"seconds": seconds, "megabytes": (after - before) / 1024.0}))


def growth(all_threads: tuple[int, ...] = (1, 2), n_trees: int = 200) -> list[Row]:
    """Seconds and added peak memory of each size."""
    rows = []
    for n_threads in all_threads:
        per_million: dict[tuple[str, int], float] = {}
        for n_rows, n_columns in SIZES:
            for who in ("ours", "CatBoost", "LightGBM x 2"):
                arguments = map(str, (n_rows, n_columns, n_threads, n_trees))
                command = [sys.executable, "-m", "benchmarks.scaling", "--one", who, *arguments]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                if n_columns == SIZES[0][1]:
                    per_million[who, n_rows] = found["seconds"] / n_rows * 1e6
                rows.append(Row(
                    f"{who}: {n_rows:,} x {n_columns}, {n_trees} trees, {n_threads} threads",
                    f"{found['seconds']:.3g} s, {found['megabytes']:.0f} MB", "", None, found,
                ))  # fmt: skip
        for who in ("ours", "CatBoost", "LightGBM x 2"):
            large, small = per_million[who, 4_000_000], per_million[who, 100_000]
            ratio, exponent = large / small, 1.0 + math.log(large / small) / math.log(40.0)
            met = ratio <= 1.3 if who == "ours" else None
            rows.append(Row(
                f"{who}, {n_threads} threads: seconds a million rows, 4,000,000 against 100,000",
                f"{ratio:.2f} x (exponent {exponent:.2f})", "<= 1.3 x" if who == "ours" else "",
                met, {"ratio": ratio, "exponent": exponent},
            ))  # fmt: skip
    return rows


def make_method(who: str, n_trees: int) -> Any:
    """One method at its defaults but for the number of trees (steps, of soft trees)."""
    from lightgbm import LGBMRegressor

    def base(**more: Any) -> Any:
        return LGBMRegressor(n_estimators=n_trees, n_jobs=2, random_state=0, verbose=-1, **more)

    made: dict[str, Callable[[], Any]] = {
        "IBUG": lambda: IBUGRegressor(base(), random_state=0),
        "MACAU": lambda: MacauRegressor(
            base_model=base(boosting_type="rf", bagging_freq=1, bagging_fraction=0.632),
            random_state=0,
        ),
        "VST": lambda: VariationalSoftTreeRegressor(n_steps=N_STEPS, random_state=0),
        "VSGBM": lambda: VariationalSoftGBMRegressor(
            n_trees=BOOSTED_SOFT_TREES[n_trees], n_steps=N_STEPS, random_state=0
        ),
    }
    return made[who]()


def grow_method(who: str, n_rows: int, n_columns: int, n_trees: int) -> None:
    """Print the seconds of one fit and of 1,000 predictions and the added memory, as JSON."""
    X, y = make_table(n_rows + 1_000, n_columns)
    train, new = slice(0, n_rows), slice(n_rows, None)
    make_method(who, 50).fit(X[:500], y[:500]).predict_uncertainty(X[:20])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    model = make_method(who, n_trees).fit(X[train], y[train])
    fitted = time.perf_counter()
    model.predict_uncertainty(X[new])
    predicted = time.perf_counter()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({
        "seconds": fitted - began, "predict_seconds": predicted - fitted,
        "megabytes": (after - before) / 1024.0,
    }))  # fmt: skip


def methods() -> list[Row]:
    """IBUG, MACAU and soft trees on two threads: rows, trees and columns one at a time."""
    rows = []
    for who, axes in (
        ("IBUG", ("rows", "trees", "columns")),
        ("MACAU", ("rows", "trees", "columns")),
        ("VST", ("rows", "columns")),
        ("VSGBM", ("trees",)),
    ):
        for axis in axes:
            seconds = []
            for size in AXES[axis]:
                asked = {**BASE, axis: size}
                arguments = map(str, (asked["rows"], asked["columns"], asked["trees"]))
                command = [sys.executable, "-m", "benchmarks.scaling", "--method", who, *arguments]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found = json.loads(done.stdout.splitlines()[-1])
                seconds.append(found["seconds"])
                shown = BOOSTED_SOFT_TREES[size] if who == "VSGBM" else size
                rows.append(Row(
                    f"{who}: {shown:,} {axis}",
                    f"fit {found['seconds']:.3g} s, 1,000 rows {found['predict_seconds']:.3g} s, "
                    f"{found['megabytes']:.0f} MB", "", None, {**found, "size": shown},
                ))  # fmt: skip
            exponent = math.log(seconds[-1] / seconds[-2]) / math.log(
                AXES[axis][-1] / AXES[axis][-2]
            )
            rows.append(Row(
                f"{who}: exponent along {axis}, the last two sizes", f"{exponent:.2f}", "", None,
                {"exponent": exponent},
            ))  # fmt: skip
    return rows


SECTIONS: dict[str, Callable[[], list[Row]]] = {
    "threads": threads,
    "predict": predict,
    "growth": growth,
    "methods": methods,
}


def main() -> None:
    """Run the sections that are asked for."""
    parser = make_parser(__doc__.splitlines()[0], list(SECTIONS))
    parser.add_argument("--one", nargs=5, help="one fit: who, rows, columns, threads, trees")
    parser.add_argument("--method", nargs=4, help="one fit: who, rows, columns, trees")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="of growth")
    options = parser.parse_args()
    if options.one:
        grow_one(options.one[0], *map(int, options.one[1:]))
        return
    if options.method:
        grow_method(options.method[0], *map(int, options.method[1:]))
        return
    sections = {**SECTIONS, "growth": lambda: growth(tuple(options.threads))}
    rows = [row for name in options.only for row in sections[name]()]
    report("Growth with rows, columns and threads", rows, options.json)


if __name__ == "__main__":
    main()
