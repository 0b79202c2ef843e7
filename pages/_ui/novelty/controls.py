"""Novelty's state in the address, and clicks, which erase rows and choose the place to explain."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType

import streamlit as st

from gbuq_core.errors import refusal_of_call
from gbuq_core.experiments.novelty.data import DATASETS
from gbuq_core.experiments.novelty.erasing import Place, erase_rows, rows_in, write_places
from gbuq_core.experiments.novelty.experiment import COLUMNS
from gbuq_core.experiments.novelty.fit import NoveltyRun
from gbuq_core.experiments.novelty.plan import (
    FIRST,
    MAP_LABELS,
    METHODS,
    NoveltySettings,
    why_not,
)
from gbuq_core.experiments.novelty.scores import describe_erased
from gbuq_core.knobs import Knob
from gbuq_core.settings import knobs_of
from pages._ui.canvas import CanvasEvent, keep_knobs
from pages._ui.knobs import Preset
from pages._ui.live import EVERY, FOCUS, map_knob
from pages._ui.notices import show_notice
from pages._ui.present import Step
from pages._ui.sections import Acts
from pages._ui.skeleton import Skeleton
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState


def _labels_of(*keys: str) -> tuple[str, ...]:
    """The words for maps."""
    words = {key: label for label, key in MAP_LABELS.items()}
    return tuple(words[key] for key in keys)


def _with_columns() -> tuple[Knob, ...]:
    """The knobs of the settings, the columns behind their tables."""
    own = knobs_of(NoveltySettings)
    at = 1 + [knob.key for knob in own].index("table")
    return (*own[:at], *(knob for knobs in COLUMNS.values() for knob in knobs), *own[at:])


MAP = map_knob(MAP_LABELS)

STATE = PageState(
    key="novelty",
    knobs=(*_with_columns(), FOCUS, EVERY, MAP, *SURFACE),
    presets=(
        Preset(
            "Third feature nobody uses",
            {
                "third": True,
                "third_at": 3.0,
                "show": "ranks among rows",
                "column": 27,  # among the rows
                "row": 36,
                "maps": _labels_of("truth", "novelty", "conditional"),
            },
            "All places are far out along an irrelevant feature. Novelty counts it; conditional "
            "novelty counts only the features on a leaf's path.",
        ),
        Preset(
            "Clipped tail",
            {
                "tail": "clipped, as the authors'",
                "show": "own values",
                "maps": _labels_of("truth", "novelty", "distance"),
            },
            "The authors' novelty stops rising just outside the rows.",
        ),
        Preset("A table", {"data": DATASETS["table"].label}, "Two columns of real rows."),
    ),
    picture=("novelty-maps",),
    story=(
        Step("Truth at the left, scores beside it. Which scores rise where rows are rare?"),
        Step(
            "Own values instead of ranks. How far does each score reach?",
            {"show": "own values", MAP.key: METHODS["knowledge"].label},
        ),
        Step(
            "An irrelevant feature is added. Whose map changes?",
            {"show": "ranks among cells", "third": True},
        ),
    ),
    opening=MappingProxyType(
        {"maps": _labels_of(*FIRST.maps), "column": FIRST.column, "row": FIRST.row}
    ),
)


def act(run: NoveltyRun) -> Acts:
    """A click erases the rows around a place and looks at it; a drag only looks."""
    return {
        "novelty-maps": {
            "select": "cells",
            "on_select": partial(choose, run),
            "on_turn": keep_knobs,
        }
    }


def choose(run: NoveltyRun, event: CanvasEvent) -> None:
    """Take over a click or a drag. Streamlit calls this before the page runs."""
    cells = [event.clicked[1:]] if event.clicked is not None else event.dragged
    if not cells:
        return
    row, column = (round(sum(at) / len(at)) for at in zip(*cells, strict=True))
    st.session_state.update(column=float(column + 1), row=float(row + 1))
    fit, places = run.fit, (*run.settings.erased, (row, column))
    left = rows_in(fit.data, places).sum() > rows_in(fit.data, places[:-1]).sum()
    if event.clicked is None or not left:
        return
    if problem := refusal_of_call(erase_rows, fit.data, places):
        st.toast(f"{problem} The rows here stay.")
    else:
        st.session_state["erased"] = write_places(places)


def admit(settings: NoveltySettings) -> NoveltySettings | None:
    """Today's settings, with all rows where too few would be left; None if nothing can be shown."""
    problem = why_not(settings)
    whole = replace(settings, erased=())
    if problem and settings.erased and not why_not(whole):
        show_notice(f"{problem} The maps show all rows.", "erased")
        return whole
    if problem:
        show_notice(problem, "novelty", tone="error")
        return None
    return settings


def offer_undo(page: Skeleton, run: NoveltyRun) -> None:
    """How many rows are erased, and buttons that give them back."""
    places = run.settings.erased
    if not places:
        return
    with page.control, st.container(horizontal=True, key="novelty-erased"):
        st.text(describe_erased(run.fit))
        st.button("Undo", key="_novelty_undo", on_click=_erase, args=(places[:-1],))
        if len(places) > 1:
            st.button("Undo all", key="_novelty_clear", on_click=_erase, args=((),))


def _erase(places: tuple[Place, ...]) -> None:
    st.session_state["erased"] = write_places(places)
