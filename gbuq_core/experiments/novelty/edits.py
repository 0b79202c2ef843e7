"""Eraser and painter: edits of the training rows under a lasso, and the cells they name.

An edit names cells of the map rather than rows, so that it means the same for more rows, other
noise and another seed, and fits into a link (see `links`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.novelty.data import (
    N_CELLS,
    SIDE,
    Array,
    Mask,
    Whole,
)
from gbuq_core.validation import check_choice, check_number

_AROUND = 6  # cells on each side
EDIT_KINDS = ("remove", "add", "duplicate", "flip")
MOST_EDITS, MOST_COPIES, MOST_LABEL = 20, 20, 99

Runs = tuple[tuple[int, int], ...]


class Edit(NamedTuple):
    """One edit of the training rows."""

    # {"remove", "add", "duplicate", "flip"}: "flip" swaps two classes, turns each of more classes
    # into the next one (the last into the first), and mirrors numbers about the mean of all rows
    # before any edit
    kind: str
    runs: Runs  # the cells, as stretches of flat cell numbers: ascending, apart, none empty
    label: int | None = None  # the class code of rows that are added
    value: float | None = None  # their target, in a regression
    # rows that are added to every cell, or further copies of every row; 1 for the other kinds
    copies: int = 1


def edit_of(
    kind: str,
    cells: Sequence[Any] | npt.NDArray[Any],
    label: int | None = None,
    value: float | None = None,
    copies: int = 1,
) -> Edit:
    """An edit of the cells under a lasso."""
    adds = kind == "add"
    return check_edit(
        Edit(
            kind,
            runs_of(cells),
            label if adds else None,
            value if adds else None,
            copies if kind in ("add", "duplicate") else 1,
        )
    )


def cells_around(cell: tuple[int, int]) -> list[tuple[int, int]]:
    """The cells of a square around a (row, column) from 0, as far as the map goes.

    >>> len(cells_around((30, 30))), len(cells_around((0, 59)))
    (169, 49)
    """
    row, column = (range(max(0, at - _AROUND), min(SIDE, at + _AROUND + 1)) for at in cell)
    return [(y, x) for y in row for x in column]


def check_edit(edit: Edit) -> Edit:
    """The same edit with plain numbers, if it makes sense on any data."""
    check_choice("edit", edit.kind, EDIT_KINDS)
    if not edit.runs:
        raise InvalidParameter("An edit needs at least one cell: draw a lasso over the map first.")
    runs = []
    for run in edit.runs:
        first, length = run
        first = check_number("cell", first, 0, N_CELLS - 1, integer=True)
        length = check_number("cells", length, 1, N_CELLS - first, integer=True)
        runs.append((first, length))
    if any(before[0] + before[1] >= after[0] for before, after in pairwise(runs)):
        raise InvalidParameter("The cells of an edit must be ascending stretches that lie apart.")
    label, value = edit.label, edit.value
    if label is not None:
        label = check_number("label", label, 0, MOST_LABEL, integer=True)
    if value is not None:
        # As links keep it, so that a shared picture is the same to the last digit.
        value = float(np.float32(check_number("value", value, -1e9, 1e9)))
    copies = check_number("copies", edit.copies, 1, MOST_COPIES, integer=True)
    return Edit(edit.kind, tuple(runs), label, value, copies)


def check_edits(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """All edits, checked; at most 20 of them."""
    if len(edits) > MOST_EDITS:
        raise InvalidParameter(
            f"At most {MOST_EDITS} edits fit into a link; got {len(edits)}: undo one first."
        )
    return tuple(check_edit(edit) for edit in edits)


def runs_of(cells: Sequence[Any] | npt.NDArray[Any]) -> Runs:
    """Cells, flat or as (row, column), as ascending stretches (first, length)."""
    try:
        numbers = np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([math.nan])
    if numbers.size == 0:
        return ()
    if numbers.ndim == 2 and numbers.shape[1] == 2:
        inside = ((numbers >= 0) & (numbers < SIDE)).all()
        numbers = numbers[:, 0] * SIDE + numbers[:, 1] if inside else np.array([math.nan])
    whole = numbers.ndim == 1 and (numbers == np.floor(numbers)).all()
    if not whole or not ((numbers >= 0) & (numbers < N_CELLS)).all():
        raise InvalidParameter(
            f"cells must be whole numbers from 0 to {N_CELLS - 1}, or pairs (row, column) from 0 "
            f"to {SIDE - 1}."
        )
    flat = np.unique(numbers.astype(np.int64))
    starts = np.flatnonzero(np.diff(flat, prepend=-2) > 1)
    lengths = np.diff(starts, append=len(flat))
    return tuple(zip(flat[starts].tolist(), lengths.tolist(), strict=True))


def cells_of(runs: Runs) -> Whole:
    """The flat cell numbers of stretches, ascending."""
    stretches = [np.arange(first, first + length) for first, length in runs]
    return np.concatenate(stretches) if stretches else np.empty(0, np.int64)


def mask_of(runs: Runs) -> Mask:
    """Which of the 3,600 cells the stretches hold."""
    mask = np.zeros(N_CELLS, dtype=bool)
    mask[cells_of(runs)] = True
    return mask


def cells_within(axes: tuple[Array, Array], polygon: Sequence[tuple[float, float]]) -> Whole:
    """The cells whose middle lies inside a polygon, by the even-odd rule."""
    corners = np.asarray(polygon, dtype=np.float64)
    if corners.ndim != 2 or corners.shape[1] != 2 or not np.isfinite(corners).all():
        raise InvalidParameter("A polygon must be pairs (x, y) of finite numbers.")
    x, y = (values.ravel() for values in np.meshgrid(*axes))
    inside = np.zeros(len(x), dtype=bool)
    for (x0, y0), (x1, y1) in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        if y0 == y1:
            continue
        crosses = ((y0 <= y) != (y1 <= y)) & (x < x0 + (y - y0) * (x1 - x0) / (y1 - y0))
        inside ^= crosses
    return np.flatnonzero(inside)
