"""How training and prediction of one boosted model grow with rows, columns and threads.

``python -m benchmarks.scaling`` compares with CatBoost and LightGBM in the same run, one after the
other, so that a busy machine slows all of them. Compiling is not in it: each kernel runs once on
few rows before. `growth` and `methods` measure each size in a process of its own, for its peak
memory. Each measurement is written at once, and a second call goes on with those that lack:
delete the file, or name another with ``--json``, to measure anew.

- `threads`: one virtual SGLB ensemble on 400,000 x 20, 100 trees, on one and on two threads.
- `predict`: ten virtual members of 100,000 x 20 on one thread.
- `growth`: seconds and memory from 10,000 to 4,000,000 rows, 200 trees, and 100 columns.
- `methods`: IBUG, MACAU and soft trees along rows, trees and columns, one of them at a time.

README's picture is drawn of ``benchmarks/results/speed/scaling.json`` by
``python -m benchmarks.pictures --only scaling``. ``--shrink 1000`` is a quick trial.
"""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import Row, make_parser, report
from benchmarks.store import Store
from gbuq_core import (
    BoostedEnsembleRegressor,
    IBUGRegressor,
    MacauRegressor,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeRegressor,
)

RESULTS = Path(__file__).with_name("results") / "speed" / "scaling.json"
N_MEMBERS = 10
SIZES = ((10_000, 20), (100_000, 20), (1_000_000, 20), (4_000_000, 20), (100_000, 100))
COMPARED = (100_000, 4_000_000)  # rows whose seconds a row are compared
N_TREES = 200  # of `growth`
RIVALS = ("ours", "CatBoost", "LightGBM x 2")
REPEATS = 3

# The axes of `methods`: what grows, with the other two at their base.
BASE = {"rows": 10_000, "trees": 100, "columns": 10}
AXES = {"rows": (1_000, 10_000, 100_000), "trees": (50, 100, 200), "columns": (10, 40, 160)}
BOOSTED_SOFT_TREES = {50: 2, 100: 4, 200: 8}  # a soft tree costs as much as many hard ones
N_STEPS = 300  # of the optimiser; its seconds are in proportion to them
METHODS = {
    "IBUG": ("rows", "trees", "columns"),
    "MACAU": ("rows", "trees", "columns"),
    "VST": ("rows", "columns"),
    "VSGBM": ("trees",),
}


