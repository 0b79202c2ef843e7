"""NGBoost on a set of paper 3, uncalibrated, for several rates and numbers of trees."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.ibug_data import load_parts
from benchmarks.protocols.ibug import COMPARABLE, PROTOCOL
from benchmarks.report import table_lines
from gbuq_core.baselines.boosted_distributions import NGBoostRegressor
from gbuq_core.metrics import crps_gaussian, nll_gaussian, rmse

SETTINGS = ((0.04, 500), (0.01, 500), (0.01, 2000))


def measure(data_dir: Path, name: str, split: int, rate: float, trees: int) -> list[float]:
    """CRPS, RMSE and NLL of the test rows, trained on all training rows."""
    parts = load_parts(data_dir, name, split)
    model = NGBoostRegressor(n_trees=trees, learning_rate=rate, random_state=split)
    loc, scale = model.fit(parts.X_all, parts.y_all).predict_distribution(parts.X_test)
    return [
        float(crps_gaussian(parts.y_test, loc, scale)),
        float(rmse(parts.y_test, loc)),
        float(nll_gaussian(parts.y_test, loc, scale)),
    ]


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="concrete", choices=COMPARABLE)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    given = parser.parse_args()
    table = [["NGBoost", "CRPS", "RMSE", "NLL"]]
    for rate, trees in SETTINGS:
        found = [measure(given.data_dir, given.set, split, rate, trees) for split in given.splits]
        table.append(
            [f"rate {rate:g}, {trees} trees", *(f"{v:.3f}" for v in np.mean(found, axis=0))]
        )
    paper = [
        PROTOCOL.published[given.set, "ngboost", score].value
        for score in ("crps_raw", "rmse", "nll_raw")
    ]
    table.append(["the paper, without calibration", *(f"{value:g}" for value in paper)])
    print("\n".join(table_lines(f"{given.set}, splits {given.splits}", table)))


if __name__ == "__main__":
    main()
