"""LightGBM's text format, read and checked, and written anew for LightGBM to read.

LightGBM believes what a file says: a child that points nowhere or a missing end of the parameters
makes it read foreign memory or end the process. So every count and every index is checked here,
and LightGBM is given a text of our own writing that holds nothing but what was checked.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.array_checks import begins
from gbuq_core.errors import ModelFileError
from gbuq_core.trees.importers.replaying import NumericTrees
from gbuq_core.trees.importers.source import damaged_model, require_sound

_VERSIONS = ("v2", "v3", "v4")
_MOST_TREES = 1_000_000
_MOST_FEATURES = 10_000_000
_NUMBER = r"[-+]?\d+(\.\d*)?([eE][-+]?\d+)?"
# What LightGBM 4 may write as the objective of a model whose output is not refused elsewhere.
_OBJECTIVE = (
    r"(regression( sqrt)?|regression_l1|huber|fair|poisson|quantile|mape|gamma|tweedie|"
    r"binary|multiclass|multiclassova|cross_entropy|cross_entropy_lambda|lambdarank|rank_xendcg)"
    rf"( (alpha|sigmoid|fair_c|tweedie_variance_power):{_NUMBER}| num_class:[1-9]\d{{0,4}}| sqrt)*"
)

_damaged = partial(damaged_model, "LightGBM")
_require = partial(require_sound, "LightGBM")
_ARRAYS = {
    "split_feature": np.int64,
    "threshold": np.float64,
    "decision_type": np.int64,
    "left_child": np.int64,
    "right_child": np.int64,
    "leaf_value": np.float64,
    "cat_boundaries": np.int64,
    "cat_threshold": np.int64,
}
_CATEGORICAL, _DEFAULT_LEFT = 1, 2  # bits of decision_type; the next two are the missing rule


class LightGBMText(NamedTuple):
    """A checked model."""

    # the model in LightGBM's format, with nothing in it that was not checked; "" for models that do
    # not come from files
    clean: str
    trees: NumericTrees  # all trees; thresholds of categorical splits mean nothing
    leaf_counts: np.ndarray  # (n_trees,) int64
    has_categories: bool
    is_linear: bool
    n_features: int
    n_per_iteration: int
    feature_names: tuple[str, ...]
    objective: str  # its name without arguments, "" where there is none
    objective_text: str  # the same with its arguments
    leaf_values: np.ndarray  # (n_leaves,) float64: of all trees, one after the other
    levels_begin: np.ndarray  # (n_splits + 1,) int64
    # (levels_begin[-1],) int32: codes of the levels that go left at each split of categories
    levels: np.ndarray
    averages: bool  # whether the trees are averaged, as a random forest's
    # the levels of the category columns of the data frame that it was trained on
    pandas_levels: list[list[Any]] | None


def read_lightgbm_text(text: str, *, from_file: bool = True) -> LightGBMText:
    """Read and check a model that ``Booster.save_model`` or ``model_to_string`` has written."""
    if not text.startswith("tree\n"):
        raise ModelFileError(
            "This is no LightGBM model file: pass one that Booster.save_model has written."
        )
    text, _, categories = text.partition("\npandas_categorical:")
    head, _, rest = text.partition("\n\n")
    header = _fields(head)
    _require(header.get("version") in _VERSIONS, "its version is unknown")
    n_features = _count(header, "max_feature_idx", 0, _MOST_FEATURES) + 1
    n_per_iteration = _count(header, "num_tree_per_iteration", 1, 10_000)
    names = tuple(header.get("feature_names", "").split(" "))
    _require(len(names) == n_features, "it does not name all of its features")
    infos = header.get("feature_infos", "").split(" ")
    _require(len(infos) == n_features, "it does not describe all of its features")
    blocks = _tree_blocks(header, rest)
    whole = len(blocks) % n_per_iteration == 0
    _require(whole, "its last round of trees is not complete")
    parts = [_read_tree(block, number, n_features) for number, block in enumerate(blocks)]
    leaf_counts = np.array([part["num_leaves"] for part in parts], np.int64)
    numbers: dict[str, np.ndarray] = {
        key: np.concatenate([part[key] for part in parts])
        for key in ("left_child", "right_child", "split_feature", "threshold", "decision_type")
    }
    decision = numbers["decision_type"].astype(np.int64)
    trees = NumericTrees(
        begin=begins(leaf_counts - 1),
        left=numbers["left_child"].astype(np.int32),
        right=numbers["right_child"].astype(np.int32),
        feature=numbers["split_feature"].astype(np.int32),
        threshold=numbers["threshold"],
        missing=((decision >> 2) & 3).astype(np.int8),
        # What is missing is in no list of categories.
        missing_left=(decision & (_DEFAULT_LEFT | _CATEGORICAL)) == _DEFAULT_LEFT,
        strict=False,
    )
    is_linear = any(part["is_linear"] for part in parts)
    if is_linear and from_file:
        raise ModelFileError(
            "The LightGBM file has linear leaves, which are not read from files: pass the fitted "
            "model itself."
        )
    levels_begin, levels = _levels_of(parts)
    pandas_levels = _read_categories(categories)
    return LightGBMText(
        clean=_write(header, parts, n_features, pandas_levels) if from_file else "",
        trees=trees,
        leaf_counts=leaf_counts,
        has_categories=bool(((decision & _CATEGORICAL) > 0).any()),
        is_linear=is_linear,
        n_features=n_features,
        n_per_iteration=n_per_iteration,
        feature_names=names,
        objective=header.get("objective", "").split(" ")[0],
        objective_text=header.get("objective", ""),
        leaf_values=np.concatenate([part["leaf_value"] for part in parts]),
        levels_begin=levels_begin,
        levels=levels,
        averages="average_output" in header,
        pandas_levels=pandas_levels,
    )


def _levels_of(parts: list[dict[str, Any]]) -> tuple[np.ndarray, np.ndarray]:
    """Where the levels of each split begin, and the levels: the bits of its words that are set."""
    counts, levels = [], []
    for part in parts:
        kinds = part["decision_type"].astype(np.int64)
        counts.append(np.zeros(len(kinds), np.int64))
        if not part["num_cat"]:
            continue
        words = part["cat_threshold"].astype(np.uint32)
        ends = part["cat_boundaries"].astype(np.int64)
        for split in np.flatnonzero(kinds & _CATEGORICAL):
            chosen = int(part["threshold"][split])
            mine = words[ends[chosen] : ends[chosen + 1]].astype("<u4").view(np.uint8)
            members = np.flatnonzero(np.unpackbits(mine, bitorder="little"))
            counts[-1][split] = len(members)
            levels.append(members)
    begin = begins(np.concatenate(counts))
    return begin, np.concatenate(levels).astype(np.int32) if levels else np.zeros(0, np.int32)


def _write(
    header: dict[str, str],
    parts: list[dict[str, Any]],
    n_features: int,
    levels: list[list[Any]] | None,
) -> str:
    """The checked model as LightGBM writes it, without what predictions do not need."""
    objective = header.get("objective", "")
    known = not objective or re.fullmatch(_OBJECTIVE, objective)
    _require(known, "its objective is unknown")
    sigmoid = re.search(r"sigmoid:(\S+)", objective)
    _require(not sigmoid or float(sigmoid[1]) > 0, "its sigmoid is not greater than 0")
    blocks = []
    for number, part in enumerate(parts):
        lines = [f"Tree={number}", f"num_leaves={part['num_leaves']}", f"num_cat={part['num_cat']}"]
        for key, dtype in _ARRAYS.items():
            if key in part:
                words = " ".join(map(repr, part[key].astype(dtype).tolist()))
                lines.append(f"{key}={words}")
        blocks.append("\n".join([*lines, "is_linear=0", "shrinkage=1", "", "", ""]))
    per_iteration = int(header["num_tree_per_iteration"])
    head = [
        "tree",
        "version=v4",
        f"num_class={per_iteration}",
        f"num_tree_per_iteration={per_iteration}",
        "label_index=0",
        f"max_feature_idx={n_features - 1}",
        *([f"objective={objective}"] if objective else []),
        *(["average_output"] if "average_output" in header else []),
        "feature_names=" + " ".join(f"Column_{i}" for i in range(n_features)),
        "feature_infos=" + " ".join(["[-1:1]"] * n_features),
        "tree_sizes=" + " ".join(str(len(block)) for block in blocks),
        "",
        "",
    ]
    last = "pandas_categorical:" + json.dumps(levels) + "\n"
    return "\n".join(head) + "".join(blocks) + "end of trees\n\n" + last


def _read_categories(text: str) -> list[list[Any]] | None:
    """The last line of the file: the levels of the category columns of a data frame."""
    try:
        levels = json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        raise _damaged("its categories are no list") from None
    if levels is not None and not (
        isinstance(levels, list) and all(isinstance(column, list) for column in levels)
    ):
        raise _damaged("its categories are no list")
    return levels


def decode_lightgbm(content: bytes) -> str:
    """A file's text."""
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise _damaged("it is not text") from None


