"""All scores of a method of paper 1 for each setting of the grid, beside the paper's numbers.

The cells are those of the table ``sglb``, with the setting given instead of chosen.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.protocols import data
from benchmarks.protocols.sglb import LABELS, PROTOCOL
from benchmarks.report import table_lines
from benchmarks.tables.protocol import Task


def measure(
    data_dir: Path, name: str, method: str, splits: list[int], depth: int, rate: float
) -> dict[str, float]:
    """Means of the cells' scores over splits."""
    settings = {"depth": depth, "learning_rate": rate, "n_trees": 1000}
    cells = [
        PROTOCOL.run(Task(data_dir, name, split, method, "small", {method: settings})).scores
        for split in splits
    ]
    return {score: float(np.mean([cell[score] for cell in cells])) for score in cells[0]}


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="energy", choices=list(data.SPLITS))
    parser.add_argument("--method", default="virtual_sglb", choices=list(LABELS)[:5])
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--depths", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.001, 0.01, 0.1])
    args = parser.parse_args()
    rows = {
        f"depth {depth}, rate {rate:g}": measure(
            args.data_dir, args.set, args.method, args.splits, depth, rate
        )
        for depth, rate in product(args.depths, args.rates)
    }
    scores = list(next(iter(rows.values())))
    paper = [PROTOCOL.published.get((args.set, args.method, score)) for score in scores]
    table = [["setting", *scores]]
    table += [[name, *(f"{row[score]:.3f}" for score in scores)] for name, row in rows.items()]
    table.append(["the paper", *("" if each is None else f"{each.value:g}" for each in paper)])
    print("\n".join(table_lines(f"{args.method} on {args.set}, splits {args.splits}", table)))


if __name__ == "__main__":
    main()
