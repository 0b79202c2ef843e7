"""From a user's table to the standardised matrix that soft trees read.

Numbers are centred and scaled, gaps filled with the median and marked by a column of their own,
categories spread over one column a level (supplement 2.1 of Cinquin et al. standardises the same
way). Columns that are constant in training are left out: a gate cannot learn from them.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidData
from gbuq_core.inputs import (
    RowFlags,
    TargetScale,
    as_table,
    category_positions,
    constant_scale,
    factorize,
    find_levels,
    fit_target_scale,
    level_codes,
    read_numbers,
)
from gbuq_core.model_files.contents import check_arrays, require

MAX_LEVELS = 32  # levels of a category with a column of their own; the rarer ones share one
MAX_COLUMNS = 4096
FARTHEST = 1e6  # standardised numbers beyond are cut: squares of leaf lines stay finite
_ROUNDING = 1e-13  # a spread below this share of the values is rounding


class SoftColumn(NamedTuple):
    """How one input column becomes matrix columns."""

    name: str
    is_number: bool
    levels: tuple[Any, ...]  # a column each
    has_rest: bool  # whether rarer and unknown levels share a column
    has_missing: bool  # whether gaps have a column
    median: float  # fills the gaps of numbers

    def check_file(self) -> None:
        """Refuse a coding that no column has."""
        known = all(type(level) in (float, str) for level in self.levels)
        once = len(set(self.levels)) == len(self.levels) and math.isfinite(self.median)
        numbers = not (self.is_number and (self.levels or self.has_rest))
        require(known and once and numbers, f"the coding of column {self.name!r:.60} is impossible")


class SoftEncoding(NamedTuple):
    """The codings of all columns; the matrix columns that vary, their means and stds (p,)."""

    columns: tuple[SoftColumn, ...]
    names: tuple[str, ...]
    kept: np.ndarray
    centre: np.ndarray
    spread: np.ndarray

    def check_file(self) -> None:
        """Refuse scales and names of other columns."""
        names = [name for column in self.columns for name in column_names(column)]
        require(1 <= len(names) <= MAX_COLUMNS, "its columns do not match")
        check_arrays(self, kept=(bool, len(names)))
        n_kept = int(self.kept.sum())
        check_arrays(self, centre=("finite", n_kept), spread=("finite", n_kept))
        require((self.spread > 0.0).all(), "the scale of a column is impossible")
        chosen = tuple(name for name, keep in zip(names, self.kept, strict=True) if keep)
        require(self.names == chosen, "its columns do not match")

    @property
    def n_columns(self) -> int:
        """Columns of the matrix, at least 1: without any that varies there is one of zeros."""
        return max(1, len(self.names))


def fit_inputs(X: Any, declared: Any = None) -> tuple[SoftEncoding, np.ndarray]:
    """Learn the coding of every column and return it with the training matrix (n, p)."""
    table = as_table(X)
    is_category = category_positions(table, declared)
    columns = tuple(
        _fit_column(table.iloc[:, i], str(label), not is_category[i])
        for i, label in enumerate(table.columns)
    )
    names = [name for column in columns for name in column_names(column)]
    if len(names) > MAX_COLUMNS:
        raise InvalidData(
            f"X has {len(names)} columns after encoding, but at most {MAX_COLUMNS} are supported: "
            "drop some."
        )
    raw = np.hstack([_read_column(c, table.iloc[:, i])[0] for i, c in enumerate(columns)])
    largest = np.abs(raw).max(axis=0)
    unit = np.where(largest > 0.0, largest, 1.0)
    centre, spread = unit * (raw / unit).mean(axis=0), unit * (raw / unit).std(axis=0)
    kept = (raw.min(axis=0) < raw.max(axis=0)) & (spread > _ROUNDING * largest)
    encoding = SoftEncoding(
        columns,
        tuple(n for n, k in zip(names, kept, strict=True) if k),
        kept,
        centre[kept],
        spread[kept],
    )
    return encoding, _standardise(encoding, raw)


def apply_inputs(encoding: SoftEncoding, X: Any) -> tuple[np.ndarray, RowFlags]:
    """The matrix (n, p) of new rows, and what in them training had never seen."""
    table = as_table(X)
    unseen, new_missing = np.zeros(len(table), bool), np.zeros(len(table), bool)
    flagged, parts = [], []
    for i, column in enumerate(encoding.columns):
        part, strange, missing = _read_column(column, table.iloc[:, i])
        missing = missing & (not column.has_missing)
        unseen |= strange
        new_missing |= missing
        if strange.any() or missing.any():
            flagged.append(column.name)
        parts.append(part)
    flags = RowFlags(unseen, new_missing, tuple(flagged))
    return _standardise(encoding, np.hstack(parts)), flags


def _standardise(encoding: SoftEncoding, raw: np.ndarray) -> np.ndarray:
    if not encoding.names:
        return np.zeros((len(raw), 1))
    with np.errstate(over="ignore"):  # cut to FARTHEST below
        matrix = (raw[:, encoding.kept] - encoding.centre) / encoding.spread
    return np.ascontiguousarray(np.clip(matrix, -FARTHEST, FARTHEST))


def _fit_column(values: pd.Series, name: str, is_number: bool) -> SoftColumn:
    if is_number:
        numbers = read_numbers(values, name)
        missing = np.isnan(numbers)
        median = 0.0 if missing.all() else float(np.median(numbers[~missing]))
        return SoftColumn(name, True, (), False, bool(missing.any()), median)
    codes, distinct = factorize(values, name)
    levels = find_levels(distinct)
    places, missing = level_codes(codes, distinct, levels)
    has_rest = len(levels) > MAX_LEVELS
    if has_rest:
        rows_of = np.bincount(places[~missing], minlength=len(levels))
        commonest = np.sort(np.argsort(-rows_of, kind="stable")[: MAX_LEVELS - 1])
        levels = tuple(levels[i] for i in commonest)
    return SoftColumn(name, False, levels, has_rest, bool(missing.any()), 0.0)


def column_names(column: SoftColumn) -> list[str]:
    """What the matrix columns of one input column are called."""
    if column.is_number:
        names = [column.name]
    else:
        names = [f"{column.name} = {level}" for level in column.levels]
        names += [f"{column.name} = rarer"] * column.has_rest
    return names + [f"{column.name} missing"] * column.has_missing


def _read_column(
    column: SoftColumn, values: pd.Series
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns before scaling, which levels are new (zeros there), and which gaps there are."""
    if column.is_number:
        numbers = read_numbers(values, column.name)
        missing = np.isnan(numbers)
        strange = np.zeros(len(numbers), bool)
        parts = [np.where(missing, column.median, numbers)]
    else:
        codes, missing = level_codes(*factorize(values, column.name), column.levels)
        rest = (codes < 0) & ~missing
        strange = rest & (not column.has_rest)
        parts = [codes == level for level in range(len(column.levels))]
        parts += [rest] * column.has_rest
    parts += [missing] * column.has_missing
    matrix = np.column_stack(parts).astype(np.float64) if parts else np.empty((len(values), 0))
    return matrix, strange, missing


def fit_scale(y: np.ndarray) -> TargetScale:
    """Centre and spread of the targets ``y`` (n,), with nearly no spread where y is constant."""
    scale = fit_target_scale(y)
    return scale if y.min() != y.max() else constant_scale(scale.centre)
