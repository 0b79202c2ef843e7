"""Neighbours' knobs, and the point or row that is looked at."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MappingProxyType
from typing import Any

import streamlit as st

from gbuq_core.settings import knobs_of
from gbuq_core.study.neighbours_fit import DATASETS, PLACES, ROWS, NeighboursRun, NeighboursSettings
from gbuq_core.study.neighbours_picture import is_small
from pages._ui.canvas import CanvasEvent, keep_knobs
from pages._ui.curves import Carry
from pages._ui.knobs import Preset
from pages._ui.live import EVERY, map_knob
from pages._ui.live_sliders import carried, carry
from pages._ui.present import Step
from pages._ui.sections import Acts
from pages._ui.url_state import PageState

KNOBS = MappingProxyType({knob.key: knob for knob in knobs_of(NeighboursSettings)})
_AFFINITY = "Affinity with the point"
MAP = map_knob(("Estimated scale", _AFFINITY))

STATE = PageState(
    key="neighbours",
    knobs=(*KNOBS.values(), EVERY, MAP),
    presets=(
        Preset(
            "Two inputs",
            {"data": DATASETS["ripples"].label, "scales_of": ROWS},
            "Maps of noise and of affinity.",
        ),
        Preset(
            "A table",
            {"data": DATASETS["diabetes"].label, "scales_of": ROWS},
            "Held-out patients.",
        ),
    ),
    opening=MappingProxyType({"scales_of": ROWS}),
    picture=(
        *("neighbours-course", "neighbours-maps"),
        *("neighbours-rows", "neighbours-training"),  # of a table
    ),
    story=(
        Step("The marked rows share most leaves with the place at the line. They set its scale."),
        Step("5 neighbours. How rough is the scale now?", {"k": "5"}),
        Step("Three times the noise. Does the scale follow?", {"noise": 3.0}),
        Step(
            "Two inputs. Which rows count as near, and how far do they reach?",
            {"data": DATASETS["ripples"].label, MAP.key: _AFFINITY},
        ),
    ),
)


def rounded_place(data: str, place: tuple[float, ...]) -> dict[str, float]:
    """The knobs of a point or row with values that they can have."""
    knobs = (KNOBS[name] for name in PLACES[data])
    return {
        knob.key: round(min(max(float(value), float(knob.low or 0)), float(knob.high or 0)), 2)
        for knob, value in zip(knobs, place, strict=True)
    }


def act(run: NeighboursRun) -> Acts:
    """A place or a row is chosen in the picture; a place on a line can be dragged."""
    data = run.fit.data
    pick = partial(_pick, data.key)
    if data.n_inputs == 1:
        x = data.axes[0]
        place = Carry(
            carried(STATE),
            False,
            lambda seq, at: carry(STATE, seq, **rounded_place(data.key, (float(x[at]),))),
            float(run.look.x[0]),
            " Drag the orange line to move it.",
            is_small(run.fit),
        )
        return {"neighbours-course": {"on_pick": lambda at: pick(float(x[at])), "carry": place}}
    if data.n_inputs == 2:
        cell = partial(pick_cell, data.axes, pick)
        cells = {"select": "cells", "on_select": cell, "on_turn": keep_knobs}
        return {"neighbours-maps": cells}
    hint = "Point at a row, click to keep it."
    return {"neighbours-rows": {"on_pick": pick, "hint": hint}}


def _pick(data: str, *place: float) -> None:
    st.session_state.update(rounded_place(data, place))


def pick_cell(axes: tuple[Any, ...], pick: Callable[..., None], event: CanvasEvent) -> None:
    """The clicked cell; of several, the one in their middle."""
    cells = [event.clicked[1:]] if event.clicked is not None else event.dragged
    if cells:
        row, column = (round(sum(at) / len(at)) for at in zip(*cells, strict=True))
        pick(float(axes[0][column]), float(axes[1][row]))