def _fields(block: str) -> dict[str, str]:
    """The lines ``key=value`` of a block; each key once."""
    fields: dict[str, str] = {}
    for line in block.split("\n"):
        key, _, value = line.partition("=")
        _require(key not in fields, f"it says {key!r:.40} twice")
        fields[key] = value
    return fields


def _count(fields: dict[str, str], key: str, low: int, high: int) -> int:
    value = fields.get(key, "")
    possible = re.fullmatch(r"\d{1,9}", value) and low <= int(value) <= high
    _require(possible, f"{key} is missing or no possible number")
    return int(value)


def _tree_blocks(header: dict[str, str], rest: str) -> list[str]:
    """The text of each tree, by the sizes that the header tells."""
    sizes = header.get("tree_sizes", "").split(" ")
    known = all(re.fullmatch(r"[1-9]\d{0,9}", size) for size in sizes)
    _require(known, "it has no trees, or their sizes are no numbers")
    _require(len(sizes) <= _MOST_TREES, "it claims to have more than a million trees")
    content = rest.encode("utf-8", "surrogateescape")
    blocks, at = [], 0
    for number, size in enumerate(map(int, sizes)):
        block = content[at : at + size]
        there = len(block) == size and block.startswith(b"Tree=%d\n" % number)
        _require(there, f"tree {number} is not where the header says")
        blocks.append(block.decode("utf-8", "replace").rstrip("\n"))
        at += size
    _require(content[at:].startswith(b"end of trees\n"), "the trees have no end")
    return blocks


