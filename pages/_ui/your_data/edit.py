"""Edit the open row: every value can be dragged or typed, and all that is said of it moves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from gbuq_core.errors import InvalidParameter
from gbuq_core.figures.curves import pack_curves
from gbuq_core.figures.handles import Handle
from gbuq_core.figures.table.editing import (
    CurveLine,
    EditedNumber,
    Editor,
    EditorCurve,
    editor_source,
    editor_spec,
    editor_styles,
)
from gbuq_core.lenses.pictures import RowUncertainties, in_unit, ranking_kind, row_map_of, style_of
from gbuq_core.lenses.register import LENSES
from gbuq_core.lenses.row import by_size
from gbuq_core.presentation import digits, one_line, short
from gbuq_core.tables import (
    ColumnCurve,
    EditedRow,
    ScoredTable,
    column_curve,
    say_reason,
    score_edited,
)
from gbuq_core.tables.editing import LEVEL, cell_text, column_values, prepared_cell, read_cell
from gbuq_core.tables.unfamiliar import UNFAMILIAR
from pages._ui.kept import remember
from pages._ui.your_data.lens import Drawing, ask_lens

MOST_HANDLES = 60
_MOST_DOTS = 500
_MOST_CLASSES = 4
_LONGEST = 200  # letters of a typed value
_STATE = "_data_edit"

_MOUNT = st.components.v2.component(
    "gbuq_row_editor", css=editor_styles(), js=editor_source(), isolate_styles=True
)


class Move(NamedTuple):
    """What the reader did: all values put back, one reached for, texts set; by place."""

    seq: int
    reset: bool
    grab: int | None
    sets: tuple[tuple[int, str], ...]


class Edits:
    """The edited values of the open row, and what the server has seen of the reader."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.seq = 0
        self.grab = 0  # whose curve is shown
        self.cells: dict[str, Any] = {}
        self.refused: dict[str, tuple[str, str]] = {}  # the text, and why it is no value

    def apply(self, move: Move, scored: ScoredTable, row: int, columns: Sequence[str]) -> None:
        """Take over what a message says."""
        self.seq = move.seq
        if move.reset:
            self.cells, self.refused = {}, {}
        if move.grab is not None:
            self.grab = move.grab
        for place, text in move.sets:
            self._set(columns[place], text, scored, row)
            self.grab = place

    def _set(self, column: str, text: str, scored: ScoredTable, row: int) -> None:
        self.refused.pop(column, None)
        try:
            cell = read_cell(scored, column, text)
        except InvalidParameter as error:
            self.refused[column] = (text, str(error))
            return
        if cell == prepared_cell(scored.scored, row, column):
            self.cells.pop(column, None)
        else:
            self.cells[column] = cell


@st.fragment
def draw_edit(drawing: Drawing) -> None:
    """Handles for the columns that matter most to a row, and what is said of it as edited.

    Only this runs when a value is let go; while it is dragged, the browser draws by itself.
    """
    (scored, _, values, row), view, own = drawing.seen, drawing.view, drawing.answer
    shown, digest = in_unit(scored, values.unit), view.digest
    explained = ask_lens(LENSES["row"], values, drawing.trained, view, row).result
    kind = ranking_kind(scored, values.rank)
    known = [effect.column for effect in by_size(explained.effects, kind)] if explained else []
    columns = tuple((known or list(own))[:MOST_HANDLES])
    edits = _edits_of(scored, row)
    edits.grab = min(edits.grab, len(columns) - 1)
    key = f"row-edit-{edits.owner[:12]}"

    def moved() -> None:
        state = st.session_state.get(key)
        move = read_move(state.get("move") if isinstance(state, dict) else None, len(columns))
        if move is not None:
            edits.apply(move, scored, row, columns)

    editor = _editor(scored, shown, row, digest, columns, edits, own)
    with st.container(key="row-edit"):
        _MOUNT(key=key, data=pack_curves(editor_spec(editor)), on_move_change=moved)
    note = "Drag a slider or type a value; an empty box is a missing value."
    if len(own) > len(columns):
        note += f" {len(columns)} of {len(own):,} columns are shown: those that matter most."
    st.caption(f"{note} The edits are not in the link, and they change nothing in the table.")


