"""Fitted ensembles to a file and back, without pickle.

A file is an npz archive (see `gbuq_core.model_files.archive`) whose JSON header holds the knobs,
the classes and the coding of the columns. Loading checks all of it: a file that was damaged, cut
off, written by something else or made up is refused with a sentence, and no index in it can lead a
kernel outside its arrays.

One caveat: models of ``engine="catboost"`` are CatBoost's own binary form inside, for CatBoost's
own reader to parse. It is given only bytes with the right digest, but whoever makes a file up can
give it one: load CatBoost models only from sources you trust.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.boosting import numba_engine
from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
from gbuq_core.boosting.plan import BoostingPlan, langevin_numbers, make_plan
from gbuq_core.boosting.regressor import TARGETS, BoostedEnsembleRegressor
from gbuq_core.boosting.stopping import STOPPINGS
from gbuq_core.calibration import ClassClocks, Clocks
from gbuq_core.errors import ModelFileError
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.model_files.contents import (
    describe_classes,
    errors_as_damage,
    is_text,
    parameters,
    read_bytes,
    read_classes,
    read_parameters,
    read_target_scale,
    require,
    whole,
    write_bytes,
)
from gbuq_core.trees.binning import MAX_ONE_HOT_LEVELS, ColumnCoding, Encoding

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
        "params": _plain_parameters(ensemble),
        "plan": asdict(ensemble.plan_),
        "seed": ensemble.seed_,
        "stopping": ensemble.stopping_,
        "n_rows": ensemble.n_rows_,
        "total_weight": ensemble.total_weight_,
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
        header["classes"] = describe_classes(ensemble.classes_)
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
    write_bytes(content, target)


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
    header, arrays = read_archive(read_bytes(source))
    with errors_as_damage():
        return build_ensemble(header, arrays)


def _engine_arrays(ensemble: BoostedEnsemble) -> dict[str, np.ndarray]:
    if ensemble.plan_.engine == "catboost":
        from gbuq_core.boosting import catboost_engine

        return catboost_engine.models_to_arrays(ensemble.models_)
    return numba_engine.models_to_arrays(ensemble.models_)


def _plain_parameters(ensemble: BoostedEnsemble) -> dict[str, Any]:
    """Constructor arguments; class weights as pairs, for labels need not be text as keys are."""
    if isinstance(ensemble.class_weight, Mapping):
        ensemble = copy.copy(ensemble)
        ensemble.class_weight = list(ensemble.class_weight.items())
    return parameters(ensemble)


def build_ensemble(header: Mapping[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    """The estimator that a file describes."""
    if str(header["kind"]).endswith(
        ("Regressor", "Classifier", "Ensemble")
    ):  # as other estimators write it
        raise ModelFileError("The file holds no boosted ensemble: read it by gbuq_core.load.")
    ensemble = _KINDS[header["kind"]](**read_parameters(header, BoostedEnsemble().get_params()))
    if isinstance(ensemble.class_weight, list):
        ensemble.class_weight = dict(ensemble.class_weight)
    plan = _read_plan(type(ensemble), header["plan"])
    n_outputs = 2
    if header["kind"] == "classifier":
        ensemble.classes_ = read_classes(header["classes"])
        n_outputs = len(ensemble.classes_)
    else:
        ensemble.target_scale_ = read_target_scale(header)
        ensemble.target_ = header.get("target")
        require(ensemble.target_ in (None, *TARGETS), "the scale of its target is impossible")
    facts = _Facts(plan, n_outputs, whole(header["n_features"]))
    names = header["feature_names"]
    if names:
        require(is_text(names) and len(names) == facts.n_features, "its columns do not match")
        ensemble.feature_names_in_ = np.array(names, dtype=object)
    ensemble.n_features_in_ = facts.n_features
    ensemble.plan_ = plan
    ensemble.seed_ = whole(header["seed"], low=0)
    ensemble.encoding_ = _read_encoding(header, arrays, facts)
    kinds = [column.kind for column in ensemble.encoding_.columns]
    ensemble.is_category_ = np.array([kind != "number" for kind in kinds])
    ensemble.models_ = _read_models(arrays, facts, ensemble.encoding_.is_category)
    ensemble.n_rows_ = whole(header["n_rows"])
    ensemble.total_weight_ = float(header.get("total_weight", ensemble.n_rows_))
    require(1.0 <= ensemble.total_weight_ < math.inf, "a number is out of range")
    ensemble.langevin_ = langevin_numbers(plan, ensemble.total_weight_)
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
    require(ensemble.stopping_ in STOPPINGS, "its rule of stopping is unknown")
    is_classifier = isinstance(ensemble, BoostedEnsembleClassifier)
    kind: Any = ClassClocks if is_classifier else Clocks
    found: dict[str, Any] = {}
    for field in fields(kind):
        array = arrays[f"clocks_{field.name}"]
        require(array.ndim <= 1 and array.dtype in (np.int64, np.float64), "its clocks are odd")
        found[field.name] = array if array.ndim else array.item()
    clocks = kind(**found)
    trees = (clocks.n_trees_used,) if is_classifier else (clocks.mean_trees, clocks.scale_trees)
    known = all(type(n) is int and 1 <= n <= ensemble.plan_.n_trees for n in trees)
    require(known, "a clock stops at a tree that does not exist")
    size = clocks.temperature if is_classifier else clocks.factor
    require(math.isfinite(size) and size > 0.0, "a clock's factor is impossible")
    require(is_classifier or clocks.df > 2.0, "the tails of its clocks are impossible")
    ensemble.clocks_ = clocks


def _read_plan(kind: Any, stored: Mapping[str, Any]) -> BoostingPlan:
    """The checked knobs of the fit, which ``set_params`` may have left behind since."""
    knobs = dict(stored)
    knobs["n_members"] = knobs.pop("n_models")
    knobs["leaf_estimation"] = "newton" if knobs.pop("newton") else "gradient"
    plan = make_plan(kind(**knobs))
    matches = all(getattr(plan, name) == value for name, value in stored.items())
    require(matches, "its knobs contradict each other")
    return plan


def _read_encoding(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], facts: _Facts
) -> Encoding:
    columns, is_category = [], []
    for position, described in enumerate(header["columns"]):
        column = _read_column(described, arrays, position, facts)
        width = column.means.shape[1] if column.kind == "target" else 1
        columns.append(column)
        is_category += [column.kind == "levels"] * width
    require(len(columns) == facts.n_features >= 1, "its columns do not match")
    require(type(header["named"]) is bool, "its columns do not match")
    return Encoding(tuple(columns), np.array(is_category), header["named"])


def _read_column(
    described: Mapping[str, Any], arrays: Mapping[str, np.ndarray], position: int, facts: _Facts
) -> ColumnCoding:
    name, kind, has_missing = described["name"], described["kind"], described["has_missing"]
    levels = tuple(described["levels"])
    why = f"column {position} is impossible"
    require(isinstance(name, str) and type(has_missing) is bool, why)
    require(all(type(level) in (float, str) for level in levels), why)
    require(len(set(levels)) == len(levels), why)
    means: np.ndarray = np.empty(0)
    fallback: np.ndarray = np.empty(0)
    if kind == "number":
        require(not levels, why)
    elif kind == "levels":
        require(1 <= len(levels) + has_missing <= MAX_ONE_HOT_LEVELS, why)
    else:
        require(kind == "target", why)
        n_columns = facts.n_outputs if facts.n_outputs > 2 else 1
        means, fallback = arrays[f"means_{position}"], arrays[f"fallback_{position}"]
        require(means.shape == (len(levels) + 1, n_columns), why)
        require(fallback.shape == (n_columns,), why)
        for part in (means, fallback):
            require(part.dtype == np.float64 and np.isfinite(part).all(), why)
    return ColumnCoding(name, kind, levels, has_missing, means, fallback)


def _read_models(arrays: dict[str, np.ndarray], facts: _Facts, is_category: np.ndarray) -> Any:
    plan = facts.plan
    if plan.engine != "catboost":
        return numba_engine.models_from_arrays(arrays, plan, facts.n_outputs, is_category)
    from gbuq_core.boosting import catboost_engine

    models = catboost_engine.models_from_arrays(arrays)
    require(np.array_equal(models.is_category, is_category), "its columns do not match")
    require(models.n_outputs == facts.n_outputs, "its outputs do not match")
    require(len(models.models) == plan.n_models, "its models do not match")
    require(0.0 < models.decay <= 1.0 and models.n_cells >= 1, "a number is out of range")
    for model in models.models:
        same = model.tree_count_ == plan.n_trees and len(model.feature_names_) == len(is_category)
        require(same, "its models do not match")
    return models
