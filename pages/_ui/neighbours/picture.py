"""Neighbours' picture: what has been found for the knobs' values, and the figure it makes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.neighbours.fit import (
    NeighboursFit,
    NeighboursSearch,
    NeighboursView,
    fit_neighbours,
    rank_families,
    search_key,
    search_neighbours,
    view_neighbours,
)
from gbuq_core.experiments.neighbours.live import (
    is_small,
    leaf_table,
    scale_name,
    scale_table,
    tree_name,
    tree_table,
)
from gbuq_core.experiments.neighbours.look import NeighboursRun, look_at
from gbuq_core.experiments.neighbours.opening import (
    FIRST,
    OPENING,
    NeighboursOpening,
    is_first,
)
from gbuq_core.experiments.neighbours.picture import (
    course_figure,
    held_out_figure,
    neighbours_maps,
    training_figure,
)
from gbuq_core.experiments.neighbours.plan import (
    BASELINES,
    BEST_FAMILY,
    KS,
    SHARES,
    NeighboursSettings,
    estimate_neighbours_seconds,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import pack_table
from gbuq_core.ibug import FamilyScores
from gbuq_core.settings import bare, from_values, plan_of, sliders, with_fit
from pages._ui.canvas import CanvasEvent, canvas, keep_knobs
from pages._ui.curves import Carry, show_curves
from pages._ui.jobs_glue import Answer, Request, ask, in_thread
from pages._ui.kept import kept
from pages._ui.live import EVERY, live_knobs
from pages._ui.live_sliders import LIVE_SECONDS, carried, carry, follow
from pages._ui.neighbours.controls import MAP, STATE, rounded_place
from pages._ui.notices import show_notice

SLOT, BASELINE_SLOTS = "neighbours", tuple(f"baseline-{key}" for key in BASELINES)


def fit_request(settings: NeighboursSettings) -> Request:
    """The fit that these settings need."""
    plan = plan_of(settings)
    seconds = estimate_neighbours_seconds(plan)
    stored = partial(_stored, plan) if is_first(settings) else None
    return Request(
        SLOT, (SLOT, plan), in_thread(fit_neighbours, plan), "Trees", seconds, stored=stored
    )


def opening_of(fit: NeighboursFit) -> NeighboursOpening | None:
    """What is stored of a fit without a model."""
    return OPENING.find(fit.plan) if fit.model is None else None


def _stored(plan: NeighboursSettings) -> NeighboursFit | None:
    opening = OPENING.find(plan)
    return None if opening is None else opening.fit


def find(values: SimpleNamespace, answer: Answer) -> NeighboursRun:
    """What the last good fit says with today's view; nothing is found twice."""
    fit: NeighboursFit = answer.result
    settings = with_fit(from_values(NeighboursSettings, vars(values)), fit.plan)
    if (opening := opening_of(fit)) is not None:
        seen = replace(FIRST, scales=settings.scales, scales_of=settings.scales_of)
        view = replace(opening.view, settings=seen)
        return NeighboursRun(seen, fit, opening.search, view, opening.look)
    search = kept(
        "neighbours-search",
        [fit],
        search_key(fit, settings),
        lambda: search_neighbours(fit, settings),
    )
    plain = replace(bare(settings), compare=())
    view = kept("neighbours-view", [search], plain, lambda: view_neighbours(fit, search, plain))
    view = replace(view, settings=settings)
    ranked = ranked_of(fit, search, view) if settings.family == BEST_FAMILY else None
    look = kept(
        "neighbours-look",
        [search],
        (plain, settings.point, settings.row, settings.family),
        lambda: look_at(fit, search, settings, view, ranked),
    )
    return NeighboursRun(settings, fit, search, view, look)


def find_or_say(values: SimpleNamespace, answer: Answer) -> NeighboursRun | None:
    """What there is to show, or the reason why there is nothing."""
    if answer.error or answer.result is None:
        if answer.error:
            show_notice(answer.error, "neighbours", tone="error")
        else:
            st.text("The picture appears when the first fit is done.")
        return None
    try:
        run = find(values, answer)
    except GbuqError as error:
        show_notice(str(error), "neighbours", tone="error")
        return None
    if not answer.fresh:
        st.caption("The picture still shows the previous settings, and so do the scores.")
    notes = [*run.view.notes, *run.look.notes]
    if notes:
        show_notice(list(dict.fromkeys(notes)), "range")
    return run


