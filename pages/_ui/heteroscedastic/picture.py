"""Heteroscedastic's picture: what there is of each method, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.experiments.heteroscedastic.data import data_of
from gbuq_core.experiments.heteroscedastic.experiment import HETEROSCEDASTIC
from gbuq_core.experiments.heteroscedastic.fit import (
    level_intervals,
)
from gbuq_core.experiments.heteroscedastic.picture import (
    MethodPanel,
    heteroscedastic_figure,
    percent,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    HeteroscedasticSettings,
)
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.settings import from_values
from pages._ui.curves import show_curves
from pages._ui.heteroscedastic.controls import FOLLOWED, STATE
from pages._ui.heteroscedastic.scorecard import measure_slots
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.live import live_knobs
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.side_by_side import (
    Shown,
    plan_requests,
    rows_of_picture,
    view_answers,
)

_FIRST = HeteroscedasticSettings().methods


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
        answers = ask(
            plan_requests(HETEROSCEDASTIC, settings), LIVE_SECONDS, others=measure_slots()
        )
        figure = figure_of(
            settings,
            view_answers(HETEROSCEDASTIC, settings, answers),
            knobs_above(values),
            asked(values),
        )
        fresh = all(answer.fresh or bool(answer.error) for answer in answers)
    show_curves(figure, "heteroscedastic-panels")
    return fresh


def asked(values: SimpleNamespace) -> bool:
    """Whether the reader asked for more than the first method: for all, or for some by name."""
    return (
        bool(values.every) or from_values(HeteroscedasticSettings, vars(values)).methods != _FIRST
    )


def figure_of(
    settings: HeteroscedasticSettings,
    shown: Sequence[Shown],
    knobs: Sequence[LiveKnob],
    every: bool = True,
) -> Curves:
    """The picture for today's rows; until one method is trained on them, the previous picture."""
    settings, seen = rows_of_picture(
        settings, shown if every else shown[:1], lambda one: (one.rows, one.noise_slope, one.seed)
    )
    panels = [
        MethodPanel(one.answer.slot, one.view, note, level_intervals(one.fit, settings))
        if one.view is not None
        else MethodPanel(one.answer.slot, note=note)
        for one, note in seen
    ]
    return heteroscedastic_figure(data_of(settings), panels, settings, knobs, quiet=not every)


def knobs_above(values: SimpleNamespace) -> list[LiveKnob]:
    """The knobs above the panels, which the browser works out while they are moved."""
    levels = tuple(map(percent, LEVELS))
    return [
        knob._replace(texts=levels) if knob.key == "level" else knob
        for knob in live_knobs(STATE, values)
    ]
