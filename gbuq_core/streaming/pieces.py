"""The bytes of a file piece by piece, unpacked, and its rows in blocks of one length."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from gbuq_core.errors import TableError
from gbuq_core.tables.files import errors_of_path

_PIECE_BYTES = 2**22


class Head(NamedTuple):
    """How a file begins: whether it is packed, and its first plain bytes."""

    packed: bool
    plain: bytes


def read_head(path: Path, n_bytes: int) -> Head:
    """The first bytes of a file once they are unpacked."""
    with errors_of_path(path), path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    pieces, size = [], 0
    for piece in plain_pieces(path, packed):
        pieces.append(piece)
        size += len(piece)
        if size >= n_bytes:
            break
    return Head(packed, b"".join(pieces)[:n_bytes])


def plain_pieces(path: Path, packed: bool) -> Iterator[bytes]:
    """The bytes of a file piece by piece, unpacked if it is packed with gzip."""
    with errors_of_path(path), path.open("rb") as file:
        try:
            source: Any = gzip.GzipFile(fileobj=file) if packed else file
            while piece := source.read(_PIECE_BYTES):
                yield piece
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise TableError(
                "The compressed file is damaged: save it again or give it uncompressed."
            ) from None


def regular(batches: Iterable[pa.Table], n_rows: int, start: int = 0) -> Iterator[pa.Table]:
    """The same rows from ``start`` on in tables of ``n_rows`` rows, one chunk a column."""
    waiting: list[pa.Table] = []
    n_waiting = 0
    for batch in batches:
        if start >= batch.num_rows:
            start -= batch.num_rows
            continue
        batch, start = batch.slice(start), 0
        while n_waiting + batch.num_rows >= n_rows:
            n_first = n_rows - n_waiting
            yield pa.concat_tables([*waiting, batch.slice(0, n_first)]).combine_chunks()
            batch, waiting, n_waiting = batch.slice(n_first), [], 0
        if batch.num_rows:
            waiting.append(batch)
            n_waiting += batch.num_rows
    if waiting:
        yield pa.concat_tables(waiting).combine_chunks()
