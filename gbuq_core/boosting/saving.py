"""Fitted ensembles to a file and back, without pickle.

A file is an npz archive (see `archive`) whose JSON header holds the knobs, the classes and the
coding of the columns. Loading checks all of it: a file that was damaged, cut off, written by
something else or made up is refused with a sentence, and no index in it can lead a kernel outside
its arrays.

One caveat: models of ``engine="catboost"`` are CatBoost's own binary form inside, for CatBoost's
own reader to parse. It is given only bytes with the right digest, but whoever makes a file up can
give it one: load CatBoost models only from sources you trust.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.boosting import numba_engine
from gbuq_core.boosting.archive import damaged, read_archive, write_archive
from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
from gbuq_core.boosting.plan import BoostingPlan, langevin_numbers, make_plan
from gbuq_core.boosting.regressor import TARGETS, BoostedEnsembleRegressor
from gbuq_core.boosting.stopping import STOPPINGS
from gbuq_core.calibration import ClassClocks, Clocks
from gbuq_core.errors import GbuqError, InvalidParameter, ModelFileError
from gbuq_core.inputs import MAX_CLASSES, TargetScale
from gbuq_core.jobs import check_memory
from gbuq_core.trees.binning import MAX_ONE_HOT_LEVELS, ColumnCoding, Encoding

MAX_FILE_BYTES = 4 * 2**30
_LABEL_DTYPES = re.compile(r"\|b1|[<|>][iuf][1248]|\|O|[<>]U[0-9]{1,5}")
_PLAIN_TYPES = (bool, int, float, str)
_KINDS: dict[str, Any] = {
    "regressor": BoostedEnsembleRegressor,
    "classifier": BoostedEnsembleClassifier,
}


class _Facts(NamedTuple):
    """What the parts of a file must agree about."""

    plan: BoostingPlan
    n_outputs: int
    n_features: int


def save_ensemble(ensemble: BoostedEnsemble, target: Any) -> None:
    """Write a fitted ensemble; what `BoostedEnsemble.save` does.

    Parameters
    ----------
    ensemble : BoostedEnsembleRegressor or BoostedEnsembleClassifier
        Fitted. A ``random_state`` that is a generator is saved as the seed that was drawn from it.
    target : path or binary file
        A path is overwritten.

    Raises
    ------
    InvalidParameter
        If a parameter or a class label is of a type that no JSON holds.
    """
    is_classifier = isinstance(ensemble, BoostedEnsembleClassifier)
    header: dict[str, Any] = {
        "kind": "classifier" if is_classifier else "regressor",
        "params": {name: _plain(name, value) for name, value in _parameters(ensemble)},
        "plan": asdict(ensemble.plan_),
        "seed": ensemble.seed_,
        "stopping": ensemble.stopping_,
        "n_rows": ensemble.n_rows_,
        "fit_seconds": ensemble.fit_seconds_,
        "n_features": ensemble.n_features_in_,
        "feature_names": list(getattr(ensemble, "feature_names_in_", [])),
        "named": ensemble.encoding_.named,
        "columns": [
            {"name": c.name, "kind": c.kind, "levels": c.levels, "has_missing": c.has_missing}
            for c in ensemble.encoding_.columns
        ],
    }
    if is_classifier:
        header["classes"] = _describe_classes(ensemble.classes_)
    else:
        header["target_scale"] = list(ensemble.target_scale_)
        header["target"] = ensemble.target_
    arrays = _engine_arrays(ensemble)
    if ensemble.clocks_ is not None:
        for name, value in vars(ensemble.clocks_).items():
            arrays[f"clocks_{name}"] = np.asarray(value)
    for position, column in enumerate(ensemble.encoding_.columns):
        if column.kind == "target":
            arrays[f"means_{position}"] = column.means
            arrays[f"fallback_{position}"] = column.fallback
    content = write_archive(header, arrays)
    if hasattr(target, "write"):
        target.write(content)
    else:
        Path(target).write_bytes(content)


def load_ensemble(source: Any) -> Any:
    """Read a fitted ensemble that ``save`` has written.

    Parameters
    ----------
    source : path, bytes or binary file
        Models of ``engine="catboost"`` only from sources you trust: CatBoost parses them itself.

    Returns
    -------
    BoostedEnsembleRegressor or BoostedEnsembleClassifier
        With the same predictions, bit for bit.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, foreign, or written by a newer version.
    MemoryLimitExceeded
        If it does not fit into the free memory.

    Examples
    --------
    >>> import io
    >>> from gbuq_core import BoostedEnsembleRegressor, load_ensemble
    >>> X = [[0.0], [1.0], [2.0]]
    >>> model = BoostedEnsembleRegressor(n_trees=5, random_state=0).fit(X, [0.0, 1.0, 4.0])
    >>> file = io.BytesIO()
    >>> model.save(file)
    >>> again = load_ensemble(file.getvalue())
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    header, arrays = read_archive(_read_bytes(source))
    try:
        return _build(header, arrays)
    except ModelFileError:
        raise
    except (
        ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError,
    ) as error:  # fmt: skip
        raise damaged("its header is incomplete or contradicts itself") from error


