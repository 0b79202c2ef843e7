"""MACAU on the linear set: its data, its leaf models, and the learning rates of its peers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm
from sklearn.datasets import make_regression

from benchmarks.protocols.macau import FOREST, make_model
from benchmarks.protocols.novelty import ProtocolSettings, make_linear
from benchmarks.report import Split, table_lines
from gbuq_core.metrics import crps_gaussian, rmse
from gbuq_core.trees.importers.paths import leaf_paths

_NOISE = 10.0  # std, of both laws
_QUANTILES = np.linspace(0.025, 0.975, 100)  # the authors' code takes so many of a normal


class Variant(NamedTuple):
    """A method with knobs."""

    name: str
    method: str
    knobs: Mapping[str, Any] = MappingProxyType({})
    variance_as_std: bool = False


_PLAIN = {"learning_rate": 0.03, "standardize_target": False}
VARIANTS = (
    Variant("conformal, linear", "conformal_linear"),
    Variant("random forest", "forest"),
    Variant("MACAU, basic", "macau_basic"),
    Variant("MACAU, linear", "macau_linear"),
    Variant("MACAU, linear, stds added up as in the authors' code", "macau_linear",
            {"combine": "std"}),
    Variant("the same, and the target in its own unit", "macau_linear",
            {"combine": "std", "standardize_target": False}),
    Variant("MACAU, linear, our default (all features)", "macau_linear:auto"),
    Variant("NGBoost", "ngboost"),
    Variant("NGBoost, rate 0.01", "ngboost", {"learning_rate": 0.01}),
    Variant("CatBoost", "catboost"),
    Variant("CatBoost, rate 0.03", "catboost", _PLAIN),
    Variant("CatBoost, rate 0.03, variance taken for the std", "catboost", _PLAIN,
            variance_as_std=True),
)  # fmt: skip


def uniform_rows(seed: int) -> Split:
    """The rows of the table: uniform features, weights from 10 to 100."""
    settings = ProtocolSettings()
    return _halves(
        *make_linear(settings.rows, settings.features, settings.relevant, settings.law, seed)
    )


def normal_rows(seed: int) -> Split:
    """scikit-learn's own linear set: normal features, weights from 0 to 100."""
    X, y = make_regression(10_000, 10, n_informative=5, noise=_NOISE, random_state=seed)
    return _halves(X, y)


LAWS: dict[str, Callable[[int], Split]] = {
    "uniform (the table's)": uniform_rows,
    "make_regression": normal_rows,
}


def _halves(X: np.ndarray, y: np.ndarray) -> Split:
    n = len(y) // 2
    return Split(X[:n], y[:n], X[n:], y[n:])


def fit(variant: Variant, rows: Split, seed: int) -> Any:
    """The fitted model."""
    model = make_model(variant.method, seed, {**FOREST, "n_trees": 100}).set_params(**variant.knobs)
    return model.fit(rows.X_train, rows.y_train)


def measure(variant: Variant, rows: Split, seed: int) -> tuple[float, float, float]:
    """CRPS in closed form, CRPS as the authors' code has it, and RMSE."""
    model = fit(variant, rows, seed)
    loc, scale = model.predict_distribution(rows.X_test)
    if variant.variance_as_std:
        scale = scale**2
    return (
        float(crps_gaussian(rows.y_test, loc, scale)),
        authors_crps(rows.y_test, loc, scale),
        float(rmse(rows.y_test, loc)),
    )


def authors_crps(y: np.ndarray, loc: np.ndarray, scale: np.ndarray) -> float:
    """CRPS of 100 quantiles of each normal, the outer 5 % left off.

    >>> round(authors_crps(np.zeros(1), np.zeros(1), np.ones(1)), 3)
    0.229
    """
    members = np.sort(norm.ppf(_QUANTILES))
    n = len(members)
    spread = 2.0 * float(np.sum((2.0 * np.arange(n) - n + 1.0) * members)) / n**2
    distance = np.abs(loc[:, None] + scale[:, None] * members - y[:, None]).mean(axis=1)
    return float(np.mean(distance - 0.5 * scale * spread))


def path_shares(rows: Split, seed: int, relevant: int = 5) -> np.ndarray:
    """Share of a forest's leaves whose path has 0, 1, ... of the features that matter."""
    paths = leaf_paths(fit(VARIANTS[2], rows, seed).forest_)
    matters = np.concatenate([[0], np.cumsum(paths.features < relevant)])
    counts = matters[paths.begin[1:]] - matters[paths.begin[:-1]]
    return np.bincount(counts, minlength=relevant + 1) / len(counts)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = range(parser.parse_args().seeds)
    print(f"CRPS of the true law: {_NOISE / np.sqrt(np.pi):.2f}")
    shares = np.mean([path_shares(uniform_rows(seed), seed) for seed in seeds], axis=0)
    print("Leaves with 0 to 5 of the five features that matter on their path, %: "
          + ", ".join(f"{100 * share:.0f}" for share in shares))  # fmt: skip
    for law, make in LAWS.items():
        table = [["method", "CRPS", "CRPS by the authors' code", "RMSE"]]
        for variant in VARIANTS:
            means = np.mean([measure(variant, make(seed), seed) for seed in seeds], axis=0)
            table.append([variant.name, *(f"{value:.2f}" for value in means)])
        print("\n".join(table_lines(law, table)), flush=True)


if __name__ == "__main__":
    main()
