"""One cycle of every sampler, step by step, over the target's energy.

The chains are those of the race: a chain depends on its plan alone, so running the first one again
gives the same points, and nothing of a long race has to be kept for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from types import SimpleNamespace

import numpy as np

from gbuq_core.experiments.gaussians.fit import (
    Array,
    GaussiansRun,
    Ints,
    SamplerRun,
    TargetGrid,
    sample_plan,
)
from gbuq_core.experiments.gaussians.picture import Floats
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points, Strip, StripLine
from gbuq_core.figures.standalone import Section
from gbuq_core.methods import SAMPLERS
from gbuq_core.sampling import TARGETS
from gbuq_core.settings import plan_of
from gbuq_core.validation import check_choice, check_number

MAX_POINTS = 2000  # of a cycle; a longer one is thinned
N_CELLS = 120  # of the map of energies, a side


@dataclass(frozen=True, kw_only=True)
class CycleTrace:
    """Chain 1 of one sampler during one cycle of the race.

    The sampler moves from point i to point i + 1 by ``pulls[i]`` against the gradient and by a kick
    of the noise, that of the gradient and that which the sampler adds.
    """

    sampler: str  # A key of `gbuq_core.methods.SAMPLERS`
    # `cycle`, `n_cycles`: which cycle, from 0, of how many
    cycle: int
    n_cycles: int
    n_steps: int  # of the cycle
    every: int  # steps between two points; 1 unless the cycle is longer than `MAX_POINTS`
    steps: Ints  # (m,): steps of the cycle that each point comes after; the first is 0
    points: Array  # (m, 2): NaN once the chain has run off
    # (m,): -log of the density at the points, above its lowest value at a mode, in nats
    energy: Array
    # (m,): whether the step to this point gives no sample; the first point counts as its next
    exploring: np.ndarray
    sizes: Array  # (m,): step size times gradient scale of the step to this point
    # `pulls`, `kicks`: (m,): how far the gradient and the noise moved the chain in that step
    pulls: Array
    kicks: Array
    modes: Ints  # (m,): the mode of each point, -1 between modes

    @property
    def visited(self) -> tuple[int, ...]:
        """The modes that the chain is in during the cycle, in the order of the first visit."""
        return tuple(dict.fromkeys(int(mode) for mode in self.modes if mode >= 0))


def record_cycle(
    settings: GaussiansSettings, sampler: str, cycle: int = 0, most: int = MAX_POINTS
) -> CycleTrace:
    """Where chain 1 of a sampler was during one cycle, and what moved it."""
    plan = plan_of(settings, sampler)
    cycles = min(settings.cycles, plan.steps)
    number = check_number("cycle", cycle, 0, cycles - 1, integer=True)
    check_number("most", most, 2, integer=True)
    first, end = (-(-begun * plan.steps // cycles) for begun in (number, number + 1))
    n = end - first
    every = -(-(n + 1) // most)
    with warnings.catch_warnings():  # the race has said so
        warnings.simplefilter("ignore", RuntimeWarning)
        chains = sample_plan(plan, n_chains=1)
    target = TARGETS[plan.target]
    before = chains.samples[0, first - 1] if first else chains.starts[0]
    whole = np.vstack([before[None], chains.samples[0, first:end]]).astype(np.float64)
    inside = np.abs(whole) <= _FARTHEST  # not so where there is no number, either
    gone = np.asarray(~inside.all(axis=1))
    safe = np.where(gone[:, None], 0.0, whole)
    sizes = (chains.step_sizes * chains.scales)[first:end]
    pull = -sizes[:, None] * target.gradient(safe[:-1])
    kick = safe[1:] - safe[:-1] - pull
    lost = gone[1:] | gone[:-1]
    steps = np.arange(0, n + 1, every)
    steps = steps if steps[-1] == n else np.append(steps, n)
    moved = np.maximum(steps - 1, 0)  # the step that led to each point
    return CycleTrace(
        sampler=sampler,
        cycle=number,
        n_cycles=cycles,
        n_steps=n,
        every=every,
        steps=steps,
        points=np.where(gone[:, None], np.nan, whole)[steps],
        energy=np.where(gone, np.nan, -target.log_density(safe) - _lowest(plan.target))[steps],
        exploring=~chains.kept[first:end][moved],
        sizes=sizes[moved],
        pulls=np.where(lost, np.nan, np.hypot(*pull.T))[moved],
        kicks=np.where(lost, np.nan, np.hypot(*kick.T))[moved],
        modes=np.where(gone, -1, target.mode_of(safe))[steps].astype(np.int64),
    )


_FARTHEST = 1e3  # beyond it a chain is on its way to infinity


@cache
def _lowest(target: str) -> float:
    """The energy at the lowest mode."""
    density = TARGETS[target]
    return float(-density.log_density(density.modes).max())


@cache
def energy_map(target: str) -> Array:
    """-log of a target's density at the middles of a grid of cells, above its lowest mode."""
    density = TARGETS[check_choice("target", target, tuple(TARGETS))]
    left, right, bottom, top = density.extent
    x = left + (right - left) * (np.arange(N_CELLS) + 0.5) / N_CELLS
    y = bottom + (top - bottom) * (np.arange(N_CELLS) + 0.5) / N_CELLS
    cells = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    return (-density.log_density(cells) - _lowest(target)).reshape(N_CELLS, N_CELLS)


