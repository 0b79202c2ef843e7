"""A sheet with less to send, for a file with many pictures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.frames import log_spaced
from gbuq_core.figures.canvas.live import Ensemble, Live
from gbuq_core.figures.canvas.panels import (
    Panel,
    PanelSheet,
    Points,
    Strip,
    cursor_positions,
    stacked_values,
)
from gbuq_core.figures.handles import LiveKnob

Ints = npt.NDArray[np.int64]

# The knobs that the members of each plan depend on: MEMBER_KNOBS of live.js.
_MEMBER_KNOBS = {
    "models": ("shown",),
    "truncation": ("step", "start", "shown"),
    "cycles": ("burn_in", "shown"),
}

_MOST_SHOWN = 10  # members that a knob for their number offers
_MOST_MEMBERS = 500_000  # values of the members that a knob is worth


def thin_sheet(sheet: PanelSheet, most_frames: int = 3) -> PanelSheet:
    """Keep some frames, and of the members those that a knob in the bar needs.

    Frames lie at even steps of the logarithm of ``frame_values``, which are positive and increase.
    A knob for K offers multiples of the K that it has, one for members at most ten of them, or all;
    neither is offered if it needs very many members. Without members a map is read back from its
    frame.
    """
    knobs = [_fewer_choices(knob) for knob in sheet.knobs]
    live = None if sheet.live is None else _needed(sheet.live, knobs)
    sizes = [np.size(method.members) for method in live.ensembles] if live is not None else []
    if live is not None and sum(sizes) > _MOST_MEMBERS:
        # Knobs for members stand still, as `LiveKnob.needs` has it.
        asking = {key for keys in _MEMBER_KNOBS.values() for key in keys}
        knobs = [k._replace(needs={k.key: (-1,)}) if k.key in asking else k for k in knobs]
        live = _needed(live, knobs)
    thin = replace(sheet, knobs=knobs, live=live)
    return _fewer_frames(thin, most_frames) if sheet.frame_values is not None else thin


def n_values(sheet: PanelSheet) -> int:
    """How many values its maps have in all frames."""
    return sum(stacked_values(panel).size for panel in sheet.panels)


def _fewer_choices(knob: LiveKnob) -> LiveKnob:
    if knob.key == "step" and knob.needs is None:
        now = int(knob.choices[int(knob.value)])
        places = [i for i, step in enumerate(knob.choices) if int(step) % now == 0]
    elif knob.key == "shown":
        places = [
            i
            for i, n in enumerate(knob.choices)
            if n == "all" or int(n) <= _MOST_SHOWN or i == knob.value
        ]
    else:
        return knob
    return knob._replace(
        value=places.index(int(knob.value)),
        choices=tuple(knob.choices[i] for i in places),
        texts=tuple(knob.texts[i] for i in places),
    )


def _needed(live: Live, knobs: Collection[LiveKnob]) -> Live:
    seen = {knob.key for knob in knobs if knob.needs is None}
    steps = {
        int(step)
        for knob in knobs
        if knob.key == "step"
        for step in (knob.choices if "step" in seen else [knob.choices[int(knob.value)]])
    }
    counts = [n for knob in knobs if knob.key == "shown" for n in knob.choices if n != "all"]
    most = max(map(int, counts), default=0)
    return live._replace(ensembles=[_thin(each, seen, steps, most) for each in live.ensembles])


def _thin(method: Ensemble, seen: set[str], steps: set[int], most: int) -> Ensemble:
    """With the stages and models that the knobs choose from; ``most`` is how many they show."""
    stages, members = np.asarray(method.stages), np.asarray(method.members)
    if not seen.intersection(_MEMBER_KNOBS[method.plan]):
        return method._replace(stages=stages[:0], members=members[:0])
    if method.plan == "models":  # all of them are what the frames show
        return method._replace(members=members[:, :most])
    if method.plan == "truncation":
        used = np.any([stages % step == 0 for step in sorted(steps)], axis=0)
        return method._replace(stages=stages[used], members=members[used])
    return method


def _fewer_frames(sheet: PanelSheet, most: int) -> PanelSheet:
    assert sheet.frame_values is not None
    values = list(sheet.frame_values)
    frames = log_spaced(np.asarray(values, dtype=np.float64), most)
    start = range(len(values))[sheet.start_frame]
    live = sheet.live
    if live is not None:
        ensembles = [
            method._replace(frame_trees=np.asarray(method.frame_trees)[frames])
            for method in live.ensembles
        ]
        live = live._replace(ensembles=ensembles)
    return replace(
        sheet,
        panels=[_panel(panel, frames) for panel in sheet.panels],
        strips=[_strip(strip, sheet, frames) for strip in sheet.strips],
        frame_values=[values[i] for i in frames],
        start_frame=int(np.abs(frames - start).argmin()),
        frames_per_second=None,
        live=live,
    )


def _panel(panel: Panel, frames: Ints) -> Panel:
    values = np.asarray(panel.values)
    return replace(
        panel,
        values=values if values.ndim == 2 else values[frames],
        points=None if panel.points is None else _points(panel.points, frames),
    )


def _points(points: Points, frames: Ints) -> Points:
    if points.appear is None:
        return points
    return points._replace(appear=np.searchsorted(frames, np.asarray(points.appear)))


def _strip(strip: Strip, sheet: PanelSheet, frames: Ints) -> Strip:
    assert sheet.frame_values is not None
    cursor = cursor_positions(strip, len(sheet.frame_values), sheet.frame_values)
    lines = [
        line._replace(y=_rows(line.y, frames), weight=_rows(line.weight, frames))
        for line in strip.lines
    ]
    return replace(strip, lines=lines, frame_x=None if cursor is None else cursor[frames])


def _rows(values: Any, frames: Ints) -> Any:
    if values is None or np.ndim(values) < 2:
        return values
    rows = np.asarray(values)
    return rows if len(rows) == 1 else rows[frames]
