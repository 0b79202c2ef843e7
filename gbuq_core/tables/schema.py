"""What kind of column each one is, inferred from its cells and then edited by the user."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import parallel_map
from gbuq_core.presentation import counted, enumerated, listed, shown
from gbuq_core.tables.codes_by_name import hold_codes
from gbuq_core.tables.column_notices import INDEX, MANY_LEVELS, column_notices, years_remarks
from gbuq_core.tables.columns import (
    CHOSEN_KINDS,
    FEATURE_KINDS,
    LONG_WHOLE,
    SUSPECT_DAYS,
    Column,
    Missing,
    are_codes,
    as_dates,
    as_numbers,
    as_text,
    single_chunk,
    suspected_missing,
)
from gbuq_core.tables.decimal_marks import FileMark, choose_mark, spread
from gbuq_core.tables.files import Table
from gbuq_core.tables.no_data import OWN, own_columns
from gbuq_core.tables.words_in_columns import (
    first_examples,
    n_distinct,
    numbers_among_words,
    unmatched_values,
    with_spellings,
    with_words,
    without_markers,
    words_of_missing,
)
from gbuq_core.tables.written_dates import (
    DIGIT,
    ENOUGH,
    date_part,
    find_date_style,
    read_dates,
    style_words,
)
from gbuq_core.tables.written_numbers import (
    BARE,
    CLOCK,
    Numbers,
    UnitChoice,
    are_clocks,
    choose_units,
    like_numbers_or_dates,
    may_hold_numbers,
    read_numbers,
)
from gbuq_core.validation import check_choice

_MOST_WORDS = 100  # among dates, for them to be taken for such as mean missing
_FEWEST_TO_JUDGE = 10  # rows, before distinct values show an identifier
_FEWEST_TO_SAMPLE = 1000  # cells, before those alone show that a column holds no numbers
_SAMPLED = 3000  # cells of such a sample
_SURELY_WORDS = 0.5  # of the cells of such a sample
_NEARER = 0.1  # of a column's range, between its values and what another one has for missing
_CHOSEN = "Chosen by you."
_ID_NAME = re.compile(
    r"(?i:(?:^|[^a-z])(?:id|uuid|guid|index|idx|key|rownames?|row_?id|row|unnamed: ?\d+)$)"
    r"|[a-z]I[dD]$|^column 1$"
)
_SPOKEN = re.compile(r"(?<!\S)\S*[^\W\d_]{2}\S*")  # a word, of no number or account
_PROSE_WORDS = 4.0  # words in the average cell of free text
_SURELY_DATES = 10  # different numbers of eight digits, all of which are dates
_DATE_NAME = re.compile(r"(?i)dat|fecha|dob|day|(?<![a-z])(?:dt|tag|jour|dia)(?![a-z])|日|день")
_LARGEST_EXACT = 2.0**53  # a double holds all whole numbers up to it


class Clues(NamedTuple):
    """What is known besides the cells of a column: the file's habits and the column's place."""

    mark: FileMark = FileMark()
    day_first: bool = False
    is_first_of_many: bool = False


_DAY_NUMBERS = (1, 10**4, 10**6)  # 20240229 without, with hours and minutes, with seconds


def infer_column(
    name: str,
    array: Any,
    clues: Clues,
    missing_values: tuple[str, ...] = (),
    keep_words: bool = False,
) -> Column:
    """Describe a column from its cells and, for identifiers, its name.

    >>> import pyarrow as pa
    >>> infer_column("size", pa.array(["1.5", "NA", "2"]), Clues()).kind
    'numeric'
    """
    column = _infer_column(name, array, clues, missing_values, keep_words)
    return replace(column, missing_words=words_of_missing(array, column))


def _infer_column(
    name: str, array: Any, clues: Clues, missing_values: tuple[str, ...], keep_words: bool
) -> Column:
    base, text = _begin(name, array, clues, missing_values, keep_words)
    n_known = len(text) - text.null_count
    if n_known == 0:
        return replace(base, reason="All of its cells are missing.")
    if text.null_count == 0 and pc.all(pc.equal(text, text[0])).as_py():
        sentence = f"All of its cells are {shown(base.examples[0])}."
        return replace(base, kind="constant", n_distinct=1, reason=sentence)
    if types.is_timestamp(array.type):
        return _as_date(replace(base, n_distinct=n_distinct(text)), array, "", ambiguous=False)
    if types.is_boolean(array.type):
        return replace(
            base, kind="category", used=True, n_distinct=2, reason="Its values are true or false."
        )
    digits = unread = not types.is_string(array.type) or may_hold_numbers(text)
    codes = False
    if digits and (not types.is_string(array.type) or _may_be_numbers(text, clues.mark)):
        numbers, tried, known = _best_numbers(base, array, text, clues.mark)
        n_known = len(known) - known.null_count
        if numbers.unreadable.sum() <= (1.0 - ENOUGH) * n_known:
            tried = replace(tried, n_distinct=_n_distinct_numbers(known, numbers))
            unread = bool(numbers.unreadable.any())
            guess = _infer_from_numbers(tried, known, numbers, clues)
            if guess and not (codes := hold_codes(guess, numbers.values)):
                return guess
        elif mixed := dict(tried.remarks).get("mixed"):
            reason = "Its numbers have different units."
            return replace(
                base,
                kind="text",
                n_distinct=n_distinct(text),
                reason=reason,
                decimal=tried.decimal,
                remarks=(*base.remarks, ("mixed", mixed)),
            )
        elif sentence := numbers_among_words(base, text, numbers, clues.mark):
            base = replace(base, remarks=(*base.remarks, ("numbers", sentence)))
    style, ambiguous = "", False
    if digits := digits and not codes:
        style, ambiguous = find_date_style(distinct_sample(text), clues.day_first, name)
    if digits and not style:
        style, ambiguous, base, text = _style_among_words(base, text, clues, name)
    if style:
        base = replace(base, n_distinct=n_distinct(text))
        return _as_date(base, array, style, ambiguous)
    words, text = with_words(replace(base, kind="category"), array, text)
    guess = _infer_from_words(words, text, len(text) - text.null_count)
    if guess.kind == "identifier":  # of nobody, where it says None
        guess = replace(guess, n_missing=base.n_missing, remarks=base.remarks)
    many = guess.kind != "category" or guess.n_distinct > MANY_LEVELS
    if unread and many and (what := like_numbers_or_dates(text)):
        plain = "2024-02-29" if what == "dates" else "plain numbers"
        sentence = (
            f"The cells of the column {shown(name)} look like {what} ({listed(guess.examples)}) in "
            f"a form that is not read: write them as {plain} if they are."
        )
        guess = replace(guess, remarks=(*guess.remarks, ("numbers", sentence)))
    if codes and guess.kind == "category":
        reason = f"Its name says that its {guess.n_distinct:,} distinct numbers are codes."
        guess = replace(guess, reason=reason, remarks=(*guess.remarks, ("codes", reason)))
    return with_spellings(guess, array, text)


def column_as(
    name: str,
    array: Any,
    kind: str,
    clues: Clues,
    missing_values: tuple[str, ...] = (),
    keep_words: bool = False,
) -> Column:
    """Describe a column as the kind that the user chose for it."""
    column = _column_as(name, array, kind, clues, missing_values, keep_words)
    return replace(column, missing_words=words_of_missing(array, column))


def _column_as(
    name: str,
    array: Any,
    kind: str,
    clues: Clues,
    missing_values: tuple[str, ...],
    keep_words: bool,
) -> Column:
    base, text = _begin(name, array, clues, missing_values, keep_words)
    base = replace(base, kind=kind, reason=_CHOSEN, used=kind in FEATURE_KINDS)
    if kind not in ("numeric", "date"):
        base, text = with_words(base, array, text)
    base = replace(base, n_distinct=n_distinct(text))
    if text.null_count == len(text):
        return replace(base, kind="empty", used=False, reason="All of its cells are missing.")
    if kind == "numeric":
        numbers, base, text = _best_numbers(base, array, text, clues.mark)
        if not np.isfinite(numbers.values).any():
            raise InvalidData(
                f"The values of the column {shown(name)} cannot be read as numbers "
                f"({listed(base.examples)}): choose category or leave it out."
            )
        return _as_numeric(base, text, numbers)
    if kind == "date":
        style, ambiguous = find_date_style(distinct_sample(text), clues.day_first, name)
        if not style:
            style, ambiguous, base, text = _style_among_words(base, text, clues, name)
        if not style and not types.is_timestamp(array.type):
            raise InvalidData(
                f"The values of the column {shown(name)} cannot be read as dates "
                f"({listed(base.examples)}): choose category or leave it out."
            )
        return _as_date(base, array, style, ambiguous)
    return with_spellings(base, array, text)


def _begin(
    name: str, array: Any, clues: Clues, missing_values: tuple[str, ...], keep_words: bool
) -> tuple[Column, Any]:
    """A description without a kind yet, and the text of the cells."""
    base = Column(
        name=name,
        kind="empty",
        n_missing=0,
        n_distinct=0,
        examples=(),
        reason="",
        used=False,
        missing_values=missing_values,
        keep_words=keep_words,
        decimal=clues.mark.decimal,
    )
    if base.missing.numbers and types.is_string(array.type):  # which the column's mark tells
        plain = as_text(array, Missing(base.missing.texts))
        base = replace(base, decimal=choose_mark(name, plain, clues.mark).decimal)
    text = as_text(array, base.missing)
    if unmatched := unmatched_values(base, array):
        base = replace(base, remarks=(("unmatched", unmatched),))
    return replace(base, n_missing=text.null_count, examples=first_examples(text)), text


def _best_numbers(
    base: Column, array: Any, text: Any, of_file: FileMark
) -> tuple[Numbers, Column, Any]:
    """A column's numbers, its description, and its text without words that mean missing."""
    if not types.is_string(array.type):
        return as_numbers(array, base), base, text
    mark = choose_mark(base.name, text, of_file)
    remarks = [] if not mark.doubt else [("marks", mark.doubt)]
    numbers = read_numbers(text, mark.decimal, BARE)
    choice = UnitChoice()
    if not numbers.plain or numbers.unreadable.any():
        choice = choose_units(text, mark.decimal)
        if choice.units != BARE:
            numbers = read_numbers(text, mark.decimal, choice.units)
    where = f"the column {shown(base.name)}"
    if choice.mixed and base.reason != _CHOSEN:
        units = enumerated([f"{unit or 'no unit'} in {n:,}" for unit, n in choice.mixed])
        words = (
            f"The cells of {where} are numbers in different units ({units} cells), so it "
            "is not used: write them in one unit, or choose Kind (--kind): numeric keeps those "
            f"in {choice.mixed[0][0] or 'no unit'}."
        )
        remarks.append(("mixed", words))
    if choice.n_noted:
        words = (
            f"{counted(choice.n_noted, 'cell')} of {where} "
            f"{'has' if choice.n_noted == 1 else 'have'} a mark such as <, + or * beside the "
            "number, which is read as it stands."
        )
        remarks.append(("noted", words))
    base = replace(
        base,
        decimal=mark.decimal,
        thousands=choice.thousands,
        units=choice.units,
        remarks=(*base.remarks, *remarks),
    )
    base, text = without_markers(base, text, numbers.unreadable, "numbers")
    gone = text.is_null().to_numpy(zero_copy_only=False)
    return numbers._replace(unreadable=numbers.unreadable & ~gone), base, text


