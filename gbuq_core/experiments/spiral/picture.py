"""The spiral's maps side by side: truth first, then total, data and knowledge of each method.

Malinin et al. (2021), figure 3, and the cyclical paper's figure 3. Total and data uncertainty
share one colour scale with the truth, from 0 to ln 3 nats; knowledge uncertainty has another, over
all methods with all their trees. Under the maps the schedule and the losses share their scrubber.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.ensembles import SCALES
from gbuq_core.experiments.spiral.data import EXTENT, SpiralTruth
from gbuq_core.experiments.spiral.fit import SpiralFit, SpiralMaps
from gbuq_core.experiments.spiral.plan import POINTS, STAGE_STEP, SpiralSettings
from gbuq_core.experiments.spiral.training import growth_of, training_strips
from gbuq_core.figures.canvas.frames import log_spaced
from gbuq_core.figures.canvas.live import Ensemble, Live, offered
from gbuq_core.figures.canvas.panels import (
    Line,
    Marker,
    Panel,
    PanelSheet,
    Points,
    shared_limits,
)
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.synthetic import SpiralData
from gbuq_core.validation import check_choice, check_number

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_FRAMES = 40  # of the maps: 12 of them with 6,400 cells then travel as 3 MB

_NATS = "nats of entropy"
_MOST_UNCERTAIN = math.log(3.0)  # three classes
_DENSITY_SPAN = 1e-4
_WITH_ROWS = "True density"
_BRIEF = {"total": "TU", "data": "DU", "knowledge": "KU"}  # over maps too narrow for words
_BORDER_COLOUR = "#d55e00"  # told apart from all of cividis
_KNOWLEDGE_SPAN = 1e-4  # of the largest value: what the log colours of knowledge reach down to
CLASSES, CLASS_COLOURS = ("class 1", "class 2", "class 3"), OKABE_ITO[:3]


def spiral_sheet(
    truth: SpiralTruth,
    rows: SpiralData,
    methods: Sequence[SpiralMaps],
    settings: SpiralSettings | None = None,
    markers: Sequence[Marker] = (),
    lines: Sequence[Line] = (),
    alt: str = "",
    knobs: Sequence[LiveKnob] = (),
) -> PanelSheet:
    """Panels of the truth and of every method, over strips of their training."""
    view = SpiralSettings() if settings is None else settings
    check_choice("scale", view.scale, SCALES)
    check_choice("points", view.points, POINTS)
    check_number("flag", view.flag, 0, 100)
    frames = common_frames(methods)
    plays, focus = len(frames) > 1, _where_rows_are(rows)
    knowledge = _knowledge_limits(methods, view) if view.scale == "shared" else None
    brief = len(methods) > 2
    growths = [growth for maps in methods if (growth := growth_of(maps)) is not None]
    rest = [_method_panels(maps, view, knowledge, frames, brief) for maps in methods]
    panels = _arrange(_truth_panels(truth, brief), rest)
    x, y = border_of(truth.in_support).T
    border = Line(x, y, _BORDER_COLOUR, dash=True, legend="where the data end")
    with_rows = {"truth": {_WITH_ROWS}, "off": set()}.get(view.points, {p.title for p in panels})
    return PanelSheet(
        panels=[
            replace(
                panel, lines=(border,), points=_points(rows) if panel.title in with_rows else None
            )
            for panel in panels
        ],
        columns=_COLUMNS[len(methods)],
        beside=_truths_of(panels),
        chosen=next((i for i, p in enumerate(panels) if _is_knowledge(p)), -1),
        x_label="x",
        y_label="y",
        x_extent=EXTENT,
        y_extent=EXTENT,
        panel_height=_HEIGHTS[len(methods)],
        frame_label="trees",
        frame_values=[int(n) for n in frames] if plays else None,
        frames_per_second=8,
        blank_label=_words_of_blank(methods, frames),
        hatch_label=_FLAGGED.format(view.flag),
        markers=markers,
        lines=lines,
        strips=training_strips(growths, frames) if plays else (),
        strip_columns=2,
        strip_height=74,
        alt=alt,
        name="spiral",
        knobs=offered(knobs, plays=plays, focus=focus),
        focus=focus,
        live=_live(methods, frames, panels) if knobs else None,
    )


def _where_rows_are(rows: SpiralData) -> tuple[tuple[float, float], tuple[float, float]]:
    (x0, y0), (x1, y1) = rows.X[:, :2].min(axis=0), rows.X[:, :2].max(axis=0)
    return (float(x0), float(x1)), (float(y0), float(y1))


def _is_knowledge(panel: Panel) -> bool:
    return panel.title.endswith((": knowledge", f": {_BRIEF['knowledge']}"))


def _truths_of(panels: Sequence[Panel]) -> list[int]:
    """The density for knowledge uncertainty and itself, the true one for all others."""
    titles = [panel.title for panel in panels]
    density = titles.index(_WITH_ROWS)
    noise = next(
        i for i, title in enumerate(titles) if title.startswith("True ") and title != _WITH_ROWS
    )
    if not any(_is_knowledge(panel) for panel in panels):
        return [noise] * len(panels)
    return [density if i == density or _is_knowledge(p) else noise for i, p in enumerate(panels)]


_FLAGGED = "the {} % of the cells with most knowledge uncertainty"


def _live(methods: Sequence[SpiralMaps], frames: Ints, panels: Sequence[Panel]) -> Live:
    """What the browser needs to redraw the maps, with the rules of `_knowledge_limits`."""
    titles = [panel.title for panel in panels]
    ensembles = []
    for maps in methods:
        label = f"{METHOD_STYLES[maps.method].label}: "
        total, data, knowledge = (i for i, title in enumerate(titles) if title.startswith(label))
        plays = len(maps.n_trees) > 1 and len(frames) > 1
        stage = np.searchsorted(maps.n_trees, frames, side="right") - 1
        trees = np.where(stage < 0, 0, np.asarray(maps.n_trees)[stage])
        trees = trees if plays else np.full(len(frames), maps.n_trees[-1])
        ensembles.append(live_ensemble(maps.fit, trees, (total, data, knowledge)))
    return Live(
        "classes",
        ensembles,
        noise_top=_MOST_UNCERTAIN,
        span=_KNOWLEDGE_SPAN,
        from_zero=True,
        own="last",
        flag_text=_FLAGGED,
    )


def live_ensemble(
    fit: SpiralFit, frame_trees: npt.ArrayLike, panels: tuple[int, int, int]
) -> Ensemble:
    """What the browser draws a method's maps from for any K, start, burn-in and members.

    >>> from gbuq_core.experiments.spiral.fit import run_spiral
    >>> settings = SpiralSettings(methods=("csglb",), rows=50, chain_trees=40, cycle=20)
    >>> live_ensemble(run_spiral(settings).methods[0].fit, [40], (1, 2, 3)).stages.tolist()
    [20, 40]
    """
    cycle = fit.plan.cycle if fit.plan.kind.cyclical else 0
    if not fit.plan.kind.virtual:
        chosen, plan = np.arange(len(fit.n_trees)) == len(fit.n_trees) - 1, "models"
    elif cycle:
        chosen, plan = fit.n_trees % cycle == 0, "cycles"
    else:
        chosen, plan = fit.n_trees % STAGE_STEP == 0, "truncation"
    # A slice copies nothing where every stage is sent, or only the last.
    where = np.flatnonzero(chosen)
    steps = np.unique(np.diff(where))
    rows = slice(where[0], where[-1] + 1, int(steps[0]) if len(steps) else 1)
    members = fit.members[rows] if len(steps) <= 1 else fit.members[where]
    return Ensemble(plan, fit.n_trees[where], members, frame_trees, panels, cycle)


# By the number of methods: panels in a row, and pixels of a map, so that all of them fit on the
# first screen of a laptop.
_COLUMNS = {0: 3, 1: 5, 2: 4, 3: 4, 4: 5}
_HEIGHTS = {0: 300, 1: 200, 2: 174, 3: 118, 4: 118}


def common_frames(methods: Sequence[SpiralMaps]) -> Ints:
    """The tree counts that all maps are played on: the stages of the longest, at most 40."""
    growing = [np.asarray(maps.n_trees) for maps in methods if len(maps.n_trees) > 1]
    if not growing:
        return np.array([0])
    stages = max(growing, key=lambda n_trees: (int(n_trees[-1]), len(n_trees)))
    return stages[log_spaced(stages, MOST_FRAMES)]


def maps_at(maps: SpiralMaps, part: Array, frames: Ints) -> Array:
    """A method's maps (n_frames, ny, nx) at other tree counts; NaN before its first stage."""
    stage = np.searchsorted(maps.n_trees, frames, side="right") - 1
    values: Array = part[np.maximum(stage, 0)]
    values[stage < 0] = np.nan
    return values


