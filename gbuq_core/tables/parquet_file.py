"""Parquet to columns of the few types that the rest of this package knows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet, types

from gbuq_core.errors import TableError
from gbuq_core.jobs import check_memory
from gbuq_core.tables.wording import columns_named

_BYTES_PER_CELL = 24  # a decoded cell and its converted copies


def read_parquet(data: bytes) -> tuple[list[tuple[str, Any]], list[str]]:
    """Names with columns of text, float, integer, boolean or timestamp, and notices.

    Raises
    ------
    TableError
        If the file is damaged.
    MemoryLimitExceeded
        If it would unpack to more than the free memory.
    """
    try:
        file = parquet.ParquetFile(pa.BufferReader(data))
        shape = file.metadata.num_rows * max(1, file.metadata.num_columns)
        check_memory(_BYTES_PER_CELL * shape, "reading this file")
        read = file.read()
    except (pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, TableError) or type(error).__module__.startswith("gbuq_core"):
            raise
        raise TableError(
            "The Parquet file is damaged or of an unknown kind: save it again, or save it as CSV."
        ) from None
    columns, dropped = [], []
    for name, column in zip(read.column_names, read.columns, strict=True):
        plain = _plain_column(column)
        if plain is None:
            dropped.append(name)
        else:
            columns.append((name, plain))
    notices = []
    if dropped:
        notices.append(
            f"{columns_named(dropped)} hold{'s' if len(dropped) == 1 else ''} lists, structures or "
            "bytes and cannot be used."
        )
    return columns, notices


def _plain_column(column: Any) -> Any | None:
    """A column as string, int64, double, bool or timestamp; None for what no table cell is."""
    kind = column.type
    if types.is_dictionary(kind):
        return _plain_column(column.cast(kind.value_type))
    if types.is_null(kind):
        return column.cast(pa.string())
    if types.is_boolean(kind) or types.is_string(kind):
        return column
    if types.is_large_string(kind) or types.is_string_view(kind):
        return column.cast(pa.string())
    if types.is_integer(kind) and kind != pa.uint64():
        return column.cast(pa.int64())
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return column.cast(pa.float64(), safe=False)
    if types.is_timestamp(kind):
        in_utc = column.cast(pa.timestamp("us", tz=kind.tz and "UTC"), safe=False)
        return in_utc.cast(pa.timestamp("us"))
    if types.is_date(kind):
        return column.cast(pa.timestamp("us"))
    if types.is_duration(kind):
        return pc.divide(column.cast(pa.duration("us"), safe=False).cast(pa.int64()), 1e6)
    if types.is_time(kind):
        return column.cast(pa.string())
    return None
