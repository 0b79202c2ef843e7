"""A file as blocks of rows: which reader it needs, and how large it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gbuq_core.errors import TableError
from gbuq_core.jobs import tick
from gbuq_core.presentation import shown
from gbuq_core.streaming.pieces import plain_pieces, read_head, regular
from gbuq_core.tables import no_data
from gbuq_core.tables.columns import single_chunk
from gbuq_core.tables.decoding import MAX_FILE_BYTES
from gbuq_core.tables.files import Source
from gbuq_core.tables.limits import MAX_CELLS
from gbuq_core.tables.plan import ReadOptions

_COUNTED_ROWS = 65_536


class BlockFile(Protocol):
    """A file that gives its rows block by block, each time from the beginning.

    Attributes
    ----------
    source : Source
        As the one-piece reader describes it.
    names : list of str
        Unique names of the columns.
    notices : list of str
        What had to be decided. Complete once all rows have been read.
    n_rows : int or None
        None if the file does not say so and not all rows have been read yet.
    """

    source: Source
    names: list[str]
    notices: list[str]
    n_rows: int | None

    def blocks(self, n_rows: int, start: int = 0) -> Iterator[pa.Table]:
        """Blocks of ``n_rows`` rows from row ``start`` on; the last one may be shorter."""
        ...


class KeptBlocks:
    """A file without the rows that are no data."""

    def __init__(self, file: BlockFile, stays: NDArray[np.bool_]) -> None:
        self._file, self._stays = file, stays
        self.source, self.names, self.notices = file.source, file.names, file.notices
        self.n_rows: int | None = int(stays.sum())
        self.numbers = np.flatnonzero(stays) + 1  # of the rows, as blocks count them

    def blocks(self, n_rows: int, start: int = 0) -> Iterator[pa.Table]:
        """Blocks of ``n_rows`` rows from row ``start`` on; the last one may be shorter."""
        first = int(self.numbers[start]) - 1 if start < len(self.numbers) else len(self._stays)

        def kept() -> Iterator[pa.Table]:
            at = first
            for block in self._file.blocks(n_rows, first):
                yield block.filter(pa.array(self._stays[at : at + block.num_rows]))
                at += block.num_rows

        return regular(kept(), n_rows)


def kept_rows(file: BlockFile) -> tuple[BlockFile, list[str]]:
    """A file to score without totals, repeated headers and footers, as it is read in one piece."""
    if file.source.format != "csv" or file.source.options.keep_rows:
        return file, []

    def columns() -> Iterator[no_data.Columns]:
        for block in file.blocks(_COUNTED_ROWS):
            tick(0.0)
            yield [(name, single_chunk(block, name)) for name in block.column_names]

    stays, _, notices = no_data.find_rows(columns, None, file.source.mark.decimal)
    if stays.all():
        return file, []
    return KeptBlocks(file, stays), [f"Second file: {notice}" for notice in notices]


def is_too_large(path: str | os.PathLike[str]) -> bool:
    """Whether a file is above what is read in one piece: 250 MB, or 30 million cells.

    Raises
    ------
    TableError
        If the file cannot be read.

    Examples
    --------
    >>> is_too_large(__file__)
    False
    """
    path = Path(path)
    if not path.is_file():  # a pipe can be read once only; a name that is not there is told later
        return False
    head = read_head(path, 4096)
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        return True
    if head.plain.startswith(b"PAR1") and not head.packed:
        file = open_blocks(path, to_score=True)
        return (file.n_rows or 0) * len(file.names) > MAX_CELLS
    if head.packed:
        size = 0
        for piece in plain_pieces(path, packed=True):
            size += len(piece)
            if size > MAX_FILE_BYTES:
                return True
    if size < 2 * MAX_CELLS:  # a cell and its mark take two bytes
        return False
    file = open_blocks(path, to_score=True)
    return count_rows(file) * len(file.names) > MAX_CELLS


def count_rows(file: BlockFile) -> int:
    """How many rows a file has; it is read if it does not say so."""
    if file.n_rows is None:
        for _ in file.blocks(_COUNTED_ROWS):
            tick(0.0)
    assert file.n_rows is not None
    return file.n_rows


def open_blocks(
    path: str | os.PathLike[str], options: ReadOptions | None = None, *, to_score: bool = False
) -> BlockFile:
    r"""A file as blocks of rows: Parquet, or separated text (also gzipped).

    Encoding, delimiter, header and names are what `gbuq_core.tables.read_table` finds.

    Parameters
    ----------
    path : str or path
    options : ReadOptions, optional
    to_score : bool
        Whether a single column is enough.

    Raises
    ------
    TableError
        One sentence, such as for a workbook, which is only read in one piece.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text('x;y\n1,5;"two\nlines"\n2;b\n3;c\n')
    >>> file = open_blocks(path)
    >>> file.names, [block.num_rows for block in file.blocks(2)]
    (['x', 'y'], [2, 1])
    """
    from gbuq_core.streaming.parquet_blocks import ParquetBlocks
    from gbuq_core.streaming.text_blocks import TextBlocks

    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise TableError(
            f"{shown(path.name)} is a device or a pipe, which cannot be read twice: save it as a "
            "file first."
        )
    head = read_head(path, 4096)
    if head.plain.startswith(b"PAR1"):
        if head.packed:
            raise TableError("A Parquet file inside gzip cannot be read in blocks: unpack it.")
        return ParquetBlocks(path)
    if head.plain.startswith(b"PK"):
        raise TableError(
            "An Excel file is only read in one piece: save it as CSV or Parquet to stream it."
        )
    return TextBlocks(path, head.packed, options or ReadOptions(), to_score)
