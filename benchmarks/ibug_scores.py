"""CRPS, NLL and RMSE of IBUG and its rivals on UCI sets: run, kept in a file, and reported.

Every (set, split, method) is written at once, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from benchmarks import ibug_curves, ibug_methods, ibug_models, ibug_pgbm, ibug_tables
from benchmarks.ibug_data import SCORES, SETS, VALIDATION_SHARE, load_parts
from benchmarks.ibug_methods import METHODS, Missing, SplitMethods
from benchmarks.report import Row
from benchmarks.store import Store
from benchmarks.tables.comparing import collect, judge

# Five splits of the largest set, or its grids on every split, would take hours.
MOST_SPLITS = {"protein": 3}
TUNED_ONCE = ("protein",)  # hyperparameters of split 0 on all; k and calibration on each
CURVE_SPLITS = {"power": 1, "protein": 1}


def protocol() -> dict[str, Any]:
    """What results must have in common to stand in one table."""
    return {
        "validation_share": VALIDATION_SHARE,
        "learning_rate": ibug_models.LEARNING_RATE,
        "trees": list(ibug_models.TREES),
        "grids": ibug_models.GRIDS,
        "sglb": ibug_methods.SGLB_GRID,
        "pgbm": ibug_pgbm.LEAVES,
        "ngboost": [
            ibug_methods.NGBOOST_TREES,
            ibug_methods.NGBOOST_RATE,
            ibug_methods.NGBOOST_ROWS,
        ],
    }


def run(
    data_dir: Path,
    sets: list[str],
    n_splits: int,
    methods: list[str],
    store: Store,
    pgbm_python: Path | None,
) -> None:
    """Measure what the store does not hold yet."""
    missing: set[str] = set()
    for name in (each for each in SETS if each in sets):
        for split in range(min(n_splits, MOST_SPLITS.get(name, n_splits))):
            wanted = [m for m in methods if Store.key(name, split, m) not in store.results]
            if not wanted:
                continue
            known = _first_settings(store, name, methods) if split and name in TUNED_ONCE else {}
            here = SplitMethods(load_parts(data_dir, name, split), pgbm_python, known=known)
            for method in wanted:
                began = time.perf_counter()
                try:
                    result = measure(here, method)
                except Missing as error:
                    missing.add(str(error))
                    continue
                store.put(Store.key(name, split, method), result)
                scores = ", ".join(f"{s} {result[s]:.4f}" for s in SCORES)
                seconds = time.perf_counter() - began
                print(f"{name} {split} {method}: {scores} ({seconds:.1f} s)", flush=True)
    for sentence in sorted(missing):
        print(f"left out: {sentence}")


def _first_settings(store: Store, name: str, methods: list[str]) -> dict[str, Any]:
    """What was chosen on split 0, by method."""
    first = {method: store.results.get(Store.key(name, 0, method)) for method in methods}
    return {method: each["settings"] for method, each in first.items() if each is not None}


def measure(here: SplitMethods, method: str) -> dict[str, Any]:
    """Scores, settings and costs of one method on one split."""
    predicted = METHODS[method](here)
    n_test = len(here.parts.y_test)
    return {
        **ibug_methods.score(here.parts, predicted),
        "settings": predicted.settings,
        "fit_cpu_seconds": predicted.fit_seconds,
        "predict_cpu_ms": 1e3 * predicted.predict_seconds / n_test,
    }


def run_curves(
    data_dir: Path, sets: list[str], n_splits: int, store: Store
) -> dict[str, list[dict[str, Any]]]:
    """Curves of the splits whose CatBoost knobs the store knows, by set."""
    found: dict[str, list[dict[str, Any]]] = {}
    for name in (each for each in SETS if each in sets):
        for split in range(min(n_splits, CURVE_SPLITS.get(name, n_splits))):
            tuned = store.results.get(Store.key(name, split, "IBUG CatBoost"))
            if tuned is None:
                continue
            key = Store.key(name, split, ibug_curves.KEY)
            if key not in store.results:
                parts = load_parts(data_dir, name, split)
                store.put(key, ibug_curves.measure_curves(parts, tuned["settings"]))
                print(f"{name} {split}: curves", flush=True)
            found.setdefault(name, []).append(store.results[key])
    return found


def tables(store: Store, sets: list[str], curves: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Everything as Markdown lines."""
    shown = [name for name in SETS if name in sets]
    methods = list(METHODS)
    lines = ["mean (standard error over splits); the paper's standard errors are of 10 folds"]
    lines += [
        f"{name}: size and number of trees were chosen once, on split 0; test rows of other splits "
        "were among its rows, for every method alike"
        for name in shown
        if name in TUNED_ONCE
    ]
    for name in shown:
        lines += ibug_tables.score_table(store.results, name, methods)
    lines += ibug_tables.verdict_lines(store.results, shown, methods)
    lines += ibug_tables.rank_lines(store.results, shown, methods)
    lines += ibug_tables.cost_lines(store.results, shown, methods)
    return [*lines, *ibug_tables.curve_lines(curves), *ibug_tables.family_lines(curves)]


def scores(
    data_dir: Path, sets: list[str], n_splits: int, out: Path | None, pgbm_python: Path | None
) -> list[Row]:
    """Measure, print the tables, and return the verdicts as rows of the benchmark's report."""
    store = Store(out, protocol())
    run(data_dir, sets, n_splits, list(METHODS), store, pgbm_python)
    curves = run_curves(data_dir, sets, n_splits, store)
    print("\n".join(tables(store, sets, curves)))
    return [
        _verdict_row(store, sets, score, label, rivals)
        for score in SCORES
        for label, rivals in (
            ("all methods", list(METHODS)),
            ("the paper's five", list(ibug_tables.OF_THE_PAPER)),
        )
    ]


def _verdict_row(store: Store, sets: list[str], score: str, label: str, rivals: list[str]) -> Row:
    found = {
        name: judge(collect(store.results, name, score, list(METHODS)), rivals, ibug_tables.FOCUS)
        for name in sets
    }
    verdicts = {name: each for name, each in found.items() if each is not None}
    good = sum(each.word != "behind" for each in verdicts.values())
    return Row(
        f"{score.upper()}: {ibug_tables.FOCUS} first or tied among {label}",
        f"{good} of {len(verdicts)} sets",
        ">= 3 of 5",
        good >= 3 if len(verdicts) == len(SETS) else None,
        {n: [v.word, v.rival, *v.difference] for n, v in verdicts.items()},
    )
