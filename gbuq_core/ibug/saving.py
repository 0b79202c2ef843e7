"""Fitted `IBUGRegressor` to a file and back: its model, and where the trees put the rows.

No row of the training table is in the file, only the leaves that the rows ended in, and targets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.ibug.affinity import TrainLeaves
from gbuq_core.ibug.affinity_kernels import NARROW_LEAVES, NO_CODE, LeafPlanes
from gbuq_core.ibug.categories import KINDS_OF_CODING, Coding
from gbuq_core.ibug.estimator import IBUGRegressor
from gbuq_core.ibug.families import FAMILIES, check_family
from gbuq_core.ibug.inputs import check_parameters
from gbuq_core.ibug.recalibrating import ValidationRows
from gbuq_core.ibug.search import Setting, TrainingRows, checksum
from gbuq_core.metrics.neighbour_tuning import NeighbourTuning
from gbuq_core.model_files.archive import write_archive
from gbuq_core.model_files.contents import (
    describe_fit,
    read_fit,
    read_parameters,
    require,
    take,
    whole,
    write_bytes,
)
from gbuq_core.model_files.library_models import (
    describe_given,
    describe_source,
    read_given,
    read_source,
)
from gbuq_core.trees.importers.ownership import is_owned

KINDS: dict[str, Any] = {"IBUGRegressor": IBUGRegressor}


def save_ibug(model: IBUGRegressor, target: Any) -> None:
    """Write a fitted estimator; what `IBUGRegressor.save` does.

    Raises
    ------
    InvalidParameter
        If the base model or a parameter cannot be held without pickle.
    """
    if type(model) is not IBUGRegressor:
        raise InvalidParameter(f"A {type(model).__name__} is of another class than gbuq's own.")
    rows, seen = model._rows, model._validation
    described, arrays = describe_source(rows.source)
    header = {
        **describe_fit(model),
        "base": described,
        "given": describe_given(model.base_model, rows.source, is_owned(model.base_model)),
        "n_neighbors": int(model.n_neighbors_),
        "min_scale": float(model.min_scale_),
        "gamma": float(model.gamma_),
        "delta": float(model.delta_),
        "posterior": model.posterior_,
        "validation": "none" if seen is None else "same" if seen.places is None else "own",
        "best": None if model.tuning_ is None else int(model.tuning_.best),
        "weighted": rows.weight is not None,
        "held_weighted": seen is not None and seen.weight is not None,
        "coding": None if model._coding is None else list(model._coding),
    }
    arrays |= _leaf_arrays(rows.leaves, "train") | {"y": rows.y}
    if rows.weight is not None:
        arrays["weight"] = rows.weight
    if seen is not None and seen.weight is not None:
        arrays["held_weight"] = seen.weight
    if model.tuning_ is not None:
        for name in ("n_neighbors", "nll", "crps", "min_scale"):
            arrays[f"tuning_{name}"] = getattr(model.tuning_, name)
        arrays["tuning_n_neighbors"] = arrays["tuning_n_neighbors"].astype(np.int64)
    if seen is not None:
        arrays |= {"held_y": seen.y, "held_loc": seen.loc}
        arrays["held_leaves"] = seen.own.astype(np.uint8 if seen.own.itemsize == 1 else np.int64)
        if seen.places is not None:
            arrays |= _leaf_arrays(seen.leaves, "tuned")
            arrays["places"] = seen.places.astype(np.int64)
    write_bytes(write_archive(header, arrays), target)


def build_ibug(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], read: Callable[[bytes], Any]
) -> IBUGRegressor:
    """The estimator that a file describes.

    Parameters
    ----------
    header, arrays
        What the file holds.
    read : callable
        Makes an estimator of the bytes that its ``save`` has written.

    Raises
    ------
    ModelFileError
        If it holds what no fit makes; kernels check nothing, so every index is checked here.
    """
    known = set(IBUGRegressor().get_params()) - {"base_model"}
    model = IBUGRegressor(**read_parameters(header, known))
    check_parameters(model)
    read_fit(model, header)
    source = read_source(header["base"], arrays, read)
    require(source.n_features == model.n_features_in_, "its model has other columns")
    model.base_model = read_given(header["given"], source)
    is_given = header["given"]["form"] in ("model", "frozen", "source")
    model.model_ = model.base_model if is_given else source.model
    y = _finite(arrays, "y", None)
    require(len(y) >= 2 and y.min() < y.max(), "its targets are impossible")
    leaves = _read_leaves(arrays, "train", len(y), source.n_trees)
    model.weight_train_ = weight = _read_weight(header.get("weighted"), arrays, "weight", len(y))
    model._rows = TrainingRows(source, leaves, y, checksum(leaves, y, weight), weight)
    model._coding = _read_coding(header, model.n_features_in_)
    model.n_trees_ = source.n_trees
    if is_given and model.n_trees_sampled is not None:
        require(model.n_trees_sampled <= source.n_trees, "its model has fewer trees")
    model._validation = _read_validation(model, header, arrays)
    model.y_validation_ = np.empty(0) if model._validation is None else model._validation.y
    _read_choice(model, header, arrays)
    model.memory_bytes_ = leaves.n_bytes + y.nbytes
    if model._validation is not None:
        model.memory_bytes_ += model._validation.n_bytes
    model.y_train_ = y
    return model


def _leaf_arrays(leaves: TrainLeaves, prefix: str) -> dict[str, np.ndarray]:
    return {
        f"{prefix}_low": leaves.planes.low,
        f"{prefix}_high": leaves.planes.high,
        f"{prefix}_lookup": leaves.lookup,
        f"{prefix}_n_leaves": leaves.n_leaves,
    }


def _read_leaves(
    arrays: Mapping[str, np.ndarray], prefix: str, n_rows: int, n_trees: int | None
) -> TrainLeaves:
    """Leaves of so many rows, all of whose codes exist."""
    low = take(arrays, f"{prefix}_low", np.uint8, (n_trees, n_rows))
    n_trees = len(low)
    require(n_trees >= 1, "it has no trees")
    n_leaves = take(arrays, f"{prefix}_n_leaves", np.int64, (n_trees,))
    require((n_leaves >= 1).all() and (n_leaves <= NO_CODE).all(), "a tree's leaves are impossible")
    wide = np.flatnonzero(n_leaves > NARROW_LEAVES)
    high = take(arrays, f"{prefix}_high", np.uint8, (len(wide), n_rows))
    high_row = np.full(n_trees, -1, np.int32)
    high_row[wide] = np.arange(len(wide))
    largest = low.max(axis=1).astype(np.int64)
    for row, tree in enumerate(wide):
        largest[tree] = int((low[tree] + 256 * high[row].astype(np.int64)).max())
    require((largest < n_leaves).all(), "a row is in a leaf that does not exist")
    lookup = take(arrays, f"{prefix}_lookup", np.int32, (n_trees, None))
    known = (lookup >= -1).all() and (lookup < n_leaves[:, None]).all()
    require(lookup.shape[1] >= 1 and known, "a leaf does not exist")
    return TrainLeaves(LeafPlanes(low, high, high_row), lookup, n_leaves)


def _read_validation(
    model: IBUGRegressor, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> ValidationRows | None:
    form = header["validation"]
    require(form in ("none", "same", "own"), "its validation rows are odd")
    if form == "none":
        return None
    y_train, leaves, places = model._rows.y, model._rows.leaves, None
    y = _finite(arrays, "held_y", None)
    require(len(y) >= 1, "it has no validation rows")
    if form == "own":
        places = take(arrays, "places", np.int64, (None,)).astype(np.intp)
        inside = len(places) >= 2 and (places >= 0).all() and (places < len(y_train)).all()
        require(inside, "a row does not exist")
        leaves = _read_leaves(arrays, "tuned", len(places), None)
    shape = (len(y), leaves.n_trees)
    own = arrays["held_leaves"]
    own = take(arrays, "held_leaves", np.uint8 if own.dtype == np.uint8 else np.int64, shape)
    require((own >= 0).all() and (own < 2**26).all(), "a leaf does not exist")
    if own.dtype != np.uint8:
        own = own.astype(np.promote_types(np.uint16, np.min_scalar_type(int(own.max()))))
    loc = _finite(arrays, "held_loc", len(y))
    weight = _read_weight(header.get("held_weighted"), arrays, "held_weight", len(y))
    return ValidationRows(
        leaves, own, loc, y, places, y_train, model.seed_, model.n_jobs, weight, model._rows.weight
    )


def _read_choice(
    model: IBUGRegressor, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """k, the least scale, the calibration and the family, as the fit has chosen them."""
    k, seen = whole(header["n_neighbors"], low=2), model._validation
    most = model._rows.n_places if seen is None else seen.n_places
    require(k <= most, "it has fewer rows than neighbours")
    sizes = [header[name] for name in ("min_scale", "gamma", "delta")]
    require(all(type(v) is float and math.isfinite(v) for v in sizes), "its scale is impossible")
    setting = Setting(k, *sizes)
    require(setting.min_scale > 0.0 and setting.gamma > 0.0, "its scale is impossible")
    choice = model._choose_trees(None, None)
    model.n_neighbors_, model.min_scale_, model.gamma_, model.delta_ = setting
    model.posterior_ = header["posterior"]
    require(model.posterior_ in FAMILIES, "its family is unknown")
    check_family(model.posterior_, model._rows.y)
    model.tuning_ = None
    if seen is not None:
        seen.keep_setting(choice, setting, model.calibrate, model.scoring, model.min_scale)
    if header["best"] is None:
        require(model.n_neighbors != "tune", "the scores of its tuning are missing")
        return
    require(seen is not None, "it has no validation rows")
    counts = take(arrays, "tuning_n_neighbors", np.int64, (None,))
    best = whole(header["best"], low=0)
    matches = best < len(counts) and counts[best] == k and model.n_neighbors == "tune"
    require(matches, "the scores of its tuning are impossible")
    nll, crps, least = (
        take(arrays, f"tuning_{name}", np.float64, counts.shape)
        for name in ("nll", "crps", "min_scale")
    )
    found = NeighbourTuning(counts, nll, crps, least, best)
    model.tuning_ = seen.keep_tuning(choice, model.scoring, found) if seen is not None else None


def _read_weight(
    weighted: Any, arrays: Mapping[str, np.ndarray], name: str, n_rows: int
) -> np.ndarray | None:
    """How many rows each row counts as; None where all count once."""
    require(weighted is None or type(weighted) is bool, "its weights are odd")
    if not weighted:
        return None
    weight = _finite(arrays, name, n_rows)
    require((weight > 0.0).all() and weight.sum() < 2.0**500, "a weight is impossible")
    return weight


def _read_coding(header: Mapping[str, Any], n_features: int) -> Coding | None:
    """How text is read; None of numbers, and in files without it."""
    given = header.get("coding")
    if given is None:
        return None
    require(type(given) is list and len(given) == 3, "its categories are odd")
    kind, positions, levels = given
    require(kind in KINDS_OF_CODING, "its categories are of an unknown kind")
    require(type(positions) is list and type(levels) is list, "its categories are odd")
    places = tuple(whole(position, low=0) for position in positions)
    rises = all(a < b for a, b in pairwise(places)) and 0 < len(places) == len(levels)
    require(rises and places[-1] < n_features, "its categories are of other columns")
    for column in levels:
        known = type(column) is list and all(type(level) in (str, float) for level in column)
        require(known and len(set(column)) == len(column), "a level is impossible")
    return Coding(kind, places, tuple(tuple(column) for column in levels))


def _finite(arrays: Mapping[str, np.ndarray], name: str, length: int | None) -> np.ndarray:
    array = take(arrays, name, np.float64, (length,))
    require(np.isfinite(array).all(), "a number is not finite")
    return array
