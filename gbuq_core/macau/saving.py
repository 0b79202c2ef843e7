"""Fitted MACAU estimators to a file and back: the forest as LightGBM's text, and all leaves.

Where an array begins for each leaf follows from the leaves' sizes and paths, so no such numbers are
read from the file: they are worked out again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.macau.ard_kernels import LinearLeaves
from gbuq_core.macau.base import COMBINATIONS, LEAF_MODELS, LeafModels
from gbuq_core.macau.class_leaves import ClassLeaves, LogisticLeaves
from gbuq_core.macau.classifier import INFERENCES, MacauClassifier
from gbuq_core.macau.leaves import LeafScaling, LeafTable, with_all_features
from gbuq_core.macau.levels import MOST_LEVELS, LevelColumns
from gbuq_core.macau.novelty import TAILS, LeafQuantiles, NoveltyModel
from gbuq_core.macau.novelty_kernels import MAX_QUANTILES
from gbuq_core.macau.regressor import LEAF_FEATURES, MacauRegressor
from gbuq_core.model_files.archive import write_archive
from gbuq_core.model_files.contents import (
    describe_classes,
    describe_fit,
    read_classes,
    read_fit,
    read_parameters,
    read_target_scale,
    require,
    take,
    write_bytes,
)
from gbuq_core.trees.importers import LeafSource, load_leaf_source

KINDS: dict[str, Any] = {kind.__name__: kind for kind in (MacauRegressor, MacauClassifier)}


def save_macau(model: LeafModels, target: Any) -> None:
    """Write a fitted estimator; what its ``save`` does.

    Raises
    ------
    InvalidParameter
        If the forest is not LightGBM's, or a parameter or class label is of a type that no JSON
        holds.
    """
    if KINDS.get(type(model).__name__) is not type(model):
        raise InvalidParameter(f"A {type(model).__name__} is of another class than gbuq's own.")
    forest: Any = model.forest_
    if forest.kind != "lightgbm":
        raise InvalidParameter(
            f"The forest is a {type(forest.model).__name__}, which has no file format without "
            "pickle: leave base_model at None or pass a forest of LightGBM."
        )
    booster = getattr(forest.model, "booster_", forest.model)
    text = booster.model_to_string(num_iteration=forest.n_iterations)
    header = {**describe_fit(model), "given_forest": model.base_model is not None}
    header["levels"] = None if model._columns is None else list(model._columns.levels)
    table, distances = model._table, model._distances
    arrays = {
        "forest": np.frombuffer(text.encode(), np.uint8),
        "importances": model._importances,
        "sizes": np.diff(table.begin),
        "rows": table.rows.astype(np.int64),
        "path_lengths": np.diff(table.path_begin),
        "path": table.path.astype(np.int64),
        "centre": model._scaling.centre,
        "scale": model._scaling.scale,
        "location": distances.location,
        "factor": distances.factor,
        "path_factor": distances.path_factor,
        "distance_quantiles": distances.quantiles,
        "path_quantiles": distances.path_quantiles,
    }
    if isinstance(model, MacauClassifier):
        header["classes"] = describe_classes(model.classes_)
        for c, leaves in enumerate(model._leaves):
            parts = {"shares": leaves.shares, "quantiles": leaves.quantiles.quantiles}
            if leaves.logistic is not None:
                parts["weights"] = leaves.logistic.weights
                parts["covariance"] = leaves.logistic.covariance
            arrays |= {f"{name}_{c}": array for name, array in parts.items()}
    elif isinstance(model, MacauRegressor):
        header["target_scale"] = list(model.target_scale_)
        linear = model._model
        arrays |= {"level": linear.level, "noise": linear.noise, "weight": linear.weight}
        arrays |= {"offset": linear.offset, "sigma": linear.sigma}
        arrays["quantiles"] = model._quantiles.quantiles
        if model.leaf_features == "auto":
            arrays["sees_all"] = model.sees_all_
    write_bytes(write_archive(header, arrays), target)


def build_macau(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """The estimator that a file describes.

    Raises
    ------
    ModelFileError
        If it holds what no fit makes; kernels check nothing, so every index is checked here.
    """
    kind = KINDS[header["kind"]]
    params = read_parameters(header, set(kind().get_params()) - {"base_model"})
    if kind is MacauRegressor:
        params.setdefault("leaf_features", "path")  # older files know nothing else
    model = kind(**params)
    known = model.leaf_model in LEAF_MODELS and model.combine in COMBINATIONS
    require(known and model.tail in TAILS, "a parameter is impossible")
    read_fit(model, header)
    is_classifier = kind is MacauClassifier
    text = take(arrays, "forest", np.uint8, (None,)).tobytes()
    task = "classification" if is_classifier else "regression"
    source = load_leaf_source(text, "lightgbm", task)
    model._columns = _read_levels(header.get("levels"), model.n_features_in_)
    n_encoded = model.n_features_in_ if model._columns is None else len(model._columns.owner)
    require(source.n_features == n_encoded, "its forest has other columns")
    require(type(header["given_forest"]) is bool, "its forest is odd")
    if header["given_forest"]:
        model.base_model = source.model
    table = _read_table(arrays, source)
    shape = (table.n_leaves, source.n_features)
    centre = _numbers(arrays, "centre", *shape)
    model._scaling = LeafScaling(centre, centre, _numbers(arrays, "scale", *shape))
    model.forest_ = source
    model._importances = _numbers(arrays, "importances", source.n_features)
    model.n_leaves_ = int(table.first[-1])
    model._distances = _read_distances(arrays, table, source.n_features)
    if is_classifier:
        require(model.inference in INFERENCES, "a parameter is impossible")
        model.classes_ = read_classes(header["classes"])
        n_models = 1 if len(model.classes_) == 2 else len(model.classes_)
        known = table.n_trees % n_models == 0 and source.n_classes == len(model.classes_)
        require(known, "its forest has other classes")
        linear = model.leaf_model == "linear"
        model._leaves = [_read_class(arrays, c, n_models, table, linear) for c in range(n_models)]
    else:
        model.target_scale_ = read_target_scale(header)
        require(model.leaf_features in LEAF_FEATURES, "a parameter is impossible")
        linear = model.leaf_model == "linear"
        chosen = _read_chosen(arrays, model, table)
        model.sees_all_ = chosen[: model.n_leaves_]
        model._model_table = table
        if chosen.any():
            model._model_table = with_all_features(table, chosen, source.n_features)
        model._model = _read_linear(arrays, model._model_table, linear)
        model._quantiles = _read_quantiles(arrays, "quantiles", table)
    model._table = table
    model._end(0.0)
    model.fit_seconds_ = float(header["fit_seconds"])
    return model


def _read_levels(given: Any, n_features: int) -> LevelColumns | None:
    """The levels of text and categories; None of numbers, and in files without them."""
    if given is None:
        return None
    require(type(given) is list and len(given) == n_features, "its categories are odd")
    found: list[tuple[Any, ...] | None] = []
    for levels in given:
        if levels is None:
            found.append(None)
            continue
        known = type(levels) is list and all(type(level) in (str, float) for level in levels)
        require(known and 1 <= len(set(levels)) == len(levels), "a level is impossible")
        require(len(levels) <= MOST_LEVELS, "it has too many levels")
        found.append(tuple(levels))
    return LevelColumns(tuple(found))


def _numbers(arrays: Mapping[str, np.ndarray], name: str, *shape: int | None) -> np.ndarray:
    """Float64 without NaN; infinity is what missing features and pure leaves have."""
    array = take(arrays, name, np.float64, shape)
    require(not np.isnan(array).any(), "a number is missing")
    return array


def _begin_of(sizes: np.ndarray) -> np.ndarray:
    begin: np.ndarray = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return begin


def _read_table(arrays: Mapping[str, np.ndarray], source: LeafSource) -> LeafTable:
    first = _begin_of(source.leaf_counts)
    sizes = take(arrays, "sizes", np.int64, (None,))
    n_leaves, n_trees = len(sizes), source.n_trees
    has_fallback = n_leaves == first[-1] + 1
    require(has_fallback or n_leaves == first[-1], "its leaves are not those of its forest")
    n_rows = int(sizes[: first[1]].sum())
    require(1 <= n_rows < 2**31 and (sizes >= 0).all() and (sizes <= n_rows).all(), "a leaf is odd")
    begin = _begin_of(sizes)
    require((begin[first] == n_rows * np.arange(n_trees + 1)).all(), "a tree has lost rows")
    require(has_fallback == bool((sizes[: first[-1]] == 0).any()), "a leaf is empty")
    require(not has_fallback or sizes[-1] == n_rows, "a leaf is odd")
    rows = take(arrays, "rows", np.int64, (int(begin[-1]),))
    require((rows >= 0).all() and (rows < n_rows).all(), "a row does not exist")
    lengths = take(arrays, "path_lengths", np.int64, (n_leaves,))
    usable = (lengths >= 1).all() and (lengths <= source.n_features).all()
    require(usable, "the path to a leaf is impossible")
    path_begin = _begin_of(lengths)
    path = take(arrays, "path", np.int64, (int(path_begin[-1]),))
    require((path >= 0).all() and (path < source.n_features).all(), "a feature does not exist")
    inside = np.diff(np.repeat(np.arange(n_leaves), lengths)) == 0
    require((np.diff(path)[inside] > 0).all(), "the path to a leaf is impossible")
    return LeafTable(
        first, begin, rows.astype(np.int32), path_begin, path.astype(np.int32),
        n_leaves - 1 if has_fallback else -1,
    )  # fmt: skip


def _read_distances(
    arrays: Mapping[str, np.ndarray], table: LeafTable, n_features: int
) -> NoveltyModel:
    n_leaves, cells = table.n_leaves, n_features * (n_features + 1) // 2
    lengths = np.diff(table.path_begin)
    path_first = _begin_of(lengths * (lengths + 1) // 2)
    quantiles = _numbers(arrays, "distance_quantiles", None)
    path_quantiles = _numbers(arrays, "path_quantiles", len(quantiles))
    m, rest = divmod(len(quantiles), table.n_trees)
    require(1 <= m <= MAX_QUANTILES and rest == 0, "its quantiles are impossible")
    begin = m * np.arange(table.n_trees + 1, dtype=np.int64)
    _require_rising(quantiles, begin)
    _require_rising(path_quantiles, begin)
    return NoveltyModel(
        _numbers(arrays, "location", n_leaves, n_features),
        _numbers(arrays, "factor", n_leaves, cells),
        path_first,
        _numbers(arrays, "path_factor", int(path_first[-1])),
        begin, quantiles, path_quantiles,
    )  # fmt: skip


def _require_rising(values: np.ndarray, begin: np.ndarray) -> None:
    inside = np.diff(np.repeat(np.arange(len(begin) - 1), np.diff(begin))) == 0
    require((values[1:] >= values[:-1])[inside].all(), "its quantiles do not rise")


def _read_quantiles(arrays: Mapping[str, np.ndarray], name: str, table: LeafTable) -> LeafQuantiles:
    begin = _begin_of(np.minimum(np.diff(table.begin), MAX_QUANTILES))
    quantiles = _numbers(arrays, name, int(begin[-1]))
    _require_rising(quantiles, begin)
    return LeafQuantiles(begin, quantiles)


def _read_chosen(
    arrays: Mapping[str, np.ndarray], model: MacauRegressor, table: LeafTable
) -> np.ndarray:
    """The leaves whose linear models see all features, (n_leaves,) bool.

    They are read, and not chosen anew by the rule, which another version may have changed.
    """
    linear = model.leaf_model == "linear"
    chosen = np.full(table.n_leaves, linear and model.leaf_features == "all")
    if model.leaf_features == "auto":
        chosen[: model.n_leaves_] = take(arrays, "sees_all", np.bool_, (model.n_leaves_,))
        require(linear or not chosen.any(), "a leaf is odd")
    return chosen


def _read_linear(
    arrays: Mapping[str, np.ndarray], table: LeafTable, is_linear: bool
) -> LinearLeaves:
    lengths = np.diff(table.path_begin) if is_linear else np.zeros(0, np.int64)
    sigma_begin = _begin_of(lengths**2)
    n_weights = int(lengths.sum())
    return LinearLeaves(
        _numbers(arrays, "level", table.n_leaves), _numbers(arrays, "noise", table.n_leaves),
        _numbers(arrays, "weight", n_weights), _numbers(arrays, "offset", n_weights),
        sigma_begin, _numbers(arrays, "sigma", int(sigma_begin[-1])),
    )  # fmt: skip


def _read_class(
    arrays: Mapping[str, np.ndarray], c: int, n_models: int, table: LeafTable, is_linear: bool
) -> ClassLeaves:
    trees = np.arange(table.n_trees)[c::n_models]  # one tree of LightGBM's for each class
    logistic = None
    if is_linear:
        first = _begin_of(np.diff(table.path_begin) ** 2)
        weights = _numbers(arrays, f"weights_{c}", len(table.path) + table.n_leaves)
        covariance = _numbers(arrays, f"covariance_{c}", int(first[-1]))
        logistic = LogisticLeaves(weights, first, covariance)
    shares = _numbers(arrays, f"shares_{c}", table.n_leaves)
    return ClassLeaves(trees, logistic, shares, _read_quantiles(arrays, f"quantiles_{c}", table))
