"""Dates in text: how they are written, and what they are.

A style is the name of one way to write dates, or of two with "or" between them. Where years have
two digits it ends in the first year that they may mean, as in "day/month/year from 1931".
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.tables.written_months import plain_date

DATE_PARTS = ("days", "month", "weekday", "hour")
_SAMPLE = 300
ENOUGH = 0.95  # of the cells must be dates, or numbers in a column of numbers
_FEWEST_OF_TWO = 0.05  # of the texts, for a second style
_YEARS_AHEAD = 10  # that a year of two digits may be in the future, unless it is one of birth
_BIRTH = re.compile(r"(?i)birth|born|\bdob\b|^dob|geburt|^geb|naiss|nacim|nascim")
DIGIT = re.compile(r"\d")
_FROM = " from "
_OR = " or "

_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2}(?:[.,]\d+)?)?"
_OFFSET = r"[+-]\d{2}:?\d{2}"
# Hours of zones that have one meaning among the places that write tables with them.
_ZONES = {
    "UTC": 0, "GMT": 0, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "WET": 0, "WEST": 1, "EST": -5,
    "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
_ZONE = rf"(?: ?[AaPp]\.?[Mm]\.?)?(?: ?(?:Z|{_OFFSET}|{'|'.join(_ZONES)}))?"
_TIME = rf"(?:,?[T ]{_CLOCK}{_ZONE})?"


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
    return tuple(f"{day}{time}{zone}" for zone in ("", "%z") for time in times for day in days)


_MONTH = r"[^\W\d_]{3,12}\.?"
_SHORT = r"(?:\d{4}|\d{2})"  # a year, of two digits maybe
_SLASHES = r"\d{1,2}/\d{1,2}/" + _SHORT + _TIME
_DASHES = r"\d{1,2}-\d{1,2}-" + _SHORT + _TIME
# 1.2.10 may be the number of a version.
_POINTS = r"(?:\d{1,2}\. ?\d{1,2}\. ?\d{4}\.?|\d{2}\.\d{2}\.\d{2})" + _TIME
STYLES = (
    _style("year-month-day", r"\d{4}-\d{1,2}-\d{1,2}" + _TIME, "ISO8601", *_with_times("%Y-%m-%d")),
    _style("year/month/day", r"\d{4}/\d{1,2}/\d{1,2}" + _TIME, *_with_times("%Y/%m/%d")),
    _style(
        "year.month.day",
        r"\d{4}\. ?\d{1,2}\. ?\d{1,2}\.?" + _TIME,
        *_with_times("%Y.%m.%d", "%Y. %m. %d"),
    ),
    _style(
        "year 年 month 月 day 日",
        r"\d{4}年\d{1,2}月\d{1,2}日" + _TIME,
        *_with_times("%Y年%m月%d日"),
    ),
    _style("year 年 month 月", r"\d{4}年\d{1,2}月", "%Y年%m月"),
    _style(
        "year 년 month 월 day 일",
        r"\d{4}년\d{1,2}월\d{1,2}일" + _TIME,
        *_with_times("%Y년%m월%d일"),
    ),
    _style("year 년 month 월", r"\d{4}년\d{1,2}월", "%Y년%m월"),
    _style("day.month.year", _POINTS, *_with_times("%d.%m.%Y", "%d.%m.%y", "%d. %m. %Y")),
    _style("day/month/year", _SLASHES, *_with_times("%d/%m/%Y", "%d/%m/%y"), day_first=True),
    _style("month/day/year", _SLASHES, *_with_times("%m/%d/%Y", "%m/%d/%y"), day_first=False),
    _style("day-month-year", _DASHES, *_with_times("%d-%m-%Y", "%d-%m-%y"), day_first=True),
    _style("month-day-year", _DASHES, *_with_times("%m-%d-%Y", "%m-%d-%y"), day_first=False),
    _style(
        "day month-name year",
        rf"\d{{1,2}}\.? {_MONTH},? {_SHORT}{_TIME}",
        *_with_times("%d %b %Y", "%d %b %y"),
    ),
    _style(
        "day-month-name-year",
        rf"\d{{1,2}}[-/]{_MONTH}[-/]{_SHORT}{_TIME}",
        *_with_times("%d-%b-%Y", "%d-%b-%y"),
    ),
    _style(
        "month-name day, year",
        rf"{_MONTH}[ -]\d{{1,2}},?[ -]\d{{4}}{_TIME}",
        *_with_times("%b %d %Y"),
    ),
    _style(
        "year month-name day",
        rf"\d{{4}}(?:\.? |-){_MONTH}[ -]\d{{1,2}}\.?{_TIME}",
        *_with_times("%Y %b %d", "%Y. %b %d", "%Y. %b %d."),
    ),
    _style(
        "month-name day time year",
        rf"{_MONTH} \d{{1,2}} {_CLOCK}(?: (?:UTC|GMT))? \d{{4}}",
        "%b %d %H:%M:%S %Y",
        "%b %d %H:%M:%S UTC %Y",
        "%b %d %H:%M:%S GMT %Y",
    ),
    _style("month-name-year", rf"{_MONTH}[- ]{_SHORT}", "%b-%Y", "%b %Y", "%b-%y", "%b %y"),
    _style("year month-name", rf"\d{{4}}[- ]{_MONTH}", "%Y-%b", "%Y %b"),
    _style("two-digit year-month-day", r"\d{2}-\d{2}-\d{2}", "%y-%m-%d"),
    _style("year-month", r"\d{4}-\d{2}", "%Y-%m"),
    _style("year/month", r"\d{4}/(?:0[1-9]|1[0-2])", "%Y/%m"),
    _style("month/year", r"(?:0?[1-9]|1[0-2])/(?:19|20)\d{2}", "%m/%Y"),
    _style("month.year", r"(?:0[1-9]|1[0-2])\.(?:19|20)\d{2}", "%m.%Y"),
    _style("year-quarter", r"(?:\d{4}[ -]?Q[1-4]|Q[1-4][ /-]?\d{4})", "%Y-%m"),
    _style("year-week", r"\d{4}-?W\d{2}(?:-?[1-7])?", "%G-W%V-%u"),
    _style(
        "yyyymmdd", r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\.0+)?", "%Y%m%d"
    ),
    # Leading zeros are lost where they were numbers.
    _style(
        "mmddyyyy",
        r"(?:0?[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:19|20)\d{2}(?:\.0+)?",
        "%m%d%Y",
        day_first=False,
    ),
    _style(
        "ddmmyyyy",
        r"(?:0?[1-9]|[12]\d|3[01])(?:0[1-9]|1[0-2])(?:19|20)\d{2}(?:\.0+)?",
        "%d%m%Y",
        day_first=True,
    ),
    _style(
        "yyyymmddhhmm",
        r"(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])T?(?:[01]\d|2[0-3])[0-5]\d"
        r"(?:[0-5]\d)?Z?",
        "%Y%m%d%H%M%S",
    ),
)
_BY_NAME = {style.name: style for style in STYLES}


class Dates(NamedTuple):
    """Dates of a column."""

    # (n_rows,): NaT where missing or unreadable; zones are converted to UTC
    values: NDArray[np.datetime64]
    unreadable: NDArray[np.bool_]  # (n_rows,)
    # (n_rows,): as the clock of their place shows them; the same where no zone is written
    local: NDArray[np.datetime64]


def find_date_style(distinct: list[str], day_first: bool, name: str = "") -> tuple[str, bool]:
    """The style in which at least 95 % of the texts are dates, or an empty string.

    The second value says whether day and month could be read either way. ``name`` is that of the
    column: nobody is born in the future.
    """
    sample = distinct[:_SAMPLE]
    if not sample or sum(map(bool, map(DIGIT.search, sample))) < ENOUGH * len(sample):
        return "", False
    sample = [plain_date(text) for text in sample]
    fits = {}
    one_word = len({text[:3] for text in sample}) == 1 < len(sample)
    for style in STYLES:
        if style.name == "month-name-year" and one_word and max(map(len, sample)) < 8:
            continue  # Mac-05, Mac-06
        matches = np.array([bool(style.pattern.fullmatch(text)) for text in sample])
        if matches.sum() < _FEWEST_OF_TWO * len(sample):
            continue
        matches &= _parse(pd.Series(sample, dtype="str"), style)[0].notna().to_numpy()
        fits[style] = matches
    enough = ENOUGH * len(sample)
    fitting: list[tuple[DateStyle, ...]] = [
        (style,) for style, matches in fits.items() if matches.sum() >= enough
    ]
    if not fitting:  # two styles, which no text could both be
        fitting = [
            (first, second)
            for first, second in combinations(fits, 2)
            if (fits[first] | fits[second]).sum() >= enough
            and not (fits[first] & fits[second]).any()
        ]
    if not fitting:
        return "", False

    def rank(styles: tuple[DateStyle, ...]) -> tuple[int, bool]:
        # The part of a date that varies least is the year.
        years = _read(texts, _OR.join(style.name for style in styles))[2]
        return int(np.ptp(years)) if len(years) else 0, any(
            style.day_first not in (None, day_first) for style in styles
        )

    texts = pd.Series(sample, dtype="str")
    best = _OR.join(style.name for style in min(fitting, key=rank))
    return _with_years(best, sample, name), len(fitting) > 1


def style_words(style: str) -> str:
    """A style as a sentence says it.

    >>> style_words("day/month/year from 1931")
    'day/month/year, with years of two digits'
    """
    name, short, _ = style.partition(_FROM)
    return f"{name}, with years of two digits" if short else name


def style_like(known: str, sample: list[str]) -> str:
    """The style of a second file's dates: the first file's if it fits, else its own."""
    if known and sample:
        texts = pd.Series([plain_date(text) for text in sample[:_SAMPLE]], dtype="str")
        if _read(texts, known)[0].notna().sum() >= ENOUGH * len(texts):
            return known
    return find_date_style(sample, known.startswith("day"))[0] or known


def _with_years(style: str, sample: list[str], name: str) -> str:
    """A style with the first year that two digits mean, where years have two."""
    years = _read(pd.Series(sample, dtype="str"), style)[2]
    if not len(years):
        return style
    today = datetime.date.today().year
    ahead = np.unique((years - today) % 100)
    near = ahead[(ahead > 0) & (ahead <= _YEARS_AHEAD)]
    last = today
    # Years that go on from the last ones into the next ones, and end there.
    if len(near) and not _BIRTH.search(name) and (ahead > 100 - _YEARS_AHEAD).any():
        beyond = (ahead > near[-1]) & (ahead <= near[-1] + 2 * _YEARS_AHEAD)
        last = today if beyond.any() else today + _YEARS_AHEAD
    return f"{style}{_FROM}{last - 99}"


_HAS_LETTERS = "[^0-9TZ:.,/ +-]"
_DOTTED = r" \d{1,2}\.\d\d(?:\.\d\d)?$"  # a time of day
_CLOCK_IN_WORDS = r":.*[A-Za-z+-]|[T,].*:"


def read_dates(text: Any, style_name: str) -> Dates:
    """Dates in trimmed text, each in the given style."""
    coded = text.dictionary_encode()
    distinct = pd.Series(coded.dictionary.to_pandas(), dtype="str")
    wordy = distinct.str.contains(_HAS_LETTERS, regex=True).to_numpy(bool)
    plain = distinct.copy()
    plain[wordy] = [plain_date(word) for word in distinct[wordy]]
    utc, local, _ = _read(plain, style_name)
    codes = coded.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False)
    none = np.datetime64("NaT", "us")
    values = np.append(utc.to_numpy(dtype="datetime64[us]"), none)[codes]
    here = np.append(local.to_numpy(dtype="datetime64[us]"), none)[codes]
    missing = text.is_null().to_numpy(zero_copy_only=False)
    return Dates(values, np.isnat(values) & ~missing, here)


def as_date(days: float) -> np.datetime64:
    """The moment that is so many days after 1 January 1970."""
    return np.datetime64(round(days * 86_400e6), "us")


def date_text(value: np.datetime64) -> str:
    """A date as 2024-02-29, with its time where it has one.

    >>> date_text(np.datetime64("2024-02-29T00:00")), date_text(np.datetime64("2024-02-29T13:30"))
    ('2024-02-29', '2024-02-29 13:30')
    """
    for unit in ("D", "m", "s"):
        if value == value.astype(f"datetime64[{unit}]"):
            break
    return str(value.astype(f"datetime64[{unit}]")).replace("T", " ")


def dates_apart(days: Iterable[float]) -> list[str]:
    """Days since 1 January 1970 as dates, with times only where days do not tell them apart.

    >>> dates_apart([19782.25, 19790.5]), dates_apart([19782.25, 19782.5])
    (['2024-02-29', '2024-03-08'], ['2024-02-29 06:00', '2024-02-29 12:00'])
    """
    moments = [as_date(day) for day in days]
    for unit in ("D", "m", "s", "us"):
        cut = [moment.astype(f"datetime64[{unit}]") for moment in moments]
        if len(set(cut)) == len(set(moments)):
            break
    return [str(moment).replace("T", " ") for moment in cut]


def _read(texts: pd.Series, style_name: str) -> tuple[pd.Series, pd.Series, NDArray[np.int64]]:
    """Moments in UTC and on the clocks of their places, and the years written with two digits."""
    names, _, first = style_name.partition(_FROM)
    utc = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us]")
    local = utc.copy()
    short = pd.Series(False, index=texts.index)
    for name in names.split(_OR):
        here = _parse(texts, _BY_NAME[name])
        new = utc.isna() & here[0].notna()
        utc, local = utc.where(~new, here[0]), local.where(~new, here[1])
        short |= new & here[2]
    years = local.dt.year[short].to_numpy(np.int64)
    if first and len(years):
        moved = int(first) + (years - int(first)) % 100
        for part in (utc, local):
            cells = part[short]
            days = {
                "year": moved,
                "month": cells.dt.month.to_numpy(),
                "day": cells.dt.day.to_numpy(),
            }
            day = pd.to_datetime(pd.DataFrame(days, index=cells.index), errors="coerce")
            part[short] = day.astype("datetime64[us]") + (cells - cells.dt.normalize())
    return utc, local, years


def _parse(texts: pd.Series, style: DateStyle) -> tuple[pd.Series, pd.Series, pd.Series]:
    """Moments in UTC and local ones, NaT for other texts, and which years have two digits."""
    moments = pd.Series(pd.NaT, index=texts.index, dtype="datetime64[us]")
    local, short = moments.copy(), pd.Series(False, index=texts.index)
    left = texts
    if "name" in style.name:  # Jan. and commas
        left = left.str.replace(r"([A-Za-z]{3,})\.", r"\1", regex=True)
        left = left.str.replace(r"^(\d{1,2})\. ", r"\1 ", regex=True)
        left = left.str.replace(",", "", n=1, regex=False)
        numbers = r"\1 \2 \3" if style.name[0] in "my" else r"\1-\2-\3"
        left = left.str.replace(r"^(\w+)[-/](\w+)[-/](\w+)", numbers, regex=True)
    if style.name == "year-week":  # its Monday
        left = left.str.replace(r"^(\d{4})-?W(\d{2})$", r"\1-W\2-1", regex=True)
        left = left.str.replace(r"^(\d{4})-?W(\d{2})-?(\d)$", r"\1-W\2-\3", regex=True)
    if style.name == "year-quarter":  # its first month
        left = left.str.replace(r"^Q(\d)[ /-]?(\d{4})$", r"\2-Q\1", regex=True)
        for quarter in range(1, 5):
            left = left.str.replace(
                rf"^(\d{{4}})[ -]?Q{quarter}$", rf"\1-{3 * quarter - 2:02d}", regex=True
            )
    if style.name in ("day.month.year", "year.month.day"):
        left = left.str.replace(r"^(\d+\. ?\d+\. ?\d+)\.", r"\1", regex=True)
    if style.name.endswith(("yyyy", "mmdd")):
        left = left.str.replace(r"\.0+$", "", regex=True).str.zfill(8)
    if style.name == "yyyymmddhhmm":
        left = left.str.replace(r"^(\d{8})T?(\d{4})(\d\d)?Z?$", r"\1\2\3", regex=True)
        left = left.str.replace(r"^(\d{12})$", r"\g<1>00", regex=True)
    left = left.str.replace(r"(:\d{2}),(\d+)$", r"\1.\2", regex=True)
    if left.str.contains(_DOTTED, regex=True).any():
        left = left.str.replace(_DOTTED, lambda clock: clock[0].replace(".", ":"), regex=True)
    clocks = left
    # Bare dates with bare times, by far the most, are read as they are.
    if left.str.contains(_CLOCK_IN_WORDS, regex=True).any():
        left = left.str.replace(r"(\d),?[T ](\d{1,2}:)", r"\1 \2", regex=True)
        left = left.str.replace(r" ?([AaPp])\.?[Mm]\.?(?= |$)", r" \1M", regex=True)
        if left.str.contains(r"[A-Z]{3}$", regex=True).any():
            for zone, hours in _ZONES.items():
                left = left.str.replace(
                    rf"(:\S+?(?: [AP]M)?) ?{zone}$", rf"\g<1>{hours:+03d}:00", regex=True
                )
        left = left.str.replace(rf"(:\S+?(?: [AP]M)?) ?({_OFFSET}|Z)$", r"\1\2", regex=True)
        clocks = left.str.replace(rf"(:\S+?(?: [AP]M)?)(?:{_OFFSET}|Z)$", r"\1", regex=True)
    zoned = clocks is not left and bool((clocks != left).any())
    for form in style.formats:
        open_rows = moments.isna()
        if not open_rows.any():
            break
        parsed = pd.to_datetime(left[open_rows], format=form, errors="coerce", utc=True)
        moments[open_rows] = parsed.dt.tz_localize(None).astype("datetime64[us]")
        if zoned and parsed.notna().any():
            plain = form.removesuffix("%z")
            here = pd.to_datetime(clocks[open_rows], format=plain, errors="coerce", utc=True)
            local[open_rows] = here.dt.tz_localize(None).astype("datetime64[us]")
        if "%y" in form:
            short[open_rows] = moments[open_rows].notna()
    return moments, local.where(local.notna(), moments), short


def used_parts(values: NDArray[np.datetime64]) -> tuple[str, ...]:
    """The parts of a date worth a feature: those that vary, and always the day count."""
    dates = values[~np.isnat(values)]
    varying = [part for part in DATE_PARTS[1:] if len(np.unique(date_part(dates, part))) > 1]
    return ("days", *varying)


def date_part(values: NDArray[np.datetime64], part: str) -> NDArray[np.float64]:
    """One number a date, NaN for none; "days" from 1970 on, "weekday" 0 is Monday."""
    index = pd.DatetimeIndex(values)
    if part == "days":
        microseconds = values.astype("datetime64[us]").astype(np.int64) / 86_400e6
        return np.where(np.isnat(values), np.nan, microseconds)
    if part == "hour":
        return np.asarray(index.hour + index.minute / 60.0, dtype=np.float64)
    return np.asarray(index.month if part == "month" else index.day_of_week, dtype=np.float64)
