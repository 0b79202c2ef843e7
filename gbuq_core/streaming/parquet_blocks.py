"""Parquet in blocks of rows: by row groups, and large row groups in batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet, types

from gbuq_core.errors import TableError
from gbuq_core.presentation import counted, shown
from gbuq_core.streaming.parts import digest_file
from gbuq_core.streaming.pieces import regular
from gbuq_core.tables import limits
from gbuq_core.tables.files import Source, unique_names
from gbuq_core.tables.parquet_file import (
    decoded,
    flat_columns,
    index_columns,
    left_out_notices,
    period_lengths,
    plain_cells,
    text_bytes,
)
from gbuq_core.tables.plan import ReadOptions

# Of a column's pages; without it, the whole column of a row group would be read at once.
_BUFFER_BYTES = 2**18
_MOST_ROWS_AT_ONCE = 65_536
_DAMAGED = "The Parquet file is damaged, or this kind cannot be read: save it again or as CSV."


class ParquetBlocks:
    """A Parquet file as blocks of rows; see `gbuq_core.streaming.blocks.BlockFile`."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()  # other processes read it too
        with self._file() as file:
            names, self._leaves, self._text = flat_columns(file.schema_arrow)
            self._periods = period_lengths(file.schema_arrow)
            notices = left_out_notices(file.schema_arrow)
            index = tuple(name for name in index_columns(file.schema_arrow) if name in names)
            self.n_rows: int | None = int(file.metadata.num_rows)
        limits.check_columns(len(names))
        self.names, self.notices = unique_names(names)
        self.notices += notices
        self._said: set[str] = set()
        summary = f"Read as Parquet with {counted(len(names), 'column')}."
        self.source = Source(
            path.name,
            "parquet",
            path.stat().st_size,
            digest_file(path),
            ReadOptions(),
            summary,
            index_columns=index,
        )

    def blocks(self, n_rows: int, start: int = 0) -> Iterator[pa.Table]:
        """Blocks of ``n_rows`` rows from row ``start`` on; the last one may be shorter."""
        row = start
        for table in regular(self._batches(start, n_rows), n_rows):
            yield table
            row += table.num_rows
        if row != self.n_rows:
            raise TableError(_DAMAGED)

    def _file(self, text: list[int] | None = None) -> Any:
        try:
            return parquet.ParquetFile(
                self._path, read_dictionary=text, buffer_size=_BUFFER_BYTES, pre_buffer=False
            )
        except (pa.ArrowException, OSError, ValueError):
            raise TableError(_DAMAGED) from None

    def _batches(self, start: int, n_rows: int) -> Iterator[pa.Table]:
        """The rows from ``start`` on, in the pieces in which the file gives them."""
        with self._file(self._text) as file:
            groups: list[int] = []
            for group in range(file.metadata.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                if groups or start < size:
                    groups.append(group)
                else:
                    start -= size
            batches = file.reader.iter_batches(
                min(n_rows, _MOST_ROWS_AT_ONCE),
                row_groups=groups,
                column_indices=self._leaves,
                use_threads=True,
            )
            try:
                for batch in batches:
                    if start >= batch.num_rows:
                        start -= batch.num_rows
                        continue
                    yield self._plain(batch.slice(start))
                    start = 0
            except (pa.ArrowException, OSError):
                raise TableError(_DAMAGED) from None

    def _plain(self, batch: Any) -> pa.Table:
        """Columns of the few types that tables have."""
        columns = []
        for name, column, period in zip(self.names, batch.columns, self._periods, strict=True):
            chunked = pa.chunked_array([column])
            if types.is_dictionary(column.type):
                limits.check_text(text_bytes(chunked), name)
            cells, n_far = plain_cells(decoded(chunked), period)
            if types.is_string(cells.type):
                limits.check_cell_sizes(name, cells)
                cells.validate(full=True)
            if n_far and name not in self._said:
                self._said.add(name)
                self.notices.append(
                    f"The column {shown(name)} has dates outside the years 1 to 9999, which count "
                    "as missing."
                )
            columns.append(cells)
        return pa.table(columns, names=self.names)
