"""Paper 3: IBUG and its rivals, calibrated and not, on three libraries' models.

Brophy and Lowd, "Instance-based uncertainty estimation for gradient-boosted regression trees"
(NeurIPS 2022), tables 1, 2 and 5 to 18. Models are tuned by the RMSE of a random fifth of the
training rows, once, on split 0; k, the calibration and NGBoost's number of trees are chosen on each
split by the score that is reported. Models have at most 1,000 trees with the rate 0.1 (the paper up
to 2,000, further rates and depths), NGBoost 500 of at most 4,000 rows each. The sets have the first
paper's splits, and wine is another set than the paper's. CBU is this project's virtual ensemble
where the paper has CatBoost's, XBART stands for BART, and PGBM needs an older NumPy. The paper's
errors are standard errors over ten folds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.papers.data import Found, Rows, Task, held_out_rows
from gbuq_core import decompose_regression, metrics
from gbuq_core.baselines import average_distributions
from gbuq_core.methods import METHODS
from gbuq_core.metrics.scale_calibration import calibrate_scale

SCORES, SCORINGS = ("crps", "nll", "rmse"), ("crps", "nll")
SGLB_GRID = ((4, 0.1), (6, 0.1), (8, 0.1), (6, 0.3))  # depth, learning rate
NGBOOST_TREES, NGBOOST_RATE, NGBOOST_ROWS = 500, 0.04, 4000
XBART_TREES = (10, 50, 100, 200)  # what the paper tunes BART with

LEARNING_RATE = 0.1
TREES = (250, 500, 1000)
GRIDS: dict[str, list[dict[str, int]]] = {
    "catboost": [{"depth": 5}, {"depth": 7}],
    "lightgbm": [{"num_leaves": 15}, {"num_leaves": 61}],
    "xgboost": [{"max_depth": 3}, {"max_depth": 5}, {"max_depth": 7}],
}

ByScore = dict[str, np.ndarray]


class Predicted(NamedTuple):
    """Test rows' means for each of `SCORES`, and stds for each of `SCORINGS`, (n_test,) each.

    ``settings`` are those of the models, for further splits. ``raw`` has stds before calibration,
    ``neighbors`` the k of each scoring. Seconds are of tuning with training, and of predicting.
    """

    loc: ByScore
    scale: ByScore
    settings: dict[str, Any]
    fit_seconds: float
    predict_seconds: float
    raw: ByScore | None = None
    neighbors: Mapping[str, int] | None = None


class Trained(BaseEstimator):
    """Models that are trained already, handed out in place of a fit: one for each number of rows.

    Whoever fits a clone of this gets the model without training.
    """

    def __init__(self, models: dict[int, Any], settings: dict[str, Any], seconds: float) -> None:
        self.models = models
        self.settings = settings
        self.seconds = seconds

    def __sklearn_clone__(self) -> Trained:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return False

    def fit(self, X: Any, y: Any) -> Any:
        """Return the model of so many rows."""
        return self.models[len(y)]


def make_booster(library: str, n_trees: int, seed: int, settings: Mapping[str, Any]) -> Any:
    """An unfitted regressor of a library, with one thread."""
    if library == "catboost":
        from catboost import CatBoostRegressor

        quiet = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
        trees = {"iterations": n_trees, "learning_rate": LEARNING_RATE, "random_seed": seed}
        return CatBoostRegressor(**quiet, **trees | dict(settings))
    shared = {"n_estimators": n_trees, "learning_rate": LEARNING_RATE, "n_jobs": 1}
    if library == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(random_state=seed, verbose=-1, **shared | dict(settings))
    from xgboost import XGBRegressor

    return XGBRegressor(random_state=seed, **shared | dict(settings))


def train_booster(library: str, parts: Rows, known: Mapping[str, Any] | None) -> Trained:
    """The best of a library's grid or what is known, trained on the fitting rows and on all."""
    began = time.process_time()
    best, chosen = np.inf, dict(known or {})
    for settings in [] if known else GRIDS[library]:
        model = make_booster(library, TREES[-1], parts.seed, settings)
        model.fit(parts.X_fit, parts.y_fit)
        for n_trees in TREES:
            first = {
                "catboost": {"ntree_end": n_trees},
                "lightgbm": {"num_iteration": n_trees},
                "xgboost": {"iteration_range": (0, n_trees)},
            }[library]
            error = metrics.rmse(parts.y_val, model.predict(parts.X_val, **first))
            if error < best:
                best, chosen = error, {**settings, "n_trees": n_trees}
    knobs = {name: value for name, value in chosen.items() if name != "n_trees"}
    models = {
        len(y): make_booster(library, chosen["n_trees"], parts.seed, knobs).fit(X, y)
        for X, y in ((parts.X_fit, parts.y_fit), (parts.X_all, parts.y_all))
    }
    return Trained(models, chosen, time.process_time() - began)


