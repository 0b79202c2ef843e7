"""Dates written as text, and the numbers that trees read from a date."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

DATE_PARTS = ("days", "month", "weekday", "hour")
_SAMPLE = 300
_ENOUGH = 0.95
_TIME = r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?)?"


class DateStyle(NamedTuple):
    """A way to write dates: a name for sentences, a pattern, and pandas' formats for it."""

    name: str
    pattern: re.Pattern[str]
    formats: tuple[str, ...]
    day_first: bool | None = None


def _style(name: str, pattern: str, *formats: str, day_first: bool | None = None) -> DateStyle:
    return DateStyle(name, re.compile(pattern), formats, day_first)


def _with_times(day: str) -> tuple[str, ...]:
    return (day, f"{day} %H:%M", f"{day} %H:%M:%S", f"{day} %H:%M:%S.%f")


_MONTH = r"[A-Za-z]{3,9}\.?"
STYLES = (
    _style("year-month-day", r"\d{4}-\d{1,2}-\d{1,2}" + _TIME, "ISO8601", *_with_times("%Y-%m-%d")),
    _style("year/month/day", r"\d{4}/\d{1,2}/\d{1,2}" + _TIME, *_with_times("%Y/%m/%d")),
    _style("day.month.year", r"\d{1,2}\.\d{1,2}\.\d{4}" + _TIME, *_with_times("%d.%m.%Y")),
    _style(
        "day/month/year", r"\d{1,2}/\d{1,2}/\d{4}" + _TIME, *_with_times("%d/%m/%Y"), day_first=True
    ),
    _style(
        "month/day/year",
        r"\d{1,2}/\d{1,2}/\d{4}" + _TIME,
        *_with_times("%m/%d/%Y"),
        day_first=False,
    ),
    _style(
        "day-month-year", r"\d{1,2}-\d{1,2}-\d{4}" + _TIME, *_with_times("%d-%m-%Y"), day_first=True
    ),
    _style(
        "month-day-year",
        r"\d{1,2}-\d{1,2}-\d{4}" + _TIME,
        *_with_times("%m-%d-%Y"),
        day_first=False,
    ),
    _style("day month-name year", rf"\d{{1,2}} {_MONTH},? \d{{4}}", "%d %b %Y", "%d %B %Y"),
    _style("day-month-name-year", rf"\d{{1,2}}-{_MONTH}-\d{{4}}", "%d-%b-%Y", "%d-%B-%Y"),
    _style("month-name day, year", rf"{_MONTH} \d{{1,2}}, \d{{4}}", "%b %d, %Y", "%B %d, %Y"),
    _style("year-month", r"\d{4}-\d{2}", "%Y-%m"),
    _style("yyyymmdd", r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])", "%Y%m%d"),
)
_BY_NAME = {style.name: style for style in STYLES}


class Dates(NamedTuple):
    """Dates of a column.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), datetime64[us]
        NaT where missing or unreadable; zones are converted to UTC.
    unreadable : ndarray of shape (n_rows,), bool
    """

    values: NDArray[np.datetime64]
    unreadable: NDArray[np.bool_]


def find_date_style(distinct: list[str], day_first: bool) -> tuple[str, bool]:
    """The name of the style in which at least 95 % of the texts are dates, or an empty string.

    Parameters
    ----------
    distinct : list of str
        A sample of distinct texts.
    day_first : bool
        Which of day and month comes first where the dates leave both possible.

    Returns
    -------
    name : str
    ambiguous : bool
        Whether ``day_first`` decided.

    Examples
    --------
    >>> find_date_style(["03/04/2021", "25/12/2021"], day_first=False)
    ('day/month/year', False)
    """
    sample = distinct[:_SAMPLE]
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


def _parse(texts: pd.Series, style: DateStyle) -> pd.Series:
    """Naive UTC timestamps, NaT where a text is no date of that style."""
    found = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us]")
    left = texts.str.replace(".", "", n=1, regex=False) if "name" in style.name else texts
    left = left.str.replace(r"(\d{4})T", r"\1 ", regex=True)
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
