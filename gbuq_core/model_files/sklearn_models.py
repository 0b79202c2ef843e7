"""scikit-learn's regression forests and boosting in parts that need no pickle, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.model_files.contents import plain, read_columns, require, take
from gbuq_core.model_files.sklearn_trees import (
    read_predictors,
    read_trees,
    store_predictors,
    store_trees,
)

KINDS = (
    "RandomForestRegressor", "ExtraTreesRegressor", "GradientBoostingRegressor",
    "HistGradientBoostingRegressor",
)  # fmt: skip


def class_of(kind: str) -> Any:
    """The class of that name in ``sklearn.ensemble``."""
    from sklearn import ensemble

    require(kind in KINDS, "its model is of an unknown kind")
    return getattr(ensemble, kind)


def describe_options(model: Any) -> dict[str, Any]:
    """Constructor arguments of another library's estimator, as JSON holds them."""
    return {key: plain(key, value) for key, value in model.get_params(deep=False).items()}


def read_options(kind: Any, described: Any) -> Any:
    """The unfitted estimator of these constructor arguments."""
    require(isinstance(described, Mapping), "the parameters of its model are odd")
    whole = [value for value in described.values() if isinstance(value, int)]
    require(all(abs(v) < 2**63 for v in whole), "a parameter of its model is out of range")
    return kind(**described)


def describe_sklearn(model: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a header holds of a fitted regression ensemble, and its arrays.

    Raises
    ------
    InvalidParameter
        If it is of another class, or has categories or a starting model of its own.
    """
    name = type(model).__name__
    if name not in KINDS or type(model) is not class_of(name):
        raise InvalidParameter(
            f"A {name} has no file format without pickle, so it cannot be saved: use CatBoost, "
            "LightGBM, XGBoost, gbuq's own or one of scikit-learn's regression forests and "
            "boosting."
        )
    if getattr(model, "init", None) not in (None, "zero"):
        raise InvalidParameter(
            f"The {name} starts from a model of its own, which cannot be saved: leave init at None."
        )
    if getattr(model, "_preprocessor", None) is not None:
        raise InvalidParameter(
            f"The {name} was trained on categories, which its file cannot hold: code them as "
            "numbers, or use CatBoost or LightGBM."
        )
    header = {
        "options": describe_options(model),
        "n_features": int(model.n_features_in_),
        "feature_names": list(getattr(model, "feature_names_in_", [])),
    }
    if name == "HistGradientBoostingRegressor":
        arrays = store_predictors([each for (each,) in model._predictors], "model")
        arrays["model_start"] = np.asarray(model._baseline_prediction, np.float64).reshape(1, 1)
        header["stopped_early"] = bool(model.do_early_stopping_)
        return header, arrays
    arrays = store_trees(list(np.ravel(model.estimators_)), "model")
    if name == "GradientBoostingRegressor" and model.init_ != "zero":
        arrays["model_start"] = np.asarray(model.init_.constant_, np.float64).reshape(1, 1)
    return header, arrays


def build_sklearn(kind: str, described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """The fitted ensemble that `describe_sklearn` has described.

    It is without what was noted in its training: scores, out-of-bag predictions.

    Raises
    ------
    ModelFileError
        If its trees are none, or do not fit its columns.
    """
    model = read_options(class_of(kind), described["options"])
    model._validate_params()
    read_columns(model, described)
    if kind == "HistGradientBoostingRegressor":
        _fill_histogram(model, described, arrays)
        return model
    n_features = model.n_features_in_
    trees = read_trees(arrays, n_features, prefix="model")
    if kind == "GradientBoostingRegressor":
        _fill_boosting(model, trees, arrays)
        return model
    model.estimators_ = _forest_trees(model, trees)
    model.estimator_, model.n_outputs_ = type(model.estimators_[0])(), 1
    return model


def _forest_trees(model: Any, trees: list[Any]) -> list[Any]:
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    extra = type(model).__name__ == "ExtraTreesRegressor"
    kind: Any = ExtraTreeRegressor if extra else DecisionTreeRegressor
    shared = {name: getattr(model, name) for name in model.estimator_params}
    return [_wrap(kind(**shared), tree, model.n_features_in_) for tree in trees]


def _wrap(estimator: Any, tree: Any, n_features: int) -> Any:
    estimator.tree_, estimator.n_outputs_ = tree, 1
    estimator.n_features_in_ = estimator.max_features_ = n_features
    return estimator


def wrap_regression_trees(trees: list[Any], n_features: int, **options: Any) -> list[Any]:
    """scikit-learn's ``DecisionTreeRegressor`` around each of `read_trees`."""
    from sklearn.tree import DecisionTreeRegressor

    return [_wrap(DecisionTreeRegressor(**options), tree, n_features) for tree in trees]


def _fill_boosting(model: Any, trees: list[Any], arrays: Mapping[str, np.ndarray]) -> None:
    from sklearn.dummy import DummyRegressor

    n_features = model.n_features_in_
    own = wrap_regression_trees(trees, n_features, max_depth=model.max_depth)
    model.estimators_ = np.array(own, dtype=object).reshape(-1, 1)
    model.n_estimators_, model.n_trees_per_iteration_ = len(own), 1
    model.max_features_ = n_features
    model._loss = model._get_loss(sample_weight=None)
    model.init_ = "zero"
    if model.init != "zero":
        start = take(arrays, "model_start", np.float64, (1, 1)).ravel()
        require(np.isfinite(start).all(), "its first prediction is not finite")
        model.init_ = DummyRegressor(strategy="constant", constant=start[0]).fit([[0.0]], start)
        model.init_.n_features_in_ = n_features


def _fill_histogram(
    model: Any, described: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    n_features = model.n_features_in_
    model._predictors = [[each] for each in read_predictors(arrays, n_features, "model")]
    model._baseline_prediction = take(arrays, "model_start", np.float64, (1, 1))
    require(np.isfinite(model._baseline_prediction).all(), "its first prediction is not finite")
    model.do_early_stopping_ = bool(described["stopped_early"])
    model.n_trees_per_iteration_, model._n_features = 1, n_features
    model.is_categorical_ = model._is_categorical_remapped = model._preprocessor = None
    model._loss = model._get_loss(sample_weight=None)
    mapper = _BinMapper()
    mapper.is_categorical_ = np.zeros(n_features, np.uint8)
    mapper.bin_thresholds_ = []  # of categories, none of which are here
    model._bin_mapper = mapper
