"""Which library a model or a model file belongs to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.frozen import FrozenEstimator

from gbuq_core.errors import InvalidParameter, ModelFileError
from gbuq_core.file_bytes import FileKind, read_limited
from gbuq_core.trees.importers.source import TASKS, LeafSource
from gbuq_core.validation import check_choice

FILE_KINDS = ("lightgbm", "xgboost", "catboost")
_MOST_BYTES = 2 << 30


def leaf_source(model: Any, task: str = "regression") -> LeafSource:
    """The leaves and predictions of a fitted model, whatever library it comes from."""
    check_choice("task", task, TASKS)
    if isinstance(model, str | bytes | Path):
        raise InvalidParameter(
            "A model file has to be read first: pass what "
            "gbuq_core.trees.importers.load_leaf_source makes of its path or its bytes."
        )
    if isinstance(model, FrozenEstimator):
        return leaf_source(model.estimator, task)
    if isinstance(model, LeafSource):
        if model.task != task:
            raise InvalidParameter(f"The leaf source is for {model.task}, not for {task}.")
        return model
    package = next(
        (
            name
            for name in (base.__module__.split(".")[0] for base in type(model).__mro__)
            if name in ("lightgbm", "xgboost", "catboost", "gbuq_core")
        ),
        type(model).__module__.split(".")[0],
    )
    if package == "lightgbm":
        from gbuq_core.trees.importers.lightgbm_source import from_lightgbm

        return from_lightgbm(model, task)
    if package == "xgboost":
        from gbuq_core.trees.importers.xgboost_source import from_xgboost

        return from_xgboost(model, task)
    if package == "catboost":
        from gbuq_core.trees.importers.catboost_source import from_catboost

        return from_catboost(model, task)
    if package == "gbuq_core" and hasattr(model, "leaf_indices"):
        from gbuq_core.trees.importers.own_source import from_own

        return from_own(model, task)
    from gbuq_core.trees.importers.sklearn_source import from_sklearn

    return from_sklearn(model, task)


def load_leaf_source(source: Any, kind: str | None = None, task: str = "regression") -> LeafSource:
    """The leaves and predictions of a model file. Nothing is ever unpickled."""
    check_choice("task", task, TASKS)
    content = _read(source)
    if kind is None:
        kind = _guess(content)
    check_choice("kind", kind, FILE_KINDS)
    if kind == "lightgbm":
        from gbuq_core.trees.importers.lightgbm_source import from_lightgbm_text

        return from_lightgbm_text(content, task)
    if kind == "xgboost":
        from gbuq_core.trees.importers.xgboost_source import from_xgboost_file

        return from_xgboost_file(content, task)
    from gbuq_core.trees.importers.catboost_source import from_catboost_file

    return from_catboost_file(content, task)


def _read(source: Any) -> bytes:
    kind = FileKind("model file", ModelFileError, _MOST_BYTES, "pass the fitted model itself")
    return read_limited(source, kind)[0]


def _guess(content: bytes) -> str:
    if content[:4] == b"tree":
        return "lightgbm"
    if content[:4] == b"CBM1":
        return "catboost"
    if content.lstrip()[:1] == b"{":
        return "xgboost"
    raise ModelFileError(
        "The file is no model of LightGBM (text), XGBoost (JSON or UBJ) or CatBoost (cbm): save "
        "the model with the library's own save_model."
    )
