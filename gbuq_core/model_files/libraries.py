"""Objects of other libraries within model files: each by a function that writes and one that reads.

CatBoost, LightGBM and XGBoost are held as their own library writes them (cbm, text, UBJ), and the
importers check and read them as any model file. scikit-learn's, NGBoost's and stochtree's trees are
held node by node, because their libraries trust the nodes of a tree.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.gaussian_process.kernels import Kernel
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from gbuq_core.errors import InvalidParameter, UntrustedModel
from gbuq_core.lazy import import_optional
from gbuq_core.model_files.contents import (
    PLAIN_TYPES,
    damaged,
    is_text,
    no_file_format,
    require,
    whole,
)
from gbuq_core.model_files.sklearn_trees import (
    join_columns,
    read_columns,
    read_predictors,
    store_nodes,
)
from gbuq_core.trees.importers import LeafSource, leaf_source, load_leaf_source
from gbuq_core.trees.importers.importances import source_importances
from gbuq_core.trees.importers.objectives import find_objective
from gbuq_core.trees.importers.ownership import is_owned

if TYPE_CHECKING:
    from gbuq_core.model_files.fields import Reader, Writer


class Codec(NamedTuple):
    """How objects of a class of another library are written and read."""

    write: Callable[[Any, Writer, str], Any]
    read: Callable[[Any, Reader, str, str], Any]  # also given the name that the file says
    module: str  # that offers the class
    subclasses: bool  # whether theirs are written too


# Estimators that are not fitted: their parameters.


def _options(model: Any, writer: Writer, where: str) -> Any:
    params = model.get_params(deep=False)
    return {name: writer.node(value, f"{where}.{name}") for name, value in params.items()}


def _with_options(name: str, node: Any, reader: Reader, where: str) -> Any:
    require(not name.endswith("Booster"), f"{where} has no options")  # they could be a whole model
    options = {key: reader.value(part, f"{where}.{key}") for key, part in node.items()}
    for key, value in options.items():
        possible = not isinstance(value, int) or abs(value) < 2**63
        plain = value is None or type(value) in (*PLAIN_TYPES, list, tuple, dict)
        require(plain and possible, f"{where}.{key} is impossible")
    if name == "catboost.CatBoost":  # which takes its parameters as one dictionary
        return _class(name)(options)
    return _class(name)(**options)


def _class(name: str) -> Any:
    return getattr(import_optional(CODECS[name].module), name.partition(".")[2])


# LightGBM: what was an estimator is read as its booster.


def _write_lightgbm(model: Any, writer: Writer, where: str) -> Any:
    if is_owned(model):
        return {"options": _options(model, writer, where)}
    text = getattr(model, "booster_", model).model_to_string()
    return {"text": writer.content(text.encode(), where)}


def _read_lightgbm(node: Any, reader: Reader, where: str, name: str) -> Any:
    if "options" in node:
        return _with_options(name, node["options"], reader, where)
    text = reader.content(node["text"], where)
    objective = text.partition(b"\nobjective=")[2].partition(b"\n")[0].split(b" ")[0]
    task = find_objective("lightgbm", objective.decode("ascii", "replace")).tasks[-1]
    return _import_booster(text, "lightgbm", task, reader)


def _import_booster(content: bytes, library: str, task: str, reader: Reader) -> Any:
    source = load_leaf_source(content, library, task)
    reader.sources[id(source.model)] = source
    return source.model


# XGBoost: classifiers are read as their booster, up to the best round.


def _write_xgboost(model: Any, writer: Writer, where: str) -> Any:
    if is_owned(model):
        return {"options": _options(model, writer, where)}
    is_estimator = hasattr(model, "get_booster")
    classifies = is_estimator and hasattr(model, "predict_proba")
    try:
        source: Any = leaf_source(model)
    except InvalidParameter:
        source = leaf_source(model, "classification")
    if source._table is None:
        raise InvalidParameter(
            "An XGBoost model with categories, or with another missing value than NaN, cannot be "
            "saved here: train on numbers and NaN."
        )
    if not source.is_tried:
        raise InvalidParameter(
            "A model of an XGBoost version that was not tried cannot be saved here: train it by "
            "an earlier one."
        )
    booster = model.get_booster() if is_estimator else model
    used = booster[: source.n_iterations] if classifies else booster
    node = {"ubj": writer.content(bytes(used.save_raw("ubj")), where), "task": source.task}
    if is_estimator and not classifies:
        node |= {"options": _options(model, writer, where), "rounds": int(source.n_iterations)}
    return node


def _read_xgboost(node: Any, reader: Reader, where: str, name: str) -> Any:
    options = node.get("options")
    if "ubj" not in node:
        return _with_options(name, options, reader, where)
    booster = _import_booster(reader.content(node["ubj"], where), "xgboost", node["task"], reader)
    if options is None:
        return booster
    require(name == "xgboost.XGBRegressor", f"{where} is of another kind")
    model, rounds = _with_options(name, options, reader, where), node["rounds"]
    n_rounds = booster.num_boosted_rounds()
    require(whole(rounds) <= n_rounds, f"{where} has fewer rounds")
    if rounds < n_rounds:
        booster.set_attr(best_iteration=str(rounds - 1))
    model.load_model(bytearray(booster.save_raw("ubj")))
    return model


# CatBoost: its own reader parses the model, which is only for files that one trusts.


def _write_catboost(model: Any, writer: Writer, where: str) -> Any:
    node = {"options": _options(model, writer, where)}
    if model.is_fitted():
        node["cbm"] = writer.content(model._serialize_model(), where)
    return node


def _read_catboost(node: Any, reader: Reader, where: str, name: str) -> Any:
    if not reader.trust and "cbm" in node:
        raise UntrustedModel(
            "The model file holds a model of CatBoost, which is only read from files that you "
            "trust: pass trust=True if you know who made it."
        )
    try:
        model = _with_options(name, node["options"], reader, where)
        if "cbm" not in node:
            return model
        return model.load_model(blob=reader.content(node["cbm"], where))
    except import_optional("catboost").CatBoostError as error:
        raise damaged("CatBoost cannot read the model in it") from error


# Leaves of a model of any library.


def _write_source(source: Any, writer: Writer, where: str) -> Any:
    if source.kind not in ("lightgbm", "xgboost", "catboost", "sklearn", "gbuq"):
        raise InvalidParameter("A model that was read from another library's file cannot be saved.")
    try:
        importances = source_importances(source)
    except AttributeError:  # not every model has some
        importances = None
    return {
        "task": source.task,
        "model": writer.node(source.model, f"{where}.model"),
        "importances": writer.node(importances, where),
    }


def _read_source(node: Any, reader: Reader, where: str, name: str) -> LeafSource:
    model = reader.value(node["model"], f"{where}.model")
    source = reader.sources.get(id(model)) or leaf_source(model, node["task"])
    require(source.task == node["task"], f"{where} is for another task")
    if node["importances"] is not None:
        importances = reader.numbers(node["importances"], where, source.n_features)
        require((importances >= 0.0).all(), "its importances are impossible")
        source.importances = importances
    return source


# scikit-learn's single trees, which forests of gbuq hold.


def _write_tree(model: Any, writer: Writer, where: str) -> Any:
    if ".groups_." not in where:  # a tree of its own is no model with leaves that are read
        raise no_file_format(model)
    return writer.tree(model.tree_)


def _read_tree(node: Any, reader: Reader, where: str, name: str) -> Any:
    classifies = name.endswith("Classifier")
    options = {"max_features": "sqrt"} if classifies else {}
    model = _wrap(_class(name)(**options), reader.tree(node))
    if classifies:
        model.n_classes_ = model.tree_.value.shape[2]
        model.classes_ = np.arange(model.n_classes_)
    return model


def _read_trees(places: Sequence[Any], reader: Reader, n_features: int | None = None) -> list[Any]:
    """Trees of regressions of the same columns."""
    trees = [reader.tree(place) for place in places]
    shared = n_features or (trees[0].n_features if trees else 0)
    same = all(tree.n_features == shared and tree.max_n_classes == 1 for tree in trees)
    require(trees and same, "a tree has other columns")
    return trees


def _wrap(estimator: Any, tree: Any) -> Any:
    estimator.tree_, estimator.n_outputs_ = tree, 1
    estimator.n_features_in_ = estimator.max_features_ = tree.n_features
    return estimator


# scikit-learn's regression forests and boosting.


def _write_ensemble(model: Any, writer: Writer, where: str) -> Any:
    name = type(model).__name__
    if getattr(model, "init", None) not in (None, "zero"):
        raise InvalidParameter(
            f"The {name} starts from a model of its own, which cannot be saved: leave init at None."
        )
    if getattr(model, "_preprocessor", None) is not None:
        raise InvalidParameter(
            f"The {name} was trained on categories, which its file cannot hold: code them as "
            "numbers, or use CatBoost or LightGBM."
        )
    options = _options(model, writer, where)
    if is_owned(model):
        return {"options": options}
    node: dict[str, Any] = {
        "options": options,
        "n_features": int(model.n_features_in_),
        "names": [str(part) for part in getattr(model, "feature_names_in_", [])],
    }
    start = None
    if name == "HistGradientBoostingRegressor":
        predictors = store_nodes([predictor.nodes for (predictor,) in model._predictors])
        node["predictors"] = writer.node(predictors, where)
        node["stopped_early"] = bool(model.do_early_stopping_)
        start = np.asarray(model._baseline_prediction, np.float64).ravel()
    else:
        node["trees"] = [writer.tree(tree.tree_) for tree in np.ravel(model.estimators_)]
        if name == "GradientBoostingRegressor" and model.init_ != "zero":
            start = np.asarray(model.init_.constant_, np.float64).ravel()
    return node | {"start": writer.node(start, where)}


def _read_ensemble(node: Any, reader: Reader, where: str, name: str) -> Any:
    """The fitted ensemble, without scores and out-of-bag predictions of its training."""
    model = _with_options(name, node["options"], reader, where)
    model._validate_params()
    if "n_features" not in node:
        return model
    model.n_features_in_, names = whole(node["n_features"]), node["names"]
    require(is_text(names) and len(names) in (0, model.n_features_in_), "its columns differ")
    if names:
        model.feature_names_in_ = np.array(names, dtype=object)
    start = node["start"]
    if start is not None:
        start = reader.numbers(start, where, 1)
    if name == "sklearn.HistGradientBoostingRegressor":
        require(start is not None, f"{where} has no first prediction")
        predictors = reader.value(node["predictors"], where)
        require(isinstance(predictors, dict), f"{where} has no trees")
        _fill_histogram(model, predictors, start, bool(node["stopped_early"]))
        return model
    trees = _read_trees(node["trees"], reader, model.n_features_in_)
    if name == "sklearn.GradientBoostingRegressor":
        _fill_boosting(model, trees, start)
        return model
    kind = type(model.estimator)
    shared = {name: getattr(model, name) for name in model.estimator_params}
    model.estimators_ = [_wrap(kind(**shared), tree) for tree in trees]
    model.estimator_, model.n_outputs_ = kind(), 1
    return model


def _fill_boosting(model: Any, trees: list[Any], start: Any) -> None:
    own = [_wrap(DecisionTreeRegressor(max_depth=model.max_depth), tree) for tree in trees]
    model.estimators_ = np.array(own, dtype=object).reshape(-1, 1)
    model.n_estimators_, model.n_trees_per_iteration_ = len(own), 1
    model.max_features_ = model.n_features_in_
    model._loss = model._get_loss(sample_weight=None)
    model.init_ = "zero"
    require((model.init == "zero") == (start is None), "its first prediction is missing")
    if start is not None:
        model.init_ = DummyRegressor(strategy="constant", constant=start[0]).fit([[0.0]], start)
        model.init_.n_features_in_ = model.n_features_in_


def _fill_histogram(model: Any, arrays: Any, start: Any, stopped_early: bool) -> None:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper

    n_features = model.n_features_in_
    model._predictors = [[each] for each in read_predictors(arrays, n_features)]
    model._baseline_prediction = start.reshape(1, 1)
    model.do_early_stopping_ = stopped_early
    model.n_trees_per_iteration_, model._n_features = 1, n_features
    model.is_categorical_ = model._is_categorical_remapped = model._preprocessor = None
    model._loss = model._get_loss(sample_weight=None)
    model._bin_mapper = mapper = _BinMapper()
    mapper.is_categorical_ = np.zeros(n_features, np.uint8)
    mapper.bin_thresholds_ = []  # of categories, none of which are here


def _write_isolation(model: Any, writer: Writer, where: str) -> Any:
    trees = [writer.tree(tree.tree_) for tree in model.estimators_]
    return {"rows": int(model._max_samples), "trees": trees}


def _read_isolation(node: Any, reader: Reader, where: str, name: str) -> Any:
    from sklearn.ensemble._iforest import _average_path_length

    trees, max_rows = _read_trees(node["trees"], reader), whole(node["rows"])
    require(max_rows < 2**31, f"{where} is impossible")
    n_features = trees[0].n_features
    model = _class(name)(n_estimators=len(trees), max_samples=max_rows)
    model.n_features_in_ = model._max_features = n_features
    model.max_samples_ = model._max_samples = max_rows
    model.estimators_features_ = [np.arange(n_features)] * len(trees)
    model.estimators_ = [_wrap(ExtraTreeRegressor(max_features=1), tree) for tree in trees]
    model.offset_ = -0.5
    model._decision_path_lengths = [tree.compute_node_depths() for tree in trees]
    sizes = [tree.n_node_samples for tree in trees]
    model._average_path_length_per_tree = list(map(_average_path_length, sizes))
    return model


# scikit-learn's smaller parts.


_ATTRIBUTES = {
    "RobustScaler": ("center_", "scale_"), "StandardScaler": ("mean_", "scale_"),
    "LinearRegression": ("coef_", "intercept_"), "Sum": ("k1", "k2"), "Product": ("k1", "k2"),
    "ConstantKernel": ("constant_value",), "RBF": ("length_scale",),
    "WhiteKernel": ("noise_level",),
}  # fmt: skip


def _write_attributes(value: Any, writer: Writer, where: str) -> Any:
    names = _ATTRIBUTES[type(value).__name__]
    return [writer.node(getattr(value, name), f"{where}.{name}") for name in names]


def _read_linear(node: Any, reader: Reader, where: str, name: str) -> Any:
    """A scaler, or a linear regression, of one number a column."""
    model, (of_columns, other) = _class(name)(), _ATTRIBUTES[name.partition(".")[2]]
    columns = reader.numbers(node[0], where, None)
    if other == "scale_":
        second: Any = reader.numbers(node[1], where, len(columns))
        require(len(columns) and (second > 0.0).all(), "a spread is impossible")
    else:
        second = reader.value(node[1], where)
        require(isinstance(second, float), f"{where} is no number")
    model.__dict__.update({of_columns: columns, other: second, "n_features_in_": len(columns)})
    return model


def _read_kernel(node: Any, reader: Reader, where: str, name: str) -> Any:
    names = _ATTRIBUTES[name.partition(".")[2]]
    values = [reader.value(part, f"{where}.{k}") for k, part in enumerate(node)]
    possible = all(isinstance(v, Kernel) if "k1" in names else _is_positive(v) for v in values)
    require(possible and len(values) == len(names), "its kernel is impossible")
    return _class(name)(*values)


def _is_positive(value: Any) -> bool:
    return isinstance(value, float) and math.isfinite(value) and value > 0.0


def _write_neighbours(model: Any, writer: Writer, where: str) -> Any:
    rows = np.asarray(model._fit_X, np.float64)
    return {"k": int(model.n_neighbors), "rows": writer.node(rows, where)}


def _read_neighbours(node: Any, reader: Reader, where: str, name: str) -> Any:
    rows, k = reader.numbers(node["rows"], where, None, None), whole(node["k"])
    require(rows.size and k <= len(rows), "it has fewer rows than neighbours")
    return _class(name)(n_neighbors=k).fit(rows)


# NGBoost with a Normal: trees in pairs, of the mean and of the log std.


def _write_ngboost(model: Any, writer: Writer, where: str) -> Any:
    is_normal = getattr(model.Dist, "__name__", "") == "Normal"
    if not is_normal or not getattr(model, "base_models", None):
        raise no_file_format(model)
    if any(len(own) != model.n_features for own in model.col_idxs):
        raise InvalidParameter("Trees of NGBoost that see only some columns cannot be saved.")
    return {
        "trees": [writer.tree(tree.tree_) for pair in model.base_models for tree in pair],
        "scalings": writer.node(np.array(model.scalings, np.float64), where),
        "start": writer.node(np.asarray(model.init_params, np.float64), where),
        "rate": float(model.learning_rate),
        "share": float(model.minibatch_frac),
    }


def _read_ngboost(node: Any, reader: Reader, where: str, name: str) -> Any:
    trees = _read_trees(node["trees"], reader)
    scalings, n_features = reader.numbers(node["scalings"], where, None), trees[0].n_features
    require(len(trees) == 2 * len(scalings), "its trees do not come in pairs")
    rate, share = node["rate"], node["share"]
    require(_is_positive(rate) and _is_positive(share), "a number is impossible")
    model = _class(name)(
        n_estimators=len(scalings),
        learning_rate=rate,
        verbose=False,
        minibatch_frac=share,
        random_state=0,
    )
    own = [_wrap(DecisionTreeRegressor(max_depth=3), tree) for tree in trees]
    model.base_models = [list(pair) for pair in zip(own[::2], own[1::2], strict=True)]
    model.scalings = scalings.tolist()
    model.col_idxs = [np.arange(n_features)] * len(scalings)
    model.init_params, model.n_features = reader.numbers(node["start"], where, 2), n_features
    return model


# stochtree's forests.

_STOCHTREE = {
    "left": np.int64,
    "right": np.int64,
    "split_index": np.int64,
    "threshold": np.float64,
    "leaf_value": np.float64,
}


def _write_stochtree(container: Any, writer: Writer, where: str) -> Any:
    forests = json.loads(container.dump_json_string(), object_hook=_in_order)
    n_forests, n_trees = forests["num_samples"], forests["num_trees"]
    trees = [forests[f"forest_{f}"][f"tree_{t}"] for f in range(n_forests) for t in range(n_trees)]
    arrays = join_columns(trees, _STOCHTREE)
    if _stochtree_forests(n_forests, n_trees, arrays) != forests:
        raise InvalidParameter(
            "This version of stochtree keeps trees in another way than 0.4, which this code "
            "knows: install that one to save XBART."
        )
    return {"forests": n_forests, "trees": n_trees, "nodes": writer.node(arrays, where)}


def _in_order(part: dict[str, Any]) -> dict[str, Any]:
    """The lists of nodes of a kind, whose order means nothing, in ascending order."""
    listed = ("internal_nodes", "leaves", "leaf_parents")
    return part | {name: sorted(part[name]) for name in listed if name in part}


def _stochtree_forests(n_forests: int, n_trees: int, arrays: Mapping[str, Any]) -> Any:
    """The forests as stochtree writes them."""
    ends = np.cumsum(arrays["sizes"])[:-1]
    columns = (np.split(arrays[name], ends) for name in _STOCHTREE)
    trees = (_stochtree_tree(*parts) for parts in zip(*columns, strict=True))
    shared = {
        "is_exponentiated": False,
        "is_leaf_constant": True,
        "num_trees": n_trees,
        "output_dimension": 1,
    }
    return {**shared, "initialized": True, "num_samples": n_forests} | {
        f"forest_{f}": {**shared, **{f"tree_{t}": next(trees) for t in range(n_trees)}}
        for f in range(n_forests)
    }


def _stochtree_tree(left: np.ndarray, right: np.ndarray, *others: np.ndarray) -> dict[str, Any]:
    inner, leaves = np.flatnonzero(left >= 0), np.flatnonzero(left < 0)
    parent = np.full(len(left), -1)
    parent[left[inner]] = parent[right[inner]] = inner
    has_leaves = (left[left[inner]] < 0) & (left[right[inner]] < 0)
    nothing = [0] * len(left)
    return {
        "category_list": [],
        "category_list_begin": nothing,
        "category_list_end": nothing,
        "deleted_nodes": [],
        "has_categorical_split": False,
        "internal_nodes": inner.tolist(),
        "is_log_scale": False,
        "leaf_parents": inner[has_leaves].tolist(),
        "leaf_vector": [],
        "leaf_vector_begin": nothing,
        "leaf_vector_end": nothing,
        "leaves": leaves.tolist(),
        "node_deleted": [False] * len(left),
        "node_type": (left >= 0).astype(int).tolist(),
        "num_deleted_nodes": 0,
        "num_nodes": len(left),
        "output_dimension": 1,
        "parent": parent.tolist(),
        **{k: v.tolist() for k, v in zip(_STOCHTREE, (left, right, *others), strict=True)},
    }


def _read_stochtree(node: Any, reader: Reader, where: str, name: str) -> Any:
    n_forests, n_trees = whole(node["forests"]), whole(node["trees"])
    arrays = reader.value(node["nodes"], where)
    require(isinstance(arrays, dict), f"{where} has no trees")
    sizes, _ = read_columns(arrays, _STOCHTREE, "", ("left", "right", "split_index"), 2**31)
    require(len(sizes) == n_forests * n_trees, "its forests are impossible")
    for column in ("threshold", "leaf_value"):
        require(np.isfinite(arrays[column]).all(), "a number is not finite")
    container = _class(name)(n_trees, 1, True, False)
    forests = _stochtree_forests(n_forests, n_trees, arrays)
    container.load_from_json_string(json.dumps(forests))
    # The largest column that a tree reads, which the estimator compares with its own.
    is_inner = arrays["left"] >= 0
    container.n_columns = int(arrays["split_index"][is_inner].max(initial=-1)) + 1
    return container


_BOTH_WAYS: dict[tuple[str, str], tuple[Any, Any]] = {  # a module and its classes
    ("gbuq_core.trees.importers", "LeafSource"): (_write_source, _read_source),
    ("lightgbm", "Booster LGBMRegressor LGBMClassifier"): (_write_lightgbm, _read_lightgbm),
    ("xgboost", "Booster XGBRegressor XGBClassifier"): (_write_xgboost, _read_xgboost),
    ("catboost", "CatBoost CatBoostRegressor CatBoostClassifier"): (
        _write_catboost,
        _read_catboost,
    ),
    (
        "sklearn.ensemble",
        "RandomForestRegressor ExtraTreesRegressor GradientBoostingRegressor "
        "HistGradientBoostingRegressor",
    ): (_write_ensemble, _read_ensemble),
    ("sklearn.tree", "DecisionTreeRegressor DecisionTreeClassifier"): (_write_tree, _read_tree),
    ("sklearn.frozen", "FrozenEstimator"): (
        lambda model, writer, where: writer.node(model.estimator, f"{where}.estimator"),
        lambda node, reader, where, name: _class(name)(reader.value(node, f"{where}.estimator")),
    ),
    ("pandas", "Index"): (
        lambda index, writer, where: writer.node(index.tolist(), where),
        lambda node, reader, where, name: reader.value(node, where),
    ),
    ("sklearn.ensemble", "IsolationForest"): (_write_isolation, _read_isolation),
    ("sklearn.preprocessing", "RobustScaler StandardScaler"): (_write_attributes, _read_linear),
    ("sklearn.neighbors", "NearestNeighbors"): (_write_neighbours, _read_neighbours),
    ("sklearn.linear_model", "LinearRegression"): (_write_attributes, _read_linear),
    ("sklearn.gaussian_process.kernels", "Sum Product ConstantKernel RBF WhiteKernel"): (
        _write_attributes,
        _read_kernel,
    ),
    ("ngboost", "NGBRegressor"): (_write_ngboost, _read_ngboost),
    ("stochtree", "ForestContainer"): (_write_stochtree, _read_stochtree),
}
CODECS = {
    f"{module.partition('.')[0]}.{name}": Codec(*both_ways, module, name in ("LeafSource", "Index"))
    for (module, names), both_ways in _BOTH_WAYS.items()
    for name in names.split()
}
