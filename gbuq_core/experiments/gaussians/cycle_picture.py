"""One cycle of every sampler in slow motion, over the target's energy.

A column a sampler: above where its chain goes, below it how long its steps are, how much energy it
has, and what moves it, all under one scrubber.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from gbuq_core.experiments.gaussians.charts import Floats
from gbuq_core.experiments.gaussians.cycle import (
    CycleTrace,
    describe_cycle,
    energy_map,
    record_cycle,
)
from gbuq_core.experiments.gaussians.fit import GaussiansRun, SamplerRun, TargetGrid
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points, Strip, StripLine
from gbuq_core.figures.standalone import Section
from gbuq_core.methods import SAMPLERS

STAGES = {
    "explores: gives no samples": "#ff7a45",
    "samples, but its steps are too long to stay in a mode": "#8fdcff",
    "samples": "#ffffff",
    "now": "#ff2fb3",
}
_TRAIL = 150  # points that are still seen behind the newest
_PULL, _KICK = "#0072b2", "#e69f00"
_HIGHEST = 35.0  # nats of the colour scale; the walls between modes of 25 Gaussians have 16
_FRAMES_PER_SECOND = 30.0
ABOUT_CYCLE = (
    "The maps show the energy, -log p(x). Dark is a mode, and bright is a wall between modes. "
    "In each step the gradient pulls the chain down, and the noise kicks it anywhere. A chain "
    "leaves its mode when steps above the dashed line overshoot, or when kicks are large. Which of "
    "the two happens here?"
)
_HEIGHTS = {1: 380, 2: 340, 3: 290}


def cycle_section(
    race: GaussiansRun, runs: Sequence[SamplerRun], values: SimpleNamespace
) -> Section:
    """The chosen samplers during the cycle of that number, or during the last one."""
    settings = race.settings
    last = min(settings.cycles, settings.steps)
    place = min(values.cycle, last) - 1
    traces = tuple(record_cycle(settings, sampler, place) for sampler in settings.samplers)
    words = [describe_cycle(traces, race.truth.step_limit)]
    if values.cycle > last:
        words.append(f"There are only {last} cycles. The last one is shown.")
    if traces[0].every > 1:
        words.append(f"The maps show every {traces[0].every}th step of this long cycle.")
    sheet = cycle_sheet(race.truth, energy_map(settings.target), traces, alt=words[0])
    return Section(text=ABOUT_CYCLE, sheet=sheet, caption=" ".join(words))


def cycle_sheet(
    truth: TargetGrid,
    energy: Any,
    cycles: Sequence[CycleTrace],
    start: int | None = None,
    alt: str = "",
) -> PanelSheet:
    """The energy with a chain on it for every sampler, and three charts under each."""
    values = np.asarray(energy, dtype=np.float64)
    columns = len(cycles)
    rows = (_size_strip, _energy_strip, _moves_strip)
    top = max(float(np.nanmax(cycle.sizes)) for cycle in cycles)
    return PanelSheet(
        panels=[_panel(cycle, values, truth.step_limit) for cycle in cycles],
        columns=columns,
        x_label="x",
        y_label="y",
        x_extent=(float(truth.edges_x[0]), float(truth.edges_x[-1])),
        y_extent=(float(truth.edges_y[0]), float(truth.edges_y[-1])),
        panel_height=_HEIGHTS.get(columns, 260),
        frame_label="step of the cycle",
        frame_values=[int(step) for step in cycles[0].steps],
        frames_per_second=_FRAMES_PER_SECOND,
        start_frame=min(_TRAIL, len(cycles[0].steps) // 2) if start is None else start,
        strips=[row(cycle, truth.step_limit, top) for row in rows for cycle in cycles],
        strip_columns=columns,
        strip_height=72,
        alt=alt,
        name="gaussians-cycle",
    )


def _panel(cycle: CycleTrace, energy: Floats, step_limit: float) -> Panel:
    style = SAMPLERS[cycle.sampler]
    return Panel(
        title=style.label,
        values=energy,
        unit="energy, nats",
        limits=(0.0, min(_HIGHEST, float(energy.max()))),
        points=_chain(cycle, step_limit),
        accent=style.colour,
    )


def _chain(cycle: CycleTrace, step_limit: float) -> Points:
    """Where the chain has just been, coloured by its stage, and where it is now."""
    there = np.flatnonzero(np.isfinite(cycle.points).all(axis=1))
    n, frames = len(there), len(cycle.steps)
    ends = np.append(there[1:], frames)
    x, y = cycle.points[there].T
    stage = np.where(cycle.exploring, 0, np.where(cycle.sizes > step_limit, 1, 2))[there]
    return Points(
        np.concatenate([x, x]),
        np.concatenate([y, y]),
        group=np.concatenate([stage, np.full(n, 3)]),
        group_names=tuple(STAGES),
        colours=tuple(STAGES.values()),
        radius=1.9,  # from 2 on points have an edge, and a trail of them is all edges
        opacity=0.85,
        appear=np.concatenate([there, there]),
        vanish=np.concatenate([there + _TRAIL, ends]),
    )


def _shared(cycle: CycleTrace) -> dict[str, Any]:
    """What the charts have in common: their x and the stretches that explore."""
    steps = np.asarray(cycle.steps, dtype=np.float64)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cycle.exploring.astype(np.int8), [0]])))
    ends = [(steps[low], steps[min(high, len(steps) - 1)]) for low, high in edges.reshape(-1, 2)]
    return {"x": steps, "frame_x": steps, "shaded": ends, "x_label": "step of the cycle"}


def _size_strip(cycle: CycleTrace, step_limit: float, top: float) -> Strip:
    label = SAMPLERS[cycle.sampler].label
    limit = np.full(len(cycle.steps), step_limit)
    return Strip(
        title=f"{label}: step size",
        lines=[
            StripLine("longest stable", limit, "text", dash=True),
            StripLine("step size", cycle.sizes, SAMPLERS[cycle.sampler].colour),
        ],
        y_limits=(0.0, 1.08 * max(top, step_limit)),
        legend="narrow",
        **_shared(cycle),
    )


def _energy_strip(cycle: CycleTrace, step_limit: float, top: float) -> Strip:
    label = SAMPLERS[cycle.sampler].label
    return Strip(
        title=f"{label}: energy",
        y_label="nats",
        lines=[StripLine("energy", cycle.energy, SAMPLERS[cycle.sampler].colour)],
        y_limits=(0.0, _HIGHEST),
        mode="grow",
        legend=False,
        **_shared(cycle),
    )


def _moves_strip(cycle: CycleTrace, step_limit: float, top: float) -> Strip:
    label = SAMPLERS[cycle.sampler].label
    return Strip(
        title=f"{label}: moves",
        y_label="length, log",
        lines=[
            StripLine("pull of the gradient", cycle.pulls, _PULL),
            StripLine("kick of the noise", cycle.kicks, _KICK),
        ],
        log=True,
        y_limits=(1e-3, 10.0),
        mode="grow",
        **_shared(cycle),
    )
