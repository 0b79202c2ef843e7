"""The training rows after the edits of an eraser and painter; see `edits`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.experiments.novelty.data import Array, NoveltyData, Whole
from gbuq_core.experiments.novelty.edits import Edit, cells_of, check_edits, mask_of
from gbuq_core.presentation import short

FEWEST_ROWS, MOST_ROWS_AFTER = 50, 10_000
_EDIT_STREAM = 5  # of the seed: where added rows lie within their cells


class EditOutcome(NamedTuple):
    """What an edit did: cells it names, rows it removed, added or changed, and a sentence."""

    kind: str
    n_cells: int
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


def why_no_edits(data: NoveltyData, edits: Sequence[Edit], seed: int = 0) -> str:
    """Why the edits cannot be applied, in a sentence; empty if they can."""
    try:
        apply_edits(data, edits, seed)
    except GbuqError as error:
        return str(error)
    return ""


def _keep(rows: EditedRows, index: npt.NDArray[Any]) -> EditedRows:
    return EditedRows(
        rows.X[index], rows.y[index], rows.cell[index], rows.origin[index], rows.outcomes
    )


def _flipped(
    data: NoveltyData, y: npt.NDArray[np.float64 | np.int64]
) -> npt.NDArray[np.float64 | np.int64]:
    if data.task == "regression":
        mirrored: Array = np.asarray(2.0 * float(data.y.mean()) - y, dtype=np.float64)
        return mirrored
    turned: Whole = (y.astype(np.int64) + 1) % len(data.classes)
    return turned


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
    return EditOutcome(edit.kind, n_cells, n_rows, text)


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
