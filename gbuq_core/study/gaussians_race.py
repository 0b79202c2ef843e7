"""Samplers racing over a target with many modes: settings, chains, and one cycle in slow motion.

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1, figure 2 and appendix B.1. `run_sampler` runs one sampler and
keeps what the picture needs of it, frame by frame.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points, Strip, StripLine
from gbuq_core.figures.standalone import Section
from gbuq_core.methods import SAMPLERS
from gbuq_core.presentation import Tally
from gbuq_core.sampling import (
    TARGETS,
    ChainReport,
    Chains,
    Target,
    cell_probabilities,
    describe_stopped,
    diagnose,
    modes_by_step,
    sample_mixture,
)
from gbuq_core.sampling.counting import VISIT_SAMPLES, count_steps, count_visits
from gbuq_core.sampling.diagnostics import cell_divergence, find_cells
from gbuq_core.settings import arguments, plan_of, setting
from gbuq_core.study.study import Run
from gbuq_core.validation import check_choice, check_number

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# --- Settings -------------------------------------------------------------------------------------

SHOWN = ("density", "counts")
SCALES = ("the target's", "own")
CHARTS = ("modes", "schedules", "x", "y")  # what a row of charts shows, in order
_CHART_NAMES = ("modes visited", "step sizes", "marginals of x", "marginals of y")


def _own(sampler: str, name: str, **changes: Any) -> Any:
    """A number that only this sampler has."""
    record = SAMPLERS[sampler]
    return setting(
        record.defaults[name],
        f"{record.knob(name).label}, {record.label}",
        of=f"{sampler}.{name}",
        arg=name,
        uses=lambda plan: plan.sampler == sampler,
        **changes,
    )


@dataclass(frozen=True, kw_only=True)
class GaussiansSettings:
    """Everything that the race depends on. The defaults are the paper's where it states them."""

    target: str = setting(
        "gaussians25", "Target", group="data", arg="target",
        named={target.label: key for key, target in TARGETS.items()},
    )  # fmt: skip
    gradient_noise: float = setting(
        1.0, "Noise of the gradient (std)", group="data", choices=(0.0, 0.3, 1.0, 3.0, 10.0),
        arg="gradient_noise",
        help="In practice minibatches make gradients noisy. This noise stands for them.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        help="Sets the starts and the noise. They are the same for all samplers.",
    )  # fmt: skip
    samplers: tuple[str, ...] = setting(
        tuple(SAMPLERS), "Samplers", group="method", each=True,
        named={kind.label: key for key, kind in SAMPLERS.items()},
        help="N-SGLD adds more noise. clr-SGLD cycles the step size; cg-SGLD cycles the gradient's "
        "scale.",
    )  # fmt: skip
    steps: int = setting(
        50_000, "Steps", choices=(1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
        arg="n_steps", shrink=(0.5, 5000), help="The length of each chain.",
    )  # fmt: skip
    chains: int = setting(
        1, "Chains", choices=(1, 2, 5, 10, 20, 50), arg="n_chains", shrink=(0.5, 1),
        help="Each chain has its own start. The maps show all chains of a sampler together.",
    )  # fmt: skip
    cycles: int = setting(
        30, "Cycles", choices=(1, 2, 5, 10, 20, 30, 50, 100), arg="n_cycles",
        uses=lambda plan: plan.cyclical,
    )  # fmt: skip
    # SGLD's learning rate is that of its first step, clr-SGLD's that of the start of a cycle.
    rate_sgld: float = _own("sgld", "learning_rate", choices=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
    rate_nsgld: float = _own(
        "nsgld", "learning_rate", choices=(0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
    )
    noise_nsgld: float = _own("nsgld", "noise_scale", choices=(1.0, 1.5, 2.0, 3.0, 5.0, 10.0))
    rate_clr: float = _own(
        "clr", "learning_rate", choices=(0.01, 0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12)
    )
    exploration_clr: float = _own("clr", "exploration_fraction", high=0.9, step=0.05)
    rate_cg: float = _own(
        "cg", "learning_rate", choices=(0.002, 0.005, 0.007, 0.01, 0.012, 0.015, 0.02)
    )
    alpha_max: float = _own("cg", "alpha_max", low=1.0, high=15.0, step=0.5)
    alpha_min: float = _own("cg", "alpha_min", low=0.5, high=5.0, step=0.5)
    exploration_cg: float = _own("cg", "exploration_fraction", high=0.9, step=0.05)
    noise_free: bool = setting(
        False, "No noise while exploring", arg="noise_free_exploration",
        uses=lambda plan: plan.exploration > 0.0, help="As in cSG-MCMC (appendix A).",
    )  # fmt: skip
    # 1 samples from the target itself.
    noise: float = setting(
        SAMPLERS["sgld"].defaults["noise_scale"], "Noise scale, SGLD and cyclical",
        of="sgld.noise_scale", choices=(0.0, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0),
        arg="noise_scale", uses=lambda plan: plan.sampler != "nsgld",
    )  # fmt: skip
    shown: str = setting("density", "Colours show", group="view", drawn=True, choices=SHOWN)
    scale: str = setting(
        SCALES[0], "Colour scale", group="view", drawn=True, choices=SCALES,
        help="A trapped chain is far denser than the target. Its own scale shows by how much.",
    )  # fmt: skip
    log: bool = setting(False, "Logarithmic colours", group="view", drawn=True)
    trail: bool = setting(True, "Path of chain 1", group="view", drawn=True)
    outlines: bool = setting(
        False, "Borders of the modes", group="view", drawn=True,
        help="A sample within 3 standard deviations of a mode counts as in that mode. Without all "
        "charts the borders are always there.",
    )  # fmt: skip
    charts: tuple[str, ...] = setting(
        CHARTS,
        "Charts",
        group="view",
        drawn=True,
        named=dict(zip(_CHART_NAMES, CHARTS, strict=True)),
    )

    @property
    def methods(self) -> tuple[str, ...]:
        """The samplers, as every study calls its methods."""
        return self.samplers

    @property
    def sampler(self) -> str:
        """The first sampler, the only one of a chain's key."""
        return self.samplers[0]

    @property
    def cyclical(self) -> bool:
        """Whether that sampler has cycles."""
        return SAMPLERS[self.sampler].cyclical

    @property
    def exploration(self) -> float:
        """The share of each of its cycles that is not kept."""
        return {"clr": self.exploration_clr, "cg": self.exploration_cg}.get(self.sampler, 0.0)


# --- Chains ---------------------------------------------------------------------------------------

MAX_FRAMES = 60  # of the race
N_BINS = 60  # of the maps, a side; as many as `grid_kl` counts in
N_STAYS = 120  # places along a chain at which its mode is looked up: as many as a chart can tell
N_SIZES = 240  # the same for step sizes
SHOWN_CYCLES = 3  # of a schedule that repeats itself: more of them would be one block of colour
N_PATH = 16  # positions of the first chain in a frame


@dataclass(frozen=True, kw_only=True)
class TargetGrid:
    """The target averaged over the cells of the maps."""

    target: str  # its key in `gbuq_core.sampling.TARGETS`
    label: str
    # `edges_x`, `edges_y`: borders of the cells
    edges_x: Array
    edges_y: Array
    density: Array  # per unit area, y first
    # `marginal_x`, `marginal_y`: per unit length
    marginal_x: Array
    marginal_y: Array
    n_modes: int
    outlines: tuple[Array, ...]  # (k, 2): borders of the modes
    share_in_modes: float  # what a perfect sampler's share would be
    # A step size times gradient scale above it overshoots a mode farther than it came from
    step_limit: float


@dataclass(frozen=True, kw_only=True)
class SamplerRun:
    """One sampler's race: what had been kept by the end of each frame, and its path."""

    plan: GaussiansSettings
    # `steps`, `n_kept`: steps done by each chain, and samples kept of all chains, cumulative as all
    # that follows
    steps: Ints
    n_kept: Ints
    counts: Ints  # kept samples in each cell of the maps, (n_frames, N_BINS, N_BINS); y first
    modes_visited: Array  # modes with at least 50 kept samples; mean over chains
    # `share_in_modes`, `occupancy_error`, `divergence`: as the scores of the same names, of all
    # chains together; NaN before the first kept sample
    share_in_modes: Array
    occupancy_error: Array
    divergence: Array
    path: Array  # where the first chain was during each frame, at even distances of steps
    # `stay_steps`, `stay_modes`: (k,): steps of the first chain and the mode it was in then; -1
    # between modes
    stay_steps: Ints
    stay_modes: Ints
    # `size_steps`, `sizes`: step size times gradient scale; of a schedule with many cycles the
    # first three
    size_steps: Ints
    sizes: Array
    size_span: int  # steps after which `sizes` repeat themselves; all of them without cycles
    # steps within `size_span` whose samples do not count: first, and first that does
    exploring: Ints
    occupancy: Array  # (n_chains, n_modes): each mode's share of the chain's samples in modes
    modes_explored: Ints  # (n_chains,): modes with at least 50 steps, whether they are kept or not
    report: ChainReport  # all diagnostics, with all steps
    stopped: str  # A sentence about chains that ran off to infinity; empty if none did
    all_stopped: bool  # whether all of them did, so that no more samples come
    seconds: float  # of the sampling, without the counting; NaN where nothing was sampled here

    @cached_property
    def density(self) -> npt.NDArray[np.float32]:
        """Kept samples per unit area, as a share of all kept ones; y first."""
        width, height = self._cell
        return (self._shares / (width * height)).astype(np.float32)

    @property
    def marginal_x(self) -> npt.NDArray[np.float32]:
        """The same per unit length."""
        return (self._shares.sum(axis=1) / self._cell[0]).astype(np.float32)

    @property
    def marginal_y(self) -> npt.NDArray[np.float32]:
        """The same per unit length."""
        return (self._shares.sum(axis=2) / self._cell[1]).astype(np.float32)

    @property
    def _shares(self) -> Array:
        return self.counts / np.maximum(self.n_kept, 1)[:, None, None]

    @property
    def _cell(self) -> tuple[float, float]:
        grid = target_grid(self.plan.target)
        return grid.edges_x[1] - grid.edges_x[0], grid.edges_y[1] - grid.edges_y[0]

    @property
    def method(self) -> str:
        """The sampler's key in `gbuq_core.methods.SAMPLERS`."""
        return self.plan.sampler

    @property
    def fit(self) -> SamplerRun:
        """It is shown as it is."""
        return self

    @property
    def memory_bytes(self) -> None:
        """No model is kept."""

    @property
    def n_chains(self) -> int:
        """How many chains are counted together."""
        return self.plan.chains


@cache
def target_grid(target: str) -> TargetGrid:
    """The target's density on the cells of the maps; computed once."""
    density = TARGETS[check_choice("target", target, tuple(TARGETS))]
    left, right, bottom, top = density.extent
    width, height = (right - left) / N_BINS, (top - bottom) / N_BINS
    cells = cell_probabilities(density, N_BINS)
    return TargetGrid(
        target=target,
        label=density.label,
        edges_x=np.linspace(left, right, N_BINS + 1),
        edges_y=np.linspace(bottom, top, N_BINS + 1),
        density=cells / (width * height),
        marginal_x=cells.sum(axis=0) / width,
        marginal_y=cells.sum(axis=1) / height,
        n_modes=len(density.weights),
        outlines=tuple(density.outlines()),
        share_in_modes=density.share_in_modes,
        step_limit=_step_limit(density),
    )


def _step_limit(density: Target) -> float:
    """2 over the largest curvature of -log p at the modes' centres.

    Along an axis of curvature h a gradient step s multiplies the distance to the centre by
    ``1 - s h``, which is below -1 from ``s = 2 / h`` on.
    """
    h = 1e-4
    shifts = h * np.eye(2)
    sides = [density.gradient(density.modes + sign * shift) for shift in shifts for sign in (1, -1)]
    up_x, down_x, up_y, down_y = sides
    hessians = np.stack([up_x - down_x, up_y - down_y], axis=1) / (2 * h)
    return float(2.0 / np.linalg.eigvalsh(hessians).max())


def run_sampler(plan: GaussiansSettings) -> SamplerRun:
    """Run one sampler and count what it found, frame by frame."""
    _RUNS.add()
    return count_chains(plan, sample_plan(plan))


def sample_plan(plan: GaussiansSettings, n_chains: int | None = None) -> Chains:
    """The chains of a plan; fewer of them are the first ones.

    >>> plan = plan_of(GaussiansSettings(steps=100, chains=3), "clr")
    >>> first, all_of_them = sample_plan(plan, n_chains=1), sample_plan(plan)
    >>> bool((first.samples[0] == all_of_them.samples[0]).all())
    True
    """
    return sample_mixture(plan.sampler, **{**arguments(plan), "n_chains": n_chains or plan.chains})


_RUNS = Tally()
count_runs = _RUNS.count  # what a knob of the view leaves as it is


def count_chains(plan: GaussiansSettings, chains: Chains) -> SamplerRun:
    """What chains had found by the end of each frame."""
    grid, density = target_grid(plan.target), TARGETS[plan.target]
    n_chains, n_steps = chains.mode_index.shape
    frames = min(MAX_FRAMES, n_steps)
    visits = modes_by_step(chains, frames)
    frame_of = np.searchsorted(visits.steps, np.arange(n_steps))
    cells = np.zeros((frames, N_BINS**2 + 1), dtype=np.int64)  # the last one is all outside
    in_modes = np.zeros((frames, grid.n_modes), dtype=np.int64)
    n_kept = np.zeros(frames, dtype=np.int64)
    for chain in range(n_chains):  # one at a time: the indices of all would take more memory
        counted = count_steps(chains, chain)
        frame = frame_of[counted]
        n_kept += np.bincount(frame, minlength=frames)
        places = find_cells(chains.samples[chain, counted], density, N_BINS)
        cells += _count_pairs(frame, places, cells.shape)
        labels = chains.mode_index[chain, counted]
        in_modes += _count_pairs(frame[labels >= 0], labels[labels >= 0], in_modes.shape)
    cells, in_modes, n_kept = (np.cumsum(part, axis=0) for part in (cells, in_modes, n_kept))
    stays, span = _spread(N_STAYS, n_steps), _repeated_steps(plan)
    sizes = _spread(N_SIZES, span)
    return SamplerRun(
        plan=plan,
        steps=visits.steps + 1,
        n_kept=n_kept,
        counts=cells[:, :-1].reshape(frames, N_BINS, N_BINS),
        modes_visited=visits.counts.mean(axis=0),
        share_in_modes=_share(in_modes.sum(axis=1), n_kept),
        occupancy_error=_occupancy_errors(in_modes, density.weights),
        divergence=cell_divergence(cells, density),
        path=_path(chains, visits.steps),
        stay_steps=stays,
        stay_modes=chains.mode_index[0, stays].astype(np.int64),
        size_steps=sizes,
        sizes=(chains.step_sizes * chains.scales)[sizes],
        size_span=span,
        exploring=_exploring(chains.kept[:span]),
        occupancy=chains.occupancy,
        modes_explored=_explored(chains),
        report=diagnose(chains),
        stopped=describe_stopped(chains),
        all_stopped=bool((chains.stopped_at >= 0).all()),
        seconds=chains.seconds,
    )


def _spread(n: int, n_steps: int) -> Ints:
    """At most ``n`` steps at even distances, the first one first."""
    return np.linspace(0, n_steps, min(n, n_steps), endpoint=False).astype(np.int64)


def _repeated_steps(plan: GaussiansSettings) -> int:
    """The steps of a few cycles if there are more than twice as many, else all of them."""
    if not plan.cyclical or plan.cycles <= 2 * SHOWN_CYCLES:
        return plan.steps
    return -(-SHOWN_CYCLES * plan.steps // plan.cycles)


def _exploring(kept: npt.NDArray[np.bool_]) -> Ints:
    """Where steps that are not kept begin and end, (e, 2).

    >>> _exploring(np.array([False, True, True, False, False])).tolist()
    [[0, 1], [3, 5]]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[True], kept, [True]]).astype(np.int8)))
    return edges.reshape(-1, 2)


def _count_pairs(frame: Ints, place: npt.NDArray[np.integer], shape: tuple[int, ...]) -> Ints:
    """Samples in each frame and place, of ``shape``."""
    frames, places = shape
    return np.bincount(frame * places + place, minlength=frames * places).reshape(shape)


def _explored(chains: Chains) -> Ints:
    """Modes that each chain has been in for as long as a visit takes, exploring steps included."""
    every = np.ones_like(chains.kept)
    n_modes = chains.occupancy.shape[1]
    return (count_visits(chains.mode_index, every, n_modes) >= VISIT_SAMPLES).sum(axis=1)


def _share(part: Ints, whole: Ints) -> Array:
    """NaN where there is no whole."""
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)


def _occupancy_errors(in_modes: Ints, weights: Array) -> Array:
    """Total variation of the modes' shares (f, n_modes) to their weights; 1 without any."""
    total = in_modes.sum(axis=1)
    shares = in_modes / np.maximum(total, 1)[:, None]
    return np.where(total > 0, 0.5 * np.abs(shares - weights).sum(axis=1), 1.0)


def _path(chains: Chains, ends: Ints) -> Array:
    """Positions of the first chain in each frame, (f, N_PATH, 2); it stops where it ran off."""
    starts = np.append(0, ends[:-1] + 1)
    shares = np.linspace(0.0, 1.0, N_PATH)
    at = np.rint(starts[:, None] + (ends - starts)[:, None] * shares).astype(np.int64)
    stopped = int(chains.stopped_at[0])
    at = np.minimum(at, max(stopped - 1, 0)) if stopped >= 0 else at
    return chains.samples[0, at].astype(np.float64)


# --- One cycle of every sampler, step by step, over the target's energy ---------------------------

# A chain depends on its plan alone, so running the first one again gives the same points, and
# nothing of a long race has to be kept for it.
MAX_POINTS = 2000  # of a cycle; a longer one is thinned
N_CELLS = 120  # of the map of energies, a side


@dataclass(frozen=True, kw_only=True)
class CycleTrace:
    """Chain 1 of one sampler during one cycle of the race.

    The sampler moves from point i to point i + 1 by ``pulls[i]`` against the gradient and by a kick
    of the noise, that of the gradient and that which the sampler adds.
    """

    sampler: str  # a key of `gbuq_core.methods.SAMPLERS`
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


def cycle_section(run: Run, runs: Sequence[SamplerRun], values: SimpleNamespace) -> Section:
    """The chosen samplers during the cycle of that number, or during the last one."""
    settings = run.settings
    last = min(settings.cycles, settings.steps)
    place = min(values.cycle, last) - 1
    traces = tuple(record_cycle(settings, sampler, place) for sampler in settings.samplers)
    words = [describe_cycle(traces, run.data.step_limit)]
    if values.cycle > last:
        words.append(f"There are only {last} cycles. The last one is shown.")
    if traces[0].every > 1:
        words.append(f"The maps show every {traces[0].every}th step of this long cycle.")
    sheet = cycle_sheet(run.data, energy_map(settings.target), traces, alt=words[0])
    return Section(text=ABOUT_CYCLE, sheet=sheet, caption=" ".join(words))


def cycle_sheet(
    truth: TargetGrid,
    energy: Array,
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


def _panel(cycle: CycleTrace, energy: Array, step_limit: float) -> Panel:
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