def _read_tree(block: str, number: int, n_features: int) -> dict[str, Any]:
    """The checked arrays of one tree."""
    fields = _fields(block)
    n_leaves = _count(fields, "num_leaves", 1, 10_000_000)
    n_cat = _count(fields, "num_cat", 0, 10_000_000)
    n_splits = n_leaves - 1

    def array(key: str, length: int, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
        words = fields.get(key, "").split()
        try:
            values = np.array(words, np.float64)
        except ValueError:
            raise _damaged(f"{key} of tree {number} holds something else than numbers") from None
        fits = len(values) == length and ((values >= low) & (values <= high)).all()
        _require(fits, f"{key} of tree {number} is too short, too long or out of range")
        return values

    def whole(key: str, length: int, low: int, high: int) -> np.ndarray:
        values = array(key, length, low, high)
        whole = (values == np.floor(values)).all()
        _require(whole, f"{key} of tree {number} holds broken numbers")
        return values

    tree: dict[str, Any] = {
        "num_leaves": n_leaves,
        "num_cat": n_cat,
        "split_feature": whole("split_feature", n_splits, 0, n_features - 1),
        "threshold": array("threshold", n_splits),
        "decision_type": whole("decision_type", n_splits, 0, 11),
        "left_child": whole("left_child", n_splits, -n_leaves, n_splits - 1),
        "right_child": whole("right_child", n_splits, -n_leaves, n_splits - 1),
        "is_linear": fields.get("is_linear", "0") == "1",
    }
    tree["leaf_value"] = array("leaf_value", n_leaves)
    finite = np.isfinite(tree["leaf_value"]).all()
    _require(finite, f"leaf_value of tree {number} is infinite")
    is_category = (tree["decision_type"].astype(np.int64) & _CATEGORICAL) > 0
    unlisted = f"tree {number} splits by categories that it does not list"
    if n_cat == 0:
        _require(not is_category.any(), unlisted)
        return tree
    tree["cat_boundaries"] = ends = whole("cat_boundaries", n_cat + 1, 0, 1 << 31)
    rising = ends[0] == 0 and (np.diff(ends) >= 1).all()
    _require(rising, f"cat_boundaries of tree {number} do not rise")
    tree["cat_threshold"] = whole("cat_threshold", int(ends[-1]), 0, (1 << 32) - 1)
    chosen = tree["threshold"][is_category]
    listed = (chosen == np.floor(chosen)) & (chosen >= 0) & (chosen < n_cat)
    _require(listed.all(), unlisted)
    return tree
