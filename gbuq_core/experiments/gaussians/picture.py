"""Samplers racing over one target: densities as they fill, and what the chains did, step by step.

Tan, Huertas and Zhao (2023), figure 2, as an animation. A column a sampler with the target first:
above the density of the samples kept so far, below it small charts under the same scrubber. The
charts under the target compare all samplers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gbuq_core.experiments.gaussians.charts import Floats, Ints, chart_rows
from gbuq_core.experiments.gaussians.fit import SamplerRun, TargetGrid
from gbuq_core.experiments.gaussians.plan import CHARTS, SCALES, SHOWN, GaussiansSettings
from gbuq_core.figures.canvas.live import offered
from gbuq_core.figures.canvas.panels import Line, Panel, PanelSheet, Points
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.methods import SAMPLERS
from gbuq_core.presentation import short
from gbuq_core.validation import check_choice

# A log scale spans so many times less than the target's highest cell.
_LOG_SPAN = 1e-4
_HEIGHTS = {2: 260, 3: 240}
_MOST_MAPS, _LARGE = 4, 270  # of the page's first picture; pixels high


def gaussians_sheet(
    truth: TargetGrid,
    runs: Sequence[SamplerRun],
    settings: GaussiansSettings | None = None,
    alt: str = "",
    knobs: Sequence[LiveKnob] = (),
) -> PanelSheet:
    """The target and every sampler side by side, with charts below them."""
    view = GaussiansSettings() if settings is None else settings
    check_choice("shown", view.shown, SHOWN)
    check_choice("scale", view.scale, SCALES)
    for chart in view.charts:
        check_choice("charts", chart, CHARTS)
    frames = runs[0].steps if runs else np.array([0])
    columns = 1 + len(runs)
    return PanelSheet(
        panels=[
            _target_panel(truth, runs, view),
            *(_panel(truth, run, view, frames) for run in runs),
        ],
        columns=columns,
        x_label="x",
        y_label="y",
        x_extent=(float(truth.edges_x[0]), float(truth.edges_x[-1])),
        y_extent=(float(truth.edges_y[0]), float(truth.edges_y[-1])),
        panel_height=_HEIGHTS.get(columns, 230),
        frame_label="step",
        frame_values=[int(n) for n in frames] if len(frames) > 1 else None,
        frames_per_second=8,
        strips=chart_rows(truth, runs, view.charts),
        strip_columns=columns,
        strip_height=72,
        lines=_outlines(truth) if view.outlines else (),
        hatch_label="no samples: every chain ran off to infinity",
        alt=alt,
        name="gaussians",
        knobs=offered(knobs, plays=len(frames) > 1),
    )


def opening_sheet(sheet: PanelSheet, truth: TargetGrid) -> PanelSheet:
    """What a page opens with: a map of each sampler, and one chart below them all."""
    panels = sheet.panels[-_MOST_MAPS:]
    return replace(
        sheet,
        panels=panels,
        columns=len(panels),
        strips=[replace(strip, legend=False) for strip in sheet.strips[:1]],
        strip_columns=1,
        lines=_outlines(truth),
        panel_height=_LARGE,
        quiet=True,
        together=2,
        greets=True,
    )


def _outlines(truth: TargetGrid) -> list[Line]:
    """All modes' borders as one line with gaps: what counts as being in a mode."""
    gap = np.full((1, 2), np.nan)
    parts = [np.concatenate([outline, outline[:1], gap]) for outline in truth.outlines]
    whole = np.concatenate(parts) if parts else gap
    return [Line(whole[:, 0], whole[:, 1], "#ffffff", thin=True)]


def _cell_area(truth: TargetGrid) -> float:
    return float((truth.edges_x[1] - truth.edges_x[0]) * (truth.edges_y[1] - truth.edges_y[0]))


def _limits(highest: float, log: bool) -> tuple[float, float]:
    highest = highest if highest > 0 else 1.0
    return (_LOG_SPAN * highest if log else 0.0), highest


def _values(truth: TargetGrid, run: SamplerRun, view: GaussiansSettings) -> Floats:
    """A sampler's maps in the unit of the view."""
    if view.shown == "density":
        return run.density
    expected = run.density * (run.n_kept[:, None, None] * _cell_area(truth))
    return np.asarray(np.rint(expected))


def _unit(view: GaussiansSettings) -> str:
    return "per unit area" if view.shown == "density" else "samples a cell"


def _target_panel(truth: TargetGrid, runs: Sequence[SamplerRun], view: GaussiansSettings) -> Panel:
    values = np.asarray(truth.density)
    if view.shown == "counts":
        most_kept = max((int(run.n_kept[-1]) for run in runs), default=1)
        values = values * (most_kept * _cell_area(truth))
    limits = _limits(float(values.max()), view.log)
    return Panel(title="Target", values=values, unit=_unit(view), limits=limits, log=view.log)


def _panel(truth: TargetGrid, run: SamplerRun, view: GaussiansSettings, frames: Ints) -> Panel:
    style = SAMPLERS[run.sampler]
    values = _values(truth, run, view)
    plays = np.array_equal(run.steps, frames)
    highest = float(truth.density.max())
    if view.shown == "counts":
        highest *= int(run.n_kept[-1]) * _cell_area(truth)
    if view.scale == "own":
        highest = float(values[-1].max())
    return Panel(
        title=style.label,
        subtitle=_found(truth, run) if plays else _found(truth, run)[-1],
        values=values if plays else values[-1],
        unit=_unit(view),
        limits=_limits(highest, view.log),
        log=view.log,
        points=_trail(run) if plays and view.trail else None,
        # Chains that are gone say nothing about the cells that they never came to.
        hatched=np.asarray(values[-1]) == 0 if run.all_stopped else None,
        accent=style.colour,
        alt=_panel_alt(truth, run),
    )


def _found(truth: TargetGrid, run: SamplerRun) -> list[str]:
    """How many modes each frame has found."""
    noun = "mode" if truth.n_modes == 1 else "modes"
    return [f"{short(n)} of {truth.n_modes} {noun}" for n in run.modes_visited]


def _panel_alt(truth: TargetGrid, run: SamplerRun) -> str:
    gone = " Every chain ran off to infinity." if run.all_stopped else ""
    return (
        f"{SAMPLERS[run.sampler].label}: after {int(run.steps[-1]):,} steps "
        f"{short(run.modes_visited[-1])} of {truth.n_modes} modes are visited, and "
        f"{short(100 * run.share_in_modes[-1])} % of the kept samples lie in a mode.{gone}"
    )


def _trail(run: SamplerRun) -> Points:
    """Where the first chain went during each frame, and where it is at its end."""
    n_frames, n_points = run.path.shape[:2]
    frame = np.repeat(np.arange(n_frames), n_points)
    is_head = np.tile(np.arange(n_points) == n_points - 1, n_frames)
    return Points(
        run.path[..., 0].ravel(),
        run.path[..., 1].ravel(),
        group=is_head.astype(np.int64),
        group_names=("chain 1 during the frame", "chain 1 now"),
        colours=("#ffffff", "#ff4d3d"),
        radius=1.3,
        opacity=0.9,
        appear=frame,
        vanish=frame + 1,
    )
