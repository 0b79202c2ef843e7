"""CatBoost's JSON format as plain arrays, checked as far as they are read.

What CatBoost makes of categories are hashes and statistics that need its own code: of splits by
them the feature is read, and no row is sent down. Texts and embeddings are refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import GbuqError, InvalidParameter, ModelFileError, UnknownLoss
from gbuq_core.trees.importers.objectives import find_objective
from gbuq_core.trees.importers.plain_source import MOST_FEATURES, PlainTrees
from gbuq_core.trees.importers.replaying import NAN_IS_MISSING, NumericTrees, join_trees
from gbuq_core.trees.importers.source import damaged_model, refuse

_damaged = partial(damaged_model, "CatBoost")

# That may be named for a file that does not name its own; others differ in nothing that is read.
LOSSES = (
    "RMSE",
    "MAE",
    "Quantile",
    "Poisson",
    "Tweedie",
    "RMSEWithUncertainty",
    "Logloss",
    "CrossEntropy",
    "MultiClass",
    "MultiClassOneVsAll",
)
_DEEPEST = 16  # CatBoost's own limit for symmetric trees


class _Features(NamedTuple):
    """Of each float feature: its place among all features, and whether NaN goes left."""

    place: dict[int, int]
    nan_left: dict[int, bool]
    n_features: int
    names: tuple[str, ...]
    category: dict[int, int]  # of each category feature, its place among all features
    by_split: list[int]  # of each split by a statistic of categories, the first of these places
    n_before: int  # numbered splits that come before those


def read_catboost_json(content: bytes, loss: str = "") -> PlainTrees:
    """Read a model saved with ``format="json"``; ``loss`` (of `LOSSES`) if the file names none."""
    try:
        return _read_document(json.loads(content.decode("utf-8")), loss)
    except GbuqError:
        raise
    except (
        AttributeError,
        LookupError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise _damaged("a part is missing or of the wrong kind") from error


def _read_document(document: Any, loss: str) -> PlainTrees:
    features = _read_features(document["features_info"])
    info = document.get("model_info", {})
    parameters = info.get("params", {})
    loss = _find_loss(info, loss)
    scale, bias = document["scale_and_bias"]
    base = np.atleast_1d(np.asarray(bias, np.float64))
    if "oblivious_trees" in document:
        parts = [_symmetric_tree(tree, features) for tree in document["oblivious_trees"]]
    else:
        parts = [_nested_tree(tree, features) for tree in document["trees"]]
    if not parts:
        raise _damaged("it has no trees")
    splits, values = zip(*parts, strict=True)
    widths = {of_tree.shape[1] for of_tree in values}
    if len(widths) > 1:
        raise _damaged("its leaves have different numbers of values")
    width = widths.pop()
    if len(base) == 1 and width > 1:
        base = np.repeat(base, width)
    task, link = _link(loss, width)
    n_trees, trees = len(splits), join_trees(list(splits))
    decays = shrink_factors(parameters.get("boosting_options", {}), n_trees)
    return PlainTrees(
        kind="catboost",
        task=task,
        n_features=features.n_features,
        names=features.names,
        trees=trees,
        leaf_values=np.concatenate(values),
        output=np.zeros(n_trees, np.int32),
        base=base,
        scale=float(scale),
        slope=1.0,
        decays=decays,
        link=link,
        per_iteration=1,
        averages=False,
        no_stages="" if parameters else "sum",
        single=True,
        flushes=False,
        levels_begin=np.zeros(len(trees.left) + 1, np.int64),
        levels=np.zeros(0, np.int32),
        categories=(),
        classes=_classes(info, task),
        hashed=np.array(sorted(features.category.values()), np.int32),
    )


def shrink_factors(parameters: Mapping[str, Any], n_trees: int) -> np.ndarray:
    """The factors (n_trees,) by which CatBoost has shrunk the model before each tree.

    With ``model_shrink_mode`` "Constant" it is ``1 - rate * learning_rate``, and with "Decreasing"
    ``1 - rate / i`` before tree i, counted from 0. CatBoost holds both numbers in float32.
    """
    rate, step = (
        float(np.float32(parameters.get(name) or 0.0))
        for name in ("model_shrink_rate", "learning_rate")
    )
    if parameters.get("model_shrink_mode") != "Decreasing":
        return np.full(n_trees, 1.0 - rate * step)
    return np.append(1.0, 1.0 - rate / np.arange(1, n_trees))


def needs_catboost(what: str) -> ModelFileError:
    """The error for a model whose splits only CatBoost's own code understands."""
    return ModelFileError(
        f"The CatBoost model splits by {what}, which its file keeps as numbers that only CatBoost "
        "understands: pass the fitted model to IBUGRegressor or VirtualEnsemble in Python."
    )


def _read_features(info: Any) -> _Features:
    for kind, what in (("text_features", "text"), ("embedding_features", "embeddings")):
        if info.get(kind):
            raise needs_catboost(what)
    numbers, words = info.get("float_features", []), info.get("categorical_features", [])
    names: dict[int, str] = {}
    places: tuple[dict[int, int], dict[int, int]] = ({}, {})
    for features, place in zip((numbers, words), places, strict=True):
        for feature in features:
            number, flat = int(feature["feature_index"]), int(feature["flat_feature_index"])
            if not 0 <= flat < MOST_FEATURES or number in place or flat in names:
                raise _damaged("its features are not numbered through")
            place[number], names[flat] = flat, str(feature.get("feature_id", ""))
    n_features = max(names) + 1
    if len(names) != n_features:
        raise _damaged("its features are not numbered through")
    listed = tuple(names[k] for k in range(n_features))
    made_up = all(name in ("", str(k)) for k, name in enumerate(listed))
    return _Features(
        place=places[0],
        # AsTrue counts as larger than all borders; AsIs and AsFalse compare false.
        nan_left={
            int(feature["feature_index"]): feature.get("nan_value_treatment") != "AsTrue"
            for feature in numbers
        },
        n_features=n_features,
        names=() if made_up else listed,
        category=places[1],
        by_split=[
            next(
                places[1][int(part["cat_feature_index"])]
                for part in statistic["elements"]
                if "cat_feature_index" in part
            )
            for statistic in info.get("ctrs") or []
            for _ in statistic["borders"]
        ],
        n_before=sum(len(feature.get("borders") or []) for feature in numbers)
        + sum(len(feature.get("values") or []) for feature in words),
    )