def _style_among_words(
    base: Column, text: Any, clues: Clues, name: str
) -> tuple[str, bool, Column, Any]:
    """The style of dates with words among them that mean missing; empty if there is none."""
    sample = distinct_sample(text)
    dated = [word for word in sample if DIGIT.search(word)]
    if not dated or len(sample) - len(dated) > _MOST_WORDS:
        return "", False, base, text
    style, ambiguous = find_date_style(dated, clues.day_first, name)
    if not style:
        return "", False, base, text
    base, text = without_markers(base, text, read_dates(text, style).unreadable, "dates")
    return (style if base.found_missing else ""), ambiguous, base, text


def _may_be_numbers(text: Any, of_file: FileMark) -> bool:
    """Whether half of a few thousand cells, or any of fewer, are numbers."""
    cells = spread(text, _SAMPLED)
    if len(cells) < _FEWEST_TO_SAMPLE:
        return True
    numbers = read_numbers(cells, choose_mark("", cells, of_file).decimal)
    few = numbers.unreadable.sum() <= _SURELY_WORDS * len(cells)
    return bool(few) or are_clocks(pc.unique(cells))


def _infer_from_numbers(base: Column, text: Any, numbers: Numbers, clues: Clues) -> Column | None:
    """A numeric column, an identifier, or None for codes and for dates without separators."""
    known = numbers.values[~np.isnan(numbers.values)]
    whole = bool((known == np.round(known)).all())
    if not len(known) or (whole and are_codes(text)):
        return None
    if _ID_NAME.search(base.name) and base.units != CLOCK and dict(base.units).keys() - {""}:
        return None  # RS10234 is no money
    if whole and base.n_distinct > len(pd.unique(known)):
        return None  # numbers with so many digits that a model could not tell them apart
    low, high = known.min(), known.max()
    like_days = whole and any(19000101 * k <= low and high < 21000101 * k for k in _DAY_NUMBERS)
    # Month and day before the year, without the zero before them.
    like_days |= whole and low >= 1011900 and high < 31122100
    like_months = not whole and low >= 1.0 and high < 13.0
    if like_days or like_months:
        sample = distinct_sample(text)
        style = find_date_style(sample, clues.day_first)[0]
        if style.startswith("yyyymmdd") or style == "month.year":
            return None
        if style.endswith("yyyy") and (
            len(sample) >= _SURELY_DATES or _DATE_NAME.search(base.name)
        ):
            return None
    if whole and len(known) >= _FEWEST_TO_JUDGE:
        ends = (float(known.min()), float(known.max()))
        counts_rows = len(known) == len(text) and bool((np.diff(known) == 1).all())
        id_name = bool(_ID_NAME.search(base.name))
        if counts_rows and (id_name or clues.is_first_of_many):
            reason = "Its values count the rows."
            return replace(base, kind="identifier", range=ends, reason=reason)
        if id_name and base.n_distinct > 0.5 * len(known):
            return replace(
                base,
                kind="identifier",
                range=ends,
                reason="Its name and its many distinct whole numbers point to an identifier.",
            )
    return _as_numeric(base, text, numbers)


