"""The table that comes out: the input's columns and what was added, as CSV or Parquet."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet, types

from gbuq_core.presentation import LIVE_CELL, PLAIN_NUMBER, columns_named, csv_text, listed
from gbuq_core.tables.cleaning import Prepared, Target
from gbuq_core.tables.columns import plain_column, single_chunk
from gbuq_core.tables.predicting import Predictions
from gbuq_core.tables.reading import Table, free_name

ADDED_NAMES = (
    "prediction",
    "total_uncertainty",
    "data_uncertainty",
    "knowledge_uncertainty",
    "error",
    "fold",
    "in_training",
    "unseen_level",
    "new_missing",
)


class AddedColumns(NamedTuple):
    """Names of the added columns, in their order, and what they hold.

    Attributes
    ----------
    names : tuple of str
        ``prediction`` (in units of the target, or a class), ``total_uncertainty``,
        ``data_uncertainty`` and ``knowledge_uncertainty`` (variances of the target, or nats), and
        as far as they apply ``error`` (absolute error, or 1 for a wrong class; empty where the
        target is not known), ``fold``, ``in_training``, ``unseen_level``, ``new_missing``.
    units : tuple of str
        The unit of each, or an empty string.
    renamed : tuple of (str, str)
        Columns of the input that had one of these names, and what they are called instead.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]


def assemble_output(
    table: Table,
    scored: Prepared,
    predictions: Predictions,
    fold: NDArray[np.int64] | None,
    in_training: NDArray[np.bool_] | None,
) -> tuple[pd.DataFrame, AddedColumns, list[str]]:
    """The output table, its added columns, and a notice if input columns had to be renamed.

    Parameters
    ----------
    table : Table
        The one whose rows were scored.
    fold : ndarray of shape (n_rows,) or None
        1 to 5, or 0 for rows without a target.
    in_training : ndarray of shape (n_rows,) or None
    """
    names, notices = _input_names(table.names)
    columns: dict[str, Any] = {
        name: plain_column(single_chunk(table.data, position))
        for position, name in enumerate(names)
    }
    target = scored.target
    unit = "nats" if target.classes else f"variance, squared units of {target.name}"
    added: dict[str, tuple[Any, str]] = {
        "prediction": (
            predicted_values(predictions, target),
            "" if target.classes else f"units of {target.name}",
        ),
        "total_uncertainty": (predictions.uncertainty.total, unit),
        "data_uncertainty": (predictions.uncertainty.data, unit),
        "knowledge_uncertainty": (predictions.uncertainty.knowledge, unit),
    }
    errors = row_errors(scored, predictions)
    if not np.isnan(errors).all():
        error_unit = "1 if wrong" if target.classes else f"absolute, units of {target.name}"
        added["error"] = (errors, error_unit)
    if fold is not None:
        added["fold"] = (pd.Series(fold, dtype="Int64").mask(fold == 0), "")
    if in_training is not None:
        added["in_training"] = (in_training, "")
    added["unseen_level"] = (predictions.unseen_level, "")
    added["new_missing"] = (predictions.new_missing, "")
    columns |= {name: values for name, (values, _) in added.items()}
    frame = pd.DataFrame(columns, copy=False)
    units = tuple(unit for _, unit in added.values())
    renamed = tuple((old, new) for old, new in zip(table.names, names, strict=True) if old != new)
    return frame, AddedColumns(tuple(added), units, renamed), notices


def predicted_values(predictions: Predictions, target: Target) -> Any:
    """Predicted means, or class labels: whole numbers where that changes the letters of none."""
    if not target.classes:
        return predictions.loc
    codes = predictions.loc.astype(np.int64)
    labels: Any
    if all(_is_int64(label) for label in target.classes):
        labels = np.array([int(label) for label in target.classes], dtype=np.int64)
    else:
        labels = pd.array(list(target.classes), dtype="str")
    return pd.Series(labels[codes])


def _is_int64(label: str) -> bool:
    """Whether a label is written just as a whole number of 64 bits: not 01, 1_000 or 10**24."""
    try:
        number = int(label)
    except ValueError:
        return False
    return str(number) == label and -(2**63) <= number < 2**63


