"""What a column holds, and how its cells are read: missing values, numbers, dates, categories."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from gbuq_core.tables.written_dates import Dates, as_date, date_text, read_dates, style_words
from gbuq_core.tables.written_numbers import Numbers, Units, describe_units, read_numbers

MISSING_MARKERS = frozenset(
    ["", "NA", "na", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NaN", "nan", "NAN", "-NaN", "-nan"]
    + ["<NA>", "<na>", "NULL", "null", "Null", "None", "NaT", "?", "-", "--", "."]
    + ["\u2013", "\u2014"]  # dashes
    + ["-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"]
    + ["#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"]
)

# Codes that people type for "not measured". Never taken as missing unasked: -999 may be a value.
_SUSPECTS = (
    *(sign * (10.0**n - 1.0) for n in range(2, 10) for sign in (-1.0, 1.0)),
    *(
        sign * digit * (10.0**n - 1.0) / 9.0
        for n in (2, 3, 4)
        for digit in (7, 8)
        for sign in (-1.0, 1.0)
    ),
    -1.0,
    -9.0,
    *(
        sign * mantissa * 10.0**n
        for mantissa in (1.0, 9.0, 9.9, 9.99, 9.999)
        for n in (9, 20, 30, 36, 38, 99)
        for sign in (-1.0, 1.0)
    ),
)
_ROUND = frozenset(-digit * 10.0**n for digit in range(1, 10) for n in (2, 3, 4))
# The first and the last days of calendars, and where programs begin to count.
SUSPECT_DAYS = tuple(
    np.array(
        ["0001-01-01", "1582-10-14", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31",
         "1900-01-01", "1901-01-01", "1904-01-01", "1970-01-01", "2099-12-31", "2100-01-01",
         "2199-12-31", "2222-02-22", "2261-12-31", "2999-12-31", "3000-01-01", "3999-12-31",
         "4712-12-31", "8888-12-31", "9999-01-01", "9999-09-09", "9999-12-30", "9999-12-31"],
        "datetime64[D]",
    ).astype(float).tolist()
)  # fmt: skip
_SUSPECTS_MIN_ROWS = 2
_GAP = 0.5  # of the range of the other values, between them and the suspect
_SURELY_NUMBERS = 10  # different ones, which show what a column holds beside very many suspects


def suspected_missing(
    values: NDArray[np.float64], suspects: tuple[float, ...] = _SUSPECTS, gap: float = _GAP
) -> tuple[float, ...]:
    """Codes such as -999 that occur at least twice, at one end, far from all other values."""
    finite = values[np.isfinite(values)]
    if suspects is _SUSPECTS and len(finite) and (lowest := float(finite.min())) in _ROUND:
        suspects = (*suspects, lowest)
    if not len(finite) or not {float(finite.min()), float(finite.max())} & {*suspects}:
        return ()
    ordinary = finite[~np.isin(finite, suspects)]
    if len(ordinary) < len(finite) / 2 and len(np.unique(ordinary)) < _SURELY_NUMBERS:
        return ()
    low, high = float(ordinary.min()), float(ordinary.max())
    apart = gap * max(high - low, 1.0)
    return tuple(
        code
        for code in suspects
        if max(low - code, code - high) > apart and (finite == code).sum() >= _SUSPECTS_MIN_ROWS
    )


# Those that may be a name or an answer: Namibia, a surname, no risk at all.
MARKER_WORDS = frozenset(word for word in MISSING_MARKERS if re.fullmatch("[A-Za-z/]+", word))
KEPT_WORD = "None"  # a level like any other in a column of words
_KINDS_OF_WORDS = ("category", "text", "constant")


class Missing(NamedTuple):
    """Which cells of a column are missing: texts, and numbers however they are written."""

    texts: frozenset[str] = MISSING_MARKERS
    numbers: tuple[float, ...] = ()
    decimal: str = "."


USUALLY_MISSING = Missing()


@lru_cache(maxsize=4096)
def _missing(words: bool, keeps: bool, also: tuple[str, ...], decimal: str) -> Missing:
    """What is missing in a column of words or of others, which may keep words such as NA."""
    kept = MARKER_WORDS if keeps else {KEPT_WORD} if words else frozenset()
    texts = (MISSING_MARKERS - kept) | {*also}
    typed = pa.array(also, pa.string())
    own = read_numbers(typed, decimal).values  # else as a computer writes them
    numbers = np.where(np.isnan(own), read_numbers(typed, ".").values, own)
    return Missing(texts, tuple(numbers[np.isfinite(numbers)].tolist()), decimal)


@lru_cache(maxsize=4096)
def _value_set(texts: frozenset[str]) -> Any:
    return pa.array(sorted(texts), pa.string())


def trim(column: Any, missing: Missing = USUALLY_MISSING) -> Any:
    """Text without blanks around it, with nulls for missing cells."""
    trimmed = pc.utf8_trim_whitespace(one_form(column))
    gone = pc.is_in(trimmed, value_set=_value_set(missing.texts))
    if missing.numbers:
        values = read_numbers(trimmed, missing.decimal).values
        if missing.decimal != ".":  # as a computer writes them
            values = np.where(np.isnan(values), read_numbers(trimmed, ".").values, values)
        gone = pc.or_(gone, pa.array(np.isin(values, missing.numbers)))
    return pc.if_else(gone, pa.scalar(None, pa.string()), trimmed)


_UNSEEN = "[\u200b\u2060\ufeff\u00ad]"  # letters of no width
_BLANKS = r"\pZ"


def one_form(text: Any) -> Any:
    """Text in one Unicode form, with plain blanks and without letters that nobody sees."""
    if pc.all(pc.string_is_ascii(text)).as_py() is not False:
        return text
    text = pc.utf8_normalize(text, form="NFC")
    return pc.replace_substring_regex(pc.replace_substring_regex(text, _UNSEEN, ""), _BLANKS, " ")


def fold_names(names: Any) -> Any:
    """What names and levels have in common that differ in case, blanks or Unicode form.

    >>> fold_names(pa.array(["New  York ", "new\u00a0york"])).to_pylist()
    ['new york', 'new york']
    """
    return pc.utf8_lower(
        pc.utf8_trim(pc.replace_substring_regex(one_form(names), r"\s+", " "), " ")
    )


# What would lose letters as a number: 00123, 0x1F, and 3E8 without a point or a sign.
CODES = r"^[+-]?(?:0[\dxX]|\d+[eE]\d)"


def are_codes(text: Any) -> bool:
    """Whether cells such as 00123 or 3E8 show that these are codes, not numbers.

    Leading zeros in one cell in twenty are enough (postcodes), a single slip among many is not.
    Whole digits on both sides of a capital E are codes where half of the cells are such: programs
    write numbers as 3e8, 3E+08 or 3.0E8.

    >>> are_codes(pa.array(["01067", "89073"])), are_codes(pa.array(["0", "0.5"]))
    (True, False)
    >>> are_codes(pa.array(["3E8", "6E2", "7E1"])), are_codes(pa.array(["3E8", "250", "1.5"]))
    (True, False)
    """
    n_known = len(text) - text.null_count

    def count(pattern: str) -> int:
        return pc.sum(pc.match_substring_regex(text, pattern)).as_py() or 0

    return bool(
        count(r"^0\d+$") >= max(1, 0.05 * n_known) or count(r"^\d+E\d+$") >= max(1, 0.5 * n_known)
    )


KINDS = ("numeric", "category", "date", "identifier", "text", "constant", "empty")
FEATURE_KINDS = ("numeric", "category", "date")
CHOSEN_KINDS = ("numeric", "category", "date", "identifier", "text")

# The sorts of what is said about the cells of a column, in the order of the sentences.
REMARKS = (
    "marks", "mixed", "noted", "years", "zones", "kept", "words", "among", "numbers", "spellings",
    "unmatched",
)  # fmt: skip

Categories = pd.Categorical

# Whole numbers that a float may not hold exactly: 2**53 has 16 digits.
LONG_WHOLE = r"^[+-]?\d{16,}(?:\.0*)?$"


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of a table: what it holds, why that was concluded, and whether it is used.

    Attributes
    ----------
    name : str
        As in the file; never safe to show as Markdown or HTML.
    kind : str
        One of `KINDS`. Numbers, categories and dates can be features.
    n_missing, n_distinct : int
        Missing cells, and distinct values among the others.
    examples : tuple of str
        The first distinct values.
    reason : str
        Why it is of that kind, one sentence.
    used : bool
        Whether it is a feature.
    n_unreadable, unreadable : int, tuple of str
        Cells that are not of that kind, which count as missing, and examples of them.
    n_infinite : int
        Infinite numbers, which count as missing.
    suspects : tuple of float
        Codes such as -999 that may stand for missing values; a suggestion only.
    missing_values : tuple of str
        What counts as missing here besides the usual markers, by the user's choice.
    keep_words : bool
        Whether words such as NA are values here, by the user's choice.
    decimal, thousands, units, date_style
        How its numbers or dates are written; ``units`` are those that its numbers may have, each
        with what it multiplies them by; any where there are none.
    range : (float, float) or None
        The lowest and highest number, or day since 1970, as read.
    missing_words : tuple of (str, int)
        Words that count as missing here, and the cells that hold them.
    found_missing : tuple of str
        Words among numbers or dates that were taken for missing.
    spellings : tuple of (str, str)
        Levels that differ only in case, blanks or Unicode form, folded (`fold_names`), and the one
        that stands for them.
    ambiguous_dates : bool
        Whether day and month could be read either way.
    chosen : bool
        Whether the user said that it is a feature, or that it is none.
    remarks : tuple of (str, str)
        What else had to be decided about its cells: a sort, one of `REMARKS` or "codes", and a
        sentence.
    """

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    examples: tuple[str, ...]
    reason: str
    used: bool
    n_unreadable: int = 0
    unreadable: tuple[str, ...] = ()
    n_infinite: int = 0
    suspects: tuple[float, ...] = ()
    missing_values: tuple[str, ...] = ()
    keep_words: bool = False
    decimal: str = "."
    thousands: str = ""
    units: Units = ()
    date_style: str = ""
    range: tuple[float, float] | None = None
    missing_words: tuple[tuple[str, int], ...] = ()
    found_missing: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()
    ambiguous_dates: bool = False
    chosen: bool = False
    remarks: tuple[tuple[str, str], ...] = ()

    @property
    def missing(self) -> Missing:
        """Which of its cells are missing."""
        words = self.kind in _KINDS_OF_WORDS
        also = (*self.missing_values, *self.found_missing)
        return _missing(words, self.keep_words, also, self.decimal)

    @property
    def style(self) -> dict[str, str]:
        """How its numbers or dates are written: decimal, thousands, unit, date."""
        if self.kind == "date":
            return {"date": style_words(self.date_style) or "as dates"}
        if self.kind != "numeric":
            return {}
        unit = describe_units(self.units)
        style = {"decimal": self.decimal, "thousands": self.thousands, "unit": unit}
        return {name: value for name, value in style.items() if value}

    @property
    def limits(self) -> tuple[float | str, float | str] | None:
        """Its lowest and highest number as read, or dates as ISO text."""
        if self.range is None or self.kind != "date":
            return self.range
        low, high = (date_text(as_date(day)).replace(" ", "T") for day in self.range)
        return low, high


