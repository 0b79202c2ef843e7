"""Concluding from its cells what kind of column this is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
from pyarrow import types

from gbuq_core.errors import InvalidData
from gbuq_core.tables.columns import (
    FEATURE_KINDS,
    Column,
    as_dates,
    as_numbers,
    as_text,
)
from gbuq_core.tables.date_text import find_date_style
from gbuq_core.tables.markers import suspected_missing
from gbuq_core.tables.number_text import Numbers, has_leading_zeros, read_numbers
from gbuq_core.tables.wording import counted, listed, shown

_ENOUGH = 0.95  # of the cells must be numbers or dates
_N_EXAMPLES = 3
_FEWEST_TO_JUDGE = 10  # rows, before distinct values show an identifier
_ID_NAME = re.compile(
    r"(?i:(?:^|[^a-z])(?:id|uuid|guid|index|idx|key|rownames?|row_?id|row|unnamed: ?\d+)$)"
    r"|[a-z]I[dD]$|^column 1$"
)
_PROSE_WORDS = 4.0  # words in the average cell of free text


class Clues(NamedTuple):
    """What is known besides the cells of a column: the file's habits and the column's place."""

    decimal: str = "."
    day_first: bool = False
    is_first_of_many: bool = False


def infer_column(name: str, array: Any, clues: Clues) -> Column:
    """Describe a column from its cells and, for identifiers, its name.

    Examples
    --------
    >>> import pyarrow as pa
    >>> infer_column("size", pa.array(["1.5", "NA", "2"]), Clues()).kind
    'numeric'
    """
    text = as_text(array)
    base = Column(
        name=name,
        kind="empty",
        n_missing=text.null_count,
        n_distinct=0,
        examples=_examples(text),
        reason="",
        used=False,
    )
    n_known = len(text) - text.null_count
    if n_known == 0:
        return replace(base, reason="All of its cells are missing.")
    if text.null_count == 0 and pc.all(pc.equal(text, text[0])).as_py():
        sentence = f"All of its cells are {shown(base.examples[0])}."
        return replace(base, kind="constant", n_distinct=1, reason=sentence)
    if types.is_timestamp(array.type):
        declared = replace(base, kind="date", used=True, reason="The file declares it as dates.")
        return replace(declared, n_distinct=_n_distinct(text))
    if types.is_boolean(array.type):
        return replace(
            base, kind="category", used=True, n_distinct=2, reason="It is true or false."
        )
    numbers, decimal = best_numbers(array, text, clues.decimal)
    if numbers.unreadable.sum() <= (1.0 - _ENOUGH) * n_known:
        base = replace(base, n_distinct=_n_distinct_numbers(numbers))
        found = _infer_from_numbers(base, text, numbers, decimal, clues)
        if found is not None:
            return found
    base = replace(base, n_distinct=_n_distinct(text))
    style, ambiguous = find_date_style(distinct_sample(text), clues.day_first)
    if style:
        return _as_date(base, array, style, ambiguous)
    return _infer_from_words(base, text, n_known)


def column_as(name: str, array: Any, kind: str, missing: tuple[str, ...], clues: Clues) -> Column:
    """Describe a column as the kind that the user chose for it.

    Raises
    ------
    InvalidData
        If none of its cells can be read as that kind.
    """
    text = as_text(array, missing)
    base = Column(
        name=name,
        kind=kind,
        n_missing=text.null_count,
        n_distinct=_n_distinct(text),
        examples=_examples(text),
        reason="Chosen by you.",
        used=kind in FEATURE_KINDS,
        missing_values=missing,
    )
    if text.null_count == len(text):
        return replace(base, kind="empty", used=False, reason="All of its cells are missing.")
    if kind == "numeric":
        numbers, decimal = best_numbers(array, text, clues.decimal)
        if not np.isfinite(numbers.values).any():
            raise InvalidData(
                f"The column {shown(name)} holds no numbers ({listed(base.examples)}): choose "
                "category or leave it out."
            )
        return _as_numeric(base, text, numbers, decimal)
    if kind == "date":
        style, ambiguous = find_date_style(distinct_sample(text), clues.day_first)
        if not style and not types.is_timestamp(array.type):
            raise InvalidData(
                f"The column {shown(name)} holds no dates that are known here "
                f"({listed(base.examples)}): choose category or leave it out."
            )
        return _as_date(base, array, style, ambiguous)
    return base


def best_numbers(array: Any, text: Any, decimal: str) -> tuple[Numbers, str]:
    """Numbers with the file's decimal mark, or with the other one if that reads more of them.

    ``text`` is the trimmed text of ``array``, which may hold numbers already.
    """
    if not types.is_string(array.type):
        return as_numbers(array, decimal), decimal
    numbers = read_numbers(text, decimal)
    if numbers.unreadable.any():
        other = "," if decimal == "." else "."
        again = read_numbers(text, other)
        if again.unreadable.sum() < numbers.unreadable.sum():
            return again, other
    return numbers, decimal


def _infer_from_numbers(
    base: Column, text: Any, numbers: Numbers, decimal: str, clues: Clues
) -> Column | None:
    """A numeric column, an identifier, or None for codes and for dates without separators."""
    known = numbers.values[~np.isnan(numbers.values)]
    whole = bool((known == np.round(known)).all())
    if not len(known) or (whole and has_leading_zeros(text)):
        return None
    like_days = whole and known.min() >= 19000101 and known.max() <= 20991231
    if like_days and find_date_style(distinct_sample(text), clues.day_first)[0] == "yyyymmdd":
        return None
    if whole and len(known) >= _FEWEST_TO_JUDGE:
        counts_rows = len(known) == len(text) and bool((np.diff(known) == 1).all())
        id_name = bool(_ID_NAME.search(base.name))
        if counts_rows and (id_name or clues.is_first_of_many):
            return replace(base, kind="identifier", reason="It counts the rows.")
        if id_name and base.n_distinct > 0.5 * len(known):
            return replace(
                base,
                kind="identifier",
                reason="Its name and its many distinct whole numbers say so.",
            )
    return _as_numeric(base, text, numbers, decimal)


def _as_numeric(base: Column, text: Any, numbers: Numbers, decimal: str) -> Column:
    n_bad = int(numbers.unreadable.sum())
    n_infinite = int(np.isinf(numbers.values).sum())
    n_known = len(text) - text.null_count
    reason = base.reason or (
        f"{n_known - n_bad:,} of {n_known:,} values are numbers." if n_bad else
        "All of its values are numbers."
    )  # fmt: skip
    return replace(
        base,
        kind="numeric",
        used=True,
        reason=reason,
        n_unreadable=n_bad,
        unreadable=_examples(text.filter(numbers.unreadable)) if n_bad else (),
        n_infinite=n_infinite,
        suspects=suspected_missing(numbers.values),
        decimal=decimal,
    )


def _as_date(base: Column, array: Any, style: str, ambiguous: bool) -> Column:
    dates = as_dates(array, style, base.missing_values)
    text = as_text(array, base.missing_values)
    n_bad = int(dates.unreadable.sum())
    written = f"Its values are dates written as {style}." if style else "The file says so."
    return replace(
        base,
        kind="date",
        used=True,
        reason=base.reason or written,
        n_unreadable=n_bad,
        unreadable=_examples(text.filter(dates.unreadable)) if n_bad else (),
        date_style=style,
        ambiguous_dates=ambiguous,
    )


def _infer_from_words(base: Column, text: Any, n_known: int) -> Column:
    """A category, an identifier or free text."""
    n_distinct = base.n_distinct
    distinct = counted(n_distinct, "distinct value")
    many = n_known >= _FEWEST_TO_JUDGE and n_distinct > 0.5 * n_known
    if many:
        words = [len(value.split()) for value in distinct_sample(text)]
        if sum(words) >= _PROSE_WORDS * len(words):
            return replace(
                base,
                kind="text",
                reason=f"It holds sentences, with {distinct} in {n_known:,} rows.",
            )
        if n_distinct > 0.9 * n_known or _ID_NAME.search(base.name):
            return replace(
                base, kind="identifier", reason=f"It has {distinct} in {counted(n_known, 'row')}."
            )
    return replace(base, kind="category", used=True, reason=f"It holds words, with {distinct}.")


def _n_distinct(text: Any) -> int:
    return int(pc.count_distinct(text, mode="only_valid").as_py())


def _n_distinct_numbers(numbers: Numbers) -> int:
    return len(np.unique(numbers.values[~np.isnan(numbers.values)]))


def distinct_sample(text: Any) -> list[str]:
    """Distinct values from all over the column."""
    known = text.drop_null()
    step = max(1, len(known) // 3000)
    values: list[str] = known.take(np.arange(0, len(known), step)).unique().to_pylist()
    return values


def _examples(text: Any) -> tuple[str, ...]:
    """The first distinct values."""
    values = text.slice(0, 200).drop_null().unique().to_pylist()
    if len(values) < _N_EXAMPLES:
        values = text.drop_null().slice(0, 20_000).unique().to_pylist()
    return tuple(values[:_N_EXAMPLES])