def _read_bytes(source: Any) -> bytes:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    if hasattr(source, "read"):
        content = source.read(MAX_FILE_BYTES + 1)
        if not isinstance(content, bytes):
            raise ModelFileError("The model file is open as text: open it in binary mode ('rb').")
        _refuse_size(len(content))
        return content
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameter(f"a model is loaded from a path, bytes or a file; got {source!r}.")
    try:
        size = os.path.getsize(source)
        _refuse_size(size)
        check_memory(3 * size, "this model file")
        return Path(os.fspath(source)).read_bytes()
    except GbuqError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such file"
        raise ModelFileError(f"The model file cannot be read ({reason}): check the path.") from None


def _refuse_size(n_bytes: int) -> None:
    if n_bytes > MAX_FILE_BYTES:
        raise ModelFileError(
            f"The model file is larger than {MAX_FILE_BYTES // 2**30} GiB, the largest size that "
            "gbuq reads: pass another file."
        )


def _engine_arrays(ensemble: BoostedEnsemble) -> dict[str, np.ndarray]:
    if ensemble.plan_.engine == "catboost":
        from gbuq_core.boosting import catboost_engine

        return catboost_engine.models_to_arrays(ensemble.models_)
    return numba_engine.models_to_arrays(ensemble.models_)


def _parameters(ensemble: BoostedEnsemble) -> list[tuple[str, Any]]:
    values = ensemble.get_params(deep=False)
    state = values["random_state"]
    if state is not None and not isinstance(state, int | np.integer):
        values["random_state"] = ensemble.seed_
    return list(values.items())


def _plain(name: str, value: Any) -> Any:
    """``value`` as JSON holds it: numbers, text, None, and lists of them."""
    if isinstance(value, np.generic | np.ndarray | pd.Index):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(name, item) for item in value]
    if value is None or type(value) in _PLAIN_TYPES:
        return value
    raise InvalidParameter(f"{name} holds {value!r}, which cannot be saved: use plain values.")


def _describe_classes(classes: np.ndarray) -> dict[str, Any]:
    if not _LABEL_DTYPES.fullmatch(classes.dtype.str):
        raise InvalidParameter(
            f"the classes are of type {classes.dtype}, which cannot be saved: train on text, "
            "numbers or booleans."
        )
    labels = _plain("classes", classes)
    for label in labels:
        if type(label) not in _PLAIN_TYPES:
            raise InvalidParameter(f"the class {label!r} cannot be saved: use text or numbers.")
    return {"dtype": classes.dtype.str, "labels": labels}