def _read_split(split: Any, features: _Features) -> tuple[int, float, bool]:
    kind = split.get("split_type", "FloatFeature")
    if kind == "OneHotFeature":
        return features.category[int(split["cat_feature_index"])], 0.0, False
    if kind == "OnlineCtr":
        return features.by_split[int(split["split_index"]) - features.n_before], 0.0, False
    if kind != "FloatFeature":
        raise _damaged("it splits by something else than numbers and categories")
    number = int(split["float_feature_index"])
    return features.place[number], float(split["border"]), features.nan_left[number]


def _symmetric_tree(tree: Any, features: _Features) -> tuple[NumericTrees, np.ndarray]:
    """A tree whose levels share a split: bit k of a leaf's number is the answer to split k.

    The last split becomes the root, so that a node's two children decide the next lower bit::

        split 2              0                     node 0
        split 1          1       2        left of node i at level l:  2 i + 1
        split 0        3   4   5   6
        leaves        0 1 2 3 4 5 6 7     (read from left to right)
    """
    levels = [_read_split(split, features) for split in tree["splits"] or []]
    depth = len(levels)
    if depth > _DEEPEST:
        raise _damaged("a tree is too deep")
    values = np.asarray(tree["leaf_values"], np.float64)
    if values.ndim != 1 or not len(values) or len(values) % 2**depth:
        raise _damaged("the leaves of a tree do not match its splits")
    node = np.arange(2**depth - 1)
    level = np.floor(np.log2(node + 1.0)).astype(np.int64)
    left, right = 2 * node + 1, 2 * node + 2
    last = level == depth - 1
    left[last], right[last] = ~(left[last] - len(node)), ~(right[last] - len(node))
    feature, border, nan_left = (
        np.array([split[part] for split in levels[::-1]]) for part in range(3)
    )
    values = values.reshape(2**depth, -1)
    if not depth:
        return _numeric_tree([], [], [], [], []), values
    return _numeric_tree(left, right, feature[level], border[level], nan_left[level]), values


def _nested_tree(tree: Any, features: _Features) -> tuple[NumericTrees, np.ndarray]:
    """A tree of nodes within nodes, without recursion."""
    left: list[int] = []
    right: list[int] = []
    parts: list[tuple[int, float, bool]] = []
    values: list[np.ndarray] = []
    waiting: list[tuple[Any, int, bool]] = [(tree, -1, False)]
    while waiting:
        node, parent, is_right = waiting.pop()
        if "split" in node:
            here = len(parts)
            parts.append(_read_split(node["split"], features))
            left.append(0)
            right.append(0)
            waiting += [(node["right"], here, True), (node["left"], here, False)]
        else:
            here = ~len(values)
            values.append(np.atleast_1d(np.asarray(node["value"], np.float64)))
        if parent >= 0:
            (right if is_right else left)[parent] = here
    if len({value.shape for value in values}) > 1 or values[0].ndim != 1:
        raise _damaged("its leaves have different numbers of values")
    feature, border, nan_left = ([part[k] for part in parts] for k in range(3))
    return _numeric_tree(left, right, feature, border, nan_left), np.stack(values)


def _numeric_tree(
    left: Any, right: Any, feature: Any, threshold: Any, nan_left: Any
) -> NumericTrees:
    """Children are places among the tree's splits, or ``~`` places among its leaves."""
    return NumericTrees(
        begin=np.array([0, len(left)]),
        left=np.asarray(left, np.int32),
        right=np.asarray(right, np.int32),
        feature=np.asarray(feature, np.int32),
        threshold=np.asarray(threshold, np.float64).astype(np.float32).astype(np.float64),
        missing=np.full(len(left), NAN_IS_MISSING, np.int8),
        missing_left=np.asarray(nan_left, bool),
        strict=False,
    )


def _find_loss(info: Any, named: str) -> str:
    """The model's loss, by its file (`sum_models` leaves it out) or the reader."""
    known = info.get("params", {}).get("loss_function") or info.get("loss_function")
    known = json.loads(known) if isinstance(known, str) else known
    own = str(known["type"]) if known else ""
    if own and named not in ("", own):
        raise InvalidParameter(
            f"The file says that the model was trained with {own[:40]}, not with {named}: leave "
            "out the loss."
        )
    if own or named:
        return own or named
    raise UnknownLoss(
        "The CatBoost model file does not say by which loss it was trained (sum_models leaves it "
        "out where its models have different ones), so its sums have no known unit: name the loss "
        "(--loss on the command line, loss= in Python)."
    )


def _link(loss: str, width: int) -> tuple[str, str]:
    """The task, and how sums become predictions."""
    tasks, link = find_objective("catboost", loss, width)
    if width == 1 and link in ("softmax", "sigmoids"):
        raise refuse(f"has 1 output, which {loss} has not", "regression")
    return tasks[-1], link


def _classes(info: Any, task: str) -> tuple[str, ...]:
    names = info.get("class_params", {}).get("class_names", [])
    return tuple(map(str, names)) if task == "classification" else ()
