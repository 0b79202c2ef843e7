"""Every number of the choice as a table, and the open cell: its command, its page, its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st

from gbuq_core.experiments.scoreboard.board import Board, Place, Table
from gbuq_core.experiments.scoreboard.commands import command_of, explain_method
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.presentation import (
    counted,
    csv_text,
    digits,
    format_bytes,
    markdown_table,
    seconds_text,
)
from pages._ui.controls import draw_knob
from pages._ui.scoreboard.chooser import draw_page_link, page_of
from pages._ui.scoreboard.controls import Opened, Shown, cell_label
from pages._ui.url_state import PageState

_MOST_HEIGHT = 420  # pixels
NOT_YET, ALONE, UNCOMPARED = "not computed yet", "the paper has none", "not compared"
_SAID = {
    "better": "better",
    "worse": "worse",
    "same": "the same",
    "": UNCOMPARED,
}
MEANING = (
    "Better or worse: ours differs from the paper's by more than two standard errors of the "
    "difference and half of the last digit that the paper prints. One split has no standard error, "
    "and then nothing is said."
)


class Line(NamedTuple):
    """One number of ours and of the paper; NaN where there is none."""

    set_key: str
    method: str
    set_label: str
    label: str
    ours: float
    error: float
    theirs: float
    their_error: float
    said: str
    splits: int
    seconds: float


def lines_of(opened: Opened, shown: Shown) -> list[Line]:
    """The numbers of the choice, set by set."""
    table, score = opened.table, shown.score
    found = []
    for set_key in shown.sets:
        for method in shown.methods:
            if cell_label(opened, set_key, method) is not None:
                found.append(_line(table, set_key, method, score.key))
    return found


def _line(table: Table, set_key: str, method: str, score: str) -> Line:
    ours, theirs = table.ours(set_key, method, score), table.published.get((set_key, method, score))
    beside, seconds = table.beside(set_key, method, score), table.seconds(set_key, method)
    said = NOT_YET
    if beside is not None:
        said = ALONE if theirs is None else _SAID[beside.word]
    return Line(
        set_key,
        method,
        table.find_set(set_key).label,
        table.find_method(method).label,
        math.nan if ours is None else ours.mean,
        math.nan if ours is None else ours.error,
        math.nan if theirs is None else theirs.value,
        math.nan if theirs is None or theirs.error is None else theirs.error,
        said,
        len(table.values(set_key, method, score)),
        math.nan if seconds is None else seconds,
    )


def lines_csv(lines: Sequence[Line], table: Table, score: str) -> str:
    """The lines as a file; each has the command that makes it."""
    head = ("table", "set", "method", "metric", "ours", "standard_error", "paper",
            "paper_standard_error", "ours_is", "splits", "seconds", "command")  # fmt: skip
    rows = [
        (table.key, line.set_label, line.label, score, line.ours, line.error, line.theirs,
         line.their_error, line.said, line.splits, line.seconds,
         command_for(table, line.set_key, line.method))
        for line in lines
    ]  # fmt: skip
    return csv_text(head, rows)


def command_for(table: Table, set_key: str, method: str) -> str:
    """The command of a cell; none makes the numbers of the session's own table."""
    return "" if set_key == OWN_SET else command_of(table, set_key, method)


