"""Training rows that are erased around places of the map, which clicks choose and links keep.

A place names a cell rather than rows, so that it means the same for more rows, other noise and
another seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.experiments.novelty.data import SIDE, Array, Mask, NoveltyData, Whole
from gbuq_core.validation import check_number

AROUND = 4  # cells on each side of a place, which lose their rows with it
MOST_PLACES, FEWEST_ROWS = 20, 50

Place = tuple[int, int]  # the row and the column of a cell, from 0


def read_places(text: str) -> tuple[Place, ...]:
    """Places of a link, which counts columns and rows from 1.

    >>> read_places("21_35~40_12")
    ((34, 20), (11, 39))
    """
    pairs = (pair.split("_") for pair in text.split("~") if pair)
    return tuple((int(row) - 1, int(column) - 1) for column, row in pairs)


def write_places(places: Sequence[Place]) -> str:
    """The text of places."""
    return "~".join(f"{column + 1}_{row + 1}" for row, column in places)


def check_places(places: Sequence[Place]) -> None:
    """Refuse places that are no cells of the map, and more than 20 of them."""
    if len(places) > MOST_PLACES:
        raise InvalidParameter(
            f"Rows can be erased at {MOST_PLACES} places at most; got {len(places)}. Undo one "
            "first."
        )
    for place in places:
        if len(place) != 2:
            raise InvalidParameter(f"A place in erased is a row and a column; got {place!r}.")
        for at in place:
            check_number("erased", at, 0, SIDE - 1, integer=True)


def span_around(at: int) -> tuple[int, int]:
    """The first of the cells around one, along one axis, and the cell behind the last.

    >>> span_around(30), span_around(0)
    ((26, 35), (0, 5))
    """
    return max(0, at - AROUND), min(SIDE, at + AROUND + 1)


def squares_around(places: Sequence[Place]) -> Mask:
    """Which of the 3,600 cells lie in a square around one of the places."""
    squares = np.zeros((SIDE, SIDE), dtype=bool)
    for place in places:
        (bottom, top), (left, right) = map(span_around, place)
        squares[bottom:top, left:right] = True
    return squares.ravel()


class KeptRows(NamedTuple):
    """The training rows that are left."""

    # `X`, `y`: (n_rows, n_features), (n_rows,)
    X: Array
    y: npt.NDArray[np.float64 | np.int64]
    origin: Whole  # (n_rows,): which row of the data each is


def rows_in(data: NoveltyData, places: Sequence[Place]) -> Mask:
    """Which of the data's rows (n_rows,) lie in a square around one of the places."""
    return np.asarray((data.cell >= 0) & squares_around(places)[data.cell])


def erase_rows(data: NoveltyData, places: Sequence[Place]) -> KeptRows:
    """The rows without those in the squares around the places."""
    check_places(places)
    origin = np.flatnonzero(~rows_in(data, places))
    rows = KeptRows(data.X[origin], data.y[origin], origin)
    if places:
        _check_left(data, rows)
    return rows


def _check_left(data: NoveltyData, rows: KeptRows) -> None:
    if data.task == "classification":
        there = np.bincount(rows.y.astype(np.int64), minlength=len(data.classes))
        gone = [name for name, count in zip(data.classes, there, strict=True) if not count]
        if gone:
            raise InvalidData(f"No training row of {' or of '.join(gone)} would be left.")
    elif len(np.unique(rows.y)) < 2:
        raise InvalidData("Only rows with one and the same target would be left.")
    if len(rows.y) < FEWEST_ROWS:
        raise InvalidData(
            f"Only {len(rows.y)} training rows would be left. A forest needs at least "
            f"{FEWEST_ROWS}."
        )