def read_move(message: Any, n_handles: int) -> Move | None:
    """What a browser sent, or None: the browser is the user's.

    >>> read_move({"seq": 3, "sets": [[0, "4.5"]]}, 2)
    Move(seq=3, reset=False, grab=None, sets=((0, '4.5'),))
    >>> read_move({"seq": 3, "grab": 2}, 2)
    """
    if not isinstance(message, dict) or not _is_place(message.get("seq"), 2**53):
        return None
    grab, sets = message.get("grab"), message.get("sets", [])
    if grab is not None and not _is_place(grab, n_handles):
        return None
    if not isinstance(sets, list) or len(sets) > n_handles:
        return None
    for pair in sets:
        if not isinstance(pair, list) or len(pair) != 2 or not _is_place(pair[0], n_handles):
            return None
        if not isinstance(pair[1], str) or len(pair[1]) > _LONGEST:
            return None
    pairs = tuple((int(place), text) for place, text in sets)
    handle = None if grab is None else int(grab)
    return Move(int(message["seq"]), message.get("reset") is True, handle, pairs)


def _is_place(value: Any, n: int) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and value == value // 1 and 0 <= value < n


def _edits_of(scored: ScoredTable, row: int) -> Edits:
    """The edits of this row; those of the row before are forgotten."""
    cells = scored.scored.X.iloc[row]
    text = repr((scored.training.target, list(cells.index), cells.tolist(), row))
    owner = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    kept = st.session_state.get(_STATE)
    if not isinstance(kept, Edits) or kept.owner != owner:
        kept = st.session_state[_STATE] = Edits(owner)
    return kept


def _editor(
    scored: ScoredTable,
    shown: RowUncertainties,
    row: int,
    digest: str,
    columns: tuple[str, ...],
    edits: Edits,
    own: dict[str, Any],
) -> Editor:
    cells = tuple(sorted(edits.cells.items()))
    before, now = (
        remember((digest, row, given), score_edited, scored, row, dict(given))
        for given in ((), cells)
    )
    handles = [_handle(scored, row, digest, column, own[column], edits, now) for column in columns]
    column = columns[edits.grab]
    curve = _curve(digest, row, column, cells, now, scored)
    cell = edits.cells.get(column, own[column])
    as_text = [_texts(scored, shown, version) for version in (before, now)]
    texts = zip(_names(scored), *as_text, strict=True)
    lines = [EditedNumber(*each) for each in texts]
    rows = row_map_of(scored, shown, row, _MOST_DOTS)
    moved = tuple(float(_amount(part[0], shown)) for part in now.uncertainty[1:])
    return Editor(
        edits.seq,
        handles,
        lines,
        _words(lines, edits, now),
        _editor_curve(scored, shown, own[column], edits.grab, curve),
        _place(curve, cell),
        rows,
        (moved[0], moved[1]),
    )


def _handle(
    scored: ScoredTable,
    row: int,
    digest: str,
    column: str,
    own: Any,
    edits: Edits,
    edited: EditedRow,
) -> Handle:
    cell = edits.cells.get(column, own)
    name = digest, row, column, cell
    texts = remember(name, _place_texts, scored, row, column, cell, most=256)
    text, note = cell_text(cell), dict(edited.notes).get(column, "")
    if column in edits.refused:
        text, note = edits.refused[column]
    kind = scored.training.schema.column(column).kind
    return Handle(
        column,
        "choose" if kind == "category" else "slide",
        texts,
        _text_place(texts, cell_text(cell)),
        _text_place(texts, cell_text(own)) if own is not None else -1,
        text,
        column in edits.cells or column in edits.refused,
        note,
    )


def _text_place(texts: tuple[str, ...], text: str) -> int:
    return texts.index(text) if text in texts else 0


def _place(curve: ColumnCurve, cell: Any) -> int | None:
    return curve.values.index(cell) if cell is not None and cell in curve.values else None


