"""Paper 2: cyclical SGLB beside independent and virtual ensembles, and what its cycles do.

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC" (2023), section 5 and appendices B.2 and C. The paper measures table 1 on
Shifts weather, which is not among the sets; here its measures are taken on the spiral and on
scikit-learn's sets of classes. Nobody is tuned. A split of the spiral is a seed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.metrics import f1_score

from benchmarks.protocols import data
from benchmarks.tables.protocol import (
    Found,
    Protocol,
    Score,
    Seconds,
    Task,
    published_numbers,
    record_key,
)
from gbuq_core import make_spiral
from gbuq_core.methods import METHODS, papers
from gbuq_core.metrics import auroc, error_rate, f1_auc
from gbuq_core.synthetic.spiral import spiral_features

SPIRAL, WEATHER = "spiral", "shifts_weather"
CLASSES = tuple(data.CLASS_SPLITS)
_TENTH = {"smoke": 50, "small": 1, "full": 1}  # what trees and cycles are divided by
MODEL_TREES, CHAIN_TREES, CYCLE = 1000, 2000, 200
VIRTUAL_STEP = {SPIRAL: 50}  # of other sets 100: ten members from 1,000 trees on
RATE = 0.05
# Appendix B.2 for the spiral, appendix C for the rest.
SPIRAL_KNOBS = {"random_strength": 100.0, "learning_rate": 0.1}
BAGGED = {SPIRAL: {"mask_prob": 0.66, "exploration_fraction": 0.9}}
OTHER_BAGGED = {"mask_prob": 0.6, "exploration_fraction": 0.8}
TEST_ROWS = 500  # of each arm
FARTHEST, NEAREST = 2.0, 1.2  # foreign rows of the spiral, in lengths of an arm
VARIATIONS: dict[str, dict[str, Any]] = {
    "csglb:cycle_100": {"cycle_length": 100},
    "csglb:cycle_400": {"cycle_length": 400},
    "csglb:burn_in_2": {"burn_in_cycles": 2},
    "csglb:burn_in_5": {"burn_in_cycles": 5},
    "csglb:alpha_1": {"alpha_max": 1.0},
    "cbsglb:mask_0.4": {"mask_prob": 0.4},
    "cbsglb:mask_0.8": {"mask_prob": 0.8},
    "cbsglb:mask_1": {"mask_prob": 1.0},
}


def run(task: Task) -> Found:
    """Scores of one method on one split."""
    smoke = task.effort == "smoke"
    if task.set == SPIRAL:
        X, y, X_test, y_test, foreign = _spiral(task.split, smoke)
    else:
        rows = data.class_rows(task.set, task.split, smoke)
        X, y, X_test, y_test = rows.X_all, rows.y_all, rows.X_test, rows.y_test
        foreign = data.foreign_rows(task.data_dir, task.set, X, len(y_test), task.split)
    settings = _settings(task)
    record = METHODS[record_key(task.method)]
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
    less = _TENTH[task.effort]
    key = record_key(task.method)
    knobs: dict[str, Any] = {"depth": 6, "learning_rate": RATE, "n_trees": MODEL_TREES // less}
    if task.set == SPIRAL:
        knobs |= SPIRAL_KNOBS
    if key == "sglb":
        knobs["n_members"] = MEMBERS[task.method] if less == 1 else 2
        return knobs
    knobs["n_trees"] = CHAIN_TREES // less
    if key == "virtual_sglb":
        return {**knobs, "truncation_step": max(1, VIRTUAL_STEP.get(task.set, 100) // less)}
    knobs |= {"learning_rate": RATE, "cycle_length": CYCLE}
    if key == "cbsglb":
        knobs |= BAGGED.get(task.set, OTHER_BAGGED)
    knobs |= VARIATIONS.get(task.method, {})
    knobs["cycle_length"] //= less
    return {**knobs, "alpha_max": knobs.get("alpha_max", 10.0)}


def _spiral(seed: int, smoke: bool) -> tuple[np.ndarray, ...]:
    """Training rows, test rows, and as many rows in a ring around the arms."""
    n, n_test = (40, 20) if smoke else (1500, TEST_ROWS)
    train = make_spiral(n, random_state=seed)
    test = make_spiral(n_test, random_state=data.SEED_OF_TEST_ROWS + seed)
    rng = np.random.default_rng((seed, 29))
    angle = rng.uniform(0.0, 2.0 * math.pi, 3 * n_test)
    radius = (6.0 * math.pi) ** 2 * rng.uniform(NEAREST, FARTHEST, 3 * n_test)
    ring = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return train.X, train.y, test.X, test.y, spiral_features(ring)


def methods_on(name: str) -> tuple[str, ...]:
    """All methods; what cycles, burn-in and masks do is measured on two sets."""
    if name in (SPIRAL, "breast_cancer"):
        return tuple(LABELS)
    return tuple(method for method in LABELS if method not in VARIATIONS)


MEMBERS = {"sglb:3": 3, "sglb:5": 5, "sglb": 10, "sglb:30": 30}
LABELS = {
    **{method: f"SGLB, {n} models" for method, n in MEMBERS.items()},
    "virtual_sglb": "virtual SGLB",
    "csglb": "cSGLB",
    "cbsglb": "cbSGLB",
    "csglb:cycle_100": "cSGLB, cycles of 100",
    "csglb:cycle_400": "cSGLB, cycles of 400",
    "csglb:burn_in_2": "cSGLB, 2 cycles left out",
    "csglb:burn_in_5": "cSGLB, 5 cycles left out",
    "csglb:alpha_1": "cSGLB, gradients not scaled",
    "cbsglb:mask_0.4": "cbSGLB, 40 % of the rows",
    "cbsglb:mask_0.8": "cbSGLB, 80 % of the rows",
    "cbsglb:mask_1": "cbSGLB, all rows",
}
_SEVEN = "sglb:3 sglb:5 sglb sglb:30 virtual_sglb csglb cbsglb"
_WEATHER = {
    # Rows "eval-ID" of accuracy and F1; its +- are standard deviations over three seeds.
    "accuracy": "65.24(0.02) 65.25(0.02) 65.26(0.01) 65.26 65.63(0.01) 65.93(0.01) 65.59(0.01)",
    "macro_f1": "63.28(0.02) 63.29(0.02) 63.30(0.01) 63.30 63.69(0.01) 64.06(0.02) 63.67(0.01)",
    "f1_auc_total": "57.18(0.01) 57.19(0.01) 57.20(0.01) 57.20 57.26(0.01) 56.82(0.03) 56.95(0.04)",
    "f1_auc_knowledge": "52.94(0.03) 53.71(0.03) 54.33(0.02) 54.83 52.55(0.08) 53.60(0.08) "
    "53.31(0.14)",
}
_OOD = "65.72(0.31) 68.60(0.21) 71.15(0.16) 73.26 67.32(0.70) 71.45(0.67) 71.70(0.91)"
_NUMBERS: dict[Any, Any] = published_numbers(
    "1", "auroc_knowledge", _SEVEN, {WEATHER: _OOD}, scale=0.01, splits=3
)
for _score, _row in _WEATHER.items():
    _NUMBERS |= published_numbers("1", _score, _SEVEN, {WEATHER: _row}, splits=3)

PROTOCOL = Protocol(
    key="cyclical",
    paper=papers.CYCLICAL + ", table 1 and algorithm 1",
    words=(
        "The small setting is the full one: models of 1,000 trees, chains of 2,000, depth 6. The "
        "paper's numbers are of Shifts weather, whose rows are not here, so none of them stands "
        "beside ours. Foreign rows of the spiral lie in a ring around its arms; other sets have "
        "the first columns of another set. In F1-AUC foreign rows count as wrong, because no class "
        "is right. SGLB sees all rows; the paper's saw 80 % on Shifts."
    ),
    error_words="The paper's errors are standard deviations over three seeds, here over root 3.",
    sets={SPIRAL: 20, **data.CLASS_SPLITS, WEATHER: 0},
    rows={**data.ROWS, SPIRAL: 4500, WEATHER: 200_000},
    methods=LABELS,
    scores=(
        Score("accuracy", "Right classes, %", True),
        Score("macro_f1", "Macro F1, %", True),
        Score("f1_auc_total", "F1-AUC of total uncertainty, test and foreign rows, %", True),
        Score("f1_auc_knowledge", "F1-AUC of knowledge uncertainty, test and foreign rows, %",
              True),
        Score("auroc_knowledge", "AUROC of foreign rows, knowledge uncertainty", True),
    ),
    published=_NUMBERS,
    run=run,
    seconds={
        **{method: Seconds(0.5 + 0.6 * n, 0.3 * n) for method, n in MEMBERS.items()},
        **{method: Seconds(2.0, 1.0) for method in LABELS if method not in MEMBERS},
    },
    methods_on=methods_on,
    times={SPIRAL: 0.35},  # nine columns
    builtin=(SPIRAL, *CLASSES),
    tuned_once=(),
)  # fmt: skip
