"""The state of Two clocks in the address, and where the reader leaves the sliders."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType

import streamlit as st

from gbuq_core.experiments.two_clocks.plan import TwoClocksSettings, write_clocks
from gbuq_core.experiments.two_clocks.scores import TwoClocksLook
from gbuq_core.settings import knobs_of
from pages._ui.canvas import CanvasEvent
from pages._ui.curves import Turned
from pages._ui.knobs import Preset
from pages._ui.present import Step
from pages._ui.sections import Acts
from pages._ui.url_state import PageState

STATE = PageState(
    key="two_clocks",
    knobs=knobs_of(TwoClocksSettings),
    presets=(
        Preset(
            "Five features",
            {},
            "Five features, 500 rows. Does the mean stop early here, too? How far apart are the "
            "clocks?",
        ),
        Preset(
            "Paper settings",
            {"mean_weight": 1.0, "depth": 6, "members": 10},
            "Ten models of depth 6 with the papers' weight of the mean. They use all trees.",
        ),
    ),
    # One feature, whose unseen rows are the dots: they and the verdicts say the same.
    opening=MappingProxyType({"data": "growing noise", "rows": 200}),
    picture=("two-clocks-band",),
    story=(
        Step("One clock stops the mean, another the std. Do the bands hold what they say?"),
        Step("The same with 100 rows. Which clock stops first?", {"rows": 100}),
        Step(
            "Five features, 500 rows. Where do both clocks stop?",
            {"data": "five features", "rows": 500},
        ),
    ),
)


def turn(turned: Turned) -> None:
    """Keep where the reader left the sliders. Streamlit calls this before the page runs."""
    st.session_state["clocks"] = write_clocks(turned)


def choose(trees: list[int], event: CanvasEvent) -> None:
    """Move the sliders to a clicked cell of the map, or to the middle of a selection."""
    panel = 1
    if event.clicked is not None:
        panel, row, column = event.clicked
    elif event.dragged:
        row, column = event.dragged[len(event.dragged) // 2]
    else:
        return
    turn(Turned(trees[column], trees[row], panel == 1))


def act(look: TwoClocksLook) -> Acts:
    """The sliders of the band, and the cells of the map."""
    if not look.fit.plan.has_clocks:
        return {"two-clocks-band": {"on_turn": turn}}
    chosen = partial(choose, [int(n) for n in look.maps.n_trees])
    hint = "Click a cell of a map to move the sliders there."
    cells = {"select": "cells", "on_select": chosen, "hint": hint}
    return {"two-clocks-band": {"on_turn": turn}, "two-clocks-why-0": cells}
