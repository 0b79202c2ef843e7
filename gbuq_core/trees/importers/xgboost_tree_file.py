"""XGBoost's JSON and UBJ formats, read and checked, and written anew for XGBoost to read.

XGBoost believes much of what a file says, and ends the process on what it does not expect; so it is
given a text of our own writing that holds nothing but what was checked.

UBJ is Universal Binary JSON (draft 12), of which XGBoost writes objects, strings, numbers and
arrays, those of numbers mostly with one type for all.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import GbuqError, ModelFileError
from gbuq_core.trees.importers.replaying import (
    NAN_IS_MISSING,
    NumericTrees,
    check_structure,
    join_trees,
)
from gbuq_core.trees.importers.source import damaged_model, refuse, require_sound

_damaged = partial(damaged_model, "XGBoost")
_require = partial(require_sound, "XGBoost")

_NUMBERS = {
    b"i": ">i1",
    b"U": ">u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
_CONSTANTS = {b"Z": None, b"T": True, b"F": False}
_DEEPEST = 64
_DELETED = 2_147_483_647  # the feature of a node that pruning has taken out
LAST_TRIED = (3, 4)  # the newest version of XGBoost whose files were tried
_MOST_LEVELS = 2**24  # of a category: XGBoost keeps codes as float32
_FLOAT = r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?"


@dataclass(frozen=True, kw_only=True)
class XGBoostModel:
    """A checked model."""

    clean: dict[str, Any]  # the document without what predictions do not need
    # Thresholds of categorical splits mean nothing. XGBoost sends the levels of a split right, and
    # all others left; here it is the other way, as `PlainTrees` has it.
    trees: NumericTrees
    levels_begin: np.ndarray  # (n_splits + 1,) int64
    # (levels_begin[-1],) int32: codes of the levels that go left at each split of categories
    levels: np.ndarray
    # the levels of each category column, in the order of their codes, where the file names them
    categories: tuple[tuple[str, ...], ...]
    # (n_nodes,) int32: the place of each node among its tree's leaves, -1 for the others
    leaf_of_node: tuple[np.ndarray, ...]
    leaf_counts: np.ndarray
    has_categories: bool
    n_features: int
    n_classes: int
    n_targets: int
    n_iterations: int
    n_best: int  # rounds up to the best one where early stopping found one, else all `n_iterations`
    objective: str
    feature_names: tuple[str, ...]
    version: tuple[int, ...]

    @property
    def is_tried(self) -> bool:
        """Whether files of the version that wrote it were tried."""
        return self.version[:2] <= LAST_TRIED

    @property
    def is_dart(self) -> bool:
        """Whether its trees have weights, since training drops trees and weighs them anew."""
        return bool(self.clean["learner"]["gradient_booster"]["name"] == "dart")

    @property
    def n_outputs(self) -> int:
        """Sums a row: one a class or a target."""
        return max(self.n_classes, self.n_targets, 1)


def read_xgboost(content: bytes) -> XGBoostModel:
    """Read and check a model in JSON or UBJ."""
    try:
        return _read_document(_parse(content))
    except GbuqError:
        raise
    except (
        AttributeError,
        EOFError,
        LookupError,
        OverflowError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        raise _damaged("a part is missing or of the wrong kind") from error


def _parse(content: bytes) -> Any:
    start = content[:1]
    if start != b"{":
        raise ModelFileError(
            "This is no XGBoost model file: pass a .json or .ubj file that save_model has written."
        )
    if content[1:2] in b' \n\r\t"':
        return json.loads(content.decode("utf-8"))
    reader = _UbjReader(content)
    document = reader.value(0)
    _require(reader.at == len(content), "something follows its end")
    return document


class _UbjReader:
    """One pass over UBJ bytes; every length is looked up against what is left."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self.at = 0

    def _take(self, size: int) -> bytes:
        _require(0 <= size <= len(self._content) - self.at, "it is cut off")
        part = self._content[self.at : self.at + size]
        self.at += size
        return part

    def _peek(self) -> bytes:
        return self._content[self.at : self.at + 1]

    def _number(self, mark: bytes) -> Any:
        dtype = np.dtype(_NUMBERS[mark])
        return np.frombuffer(self._take(dtype.itemsize), dtype)[0].item()

    def _length(self) -> int:
        length = self._number(self._take(1))
        _require(isinstance(length, int) and length >= 0, "a length is not a number")
        return int(length)

    def _text(self) -> str:
        return self._take(self._length()).decode("utf-8")

    def value(self, depth: int, mark: bytes | None = None) -> Any:
        """The value that begins here."""
        _require(depth <= _DEEPEST, "it is nested too deeply")
        mark = self._take(1) if mark is None else mark
        if mark == b"{":
            return self._object(depth)
        if mark == b"[":
            return self._array(depth)
        if mark == b"S":
            return self._text()
        if mark == b"C":
            return self._take(1).decode("ascii")
        return _CONSTANTS[mark] if mark in _CONSTANTS else self._number(mark)

    def _object(self, depth: int) -> dict[str, Any]:
        content: dict[str, Any] = {}
        while self._peek() != b"}":
            key = self._text()
            content[key] = self.value(depth + 1)
        self._take(1)
        return content

    def _array(self, depth: int) -> Any:
        kind = None
        if self._peek() == b"$":
            self._take(1)
            kind = self._take(1)
        if self._peek() == b"#":
            self._take(1)
            length = self._length()
            if kind in _NUMBERS:
                dtype = np.dtype(_NUMBERS[kind])
                return np.frombuffer(self._take(length * dtype.itemsize), dtype)
            _require(length <= len(self._content) - self.at, "it is cut off")
            return [self.value(depth + 1, kind) for _ in range(length)]
        values = []
        while self._peek() != b"]":
            values.append(self.value(depth + 1))
        self._take(1)
        return values


