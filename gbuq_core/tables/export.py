"""Tables to bytes for download: CSV that no spreadsheet takes for formulae, and Parquet."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from gbuq_core.presentation import LIVE_CELL, PLAIN_NUMBER, csv_text

_NEEDS_QUOTES = '[,"\\r\\n]'
_ROWS_AT_ONCE = 65_536


def to_csv_bytes(frame: pd.DataFrame) -> bytes:
    r"""The table as CSV in UTF-8, comma-separated, with a decimal point.

    Text cells and column names that begin with ``= + - @``, a tab or a carriage return get an
    apostrophe in front, so that spreadsheets show them and do not run them. Numbers are written as
    numbers, negative ones too, and so are text cells that are nothing but a number.

    The file is the one that `csv_text` would write, from Arrow's columns: for large tables.

    Examples
    --------
    >>> to_csv_bytes(pd.DataFrame({"cell": ["=1+1", "a, b"], "n": [-1.5, 2.0]})).decode()
    'cell,n\n\'=1+1,-1.5\n"a, b",2\n'
    """
    table = _as_arrow(frame)
    sink = io.BytesIO()
    sink.write(csv_text(table.column_names, ()).encode())
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        cells = [pc.fill_null(_as_cells(column), "") for column in batch.columns]
        lines = pc.binary_join_element_wise(*cells, ",")
        if len(cells) == 1:  # an empty line would be no row
            lines = pc.if_else(pc.equal(lines, ""), '""', lines)
        sink.writelines(f"{line}\n".encode() for line in lines.to_pylist())
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


def _as_cells(column: Any) -> Any:
    """What stands in the file: text harmless and quoted where it has to be, numbers as text."""
    is_text = types.is_string(column.type) or types.is_binary(column.type)
    column = column.cast(pa.string())
    if not is_text:
        return column
    live = pc.match_substring_regex(column, LIVE_CELL)
    if pc.any(live).as_py():
        live = pc.and_(live, pc.invert(pc.match_substring_regex(column, PLAIN_NUMBER)))
        column = pc.if_else(live, pc.binary_join_element_wise("'", column, ""), column)
    quoted = pc.match_substring_regex(column, _NEEDS_QUOTES)
    if pc.any(quoted).as_py():
        doubled = pc.replace_substring(column, '"', '""')
        column = pc.if_else(quoted, pc.binary_join_element_wise('"', doubled, '"', ""), column)
    return column
