"""What MACAU's linear leaf models see: features of their paths, all, or all where rows allow it.

With the settings of the table ``ours``: the class's defaults, and at most 2,000 training rows.
Beside the six sets stand made-up rows with text columns, which become one column a level. Their
target is a sum over levels and numbers, or (``mixed``) a sum whose weights change with a number.
In ``steps`` are numbers only, and a target of steps in three of them, for which no line is right.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import pandas as pd

from benchmarks.protocols import data, ours
from benchmarks.report import Split, load_split, table_lines
from gbuq_core import MacauRegressor
from gbuq_core.macau import leaves
from gbuq_core.metrics import coverage, crps_gaussian, rmse

_LEVEL = 0.9
_NO_CAP = 10_000
SCORES = ("CRPS", "RMSE", "coverage", "seconds", "leaves of all")


class Choice(NamedTuple):
    """A value of ``leaf_features``, and for "auto" the rows that a leaf needs for each feature."""

    leaf_features: str
    rows_per_feature: float = leaves.ROWS_PER_FEATURE

    @property
    def label(self) -> str:
        """What a column's head says."""
        more = f", {self.rows_per_feature:g} rows" if self.leaf_features == "auto" else ""
        return self.leaf_features + more


class Wide(NamedTuple):
    """Made-up rows: text columns of ten levels each, and three numbers."""

    columns: int
    rows: int
    mixed: bool = False

    def make(self, seed: int) -> Split:
        """Training rows, and 1,000 test rows."""
        rng = np.random.default_rng((seed, 41))
        n = self.rows + 1000
        levels = rng.integers(0, 10, (n, self.columns))
        numbers = rng.normal(size=(n, 3))
        effects = rng.normal(size=(self.columns, 10))
        parts = effects[np.arange(self.columns), levels]
        if self.mixed:
            parts[numbers[:, 0] > 0.0, ::2] *= -1.0
        y = parts.sum(axis=1) + numbers @ [2.0, 1.0, 0.0] + rng.normal(size=n)
        table = pd.DataFrame(numbers, columns=["a", "b", "c"])
        for j in range(self.columns):
            table[f"text {j}"] = pd.Categorical([f"level {level}" for level in levels[:, j]])
        first, rest = slice(0, self.rows), slice(self.rows, None)
        return Split(table[first], y[first], table[rest], y[rest])  # type: ignore[arg-type]


class Steps(NamedTuple):
    """Made-up rows of normal features, three of which matter, by their signs."""

    columns: int
    rows: int

    def make(self, seed: int) -> Split:
        """Training rows, and 1,000 test rows."""
        rng = np.random.default_rng((seed, 43))
        X = rng.normal(size=(self.rows + 1000, self.columns))
        sign = np.sign(X[:, :3])
        y = 2.0 * sign[:, 0] + sign[:, 1] * sign[:, 2] + rng.normal(size=len(X))
        return Split(X[: self.rows], y[: self.rows], X[self.rows :], y[self.rows :])


WIDE: dict[str, Wide | Steps] = {
    f"{'mixed' if mixed else 'sum'}_{columns}_{rows}": Wide(columns, rows, mixed)
    for mixed in (False, True)
    for columns in (3, 10)
    for rows in (2000, 20_000)
} | {
    f"steps_{columns}_{rows}": Steps(columns, rows) for columns in (10, 25) for rows in (400, 1000)
}


def read(data_dir: Path | None, name: str, split: int) -> Split:
    """Rows of a set: at most 2,000 to train on, or those of its name."""
    if name in WIDE:
        return WIDE[name].make(split)
    assert data_dir is not None
    rows = load_split(data_dir, name, split)
    order = np.random.default_rng((split, 31)).permutation(len(rows.y_train))
    order = np.sort(order[: ours.MOST_ROWS["small"]])
    return rows._replace(X_train=rows.X_train[order], y_train=rows.y_train[order])


def measure(rows: Split, seed: int, choice: Choice, n_trees: int = 100) -> tuple[float, ...]:
    """CRPS, RMSE, coverage of 90 % intervals, seconds, and the share of leaves of all features."""
    began = time.process_time()
    knobs = {"n_trees": n_trees, "n_jobs": 1, "random_state": seed}
    model = MacauRegressor(leaf_features=choice.leaf_features, **knobs)
    rule = {"ROWS_PER_FEATURE": choice.rows_per_feature, "MOST_FEATURES": _NO_CAP}
    with mock.patch.multiple(leaves, **rule):
        model.fit(rows.X_train, rows.y_train)
    loc, scale = model.predict_distribution(rows.X_test)
    seconds = time.process_time() - began
    scale = np.maximum(scale, ours.LEAST_SCALE * float(rows.y_train.std()))
    return (
        float(crps_gaussian(rows.y_test, loc, scale)),
        float(rmse(rows.y_test, loc)),
        float(coverage(rows.y_test, loc, scale, (_LEVEL,)).observed[0]),
        seconds,
        float(model.sees_all_.mean()),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table a score, with a row a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    names = [*data.SPLITS, *WIDE]
    parser.add_argument("--sets", nargs="+", default=list(data.SPLITS), choices=names)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument(
        "--auto",
        nargs="+",
        type=float,
        default=[leaves.ROWS_PER_FEATURE],
        metavar="ROWS",
        help="rows for each feature that a leaf of all has",
    )
    parser.add_argument("--without-all", action="store_true", help="leave out all features")
    args = parser.parse_args(arguments)  # fmt: skip
    if args.data_dir is None and not set(args.sets) <= set(WIDE):
        parser.error("--data-dir is needed for the UCI sets")
    choices = [Choice("path"), *(Choice("auto", rows) for rows in args.auto)]
    if not args.without_all:
        choices.append(Choice("all"))
    scores = {}
    for name in args.sets:
        for split in range(args.splits):
            rows = read(args.data_dir, name, split)
            for choice in choices:
                scores[name, split, choice] = measure(rows, split, choice, args.trees)
    for i, score in enumerate(SCORES):
        table = [["set", *(choice.label for choice in choices)]]
        for name in args.sets:
            means = (
                np.mean([scores[name, split, choice][i] for split in range(args.splits)])
                for choice in choices
            )
            table.append([name, *(f"{mean:.3f}" for mean in means)])
        print("\n".join(table_lines(f"{score}, means over {args.splits} splits", table)))


if __name__ == "__main__":
    main()
