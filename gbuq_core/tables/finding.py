"""Which rows of a scored table are listed: conditions and words, then the order.

The box "Find rows" of the page "Your data" reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import is_object_dtype, is_string_dtype

from gbuq_core.errors import InvalidData
from gbuq_core.tables.columns import trim
from gbuq_core.tables.written_dates import date_part, find_date_style, read_dates
from gbuq_core.tables.written_numbers import read_numbers

_CLAUSE = re.compile(
    r'\s*(?P<name>"[^"]*"|[^<>=!]+?)\s*(?P<sign><=|>=|!=|=|<|>)\s*(?P<value>"[^"]*"|.*?)\s*'
)
_SPLIT = re.compile(r',(?=(?:[^"]*"[^"]*")*[^"]*$)|\s+and\s+(?=(?:[^"]*"[^"]*")*[^"]*$)')
_NEAR = 1e-9
# Short names that always mean the uncertainties, whatever the table's columns are called.
SHORT = {"tu": "total", "du": "data", "ku": "knowledge"}
LONGEST_CONDITION = 200


class Listing(NamedTuple):
    """Positions of the rows that fit, in order, and how many do before any limit."""

    positions: np.ndarray
    n_found: int


def find_rows(
    text: str,
    cells: pd.DataFrame,
    measures: Mapping[str, np.ndarray],
    marks: Mapping[str, str] = MappingProxyType({}),
) -> np.ndarray:
    """Which rows fit all conditions, (n_rows,) bool."""
    keep = np.ones(len(cells), bool)
    for clause in _SPLIT.split(text):
        if clause.strip():
            keep &= _one_clause(clause.strip(), cells, measures, marks)
    return keep


def list_rows(
    keep: np.ndarray, rank: np.ndarray, lowest_first: bool, limit: int | None = None
) -> Listing:
    """The rows that fit, ranked; those without a value come last. None lists all of them."""
    positions = np.flatnonzero(keep)
    values = rank[positions] if lowest_first else -rank[positions]
    order = np.argsort(values, kind="stable")  # NaN sorts last either way
    return Listing(positions[order][:limit], len(positions))


def _one_clause(
    clause: str,
    cells: pd.DataFrame,
    measures: Mapping[str, np.ndarray],
    marks: Mapping[str, str],
) -> np.ndarray:
    parts = _CLAUSE.fullmatch(clause)
    if parts is None:
        return _contains(clause.strip('"'), cells)
    name, sign = parts["name"].strip().strip('"'), parts["sign"]
    value = parts["value"].strip().strip('"')
    values = _column(name, cells, measures)
    numbers = _numbers(values, marks.get(str(values.name), "."))
    if sign in ("=", "!="):
        equal = _equal(values, numbers, value)
        return equal if sign == "=" else ~equal
    try:
        limit = float(value)
    except ValueError:
        days = _days(values, value)
        if days is None:
            raise InvalidData(
                f"{name} {sign} needs a number on the right, or a date in a column of dates, not "
                f"{value or 'nothing'}."
            ) from None
        numbers, limit = days
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}[sign]
    with np.errstate(invalid="ignore"):
        return compare(numbers, limit)


def _column(name: str, cells: pd.DataFrame, measures: Mapping[str, np.ndarray]) -> pd.Series:
    """The values of a column or measure, by its name in whatever case."""
    measures = {**measures, **{s: measures[m] for s, m in SHORT.items() if m in measures}}
    if name in cells.columns:
        return cells[name]
    by_lower = {str(column).lower(): column for column in reversed(list(cells.columns))}
    if name.lower() in SHORT or name.lower() not in by_lower:
        if name.lower() in measures:
            return pd.Series(measures[name.lower()])
        raise InvalidData(f'There is no column "{name[:60]}": write the name as in the table.')
    return cells[by_lower[name.lower()]]


def _days(values: pd.Series, value: str) -> tuple[np.ndarray, float] | None:
    """Days since 1970 of a column of dates and of a date, as the column or as 2024-02-29."""
    text = pa.array(values.astype("str").where(values.notna()), pa.string(), from_pandas=True)
    column = find_date_style(text.unique().drop_null().to_pylist(), day_first=False)[0]
    for style in (column, find_date_style([value], day_first=False)[0]):
        if column and style and not np.isnat(limit := read_dates(pa.array([value]), style).values):
            dates = read_dates(text, column).values
            return date_part(dates, "days"), float(date_part(limit, "days")[0])
    return None


def _numbers(values: pd.Series, decimal: str) -> np.ndarray:
    """The numbers among the values, which may be text with this decimal mark; NaN elsewhere."""
    if is_object_dtype(values) or is_string_dtype(values):
        text = pa.array(values.astype("str").where(values.notna()), pa.string(), from_pandas=True)
        return read_numbers(trim(text), decimal).values
    return pd.to_numeric(values, errors="coerce").to_numpy(np.float64, na_value=np.nan)


def _equal(values: pd.Series, numbers: np.ndarray, value: str) -> np.ndarray:
    if value == "":
        return values.isna().to_numpy()
    same = values.astype("str").str.strip().str.lower().eq(value.lower()).to_numpy(bool)
    try:
        number = float(value)
    except ValueError:
        return np.asarray(same, bool)
    return np.asarray(same | np.isclose(numbers, number, rtol=_NEAR, atol=0.0), bool)


def _contains(word: str, cells: pd.DataFrame) -> np.ndarray:
    holds = np.zeros(len(cells), bool)
    for name in cells.columns:
        column = cells[name].astype("str")
        holds |= column.str.contains(word, case=False, regex=False, na=False).to_numpy(bool)
    return holds
