"""What fewer trees save: IBUG's time on a set of paper 3 by the share of trees that count."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.ibug_curves import SHARES
from benchmarks.ibug_data import Rows, load_parts
from benchmarks.ibug_models import retrain
from benchmarks.protocols.ibug import SETS
from benchmarks.report import table_lines
from gbuq_core import IBUGRegressor


class Cost(NamedTuple):
    """Processor milliseconds a row: finding the neighbours, and the point model's prediction."""

    neighbors: float
    mean: float


def costs(parts: Rows, depth: int, n_trees: int, repeats: int) -> dict[float, Cost]:
    """For each share of the first trees: medians over repeats, each of all test rows."""
    trained = retrain("catboost", parts, {"depth": depth, "n_trees": n_trees})
    model = IBUGRegressor(trained, n_jobs=1, random_state=parts.seed)
    model.fit(parts.X_fit, parts.y_fit, parts.X_val, parts.y_val)
    point = trained.fit(parts.X_all, parts.y_all)
    model.find_neighborhood(parts.X_test[:8])  # compiled by now
    by_share = {}
    for share in SHARES:
        tau = max(1, round(share * model.n_trees_))
        seconds = np.empty((repeats, 2))
        for k in range(repeats):
            began = time.process_time()
            model.find_neighborhood(parts.X_test, model.n_neighbors_, tau, "first")
            mid = time.process_time()
            point.predict(parts.X_test)
            seconds[k] = mid - began, time.process_time() - mid
        by_share[share] = Cost(*(1e3 * np.median(seconds, axis=0) / len(parts.y_test)))
    return by_share


def main() -> None:
    """Print a row a share of the trees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="protein", choices=SETS)
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--depth", type=int, default=7)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    parts = load_parts(args.data_dir, args.set, args.split)
    by_share = costs(parts, args.depth, args.trees, args.repeats)
    whole = by_share[SHARES[-1]].neighbors
    table = [["trees that count", "ms a row", "of all trees' time", "the mean's ms of it"]]
    table += [
        [f"{share:.0%}", f"{cost.neighbors:.4f}", f"{cost.neighbors / whole:.2f}",
         f"{cost.mean:.4f}"]
        for share, cost in by_share.items()
    ]  # fmt: skip
    title = f"{args.set}, split {args.split}, depth {args.depth}, {args.trees} trees"
    print("\n".join(table_lines(title, table)))


if __name__ == "__main__":
    main()
