"""Parquet to columns of the few types that the rest of this package knows.

A Parquet file of a few kilobytes can hold gigabytes of text: each distinct value is stored once.
Text is therefore read as codes with their values, and how long it is altogether is known before it
is written out.
"""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from gbuq_core.errors import TableError
from gbuq_core.jobs import check_memory
from gbuq_core.presentation import columns_named, counted, shown
from gbuq_core.tables import limits
from gbuq_core.tables.parquet_pages import unpacked_bytes

_BYTES_PER_CELL = 24  # a decoded cell and its converted copies
_COPIES_OF_TEXT = 4  # decoded, in one piece, trimmed and exported
# Of the part at the end that describes the file; it is read as a whole, into many times its size.
_MOST_ABOUT = 2**24

# The days that dates have here: years 1 to 9999, in seconds of 1970 (the last is not included).
_FIRST_SECOND, _END_SECOND = -62_135_596_800, 253_402_300_800
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_DIGITS = 18  # that any int64 may have

_READ_EXTENSIONS = ("arrow.uuid", "arrow.bool8", "arrow.json", "pandas.period")

_WHAT = "reading this file"


def read_parquet(data: bytes) -> tuple[list[tuple[str, Any]], list[str], tuple[str, ...]]:
    """Names with columns of text, float, integer, boolean or timestamp, notices, and the index."""
    try:
        schema, names, read = _read_flat(data)
    except (pa.ArrowException, OSError, ValueError, RecursionError) as error:
        if type(error).__module__.startswith("gbuq_core"):
            raise
        raise TableError(
            "The Parquet file is damaged, or this kind cannot be read: save it again or as CSV."
        ) from None
    columns, damaged, notices = [], [], left_out_notices(schema)
    lengths = period_lengths(schema)
    for position, name in enumerate(names):
        column, read[position] = read[position], None  # so that only one is there twice
        try:
            plain, n_far = plain_cells(column, lengths[position])
            plain.validate(full=True)  # text that is no UTF-8
        except pa.ArrowException:
            damaged.append(name)
            continue
        if types.is_string(plain.type):
            limits.check_cell_sizes(name, plain)
        columns.append((name, plain))
        if n_far:
            notices.append(
                f"{counted(n_far, 'date')} of the column {shown(name)} "
                f"{'is' if n_far == 1 else 'are'} outside the years 1 to 9999 and "
                f"count{'s' if n_far == 1 else ''} as missing."
            )
    if damaged:
        notices.append(f"{_holding(damaged, 'damaged values')} and cannot be used.")
    listed = index_columns(schema)
    index = tuple(name.strip() for name, _ in columns if name in listed)
    return columns, notices, index


def left_out_notices(schema: pa.Schema) -> list[str]:
    """What the columns hold that are no cells here, and which ones are read as something else."""
    intervals = [field.name for field in schema if _extension(field) == "pandas.interval"]
    others = [
        field.name for field in schema if not is_cell(field.type) and field.name not in intervals
    ]
    notices = [
        f"{_holding(names, what)} and cannot be used."
        for names, what in ((others, "lists, structures or bytes"), (intervals, "intervals"))
        if names
    ]
    for kind, what in (
        ("pandas.period", "periods, each of which is read as the time when it begins"),
        ("arrow.json", "JSON, which is read as text"),
    ):
        if names := [field.name for field in schema if _extension(field) == kind]:
            notices.append(f"{_holding(names, what)}.")
    return notices


def _holding(names: list[str], what: str) -> str:
    return f"{columns_named(names)} {'holds' if len(names) == 1 else 'hold'} {what}"


