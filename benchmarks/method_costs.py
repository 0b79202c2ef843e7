"""Whether the cost models of `gbuq_core.methods` hold: estimated beside measured, for every method.

    python -m benchmarks.method_costs [--methods sglb gp] [--rows 500 2000] [--columns 1 8]

Seconds are processor time of one thread, memory is the peak that Python's allocator saw above what
was there before (what a library keeps in memory of its own is not in it).
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.methods import METHODS, Method

TREES = 50
TREES_OF = {"ibug": 1000, "ibug_cbu": 1000, "knn_cb": 1000, "vst": 1}  # nobody sets them


class Measured(NamedTuple):
    """Seconds of a fit and of predicting as many rows again, and peak bytes of the fit."""

    fit_seconds: float
    predict_seconds: float
    fit_bytes: int


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 2000])
    parser.add_argument("--columns", nargs="+", type=int, default=[1, 8])
    options = parser.parse_args()
    print("method, rows, columns, trees: fit s (estimated), predict s (estimated), MB (estimated)")
    for key in options.methods:
        method = METHODS[key]
        if method.forms or method.missing():
            continue
        for rows in options.rows:
            for columns in options.columns:
                print(describe(method, rows, columns), flush=True)


def describe(method: Method, rows: int, columns: int) -> str:
    """One line: measured with the estimate in parentheses."""
    arguments, trees = arguments_of(method)
    measured, costs = measure(method, rows, columns, arguments), method.costs
    size = costs.fit_bytes(rows, columns, trees)
    return (
        f"{method.key}, {rows}, {columns}, {trees}: "
        f"{measured.fit_seconds:.3g} ({costs.fit_seconds(rows, columns, trees):.3g}), "
        f"{measured.predict_seconds:.3g} ({costs.predict_seconds(rows, trees):.3g}), "
        f"{measured.fit_bytes / 2**20:.1f} ({size / 2**20:.1f})"
    )


def arguments_of(method: Method) -> tuple[dict[str, Any], int]:
    """Knobs of a short fit, and how many trees they are in all."""
    knobs = {knob.key: knob.default for knob in method.knobs}
    if "trees_per_group" in knobs:
        return {"n_groups": 5, "trees_per_group": TREES // 5}, TREES
    if "n_trees" not in knobs:
        return {}, TREES_OF.get(method.key, 0)
    given: dict[str, Any] = {"n_trees": 2 if method.key == "vsgbm" else TREES}
    if "n_members" in knobs and method.key in ("sgb", "sglb"):
        given["n_members"] = 2
    if "cycle_length" in knobs:
        given["cycle_length"] = 10
    if "truncation_step" in knobs:
        given["truncation_step"] = 5
    return given, given["n_trees"] * given.get("n_members", 1)


def measure(method: Method, rows: int, columns: int, arguments: dict[str, Any]) -> Measured:
    """Fit and predict random rows once for time, after a small fit that compiles, once for size."""
    random = np.random.default_rng(0)
    X = random.normal(size=(rows, columns))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * random.normal(size=rows)
    X_new = random.normal(size=(rows, columns))
    task = method.tasks[0]
    knobs = dict(arguments)
    knobs |= {name: 1 for name in method.builder(task).takes if name in ("n_jobs", "random_state")}

    def fit() -> Any:
        return method.make(task, **knobs).fit(X, y)

    def predict(model: Any) -> None:
        for name in ("predict_uncertainty", "predict_distribution", "predict_members"):
            if hasattr(model, name):
                getattr(model, name)(X_new)
                return
        model.score_novelty(X_new)

    small = method.make(task, **knobs).fit(X[:200], y[:200])
    predict(small)
    began = time.process_time()
    model = fit()
    fitted = time.process_time()
    predict(model)
    done = time.process_time()
    tracemalloc.start()
    fit()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Measured(fitted - began, done - fitted, peak)


if __name__ == "__main__":
    main()
