"""Numbers in text: how they are written, with what unit, and what they are.

A cell is a number with maybe a sign, a unit or currency before or after it, and a mark such as in
<0.5 or 10+. A column has one decimal mark and one unit; cells with another one are no numbers of
that column.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

# A unit, and what its numbers are multiplied by.
Units = tuple[tuple[str, float], ...]
BARE: Units = (("", 1.0),)

# A time of day, which is read in hours: 13:08, 13:08:55, 1:08 PM, 13h08, 13.08 Uhr, 18.00.00.
CLOCK: Units = (("time of day", 1.0),)
_HALF = r"(?i:[apπμ])\.?\s?(?i:[mμ])\.?|[午上下오][前後午전후]|[صم]"
_CLOCK = (
    rf"^(?:(?P<half>{_HALF})|T|0 days)?\s*(?P<hour>\d{{1,2}})(?:(?:[:時时點点시]|\s?h|\.(?=\d\d\.))"
    r"\s?(?P<minute>[0-5]\d|\d(?=[分분]))(?:[:.分분]\s?(?P<second>[0-5]\d(?:[.,]\d+)?|\d(?=[秒초]))"
    rf"(?:Z|[+-]\d\d(?::?\d\d)?)?)?[分분秒초]?)?\s*(?:(?P<late>{_HALF})|(?P<oclock>Uhr)|h)?$"
)
# With a point between hour and minute, which only a word tells from a decimal one.
_POINTED = r"^(?:klo?|um)\.? ?(\d\d?)[.:](\d\d)|^(\d\d?)\.(\d\d)(?= ?Uhr\b)"

_BLANK = "['\u2019 \u00a0\u202f]"  # between groups of three digits, besides point or comma
_MAYBE_NUMBER = r"\pN|^[+-]?\s*(?i:inf|infinity)$|∞"
_INFINITE = "(?i)^[+-]?\\s*(inf|infinity|\u221e)$"
# False and true, as pandas, R and JSON write them.
_TRUTH_WORDS = (("False", "True"), ("FALSE", "TRUE"), ("false", "true"))

# Digits and marks of other scripts and keyboards.
_PLAIN_LETTERS = str.maketrans(
    "\u2212\ufe63\uff0d\u2010\u2011\u2012\u2013\uff0b\uff0e\uff0c\u066b\u066c\uff05\u066a\uff08\uff09"
    + "".join(chr(zero + k) for zero in (0xFF10, 0x660, 0x6F0, 0x966) for k in range(10)),
    "-------+.,.,%%()" + 4 * "0123456789",
)
_CODES = (
    "AED|ARS|AUD|BGN|BRL|CAD|CHF|CLP|CNY|COP|CZK|DKK|EGP|EUR|GBP|HKD|HUF|IDR|ILS|INR|JPY|KES|KRW"
    "|MXN|MYR|NGN|NOK|NZD|PEN|PHP|PKR|PLN|RMB|RON|RUB|SAR|SEK|SGD|THB|TRY|TWD|UAH|USD|VND|ZAR"
)
_CURRENCY = (
    "[A-Z]{0,3}[$\u20a0-\u20cf£¥¢฿]"
    rf"|(?:{_CODES})|(?i:rs\.?|rp\.?|kr\.?|fr\.)|S/\.?|zł|Kč|Ft"
)
_UNIT = (
    r"(?:[kcm]?m|ft|in|mi|yd)[²³]"
    r"|[^\d\s()+*<>~.,;:!?\"'#/_=†‡ᵃᵇᶜ¹²³⁴-⁹\[-][^\d()+*<>~;:!?\"_=†‡]{0,15}?[23]?"
)
_CELL = (
    rf"^['’]?(?:(?P<outer>{_CURRENCY})\s*)?(?P<open>\()?\s*(?P<first>[+-])?\s*(?P<bound>[<>≤≥~≈±]=?)?\s*"
    rf"(?:(?P<before>{_CURRENCY}|%)\s*)?(?P<sign>[+-])?\s*"
    rf"(?P<number>[.,]?\d(?:[\d.,]|{_BLANK})*(?:[eE][+-]?\d+)?)"
    rf"(?P<inner>-)?(?P<gap>\s*)(?P<plus>\+|\*+|[†‡])?\s*(?P<after>{_UNIT})?\s*"
    r"(?P<note>\*+|[+†‡ᵃᵇᶜ¹²³⁴-⁹]|\[\w{1,3}\])?"
    r"\s*(?P<last>-)?\s*(?P<close>\))?$"
)
# What multiplies a number, where a column has several of them, or a currency with them.
_SCALES = {
    "k": 1e3, "K": 1e3, "tsd": 1e3, "m": 1e6, "M": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6,
    "B": 1e9, "bn": 1e9, "mrd": 1e9, "billion": 1e9, "T": 1e12, "trillion": 1e12,
}  # fmt: skip
# Units that are taken for such in a column that mixes them; other words may be codes.
_MEASURES = frozenset((
    "%", "‰", "kg", "g", "mg", "µg", "t", "lb", "oz", "km", "m", "cm", "mm", "mi", "yd", "ft",
    "in", "l", "ml", "cl", "s", "sec", "ms", "min", "h", "hr", "day", "week", "month", "year",
    "°C", "°F", "°K", "kW", "kWh", "MW", "Hz", "kHz", "MHz", "GHz", "kB", "KB", "MB", "GB", "TB",
    "Pa", "hPa", "kPa", "bar", "psi", "kJ", "cal", "kcal", "m²", "m2", "m³", "m3", "ha", "acre",
    "sqft", "km/h", "mph", "k", "K",
))  # fmt: skip
_PLAIN = r"^[+-]?\d[\d.,]*$"
_MOST = 0.9  # of the numbers have the unit of the column, or it has none
_SEEN = 0.05  # of the numbers, from which on a unit is more than a slip


def _number_pattern(mark: str, group: str) -> str:
    """A number with a decimal mark, maybe in groups of three digits, or of two as in 1,87,685."""
    plain = rf"(\d+[{mark}]?\d*|[{mark}]\d+)"
    grouped = (
        rf"([1-9]\d{{0,2}}(({_BLANK}|[{group}])\d{{3}})+|[1-9]\d?([{group}]\d{{2}})+[{group}]\d{{3}})"
        rf"([{mark}]\d*)?"
    )
    return rf"^[+-]?({grouped}|{plain}([eE][+-]?\d+)?)$"


_PATTERNS = {".": _number_pattern(".", ","), ",": _number_pattern(",", ".")}


def number_pattern(decimal: str) -> str:
    """The regular expression of all finite numbers with a decimal mark, without their units."""
    return _PATTERNS[decimal]


class Numbers(NamedTuple):
    """The numbers of a column."""

    values: NDArray[np.float64]  # (n_rows,): NaN where missing or unreadable; infinities stay
    unreadable: NDArray[np.bool_]  # (n_rows,): cells that hold something else than a number
    # whether every number stands there as such, without units, groups or a decimal comma
    plain: bool


class _Cells(NamedTuple):
    """Distinct texts taken apart; empty and null where a text is no number with a unit."""

    number: Any  # as in the cell, with its sign before it
    unit: list[str]
    scaled: list[tuple[str, float] | None]  # the unit without k, M ..., and what these are
    noted: NDArray[np.bool_]  # whether there is a mark such as < or *


def _take_apart(text: Any) -> _Cells:
    """Signs, numbers and units of distinct texts."""
    text = pa.array(text, pa.string()) if not isinstance(text, pa.Array) else text
    if any(not word.isascii() for word in text.to_pylist() if word):
        plain = [
            None if word is None else word.translate(_PLAIN_LETTERS) for word in text.to_pylist()
        ]
        text = pa.array(plain, pa.string())
    match = pc.extract_regex(text, _CELL)
    part = {field.name: match.field(k) for k, field in enumerate(match.type)}

    def has(name: str, letter: str = "") -> Any:
        return pc.equal(part[name], letter) if letter else pc.not_equal(part[name], "")

    whole = pc.equal(has("open"), has("close"))
    # 5-HT is a name; "5- km" and "5-%" are numbers.
    named = pc.and_(has("inner"), pc.match_substring_regex(part["after"], r"^\pL"))
    whole = pc.and_not(whole, pc.and_not(named, has("gap")))
    whole = pc.and_not(whole, pc.match_substring_regex(text, r"^\pL+-\d+$"))  # so is RP-18390
    fits = pc.fill_null(pc.and_(match.is_valid(), whole), False)
    signs = ("first", "sign", "inner", "last")
    negative = has("open")
    cents = pc.match_substring_regex(part["number"], r"[.,]\s*$")  # none: 5,- and 5.\u2013
    for name in signs:
        minus = has(name, "-")
        negative = pc.or_(negative, pc.and_not(minus, cents) if name in signs[2:] else minus)
    digits = pc.utf8_rtrim_whitespace(part["number"])
    signed = pc.binary_join_element_wise(pc.if_else(negative, "-", ""), digits, "")
    number = pc.if_else(fits, signed, pa.scalar(None, pa.string()))
    noted = pc.or_(has("bound"), pc.or_(has("plus"), has("note")))
    units: list[str] = []
    scaled: list[tuple[str, float] | None] = []
    before_number = pc.binary_join_element_wise(part["outer"], part["before"], "")
    for before, after in zip(before_number.to_pylist(), part["after"].to_pylist(), strict=True):
        before, after = _unit_name(before or ""), _unit_name(after or "")
        units.append(before + after)
        scaled.append((before, _SCALES[after]) if after in _SCALES else None)
    noted = pc.fill_null(pc.and_(noted, fits), False)
    return _Cells(number, units, scaled, noted.to_numpy(zero_copy_only=False))


def _unit_name(unit: str) -> str:
    """One name for kg and kg., month and months."""
    unit = unit.strip().rstrip(".")
    if len(unit) < 3 or not unit.isalpha() or unit.isupper():
        return unit
    return unit.lower().removesuffix("s")


def cores(text: Any) -> Any:
    """Numbers of trimmed text without their units, null where there is none."""
    if pc.all(pc.match_substring_regex(text, _PLAIN)).as_py() is not False:
        return text
    return _take_apart(text).number


def read_clock(texts: pd.Series) -> NDArray[np.float64]:
    """Times of day in hours; NaN where a text is none.

    >>> read_clock(pd.Series(["13:15", "1:30 PM", "12:00 a.m.", "25:00", "7"])).tolist()
    [13.25, 13.5, 0.0, nan, nan]
    """
    parts = texts.str.replace(_POINTED, r"\1\3:\2\4", regex=True).str.extract(_CLOCK)
    half = parts["half"].fillna(parts["late"]).str.strip()
    hour, minute, second = (
        pd.to_numeric(parts[name].str.replace(",", ".")) for name in ("hour", "minute", "second")
    )
    late = half.str.contains(r"^[PpμΜم下]|[後후]$", regex=True, na=False)
    hour = hour.where(half.isna(), (hour % 12 + 12 * late).where(hour.between(0, 12)))
    hours = hour + minute.fillna(0.0) / 60 + second.fillna(0.0) / 3600
    stands = (minute.notna() | half.notna() | parts["oclock"].notna()) & (hours <= 24)
    return hours.where(stands).round(5).to_numpy(np.float64)  # a thirtieth of a second


def are_clocks(words: Any) -> bool:
    """Whether distinct texts are times of day; 18.10.12 is a date, 36:10 a duration."""
    texts = pd.Series(words.to_pandas(), dtype="str")
    hours = read_clock(texts)
    dotted = texts[~np.isnan(hours)].str.extract(r"\.(\d\d)\.")[0].dropna()
    dates = len(dotted) and dotted.astype(float).between(1, 31).all()
    longer = texts[np.isnan(hours)].str.fullmatch(r"\d+:\d\d(?::\d\d)?").any()
    return not dates and not longer and (~np.isnan(hours)).sum() >= _MOST * max(1, len(hours))


class UnitChoice(NamedTuple):
    """The unit of a column of numbers, what parts its thousands, and how many cells have marks."""

    units: Units = BARE
    thousands: str = ""
    n_noted: int = 0
    mixed: tuple[tuple[str, int], ...] = ()  # several units with their cells


def choose_units(text: Any, decimal: str) -> UnitChoice:
    """The unit of trimmed text, that of the majority.

    >>> choose_units(pa.array(["5 kg", "7.5 kg", "6 kg"]), ".").units
    (('kg', 1.0),)
    >>> choose_units(pa.array(["$1.9M", "$850k"]), ".").units[:2]
    (('$', 1.0), ('$k', 1000.0))
    """
    counted = pc.value_counts(text.drop_null())
    words, times = counted.field("values"), counted.field("counts").to_numpy()
    if are_clocks(words):
        return UnitChoice(CLOCK)
    cells = _take_apart(words)
    fits = pc.match_substring_regex(cells.number, number_pattern(decimal))
    known = pc.fill_null(fits, False).to_numpy(zero_copy_only=False)
    numbers = cells.number.filter(pa.array(known))
    group = "." if decimal == "," else ","
    thousands = next(
        (
            mark
            for mark in (group, " ", "'", "\u2019", "\u00a0", "\u202f")
            if pc.any(pc.match_substring(numbers, mark)).as_py()
        ),
        "",
    )
    count: dict[str, int] = {}
    scales: dict[str, set[str]] = {}
    for place in np.flatnonzero(known).tolist():
        unit, scaled = cells.unit[place], cells.scaled[place]
        count[unit] = count.get(unit, 0) + int(times[place])
        root = scaled[0] if scaled else unit
        scales.setdefault(root, set()).add(unit)
    noted = int(times[cells.noted & known].sum())
    if not count:
        return UnitChoice()
    total = sum(count.values())
    for root, units in scales.items():
        letters = units - {root}
        several = len(units) > 1 and (root or len(letters) > 1 or letters == {"k"})
        if several and sum(count[unit] for unit in units) >= _MOST * total:
            more = ((root + letter, times_) for letter, times_ in _SCALES.items())
            return UnitChoice(((root, 1.0), *more), thousands, noted)
    most = max(count, key=lambda unit: count[unit])
    mixed: tuple[tuple[str, int], ...] = ()
    if count[most] < _MOST * total and total >= _MOST * times.sum():
        often = {unit: n for unit, n in count.items() if n >= _SEEN * total}
        if all(not unit or unit in _MEASURES or _is_currency(unit) for unit in often):
            mixed = tuple(sorted(often.items(), key=lambda pair: -pair[1]))
    return UnitChoice(((most, 1.0),), thousands, noted, mixed)


def _is_currency(unit: str) -> bool:
    return bool(pc.match_substring_regex(pa.array([unit]), f"^(?:{_CURRENCY})$")[0].as_py())


def describe_units(units: Units) -> str:
    """The unit in a few letters; empty where there is none.

    >>> describe_units((("kg", 1.0),)), describe_units(BARE)
    ('kg', '')
    """
    root = units[0][0] if units else ""
    return f"{root} (k, M and so on)".strip() if len(units) > 1 else root


# What is like a number or a date, in a form that no rule here reads.
_LIKE_DATES = r"(?:^|\D)(?:19|20)\d\d(?:\D.*)?$"
_LIKE_NUMBERS = (
    r"^(?:[+-]?\d+(?::\d\d){1,2}(?:[.,]\d+)?|\d+ ?[ywdhm][a-z]* ?\d+ ?[wdhms]?[a-z]*"
    r"|[+-]?[\d.,]+ ?(?:±|\+/-|\+-) ?[\d.,]+|=\"[\d.,]+\"|\d{1,3}(?:_\d{3})+|\d+ \d+/\d+"
    r"|[\d.,]+ ?[×x*] ?10\^?[⁰-⁹\d-]+|\d+' ?\d+(?:\"|'')|[\d.,]+ (?:CR|DR|Cr|Dr|cr|dr)"
    r"|[\d.,]+ ?(?:to|bis|until|\x{2013}|\.\.\.?|…) ?[\d.,]+|[\d.,]+ ?\((?:±|\+/-) ?[\d.,]+\)"
    r"|\d+° ?\d+['′].*"
    r"|[\d.,]+ ?\(\PN*\)|[\d.,]+"
    r"|(?:(?i:ca|circa|approx|approximately|about|etwa|rund|env|around|no|nr|num)\.?:? |[#№約]) ?"
    r"[\d.,]+)$"
)


def like_numbers_or_dates(text: Any) -> str:
    """What texts look like that are read as neither: "dates", "numbers", or nothing."""
    known = len(text) - text.null_count
    for what, patterns in (
        ("dates", (_LIKE_DATES, r"(?:^|\D)\d{1,2}(?:\D|$)")),
        ("numbers", (_LIKE_NUMBERS,)),
    ):
        fits = [pc.match_substring_regex(text, pattern) for pattern in patterns]
        both = pc.and_(fits[0], fits[-1])
        if known and (pc.sum(both).as_py() or 0) >= _MOST * known:
            return what
    return ""


def may_hold_numbers(text: Any) -> bool:
    """Whether any text has a digit or begins as an infinity does; words have neither."""
    first = text[0].as_py() if len(text) else None  # it tells of most columns, and takes no pattern
    if first and any(digit in first for digit in "0123456789"):
        return True
    return bool(pc.any(pc.match_substring_regex(text, _MAYBE_NUMBER)).as_py())


def holds_truths(text: Any) -> bool:
    """Whether all text is a word for true or false, written in one way: 1 and 0 as numbers.

    >>> holds_truths(pa.array(["True", None, "False"])), holds_truths(pa.array(["True", "no"]))
    (True, False)
    """
    distinct = pc.unique(text.drop_null())
    if len(distinct) not in (1, 2):
        return False
    words = {*distinct.to_pylist()}
    return any(words <= {*pair} for pair in _TRUTH_WORDS)


def read_numbers(text: Any, decimal: str, units: Units = ()) -> Numbers:
    """The numbers in trimmed text with the given decimal mark.

    Understands signs (also ``(5)``, ``5-`` and U+2212), exponents, infinities, groups of digits
    (``1,234.5``, ``1.234,5``, ``1 234``, ``1'234``, ``1,87,685``), and a unit or a currency: one of
    ``units``, any if there are none. ``<0.5``, ``10+`` and ``630.8*`` are the number in them. A
    column of nothing but True and False is 1 and 0.
    """
    missing = pc.is_null(text).to_numpy(zero_copy_only=False)
    quick = text
    bare = not units or any(not unit for unit, _ in units)
    if decimal == "," and not pc.any(pc.match_substring(text, ".")).as_py():
        quick = pc.replace_substring(text, ",", ".")
    if bare and (decimal == "." or quick is not text):
        try:
            values = pc.cast(quick, pa.float64())
        except pa.ArrowInvalid:
            pass  # not all of them are plain numbers: read them one by one below
        else:
            numbers = values.to_numpy(zero_copy_only=False).copy()
            return Numbers(numbers, np.isnan(numbers) & ~missing, decimal == ".")
    if not may_hold_numbers(text):
        if holds_truths(text):
            truths = pc.equal(pc.utf8_lower(text), "true").cast(pa.float64())
            values = truths.to_numpy(zero_copy_only=False)
            return Numbers(values, np.zeros(len(values), bool), False)
        return Numbers(np.full(len(text), np.nan), ~missing, decimal == ".")
    coded = text.dictionary_encode()
    distinct = pd.Series(coded.dictionary.to_pandas(), dtype="str")
    numbers, plain = _read_distinct(distinct, decimal, units)
    codes = pc.fill_null(coded.indices, len(numbers)).to_numpy(zero_copy_only=False)
    values = np.append(numbers, np.nan)[codes]
    return Numbers(values, np.isnan(values) & ~missing, plain and decimal == ".")


def _read_distinct(
    distinct: pd.Series, decimal: str, units: Units
) -> tuple[NDArray[np.float64], bool]:
    """Numbers of distinct texts, NaN where there is none, and whether none was in disguise."""
    if units == CLOCK:
        return read_clock(distinct), False
    # A group of three digits would be taken for decimals here, and the other way round.
    if units and all(unit for unit, _ in units):
        numbers = np.full(len(distinct), np.nan)
    else:
        candidates = distinct if decimal == "." else distinct.str.replace(",", ".", regex=False)
        numbers = pd.to_numeric(candidates, errors="coerce").to_numpy(dtype=np.float64).copy()
        if decimal == ",":
            numbers[distinct.str.contains(".", regex=False).to_numpy(dtype=bool)] = np.nan
    open_rows = np.flatnonzero(np.isnan(numbers))
    disguised = _read_disguised(pa.array(distinct.iloc[open_rows], pa.string()), decimal, units)
    numbers[open_rows] = disguised
    return numbers, bool(np.isnan(disguised).all())


def _read_disguised(text: Any, decimal: str, units: Units) -> NDArray[np.float64]:
    """Numbers with units, groups or a decimal comma, and infinities; NaN for other text."""
    if not len(text):
        return np.zeros(0)
    cells = _take_apart(text)
    fits = pc.fill_null(pc.match_substring_regex(cells.number, _PATTERNS[decimal]), False)
    factor_of = dict(units)
    factors = np.array([factor_of.get(unit, np.nan) if factor_of else 1.0 for unit in cells.unit])
    bare = pc.replace_substring_regex(cells.number, r"[^0-9eE.,+-]", "")
    bare = pc.replace_substring(bare, "," if decimal == "." else ".", "")
    bare = pc.if_else(fits, pc.replace_substring(bare, ",", "."), pa.scalar(None, pa.string()))
    numbers = pc.cast(bare, pa.float64()).to_numpy(zero_copy_only=False) * factors
    infinite = pc.match_substring_regex(text, _INFINITE).to_numpy(zero_copy_only=False)
    negative = pc.starts_with(text, "-").to_numpy(zero_copy_only=False)
    signed = np.where(negative.astype(bool), -np.inf, np.inf)
    return np.where(infinite.astype(bool), signed, numbers)
