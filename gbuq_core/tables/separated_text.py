"""From the bytes of a text file to columns of text: encoding, delimiter, header, rows.

Bytes become UTF-8 text, the first rows show how the file writes its table, and pyarrow parses it.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zlib
from collections import Counter
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from gbuq_core.errors import TableError
from gbuq_core.presentation import counted, enumerated
from gbuq_core.tables import limits
from gbuq_core.tables.columns import MISSING_MARKERS
from gbuq_core.tables.decimal_marks import NAMES, FileMark, find_file_mark

MAX_FILE_BYTES = 250 * 2**20  # as .streamlit/config.toml: server.maxUploadSize

_SAMPLE_BYTES = 2**20
_PIECE_BYTES = 2**22  # decompressed or decoded at once
# Control characters that no table has; tab, line feed, carriage return and form feed are text.
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13}) + b"\x7f"
_MOST_CONTROL = 0.001
_MOST_DAMAGED = 0.01
_UTF_16_ZEROS = 0.3  # of every second byte, in a UTF-16 text without a byte order mark

_SIGNATURES = (
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
    (b"%PDF", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"PK\x05\x06", "an empty ZIP archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an XZ archive"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x7fELF", "a program"),
)
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Text(NamedTuple):
    """A text file as UTF-8 bytes without byte order mark, and how it was encoded."""

    utf8: bytes
    encoding: str
    notices: tuple[str, ...]


def check_size(n_bytes: int) -> None:
    """Refuse a file that is too large before it is read."""
    if n_bytes > MAX_FILE_BYTES:
        limit = f"{MAX_FILE_BYTES // 2**20} MB"
        size = f"{n_bytes / 2**20:,.0f} MB"
        raise TableError(
            f"The file is {f'{size}, ' if size != limit else ''}more than the limit of {limit}: "
            "keep fewer rows or columns, or save it as Parquet."
        )


def unpack(data: bytes) -> bytes:
    """Decompress gzip data up to `MAX_FILE_BYTES`; other data come back as they are."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    plain = io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            while piece := packed.read(_PIECE_BYTES):
                plain.write(piece)
                limits.check_ratio(len(data), plain.tell())
                if plain.tell() > MAX_FILE_BYTES:
                    raise TableError(
                        f"The file is more than {MAX_FILE_BYTES // 2**20} MB once it is "
                        "decompressed: keep fewer rows or columns, or save it as Parquet."
                    )
    except (OSError, EOFError, zlib.error):
        raise TableError(
            "The compressed file is damaged: save it again or upload it uncompressed."
        ) from None
    return plain.getvalue()


def to_utf8(data: bytes, encoding: str | None = None) -> Text:
    """Decode a text file."""
    for signature, what in _SIGNATURES:
        if data.startswith(signature):
            raise TableError(f"This is {what}, not a table: save the table as CSV or Parquet.")
    if encoding is not None:
        text = _decode_as(data, encoding)
    else:
        text = _decode(data)
    if _control_share(text.utf8) > _MOST_CONTROL:
        raise no_text()
    head = text.utf8[:200].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html", b"<?xml")):
        raise TableError("This is a web page or XML, not a table: save the table as CSV.")
    if head.startswith((b"{", b"[{")):
        raise TableError("This is JSON, not a table: save the table as CSV or Parquet.")
    return text


