"""Where rows lie in a picture of one or two columns, and the cells of a map over two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.presentation import listed

Array = npt.NDArray[np.float64]
Columns = int | str | Sequence[int | str] | None

_MOST_SIDE = 200  # cells of an even grid
_FEWEST, _MOST_CELLS = 8, 48  # cells a side, where rows are averaged


class Places(NamedTuple):
    """Where rows lie in a picture."""

    names: tuple[str, ...]  # of the one or two columns
    values: Array  # (n_rows, 1 or 2)
    at: tuple[int, ...]  # their positions in the table
    width: int  # how many columns the table has


class MapCells(NamedTuple):
    """The cells of a map: (low, high) of both axes, (ny, nx), and the rows' cells, -1 for none."""

    x_extent: tuple[float, float]
    y_extent: tuple[float, float]
    shape: tuple[int, int]
    cell: npt.NDArray[np.int64]

    def mean(self, values: Array) -> Array:
        """The mean of the rows in each cell, (ny, nx); NaN where none is."""
        inside = (self.cell >= 0) & np.isfinite(values)
        size = self.shape[0] * self.shape[1]
        rows = np.bincount(self.cell[inside], minlength=size)
        total = np.bincount(self.cell[inside], values[inside], minlength=size)
        means: Array = np.where(rows > 0, total / np.maximum(rows, 1), np.nan)
        return means.reshape(self.shape)


def read_places(X: Any, n_rows: int | None = None, columns: Columns = None) -> Places:
    """The one or two columns of a table that a picture shows."""
    names, table = _table_of(X)
    if n_rows is not None and len(table) != n_rows:
        raise InvalidData(
            f"X must have the {n_rows} rows that the result is for; it has {len(table)}."
        )
    chosen = _chosen(names, table, columns)
    values = np.empty((len(table), len(chosen)))
    for place, column in enumerate(chosen):
        try:
            values[:, place] = np.asarray(table[:, column], dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidData(
                f"A picture needs columns of numbers; {names[column]} is not one."
            ) from error
    if not np.isfinite(values).all(axis=1).any():
        raise InvalidData("A picture needs at least one row without missing values.")
    labels = tuple(names[column] for column in chosen)
    return Places(labels, values, tuple(chosen), len(names))


def lay_cells(values: Array) -> MapCells:
    """Cells over rows of two columns: their own grid where it is even, else some rows a cell."""
    there = np.isfinite(values).all(axis=1)
    known = values[there]
    grids = [_even_steps(column) for column in known.T]
    n_cells = math.prod(count for _, _, count in grids)
    if n_cells > 2 * len(np.unique(known, axis=0)):
        side = int(np.clip(math.sqrt(len(known)) / 1.5, _FEWEST, _MOST_CELLS))
        grids = [_spread(column, side) for column in known.T]
    cell = np.full(len(values), -1)
    (x0, x_step, nx), (y0, y_step, ny) = grids
    column = np.clip(((known[:, 0] - x0) / x_step).astype(np.int64), 0, nx - 1)
    row = np.clip(((known[:, 1] - y0) / y_step).astype(np.int64), 0, ny - 1)
    cell[there] = row * nx + column
    return MapCells((x0, x0 + nx * x_step), (y0, y0 + ny * y_step), (ny, nx), cell)


def _even_steps(column: Array) -> tuple[float, float, int]:
    """Low end, step and number of the cells around evenly spaced values; too many elsewhere."""
    values = np.unique(column)
    if len(values) == 1:
        return float(values[0]) - 0.5, 1.0, 1
    # Rounding leaves copies of a value a few bits apart.
    steps = np.diff(values)
    values = values[np.append(True, steps > 1e-9 * float(np.ptp(values)))]
    step = float(np.diff(values).min())
    count = round(float(np.ptp(values)) / step) + 1
    place = (values - values[0]) / step
    if count > _MOST_SIDE or np.abs(place - np.rint(place)).max() > 1e-3:
        return float(values[0]), 1.0, _MOST_SIDE**2
    step = float(np.ptp(values)) / (count - 1)  # the mean of all steps: less rounding
    return float(values[0]) - 0.5 * step, step, count


def _spread(column: Array, side: int) -> tuple[float, float, int]:
    low, high = float(column.min()), float(column.max())
    if low == high:
        return low - 0.5, 1.0, 1
    return low, (high - low) / side, side


def same_columns(
    X: Any, places: Places, names: tuple[str, str], n_rows: int | None = None
) -> Array:
    """The places of another table's rows; ``names`` are that table's and the first one's."""
    others, table = _table_of(X)
    columns: Sequence[int | str] = places.names
    named = getattr(X, "columns", None) is not None
    if not named or not set(places.names) <= set(others):
        columns = places.at if table.shape[1] == places.width else range(table.shape[1])
    if len(columns) != len(places.names):
        raise InvalidData(
            f"{names[0]} must have the columns of {names[1]}; it has {table.shape[1]}, and "
            f"{names[1]} has {places.width}."
        )
    return read_places(X, n_rows, columns).values


def _table_of(X: Any) -> tuple[list[str], npt.NDArray[Any]]:
    """Names of the columns, and the cells (n_rows, n_features)."""
    named = getattr(X, "columns", None)
    table = np.asarray(X)
    if table.ndim == 1:
        return [str(getattr(X, "name", None) or "x")], table[:, None]
    if table.ndim != 2 or 0 in table.shape:
        raise InvalidData(f"X must have rows and columns; its shape is {table.shape}.")
    n = table.shape[1]
    if named is not None:
        return [str(name) for name in named], table
    return (["x"] if n == 1 else [f"feature {i + 1}" for i in range(n)]), table


def _chosen(names: Sequence[str], table: npt.NDArray[Any], columns: Columns) -> list[int]:
    if columns is not None:
        wanted = [columns] if isinstance(columns, int | str) else list(columns)
        if not 1 <= len(wanted) <= 2:
            raise InvalidParameter(f"A picture shows one or two columns; got {len(wanted)}.")
        return [_position(names, column) for column in wanted]
    if len(names) <= 2:
        return list(range(len(names)))
    # Missing values are equal to nothing, themselves included.
    varying = [i for i in range(len(names)) if (table[:, i] != table[0, i]).any()]
    if not 1 <= len(varying) <= 2:
        raise InvalidParameter(
            f"A picture shows one or two columns, and {len(varying)} of the {len(names)} columns "
            "of X vary; name one or two in columns."
        )
    return varying


def _position(names: Sequence[str], column: int | str) -> int:
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    if not isinstance(column, str) and -len(names) <= column < len(names):
        return range(len(names))[column]
    raise InvalidParameter(f"X has no column {column!r}; its columns are {listed(names)}.")