def _read_document(document: Any) -> XGBoostModel:
    if isinstance(document, dict) and "learner" not in document:
        raise ModelFileError(
            "This is no XGBoost model file: pass one that its save_model has written; models of "
            "CatBoost are read as cbm and those of LightGBM as text."
        )
    version = tuple(int(part) for part in document["version"])
    if version[0] < 2:
        raise ModelFileError(
            f"The file was written by XGBoost {version[0]}, and 2 or later is read: save the model "
            "again with a newer XGBoost."
        )
    learner = document["learner"]
    parameters = learner["learner_model_param"]
    booster = learner["gradient_booster"]
    if booster["name"] not in ("gbtree", "dart"):
        raise ModelFileError("The XGBoost model has no trees: use booster gbtree or dart.")
    model, weights = _trees_and_weights(booster)
    n_features = int(parameters["num_feature"])
    trees = model["trees"]
    indptr = np.asarray(model["iteration_indptr"], np.int64)
    as_many = len(trees) == int(model["gbtree_model_param"]["num_trees"]) >= 1
    _require(as_many, "it has no trees, or not as many as it says")
    _require(len(model["tree_info"]) == len(trees), "it does not describe all of its trees")
    ends = len(indptr) >= 2 and indptr[0] == 0 and indptr[-1] == len(trees)
    _require(ends and (np.diff(indptr) >= 1).all(), "its rounds of trees do not add up")
    n_outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    known = all(0 <= int(i) < n_outputs for i in model["tree_info"])
    _require(known, "a tree belongs to no output")
    parts = [_read_tree(tree, number, n_features) for number, tree in enumerate(trees)]
    n_levels = np.concatenate([np.zeros(1, np.int64), *(part.n_levels for part in parts)])
    names = tuple(map(str, learner.get("feature_names", [])))
    _require(len(names) in (0, n_features), "it does not name all of its features")
    numeric = join_trees([part.splits for part in parts])
    check_structure(numeric)
    return XGBoostModel(
        clean=_clean(document, model, weights, [part.clean for part in parts]),
        trees=numeric,
        levels_begin=np.cumsum(n_levels),
        levels=np.concatenate([part.levels for part in parts]),
        categories=_read_categories(model.get("cats", {}), n_features),
        leaf_of_node=tuple(part.leaf_of_node for part in parts),
        leaf_counts=np.diff(numeric.begin) + 1,
        has_categories=bool(n_levels.any()),
        n_features=n_features,
        n_classes=int(parameters["num_class"]),
        n_targets=int(parameters.get("num_target", 1)),
        n_iterations=len(indptr) - 1,
        n_best=_best_rounds(learner, len(indptr) - 1),
        objective=str(learner["objective"]["name"]),
        feature_names=names,
        version=version,
    )


def _trees_and_weights(booster: Any) -> tuple[Any, Any]:
    """The trees, and what each is multiplied by: None without DART.

    Up to XGBoost 3.2 a booster named dart has weights and holds the one with the trees. In 3.3 the
    booster that is named gbtree has both, and from 3.4 on the weights are with the trees.
    """
    model = booster["gbtree" if booster["name"] == "dart" else "model"]
    model = model.get("model", model)
    return model, booster.get("weight_drop", model.get("weight_drop"))


