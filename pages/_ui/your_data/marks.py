"""Rows that the reader has marked as reviewed, with a note: by table, kept over a reload."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np
import streamlit as st

from gbuq_core.presentation import counted
from gbuq_core.tables import Mark, read_marks, write_marks
from gbuq_core.tables.reviewing import LONGEST_NOTE, MOST_MARKS, Marks
from pages._ui.your_data.keeping import KEPT_MINUTES, has_token, keep_bytes, kept_bytes
from pages._ui.your_data.training import Trained

_PLACE = "marks"
_MARKS, _LOADED = "_data_marks", "_data_marks_loaded"


def marks_of(trained: Trained) -> Marks:
    """The marks of the table whose rows are listed, by position."""
    return _all_marks().get(_table_of(trained), {})


def restore_marks(table: str, marks: Marks) -> None:
    """Put marks beside those of a table, by its key; a row's own mark stays."""
    if not marks:
        return
    every = {name: dict(kept) for name, kept in _all_marks().items()}
    every[table] = {**marks, **every.get(table, {})}
    st.session_state[_MARKS] = every
    keep_bytes(_PLACE, write_marks(every))


def review_measures(marks: Marks, n_rows: int) -> Mapping[str, np.ndarray]:
    """What rows can be found by: reviewed, which is yes or no, and the note."""
    reviewed, notes = np.full(n_rows, "no", object), np.full(n_rows, "", object)
    for row, mark in marks.items():
        if row < n_rows:
            reviewed[row], notes[row] = "yes" if mark.reviewed else "no", mark.note
    return {"reviewed": reviewed, "note": notes}


def draw_mark(trained: Trained, row: int) -> None:
    """The mark and the note of the open row, and how many marks there are."""
    table = _table_of(trained)
    marks = marks_of(trained)
    mark = marks.get(row, Mark(False))
    key = f"{hashlib.sha256(table.encode()).hexdigest()[:12]}:{row}"
    switch, note = f"_mark:{key}", f"_note:{key}"
    for name, value in zip((switch, note), mark, strict=True):
        if st.session_state.get(name) != value:
            st.session_state[name] = value
    with st.container(horizontal=True, vertical_alignment="bottom", key="review"):
        args = (table, row, switch, note)
        number = trained.scored.scored.row_numbers[row]
        st.toggle(f"Row {number:,} is reviewed", key=switch, on_change=_put, args=args)
        st.text_input(
            "Note on this row",
            key=note,
            max_chars=LONGEST_NOTE,
            on_change=_put_note,
            args=args,
            help="Marks and notes are in the downloads. Write reviewed or not reviewed into "
            '"Find rows" to list rows by them.',
        )
    if words := _say_marks(table):
        st.caption(words)


def _say_marks(table: str) -> str:
    """How many marks this table has, and what becomes of those of others."""
    every = _all_marks()
    here = _count(every.get(table, {}))
    others = sum(_count(marks) for name, marks in every.items() if name != table)
    if not here and not others:
        return ""
    sentence = f"{counted(here, 'row')} of this table {'is' if here == 1 else 'are'} marked."
    if here >= MOST_MARKS:
        sentence += " No more can be marked: download the rows, and take marks away first."
    if others:
        sentence += (
            f" {counted(others, 'mark')} of other tables "
            f"{'comes' if others == 1 else 'come'} back with them."
        )
    if has_token():
        return f"{sentence} Marks are kept until {KEPT_MINUTES} minutes after the tab is closed."
    return f"{sentence} A reload of this page loses them: download the rows first."


def _count(marks: Marks) -> int:
    return sum(mark.reviewed or bool(mark.note) for mark in marks.values())


def _put_note(table: str, row: int, switch: str, note: str) -> None:
    """A note is typed about a row that was looked at: a callback."""
    if st.session_state[note].strip():
        st.session_state[switch] = True
    _put(table, row, switch, note)


def _put(table: str, row: int, switch: str, note: str) -> None:
    """Keep the mark and the note of a row: a callback."""
    every = {name: dict(marks) for name, marks in _all_marks().items()}
    marks = every.setdefault(table, {})
    before = marks.pop(row, Mark(False))
    # A run that was cut short has drawn one of the two only.
    text = st.session_state.get(note, before.note)
    reviewed = st.session_state.get(switch, before.reviewed)
    mark = Mark(reviewed, " ".join(text.split())[:LONGEST_NOTE])
    if (mark.reviewed or mark.note) and len(marks) < MOST_MARKS:
        marks[row] = mark
    st.session_state[_MARKS] = every
    keep_bytes(_PLACE, write_marks(every))


def _table_of(trained: Trained) -> str:
    return trained.wanted.second or trained.wanted.table


def _all_marks() -> dict[str, dict[int, Mark]]:
    """The marks of all tables; those of before a reload come first, once the tab is known."""
    every: dict[str, dict[int, Mark]] = st.session_state.setdefault(_MARKS, {})
    if not st.session_state.get(_LOADED) and has_token():
        st.session_state[_LOADED] = True
        data = kept_bytes(_PLACE)
        before = read_marks(data) if data else {}
        for table, marks in every.items():
            before[table] = {**before.get(table, {}), **marks}
        if every:
            keep_bytes(_PLACE, write_marks(before))
        every = st.session_state[_MARKS] = before
    return every
