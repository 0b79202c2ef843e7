"""BART by a Markov chain as short as paper 3's, on a set of that paper, without calibration.

The authors' library starts from single leaves, makes 200 steps and keeps every tenth of 200 more;
their code takes the std of the drawn functions, without the noise. The sampler here is another.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.ibug_data import Rows, load_parts
from benchmarks.ibug_methods import XBART_TREES
from benchmarks.protocols.ibug import COMPARABLE, PROTOCOL
from benchmarks.report import table_lines
from gbuq_core.metrics import crps_gaussian, rmse

BURN_IN, DRAWS, EVERY = 200, 20, 10


def draw_bart(parts: Rows, n_trees: int) -> tuple[np.ndarray, float]:
    """Functions at the test rows, (n_draws, n_rows) in units of y, and the mean noise variance."""
    from stochtree import BARTModel

    model = BARTModel()
    model.sample(
        X_train=parts.X_all, y_train=parts.y_all, num_gfr=0, num_burnin=BURN_IN, num_mcmc=DRAWS,
        general_params={"random_seed": parts.seed, "num_threads": 1, "keep_every": EVERY},
        mean_forest_params={"num_trees": n_trees, "alpha": 0.95, "beta": 2.0},
    )  # fmt: skip
    drawn = np.asarray(model.predict(parts.X_test, type="posterior", terms="y_hat")).T
    return drawn, float(np.mean(model.global_var_samples))


def measure(parts: Rows, n_trees: int) -> list[float]:
    """RMSE, CRPS with the std of the functions alone, and CRPS with the noise."""
    drawn, noise = draw_bart(parts, n_trees)
    loc, knowledge = drawn.mean(axis=0), drawn.var(axis=0)
    return [
        float(rmse(parts.y_test, loc)),
        float(crps_gaussian(parts.y_test, loc, np.sqrt(knowledge))),
        float(crps_gaussian(parts.y_test, loc, np.sqrt(knowledge + noise))),
    ]


def main() -> None:
    """Print a row a number of trees."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="concrete", choices=COMPARABLE[:3])
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--trees", type=int, nargs="+", default=list(XBART_TREES))
    args = parser.parse_args()
    every = [load_parts(args.data_dir, args.set, split) for split in args.splits]
    table = [["BART", "RMSE", "CRPS, functions only", "CRPS, with noise"]]
    for n_trees in args.trees:
        means = np.mean([measure(parts, n_trees) for parts in every], axis=0)
        table.append([f"{n_trees} trees", *(f"{value:.3f}" for value in means)])
    paper = [PROTOCOL.published[args.set, "xbart", score].value for score in ("rmse", "crps")]
    table.append(["the paper, calibrated", *(f"{value:g}" for value in paper), ""])
    print("\n".join(table_lines(f"{args.set}, splits {args.splits}", table)))


if __name__ == "__main__":
    main()
