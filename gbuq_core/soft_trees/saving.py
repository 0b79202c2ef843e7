"""Fitted soft trees to a file and back: the coding of the columns and every tree's posterior."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter
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
    whole,
    write_bytes,
)
from gbuq_core.soft_trees.base import MAX_RANK, SoftTrees
from gbuq_core.soft_trees.boosting_machine import MAX_TREES, VariationalSoftGBMRegressor
from gbuq_core.soft_trees.classifier import VariationalSoftTreeClassifier
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.inputs import MAX_COLUMNS, SoftColumn, SoftEncoding, column_names
from gbuq_core.soft_trees.layout import LEAVES, MAX_DEPTH, TreeShape
from gbuq_core.soft_trees.regressor import VariationalSoftTreeRegressor
from gbuq_core.soft_trees.results import ElboPath, FittedTree, Snapshots

KINDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        VariationalSoftTreeRegressor, VariationalSoftTreeClassifier, VariationalSoftGBMRegressor,
    )
}  # fmt: skip


def save_soft_trees(model: SoftTrees, target: Any) -> None:
    """Write a fitted estimator; what its ``save`` does.

    Raises
    ------
    InvalidParameter
        If a parameter or a class label is of a type that no JSON holds.
    """
    if KINDS.get(type(model).__name__) is not type(model):
        raise InvalidParameter(f"A {type(model).__name__} is of another class than gbuq's own.")
    is_classifier = isinstance(model, VariationalSoftTreeClassifier)
    encoding, first = model.encoding_, model.trees_[0]
    header = {
        **describe_fit(model),
        "n_rows": model.n_rows_,
        "columns": [column._asdict() for column in encoding.columns],
        "shape": first.shape._asdict(),
        "beta": first.beta,
        "noises": [tree.noise for tree in model.trees_],
    }
    arrays = {"kept": encoding.kept, "centre": encoding.centre, "spread": encoding.spread}
    for t, tree in enumerate(model.trees_):
        parts = {**tree.posterior._asdict(), "step": tree.elbo.step, "elbo": tree.elbo.elbo}
        parts |= {"moments": tree.snapshots.step, "means": tree.snapshots.means}
        arrays |= {f"{name}_{t}": array for name, array in parts.items()}
    if is_classifier:
        header["classes"] = describe_classes(model.classes_)
    else:
        header["target_scale"] = list(model.target_scale_)
    if isinstance(model, VariationalSoftGBMRegressor):
        arrays["noise_rows"], arrays["noise_targets"] = model._noise_rows
    write_bytes(write_archive(header, arrays), target)


def build_soft_trees(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """The estimator that a file describes.

    Raises
    ------
    ModelFileError
        If it holds what no fit makes; kernels check nothing, so every length is checked here.
    """
    kind = KINDS[header["kind"]]
    model = kind(**read_parameters(header, kind().get_params()))
    read_fit(model, header)
    model.encoding_ = _read_encoding(header, arrays)
    require(len(model.encoding_.columns) == model.n_features_in_, "its columns do not match")
    n_classes = 0
    if kind is VariationalSoftTreeClassifier:
        model.classes_ = read_classes(header["classes"])
        n_classes = len(model.classes_)
    else:
        model.target_scale_ = read_target_scale(header)
    shape = _read_shape(header["shape"], model.encoding_.n_columns, n_classes)
    model.shape_ = shape
    noises = header["noises"]
    is_sum = kind is VariationalSoftGBMRegressor
    require(1 <= len(noises) <= (MAX_TREES if is_sum else 1), "the number of its trees is odd")
    output = "classes" if n_classes else "mean" if is_sum else shape.output
    require(shape.output == output and (output == "classes") == (n_classes > 0), _ODD_SHAPE)
    trees = tuple(
        _read_tree(arrays, t, shape, header["beta"], noise) for t, noise in enumerate(noises)
    )
    if kind is VariationalSoftTreeRegressor:
        noise = trees[0].noise
        require((noise is None) == (shape.output == "mixture"), "its noise is impossible")
        model.noise_ = None if noise is None else model.target_scale_.spread * noise
    if is_sum:
        rows = take(arrays, "noise_rows", np.float64, (None, shape.n_features))
        model._noise_rows = rows, take(arrays, "noise_targets", np.float64, (len(rows),))
        require(len(rows) >= 1 and np.isfinite(rows).all(), "a row is not finite")
        model._noises = {}
    model._end(trees, whole(header["n_rows"]), 0.0)
    model.fit_seconds_ = float(header["fit_seconds"])
    return model


_ODD_SHAPE = "the shape of its trees is impossible"


def _read_encoding(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> SoftEncoding:
    columns = tuple(_read_column(described) for described in header["columns"])
    names = [name for column in columns for name in column_names(column)]
    require(1 <= len(names) <= MAX_COLUMNS, "its columns do not match")
    kept = take(arrays, "kept", np.bool_, (len(names),))
    shape = (int(kept.sum()),)
    centre = take(arrays, "centre", np.float64, shape)
    spread = take(arrays, "spread", np.float64, shape)
    usable = np.isfinite(centre).all() and np.isfinite(spread).all() and (spread > 0.0).all()
    require(usable, "the scale of a column is impossible")
    chosen = tuple(name for name, keep in zip(names, kept, strict=True) if keep)
    return SoftEncoding(columns, chosen, kept, centre, spread)


def _read_column(described: Mapping[str, Any]) -> SoftColumn:
    column = SoftColumn(**{**described, "levels": tuple(described["levels"])})
    flags = (column.is_number, column.has_rest, column.has_missing)
    require(isinstance(column.name, str) and all(type(f) is bool for f in flags), "a column is odd")
    require(all(type(level) in (float, str) for level in column.levels), "a column is odd")
    require(len(set(column.levels)) == len(column.levels), "a column is odd")
    require(not (column.is_number and (column.levels or column.has_rest)), "a column is odd")
    require(math.isfinite(float(column.median)), "a column is odd")
    return column._replace(median=float(column.median))


def _read_shape(described: Mapping[str, Any], n_columns: int, n_classes: int) -> TreeShape:
    shape = TreeShape(**described)
    require(type(shape.depth) is int and 0 <= shape.depth <= MAX_DEPTH, _ODD_SHAPE)
    require(type(shape.n_features) is int and shape.n_features == n_columns, _ODD_SHAPE)
    require(shape.leaf in LEAVES and shape.output in ("mixture", "mean", "classes"), _ODD_SHAPE)
    require(type(shape.n_classes) is int and shape.n_classes == n_classes, _ODD_SHAPE)
    return shape


def _read_tree(
    arrays: Mapping[str, np.ndarray], t: int, shape: TreeShape, beta: Any, noise: Any
) -> FittedTree:
    size = shape.n_parameters

    def part(name: str, *lengths: int | None, dtype: Any = np.float64) -> np.ndarray:
        array = take(arrays, f"{name}_{t}", dtype, lengths)
        require(np.isfinite(array).all(), "a number is not finite")
        return array

    posterior = LowRankGaussian(part("mean", size), part("scale", size), part("factor", size, None))
    require((posterior.scale > 0.0).all() and posterior.rank <= MAX_RANK, "a spread is impossible")
    require(0.0 < float(beta) <= 1000.0, "its beta is impossible")
    step, moments = part("step", None, dtype=np.int64), part("moments", None, dtype=np.int64)
    elbo = ElboPath(step, part("elbo", len(step)))
    path = Snapshots(moments, part("means", len(moments), size))
    require(len(step) >= 1 and len(moments) >= 1, "its training is empty")
    if noise is not None:
        noise = float(noise)
        require(math.isfinite(noise) and noise > 0.0, "its noise is impossible")
    return FittedTree(shape, float(beta), posterior, noise, elbo, path)
