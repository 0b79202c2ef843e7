"""The page of a study: its state in the address, and what is clicked or dragged in its picture."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import Any

import streamlit as st

from gbuq_core.experiments.experiment import in_order
from gbuq_core.figures.curves import Curves
from gbuq_core.knobs import find_knob, problem_with
from gbuq_core.settings import from_values, knobs_of, to_values
from gbuq_core.study.study import Run, Study
from pages._ui.canvas import CanvasEvent
from pages._ui.controls import is_shown
from pages._ui.curves import Border, Carry
from pages._ui.experiment import show_compared
from pages._ui.knobs import Preset
from pages._ui.live import COLOURS, EVERY, FOCUS, map_knob, names_of_kinds
from pages._ui.live_sliders import carried, carry
from pages._ui.maps import show_maps
from pages._ui.placing import draw_points, hold_points
from pages._ui.present import Step
from pages._ui.sections import Acts
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState

_OF_CURVES = ("All methods", "Shows every chosen method at once, instead of the first.")


@cache
def state_of(study: Study) -> PageState:
    """The page's knobs, presets and story, as the address has them."""
    labels = [method.label for method in study.methods.values()] if study.by_kind else []
    names = (*study.maps, *names_of_kinds(labels))
    folds = tuple(closer.fold for closer in study.closer)
    looks = (*(knob for closer in study.closer for knob in closer.knobs), *SURFACE, *folds)
    label, text = study.every or (_OF_CURVES if study.curves else (EVERY.label, EVERY.help))
    every = replace(EVERY, label=label, help=text)
    drawn = (COLOURS, FOCUS, every, map_knob(names), *looks)
    if study.curves:
        trials = tuple(trial.fold for trial in study.trials)
        folds = (study.inside, *trials) if study.inside else trials
        asked = [knob for trial in study.trials for knob in trial.knobs]
        drawn = (*study.further, *(() if study.together else (every,)), *asked, *folds)
        looks = ()
    usual, first = to_values(study.settings()), to_values(study.first_settings)
    opening = {key: value for key, value in first.items() if value != usual[key]}
    return PageState(
        key=study.name,
        knobs=(*knobs_of(study.settings), *drawn),
        presets=tuple(
            Preset(*preset, keeps=tuple(knob.key for knob in looks)) for preset in study.presets
        ),
        picture=(study.name,),
        story=tuple(Step(*step) for step in study.story),
        opening={**opening, **{fold.key: False for fold in folds if fold.default}},
    )


def show_study(study: Study) -> None:
    """The whole page of a study."""
    if study.curves:
        own: dict[str, Any] = {"hold": partial(_hold_border, study)} if study.border else {}
        if study.turn:
            own = {"hold": partial(_hold_sliders, study), "acts": partial(_act_in_maps, study)}
        if study.placed:
            own = {"hold": partial(_hold_points, study), "below": partial(_draw_points, study)}
        show_compared(study, state_of(study), study.first, **own)
        return
    clicks = {}
    if study.click:
        clicks = {"on_select": partial(_click, study), "below": partial(_offer_undo, study)}
    show_maps(study, state_of(study), study.first, rays=study.line is not None, **clicks)


def _click(study: Study, event: CanvasEvent) -> None:
    """Cells or a line that were chosen set knobs. Streamlit calls this before the page."""
    if study.line and event.ray is not None:
        st.session_state.update(study.line(event.ray))
    if not study.click or not (event.clicked or event.dragged):
        return
    knobs = knobs_of(study.settings)
    typed = {knob.key: st.session_state.get(knob.key, knob.default) for knob in knobs}
    held = {knob.key: typed[knob.key] for knob in knobs if not problem_with(knob, typed[knob.key])}
    cells = [event.clicked[1:]] if event.clicked else event.dragged
    values, problem = study.click(from_values(study.settings, held), cells)
    st.session_state.update(values)
    if problem:
        st.toast(problem)


def _hold_border(study: Study, settings: Any, figure: Curves, done: bool) -> dict[str, Any]:
    """The knob that is dragged in the picture, as a line across the x axis."""
    assert study.border is not None
    (name, hint), state = study.border, state_of(study)
    knob = find_knob(state.knobs, name)
    low, high, step = (float(end or 0.0) for end in (knob.low, knob.high, knob.step))

    def value_at(at: int) -> float:
        x = min(max(figure.spec["read"]["x"][at], low), high)
        return round(low + step * round((x - low) / step), 10)

    def carry_to(seq: int, at: int) -> None:
        carry(state, seq, **{name: value_at(at)})

    return {
        "on_pick": lambda at: st.session_state.update({name: value_at(at)}),
        "carry": Carry(
            carried(state),
            not done,
            carry_to,
            getattr(settings, name),
            f" {hint}",
            border=Border(low, high, step),
        ),
    }


def _turn(study: Study, turned: tuple[int, int, bool]) -> None:
    """Keep where the reader left the sliders. Streamlit calls this before the page runs."""
    assert study.turn is not None
    st.session_state[study.turn.knob] = study.turn.write(turned)


def _hold_sliders(study: Study, settings: Any, figure: Curves, done: bool) -> dict[str, Any]:
    """The sliders in the picture, once there is something to move."""
    return {"on_turn": partial(_turn, study)} if "dials" in figure.spec else {}


def _act_in_maps(study: Study, run: Run) -> Acts:
    """Clicks on the maps of Why move the sliders in the picture."""
    turn = study.turn
    assert turn is not None

    def choose(event: CanvasEvent) -> None:
        """Go to a clicked cell, or to the middle of a selection."""
        last = len(event.dragged) // 2
        cell = event.clicked or ((1, *event.dragged[last]) if event.dragged else None)
        if cell:
            _turn(study, turn.clicked(run, *cell))

    return {
        f"{study.name}-why-{at}": {"select": "cells", "on_select": choose, "hint": turn.hint}
        for at, section in enumerate(in_order(study.why(run)))
        if section.sheet is not None
    }


def _hold_points(study: Study, settings: Any, figure: Curves, done: bool) -> dict[str, Any]:
    """Points of one's own are placed and dragged."""
    shown = "place" in figure.spec and _places_points(study, settings)
    return hold_points(state_of(study), study.placed, not done) if shown else {}


def _draw_points(study: Study, settings: Any) -> None:
    if _places_points(study, settings):
        draw_points(state_of(study), study.placed, len(getattr(settings, study.placed)))


def _places_points(study: Study, settings: Any) -> bool:
    """Whether the picture is of points that the reader places."""
    return is_shown(find_knob(knobs_of(study.settings), study.placed), to_values(settings))


def _offer_undo(study: Study, run: Run) -> None:
    """A note, and buttons while what clicks have set can be undone."""
    text, buttons = study.undo(run)
    if not text and not buttons:
        return
    with st.container(horizontal=True, key=f"{study.name}-undo"):
        if text:
            st.text(text)
        for number, (label, values) in enumerate(buttons.items()):
            key = "_undo" + "-" * number
            st.button(label, key=key, on_click=st.session_state.update, args=(values,))
