"""How well knowledge uncertainty K compares between folds and seeds, and what it costs in NLL.

The section ``folds`` of `benchmarks.own_tables`. Each table is scored with seeds 0 to 4 by an
automatic ensemble, which is of independent models where they are quick, and by a virtual one.

All folds share their numbers of trees, so the rows of a fold help to choose where its own model
stops. ``nested`` is the NLL of the same models when the other folds alone choose a fold's trees,
factor, tails and temperature. Shared trees flatter the NLL by the difference at most: a fifth fewer
rows choose then, which costs something too.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report import Row
from gbuq_core.tables import (
    BUILTIN_TABLES,
    ScorePlan,
    load_builtin,
    measure_unfamiliarity,
    score_table,
)
from gbuq_core.tables.clocks import UnseenRows, choose_table_clocks
from gbuq_core.tables.files import table_from_columns
from gbuq_core.tables.predicting import predict_rows
from gbuq_core.tables.scoring import ScoredTable, evaluate_measured, joined

_OF_LIBRARY = "built-in "  # a set of UCI is called wine too
BUILTIN = tuple(_OF_LIBRARY + table.key for table in BUILTIN_TABLES)
ENSEMBLES = ("automatic", "virtual")
SEEDS = range(5)
MOST_RATIO = 2.0
MOST_ROWS = 20_000  # more are not scored in folds
LEAST_KEPT = 2 / 3
_TOP = 0.05
_DEALS = 500  # of the rows to folds


def run_ensemble(name: str, table: pd.DataFrame | None, ensemble: str, seed: int) -> dict[str, Any]:
    """Ratios of the folds' median K, NLL, and the top 5 % of the rows by K.

    ``table`` has the column ``target``; None means that ``name`` is one of `BUILTIN`.
    """
    scored = _score(name, table, ScorePlan(ensemble=ensemble, seed=seed))
    held = np.flatnonzero(scored.held)
    knowledge = scored.predictions.uncertainty.knowledge[held]
    folds = scored.frame["fold"].to_numpy()[held]
    rng = np.random.default_rng((seed, 53))
    by_chance = [_ratio(knowledge, rng.permutation(folds)) for _ in range(_DEALS)]
    order = np.argsort(-knowledge, kind="stable")
    return {
        "ensemble": scored.plan.ensemble,
        "ratio": _ratio(knowledge, folds),
        "chance": float(np.mean(by_chance)),
        "chance 95": float(np.quantile(by_chance, 0.95)),
        "nll": scored.scores.nll,
        "nested": _nested_nll(scored),
        "top": held[order[: _n_top(len(held))]].tolist(),
    }


def run_unfamiliarity(name: str, table: pd.DataFrame | None, seed: int) -> dict[str, Any]:
    """The top 5 % of the rows by unfamiliarity, which no ensemble of the plan changes."""
    plan = ScorePlan(ensemble="virtual", n_trees=20, depth=2, seed=seed)
    scored = _score(name, table, plan)
    order = measure_unfamiliarity(scored.training, scored.scored, seed).rows.order()
    order = order[scored.held[order]]
    return {"top": order[: _n_top(len(order))].tolist()}


def fold_rows(results: dict[str, dict[str, Any]], names: Iterable[str]) -> list[Row]:
    """A few lines for each table and ensemble."""
    rows: list[Row] = []
    for name in names:
        for ensemble in ENSEMBLES:
            runs = _all_seeds(results, name, f"folds {ensemble}")
            if runs:
                rows += _ensemble_rows(f"{name}, {ensemble} ensemble", runs)
        tops = [run["top"] for run in _all_seeds(results, name, "folds unfamiliarity")]
        if len(tops) > 1:
            rows.append(_kept_row(f"{name}: top 5 % by unfamiliarity", tops))
    return rows


def _ensemble_rows(what: str, runs: list[dict[str, Any]]) -> list[Row]:
    settled = sorted({run["ensemble"] for run in runs})
    if settled[0] not in what:
        what += f" ({' or '.join(settled)})"
    column = {
        key: np.array([run[key] for run in runs])
        for key in ("ratio", "chance", "chance 95", "nll", "nested")
    }
    ratio, flatters = column["ratio"], column["nested"] - column["nll"]
    rows = [
        Row(
            f"{what}: largest over smallest median K of the folds",
            f"{ratio.mean():.2f} ({ratio.min():.2f} to {ratio.max():.2f}); same K in folds dealt "
            f"anew {column['chance'].mean():.2f}, 95 % below {column['chance 95'].mean():.2f}",
            f"<= {MOST_RATIO:g}", bool(ratio.max() <= MOST_RATIO), {},
        ),
        Row(
            f"{what}: NLL (nats)",
            f"{column['nll'].mean():.4f}; nested {column['nested'].mean():.4f}, "
            f"{flatters.mean():+.4f} ({flatters.min():+.4f} to {flatters.max():+.4f})",
            "-", None, {},
        ),
    ]  # fmt: skip
    if len(runs) > 1:
        rows.append(_kept_row(f"{what}: top 5 % by K", [run["top"] for run in runs]))
    return rows


def _kept_row(what: str, tops: list[list[int]]) -> Row:
    shares = [len(set(a) & set(b)) / len(a) for a, b in combinations(tops, 2)]
    return Row(
        f"{what}, kept between two seeds",
        f"{100 * np.mean(shares):.0f} %, lowest pair {100 * min(shares):.0f} %",
        ">= 67 %", float(np.mean(shares)) >= LEAST_KEPT, {"kept": shares},
    )  # fmt: skip


def _all_seeds(results: dict[str, dict[str, Any]], name: str, section: str) -> list[dict[str, Any]]:
    runs = [results.get(f"{name}/{seed}/{section}") for seed in SEEDS]
    return [run for run in runs if run]


def _score(name: str, table: pd.DataFrame | None, plan: ScorePlan) -> ScoredTable:
    if table is not None:
        rows = table_from_columns({each: table[each].to_numpy() for each in table}, name)
        return score_table(rows, "target", plan=plan)
    loaded = load_builtin(name.removeprefix(_OF_LIBRARY))
    return score_table(loaded.table, loaded.about.target, schema=loaded.schema, plan=plan)


def _n_top(n_rows: int) -> int:
    return max(1, round(_TOP * n_rows))


def _ratio(knowledge: np.ndarray, folds: np.ndarray) -> float:
    medians = [float(np.median(knowledge[folds == fold])) for fold in np.unique(folds)]
    return max(medians) / min(medians) if min(medians) > 0.0 else float("inf")


def _nested_nll(scored: ScoredTable) -> float:
    """NLL where the other folds alone choose a fold's clocks; of the models as they are."""
    training, folds = scored.training, scored.frame["fold"].to_numpy()
    rows_of = [np.flatnonzero(folds == fold) for fold in range(1, int(folds.max()) + 1)]
    unseen = [
        UnseenRows(scored.models[scored.model_of_row[rows[0]]].estimator, rows) for rows in rows_of
    ]
    step, n_classes = training.resolution, len(training.target.classes)
    pieces = []
    for k, (model, rows, _) in enumerate(unseen):
        chosen = choose_table_clocks(unseen[:k] + unseen[k + 1 :], training, scored.plan)
        stopped = model.with_clocks(None if chosen is None else chosen.whole)
        X, y = training.X.iloc[rows], training.y[rows]
        pieces.append(predict_rows(stopped, X, y, n_classes, step))
    rows = np.sort(np.concatenate(rows_of))
    return float(evaluate_measured(training, rows, joined(pieces, rows_of)).nll)
