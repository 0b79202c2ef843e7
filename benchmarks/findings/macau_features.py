"""MACAU's linear leaf models on the features of their paths, and on all features, set by set.

With the settings of the table ``ours``: the class's defaults, and at most 2,000 training rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.protocols import data, ours
from benchmarks.report import load_split, table_lines
from gbuq_core import MacauRegressor
from gbuq_core.metrics import coverage, crps_gaussian, rmse

_LEVEL = 0.9


def measure(data_dir: Path, name: str, split: int, leaf_features: str) -> tuple[float, ...]:
    """CRPS, RMSE and coverage of 90 % intervals on the test rows."""
    rows = load_split(data_dir, name, split)
    order = np.random.default_rng((split, 31)).permutation(len(rows.y_train))
    order = np.sort(order[: ours.MOST_ROWS["small"]])
    model = MacauRegressor(leaf_features=leaf_features, n_jobs=1, random_state=split)
    model.fit(rows.X_train[order], rows.y_train[order])
    loc, scale = model.predict_distribution(rows.X_test)
    scale = np.maximum(scale, ours.LEAST_SCALE * float(rows.y_train.std()))
    return (
        float(crps_gaussian(rows.y_test, loc, scale)),
        float(rmse(rows.y_test, loc)),
        float(coverage(rows.y_test, loc, scale, (_LEVEL,)).observed[0]),
    )


def main() -> None:
    """Print a row a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(data.SPLITS), choices=list(data.SPLITS))
    parser.add_argument("--splits", type=int, default=3)
    given = parser.parse_args()
    kinds = ("path", "all")
    scores = ("CRPS", "RMSE", "coverage")
    table = [["set", *(f"{score}, {kind}" for score in scores for kind in kinds)]]
    for name in given.sets:
        means = {
            kind: np.mean(
                [measure(given.data_dir, name, split, kind) for split in range(given.splits)],
                axis=0,
            )
            for kind in kinds
        }
        table.append(
            [name, *(f"{means[kind][i]:.3f}" for i in range(len(scores)) for kind in kinds)]
        )
    print("\n".join(table_lines(f"Means over {given.splits} splits", table)))


if __name__ == "__main__":
    main()
