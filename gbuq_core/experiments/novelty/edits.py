"""Eraser and painter: edits of the training rows under a lasso, and the cells they name.

An edit names cells of the map rather than rows, so that it means the same for more rows, other
noise and another seed, and fits into a link (see `links`).
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.experiments.novelty.data import (
    N_CELLS,
    SIDE,
    Array,
    Mask,
    NoveltyData,
    Whole,
)
from gbuq_core.presentation import short
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


MOST_CHARACTERS = 1500
_VERSION = 1
_CHECK_BYTES = 3
_BROKEN = "The edits in the link are damaged; they were left out."


def encode_edits(edits: Sequence[Edit]) -> str:
    """Edits as a text of letters, digits, ``-`` and ``_``; empty without edits."""
    edits = check_edits(edits)
    if not edits:
        return ""
    payload = bytearray([_VERSION])
    for edit in edits:
        kind = EDIT_KINDS.index(edit.kind)
        flags = kind | (4 if edit.label is not None else 0) | (8 if edit.value is not None else 0)
        payload.append(flags | (16 if edit.copies != 1 else 0))
        if edit.copies != 1:
            payload.append(edit.copies)
        if edit.label is not None:
            payload.append(edit.label)
        if edit.value is not None:
            payload += struct.pack("<f", edit.value)
        _append_number(payload, len(edit.runs))
        end = 0
        for first, length in edit.runs:
            _append_number(payload, first - end)
            _append_number(payload, length)
            end = first + length
    payload += _checksum(payload)
    text = base64.urlsafe_b64encode(bytes(payload)).decode().rstrip("=")
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameter(
            f"These edits take {len(text):,} characters of a link, and {MOST_CHARACTERS:,} is the "
            "most: undo one, or draw a simpler outline."
        )
    return text


def decode_edits(text: str) -> tuple[Edit, ...]:
    """The edits of a text that `encode_edits` made."""
    if not isinstance(text, str):
        raise InvalidParameter(_BROKEN)
    if not text:
        return ()
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameter(
            f"The edits in the link take {len(text):,} characters, and {MOST_CHARACTERS:,} is the "
            "most; they were left out."
        )
    try:
        padded = text.encode("ascii") + b"=" * (-len(text) % 4)
        payload = base64.b64decode(padded, altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise InvalidParameter(_BROKEN) from None
    body, check = payload[:-_CHECK_BYTES], payload[-_CHECK_BYTES:]
    if not body or check != _checksum(body):
        raise InvalidParameter(_BROKEN)
    if body[0] != _VERSION:
        raise InvalidParameter(
            "The edits in the link come from another version of this page; they were left out."
        )
    try:
        return check_edits(_read_edits(_Reader(body[1:])))
    except (IndexError, struct.error):
        raise InvalidParameter(_BROKEN) from None


class _Reader:
    """Bytes that are read from the front; IndexError or struct.error where there are no more."""

    def __init__(self, body: bytes) -> None:
        self.body, self.at = body, 0

    def byte(self) -> int:
        self.at += 1
        return self.body[self.at - 1]

    def number(self) -> int:
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 28:
                raise IndexError

    def real(self) -> float:
        (value,) = struct.unpack_from("<f", self.body, self.at)
        self.at += 4
        if not math.isfinite(value):
            raise IndexError
        return float(value)


def _read_edits(reader: _Reader) -> list[Edit]:
    edits: list[Edit] = []
    while reader.at < len(reader.body):
        flags = reader.byte()
        if flags > 31 or len(edits) == MOST_EDITS:
            raise IndexError
        copies = reader.byte() if flags & 16 else 1
        label = reader.byte() if flags & 4 else None
        value = reader.real() if flags & 8 else None
        runs, end = [], 0
        for _ in range(reader.number()):
            first = end + reader.number()
            end = first + reader.number()
            runs.append((first, end - first))
        edits.append(Edit(EDIT_KINDS[flags & 3], tuple(runs), label, value, copies))
    return edits


def _append_number(payload: bytearray, value: int) -> None:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    while value > 127:
        payload.append(value & 127 | 128)
        value >>= 7
    payload.append(value)


def _checksum(body: bytes | bytearray) -> bytes:
    return zlib.crc32(body).to_bytes(4, "little")[:_CHECK_BYTES]


FEWEST_ROWS, MOST_ROWS_AFTER = 50, 10_000
_EDIT_STREAM = 5  # of the seed: where added rows lie within their cells


class EditOutcome(NamedTuple):
    """How many rows an edit removed, added or changed, and a sentence."""

    n_rows: int
    text: str


class EditedRows(NamedTuple):
    """Training rows after the edits."""

    # `X`, `y`: (n_rows, n_features)
    X: Array
    y: npt.NDArray[np.float64 | np.int64]
    cell: Whole  # (n_rows,): the number of each row's cell; -1 outside the map
    origin: Whole  # (n_rows,): which row it was before any edit; -1 for one that was added
    outcomes: tuple[EditOutcome, ...]  # one an edit


def apply_edits(data: NoveltyData, edits: Sequence[Edit], seed: int = 0) -> EditedRows:
    """The training rows after the edits, in order; the same every time."""
    edits = check_edits(edits)
    whole = np.arange(len(data.y), dtype=np.int64)
    rows = EditedRows(data.X, data.y, data.cell, whole, ())
    for number, edit in enumerate(edits):
        mask = mask_of(edit.runs)
        hit = (rows.cell >= 0) & mask[rows.cell]
        if edit.kind == "remove":
            rows = _keep(rows, ~hit)
        elif edit.kind == "flip":
            rows = rows._replace(y=np.where(hit, _flipped(data, rows.y), rows.y))
        elif edit.kind == "duplicate":
            again = np.repeat(np.flatnonzero(hit), edit.copies)
            _check_many(len(rows.y) + len(again))
            rows = _keep(rows, np.concatenate([np.arange(len(rows.y)), again]))
        else:
            rows = _added(data, rows, edit, np.random.default_rng([seed, _EDIT_STREAM, number]))
        outcome = _outcome(data, edit, int(mask.sum()), int(hit.sum()))
        rows = rows._replace(outcomes=(*rows.outcomes, outcome))
    if edits:
        _check_left(data, rows)
    return rows


def _keep(rows: EditedRows, index: npt.NDArray[Any]) -> EditedRows:
    return EditedRows(
        rows.X[index], rows.y[index], rows.cell[index], rows.origin[index], rows.outcomes
    )


def _flipped(
    data: NoveltyData, y: npt.NDArray[np.float64 | np.int64]
) -> npt.NDArray[np.float64 | np.int64]:
    if data.task == "regression":
        return np.asarray(2.0 * float(data.y.mean()) - y, dtype=np.float64)
    return (y.astype(np.int64) + 1) % len(data.classes)


def _added(data: NoveltyData, rows: EditedRows, edit: Edit, rng: np.random.Generator) -> EditedRows:
    """The rows with ``copies`` new ones in every cell, anywhere within it."""
    if data.task == "regression":
        if edit.value is None:
            raise InvalidParameter(
                f"Rows that are added need a number as their {data.target_name}."
            )
        target: float | int = edit.value
    else:
        if edit.label is None or edit.label >= len(data.classes):
            raise InvalidParameter(
                f"Rows that are added need one of the {len(data.classes)} classes of these data, "
                f"from 0 to {len(data.classes) - 1}; got {edit.label!r}."
            )
        target = edit.label
    cells = np.repeat(cells_of(edit.runs), edit.copies)
    _check_many(len(rows.y) + len(cells))
    steps = np.array([axis[1] - axis[0] for axis in data.axes])
    X = data.grid[cells] + steps * (rng.random((len(cells), 2)) - 0.5)
    if data.X.shape[1] == 3:
        X = np.column_stack([X, rng.standard_normal(len(cells))])
    return EditedRows(
        np.concatenate([rows.X, X]),
        np.concatenate([rows.y, np.full(len(cells), target, dtype=rows.y.dtype)]),
        np.concatenate([rows.cell, cells]),
        np.concatenate([rows.origin, np.full(len(cells), -1, dtype=np.int64)]),
        rows.outcomes,
    )


def _outcome(data: NoveltyData, edit: Edit, n_cells: int, n_hit: int) -> EditOutcome:
    place = f"in {n_cells:,} cell{'s' if n_cells > 1 else ''}"
    n_rows = n_hit
    if edit.kind == "add":
        n_rows = n_cells * edit.copies
        what = f"{data.target_name} {short(edit.value, 4)}"
        if data.task != "regression":
            what = data.classes[edit.label or 0]
        text = f"Added {_rows(n_rows)} of {what} {place}."
    elif edit.kind == "remove":
        text = f"Removed {_rows(n_rows)} {place}."
    elif edit.kind == "duplicate":
        n_rows = n_hit * edit.copies
        text = f"Added {_rows(n_rows)}, copies of {n_hit:,} {place}."
    elif data.task == "regression":
        text = f"Mirrored {_rows(n_rows)} {place} about the mean {short(float(data.y.mean()), 4)}."
    elif len(data.classes) == 2:
        text = f"Swapped the class of {_rows(n_rows)} {place}."
    else:
        text = f"Turned the class of {_rows(n_rows)} {place} into the next one."
    if not n_rows:
        text = f"There is no training row {place}, so nothing changed."
    return EditOutcome(n_rows, text)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def _check_many(count: int) -> None:
    if count > MOST_ROWS_AFTER:
        raise InvalidData(
            f"These edits make {count:,} training rows, and at most {MOST_ROWS_AFTER:,} can be "
            "fitted here: add fewer copies or take fewer cells."
        )


def _check_left(data: NoveltyData, rows: EditedRows) -> None:
    if not len(rows.y):
        raise InvalidData("These edits remove every training row: undo the last one.")
    if data.task == "classification":
        there = np.bincount(rows.y.astype(np.int64), minlength=len(data.classes))
        gone = [name for name, count in zip(data.classes, there, strict=True) if not count]
        if gone:
            raise InvalidData(
                f"These edits leave no training row of {' or of '.join(gone)}: undo the last one."
            )
    elif float(np.ptp(rows.y)) == 0.0:
        raise InvalidData("These edits leave rows with one and the same target: undo the last one.")
    if len(rows.y) < FEWEST_ROWS:
        raise InvalidData(
            f"These edits leave {len(rows.y)} training rows, and a forest needs at least "
            f"{FEWEST_ROWS}: undo the last one."
        )