def as_text(array: Any, missing: Missing = USUALLY_MISSING) -> Any:
    """Any column as trimmed text with nulls for missing cells; 1 and 1.0 are one category."""
    kind = array.type
    if types.is_floating(kind):
        values = array.to_numpy(zero_copy_only=False)
        whole = np.isfinite(values) & (values == np.round(values)) & (np.abs(values) < 2**53)
        numbers = pa.array(np.where(whole, values, 0.0).astype(np.int64))
        present = ~np.isnan(values.astype(np.float64))
        text = pc.if_else(pa.array(whole), numbers.cast(pa.string()), array.cast(pa.string()))
        text = pc.if_else(pa.array(present), text, pa.scalar(None, pa.string()))
    elif types.is_boolean(kind):
        text = pc.if_else(array, pa.scalar("True"), pa.scalar("False"))
    else:
        text = array.cast(pa.string())
    if types.is_timestamp(kind):
        values = as_dates(array, "", missing).values
        text = pc.if_else(pa.array(np.isnat(values)), pa.scalar(None, pa.string()), text)
    return trim(text, missing)


def as_numbers(array: Any, column: Column) -> Numbers:
    """Cells as the numbers of a column; dates are unreadable."""
    kind, missing = array.type, column.missing
    if types.is_integer(kind) or types.is_floating(kind):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        if missing.numbers:
            values[np.isin(values, missing.numbers)] = np.nan
        return Numbers(values, np.zeros(len(values), bool), True)
    if types.is_timestamp(kind):
        return Numbers(np.full(len(array), np.nan), array.is_valid().to_numpy(False), False)
    if types.is_boolean(kind):
        array = array.cast(pa.int8()).cast(pa.string())
    return read_numbers(trim(array, missing), column.decimal, column.units)