def run(task: Task) -> Found:
    """Scores of one method on one split."""
    parts, known = held_out_rows(task.data_dir, task.set, task.split), task.known or {}
    predicted = _PREDICT[task.method](parts, known)
    y, loc, scale = parts.y_test, predicted.loc, predicted.scale
    scores = {
        "crps": metrics.crps_gaussian(y, loc["crps"], scale["crps"]),
        "nll": metrics.nll_gaussian(y, loc["nll"], scale["nll"]),
        "rmse": metrics.rmse(y, loc["rmse"]),
        "check": metrics.check_score(y, loc["crps"], scale["crps"]),
        "interval": metrics.mean_interval_score(y, loc["crps"], scale["crps"]),
        "mace": metrics.mace(y, loc["crps"], scale["crps"]),
        "sharpness": metrics.sharpness(scale["crps"]),
        "fit_seconds": predicted.fit_seconds,
        "predict_ms": 1e3 * predicted.predict_seconds / len(y),
    }
    if predicted.raw is not None:
        scores["crps_raw"] = metrics.crps_gaussian(y, loc["crps"], predicted.raw["crps"])
        scores["nll_raw"] = metrics.nll_gaussian(y, loc["nll"], predicted.raw["nll"])
    scores |= {f"n_neighbors_{s}": k for s, k in (predicted.neighbors or {}).items()}
    return Found(scores, predicted.settings)


def _neighbors(parts: Rows, known: Mapping[str, Any], key: str, library: str = "") -> Predicted:
    """IBUG on a library's model, or kNN, or kNN-CB with that model's mean and best features."""
    base = train_booster(library, parts, known.get(library)) if library else None
    locs, scales, raw, k = {}, {}, {}, {}
    for s in SCORINGS:
        model = METHODS[key].builder().make(base_model=base, scoring=s, random_state=parts.seed)
        if key == "ibug":
            model.set_params(delta_unit=1.0, n_jobs=1)
        began = time.process_time()
        model.fit(parts.X_fit, parts.y_fit, parts.X_val, parts.y_val)
        seconds, began = time.process_time() - began, time.process_time()
        locs[s], scales[s] = model.predict_distribution(parts.X_test)
        predict_seconds = time.process_time() - began
        raw[s], k[s] = (scales[s] - model.delta_) / model.gamma_, model.n_neighbors_
    locs["rmse"] = locs["nll"]
    settings = {} if base is None else {library: base.settings}
    seconds += 0.0 if base is None else base.seconds
    before = (raw, k) if key == "ibug" else ()
    return Predicted(locs, scales, settings, seconds, predict_seconds, *before)


def make_sglb(seed: int, depth: int, learning_rate: float, n_trees: int) -> Any:
    """As the paper's CatBoost: 254 borders, and the target in its own unit."""
    model = METHODS["virtual_sglb"].make(
        n_trees=n_trees, depth=depth, learning_rate=learning_rate, n_jobs=1, random_state=seed
    )
    return model.set_params(max_bins=255, standardize_target=False)


