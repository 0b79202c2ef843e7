"""Leaves of LightGBM models: by our own replay where all splits are numeric, else by LightGBM."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.lazy import import_optional
from gbuq_core.trees.importers.lightgbm_calls import predict_booster
from gbuq_core.trees.importers.lightgbm_text import (
    LightGBMText,
    decode_lightgbm,
    read_lightgbm_text,
)
from gbuq_core.trees.importers.objectives import find_objective
from gbuq_core.trees.importers.plain_source import numbers_of
from gbuq_core.trees.importers.replaying import (
    ReplayTable,
    check_structure,
    flush_tiny,
    make_table,
    replay_leaves,
)
from gbuq_core.trees.importers.source import LeafSource, check_task, one_line, refuse_dart


class LightGBMSource(LeafSource):
    """The trees of a ``lightgbm.Booster``, up to the best iteration where training found one."""

    kind = "lightgbm"

    def __init__(self, booster: Any, model: Any, task: str, text: LightGBMText) -> None:
        _check_task(text, task)
        self.model, self.task = model, task
        self._booster = booster
        self.trees, self.has_categories = text.trees, text.has_categories
        self.n_features = text.n_features
        made_up = tuple(f"Column_{i}" for i in range(text.n_features))
        self.feature_names = None if text.feature_names == made_up else text.feature_names
        self._per_iteration = text.n_per_iteration
        self.n_classes = max(2, text.n_per_iteration)
        best = booster.best_iteration
        n_iterations = len(text.leaf_counts) // self._per_iteration
        self.n_iterations = min(best, n_iterations) if best and best > 0 else n_iterations
        self.leaf_counts = text.leaf_counts[: self.n_iterations * self._per_iteration]
        self._table: ReplayTable | None = None
        if text.has_categories:
            check_structure(text.trees)
        else:
            self._table = make_table(text.trees)

    @property
    def averages(self) -> bool:
        """Whether its trees are averaged, as a random forest's, or added up."""
        head = self._booster.model_to_string(num_iteration=1).partition("\n\n")[0]
        return "average_output" in head.split("\n")

    def refuse_stages(self) -> None:
        """Refuse LightGBM's random forests, and DART, which changes the trees that it has."""
        if self.averages:
            super().refuse_stages()
        if "\n[boosting: dart]" in self._booster.model_to_string(num_iteration=1):
            raise refuse_dart()

    def _staged(self, rows: Any, iterations: np.ndarray) -> np.ndarray:
        return np.stack([self._ask(rows, num_iteration=last) for last in iterations.tolist()])

    def _leaves(self, rows: Any, first: int, last: int) -> Any:
        if self._table is not None and not _has_categories(rows):
            return replay_leaves(self._table, flush_tiny(_as_floats(rows)), first, last)
        return self._library_leaves(rows, first, last)

    def _library_leaves(self, rows: Any, first: int, last: int) -> np.ndarray:
        """What LightGBM itself says, for categories and as an oracle."""
        size = self._per_iteration
        begin, end = first // size, -(-last // size)
        leaves = self._ask(rows, start_iteration=begin, num_iteration=end - begin, pred_leaf=True)
        return leaves.reshape(len(rows), -1)[:, first - begin * size : last - begin * size]

    def _predict(self, rows: Any) -> Any:
        return self._ask(rows, num_iteration=self.n_iterations)

    def _ask(self, rows: Any, **options: Any) -> Any:
        lightgbm = import_optional("lightgbm")
        try:
            return predict_booster(self._booster, rows, **options)
        except (lightgbm.basic.LightGBMError, ValueError, TypeError) as error:
            raise InvalidData(f"LightGBM does not take these rows ({one_line(error)}).") from error


def from_lightgbm(model: Any, task: str) -> LightGBMSource:
    """The source of a fitted LightGBM estimator or booster."""
    booster = model
    if not hasattr(model, "model_to_string"):
        if not getattr(model, "fitted_", False):
            raise InvalidParameter("The LightGBM model is not fitted: call fit first.")
        booster = model.booster_
    text = read_lightgbm_text(booster.model_to_string(num_iteration=-1), from_file=False)
    return LightGBMSource(booster, model, task, text)


def from_lightgbm_text(content: bytes, task: str) -> LightGBMSource:
    """The source of a model file, checked before LightGBM reads it."""
    text = decode_lightgbm(content)
    checked = read_lightgbm_text(text)
    check_structure(checked.trees)
    _check_task(checked, task)
    lightgbm = import_optional("lightgbm")
    try:
        booster = lightgbm.Booster(model_str=checked.clean)
    except (lightgbm.basic.LightGBMError, ValueError, TypeError, KeyError) as error:
        raise ModelFileError(f"LightGBM cannot read the model file ({one_line(error)}).") from error
    if booster.num_trees() != len(checked.leaf_counts):
        raise ModelFileError("The LightGBM model file is damaged (trees are lost): save it again.")
    return LightGBMSource(booster, booster, task, checked)


def _check_task(text: LightGBMText, task: str) -> None:
    check_task(task, find_objective("lightgbm", text.objective, text.n_per_iteration).tasks)


def _has_categories(rows: Any) -> bool:
    """Whether a frame has category columns: LightGBM knows their codes, even where no tree asks."""
    return hasattr(rows, "iloc") and any(str(dtype) == "category" for dtype in rows.dtypes)


def _as_floats(rows: Any) -> np.ndarray:
    """Rows as LightGBM reads them: integers become float32 first."""
    if hasattr(rows, "iloc"):
        return numbers_of(rows)
    floats = rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float32)
    return floats.astype(np.float64, copy=False)
