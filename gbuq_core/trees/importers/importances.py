"""Which columns a model of any library says it relies on."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.trees.importers.source import LeafSource


def source_importances(source: LeafSource) -> np.ndarray:
    """The model's own importances (n_features,), divided by their sum.

    Gains of LightGBM and XGBoost; what scikit-learn, CatBoost and this project call
    ``feature_importances_``. All are 0 where no tree splits.

    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from gbuq_core.trees.importers import leaf_source
    >>> X, y = np.array([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]]), [0.0, 1.0, 4.0]
    >>> source_importances(leaf_source(RandomForestRegressor(10).fit(X, y)))
    array([1., 0.])
    """
    if source.importances is not None:
        return source.importances.copy()
    gains = np.asarray(_ask(source), np.float64)
    total = gains.sum()
    return gains / total if total > 0.0 else gains


def _ask(source: LeafSource) -> Any:
    model: Any = source.model
    if source.kind == "lightgbm":
        booster = getattr(model, "booster_", model)
        gains = booster.feature_importance("gain")
        # A model that was read from a file has its splits, but no gains.
        return gains if gains.any() else booster.feature_importance("split")
    if source.kind == "xgboost" and not hasattr(model, "get_booster"):
        gains = model.get_score(importance_type="total_gain")
        names = model.feature_names or [f"f{i}" for i in range(source.n_features)]
        return [gains.get(name, 0.0) for name in names]
    if source.kind == "catboost":
        return model.get_feature_importance(type="PredictionValuesChange")
    if not hasattr(model, "feature_importances_"):
        raise AttributeError(
            f"A {type(model).__name__} tells no feature importances: use permutation_importance "
            "of scikit-learn."
        )
    return model.feature_importances_
