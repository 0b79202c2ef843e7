"""What stands below the race's maps: charts of all samplers, and one of each under its map."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.gaussians.fit import SamplerRun, TargetGrid
from gbuq_core.experiments.gaussians.plan import CHARTS
from gbuq_core.figures.canvas.panels import Strip, StripLine
from gbuq_core.methods import SAMPLERS

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
    frames = runs[0].steps
    rows = [_ROWS[chart](truth, runs, frames) for chart in CHARTS if chart in charts]
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
        StripLine(
            SAMPLERS[run.sampler].label,
            getattr(run, part),
            SAMPLERS[run.sampler].colour,
        )
        for run in runs
        if np.array_equal(run.steps, frames)
    ]
    return Strip(title=title, x=frames, lines=lines, x_label="step", mode="grow", frame_x=frames)


def _modes_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    most = max(1, truth.n_modes)
    several = any(run.n_chains > 1 for run in runs)
    title = "Modes, a chain" if several else "Modes visited"
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
    same = np.array_equal(run.steps, frames)
    return frames if same else np.full(len(frames), run.steps[-1])


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
