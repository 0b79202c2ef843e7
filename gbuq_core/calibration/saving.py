"""Calibrated regressions to a file and back: the estimator's own file, and what calibration chose.

A gbuq estimator is held as its own ``save`` writes it, a CatBoost model in CatBoost's binary form.
NGBoost and scikit-learn have no file format without pickle.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from gbuq_core.calibration.boosters import reader_of
from gbuq_core.calibration.clocks import TAILS, Clocks
from gbuq_core.calibration.laws import CoverageMap
from gbuq_core.calibration.regressor import METHODS, CalibratedRegressor
from gbuq_core.calibration.widths import SHAPES
from gbuq_core.errors import InvalidParameter
from gbuq_core.model_files.archive import damaged, write_archive
from gbuq_core.model_files.contents import (
    pack,
    parameters,
    plain,
    read_columns,
    read_parameters,
    require,
    take,
    unpack,
    whole,
    write_bytes,
)
from gbuq_core.trees.importers.catboost_source import import_catboost
from gbuq_core.trees.importers.ownership import copy_unfitted

KINDS: dict[str, Any] = {"CalibratedRegressor": CalibratedRegressor}
_PARAMETERS = {"method", "tails", "cv", "random_state", "n_jobs", "shape", "floor"}
# Files that are older than these know one factor only, and are fitted again that way.
_OLDER = {"shape": "moments", "floor": False}
_CURVES = ("rmse", "nll", "nll_uncorrected")


def save_calibrated(wrapper: CalibratedRegressor, target: Any) -> None:
    """Write a fitted wrapper; what `CalibratedRegressor.save` does.

    Raises
    ------
    InvalidParameter
        If the estimator has no file format without pickle, or a parameter is of a type that no JSON
        holds.
    """
    if type(wrapper) is not CalibratedRegressor:
        raise InvalidParameter(f"A {type(wrapper).__name__} is of another class than gbuq's own.")
    form, options, content = _describe_model(wrapper.estimator_)
    header = {
        "kind": "CalibratedRegressor",
        "params": parameters(wrapper),
        "seed": wrapper.seed_,
        "n_features": wrapper.n_features_in_,
        "feature_names": list(getattr(wrapper, "feature_names_in_", [])),
        "model": form,
        "model_params": options,
        "prefit": wrapper.prefit_,
        "frozen": isinstance(wrapper.estimator, FrozenEstimator),
        "factor": wrapper.factor_,
        "df": wrapper.df_,
        "floor": wrapper.floor_,
        "shape": wrapper.shape_,
        "smallest": wrapper._smallest,
        "n_calibration": wrapper.n_calibration_,
    }
    arrays = pack("model", content)
    if wrapper.clocks_ is not None:
        for name, value in vars(wrapper.clocks_).items():
            arrays[f"clocks_{name}"] = np.asarray(value)
    if wrapper.method == "conformal":
        arrays["sizes"] = wrapper._sizes
        if wrapper._size_weight is not None:
            arrays["size_weight"] = wrapper._size_weight
    if wrapper.method == "isotonic":
        arrays |= {"nominal": wrapper._map.nominal, "coverage": wrapper._map.coverage}
    write_bytes(write_archive(header, arrays), target)


def build_calibrated(
    header: Mapping[str, Any], arrays: Mapping[str, np.ndarray], read: Callable[[bytes], Any]
) -> CalibratedRegressor:
    """The wrapper that a file describes.

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
    model = _read_model(header, unpack(arrays, "model"), read)
    options = read_parameters(header, _PARAMETERS)
    wrapper = CalibratedRegressor(model, **{**_OLDER, **options})
    known = wrapper.method in METHODS and wrapper.tails in TAILS
    known = known and wrapper.shape in SHAPES and type(wrapper.floor) is bool
    require(known, "a parameter is impossible")
    read_columns(wrapper, header)
    wrapper.seed_ = whole(header["seed"], low=0)
    wrapper._reader = reader_of(model, wrapper.method == "two_clocks")
    require(wrapper._reader.is_fitted(model), "its estimator is not fitted")
    names = getattr(model, "feature_names_", None)  # CatBoost's
    n_features = model.n_features_in_ if names is None else len(names)
    require(n_features == wrapper.n_features_in_, "its estimator has other columns")
    wrapper.estimator_ = model
    wrapper.prefit_ = header["prefit"]
    require(type(wrapper.prefit_) is bool, "its estimator is odd")
    require(type(header["frozen"]) is bool and header["frozen"] <= wrapper.prefit_, "it is odd")
    if header["frozen"]:
        wrapper.estimator = FrozenEstimator(model)
    elif not wrapper.prefit_:
        wrapper.estimator = copy_unfitted(model)
    _read_choice(wrapper, header, arrays)
    return wrapper


def _describe_model(model: Any) -> tuple[str, dict[str, Any], bytes]:
    """In which form a model is held, the parameters that this form lacks, and its bytes."""
    name = type(model).__name__
    if type(model).__module__.partition(".")[0] == "catboost":
        options = {key: plain(key, value) for key, value in model.get_params().items()}
        content: bytes = model._serialize_model()
        return name, options, content
    if isinstance(model, CalibratedRegressor) or not hasattr(model, "save"):
        raise InvalidParameter(
            f"A {name} has no file format without pickle, so a CalibratedRegressor around it "
            "cannot be saved: calibrate CatBoost or an estimator of gbuq with save."
        )
    file = io.BytesIO()
    model.save(file)
    return "gbuq", {}, file.getvalue()