def virtual_ensemble(model: Any, X: np.ndarray, n_trees: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and std of the virtual ensemble that the first ``n_trees`` trees of a model make."""
    stages = model.member_trees(50, 0.0)
    members = model.predict_members(X, truncation_step=50, truncation_start=0.0)
    chosen = members[(stages > n_trees / 2) & (stages <= n_trees)]
    means, variances = chosen[..., 0], chosen[..., 1]
    return means.mean(axis=0), np.sqrt(decompose_regression(means, variances).total)


def _sglb(parts: Rows, known: Mapping[str, Any]) -> Predicted:
    """The virtual ensemble, calibrated."""
    began, best = time.process_time(), np.inf
    grid, trees = SGLB_GRID, TREES
    if "sglb" in known:
        *knobs, n_trees = known["sglb"]
        grid, trees = (tuple(knobs),), (n_trees,)
    for knobs in grid:
        model = make_sglb(parts.seed, *knobs, trees[-1]).fit(parts.X_fit, parts.y_fit)
        for n_trees in trees:
            loc, scale = virtual_ensemble(model, parts.X_val, n_trees)
            error = metrics.rmse(parts.y_val, loc)
            if error < best:
                best, chosen, on_validation = error, (*knobs, n_trees), (loc, scale)
    final = make_sglb(parts.seed, *chosen).fit(parts.X_all, parts.y_all)
    return _calibrated(parts, final, on_validation, {"sglb": chosen}, began)


def _xbart(parts: Rows, known: Mapping[str, Any]) -> Predicted:
    """XBART in the place of BART, its number of trees chosen by validation RMSE."""
    record = METHODS["xbart"]
    began, best = time.process_time(), np.inf
    for n_trees in (known["xbart"],) if known else XBART_TREES:
        model = record.make(n_trees=n_trees, random_state=parts.seed)
        distribution = model.fit(parts.X_fit, parts.y_fit).predict_distribution(parts.X_val)
        error = metrics.rmse(parts.y_val, distribution.loc)
        if error < best:
            best, chosen, on_validation = error, n_trees, distribution
    final = record.make(n_trees=chosen, random_state=parts.seed).fit(parts.X_all, parts.y_all)
    return _calibrated(parts, final, on_validation, {"xbart": chosen}, began)


def _calibrated(
    parts: Rows, model: Any, on_validation: Any, settings: dict[str, Any], began: float
) -> Predicted:
    fitted = {s: calibrate_scale(parts.y_val, *on_validation, s) for s in SCORINGS}
    seconds, began = time.process_time() - began, time.process_time()
    loc, scale = model.predict_distribution(parts.X_test)
    predict_seconds = time.process_time() - began
    scales = {s: fitted[s].apply(scale) for s in SCORINGS}
    locs, raw = dict.fromkeys(SCORES, loc), dict.fromkeys(SCORINGS, scale)
    return Predicted(locs, scales, settings, seconds, predict_seconds, raw)


def _average(parts: Rows, known: Mapping[str, Any]) -> Predicted:
    """IBUG+CBU: the mean of both, each calibrated before."""
    ibug, sglb = both = _PREDICT["ibug"](parts, known), _sglb(parts, known)
    scales, raw, loc = {}, {}, ibug.loc["crps"]
    for s in SCORINGS:
        loc, scales[s] = average_distributions(*((each.loc[s], each.scale[s]) for each in both))
        raw[s] = average_distributions(*((each.loc[s], each.raw[s]) for each in both)).scale
    seconds = ibug.fit_seconds + sglb.fit_seconds, ibug.predict_seconds + sglb.predict_seconds
    settings = ibug.settings | sglb.settings
    return Predicted(dict.fromkeys(SCORES, loc), scales, settings, *seconds, raw)


def _ngboost(parts: Rows, known: Mapping[str, Any]) -> Predicted:
    """NGBoost, its number of trees chosen by each of the three scores."""
    began, y = time.process_time(), parts.y_val
    model = _fit_ngboost(parts.X_fit, parts.y_fit, NGBOOST_TREES, parts.seed)
    staged = [(each.loc, each.scale) for each in model.staged_pred_dist(parts.X_val)]
    errors = {
        "crps": [metrics.crps_gaussian(y, *pair) for pair in staged],
        "nll": [metrics.nll_gaussian(y, *pair) for pair in staged],
        "rmse": [metrics.rmse(y, pair[0]) for pair in staged],
    }
    trees = {s: int(np.argmin(values)) + 1 for s, values in errors.items()}
    fitted = {s: calibrate_scale(y, *staged[trees[s] - 1], s) for s in SCORINGS}
    model = _fit_ngboost(parts.X_all, parts.y_all, max(trees.values()), parts.seed)
    seconds, began = time.process_time() - began, time.process_time()
    distributions = {s: model.pred_dist(parts.X_test, max_iter=trees[s]) for s in SCORES}
    predict_seconds = (time.process_time() - began) / len(SCORES)
    raw = {s: np.asarray(distributions[s].scale) for s in SCORINGS}
    scales = {s: fitted[s].apply(raw[s]) for s in SCORINGS}
    locs = {s: np.asarray(each.loc) for s, each in distributions.items()}
    return Predicted(locs, scales, {}, seconds, predict_seconds, raw)


def _fit_ngboost(X: np.ndarray, y: np.ndarray, n_trees: int, seed: int) -> Any:
    """NGBoost; of more than 4,000 rows each tree sees a random 4,000 (the paper bags, too)."""
    import ngboost

    knobs = {"learning_rate": NGBOOST_RATE, "minibatch_frac": min(1.0, NGBOOST_ROWS / len(y))}
    model = ngboost.NGBRegressor(n_estimators=n_trees, random_state=seed, verbose=False, **knobs)
    return model.fit(X, y)


_PREDICT = {
    "ibug": partial(_neighbors, key="ibug", library="catboost"),
    "ibug:lightgbm": partial(_neighbors, key="ibug", library="lightgbm"),
    "ibug:xgboost": partial(_neighbors, key="ibug", library="xgboost"),
    "ibug_cbu": _average,
    "virtual_sglb": _sglb,
    "knn": partial(_neighbors, key="knn"),
    "knn_cb": partial(_neighbors, key="knn_cb", library="catboost"),
    "ngboost": _ngboost,
    "xbart": _xbart,
}
