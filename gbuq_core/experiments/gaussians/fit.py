"""Samplers racing over a target with many modes: what they have found, frame by frame.

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1 and figure 2. `run_sampler` runs one sampler and keeps what the
picture needs of it; `run_gaussians` does so for all samplers of `plan.GaussiansSettings`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.experiments.opening import Opening
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
from gbuq_core.settings import arguments, plan_of
from gbuq_core.validation import check_choice

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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
    def sampler(self) -> str:
        """The sampler's key in `gbuq_core.sampling.SAMPLERS`."""
        return self.plan.sampler

    @property
    def n_chains(self) -> int:
        """How many chains are counted together."""
        return self.plan.chains


class GaussiansRun(NamedTuple):
    """The target and the samplers' runs, in the settings' order."""

    settings: GaussiansSettings
    truth: TargetGrid
    runs: tuple[SamplerRun, ...]


def run_gaussians(settings: GaussiansSettings | None = None) -> GaussiansRun:
    """Run the samplers one after the other."""
    settings = GaussiansSettings() if settings is None else settings
    runs = tuple(run_sampler(plan_of(settings, sampler)) for sampler in settings.samplers)
    return GaussiansRun(settings, target_grid(settings.target), runs)


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

FIRST = GaussiansSettings()
OPENING = Opening(
    name="gaussians",
    kind=SamplerRun,
    make=run_sampler,
    plans=lambda: [plan_of(FIRST, sampler) for sampler in FIRST.samplers],
)


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