def _as_numeric(base: Column, text: Any, numbers: Numbers) -> Column:
    n_bad = int(numbers.unreadable.sum())
    n_infinite = int(np.isinf(numbers.values).sum())
    n_known = len(text) - text.null_count
    all_of = f"{n_known - n_bad:,} of {n_known:,} values are" if n_bad else "All of its values are"
    what = "times of day, read in hours" if base.units == CLOCK else "numbers"
    reason = base.reason or f"{all_of} {what}."
    finite = numbers.values[np.isfinite(numbers.values)]
    return replace(
        base,
        kind="numeric",
        used=True,
        range=(float(finite.min()), float(finite.max())) if len(finite) else None,
        reason=reason,
        n_unreadable=n_bad,
        unreadable=first_examples(text.filter(numbers.unreadable)) if n_bad else (),
        n_infinite=n_infinite,
        suspects=suspected_missing(numbers.values),
    )


def _as_date(base: Column, array: Any, style: str, ambiguous: bool) -> Column:
    dates = as_dates(array, style, base.missing)
    text = as_text(array, base.missing)
    base, text = without_markers(base, text, dates.unreadable, "dates")
    unreadable = dates.unreadable & text.is_valid().to_numpy(zero_copy_only=False)
    n_bad = int(unreadable.sum())
    where = f"of the column {shown(base.name)}"
    remarks = [*base.remarks]
    remarks += years_remarks(base.name, text, dates.values, style)
    if (dates.local != dates.values)[~np.isnat(dates.values)].any():
        words = (
            f"The times {where} are written with their distance from UTC: their days are "
            "counted in UTC, and month, weekday and hour are those of the place."
        )
        remarks.append(("zones", words))
    days = date_part(dates.values, "days")
    known = days[~np.isnan(days)]
    written = (
        f"Its values are dates written as {style_words(style)}."
        if style
        else "The file says that it holds dates."
    )
    return replace(
        base,
        kind="date",
        used=True,
        reason=base.reason or written,
        n_unreadable=n_bad,
        unreadable=first_examples(text.filter(pa.array(unreadable))) if n_bad else (),
        range=(float(known.min()), float(known.max())) if len(known) else None,
        suspects=suspected_missing(np.floor(days), SUSPECT_DAYS),
        remarks=tuple(remarks),
        date_style=style,
        ambiguous_dates=ambiguous,
    )


