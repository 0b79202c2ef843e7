"""Fitted baselines to a file and back, without pickle: arrays, other libraries' own files, trees.

One pair of functions a family: ``_store_...`` tells what the header holds and the arrays, and
``_fill_...`` sets the fitted attributes again, after checking every number that indexes something.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import RobustScaler, StandardScaler

from gbuq_core import baselines
from gbuq_core.baselines import boosted_distributions, conformal, xbart
from gbuq_core.baselines.bootstrap_trees import tree_bytes
from gbuq_core.baselines.neighbours import _Space
from gbuq_core.baselines.quantiles import check_quantiles
from gbuq_core.errors import InvalidParameter
from gbuq_core.metrics.scale_calibration import SCORINGS, ScaleCalibration
from gbuq_core.model_files.archive import write_archive
from gbuq_core.model_files.contents import (
    describe_classes,
    is_text,
    pack,
    parameters,
    read_classes,
    read_columns,
    read_parameters,
    read_target_scale,
    require,
    take,
    unpack,
    whole,
    write_bytes,
)
from gbuq_core.model_files.library_models import (
    describe_given,
    describe_source,
    read_given,
    read_source,
)
from gbuq_core.model_files.sklearn_models import wrap_regression_trees
from gbuq_core.model_files.sklearn_trees import (
    NO_TREE,
    check_features,
    check_nodes,
    read_trees,
    store_trees,
)
from gbuq_core.trees.importers import leaf_source, load_leaf_source
from gbuq_core.trees.importers.ownership import copy_unfitted, is_owned

Arrays = Mapping[str, np.ndarray]
Stored = tuple[dict[str, Any], dict[str, np.ndarray]]
Reader = Callable[[bytes], Any]
_NO_FILES = ("base_model", "estimators")
_WITHOUT_SECONDS = ("AveragingRegressor", "EuclideanNeighborsRegressor")
_WITHOUT_SEED = (*_WITHOUT_SECONDS, "XBARTRegressor")


def save_baseline(model: Any, target: Any) -> None:
    """Write a fitted baseline; what its ``save`` does.

    Raises
    ------
    InvalidParameter
        If a model within it or a parameter cannot be held without pickle.
    """
    name = type(model).__name__
    if KINDS.get(name) is not type(model):
        raise InvalidParameter(f"A {name} is of another class than gbuq's own.")
    header: dict[str, Any] = {
        "kind": name,
        "params": parameters(model),
        "n_features": int(model.n_features_in_),
        "feature_names": list(getattr(model, "feature_names_in_", [])),
        "seed": getattr(model, "seed_", None),
        "fit_seconds": getattr(model, "fit_seconds_", None),
    }
    if hasattr(model, "target_scale_"):
        header["target_scale"] = [float(part) for part in model.target_scale_]
    described, arrays = _FORMS[name][0](model)
    write_bytes(write_archive(header | described, arrays), target)


def build_baseline(header: Mapping[str, Any], arrays: Arrays, read: Reader) -> Any:
    """The baseline that a file describes.

    Parameters
    ----------
    header, arrays
        What the file holds.
    read : callable
        Makes an estimator of the bytes that its ``save`` has written.

    Raises
    ------
    ModelFileError
        If it holds what no fit makes.
    """
    name = header["kind"]
    kind = KINDS[name]
    defaults = kind([]) if name == "AveragingRegressor" else kind()
    known = set(defaults.get_params(deep=False)) - set(_NO_FILES)
    model = defaults.set_params(**read_parameters(header, known))
    read_columns(model, header)
    if hasattr(model, "_check_parameters"):
        model._check_parameters()
    if hasattr(model, "scoring"):
        require(model.scoring in SCORINGS, "a parameter is impossible")
    require((header["seed"] is None) == (name in _WITHOUT_SEED), "its seed is odd")
    if header["seed"] is not None:
        model.seed_ = whole(header["seed"], low=0)
        require(model.seed_ < 2**63, "a number is out of range")
    if "target_scale" in header:
        model.target_scale_ = read_target_scale(header)
    _FORMS[name][1](model, header, arrays, read)
    if name not in _WITHOUT_SECONDS:
        model.fit_seconds_ = float(header["fit_seconds"])
    return model


# LightGBM's forests.


def _pack_forest(booster: Any, name: str) -> dict[str, np.ndarray]:
    return pack(name, booster.model_to_string(num_iteration=-1).encode())


def _read_forest(model: Any, arrays: Arrays, name: str) -> Any:
    source = load_leaf_source(unpack(arrays, name), "lightgbm")
    require(source.n_features == model.n_features_in_, "its forest has other columns")
    return source.model


def _store_forest(model: Any) -> Stored:
    return {}, _pack_forest(model.booster_, "forest")


def _fill_forest(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    model.booster_ = _read_forest(model, arrays, "forest")


def _store_gaussian_nll(model: Any) -> Stored:
    inner = {"intercept": float(model._inner_intercept)}
    return inner, _pack_forest(model.booster_, "forest") | {"coef": model.coef_}


def _fill_gaussian_nll(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    _fill_forest(model, header, arrays, read)
    model.coef_ = _finite(arrays, "coef", model.n_features_in_)
    model._inner_intercept = _number(header["intercept"])
    spread = model.target_scale_.spread
    model.intercept_ = model._inner_intercept + 2.0 * float(np.log(spread))


def _store_quantiles(model: Any) -> Stored:
    arrays = {"quantiles": model.quantiles_, "target_values": model.target_values_}
    arrays |= _pack_forest(model.mean_booster_, "mean")
    for place, booster in enumerate(model.boosters_):
        arrays |= _pack_forest(booster, f"forest_{place}")
    return {"n_target_values": len(model.target_values_)}, arrays


def _fill_quantiles(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    model.quantiles_ = check_quantiles(_finite(arrays, "quantiles", None))
    n_values = whole(header["n_target_values"], low=1)
    model.target_values_ = _finite(arrays, "target_values", n_values)
    ascend = (np.diff(model.target_values_) > 0.0).all()
    require(ascend, "its values of the target do not ascend")
    model.mean_booster_ = _read_forest(model, arrays, "mean")
    count = len(model.quantiles_)
    require(f"forest_{count}" not in arrays, "it has more forests than quantiles")
    model.boosters_ = [_read_forest(model, arrays, f"forest_{i}") for i in range(count)]


def _store_moved_quantiles(model: Any) -> Stored:
    header, arrays = _store_quantiles(model)
    arrays |= {"levels": model.levels_, "shifts": model._inner_shifts}
    return header | {"n_calibration": int(model.n_calibration_)}, arrays


def _fill_moved_quantiles(
    model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader
) -> None:
    _fill_quantiles(model, header, arrays, read)
    model.levels_ = check_quantiles(_finite(arrays, "levels", None), at_least=1)
    matches = len(model.quantiles_) == 2 * len(model.levels_) + 1
    require(matches, "its levels are not those of its forests")
    model._inner_shifts = _finite(arrays, "shifts", len(model.levels_))
    model.shifts_ = model._inner_shifts * model.target_scale_.spread
    model.n_calibration_ = whole(header["n_calibration"])


def _store_conformal(model: Any) -> Stored:
    header: dict[str, Any] = {
        "inner": "forest",
        "n_levels": len(model.levels_),
        "n_calibration": int(model.n_calibration_),
    }
    arrays = {"levels": model.levels_, "residuals": _scores_of(model)}
    if not isinstance(model.model_, LinearRegression):
        return header, arrays | _pack_forest(model.model_, "forest")
    arrays |= {"coef": model.model_.coef_}
    arrays["intercept"] = np.array(float(model.model_.intercept_))
    return header | {"inner": "linear"}, arrays


def _scores_of(model: Any) -> np.ndarray:
    return np.asarray(model.conformal_.conformity_scores, np.float64).ravel()


def _fill_conformal(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    model.levels_ = check_quantiles(
        _finite(arrays, "levels", whole(header["n_levels"])), at_least=1
    )
    residuals = _finite(arrays, "residuals", whole(header["n_calibration"]))
    require((residuals >= 0.0).all(), "its residuals are impossible")
    model.n_calibration_ = len(residuals)
    model._check_calibration(len(residuals))
    if header["inner"] == "linear":
        linear = LinearRegression()
        linear.coef_ = _finite(arrays, "coef", model.n_features_in_)
        linear.intercept_ = float(take(arrays, "intercept", np.float64, ()))
        linear.n_features_in_ = model.n_features_in_
        model.model_ = linear
    else:
        require(header["inner"] == "forest", "its model is of an unknown kind")
        model.model_ = _read_forest(model, arrays, "forest")
    # A prediction of 0 has the residuals for targets.
    model._calibrate(conformal._mapie(), np.zeros((len(residuals), 1)), residuals)


# Boosted normals.


def _store_catboost(model: Any) -> Stored:
    described, arrays = describe_source(leaf_source(model.model_))
    return {"base": described, "learning_rate": float(model.learning_rate_)}, arrays


def _fill_catboost(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    model.learning_rate_ = _number(header["learning_rate"])
    require(header["base"]["library"] == "catboost", "its model is of another kind")
    source = read_source(header["base"], arrays, read)
    model.model_ = source.model
    known = header["base"]["class"] == "CatBoostRegressor"
    require(known and source.n_features == model.n_features_in_, "its model has other columns")
    require(source.n_iterations >= 2 * model.n_members, "its model has too few trees")
    has_std = len(model.model_.get_leaf_values()) == 2 * int(source.leaf_counts.sum())
    require(has_std, "its model predicts no std")


def _store_ngboost(model: Any) -> Stored:
    inner = model.model_
    if any(len(own) != model.n_features_in_ for own in inner.col_idxs):
        raise InvalidParameter("Trees of NGBoost that see only some columns cannot be saved.")
    arrays = store_trees([tree for pair in inner.base_models for tree in pair])
    arrays["scalings"] = np.array(inner.scalings, np.float64)
    arrays["start"] = np.asarray(inner.init_params, np.float64)
    return {"learning_rate": float(model.learning_rate_)}, arrays


def _fill_ngboost(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    library = boosted_distributions._ngboost()
    model.learning_rate_ = _number(header["learning_rate"])
    n_features = model.n_features_in_
    trees = wrap_regression_trees(read_trees(arrays, n_features), n_features, max_depth=3)
    scalings = _finite(arrays, "scalings", None)
    require(len(trees) == 2 * len(scalings), "its trees do not come in pairs")
    inner = library.NGBRegressor(
        n_estimators=len(scalings), learning_rate=model.learning_rate_, verbose=False,
        minibatch_frac=float(model.subsample), random_state=model.seed_,
    )  # fmt: skip
    inner.base_models = [list(pair) for pair in zip(trees[::2], trees[1::2], strict=True)]
    inner.scalings = scalings.tolist()
    inner.col_idxs = [np.arange(n_features)] * len(scalings)
    inner.init_params, inner.n_features = _finite(arrays, "start", 2), n_features
    model.model_ = inner


# Forests as ensembles.


def _store_groups(model: Any) -> Stored:
    header: dict[str, Any] = {
        "groups": [len(model.groups_), len(model.groups_[0])],
        "levels": [known if known is None else list(known) for known in model.column_levels_],
        "member_seeds": getattr(model, "member_seeds_", None),
    }
    if hasattr(model, "classes_"):
        header["classes"] = describe_classes(model.classes_)
    return header, store_trees([tree for group in model.groups_ for tree in group])


def _fill_groups(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    n_features, n_values = model.n_features_in_, 1
    if isinstance(model, baselines.ForestEnsembleClassifier):
        model.classes_ = read_classes(header["classes"])
        n_values = len(model.classes_)
    trees = read_trees(arrays, n_features, n_values)
    n_groups, size = (whole(part) for part in header["groups"])
    require(n_groups * size == len(trees), "its groups of trees are impossible")
    wrapped = wrap_regression_trees(trees, n_features)
    if n_values > 1:
        wrapped = _as_classifiers(trees, n_features)
    model.groups_ = [wrapped[first : first + size] for first in range(0, len(trees), size)]
    levels = header["levels"]
    require(all(known is None or is_text(known) for known in levels), "its columns do not match")
    require(len(levels) in (0, n_features), "its columns do not match")
    model.column_levels_ = tuple(None if known is None else tuple(known) for known in levels)
    if header["member_seeds"] is not None:
        model.member_seeds_ = [whole(seed, low=0) for seed in header["member_seeds"]]
    model.n_trees_ = len(trees)
    model.memory_bytes_ = sum(tree_bytes(tree) for tree in wrapped)


def _as_classifiers(trees: list[Any], n_features: int) -> list[Any]:
    from sklearn.tree import DecisionTreeClassifier

    found = []
    for tree in trees:
        one: Any = DecisionTreeClassifier(max_features="sqrt")
        one.tree_, one.n_outputs_, one.n_features_in_ = tree, 1, n_features
        one.n_classes_ = tree.value.shape[2]
        one.classes_ = np.arange(one.n_classes_)
        found.append(one)
    return found


# Distances and isolation.


def _store_isolation(model: Any) -> Stored:
    inner = model.model_
    return {"max_rows": int(inner._max_samples)}, store_trees(inner.estimators_)


def _fill_isolation(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    from sklearn.ensemble import IsolationForest
    from sklearn.ensemble._iforest import _average_path_length
    from sklearn.tree import ExtraTreeRegressor

    n_features, max_rows = model.n_features_in_, whole(header["max_rows"])
    trees = read_trees(arrays, n_features)
    require(max_rows < 2**31, "a number is out of range")
    inner = IsolationForest(n_estimators=len(trees), max_samples=max_rows, random_state=model.seed_)
    inner.n_features_in_ = inner._max_features = n_features
    inner.max_samples_ = inner._max_samples = max_rows
    inner.estimators_features_ = [np.arange(n_features)] * len(trees)
    inner.estimators_, inner.offset_ = [], -0.5
    for tree in trees:
        one: Any = ExtraTreeRegressor(max_features=1)
        one.tree_, one.n_outputs_, one.n_features_in_ = tree, 1, n_features
        inner.estimators_.append(one)
    inner._decision_path_lengths = [tree.compute_node_depths() for tree in trees]
    inner._average_path_length_per_tree = [
        _average_path_length(tree.n_node_samples) for tree in trees
    ]
    model.model_ = inner


def _store_distance(model: Any) -> Stored:
    arrays = {"centre": model._scaler.center_, "scale": model._scaler.scale_}
    rows = np.asarray(model._index._fit_X, np.float64)
    return {"k": int(model._index.n_neighbors), "n_rows": len(rows)}, arrays | {"rows": rows}


def _fill_distance(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    n_features, k = model.n_features_in_, whole(header["k"])
    scaler = RobustScaler()
    scaler.center_ = _finite(arrays, "centre", n_features)
    scaler.scale_ = _positive(arrays, "scale", n_features)
    scaler.n_features_in_ = n_features
    rows = _finite(arrays, "rows", whole(header["n_rows"]), n_features)
    require(k <= len(rows), "it has fewer rows than neighbours")
    model._scaler, model._index = scaler, NearestNeighbors(n_neighbors=k).fit(rows)


def _store_neighbours(model: Any) -> Stored:
    space = model._space
    header: dict[str, Any] = {
        "n_neighbors": int(model.n_neighbors_),
        "n_mean_neighbors": int(model.n_mean_neighbors_),
        "setting": [float(model.min_scale_), float(model.gamma_), float(model.delta_)],
        "base": None,
    }
    arrays: dict[str, np.ndarray] = {}
    if model.model_ is not None:
        source = leaf_source(model.model_)
        header["base"], arrays = describe_source(source)
        header["given"] = describe_given(model.base_model, source, is_owned(model.base_model))
    arrays |= {
        "columns": np.asarray(model.columns_, np.int64),
        "centre": space.scaler.mean_,
        "scale": space.scaler.scale_,
        "rows": np.asarray(space.index._fit_X, np.float64),
        "y": space.y,
    }
    return header, arrays


def _fill_neighbours(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    model.model_ = None
    if header["base"] is not None:
        source = read_source(header["base"], arrays, read)
        require(source.n_features == model.n_features_in_, "its model has other columns")
        model.model_, model.base_model = source.model, read_given(header["given"], source)
        if header["given"]["form"] in ("frozen", "source"):
            model.model_ = model.base_model
    columns = take(arrays, "columns", np.int64, (None,)).astype(np.intp)
    inside = ((columns >= 0) & (columns < model.n_features_in_)).all()
    require(len(columns) >= 1 and inside, "a column does not exist")
    scaler = StandardScaler()
    scaler.mean_ = _finite(arrays, "centre", len(columns))
    scaler.scale_ = _positive(arrays, "scale", len(columns))
    scaler.var_, scaler.n_features_in_ = scaler.scale_**2, len(columns)
    rows = _finite(arrays, "rows", None, len(columns))
    y = _finite(arrays, "y", len(rows))
    model._space = _Space(columns, scaler, NearestNeighbors().fit(rows), y)
    model.n_neighbors_ = whole(header["n_neighbors"])
    model.n_mean_neighbors_ = whole(header["n_mean_neighbors"], low=0)
    most = max(model.n_neighbors_, model.n_mean_neighbors_)
    needed = (model.n_mean_neighbors_ == 0) == (model.model_ is not None)
    require(most <= len(rows) and needed, "its number of neighbours is impossible")
    model.min_scale_, model.gamma_, model.delta_ = (_number(v) for v in header["setting"])
    model.columns_ = columns


# Posteriors over functions.


def _store_process(model: Any) -> Stored:
    signal, noise = model._kernel.k1, model._kernel.k2
    kernel = (signal.k1.constant_value, signal.k2.length_scale, noise.noise_level)
    header = {
        "kernel": [float(part) for part in kernel],
        "likelihood": float(model.log_marginal_likelihood_),
    }
    arrays = {
        "centre": model._centre, "spread": model._spread, "rows": model._X,
        "lower": model._lower, "weights": model._weights,
    }  # fmt: skip
    return header, arrays


def _fill_process(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    constant, length, noise = (_number(part) for part in header["kernel"])
    require(min(constant, length, noise) > 0.0, "its kernel is impossible")
    model._kernel = ConstantKernel(constant) * RBF(length) + WhiteKernel(noise)
    n_features = model.n_features_in_
    model._centre = _finite(arrays, "centre", n_features)
    model._spread = _positive(arrays, "spread", n_features)
    model._X = _finite(arrays, "rows", None, n_features)
    n_rows = len(model._X)
    require(n_rows >= 1, "it has no rows")
    model._lower = _finite(arrays, "lower", n_rows, n_rows)
    require((np.diagonal(model._lower) > 0.0).all(), "its covariance is impossible")
    model._weights = _finite(arrays, "weights", n_rows)
    square = model.target_scale_.spread**2
    model.length_scale_ = length
    model.signal_variance_, model.noise_variance_ = constant * square, noise * square
    model.log_marginal_likelihood_ = _number(header["likelihood"])


_XBART_FIELDS = {"left": np.int64, "right": np.int64, "split_index": np.int64,
                 "threshold": np.float64, "leaf_value": np.float64}  # fmt: skip


def _store_xbart(model: Any) -> Stored:
    forests = json.loads(model._forests.dump_json_string())
    trees = [
        forests[f"forest_{f}"][f"tree_{t}"]
        for f in range(forests["num_samples"])
        for t in range(forests["num_trees"])
    ]
    arrays = {
        name: np.concatenate([np.asarray(tree[name], kind) for tree in trees])
        for name, kind in _XBART_FIELDS.items()
    }
    arrays["sizes"] = np.array([tree["num_nodes"] for tree in trees], np.int64)
    arrays["noise_variances"] = model.noise_variances_
    header = {"n_forests": forests["num_samples"], "n_forest_trees": forests["num_trees"]}
    if _in_order(_xbart_forests(header, arrays)) != _in_order(forests):
        raise InvalidParameter(
            "This version of stochtree keeps trees in another way than 0.4, which this code "
            "knows: install that one to save XBART."
        )
    return header | {"n_kept": int(model.n_kept_)}, arrays


def _in_order(forests: Any) -> Any:
    """The lists of nodes of a kind, whose order means nothing, in ascending order."""
    for forest in forests.values():
        for tree in forest.values() if isinstance(forest, dict) else ():
            if isinstance(tree, dict):
                for name in ("internal_nodes", "leaves", "leaf_parents"):
                    tree[name] = sorted(tree[name])
    return forests


def _xbart_forests(header: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """The forests as stochtree writes them."""
    n_forests, n_trees = header["n_forests"], header["n_forest_trees"]
    ends = np.cumsum(arrays["sizes"])
    shared = {"is_exponentiated": False, "is_leaf_constant": True, "num_trees": n_trees,
              "output_dimension": 1}  # fmt: skip
    forests: dict[str, Any] = {**shared, "initialized": True, "num_samples": n_forests}
    for f in range(n_forests):
        forest = dict(shared)
        for t in range(n_trees):
            place = f * n_trees + t
            here = slice(int(ends[place] - arrays["sizes"][place]), int(ends[place]))
            forest[f"tree_{t}"] = _xbart_tree({k: arrays[k][here] for k in _XBART_FIELDS})
        forests[f"forest_{f}"] = forest
    return forests


def _xbart_tree(fields: Mapping[str, np.ndarray]) -> dict[str, Any]:
    left, right = fields["left"], fields["right"]
    inner, leaves = np.flatnonzero(left >= 0), np.flatnonzero(left < 0)
    parent = np.full(len(left), -1)
    parent[left[inner]] = parent[right[inner]] = inner
    has_leaves = (left[left[inner]] < 0) & (left[right[inner]] < 0)
    nothing = [0] * len(left)
    return {
        "category_list": [], "category_list_begin": nothing, "category_list_end": nothing,
        "deleted_nodes": [], "has_categorical_split": False, "internal_nodes": inner.tolist(),
        "is_log_scale": False, "leaf_parents": inner[has_leaves].tolist(), "leaf_vector": [],
        "leaf_vector_begin": nothing, "leaf_vector_end": nothing, "leaves": leaves.tolist(),
        "node_deleted": [False] * len(left), "node_type": (left >= 0).astype(int).tolist(),
        "num_deleted_nodes": 0, "num_nodes": len(left), "output_dimension": 1,
        "parent": parent.tolist(), **{name: column.tolist() for name, column in fields.items()},
    }  # fmt: skip


def _fill_xbart(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    n_forests, n_trees = whole(header["n_forests"]), whole(header["n_forest_trees"])
    n_kept = whole(header["n_kept"])
    sizes = take(arrays, "sizes", np.int64, (n_forests * n_trees,))
    n_nodes = len(take(arrays, "left", np.int64, (None,)))
    possible = (sizes >= 1).all() and (sizes <= n_nodes).all() and int(sizes.sum()) == n_nodes
    require(possible and n_kept <= n_forests, "its forests are impossible")
    columns = {name: take(arrays, name, kind, (n_nodes,)) for name, kind in _XBART_FIELDS.items()}
    left, right = columns["left"], columns["right"]
    is_leaf = left < 0
    require((left[is_leaf] == -1).all() and (right[is_leaf] == -1).all(), NO_TREE)
    check_nodes(sizes, left, right, is_leaf)
    check_features(columns["split_index"][~is_leaf], model.n_features_in_)
    for name in ("threshold", "leaf_value"):
        require(np.isfinite(columns[name]).all(), "a number is not finite")
    forests = _xbart_forests(header, columns | {"sizes": sizes})
    model._forests = xbart._stochtree().ForestContainer(n_trees, 1, True, False)
    model._forests.load_from_json_string(json.dumps(forests))
    model.n_kept_ = n_kept
    model.noise_variances_ = _positive(arrays, "noise_variances", n_kept)


# Averages.


def _store_average(model: Any) -> Stored:
    arrays: dict[str, np.ndarray] = {}
    for place, member in enumerate(model.estimators_):
        if not hasattr(member, "save"):
            raise InvalidParameter(
                f"A {type(member).__name__} has no save, so an average with it cannot be saved: "
                "average estimators of gbuq."
            )
        file = io.BytesIO()
        member.save(file)
        arrays |= pack(f"member_{place}", file.getvalue())
    calibrations = [[float(part) for part in each] for each in model.calibrations_]
    return {"names": [name for name, _ in model.estimators], "calibrations": calibrations}, arrays


def _fill_average(model: Any, header: Mapping[str, Any], arrays: Arrays, read: Reader) -> None:
    names, calibrations = header["names"], header["calibrations"]
    require(is_text(names) and len(names) == len(calibrations) >= 1, "its members are odd")
    require(len(set(names)) == len(names), "its members are odd")
    model.estimators_ = [read(unpack(arrays, f"member_{i}")) for i in range(len(names))]
    for member in model.estimators_:
        fits = hasattr(member, "predict_distribution")
        require(fits and member.n_features_in_ == model.n_features_in_, "a member is odd")
    members = [copy_unfitted(member) for member in model.estimators_]
    model.estimators = list(zip(names, members, strict=True))
    model.calibrations_ = []
    for gamma, delta, score in calibrations:
        require(type(score) is float, "a calibration is impossible")
        model.calibrations_.append(ScaleCalibration(_number(gamma), _number(delta), score))


def _number(value: Any) -> float:
    require(type(value) is float and math.isfinite(value), "a number is not finite")
    return float(value)


def _finite(arrays: Arrays, name: str, *shape: int | None) -> np.ndarray:
    array = take(arrays, name, np.float64, shape)
    require(np.isfinite(array).all(), "a number is not finite")
    return array


def _positive(arrays: Arrays, name: str, *shape: int | None) -> np.ndarray:
    array = _finite(arrays, name, *shape)
    require((array > 0.0).all(), "a spread is impossible")
    return array


_FORMS: dict[str, tuple[Callable[[Any], Stored], Callable[..., None]]] = {
    "AveragingRegressor": (_store_average, _fill_average),
    "CatBoostUncertaintyRegressor": (_store_catboost, _fill_catboost),
    "ConformalRegressor": (_store_conformal, _fill_conformal),
    "ConformalizedQuantileRegressor": (_store_moved_quantiles, _fill_moved_quantiles),
    "DistanceScore": (_store_distance, _fill_distance),
    "EuclideanNeighborsRegressor": (_store_neighbours, _fill_neighbours),
    "ForestEnsembleClassifier": (_store_groups, _fill_groups),
    "ForestEnsembleRegressor": (_store_groups, _fill_groups),
    "ForestVarianceRegressor": (_store_forest, _fill_forest),
    "GaussianNLLRegressor": (_store_gaussian_nll, _fill_gaussian_nll),
    "GaussianProcessBaseline": (_store_process, _fill_process),
    "IsolationForestScore": (_store_isolation, _fill_isolation),
    "NGBoostRegressor": (_store_ngboost, _fill_ngboost),
    "QuantileForestRegressor": (_store_quantiles, _fill_quantiles),
    "XBARTRegressor": (_store_xbart, _fill_xbart),
}
KINDS: dict[str, Any] = {name: getattr(baselines, name) for name in _FORMS}
