"""Leaves of scikit-learn's boosted trees and forests.

HistGradientBoosting has no ``apply``. Its predictors are walked by scikit-learn's own code on a
copy of their nodes whose values are leaf numbers, so that categories and missing values go where
they go in predictions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.trees.importers.source import LeafSource, check_task, one_line, refuse


class _SklearnSource(LeafSource):
    """What both have in common: columns and predictions."""

    kind = "sklearn"

    def __init__(self, model: Any, task: str) -> None:
        self.model, self.task = model, task
        self.n_features = int(model.n_features_in_)
        names = getattr(model, "feature_names_in_", None)
        self.feature_names = None if names is None else tuple(map(str, names))

    def _predict(self, rows: Any) -> Any:
        model = self.model
        ask = model.predict if self.task == "regression" else model.predict_proba
        try:
            return ask(rows)
        except (ValueError, TypeError) as error:
            raise _refused(error) from error

    def _staged(self, rows: Any, iterations: np.ndarray) -> np.ndarray:
        model, wanted = self.model, set(iterations.tolist())
        ask = model.staged_predict if self.task == "regression" else model.staged_predict_proba
        try:
            # Copies: scikit-learn goes on adding to the same array.
            return np.stack([np.array(s) for t, s in enumerate(ask(rows), start=1) if t in wanted])
        except (ValueError, TypeError) as error:
            raise _refused(error) from error


class ForestSource(_SklearnSource):
    """GradientBoosting, RandomForest and ExtraTrees: ``apply`` gives nodes."""

    def __init__(self, model: Any, task: str) -> None:
        super().__init__(model, task)
        self.trees = [tree.tree_ for tree in np.ravel(model.estimators_)]
        # Place of each node among its tree's leaves.
        self._leaf_of_node = [
            np.cumsum(tree.children_left < 0).astype(np.int32) - 1 for tree in self.trees
        ]
        self.leaf_counts = np.array([tree.n_leaves for tree in self.trees], np.int64)
        self.n_iterations = len(model.estimators_)

    def check_rows(self, X: Any) -> Any:
        """As of every source; ``apply`` lets missing values pass that ``predict`` refuses."""
        from sklearn.utils import get_tags

        rows = super().check_rows(X)
        if not get_tags(self.model).input_tags.allow_nan and _has_gaps(rows):
            raise InvalidData(
                f"X contains NaN, which {type(self.model).__name__} does not take: fill the gaps."
            )
        return rows

    def _leaves(self, rows: Any, first: int, last: int) -> Any:
        from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

        if isinstance(self.model, GradientBoostingClassifier | GradientBoostingRegressor):
            rows = np.asarray(rows)  # its trees, which it asks, know no names and warn of them
        try:
            nodes = np.asarray(self.model.apply(rows)).reshape(len(rows), -1)
        except (ValueError, TypeError) as error:
            raise _refused(error) from error
        leaves = np.empty((len(rows), last - first), np.int32)
        for tree in range(first, last):
            leaves[:, tree - first] = self._leaf_of_node[tree][nodes[:, tree].astype(np.int64)]
        return leaves

    def refuse_stages(self) -> None:
        """Refuse forests, whose trees do not follow each other."""
        if not hasattr(self.model, "staged_predict"):
            super().refuse_stages()


class HistogramSource(_SklearnSource):
    """HistGradientBoosting, through its predictors' nodes."""

    def __init__(self, model: Any, task: str) -> None:
        super().__init__(model, task)
        try:
            predictors = [p for iteration in model._predictors for p in iteration]
            self._mapper, self._preprocess = model._bin_mapper, model._preprocess_X
            self._walkers = [_number_leaves(predictor) for predictor in predictors]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidParameter(
                "This version of scikit-learn keeps the nodes of HistGradientBoosting in another "
                "way than 1.9, which this code knows: install that one."
            ) from error
        self.leaf_counts = np.array([walker.get_n_leaf_nodes() for walker in self._walkers])
        self.n_iterations = int(model.n_iter_)

    def _leaves(self, rows: Any, first: int, last: int) -> Any:
        from gbuq_core.resources import usable_cores

        try:
            matrix = self._preprocess(rows, reset=False)
        except (ValueError, TypeError) as error:
            raise _refused(error) from error
        known, feature_map = self._mapper.make_known_categories_bitsets()
        leaves = np.empty((len(rows), last - first), np.int32)
        for tree in range(first, last):
            # Whole numbers far below 2**53: exact in the float64 of values.
            leaves[:, tree - first] = self._walkers[tree].predict(
                matrix, known, feature_map, usable_cores()
            )
        return leaves

    def refuse_stages(self) -> None:
        """Every model of this kind has its earlier states."""


def from_sklearn(model: Any, task: str) -> LeafSource:
    """The source of a fitted scikit-learn ensemble of trees."""
    from sklearn import ensemble
    from sklearn.base import is_classifier
    from sklearn.utils.validation import NotFittedError, check_is_fitted

    histogram = (ensemble.HistGradientBoostingRegressor, ensemble.HistGradientBoostingClassifier)
    forests = (
        ensemble.GradientBoostingRegressor,
        ensemble.GradientBoostingClassifier,
        ensemble.RandomForestRegressor,
        ensemble.RandomForestClassifier,
        ensemble.ExtraTreesRegressor,
        ensemble.ExtraTreesClassifier,
    )
    if not isinstance(model, histogram + forests):
        inner = {
            "Pipeline": "its last step, and rows that the steps before it have transformed",
            "TransformedTargetRegressor": "its regressor_, whose target is the transformed one",
        }.get(type(model).__name__, "a fitted model of CatBoost, LightGBM, XGBoost, scikit-learn's "
              "boosting or forests, or gbuq")  # fmt: skip
        raise InvalidParameter(
            f"A {type(model).__name__} is no tree model that this code knows: pass {inner}."
        )
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise InvalidParameter(
            f"The {type(model).__name__} is not fitted: call fit first."
        ) from None
    check_task(task, ("classification" if is_classifier(model) else "regression",))
    if getattr(model, "n_outputs_", 1) > 1:
        raise refuse(f"has {model.n_outputs_} outputs", task)
    return (HistogramSource if isinstance(model, histogram) else ForestSource)(model, task)


def _number_leaves(predictor: Any) -> Any:
    """A predictor whose leaf values are the leaves' places among the tree's leaves."""
    nodes = predictor.nodes.copy()
    is_leaf = nodes["is_leaf"].astype(bool)
    nodes["value"][is_leaf] = np.arange(is_leaf.sum())
    return type(predictor)(nodes, predictor.binned_left_cat_bitsets, predictor.raw_left_cat_bitsets)


def _has_gaps(rows: Any) -> bool:
    if hasattr(rows, "isna"):
        return bool(rows.isna().to_numpy().any())
    return rows.dtype.kind == "f" and bool(np.isnan(rows).any())


def _refused(error: BaseException) -> InvalidData:
    return InvalidData(f"scikit-learn does not take these rows ({one_line(error)}).")
