"""What the pages of a Parquet file unpack to, read from the pages themselves.

The end of a file says how large each column is, and may lie. Each page begins with a header that
says to how many bytes it unpacks. The reader allocates that many, so no page can unpack to more.
A header is a struct in Thrift's compact protocol; only its integers and structs are kept here.

Where the pages begin is read from the end of the file here too: Arrow's own object for a column
ends the process when its statistics contradict each other.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

_DATA_PAGES = {0: 5, 3: 8}  # types of pages with values, and which field of the header counts them
_TYPE, _UNPACKED, _PACKED = 1, 2, 3  # fields of a header
_DEEPEST = 8
_GROUPS = 4  # field of the description of a file
_COLUMNS, _ROWS = 1, 3  # of a row group
_ABOUT_COLUMN = 3  # of a column of a row group
_VALUES, _SIZE, _DATA_PAGE, _DICTIONARY_PAGE = 5, 7, 9, 11  # of what is said about a column


def unpacked_bytes(data: bytes, about: Any, leaves: list[int]) -> dict[int, int]:
    """To how many bytes the pages of each of these columns unpack."""
    sizes = dict.fromkeys(leaves, 0)
    try:
        at = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
        groups = _read_struct(data, at, 0)[0].get(_GROUPS, [])
        if sum(group[_ROWS] for group in groups) != about.num_rows:
            raise pa.ArrowInvalid("the row groups have another number of rows than the file")
        for group in groups:
            for leaf in leaves:
                column = group[_COLUMNS][leaf][_ABOUT_COLUMN]
                if column[_VALUES] != group[_ROWS]:
                    raise pa.ArrowInvalid("a column has another number of values than rows")
                sizes[leaf] += _of_column(data, column)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, pa.ArrowInvalid):
            raise
        raise pa.ArrowInvalid("what the file says of a column cannot be read") from None
    return sizes


def _of_column(data: bytes, column: dict[int, Any]) -> int:
    """The pages of one column in one row group, until they have all its values."""
    at = column[_DATA_PAGE]
    if 0 < column.get(_DICTIONARY_PAGE, 0) < at:
        at = column[_DICTIONARY_PAGE]
    end, n_left, total = at + column[_SIZE], column[_VALUES], 0
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
        if size > len(data):
            raise ValueError("a list longer than the file")
        structs = []
        for _ in range(size):
            part, at = (None, at + 1) if kind in (1, 2) else _read_value(data, at, kind, depth + 1)
            if kind == 12:
                structs.append(part)
        return structs, at
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
