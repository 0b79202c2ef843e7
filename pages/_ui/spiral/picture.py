"""Spiral's picture: the maps of what has been fitted, with the schedule and the losses below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.spiral.fit import (
    SIDE,
    SpiralFit,
    SpiralMaps,
    SpiralRun,
    map_spiral,
    spiral_truth,
)
from gbuq_core.experiments.spiral.growth import growth_of
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralSettings,
    estimate_spiral_seconds,
    plan_spiral,
    why_not,
)
from gbuq_core.experiments.spiral.scores import describe_spiral
from gbuq_core.figures.canvas.panels import Line, Marker, PanelSheet
from gbuq_core.figures.spiral.picture import SpiralView, flagged, spiral_sheet
from gbuq_core.presentation import seconds_text
from gbuq_core.synthetic import make_spiral
from pages._ui.canvas import CanvasEvent, canvas
from pages._ui.jobs_glue import Answer
from pages._ui.kept import keep_only, kept, last_kept
from pages._ui.notices import show_notice
from pages._ui.spiral.controls import Looks, choose
from pages._ui.spiral.scorecard import scores_of
from pages._ui.surface import show_surface

_MAPS = "spiral-maps:"  # what is kept of each method
_SLOW_SECONDS = 1.0  # methods whose cost is told before they are chosen


class Mapped(NamedTuple):
    """The maps of what a method has fitted, and why there are none, in a sentence."""

    answer: Answer
    maps: SpiralMaps | None
    problem: str


def map_answers(settings: SpiralSettings, answers: Sequence[Answer]) -> list[Mapped]:
    """Maps of every answer; what did not change is not computed again."""
    keep_only(_MAPS, {_MAPS + answer.slot for answer in answers})
    return [_map(settings, answer) for answer in answers]


def _map(settings: SpiralSettings, answer: Answer) -> Mapped:
    if answer.result is None or answer.error:
        return Mapped(answer, None, answer.error)
    fit: SpiralFit = answer.result
    depends = _what_maps_depend_on(fit, settings)
    try:
        maps = kept(_MAPS + answer.slot, [fit], depends, lambda: map_spiral(fit, settings))
    except GbuqError as error:
        return Mapped(answer, None, str(error))
    return Mapped(answer, maps, "")


def _what_maps_depend_on(fit: SpiralFit, settings: SpiralSettings) -> tuple[Any, ...]:
    kind = METHODS[fit.plan.method]
    if kind.cyclical:
        return settings.burn_in, settings.shown
    return (settings.step, settings.start, settings.shown) if kind.virtual else (settings.shown,)


def run_of(settings: SpiralSettings, mapped: Sequence[Mapped]) -> SpiralRun:
    """What belongs to these settings: without methods whose fit is still on its way."""
    fresh = tuple(one.maps for one in mapped if one.maps is not None and one.answer.fresh)
    data = fresh[0].fit.data if fresh else make_spiral(settings.rows, settings.noise, settings.seed)
    return SpiralRun(settings, data, spiral_truth(settings.noise), fresh)


def settled_run(run: SpiralRun, done: bool) -> SpiralRun:
    """The last run of which nothing is missing: what is written below the picture stays."""
    if done:
        return kept("spiral-run", run.methods, run.settings, lambda: run)
    return last_kept("spiral-run") or run


def words_of(run: SpiralRun) -> str:
    """The picture in words, worked out once."""
    scores = scores_of(run)
    return kept("spiral-words", run.methods, run.settings, lambda: describe_spiral(run, scores))


def sheet_of(
    run: SpiralRun,
    shown: Sequence[SpiralMaps],
    view: SpiralView,
    looks: Looks | None = None,
    words: str = "",
) -> PanelSheet:
    """The picture: maps, strips, and where the reader looks."""
    markers, lines = (), ()
    if looks is not None:
        (x, y), (x0, y0), (x1, y1) = looks.point, looks.start, looks.end
        markers = (Marker(x, y),)
        lines = (Line([x0, x1], [y0, y1], arrow=True),) if (x0, y0) != (x1, y1) else ()
    growths = [growth for maps in shown if (growth := growth_of(maps)) is not None]
    return spiral_sheet(run.truth, run.data, shown, growths, view, markers, lines, words)


def draw_picture(
    run: SpiralRun,
    mapped: Sequence[Mapped],
    view: SpiralView,
    looks: Looks,
    words: str,
    on_select: Callable[[CanvasEvent], None] = lambda event: choose(event, SIDE),
) -> None:
    """Draw what there is, the last good maps included."""
    shown = [one for one in mapped if one.maps is not None]
    with st.container():  # always there, so that the picture below stays in its place
        _say_what_is_missing(mapped)
    sheet = sheet_of(run, [one.maps for one in shown if one.maps], view, looks, words)
    canvas(sheet, key="spiral", select=("cells", "ray"), on_select=on_select)
    flags = describe_flags(run, view)
    if flags:
        st.text(flags)
    show_surface(sheet, first=("knowledge", "KU"))


def describe_flags(run: SpiralRun, view: SpiralView) -> str:
    """How many of the flagged cells have no rows around; nothing if none are flagged."""
    known = [maps for maps in run.methods if np.isfinite(maps.knowledge[-1]).all()]
    if not view.flag or not known:
        return ""
    outside = ~run.truth.in_support
    shares = [
        f"{METHODS[maps.method].label} "
        f"{100 * outside[flagged(maps.knowledge[-1], view.flag)].mean():.0f} %"
        for maps in known
    ]
    return (
        f"Flagged cells outside the data: {', '.join(shares)}. Chance would give "
        f"{100 * outside.mean():.0f} %, which is how much of the map lies there."
    )


def _say_what_is_missing(mapped: Sequence[Mapped]) -> None:
    for one in mapped:
        if one.problem:
            label, slot = one.answer.request.label, one.answer.slot
            show_notice(f"{label}: {one.problem}", slot, tone="error")
    old = [one.answer.request.label for one in mapped if one.maps and not one.answer.fresh]
    if old:
        st.caption(f"Still the settings before: {', '.join(old)}.")
    if not mapped:
        st.text("Choose a method at the left to see what it makes of this truth.")


def show_costs(settings: SpiralSettings, answers: Sequence[Answer]) -> None:
    """What the fits took, and what slow methods would take that are not chosen."""
    fits = [(answer.request.label, answer.result) for answer in answers if answer.fresh]
    taken = [f"{label} {seconds_text(fit.seconds)}" for label, fit in fits]
    parts = [f"Fitted: {', '.join(taken)}."] if taken else []
    others = [plan_spiral(settings, m) for m in METHODS if m not in settings.methods]
    estimates = {p.method: estimate_spiral_seconds(p) for p in others if not why_not(p)}
    slow = [
        f"{METHODS[method].label} about {seconds_text(seconds)}"
        for method, seconds in estimates.items()
        if seconds > _SLOW_SECONDS
    ]
    if slow:
        told = ", ".join(slow).replace(" about ", " would take about ", 1)
        parts.append(f"Not chosen: {told}.")
    st.caption(" ".join(parts))
