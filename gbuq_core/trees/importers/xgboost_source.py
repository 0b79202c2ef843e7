"""Leaves of XGBoost models (2 or later): by our replay where splits are numeric, else by XGBoost.

Of a file that splits by categories, by plain arrays. The package is optional: nothing but these
models needs it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.lazy import import_optional
from gbuq_core.trees.importers.objectives import find_objective
from gbuq_core.trees.importers.plain_source import PlainSource, rows_around
from gbuq_core.trees.importers.replaying import ReplayTable, make_table, replay_leaves
from gbuq_core.trees.importers.source import LeafSource, check_task, one_line, refuse_dart
from gbuq_core.trees.importers.xgboost_plain import plain_xgboost
from gbuq_core.trees.importers.xgboost_tree_file import XGBoostModel, read_xgboost

_SAME = 1e-5  # of the largest sum: XGBoost adds float32 numbers
_NO_PROBABILITIES = ("multi:softmax", "binary:logitraw")  # which predict classes, and sums


def import_xgboost() -> Any:
    """XGBoost 2 or later, or one sentence."""
    xgboost = import_optional("xgboost")
    if int(xgboost.__version__.split(".")[0]) < 2:
        raise InvalidParameter(f"XGBoost 2 or later is needed; got {xgboost.__version__}.")
    return xgboost


class XGBoostSource(LeafSource):
    """The trees of an ``xgboost.Booster``, up to the best round where an estimator found one."""

    kind = "xgboost"

    def __init__(
        self, booster: Any, model: Any, task: str, read: XGBoostModel, n_iterations: int
    ) -> None:
        _check_task(read, task)
        self.model, self.task = model, task
        self._booster = booster
        self.n_features = read.n_features
        self.feature_names = read.feature_names or None
        self.n_iterations, self.n_classes = n_iterations, max(2, read.n_classes)
        self._objective, self._is_dart = read.objective, read.is_dart
        self.is_tried = read.is_tried
        n_trees = len(read.leaf_counts) // read.n_iterations * n_iterations
        self.leaf_counts = read.leaf_counts[:n_trees]
        self._leaf_of_node = read.leaf_of_node
        self._missing = float(getattr(model, "missing", np.nan))
        self._table: ReplayTable | None = None
        if not read.has_categories and np.isnan(self._missing):
            self._table = make_table(read.trees)

    def check_rows(self, X: Any) -> Any:
        """As of every source; infinity, of which XGBoost knows nothing, is refused."""
        rows = super().check_rows(X)
        if not hasattr(rows, "iloc") and np.isinf(rows).any() and not np.isinf(self._missing):
            raise InvalidData("X contains infinity, which XGBoost does not take: replace it.")
        return rows

    def _leaves(self, rows: Any, first: int, last: int) -> Any:
        if self._table is not None and not hasattr(rows, "iloc"):
            singles = rows.astype(np.float32).astype(np.float64)
            return replay_leaves(self._table, singles, first, last)
        return self._library_leaves(rows, first, last)

    def _library_leaves(self, rows: Any, first: int, last: int) -> np.ndarray:
        """What XGBoost itself says, for data frames, for categories, and as an oracle."""
        nodes = self._ask(rows, pred_leaf=True).reshape(len(rows), -1).astype(np.int64)
        leaves = np.empty((len(rows), last - first), np.int32)
        for tree in range(first, last):
            leaves[:, tree - first] = self._leaf_of_node[tree][nodes[:, tree]]
        return leaves

    def _predict(self, rows: Any) -> Any:
        if self._objective not in _NO_PROBABILITIES:
            return self._ask(rows)
        return _chances(self._ask(rows, output_margin=True).astype(np.float64))

    def refuse_stages(self) -> None:
        """Refuse DART, which changes the trees that it has."""
        if self._is_dart:
            raise refuse_dart()

    def _staged(self, rows: Any, iterations: np.ndarray) -> np.ndarray:
        is_class = self.task == "classification"
        raw = np.stack(
            [self._ask(rows, last, output_margin=is_class) for last in iterations.tolist()]
        ).astype(np.float64)
        return _chances(raw, is_staged=True) if is_class else raw

    def _ask(self, rows: Any, last: int | None = None, **options: Any) -> np.ndarray:
        xgboost = import_xgboost()
        rounds = (0, self.n_iterations if last is None else last)
        try:
            data = xgboost.DMatrix(
                rows,
                missing=self._missing,
                feature_types=None if hasattr(rows, "iloc") else self._booster.feature_types,
                enable_categorical=True,
            )
            return self._booster.predict(
                data, iteration_range=rounds, validate_features=False, **options
            )
        except (xgboost.core.XGBoostError, ValueError, TypeError) as error:
            raise InvalidData(f"XGBoost does not take these rows ({one_line(error)}).") from error


def _chances(margins: np.ndarray, is_staged: bool = False) -> np.ndarray:
    """Probabilities of sums: of the second of two classes, or of all classes on the last axis."""
    return expit(margins) if margins.ndim == 1 + is_staged else softmax(margins, axis=-1)


def from_xgboost(model: Any, task: str) -> XGBoostSource:
    """The source of a fitted XGBoost estimator or booster."""
    import_xgboost()
    from sklearn.exceptions import NotFittedError

    booster, best = model, None
    if hasattr(model, "get_booster"):
        try:
            booster = model.get_booster()
        except NotFittedError:
            raise InvalidParameter("The XGBoost model is not fitted: call fit first.") from None
        with suppress(AttributeError):  # trained without early stopping
            best = int(model.best_iteration) + 1
    if not hasattr(booster, "save_raw"):
        raise InvalidParameter(f"A {type(model).__name__} of XGBoost is no model with trees.")
    read = read_xgboost(bytes(booster.save_raw("ubj")))
    if not read.is_tried:
        check_untried(read, booster)
    return XGBoostSource(
        booster, model, task, read, min(best or read.n_iterations, read.n_iterations)
    )


def from_xgboost_file(content: bytes, task: str) -> LeafSource:
    """The source of a JSON or UBJ file, checked before XGBoost reads it, up to its best round."""
    read = read_xgboost(content)
    _check_task(read, task)
    if not read.is_tried:
        raise ModelFileError(
            f"The file was written by {_name(read)}, which was not tried: pass the fitted model "
            "itself, or the file to gbuq_core.given_models.read_model, which compares predictions."
        )
    if read.has_categories:
        return PlainSource(plain_xgboost(read))
    xgboost = import_xgboost()
    try:
        booster = xgboost.Booster(model_file=bytearray(json.dumps(read.clean).encode()))
    except (xgboost.core.XGBoostError, ValueError, TypeError) as error:
        raise ModelFileError(f"XGBoost cannot read the model file ({one_line(error)}).") from error
    return XGBoostSource(booster, booster, task, read, read.n_best)


def check_untried(read: XGBoostModel, booster: Any) -> None:
    """Refuse a model of a version that was not tried if XGBoost itself predicts something else.

    A newer version may write what nobody here looks for, such as another place for weights of
    trees. The rows are on both sides of the splits.
    """
    plain = plain_xgboost(read)
    rows = rows_around(plain)
    own = PlainSource(plain).predict_raw(rows)[0]
    theirs = booster.predict(
        import_xgboost().DMatrix(rows),
        output_margin=True,
        iteration_range=(0, read.n_best),
        validate_features=False,
    ).reshape(own.shape)
    if not np.allclose(own, theirs, rtol=0.0, atol=_SAME * max(1.0, float(np.abs(theirs).max()))):
        raise ModelFileError(
            f"The model was written by {_name(read)}, which was not tried, and its trees are read "
            "wrong: XGBoost itself predicts something else. Train it by an earlier version."
        )


def _name(read: XGBoostModel) -> str:
    return f"XGBoost {'.'.join(map(str, read.version))}"


def _check_task(read: XGBoostModel, task: str) -> None:
    check_task(task, find_objective("xgboost", read.objective, read.n_outputs).tasks)