def as_dates(array: Any, style: str, missing: Missing = USUALLY_MISSING) -> Dates:
    """Any column as dates; a style is only needed for text."""
    if types.is_timestamp(array.type):
        values = array.to_numpy(zero_copy_only=False).astype("datetime64[us]")
        if typed := sorted(missing.texts - MISSING_MARKERS):
            gone = read_dates(pa.array(typed, pa.string()), "year-month-day").values
            values = np.where(np.isin(values, gone), np.datetime64("NaT", "us"), values)
        return Dates(values, np.zeros(len(values), bool), values)
    if not style:
        none = np.full(len(array), np.datetime64("NaT", "us"))
        return Dates(none, np.ones(len(array), bool), none)
    return read_dates(as_text(array, missing), style)


def as_categories(array: Any, column: Column) -> Categories:
    """Cells as categories in the order of their rows; 1 and 1.0 are one where all are numbers."""
    coded = as_text(array, column.missing).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    labels = coded.dictionary
    if len(labels) and _may_be_numbers(labels):
        try:
            numbers = as_text(pc.cast(labels, pa.float64()))
        except pa.ArrowInvalid:
            pass  # words: they stand as they are
        else:  # nan is a word too
            labels = labels if numbers.null_count else numbers
    if column.spellings:
        label_of = dict(column.spellings)
        pairs = zip(fold_names(labels).to_pylist(), labels.to_pylist(), strict=True)
        labels = pa.array([label_of.get(key, label) for key, label in pairs], pa.string())
    merged = labels.dictionary_encode()
    code_of = np.append(merged.indices.to_numpy(zero_copy_only=False), -1)
    categories = pd.Index(merged.dictionary.to_pandas(), dtype="str")
    return pd.Categorical.from_codes(code_of[codes], categories)


