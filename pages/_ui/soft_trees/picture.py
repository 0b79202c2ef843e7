"""Soft trees' picture: one panel per method, with functions drawn from its fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.data import (
    OWN,
    SoftTreesData,
    check_points,
    encode_points,
)
from gbuq_core.experiments.soft_trees.fit import (
    SoftTreesRun,
    SoftTreesView,
    data_of,
    fit_soft_trees,
    view_soft_trees,
)
from gbuq_core.experiments.soft_trees.models import estimate_soft_trees_seconds
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SoftTreesPlan,
    SoftTreesSettings,
    plan_soft_trees,
    why_not,
)
from gbuq_core.experiments.soft_trees.words import describe_data
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.soft_trees.picture import Functions, functions_figure, pending
from gbuq_core.figures.soft_trees.strips import scene_from
from pages._ui.controls import draw_knob
from pages._ui.curves import Carry, Placed, show_curves
from pages._ui.jobs_glue import ask
from pages._ui.live_sliders import LIVE_SECONDS, carried, carry, follow
from pages._ui.notices import show_notice
from pages._ui.side_by_side import Shown, SideBySide, say_problems
from pages._ui.soft_trees.controls import (
    COMPARISONS,
    FOLLOWED,
    POINTS,
    REFUSED,
    STATE,
    clear_points,
    place,
    points_of,
    settings_of,
    show_of,
)

_HEIGHT = 370
_STATES = {"cancelled": "cancelled", "failed": "no result"}  # of a panel without functions


PAGE = SideBySide(
    name="soft-trees",
    methods=METHODS,
    plan=plan_soft_trees,
    why_not=why_not,
    estimate=estimate_soft_trees_seconds,
    fit=fit_soft_trees,
    view=view_soft_trees,
    depends=lambda _, given: (given.draws, given.draw_seed),
)


def run_of(settings: SoftTreesSettings, shown: Sequence[Shown]) -> SoftTreesRun:
    """What belongs to these settings: without methods whose fit is still on its way."""
    fresh = [one for one in shown if one.fresh]
    fits = tuple(one.fit for one in fresh if one.fit is not None)
    views = tuple(one.view for one in fresh if one.view is not None)
    settings = replace(settings, methods=tuple(fit.method for fit in fits), draw=None, tree=0)
    return SoftTreesRun(settings, data_of(settings), fits, views)


def draw_picture(
    values: SimpleNamespace,
    settings: SoftTreesSettings,
    shown: Sequence[Shown],
    refusals: Sequence[str],
) -> None:
    """The panels, and below them what is missing."""
    figure = figure_of(settings, shown, show_of(values), settings.data == OWN)
    follow(STATE, values, FOLLOWED, partial(_draw_panels, figure))
    if settings.data == OWN:
        _draw_points(settings)
    with st.container():  # below, so that the picture stays in its place while points are clicked
        _say_what_is_missing(values, settings, shown, refusals)


def _draw_panels(figure: Curves, values: SimpleNamespace, moving: bool) -> bool:
    """The panels, alone while something is dragged; whether they are of these values."""
    done = True
    if moving:
        settings = settings_of(values)
        answers = ask(PAGE.requests(settings), LIVE_SECONDS, others=COMPARISONS)
        shown = PAGE.views(settings, answers)
        figure = figure_of(settings, shown, show_of(values), settings.data == OWN)
        done = all(one.fresh or one.problem for one in shown)
    if "place" in figure.spec:
        points = Carry(carried(STATE), not done, _carry_points)
        show_curves(figure, "soft-trees-functions", on_place=place, carry=points)
    else:
        show_curves(figure, "soft-trees-functions")
    return done


def _carry_points(seq: int, points: Placed) -> None:
    with suppress(GbuqError):
        carry(STATE, seq, points=encode_points(check_points(points)))


def figure_of(
    settings: SoftTreesSettings, shown: Sequence[Shown], show: Any = "both", own: bool = False
) -> Curves:
    """The picture for today's rows; until one method is trained on them, the previous picture."""
    data = data_of(settings)
    if shown and not any(_belongs(one, settings) for one in shown):
        old = next((one.fit for one in shown if one.fit is not None), None)
        if old is not None:
            data, settings = old.data, replace(settings, **_data_of_plan(old.plan))
    methods = [_functions(one, settings, data) for one in shown]
    said = (f"{METHODS[m.method].label}: {m.note}." for m in methods if m.note)
    words = " ".join([describe_data(data), *said])
    return functions_figure(
        scene_from(data), methods, show, place=own and data.key == OWN, alt=words, height=_HEIGHT
    )


def _functions(one: Shown, settings: SoftTreesSettings, data: SoftTreesData) -> Functions:
    method = one.answer.slot
    if one.view is None or not _belongs(one, settings):
        state = "no result" if one.problem else _STATES.get(one.answer.state, "training")
        return pending(method, state)
    view = one.view
    note = spread_note(view, data) if one.answer.fresh else "previous settings"
    lines = view.functions[: settings.shown]
    return Functions(method, view.x, lines, view.loc, view.data, view.knowledge, note)


def spread_note(view: SoftTreesView, data: SoftTreesData) -> str:
    """How wide functions spread where there are no rows, relative to where there are."""
    if len(data.support) != len(view.x):
        return ""
    std = view.knowledge**0.5
    inside, outside = (float(std[where].mean()) if where.any() else math.nan
                       for where in (data.support, ~data.support))  # fmt: skip
    if not (math.isfinite(inside) and math.isfinite(outside) and inside > 0):
        return ""
    return f"{outside / inside:.1f} times as wide without rows"


def _data_of_plan(plan: SoftTreesPlan) -> dict[str, Any]:
    names = ("data", "rows", "noise", "points", "seed")
    return {name: getattr(plan, name) for name in names if getattr(plan, name) is not None}


def _belongs(one: Shown, settings: SoftTreesSettings) -> bool:
    """Whether a fit's rows are those of the picture; own points move, their board does not."""
    if one.fit is None:
        return False
    plan = one.fit.plan
    if OWN in (plan.data, settings.data):
        return plan.data == settings.data
    return all(getattr(settings, name) == value for name, value in _data_of_plan(plan).items())


def _say_what_is_missing(
    values: SimpleNamespace,
    settings: SoftTreesSettings,
    shown: Sequence[Shown],
    refusals: Sequence[str],
) -> None:
    refused = st.session_state.pop(REFUSED, "")
    unread = points_of(values)[1] if settings.data == OWN else ""
    said = [text for text in (unread, refused, *refusals) if text]
    if said:
        show_notice(said, "soft-trees")
    say_problems(shown)
    if not settings.methods:
        st.text("Choose a method on the left to see its functions.")


def _draw_points(settings: SoftTreesSettings) -> None:
    """The points as text, for the keyboard and for other programs."""
    n = len(settings.points)
    with st.container(horizontal=True, vertical_alignment="center", key="soft-trees-points"):
        st.caption(f"{n} point{'s' if n != 1 else ''}.", width="content")
        st.button("Clear", key="_soft_trees_clear", on_click=clear_points, disabled=not n)
        with st.popover("As text"):
            draw_knob(POINTS)


def show_costs(settings: SoftTreesSettings, shown: Sequence[Shown]) -> None:
    """What the fits took, and what slow methods would take that are not chosen."""
    parts = PAGE.costs(settings, shown)
    notes = [note for one in shown if one.view is not None for note in one.view.notes]
    parts += dict.fromkeys(notes)
    parts.append("The controls under View update the picture without retraining.")
    st.caption(" ".join(parts))
