"""Paper 5: MACAU and its peers, on simulated rows of known noise and on California housing.

Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
(2023, doi 10.5121/csit.2023.131920), table 1. Nothing is tuned: forests have 100 trees.
``one_dimensional`` is section 4.1 with a subsample of 0.1, elsewhere it is 0.8; a variant after a
colon grows this forest otherwise. ``linear`` has ten features, five of which matter; the paper does
not give their distribution, which is uniform here. ``linear_halves`` is section 4.2: each feature
is cut at its median, one half trains and the other is out of distribution. ``california`` and
``california_halves`` are a download. A split is a seed. MACAU's linear leaves see the features of
their paths, as in the paper; with ``:auto`` they see all features where they have rows for them.
The paper has no standard errors.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.data import Found, Task
from gbuq_core.baselines.isolation import IsolationForestScore
from gbuq_core.methods import METHODS, PARTS
from gbuq_core.metrics import auroc, coverage, crps_gaussian, nll_gaussian, rmse
from gbuq_core.study.heteroscedastic import HETEROSCEDASTIC, SCORES, HeteroscedasticSettings

TREES, SUBSAMPLE = 100, 0.8
ROWS, FEATURES, RELEVANT = 10_000, 10, 5  # the paper's
COEFFICIENT, NOISE = 100.0, 10.0  # weights are uniform up to the first; std of the noise
LEVELS = (0.5, 0.8, 0.95)
LEAST_SCALE = 1e-3  # of the target's std: a forest's trees may agree, and a std of 0 has no NLL
# What the forest of the line is grown with, by variant, in place of subsamples of 0.1.
VARIANTS: dict[str, dict[str, Any]] = {
    "": {}, "subsample_0.2": {"subsample": 0.2}, "subsample_0.5": {"subsample": 0.5},
    "subsample_0.8": {"subsample": 0.8}, "leaf_5": {"min_child_samples": 5},
    "leaf_1": {"min_child_samples": 1}, "grown": {"min_child_samples": 1, "max_leaves": 255},
    "grown_0.8": {"min_child_samples": 1, "max_leaves": 255, "subsample": 0.8},
}  # fmt: skip


def run(task: Task) -> Found:
    """Scores of one method for one seed."""
    if task.set == "one_dimensional":
        return Found(_on_the_line(task), {})
    if task.set.startswith("california"):
        rows = pd.read_csv(task.data_dir / "california.csv.gz").to_numpy(dtype=np.float64)
        rows = rows[np.random.default_rng((task.split, 37)).permutation(len(rows))]
        X, y = rows[:, :-1], rows[:, -1]
    else:
        X, y = make_linear(task.split)
    if task.set.endswith("_halves"):
        return Found(_on_halves(task, X, y), {})
    n = len(y) // 2  # half of the rows train, the others test
    model = make_model(task.method, task.split).fit(X[:n], y[:n])
    loc, scale = model.predict_distribution(X[n:])
    scale = np.maximum(scale, LEAST_SCALE * float(y[:n].std()))
    covered = coverage(y[n:], loc, scale, LEVELS).observed
    scores = {
        "crps": float(crps_gaussian(y[n:], loc, scale)),
        "nll": float(nll_gaussian(y[n:], loc, scale)),
        "rmse": float(rmse(y[n:], loc)),
        **{f"coverage_{level:g}": share for level, share in zip(LEVELS, covered, strict=True)},
    }
    return Found(scores, {})


def make_linear(seed: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
    """A linear target of the first features, with noise."""
    rng = np.random.default_rng([seed, 0])
    weights = np.zeros(FEATURES)
    weights[:RELEVANT] = rng.uniform(0.1 * COEFFICIENT, COEFFICIENT, RELEVANT)
    X = rng.uniform(-math.sqrt(3.0), math.sqrt(3.0), (rows, FEATURES))
    return X, X @ weights + NOISE * rng.normal(size=rows)


def make_model(method: str, seed: int) -> Any:
    """An unfitted regressor with one thread; NGBoost and CatBoost see the same share of rows."""
    key, _, variant = method.partition(":")
    record, shared = METHODS[key], {"n_jobs": 1, "random_state": seed}
    takes = {name: shared[name] for name in record.builder().takes if name in shared}
    if key == "conformal_linear":  # no trees, no subsample
        return record.make(**takes)
    model = record.make(n_trees=TREES, **takes)
    if key == "macau_linear" and variant != "auto":
        model.set_params(leaf_features="path")
    return model.set_params(subsample=SUBSAMPLE)


def _on_the_line(task: Task) -> dict[str, float]:
    key, _, variant = task.method.partition(":")
    settings = replace(HeteroscedasticSettings(seed=task.split), **VARIANTS[variant])
    line = HETEROSCEDASTIC.run(replace(settings, methods=(key,))).numbers[key]
    names = ("crps", "excess", "rmse", "noise_ratio", *(f"auroc_{score}" for score in SCORES))
    coverage = {f"coverage_{a:g}": line.get(f"covered_{100 * a:g}", math.nan) for a in LEVELS}
    return {name: line.get(name, math.nan) for name in names} | coverage


def split_rows(
    X: np.ndarray, feature: int, half: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that train, rows of the same half that are scored, and those of the other half."""
    is_high = X[:, feature] > np.median(X[:, feature])
    own = is_high if half else ~is_high
    inside = np.random.default_rng([seed, 1, feature, half]).permutation(np.flatnonzero(own))
    return inside[: len(inside) // 2], inside[len(inside) // 2 :], np.flatnonzero(~own)


def _on_halves(task: Task, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """AUROC of foreign rows, means over the experiments: two of each feature."""
    areas: dict[str, list[float]] = {}
    for feature, half in product(range(X.shape[1]), (0, 1)):
        train, known, foreign = split_rows(X, feature, half, task.split)
        judged = X[np.concatenate([known, foreign])]
        is_foreign = np.arange(len(judged)) >= len(known)
        for name, doubt in _doubts(task, X[train], y[train], judged).items():
            areas.setdefault(f"auroc_{name}", []).append(float(auroc(is_foreign, doubt)))
    return {name: float(np.mean(values)) for name, values in areas.items()}


def _doubts(task: Task, X: np.ndarray, y: np.ndarray, judged: np.ndarray) -> dict[str, np.ndarray]:
    """What a method says of rows; novelty and an isolation forest stand beside MACAU's parts."""
    model = make_model(task.method, task.split).fit(X, y)
    parts = model.predict_uncertainty(judged)
    if not task.method.startswith("macau"):
        record = METHODS[task.method]
        names = record.parts if set(PARTS) <= set(record.yields) else ("total",)
        return {name: getattr(parts, name) for name in names}
    isolation = IsolationForestScore(TREES, random_state=task.split).fit(X)
    novelty = model.score_novelty(judged)
    return {
        "novelty": novelty.novelty,
        "conditional_novelty": novelty.conditional_novelty,
        "inference_novelty": np.abs(novelty.inference_novelty),
        "isolation": isolation.score_novelty(judged),
        **parts._asdict(),
    }
