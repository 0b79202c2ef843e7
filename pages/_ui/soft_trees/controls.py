"""Soft trees' knobs, what they mean to the experiment, and the reader's own points."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.placed import check_points, encode_points
from gbuq_core.experiments.soft_trees.data import DATASETS, OWN
from gbuq_core.experiments.soft_trees.inside import INSIDE, KNOBS, PLACE
from gbuq_core.experiments.soft_trees.plan import PAPER, SoftTreesSettings
from gbuq_core.experiments.soft_trees.trials import DATA, MOMENT, PLAY, POLICY, TRIALS, WHOSE
from gbuq_core.figures.curves import Curves
from gbuq_core.knobs import Knob
from gbuq_core.settings import to_values
from pages._ui import live
from pages._ui.controls import draw_knob
from pages._ui.curves import Carry, Placed
from pages._ui.knobs import Preset
from pages._ui.live_sliders import carried, carry
from pages._ui.notices import show_notice
from pages._ui.present import Step
from pages._ui.url_state import PageState

REFUSED = "_soft_trees_refused"  # the session key of a click that could not be
FOCUS = Knob(
    "focus",
    "Only where rows are",
    "switch",
    False,
    group="picture",
    help="Shows only the range of x that has training rows.",
)
EVERY = replace(
    live.EVERY, label="All methods", help="Shows every chosen method, instead of the first alone."
)
# Folds of their own. All are open in a link, as they were before they could fold.
_FOLDS = (INSIDE, *(trial.fold for trial in TRIALS))
STATE = PageState(
    key="soft_trees",
    knobs=(*KNOBS.values(), FOCUS, EVERY, WHOSE, PLACE, PLAY, POLICY, MOMENT, DATA, *_FOLDS),
    presets=(
        Preset(
            "Your points",
            {"data": DATASETS[OWN].label, "beta": 8.0, "restarts": 10},
            "Click in the picture to add or remove points. Training tries ten starts, because "
            "there are few rows.",
        ),
        Preset(
            "Paper settings",
            to_values(PAPER),
            f"All five methods. VST and VSGBM train for {PAPER.steps:,} steps from "
            f"{PAPER.restarts} starts each. The page shows how long this takes.",
        ),
    ),
    opening=MappingProxyType({knob.key: False for knob in _FOLDS}),
    picture=("soft-trees-functions",),
    story=(
        Step("Each line is a function that fits the points. Where do the functions spread?"),
        Step(
            "Bands of three methods. How much of the total is knowledge?",
            {"show": "bands", "every": True},
        ),
        Step("20 rows. How many more functions fit now?", {"rows": 20}),
        Step("Without noise. Do the functions agree at the points?", {"noise": 0.0}),
    ),
)


def place(placed: Placed) -> None:
    """Take over the points of the picture: its callback, before the page runs."""
    try:
        chosen = check_points(placed)
    except GbuqError as error:
        st.session_state[REFUSED] = str(error)
        return
    st.session_state["points"] = encode_points(chosen)


def hold_points(settings: SoftTreesSettings, figure: Curves, done: bool) -> dict[str, Any]:
    """Points of one's own are placed and dragged."""
    if "place" not in figure.spec:
        return {}
    return {"on_place": place, "carry": Carry(carried(STATE), not done, _carry_points)}


def _carry_points(seq: int, points: Placed) -> None:
    with suppress(GbuqError):
        carry(STATE, seq, points=encode_points(check_points(points)))


def draw_points(settings: SoftTreesSettings) -> None:
    """The points as text, for the keyboard and for other programs."""
    if refused := st.session_state.pop(REFUSED, ""):  # a click that could not be
        show_notice(refused, "soft-trees")
    if settings.data != OWN:
        return
    n = len(settings.points)
    with st.container(horizontal=True, vertical_alignment="center", key="soft-trees-points"):
        st.caption(f"{n} point{'s' if n != 1 else ''}.", width="content")
        st.button("Clear", key="_soft_trees_clear", on_click=clear_points, disabled=not n)
        with st.popover("As text"):
            draw_knob(KNOBS["points"])


def clear_points() -> None:
    """An empty board: a button's callback."""
    st.session_state["points"] = ""
