"""The state of Beyond the rows in the address, and its story."""

from __future__ import annotations

import streamlit as st

from gbuq_core.experiments.beyond.fit import LEAST_EDGE, MOST_EDGE, BeyondFit, BeyondSettings
from gbuq_core.knobs import find_knob
from gbuq_core.settings import knobs_of
from pages._ui.curves import Border, Carry
from pages._ui.knobs import Preset
from pages._ui.live_sliders import carried, carry
from pages._ui.present import Step
from pages._ui.sections import Acts
from pages._ui.url_state import PageState

STATE = PageState(
    key="beyond",
    knobs=knobs_of(BeyondSettings),
    presets=(
        Preset("A wide gap", {"gap": 2.0}, "Is the truth inside the dark rim in the gap?"),
        Preset("No gap", {"gap": 0.0}, "What is left of the rim in the middle?"),
    ),
    picture=("beyond-bands",),
    story=(
        Step("The rows end at 6. What do trees say beyond, and what does the law?"),
        Step("They end at 5. Does the rim follow?", {"edge": 5.0}),
        Step("A gap of 2. Does a rim appear in it?", {"edge": 6.0, "gap": 2.0}),
    ),
)

_BORDER = Border(LEAST_EDGE, MOST_EDGE, float(find_knob(STATE.knobs, "edge").step or 0.0))
_HINT = " Drag the orange line: the rows end there. Keys: Shift and an arrow."


def act(fit: BeyondFit) -> Acts:
    """The end of the rows is dragged in the picture."""

    def edge_at(at: int) -> float:
        return round(min(max(float(fit.x[at]), LEAST_EDGE), MOST_EDGE), 1)

    grip = Carry(
        carried(STATE),
        False,
        lambda seq, at: carry(STATE, seq, edge=edge_at(at)),
        fit.settings.edge,
        _HINT,
        border=_BORDER,
    )
    drop = {"on_pick": lambda at: st.session_state.update(edge=edge_at(at)), "carry": grip}
    return {"beyond-bands": drop}
