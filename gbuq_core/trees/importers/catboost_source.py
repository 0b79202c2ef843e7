"""Leaves of CatBoost models, by ``calc_leaf_indexes``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError, UnknownLoss
from gbuq_core.lazy import import_optional
from gbuq_core.limited_process import ProcessLimits, ask_process
from gbuq_core.trees.importers.catboost_json import shrink_factors
from gbuq_core.trees.importers.objectives import apply_link, find_objective
from gbuq_core.trees.importers.source import LeafSource, check_task, one_line, refuse_sum

_TRIAL = Path(__file__).with_name("catboost_trial.py")
_TRIAL_SECONDS, _MEMORY_A_BYTE = 60, 8


class CatBoostSource(LeafSource):
    """The trees of a fitted ``catboost.CatBoost`` model."""

    kind = "catboost"

    def __init__(self, model: Any, task: str) -> None:
        self.model, self.task = model, task
        self.leaf_counts = np.asarray(model.get_tree_leaf_counts(), np.int64)
        self.n_iterations = len(self.leaf_counts)
        if len(self.leaf_counts) == 0:
            raise InvalidParameter("The CatBoost model has no trees: fit at least one.")
        n_outputs = len(model.get_leaf_values()) // int(self.leaf_counts.sum())
        self._loss = _loss(model)
        tasks, self._link = find_objective("catboost", self._loss, n_outputs)
        check_task(task, tasks)
        names = tuple(map(str, model.feature_names_))
        self.n_features = len(names)
        made_up = tuple(str(i) for i in range(len(names)))
        self.feature_names = None if names == made_up else names

    def _as_array(self, X: Any) -> np.ndarray:
        array = np.asarray(X)
        return array if array.dtype.kind in "fiub" else np.asarray(X, dtype=object)

    def _leaves(self, rows: Any, first: int, last: int) -> Any:
        return self._ask("calc_leaf_indexes", rows, ntree_start=first, ntree_end=last)

    def _predict(self, rows: Any) -> Any:
        if self.task == "classification":
            return self._ask("predict", rows, prediction_type="Probability")
        values = self._ask("predict", rows, prediction_type="RawFormulaVal")
        outputs = apply_link(self._link, values)
        return outputs[:, 0] if self._link == "gaussian" else outputs  # the second is the variance

    def refuse_stages(self) -> None:
        """Refuse classes that are not one choice, and a sum of models."""
        if "params" not in self.model.get_metadata():
            raise refuse_sum()
        if self._link == "sigmoids":
            raise InvalidParameter(
                f"The probabilities of CatBoost's {self._loss} do not sum to one over the classes: "
                "train with MultiClass."
            )

    def _staged(self, rows: Any, iterations: np.ndarray) -> np.ndarray:
        """Partial sums of trees, each divided by the shrinkage that came later (eq. 15)."""
        # What came after the last tree of a stage: the product of no factors is 1.
        factors = np.append(shrink_factors(_parameters(self.model), self.n_iterations), 1.0)
        later, total, first, stages = np.cumprod(factors[::-1])[::-1], 0.0, 0, []
        pool = self._pool(rows)
        for last in iterations.tolist():
            total = total + self._ask(
                "predict", pool, prediction_type="RawFormulaVal", ntree_start=first, ntree_end=last
            )
            first = last
            stages.append(total / later[last])
        return apply_link(self._link, np.stack(stages))

    def _ask(self, what: str, rows: Any, **options: Any) -> Any:
        return np.asarray(_answer(getattr(self.model, what), rows, **options))

    def _pool(self, rows: Any) -> Any:
        """Rows as CatBoost keeps them. To make them so takes longer than some trees do."""
        model = self.model
        return _answer(
            import_optional("catboost").Pool,
            rows,
            cat_features=model.get_cat_feature_indices(),
            text_features=model.get_text_feature_indices(),
            embedding_features=model.get_embedding_feature_indices(),
        )


def from_catboost(model: Any, task: str) -> CatBoostSource:
    """The source of a fitted CatBoost estimator."""
    if not hasattr(model, "calc_leaf_indexes"):
        raise InvalidParameter(f"A {type(model).__name__} of CatBoost is no model with trees.")
    if not model.is_fitted():
        raise InvalidParameter("The CatBoost model is not fitted: call fit first.")
    return CatBoostSource(model, task)


def from_catboost_file(content: bytes, task: str) -> CatBoostSource:
    """The source of a cbm file."""
    if content[:4] != b"CBM1":
        raise ModelFileError(
            "This is no CatBoost model file: pass a cbm file that save_model has written."
        )
    size = int.from_bytes(content[4:8], "little")
    if not 16 <= size <= len(content) - 8:
        raise ModelFileError("The CatBoost model file is cut off: save the model again.")
    catboost = import_optional("catboost")
    _try_in_a_process(content)
    model = catboost.CatBoost()
    try:
        model.load_model(blob=content)
        return CatBoostSource(model, task)
    except (InvalidParameter, UnknownLoss):
        raise
    except (
        catboost.CatBoostError,
        ArithmeticError,
        LookupError,
        MemoryError,
        TypeError,
        ValueError,
    ) as error:
        raise ModelFileError(
            f"CatBoost cannot read the model file ({_reason(error)}): save the model again."
        ) from error


def _try_in_a_process(content: bytes) -> None:
    """Read the model in a process of its own first: a cbm file may point nowhere, which ends it."""
    memory = 2 * 2**30 + _MEMORY_A_BYTE * len(content)
    limits = ProcessLimits(memory, cpu_seconds=_TRIAL_SECONDS, seconds=2.0 * _TRIAL_SECONDS)
    code, _ = ask_process(_TRIAL, {}, content, limits)
    if code != 0:
        raise ModelFileError(
            "CatBoost cannot read the model file (its process ended): save the model again."
        )


def _answer(ask: Any, rows: Any, **options: Any) -> Any:
    """What CatBoost answers, or one sentence if it does not take the rows."""
    catboost = import_optional("catboost")
    try:
        return ask(rows, **options)
    except (catboost.CatBoostError, ValueError, TypeError) as error:
        raise InvalidData(f"CatBoost does not take these rows ({_reason(error)}).") from error


def _loss(model: Any) -> str:
    """The name of the loss, without its parameters."""
    known = _parameters(model).get("loss_function", "")
    summed = model.get_metadata().get("loss_function")  # what `sum_models` keeps
    if not known and summed:
        known = json.loads(summed)["type"]
    if not known:
        raise UnknownLoss(
            "The CatBoost model does not say by which loss it was trained, as what sum_models "
            "makes of models with different ones: save it, and pass gbuq_core.read_model(path, "
            'loss="RMSE").source with its loss.'
        )
    return str(known).split(":")[0]


def _parameters(model: Any) -> dict[str, Any]:
    """What the model was trained by; where CatBoost does not tell, what it was asked for."""
    catboost = import_optional("catboost")
    try:
        return dict(model.get_all_params())
    except (catboost.CatBoostError, ValueError):
        return dict(model.get_params())


def _reason(error: BaseException) -> str:
    """CatBoost's message without the place in its sources."""
    return re.sub(r"^\S+:\d+:\s*", "", one_line(error))
