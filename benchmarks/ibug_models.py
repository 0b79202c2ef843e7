"""The point models under IBUG: tuned by validation RMSE, then trained on all training rows."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from benchmarks.ibug_data import Rows
from gbuq_core.metrics import rmse

# The paper's appendix B.2 has more values; these are the ones it selected most often.
LEARNING_RATE = 0.1
TREES = (250, 500, 1000, 2000)
GRIDS: dict[str, list[dict[str, int]]] = {
    "catboost": [{"depth": 5}, {"depth": 7}],
    "lightgbm": [{"num_leaves": 15}, {"num_leaves": 61}],
    "xgboost": [{"max_depth": 3}, {"max_depth": 5}, {"max_depth": 7}],
}


class Trained(BaseEstimator):
    """Models that are trained already, handed out in place of a fit: one for each number of rows.

    Several methods read the same model; whoever fits a clone of this gets it without training.
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

    def predict(self, X: Any) -> np.ndarray:
        """Refused: predict with what ``fit`` returns."""
        raise RuntimeError("Trained is no model: predict with what its fit returns.")


class Choice(NamedTuple):
    """One point of a grid: its knobs with the number of trees, and its validation RMSE."""

    settings: dict[str, int]
    rmse: float
    model: Any


def make_model(library: str, n_trees: int, seed: int, settings: dict[str, int]) -> Any:
    """An unfitted regressor of a library, with one thread."""
    if library == "catboost":
        from catboost import CatBoostRegressor

        return CatBoostRegressor(
            iterations=n_trees, learning_rate=LEARNING_RATE, random_seed=seed, thread_count=1,
            verbose=False, allow_writing_files=False, **settings,
        )  # fmt: skip
    if library == "lightgbm":
        from lightgbm import LGBMRegressor

        return LGBMRegressor(
            n_estimators=n_trees, learning_rate=LEARNING_RATE, random_state=seed, n_jobs=1,
            verbose=-1, **settings,
        )  # fmt: skip
    from xgboost import XGBRegressor

    return XGBRegressor(
        n_estimators=n_trees, learning_rate=LEARNING_RATE, random_state=seed, n_jobs=1, **settings
    )


def predict_with(library: str, model: Any, X: np.ndarray, n_trees: int) -> np.ndarray:
    """Predictions of the first ``n_trees`` trees, (n_rows,)."""
    if library == "catboost":
        mean = model.predict(X, ntree_end=n_trees)
    elif library == "lightgbm":
        mean = model.predict(X, num_iteration=n_trees)
    else:
        mean = model.predict(X, iteration_range=(0, n_trees))
    return np.asarray(mean, dtype=np.float64)


def tune_model(library: str, parts: Rows, trees: tuple[int, ...] = TREES) -> Trained:
    """The best of a library's grid, trained on the fitting part and on all training rows."""
    began = time.process_time()
    best: Choice | None = None
    for settings in GRIDS[library]:
        model = make_model(library, trees[-1], parts.seed, settings).fit(parts.X_fit, parts.y_fit)
        for n_trees in trees:
            error = rmse(parts.y_val, predict_with(library, model, parts.X_val, n_trees))
            if best is None or error < best.rmse:
                best = Choice({**settings, "n_trees": n_trees}, error, model)
    assert best is not None
    return _train(library, parts, best, trees[-1], began)


def _train(library: str, parts: Rows, best: Choice, most: int, began: float) -> Trained:
    settings = dict(best.settings)
    n_trees = settings.pop("n_trees")
    first = best.model
    if n_trees < most:  # the leaves of later trees must not count
        first = make_model(library, n_trees, parts.seed, settings).fit(parts.X_fit, parts.y_fit)
    final = make_model(library, n_trees, parts.seed, settings).fit(parts.X_all, parts.y_all)
    models = {len(parts.y_fit): first, len(parts.y_all): final}
    return Trained(models, dict(best.settings), time.process_time() - began)


def retrain(library: str, parts: Rows, settings: dict[str, int]) -> Trained:
    """Both models anew with knobs that were chosen before."""
    return _train(library, parts, Choice(settings, np.nan, None), 10**9, time.process_time())
