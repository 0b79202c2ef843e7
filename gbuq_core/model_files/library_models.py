"""Models of other libraries within files of ours: the trees that an estimator reads or calls.

CatBoost, LightGBM and XGBoost are held as their own library writes them (cbm, text, UBJ), and the
importers check and read them as any model file. scikit-learn's trees are held node by node, an
estimator of gbuq as its own ``save`` writes it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from gbuq_core.errors import InvalidParameter
from gbuq_core.model_files.archive import damaged
from gbuq_core.model_files.contents import pack, parameters, require, take, unpack
from gbuq_core.model_files.sklearn_models import (
    build_sklearn,
    describe_options,
    describe_sklearn,
    read_options,
)
from gbuq_core.trees.importers import LeafSource, leaf_source, load_leaf_source
from gbuq_core.trees.importers.catboost_source import import_catboost
from gbuq_core.trees.importers.finding import FILE_KINDS
from gbuq_core.trees.importers.importances import source_importances
from gbuq_core.trees.importers.lightgbm_source import import_lightgbm
from gbuq_core.trees.importers.xgboost_source import import_xgboost

_GIVEN = ("model", "frozen", "source", "unfitted", "none")


def model_bytes(source: LeafSource, whole: bool = False) -> bytes:
    """The model in its library's own form.

    Parameters
    ----------
    source : LeafSource
        Of CatBoost, LightGBM or XGBoost.
    whole : bool
        With the trees of XGBoost that come after the best round, which its own estimators keep.

    Raises
    ------
    InvalidParameter
        If the library has no file format that can be read without pickle.
    """
    model: Any = source.model
    if source.kind == "catboost":
        content: bytes = model._serialize_model()
        return content
    if source.kind == "lightgbm":
        booster = getattr(model, "booster_", model)
        return str(booster.model_to_string(num_iteration=source.n_iterations)).encode()
    if source.kind == "xgboost":
        _refuse_odd_xgboost(source)
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        kept = booster if whole else booster[: source.n_iterations]
        return bytes(kept.save_raw("ubj"))
    raise InvalidParameter(
        f"A {type(model).__name__} has no file format without pickle, so a virtual ensemble of it "
        "cannot be saved: use CatBoost, LightGBM or XGBoost."
    )


def _refuse_odd_xgboost(source: Any) -> None:
    """Refuse what XGBoost's own files do not hold, or what is not read from them."""
    if source._table is None:
        raise InvalidParameter(
            "An XGBoost model with categories, or with another missing value than NaN, cannot be "
            "saved here: train on numbers and NaN."
        )


def describe_source(source: LeafSource) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What a header holds of a regression model, and its arrays.

    Raises
    ------
    InvalidParameter
        If the model or one of its parameters cannot be held without pickle.
    """
    model = source.model
    header: dict[str, Any] = {"library": source.kind, "class": type(model).__name__}
    try:
        arrays = {"importances": source_importances(source)}
    except AttributeError:  # not every model has some
        arrays = {}
    header["has_importances"] = bool(arrays)
    if source.kind == "sklearn":
        described, parts = describe_sklearn(model)
        return header | described, arrays | parts
    if source.kind == "gbuq":
        file = io.BytesIO()
        model.save(file)
        return header, arrays | pack("model", file.getvalue())
    if header["class"] in ("CatBoostRegressor", "XGBRegressor"):
        header["options"] = describe_options(model)
    return header, arrays | pack("model", model_bytes(source, whole=True))


def read_source(
    described: Mapping[str, Any], arrays: Mapping[str, np.ndarray], read: Callable[[bytes], Any]
) -> LeafSource:
    """The model that `describe_source` has described, with its leaves and predictions.

    It is of the class that it had, but what was an estimator of LightGBM is its plain Booster.

    Parameters
    ----------
    described, arrays
        What the file holds.
    read : callable
        Makes an estimator of gbuq of the bytes that its ``save`` has written.

    Raises
    ------
    ModelFileError
        If it is no such model.
    """
    library, kind = described["library"], described["class"]
    if library == "sklearn":
        source = leaf_source(build_sklearn(kind, described, arrays))
    elif library == "gbuq":
        model = read(unpack(arrays, "model"))
        own = type(model).__name__ == kind and hasattr(model, "leaf_indices")
        require(own and not hasattr(model, "classes_"), "its model is of another kind")
        source = leaf_source(model)
    else:
        require(library in FILE_KINDS, "its model is of an unknown library")
        source = _read_library(library, kind, described, unpack(arrays, "model"))
    if described["has_importances"] is not False:
        kept = take(arrays, "importances", np.float64, (source.n_features,))
        require(np.isfinite(kept).all() and (kept >= 0.0).all(), "its importances are impossible")
        source.importances = kept
    return source


def _read_library(
    library: str, kind: str, described: Mapping[str, Any], content: bytes
) -> LeafSource:
    source = load_leaf_source(content, library)
    if library == "lightgbm":
        return source
    if library == "catboost":
        require(kind in ("CatBoostRegressor", "CatBoost"), "its model is of an unknown kind")
        if kind == "CatBoost":
            return source
        catboost = import_catboost()
        model = read_options(catboost.CatBoostRegressor, described["options"])
        try:
            return leaf_source(model.load_model(blob=content))
        except (catboost.CatBoostError, InvalidParameter) as error:
            raise damaged("CatBoost cannot read the model in it") from error
    require(kind in ("XGBRegressor", "Booster"), "its model is of an unknown kind")
    if kind == "Booster":
        return leaf_source(source.model)  # with all rounds
    xgboost = import_xgboost()
    model = read_options(xgboost.XGBRegressor, described["options"])
    if source.n_iterations < source.model.num_boosted_rounds():
        source.model.set_attr(best_iteration=str(source.n_iterations - 1))
    model.load_model(bytearray(source.model.save_raw("ubj")))
    return leaf_source(model)


def describe_given(given: Any, source: LeafSource, owned: bool) -> dict[str, Any]:
    """How the user gave a model whose fitted form is ``source.model``: `read_given` undoes it.

    Parameters
    ----------
    given : object
        The constructor argument.
    source : LeafSource
    owned : bool
        Whether the estimator has fitted a copy of it.
    """
    if given is None:
        return {"form": "none"}
    if not owned:
        frozen = isinstance(given, FrozenEstimator)
        is_source = isinstance(given, LeafSource)
        return {"form": "frozen" if frozen else "source" if is_source else "model"}
    options = parameters(given) if source.kind == "gbuq" else describe_options(given)
    return {"form": "unfitted", "class": type(given).__name__, "options": options}


def read_given(described: Mapping[str, Any], source: LeafSource) -> Any:
    """The constructor argument that `describe_given` has described."""
    form = described["form"]
    require(form in _GIVEN, "its model was given in an unknown way")
    if form == "none":
        return None
    if form == "frozen":
        return FrozenEstimator(source.model)
    if form == "source":
        return source
    if form == "model":
        return source.model
    kind: Any = type(source.model)
    if source.kind == "lightgbm":
        kind = import_lightgbm().LGBMRegressor
    require(described["class"] == kind.__name__, "its model is of another kind")
    return read_options(kind, described["options"])
