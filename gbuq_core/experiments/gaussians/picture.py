"""Samplers racing over one target: densities as they fill, and what the chains did, step by step.

Tan, Huertas and Zhao (2023), figure 2, as an animation. A column a sampler with the target first:
above the density of the samples kept so far, below it small charts under the same scrubber. The
charts under the target compare all samplers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.gaussians.fit import SamplerRun, TargetGrid
from gbuq_core.experiments.gaussians.plan import CHARTS, SCALES, SHOWN, GaussiansSettings
from gbuq_core.figures.canvas.live import offered
from gbuq_core.figures.canvas.panels import Line, Panel, PanelSheet, Points, Strip, StripLine
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.methods import SAMPLERS
from gbuq_core.presentation import short
from gbuq_core.validation import check_choice

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]

# Marginals reach so many times the target's highest: a trapped chain is cut off, not the others.
_MARGINAL_ROOM = 2.2
# Step sizes that fall by a factor between these are drawn on a logarithmic axis.
_SMALLEST_FALL, _LARGEST_FALL = 20.0, 2000.0


def chart_rows(
    truth: TargetGrid, runs: Sequence[SamplerRun], charts: Collection[str]
) -> list[Strip]:
    """The chosen rows of charts, each with one chart of all samplers and one for each of them."""
    if not runs:
        return []
    rows = [_ROWS[chart](truth, runs, runs[0].steps) for chart in CHARTS if chart in charts]
    # The headings of the maps above tell the colours; legends would take more room than the
    # charts. On a narrow page those headings come later.
    return [
        replace(strip, legend=False if column else "narrow")
        for row in rows
        for column, strip in enumerate(row)
    ]


def _compare(title: str, runs: Sequence[SamplerRun], frames: Ints, part: str) -> Strip:
    """All samplers in one chart, as far as the race has gone."""
    lines = [
        StripLine(SAMPLERS[run.sampler].label, getattr(run, part), SAMPLERS[run.sampler].colour)
        for run in runs
        if np.array_equal(run.steps, frames)
    ]
    return Strip(title=title, x=frames, lines=lines, x_label="step", mode="grow", frame_x=frames)


def _modes_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    most = max(1, truth.n_modes)
    title = "Modes, a chain" if any(run.n_chains > 1 for run in runs) else "Modes visited"
    visited = _compare(title, runs, frames, "modes_visited")
    row = [replace(visited, y_limits=(0.0, 1.04 * most))]
    for run in runs:
        x, y = _segments(run.stay_steps, run.stay_modes, int(run.steps[-1]))
        style = SAMPLERS[run.sampler]
        row.append(
            Strip(
                title=f"{style.label}: mode",
                x=x,
                lines=[StripLine(style.label, y, style.colour)],
                x_label="step",
                y_limits=(0.0, 1.04 * most),
                mode="grow",
                frame_x=_cursor(run, frames),
                alt=f"{style.label}: which mode chain 1 is in, "
                f"{len(np.unique(run.stay_modes[run.stay_modes >= 0]))} of them in all.",
            )
        )
    return row


def _cursor(run: SamplerRun, frames: Ints) -> Ints:
    """Where the cursor stands; at the end for a run that stands still."""
    return frames if np.array_equal(run.steps, frames) else np.full(len(frames), run.steps[-1])


def _segments(steps: Ints, modes: Ints, end: int) -> tuple[Floats, Floats]:
    """Level lines, one a stay in a mode, with gaps between them: x and y with NaN.

    >>> x, y = _segments(np.array([0, 10, 20, 30]), np.array([4, 4, -1, 2]), 40)
    >>> x.tolist()
    [0.0, 0.0, 20.0, 20.0, 30.0, 40.0, 40.0, 40.0]
    >>> y.tolist()
    [nan, 5.0, 5.0, nan, 3.0, 3.0, nan, nan]
    """
    starts = np.flatnonzero(np.append(True, modes[1:] != modes[:-1]))
    ends = np.append(steps[starts[1:]], end)
    inside = modes[starts] >= 0
    first, last = steps[starts][inside], ends[inside]
    number = modes[starts][inside] + 1.0
    x = np.column_stack([first, last, last]).ravel()
    y = np.column_stack([number, number, np.full(len(number), np.nan)]).ravel()
    # The axis spans all steps, whenever the first and the last stay are.
    whole = np.concatenate([[0.0], x, [end]])
    return whole, np.concatenate([[np.nan], y, [np.nan]])


def _schedules_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    share = _compare("Share in a mode", runs, frames, "share_in_modes")
    row = [replace(share, y_limits=(0.0, 1.04))]
    for run in runs:
        style = SAMPLERS[run.sampler]
        limit = np.full(len(run.sizes), truth.step_limit)
        row.append(
            Strip(
                title=f"{style.label}: size",
                x=run.size_steps,
                lines=[
                    StripLine("longest stable", limit, "text", dash=True),
                    StripLine(style.label, run.sizes, style.colour),
                ],
                x_label="step",
                log=_falls_far(run.sizes),
                shaded=[(float(low), float(high)) for low, high in run.exploring],
                # The end of the last of the cycles shown, not the start of the first.
                frame_x=(_cursor(run, frames) - 1) % run.size_span + 1,
            )
        )
    return row


def _falls_far(sizes: Floats) -> bool:
    """Whether a linear axis would show the first steps only; not for sizes that come to zero."""
    lowest, highest = float(sizes.min()), float(sizes.max())
    return highest / _LARGEST_FALL < lowest < highest / _SMALLEST_FALL


def _marginal_row(
    axis: str, first: Strip, truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints
) -> list[Strip]:
    edges = np.asarray(getattr(truth, f"edges_{axis}"))
    centres = (edges[1:] + edges[:-1]) / 2
    true = np.asarray(getattr(truth, f"marginal_{axis}"))
    row = [first]
    for run in runs:
        style = SAMPLERS[run.sampler]
        values = getattr(run, f"marginal_{axis}")
        if not np.array_equal(run.steps, frames):
            values = np.tile(values[-1], (len(frames), 1))
        row.append(
            Strip(
                title=f"{style.label}: {axis}",
                x=centres,
                lines=[
                    StripLine("target", true, "text", dash=True),
                    StripLine(style.label, values, style.colour),
                ],
                x_label=axis,
                y_limits=(0.0, _MARGINAL_ROOM * float(true.max())),
                mode="frame",
            )
        )
    return row


def _x_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    first = _compare("KL, nats", runs, frames, "divergence")
    highest = max(float(np.nanmax(line.y, initial=0.0)) for line in first.lines)
    first = replace(first, y_limits=(0.0, 1.05 * highest or 1.0))
    return _marginal_row("x", first, truth, runs, frames)


def _y_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    first = _compare("Occupancy error", runs, frames, "occupancy_error")
    return _marginal_row("y", replace(first, y_limits=(0.0, 1.04)), truth, runs, frames)


_ROWS: Mapping[str, Any] = {
    "modes": _modes_row,
    "schedules": _schedules_row,
    "x": _x_row,
    "y": _y_row,
}


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
    return np.asarray(np.rint(run.density * (run.n_kept[:, None, None] * _cell_area(truth))))


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
