"""Heart's state in the address, and painting cells by clicks."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from gbuq_core.experiments.heart.data import SIDE, make_painted_heart
from gbuq_core.experiments.heart.fit import HeartRun
from gbuq_core.experiments.heart.plan import (
    METHODS,
    HeartSettings,
    problem_with_cells,
    read_cells,
    write_cells,
)
from gbuq_core.knobs import find_knob, problem_with
from gbuq_core.settings import knobs_of
from pages._ui.canvas import CanvasEvent
from pages._ui.knobs import Preset
from pages._ui.live import COLOURS, EVERY, FOCUS, map_knob, names_of_kinds
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState

_LABELS = [method.label for method in METHODS.values()]
MAP = map_knob(("Training rows", "True mean", *names_of_kinds(_LABELS)))

STATE = PageState(
    key="heart",
    knobs=(*knobs_of(HeartSettings), COLOURS, FOCUS, EVERY, MAP, *SURFACE),
    presets=(
        Preset(
            "Paper settings",
            {"methods": ("SGB", "SGLB", "virtual SGLB")},
            help="10 models of 1,000 trees. SGLB learns at rate 0.3; SGB at 0.1, with half of the "
            "rows for each tree.",
        ),
    ),
    picture=("heart",),
    story=(
        Step("There are no training rows in the hatched cells. Does the model know?"),
        Step("10 rows per cell. Where does knowledge uncertainty rise now?", {"rows": 10}),
        Step(
            "Ten times the noise. Which uncertainty follows it?",
            {"noise": 0.1, MAP.key: f"{METHODS['sglb'].label}: data"},
        ),
        Step(
            "One long model instead of ten. Does a virtual ensemble still find the hatched cells?",
            {"methods": (METHODS["virtual_sglb"].label,)},
        ),
    ),
)


def paint(event: CanvasEvent) -> None:
    """Remove or add rows after a click or a drag. Streamlit calls this before the page runs."""
    typed = st.session_state.get("cells", "")
    held = () if problem_with(find_knob(STATE.knobs, "cells"), typed) else read_cells(typed)
    painted = toggled(held, event)
    problem = problem_with_cells(painted)
    if problem:
        st.toast(problem)
    else:
        st.session_state["cells"] = write_cells(painted)


def unpaint() -> None:
    """Undo all painting."""
    st.session_state["cells"] = ""


def offer_unpaint(run: HeartRun) -> None:
    """A button while cells are painted."""
    if run.settings.cells:
        n = len(run.settings.cells)
        label = f"Undo painting ({n} cell{'s' * (n > 1)})"
        st.button(label, key="_unpaint", on_click=unpaint)


def toggled(painted: Iterable[int], event: CanvasEvent) -> set[int]:
    """Which cells are painted after a click or a drag.

    A click empties or fills one cell. A drag empties the cells that have rows. If none has rows,
    it fills them all.
    """
    before = set(painted)
    filled = make_painted_heart(1, cells=before).in_support
    chosen = [event.clicked[1:]] if event.clicked else event.dragged
    with_rows = [cell for cell in chosen if filled[cell]]
    return before ^ {SIDE * row + column for row, column in with_rows or chosen}
