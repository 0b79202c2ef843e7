"""From the bytes of a file to UTF-8 text: unpacking, refusing what is no text, the encoding."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from typing import NamedTuple

from gbuq_core.errors import TableError

MAX_FILE_BYTES = 250 * 2**20  # as .streamlit/config.toml: server.maxUploadSize

_SAMPLE_BYTES = 2**20
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
    (b"PK\x03\x04", "a ZIP archive or an Excel workbook"),
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
    """Refuse a file that is too large before it is read.

    Raises
    ------
    TableError
        Above `MAX_FILE_BYTES`.
    """
    if n_bytes > MAX_FILE_BYTES:
        limit = f"{MAX_FILE_BYTES // 2**20} MB"
        size = f"{n_bytes / 2**20:,.0f} MB"
        raise TableError(
            f"The file has {f'{size}, ' if size != limit else ''}more than the {limit} that can be "
            "read: keep fewer rows or columns, or save it as Parquet."
        )


def unpack(data: bytes) -> bytes:
    """Decompress gzip data up to `MAX_FILE_BYTES`; other data come back as they are."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            plain = packed.read(MAX_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        raise TableError(
            "The compressed file is damaged: save it again or upload it uncompressed."
        ) from None
    if len(plain) > MAX_FILE_BYTES:
        raise TableError(
            f"The file has more than {MAX_FILE_BYTES // 2**20} MB once it is decompressed: "
            "keep fewer rows or columns, or save it as Parquet."
        )
    return plain


def to_utf8(data: bytes, encoding: str | None = None) -> Text:
    """Decode a text file.

    Parameters
    ----------
    data : bytes
        Not empty, not compressed.
    encoding : str, optional
        Python's name of the encoding; found out if None, among UTF-8, UTF-16, UTF-32 (with a byte
        order mark), Windows-1252 and Latin-1.

    Raises
    ------
    TableError
        If this is no text, or the given encoding does not fit.
    """
    for signature, what in _SIGNATURES:
        if data.startswith(signature):
            raise TableError(f"This is {what}, not a table: save the table as CSV or Parquet.")
    if encoding is not None:
        text = _decode_as(data, encoding)
    else:
        text = _decode(data)
    if _control_share(text.utf8) > _MOST_CONTROL:
        raise _no_text()
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
        raise _no_text()
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_old(data)
    return Text(data, "utf-8", ())


def _decode_old(data: bytes) -> Text:
    """Text that is no valid UTF-8: a damaged UTF-8 file, Windows-1252 or Latin-1."""
    repaired = data.decode("utf-8", errors="replace")
    damaged = repaired.count("\ufffd")
    beyond_ascii = sum(letter > "\x7f" for letter in repaired[:_SAMPLE_BYTES])
    if damaged < _MOST_DAMAGED * beyond_ascii:
        notice = f"{damaged:,} damaged characters of the UTF-8 text are replaced by \ufffd."
        return Text(repaired.encode("utf-8"), "utf-8", (notice,))
    try:
        return _decode_as(data, "cp1252")
    except TableError:
        return _decode_as(data, "latin-1")


def _decode_as(data: bytes, encoding: str) -> Text:
    try:
        text = data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise TableError(f"There is no encoding {encoding!r}: use utf-8 or cp1252.") from None
    except ValueError:  # also of codecs that decode nothing, such as undefined
        raise TableError(
            f"The file is no valid {encoding} text: choose another encoding, such as utf-8 or "
            "cp1252."
        ) from None
    notices: tuple[str, ...] = ()
    if encoding in ("cp1252", "latin-1"):
        notices = (f"The text is no UTF-8 and is read as {encoding}: check letters with accents.",)
    if "\x00" in text:
        raise _no_text()
    return Text(text.encode("utf-8", errors="replace"), encoding, notices)


def _control_share(data: bytes) -> float:
    sample = data[:_SAMPLE_BYTES]
    return 1.0 - len(sample.translate(None, _CONTROL)) / max(1, len(sample))


def _no_text() -> TableError:
    return TableError("This is binary data, not a table: upload a CSV, TSV or Parquet file.")