def _decode(data: bytes) -> Text:
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _decode_as(data, name)
    sample = data[:_SAMPLE_BYTES]
    half = max(1, len(sample) // 2)
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        if sample[start::2].count(0) > _UTF_16_ZEROS * half > sample[1 - start :: 2].count(0):
            return _decode_as(data, name)
    if b"\x00" in data:
        raise no_text()
    return Text(data, "utf-8", ()) if _is_utf8(data) else _decode_old(data)


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8, without decoding them: one letter beyond can make them fourfold."""
    for begin in range(0, len(data), 2**30):  # an array's places have 32 bits
        piece = data[begin : begin + 2**30]
        places = pa.py_buffer(np.array([0, len(piece)], np.int32))
        text = pa.Array.from_buffers(pa.string(), 1, [None, places, pa.py_buffer(piece)])
        try:
            text.validate(full=True)
        except pa.ArrowInvalid:
            return False
    return True


def _decode_old(data: bytes) -> Text:
    """Text that is no valid UTF-8: a damaged UTF-8 file, Windows-1252 or Latin-1."""
    repaired = _recoded(data, "utf-8", errors="replace")
    damaged = repaired.count("\ufffd".encode())
    beginning = repaired[: 4 * _SAMPLE_BYTES].decode("utf-8", errors="ignore")
    beyond_ascii = sum(letter > "\x7f" for letter in beginning[:_SAMPLE_BYTES])
    if damaged < _MOST_DAMAGED * beyond_ascii:
        notice = f"The UTF-8 text has {damaged:,} damaged characters, which are shown as \ufffd."
        return Text(repaired, "utf-8", (notice,))
    del repaired
    try:
        return _decode_as(data, "cp1252")
    except TableError:
        return _decode_as(data, "latin-1")


def _decode_as(data: bytes, encoding: str) -> Text:
    try:
        text = _recoded(data, encoding).removeprefix(codecs.BOM_UTF8)
    except LookupError:
        raise TableError(f"There is no encoding {encoding!r}: use utf-8 or cp1252.") from None
    except ValueError as error:  # also of codecs that decode nothing, such as undefined
        if isinstance(error, TableError):
            raise
        raise TableError(
            f"The file is not valid {encoding} text: choose another encoding, such as utf-8 or "
            "cp1252."
        ) from None
    notices: tuple[str, ...] = ()
    if encoding in ("cp1252", "latin-1"):
        notices = (
            f"The text is not UTF-8. It was read as {encoding}: check letters with accents.",
        )
    if b"\x00" in text:
        raise no_text()
    return Text(text, encoding, notices)


def _recoded(data: bytes, encoding: str, errors: str = "strict") -> bytes:
    """The text in UTF-8, made piece by piece: a whole one may take four bytes a letter."""
    b"a".decode(encoding, "replace")  # codecs of other things than text have decoders too
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    utf8 = io.BytesIO()
    for begin in range(0, len(data), _PIECE_BYTES):
        piece = data[begin : begin + _PIECE_BYTES]
        letters = decoder.decode(piece, final=begin + _PIECE_BYTES >= len(data))
        utf8.write(letters.encode("utf-8", errors="replace"))
        limits.check_text(utf8.tell())
    return utf8.getvalue()


def _control_share(data: bytes) -> float:
    sample = data[:_SAMPLE_BYTES]
    return 1.0 - len(sample.translate(None, _CONTROL)) / max(1, len(sample))


def no_text() -> TableError:
    """What to say of bytes that are no text."""
    return TableError("This is binary data, not a table: upload a CSV, TSV, Excel or Parquet file.")


_MARKS = (",", ";", "\t", "|")
DELIMITERS = (*_MARKS, " ")
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}

_SAMPLE_ROWS = 200
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
# Where a comma and another delimiter fit equally well, commas are decimal marks or prose.
_PREFERENCE = {"\t": 3, ";": 2, "|": 1, ",": 0}


class Dialect(NamedTuple):
    """What the first rows show.

    ``header`` holds the cells of the header, or None if the first row is data already;
    ``n_columns`` is the number of cells in a row, and ``header_is_row`` tells whether the header
    has as many, or is a ragged row itself.
    """

    delimiter: str
    header: tuple[str, ...] | None
    n_columns: int
    header_is_row: bool
    mark: FileMark
    notices: tuple[str, ...]


def find_dialect(
    text: bytes, delimiter: str | None, has_header: bool | None, decimal: str | None
) -> Dialect:
    r"""Judge a UTF-8 text from its first 200 rows; what is given is not guessed.

    Examples
    --------
    >>> found = find_dialect(b"x;y\n1,5;2\n2,5;3\n", None, None, None)
    >>> found.delimiter, found.mark.decimal, found.header
    (';', ',', ('x', 'y'))
    """
    sample = _sample(text)
    if delimiter is None:
        delimiter = max(_MARKS, key=lambda mark: _fitness(split_rows(sample, mark), mark))
    rows = split_rows(sample, delimiter)
    notices = []
    first = rows[0] if rows else []
    if has_header is None:
        has_header = _has_header(rows)
        if not has_header:
            notices.append(
                "The first row looks like data, so the columns are called column 1, column 2 and "
                "so on. If the first row holds names, set Header to yes."
            )
    body = rows[1:] if has_header else rows
    usual = Counter(len(row) for row in body).most_common(1)[0][0] if body else len(first)
    header, n_columns = (list(first), len(first)) if has_header else (None, usual)
    if header is not None and usual == len(header) + 1:
        n_columns = usual
        if all(row[-1].strip() == "" for row in body if len(row) == usual):
            header = [*header, ""]
        else:
            header = ["", *header]
            notices.append(
                "The header has one name fewer than the rows have cells, so the first column "
                "has no name."
            )
    elif header is not None and usual == len(header) - 1 and header[-1].strip() == "":
        header, n_columns = header[:-1], usual
    if decimal is None:
        mark = find_file_mark(list(map(list, zip_longest(*body, fillvalue=""))), delimiter)
    else:
        mark = FileMark(decimal, "given")
    return Dialect(
        delimiter,
        None if header is None else tuple(header),
        n_columns,
        has_header and len(first) == n_columns,
        mark,
        tuple(notices),
    )


def split_rows(sample: str, delimiter: str) -> list[list[str]]:
    """The cells of the rows of a sample; a quotation mark that is never closed ends it."""
    rows = []
    lines = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
    try:
        for row in lines:
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                break
    except csv.Error:  # a cell longer than the module's limit, after which nothing is judged
        return rows
    return rows


def _sample(text: bytes) -> str:
    """The first rows as text, without a last one that was cut in the middle."""
    piece = text[:_SAMPLE_BYTES]
    sample = piece.decode("utf-8", errors="ignore")
    if len(piece) < len(text) and "\n" in sample:
        sample = sample[: sample.rindex("\n") + 1]
    return sample


def _fitness(rows: list[list[str]], delimiter: str) -> tuple[float, int, int]:
    """How well a delimiter fits: the share of rows as long as the header, then a preference."""
    if not rows or len(rows[0]) < 2:
        return (0.0, 0, -_rank(delimiter))
    width = len(rows[0])
    body = rows[1:] or rows
    same = sum(len(row) == width for row in body) / len(body)
    near = sum(abs(len(row) - width) <= 1 for row in body) / len(body)
    # A header may lack a name; beyond that, rows as long as the header are what counts.
    share = round(max(same, 0.9 * near), 2)
    return (share, _PREFERENCE[delimiter], width)


def _rank(delimiter: str) -> int:
    return _MARKS.index(delimiter)


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: words over numbers, or no numbers at all."""
    if not rows:
        return True
    first, body = [cell.strip() for cell in rows[0]], rows[1:]
    for column, cell in enumerate(first):
        below = [row[column].strip() for row in body if column < len(row)]
        below = [value for value in below if value not in MISSING_MARKERS]
        numbers = sum(bool(_NUMBER.fullmatch(value)) for value in below)
        word = cell not in MISSING_MARKERS and not _NUMBER.fullmatch(cell)
        if word and below and numbers > 0.9 * len(below):
            return True
    numbers_in_first = [float(cell) for cell in first if re.fullmatch(r"\d{1,9}", cell)]
    if any(_NUMBER.fullmatch(cell) and not re.fullmatch(r"\d{1,9}", cell) for cell in first):
        return False
    years = all(1800 <= number <= 2200 for number in numbers_in_first)
    steps = {after - before for before, after in pairwise(numbers_in_first)}
    counts = len(numbers_in_first) >= 3 and numbers_in_first[0] <= 1 and steps == {1.0}
    return years or counts


def describe(dialect: Dialect) -> str:
    r"""One sentence for the page.

    Examples
    --------
    >>> describe(find_dialect(b"x;y\n1,5;2\n", None, None, None))
    'Read as 2 columns separated by a semicolon, with a decimal comma and a header.'
    """
    mark = DELIMITER_NAMES.get(dialect.delimiter, repr(dialect.delimiter))
    header = "a header" if dialect.header is not None else "no header"
    decimal = ""
    if dialect.mark.basis != "assumed":
        decimal = f"a decimal {NAMES[dialect.mark.decimal]} and "
    return (
        f"Read as {counted(dialect.n_columns, 'column')} separated by a {mark}, with {decimal}"
        f"{header}."
    )


MOST_RAGGED = 0.1

# A block must hold the longest row; one that does not is tried again with larger blocks.
_BLOCK_BYTES = (2**23, 2**25)
# More ragged rows than these are not counted to the end.
_RAGGED_COUNTED = 10_000
_LISTED_LINES = 20


class SeparatedText(NamedTuple):
    """Cells of the header with their columns of text, how they were read, and notices.

    ``row_numbers`` are as in `gbuq_core.tables.files.Table`.
    """

    columns: list[tuple[str, Any]]
    delimiter: str
    mark: FileMark
    has_header: bool
    summary: str
    notices: list[str]
    row_numbers: NDArray[np.int64]


class _Parsed(NamedTuple):
    """All rows of the right length, the others, and whether quotation marks quote."""

    data: Any
    ragged: list[Any]
    quotes: bool


class _Places(NamedTuple):
    """Where the rows that are not blank stand, the ragged ones among them."""

    line: NDArray[np.int64]  # the line of the text on which each one begins, from 1
    # Its number among all rows, blank ones too, from 1. Lines of one cell are one row.
    row: NDArray[np.int64]


def read_separated(
    text: bytes,
    delimiter: str | None,
    has_header: bool | None,
    decimal: str | None,
    one_column: bool = False,
) -> SeparatedText:
    """Parse a UTF-8 text; the parameters are `gbuq_core.tables.files.ReadOptions`' own.

    ``one_column`` allows a single column, whose empty lines are missing values.
    """
    text, declared = without_declaration(text)
    limits.check_lines(text)
    delimiter = delimiter or declared or (" " if has_spaces_between(text) else None)
    if delimiter == " ":
        text = with_single_spaces(text)
    dialect = find_dialect(text, delimiter, has_header, decimal)
    if dialect.n_columns < 2 and not one_column:
        raise TableError(one_column_sentence(dialect, text))
    _check_size(text, dialect)
    notices = list(dialect.notices)
    parsed = _parse_quoted(text, dialect, notices)
    places = _find_places(text, parsed, dialect)
    if declared is not None:
        places = places._replace(line=places.line + 1)
    is_row = np.ones(len(places.row), bool)
    is_row[[row.number - 1 for row in parsed.ragged]] = False
    if dialect.header is not None:
        is_row[0] = False
        places = places._replace(row=places.row - places.row[0])
    if dialect.header_is_row:
        parsed = parsed._replace(data=parsed.data.slice(1))
    elif dialect.header is not None:
        parsed = parsed._replace(ragged=parsed.ragged[1:])
    notices += _judge_ragged(parsed, places, dialect)
    header = dialect.header or tuple(f"column {i + 1}" for i in range(dialect.n_columns))
    columns = list(zip(header, parsed.data.columns, strict=True))
    for name, column in columns:
        limits.check_cell_sizes(name, column)
    return SeparatedText(
        columns,
        dialect.delimiter,
        dialect.mark,
        dialect.header is not None,
        describe(dialect),
        notices,
        places.row[is_row],
    )


def has_spaces_between(text: bytes) -> bool:
    """Whether nothing but spaces divides each row into as many cells, numbers among them.

    A column of words, such as names of cities, is not divided.
    """
    sample = _sample(text)
    rows = [line.split() for line in sample.splitlines()[: _SAMPLE_ROWS + 1] if line.strip()]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    body = rows[1:] or rows
    numeric = any(all(_NUMBER.fullmatch(cell) for cell in column) for column in zip(*body))  # noqa: B905 - as long as each other
    return numeric and all(len(split_rows(sample, mark)[0]) < 2 for mark in _MARKS)


def with_single_spaces(text: bytes) -> bytes:
    """Columns aligned by several spaces, and maybe indented, with one between two cells."""
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        text = text.replace(b" " + end, end).replace(end + b" ", end)
    return text.strip(b" ")


def _check_size(text: bytes, dialect: Dialect) -> None:
    """Refuse too many columns and cells, counted by their marks before any cell is made."""
    limits.check_columns(dialect.n_columns)
    n_lines = _n_lines(text)
    n_marks = n_lines + text.count(dialect.delimiter.encode())
    n_cells = min(n_marks, n_lines * dialect.n_columns)
    limits.check_cells(n_lines, dialect.n_columns, n_cells)


def _n_lines(text: bytes) -> int:
    # Files of old Macs have no line feeds at all.
    return 1 + max(text.count(b"\n"), text.count(b"\r"))


def _parse_quoted(text: bytes, dialect: Dialect, notices: list[str]) -> _Parsed:
    """Parse with quotation marks, or with none where those are not in pairs and that reads more."""
    if text.count(b'"') % 2 == 0:
        return _parse(text, dialect)
    quoted, plain = _tried(text, dialect, '"'), _tried(text, dialect, False)
    if isinstance(quoted, TableError):  # what follows the open mark is longer than a row can be
        if isinstance(plain, TableError):
            raise quoted
    elif (
        isinstance(plain, TableError) or plain.ragged or plain.data.num_rows <= quoted.data.num_rows
    ):
        notices.append("A quotation mark is never closed: check the cells that contain one.")
        return quoted
    notices.append("The quotation marks are not in pairs, so they are read as plain letters.")
    return plain


def _tried(text: bytes, dialect: Dialect, quote_char: str | bool) -> _Parsed | TableError:
    try:
        return _parse(text, dialect, quote_char)
    except TableError as error:
        return error


def _parse(text: bytes, dialect: Dialect, quote_char: str | bool = '"') -> _Parsed:
    """All rows as text, the header among them; ragged rows apart."""
    names = [f"f{i}" for i in range(dialect.n_columns)]
    most_ragged = max(_RAGGED_COUNTED, MOST_RAGGED * _n_lines(text))
    ragged: list[Any] = []

    def set_aside(row: Any) -> str:
        ragged.append(row)
        return "skip" if len(ragged) <= most_ragged else "error"

    for block_bytes in _BLOCK_BYTES:
        ragged.clear()
        try:
            data = arrow_csv.read_csv(
                pa.BufferReader(text),
                # One thread: only then are ragged rows handed over in their order.
                read_options=arrow_csv.ReadOptions(
                    use_threads=False, column_names=names, block_size=block_bytes
                ),
                parse_options=arrow_csv.ParseOptions(
                    delimiter=dialect.delimiter,
                    quote_char=quote_char,
                    newlines_in_values=True,
                    ignore_empty_lines=dialect.n_columns > 1,
                    invalid_row_handler=set_aside,
                ),
                convert_options=arrow_csv.ConvertOptions(
                    column_types={name: pa.string() for name in names},
                    strings_can_be_null=False,
                    check_utf8=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if len(ragged) > most_ragged:
                rows = f"More than {len(ragged) - 1:,} rows"
                places = _scan_places(text, quote_char is not False)
                raise _too_ragged(rows, ragged[0], places, dialect) from None
            last_error = error
        else:
            return _Parsed(data, ragged, quote_char is not False)
    raise TableError(
        "The file cannot be split into rows: check its quotation marks and line ends."
    ) from last_error


def _find_places(text: bytes, parsed: _Parsed, dialect: Dialect) -> _Places:
    """Where the rows that were read stand, in their order, and those that were set aside."""
    n_rows = parsed.data.num_rows + len(parsed.ragged)
    in_order = np.arange(1, n_rows + 1)
    n_lines = _n_lines(text) - text.endswith((b"\n", b"\r"))
    if n_lines == n_rows or dialect.n_columns == 1:  # where blank lines are rows
        return _Places(in_order, in_order)
    # Marks inside of cells without quotation marks around them are letters, whatever their number.
    for quotes in (parsed.quotes, False):
        places = _scan_places(text, quotes)
        if len(places.row) == n_rows:
            return places
    return _Places(in_order, in_order)


def _scan_places(text: bytes, quotes: bool) -> _Places:
    """Where rows stand by line ends and quotation marks alone."""
    letters = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(letters == ord("\n"))
    if b"\r" in text:
        returns = np.flatnonzero(letters == ord("\r"))
        alone = np.append(letters, 0)[returns + 1] != ord("\n")
        ends = np.sort(np.concatenate([ends, returns[alone]]))
    starts = np.append(0, ends + 1)
    ends = np.append(ends, len(letters))
    starts, ends = starts[starts < len(letters)], ends[starts < len(letters)]
    n_letters = ends - starts - ((ends > starts) & (letters[ends - 1] == ord("\r")))
    begins = np.ones(len(starts), bool)
    if quotes:
        marks = np.flatnonzero(letters == ord('"'))
        begins = np.searchsorted(marks, starts) % 2 == 0
    filled = begins & (n_letters > 0)
    return _Places(np.flatnonzero(filled) + 1, np.cumsum(begins)[filled])


def _judge_ragged(parsed: _Parsed, places: _Places, dialect: Dialect) -> list[str]:
    """A notice about skipped rows, or a refusal if they are many."""
    n_ragged, n_rows = len(parsed.ragged), parsed.data.num_rows
    if not n_ragged:
        return []
    first = parsed.ragged[0]
    if n_ragged > 1 and n_ragged > MOST_RAGGED * (n_rows + n_ragged):
        rows = f"{n_ragged:,} of {n_rows + n_ragged:,} rows"
        raise _too_ragged(rows, first, places, dialect)
    lines = [f"{_line_of(row, places):,}" for row in parsed.ragged[:_LISTED_LINES]]
    if n_ragged > len(lines):
        lines.append(f"{n_ragged - len(lines):,} more")
    cells = f"{counted(first.actual_columns, 'cell')} instead of {first.expected_columns:,}"
    if n_ragged == 1:
        return [f"1 row has too many or too few cells and is skipped: line {lines[0]} has {cells}."]
    return [
        f"{n_ragged:,} rows have too many or too few cells and are skipped: lines "
        f"{enumerated(lines)}; the first has {cells}."
    ]


def _too_ragged(rows: str, first: Any, places: _Places, dialect: Dialect) -> TableError:
    mark = DELIMITER_NAMES.get(dialect.delimiter, repr(dialect.delimiter))
    return TableError(
        f"{rows} have too many or too few cells when the file is split at each {mark} (the first, "
        f"on line {_line_of(first, places):,}, has {counted(first.actual_columns, 'cell')} instead "
        f"of {first.expected_columns:,}): check the delimiter and the quotation marks."
    )


def _line_of(row: Any, places: _Places) -> int:
    return int(places.line[row.number - 1])


def without_declaration(text: bytes) -> tuple[bytes, str | None]:
    """Drop the line ``sep=;`` that Excel understands, and return its delimiter."""
    head = text[:8].lower()
    if head.startswith(b"sep=") and text[4:5].decode("latin-1") in DELIMITER_NAMES:
        return text[text.find(b"\n") + 1 :], text[4:5].decode("latin-1")
    return text, None


def one_column_sentence(dialect: Dialect, text: bytes) -> str:
    """What to say of a text with one column."""
    if len(text.split(None, 1)) < 2:
        return "The file holds a single word, not a table: upload one with a header and rows."
    return (
        "The file has a single column, but it needs a target and at least one other column: "
        "separate the columns by a comma, a semicolon, a tab or a vertical bar."
    )
