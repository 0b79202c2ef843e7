"""Two targets: joint distributions against independent ones, and the coverage of joint regions.

``python -m benchmarks.several --data-dir FOLDER`` reads two UCI sets there (``wine.csv.gz``,
``energy_two_targets.csv.gz``) and makes two; without it, these two alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.report import Row, make_parser, report
from gbuq_core import BoostedEnsembleRegressor, MultiTargetRegressor
from gbuq_core.several_targets import energy_score

SPLITS, N_ROWS = 3, 900
GAINS = {"wine": 0.015, "ring": 0.015, "pair": 0.007, "energy": 0.0}
LOW, HIGH = 0.86, 0.95  # coverage of joint 90 % regions


def sets(only: list[str], folder: Path | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Columns and two targets of each set."""
    random = np.random.default_rng(1)
    X = random.uniform(-1.0, 1.0, (N_ROWS, 5))
    if "ring" in only:
        angle, radius = random.uniform(0.0, 2.0 * np.pi, N_ROWS), 2.0 + 0.8 * X[:, 0]
        around = np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius[:, None]
        yield "ring", X, X[:, 1:3] + around + 0.25 * random.normal(size=(N_ROWS, 2))
    if "pair" in only:
        rho, noise = np.tanh(2.0 * X[:, 0] + 0.4), random.normal(size=(N_ROWS, 2))
        noise[:, 1] = rho * noise[:, 0] + np.sqrt(1.0 - rho**2) * noise[:, 1]
        mean = np.stack([np.sin(3.0 * X[:, 1]), 2.0 * X[:, 2] ** 2], axis=1)
        yield (
            "pair",
            X,
            mean + noise * np.stack([0.3 + 0.5 * (X[:, 3] > 0), 0.4 + 0.3 * X[:, 4]], 1),
        )
    if folder is not None and "wine" in only:
        rows = pd.read_csv(folder / "wine.csv.gz").to_numpy(np.float64)
        rows = rows[np.random.default_rng(0).permutation(len(rows))[:N_ROWS]]
        yield "wine", np.delete(rows, [7, 10, 11], axis=1), rows[:, [7, 10]]
    if folder is not None and "energy" in only:
        rows = pd.read_csv(folder / "energy_two_targets.csv.gz").to_numpy(np.float64)
        yield "energy", rows[:, :8], rows[:, 8:10]


def judge(X: np.ndarray, Y: np.ndarray, split: int) -> tuple[str, np.ndarray, float, float]:
    """The dependence chosen, energy scores' gains by row, the independent one, and coverage."""
    order = np.random.default_rng(split).permutation(len(X))
    train, test = np.split(order, [int(0.7 * len(X))])
    trees = BoostedEnsembleRegressor(
        n_members=5, n_trees=400, depth=4, learning_rate=0.08, random_state=split
    )
    model = MultiTargetRegressor(trees, random_state=split).fit(X[train], Y[train])
    joint, spread = model.predict_distribution(X[test]), Y[train].std(axis=0)
    alone = copy(model)
    alone.dependence_ = "independent"
    apart = alone.predict_distribution(X[test])
    scores = [
        energy_score(law.sample(400, random_state=split) / spread, Y[test] / spread)
        for law in (apart, joint)
    ]
    inside = joint.contains(Y[test], 0.9).mean()
    return model.dependence_, scores[0] - scores[1], float(scores[0].mean()), float(inside)


def main() -> None:
    """Split, fit, and print."""
    options = make_parser(__doc__.splitlines()[0], list(GAINS)).parse_args()
    rows = []
    for name, X, Y in sets(options.only, options.data_dir):
        found = [judge(X, Y, split) for split in range(SPLITS)]
        gains = np.array([gain.mean() for _, gain, _, _ in found])
        error = float(np.mean([gain.std() / np.sqrt(len(gain)) for _, gain, _, _ in found]))
        relative = float(gains.mean() / np.mean([alone for _, _, alone, _ in found]))
        covered = float(np.mean([inside for *_, inside in found]))
        bar = GAINS[name]
        met = relative >= bar if bar else gains.mean() >= -error
        chosen = ", ".join(dict.fromkeys(choice for choice, *_ in found))
        numbers = {"gain": relative, "coverage": covered}
        measured = f"{100 * relative:.1f} % below independent ({chosen})"
        rows.append(Row(f"{name}: energy score", measured, f"{100 * bar:g} %", met, numbers))
        within = LOW <= covered <= HIGH
        rows.append(
            Row(f"{name}: 90 % regions", f"{covered:.3f}", f"{LOW} to {HIGH}", within, numbers)
        )
    report("Several targets", rows, options.json)


if __name__ == "__main__":
    main()