def _extension(field: pa.Field) -> str:
    """The name of a type that pandas or Arrow made of a plain one, known to this process or not."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    return (field.metadata or {}).get(b"ARROW:extension:name", b"").decode("utf-8", "replace")


def period_lengths(schema: pa.Schema) -> list[str]:
    """How long the periods of each column of cells are, as pandas writes it; empty for others."""
    lengths = []
    for field in schema:
        if not is_cell(field.type):
            continue
        length = ""
        if _extension(field) == "pandas.period":
            about = (field.metadata or {}).get(b"ARROW:extension:metadata", b"{}")
            length = getattr(field.type, "freq", "") or json.loads(about).get("freq", "")
        lengths.append(str(length))
    return lengths


def index_columns(schema: pa.Schema) -> tuple[str, ...]:
    """The columns that were the index of a pandas table; a plain count of rows is none."""
    try:
        about = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))
        named = about.get("index_columns", [])
    except (ValueError, AttributeError, RecursionError):
        return ()
    names = {name for name in named if isinstance(name, str)} if isinstance(named, list) else set()
    return tuple(name for name in schema.names if name in names)


def _read_flat(data: bytes) -> tuple[pa.Schema, list[str], list[Any]]:
    """What the file says of its columns, and names and columns of single cells with their text."""
    if _MOST_ABOUT < int.from_bytes(data[-8:-4], "little") < len(data):
        raise TableError(
            f"The Parquet file describes itself in more than {_MOST_ABOUT // 2**20} MB, by very "
            "many columns or row groups: save it with larger row groups or fewer columns."
        )
    schema = parquet.ParquetFile(pa.BufferReader(data)).schema_arrow
    names, leaves, text = flat_columns(schema)
    limits.check_columns(len(names))
    file = parquet.ParquetFile(pa.BufferReader(data), read_dictionary=text)
    _check_unpacked(data, file.metadata, names, leaves)
    pieces: list[list[Any]] = [[] for _ in names]
    n_bytes = [0] * len(names)
    for group in range(file.metadata.num_row_groups):
        # By position: names may be double, and those with dots are taken for parts of structures.
        read = file.reader.read_row_group(group, column_indices=leaves)
        n_bytes = [n + text_bytes(column) for n, column in zip(n_bytes, read.columns, strict=True)]
        check_memory(_COPIES_OF_TEXT * sum(n_bytes), _WHAT)
        for name, size in zip(names, n_bytes, strict=True):
            limits.check_text(size, name)
        limits.check_text(sum(n_bytes))
        for piece, column in zip(pieces, read.columns, strict=True):
            piece.extend(decoded(column).chunks)
    kinds = [decoded_kind(schema.field(k).type) for k in range(len(schema))]
    kinds = [kind for kind, field in zip(kinds, schema, strict=True) if is_cell(field.type)]
    columns = [pa.chunked_array(p, kind) for p, kind in zip(pieces, kinds, strict=True)]
    return schema, names, columns


def flat_columns(schema: pa.Schema) -> tuple[list[str], list[int], list[int]]:
    """Names and places in the file of columns of single cells, and places of those of text."""
    names, leaves, text = [], [], []
    leaf = 0
    for field in schema:
        if is_cell(field.type):
            names.append(field.name)
            leaves.append(leaf)
            if is_text(field.type):
                text.append(leaf)
        leaf += count_leaves(field.type)
    return names, leaves, text


def _check_unpacked(data: bytes, about: Any, names: list[str], leaves: list[int]) -> None:
    """Refuse what unpacks to too much, by what its pages say of themselves."""
    limits.check_cells(about.num_rows, len(names))
    unpacked = unpacked_bytes(data, about, leaves)
    for name, leaf in zip(names, leaves, strict=True):
        limits.check_text(unpacked[leaf], name)
    n_bytes = sum(unpacked.values())
    limits.check_text(n_bytes)
    check_memory(_BYTES_PER_CELL * about.num_rows * max(1, len(names)) + n_bytes, _WHAT)


def is_text(kind: Any) -> bool:
    """Whether values of a type are text."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def is_cell(kind: Any) -> bool:
    """Whether values of a type can be a table's cells."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(kind, pa.BaseExtensionType):
        return kind.extension_name in _READ_EXTENSIONS
    return is_text(kind) or any(
        fits(kind)
        for fits in (
            types.is_null,
            types.is_boolean,
            types.is_integer,
            types.is_floating,
            types.is_decimal,
            types.is_timestamp,
            types.is_date,
            types.is_duration,
            types.is_time,
        )
    )


def count_leaves(kind: Any) -> int:
    """How many columns of the file a column of this type takes."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    return sum(count_leaves(kind.field(k).type) for k in range(kind.num_fields)) or 1


