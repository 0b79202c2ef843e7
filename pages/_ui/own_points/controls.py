"""Own points in the address, and how they are placed."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.placed import check_points, encode_points
from gbuq_core.knobs import find_knob
from gbuq_core.settings import from_values, knobs_of, to_values
from gbuq_core.study.own_points import OwnPoints, OwnPointsSettings, click
from pages._ui.canvas import CanvasEvent
from pages._ui.controls import draw_knob
from pages._ui.curves import Carry, Placed
from pages._ui.knobs import Preset
from pages._ui.live_sliders import carried, carry
from pages._ui.present import Step
from pages._ui.sections import Acts
from pages._ui.url_state import PageState

KNOBS = knobs_of(OwnPointsSettings)
STATE = PageState(
    key="own_points",
    knobs=KNOBS,
    presets=(
        Preset(
            "Two classes in a plane", {"where": "in a plane"}, "A click adds a point of a colour."
        ),
        Preset("An empty board", {"points": "", "plane": ""}, "Place all points yourself."),
    ),
    picture=("own-line", "own-plane"),
    story=(
        Step("Forty points with a gap. Whose dark rim widens in it?"),
        Step(
            "Two classes in a plane. Whose knowledge rises far from the points?",
            {"where": "in a plane"},
        ),
    ),
)
_NAMES = {"line": "points", "plane": "plane"}  # the knobs that hold the points


def act(run: OwnPoints) -> Acts:
    """Points are placed and dragged on a line, and placed in a plane."""
    grip = Carry(carried(STATE), False, _carry)
    return {
        "own-line": {"on_place": _place, "carry": grip},
        "own-plane": {"select": "cells", "on_select": _click},
    }


def _place(placed: Placed) -> None:
    try:
        st.session_state["points"] = encode_points(check_points(placed))
    except GbuqError as error:
        st.toast(str(error))


def _carry(seq: int, placed: Placed) -> None:
    with suppress(GbuqError):
        carry(STATE, seq, points=encode_points(check_points(placed)))


def _click(event: CanvasEvent) -> None:
    if event.clicked is None:
        return
    held = {k.key: st.session_state.get(k.key, k.default) for k in KNOBS}
    try:
        settings = from_values(OwnPointsSettings, held)
        st.session_state["plane"] = encode_points(click(settings, *event.clicked[1:]))
    except GbuqError as error:
        st.toast(str(error))


def draw_points(run: OwnPoints) -> None:
    """The points as text, for the keyboard and for other programs."""
    name, n = _NAMES[run.settings.where], len(run.board.X)
    usual = to_values(OwnPointsSettings())[name]
    with st.container(horizontal=True, vertical_alignment="center", key="own-points-text"):
        st.caption(f"{n} point{'s' * (n != 1)}.", width="content")
        for label, text in (("Clear", ""), ("Start again", usual)):
            st.button(
                label, key=f"_own_{label}", on_click=st.session_state.update, args=({name: text},)
            )
        with st.popover("As text"):
            draw_knob(find_knob(KNOBS, name))
