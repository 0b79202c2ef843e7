"""What a column holds, and how its cells are read: missing values, numbers, dates, categories."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

MISSING_MARKERS = frozenset(
    ["", "NA", "na", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NaN", "nan", "NAN", "-NaN", "-nan"]
    + ["<NA>", "<na>", "NULL", "null", "Null", "None", "NaT", "?", "-", "--", "."]
    + ["\u2013", "\u2014"]  # dashes
    + ["-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"]
    + ["#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"]
)

# Codes that people type for "not measured". Never taken as missing unasked: -999 may be a value.
_SUSPECTS = (-9999.0, -999.0, -99.0, 99.0, 999.0, 9999.0, 99999.0, -99999.0)
_SUSPECTS_MIN_ROWS = 2
_GAP = 0.5  # of the range of the other values, between them and the suspect


def suspected_missing(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Codes such as -999 that occur at least twice, at one end, far from all other values.

    Examples
    --------
    >>> suspected_missing(np.array([12.0, 15.0, 9.0, -999.0, -999.0]))
    (-999.0,)
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or not {float(finite.min()), float(finite.max())} & {*_SUSPECTS}:
        return ()
    ordinary = finite[~np.isin(finite, _SUSPECTS)]
    if len(ordinary) < len(finite) / 2:
        return ()
    low, high = float(ordinary.min()), float(ordinary.max())
    gap = _GAP * max(high - low, 1.0)
    return tuple(
        code
        for code in _SUSPECTS
        if max(low - code, code - high) > gap and (finite == code).sum() >= _SUSPECTS_MIN_ROWS
    )


# False and true, as pandas, R and JSON write them.
_TRUTH_WORDS = (("False", "True"), ("FALSE", "TRUE"), ("false", "true"))
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


_SIGNS = "[%\u20ac$\u00a3\u00a5]?"
_BLANK = "['\u2019 \u00a0\u202f]"  # between groups of three digits, besides point or comma
_MAYBE_NUMBER = "[0-9∞]|^[+-]?\\s*(?i:inf)"
_INFINITE = "(?i)^[+-]?\\s*(inf|infinity|\u221e)$"


def _disguised_pattern(mark: str, group: str) -> str:
    """A number with a decimal mark, maybe groups of three, a sign and a unit before or after."""
    plain = rf"(\d+[{mark}]?\d*|[{mark}]\d+)"
    grouped = rf"[1-9]\d{{0,2}}(({_BLANK}|[{group}])\d{{3}})+([{mark}]\d*)?"
    before = rf"([+-]?\s*{_SIGNS}|{_SIGNS}\s*[+-])\s*"
    return rf"^{before}({grouped}|{plain}([eE][+-]?\d+)?)\s*{_SIGNS}$"


_DISGUISED = {".": _disguised_pattern(".", ","), ",": _disguised_pattern(",", ".")}


def number_pattern(decimal: str) -> str:
    """The regular expression of all finite numbers with a decimal mark."""
    return _DISGUISED[decimal]


class Numbers(NamedTuple):
    """The numbers of a column."""

    values: NDArray[np.float64]  # (n_rows,): NaN where missing or unreadable; infinities stay
    unreadable: NDArray[np.bool_]  # (n_rows,): cells that hold something else than a number
    # whether every number stands there as such, without units, groups or a decimal comma
    plain: bool


def trim(column: Any, missing: Missing = USUALLY_MISSING) -> Any:
    """Text without blanks around it, with nulls for missing cells.

    Examples
    --------
    >>> trim(pa.array([" 5 ", "NA", "x"])).to_pylist()
    ['5', None, 'x']
    """
    trimmed = pc.utf8_trim_whitespace(column)
    gone = pc.is_in(trimmed, value_set=_value_set(missing.texts))
    if missing.numbers:
        values = read_numbers(trimmed, missing.decimal).values
        gone = pc.or_(gone, pa.array(np.isin(values, missing.numbers)))
    return pc.if_else(gone, pa.scalar(None, pa.string()), trimmed)


# What would lose letters as a number: 00123, 0x1F, and 3E8 without a point or a sign.
CODES = r"^[+-]?(?:0[\dxX]|\d+[eE]\d)"


def are_codes(text: Any) -> bool:
    """Whether cells such as 00123 or 3E8 show that these are codes, not numbers.

    Leading zeros in one cell in twenty are enough (postcodes), a single slip among many is not.
    Whole digits on both sides of a capital E are codes where half of the cells are such: programs
    write numbers as 3e8, 3E+08 or 3.0E8.

    Examples
    --------
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


