"""From a UTF-8 text to columns of text: delimiter, quotation marks, header, rows.

The first rows show how the file writes its table, and pyarrow parses it.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise, zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from gbuq_core.errors import TableError
from gbuq_core.presentation import counted, enumerated
from gbuq_core.tables import limits
from gbuq_core.tables.columns import MISSING_MARKERS
from gbuq_core.tables.decimal_marks import NAMES, FileMark, find_file_mark

_SAMPLE_BYTES = 2**20
_MARKS = (",", ";", "\t", "|")
_STRAY_MARKS = r"^[ ,;\t|]+$"  # in a cell below no name
DELIMITERS = (*_MARKS, " ")
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar", " ": "space"}

_SAMPLE_ROWS = 200
# Rows of one length below a header that lacks names, or nearly as long as it, count for less.
_LACKING, _RAGGED = 0.96, 0.9
_NEARLY = 0.05  # shares of even rows that differ by less say the same
_PREAMBLE_BYTES = 2**16
_MOST_PREAMBLE, _FEWEST_BELOW = 30, 4  # rows: above the names, and of all
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
# Where a comma and another delimiter fit equally well, commas are decimal marks or prose.
_PREFERENCE = {"\t": 3, ";": 2, "|": 1, ",": 0}


class Quoting(NamedTuple):
    """How cells are quoted: the mark, what escapes it besides doubling, and blanks before it."""

    mark: str = '"'
    escape: str = ""
    after_blanks: bool = False


_QUOTINGS = (Quoting(), Quoting(after_blanks=True), Quoting(escape="\\"), Quoting("'"))


class Dialect(NamedTuple):
    """What the first rows show."""

    delimiter: str
    header: tuple[str, ...] | None  # its cells; None: the first row is data
    n_columns: int  # cells in a row
    header_is_row: bool  # or else a ragged row itself
    mark: FileMark
    notices: tuple[str, ...]
    quoting: Quoting = Quoting()


def find_dialect(
    text: bytes, delimiter: str | None, has_header: bool | None, decimal: str | None
) -> Dialect:
    r"""Judge a UTF-8 text from its first 200 rows; what is given is not guessed.

    >>> dialect = find_dialect(b"x;y\n1,5;2\n2,5;3\n", None, None, None)
    >>> dialect.delimiter, dialect.mark.decimal, dialect.header
    (';', ',', ('x', 'y'))
    """
    sample = _sample(text)
    if delimiter is None:
        delimiter = max(_MARKS, key=lambda mark: _fitness(split_rows(sample, mark), mark))
    quoting = max(_QUOTINGS, key=lambda way: _evenness(split_rows(sample, delimiter, way)))
    rows = split_rows(sample, delimiter, quoting)
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
    usual, n_usual = _usual(body) if body else (len(first), 0)
    header, n_columns = (list(first), len(first)) if has_header else (None, usual)
    if header and len(header) > 1:
        header[0] = re.sub(r"^#\s+(?=\S)", "", header[0])
    if header is not None and usual > len(header) and 2 * n_usual > len(body):
        n_columns, lacking = usual, usual - len(header)
        long = [row for row in body if len(row) == usual]
        names = f"{counted(lacking, 'name')} fewer than the rows have cells"
        if not any(re.sub(_STRAY_MARKS, "", cell) for row in long for cell in row[-lacking:]):
            header[-1] = header[-1].rstrip("".join(_MARKS))
            header += [""] * lacking
        elif lacking == 1 and len({row[0] for row in long}) == len(long):
            header = ["", *header]
            notices.append(f"The header has {names}, so the first column has no name.")
        else:
            header += [""] * lacking
            last = "last column has" if lacking == 1 else f"last {lacking:,} columns have"
            notices.append(f"The header has {names}, so the {last} no name.")
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
        quoting,
    )


def split_rows(sample: str, delimiter: str, quoting: Quoting = _QUOTINGS[0]) -> list[list[str]]:
    """The cells of the rows of a sample; a quotation mark that is never closed ends it."""
    rows = []
    lines = csv.reader(
        io.StringIO(sample, newline=""),
        delimiter=delimiter,
        quotechar=quoting.mark,
        escapechar=quoting.escape or None,
        skipinitialspace=quoting.after_blanks,
        doublequote=not quoting.escape,
    )
    try:
        for row in lines:
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                break
    except csv.Error:  # a cell longer than the module's limit, after which nothing is judged
        return rows
    return rows


def _usual(rows: list[list[str]]) -> tuple[int, int]:
    """The most frequent number of cells in a row, and how many rows have it."""
    return Counter(len(row) for row in rows).most_common(1)[0]


def _evenness(rows: list[list[str]]) -> float:
    """The share of rows that are as long as the first one, or nearly that if it lacks names."""
    if len(rows) < 2:
        return float(len(rows))
    width, body = len(rows[0]), rows[1:]
    usual, n_usual = _usual(body)
    longer = _LACKING * n_usual if 1 < width < usual else 0.0
    return max(sum(len(row) == width for row in body), longer) / len(body)


def without_blanks(text: bytes, dialect: Dialect) -> bytes:
    """Text with no blanks between a delimiter and a quotation mark."""
    if not dialect.quoting.after_blanks:
        return text
    mark = re.escape(dialect.delimiter.encode())
    return re.sub(rb"(%s) +(?=\"(?!\"))" % mark, rb"\1", text)


def preamble_lines(text: bytes, delimiter: str | None) -> int:
    r"""How many lines stand above the names of the columns: titles, comments and merged names.

    >>> preamble_lines(b"Report 2021\n\nx,y,z\n1,2,3\n4,5,6\n", None)
    2
    """
    sample = _sample(text[:_PREAMBLE_BYTES])
    ways = []
    for mark in (delimiter,) if delimiter else _MARKS:
        rows, starts = [], []
        lines = csv.reader(io.StringIO(sample, newline=""), delimiter=mark)
        with contextlib.suppress(csv.Error):
            for row in lines:
                if row:
                    rows.append([cell.strip() for cell in row])
                    starts.append(lines.line_num - 1 - sum(c.count("\n") for c in row))
                if len(rows) > _SAMPLE_ROWS:
                    break
        place = _names_begin(rows)
        # The lines of a longer row have the delimiter; commas in prose make rows of many lengths.
        share = _evenness(rows[place:]) if rows and len(rows[place]) > 1 else 0.0
        # Blank lines above the names are skipped with the rest.
        names = share > 0.0 and not any(_NUMBER.fullmatch(cell) for cell in rows[place])
        ways.append((share, names, -starts[place] if place else 0))
    # Decimal commas make even rows, too, of a file that has another delimiter.
    best = max(share for share, _, _ in ways)
    _, start = max((names, start) for share, names, start in ways if share >= best - _NEARLY)
    return -start


def _names_begin(rows: list[list[str]]) -> int:
    """The row of the names of columns: the first full one below titles and merged names."""
    if len(rows) < _FEWEST_BELOW:
        return 0
    usual, _ = _usual(rows)
    if usual < 2:
        return 0
    full = max(1, usual // 2)
    filled = [sum(cell != "" for cell in row) for row in rows[:_MOST_PREAMBLE]]
    possible = [k for k, n in enumerate(filled) if n > full and len(rows[k]) == usual]
    place = possible[0] if possible else 0

    def names(place: int) -> bool:
        """Whether a row names the columns: words without a gap above a column of numbers."""
        cells, body = rows[place], rows[place + 1 :]
        words = len({*cells}) == len(cells) == usual and not any(
            cell == "" or _NUMBER.fullmatch(cell) for cell in cells
        )
        below = zip_longest(*body, fillvalue="")
        numbers = [sum(bool(_NUMBER.fullmatch(c)) for c in column) for column in below]
        return words and max(numbers, default=0) > 0.9 * len(body)

    above = [k for k in range(place) if filled[k] > full and not rows[k][0].startswith("#")]
    data = place and any(_NUMBER.fullmatch(cell) for cell in rows[place])
    if data and filled[place - 1] > 1 and not any(map(_NUMBER.fullmatch, rows[place - 1])):
        above.append(place - 1)  # few names, and no title
    if above and not names(place):
        return above[0]
    return place + ("" in rows[place] and len(rows) > place + 2 and names(place + 1))


def _sample(text: bytes) -> str:
    """The first rows as text, without a last one that was cut in the middle."""
    piece = text[:_SAMPLE_BYTES]
    sample = piece.decode("utf-8", errors="ignore")
    if len(piece) < len(text) and "\n" in sample:
        sample = sample[: sample.rindex("\n") + 1]
    return sample


def _fitness(rows: list[list[str]], delimiter: str) -> tuple[float, int, int]:
    """How well a delimiter fits: the share of rows as long as the header, then a preference."""
    if not rows or sum(cell.strip() != "" for cell in rows[0]) < 2:  # marks may pad lines
        return (0.0, 0, -_MARKS.index(delimiter))
    width = len(rows[0])
    near = sum(abs(len(row) - width) <= 1 for row in rows) / len(rows)
    share = round(max(_evenness(rows), _RAGGED * near), 2)
    return (share, _PREFERENCE[delimiter], width)


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
    r"""One sentence for the page."""
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
    """The columns of a file, how they were read, notices, and lines as those of `Table`."""

    columns: list[tuple[str, Any]]
    delimiter: str
    mark: FileMark
    has_header: bool
    summary: str
    notices: list[str]
    row_numbers: NDArray[np.int64]
    lines: NDArray[np.int64]


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
    skip_rows: int | None = None,
) -> SeparatedText:
    """Parse a UTF-8 text by `ReadOptions`; with ``one_column``, empty lines are missing values."""
    text, declared = without_declaration(text)
    limits.check_lines(text)
    text, remarks = with_one_mark(text, delimiter or declared)
    n_above = preamble_lines(text, delimiter or declared) if skip_rows is None else skip_rows
    text = without_lines(text, n_above)
    delimiter = delimiter or declared or (" " if has_spaces_between(text) else None)
    if delimiter == " ":
        text = with_single_spaces(text)
        first, *below = split_rows(text[:_PREAMBLE_BYTES].decode(errors="ignore"), " ")[:2]
        if first[0] == "#" and below and len(first) > len(below[0]):
            text = text[2:]  # as numpy.savetxt writes names
    dialect = find_dialect(text, delimiter, has_header, decimal)
    if dialect.n_columns < 2 and not one_column:
        raise TableError(one_column_sentence(dialect, text))
    _check_size(text, dialect)
    text = without_blanks(text, dialect)
    notices = [*above_sentences(n_above if skip_rows is None else 0), *remarks, *dialect.notices]
    parsed = _parse_quoted(text, dialect, notices)
    places = _find_places(text, parsed, dialect)
    places = places._replace(line=places.line + n_above + (declared is not None))
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
    columns = [
        (name, column if name else pc.replace_substring_regex(column, _STRAY_MARKS, ""))
        for name, column in zip(header, parsed.data.columns, strict=True)
    ]
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
        places.line[is_row],
    )


def without_lines(text: bytes, n: int) -> bytes:
    """Text without its first lines."""
    place = 0
    for _ in range(n):
        ends = [end for end in (text.find(b"\n", place), text.find(b"\r", place)) if end >= 0]
        if not ends:
            return b""
        place = min(ends) + 1 + (text[min(ends) : min(ends) + 2] == b"\r\n")
    return text[place:]


def above_sentences(n: int) -> list[str]:
    """What to say of lines above the names of the columns."""
    if not n:
        return []
    return [
        f"The first {counted(n, 'line') if n > 1 else 'line'} of the file "
        f"{'stand' if n > 1 else 'stands'} above the names of the columns and "
        f"{'are' if n > 1 else 'is'} left out: choose Skip rows 0 (--skip-rows 0) to read "
        f"{'them' if n > 1 else 'it'}."
    ]


def with_one_mark(text: bytes, delimiter: str | None) -> tuple[bytes, list[str]]:
    """Text whose names are parted by the mark between its cells, and what to say if another was."""
    lines = _sample(text[:_PREAMBLE_BYTES]).splitlines()[: _SAMPLE_ROWS + 1]
    head, body = lines[0] if lines else "", "\n".join(lines[1:])
    for mark in (delimiter,) if delimiter else _MARKS:
        rows = split_rows(body, mark)
        widths = {len(row) for row in rows}
        if len(rows) < _FEWEST_BELOW or len(widths) > 1 or widths <= {1} or mark in head:
            continue
        for other in DELIMITERS:
            names = [name.strip() for name in head.split(other)]
            named = {len(names)} == widths and len({*names} - {""}) == len(names)
            # Decimal commas make cells, too.
            named &= {len(row) for row in split_rows(body, other)} != widths
            numbers = any(_NUMBER.fullmatch(cell.strip()) for cell in rows[0])
            if '"' not in head and named and numbers and not any(map(_NUMBER.fullmatch, names)):
                end = len(head.encode())
                sentence = (
                    f"The names of the columns are parted by a {DELIMITER_NAMES[other]}, and the "
                    f"cells below them by a {DELIMITER_NAMES[mark]}."
                )
                return mark.join(names).encode() + text[end:], [sentence]
    return text, []


def has_spaces_between(text: bytes) -> bool:
    """Whether only spaces divide each row into as many cells, numbers among them; not words."""
    sample = _sample(text)
    rows = split_rows(with_single_spaces(sample.encode()).decode(), " ")
    body = rows[1:] or rows
    if rows and rows[0][0] == "#" and len(rows[0]) == len(body[0]) + 1:
        del rows[0][0]
    if not rows or len(body[0]) < 2 or any(len(row) != len(body[0]) for row in body):
        return False
    if len(body[0]) - len(rows[0]) not in (0, 1):  # R's row names have no name
        return False
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
    if dialect.quoting != Quoting():
        return _parse(text, dialect, dialect.quoting.mark)
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
    most_ragged = max(_RAGGED_COUNTED, MOST_RAGGED * _n_lines(text))
    ragged: list[Any] = []

    def set_aside(row: Any) -> str:
        ragged.append(row)
        return "skip" if len(ragged) <= most_ragged else "error"

    for block_bytes in _BLOCK_BYTES:
        ragged.clear()
        try:
            options = arrow_options(dialect, quote_char, block_bytes, set_aside)
            data = arrow_csv.read_csv(pa.BufferReader(text), **options)
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


def arrow_options(
    dialect: Dialect, quote_char: str | bool, block_bytes: int, set_aside: Callable[[Any], str]
) -> dict[str, Any]:
    """How Arrow reads all rows of a dialect as text; ``set_aside`` is given the ragged ones."""
    names = [f"f{i}" for i in range(dialect.n_columns)]
    return {
        # One thread: only then are ragged rows handed over in their order.
        "read_options": arrow_csv.ReadOptions(
            use_threads=False, column_names=names, block_size=block_bytes
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=quote_char,
            escape_char=dialect.quoting.escape or False,
            newlines_in_values=True,
            ignore_empty_lines=dialect.n_columns > 1,
            invalid_row_handler=set_aside,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types={name: pa.string() for name in names},
            strings_can_be_null=False,
            check_utf8=False,
        ),
    }


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