def describe_cycle(traces: tuple[CycleTrace, ...], step_limit: float) -> str:
    """What the samplers did during the cycle, in words.

    >>> settings = GaussiansSettings(steps=3000)
    >>> describe_cycle((record_cycle(settings, "sgld", 2),), 0.06)
    'Cycle 3 of 30, 100 steps. SGLD is in 1 mode.'
    """
    if not traces:
        return "No sampler is chosen."
    first = traces[0]
    parts = [f"Cycle {first.cycle + 1} of {first.n_cycles}, {first.n_steps:,} steps."]
    for trace in traces:
        n = len(trace.visited)
        text = f"{SAMPLERS[trace.sampler].label} is in {n} mode{'' if n == 1 else 's'}"
        long = trace.sizes > step_limit
        if long.any() and not long.all():
            left = len(set(trace.modes[long].tolist()) - {-1})
            text += f", {left} of them while its steps are too long to stay"
        parts.append(f"{text}.")
    return " ".join(parts)


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
    energy: Floats,
    cycles: Sequence[CycleTrace],
    alt: str = "",
) -> PanelSheet:
    """The energy with a chain on it for every sampler, and three charts under each."""
    columns = len(cycles)
    top = max(float(np.nanmax(cycle.sizes)) for cycle in cycles)
    strips = [_strips(cycle, truth.step_limit, top) for cycle in cycles]
    return PanelSheet(
        panels=[_panel(cycle, energy, truth.step_limit) for cycle in cycles],
        columns=columns,
        x_label="x",
        y_label="y",
        x_extent=(float(truth.edges_x[0]), float(truth.edges_x[-1])),
        y_extent=(float(truth.edges_y[0]), float(truth.edges_y[-1])),
        panel_height=_HEIGHTS.get(columns, 260),
        frame_label="step of the cycle",
        frame_values=[int(step) for step in cycles[0].steps],
        frames_per_second=_FRAMES_PER_SECOND,
        start_frame=min(_TRAIL, len(cycles[0].steps) // 2),
        strips=[strip for row in zip(*strips, strict=True) for strip in row],
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


def _strips(cycle: CycleTrace, step_limit: float, top: float) -> list[Strip]:
    """Step sizes, energy and moves over the steps, with the stretches that explore."""
    style = SAMPLERS[cycle.sampler]
    steps = np.asarray(cycle.steps, dtype=np.float64)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], cycle.exploring.astype(np.int8), [0]])))
    ends = [(steps[low], steps[min(high, len(steps) - 1)]) for low, high in edges.reshape(-1, 2)]
    strip = partial(Strip, x=steps, frame_x=steps, shaded=ends, x_label="step of the cycle")
    return [
        strip(
            title=f"{style.label}: step size",
            lines=[
                StripLine("longest stable", np.full(len(steps), step_limit), "text", dash=True),
                StripLine("step size", cycle.sizes, style.colour),
            ],
            y_limits=(0.0, 1.08 * max(top, step_limit)),
            legend="narrow",
        ),
        strip(
            title=f"{style.label}: energy",
            y_label="nats",
            lines=[StripLine("energy", cycle.energy, style.colour)],
            y_limits=(0.0, _HIGHEST),
            mode="grow",
            legend=False,
        ),
        strip(
            title=f"{style.label}: moves",
            y_label="length, log",
            lines=[
                StripLine("pull of the gradient", cycle.pulls, _PULL),
                StripLine("kick of the noise", cycle.kicks, _KICK),
            ],
            log=True,
            y_limits=(1e-3, 10.0),
            mode="grow",
        ),
    ]