def may_hold_numbers(text: Any) -> bool:
    """Whether any text has a digit or begins as an infinity does; words have neither."""
    return bool(pc.any(pc.match_substring_regex(text, _MAYBE_NUMBER)).as_py())


def holds_truths(text: Any) -> bool:
    """Whether all text is a word for true or false, written in one way: 1 and 0 as numbers.

    Examples
    --------
    >>> holds_truths(pa.array(["True", None, "False"])), holds_truths(pa.array(["True", "no"]))
    (True, False)
    """
    distinct = pc.unique(text.drop_null())
    if len(distinct) not in (1, 2):
        return False
    found = {*distinct.to_pylist()}
    return any(found <= {*pair} for pair in _TRUTH_WORDS)


def read_numbers(text: Any, decimal: str) -> Numbers:
    """The numbers in trimmed text (`trim`) with the given decimal mark.

    Understands signs, exponents, infinities, groups of three digits (``1,234.5``, ``1.234,5``,
    ``1 234``, ``1'234``), a percent or currency sign before or after. A column of nothing but True
    and False is 1 and 0.

    Examples
    --------
    >>> read_numbers(pa.array(["1.234,5", "12 %", "x", None]), ",").values
    array([1234.5,   12. ,    nan,    nan])
    """
    missing = pc.is_null(text).to_numpy(zero_copy_only=False)
    quick = text
    if decimal == "," and not pc.any(pc.match_substring(text, ".")).as_py():
        quick = pc.replace_substring(text, ",", ".")
    if decimal == "." or quick is not text:
        try:
            values = pc.cast(quick, pa.float64())
        except pa.ArrowInvalid:
            pass  # not all of them are plain numbers: read them one by one below
        else:
            found = values.to_numpy(zero_copy_only=False).copy()
            return Numbers(found, np.isnan(found) & ~missing, decimal == ".")
    if not may_hold_numbers(text):
        if holds_truths(text):
            found = pc.equal(pc.utf8_lower(text), "true").cast(pa.float64())
            values = found.to_numpy(zero_copy_only=False)
            return Numbers(values, np.zeros(len(values), bool), False)
        return Numbers(np.full(len(text), np.nan), ~missing, decimal == ".")
    coded = text.dictionary_encode()
    distinct = pd.Series(coded.dictionary.to_pandas(), dtype="str")
    numbers, plain = _read_distinct(distinct, decimal)
    codes = pc.fill_null(coded.indices, len(numbers)).to_numpy(zero_copy_only=False)
    values = np.append(numbers, np.nan)[codes]
    return Numbers(values, np.isnan(values) & ~missing, plain and decimal == ".")


def _read_distinct(distinct: pd.Series, decimal: str) -> tuple[NDArray[np.float64], bool]:
    """Numbers of distinct texts, NaN where there is none, and whether none was in disguise."""
    # A group of three digits would be taken for decimals here, and the other way round.
    candidates = distinct if decimal == "." else distinct.str.replace(",", ".", regex=False)
    numbers = pd.to_numeric(candidates, errors="coerce").to_numpy(dtype=np.float64).copy()
    if decimal == ",":
        numbers[distinct.str.contains(".", regex=False).to_numpy(dtype=bool)] = np.nan
    open_rows = np.flatnonzero(np.isnan(numbers))
    disguised = _read_disguised(pa.array(distinct.iloc[open_rows], pa.string()), decimal)
    numbers[open_rows] = disguised
    return numbers, bool(np.isnan(disguised).all())


def _read_disguised(text: Any, decimal: str) -> NDArray[np.float64]:
    """Numbers with units, groups or a decimal comma, and infinities; NaN for other text."""
    fits = pc.match_substring_regex(text, _DISGUISED[decimal])
    bare = pc.replace_substring_regex(text, r"[^0-9eE.,+-]", "")
    bare = pc.replace_substring(bare, "," if decimal == "." else ".", "")
    bare = pc.if_else(fits, pc.replace_substring(bare, ",", "."), pa.scalar(None, pa.string()))
    values = pc.cast(bare, pa.float64()) if len(text) else pa.array([], pa.float64())
    numbers = values.to_numpy(zero_copy_only=False).copy()
    infinite = pc.match_substring_regex(text, _INFINITE).to_numpy(zero_copy_only=False)
    negative = pc.starts_with(text, "-").to_numpy(zero_copy_only=False)
    signed = np.where(negative.astype(bool), -np.inf, np.inf)
    return np.where(infinite.astype(bool), signed, numbers)


