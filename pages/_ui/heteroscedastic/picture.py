"""Heteroscedastic's picture: what there is of each method, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.heteroscedastic.data import data_of, shown_range
from gbuq_core.experiments.heteroscedastic.fit import (
    OPENING,
    fit_heteroscedastic,
    level_intervals,
    view_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.picture import (
    MethodPanel,
    heteroscedastic_figure,
    percent,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    HeteroscedasticSettings,
    estimate_heteroscedastic_seconds,
    why_not,
)
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.settings import from_values, plan_of
from pages._ui.curves import show_curves
from pages._ui.heteroscedastic.controls import FOLLOWED, STATE
from pages._ui.heteroscedastic.scorecard import measure_slots
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live import live_knobs
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.notices import show_notice
from pages._ui.side_by_side import (
    Shown,
    SideBySide,
    list_refusals,
    plan_requests,
    say_problems,
    view_answers,
)

_FIRST = HeteroscedasticSettings().methods
_STATES = {"cancelled": "cancelled", "failed": "no result"}  # of a panel without a prediction

PAGE = SideBySide(
    name="heteroscedastic",
    methods=METHODS,
    plan=plan_of,
    why_not=why_not,
    estimate=estimate_heteroscedastic_seconds,
    fit=fit_heteroscedastic,
    opening=OPENING,
    view=view_heteroscedastic,
    depends=lambda _, given: (shown_range(given), given.conformal, given.level, given.tail),
)


def show_picture(
    values: SimpleNamespace, settings: HeteroscedasticSettings, shown: Sequence[Shown]
) -> None:
    """The panels, which follow sliders; what is on its way stands below, so that they stay."""
    figure = figure_of(settings, shown, knobs_above(values), asked(values))
    follow(STATE, values, FOLLOWED, partial(_draw_picture, figure))
    with st.container(key="heteroscedastic-progress"):
        show_progress([one.answer for one in shown if one.answer.state != "done"])


def _draw_picture(figure: Curves, values: SimpleNamespace, moving: bool) -> bool:
    """The panels, alone while a slider is on its way; whether they are of these values."""
    fresh = True
    if moving:
        settings = from_values(HeteroscedasticSettings, vars(values))
        answers = ask(plan_requests(PAGE, settings), LIVE_SECONDS, others=measure_slots())
        figure = figure_of(
            settings, view_answers(PAGE, settings, answers), knobs_above(values), asked(values)
        )
        fresh = all(answer.fresh or bool(answer.error) for answer in answers)
    show_curves(figure, "heteroscedastic-panels")
    return fresh


def asked(values: SimpleNamespace) -> bool:
    """Whether the reader asked for more than the first method: for all, or for some by name."""
    return (
        bool(values.every) or from_values(HeteroscedasticSettings, vars(values)).methods != _FIRST
    )


def say_what_is_missing(settings: HeteroscedasticSettings, shown: Sequence[Shown]) -> None:
    """Methods without a prediction, and why."""
    refusals = list_refusals(PAGE, settings)
    if refusals:
        show_notice(refusals, "heteroscedastic")
    say_problems(shown)
    if not settings.methods:
        st.text("Choose a method in All settings to see its prediction.")


def figure_of(
    settings: HeteroscedasticSettings,
    shown: Sequence[Shown],
    knobs: Sequence[LiveKnob],
    every: bool = True,
) -> Curves:
    """The picture for today's rows; until one method is trained on them, the previous picture."""
    if shown and not any(_belongs(one, settings) for one in shown):
        old = next((one.fit.plan for one in shown if one.fit is not None), None)
        if old is not None:
            settings = replace(settings, rows=old.rows, noise_slope=old.noise_slope, seed=old.seed)
    panels = [_panel(one, settings) for one in (shown if every else shown[:1])]
    return heteroscedastic_figure(data_of(settings), panels, settings, knobs, quiet=not every)


def knobs_above(values: SimpleNamespace) -> list[LiveKnob]:
    """The knobs above the panels, which the browser works out while they are moved."""
    levels = tuple(map(percent, LEVELS))
    return [
        knob._replace(texts=levels) if knob.key == "level" else knob
        for knob in live_knobs(STATE, values)
    ]


def _panel(one: Shown, settings: HeteroscedasticSettings) -> MethodPanel:
    if one.view is None or not _belongs(one, settings):
        state = "no result" if one.problem else _STATES.get(one.answer.state, "training")
        return MethodPanel(one.answer.slot, note=state)
    note = "" if one.answer.fresh else "previous settings"
    return MethodPanel(one.view.method, one.view, note, level_intervals(one.fit, settings))


def _belongs(one: Shown, settings: HeteroscedasticSettings) -> bool:
    """Whether a fit's rows are those of the picture."""
    if one.fit is None:
        return False
    plan = one.fit.plan
    wanted = (settings.rows, settings.noise_slope, settings.seed)
    return (plan.rows, plan.noise_slope, plan.seed) == wanted
