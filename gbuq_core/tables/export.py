"""Tables to bytes for download: CSV that no spreadsheet takes for formulae, and Parquet."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet, types

# What makes a spreadsheet run a cell, also in full-width letters and behind blanks, which some
# spreadsheets drop. A plain number in a text cell, such as -5, runs nothing and stays as it is.
_LIVE = "^(?:[\\t\\r]|\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20])"
_PLAIN_NUMBER = r"^[+-]?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?$"


def to_csv_bytes(frame: pd.DataFrame) -> bytes:
    r"""The table as CSV in UTF-8, comma-separated, with a decimal point.

    Text cells and column names that begin with ``= + - @``, a tab or a carriage return get an
    apostrophe in front, so that spreadsheets show them and do not run them. Numbers are written as
    numbers, negative ones too, and so are text cells that are nothing but a number.

    Examples
    --------
    >>> to_csv_bytes(pd.DataFrame({"cell": ["=1+1", "fine"], "n": [-1.5, 2.0]})).decode()
    '"cell","n"\n"\'=1+1",-1.5\n"fine",2\n'
    """
    table = _as_arrow(frame)
    columns = [_escaped(column) for column in table.columns]
    names = _escaped(pa.chunked_array([pa.array(table.column_names, pa.string())]))
    safe = pa.table(columns, names=names.to_pylist())
    sink = io.BytesIO()
    csv.write_csv(safe, sink)
    return sink.getvalue()


def to_parquet_bytes(frame: pd.DataFrame) -> bytes:
    """The table as Parquet; cells keep their types and letters, since nothing runs them."""
    sink = io.BytesIO()
    parquet.write_table(_as_arrow(frame), sink, compression="zstd")
    return sink.getvalue()


def _as_arrow(frame: pd.DataFrame) -> Any:
    """Columns in the frame's order; text of any pandas type as plain strings."""
    arrays, names = [], []
    for position, name in enumerate(frame.columns):
        array = pa.Array.from_pandas(frame.iloc[:, position])
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if not types.is_string(array.type) and _is_text(array.type):
            array = array.cast(pa.string())
        arrays.append(array)
        names.append(str(name))
    return pa.table(arrays, names=names)


def _is_text(kind: Any) -> bool:
    return bool(
        types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_dictionary(kind)
        or types.is_null(kind)
    )


def _escaped(column: Any) -> Any:
    """Text with an apostrophe before what a spreadsheet would run; other columns as they are."""
    if not types.is_string(column.type):
        return column
    live = pc.match_substring_regex(column, _LIVE)
    if not pc.any(live).as_py():
        return column
    live = pc.and_(live, pc.invert(pc.match_substring_regex(column, _PLAIN_NUMBER)))
    return pc.if_else(live, pc.binary_join_element_wise("'", column, ""), column)