def _best_rounds(learner: Any, n_iterations: int) -> int:
    """Rounds that predict, those up to the best one: early stopping keeps it, from 0, as text."""
    best = learner.get("attributes", {}).get("best_iteration")
    if best is None:
        return n_iterations
    known = re.fullmatch(r"\d{1,9}", str(best)) and int(best) < n_iterations
    _require(known, "its best round is none of its rounds")
    return int(best) + 1


def _clean(document: Any, read: Any, given: Any, trees: list[dict[str, Any]]) -> dict[str, Any]:
    """The document of checked trees, with the few other parts that predictions need.

    It has weights where every version reads them.
    """
    learner = document["learner"]
    model = {
        "gbtree_model_param": {
            "num_parallel_tree": _whole(read["gbtree_model_param"], "num_parallel_tree"),
            "num_trees": str(len(trees)),
        },
        "iteration_indptr": [int(i) for i in read["iteration_indptr"]],
        "tree_info": [int(i) for i in read["tree_info"]],
        "trees": trees,
        "cats": {"enc": [], "feature_segments": [], "sorted_idx": []},
    }
    gradient_booster: dict[str, Any] = {"name": "gbtree", "model": model}
    if given is not None:
        weights = np.asarray(given, np.float64)
        fits = weights.shape == (len(trees),) and np.isfinite(weights).all()
        _require(fits, "its trees have no weights")
        gradient_booster = {
            "name": "dart",
            "gbtree": gradient_booster,
            "weight_drop": weights.tolist(),
        }
    stored = learner["learner_model_param"]
    parameters = {key: _whole(stored, key) for key in ("num_class", "num_target") if key in stored}
    score = str(stored["base_score"])
    is_number = re.fullmatch(rf"\[?{_FLOAT}(,{_FLOAT})*\]?", score)
    _require(is_number, "its base score is no number")
    objective = {"name": str(learner["objective"]["name"])}
    for key, value in learner["objective"].items():
        if isinstance(value, dict) and re.fullmatch(r"\w{1,40}", key):
            objective[key] = {str(k): str(v) for k, v in value.items()}  # type: ignore[assignment]
    return {
        "version": [int(part) for part in document["version"]],
        "learner": {
            "attributes": {},
            "feature_names": [],
            "feature_types": [],
            "gradient_booster": gradient_booster,
            "objective": objective,
            "learner_model_param": {
                **parameters,
                "base_score": score,
                "num_feature": str(int(stored["num_feature"])),
                "boost_from_average": "1",
            },
        },
    }


def _whole(values: Any, key: str) -> str:
    _require(re.fullmatch(r"\d{1,6}", str(values[key])), f"{key} is no possible number")
    return str(values[key])


def _read_categories(cats: Any, n_features: int) -> tuple[tuple[str, ...], ...]:
    """The levels of the category columns; none in files before XGBoost 3.1, or of codes.

    Text is held as all letters in one list, and where each level ends. XGBoost 3.2 counts letters
    where it means bytes, so names with other letters than those of ASCII are cut off: they are not
    used.
    """
    columns = list(cats.get("enc", []))
    every = len(columns) in (0, n_features)
    _require(every, "it does not describe the categories of all features")
    levels_ = []
    for column in columns:
        values = np.asarray(column["values"])
        if "offsets" not in column and len(values):
            levels_.append(tuple(map(str, values.tolist())))
        elif len(column.get("offsets", [])):
            ends = np.asarray(column["offsets"], np.int64)
            whole = ends[0] == 0 and ends[-1] == len(values) and (np.diff(ends) >= 0).all()
            _require(whole, "the names of its categories do not add up")
            letters = values.astype(np.uint8).tobytes()
            if not letters.isascii():
                return ()
            text = letters.decode("ascii")
            levels_.append(tuple(text[low:high] for low, high in pairwise(ends)))
    return tuple(levels_)


class _Tree(NamedTuple):
    """One tree: children are places among its splits, or ``~`` places among its leaves."""

    splits: NumericTrees
    n_levels: np.ndarray
    levels: np.ndarray
    leaf_of_node: np.ndarray
    clean: dict[str, Any]


