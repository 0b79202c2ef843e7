"""The table to learn from when its file is larger than what is learnt from: a stratified sample.

The sample has of each class, or of each twentieth of the values of a numeric target, the share that
the file has. Rows without a target are left out.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.jobs import tick
from gbuq_core.presentation import listed, shown
from gbuq_core.streaming.blocks import BlockFile
from gbuq_core.tables.columns import Column, as_numbers, as_text, single_chunk
from gbuq_core.tables.files import Table
from gbuq_core.tables.schema import Clues, infer_column

_BLOCK_ROWS = 65_536
_MOST_LABELS = 200  # with more distinct values, a target is dealt by its size
_RANGES = 20
_MOST_FOR_EDGES = 1_000_000
_FEWEST_ROWS = 10
_FEWEST_OF_CLASS = 2  # one to learn from and one to check


def sample_table(
    file: BlockFile,
    target: str,
    n_rows: int,
    seed: int = 0,
    missing_values: tuple[str, ...] = (),
    keep_words: bool = False,
) -> Table:
    r"""So many rows of a file as a table to learn from, or all of them if there are no more.

    Parameters
    ----------
    file : BlockFile
        Read twice, block by block.
    target : str
    n_rows : int
    seed : int
    missing_values, keep_words
        What is a missing target; as in `gbuq_core.tables.edit_schema`.

    Returns
    -------
    Table
        Its rows are in the order of the file. A notice says how many they are and how they were
        drawn.

    Raises
    ------
    InvalidData
        If there is no such column.
    InvalidParameter
        For fewer than ten rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gbuq_core.streaming import open_blocks
    >>> path = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = path.write_text("x,y\n" + "".join(f"{i},{'ab'[i % 4 == 0]}\n" for i in range(100)))
    >>> table = sample_table(open_blocks(path), "y", 20)
    >>> table.n_rows, table.data["y"].to_pylist().count("b")
    (20, 5)
    >>> table.notices
    ('The model learns from 20 of 100 rows; each value of "y" has the share that it has in...',)
    """
    if n_rows < _FEWEST_ROWS:
        raise InvalidParameter(f"--train-rows must be at least {_FEWEST_ROWS}; got {n_rows}.")
    if target not in file.names:
        raise InvalidData(
            f"The table has no column {shown(target)}: the columns are {listed(file.names)}."
        )
    strata, n_all, by_class = _strata(file, target, missing_values, keep_words)
    chosen = draw_rows(strata, n_rows, seed)
    parts, start = [], 0
    for block in file.blocks(_BLOCK_ROWS):
        tick(0.0)
        low, high = np.searchsorted(chosen, [start, start + block.num_rows])
        if high > low:
            parts.append(block.take(chosen[low:high] - start))
        start += block.num_rows
    if not parts:
        raise InvalidData(
            f"The target {shown(target)} is missing in all rows: choose another column."
        )
    data = pa.concat_tables(parts).combine_chunks()
    notices = list(file.notices)
    if len(chosen) < n_all:
        how = (
            f"each value of {shown(target)}"
            if by_class
            else (f"each twentieth of the values of {shown(target)}")
        )
        notices.append(
            f"The model learns from {len(chosen):,} of {n_all:,} rows; {how} has the share that it "
            "has in the file."
        )
    return Table(data, file.source, tuple(notices), np.zeros(0, np.int64))


def draw_rows(strata: NDArray[np.int32], n_rows: int, seed: int) -> NDArray[np.int64]:
    """Positions of a stratified sample, in order."""
    sizes = np.bincount(strata[strata >= 0])
    if n_rows >= sizes.sum():
        return np.flatnonzero(strata >= 0)
    exact = sizes * (n_rows / sizes.sum())
    shares = np.maximum(np.floor(exact).astype(np.int64), np.minimum(_FEWEST_OF_CLASS, sizes))
    order = np.argsort(np.floor(exact) - exact, kind="stable")
    short = max(0, n_rows - int(shares.sum()))
    room = [stratum for stratum in order if shares[stratum] < sizes[stratum]]
    shares[room[:short]] += 1
    rng = np.random.default_rng((seed, 29))
    parts = [
        rng.choice(np.flatnonzero(strata == stratum), share, replace=False)
        for stratum, share in enumerate(shares)
        if share
    ]
    return np.sort(np.concatenate(parts))


def _strata(
    file: BlockFile, target: str, missing_values: tuple[str, ...], keep_words: bool
) -> tuple[NDArray[np.int32], int, bool]:
    """The stratum of each row, how many rows there are, and whether strata are classes."""
    codes: list[NDArray[np.int32]] = []
    numbers: list[NDArray[np.float64]] = []
    known: dict[str, int] = {}
    column: Column | None = None
    for block in file.blocks(_BLOCK_ROWS):
        tick(0.0)
        array = single_chunk(block, target)
        is_text = types.is_string(array.type)
        if column is None:  # the first block shows how the target is written
            clues = Clues(file.source.mark)
            column = infer_column(target, array, clues, missing_values, keep_words)
        missing = column.missing
        text = as_text(array, missing) if is_text or len(known) <= _MOST_LABELS else array
        if len(known) <= _MOST_LABELS:
            coded = text.dictionary_encode()
            for label in coded.dictionary.to_pylist():
                known.setdefault(label, len(known))
            code_of = [known[label] for label in coded.dictionary.to_pylist()]
            places = coded.indices.fill_null(len(code_of)).to_numpy(zero_copy_only=False)
            codes.append(np.array([*code_of, -1], np.int32)[places])
        numbers.append(as_numbers(array, column).values)
    n_all = sum(map(len, numbers))
    if len(known) <= _MOST_LABELS:
        return np.concatenate(codes) if codes else np.empty(0, np.int32), n_all, True
    codes.clear()
    step = max(1, n_all // _MOST_FOR_EDGES)
    some = np.concatenate([values[np.isfinite(values)][::step] for values in numbers])
    if not len(some):
        return np.zeros(n_all, np.int32), n_all, True
    edges = np.quantile(some, np.arange(1, _RANGES) / _RANGES)
    strata = np.empty(n_all, np.int32)
    at = 0
    for values in numbers:
        ranges = np.searchsorted(edges, values)
        strata[at : at + len(values)] = np.where(np.isfinite(values), ranges, -1)
        at += len(values)
    return strata, n_all, False