def _may_be_numbers(labels: Any) -> bool:
    """Whether no label would lose letters as a number: no code, at most 15 before idle zeros."""
    codes = pc.any(pc.match_substring_regex(labels, CODES)).as_py()
    bare = pc.replace_substring_regex(labels, r"(\.\d*?)0+($|[eE])", r"\1\2")
    return not codes and pc.max(pc.utf8_length(bare)).as_py() <= 15


def single_chunk(table: Any, column: int | str) -> Any:
    """The one array of a column, by position (quick) or by name."""
    chunked = table.column(column)
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


def finite_values(numbers: Numbers) -> NDArray[np.float64]:
    """Numbers with NaN in place of infinities."""
    return np.where(np.isfinite(numbers.values), numbers.values, np.nan)


def plain_column(array: Any, decimal: str = ".") -> pd.Series:
    """A column as it is shown and exported: numbers where all cells are plain ones, else as read.

    Codes (`CODES`), whole numbers of more than 64 bits, units, decimal commas, points that part
    thousands in a column with another ``decimal`` mark, and words keep the letters of the file.
    """
    if types.is_integer(array.type) and array.null_count:
        return _whole_column(array)
    if not types.is_string(array.type):
        return pd.Series(array.to_pandas())
    text = trim(array)
    if text.null_count == len(text):
        return pd.Series(np.full(len(text), np.nan))
    if pc.any(pc.match_substring_regex(text, CODES)).as_py() or has_groups(text, decimal):
        return pd.Series(array.to_pandas(), dtype="str")
    known = text.is_valid().to_numpy(zero_copy_only=False)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(text, kind)
        except pa.ArrowInvalid:
            if pc.any(pc.match_substring_regex(text, LONG_WHOLE)).as_py():
                break  # as floats they would lose digits
            continue
        if types.is_floating(kind) or known.all():
            return pd.Series(numbers.to_numpy(zero_copy_only=False))
        return _whole_column(numbers)
    return pd.Series(array.to_pandas(), dtype="str")


def has_groups(text: Any, decimal: str) -> bool:
    """Whether a point is no decimal mark in any cell, so that 1.500 is not 1.5."""
    return decimal != "." and bool(pc.any(pc.match_substring(text, ".")).as_py())


def _whole_column(numbers: Any) -> pd.Series:
    """Whole numbers, some of them missing, with all their digits."""
    missing = numbers.is_null().to_numpy(zero_copy_only=False)
    whole = pc.fill_null(numbers, 0).to_numpy()
    return pd.Series(pd.arrays.IntegerArray(whole.copy(), missing.copy()))
