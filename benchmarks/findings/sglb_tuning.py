"""Paper 1's grid on a set: NLL of the validation rows, and what each choice comes to on test rows.

``numba`` is this project's boosting and ``catboost`` the library that the authors used, with the
same settings.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.protocols import data
from benchmarks.report import table_lines
from gbuq_core.methods import METHODS
from gbuq_core.metrics import nll_mixture, rmse

DEPTHS = (3, 4, 5, 6)
LEAST_VARIANCE = 1e-8


class Point(NamedTuple):
    """One setting on one split: NLL of validation rows, and NLL and RMSE of test rows."""

    depth: int
    rate: float
    validation: float
    test: float
    rmse: float


def make_single(method: str, engine: str, depth: int, rate: float, n_trees: int, seed: int) -> Any:
    """One model, as in the table ``sglb``."""
    model = METHODS[method].make(
        n_jobs=1, random_state=seed, n_members=1, depth=depth, learning_rate=rate, n_trees=n_trees
    )
    return model.set_params(max_bins=255, standardize_target=False, engine=engine)


def measure(rows: data.Rows, model: Any, depth: int, rate: float) -> Point:
    """Fit twice, as the protocol does."""
    model.fit(rows.X_fit, rows.y_fit)
    validation = _nll(model, rows.X_val, rows.y_val)
    model.fit(rows.X_all, rows.y_all)
    return Point(
        depth, rate, validation, _nll(model, rows.X_test, rows.y_test),
        float(rmse(rows.y_test, model.predict(rows.X_test))),
    )  # fmt: skip


def _nll(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    members = model.predict_members(X)
    return float(nll_mixture(y, members[..., 0], members[..., 1] + LEAST_VARIANCE))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--set", default="power", choices=list(data.SPLITS))
    parser.add_argument("--method", default="sglb", choices=("sgb", "sglb"))
    parser.add_argument("--splits", type=int, nargs="+", default=[0])
    parser.add_argument("--engines", nargs="+", default=["numba", "catboost"])
    parser.add_argument("--depths", type=int, nargs="+", default=list(DEPTHS))
    parser.add_argument("--rates", type=float, nargs="+", default=[0.01, 0.1])
    parser.add_argument("--trees", type=int, default=1000)
    args = parser.parse_args()
    chosen: dict[str, list[list[Point]]] = {engine: [] for engine in args.engines}
    for split in args.splits:
        rows = data.regression_rows(args.data_dir, args.set, split)
        for engine in args.engines:
            points = []
            for depth, rate in product(args.depths, args.rates):
                model = make_single(args.method, engine, depth, rate, args.trees, split)
                points.append(measure(rows, model, depth, rate))
            chosen[engine].append(points)
            table = [["depth", "rate", "validation NLL", "test NLL", "test RMSE"]]
            table += [
                [
                    str(p.depth),
                    f"{p.rate:g}",
                    f"{p.validation:.3f}",
                    f"{p.test:.3f}",
                    f"{p.rmse:.3f}",
                ]
                for p in points
            ]
            print("\n".join(table_lines(f"{args.set}, split {split}, {engine}", table)), flush=True)
    for engine, runs in chosen.items():
        once = int(np.argmin([point.validation for point in runs[0]]))
        for words, picks in (
            ("chosen on the first split", [points[once] for points in runs]),
            ("chosen on each split", [min(points, key=lambda p: p.validation) for points in runs]),
        ):
            print(
                f"{engine}, {words}: NLL {np.mean([p.test for p in picks]):.3f}, "
                f"RMSE {np.mean([p.rmse for p in picks]):.3f}, rates "
                + ", ".join(f"{p.rate:g}" for p in picks)
            )


if __name__ == "__main__":
    main()
