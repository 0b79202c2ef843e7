"""Every number of the choice as a table, and the open cell: its command, its page, its scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.experiments.scoreboard.board import Board, Place, Table
from gbuq_core.experiments.scoreboard.commands import explain_method
from gbuq_core.experiments.scoreboard.numbers import (
    BoardNumber,
    cell_rows,
    command_for,
    find_number,
)
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.presentation import counted, format_bytes, markdown_table, seconds_text
from pages._ui.controls import draw_knob
from pages._ui.scoreboard.chooser import draw_page_link, page_of
from pages._ui.scoreboard.controls import Opened, cell_label
from pages._ui.url_state import PageState

_MOST_HEIGHT = 420  # pixels
MEANING = (
    "Better or worse: ours differs from the paper's by more than two standard errors of the "
    "difference and half of the last digit that the paper prints. One split has no standard error, "
    "and then nothing is said."
)


def draw_numbers(opened: Opened, numbers: Sequence[BoardNumber], open_cell: str) -> None:
    """The table; a click on a line opens its cell."""
    key = f"_board_lines:{opened.table.key}:{len(numbers)}"
    labels = [cell_label(opened, row.set.key, row.method.key) for row in numbers]
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
    columns = {
        "c0": [row.set.label for row in numbers],
        "c1": [row.method.label for row in numbers],
        "c2": [row.ours for row in numbers],
        "c3": [row.error for row in numbers],
        "c4": [row.theirs for row in numbers],
        "c5": [row.their_error for row in numbers],
        "c6": [row.verdict for row in numbers],
        "c7": [row.splits for row in numbers],
        "c8": [row.seconds for row in numbers],
    }
    # Columns of a paper without any number would take the place of what is there.
    order = [k for k in columns if k not in ("c4", "c5") or not all(map(math.isnan, columns["c4"]))]
    wanted = [labels.index(open_cell)] if open_cell in labels else []
    state = st.session_state.get(key)
    if state is None or list(state["selection"]["rows"]) != wanted:
        st.session_state[key] = {"selection": {"rows": wanted, "columns": [], "cells": []}}

    def open_selected() -> None:
        rows = st.session_state[key]["selection"]["rows"]
        if rows and 0 <= rows[0] < len(labels) and labels[rows[0]] is not None:
            st.session_state["cell"] = labels[rows[0]]

    st.dataframe(
        columns, hide_index=True, column_config=config, column_order=order, key=key,
        on_select=open_selected,
        selection_mode="single-row", placeholder="\u2013",
        height=min(_MOST_HEIGHT, 35 * (len(numbers) + 1) + 3),
        alt=f"{counted(len(numbers), 'number')} of ours and of the paper.",
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
        with st.popover(f"Why it differs: {finding.title}"):
            st.markdown(finding.text)
    explained = explain_method(method)
    draw_page_link(method, f"{method.label} is explained on the page {page_of(method).title}")
    st.caption(f"Equations, when to use it and when not: docs/{explained.doc}")
    command = command_for(table, find_number(table, *place[1:]))
    if command:
        st.caption("The command that makes these numbers, in a checkout of the project:")
        st.code(command, language="bash", wrap_lines=True)


def _cost(table: Table, place: Place) -> str:
    """What the cell took, and on what."""
    if place.set == OWN_SET:
        return "Scored on your table in this session."
    results = table.results_of(place.set, place.method)
    if not results:
        return "None of ours is computed yet. The command below computes it."
    seconds = table.seconds(place.set, place.method) or 0.0
    memory = max(each.peak_memory for each in results)
    return (
        f"{counted(len(results), 'split')}; the median split took {seconds_text(seconds)} of one "
        f"core, and {format_bytes(memory)} at most. {' '.join(table.machines)}"
    )
