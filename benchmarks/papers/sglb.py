"""Paper 1: SGB, SGLB and virtual ensembles, and forests beside them.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles" (ICLR 2021),
tables 1, 4, 6 and 7. Depth (3 to 6) and learning rate (0.01 or 0.1; the paper has 0.001 too) are
tuned on the last fifth of the training rows by the NLL of a single model, on each split of energy
and power and elsewhere once, on split 0; the models are then trained on all training rows. A single
model is the first of an ensemble. Forests have ten groups of 30 trees (the paper's have 1,000), and
models of classes 200 trees (1,000). Out-of-distribution rows have the first columns of another set;
the paper's are of Year MSD. The paper's standard deviations are over 20 splits, of protein 5.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from benchmarks.papers import data
from benchmarks.papers.data import Found, Task
from gbuq_core.methods import METHODS
from gbuq_core.metrics import auroc, error_rate, nll_classification, nll_mixture, prr, rmse

GRID = tuple(product((3, 4, 5, 6), (0.01, 0.1)))  # depths and learning rates
TREES, CLASS_TREES, MEMBERS = 1000, 200, 10
FOREST = {"n_groups": 10, "trees_per_group": 30, "max_depth": 10}
TUNED_ON_EACH = ("energy", "power")
LEAST_VARIANCE = 1e-8  # as the authors add it, in the square of the target's unit


def run(task: Task) -> Found:
    """Scores of one method on one split."""
    classes = task.set in data.BUILTIN
    if classes:
        rows = data.class_rows(task.set, task.split)
    else:
        rows = data.regression_rows(task.data_dir, task.set, task.split)
    forest = task.method in ("vrf", "forests")
    settings = FOREST if forest else _tuned(task, rows)
    make = _make if forest else make_boosted
    model = make(task, settings).fit(rows.X_all, rows.y_all)
    foreign = data.foreign_rows(task, rows.X_all, len(rows.y_test))
    predicted = model.predict(rows.X_test)
    if classes:
        errors = (rows.y_test != predicted).astype(np.float64)
        scores = {"error": 100.0 * float(error_rate(rows.y_test, predicted))}
    else:
        errors = (rows.y_test - predicted) ** 2
        scores = {"rmse": float(rmse(rows.y_test, predicted))}
    # A single model has no knowledge uncertainty, and a forest has nothing else.
    if forest and not classes:
        doubts = {"knowledge": [model.predict_knowledge(X) for X in (rows.X_test, foreign)]}
    else:
        scores["nll"] = _nll(task, model, rows.X_test, rows.y_test)
        parts = ("total",) if task.method.endswith(":single") else ("total", "knowledge")
        both = [model.predict_uncertainty(X) for X in (rows.X_test, foreign)]
        doubts = {part: [getattr(each, part) for each in both] for part in parts}
    for part, (ordinary, other) in doubts.items():
        is_foreign = np.arange(len(ordinary) + len(other)) >= len(ordinary)
        scores[f"prr_{part}"] = float(prr(errors, ordinary))
        scores[f"auroc_{part}"] = float(auroc(is_foreign, np.concatenate([ordinary, other])))
    return Found(scores, settings)


def _make(task: Task, settings: dict[str, Any]) -> Any:
    kind = "classification" if task.set in data.BUILTIN else "regression"
    record = METHODS[task.method.partition(":")[0]]
    return record.make(kind, n_jobs=1, random_state=task.split, **settings)


def make_boosted(task: Task, settings: dict[str, Any]) -> Any:
    """As the authors' CatBoost: 254 borders, and a target in its own unit."""
    known = dict(settings)
    if task.method == "virtual_sglb":
        known["truncation_step"] = max(1, settings["n_trees"] // 20)  # the paper's 50 of 1,000
    else:
        known["n_members"] = 1 if task.method.endswith(":single") else MEMBERS
    model = _make(task, known).set_params(max_bins=255)
    return model if task.set in data.BUILTIN else model.set_params(standardize_target=False)


def _tuned(task: Task, rows: data.Rows) -> dict[str, Any]:
    """Depth, learning rate and trees: chosen before, or the best on the validation rows."""
    if task.known and task.set not in TUNED_ON_EACH:
        return dict(task.known)
    n_trees = CLASS_TREES if task.set in data.BUILTIN else TREES
    single = task._replace(method="sgb:single" if task.method[:4] == "sgb" else "sglb:single")
    best, chosen = np.inf, {}
    for depth, learning_rate in GRID:
        settings = {"depth": depth, "learning_rate": learning_rate, "n_trees": n_trees}
        model = make_boosted(single, settings).fit(rows.X_fit, rows.y_fit)
        value = _nll(task, model, rows.X_val, rows.y_val)
        if value < best:
            best, chosen = value, settings
    return chosen


def _nll(task: Task, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    members = model.predict_members(X)
    if task.set in data.BUILTIN:
        return float(nll_classification(y, members.mean(axis=0), model.classes_))
    return float(nll_mixture(y, members[..., 0], members[..., 1] + LEAST_VARIANCE))
