"""How a text file writes its table: delimiter, header, decimal mark; judged from its first rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

from gbuq_core.tables.markers import MISSING_MARKERS
from gbuq_core.tables.wording import counted

DELIMITERS = (",", ";", "\t", "|")
DELIMITER_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}

_SAMPLE_ROWS = 200
_SAMPLE_BYTES = 2**20
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
_WITH_COMMA = re.compile(r"[+-]?\d+,\d+")
_WITH_POINT = re.compile(r"[+-]?\d+\.\d+")
_GROUPS_OF_THREE = re.compile(r"[+-]?\d{1,3}([.,]\d{3})+")
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
    decimal: str
    notices: tuple[str, ...]


def find_dialect(
    text: bytes, delimiter: str | None, has_header: bool | None, decimal: str | None
) -> Dialect:
    r"""Judge a UTF-8 text from its first 200 rows; what is given is not guessed.

    Examples
    --------
    >>> found = find_dialect(b"x;y\n1,5;2\n2,5;3\n", None, None, None)
    >>> found.delimiter, found.decimal, found.header
    (';', ',', ('x', 'y'))
    """
    sample = _sample(text)
    if delimiter is None:
        delimiter = max(DELIMITERS, key=lambda mark: _fitness(split_rows(sample, mark), mark))
    rows = split_rows(sample, delimiter)
    notices = []
    first = rows[0] if rows else []
    if has_header is None:
        has_header = _has_header(rows)
        if not has_header:
            notices.append(
                "The first row looks like data, so the columns are called column 1, column 2 and "
                "so on; if it holds names, say that the file has a header."
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
                "The header has one name less than the rows have cells, so the first column is "
                "read as one without a name."
            )
    elif header is not None and usual == len(header) - 1 and header[-1].strip() == "":
        header, n_columns = header[:-1], usual
    if decimal is None:
        decimal = _decimal_mark([cell for row in body for cell in row], delimiter)
    return Dialect(
        delimiter,
        None if header is None else tuple(header),
        n_columns,
        has_header and len(first) == n_columns,
        decimal,
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
    return DELIMITERS.index(delimiter)


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


def _decimal_mark(cells: list[str], delimiter: str) -> str:
    """A comma if more cells have a decimal comma than a point; 1,234 alone proves nothing."""
    stripped = [cell.strip() for cell in cells]
    points = sum(bool(_WITH_POINT.fullmatch(cell)) for cell in stripped)
    commas = [cell for cell in stripped if _WITH_COMMA.fullmatch(cell)]
    proven = any(not _GROUPS_OF_THREE.fullmatch(cell) for cell in commas)
    return "," if len(commas) > points and (proven or delimiter != ",") else "."


def describe(dialect: Dialect) -> str:
    r"""One sentence for the page.

    Examples
    --------
    >>> describe(find_dialect(b"x;y\n1,5;2\n", None, None, None))
    'Read as 2 columns separated by a semicolon, with a decimal comma and a header.'
    """
    mark = DELIMITER_NAMES.get(dialect.delimiter, repr(dialect.delimiter))
    decimal = "comma" if dialect.decimal == "," else "point"
    header = "a header" if dialect.header is not None else "no header"
    return (
        f"Read as {counted(dialect.n_columns, 'column')} separated by a {mark}, with a decimal "
        f"{decimal} and {header}."
    )
