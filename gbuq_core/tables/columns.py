"""What a column holds: one description a column, and its values read accordingly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import types

from gbuq_core.tables.date_text import Dates, read_dates
from gbuq_core.tables.number_text import Numbers, read_numbers, trim

KINDS = ("numeric", "category", "date", "identifier", "text", "constant", "empty")
FEATURE_KINDS = ("numeric", "category", "date")
CHOSEN_KINDS = ("numeric", "category", "date", "identifier", "text")

Categories = pd.Categorical

# Whole numbers that a float may not hold exactly: 2**53 has 16 digits.
_LONG_WHOLE = r"^[+-]?\d{16,}$"


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
    decimal, date_style : str
        How its numbers or dates are written.
    ambiguous_dates : bool
        Whether day and month could be read either way.
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
    decimal: str = "."
    date_style: str = ""
    ambiguous_dates: bool = False


def as_text(array: Any, missing_values: tuple[str, ...] = ()) -> Any:
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
    return trim(text, missing_values)


def as_numbers(array: Any, decimal: str, missing_values: tuple[str, ...] = ()) -> Numbers:
    """Any column as numbers; dates are unreadable."""
    kind = array.type
    if types.is_integer(kind) or types.is_floating(kind):
        values = array.to_numpy(zero_copy_only=False).astype(np.float64)
        for marker in missing_values:
            values[values == _float_or_nan(marker)] = np.nan
        return Numbers(values, np.zeros(len(values), bool), True)
    if types.is_timestamp(kind):
        return Numbers(np.full(len(array), np.nan), array.is_valid().to_numpy(False), False)
    if types.is_boolean(kind):
        array = array.cast(pa.int8()).cast(pa.string())
    return read_numbers(trim(array, missing_values), decimal)


def as_dates(array: Any, style: str, missing_values: tuple[str, ...] = ()) -> Dates:
    """Any column as dates; a style is only needed for text."""
    if types.is_timestamp(array.type):
        values = array.to_numpy(zero_copy_only=False).astype("datetime64[us]")
        return Dates(values, np.zeros(len(values), bool))
    if not style:
        return Dates(np.full(len(array), np.datetime64("NaT", "us")), np.ones(len(array), bool))
    return read_dates(as_text(array, missing_values), style)


def as_categories(array: Any, missing_values: tuple[str, ...] = ()) -> Categories:
    """Any column as categories in the order of their first rows; missing cells have none.

    Where all categories are numbers, 1 and 1.0 are one, whatever the file.
    """
    coded = as_text(array, missing_values).dictionary_encode()
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    labels = coded.dictionary
    if len(labels) and _may_be_numbers(labels):
        try:
            labels = as_text(pc.cast(labels, pa.float64()))
        except pa.ArrowInvalid:
            labels = coded.dictionary  # words: they stand as they are
    merged = labels.dictionary_encode()
    code_of = np.append(merged.indices.to_numpy(zero_copy_only=False), -1)
    categories = pd.Index(merged.dictionary.to_pandas(), dtype="str")
    return pd.Categorical.from_codes(code_of[codes], categories)


def _may_be_numbers(labels: Any) -> bool:
    """Whether no label would lose digits as a number: no leading zeros, at most 15 letters."""
    zeros = pc.any(pc.match_substring_regex(labels, r"^[+-]?0\d")).as_py()
    return not zeros and pc.max(pc.utf8_length(labels)).as_py() <= 15


def single_chunk(table: Any, column: int | str) -> Any:
    """The one array of a column, by position (quick) or by name."""
    chunked = table.column(column)
    return chunked.chunk(0) if chunked.num_chunks == 1 else chunked.combine_chunks()


def finite_values(numbers: Numbers) -> NDArray[np.float64]:
    """Numbers with NaN in place of infinities."""
    return np.where(np.isfinite(numbers.values), numbers.values, np.nan)


def plain_column(array: Any) -> pd.Series:
    """A column as it is shown and exported: numbers where all cells are plain ones, else as read.

    Codes with leading zeros, whole numbers of more than 64 bits, units, decimal commas and words
    keep the letters of the file.
    """
    if not types.is_string(array.type):
        return pd.Series(array.to_pandas())
    text = trim(array)
    if text.null_count == len(text):
        return pd.Series(np.full(len(text), np.nan))
    # Codes with leading zeros, and hexadecimal ones, which a cast to whole numbers would read.
    if pc.any(pc.match_substring_regex(text, r"^[+-]?0[\dxX]")).as_py():
        return pd.Series(array.to_pandas(), dtype="str")
    known = text.is_valid().to_numpy(zero_copy_only=False)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = pc.cast(text, kind)
        except pa.ArrowInvalid:
            if pc.any(pc.match_substring_regex(text, _LONG_WHOLE)).as_py():
                break  # as floats they would lose digits
            continue
        if types.is_floating(kind) or known.all():
            return pd.Series(numbers.to_numpy(zero_copy_only=False))
        whole = pc.fill_null(numbers, 0).to_numpy()
        return pd.Series(pd.arrays.IntegerArray(whole.copy(), ~known))
    return pd.Series(array.to_pandas(), dtype="str")


def _float_or_nan(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
