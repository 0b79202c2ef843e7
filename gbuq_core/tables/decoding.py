"""From the bytes of a text file to UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gbuq_core.errors import TableError
from gbuq_core.presentation import counted
from gbuq_core.tables import limits
from gbuq_core.tables.old_encodings import STRAY, guess_encoding

MAX_FILE_BYTES = 250 * 2**20  # as .streamlit/config.toml: server.maxUploadSize

_SAMPLE_BYTES = 2**20
_PIECE_BYTES = 2**22  # decompressed or decoded at once
# Control characters that no table has; tab, line feed, carriage return and form feed are text.
_CONTROL = bytes(set(range(32)) - {9, 10, 12, 13}) + b"\x7f"
_MOST_CONTROL = 0.001
MOST_DAMAGED = 0.1  # of the letters beyond ASCII, for a text that is UTF-8 all the same
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
    sample = text.utf8[:_SAMPLE_BYTES]
    if 1.0 - len(sample.translate(None, _CONTROL)) / max(1, len(sample)) > _MOST_CONTROL:
        raise no_text()
    head = text.utf8[:200].lstrip().lower()
    if head.startswith((b"<!doctype", b"<html", b"<?xml", b"<table", b"<div", b"<head", b"<!--")):
        raise TableError("This is a web page or XML, not a table: save the table as CSV.")
    begins = b"\n" + text.utf8[:_SAMPLE_BYTES].lower()
    if head.startswith((b"@relation", b"%")) and b"\n@relation" in begins:
        raise TableError("This is an ARFF file of Weka, not a table: save the table as CSV.")
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
    data = data.rstrip(b"\x00\x1a")
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
    """Text that is no valid UTF-8: UTF-8 with a few stray bytes, or an older encoding."""
    damaged = _recoded(data, "utf-8", errors="replace").count("\ufffd".encode())
    beginning = data[: 4 * _SAMPLE_BYTES].decode("utf-8", errors="ignore")
    beyond_ascii = sum(letter > "\x7f" for letter in beginning[:_SAMPLE_BYTES])
    if damaged < MOST_DAMAGED * beyond_ascii:
        return Text(_recoded(data, "utf-8", STRAY), "utf-8", (stray_sentence(damaged),))
    encoding = guess_encoding(data)
    try:
        return _decode_as(data, encoding, guessed=True)
    except TableError:  # beyond the sample
        return _decode_as(data, "latin-1", guessed=True)


def stray_sentence(n: int) -> str:
    """What to say of bytes in a text of UTF-8 that are none."""
    return (
        f"{counted(n, 'byte')} of the UTF-8 text {'is' if n == 1 else 'are'} no UTF-8 and "
        f"{'was' if n == 1 else 'were'} read as Windows-1252: check letters with accents."
    )


def encoding_sentence(encoding: str) -> str:
    """What to say of a text whose encoding was guessed."""
    return (
        f"The text is not UTF-8. It was read as {encoding}: check letters with accents or of other "
        "scripts, and choose another Encoding (--encoding) if they are wrong."
    )


def _decode_as(data: bytes, encoding: str, guessed: bool = False) -> Text:
    try:
        # Some programs fill up the last block.
        text = _recoded(data, encoding).removeprefix(codecs.BOM_UTF8).rstrip(b"\x00\x1a")
    except LookupError:
        raise TableError(f"There is no encoding {encoding!r}: use utf-8 or cp1252.") from None
    except ValueError as error:  # also of codecs that decode nothing, such as undefined
        if isinstance(error, TableError):
            raise
        raise TableError(
            f"The file is not valid {encoding} text: choose another encoding, such as utf-8 or "
            "cp1252."
        ) from None
    notices = (encoding_sentence(encoding),) if guessed else ()
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


def no_text() -> TableError:
    """What to say of bytes that are no text."""
    return TableError("This is binary data, not a table: upload a CSV, TSV, Excel or Parquet file.")