def _words_of_blank(methods: Sequence[SpiralMaps], frames: Ints) -> str:
    """From which frame on a method has members, for those that begin with none."""
    begins = []
    for maps in methods:
        total = maps_at(maps, maps.total, frames)
        there = np.asarray(np.isfinite(total).any(axis=(1, 2)))
        if len(maps.n_trees) > 1 and there.any() and not there[0]:
            first = frames[np.argmax(there)]
            begins.append(f"{METHOD_STYLES[maps.method].label}: first after {first:d} trees")
    if not begins:
        return "knowledge needs two members"
    return f"no member yet ({', '.join(begins)}); knowledge needs two"


def _knowledge_limits(methods: Sequence[SpiralMaps], view: SpiralSettings) -> tuple[float, float]:
    """One scale over the finished maps; early stages may leave it."""
    lo, hi = shared_limits([maps.knowledge[-1] for maps in methods], log=view.log)
    return (max(lo, hi * _KNOWLEDGE_SPAN), hi) if view.log else (0.0, hi)


def _arrange(truths: Sequence[Panel], rest: Sequence[list[Panel]]) -> list[Panel]:
    """Panels in reading order, the truth at the left."""
    noise, density, first = truths
    if not rest:
        return [noise, density, first]
    if len(rest) == 1:
        return [noise, density, *rest[0]]
    if len(rest) == 2:
        return [noise, *rest[0], density, *rest[1]]
    return [
        panel
        for left, row in zip((first, noise, density), zip(*rest, strict=True), strict=True)
        for panel in (left, *row)
    ]


