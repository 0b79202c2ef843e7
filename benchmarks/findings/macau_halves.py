"""AUROC of foreign halves under several laws of the features, which paper 5 does not give."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_regression

from benchmarks.protocols.novelty import PAPER_AUROC, SCORES, make_linear, split_rows
from benchmarks.report import table_lines
from gbuq_core import MacauRegressor
from gbuq_core.baselines.isolation import IsolationForestScore
from gbuq_core.metrics import auroc

_ROWS, _FEATURES, _RELEVANT = 10_000, 10, 5


def _of_law(law: str) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    return lambda seed: make_linear(_ROWS, _FEATURES, _RELEVANT, law, seed)


def _reweighted(
    change: Callable[[np.ndarray], np.ndarray],
) -> Callable[[int], tuple[np.ndarray, np.ndarray]]:
    """Features changed one by one; the target is linear in the changed ones."""

    def make(seed: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng([seed, 3])
        X = change(rng.normal(size=(_ROWS, _FEATURES)))
        weights = np.r_[rng.uniform(10.0, 100.0, _RELEVANT), np.zeros(_FEATURES - _RELEVANT)]
        return X, X @ weights + 10.0 * rng.normal(size=_ROWS)

    return make


def _correlated(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_regression(
        _ROWS, _FEATURES, n_informative=_RELEVANT, noise=0.1, effective_rank=3, random_state=seed
    )
    return X, y


LAWS = {
    "uniform (the table's)": _of_law("uniform"),
    "normal": _of_law("normal"),
    "normal, correlated (effective rank 3)": _correlated,
    "two humps": _reweighted(lambda Z: np.sign(Z) + 0.3 * Z),
}


def measure(X: np.ndarray, y: np.ndarray, seed: int, features: tuple[int, ...]) -> np.ndarray:
    """Mean AUROC of novelty, conditional novelty, inference novelty and isolation."""
    areas = []
    for feature in features:
        for half in (0, 1):
            train, known, foreign = split_rows(X, feature, half, seed)
            judged = X[np.r_[known, foreign]]
            model = MacauRegressor(leaf_features="path", n_jobs=1, random_state=seed)
            model.fit(X[train], y[train])
            isolation = IsolationForestScore(100, random_state=seed).fit(X[train])
            novelty = model.score_novelty(judged)
            is_foreign = np.repeat([0.0, 1.0], [len(known), len(foreign)])
            scores = (
                novelty.novelty, novelty.conditional_novelty, np.abs(novelty.inference_novelty),
                isolation.score_novelty(judged),
            )  # fmt: skip
            areas.append([auroc(is_foreign, score) for score in scores])
    return np.mean(areas, axis=0)


def main() -> None:
    """Print a row a law."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--features", type=int, nargs="+", default=[0, 9], help="that are cut")
    features = tuple(parser.parse_args().features)
    names = ("novelty", "conditional_novelty", "inference_novelty", "isolation")
    table = [["law of the features", *names]]
    for law, make in LAWS.items():
        values = measure(*make(0), 0, features)
        table.append([law, *(f"{value:.2f}" for value in values)])
    paper = dict(zip(SCORES, PAPER_AUROC["linear"], strict=True))
    table.append(["the paper", *(f"{paper[name]:.2f}" for name in names)])
    print("\n".join(table_lines("AUROC of the foreign half", table)))


if __name__ == "__main__":
    main()