def _read_tree(tree: Any, number: int, n_features: int) -> _Tree:
    n_nodes = int(tree["tree_param"]["num_nodes"])

    def array(key: str, dtype: Any) -> np.ndarray:
        values = np.asarray(tree[key])
        fits = values.shape == (n_nodes,) and values.dtype.kind in "fiub"
        _require(fits, f"{key} of tree {number} is too short or too long")
        return values.astype(dtype)

    _require(n_nodes >= 1, f"tree {number} has no nodes")
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise refuse("has leaves with several values, one an output", "regression")
    left, right = array("left_children", np.int64), array("right_children", np.int64)
    feature, threshold = array("split_indices", np.int64), array("split_conditions", np.float32)
    kind, to_left = array("split_type", np.int64), array("default_left", bool)
    is_split = left >= 0
    inside = (left < n_nodes) & (right < n_nodes) & (~is_split | (right >= 0))
    _require(inside.all(), f"a node of tree {number} points nowhere")
    places = np.flatnonzero(is_split)
    parents = array("parents", np.int64)
    own = (parents[left[is_split]] == places) & (parents[right[is_split]] == places)
    _require(own.all(), f"a node of tree {number} has another parent than its own")
    known = ~is_split | ((feature >= 0) & (feature < n_features))
    _require(known.all(), f"tree {number} asks for a feature that there is not")
    # XGBoost 2 writes NaN where it splits by categories; no threshold is asked for there.
    threshold = np.where(is_split & (kind == 1), np.float32(0.0), threshold)
    finite = np.isfinite(threshold) | (is_split & ~np.isnan(threshold))
    _require(finite.all(), f"a value of tree {number} is not a finite number")
    # Pruned nodes stay in the file; nothing points to them.
    used = np.zeros(n_nodes, bool)
    used[0] = True
    used[left[is_split]] = used[right[is_split]] = True
    is_leaf = ~is_split & used
    split_at = np.cumsum(is_split) - 1
    leaf_at = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)

    def child(nodes: np.ndarray) -> np.ndarray:
        chosen = nodes[is_split]
        return np.where(is_split[chosen], split_at[chosen], ~leaf_at[chosen]).astype(np.int32)

    n_splits = int(is_split.sum())
    n_levels, levels = _read_levels(tree, number, kind, is_split)
    of_levels = n_levels > 0
    numeric = NumericTrees(
        begin=np.array([0, n_splits]),
        left=np.where(of_levels, child(right), child(left)),
        right=np.where(of_levels, child(left), child(right)),
        feature=feature[is_split].astype(np.int32),
        threshold=threshold[is_split].astype(np.float64),
        missing=np.full(n_splits, NAN_IS_MISSING, np.int8),
        missing_left=to_left[is_split] != of_levels,
        strict=True,
    )
    is_tree = int(is_leaf.sum()) == n_splits + 1
    _require(is_tree, f"the nodes of tree {number} do not make a tree")
    nothing = np.zeros(n_nodes)
    none = np.full(n_nodes, _DELETED)
    arrays = {
        "left_children": np.where(is_split, left, -1),
        "right_children": np.where(is_split, right, -1),
        "parents": np.where(np.arange(n_nodes) > 0, np.where(used, parents, 0), none),
        "split_indices": np.where(used, np.where(is_split, feature, 0), none),
        "split_conditions": threshold,
        "split_type": np.zeros(n_nodes, int),
        "default_left": to_left.astype(int),
        "base_weights": nothing,
        "loss_changes": nothing,
        "sum_hessian": nothing,
    }
    clean: dict[str, Any] = {key: values.tolist() for key, values in arrays.items()}
    for key in ("categories", "categories_nodes", "categories_segments", "categories_sizes"):
        clean[key] = []
    clean["id"] = number
    clean["tree_param"] = {
        "num_deleted": str(int((~used).sum())),
        "num_feature": str(n_features),
        "num_nodes": str(n_nodes),
        "size_leaf_vector": "1",
    }
    return _Tree(numeric, n_levels, levels, leaf_at.astype(np.int32), clean)


def _read_levels(
    tree: Any, number: int, kind: np.ndarray, is_split: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How many levels each split has, and the levels, split by split."""
    counts = np.zeros(len(kind), np.int64)
    nodes, begin, sizes, levels = (
        np.asarray(tree.get(key, []), np.int64)
        for key in (
            "categories_nodes", "categories_segments", "categories_sizes", "categories",
        )
    )  # fmt: skip
    splits = np.flatnonzero(is_split & (kind == 1))
    known = np.isin(kind[is_split], (0, 1)).all() and np.array_equal(nodes, splits)
    known = known and len(nodes) == len(begin) == len(sizes)
    _require(known, f"tree {number} does not list the categories of its splits")
    ends = np.cumsum(sizes)
    whole = (sizes >= 1).all() and np.array_equal(begin, ends - sizes)
    whole = whole and len(levels) == sizes.sum()
    _require(whole, f"the categories of tree {number} do not add up")
    known = ((levels >= 0) & (levels < _MOST_LEVELS)).all()
    _require(known, f"a category of tree {number} is none")
    counts[nodes] = sizes
    return counts[is_split], levels.astype(np.int32)
