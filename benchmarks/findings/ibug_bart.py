"""XBART, and BART by short Markov chains as paper 3 ran it, on a set of that paper.

The authors' BART starts each chain from single leaves and draws 200 samples after 200 steps; their
code takes the std of the drawn functions, without the noise, and calibrates it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.ibug_data import Parts, load_parts
from benchmarks.protocols.ibug import COMPARABLE, PROTOCOL
from benchmarks.report import table_lines
from gbuq_core.baselines import XBARTRegressor
from gbuq_core.metrics import crps_gaussian, rmse
from gbuq_core.metrics.scale_calibration import calibrate_scale

CHAINS, DRAWS = 5, 200  # of the paper, and of its library by default
BURN_IN = (200, 2000)
TREES = 200  # the most that the paper tries


def draw_bart(
    X: np.ndarray, y: np.ndarray, new: list[np.ndarray], seed: int, burn_in: int
) -> tuple[list[np.ndarray], float]:
    """Functions at each of ``new``, (n_draws, n_rows) in units of y, and the mean noise variance.

    A draw changes one leaf or one split of every tree.
    """
    from stochtree import BARTModel

    model = BARTModel()
    general = {"random_seed": seed, "num_threads": 1, "num_chains": CHAINS, "keep_every": 10}
    model.sample(
        X_train=X, y_train=y, num_gfr=0, num_burnin=burn_in, num_mcmc=DRAWS // 10,
        general_params=general, mean_forest_params={"num_trees": TREES, "alpha": 0.95, "beta": 2.0},
    )  # fmt: skip
    found = [np.asarray(model.predict(rows, type="posterior", terms="y_hat")).T for rows in new]
    return found, float(np.mean(model.global_var_samples))


def score(parts: Parts, laws: list[tuple[np.ndarray, np.ndarray]]) -> list[float]:
    """RMSE, and CRPS with the calibration of the validation rows; laws of both, of two models."""
    (loc_val, scale_val), (loc, scale) = laws
    fitted = calibrate_scale(parts.y_val, loc_val, scale_val, "crps")
    return [
        float(rmse(parts.y_test, loc)),
        float(crps_gaussian(parts.y_test, loc, fitted.apply(scale))),
    ]


def bart(parts: Parts, burn_in: int) -> dict[str, list[float]]:
    """The scores with the std of the functions alone, and with the noise."""
    (held,), noise_val = draw_bart(parts.X_fit, parts.y_fit, [parts.X_val], parts.seed, burn_in)
    (test,), noise = draw_bart(parts.X_all, parts.y_all, [parts.X_test], parts.seed, burn_in)
    found = {}
    for name, more in (("functions only", (0.0, 0.0)), ("with noise", (noise_val, noise))):
        laws = [
            (drawn.mean(axis=0), np.sqrt(drawn.var(axis=0) + variance))
            for drawn, variance in zip((held, test), more, strict=True)
        ]
        found[name] = score(parts, laws)
    return found


def xbart(parts: Parts) -> list[float]:
    """The same of XBART, as in the table, with as many trees."""
    laws = []
    for X, y, rows in (
        (parts.X_fit, parts.y_fit, parts.X_val),
        (parts.X_all, parts.y_all, parts.X_test),
    ):
        model = XBARTRegressor(n_trees=TREES, random_state=parts.seed).fit(X, y)
        law = model.predict_distribution(rows)
        laws.append((law.loc, law.scale))
    return score(parts, laws)


def main() -> None:
    """Print a row a sampler."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="concrete", choices=COMPARABLE[:3])
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1, 2])
    given = parser.parse_args()
    every = [load_parts(given.data_dir, given.set, split) for split in given.splits]
    table = [["sampler", "RMSE", "CRPS, functions only", "CRPS, with noise"]]
    rmse_, crps = np.mean([xbart(parts) for parts in every], axis=0)
    table.append(["XBART (ours)", f"{rmse_:.3f}", "", f"{crps:.3f}"])
    for burn_in in BURN_IN:
        found = [bart(parts, burn_in) for parts in every]
        alone, noisy = (np.mean([each[name] for each in found], axis=0) for name in found[0])
        name = f"BART, {burn_in} steps before the draws"
        table.append([name, f"{alone[0]:.3f}", f"{alone[1]:.3f}", f"{noisy[1]:.3f}"])
    paper = [PROTOCOL.published[given.set, "xbart", score].value for score in ("rmse", "crps")]
    table.append(["the paper", *(f"{value:g}" for value in paper), ""])
    print("\n".join(table_lines(f"{given.set}, splits {given.splits}", table)))


if __name__ == "__main__":
    main()