def draw_lines(opened: Opened, lines: Sequence[Line], open_cell: str) -> None:
    """The table; a click on a line opens its cell."""
    key = f"_board_lines:{opened.table.key}:{len(lines)}"
    labels = [cell_label(opened, line.set_key, line.method) for line in lines]
    number = st.column_config.NumberColumn
    config: dict[str, Any] = {
        "c0": st.column_config.TextColumn("Set", pinned=True),
        "c1": st.column_config.TextColumn("Method", pinned=True),
        "c2": number("Ours", format="%.4g", width=70),
        "c3": number("± error", format="%.2g", width=75, help="Standard errors."),
        "c4": number("Paper", format="%.4g", width=70),
        "c5": number("± error ", format="%.2g", width=75),
        "c6": st.column_config.TextColumn("Ours is", help=MEANING),
        "c7": number("Splits", format="%d"),
        "c8": number("Seconds", format="%.3g", help="Of one core, for the median split."),
    }
    frame = pd.DataFrame(
        {
            "c0": [line.set_label for line in lines],
            "c1": [line.label for line in lines],
            "c2": [line.ours for line in lines],
            "c3": [line.error for line in lines],
            "c4": [line.theirs for line in lines],
            "c5": [line.their_error for line in lines],
            "c6": [line.said for line in lines],
            "c7": [line.splits for line in lines],
            "c8": [line.seconds for line in lines],
        }
    )
    # Columns of a paper without any number would take the place of what is there.
    order = [k for k in frame if k not in ("c4", "c5") or any(frame["c4"].notna())]
    wanted = [labels.index(open_cell)] if open_cell in labels else []
    state = st.session_state.get(key)
    if state is None or list(state["selection"]["rows"]) != wanted:
        st.session_state[key] = {"selection": {"rows": wanted, "columns": [], "cells": []}}

    def open_selected() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows and 0 <= rows[0] < len(labels) and labels[rows[0]] is not None:
            st.session_state["cell"] = labels[rows[0]]

    st.dataframe(
        frame, hide_index=True, column_config=config, column_order=order, key=key,
        on_select=open_selected,
        selection_mode="single-row", placeholder="\u2013",
        height=min(_MOST_HEIGHT, 35 * (len(lines) + 1) + 3),
        alt=f"{counted(len(lines), 'number')} of ours and of the paper.",
    )  # fmt: skip


def draw_cell(
    page: PageState, board: Board, opened: Opened, place: Place, values: SimpleNamespace
) -> None:
    """The open cell: all its scores, what was found, the command, and where it is explained."""
    knob = next(knob for knob in page.knobs if knob.key == "cell")
    draw_knob(knob)
    table, method = opened.table, opened.table.find_method(place.method)
    rows = cell_rows(table, place.set, place.method)
    if len(rows) > 1:
        with st.container(key="table-board-cell"):
            st.markdown(markdown_table(rows, "lrrl"))
    st.caption(_cost(table, place))
    for finding in board.findings_on(place):
        with st.expander(f"Why it differs: {finding.title}"):
            st.markdown(finding.text)
    explained = explain_method(method)
    draw_page_link(method, f"{method.label} is explained on the page {page_of(method).title}")
    st.caption(f"Equations, when to use it and when not: docs/{explained.doc}")
    command = command_for(table, place.set, place.method)
    if command:
        st.caption("The command that makes these numbers, in a checkout of the project:")
        st.code(command, language="bash", wrap_lines=True)


def cell_rows(table: Table, set_key: str, method: str) -> list[tuple[str, ...]]:
    """All scores of a cell: ours, the paper's, and which is better; headings first."""
    found = [("Metric", "Ours", "Paper", "Ours is")]
    for score in table.scores:
        line = _line(table, set_key, method, score.key)
        if not (math.isnan(line.ours) and math.isnan(line.theirs)):
            ours, theirs = (
                with_error(line.ours, line.error),
                with_error(line.theirs, line.their_error),
            )
            found.append((score.label, ours, theirs, line.said))
    return found


def with_error(value: float, error: float) -> str:
    """A number with its standard error.

    >>> with_error(0.5, 0.0123), with_error(0.5, float("nan"))
    ('0.500 ± 0.012', '0.500')
    """
    return digits(value) if math.isnan(error) else f"{digits(value)} \u00b1 {digits(error, 2)}"


def _cost(table: Table, place: Place) -> str:
    """What the cell took, and on what."""
    if place.set == OWN_SET:
        return "Scored on your table in this session."
    found = table.results_of(place.set, place.method)
    if not found:
        return "None of ours is computed yet. The command below computes it."
    seconds = table.seconds(place.set, place.method) or 0.0
    memory = max(each.peak_memory for each in found)
    return (
        f"{counted(len(found), 'split')}; the median split took {seconds_text(seconds)} of one "
        f"core, and {format_bytes(memory)} at most. {' '.join(table.machines)}"
    )
