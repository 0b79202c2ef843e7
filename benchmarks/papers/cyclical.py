"""Paper 2: cyclical SGLB beside independent and virtual ensembles, and what its cycles do.

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC" (2023), table 1 and algorithm 1. Models have 1,000 trees, chains 2,000, and
depth 6; nothing is tuned: appendix B.2 has the spiral's settings, appendix C the others. The
paper's numbers are of Shifts weather, which may not be shipped. A split of the spiral is a seed.
Its out-of-distribution rows lie in a ring around the arms; other sets have the first columns of
another set. In F1-AUC they count as wrong. SGLB sees all rows; the paper's saw 80 %. The paper's
standard deviations are over three seeds.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.papers.data import Found, Task, class_rows, foreign_rows
from gbuq_core import make_spiral
from gbuq_core.methods import METHODS
from gbuq_core.metrics import auroc, error_rate, f1_auc
from gbuq_core.synthetic.spiral import spiral_features

SPIRAL = "spiral"
MODEL_TREES, CHAIN_TREES = 1000, 2000
TEST_ROWS = 500  # of each arm
FARTHEST, NEAREST = 2.0, 1.2  # foreign rows of the spiral, in lengths of an arm
# What stands behind a method's colon, before its value.
VARIANTS = {
    "cycle": ("cycle_length", int),
    "burn_in": ("burn_in_cycles", int),
    "alpha": ("alpha_max", float),
    "mask": ("mask_prob", float),
}


def run(task: Task) -> Found:
    """Scores of one method on one split."""
    if task.set == SPIRAL:
        X, y, X_test, y_test, foreign = _spiral(task.split)
    else:
        rows = class_rows(task.set, task.split)
        X, y, X_test, y_test = rows.X_all, rows.y_all, rows.X_test, rows.y_test
        foreign = foreign_rows(task, X, len(y_test))
    settings = _settings(task)
    record = METHODS[task.method.partition(":")[0]]
    model = record.make("classification", n_jobs=1, random_state=task.split, **settings)
    model.set_params(max_bins=128).fit(X, y)
    predicted = model.predict(X_test)
    ordinary, other = model.predict_uncertainty(X_test), model.predict_uncertainty(foreign)
    wrong = np.r_[predicted != y_test, np.ones(len(foreign))].astype(np.float64)
    is_foreign = np.arange(len(wrong)) >= len(y_test)
    scores = {
        "accuracy": 100.0 - 100.0 * float(error_rate(y_test, predicted)),
        "macro_f1": 100.0 * float(f1_score(y_test, predicted, average="macro")),
        "auroc_knowledge": float(auroc(is_foreign, np.r_[ordinary.knowledge, other.knowledge])),
    }
    for part in ("total", "knowledge"):
        doubt = np.r_[getattr(ordinary, part), getattr(other, part)]
        scores[f"f1_auc_{part}"] = 100.0 * f1_auc(wrong, doubt)
    return Found(scores, settings)


def _settings(task: Task) -> dict[str, Any]:
    key, _, variant = task.method.partition(":")
    on_spiral = task.set == SPIRAL
    knobs: dict[str, Any] = {"depth": 6, "learning_rate": 0.05, "n_trees": CHAIN_TREES}
    if on_spiral:
        knobs["random_strength"] = 100.0
    if key in ("sglb", "virtual_sglb"):
        knobs["learning_rate"] = 0.1 if on_spiral else 0.05
    if key == "sglb":
        return {**knobs, "n_trees": MODEL_TREES, "n_members": int(variant or 10)}
    if key == "virtual_sglb":  # ten members from 1,000 trees on, of the spiral 20
        return {**knobs, "truncation_step": 50 if on_spiral else 100}
    knobs |= {"cycle_length": 200, "alpha_max": 10.0}
    if key == "cbsglb":
        knobs |= {"mask_prob": 0.66 if on_spiral else 0.6}
        knobs |= {"exploration_fraction": 0.9 if on_spiral else 0.8}
    name, _, value = variant.rpartition("_")
    if name:
        knob, kind = VARIANTS[name]
        knobs[knob] = kind(value)
    return knobs


def _spiral(seed: int) -> tuple[np.ndarray, ...]:
    """Training rows, test rows, and as many rows in a ring around the arms."""
    train = make_spiral(1500, random_state=seed)
    test = make_spiral(TEST_ROWS, random_state=1000 + seed)
    rng = np.random.default_rng((seed, 29))
    angle = rng.uniform(0.0, 2.0 * math.pi, 3 * TEST_ROWS)
    radius = (6.0 * math.pi) ** 2 * rng.uniform(NEAREST, FARTHEST, 3 * TEST_ROWS)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return train.X, train.y, test.X, test.y, spiral_features(ring)