def _editor_curve(
    scored: ScoredTable, shown: RowUncertainties, own: Any, handle: int, curve: ColumnCurve
) -> EditorCurve:
    classes = scored.training.target.classes
    n = len(curve.values)
    x = np.arange(n, dtype=np.float64)
    if curve.kind == "numeric":
        x = np.array(curve.values, dtype=np.float64)
    elif curve.kind == "date":
        x = np.array(curve.values, "datetime64[us]").astype(np.int64) / 86_400e6
    y, low, high = curve.loc, curve.lower, curve.upper
    lines = [CurveLine("prediction", curve.loc)]
    label = scored.training.target.name
    if classes:
        y, low, high = curve.probabilities.max(axis=1), None, None
        most = np.argsort(-curve.probabilities.max(axis=0), kind="stable")[:_MOST_CLASSES]
        lines = [CurveLine(one_line(classes[k], 30), curve.probabilities[:, k]) for k in most]
        label = "probability"
    known = not np.isnan(curve.unfamiliarity).any()
    parts = [_amount(part, shown) for part in curve.uncertainty]
    texts = [
        _texts(
            scored,
            shown,
            EditedRow(
                classes[int(curve.loc[k])] if classes else float(curve.loc[k]),
                float(curve.lower[k]),
                float(curve.upper[k]),
                curve.probabilities[k],
                type(curve.uncertainty)(*(part[k : k + 1] for part in curve.uncertainty)),
                float(curve.unfamiliarity[k]),
                float("nan"),
                (),
                (),
            ),
        )
        for k in range(n)
    ]
    return EditorCurve(
        handle,
        x,
        curve.texts,
        curve.kind != "numeric",
        lines,
        low,
        high,
        y,
        curve.unfamiliarity if known else None,
        parts[1],
        parts[2],
        _place(curve, own),
        list(zip(*texts, strict=True)),
        label,
        style_of(scored).colour,
    )


def _names(scored: ScoredTable) -> list[str]:
    """What is told of the row, in the order of `_texts`."""
    second = "Its probability" if scored.training.target.classes else f"{LEVEL:.0%} interval"
    uncertain = ["Noise (data)", "Knowledge (K)", "Total uncertainty"]
    return ["Prediction", second.replace("%", " %"), *uncertain, "Unfamiliarity"]


def _texts(scored: ScoredTable, shown: RowUncertainties, edited: EditedRow) -> list[str]:
    if isinstance(edited.prediction, str):
        first = [one_line(edited.prediction, 30), f"{100 * edited.probabilities.max():.0f} %"]
    else:
        ends = f"{short(edited.lower, 4)} to {short(edited.upper, 4)}"
        first = [short(edited.prediction, 4), ends]
    total, data, knowledge = (digits(_amount(part[0], shown)) for part in edited.uncertainty)
    known = not np.isnan(edited.unfamiliarity)
    return [*first, data, knowledge, total, f"{edited.unfamiliarity:.2f}" if known else "not known"]


def _words(lines: Sequence[EditedNumber], edits: Edits, edited: EditedRow) -> str:
    """The edit in words; plain text that holds the user's."""
    if not edits.cells:
        return ""
    words = f"Predicted {lines[0].now} instead of {lines[0].before}."
    if edited.unfamiliarity > UNFAMILIAR and edited.parts:
        loudest = max(edited.parts, key=lambda part: part.rank)
        words += f" Unfamiliar: {say_reason(loudest)}."
    return words


def _amount(value: Any, shown: RowUncertainties) -> Any:
    """A variance or an entropy as the page shows uncertainties."""
    return np.sqrt(value) if shown.unit.startswith("std") else value


Cells = tuple[tuple[str, Any], ...]


def _curve(
    digest: str, row: int, column: str, cells: Cells, edited: EditedRow, scored: ScoredTable
) -> ColumnCurve:
    """The curve of a column with the row as it is edited on it."""
    others = tuple(pair for pair in cells if pair[0] != column)
    name = digest, row, column, others
    curve = remember(name, column_curve, scored, row, column, dict(others))
    cell = dict(cells).get(column)
    if cell is None or cell in curve.values:
        return curve
    return with_point(curve, cell, edited)


def with_point(curve: ColumnCurve, cell: Any, row: EditedRow) -> ColumnCurve:
    """A curve with one more value, of which it is known what is said."""
    at = len(curve.values)
    if curve.kind != "category":
        at = sum(value < cell for value in curve.values)
    values = (*curve.values[:at], cell, *curve.values[at:])
    place = row.prediction if isinstance(row.prediction, float) else row.probabilities.argmax()
    uncertainty = zip(curve.uncertainty, row.uncertainty, strict=True)
    return ColumnCurve(
        curve.column,
        curve.kind,
        values,
        (*curve.texts[:at], cell_text(cell), *curve.texts[at:]),
        np.insert(curve.loc, at, float(place)),
        np.insert(curve.lower, at, row.lower),
        np.insert(curve.upper, at, row.upper),
        np.insert(curve.probabilities, at, row.probabilities, axis=0),
        type(curve.uncertainty)(*(np.insert(part, at, number) for part, number in uncertainty)),
        np.insert(curve.unfamiliarity, at, row.unfamiliarity),
    )


def _place_texts(scored: ScoredTable, row: int, column: str, cell: Any) -> tuple[str, ...]:
    return tuple(cell_text(value) for value in column_values(scored, row, column, cell=cell))
