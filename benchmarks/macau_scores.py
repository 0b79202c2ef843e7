"""MACAU and its peers on UCI sets: CRPS, NLL and RMSE, with nobody tuned.

The paper has no such table: its own sets are synthetic, and California housing, which is not among
the built-in ones. Every (set, split, method) is written at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row, load_split, table_lines
from benchmarks.store import Store
from benchmarks.tables.comparing import collect, judge, mean_error, ranks
from gbuq_core import methods
from gbuq_core.metrics import crps_gaussian, nll_gaussian, rmse

SETS = ("energy", "concrete", "wine", "power")
METHODS = {
    "MACAU linear": "macau_linear",
    "MACAU basic": "macau_basic",
    "random forest": "forest",
    "quantile forest": "quantile",
    "conformal forest": "conformal_forest",
    "CatBoost": "catboost",
    "NGBoost": "ngboost",
}
FOCUS = "MACAU linear"
SCORES = ("crps", "nll", "rmse")
FOREST = {"n_trees": 100, "subsample": 0.8}
LEAST_SCALE = 1e-3  # of the target's std: a forest's trees may agree, and a std of 0 has no NLL


def make_model(method: str, seed: int, forest: Mapping[str, Any] = FOREST) -> Any:
    """An unfitted regressor with one thread, of a key of `gbuq_core.methods.METHODS`."""
    record = methods.METHODS[method]
    shared = {"n_jobs": 1, "random_state": seed}
    takes = {name: shared[name] for name in record.builder().takes if name in shared}
    model = record.make(n_trees=forest["n_trees"], **takes)
    # NGBoost and CatBoost see the same share of the rows, though no page offers that knob.
    return model.set_params(subsample=forest["subsample"])


def measure(data_dir: Path, name: str, split: int, method: str) -> dict[str, float]:
    """Scores and processor time of one method on one split."""
    data = load_split(data_dir, name, split)
    began = time.process_time()
    model = make_model(METHODS[method], split).fit(data.X_train, data.y_train)
    fitted = time.process_time()
    loc, scale = model.predict_distribution(data.X_test)
    done = time.process_time()
    scale = np.maximum(scale, LEAST_SCALE * float(data.y_train.std()))
    return {
        "crps": float(crps_gaussian(data.y_test, loc, scale)),
        "nll": float(nll_gaussian(data.y_test, loc, scale)),
        "rmse": float(rmse(data.y_test, loc)),
        "fit_cpu_seconds": fitted - began,
        "predict_cpu_ms": 1e3 * (done - fitted) / len(data.y_test),
    }


def scores(data_dir: Path, sets: Sequence[str], n_splits: int, out: Path | None) -> list[Row]:
    """Measure what is not kept yet, print the table, and return the verdicts."""
    store = Store(out, {"forest": FOREST, "least_scale": LEAST_SCALE})
    for name in sets:
        for split in range(n_splits):
            for method in METHODS:
                key = Store.key(name, split, method)
                if key in store.results:
                    continue
                found = measure(data_dir, name, split, method)
                store.put(key, found)
                print(key, ", ".join(f"{k} {v:.4f}" for k, v in found.items()), flush=True)
    print("\n".join(table(store.results, sets)))
    return [verdict_row(store.results, sets, score) for score in SCORES]


def table(results: Mapping[str, Mapping[str, Any]], sets: Sequence[str]) -> list[str]:
    """Markdown lines: for every score a row a method, and the mean rank over splits and sets."""
    lines = ["\nmean (standard error over splits); nobody is tuned: 100 trees, libraries' settings"]
    for score in SCORES:
        rows = [["method", *sets, "mean rank"]]
        by_set = {name: collect(results, name, score, tuple(METHODS)) for name in sets}
        places = {name: ranks(found) for name, found in by_set.items() if found}
        for method in METHODS:
            here = [each[method] for each in places.values() if method in each]
            cells = [
                str(mean_error(by_set[name][method])) if method in by_set[name] else ""
                for name in sets
            ]
            rows.append([method, *cells, f"{np.mean(here):.2f}" if here else ""])
        lines += table_lines(score.upper(), rows)
    return [*lines, *_costs(results, sets)]


def _costs(results: Mapping[str, Mapping[str, Any]], sets: Sequence[str]) -> list[str]:
    rows = [["method", *sets]]
    for method in METHODS:
        cells = []
        for name in sets:
            fit = collect(results, name, "fit_cpu_seconds", [method]).get(method)
            row = collect(results, name, "predict_cpu_ms", [method]).get(method)
            cells.append(f"{np.mean(fit):.2f}, {np.mean(row):.3f}" if fit and row else "")
        rows.append([method, *cells])
    return table_lines("Processor time: fit (s), prediction (ms a row)", rows)


def verdict_row(results: Mapping[str, Mapping[str, Any]], sets: Sequence[str], score: str) -> Row:
    """On how many sets MACAU with linear leaves is first, or tied with the best of the others."""
    found = {
        name: judge(collect(results, name, score, tuple(METHODS)), tuple(METHODS), FOCUS)
        for name in sets
    }
    known = {name: each for name, each in found.items() if each is not None}
    good = sum(each.word != "behind" for each in known.values())
    text = "; ".join(
        f"{name} {each.word} ({each.difference.mean:+.4f} +- {each.difference.error:.4f} to "
        f"{each.rival})"
        for name, each in known.items()
    )
    return Row(
        f"{score.upper()}: {FOCUS} first or tied",
        f"{good} of {len(known)} sets: {text}" if known else "not measured",
        "",
        None,
        {name: [each.word, each.rival, *each.difference] for name, each in known.items()},
    )