def ranked_of(fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView) -> FamilyScores:
    """Every family's NLL on the validation rows, worked out once."""
    if (opening := opening_of(fit)) is not None:
        return opening.ranked
    depends = view.setting, view.settings.calibrate, view.settings.scoring
    return kept("neighbours-ranked", [search], depends, lambda: rank_families(fit, search, view))


def show_picture(run: NeighboursRun, values: SimpleNamespace) -> None:
    """The picture, which follows sliders."""
    follow(STATE, values, sliders(NeighboursSettings), partial(_draw, run))


def _draw(run: NeighboursRun, values: SimpleNamespace, moving: bool) -> bool:
    """The picture, alone while something is dragged; whether it is of these values."""
    if not moving:
        _draw_picture(run, live_knobs(STATE, values))
        return True
    request = fit_request(from_values(NeighboursSettings, vars(values)))
    (answer,) = ask([request], LIVE_SECONDS, others=BASELINE_SLOTS)
    with suppress(GbuqError):
        run = find(values, answer)
    _draw_picture(run, live_knobs(STATE, values))
    return answer.fresh or bool(answer.error)


def _draw_picture(run: NeighboursRun, knobs: Sequence[LiveKnob]) -> None:
    """The picture of the kind of data, with what is chosen in it; a place can be dragged."""
    data = run.fit.data
    bar = [knob for knob in knobs if knob.key not in (EVERY.key, MAP.key)]  # those are of maps
    if data.n_inputs == 1:
        place = Carry(
            carried(STATE),
            False,
            partial(_carry_x, data.key, data.axes[0]),
            float(run.look.x[0]),
            " Drag the orange line to move it.",
            is_small(run.fit),
        )
        pick = partial(_pick_x, data.key, data.axes[0])
        show_curves(course_figure(run, bar).quiet, "neighbours-course", pick, carry=place)
    elif data.n_inputs == 2:
        pick = partial(_pick_cell, data.key, data.axes)
        sheet = replace(neighbours_maps(run, knobs), quiet=True, chosen=2)  # the neighbours
        canvas(sheet, "neighbours-maps", "cells", pick, keep_knobs)
    else:
        left, right = st.columns(2, gap="medium")
        with left:
            st.markdown("**Held-out rows**: point at one, click to keep it")
            pick = partial(_pick_row, run.settings.data)
            show_curves(held_out_figure(run, bar).quiet, "neighbours-rows", pick)
        with right:
            st.markdown("**Training rows**: the neighbours are marked")
            show_curves(training_figure(run, bar).quiet, "neighbours-training")


def tables_of(run: NeighboursRun) -> dict[str, bytes]:
    """What the picture follows with, packed once a fit, a search and a k."""
    fit, search, settings = run.fit, run.search, run.settings
    if not is_small(fit):
        return {}
    opening = opening_of(fit)
    makers: Mapping[str, tuple[Any, Hashable, Callable[[], Any]]] = {
        "leaves": (fit, None, lambda: leaf_table(fit)),
        "scales": (
            search, scale_name(fit, search, settings),
            lambda: scale_table(fit, search, settings, KS),
        ),
        "trees": (fit, tree_name(fit, settings), lambda: tree_table(fit, settings, SHARES)),
    }  # fmt: skip
    return {
        name: pack_table(getattr(opening, name))
        if opening is not None
        else kept(f"neighbours-{name}", [of], depends, lambda make=make: pack_table(make()))
        for name, (of, depends, make) in makers.items()
    }


def _carry_x(data: str, x: np.ndarray, seq: int, place: int) -> None:
    carry(STATE, seq, **rounded_place(data, (float(x[place]),)))


def _pick_x(data: str, x: np.ndarray, place: int) -> None:
    st.session_state.update(rounded_place(data, (float(x[place]),)))


def _pick_cell(data: str, axes: tuple[np.ndarray, ...], event: CanvasEvent) -> None:
    """The clicked cell; of several, the one in their middle."""
    cells = [event.clicked[1:]] if event.clicked is not None else event.lassoed
    if cells:
        row, column = (round(sum(at) / len(at)) for at in zip(*cells, strict=True))
        place = float(axes[0][column]), float(axes[1][row])
        st.session_state.update(rounded_place(data, place))


def _pick_row(data: str, number: int) -> None:
    st.session_state.update(rounded_place(data, (float(number),)))
