"""Own points in the address, and how they are placed."""

from __future__ import annotations

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.placed import encode_points
from gbuq_core.settings import from_values, knobs_of
from gbuq_core.study.own_points import OwnPoints, OwnPointsSettings, click
from pages._ui.canvas import CanvasEvent
from pages._ui.knobs import Preset
from pages._ui.placing import draw_points, hold_points, refuse
from pages._ui.present import Step
from pages._ui.sections import Acts
from pages._ui.url_state import PageState

STATE = PageState(
    key="own_points",
    knobs=knobs_of(OwnPointsSettings),
    presets=(
        Preset("Two classes in a plane", {"where": "in a plane"}, "A click adds a point."),
        Preset("An empty board", {"points": "", "plane": ""}, "Place all points yourself."),
    ),
    picture=("own-line", "own-plane"),
    story=(
        Step("Forty points with a gap. Whose dark rim widens in it?"),
        Step("Two classes. Whose knowledge rises far from the points?", {"where": "in a plane"}),
    ),
)


def act(run: OwnPoints) -> Acts:
    """Points are placed and dragged on a line, and placed in a plane."""
    return {
        "own-line": hold_points(STATE, "points", False),
        "own-plane": {"select": "cells", "on_select": _click},
    }


def _click(event: CanvasEvent) -> None:
    if event.clicked is None:
        return
    held = {knob.key: st.session_state.get(knob.key, knob.default) for knob in STATE.knobs}
    try:
        settings = from_values(OwnPointsSettings, held)
        st.session_state["plane"] = encode_points(click(settings, *event.clicked[1:]))
    except GbuqError as error:
        refuse(error)


def draw_own_points(run: OwnPoints) -> None:
    """The points of what is shown, as text."""
    name = {"line": "points", "plane": "plane"}[run.settings.where]
    draw_points(STATE, name, len(run.board.X))
