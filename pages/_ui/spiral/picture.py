"""Spiral's picture: the maps of what has been fitted, with the schedule and the losses below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from gbuq_core.experiments.spiral.fit import (
    SIDE,
    SpiralFit,
    SpiralMaps,
    SpiralRun,
    fit_spiral,
    map_spiral,
    spiral_truth,
)
from gbuq_core.experiments.spiral.picture import flagged, spiral_sheet
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralSettings,
    estimate_spiral_seconds,
    why_not,
)
from gbuq_core.experiments.spiral.scores import describe_spiral
from gbuq_core.figures.canvas.panels import Line, Marker, PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import make_spiral
from pages._ui.canvas import Selectable, canvas, keep_knobs
from pages._ui.kept import kept, last_kept
from pages._ui.side_by_side import (
    Shown,
    SideBySide,
    list_costs,
)
from pages._ui.spiral.controls import Looks, choose
from pages._ui.spiral.scorecard import scores_of


def _depends(fit: SpiralFit, settings: SpiralSettings) -> tuple[Any, ...]:
    kind = fit.plan.kind
    if kind.cyclical:
        return settings.burn_in, settings.shown
    return (settings.step, settings.start, settings.shown) if kind.virtual else (settings.shown,)


def _why_not(plan: SpiralSettings) -> str:
    """The reason with the method it is about: two methods may refuse the same settings."""
    reason = why_not(plan)
    missing = plan.kind.record.missing()
    return missing or (f"{plan.kind.label}: {reason}" if reason else "")


PAGE = SideBySide(
    name="spiral",
    methods=METHODS,
    plan=plan_of,
    why_not=_why_not,
    estimate=estimate_spiral_seconds,
    fit=fit_spiral,
    view=map_spiral,
    depends=_depends,
)


def run_of(settings: SpiralSettings, shown: Sequence[Shown]) -> SpiralRun:
    """What belongs to these settings: without methods whose fit is still on its way."""
    fresh = tuple(one.view for one in shown if one.fresh)
    data = fresh[0].fit.data if fresh else make_spiral(settings.rows, settings.noise, settings.seed)
    return SpiralRun(settings, data, spiral_truth(settings.noise), fresh)


def settled_run(run: SpiralRun, done: bool) -> SpiralRun:
    """The last complete run, so that the scores below the picture stay while fits run."""
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
    looks: Looks,
    knobs: Sequence[LiveKnob] = (),
) -> PanelSheet:
    """The picture: maps, strips, and where the reader looks."""
    (x, y), (x0, y0), (x1, y1) = looks.point, looks.start, looks.end
    markers = (Marker(x, y),) if looks.point_open else ()
    has_length = (x0, y0) != (x1, y1)
    lines = (Line([x0, x1], [y0, y1], arrow=True),) if looks.walk_open and has_length else ()
    words = words_of(run)
    sheet = spiral_sheet(run.truth, run.data, shown, run.settings, markers, lines, words, knobs)
    return replace(sheet, quiet=True)


def draw_picture(sheet: PanelSheet, run: SpiralRun) -> None:
    """Draw the maps; cells and lines are chosen in them."""
    kinds: tuple[Selectable, ...] = ("cells", "ray")
    canvas(sheet, "spiral", kinds, partial(choose, n_cells=SIDE), keep_knobs, grips=True)
    flags = describe_flags(run)
    if flags:
        st.text(flags)


def describe_flags(run: SpiralRun) -> str:
    """A sentence on how many flagged cells lie outside the data; empty if none are flagged."""
    known = [maps for maps in run.methods if np.isfinite(maps.knowledge[-1]).all()]
    if not run.settings.flag or not known:
        return ""
    outside = ~run.truth.in_support
    shares = [
        f"{METHODS[maps.method].label} "
        f"{100 * outside[flagged(maps.knowledge[-1], run.settings.flag)].mean():.0f} %"
        for maps in known
    ]
    return (
        f"Flagged cells outside the data: {', '.join(shares)}. Chance would give "
        f"{100 * outside.mean():.0f} %, the share of the map that lies outside."
    )


def show_costs(settings: SpiralSettings, shown: Sequence[Shown]) -> None:
    """What the fits took, and what slow methods would take that are not chosen."""
    st.caption(" ".join(list_costs(PAGE, settings, shown)))