class Run(NamedTuple):
    """What was asked for: where results are kept, and by how much rows are fewer than stated."""

    store: Store
    threads: tuple[int, ...]
    shrink: int

    def rows(self, n_rows: int) -> int:
        """So many rows, or fewer for a trial."""
        return max(500, n_rows // self.shrink)

    def once(self, key: str, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The stored result of this name, or else what is measured now."""
        if key not in self.store.results:
            print(key, flush=True)
            self.store.put(key, measure())
        return self.store.results[key]


def in_fresh_process(measure: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    """What a function returns in a process of its own, whose peak memory is its own too."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def make_table(n_rows: int, n_columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Normal columns; the mean depends on two of them and the noise on a third."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    noise = np.exp(0.3 * X[:, 2]) * rng.normal(size=n_rows)
    return X, X[:, 0] + np.sin(3.0 * X[:, 1]) + noise


def ours(n_trees: int, n_jobs: int) -> BoostedEnsembleRegressor:
    """Virtual SGLB of ten members from the second half of the trees."""
    return BoostedEnsembleRegressor(
        method="sglb",
        ensemble="virtual",
        n_trees=n_trees,
        truncation_step=n_trees // 20,
        learning_rate=0.1,
        stopping=None,
        n_jobs=n_jobs,
        random_state=0,
    )


def catboost(n_trees: int, n_threads: int) -> Any:
    """Its model of a mean and a variance, with the same trees."""
    from catboost import CatBoostRegressor

    return CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        posterior_sampling=True,
        iterations=n_trees,
        depth=6,
        learning_rate=0.1,
        border_count=127,
        thread_count=n_threads,
        random_seed=0,
        verbose=0,
        allow_writing_files=False,
    )


def fit_lightgbm(X: np.ndarray, y: np.ndarray, n_trees: int, n_threads: int) -> None:
    """Two models of one output each, for a mean and for a variance."""
    from lightgbm import LGBMRegressor

    for target in (y, np.square(y)):
        LGBMRegressor(
            n_estimators=n_trees,
            num_leaves=63,
            max_bin=127,
            learning_rate=0.1,
            verbose=-1,
            n_jobs=n_threads,
            random_state=0,
        ).fit(X, target)


def in_turns(runs: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, float]:
    """Median seconds of each, taken in turns."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            began = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - began)
    return {name: float(np.median(runs)) for name, runs in seconds.items()}


def ratio_row(what: str, ratio: float, bar: float, seconds: dict[str, float]) -> Row:
    """One ratio with its bar, below which it is not met."""
    return Row(what, f"{ratio:.2f} x", f">= {bar:g} x", ratio >= bar, {"ratio": ratio, **seconds})


def seconds_row(what: str, seconds: float) -> Row:
    """Seconds without a bar."""
    return Row(what, f"{seconds:.3g} s", "", None, {"seconds": seconds})


def threads(run: Run) -> list[Row]:
    """400,000 x 20, 100 trees."""
    n_rows = run.rows(400_000)

    def measure() -> dict[str, float]:
        X, y = make_table(n_rows, 20)
        ours(20, 2).fit(X[:70_000], y[:70_000])
        return in_turns(
            {
                "ours, 1 thread": lambda: ours(100, 1).fit(X, y),
                "ours, 2 threads": lambda: ours(100, 2).fit(X, y),
                "CatBoost, 2 threads": lambda: catboost(100, 2).fit(X, y),
                "two of LightGBM, 2 threads": lambda: fit_lightgbm(X, y, 100, 2),
            }
        )

    what = f"{n_rows:,} x 20, 100 trees"
    times = run.once(f"threads: {what}", measure)
    two = times["ours, 2 threads"]
    return [
        *(seconds_row(f"{what}: {name}", times[name]) for name in times),
        ratio_row("two threads against one", times["ours, 1 thread"] / two, 1.6, times),
        ratio_row("ours against CatBoost, 2 threads", times["CatBoost, 2 threads"] / two, 1.5, {}),
        ratio_row(
            "ours against two of LightGBM, 2 threads",
            times["two of LightGBM, 2 threads"] / two,
            0.9,
            {},
        ),
    ]


def predict(run: Run) -> list[Row]:
    """100,000 x 20, ten virtual members, one thread."""
    n_rows = run.rows(100_000)

    def measure(n_trees: int) -> dict[str, float]:
        X, y = make_table(n_rows, 20)
        model = ours(n_trees, 1).fit(X[:20_000], y[:20_000])
        peer = catboost(n_trees, 1).fit(X[:20_000], y[:20_000])
        model.predict_uncertainty(X)
        return in_turns(
            {
                "ours": lambda: model.predict_uncertainty(X),
                "CatBoost": lambda: peer.virtual_ensembles_predict(
                    X,
                    prediction_type="TotalUncertainty",
                    virtual_ensembles_count=N_MEMBERS,
                    thread_count=1,
                ),
            },
            repeats=7,
        )

    rows = []
    for n_trees in (200, 1000):
        what = f"predict {n_rows:,} x 20, {n_trees} trees, one thread"
        times = run.once(what, partial(measure, n_trees))
        rows += [seconds_row(f"{what}: {name}", times[name]) for name in times]
        rows.append(
            ratio_row(f"{what}, against CatBoost", times["CatBoost"] / times["ours"], 1.5, times)
        )
    return rows


def grow_one(who: str, n_rows: int, n_columns: int, n_threads: int) -> dict[str, Any]:
    """The seconds of one fit and the peak memory that it added."""
    X, y = make_table(n_rows, n_columns)
    small = slice(0, 70_000)
    fits: dict[str, Callable[[int, np.ndarray, np.ndarray], Any]] = {
        "ours": lambda trees, X, y: ours(trees, n_threads).fit(X, y),
        "CatBoost": lambda trees, X, y: catboost(trees, n_threads).fit(X, y),
        "LightGBM x 2": lambda trees, X, y: fit_lightgbm(X, y, trees, n_threads),
    }
    fits[who](20, X[small], y[small])
    before, began = peak_megabytes(), time.perf_counter()
    fits[who](N_TREES, X, y)
    seconds = time.perf_counter() - began
    return {
        "who": who,
        "rows": n_rows,
        "columns": n_columns,
        "threads": n_threads,
        "seconds": seconds,
        "megabytes": peak_megabytes() - before,
    }


def growth(run: Run) -> list[Row]:
    """Seconds and added peak memory of each size."""
    rows = []
    small, large = map(run.rows, COMPARED)
    for n_threads in run.threads:
        seconds: dict[tuple[str, int], float] = {}
        for n_rows, n_columns in ((run.rows(n), columns) for n, columns in SIZES):
            for who in RIVALS:
                what = f"{who}: {n_rows:,} x {n_columns}, {N_TREES} trees, {n_threads} threads"
                measure = partial(in_fresh_process, grow_one, who, n_rows, n_columns, n_threads)
                cost = run.once(what, measure)
                if n_columns == SIZES[0][1]:
                    seconds[who, n_rows] = cost["seconds"]
                words = f"{cost['seconds']:.3g} s, {cost['megabytes']:.0f} MB"
                rows.append(Row(what, words, "", None, cost))
        for who in RIVALS:
            times = seconds[who, large] / seconds[who, small]
            ratio, exponent = times * small / large, math.log(times) / math.log(large / small)
            bar, met = ("<= 1.3 x", ratio <= 1.3) if who == "ours" else ("", None)
            rows.append(
                Row(
                    f"{who}, {n_threads} threads: seconds a million rows, "
                    f"{large:,} against {small:,}",
                    f"{ratio:.2f} x (exponent {exponent:.2f})",
                    bar,
                    met,
                    {"ratio": ratio, "exponent": exponent},
                )
            )
    return rows


def make_method(who: str, n_trees: int) -> Any:
    """One method at its defaults but for the number of trees (steps, of soft trees)."""
    from lightgbm import LGBMRegressor

    def base(**more: Any) -> Any:
        return LGBMRegressor(n_estimators=n_trees, n_jobs=2, random_state=0, verbose=-1, **more)

    makers: dict[str, Callable[[], Any]] = {
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
    return makers[who]()


def grow_method(who: str, n_rows: int, n_columns: int, n_trees: int) -> dict[str, Any]:
    """The seconds of one fit and of 1,000 predictions and the added memory."""
    X, y = make_table(n_rows + 1_000, n_columns)
    train, new = slice(0, n_rows), slice(n_rows, None)
    make_method(who, 50).fit(X[:500], y[:500]).predict_uncertainty(X[:20])
    before, began = peak_megabytes(), time.perf_counter()
    model = make_method(who, n_trees).fit(X[train], y[train])
    fitted = time.perf_counter()
    model.predict_uncertainty(X[new])
    predicted = time.perf_counter()
    return {
        "who": who,
        "rows": n_rows,
        "columns": n_columns,
        "trees": n_trees,
        "seconds": fitted - began,
        "predict_seconds": predicted - fitted,
        "megabytes": peak_megabytes() - before,
    }


def methods(run: Run) -> list[Row]:
    """IBUG, MACAU and soft trees on two threads: rows, trees and columns one at a time."""
    rows = []
    for who, axis in ((who, axis) for who, axes in METHODS.items() for axis in axes):
        seconds = []
        for size in AXES[axis]:
            sizes = {**BASE, axis: size}
            sizes["rows"] = run.rows(sizes["rows"])
            shown = {
                **sizes,
                "trees": BOOSTED_SOFT_TREES[size] if who == "VSGBM" else sizes["trees"],
            }
            what = f"{who}: {shown['rows']:,} x {shown['columns']}"
            what += "" if who == "VST" else f", {shown['trees']} trees"
            arguments = (sizes["rows"], sizes["columns"], sizes["trees"])
            cost = run.once(what, partial(in_fresh_process, grow_method, who, *arguments))
            seconds.append(cost["seconds"])
            rows.append(
                Row(
                    what,
                    f"fit {cost['seconds']:.3g} s, 1,000 rows {cost['predict_seconds']:.3g} s, "
                    f"{cost['megabytes']:.0f} MB",
                    "",
                    None,
                    cost,
                )
            )
        exponent = math.log(seconds[-1] / seconds[-2]) / math.log(AXES[axis][-1] / AXES[axis][-2])
        rows.append(
            Row(
                f"{who}: exponent along {axis}, the last two sizes",
                f"{exponent:.2f}",
                "",
                None,
                {"exponent": exponent},
            )
        )
    return rows


SECTIONS: dict[str, Callable[[Run], list[Row]]] = {
    "threads": threads,
    "predict": predict,
    "growth": growth,
    "methods": methods,
}


def main() -> None:
    """Run the sections that are asked for."""
    parser = make_parser(__doc__.splitlines()[0], list(SECTIONS))
    parser.set_defaults(json=RESULTS)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="of growth")
    parser.add_argument("--shrink", type=int, default=1, help="divide all rows by it, for a trial")
    options = parser.parse_args()
    options.json.parent.mkdir(parents=True, exist_ok=True)
    store = Store(options.json, {"steps": N_STEPS, "shrink": options.shrink})
    run = Run(store, tuple(options.threads), options.shrink)
    rows = [row for name in options.only for row in SECTIONS[name](run)]
    report("Growth with rows, columns and threads", rows, None)


if __name__ == "__main__":
    main()
