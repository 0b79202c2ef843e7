"""What the pages of a Parquet file unpack to, read from the pages themselves.

The end of a file says how large each column is, and may lie. Each page begins with a header that
says to how many bytes it unpacks. The reader allocates that many, so no page can unpack to more.
A header is a struct in Thrift's compact protocol; only its integers are kept here.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_DATA_PAGES = {0: 5, 3: 8}  # types of pages with values, and which field of the header counts them
_TYPE, _UNPACKED, _PACKED = 1, 2, 3  # fields of a header
_DEEPEST = 8


def unpacked_bytes(data: bytes, about: Any, leaves: list[int]) -> dict[int, int]:
    """To how many bytes the pages of each of these columns unpack.

    Parameters
    ----------
    data : bytes
        The whole file.
    about : pyarrow.parquet.FileMetaData
    leaves : list of int
        Positions of columns with one value a row.

    Raises
    ------
    pyarrow.ArrowInvalid
        If the numbers of rows contradict each other, or a header cannot be read.

    Examples
    --------
    >>> import io
    >>> from pyarrow import parquet
    >>> sink = io.BytesIO()
    >>> parquet.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), sink, use_dictionary=False)
    >>> about = parquet.ParquetFile(sink).metadata
    >>> unpacked_bytes(sink.getvalue(), about, [0])  # three numbers, and which of them are missing
    {0: 30}
    """
    found = dict.fromkeys(leaves, 0)
    groups = [about.row_group(k) for k in range(about.num_row_groups)]
    if sum(group.num_rows for group in groups) != about.num_rows:
        raise pa.ArrowInvalid("the row groups have another number of rows than the file")
    for group in groups:
        for leaf in leaves:
            column = group.column(leaf)
            if column.num_values != group.num_rows:
                raise pa.ArrowInvalid("a column has another number of values than rows")
            try:
                found[leaf] += _of_column(data, column)
            except (IndexError, KeyError, ValueError):
                raise pa.ArrowInvalid("the header of a page cannot be read") from None
    return found


def _of_column(data: bytes, column: Any) -> int:
    """The pages of one column in one row group, until they have all its values."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < at:
        at = column.dictionary_page_offset
    end, n_left, total = at + column.total_compressed_size, column.num_values, 0
    while at < end and n_left > 0:
        header, at = _read_struct(data, at, 0)
        if header[_UNPACKED] < 0 or header[_PACKED] < 0:
            raise ValueError("a page of less than nothing")
        total += header[_UNPACKED]
        at += header[_PACKED]
        if header[_TYPE] in _DATA_PAGES:
            n_left -= header[_DATA_PAGES[header[_TYPE]]][1]
    return total


def _read_struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """The fields of a struct by number, and where it ends."""
    if depth > _DEEPEST:
        raise ValueError("too deep")
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        step, kind = divmod(data[at], 16)
        at += 1
        if step:
            number += step
        else:
            number, at = _read_integer(data, at)
        fields[number], at = _read_value(data, at, kind, depth)
    return fields, at + 1


def _read_value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """A value of a kind: what it is, or None where nobody asks, and where it ends."""
    if kind in (1, 2):  # a boolean is its own kind
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _read_integer(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:  # bytes
        size, at = _read_varint(data, at)
        return None, at + size
    if kind in (9, 10):  # a list or a set
        size, kind = divmod(data[at], 16)
        at += 1
        if size == 15:
            size, at = _read_varint(data, at)
        for _ in range(size):
            at = at + 1 if kind in (1, 2) else _read_value(data, at, kind, depth + 1)[1]
        return None, at
    if kind == 12:
        return _read_struct(data, at, depth + 1)
    raise ValueError(f"kind {kind}")


def _read_integer(data: bytes, at: int) -> tuple[int, int]:
    """A signed integer: positive ones are even."""
    value, at = _read_varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Seven bits a byte, the last ones first."""
    value = 0
    for shift in range(0, 70, 7):
        value |= (data[at] & 127) << shift
        if data[at] < 128:
            return value, at + 1
        at += 1
    raise ValueError("too long an integer")