DATE_PARTS = ("days", "month", "weekday", "hour")
_SAMPLE = 300
_ENOUGH = 0.95
_CLOCK = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
_ZONE = r"(?: ?(?:[AaPp]\.?[Mm]\.?|Z|[+-]\d{2}:?\d{2}))?"
_TIME = rf"(?:[T ]{_CLOCK}{_ZONE})?"


class DateStyle(NamedTuple):
    """A way to write dates: a name for sentences, a pattern, and pandas' formats for it."""

    name: str
    pattern: re.Pattern[str]
    formats: tuple[str, ...]
    day_first: bool | None = None


def _style(name: str, pattern: str, *formats: str, day_first: bool | None = None) -> DateStyle:
    return DateStyle(name, re.compile(pattern), formats, day_first)


def _with_times(*days: str) -> tuple[str, ...]:
    times = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
    return tuple(f"{day}{time}" for time in times for day in days)


_DIGIT = re.compile(r"\d")
_MONTH = r"[A-Za-z]{3,9}\.?"
_SHORT = r"(?:\d{4}|\d{2})"  # a year, of two digits maybe
_SLASHES = r"\d{1,2}/\d{1,2}/" + _SHORT + _TIME
_DASHES = r"\d{1,2}-\d{1,2}-\d{4}" + _TIME
# 1.2.10 may be the number of a version.
_POINTS = r"(?:\d{1,2}\.\d{1,2}\.\d{4}|\d{2}\.\d{2}\.\d{2})" + _TIME
STYLES = (
    _style("year-month-day", r"\d{4}-\d{1,2}-\d{1,2}" + _TIME, "ISO8601", *_with_times("%Y-%m-%d")),
    _style("year/month/day", r"\d{4}/\d{1,2}/\d{1,2}" + _TIME, *_with_times("%Y/%m/%d")),
    _style("year.month.day", r"\d{4}\.\d{1,2}\.\d{1,2}" + _TIME, *_with_times("%Y.%m.%d")),
    _style("day.month.year", _POINTS, *_with_times("%d.%m.%Y", "%d.%m.%y")),
    _style("day/month/year", _SLASHES, *_with_times("%d/%m/%Y", "%d/%m/%y"), day_first=True),
    _style("month/day/year", _SLASHES, *_with_times("%m/%d/%Y", "%m/%d/%y"), day_first=False),
    _style("day-month-year", _DASHES, *_with_times("%d-%m-%Y"), day_first=True),
    _style("month-day-year", _DASHES, *_with_times("%m-%d-%Y"), day_first=False),
    _style(
        "day month-name year",
        rf"\d{{1,2}} {_MONTH},? {_SHORT}{_TIME}",
        *_with_times("%d %b %Y", "%d %B %Y", "%d %b %y", "%d %B %y"),
    ),
    _style(
        "day-month-name-year",
        rf"\d{{1,2}}-{_MONTH}-{_SHORT}{_TIME}",
        *_with_times("%d-%b-%Y", "%d-%B-%Y", "%d-%b-%y", "%d-%B-%y"),
    ),
    _style(
        "month-name day, year",
        rf"{_MONTH} \d{{1,2}},? \d{{4}}{_TIME}",
        *_with_times("%b %d %Y", "%B %d %Y"),
    ),
    _style("year-month", r"\d{4}-\d{2}", "%Y-%m"),
    _style("yyyymmdd", r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", "%Y%m%d"),
)
_BY_NAME = {style.name: style for style in STYLES}


class Dates(NamedTuple):
    """Dates of a column."""

    # (n_rows,): NaT where missing or unreadable; zones are converted to UTC
    values: NDArray[np.datetime64]
    unreadable: NDArray[np.bool_]  # (n_rows,)


def find_date_style(distinct: list[str], day_first: bool) -> tuple[str, bool]:
    """The name of the style in which at least 95 % of the texts are dates, or an empty string.

    Examples
    --------
    >>> find_date_style(["03/04/2021", "25/12/2021"], day_first=False)
    ('day/month/year', False)
    """
    sample = distinct[:_SAMPLE]
    if sum(bool(_DIGIT.search(text)) for text in sample) < _ENOUGH * len(sample):
        return "", False
    fitting = []
    for style in STYLES:
        matches = sum(bool(style.pattern.fullmatch(text)) for text in sample)
        if not sample or matches < _ENOUGH * len(sample):
            continue
        dates = _parse(pd.Series(sample, dtype="str"), style)
        if dates.notna().sum() >= _ENOUGH * len(sample):
            fitting.append(style)
    if len(fitting) > 1:
        wished = [style for style in fitting if style.day_first in (None, day_first)]
        return wished[0].name, True
    return (fitting[0].name, False) if fitting else ("", False)


def read_dates(text: Any, style_name: str) -> Dates:
    """Dates in trimmed text, each in the given style.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_dates(pa.array(["24.12.2021", None]), "day.month.year").values[0]
    np.datetime64('2021-12-24T00:00:00.000000')
    """
    coded = text.dictionary_encode()
    distinct = pd.Series(coded.dictionary.to_pandas(), dtype="str")
    parsed = _parse(distinct, _BY_NAME[style_name]).to_numpy(dtype="datetime64[us]")
    codes = coded.indices.fill_null(len(parsed)).to_numpy(zero_copy_only=False)
    values = np.append(parsed, np.datetime64("NaT", "us"))[codes]
    missing = text.is_null().to_numpy(zero_copy_only=False)
    return Dates(values, np.isnat(values) & ~missing)


def as_date(days: float) -> np.datetime64:
    """The moment that is so many days after 1 January 1970."""
    return np.datetime64(round(days * 86_400e6), "us")


def date_text(value: np.datetime64) -> str:
    """A date as 2024-02-29, with its time where it has one.

    Examples
    --------
    >>> date_text(np.datetime64("2024-02-29T00:00")), date_text(np.datetime64("2024-02-29T13:30"))
    ('2024-02-29', '2024-02-29 13:30')
    """
    for unit in ("D", "m", "s"):
        if value == value.astype(f"datetime64[{unit}]"):
            break
    return str(value.astype(f"datetime64[{unit}]")).replace("T", " ")


def dates_apart(days: Iterable[float]) -> list[str]:
    """Days since 1 January 1970 as dates, with times only where days do not tell them apart.

    Examples
    --------
    >>> dates_apart([19782.25, 19790.5]), dates_apart([19782.25, 19782.5])
    (['2024-02-29', '2024-03-08'], ['2024-02-29 06:00', '2024-02-29 12:00'])
    """
    moments = [as_date(day) for day in days]
    for unit in ("D", "m", "s", "us"):
        cut = [moment.astype(f"datetime64[{unit}]") for moment in moments]
        if len(set(cut)) == len(set(moments)):
            break
    return [str(moment).replace("T", " ") for moment in cut]


def _parse(texts: pd.Series, style: DateStyle) -> pd.Series:
    """Naive UTC timestamps, NaT where a text is no date of that style."""
    found = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us]")
    left = texts
    if "name" in style.name:  # Jan. and commas
        left = left.str.replace(r"([A-Za-z]{3,})\.", r"\1", regex=True)
        left = left.str.replace(",", "", n=1, regex=False)
    left = left.str.replace(r"(\d{4})T", r"\1 ", regex=True)
    left = left.str.replace(r" ?([AaPp])\.?[Mm]\.?$", r" \1M", regex=True)
    for form in style.formats:
        open_rows = found.isna()
        if not open_rows.any():
            break
        parsed = pd.to_datetime(left[open_rows], format=form, errors="coerce", utc=True)
        found[open_rows] = parsed.dt.tz_localize(None).astype("datetime64[us]")
    return found


