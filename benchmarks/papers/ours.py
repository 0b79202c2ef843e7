"""Every method of this project and its peers, with default settings.

``run`` has all sets with at most 2,000 training rows, but for ``sglb:all_rows``; independent models
of classes have 300 trees. ``:two_clocks`` stops the mean and the spread of boosted models apart, on
unseen rows; ``:scaled`` has a factor and a floor of the std from unseen rows; a library's name is
IBUG on its model. The published numbers beside ``sglb:two_clocks`` (``sglb:all_rows`` on power and
protein) are the best of papers 1, 3 and 4, those beside ``stacked`` the best of
github.com/ayhamo/Probabilistic_Point_Estimations (2025).

``run_tail`` leaves the fifth with the largest values of the most important feature out of training
and scores it (split 0), then that with the smallest (1), and so on down three features.
``run_shape`` has 1,000 simulated rows of a known shape and 600 new ones; a split is a seed, and
``ratio`` is CRPS over that of the true distribution.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from benchmarks.papers.data import BUILTIN, Found, Missing, Task, class_rows, foreign_rows
from benchmarks.papers.ibug import make_booster
from benchmarks.report import Split, load_split
from benchmarks.stacking import SHAPES, ends_beyond, shape_rows, tail_rows, tail_splits
from gbuq_core import IBUGRegressor, metrics
from gbuq_core.baselines import PeerRegressor, QuantileDistribution
from gbuq_core.calibration import CalibratedRegressor
from gbuq_core.distribution import Distribution, NormalDistribution, StudentDistribution
from gbuq_core.methods import METHODS

MOST_ROWS = 2000  # to train on
TAIL_ROWS, SHAPE_ROWS = 1500, 1000
INDEPENDENT, CLASS_TREES = ("sgb", "sglb", "catboost"), 300
LIBRARIES, LIBRARY_TREES = ("catboost", "lightgbm", "xgboost"), 1000
LEAST_SCALE = 1e-3  # of the target's std: a forest's trees may agree
KINDS = {
    kind.lower().replace("60 % ", "").replace("-", "_").replace(" ", "_"): kind for kind in SHAPES
}


def run(task: Task) -> Found:
    """Scores of one method on one split."""
    if task.set in BUILTIN:
        return Found(_on_classes(task), {})
    rows = load_split(task.data_dir, task.set, task.split)
    order = np.random.default_rng((task.split, 31)).permutation(len(rows.y_train))
    order = np.sort(order if task.method == "sglb:all_rows" else order[:MOST_ROWS])
    rows = Split(rows.X_train[order], rows.y_train[order], rows.X_test, rows.y_test)
    key, _, variant = task.method.partition(":")
    reason = METHODS[key].why_not(len(order)) if key in METHODS else ""
    if reason:
        raise Missing(reason)
    model = make_model(task.method, task.split).fit(rows.X_train, rows.y_train)
    scores, predicted = _score_distribution(model, rows)
    scores["nll"] = -float(predicted.logpdf(rows.y_test).mean())
    scores["prr_total"] = float(metrics.prr((rows.y_test - predicted.loc) ** 2, predicted.scale))
    if key in METHODS and "knowledge" in METHODS[key].yields and variant != "scaled":
        n = len(rows.y_test)
        foreign = foreign_rows(task, rows.X_train, n)
        doubt = model.predict_uncertainty(np.concatenate([rows.X_test, foreign])).knowledge
        scores["auroc_knowledge"] = float(metrics.auroc(np.arange(2 * n) >= n, doubt))
    return Found(scores, {})


def run_tail(task: Task) -> Found:
    """Scores of one method on a tail that it has not learnt from."""
    X, y = tail_rows(task.data_dir, task.set, TAIL_ROWS)
    train, test = next(islice(tail_splits(X, y), task.split, None))
    rows = Split(X[train], y[train], X[test], y[test])
    model = make_model(task.method, task.split).fit(rows.X_train, rows.y_train)
    return Found(_score_distribution(model, rows)[0], {})


def run_shape(task: Task) -> Found:
    """Scores of one method on a target whose distribution is known."""
    kind = KINDS[task.set]
    shape = shape_rows(kind, task.split, SHAPE_ROWS)
    rows = Split(shape.X, shape.y, shape.new, shape.target)
    model = make_model(task.method, task.split).fit(rows.X_train, rows.y_train)
    scores, predicted = _score_distribution(model, rows)
    scores["ratio"] = scores["crps"] / shape.truth
    scores["beyond"] = 100.0 * ends_beyond(kind, predicted)
    return Found(scores, {})


def _score_distribution(model: Any, rows: Split) -> tuple[dict[str, float], Distribution]:
    predicted, y = model.predict_distribution(rows.X_test), rows.y_test
    # Mixtures and draws have no std to set.
    if isinstance(predicted, NormalDistribution | StudentDistribution | QuantileDistribution):
        least = LEAST_SCALE * float(rows.y_train.std())
        predicted = replace(predicted, scale=np.maximum(predicted.scale, least))
    low, high = predicted.interval(0.9)
    scores = {
        "crps": float(predicted.crps(y).mean()),
        "log_score": metrics.log_scores(predicted, y, metrics.find_resolution(rows.y_train)).mean,
        "rmse": float(metrics.rmse(y, predicted.loc)),
        "coverage_0.9": float(np.mean((y >= low) & (y <= high))),
    }
    return scores, predicted


def _on_classes(task: Task) -> dict[str, float]:
    """Error, likelihood, calibration, and how uncertainty ranks wrong and foreign rows."""
    rows = class_rows(task.set, task.split)
    model = make_model(task.method, task.split, "classification")
    if task.method.partition(":")[0] in INDEPENDENT:
        model.set_params(n_trees=CLASS_TREES)
    model.fit(rows.X_all, rows.y_all)
    y, n = rows.y_test, len(rows.y_test)
    probabilities, predicted = model.predict_proba(rows.X_test), model.predict(rows.X_test)
    foreign = foreign_rows(task, rows.X_all, n)
    doubt = model.predict_uncertainty(np.concatenate([rows.X_test, foreign]))
    is_foreign = np.arange(2 * n) >= n
    return {
        "error": 100.0 * float(metrics.error_rate(y, predicted)),
        "nll": float(metrics.nll_classification(y, probabilities, model.classes_)),
        "ece": float(metrics.calibration_error(y, probabilities, model.classes_)),
        "prr_total": float(metrics.prr((predicted != y).astype(np.float64), doubt.total[:n])),
        "auroc_total": float(metrics.auroc(is_foreign, doubt.total)),
        "auroc_knowledge": float(metrics.auroc(is_foreign, doubt.knowledge)),
    }


def make_model(method: str, seed: int, kind: str = "regression") -> Any:
    """An unfitted estimator with one thread and its class's settings."""
    key, _, variant = method.partition(":")
    if key == "quantile_forest":
        return _quantile_forest(seed)
    if variant in LIBRARIES:
        booster = make_booster(variant, LIBRARY_TREES, seed, {})
        return IBUGRegressor(booster, delta_unit=1.0, n_jobs=1, random_state=seed)
    record, shared = METHODS[key], {"n_jobs": 1, "random_state": seed}
    takes = record.builder(kind).takes
    model = record.make(kind, **{name: shared[name] for name in takes if name in shared})
    if variant in ("two_clocks", "all_rows"):
        model.set_params(stopping="two_clocks")
    return CalibratedRegressor(model, random_state=seed) if variant == "scaled" else model


def _quantile_forest(seed: int) -> PeerRegressor:
    """The peer package's forest with its own settings."""
    try:
        from quantile_forest import RandomForestQuantileRegressor
    except ImportError as error:
        raise Missing("quantile-forest is not installed: pip install quantile-forest.") from error
    return PeerRegressor(RandomForestQuantileRegressor(100, n_jobs=1, random_state=seed))
