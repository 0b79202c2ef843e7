"""The feature columns that a table's columns become."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from pyarrow import types

from gbuq_core.errors import InvalidData
from gbuq_core.tables.columns import (
    Column,
    as_categories,
    as_dates,
    as_text,
    finite_values,
)
from gbuq_core.tables.date_text import date_part, find_date_style, used_parts
from gbuq_core.tables.kinds import best_numbers, distinct_sample
from gbuq_core.tables.notices import unreadable_sentence
from gbuq_core.tables.wording import counted, listed, shown

# A column of a second file of which less can be read as in the first is something else.
_FEWEST_READABLE = 0.5


class Feature(NamedTuple):
    """One column of the feature matrix: its name, the table's column, and the part of a date."""

    name: str
    column: str
    part: str


def feature_values(
    array: Any, column: Column, parts: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """The features of a column by part: "" for numbers and categories, several for a date.

    Parameters
    ----------
    array : pyarrow.Array
    column : Column
        As inferred or chosen for this array.
    parts : tuple of str, optional
        The parts of a date; by default those that vary.
    """
    if column.kind == "category":
        return {"": as_categories(array, column.missing_values)}
    if column.kind == "numeric":
        text = _text_of(array, column)
        return {"": finite_values(best_numbers(array, text, column.decimal)[0])}
    if column.kind == "date":
        dates = as_dates(array, column.date_style, column.missing_values).values
        return {part: date_part(dates, part) for part in parts or used_parts(dates)}
    raise InvalidData(
        f"The column {shown(column.name)} is no number, category or date: leave it out."
    )


def column_like(array: Any, column: Column, decimal: str) -> tuple[Column, list[str]]:
    """The description of a second file's column, read as what the first file's column is.

    Returns
    -------
    column : Column
        With the second file's own decimal mark or way to write dates.
    notices : list of str

    Raises
    ------
    InvalidData
        If most of its cells cannot be read so.
    """
    text = _text_of(array, column)
    n_known = len(text) - text.null_count
    if column.kind == "numeric":
        numbers, mark = best_numbers(array, text, decimal)
        unreadable, n_infinite = numbers.unreadable, int(np.isinf(numbers.values).sum())
        column = replace(column, decimal=mark)
    elif column.kind == "date":
        column = replace(column, date_style=_style_like(array, text, column))
        unreadable, n_infinite = as_dates(array, column.date_style).unreadable, 0
        unreadable &= text.is_valid().to_numpy(zero_copy_only=False)
    else:
        return column, []
    n_bad = int(unreadable.sum())
    examples = tuple(text.filter(unreadable).unique().to_pylist()[:3]) if n_bad else ()
    if n_bad > (1.0 - _FEWEST_READABLE) * n_known:
        kind = "numbers" if column.kind == "numeric" else "dates"
        raise InvalidData(
            f"The column {shown(column.name)} holds {kind} in the first file but something else in "
            f"the second ({listed(examples)}): give both files the same columns."
        )
    notices = []
    if n_bad:
        notices.append("Second file: " + unreadable_sentence(
            replace(column, n_unreadable=n_bad, unreadable=examples)
        ))  # fmt: skip
    if n_infinite:
        notices.append(
            f"Second file: {counted(n_infinite, 'infinite value')} of the column "
            f"{shown(column.name)} count{'s' if n_infinite == 1 else ''} as missing."
        )
    return column, notices


def _text_of(array: Any, column: Column) -> Any:
    return as_text(array, column.missing_values)


def _style_like(array: Any, text: Any, column: Column) -> str:
    """The first file's way to write dates if it fits, else the second's own."""
    if types.is_timestamp(array.type):
        return ""
    sample = distinct_sample(text)
    day_first = column.date_style.startswith("day")
    found, ambiguous = find_date_style(sample, day_first)
    if ambiguous and column.date_style:
        return column.date_style
    return found or column.date_style
