"""One picture of planes and grids: truth, and total, data and knowledge uncertainty of each method.

Truth, total and data uncertainty share one colour scale, and knowledge has another over all methods
with all their trees. The browser redraws the maps from the members while a knob is held.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.frames import log_spaced
from gbuq_core.figures.canvas.live import Ensemble, Live, offered
from gbuq_core.figures.canvas.panels import LOG_SPAN, Line, Marker, Panel, PanelSheet, shared_limits
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.study.members import Array, Fit, Ints, Mask, View

MOST_FRAMES = 60  # of the player
STAGE_STEP = 5  # trees between two stages that are sent: K is a multiple of it
_HEIGHTS = {1: 300, 2: 188, 3: 142}  # pixels of a map: two rows of maps fit on a laptop
# By family, and what the settings call the unit; half a small map's width has room for it.
UNITS = {
    "normal": {"std": "standard deviation", "variance": "variance of y"},
    "classes": {"": "nats of entropy"},
}
_NOT_AVAILABLE = "not available"
FLAGGED = "the {} % of the cells with most knowledge uncertainty"
_BRIEF = {"total": "TU", "data": "DU", "knowledge": "KU"}  # over maps too narrow for words
_CLASSES_SPAN = 1e-4  # of the largest value: what log colours of entropies reach down to
_BORDER_COLOUR, _BORDER_DOTS = "#d55e00", 120  # told apart from all of cividis
_NONE: Mapping[str, Any] = MappingProxyType({})


class Truth(NamedTuple):
    """A map of what is known of the places: of noise, which shares the methods' scale, or else."""

    title: str
    values: Array  # of the grid's shape
    unit: str = ""  # empty: noise, as variances of y or in nats
    limits: tuple[float, float] | None = None
    log: bool = False
    beside: tuple[str, ...] = ()  # the kinds of maps that it stands beside, if not all


# Panels in reading order, panels in a row, and a map's height in pixels, of the truths and of the
# maps of each method
Arrange = Callable[[Sequence[Panel], Sequence[Sequence[Panel]]], tuple[Sequence[Panel], int, int]]


def in_rows(truths: Sequence[Panel], methods: Sequence[Sequence[Panel]]) -> Any:
    """A row a method, and a truth before each."""
    if not methods:
        return truths[:1], 1, _HEIGHTS[1]
    panels = [panel for i, maps in enumerate(methods) for panel in (*truths[i : i + 1], *maps)]
    return panels, 4, _HEIGHTS[min(len(methods), 3)]


def as_unit(variances: Array, unit: str) -> Array:
    """Variances as they are, or as standard deviations."""
    return np.sqrt(variances) if unit == "std" else variances


def maps(
    views: Sequence[View],
    truths: Sequence[Truth],
    settings: Any,
    *,
    noise: tuple[float, float],
    empty: Mapping[str, Mask] = _NONE,
    each: Mapping[str, Any] = _NONE,
    knobs: Sequence[LiveKnob] = (),
    marker_at: tuple[float, float] = (0.0, 0.0),
    family: str = "normal",
    most: int = MOST_FRAMES,
    stage_step: int = STAGE_STEP,
    arrange: Arrange = in_rows,
    brief: bool = False,
    focus: Any = None,
    **sheet: Any,
) -> PanelSheet:
    """Maps of all methods on one grid, over the stages of their growth.

    ``noise`` are the variances, or entropies, between which the scale of noise lies: it stays when
    rows leave. ``empty`` says for each method, and as "" for today's data, which cells are hatched,
    ``each`` what every panel has, and ``sheet`` what else `PanelSheet` takes; ``settings`` have
    `log` and `scale`, and may have `unit` and `flag`.
    """
    unit, flag = getattr(settings, "unit", ""), getattr(settings, "flag", 0)
    frames = common_frames(views, most)
    ends, knowledge = _scales(views, noise, settings, family)
    shown = [
        Panel(
            title=truth.title,
            values=truth.values if truth.unit else as_unit(truth.values, unit),
            unit=truth.unit or UNITS[family][unit],
            limits=truth.limits or (None if truth.unit else ends),
            log=truth.log,
            hatched=empty.get(""),
        )
        for truth in truths
    ]
    rest: list[list[Panel]] = [[] for _ in views]
    for panels, view in zip(rest, views, strict=True):
        style = METHOD_STYLES[view.method]
        for kind in UNCERTAINTY_KINDS:
            part = as_unit(getattr(view.at, kind).reshape(-1, *truths[0].values.shape), unit)
            is_knowledge, known = kind == "knowledge", bool(np.isfinite(part[-1]).any())
            log, limits = is_knowledge and settings.log, knowledge if is_knowledge else ends
            if settings.scale == "own" and family == "classes":  # of the finished map
                limits = shared_limits([part[-1]], log=log)
            hatched = empty.get(view.method) if known else None
            values = maps_at(view.stages, part, frames) if plays(view, frames) else part[-1]
            panels.append(
                Panel(
                    title=f"{style.label}: {_BRIEF[kind] if brief else kind}",
                    name=f"{style.label}: {kind}",
                    values=values,
                    unit=UNITS[family][unit],
                    limits=limits,
                    log=log,
                    hatched=flagged(part[-1], flag) if is_knowledge and flag else hatched,
                    blank_hatched=known and bool(np.isnan(values).any()),
                    markers=() if known else (Marker(*marker_at, _NOT_AVAILABLE, "cross"),),
                    alt="" if known else f"{style.label} gives no {kind} uncertainty here.",
                    accent=style.colour,
                )
            )
    arranged, columns, height = arrange(shown, rest)
    names = [panel.name or panel.title for panel in arranged]
    moves = len(frames) > 1
    return PanelSheet(
        panels=[replace(panel, **each) for panel in arranged],
        columns=columns,
        beside=_truths_of(names, truths),
        chosen=next((i for i, name in enumerate(names) if name.endswith(": knowledge")), -1),
        panel_height=height,
        frame_label="trees",
        frame_values=[int(n) for n in frames] if moves else None,
        frames_per_second=8,
        blank_label=_words_of_blank(views, frames),
        knobs=offered(knobs, plays=moves, focus=focus),
        focus=focus,
        note="noise beyond the scale has its last colour" if ends and ends[0] else "",
        live=_live(views, noise, frames, names, family, stage_step) if knobs else None,
        **sheet,
    )