def used_parts(values: NDArray[np.datetime64]) -> tuple[str, ...]:
    """The parts of a date worth a feature: those that vary, and always the day count.

    Examples
    --------
    >>> used_parts(np.array(["2021-01-04", "2021-01-05"], "datetime64[us]"))
    ('days', 'weekday')
    """
    dates = values[~np.isnat(values)]
    varying = [part for part in DATE_PARTS[1:] if len(np.unique(date_part(dates, part))) > 1]
    return ("days", *varying)


def date_part(values: NDArray[np.datetime64], part: str) -> NDArray[np.float64]:
    """One number a date, (n_rows,), NaN where there is no date.

    "days" counts from 1 January 1970, "month" is 1 to 12, "weekday" 0 is Monday, "hour" is 0 to 24.

    Examples
    --------
    >>> date_part(np.array(["1970-01-02T12:00"], "datetime64[us]"), "days")
    array([1.5])
    """
    index = pd.DatetimeIndex(values)
    if part == "days":
        microseconds = values.astype("datetime64[us]").astype(np.int64) / 86_400e6
        return np.where(np.isnat(values), np.nan, microseconds)
    if part == "hour":
        return np.asarray(index.hour + index.minute / 60.0, dtype=np.float64)
    return np.asarray(index.month if part == "month" else index.day_of_week, dtype=np.float64)


