"""Paper 5's line: which forests and which foreign rows bring the paper's numbers back.

Each method with the forest of the table, with smaller leaves and with a larger share of the rows;
and AUROC of its uncertainty where foreign rows lie left of the training rows, on both sides, right.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.report import table_lines
from gbuq_core.experiments.heteroscedastic.fit import fit_heteroscedastic, measure_heteroscedastic
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    HeteroscedasticSettings,
)
from gbuq_core.experiments.heteroscedastic.scores import PAPER_TABLE, score_heteroscedastic
from gbuq_core.settings import plan_of

FORESTS: dict[str, dict[str, Any]] = {
    "the table's": {},
    "5 rows a leaf": {"min_child_samples": 5},
    "1 row a leaf, 255 leaves": {"min_child_samples": 1, "max_leaves": 255},
    "subsample 0.8": {"subsample": 0.8},
}
SIDES = {
    "left": {"left_from": -10.0, "right_to": 10.5},
    "both": {"left_from": -10.0, "right_to": 20.0},
    "right": {"left_from": -0.5, "right_to": 20.0},
}


def measure(method: str, knobs: dict[str, Any], seed: int) -> tuple[float, dict[str, list[float]]]:
    """CRPS, and by score the AUROC for each side of the foreign rows."""
    settings = replace(HeteroscedasticSettings(seed=seed), **knobs)
    fit = fit_heteroscedastic(plan_of(settings, method))
    areas: dict[str, list[float]] = {score: [] for score in METHODS[method].scores}
    crps = np.nan
    for where in SIDES.values():
        here = replace(settings, **where)
        scores = score_heteroscedastic(fit, measure_heteroscedastic(fit, here), here)
        crps = scores.crps
        for score, values in areas.items():
            values.append(float(scores.auroc_of(score)))
    return float(crps), areas


def main() -> None:
    """Print a table of forests and one of sides."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--methods", nargs="+", choices=list(METHODS),
        default=["conformal_forest", "quantile", "forest", "macau_basic", "ngboost", "catboost"],
    )  # fmt: skip
    args = parser.parse_args()
    values = {
        (method, name): [measure(method, knobs, seed) for seed in range(args.seeds)]
        for method in args.methods
        for name, knobs in FORESTS.items()
        if name == "the table's" or METHODS[method].knobs != ("trees",)
    }
    table = [["method", "forest", "CRPS", "the paper"]]
    sides = [["method", "score", *SIDES, "the paper"]]
    for (method, name), cells in values.items():
        paper = PAPER_TABLE.get((method, "total"))
        table.append(
            [method, name, f"{np.mean([crps for crps, _ in cells]):.3f}",
             "" if paper is None else f"{paper.crps:g}"]
        )  # fmt: skip
        if name != "the table's":
            continue
        for score in cells[0][1]:
            theirs = PAPER_TABLE.get((method, score))
            means = np.mean([areas[score] for _, areas in cells], axis=0)
            sides.append(
                [method, score, *(f"{value:.2f}" for value in means),
                 "" if theirs is None else f"{theirs.auroc:g}"]
            )  # fmt: skip
    print("\n".join(table_lines("CRPS by forest", table)))
    print("\n".join(table_lines("AUROC by the side of the foreign rows", sides)))


if __name__ == "__main__":
    main()
