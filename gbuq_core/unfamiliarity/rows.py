"""A table's rows as numbers and level codes, and what a fold's training rows make of them.

Standardised numbers and columns of zeros and ones for the forests, points for the distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.inputs import as_table, category_columns, factorize, find_levels, level_codes
from gbuq_core.inputs import read_numbers as numbers_of
from gbuq_core.model_files.contents import PLAIN_TYPES, check_arrays, require

MOST_LEVELS = 16  # of a category with columns of their own; rarer ones share one
MANY_COLUMNS, FEWEST_READ = 200, 50  # trees read but the best of many columns; as many at least
_FARTHEST = 1e6  # in stds: squares of more do not add up in float32
_MISMATCH = np.sqrt(0.5)  # two different levels are then one std apart


class Columns(NamedTuple):
    """What the columns of a table hold."""

    names: tuple[str, ...]
    # `numbers`, `categories`: (k,) int64: positions of the columns of either kind
    numbers: NDArray[np.int64]
    categories: NDArray[np.int64]
    levels: tuple[tuple[Any, ...], ...]  # of each category, all that the table had

    def check_file(self) -> None:
        """Refuse columns and categories that do not go together."""
        check_arrays(self, numbers=(np.int64, None), categories=(np.int64, len(self.levels)))
        places = np.concatenate([self.numbers, self.categories])
        rising = (np.diff(self.numbers) > 0).all() and (np.diff(self.categories) > 0).all()
        same = rising and np.array_equal(np.sort(places), np.arange(len(self.names)))
        require(same, "its columns do not match")
        for levels in self.levels:
            is_plain = all(type(level) in PLAIN_TYPES for level in levels)
            require(is_plain and len(set(levels)) == len(levels), "a category is impossible")


class RawRows(NamedTuple):
    """Rows as they were given."""

    numbers: NDArray[np.float64]  # (n, n_numbers) float64, NaN where missing
    # (n, n_categories) int64, -1 where missing, the number of levels where it is a new one
    codes: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> RawRows:
        """Some of the rows."""
        return RawRows(self.numbers[rows], self.codes[rows])

    def __len__(self) -> int:
        return len(self.numbers)


class Space(NamedTuple):
    """What the training rows of a fold say about each column."""

    # `low`, `high`, `centre`, `spread`, `fill`: (n_numbers,) float64: the range in the column's
    # unit, mean and std in it, and the median in stds; a column that was always missing has NaN as
    # its range
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    centre: NDArray[np.float64]
    spread: NDArray[np.float64]
    fill: NDArray[np.float64]
    gaps: NDArray[np.bool_]  # (n_numbers + n_categories,) bool: whether a value was missing
    # (n_levels + 1,) bool: which levels of each category there were
    seen: tuple[NDArray[np.bool_], ...]
    # (n_levels + 1,) int64: the column of zeros and ones of each level; the rare ones and the new
    # ones share the last
    slots: tuple[NDArray[np.int64], ...]


class EncodedRows(NamedTuple):
    """Rows as the parts of the score take them."""

    raw: RawRows
    # (n, n_features) float64, C order: for forests: numbers in stds with NaN, and a category's
    # levels as zeros and ones
    matrix: NDArray[np.float64]
    # (n, n_axes) float32, C order: for distances: the same with medians in place of gaps, and what
    # was filled or new on axes of its own
    points: NDArray[np.float32]


def find_columns(X: Any, declared: Any = None) -> Columns:
    """What the columns of the training rows hold: text and categories have levels.

    ``declared`` are a model's ``categorical_features``, in place of text.
    """
    table = as_table(X)
    is_category = category_columns(table, declared)
    levels = tuple(
        find_levels(factorize(table.iloc[:, k], str(table.columns[k]))[1])
        for k in np.flatnonzero(is_category).tolist()
    )
    return Columns(
        tuple(str(name) for name in table.columns),
        np.flatnonzero(~is_category),
        np.flatnonzero(is_category),
        levels,
    )


def find_promising(values: NDArray[np.float64], y: NDArray[np.float64], n_classes: int = 0) -> Any:
    """Which of many columns (n, n_columns) trees need read, (n_columns,) bool: all of few columns.

    Of more columns than rows, and than 200, as many as there are rows, and at least 50: those of
    most correlation with the target, or with one of its classes. The rows are those that the trees
    learn from, and no others.
    """
    n, n_columns = values.shape
    if n_columns <= max(MANY_COLUMNS, n):
        return np.ones(n_columns, bool)
    targets = y[:, None] == np.arange(n_classes) if n_classes else y[:, None]
    known = ~np.isnan(values)
    count = np.maximum(known.sum(axis=0), 1)
    away = np.where(known, values - np.where(known, values, 0.0).sum(axis=0) / count, 0.0)
    spread = np.sqrt(np.square(away).sum(axis=0))
    with_target = np.abs(away.T @ (targets - targets.mean(axis=0))).max(axis=1)
    score = with_target / np.where(spread > 0.0, spread, np.inf)
    chosen = np.zeros(n_columns, bool)
    chosen[np.argsort(-score, kind="stable")[: max(FEWEST_READ, n)]] = True
    return chosen


def read_rows(columns: Columns, table: pd.DataFrame) -> RawRows:
    """The rows of a table with these columns as numbers and codes."""
    numbers = np.empty((len(table), len(columns.numbers)))
    codes = np.empty((len(table), len(columns.categories)), np.int64)
    plain = table.iloc[:, columns.numbers]
    if (plain.dtypes == np.float64).all() and not np.isinf(whole := plain.to_numpy()).any():
        numbers[:] = whole
    else:
        for at, position in enumerate(columns.numbers):
            numbers[:, at] = numbers_of(table.iloc[:, position], columns.names[position])
    for at, position in enumerate(columns.categories):
        levels = columns.levels[at]
        places, distinct = factorize(table.iloc[:, position], columns.names[position])
        known, missing = level_codes(places, distinct, levels)
        codes[:, at] = np.where(missing, -1, np.where(known < 0, len(levels), known))
    return RawRows(numbers, codes)


def learn_space(columns: Columns, raw: RawRows) -> Space:
    """Ranges, scales and levels of the rows that a fold learns from."""
    values, missing = raw.numbers.T, np.isnan(raw.numbers).T
    scales = np.full((5, len(values)), np.nan)
    scales[3] = 1.0
    has_gaps = missing.any(axis=1)
    for places in (np.flatnonzero(~has_gaps), *np.flatnonzero(has_gaps)[:, None]):
        known = values[places] if len(places) != 1 else values[places, ~missing[places[0]]][None]
        if known.size:
            scales[:, places] = _scales(np.ascontiguousarray(known))
    low, high, centre, spread, fill = scales
    seen, slots = [], []
    for k, levels in enumerate(columns.levels):
        counts = np.bincount(raw.codes[raw.codes[:, k] >= 0, k], minlength=len(levels) + 1)
        frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
        frequent = frequent[counts[frequent] > 0]
        slot = np.full(len(levels) + 1, len(frequent))
        slot[frequent] = np.arange(len(frequent))
        seen.append(counts > 0)
        slots.append(slot)
    gaps = np.concatenate([has_gaps, (raw.codes < 0).any(axis=0)])
    return Space(low, high, centre, spread, fill, gaps, tuple(seen), tuple(slots))


def _scales(known: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
    """Low, high, centre, spread and fill of columns (n_columns, n) without gaps."""
    low, high = known.min(axis=1), known.max(axis=1)
    half = 0.5 * low + 0.5 * high
    with np.errstate(over="ignore", invalid="ignore"):
        centre = half + np.mean(known - half[:, None], axis=1)
        away = known - centre[:, None]
        wide = np.max(np.abs(away), axis=1)
        # Divided by the largest gap first, so that no square overflows or vanishes.
        unit = np.where(np.isfinite(wide) & (wide > 0.0), wide, 1.0)
        spread = np.where(unit == wide, unit * np.std(away / unit[:, None], axis=1), 1.0)
        spread = np.where(spread == 0.0, unit, spread)
        fill = np.clip((np.median(known, axis=1) - centre) / spread, -_FARTHEST, _FARTHEST)
    return low, high, centre, spread, fill


def encode_rows(space: Space, raw: RawRows) -> EncodedRows:
    """Rows as forests and distances take them."""
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.clip((raw.numbers - space.centre) / space.spread, -_FARTHEST, _FARTHEST)
    # A column that training had no value of tells nothing.
    scaled[:, np.isnan(space.centre)] = 0.0
    gaps = np.isnan(scaled)
    fill = np.nan_to_num(space.fill)
    indicators = [_indicators(raw.codes[:, k], slot) for k, slot in enumerate(space.slots)]
    matrix = np.concatenate([scaled, *(codes[:, :-1] for codes in indicators)], axis=1)
    filled = np.where(gaps, fill, scaled)
    strange = [
        (~known[raw.codes[:, k]] & (raw.codes[:, k] >= 0))[:, None]
        for k, known in enumerate(space.seen)
    ]
    axes = [np.concatenate(pair, axis=1) for pair in zip(indicators, strange, strict=True)]
    # A gap is an axis of its own where training had some; elsewhere the range speaks of it.
    gaps = gaps[:, space.gaps[: gaps.shape[1]]]
    points = np.concatenate([filled, gaps, *(_MISMATCH * axis for axis in axes)], axis=1)
    return EncodedRows(
        raw, np.ascontiguousarray(matrix), np.ascontiguousarray(points, dtype=np.float32)
    )


def _indicators(codes: NDArray[np.int64], slot: NDArray[np.int64]) -> NDArray[np.float64]:
    """Zeros and ones (n, n_slots + 2): frequent levels, the rare ones, and what is missing."""
    n_slots = int(slot[-1])
    out = np.zeros((len(codes), n_slots + 2))
    out[np.arange(len(codes)), np.where(codes < 0, n_slots + 1, slot[codes])] = 1.0
    return out


def find_strange(columns: Columns, space: Space, raw: RawRows) -> NDArray[np.bool_]:
    """Cells with a category or a gap that training rows do not have, (n, n_columns)."""
    x, codes = raw
    out = np.zeros((len(x), len(columns.names)), bool)
    n_numbers = len(columns.numbers)
    out[:, columns.numbers] = np.where(np.isnan(x), ~space.gaps[:n_numbers], np.isnan(space.low))
    for k, known in enumerate(space.seen):
        gap = codes[:, k] < 0
        new = ~known[codes[:, k]]
        out[:, columns.categories[k]] = np.where(gap, not space.gaps[n_numbers + k], new)
    return out


def find_outside(columns: Columns, space: Space, raw: RawRows) -> NDArray[np.bool_]:
    """Which cells are outside what training had, (n, n_columns)."""
    out = find_strange(columns, space, raw)
    out[:, columns.numbers] |= (raw.numbers < space.low) | (raw.numbers > space.high)
    return out


def matrix_columns(columns: Columns, space: Space) -> NDArray[np.int64]:
    """The table's column of each feature of `EncodedRows.matrix`."""
    widths = [int(slot[-1]) + 1 for slot in space.slots]
    return np.concatenate([columns.numbers, np.repeat(columns.categories, widths)])


def point_columns(columns: Columns, space: Space) -> NDArray[np.int64]:
    """The table's column of each axis of `EncodedRows.points`."""
    widths = [int(slot[-1]) + 3 for slot in space.slots]
    gappy = columns.numbers[space.gaps[: len(columns.numbers)]]
    return np.concatenate([columns.numbers, gappy, np.repeat(columns.categories, widths)])
