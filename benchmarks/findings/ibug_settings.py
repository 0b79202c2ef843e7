"""Scores of IBUG, the virtual ensemble and their average for depths and numbers of trees.

The cells are those of the table ``ibug``, with the settings given instead of chosen. For IBUG on
LightGBM, a depth is a number of leaves.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.protocols import data
from benchmarks.protocols.ibug import PROTOCOL, SETS
from benchmarks.report import table_lines
from benchmarks.tables.protocol import Task

METHODS = ("virtual_sglb", "ibug", "ibug_cbu", "ibug:lightgbm")
SCORES = ("crps", "crps_raw", "nll", "nll_raw", "rmse", "mace", "sharpness")


def measure(
    data_dir: Path,
    name: str,
    method: str,
    splits: list[int],
    depth: int,
    n_trees: int,
    effort: str = "small",
) -> dict[str, float]:
    """Means of the cells' scores over splits."""
    known = {
        "ibug": {"depth": depth, "n_trees": n_trees},
        "virtual_sglb": {"knobs": (depth, 0.1), "n_trees": n_trees},
        "ibug:lightgbm": {"num_leaves": depth, "n_trees": n_trees},
    }
    cells = [
        PROTOCOL.run(Task(data_dir, name, split, method, effort, known)).scores for split in splits
    ]
    return {score: float(np.mean([cell[score] for cell in cells])) for score in SCORES}


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="power", choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS[:3]), choices=METHODS)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--depths", type=int, nargs="+", default=[7])
    parser.add_argument("--trees", type=int, nargs="+", default=[500, 1000, 2000])
    args = parser.parse_args()
    assert max(args.splits) < data.SPLITS[args.set]
    for method in args.methods:
        table = [["setting", *SCORES]]
        for depth, n_trees in product(args.depths, args.trees):
            row = measure(args.data_dir, args.set, method, args.splits, depth, n_trees)
            numbers = [f"{row[score]:.3f}" for score in SCORES]
            table.append([f"depth {depth}, {n_trees} trees", *numbers])
        paper = [PROTOCOL.published.get((args.set, method, score)) for score in SCORES]
        table.append(["the paper", *("" if each is None else f"{each.value:g}" for each in paper)])
        title = f"{method} on {args.set}, splits {args.splits}"
        print("\n".join(table_lines(title, table)), flush=True)


if __name__ == "__main__":
    main()