def common_frames(views: Sequence[View], most: int = MOST_FRAMES) -> Ints:
    """The tree counts that all maps are played on: the stages of the longest, or some of them."""
    growing = [view.stages for view in views if len(view.stages) > 1]
    if not growing:
        return np.array([0])
    stages = max(growing, key=lambda each: (int(each[-1]), len(each)))
    return stages[log_spaced(stages, most)]


def plays(view: View, frames: Ints) -> bool:
    """Whether a method's maps change with the frames."""
    return len(view.stages) > 1 and len(frames) > 1


def maps_at(stages: Ints, part: Array, frames: Ints) -> Array:
    """A method's maps (n_frames, ny, nx) at other tree counts; NaN before its first stage."""
    stage = np.searchsorted(stages, frames, side="right") - 1
    values: Array = part[np.maximum(stage, 0)]
    values[stage < 0] = np.nan
    return values


def flagged(knowledge: Array, percent: float) -> Mask:
    """The cells with most knowledge uncertainty, so many percent of them; none without values."""
    chosen = np.zeros(knowledge.shape, dtype=bool)
    if np.isfinite(knowledge).all():
        n_cells = round(knowledge.size * percent / 100)
        chosen.flat[np.argsort(-knowledge, axis=None, kind="stable")[:n_cells]] = True
    return chosen


def where_rows_are(in_support: Mask) -> Any:
    """The cells from the first to the last with rows, across and along; None if these are all."""
    rows, columns = np.nonzero(in_support)
    if not len(rows) or (np.ptp(rows) + 1, np.ptp(columns) + 1) == in_support.shape:
        return None
    return (float(columns.min()), float(columns.max())), (float(rows.min()), float(rows.max()))


def border_of(in_support: Mask, extent: tuple[float, float]) -> Line:
    """The outer border of the data around the middle of a plane, the same across as upwards.

    >>> inside = np.zeros((80, 80), dtype=bool)
    >>> inside[30:50, 30:50] = True
    >>> bool(np.abs(border_of(inside, (-600.0, 600.0)).x).max() < 155)  # a square of 300 by 300
    True
    """
    ny, nx = in_support.shape
    low, high = extent
    angle = np.linspace(0.0, 2.0 * np.pi, 2 * _BORDER_DOTS + 1)
    radius = np.linspace(0.0, math.hypot(high, high), 2 * max(nx, ny))[:, None]
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    column, row = ((v - low) / (high - low) * n - 0.5 for v, n in ((x, nx), (y, ny)))
    inside = _interpolate(in_support.astype(np.float64), row, column) >= 0.5
    last = np.where(inside.any(axis=0), len(radius) - 1 - np.argmax(inside[::-1], axis=0), 0)
    corners = radius[last] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.linspace(0.0, walked[-1], _BORDER_DOTS)
    across, upwards = (np.interp(at, walked, side) for side in corners.T)
    return Line(across, upwards, _BORDER_COLOUR, dash=True, legend="where the data end")


