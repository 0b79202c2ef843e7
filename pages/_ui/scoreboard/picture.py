"""The Scoreboard's picture on the page: its bar, its charts, and what a click opens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from gbuq_core.experiments.scoreboard.charts import PICKED
from gbuq_core.experiments.scoreboard.picture import BoardPicture
from pages._ui.controls import draw_knob
from pages._ui.notices import show_notice
from pages._ui.scoreboard.controls import BUDGET, CELL, PICTURE, VIEW, Opened

_BUDGET_WIDTH = 190  # pixels


def draw_bar() -> None:
    """The picture's own bar: which picture, and at how much time."""
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="board-bar"):
        st.segmented_control(
            VIEW.label, VIEW.choices, default=VIEW.default, required=True, key=VIEW.key,
            bind="query-params", label_visibility="collapsed",
        )  # fmt: skip
        with st.container(width=_BUDGET_WIDTH, key="board-budget"):
            draw_knob(BUDGET)


def draw_picture(opened: Opened, picture: BoardPicture, cell: str) -> None:
    """Draw the charts, side by side where there are several; a click opens a cell."""
    with st.container(key=PICTURE):
        if picture.refusal:
            show_notice(picture.refusal, "scoreboard")
            return
        columns = st.columns(2) if len(picture.charts) > 1 else [st.container()]
        for number, chart in enumerate(picture.charts):
            key = f"board-chart-{number}"
            with columns[number % len(columns)]:
                if chart.title:
                    st.markdown(f"**{chart.title}**")
                if "params" not in chart.spec:
                    st.vega_lite_chart(chart.spec, key=key, alt=chart.words)
                    continue
                st.vega_lite_chart(
                    chart.spec, key=key, alt=chart.words, selection_mode=PICKED,
                    on_select=partial(_open_cell, key, tuple(opened.cells)),
                )  # fmt: skip
    clicked = any("params" in chart.spec for chart in picture.charts)
    how = f" A click opens a cell with its command: now [{cell}](#{CELL})." if clicked else ""
    st.caption(f"{picture.caption}{how}")


def _open_cell(key: str, cells: Sequence[str]) -> None:
    """Open the cell that was clicked: a chart's callback."""
    state = st.session_state.get(key)
    picked = state["selection"].get(PICKED) if state else None
    cell = picked[0].get("cell") if isinstance(picked, list) and picked else None
    if cell in cells:  # the browser is the user's
        st.session_state["cell"] = cell
