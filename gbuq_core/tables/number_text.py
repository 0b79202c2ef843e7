"""Numbers written as text: decimal marks, thousands separators, units and currency signs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gbuq_core.tables.markers import MISSING_MARKERS

_MARKERS = pa.array(sorted(MISSING_MARKERS))
_SIGNS = "[%\u20ac$\u00a3\u00a5]?"
_BLANK = "['\u2019 \u00a0\u202f]"  # between groups of three digits, besides point or comma
_INFINITE = "(?i)^[+-]?\\s*(inf|infinity|\u221e)$"


def _disguised_pattern(mark: str, group: str) -> str:
    """A number with a decimal mark, maybe groups of three, a sign and a unit before or after."""
    plain = rf"(\d+[{mark}]?\d*|[{mark}]\d+)"
    grouped = rf"\d{{1,3}}(({_BLANK}|[{group}])\d{{3}})+([{mark}]\d*)?"
    before = rf"([+-]?\s*{_SIGNS}|{_SIGNS}\s*[+-])\s*"
    return rf"^{before}({grouped}|{plain})([eE][+-]?\d+)?\s*{_SIGNS}$"


_DISGUISED = {".": _disguised_pattern(".", ","), ",": _disguised_pattern(",", ".")}


class Numbers(NamedTuple):
    """The numbers of a column.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), float64
        NaN where missing or unreadable; infinities stay.
    unreadable : ndarray of shape (n_rows,), bool
        Cells that hold something else than a number.
    plain : bool
        Whether every number stands there as such, without units, groups or a decimal comma.
    """

    values: NDArray[np.float64]
    unreadable: NDArray[np.bool_]
    plain: bool


def trim(column: Any, also_missing: tuple[str, ...] = ()) -> Any:
    """Text without blanks around it, with nulls for missing markers and for ``also_missing``.

    Examples
    --------
    >>> trim(pa.array([" 5 ", "NA", "x"])).to_pylist()
    ['5', None, 'x']
    """
    trimmed = pc.utf8_trim_whitespace(column)
    markers = _MARKERS if not also_missing else pa.array(sorted(MISSING_MARKERS | {*also_missing}))
    return pc.if_else(pc.is_in(trimmed, value_set=markers), pa.scalar(None, pa.string()), trimmed)


def has_leading_zeros(text: Any) -> bool:
    """Whether cells such as 00123 show that these are codes: a number would lose its zeros.

    One cell in twenty is enough (postcodes), a single slip among many is not.

    Examples
    --------
    >>> has_leading_zeros(pa.array(["01067", "89073"])), has_leading_zeros(pa.array(["0", "0.5"]))
    (True, False)
    """
    codes = pc.sum(pc.match_substring_regex(text, r"^0\d+$")).as_py() or 0
    return bool(codes >= max(1, 0.05 * (len(text) - text.null_count)))


def read_numbers(text: Any, decimal: str) -> Numbers:
    """The numbers in trimmed text (`trim`) with the given decimal mark.

    Understands signs, exponents, infinities, groups of three digits (``1,234.5``, ``1.234,5``,
    ``1 234``, ``1'234``), a percent or currency sign before or after.

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
            return Numbers(found, np.zeros(len(found), bool), decimal == ".")
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