def _interpolate(values: Array, row: Array, column: Array) -> Array:
    """Bilinear interpolation between cells; 0 outside them."""
    padded = np.pad(values, 1)
    row = np.clip(row + 1.0, 0.0, padded.shape[0] - 1.001)
    column = np.clip(column + 1.0, 0.0, padded.shape[1] - 1.001)
    i, j = row.astype(np.int64), column.astype(np.int64)
    u, v = row - i, column - j
    upper = padded[i, j] * (1 - v) + padded[i, j + 1] * v
    lower = padded[i + 1, j] * (1 - v) + padded[i + 1, j + 1] * v
    return upper * (1 - u) + lower * u


def _words_of_blank(views: Sequence[View], frames: Ints) -> str:
    """From which frame on a method has members, for those that begin with none."""
    begins = []
    for view in views:
        there = maps_at(view.stages, view.counts.astype(np.float64), frames) > 0
        if len(view.stages) > 1 and there.any() and not there[0]:
            first = frames[np.argmax(there)]
            begins.append(f"{METHOD_STYLES[view.method].label}: first after {first:d} trees")
    if not begins:
        return "knowledge needs two members"
    return f"no member yet ({', '.join(begins)}); knowledge needs two"


def _truths_of(names: Sequence[str], truths: Sequence[Truth]) -> Sequence[int]:
    """The place of the truth that stands beside each map, where truths are chosen by kind."""
    own = {kind: names.index(truth.title) for truth in truths for kind in truth.beside}
    there = {name.rpartition(": ")[2] for name in names}
    own = {kind: place for kind, place in own.items() if kind in there}
    if not any(truth.beside for truth in truths):
        return ()
    first = names.index(truths[0].title)
    return [
        place if place in own.values() else own.get(name.rpartition(": ")[2], first)
        for place, name in enumerate(names)
    ]


def _scales(
    views: Sequence[View], noise: tuple[float, float], settings: Any, family: str
) -> tuple[Any, Any]:
    """The colour scales of noise and of knowledge; None leaves each panel its own."""
    if settings.scale == "own":
        return None, None
    unit = getattr(settings, "unit", "")
    lo, hi = shared_limits([as_unit(v.last.knowledge, unit) for v in views], log=settings.log)
    if family == "classes":
        return noise, (max(lo, hi * _CLASSES_SPAN) if settings.log else 0.0, hi)
    low, high = as_unit(np.array(noise), unit).tolist()
    return (low, high), (lo, hi)


def _live(
    views: Sequence[View],
    noise: tuple[float, float],
    frames: Ints,
    names: Sequence[str],
    family: str,
    stage_step: int,
) -> Live:
    """The members, from which the browser redraws the maps for any K, start and number."""
    ensembles = []
    for view in views:
        label = METHOD_STYLES[view.method].label
        total, data, knowledge = (names.index(f"{label}: {kind}") for kind in UNCERTAINTY_KINDS)
        stage = np.searchsorted(view.stages, frames, side="right") - 1
        trees = np.where(stage < 0, 0, view.stages[stage])
        trees = trees if plays(view, frames) else np.full(len(frames), view.stages[-1])
        ensembles.append(live_ensemble(view.fit, trees, (total, data, knowledge), stage_step))
    low, top = noise
    if family == "classes":
        return Live(
            "classes",
            ensembles,
            noise_low=low,
            noise_top=top,
            span=_CLASSES_SPAN,
            from_zero=True,
            flag_text=FLAGGED,
        )
    return Live(
        "normal",
        ensembles,
        noise_low=low,
        noise_top=top,
        noise_panels=(0,),
        span=LOG_SPAN,
        own="all",
        units=UNITS["normal"],
    )


def live_ensemble(
    fit: Fit,
    frame_trees: npt.ArrayLike,
    panels: tuple[int, int, int],
    stage_step: int = STAGE_STEP,
) -> Ensemble:
    """What the browser draws a method's maps from for any K, start, burn-in and members."""
    kind, stages = fit.plan.kind, fit.grown.stages
    cycle = fit.plan.cycle if kind.cyclical else 0
    if not kind.virtual:
        chosen, plan = np.arange(len(stages)) == len(stages) - 1, "models"
    else:
        chosen = stages % (cycle or stage_step) == 0
        plan = "cycles" if cycle else "truncation"
    # A slice copies nothing where every stage is sent, or only the last.
    where = np.flatnonzero(chosen)
    steps = np.unique(np.diff(where))
    rows = slice(where[0], where[-1] + 1, int(steps[0]) if len(steps) else 1)
    members = fit.grown.values[rows] if len(steps) <= 1 else fit.grown.values[where]
    return Ensemble(plan, stages[where], members, frame_trees, panels, cycle)
