"""Separated text in blocks of rows, read as the one-piece reader reads it.

The bytes are read once to find their digest, their encoding and whether quotation marks are in
pairs. The first megabyte shows delimiter, header and decimal mark, as it does for a whole file.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from gbuq_core.errors import TableError
from gbuq_core.presentation import counted
from gbuq_core.streaming.parts import digest_file
from gbuq_core.streaming.pieces import plain_pieces, read_head, regular
from gbuq_core.tables import limits
from gbuq_core.tables.decoding import (
    MOST_DAMAGED,
    encoding_sentence,
    no_text,
    stray_sentence,
    to_utf8,
)
from gbuq_core.tables.files import Source, unique_names
from gbuq_core.tables.old_encodings import STRAY
from gbuq_core.tables.plan import ReadOptions
from gbuq_core.tables.separated_text import (
    DELIMITER_NAMES,
    MOST_RAGGED,
    Quoting,
    above_sentences,
    arrow_options,
    describe,
    find_dialect,
    has_spaces_between,
    one_column_sentence,
    preamble_lines,
    with_single_spaces,
    without_blanks,
    without_declaration,
    without_lines,
)

_HEAD_BYTES = 2**20 + 1  # one more than what is judged, so that a cut last row is seen
_BLOCK_BYTES = 2**23  # must hold the longest row, and some of them are in memory at once


class _Encoding(NamedTuple):
    name: str
    errors: str
    notices: tuple[str, ...]


_PLAIN = ("utf-8", "strict")  # it has been checked


class TextBlocks:
    """A text file as blocks of rows; see `gbuq_core.streaming.blocks.BlockFile`."""

    def __init__(self, path: Path, packed: bool, options: ReadOptions, to_score: bool) -> None:
        self._path, self._packed = path, packed
        head = read_head(path, _HEAD_BYTES).plain
        if not head.strip():
            raise TableError("The file is empty: give one with a header and rows.")
        self._encoding = self._find_encoding(head, options.encoding)
        start = self._start()
        text, self._declared = without_declaration(start)
        skipped = options.skip_rows
        wanted = options.delimiter or self._declared
        self._above = preamble_lines(text, wanted) if skipped is None else skipped
        text = without_lines(text, self._above)
        delimiter = options.delimiter or self._declared
        if delimiter is None and has_spaces_between(text):
            delimiter = " "
        self._spaces = delimiter == " "
        if self._spaces:
            text = with_single_spaces(text)
        self._dialect = dialect = find_dialect(text, delimiter, options.header, options.decimal)
        if dialect.n_columns < 2 and not to_score:
            raise TableError(one_column_sentence(dialect, text))
        limits.check_columns(dialect.n_columns)
        header = dialect.header or tuple(f"column {i + 1}" for i in range(dialect.n_columns))
        self.names, renamed = unique_names(header)
        above = above_sentences(self._above if skipped is None else 0)
        self.notices = [*self._encoding.notices, *above, *dialect.notices, *renamed]
        self.n_rows: int | None = None  # once all have been read
        self._quote_char = self._find_quotes()
        as_read = options._replace(
            delimiter=dialect.delimiter,
            encoding=self._encoding.name,
            header=dialect.header is not None,
            sheet=None,
        )
        self.source = Source(
            path.name,
            "csv",
            path.stat().st_size,
            digest_file(path),
            as_read,
            describe(dialect),
            decimal=dialect.mark.decimal,
            decimal_shown=dialect.mark.basis != "assumed",
        )

    def blocks(self, n_rows: int, start: int = 0) -> Iterator[pa.Table]:
        """Blocks of ``n_rows`` rows from row ``start`` on; the last one may be shorter."""
        ragged: list[Any] = []
        first = 1 if self._dialect.header_is_row else 0
        n_seen = 0

        def tables() -> Iterator[pa.Table]:
            nonlocal n_seen
            for batch in self._parse(self._quote_char, ragged):
                n_seen += batch.num_rows
                yield pa.table(batch.columns, names=self.names)

        try:
            yield from regular(tables(), n_rows, start + first)
        except pa.ArrowInvalid:
            raise _cannot_split() from None
        if self.n_rows is None:
            self._end(n_seen - first, ragged)

    def _end(self, n_rows: int, ragged: list[Any]) -> None:
        """After all rows: how many there are, and what those of another length mean."""
        if self._dialect.header is not None and not self._dialect.header_is_row:
            ragged = ragged[1:]  # the header itself
        self.n_rows = n_rows
        n = len(ragged)
        if not n:
            return
        where = f"the first has {counted(ragged[0].actual_columns, 'cell')} instead of "
        where += f"{ragged[0].expected_columns:,}"
        if n > 1 and n > MOST_RAGGED * (n_rows + n):
            mark = DELIMITER_NAMES.get(self._dialect.delimiter, repr(self._dialect.delimiter))
            raise TableError(
                f"{n:,} of {n_rows + n:,} rows have too many or too few cells when the file is "
                f"split at each {mark} ({where}): check the delimiter and the quotation marks."
            )
        rows = counted(n, "row has", "rows have")
        self.notices.append(
            f"{rows} too many or too few cells and {'is' if n == 1 else 'are'} skipped; {where}."
        )

    def _parse(self, quote_char: str | bool, ragged: list[Any]) -> Iterator[pa.RecordBatch]:
        """All rows as text, the header among them; ragged rows apart, the first two in full."""

        def set_aside(row: Any) -> str:
            ragged.append(row if len(ragged) < 2 else None)
            return "skip"

        options = arrow_options(self._dialect, quote_char, _BLOCK_BYTES, set_aside)
        with _Stream(self._text()) as stream:
            yield from arrow_csv.open_csv(stream, **options)

    def _find_quotes(self) -> str | bool:
        """Whether quotation marks quote: not where they are not in pairs and that reads more."""
        if self._dialect.quoting != Quoting():
            return self._dialect.quoting.mark
        if sum(piece.count(b'"') for piece in self._text()) % 2 == 0:
            return '"'
        quoted, plain = self._count('"'), self._count(False)
        if quoted is None and plain is None:
            raise _cannot_split()
        if quoted is None or (plain is not None and not plain[1] and plain[0] > quoted[0]):
            self.notices.append(
                "The quotation marks are not in pairs, so they are read as plain letters."
            )
            return False
        self.notices.append("A quotation mark is never closed: check the cells that contain one.")
        return '"'

    def _count(self, quote_char: str | bool) -> tuple[int, int] | None:
        """How many rows and how many ragged ones there are; None if the text cannot be split."""
        ragged: list[Any] = []
        try:
            return sum(b.num_rows for b in self._parse(quote_char, ragged)), len(ragged)
        except pa.ArrowInvalid:
            return None

    def _find_encoding(self, head: bytes, named: str | None) -> _Encoding:
        """The encoding in which all of the file can be read, as the one-piece reader chooses it."""
        whole = head if len(head) < _HEAD_BYTES else _cut(head)
        encoding = to_utf8(whole, named).encoding
        if named is not None or (encoding.startswith("utf-") and encoding != "utf-8"):
            if not self._is_valid(encoding):
                raise TableError(
                    f"The file is not valid {named or encoding} text: choose another encoding, "
                    "such as utf-8 or cp1252."
                )
            return _Encoding(encoding, "strict", ())
        if self._is_valid("utf-8"):
            return _Encoding("utf-8", "strict", ())
        repaired = head.decode("utf-8", errors="ignore")[: _HEAD_BYTES - 1]
        beyond_ascii = sum(letter > "\x7f" for letter in repaired)
        pieces = _decoded(plain_pieces(self._path, self._packed), "utf-8", "replace")
        damaged = sum(piece.count("\ufffd".encode()) for piece in pieces)
        if damaged < MOST_DAMAGED * beyond_ascii:
            return _Encoding("utf-8", STRAY, (stray_sentence(damaged),))
        old = encoding if encoding != "utf-8" and self._is_valid(encoding) else "latin-1"
        return _Encoding(old, "strict", (encoding_sentence(old),))

    def _is_valid(self, encoding: str) -> bool:
        try:
            for _ in _decoded(plain_pieces(self._path, self._packed), encoding, "strict"):
                pass
        except UnicodeError:
            return False
        return True

    def _start(self) -> bytes:
        """The first megabyte of the text in UTF-8."""
        pieces, size = [], 0
        for piece in self._letters():
            pieces.append(piece)
            size += len(piece)
            if size >= _HEAD_BYTES:
                break
        return b"".join(pieces)[:_HEAD_BYTES]

    def _letters(self) -> Iterator[bytes]:
        """The text in UTF-8 without byte order mark."""
        pieces = plain_pieces(self._path, self._packed)
        name, errors, _ = self._encoding
        first = True
        for piece in pieces if self._encoding[:2] == _PLAIN else _decoded(pieces, name, errors):
            if b"\x00" in piece:
                raise no_text()
            yield piece.removeprefix(codecs.BOM_UTF8) if first else piece
            first = False

    def _text(self) -> Iterator[bytes]:
        """The text that is parsed: without the line ``sep=``, single spaces between columns."""
        pieces = self._letters()
        for _ in range(self._above + (self._declared is not None)):
            pieces = _without_first_line(pieces)
        if hasattr(self, "_dialect") and self._dialect.quoting.after_blanks:
            pieces = (without_blanks(piece, self._dialect) for piece in _whole_lines(pieces))
        return _single_spaces(pieces) if self._spaces else pieces


class _Stream(io.RawIOBase):
    """Pieces of bytes as a file that Arrow reads."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._left = iter(pieces), b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """As many bytes as wanted, fewer only at the end."""
        parts, n_bytes = [], 0
        while size < 0 or n_bytes < size:
            if not self._left:
                self._left = next(self._pieces, b"")
                if not self._left:
                    break
            part = self._left if size < 0 else self._left[: size - n_bytes]
            parts.append(part)
            n_bytes += len(part)
            self._left = self._left[len(part) :]
        return b"".join(parts)


def _cut(head: bytes) -> bytes:
    """A head that ends with a row, or between two letters of four bytes each."""
    if b"\x00" in head:
        return head[: len(head) // 4 * 4]
    return head[: head.rfind(b"\n") + 1] or head


def _decoded(pieces: Iterable[bytes], encoding: str, errors: str) -> Iterator[bytes]:
    """Text of any encoding in UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    for piece in pieces:
        yield decoder.decode(piece).encode("utf-8", errors="replace")
    yield decoder.decode(b"", final=True).encode("utf-8", errors="replace")


def _whole_lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes, cut at the ends of lines."""
    left = b""
    for piece in pieces:
        whole, end, rest = (left + piece).rpartition(b"\n")
        left = rest
        yield whole + end
    yield left


def _without_first_line(pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        if piece:
            yield piece[piece.find(b"\n") + 1 :]
            break
    yield from pieces


def _single_spaces(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Lines whose columns are aligned by spaces, with one between two cells."""
    kept = b""
    for piece in pieces:
        text = kept + piece
        end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
        # A carriage return and its line feed stay together.
        end = end - 1 if text[end - 1 : end] == b"\r" and end == len(text) else end
        kept = text[end:]
        yield with_single_spaces(text[:end])
    yield with_single_spaces(kept)


_cannot_split = partial(
    TableError, "The file cannot be split into rows: check its quotation marks and line ends."
)
