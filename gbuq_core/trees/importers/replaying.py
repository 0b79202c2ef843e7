"""Trees with numeric splits as tables that `gbuq_core.trees.split_kernels` replays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gbuq_core.array_checks import begins
from gbuq_core.errors import ModelFileError
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance
from gbuq_core.trees.split_kernels import Replay, order_splits, replay_splits

MAX_LEAVES = 1024  # in larger trees a walk of some steps is shorter than a replay of all splits
_TREES = 256  # a share of work for one thread: these trees on this many rows
_ROWS = 2048

# How a split treats missing values, as LightGBM numbers it.
NAN_IS_ZERO, ZERO_IS_MISSING, NAN_IS_MISSING = 0, 1, 2
_ZERO = float(np.float32(1e-35))  # LightGBM takes what is closer to 0 than this for 0


class NumericTrees(NamedTuple):
    """Binary trees that compare numbers; ``n_splits`` splits of all trees one after the other."""

    begin: np.ndarray  # (n_trees + 1,) int64
    left: np.ndarray  # (n_splits,) int32: a child's place in its own tree, or `~leaf`
    right: np.ndarray  # the same of the other child
    feature: np.ndarray  # (n_splits,) int32
    threshold: np.ndarray  # (n_splits,): a row goes left where `x <= threshold`, or `<` if strict
    missing: np.ndarray  # (n_splits,) int8: one of the rules above
    missing_left: np.ndarray  # (n_splits,) bool: where a missing value goes
    strict: bool


def take_splits(trees: NumericTrees, begin: np.ndarray, splits: Any) -> NumericTrees:
    """Trees of some of the splits, which begin there."""
    parts = {name: getattr(trees, name)[splits] for name in NumericTrees._fields[1:-1]}
    return trees._replace(begin=begin, **parts)


def join_trees(trees: list[NumericTrees]) -> NumericTrees:
    """All trees in one."""
    names = NumericTrees._fields[1:-1]
    parts: dict[str, Any] = {n: np.concatenate([getattr(tree, n) for tree in trees]) for n in names}
    return trees[0]._replace(begin=begins([len(tree.left) for tree in trees]), **parts)


class Plane(NamedTuple):
    """One row of ranks: a feature, its thresholds (m,) ascending, and where missing values go."""

    feature: int
    thresholds: np.ndarray
    missing: int
    missing_left: bool


class ReplayTable(NamedTuple):
    """What `replay_leaves` needs: the splits, the planes they compare, and the type of ranks."""

    replay: Replay
    planes: tuple[Plane, ...]
    strict: bool
    dtype: type[np.unsignedinteger]


def check_structure(trees: NumericTrees) -> tuple[np.ndarray, Replay]:
    """Order the splits of all trees; the planes and ranks of the result are still to be filled."""
    n_splits, n_trees = len(trees.left), len(trees.begin) - 1
    order, start = np.zeros(n_splits, np.int64), np.zeros(n_trees, np.int32)
    old, new = np.zeros(n_splits, np.int32), np.zeros(n_splits, np.int32)
    bad = order_splits(trees.left, trees.right, trees.begin, order, start, old, new)
    if bad >= 0:
        raise ModelFileError(
            f"The model is damaged (the nodes of tree {bad} do not make a tree): save it again."
        )
    return order, Replay(trees.begin, start, old, old, old, new)


def make_table(trees: NumericTrees) -> ReplayTable | None:
    """The table of trees, or None where a walk through the trees is the better way."""
    order, ordered = check_structure(trees)
    largest = int(np.diff(trees.begin).max(initial=0)) + 1
    if largest > MAX_LEAVES:
        return None
    rule = np.where(trees.missing == NAN_IS_ZERO, 0, 2 * trees.missing + trees.missing_left)
    keys = trees.feature.astype(np.int64) * 8 + rule
    planes: list[Plane] = []
    plane, rank = np.zeros(len(keys), np.int32), np.zeros(len(keys), np.int32)
    # All planes of a feature share its thresholds.
    thresholds = {f: np.unique(trees.threshold[trees.feature == f]) for f in set(trees.feature)}
    for number, key in enumerate(np.unique(keys)):
        mine = keys == key
        feature = int(key // 8)
        borders = thresholds[feature]
        plane[mine] = number
        rank[mine] = np.searchsorted(borders, trees.threshold[mine])
        some = int(np.flatnonzero(mine)[0])
        planes.append(
            Plane(feature, borders, int(trees.missing[some]), bool(trees.missing_left[some]))
        )
    most = max((len(p.thresholds) for p in planes), default=0)
    if most > np.iinfo(np.uint16).max:
        return None
    dtype = np.uint8 if max(most, largest - 1) <= 255 else np.uint16
    replay = ordered._replace(plane=plane[order], rank=rank[order])
    return ReplayTable(replay, tuple(planes), trees.strict, dtype)


def rank_rows(table: ReplayTable, X: np.ndarray) -> np.ndarray:
    """Ranks (n_planes, n) of rows X (n, n_features); a row goes right where its rank is greater."""
    ranks = np.empty((len(table.planes), len(X)), table.dtype)
    for row, plane in enumerate(table.planes):
        column = X[:, plane.feature]
        missing = np.isnan(column)
        if plane.missing == NAN_IS_ZERO and missing.any():
            column = np.where(missing, 0.0, column)
        ranks[row] = np.searchsorted(
            plane.thresholds, column, side="right" if table.strict else "left"
        )
        if plane.missing != NAN_IS_ZERO:
            if plane.missing == ZERO_IS_MISSING:
                missing |= np.abs(column) <= _ZERO
            ranks[row, missing] = 0 if plane.missing_left else len(plane.thresholds)
    return ranks


def replay_leaves(table: ReplayTable, X: np.ndarray, first: int, last: int) -> np.ndarray:
    """Leaf numbers of rows X (n, n_features) float64 in trees ``first:last``, (n, trees) int32."""
    ranks = rank_rows(table, X)
    out = np.empty((len(X), last - first), np.int32)
    blocks = [
        (tree, min(tree + _TREES, last), low, min(low + _ROWS, len(X)))
        for low in range(0, len(X), _ROWS)
        for tree in range(first, last, _TREES)
    ]

    def replay(block: tuple[int, int, int, int]) -> None:
        begin, end, low, high = block
        advance(0.0)
        replay_splits(
            ranks, table.replay, begin, end, low, high, out[:, begin - first : end - first]
        )

    parallel_map(replay, blocks)
    return out


def flush_tiny(X: np.ndarray) -> np.ndarray:
    """X with 0 for what LightGBM takes for 0."""
    return np.where(np.abs(X) <= _ZERO, 0.0, X)
