"""Reading a file as a table of uniquely named columns, and writing one.

Read are separated text (CSV, TSV), Excel and Parquet, written are CSV and Parquet.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TextIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet, types

from gbuq_core.errors import TableError
from gbuq_core.jobs import check_memory, release_memory
from gbuq_core.presentation import LIVE_CELL, PLAIN_NUMBER, counted, csv_text, listed, shown
from gbuq_core.tables import limits, no_data, parquet_file, separated_text, workbook
from gbuq_core.tables.columns import one_form, single_chunk
from gbuq_core.tables.decimal_marks import FileMark
from gbuq_core.tables.decoding import MAX_FILE_BYTES, check_size, to_utf8, unpack
from gbuq_core.tables.no_data import OWN, LeftOut
from gbuq_core.tables.plan import ReadOptions
from gbuq_core.tables.separated_text import DELIMITERS
from gbuq_core.validation import check_choice


def unique_names(cells: Sequence[str]) -> tuple[list[str], list[str]]:
    """Names for columns from the cells of a header, and notices about the renamed ones.

    Blank names become ``column 3`` (the position, counted from 1), repeated ones ``a (2)``.

    >>> unique_names(["a", "", "a"])[0]
    ['a', 'column 2', 'a (2)']
    """
    stripped = [str(cell).strip() for cell in one_form(pa.array(cells, pa.string())).to_pylist()]
    taken = {name for name in stripped if name}
    used: set[str] = set()
    names, nameless, repeated = [], [], []
    for position, name in enumerate(stripped, start=1):
        if not name:
            name = free_name(f"column {position}", used | taken)
            nameless.append(name)
        elif name in used:
            name = free_name(name, used | taken)
            repeated.append(name)
        used.add(name)
        names.append(name)
    notices = []
    if nameless:
        n = counted(len(nameless), "column has", "columns have")
        notices.append(
            f"{n} no name and {'is' if len(nameless) == 1 else 'are'} called {listed(nameless)}."
        )
    if repeated:
        n = counted(len(repeated), "column repeats", "columns repeat")
        notices.append(
            f"{n} an earlier name and {'is' if len(repeated) == 1 else 'are'} called "
            f"{listed(repeated)}."
        )
    return names, notices


def free_name(name: str, taken: set[str]) -> str:
    """``name``, or ``name (2)``, ``name (3)`` ... if it is taken.

    >>> free_name("a", {"a", "a (2)"})
    'a (3)'
    """
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name} ({number})"
    return free


# What a text costs at its peak: the bytes, the decoded copy, the cells and the converted columns.
_LARGE = 2**25  # bytes of a file, whose freed memory is returned before columns are inferred
_BYTES_PER_FILE_BYTE = 6.0


class Source(NamedTuple):
    """Where a table came from and how it was read.

    ``format`` is "csv", "excel", "parquet", "sql" or "memory"; ``digest`` (SHA-256 of the bytes,
    hexadecimal) identifies the content in cache keys; ``options`` are those in effect, none of them
    (but the sheet, and a decimal mark that was not given) None for a text file. ``sheets`` are the
    names of an Excel file's sheets, ``query`` is what a database was asked; ``index_columns`` are
    the columns of a Parquet file that were the index of a pandas table. ``decimal`` is the mark
    that most numbers have, and ``decimal_shown`` whether any cell shows it.
    """

    name: str
    format: str
    n_bytes: int
    digest: str
    options: ReadOptions
    summary: str
    sheets: tuple[str, ...] = ()
    query: str = ""
    index_columns: tuple[str, ...] = ()
    decimal: str = "."
    decimal_shown: bool = True

    @property
    def mark(self) -> FileMark:
        """The decimal mark of the file, and how it is known."""
        if self.options.decimal is not None:
            return FileMark(self.options.decimal, "given")
        return FileMark(self.decimal, "shown" if self.decimal_shown else "assumed")


class Table(NamedTuple):
    """A table as read: nothing is converted yet.

    Attributes
    ----------
    data : pyarrow.Table
        Columns with unique names, one chunk each: text for text files, any type for Parquet.
    source : Source
    notices : tuple of str
        What had to be decided while reading, one plain sentence each.
    row_numbers : ndarray of shape (n_rows,), int64
        The number of each row in its file, where a person finds it: 1 is the first row below the
        header (the first of all where there is none), and blank and skipped rows count. Empty where
        it is not known, of a sample.
    left_out : tuple of LeftOut
        Rows of the file that are no data, and columns that an earlier scoring has added.
    lines : ndarray of shape (n_rows,), int64
        The line of a text file on which each row begins, from 1; empty where there are no lines.
    """

    data: pa.Table
    source: Source
    notices: tuple[str, ...]
    row_numbers: NDArray[np.int64]
    left_out: tuple[LeftOut, ...] = ()
    lines: NDArray[np.int64] = np.zeros(0, np.int64)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.data.num_rows)

    @property
    def names(self) -> list[str]:
        """Column names."""
        return list(self.data.column_names)


def read_table(
    source: bytes | str | PathLike[str] | BinaryIO | TextIO,
    name: str | None = None,
    options: ReadOptions | None = None,
    *,
    to_score: bool = False,
) -> Table:
    r"""Read CSV, TSV, other separated text (also gzipped), Excel (.xlsx) or Parquet.

    The content decides the format, not the name. Rows with too many or too few cells are skipped
    and reported. The file is refused if they are more than a tenth of the rows, and more than one.

    Parameters
    ----------
    source : bytes, path or file
        A file object is read from where it stands. One that gives text needs no encoding.
    name : str, optional
        What messages call the file; the path's last part by default.
    options : ReadOptions, optional
    to_score : bool
        Whether this is a second file, which is scored but not learnt from. It may have a single
        column or a single row.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        One sentence: what is wrong with the file and what to do.
    MemoryLimitExceeded
        If the file would not fit into the free memory.

    Examples
    --------
    >>> table = read_table(b"age,city\n41,Ulm\n37,Bonn\n")
    >>> table.names, table.n_rows
    (['age', 'city'], 2)
    """
    options = options or ReadOptions()
    if options.delimiter is not None:
        check_choice("delimiter", options.delimiter, DELIMITERS)
    if options.decimal is not None:
        check_choice("decimal", options.decimal, (".", ","))
    given, found_name = _bytes_of(source)
    data = given if isinstance(given, bytes) else given.encode("utf-8", errors="replace")
    if isinstance(given, str):
        check_size(len(data))
        options = options._replace(encoding=None)
    del given
    if not data[:4096].strip() and not data.strip():
        raise TableError("The file is empty: upload one with a header and rows.")
    digest, n_bytes = hashlib.sha256(data).hexdigest(), len(data)
    plain = unpack(data)
    del data
    sheets: tuple[str, ...] = ()
    index_columns: tuple[str, ...] = ()
    row_numbers: Sequence[int] | NDArray[np.int64] | None = None
    lines = np.zeros(0, np.int64)
    mark = FileMark()
    check_memory(_BYTES_PER_FILE_BYTE * len(plain), "reading this file")
    if plain.startswith(b"PAR1"):
        columns, notices, index_columns = parquet_file.read_parquet(plain)
        what, summary = "parquet", f"Read as Parquet with {counted(len(columns), 'column')}."
    elif workbook.is_workbook(plain):
        sheet = workbook.read_workbook(
            plain, options.sheet, options.header, to_score, options.skip_rows
        )
        columns, notices, sheets = sheet.columns, sheet.notices, sheet.names
        row_numbers = sheet.row_numbers
        what, summary = "excel", sheet.summary
        options = ReadOptions(
            header=sheet.has_header,
            sheet=sheet.name,
            skip_rows=options.skip_rows,
            keep_rows=options.keep_rows,
        )
    else:
        text = to_utf8(plain, options.encoding)
        del plain
        read = separated_text.read_separated(
            text.utf8,
            options.delimiter,
            options.header,
            options.decimal,
            to_score,
            options.skip_rows,
        )
        columns, notices = read.columns, [*text.notices, *read.notices]
        row_numbers, lines = read.row_numbers, read.lines
        what, summary = "csv", read.summary
        options = options._replace(
            delimiter=read.delimiter, encoding=text.encoding, header=read.has_header, sheet=None
        )
        mark = read.mark
        del text
    named = (name or found_name).encode("utf-8", errors="replace").decode()
    origin = Source(
        named,
        what,
        n_bytes,
        digest,
        options,
        summary,
        sheets,
        index_columns=index_columns,
        decimal=mark.decimal,
        decimal_shown=mark.basis != "assumed",
    )
    table = assemble(columns, origin, notices, to_score, row_numbers, lines)
    if n_bytes > _LARGE:
        release_memory()
    return table


def table_from_columns(columns: dict[str, Any], name: str) -> Table:
    """A table from arrays that are in memory already, such as a built-in data set."""
    arrays = [(key, pa.array(values)) for key, values in columns.items()]
    digest = hashlib.sha256(name.encode()).hexdigest()
    summary = f"Built in, with {counted(len(arrays), 'column')}."
    origin = Source(name, "memory", 0, digest, ReadOptions(), summary)
    return assemble(arrays, origin, [], to_score=False)


@contextmanager
def errors_of_path(path: Path) -> Iterator[None]:
    """Say in one sentence why the file of a table cannot be read."""
    try:
        yield
    except FileNotFoundError:
        raise TableError(f"There is no file {path.name}: check the path.") from None
    except IsADirectoryError:
        raise TableError(f"{path.name} is a directory: give the path of a file.") from None
    except OSError as error:
        raise TableError(
            f"{shown(path.name)} cannot be read ({error.strerror}): check the path and its "
            "permissions."
        ) from None
    except TableError:
        raise
    except ValueError:  # characters that no path can have
        written = str(path).encode("unicode_escape").decode()
        raise TableError(f'"{written}" cannot be a path: check it.') from None


def _bytes_of(
    source: bytes | str | PathLike[str] | BinaryIO | TextIO,
) -> tuple[bytes | str, str]:
    """The bytes (or text) of a source, never more than the limit, and its name."""
    if isinstance(source, bytes | bytearray | memoryview):
        check_size(len(source))
        return bytes(source), "table"
    if isinstance(source, str | PathLike):
        path = Path(source)
        with errors_of_path(path):
            check_size(path.stat().st_size)
            with path.open("rb") as file:  # a device has no size and may have no end
                data = file.read(MAX_FILE_BYTES + 1)
        check_size(len(data))
        return data, path.name
    if not hasattr(source, "read"):
        raise TableError(
            f"A table is read from bytes, a path or a file, but this is {type(source).__name__}: "
            "give one of those."
        )
    size = getattr(source, "size", None)  # an upload knows its size before it is read
    if isinstance(size, int):
        check_size(size)
    read: Any = source.read(MAX_FILE_BYTES + 1)
    if not isinstance(read, str | bytes):
        raise TableError("The file gives neither bytes nor text: open it with mode rb.")
    check_size(len(read))
    return read, str(getattr(source, "name", "table"))


def assemble(
    columns: list[tuple[str, Any]],
    source: Source,
    notices: list[str],
    to_score: bool,
    row_numbers: Sequence[int] | NDArray[np.int64] | None = None,
    lines: NDArray[np.int64] | None = None,
) -> Table:
    """Name the columns and refuse what is too small to be a table; lines are those of `Table`."""
    limits.check_columns(len(columns))
    names, renamed = unique_names([cell for cell, _ in columns])
    for position, (cell, array) in enumerate(columns):  # so that only one is there twice
        if isinstance(array, pa.ChunkedArray):
            columns[position] = (cell, array.combine_chunks())
    data = pa.table([array for _, array in columns], names=names)
    if data.num_columns < 2 and not to_score:
        raise TableError(
            "The file has a single column, but it needs a target and at least one other column: "
            "separate the columns by a comma, a semicolon, a tab or a vertical bar."
        )
    if data.num_rows == 0:
        raise TableError("The file has a header but no rows: add rows below the header.")
    if data.num_rows == 1 and not to_score:
        raise TableError("The file has a single row, and a model cannot learn from one: add rows.")
    if row_numbers is None:
        row_numbers = np.arange(1, data.num_rows + 1)
    row_numbers = np.asarray(row_numbers, np.int64)
    lines = np.zeros(0, np.int64) if lines is None else lines
    left: list[LeftOut] = []
    if source.format in ("csv", "excel") and not source.options.keep_rows:
        named = list(zip(names, (array for _, array in columns), strict=True))
        stays, left, texts = no_data.find_rows(lambda: [named], row_numbers, source.mark.decimal)
        notices = [*notices, *texts]
        if not stays.all():
            data = data.filter(pa.array(stays)).combine_chunks()
            row_numbers, lines = row_numbers[stays], lines[stays[: len(lines)]]
        for place, name in enumerate(names):
            whole, sentence = no_data.filled_groups(name, single_chunk(data, place))
            if sentence:
                notices = [*notices, sentence]
                data = data.set_column(place, name, whole)
    left += [LeftOut(None, name, OWN) for name in no_data.own_columns(names)]
    return Table(data, source, (*notices, *renamed), row_numbers, tuple(left), lines)


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
    table = frame_to_arrow(frame)
    sink = io.BytesIO()
    sink.write(csv_text(table.column_names, ()).encode())
    sink.writelines(csv_lines(table))
    return sink.getvalue()


def csv_lines(table: pa.Table) -> Iterator[bytes]:
    r"""The rows of a table as lines of CSV, without the header; see `to_csv_bytes`.

    >>> list(csv_lines(pa.table({"cell": ["a", None], "n": [1, 2]})))
    [b'a,1\n', b',2\n']
    """
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        cells = [pc.fill_null(_as_cells(column), "") for column in batch.columns]
        lines = pc.binary_join_element_wise(*cells, ",")
        if len(cells) == 1:  # an empty line would be no row
            lines = pc.if_else(pc.equal(lines, ""), '""', lines)
        yield from (f"{line}\n".encode() for line in lines.to_pylist())


def to_parquet_bytes(frame: pd.DataFrame) -> bytes:
    """The table as Parquet; cells keep their types and letters, since nothing runs them."""
    sink = io.BytesIO()
    parquet.write_table(frame_to_arrow(frame), sink, compression="zstd")
    return sink.getvalue()


def frame_to_arrow(frame: pd.DataFrame) -> pa.Table:
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
