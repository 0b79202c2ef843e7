"""A table from a database: one query that only reads, through SQLAlchemy."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa

from gbuq_core.errors import InvalidParameter, MissingPackage, TableError
from gbuq_core.presentation import columns_named, counted
from gbuq_core.tables import limits
from gbuq_core.tables.files import Source, Table, assemble
from gbuq_core.tables.plan import ReadOptions

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

MOST_SECONDS = 60  # of a query, where the database (SQLite, PostgreSQL) can be told
_ROWS_AT_ONCE = 10_000
_STEPS_AT_ONCE = 100_000  # of SQLite's machine, between two looks at the clock
_MOST_LETTERS = 200  # of what the database says
# Comments, texts in quotation marks and names in them; what is left is the query's own words.
_NOT_WORDS = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|\$(\w*)\$.*?\$\1\$",
    re.DOTALL,
)
_CHANGES = re.compile(
    r"\b(insert|update|delete|merge|into|drop|alter|create|truncate|grant|revoke|attach|detach|"
    r"pragma|vacuum|call|exec|execute|copy|lock|set)\b",
    re.IGNORECASE,
)


def read_query(query: str, database: str | Engine, *, to_score: bool = False) -> Table:
    """Read the rows of a SELECT from a database, which is not changed.

    The query must be a single SELECT. It runs in a transaction that may only read, where the
    database knows such ones (SQLite, PostgreSQL, MySQL), and is rolled back.

    Parameters
    ----------
    query : str
    database : str or sqlalchemy.Engine
        A URL as SQLAlchemy writes it: ``sqlite:///rows.db``,
        ``postgresql+psycopg://user:password@host/name``.
    to_score : bool
        Whether the rows are scored but not learnt from. One column or row will do then.

    Returns
    -------
    Table

    Raises
    ------
    InvalidParameter
        If the query may change the database, or the URL is not understood.
    TableError
        If the database refuses, or gives more than `gbuq_core.tables.limits` allow.
    MissingPackage
        Without SQLAlchemy, or the driver that the URL names.

    Examples
    --------
    >>> import sqlite3, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with sqlite3.connect(f"{folder.name}/rows.db") as rows:
    ...     _ = rows.execute("CREATE TABLE cities (name TEXT, size REAL)")
    ...     _ = rows.execute("INSERT INTO cities VALUES ('Ulm', 1.5), ('Bonn', 3)")
    >>> read_query("SELECT * FROM cities", f"sqlite:///{folder.name}/rows.db").n_rows
    2
    """
    check_reads_only(query)
    try:
        from sqlalchemy import exc
    except ImportError:
        raise MissingPackage(
            "A table from a database needs SQLAlchemy: install it (pip install SQLAlchemy)."
        ) from None
    engine = _engine_of(database) if isinstance(database, str) else database
    try:
        with engine.connect() as connection, _only_reading(connection):
            names, pieces = _fetch(connection, query)
    except exc.DBAPIError as error:
        words = " ".join(str(error.orig).split())[:_MOST_LETTERS]
        raise TableError(f"The database refused the query ({words}): check it.") from None
    except exc.SQLAlchemyError as error:
        words = " ".join(str(error).split())[:_MOST_LETTERS]
        raise TableError(f"The query cannot be run ({words}): check it.") from None
    finally:
        if isinstance(database, str):
            engine.dispose()
    columns, dropped = [], []
    for position, name in enumerate(names):
        column = _joined(pieces, position)
        if column is None:
            dropped.append(name)
            continue
        if pa.types.is_string(column.type):
            limits.check_cell_sizes(name, column)
        columns.append((name, column))
    notices = []
    if dropped:
        holds = "holds" if len(dropped) == 1 else "hold"
        notices.append(f"{columns_named(dropped)} {holds} bytes and cannot be used.")
    digest, n_bytes = _digest(columns)
    summary = f"Read from a database, with {counted(len(columns), 'column')}."
    origin = Source("query", "sql", n_bytes, digest, ReadOptions(), summary, query=query)
    return assemble(columns, origin, notices, to_score)


def check_reads_only(query: str) -> None:
    """Refuse what is not a single SELECT, or has a word that changes a database."""
    words = _NOT_WORDS.sub(" ", query).strip().removesuffix(";").strip()
    if not re.match(r"\(*\s*(select|with)\b", words, re.IGNORECASE):
        raise InvalidParameter("The query must begin with SELECT or WITH: a table is only read.")
    if ";" in words:
        raise InvalidParameter("The query must be a single one, but there is a ; inside: split it.")
    change = _CHANGES.search(words)
    if change:
        word = change[0].upper()
        raise InvalidParameter(
            f"The query has the word {word}, which may change the database: leave it out, or put "
            "it in quotation marks if it is a name."
        )


def sqlite_path(url: str) -> Path | None:
    """The file of an SQLite URL; None of other ones."""
    match = re.match(r"sqlite(?:\+\w+)?:///([^?]+)", url)
    return Path(match[1]) if match and match[1] != ":memory:" else None


def _engine_of(url: str) -> Engine:
    from sqlalchemy import create_engine, exc
    from sqlalchemy.pool import NullPool

    path = sqlite_path(url)
    if path is not None:
        if not path.is_file():
            raise TableError(f"There is no file {path.name}: check the URL of the database.")
        place = f"file:{quote(str(path.absolute()))}?mode=ro"
        return create_engine(
            "sqlite://", creator=lambda: sqlite3.connect(place, uri=True), poolclass=NullPool
        )
    try:
        return create_engine(url, poolclass=NullPool)
    except exc.ArgumentError:  # it may quote the URL, which holds a password
        raise InvalidParameter(
            "The URL of the database is not understood: write it as "
            "dialect://user:password@host/name, such as sqlite:///rows.db."
        ) from None
    except ImportError as error:
        raise MissingPackage(
            f"The URL of the database needs the package {error.name}: install it."
        ) from None


@contextlib.contextmanager
def _only_reading(connection: Connection) -> Iterator[None]:
    """A transaction that may only read, where the database knows it, and that is rolled back."""
    dialect = connection.dialect.name
    if dialect == "sqlite":
        was_on = connection.exec_driver_sql("PRAGMA query_only").scalar()
        connection.exec_driver_sql("PRAGMA query_only = ON")
        raw: Any = connection.connection.driver_connection
        ends = time.monotonic() + MOST_SECONDS
        raw.set_progress_handler(lambda: time.monotonic() > ends, _STEPS_AT_ONCE)
    elif dialect == "postgresql":
        connection.execution_options(postgresql_readonly=True)
        connection.exec_driver_sql(f"SET LOCAL statement_timeout = '{MOST_SECONDS}s'")
    elif dialect in ("mysql", "mariadb"):
        connection.exec_driver_sql("SET TRANSACTION READ ONLY")
    try:
        yield
    finally:
        connection.rollback()
        if dialect == "sqlite":  # a pool may hand the connection to others
            raw.set_progress_handler(None, 0)
            if not was_on:
                connection.exec_driver_sql("PRAGMA query_only = OFF")


def _fetch(connection: Connection, query: str) -> tuple[list[str], list[list[Any]]]:
    """Names, and the columns of each few thousand rows; stopped where the limits are passed."""
    # As it stands: a colon or a percent sign is no parameter.
    escaped = (
        query.replace("%", "%%")
        if connection.dialect.paramstyle
        in (
            "format",
            "pyformat",
        )
        else query
    )
    streamed = connection.execution_options(stream_results=True, max_row_buffer=_ROWS_AT_ONCE)
    result = streamed.exec_driver_sql(escaped)
    names = [str(name) for name in result.keys()]  # noqa: SIM118 - a result is no mapping
    limits.check_columns(len(names))
    pieces: list[list[Any]] = []
    n_rows = n_bytes = 0
    while rows := result.fetchmany(_ROWS_AT_ONCE):
        n_rows += len(rows)
        limits.check_cells(n_rows, len(names))
        pieces.append([_column(cells) for cells in zip(*rows, strict=True)])
        n_bytes += sum(piece.nbytes for piece in pieces[-1] if piece is not None)
        limits.check_text(n_bytes)
    return names, pieces or [[pa.nulls(0, pa.string()) for _ in names]]


def _column(cells: Sequence[Any]) -> Any:
    """Cells as booleans, numbers, times or text; None where there are bytes."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if not kinds:
        return pa.nulls(len(cells))
    if kinds & {bytes, bytearray, memoryview}:
        return None
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    with contextlib.suppress(pa.ArrowException, OverflowError):
        if kinds == {int}:
            return pa.array(cells, pa.int64())
    if kinds <= {int, float, Decimal} and not (float not in kinds and _has_long_whole(cells)):
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    if kinds <= {datetime.datetime, datetime.date}:
        return pa.array([_moment(cell) for cell in cells], pa.timestamp("us"))
    written = [
        None if cell is None else f"{cell:f}" if isinstance(cell, Decimal) else str(cell)
        for cell in cells
    ]
    plain = [
        None if text is None else text.encode("utf-8", errors="replace").decode()
        for text in written
    ]
    return pa.array(plain, pa.string())