def flagged(knowledge: Array, percent: float) -> npt.NDArray[np.bool_]:
    """The cells with most knowledge uncertainty, so many percent of them; none without values."""
    chosen = np.zeros(knowledge.shape, dtype=bool)
    if np.isfinite(knowledge).all():
        n_cells = round(knowledge.size * percent / 100)
        chosen.flat[np.argsort(-knowledge, axis=None, kind="stable")[:n_cells]] = True
    return chosen


def border_of(in_support: npt.NDArray[np.bool_]) -> Array:
    """The outer border of the data: a line of points (n, 2) around the middle, which it closes.

    >>> inside = np.zeros((80, 80), dtype=bool)
    >>> inside[30:50, 30:50] = True
    >>> bool(np.abs(border_of(inside)).max() < 155)  # a square of 300 by 300
    True
    """
    ny, nx = in_support.shape
    low, high = EXTENT
    angle = np.linspace(0.0, 2.0 * np.pi, 2 * _BORDER_DOTS + 1)
    radius = np.linspace(0.0, math.hypot(high, high), 2 * max(nx, ny))[:, None]
    x, y = radius * np.cos(angle), radius * np.sin(angle)
    column, row = ((v - low) / (high - low) * n - 0.5 for v, n in ((x, nx), (y, ny)))
    inside = _between(in_support.astype(np.float64), row, column) >= 0.5
    last = np.where(inside.any(axis=0), len(radius) - 1 - np.argmax(inside[::-1], axis=0), 0)
    corners = radius[last] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(corners, axis=0).T))])
    at = np.linspace(0.0, walked[-1], _BORDER_DOTS)
    return np.stack([np.interp(at, walked, side) for side in corners.T], axis=1)


