"""AUROC of foreign halves by uncertainty: models of one half, and one model of rows of both.

Paper 5 cuts the rows at each feature's median and trains on one half of them. A model that has seen
rows of both halves gives AUROC a to the upper half as foreign rows and 1 - a to the lower one: the
mean is 0.5 whatever the model is, and the range lies around it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from benchmarks.protocols.macau import FOREST, make_model
from benchmarks.protocols.novelty import ProtocolSettings, make_linear, split_rows
from benchmarks.report import table_lines
from gbuq_core.metrics import auroc

N_TREES = 100
# Table 1, "Synth(AUC)": the 95 % ranges over the experiments, whose means are all 0.5.
PAPER = {
    ("macau_linear", "knowledge"): (0.27, 0.74),
    ("macau_linear", "data"): (0.34, 0.67),
    ("macau_linear", "total"): (0.31, 0.70),
    ("macau_basic", "knowledge"): (0.45, 0.54),
    ("macau_basic", "data"): (0.47, 0.53),
    ("macau_basic", "total"): (0.47, 0.53),
    ("forest", "total"): (0.50, 0.50),
    ("quantile", "total"): (0.26, 0.75),
    ("gnll", "total"): (0.48, 0.52),
    ("catboost", "knowledge"): (0.44, 0.54),
    ("catboost", "data"): (0.48, 0.52),
    ("catboost", "total"): (0.49, 0.51),
}
METHODS = tuple(dict.fromkeys(method for method, _ in PAPER))


class Spread(NamedTuple):
    """Mean and 95 % range of AUROC over the experiments."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}; {self.high:.2f}]"


def spread_of(values: Sequence[float]) -> Spread:
    """
    >>> spread_of([0.25, 0.75]).mean
    0.5
    """
    low, high = np.percentile(values, [2.5, 97.5])
    return Spread(float(np.mean(values)), float(low), float(high))


def of_halves(
    method: str, X: np.ndarray, y: np.ndarray, seed: int, features: Sequence[int], n_trees: int
) -> dict[str, list[float]]:
    """AUROC of each part of the uncertainty, trained on each half of each feature in turn."""
    areas: dict[str, list[float]] = {part: [] for part in parts_of(method)}
    for feature, half in product(features, (0, 1)):
        train, known, foreign = split_rows(X, feature, half, seed)
        model = make_model(method, seed, {**FOREST, "n_trees": n_trees})
        doubt = model.fit(X[train], y[train]).predict_uncertainty(X[np.r_[known, foreign]])
        is_foreign = np.arange(len(doubt.total)) >= len(known)
        for part, values in areas.items():
            values.append(float(auroc(is_foreign, getattr(doubt, part))))
    return areas


def of_both(
    method: str, X: np.ndarray, y: np.ndarray, seed: int, features: Sequence[int], n_trees: int
) -> dict[str, list[float]]:
    """The same of one model of half of all rows; the others are judged."""
    areas: dict[str, list[float]] = {part: [] for part in parts_of(method)}
    n = len(y) // 2
    model = make_model(method, seed, {**FOREST, "n_trees": n_trees}).fit(X[:n], y[:n])
    doubt = model.predict_uncertainty(X[n:])
    for feature in features:
        is_high = X[n:, feature] > np.median(X[:, feature])
        for part, values in areas.items():
            upper = float(auroc(is_high, getattr(doubt, part)))
            values += [upper, 1.0 - upper]
    return areas


def parts_of(method: str) -> tuple[str, ...]:
    """The parts that the paper has.

    >>> parts_of("forest")
    ('total',)
    """
    return tuple(part for name, part in PAPER if name == method)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row a method and part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--law", default="uniform", choices=("uniform", "normal"))
    parser.add_argument("--rows", type=int, default=ProtocolSettings().rows)
    parser.add_argument("--trees", type=int, default=N_TREES)
    parser.add_argument(
        "--features", type=int, nargs="+", default=[0, 2, 4, 9], help="whose halves train"
    )
    args = parser.parse_args(arguments)
    whole = ProtocolSettings()
    X, y = make_linear(args.rows, whole.features, whole.relevant, args.law, 0)
    heads = [f"feature {feature}, either half" for feature in args.features]
    table = [["method", "part", *heads, "rows of both", "paper"]]
    for method in args.methods:
        halves = of_halves(method, X, y, 0, args.features, args.trees)
        both = of_both(method, X, y, 0, range(whole.features), args.trees)
        for part in parts_of(method):
            values = halves[part]
            pairs = (f"{a:.2f} {b:.2f}" for a, b in zip(values[::2], values[1::2], strict=True))
            wanted = Spread(0.5, *PAPER[method, part])
            table.append([method, part, *pairs, str(spread_of(both[part])), str(wanted)])
    print("\n".join(table_lines("AUROC of the foreign half; mean [2.5 %; 97.5 %]", table)))


if __name__ == "__main__":
    main()