KINDS = ("numeric", "category", "date", "identifier", "text", "constant", "empty")
FEATURE_KINDS = ("numeric", "category", "date")
CHOSEN_KINDS = ("numeric", "category", "date", "identifier", "text")

# The sorts of what is said about the cells of a column, in the order of the sentences.
REMARKS = ("marks", "kept", "words", "numbers", "unmatched")

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
    decimal, date_style : str
        How its numbers or dates are written.
    ambiguous_dates : bool
        Whether day and month could be read either way.
    chosen : bool
        Whether the user said that it is a feature, or that it is none.
    remarks : tuple of (str, str)
        What else had to be decided about its cells: a sort, one of `REMARKS`, and a sentence.
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
    date_style: str = ""
    ambiguous_dates: bool = False
    chosen: bool = False
    remarks: tuple[tuple[str, str], ...] = ()

    @property
    def missing(self) -> Missing:
        """Which of its cells are missing."""
        words = self.kind in _KINDS_OF_WORDS
        return _missing(words, self.keep_words, self.missing_values, self.decimal)


def as_text(array: Any, missing: Missing = USUALLY_MISSING) -> Any:
    """Any column as trimmed text with nulls for missing cells.

    Whole floats are written without a fraction, so that 1 and 1.0 are one category.
    """
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


def as_numbers(array: Any, decimal: str, missing: Missing = USUALLY_MISSING) -> Numbers:
    """Any column as numbers; dates are unreadable."""
    kind = array.type
    if types.is_integer(kind) or types.is_floating(kind):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        if missing.numbers:
            values[np.isin(values, missing.numbers)] = np.nan
        return Numbers(values, np.zeros(len(values), bool), True)
    if types.is_timestamp(kind):
        return Numbers(np.full(len(array), np.nan), array.is_valid().to_numpy(False), False)
    if types.is_boolean(kind):
        array = array.cast(pa.int8()).cast(pa.string())
    return read_numbers(trim(array, missing), decimal)


def as_dates(array: Any, style: str, missing: Missing = USUALLY_MISSING) -> Dates:
    """Any column as dates; a style is only needed for text."""
    if types.is_timestamp(array.type):
        values = array.to_numpy(zero_copy_only=False).astype("datetime64[us]")
        if typed := sorted(missing.texts - MISSING_MARKERS):
            gone = read_dates(pa.array(typed, pa.string()), "year-month-day").values
            values = np.where(np.isin(values, gone), np.datetime64("NaT", "us"), values)
        return Dates(values, np.zeros(len(values), bool))
    if not style:
        return Dates(np.full(len(array), np.datetime64("NaT", "us")), np.ones(len(array), bool))
    return read_dates(as_text(array, missing), style)


def as_categories(array: Any, missing: Missing = USUALLY_MISSING) -> Categories:
    """Any column as categories in the order of their first rows; missing cells have none.

    Where all categories are numbers, 1 and 1.0 are one, whatever the file.
    """
    coded = as_text(array, missing).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    labels = coded.dictionary
    if len(labels) and _may_be_numbers(labels):
        try:
            numbers = as_text(pc.cast(labels, pa.float64()))
        except pa.ArrowInvalid:
            pass  # words: they stand as they are
        else:  # nan is a word too
            labels = labels if numbers.null_count else numbers
    merged = labels.dictionary_encode()
    code_of = np.append(merged.indices.to_numpy(zero_copy_only=False), -1)
    categories = pd.Index(merged.dictionary.to_pandas(), dtype="str")
    return pd.Categorical.from_codes(code_of[codes], categories)


def _may_be_numbers(labels: Any) -> bool:
    """Whether no label would lose letters as a number: no code, at most 15 letters."""
    codes = pc.any(pc.match_substring_regex(labels, CODES)).as_py()
    return not codes and pc.max(pc.utf8_length(labels)).as_py() <= 15


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
