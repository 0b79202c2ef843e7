"""Soft trees' knobs, what they mean to the experiment, and the reader's own points."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.data import DATASETS, OWN, check_points, encode_points
from gbuq_core.experiments.soft_trees.plan import PAPER, SoftTreesSettings
from gbuq_core.experiments.soft_trees.trials import DATA, MOMENT, PLAY, POLICY, TRIALS, WHOSE
from gbuq_core.knobs import Knob
from gbuq_core.settings import knobs_of, to_values
from pages._ui import live
from pages._ui.curves import Placed
from pages._ui.knobs import Preset
from pages._ui.present import Step
from pages._ui.url_state import PageState

KNOBS = MappingProxyType({knob.key: knob for knob in knobs_of(SoftTreesSettings)})
REFUSED = "_soft_trees_refused"  # the session key of a click that could not be
FOCUS = Knob(
    "focus", "Only where rows are", "switch", False, group="picture",
    help="Shows only the range of x that has training rows.",
)  # fmt: skip
PLACE = Knob(
    "tree_x", "Point", "number", 57.5, 0.0, 100.0, step=0.25, unit="%", group="picture",
    help="Where the point is, as a share of the axis.",
)  # fmt: skip
EVERY = replace(
    live.EVERY, label="All methods", help="Shows every chosen method, instead of the first alone."
)
# Folds of their own. All are open in a link, as they were before they could fold.
INSIDE = Knob("inside", "Inside one tree", "switch", True, group="page")
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


def clear_points() -> None:
    """An empty board: a button's callback."""
    st.session_state["points"] = ""