def text_bytes(column: Any) -> int:
    """How many bytes the text of a column has, once each cell has its own; 0 for other columns."""
    if not is_text(column.type):
        return 0
    total = 0
    for chunk in column.chunks:
        lengths = pc.binary_length(chunk.dictionary)
        total += pc.sum(pc.take(lengths, chunk.indices).cast(pa.int64())).as_py() or 0
    return total


def decoded(column: Any) -> Any:
    """A column without codes, and its text as plain strings."""
    return column.cast(decoded_kind(column.type))


def decoded_kind(kind: Any) -> Any:
    """The type of the values of a column that may hold codes, and one type for all text."""
    if types.is_dictionary(kind):
        kind = kind.value_type
    return pa.string() if is_text(kind) else kind


def plain_cells(column: Any, period: str = "") -> tuple[Any, int]:
    """A column as text, numbers, bool or timestamp, and its dates beyond the calendar.

    Numbers are int64, uint64 or double. Whole decimals that no int64 may hold are text. ``period``
    is the length of a column of periods, as pandas writes it.
    """
    if period or isinstance(column.type, pa.BaseExtensionType):
        column = _plain_extension(column, period)
    kind = column.type
    if types.is_boolean(kind) or types.is_string(kind) or kind == pa.uint64():
        return column, 0
    if types.is_decimal(kind) and kind.scale == 0:
        return column.cast(pa.int64() if kind.precision <= _DIGITS else pa.string()), 0
    if types.is_integer(kind):
        return column.cast(pa.int64()), 0
    if types.is_floating(kind) or types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False), 0
    if types.is_timestamp(kind):
        near, n_far = _in_calendar(column, column.cast(pa.int64()), _PER_SECOND[kind.unit])
        in_utc = near.cast(pa.timestamp("us", tz=kind.tz and "UTC"), safe=False)
        return in_utc.cast(pa.timestamp("us")), n_far
    if types.is_date32(kind):
        days = column.cast(pa.int32()).cast(pa.int64())
        near, n_far = _in_calendar(column, days, 1 / _DAY)
        return near.cast(pa.timestamp("us")), n_far
    if types.is_date64(kind):
        near, n_far = _in_calendar(column, column.cast(pa.int64()), _PER_SECOND["ms"])
        return near.cast(pa.timestamp("us")), n_far
    if types.is_duration(kind):
        ticks = column.cast(pa.int64()).cast(pa.float64(), safe=False)
        return pc.divide(ticks, float(_PER_SECOND[kind.unit])), 0
    return column.cast(pa.string()), 0  # times of day, and a column without values


def _plain_extension(column: Any, period: str) -> Any:
    """Truth values, the letters of identifiers, and the first moment of each period."""
    if period:
        numbers = column.combine_chunks().cast(pa.int64())
        missing = numbers.is_null().to_numpy(zero_copy_only=False)
        ordinals = pc.fill_null(numbers, 0).to_numpy()
        try:
            index: Any = pd.PeriodIndex  # whose stubs are older
            first = index.from_ordinals(ordinals, freq=period).to_timestamp()
        except ValueError:
            raise pa.ArrowInvalid("periods that no calendar holds") from None
        return pa.chunked_array([pa.array(first.to_numpy("datetime64[us]"), mask=missing)])
    if column.type.extension_name == "arrow.bool8":
        return column.cast(pa.bool_())
    if column.type.extension_name == "arrow.json":
        return column.cast(pa.string())
    letters = [None if value is None else str(value) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(letters, pa.string())])


def _in_calendar(column: Any, ticks: Any, per_second: float) -> tuple[Any, int]:
    """Dates with none for those beyond the calendar, and how many those are."""
    # Nanoseconds do not reach the calendar's ends, which would be no integers of 64 bits.
    first = max(round(_FIRST_SECOND * per_second), -(2**63))
    last = min(round(_END_SECOND * per_second) - 1, 2**63 - 1)
    near = pc.and_(
        pc.greater_equal(ticks, pa.scalar(first, pa.int64())),
        pc.less_equal(ticks, pa.scalar(last, pa.int64())),
    )
    n_far = pc.sum(pc.invert(near)).as_py() or 0
    return (pc.if_else(near, column, pa.scalar(None, column.type)), n_far) if n_far else (column, 0)