def row_errors(scored: Prepared, predictions: Predictions) -> NDArray[np.float64]:
    """Absolute error, or 1 for a wrong class and 0 for the right one; NaN without a target."""
    if not scored.target.classes:
        return np.abs(scored.y - predictions.loc)
    wrong = (scored.y != predictions.loc).astype(np.float64)
    return np.where(np.isnan(scored.y), np.nan, wrong)


def _input_names(names: list[str]) -> tuple[list[str], list[str]]:
    """The input's names, out of the way of the added ones."""
    taken = {*names, *ADDED_NAMES}
    kept, renamed = [], []
    for name in names:
        if name in ADDED_NAMES:
            name = free_name(f"{name} (input)", taken)
            renamed.append(name)
            taken.add(name)
        kept.append(name)
    if not renamed:
        return kept, []
    before = [name.removesuffix(" (input)") for name in renamed]
    return kept, [
        f"{columns_named(before)} of the file would clash with added columns and "
        f"{'is' if len(renamed) == 1 else 'are'} renamed to {listed(renamed)}."
    ]


_NEEDS_QUOTES = '[,"\\r\\n]'
_ROWS_AT_ONCE = 65_536


def to_csv_bytes(frame: pd.DataFrame) -> bytes:
    r"""The table as CSV in UTF-8, comma-separated, with a decimal point.

    Text cells and column names that begin with ``= + - @``, a tab or a carriage return get an
    apostrophe in front, so that spreadsheets show them and do not run them. Numbers are written as
    numbers, negative ones too, and so are text cells that are nothing but a number.

    The file is the one that `csv_text` would write, from Arrow's columns: for large tables.

    Examples
    --------
    >>> to_csv_bytes(pd.DataFrame({"cell": ["=1+1", "a, b"], "n": [-1.5, 2.0]})).decode()
    'cell,n\n\'=1+1,-1.5\n"a, b",2\n'
    """
    table = _as_arrow(frame)
    sink = io.BytesIO()
    sink.write(csv_text(table.column_names, ()).encode())
    for batch in table.to_batches(max_chunksize=_ROWS_AT_ONCE):
        cells = [pc.fill_null(_as_cells(column), "") for column in batch.columns]
        lines = pc.binary_join_element_wise(*cells, ",")
        if len(cells) == 1:  # an empty line would be no row
            lines = pc.if_else(pc.equal(lines, ""), '""', lines)
        sink.writelines(f"{line}\n".encode() for line in lines.to_pylist())
    return sink.getvalue()


def to_parquet_bytes(frame: pd.DataFrame) -> bytes:
    """The table as Parquet; cells keep their types and letters, since nothing runs them."""
    sink = io.BytesIO()
    parquet.write_table(_as_arrow(frame), sink, compression="zstd")
    return sink.getvalue()


def _as_arrow(frame: pd.DataFrame) -> Any:
    """Columns in the frame's order; text of any pandas type as plain strings."""
    arrays, names = [], []
    for position, name in enumerate(frame.columns):
        array = pa.Array.from_pandas(frame.iloc[:, position])
        if isinstance(array, pa.ChunkedArray):
            array = array.combine_chunks()
        if not types.is_string(array.type) and _is_text(array.type):
            array = array.cast(pa.string())
        arrays.append(array)
        names.append(str(name))
    return pa.table(arrays, names=names)


def _is_text(kind: Any) -> bool:
    return bool(
        types.is_large_string(kind)
        or types.is_string_view(kind)
        or types.is_dictionary(kind)
        or types.is_null(kind)
    )


def _as_cells(column: Any) -> Any:
    """What stands in the file: text harmless and quoted where it has to be, numbers as text."""
    is_text = types.is_string(column.type) or types.is_binary(column.type)
    column = column.cast(pa.string())
    if not is_text:
        return column
    live = pc.match_substring_regex(column, LIVE_CELL)
    if pc.any(live).as_py():
        live = pc.and_(live, pc.invert(pc.match_substring_regex(column, PLAIN_NUMBER)))
        column = pc.if_else(live, pc.binary_join_element_wise("'", column, ""), column)
    quoted = pc.match_substring_regex(column, _NEEDS_QUOTES)
    if pc.any(quoted).as_py():
        doubled = pc.replace_substring(column, '"', '""')
        column = pc.if_else(quoted, pc.binary_join_element_wise('"', doubled, '"', ""), column)
    return column
