"""NGBoost on a set of paper 3, uncalibrated, for several rates, numbers of trees and losses.

The authors' code trains with CRPS as the loss where CRPS is reported, and with the likelihood
where NLL is. The library's natural gradient of CRPS depends on the target's unit: steps of the
mean have none.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.ibug_data import Rows, load_parts
from benchmarks.ibug_methods import NGBOOST_RATE, NGBOOST_ROWS, NGBOOST_TREES
from benchmarks.protocols.ibug import COMPARABLE, PROTOCOL
from benchmarks.report import table_lines
from gbuq_core.metrics import crps_gaussian, mean_interval_score, nll_gaussian, rmse


class Setting(NamedTuple):
    """The loss, "likelihood" or "crps", the learning rate and the number of trees.

    stops : whether the validation rows' loss may stop it before, as in the authors' code.
    """

    loss: str
    rate: float
    trees: int
    stops: bool = False


LIBRARY_RATE = 0.01
PATIENCE = 25  # rounds
SETTINGS = (
    Setting("likelihood", NGBOOST_RATE, NGBOOST_TREES),
    Setting("likelihood", LIBRARY_RATE, 2000),
    Setting("likelihood", LIBRARY_RATE, 2000, stops=True),
    Setting("crps", LIBRARY_RATE, 2000, stops=True),
)
PUBLISHED = ("crps_raw", "rmse", "nll_raw", "interval")


def measure(parts: Rows, setting: Setting) -> list[float]:
    """CRPS, RMSE, NLL, interval score and trees, of test rows, trained on all training rows."""
    trees = choose_trees(parts, setting) if setting.stops else setting.trees
    model = _make(parts, setting, trees)
    with np.errstate(over="ignore", invalid="ignore"):  # CRPS as the loss may let a std overflow
        law = model.fit(parts.X_all, parts.y_all).pred_dist(parts.X_test)
    loc, scale = np.asarray(law.loc), np.asarray(law.scale)
    return [
        float(crps_gaussian(parts.y_test, loc, scale)),
        float(rmse(parts.y_test, loc)),
        float(nll_gaussian(parts.y_test, loc, scale)),
        float(mean_interval_score(parts.y_test, loc, scale)),
        float(trees),
    ]


def choose_trees(parts: Rows, setting: Setting) -> int:
    """How many trees the least loss on the validation rows has."""
    model = _make(parts, setting, setting.trees)
    with np.errstate(over="ignore", invalid="ignore"):
        model.fit(
            parts.X_fit, parts.y_fit, X_val=parts.X_val, Y_val=parts.y_val,
            early_stopping_rounds=PATIENCE,
        )  # fmt: skip
    return setting.trees if model.best_val_loss_itr is None else int(model.best_val_loss_itr) + 1


def _make(parts: Rows, setting: Setting, trees: int) -> Any:
    from ngboost import NGBRegressor
    from ngboost.scores import CRPScore, LogScore

    return NGBRegressor(
        n_estimators=trees, learning_rate=setting.rate, verbose=False,
        Score=CRPScore if setting.loss == "crps" else LogScore,
        minibatch_frac=min(1.0, NGBOOST_ROWS / len(parts.y_all)), random_state=parts.seed,
    )  # fmt: skip


def main() -> None:
    """Print a row a setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="concrete", choices=COMPARABLE)
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    args = parser.parse_args()
    every = [load_parts(args.data_dir, args.set, split) for split in args.splits]
    table = [["NGBoost", "CRPS", "RMSE", "NLL", "interval score", "trees"]]
    for setting in SETTINGS:
        means = np.mean([measure(parts, setting) for parts in every], axis=0)
        name = f"loss {setting.loss}, rate {setting.rate:g}{', stopped' if setting.stops else ''}"
        table.append([name, *(f"{value:.3f}" for value in means[:-1]), f"{means[-1]:.0f}"])
    paper = [PROTOCOL.published[args.set, "ngboost", score].value for score in PUBLISHED]
    table.append(["the paper", *(f"{value:g}" for value in paper), ""])
    print("\n".join(table_lines(f"{args.set}, splits {args.splits}", table)))


if __name__ == "__main__":
    main()
