"""Which rows each fold of the measures learns from, and which rows say what is ordinary to it."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold

from gbuq_core.array_checks import check_same_length

FEWEST_ROWS = 10
MOST_ROWS_IN_FOLDS = 10_000
MOST_SAMPLED = 5_000
# The folds that leave out each part of the rows: one, or two whose judgements can be compared.
_ALONE: list[tuple[int, ...]] = [(k,) for k in range(5)]
_PAIRS: list[tuple[int, ...]] = [*combinations(range(5), 2)]
_PARTS = [*3 * _ALONE, *_PAIRS]
_SEED = 11


class Split(NamedTuple):
    """Rows to learn from, rows that say what is ordinary, and rows that this fold scores."""

    learnt: NDArray[np.int64]
    reference: NDArray[np.int64]
    others: NDArray[np.int64]


def make_splits(y: NDArray[np.float64], groups: Any = None) -> list[Split]:
    """Folds, or samples of a larger table, with the same distribution of targets in each.

    With groups, whole groups are in each, of about as many rows. Always the same ones, so that most
    rows at the top of a table stay there with another seed.
    """
    splits = [] if groups is None else _group_splits(y, np.asarray(groups))
    if splits:
        return splits
    rng = np.random.default_rng(_SEED)
    order = rng.permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    if len(y) <= MOST_ROWS_IN_FOLDS:
        return _leave_out(_deal(order, len(_PARTS), rng), _PARTS)
    size = min(MOST_SAMPLED, len(y) // 3)
    # Every so manieth row of the sorted targets is in a sample.
    chosen = np.floor(np.arange(3 * size) * (len(y) / (3 * size))).astype(np.int64)
    part = _deal(np.arange(3 * size), 3, rng)
    rest = order[np.setdiff1d(np.arange(len(y)), chosen)]
    one, two, third = (order[chosen[part == k]] for k in range(3))
    return [
        Split(np.sort(mine), np.sort(np.r_[other, third]), np.sort(others))
        for mine, other, others in ((one, two, rest[::2]), (two, one, rest[1::2]))
    ]


def _deal(order: NDArray[np.int64], n_parts: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The part of each row: rows that follow each other are dealt in an order of their own."""
    ties, turns = rng.random(len(order)), np.arange(len(order)) // n_parts
    part = np.empty(len(order), np.int64)
    part[order[np.lexsort((ties, turns))]] = np.arange(len(order)) % n_parts
    return part


def _leave_out(part: NDArray[np.int64], folds_of_part: list[tuple[int, ...]]) -> list[Split]:
    """Folds of rows in parts, (n_rows,), by which folds leave out each part."""
    splits, none = [], np.empty(0, np.int64)
    for fold in range(max(map(max, folds_of_part)) + 1):
        mine = np.array([fold in folds for folds in folds_of_part])[part]
        splits.append(Split(np.flatnonzero(~mine), np.flatnonzero(mine), none))
    return splits


def _group_splits(y: NDArray[np.float64], groups: NDArray[Any]) -> list[Split]:
    """The same by whole groups; none where a fold would have too little to learn from."""
    check_same_length(y=y, groups=groups)
    n_groups = len(np.unique(groups))
    if n_groups < 2:
        return []
    few = len(y) <= MOST_ROWS_IN_FOLDS
    possible = (_PARTS, _PAIRS, _ALONE) if few else ()
    parts = next(
        (each for each in possible if len(each) <= n_groups), _ALONE[: n_groups if few else 2]
    )
    part = np.empty(len(y), np.int64)
    for number, (_, rows) in enumerate(GroupKFold(len(parts)).split(y, y, groups)):
        part[rows] = number
    splits = _leave_out(part, parts)
    if any(len(each.learnt) < FEWEST_ROWS or np.ptp(y[each.learnt]) == 0.0 for each in splits):
        return []
    if few:
        return splits
    rng = np.random.default_rng(_SEED)
    sample = [np.sort(rng.permutation(each.reference)[:MOST_SAMPLED]) for each in splits]
    return [
        Split(sample[1 - k], sample[k], np.setdiff1d(each.reference, sample[k]))
        for k, each in enumerate(splits)
    ]
