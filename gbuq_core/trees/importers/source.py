"""What all sources of leaves have in common: checks of rows and of what a library returns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.progress import advance
from gbuq_core.resources import check_memory

TASKS = ("regression", "classification")
_CHUNK_CELLS = 4_000_000  # leaf numbers that a library returns at a time: 32 MB as float64


class LeafSource:
    """A fitted tree model as IBUG sees it: a leaf in each tree for every row, and a prediction.

    Not for use by itself: `leaf_source` and `load_leaf_source` make one for a model.
    """

    kind: str  # the library: "lightgbm", "xgboost", "catboost", "sklearn" or "gbuq"
    model: Any  # that was given, or that a file was read into
    task: str  # "regression" or "classification"
    n_features: int
    feature_names: tuple[str, ...] | None  # None where the model has made its names up
    leaf_counts: np.ndarray  # (n_trees,) int64: leaves of each tree, with or without training rows
    n_iterations: int  # boosting rounds that predictions use, one tree or one tree a class each
    n_classes: int  # of classifiers only, and only where `model` has no `classes_`
    # (n_features,): what the model said of itself before it was saved, where its file lacks that
    importances: np.ndarray | None = None

    @property
    def n_trees(self) -> int:
        """Number of trees, those of all classes for a classification."""
        return len(self.leaf_counts)

    def leaf_matrix(self, X: Any, trees: slice | None = None) -> np.ndarray:
        """Leaf numbers of rows X (n, n_features) in each tree, (n, n_trees) int32."""
        rows = self.check_rows(X)
        first, last = self._tree_range(trees)
        check_memory(12 * len(rows) * (last - first), "these leaf numbers")
        parts = list(self._chunks(rows, first, last))
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def leaf_chunks(self, X: Any) -> Iterator[np.ndarray]:
        """The same as `leaf_matrix` in chunks of rows, for as many rows as there are."""
        return self._chunks(self.check_rows(X), 0, self.n_trees)

    def predict(self, X: Any) -> np.ndarray:
        """The model's own predictions, (n,) float64, in units of y."""
        if self.task != "regression":
            raise InvalidParameter("A classifier predicts classes: use predict_proba.")
        values = np.asarray(self._predict(self.check_rows(X)), np.float64)
        if values.ndim != 1 or not np.isfinite(values).all():
            raise InvalidData("The model's predictions are not one finite number a row.")
        return values

    def predict_proba(self, X: Any) -> np.ndarray:
        """The model's own probabilities, (n, n_classes) float64."""
        if self.task != "classification":
            raise InvalidParameter("A regressor has no probabilities: use predict.")
        values = np.asarray(self._predict(self.check_rows(X)), np.float64)
        if values.ndim == 1:  # libraries give the second of two classes
            values = np.column_stack([1.0 - values, values])
        return values

    def staged(self, X: Any, iterations: np.ndarray) -> np.ndarray:
        """Predictions of the model as it was after so many boosting rounds."""
        self.refuse_stages()
        rows = self.check_rows(X)
        check_memory(8 * 3 * len(rows) * len(iterations), "these predictions")
        stages: np.ndarray = np.asarray(self._staged(rows, iterations), np.float64)
        if stages.ndim == 2:
            second = stages[:, :, None]  # of two classes, libraries give the second
            is_class = self.task == "classification"
            stages = np.concatenate([1.0 - second, second], axis=2) if is_class else second
        if not np.isfinite(stages).all():
            raise InvalidData("The model's predictions are not finite numbers.")
        return stages

    def refuse_stages(self) -> None:
        """Refuse a model that has no earlier states: a forest, or one that changes old trees."""
        raise InvalidParameter(
            f"A {type(self.model).__name__} has no earlier states to look at: pass a boosted model "
            "of CatBoost, LightGBM, XGBoost or scikit-learn."
        )

    def check_rows(self, X: Any) -> Any:
        """Return X as a DataFrame (as it came) or a 2-D array, with the model's columns."""
        rows = X if hasattr(X, "columns") and hasattr(X, "iloc") else self._as_array(X)
        if rows.ndim != 2 or len(rows) == 0:
            raise InvalidData(
                f"X must be a table of at least one row; got an array of shape {rows.shape}."
            )
        if rows.shape[1] != self.n_features:
            raise InvalidData(
                f"X has {rows.shape[1]} features, but the model was trained on {self.n_features}: "
                "pass the same columns."
            )
        names = self.feature_names
        if names is not None and hasattr(rows, "columns"):
            columns = [str(name) for name in rows.columns]
            same = [plain_name(a) == plain_name(b) for a, b in zip(columns, names, strict=True)]
            if not all(same):
                odd = columns[same.index(False)]
                raise InvalidData(
                    f"X has a column {odd!r} where the model was trained on another: pass the same "
                    "columns in the same order."
                )
        return rows

    def _as_array(self, X: Any) -> np.ndarray:
        try:
            array = np.asarray(X)
            if array.dtype.kind not in "fiub":
                array = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            dense = ": pass X.toarray()" if hasattr(X, "toarray") else ""
            raise InvalidData(f"X must hold numbers, one row a list{dense}.") from None
        return array

    def _tree_range(self, trees: slice | None) -> tuple[int, int]:
        first, last, step = (trees or slice(None)).indices(self.n_trees)
        if step != 1 or last <= first:
            raise InvalidParameter(
                f"trees must be a slice of consecutive trees out of {self.n_trees}; got {trees}."
            )
        return first, last

    def _chunks(self, rows: Any, first: int, last: int) -> Iterator[np.ndarray]:
        size = max(1, _CHUNK_CELLS // (last - first))
        for low in range(0, len(rows), size):
            advance(0.0)  # does anybody still want it?
            part = rows.iloc[low : low + size] if hasattr(rows, "iloc") else rows[low : low + size]
            yield self._check_leaves(self._leaves(part, first, last), len(part), first, last)

    def _check_leaves(self, leaves: Any, n_rows: int, first: int, last: int) -> np.ndarray:
        """What a library returned, as int32 if it can be true."""
        matrix = np.asarray(leaves)
        matrix = matrix.reshape(n_rows, -1) if matrix.size == n_rows * (last - first) else matrix
        if matrix.shape != (n_rows, last - first):
            raise InvalidData(
                f"{self.kind} gave leaves of shape {matrix.shape} for {n_rows} rows and "
                f"{last - first} trees: the model is not what it says."
            )
        matrix = matrix.astype(np.int32, copy=False)
        if matrix.min() < 0 or (matrix.max(axis=0) >= self.leaf_counts[first:last]).any():
            raise InvalidData(f"{self.kind} gave a leaf number that is beyond the tree's leaves.")
        return matrix

    def _leaves(self, rows: Any, first: int, last: int) -> Any:
        """Leaf numbers of rows in trees ``first:last``, (n, last - first)."""
        raise NotImplementedError

    def _predict(self, rows: Any) -> Any:
        """Predictions (n,), or probabilities (n, n_classes) of a classifier."""
        raise NotImplementedError

    def _staged(self, rows: Any, iterations: np.ndarray) -> Any:
        """Predictions of the first trees, (n_stages, n) or (n_stages, n, width)."""
        raise NotImplementedError


def plain_name(name: str) -> str:
    """A column's name in the form in which a model and a table may agree on it.

    Libraries put underscores for spaces, and a table's header is read without double ones.

    >>> plain_name("floor  area") == plain_name("floor__area") == plain_name("floor area ")
    True
    """
    return re.sub(r"[\s_]+", "_", name.strip())


def refuse(what: str, task: str) -> InvalidParameter:
    """The error for a model that is not one of the task."""
    need = "a regression model with one output" if task == "regression" else "a classifier"
    return InvalidParameter(f"The model {what}, but {need} is needed: fit such a one.")


def check_task(task: str, tasks: tuple[str, ...]) -> None:
    """Refuse a model of the other task."""
    if task not in tasks:
        classifies = task == "regression"
        raise refuse("is a classifier" if classifies else "is no classifier", task)


def refuse_dart() -> InvalidParameter:
    """The error for a model whose later rounds have changed its earlier trees."""
    return InvalidParameter(
        "The model was trained by DART, which changes earlier trees, so its earlier states are "
        "lost: train with ordinary boosting (gbdt or gbtree)."
    )


def refuse_sum() -> InvalidParameter:
    """The error for trees of which nobody knows whether one training made them."""
    return InvalidParameter(
        "The model tells nothing of one training, as what CatBoost's sum_models makes, so its "
        "trees may belong to several models, and truncations would cut between them: pass one of "
        "these models."
    )


def damaged_model(library: str, why: str) -> ModelFileError:
    """The error for a file of this library with something wrong in it."""
    return ModelFileError(f"The {library} model file is damaged ({why}): save the model again.")


def require_sound(library: str, condition: Any, why: str) -> None:
    """Refuse a file of this library unless the condition holds."""
    if not condition:
        raise damaged_model(library, why)


def one_line(error: BaseException, limit: int = 200) -> str:
    """The first line of a library's message, without its final point.

    >>> one_line(ValueError("It is broken."))
    'It is broken'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else type(error).__name__
    return text[:limit].rstrip(". ")
