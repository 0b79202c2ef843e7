"""Whether the verdict on more rows is right, and whether the rows that are ranked first pay.

Two sections of `benchmarks.own_tables`. ``more_rows`` makes tables whose truth is known and counts
verdicts over seeds, beside the plain rule (the last doubling brought 2 %), and compares what one
more doubling was expected to bring with what it brings on twice as many rows. ``next_rows`` labels
5 % of a pool by each rule, trains again, and scores a held-out fifth.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.report import Row
from gbuq_core.metrics import LearningCurve
from gbuq_core.tables import ScorePlan, Table, learning_curve, rank_next, score_table
from gbuq_core.tables.files import table_from_columns

# Name, number of rows, and what the verdict should be.
TRUTHS = (
    ("noise", 1000, "noise"),
    ("step", 2000, "noise"),
    ("smooth", 300, "more"),
    ("smooth", 1000, "more"),
    ("noise", 150, "undecided"),
)
NEXT_SETS = ("concrete", "energy", "boston", "wine")
SEEDS = range(10)
NEXT_SEEDS = range(10, 20)  # the rule was chosen on seeds 0 to 9 of concrete and energy
RULES = ("ours", "knowledge")
_PLAN = ScorePlan(method="sglb", n_trees=200, depth=4)
_NEXT_PLAN = ScorePlan(n_trees=200, depth=4, ensemble="independent", n_members=5)
_LABELLED, _ASKED = 0.2, 0.05
_DRAWS = 3  # random choices a seed
_MOST_ROWS = 2000
_LEAST_RIGHT, _MOST_WRONG = 8, 1  # of ten seeds


def make_table(kind: str, n: int, seed: int) -> Table:
    """Four columns, and a target that is noise, noise with a step, or smooth with little noise."""
    rng = np.random.default_rng((seed, 41))
    X = rng.uniform(-1.0, 1.0, (n, 4))
    mean, std = {
        "noise": (np.zeros(n), 1.0),
        "step": (2.0 * (X[:, 0] > 0), 1.0),
        "smooth": (2.0 * np.sin(3.0 * X[:, 0]) + 3.0 * X[:, 1] * X[:, 2], 0.1),
    }[kind]
    y = mean + std * rng.normal(size=n)
    return table_from_columns({**{f"x{k}": X[:, k] for k in range(4)}, "y": y}, kind)


def _curve(kind: str, n: int, seed: int) -> LearningCurve:
    return learning_curve(score_table(make_table(kind, n, seed), "y", plan=_PLAN))


def run_verdict(kind: str, n: int, seed: int) -> dict[str, Any]:
    """The verdict on a table, the plain rule's, and what one more doubling really brings."""
    verdict = _curve(kind, n, seed).verdict()
    numbers = {**verdict._asdict(), "actual": None}
    if (kind, n) == ("smooth", 300):
        numbers["actual"] = _curve(kind, 2 * n, seed).verdict().gain
    return numbers


def run_next(table: pd.DataFrame, seed: int) -> dict[str, Any]:
    """RMSE and NLL on a held-out fifth after labels of 5 % of the pool, by each rule."""
    rng = np.random.default_rng((seed, 43))
    order = rng.permutation(len(table))[:_MOST_ROWS]
    n_test = len(order) // 5
    test, rest = order[:n_test], order[n_test:]
    n_labelled = int(_LABELLED * len(rest))
    labelled, pool = rest[:n_labelled], rest[n_labelled:]
    scored = score_table(_rows(table, labelled), "target", new=_rows(table, pool), plan=_NEXT_PLAN)
    n = max(5, int(_ASKED * len(pool)))
    every = np.arange(len(pool))
    knowledge = scored.predictions.uncertainty.knowledge
    chosen = {
        "ours": rank_next(scored, n, rows=every).rows,
        "knowledge": np.argsort(-knowledge, kind="stable")[:n],
        **{f"random {k}": rng.choice(every, n, replace=False) for k in range(_DRAWS)},
    }
    result: dict[str, Any] = {"n": n, "labelled": n_labelled}
    for rule, rows in chosen.items():
        learnt = _rows(table, np.r_[labelled, pool[rows]])
        scores = score_table(learnt, "target", new=_rows(table, test), plan=_NEXT_PLAN).new_scores
        result[rule] = {"rmse": scores.rmse, "nll": scores.nll}
    draws = [result.pop(f"random {k}") for k in range(_DRAWS)]
    result["random"] = {name: float(np.mean([d[name] for d in draws])) for name in ("rmse", "nll")}
    return result


def _rows(table: pd.DataFrame, rows: np.ndarray) -> Table:
    return table_from_columns({name: table[name].to_numpy()[rows] for name in table}, "rows")


def verdict_rows(results: dict[str, dict[str, Any]]) -> list[Row]:
    """Counts of right and wrong verdicts, and errors of what was expected."""
    rows = []
    for kind, n, truth in TRUTHS:
        runs = [results.get(f"{kind} {n}/{seed}/more_rows") for seed in SEEDS]
        known = [run for run in runs if run]
        if not known:
            continue
        right = sum(run["word"] == truth for run in known)
        wrong = sum(run["word"] not in (truth, "undecided") for run in known)
        plain = sum(run["plain"] == "more" for run in known)
        rows.append(Row(
            f"{kind}, {n:,} rows: verdict is {truth}",
            f"{right} of {len(known)}, wrong {wrong} (the plain rule says more {plain} times)",
            f">= {_LEAST_RIGHT}, wrong <= {_MOST_WRONG}",
            right >= _LEAST_RIGHT * len(known) / 10 and wrong <= _MOST_WRONG, {},
        ))  # fmt: skip
        actual = [run for run in known if run["actual"] is not None]
        if actual:
            off = [abs(run["expected"] - run["actual"]) for run in actual]
            plain_off = [abs(run["gain"] - run["actual"]) for run in actual]
            inside = sum(
                run["expected_low"] <= run["actual"] <= run["expected_high"] for run in actual
            )
            rows.append(Row(
                f"{kind}, {n:,} rows: what the next doubling brings (log RMSE)",
                f"actual {np.mean([run['actual'] for run in actual]):.3f}, off by "
                f"{np.mean(off):.3f} (the last doubling again: {np.mean(plain_off):.3f}), inside "
                f"the interval {inside} of {len(actual)}", "-", None, {},
            ))  # fmt: skip
    return rows


def next_rows(results: dict[str, dict[str, Any]]) -> list[Row]:
    """Each rule against the mean of random choices."""
    rows = []
    for name in NEXT_SETS:
        runs = [results.get(f"{name}/{seed}/next_rows") for seed in NEXT_SEEDS]
        known = [run for run in runs if run]
        for rule in RULES if known else ():
            parts = []
            for score in ("rmse", "nll"):
                pairs = [(run[rule][score], run["random"][score]) for run in known]
                wins = sum(mine < random for mine, random in pairs)
                if score == "rmse":
                    change = float(np.mean([mine / random - 1.0 for mine, random in pairs]))
                    parts.append(f"RMSE {100 * change:+.1f} %, better in {wins} of {len(known)}")
                else:
                    change = float(np.mean([mine - random for mine, random in pairs]))
                    parts.append(f"NLL {change:+.3f}, better in {wins}")
            rows.append(Row(
                f"{name}, {known[0]['n']} rows added to {known[0]['labelled']} by {rule}, against "
                "random", "; ".join(parts), "-", None, {},
            ))  # fmt: skip
    return rows
