"""What a file may hold, told before it is parsed: a small file can unpack to a very large table.

Within these limits a file takes at most 2 GB of memory and ten seconds of one core to read and to
describe; the tests measure the worst files that we know.
"""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from gbuq_core.errors import TableError
from gbuq_core.presentation import counted, shown

MAX_COLUMNS = 5_000
MAX_CELLS = 30_000_000
MAX_CELL_BYTES = 2**20
MAX_LINE_BYTES = 2**23
MAX_TEXT_BYTES = 2**29  # decoded or unpacked, of all columns
MAX_RATIO = 250  # of unpacked to packed bytes
_RATIO_COUNTS_FROM = 2**25  # unpacked bytes; below, whatever the ratio, a file is harmless


def check_columns(n_columns: int) -> None:
    """Refuse more than `MAX_COLUMNS` columns."""
    if n_columns > MAX_COLUMNS:
        raise TableError(
            f"The file has {n_columns:,} columns, more than the limit of {MAX_COLUMNS:,}: keep "
            "fewer columns."
        )


def check_cells(n_rows: int, n_columns: int, n_cells: int | None = None) -> None:
    """Refuse more than `MAX_CELLS` cells; ``n_cells`` where rows are shorter than others."""
    if n_cells is None:
        n_cells = n_rows * n_columns
    if n_cells > MAX_CELLS:
        raise TableError(
            f"The file has {counted(n_rows, 'row')} and {counted(n_columns, 'column')}, which is "
            f"about {n_cells / 1e6:,.0f} million cells, more than the limit of "
            f"{MAX_CELLS / 1e6:.0f} million: keep fewer rows or columns."
        )


def check_cell_sizes(name: str, column: Any) -> None:
    """Refuse a column of text with a cell above `MAX_CELL_BYTES`."""
    longest = pc.max(pc.binary_length(column)).as_py() or 0
    if longest > MAX_CELL_BYTES:
        row = pc.index(pc.binary_length(column), longest).as_py() + 1
        raise TableError(
            f"The column {shown(name)} has a cell of {longest / 2**20:,.1f} MB in row {row:,}, "
            f"more than the limit of {MAX_CELL_BYTES // 2**20} MB: shorten it, and check that its "
            "quotation marks are in pairs."
        )


def check_lines(text: bytes) -> None:
    """Refuse a text with a line above `MAX_LINE_BYTES`, whatever ends its lines."""
    begin, number = 0, 1
    while len(text) - begin > MAX_LINE_BYTES:
        window_end = begin + MAX_LINE_BYTES + 1
        end = max(text.rfind(mark, begin, window_end) for mark in (b"\n", b"\r"))
        if end < 0:
            after = [text.find(mark, window_end) for mark in (b"\n", b"\r")]
            length = min((at for at in after if at >= 0), default=len(text)) - begin
            raise TableError(
                f"Line {number:,} of the file has {length / 2**20:,.0f} MB, more than the limit of "
                f"{MAX_LINE_BYTES // 2**20} MB: put each row on a line of its own."
            )
        lines = max(text.count(mark, begin, end + 1) for mark in (b"\n", b"\r"))
        begin, number = end + 1, number + lines


def check_ratio(packed: int, unpacked: int) -> None:
    """Refuse a compressed file that unpacks to far more than tables do."""
    if unpacked > _RATIO_COUNTS_FROM and unpacked > MAX_RATIO * packed:
        raise TableError(
            f"The compressed file unpacks to more than {MAX_RATIO} times its size, as tables "
            "hardly do: if it is one, upload it uncompressed."
        )


def check_text(n_bytes: int, name: str = "") -> None:
    """Refuse more than `MAX_TEXT_BYTES` of text, in a column or in the file."""
    if n_bytes > MAX_TEXT_BYTES:
        where = f"The column {shown(name)}" if name else "The file"
        what = "it" if name else "columns with long texts"
        raise TableError(
            f"{where} unpacks to more than the limit of {MAX_TEXT_BYTES // 2**20} MB: remove "
            f"{what} or keep fewer rows."
        )
