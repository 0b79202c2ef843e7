"""The one-dimensional experiment over seeds: table 1, and what the forest's knobs do to it.

MACAU (doi 10.5121/csit.2023.131920), section 4.1.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.macau_tables import auroc_lines, crps_lines, spread
from benchmarks.report import Row, table_lines
from benchmarks.store import Store
from benchmarks.tables.comparing import collect
from gbuq_core.experiments.heteroscedastic.fit import fit_heteroscedastic, measure_heteroscedastic
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    SCORES,
    HeteroscedasticSettings,
    method_missing,
    plan_heteroscedastic,
    plan_measure,
)
from gbuq_core.experiments.heteroscedastic.scores import score_heteroscedastic

BASE = HeteroscedasticSettings()
# What the forest is grown with, against the paper's subsample of 0.1 and leaves of 20 rows.
VARIATIONS: dict[str, dict[str, Any]] = {
    "subsample 0.1, 20 rows a leaf": {},
    "subsample 0.2": {"subsample": 0.2},
    "subsample 0.5": {"subsample": 0.5},
    "subsample 0.8": {"subsample": 0.8},
    "5 rows a leaf": {"min_child_samples": 5},
    "1 row a leaf": {"min_child_samples": 1},
    "1 row a leaf, 255 leaves": {"min_child_samples": 1, "max_leaves": 255},
    "1 row a leaf, 255 leaves, subsample 0.8": {
        "min_child_samples": 1, "max_leaves": 255, "subsample": 0.8,
    },
}  # fmt: skip
VARIED = ("macau_linear", "macau_basic")


def measure(settings: HeteroscedasticSettings, method: str) -> dict[str, float]:
    """Every number of one method; NaN for those that it has not."""
    began = time.process_time()
    fit = fit_heteroscedastic(plan_heteroscedastic(settings, method))
    fitted = time.process_time()
    predicted = measure_heteroscedastic(fit, plan_measure(settings))
    done = time.process_time()
    score = score_heteroscedastic(fit, predicted, settings)
    found = {
        "crps": score.crps,
        "truth_crps": score.truth_crps,
        "excess": score.excess,
        "rmse": score.rmse,
        "noise_ratio": score.noise_ratio,
        "fit_cpu": fitted - began,
        "score_cpu": done - fitted,
    }
    found |= {f"coverage_{level.level:g}": level.observed for level in score.coverage}
    return found | {f"auroc_{key}": score.auroc_of(key) for key in SCORES}


def _fill(store: Store, name: str, settings: HeteroscedasticSettings, method: str) -> None:
    key = Store.key(name, settings.seed, method)
    if key in store.results:
        return
    store.put(key, measure(settings, method))
    found = store.results[key]
    shown = {k: v for k, v in found.items() if not math.isnan(v)}
    print(key, ", ".join(f"{k} {v:.3f}" for k, v in shown.items()), flush=True)


def table1(n_seeds: int, out: Path | None, settings: HeteroscedasticSettings = BASE) -> list[Row]:
    """All methods on several seeds."""
    store = Store(out, vars(settings))
    for method in METHODS:
        refusal = method_missing(method)
        if refusal:
            print(f"left out: {refusal}")
            continue
        for seed in range(n_seeds):
            _fill(store, "1-D", replace(settings, seed=seed), method)
    print("\n".join([*crps_lines(store.results), *auroc_lines(store.results)]))
    return _verdicts(store.results)


def _verdicts(results: dict[str, dict[str, Any]]) -> list[Row]:
    def mean(method: str, score: str) -> float:
        values = collect(results, "1-D", score, [method]).get(method)
        return float(np.mean(values)) if values else math.nan

    excess = {m: mean(m, "excess") for m, kind in METHODS.items() if kind.parts}
    known = {m: value for m, value in excess.items() if not math.isnan(value)}
    order = sorted(known, key=known.__getitem__)
    truth = mean("macau_linear", "truth_crps")
    rows = [
        Row(
            f"1-D: CRPS over the truth's own ({truth:.4f} here), from the least",
            ", ".join(f"{METHODS[m].label} {known[m]:+.4f}" for m in order),
            "MACAU (linear) lowest",
            order[0] == "macau_linear" if "macau_linear" in known else None,
            known,
        )
    ]
    for method, score, paper in (
        ("macau_linear", "novelty", 1.0),
        ("macau_linear", "inference_novelty", 1.0),
        ("macau_basic", "inference_novelty", 0.5),
        ("macau_linear", "knowledge", 0.95),
        ("catboost", "knowledge", 0.53),
    ):
        value = mean(method, f"auroc_{score}")
        rows.append(
            Row(
                f"1-D: AUROC of {SCORES[score].label.lower()}, {METHODS[method].label}",
                f"{value:.3f}",
                f"the paper's {paper:g} to 0.05",
                abs(value - paper) <= 0.05,
                {"auroc": value},
            )
        )
    return rows


def sensitivity(
    n_seeds: int, out: Path | None, settings: HeteroscedasticSettings = BASE
) -> list[Row]:
    """The forest's subsample and leaves, one after the other."""
    store = Store(out, vars(settings))
    shown = ("excess", "auroc_knowledge", "auroc_novelty", "auroc_inference_novelty")
    titles = ["CRPS over the truth's", "AUROC of KU", "of novelty", "of |inference novelty|"]
    table = [["forest", "leaves", *titles]]
    found: dict[tuple[str, str], list[list[float]]] = {}
    for name, knobs in VARIATIONS.items():
        for method in VARIED:
            for seed in range(n_seeds):
                _fill(store, name, replace(settings, seed=seed, **knobs), method)
            values = [collect(store.results, name, s, [method])[method] for s in shown]
            found[name, method] = values
            table.append([name, method.removeprefix("macau_"), *map(spread, values)])
    print("\n".join(table_lines("1-D: the forest's knobs; mean (std over seeds)", table)))
    return [
        _compared(found, "knowledge uncertainty", 1, "subsample 0.8", "0.95 -> 0.78"),
        _compared(found, "|inference novelty|", 3, "1 row a leaf, 255 leaves", "1.0 -> 0.6"),
    ]


def _compared(
    found: dict[tuple[str, str], list[list[float]]], what: str, i: int, other: str, paper: str
) -> Row:
    first, second = (
        float(np.mean(found[name, "macau_linear"][i])) for name in (next(iter(VARIATIONS)), other)
    )
    return Row(
        f"1-D, linear leaves: AUROC of {what}, paper's forest -> {other}",
        f"{first:.3f} -> {second:.3f}",
        f"about {paper}",
        None,
        {"paper_forest": first, "other": second},
    )
