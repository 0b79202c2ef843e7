"""Separated text (CSV, TSV ...) to columns of text, by pyarrow's parser."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import csv

from gbuq_core.errors import TableError
from gbuq_core.tables.dialect import DELIMITER_NAMES, Dialect, describe, find_dialect
from gbuq_core.tables.wording import counted

MOST_RAGGED = 0.1

# A block must hold the longest row; one that does not is tried again with larger blocks.
_BLOCK_BYTES = (2**23, 2**28)


class SeparatedText(NamedTuple):
    """Cells of the header with their columns of text, how they were read, and notices."""

    columns: list[tuple[str, Any]]
    delimiter: str
    decimal: str
    has_header: bool
    summary: str
    notices: list[str]


class _Parsed(NamedTuple):
    data: Any
    ragged: list[Any]


def read_separated(
    text: bytes,
    delimiter: str | None,
    has_header: bool | None,
    decimal: str | None,
    one_column: bool = False,
) -> SeparatedText:
    """Parse a UTF-8 text; the parameters are `gbuq_core.tables.reading.ReadOptions`' own.

    ``one_column`` allows a single column, whose empty lines are missing values.

    Raises
    ------
    TableError
        If there are no rows, no second column, or too many ragged rows.
    """
    text, declared = _without_declaration(text)
    dialect = find_dialect(text, delimiter or declared, has_header, decimal)
    if dialect.n_columns < 2 and not one_column:
        raise TableError(_one_column_sentence(dialect, text))
    parsed, notices = _parse(text, dialect), list(dialect.notices)
    if text.count(b'"') % 2:
        plain = _parse(text, dialect, quote_char=False)
        if not plain.ragged and plain.data.num_rows > parsed.data.num_rows:
            parsed = plain
            notices.append("The quotation marks are not in pairs and are read as plain letters.")
        else:
            notices.append("A quotation mark is never closed: check the cells that contain one.")
    if dialect.header_is_row:
        parsed = parsed._replace(data=parsed.data.slice(1))
    elif dialect.header is not None:
        parsed = parsed._replace(ragged=parsed.ragged[1:])
    notices += _judge_ragged(parsed, text, dialect)
    header = dialect.header or tuple(f"column {i + 1}" for i in range(dialect.n_columns))
    return SeparatedText(
        list(zip(header, parsed.data.columns, strict=True)),
        dialect.delimiter,
        dialect.decimal,
        dialect.header is not None,
        describe(dialect),
        notices,
    )


def _parse(text: bytes, dialect: Dialect, quote_char: str | bool = '"') -> _Parsed:
    """All rows as text, the header among them; ragged rows apart."""
    names = [f"f{i}" for i in range(dialect.n_columns)]
    ragged: list[Any] = []

    def set_aside(row: Any) -> str:
        ragged.append(row)
        return "skip"

    for block_bytes in _BLOCK_BYTES:
        ragged.clear()
        try:
            data = csv.read_csv(
                pa.BufferReader(text),
                # One thread: only then are ragged rows handed over in their order.
                read_options=csv.ReadOptions(
                    use_threads=False, column_names=names, block_size=block_bytes
                ),
                parse_options=csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=quote_char,
                    newlines_in_values=True,
                    ignore_empty_lines=dialect.n_columns > 1,
                    invalid_row_handler=set_aside,
                ),
                convert_options=csv.ConvertOptions(
                    column_types={name: pa.string() for name in names},
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid as error:
            last_error = error
        else:
            return _Parsed(data, list(ragged))
    raise TableError(
        "The rows of the file cannot be told apart: check its quotation marks and line ends."
    ) from last_error


def _judge_ragged(parsed: _Parsed, text: bytes, dialect: Dialect) -> list[str]:
    """A notice about skipped rows, or a refusal if they are many."""
    n_ragged, n_rows = len(parsed.ragged), parsed.data.num_rows
    if not n_ragged:
        return []
    first = parsed.ragged[0]
    line = _line_of(text, first.text)
    where = (
        f"the first, on line {line:,}, has {counted(first.actual_columns, 'cell')} instead of "
        f"{first.expected_columns:,}"
    )
    if n_ragged > 1 and n_ragged > MOST_RAGGED * (n_rows + n_ragged):
        mark = DELIMITER_NAMES.get(dialect.delimiter, repr(dialect.delimiter))
        raise TableError(
            f"{n_ragged:,} of {n_rows + n_ragged:,} rows have too many or too few cells when they "
            f"are split at each {mark} ({where}): check the delimiter and the quotation marks."
        )
    rows = counted(n_ragged, "row has", "rows have")
    return [f"{rows} too many or too few cells and {'is' if n_ragged == 1 else 'are'} skipped; "
            f"{where}."]  # fmt: skip


def _line_of(text: bytes, row: str) -> int:
    """The line, from 1, where a row stands: equal lines are equally ragged, so the first counts."""
    needle = row.encode("utf-8", errors="surrogatepass").rstrip(b"\r\n")
    position = 0
    while True:
        position = text.find(needle, position)
        if position < 0:
            return 1
        end = position + len(needle)
        begins = position == 0 or text[position - 1 : position] in (b"\n", b"\r")
        if begins and text[end : end + 1] in (b"", b"\n", b"\r"):
            before = text[:position]
            # Files of old Macs have no line feeds at all.
            return 1 + max(before.count(b"\n"), before.count(b"\r"))
        position += 1


def _without_declaration(text: bytes) -> tuple[bytes, str | None]:
    """Drop the line ``sep=;`` that Excel understands, and return its delimiter."""
    head = text[:8].lower()
    if head.startswith(b"sep=") and text[4:5].decode("latin-1") in DELIMITER_NAMES:
        return text[text.find(b"\n") + 1 :], text[4:5].decode("latin-1")
    return text, None


def _one_column_sentence(dialect: Dialect, text: bytes) -> str:
    if len(text.split(None, 1)) < 2:
        return "The file holds a single word, not a table: upload one with a header and rows."
    return (
        "The file has a single column, but a target and at least one other column are needed: "
        "separate the columns by a comma, a semicolon, a tab or a vertical bar."
    )