def _read_model(header: Mapping[str, Any], content: bytes, read: Callable[[bytes], Any]) -> Any:
    form, options = header["model"], header["model_params"]
    require(isinstance(options, dict), "its estimator is odd")
    if form == "gbuq":
        return read(content)
    require(form in ("CatBoostRegressor", "CatBoost"), "its estimator is of an unknown kind")
    catboost = import_catboost()
    try:
        if form == "CatBoost":
            return catboost.CatBoost(options).load_model(blob=content)
        return catboost.CatBoostRegressor(**options).load_model(blob=content)
    except catboost.CatBoostError as error:
        raise damaged("CatBoost cannot read the model in it") from error


def _read_choice(
    wrapper: CalibratedRegressor, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """The factor and the law, as the method needs them."""
    factor, df, smallest = header["factor"], header["df"], header["smallest"]
    require(_is_size(factor) and factor > 0.0, "its factor is impossible")
    require(_is_size(smallest), "its smallest variance is impossible")
    wrapper.floor_, wrapper.shape_ = _read_floor_and_shape(wrapper, header)
    if wrapper.shape_ == "moments":
        require(type(df) is float and df > 2.0, "its tails are impossible")
    else:
        require(df is None, "its tails are impossible")
    n_rows = whole(header["n_calibration"])
    wrapper.factor_, wrapper.df_, wrapper._smallest = factor, df, smallest
    wrapper.n_calibration_, wrapper.clocks_ = n_rows, None
    if wrapper.method == "two_clocks":
        wrapper.clocks_ = _read_clocks(arrays)
        if wrapper._reader.stops:
            n_trees = wrapper._reader.n_trees(wrapper.estimator_)
            require(wrapper.clocks_.last <= n_trees, "a clock stops at a tree that does not exist")
        chosen = (wrapper.clocks_.factor, wrapper.clocks_.df, wrapper.clocks_.n_rows)
        require(chosen == (factor, df, n_rows), "its clocks contradict its header")
    elif wrapper.method == "conformal":
        sizes = take(arrays, "sizes", np.float64, (n_rows,))
        rises = (np.diff(sizes) >= 0.0).all() and sizes[0] >= 0.0
        require(np.isfinite(sizes).all() and rises, "its residuals are impossible")
        wrapper._sizes, wrapper._size_weight = sizes, None
        if "size_weight" in arrays:
            weight = take(arrays, "size_weight", np.float64, (n_rows,))
            positive = np.isfinite(weight).all() and (weight > 0.0).all()
            require(positive, "the weights of its residuals are impossible")
            wrapper._size_weight = weight
    elif wrapper.method == "isotonic":
        nominal = take(arrays, "nominal", np.float64, (None,))
        coverage = take(arrays, "coverage", np.float64, (len(nominal),))
        ends = len(nominal) >= 2 and nominal[0] == coverage[0] == 0.0
        ends = ends and nominal[-1] == coverage[-1] == 1.0
        rises = (np.diff(nominal) > 0.0).all() and (np.diff(coverage) >= 0.0).all()
        require(ends and rises, "its map of coverage is impossible")
        wrapper._map = CoverageMap(nominal, coverage, df)


def _read_floor_and_shape(
    wrapper: CalibratedRegressor, header: Mapping[str, Any]
) -> tuple[float, str | None]:
    """Both, or in an older file neither."""
    usual = None if wrapper.method == "conformal" else "moments"
    if "floor" not in header and "shape" not in header:
        return 0.0, usual
    floor, shape = header["floor"], header["shape"]
    allowed = wrapper.floor and wrapper.method in ("scale", "isotonic")
    require(_is_size(floor) and (allowed or floor == 0.0), "its floor is impossible")
    own = shape == "own" and wrapper.method == "scale" and wrapper.shape != "moments"
    require(own or shape == usual, "its shape is impossible")
    return floor, shape


def _read_clocks(arrays: Mapping[str, np.ndarray]) -> Clocks:
    n_trees = take(arrays, "clocks_n_trees", np.int64, (None,))
    known = len(n_trees) >= 1 and n_trees[0] >= 1 and (np.diff(n_trees) > 0).all()
    require(known, "the trees of its clocks are impossible")
    found: dict[str, Any] = {"n_trees": n_trees}
    for field in fields(Clocks):
        name = field.name
        if name in _CURVES:
            found[name] = take(arrays, f"clocks_{name}", np.float64, n_trees.shape)
        elif name != "n_trees":
            kind = np.float64 if name in ("factor", "df") else np.int64
            found[name] = take(arrays, f"clocks_{name}", kind, ()).item()
    clocks = Clocks(**found)
    tried = clocks.mean_trees in n_trees and clocks.scale_trees in n_trees
    require(tried, "a clock stops at a tree that was not tried")
    at_mean = clocks.rmse[n_trees == clocks.mean_trees]
    scored = not np.isnan([*at_mean, *clocks.nll, *clocks.nll_uncorrected]).any()
    require(scored, "a score of its clocks is missing")
    return clocks


def _is_size(value: Any) -> bool:
    return type(value) is float and math.isfinite(value) and value >= 0.0