def _has_long_whole(cells: Sequence[int | Decimal | None]) -> bool:
    """Whether a whole number among cells has more digits than a double holds."""
    known = [Decimal(cell) for cell in cells if cell is not None]
    return any(
        cell.is_finite() and cell == cell.to_integral_value() and abs(cell) > 2**53
        for cell in known
    )


def _moment(cell: datetime.date | None) -> datetime.datetime | None:
    if cell is None:
        return None
    if not isinstance(cell, datetime.datetime):
        return datetime.datetime.combine(cell, datetime.time())
    return cell if cell.tzinfo is None else cell.astimezone(datetime.UTC).replace(tzinfo=None)


def _joined(pieces: list[list[Any]], position: int) -> Any:
    """The parts of a column as one, of a kind that holds them all; None where one has bytes."""
    arrays = [piece[position] for piece in pieces]
    if any(array is None for array in arrays):
        return None
    kinds = {array.type for array in arrays if not pa.types.is_null(array.type)}
    if len(kinds) == 1:
        (kind,) = kinds
    else:
        kind = pa.float64() if kinds == {pa.int64(), pa.float64()} else pa.string()
    return pa.chunked_array([array.cast(kind, safe=False) for array in arrays]).combine_chunks()


def _digest(columns: list[tuple[str, Any]]) -> tuple[str, int]:
    """SHA-256 of names, kinds and cells, and how many bytes these are."""
    sha, n_bytes = hashlib.sha256(), 0
    for name, column in columns:
        sha.update(f"{name}\0{column.type}\0{len(column)}\0".encode("utf-8", errors="replace"))
        for buffer in column.buffers():
            sha.update(b"\0" if buffer is None else buffer)
            n_bytes += 0 if buffer is None else buffer.size
    return sha.hexdigest(), n_bytes