def _build(header: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The estimator that a file describes."""
    ensemble = _KINDS[header["kind"]](**_read_params(header))
    plan = _read_plan(type(ensemble), header["plan"])
    n_outputs = 2
    if header["kind"] == "classifier":
        ensemble.classes_ = _read_classes(header["classes"])
        n_outputs = len(ensemble.classes_)
    else:
        ensemble.target_scale_ = TargetScale(*(float(value) for value in header["target_scale"]))
        usable = np.isfinite(ensemble.target_scale_).all() and ensemble.target_scale_.spread > 0.0
        ensemble.target_ = header.get("target")
        usable &= ensemble.target_ in (None, *TARGETS)
        _require(usable, "the scale of its target is impossible")
    facts = _Facts(plan, n_outputs, _whole(header["n_features"]))
    names = header["feature_names"]
    if names:
        _require(_is_text(names) and len(names) == facts.n_features, "its columns do not match")
        ensemble.feature_names_in_ = np.array(names, dtype=object)
    ensemble.n_features_in_ = facts.n_features
    ensemble.plan_ = plan
    ensemble.seed_ = _whole(header["seed"], low=0)
    ensemble.encoding_ = _read_encoding(header, arrays, facts)
    kinds = [column.kind for column in ensemble.encoding_.columns]
    ensemble.is_category_ = np.array([kind != "number" for kind in kinds])
    ensemble.models_ = _read_models(arrays, facts, ensemble.encoding_.is_category)
    ensemble.n_rows_ = _whole(header["n_rows"])
    ensemble.langevin_ = langevin_numbers(plan, ensemble.n_rows_)
    ensemble.n_trees_ = plan.n_trees
    ensemble.n_cells_ = ensemble.models_.n_cells
    ensemble.memory_bytes_ = ensemble.models_.n_bytes
    ensemble.fit_seconds_ = float(header["fit_seconds"])
    _read_clocks(ensemble, header, arrays)
    return ensemble


def _read_clocks(
    ensemble: BoostedEnsemble, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Where the models stop; files that are older than the clocks use all trees."""
    ensemble.stopping_ = header.get("stopping")
    ensemble.clocks_ = None
    if "stopping" not in header:
        ensemble.set_params(stopping=None)
    if ensemble.stopping_ is None:
        return
    _require(ensemble.stopping_ in STOPPINGS, "its rule of stopping is unknown")
    is_classifier = isinstance(ensemble, BoostedEnsembleClassifier)
    kind: Any = ClassClocks if is_classifier else Clocks
    found: dict[str, Any] = {}
    for field in fields(kind):
        array = arrays[f"clocks_{field.name}"]
        _require(array.ndim <= 1 and array.dtype in (np.int64, np.float64), "its clocks are odd")
        found[field.name] = array if array.ndim else array.item()
    clocks = kind(**found)
    trees = (clocks.n_trees_used,) if is_classifier else (clocks.mean_trees, clocks.scale_trees)
    known = all(type(n) is int and 1 <= n <= ensemble.plan_.n_trees for n in trees)
    _require(known, "a clock stops at a tree that does not exist")
    size = clocks.temperature if is_classifier else clocks.factor
    _require(math.isfinite(size) and size > 0.0, "a clock's factor is impossible")
    _require(is_classifier or clocks.df > 2.0, "the tails of its clocks are impossible")
    ensemble.clocks_ = clocks


def _read_params(header: Mapping[str, Any]) -> dict[str, Any]:
    """Constructor arguments; those that are newer than the file keep their defaults."""
    params = dict(header["params"])
    unknown = set(params) - set(BoostedEnsemble().get_params())
    if unknown:
        raise ModelFileError(
            f"The model file has the unknown parameter {json.dumps(min(unknown))}, probably from "
            "a newer version: update gbuq."
        )
    return params


def _read_plan(kind: Any, stored: Mapping[str, Any]) -> BoostingPlan:
    """The checked knobs of the fit, which ``set_params`` may have left behind since."""
    knobs = dict(stored)
    knobs["n_members"] = knobs.pop("n_models")
    knobs["leaf_estimation"] = "newton" if knobs.pop("newton") else "gradient"
    plan = make_plan(kind(**knobs))
    matches = all(getattr(plan, name) == value for name, value in stored.items())
    _require(matches, "its knobs contradict each other")
    return plan


def _read_classes(described: Mapping[str, Any]) -> np.ndarray:
    """Class labels in the dtype they had; at least 2, and no label twice."""
    dtype, labels = described["dtype"], described["labels"]
    known = _LABEL_DTYPES.fullmatch(dtype) and isinstance(labels, list)
    _require(known, "its classes are of an unknown type")
    _require(2 <= len(labels) <= MAX_CLASSES, "the number of its classes is impossible")
    classes = np.empty(len(labels), dtype=object)
    classes[:] = labels
    _require(all(type(label) in _PLAIN_TYPES for label in labels), "a class is not a valid label")
    typed = classes.astype(np.dtype(dtype))
    unchanged = typed.tolist() == labels and len(set(labels)) == len(labels)
    _require(unchanged, "its classes do not have the declared type")
    return typed


def _read_encoding(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], facts: _Facts
) -> Encoding:
    columns, is_category = [], []
    for position, described in enumerate(header["columns"]):
        column = _read_column(described, arrays, position, facts)
        width = column.means.shape[1] if column.kind == "target" else 1
        columns.append(column)
        is_category += [column.kind == "levels"] * width
    _require(len(columns) == facts.n_features >= 1, "its columns do not match")
    _require(type(header["named"]) is bool, "its columns do not match")
    return Encoding(tuple(columns), np.array(is_category), header["named"])


