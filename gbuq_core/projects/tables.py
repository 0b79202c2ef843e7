"""The table of a project: plain arrays in the archive of a saved model, packed by zlib.

Parquet would be smaller, but its reader ends the process on some made-up files. These arrays are
checked one by one, and how large they unpack is known before they are.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gbuq_core.errors import ModelFileError, ProjectError, TableError
from gbuq_core.jobs import check_memory
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.model_files.contents import Arrays, take
from gbuq_core.presentation import shown
from gbuq_core.projects.container import MAX_PROJECT_BYTES, damaged, require
from gbuq_core.projects.project import Project
from gbuq_core.tables import Table, limits
from gbuq_core.tables.files import assemble

TABLE = "table.zlib"
_KIND = "project table"
_LEVEL = 1  # three times as fast as the usual one, for a tenth more bytes
_COPIES = 4
_LENGTH = 8  # bytes before the packed ones, which say how many they unpack to
_WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_MOMENTS = ("timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]")
_TYPES: dict[str, Any] = {
    "string": pa.string(),
    "bool": pa.bool_(),
    "float": pa.float32(),
    "double": pa.float64(),
    **{name: getattr(pa, name)() for name in _WHOLE},
    **{name: pa.timestamp(name[len("timestamp[") : -1]) for name in _MOMENTS},
}


def why_table_not_held(table: Table) -> str:
    r"""Why a project cannot hold a table, in one sentence; empty if it can.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> why_table_not_held(read_table(b"x,y\n1,2\n3,4\n"))
    ''
    """
    for name, kind in zip(table.names, map(str, table.data.schema.types), strict=True):
        if kind not in _TYPES:
            return (
                f"The column {shown(name)} cannot be held in a project: save it without the data, "
                "and keep the file."
            )
    if table.data.nbytes > MAX_PROJECT_BYTES:
        return (
            "The table is too large to be held in a project: save it without the data, and keep "
            "the file."
        )
    return ""


def write_table(table: Table) -> bytes:
    """The bytes of a table's columns."""
    if why := why_table_not_held(table):
        raise ProjectError(why)
    arrays: dict[str, NDArray[Any]] = {}
    kinds: list[str] = []
    for position in range(table.data.num_columns):
        column = pa.concat_arrays(table.data.column(position).chunks)
        kind = str(column.type)
        kinds.append(kind)
        if column.null_count:
            arrays[f"known_{position}"] = column.is_valid().to_numpy(zero_copy_only=False)
        if kind == "string":
            arrays |= _text_arrays(pc.fill_null(column, ""), position)
            continue
        plain = column.cast(pa.int64()) if kind in _MOMENTS else column
        cells = pc.fill_null(plain, False if kind == "bool" else 0).to_numpy(zero_copy_only=False)
        arrays[f"cells_{position}"] = cells.astype(_stored_as(kind))
    if len(table.row_numbers) and table.row_numbers[-1] != table.n_rows:
        arrays["row_numbers"] = table.row_numbers
    content = write_archive({"kind": _KIND, "types": kinds}, arrays)
    return len(content).to_bytes(_LENGTH, "little") + zlib.compress(content, _LEVEL)


def read_table(content: bytes, project: Project, notices: tuple[str, ...]) -> Table:
    """The table that `write_table` wrote."""
    names = [column.name for column in project.schema.columns]
    try:
        limits.check_cells(project.n_rows, len(names))
        columns, row_numbers = _read_columns(_unpack(content), names, project.n_rows)
        table = assemble(columns, project.source, list(notices), True, row_numbers)
    except (ModelFileError, TableError, pa.ArrowException) as error:
        raise damaged("its table cannot be read") from error
    require(table.names == names, "its table is another one")
    return table


def _unpack(content: bytes) -> bytes:
    """The archive: never more than the bytes that it says to be, which are limited."""
    n_bytes = int.from_bytes(content[:_LENGTH], "little")
    require(len(content) > _LENGTH and n_bytes <= MAX_PROJECT_BYTES, "its table is too large")
    check_memory(_COPIES * n_bytes, "the table of this project")
    stream = zlib.decompressobj()
    plain = stream.decompress(content[_LENGTH:], n_bytes + 1)
    whole = stream.eof and not stream.unused_data and len(plain) == n_bytes
    require(whole, "its table has another size than it says")
    return plain


def _read_columns(
    plain: bytes, names: list[str], n_rows: int
) -> tuple[list[tuple[str, Any]], NDArray[np.int64] | None]:
    """The columns, and the numbers of the rows in their file where some rows are not there."""
    header, arrays = read_archive(plain)
    types = header.get("types")
    same = header.get("kind") == _KIND and isinstance(types, list) and len(types) == len(names)
    require(same, "its table is another one")
    columns: list[tuple[str, Any]] = []
    n_text = 0
    for position, (name, kind) in enumerate(zip(names, types or [], strict=True)):
        require(isinstance(kind, str) and kind in _TYPES, "its table has a column of no known type")
        known = None
        if f"known_{position}" in arrays:
            known = take(arrays, f"known_{position}", np.bool_, (n_rows,))
        if kind == "string":
            column = _read_text(arrays, position, n_rows, known)
            limits.check_cell_sizes(name, column)
            n_text += len(arrays[f"text_{position}"])
            limits.check_text(n_text)
        else:
            cells = take(arrays, f"cells_{position}", _stored_as(kind), (n_rows,))
            missing = None if known is None else ~known
            if kind == "uint64":
                cells = cells.view(np.uint64)  # the same bits
            own = pa.int64() if kind in _MOMENTS else _TYPES[kind]
            column = pa.array(cells, mask=missing).cast(own).cast(_TYPES[kind])
        columns.append((name, column))
    if "row_numbers" not in arrays:
        return columns, None
    row_numbers = take(arrays, "row_numbers", np.int64, (n_rows,))
    rising = n_rows > 0 and row_numbers[0] > 0 and bool((np.diff(row_numbers) > 0).all())
    require(rising, "its table has rows without a place")
    return columns, row_numbers


def _stored_as(kind: str) -> Any:
    if kind == "bool":
        return np.bool_
    return np.float64 if kind in ("float", "double") else np.int64


def _text_arrays(column: Any, position: int) -> dict[str, NDArray[Any]]:
    """Where the cells of a column without missing ones end, and all their letters."""
    _, ends, letters = column.buffers()
    places = np.frombuffer(ends, np.int32)[column.offset : column.offset + len(column) + 1]
    first, last = int(places[0]), int(places[-1])
    text = np.frombuffer(b"" if letters is None else letters, np.uint8)[first:last]
    return {f"ends_{position}": places - places[0], f"text_{position}": text}


def _read_text(arrays: Arrays, position: int, n_rows: int, known: NDArray[np.bool_] | None) -> Any:
    ends = take(arrays, f"ends_{position}", np.int32, (n_rows + 1,))
    text = take(arrays, f"text_{position}", np.uint8, (None,))
    fits = ends[0] == 0 and ends[-1] == len(text) and (np.diff(ends) >= 0).all()
    require(fits, "its table has a cell that does not exist")
    bits = None
    if known is not None:
        bits = pa.py_buffer(np.packbits(known, bitorder="little").tobytes())
    column = pa.StringArray.from_buffers(n_rows, pa.py_buffer(ends), pa.py_buffer(text), bits)
    column.validate(full=True)  # text that is no UTF-8
    return column