def _infer_from_words(base: Column, text: Any, n_known: int) -> Column:
    """A category, an identifier or free text."""
    n_distinct = base.n_distinct
    distinct = counted(n_distinct, "distinct value")
    many = n_known >= _FEWEST_TO_JUDGE and n_distinct > 0.5 * n_known
    if many:
        if np.mean([len(_SPOKEN.findall(one)) for one in distinct_sample(text)]) >= _PROSE_WORDS:
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


def _n_distinct_numbers(text: Any, numbers: Numbers) -> int:
    """Distinct numbers; as they are written where doubles may not hold all their digits."""
    known = numbers.values[~np.isnan(numbers.values)]
    large = bool((np.abs(known) >= _LARGEST_EXACT).any())
    if large and pc.any(pc.match_substring_regex(text, LONG_WHOLE)).as_py():
        return n_distinct(text)
    return len(pd.unique(known))


def distinct_sample(text: Any) -> list[str]:
    """Distinct values from all over the column."""
    return spread(text, _SAMPLED).unique().to_pylist()


_LIKELY_TARGETS = ("target", "y", "label", "class", "outcome", "response", "diagnosis", "price")


class Schema(NamedTuple):
    """What the columns of a table are.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the file.
    n_rows : int
    notices : tuple of str
        What had to be decided, one plain sentence each.
    """

    columns: tuple[Column, ...]
    n_rows: int
    notices: tuple[str, ...]

    @property
    def marks(self) -> dict[str, str]:
        """The decimal mark of each column."""
        return {column.name: column.decimal for column in self.columns}

    def column(self, name: str) -> Column:
        """The column of that name.

        Raises
        ------
        InvalidData
            With the nearest names, if there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        import difflib

        names = [column.name for column in self.columns]
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {listed(near)}" if near else f"the columns are {listed(names)}"
        raise InvalidData(f"The table has no column {shown(name)}: {hint}.")


def infer_schema(table: Table) -> Schema:
    r"""Infer what each column of a table holds.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> table = read_table(b"city;size\nUlm;1,5\nUlm;2,5\nBonn;3\n")
    >>> [(column.name, column.kind) for column in infer_schema(table).columns]
    [('city', 'category'), ('size', 'numeric')]
    """
    names = table.names

    def infer(position: int) -> Column:
        array = single_chunk(table.data, position)
        return infer_column(names[position], array, _clues(table, position))

    columns = parallel_map(infer, range(len(names)))
    codes = tuple(sorted({code for c in columns if c.kind == "numeric" for code in c.suspects}))
    for position, column in enumerate(columns):  # a code of one column is looked for in all
        if column.kind == "numeric" and column.range and {*codes} & {*column.range}:
            values = as_numbers(single_chunk(table.data, position), column).values
            suspects = suspected_missing(values, codes, _NEARER)
            columns[position] = replace(column, suspects=suspects)
    own = own_columns(names)
    for position, name in enumerate(names):
        if name in own or name in table.source.index_columns:
            reason = OWN if name in own else INDEX
            columns[position] = replace(columns[position], used=False, reason=reason)
    if not any(column.used for column in columns):
        columns = [_rescued(table, column) for column in columns]
    return Schema(tuple(columns), table.n_rows, tuple(column_notices(columns)))


def edit_schema(
    table: Table,
    schema: Schema,
    kinds: Mapping[str, str] | None = None,
    used: Mapping[str, bool] | None = None,
    missing_values: Mapping[str, Sequence[object]] | None = None,
    keep_words: Collection[str] = (),
) -> Schema:
    """Replace what was inferred by the user's choices.

    Parameters
    ----------
    table : Table
        The one that the schema was inferred from.
    schema : Schema
    kinds : mapping of name to kind, optional
        One of `CHOSEN_KINDS`.
    used : mapping of name to bool, optional
        False leaves a column out; True takes in one that was left out, as numbers if it has any,
        else as a category.
    missing_values : mapping of name to values, optional
        What counts as missing in a column besides the usual markers, such as ``(-999,)``, which
        is also -999.0. Its kind is inferred again unless it is chosen.
    keep_words : collection of str
        Columns in which words such as NA and null are values and not missing.

    Returns
    -------
    Schema

    Raises
    ------
    InvalidData
        If a column does not exist or cannot be read as the chosen kind.
    """
    kinds, used, missing_values = dict(kinds or {}), dict(used or {}), dict(missing_values or {})
    for name in (*kinds, *used, *missing_values, *keep_words):
        schema.column(name)
    columns = []
    for position, column in enumerate(schema.columns):
        name = column.name
        clues, array = _clues(table, position), single_chunk(table.data, position)
        markers = tuple(_marker(value) for value in missing_values.get(name, ()))
        kept = name in keep_words or column.keep_words
        kind = kinds.get(name, column.kind if column.reason == _CHOSEN else None)
        read_anew = markers or kept != column.keep_words or "codes" in dict(column.remarks)
        if kind is not None and (kind != column.kind or read_anew):
            check_choice("kind", kind, CHOSEN_KINDS)
            column = column_as(name, array, kind, clues, markers or column.missing_values, kept)
        elif read_anew:
            column = infer_column(name, array, clues, markers or column.missing_values, kept)
        if name in used and used[name] and column.kind not in FEATURE_KINDS:
            column = _taken_in(table, column)
        columns.append(
            replace(column, used=used.get(name, column.used), chosen=name in used or column.chosen)
        )
    return Schema(tuple(columns), table.n_rows, tuple(column_notices(columns)))


def suggest_target(schema: Schema) -> str:
    r"""The column that people most likely want to predict: by its name, else the last one.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> suggest_target(infer_schema(read_table(b"y,x\n1,2\n3,5\n")))
    'y'
    """
    kinds = [kind for kind in FEATURE_KINDS if kind != "date"]
    possible = [c.name for c in schema.columns if c.kind in kinds and c.reason not in (INDEX, OWN)]
    if not possible:
        return schema.columns[-1].name
    by_name = {name.lower(): name for name in reversed(possible)}
    likely = [by_name[name] for name in _LIKELY_TARGETS if name in by_name]
    return likely[0] if likely else possible[-1]


def _clues(table: Table, position: int) -> Clues:
    day_first = table.source.mark.decimal == "," or table.source.options.delimiter == ";"
    return Clues(table.source.mark, day_first, position == 0 and table.data.num_columns >= 4)


def _marker(value: object) -> str:
    """A missing value as text: -999.0 and "-999" are one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _taken_in(table: Table, column: Column) -> Column:
    """A left-out column as a feature after all."""
    if column.kind == "empty":
        raise InvalidData(
            f"The column {shown(column.name)} cannot be used: all of its cells are missing."
        )
    array = single_chunk(table.data, column.name)
    clues = _clues(table, 1)
    own = (column.missing_values, column.keep_words)
    if not are_codes(as_text(array)):
        with contextlib.suppress(InvalidData):
            return column_as(column.name, array, "numeric", clues, *own)
    return column_as(column.name, array, "category", clues, *own)


def _rescued(table: Table, column: Column) -> Column:
    """Where nothing would be left, whole numbers that look like identifiers are features."""
    text = as_text(single_chunk(table.data, column.name))
    holds_numbers = (
        may_hold_numbers(text) and _may_be_numbers(text, table.source.mark) and not are_codes(text)
    )
    if column.kind != "identifier" or not holds_numbers:
        return column
    taken = _taken_in(table, column)
    if taken.kind != "numeric":
        return column
    return replace(taken, reason="It may identify rows, but the table has no other column to use.")