def _read_column(
    described: Mapping[str, Any], arrays: Mapping[str, np.ndarray], position: int, facts: _Facts
) -> ColumnCoding:
    name, kind, has_missing = described["name"], described["kind"], described["has_missing"]
    levels = tuple(described["levels"])
    why = f"column {position} is impossible"
    _require(isinstance(name, str) and type(has_missing) is bool, why)
    _require(all(type(level) in (float, str) for level in levels), why)
    _require(len(set(levels)) == len(levels), why)
    means: np.ndarray = np.empty(0)
    fallback: np.ndarray = np.empty(0)
    if kind == "number":
        _require(not levels, why)
    elif kind == "levels":
        _require(1 <= len(levels) + has_missing <= MAX_ONE_HOT_LEVELS, why)
    else:
        _require(kind == "target", why)
        n_columns = facts.n_outputs if facts.n_outputs > 2 else 1
        means, fallback = arrays[f"means_{position}"], arrays[f"fallback_{position}"]
        _require(means.shape == (len(levels) + 1, n_columns), why)
        _require(fallback.shape == (n_columns,), why)
        for part in (means, fallback):
            _require(part.dtype == np.float64 and np.isfinite(part).all(), why)
    return ColumnCoding(name, kind, levels, has_missing, means, fallback)


def _read_models(arrays: dict[str, np.ndarray], facts: _Facts, is_category: np.ndarray) -> Any:
    plan = facts.plan
    if plan.engine != "catboost":
        return numba_engine.models_from_arrays(arrays, plan, facts.n_outputs, is_category)
    from gbuq_core.boosting import catboost_engine

    models = catboost_engine.models_from_arrays(arrays)
    _require(np.array_equal(models.is_category, is_category), "its columns do not match")
    _require(models.n_outputs == facts.n_outputs, "its outputs do not match")
    _require(len(models.models) == plan.n_models, "its models do not match")
    _require(0.0 < models.decay <= 1.0 and models.n_cells >= 1, "a number is out of range")
    for model in models.models:
        same = model.tree_count_ == plan.n_trees and len(model.feature_names_) == len(is_category)
        _require(same, "its models do not match")
    return models


def _whole(value: Any, low: int = 1) -> int:
    _require(type(value) is int and value >= low, "a number is out of range")
    return int(value)


def _is_text(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _require(condition: Any, why: str) -> None:
    if not condition:
        raise damaged(why)