_BORDER_DOTS = 120


def _between(values: Array, row: Array, column: Array) -> Array:
    """Bilinear interpolation between cells; 0 outside them."""
    padded = np.pad(values, 1)
    row = np.clip(row + 1.0, 0.0, padded.shape[0] - 1.001)
    column = np.clip(column + 1.0, 0.0, padded.shape[1] - 1.001)
    i, j = row.astype(np.int64), column.astype(np.int64)
    u, v = row - i, column - j
    upper = padded[i, j] * (1 - v) + padded[i, j + 1] * v
    lower = padded[i + 1, j] * (1 - v) + padded[i + 1, j + 1] * v
    return upper * (1 - u) + lower * u


def _points(rows: SpiralData) -> Points:
    """The training rows by class."""
    x, y = rows.X[:, 0], rows.X[:, 1]
    return Points(x, y, rows.y, CLASSES, CLASS_COLOURS, radius=1.0, opacity=0.8)


def _truth_panels(truth: SpiralTruth, brief: bool) -> list[Panel]:
    """True data uncertainty, the density, and the density of one class."""
    name = _BRIEF["data"] if brief else "data uncertainty"
    noise = Panel(
        title=f"True {name}",
        values=truth.data_uncertainty,
        unit=_NATS,
        limits=(0.0, _MOST_UNCERTAIN),
    )
    # Equally frequent classes: p(x | class) = 3 p(class | x) p(x).
    of_class = 3.0 * np.asarray(truth.proba[0]) * truth.density
    panels = [noise]
    for title, values in ((_WITH_ROWS, truth.density), ("Density of class 1", of_class)):
        highest = float(np.nanmax(values))
        limits = (highest * _DENSITY_SPAN, highest)
        panels.append(Panel(title=title, values=values, unit="per area", limits=limits, log=True))
    return panels


def _method_panels(
    maps: SpiralMaps,
    view: SpiralSettings,
    knowledge: tuple[float, float] | None,
    frames: Ints,
    brief: bool,
) -> list[Panel]:
    style = METHOD_STYLES[maps.method]
    plays = len(maps.n_trees) > 1 and len(frames) > 1
    shared = (0.0, _MOST_UNCERTAIN) if view.scale == "shared" else None
    panels = []
    for kind, part in zip(UNCERTAINTY_KINDS, (maps.total, maps.data, maps.knowledge), strict=True):
        is_knowledge = kind == "knowledge"
        limits = knowledge if is_knowledge else shared
        if limits is None:  # a scale of its own, of the finished map
            limits = shared_limits([part[-1]], log=is_knowledge and view.log)
        known = bool(np.isfinite(part[-1]).any())
        values = maps_at(maps, part, frames) if plays else part[-1]
        panels.append(
            Panel(
                title=f"{style.label}: {_BRIEF[kind] if brief else kind}",
                name=f"{style.label}: {kind}",
                values=values,
                unit=_NATS,
                limits=limits,
                log=is_knowledge and view.log,
                hatched=flagged(part[-1], view.flag) if is_knowledge and view.flag else None,
                markers=() if known else _NOT_AVAILABLE,
                alt="" if known else f"{style.label} gives no {kind} uncertainty here.",
                accent=style.colour,
                blank_hatched=known and bool(np.isnan(values).any()),
            )
        )
    return panels


_NOT_AVAILABLE = (Marker(-300.0, 0.0, "not available", "cross"),)
