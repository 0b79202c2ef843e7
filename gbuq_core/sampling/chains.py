"""`sample_mixture`: Langevin chains side by side, and what they found."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.compilers import need_kernels
from gbuq_core.errors import InvalidParameter
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance, stage
from gbuq_core.resources import check_memory
from gbuq_core.sampling.arrays import FARTHEST
from gbuq_core.sampling.counting import VISIT_SAMPLES, count_visits
from gbuq_core.sampling.schedules import MAX_STEPS, Schedule, make_schedule
from gbuq_core.sampling.targets import Target, find_target
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    from gbuq_core.figures.canvas.panels import PanelSheet

FloatArray = NDArray[np.float64]

MAX_CHAINS = 10_000

# Steps between two looks at whether the job goes on: 20-40 ms of one core.
_CHUNK_STEPS = 250_000

# Two float32 coordinates and an int16 label, and what the counts take for one chain at a time.
_BYTES_PER_STEP = 10
_BYTES_PER_SCHEDULE_STEP = 60


@dataclass(frozen=True, kw_only=True)
class Chains:
    """What `sample_mixture` returns.

    Attributes
    ----------
    samples : ndarray of shape (n_chains, n_steps, 2), float32
        The point after each step; the state itself is float64. If a chain ran off, its point at
        ``stopped_at`` is the last one, all later points are NaN, and none of them counts.
    kept : ndarray of shape (n_steps,), bool
        Whether each step counts as a sample; the other steps explore.
    modes_visited : ndarray of shape (n_chains,), int64
        Modes with at least 50 kept samples within three std.
    share_in_modes : ndarray of shape (n_chains,)
        Share of the kept samples within three std of any mode; compare ``share_in_modes`` of the
        target.
    occupancy_error : ndarray of shape (n_chains,)
        Total variation distance of ``occupancy`` to the true weights, from 0 to 1. It is 1 for a
        chain without a sample in any mode.
    occupancy : ndarray of shape (n_chains, n_modes)
        How the kept samples in modes are shared among them; sums to 1, or to 0 without any.
    mode_index : ndarray of shape (n_chains, n_steps), int16
        The mode that each step is in, -1 for none.
    starts : ndarray of shape (n_chains, 2)
        The points before the first step: the same for all samplers of one seed.
    stopped_at : ndarray of shape (n_chains,), int64
        The step at which a chain ran off (farther than a million, or not finite), else -1.
    step_sizes, scales, noises : ndarray of shape (n_steps,)
        Step size, factor of the gradient, std of the injected noise.
    cycle : ndarray of shape (n_steps,), int64
        The cycle of each step.
    target, sampler : str
    seconds : float
        Wall time of the steps and the counting.
    """

    samples: NDArray[np.float32]
    kept: NDArray[np.bool_]
    modes_visited: NDArray[np.int64]
    share_in_modes: FloatArray
    occupancy_error: FloatArray
    occupancy: FloatArray
    mode_index: NDArray[np.int16]
    starts: FloatArray
    stopped_at: NDArray[np.int64]
    step_sizes: FloatArray
    scales: FloatArray
    noises: FloatArray
    cycle: NDArray[np.int64]
    target: str
    sampler: str
    seconds: float

    def plot(
        self, target: str | Target | None = None, *, n_frames: int = 30, log: bool = False
    ) -> PanelSheet:
        """Draw how the kept samples of all chains fill the plane, beside the true density.

        Parameters
        ----------
        target : str or Target, optional
            What the chains were drawn from; needed if it is not one of `TARGETS`.
        n_frames : int
            Frames of the player, at most one a step.
        log : bool
            Whether colours follow the logarithm of the density.

        Returns
        -------
        PanelSheet
            A notebook shows it where it is the last line of a cell.

        Raises
        ------
        InvalidData
            If the target has another number of modes.

        Examples
        --------
        >>> sheet = sample_mixture("cg", n_steps=20_000, random_state=0).plot()
        >>> [panel.title for panel in sheet.panels], len(sheet.frame_values)
        (['Target', 'cg-SGLD'], 30)
        """
        from gbuq_core.figures.plots import plot_samples
        from gbuq_core.sampling.diagnostics import density_by_step

        density = find_target(self.target if target is None else target)
        frames = min(n_frames, len(self.kept))
        steps, kept, true = density_by_step(self, density, frames)
        return plot_samples(steps, kept, true, density.extent, self.sampler, log=log)


def sample_mixture(
    sampler: str = "sgld",
    n_steps: int = 50_000,
    n_chains: int = 1,
    n_cycles: int = 30,
    random_state: Any = None,
    target: str | Target = "gaussians25",
    *,
    learning_rate: float | None = None,
    decay: float | None = None,
    noise_scale: float | None = None,
    alpha_max: float | None = None,
    alpha_min: float | None = None,
    exploration_fraction: float | None = None,
    noise_free_exploration: bool = False,
    gradient_noise: float = 1.0,
    start_extent: float = 10.0,
    n_jobs: int | None = None,
) -> Chains:
    """Sample a density in the plane by stochastic-gradient Langevin dynamics.

    ``x <- x - lr_t alpha_t (grad + gradient_noise N(0, I)) + noise_scale sqrt(2 lr_t) N(0, I)``
    with the gradient of -log p; `make_schedule` says what ``lr_t`` and ``alpha_t`` are.

    Parameters
    ----------
    sampler : {"sgld", "nsgld", "clr", "cg"}
        SGLD with a decaying step, noisy SGLD, a cyclical learning rate, a cyclical gradient scale.
    n_steps, n_chains : int
    n_cycles : int
        Of the cyclical samplers.
    random_state : int, numpy Generator, RandomState or None
        A whole number gives the same chains on any number of threads. Chain i does not depend on
        the number of chains.
    target : str or Target
        A name from `TARGETS`, or your own target.
    learning_rate, decay, noise_scale, alpha_max, alpha_min, exploration_fraction : float, optional
        None means the default of the sampler (`SAMPLERS`). A sampler refuses a number that it does
        not use.
    noise_free_exploration : bool
        Whether exploring steps inject no noise (cyclical samplers).
    gradient_noise : float
        Std of the noise on each coordinate of the gradient.
    start_extent : float
        Chains start uniformly on the square of this half width around the origin.
    n_jobs : int, optional
        Threads over chains.

    Returns
    -------
    Chains

    Warns
    -----
    RuntimeWarning
        When a chain ran off to infinity, with the sentence of `describe_stopped`; ``stopped_at``
        says which. cg-SGLD with its defaults does so from one start in 150, at the very edge of
        the square: its first steps are too long for the modes' curvature and overshoot.

    References
    ----------
    Tan, Huertas and Zhao (2023), section 5.1 and appendix B.1. The paper's absolute noise numbers
    are ambiguous; ``noise_scale`` is 1 unless said.

    Examples
    --------
    >>> trapped = sample_mixture("sgld", n_steps=20_000, random_state=0)
    >>> cyclical = sample_mixture("cg", n_steps=20_000, random_state=0)
    >>> int(trapped.modes_visited[0]), bool(cyclical.modes_visited[0] >= 7)
    (1, True)
    """
    began = time.perf_counter()
    density = find_target(target)
    chains = check_number("n_chains", n_chains, 1, MAX_CHAINS, integer=True)
    noise = check_number("gradient_noise", gradient_noise, 0, 1000)
    extent = check_number("start_extent", start_extent, 0, 1000)
    seed = _draw_seed(random_state)
    steps = check_number("n_steps", n_steps, 1, MAX_STEPS, integer=True)
    check_memory((_BYTES_PER_STEP * chains + _BYTES_PER_SCHEDULE_STEP) * steps, "these chains")
    schedule = make_schedule(
        sampler,
        steps,
        n_cycles,
        noise_free_exploration,
        learning_rate=learning_rate,
        decay=decay,
        noise_scale=noise_scale,
        alpha_max=alpha_max,
        alpha_min=alpha_min,
        exploration_fraction=exploration_fraction,
    )
    need_kernels("chains")
    starts = np.empty((chains, 2))
    from gbuq_core.sampling.langevin_kernels import draw_starts

    draw_starts(seed, 0, extent, starts)
    samples, labels = _run(density, schedule, noise, seed, starts, n_jobs)
    stopped_at = _stopping_steps(samples)
    counts = count_visits(labels, schedule.kept, len(density.weights))
    inside = counts.sum(axis=1)
    before = np.append(0, np.cumsum(schedule.kept))  # samples until each step
    n_drawn = before[np.where(stopped_at < 0, steps, stopped_at)]
    occupancy = counts / np.maximum(inside, 1)[:, None]
    apart = 0.5 * np.abs(occupancy - density.weights).sum(axis=1)
    drawn = Chains(
        samples=samples,
        kept=schedule.kept,
        modes_visited=(counts >= VISIT_SAMPLES).sum(axis=1),
        share_in_modes=inside / np.maximum(1, n_drawn),
        occupancy_error=np.where(inside > 0, apart, 1.0),
        occupancy=occupancy,
        mode_index=labels,
        starts=starts,
        stopped_at=stopped_at,
        step_sizes=schedule.step_sizes,
        scales=schedule.scales,
        noises=schedule.noises,
        cycle=schedule.cycle,
        target=density.name,
        sampler=sampler,
        seconds=time.perf_counter() - began,
    )
    if (stopped_at >= 0).any():
        warnings.warn(describe_stopped(drawn), RuntimeWarning, stacklevel=2)
    return drawn


def describe_stopped(chains: Chains) -> str:
    """A sentence about the chains that ran off; empty if none did."""
    n = int((chains.stopped_at >= 0).sum())
    if n == 0:
        return ""
    first, total = int(chains.stopped_at[chains.stopped_at >= 0].min()), len(chains.stopped_at)
    if total == 1:
        what = f"The chain ran off to infinity at step {first}"
    else:
        who = f"All {n} chains" if n == total else f"{n} of {total} chains"
        what = f"{who} ran off to infinity,{' the first' * (n > 1)} at step {first}"
    remedy = "lower its learning rate"
    if chains.sampler == "cg":
        remedy += " or its largest gradient scale"
    return f"{what}: the step is too long for the curvature there; {remedy}."


def _run(
    density: Target,
    schedule: Schedule,
    gradient_noise: float,
    seed: np.uint64,
    starts: FloatArray,
    n_jobs: int | None,
) -> tuple[NDArray[np.float32], NDArray[np.int16]]:
    """The points after each step and the mode each is in, blocks of chains side by side."""
    from gbuq_core.sampling.langevin_kernels import label_modes, run_chains

    n_chains, n_steps = len(starts), len(schedule.kept)
    samples = np.empty((n_chains, n_steps, 2), dtype=np.float32)
    labels = np.empty((n_chains, n_steps), dtype=np.int16)
    arrays = schedule.arrays()

    def run(block: slice) -> None:
        state, points, modes = starts[block].copy(), samples[block], labels[block]
        length = max(1, _CHUNK_STEPS // len(state))
        for first in range(0, n_steps, length):
            part = points[:, first : first + length]
            run_chains(
                density.arrays, arrays, gradient_noise, seed, block.start, first, state, part
            )
            advance(len(state) * part.shape[1])  # between chunks, so that a job can be stopped
        label_modes(density.arrays, points.reshape(-1, 2), modes.reshape(-1))

    with stage(n_chains * n_steps):
        parallel_map(run, _blocks(n_chains, n_steps), n_jobs)
    return samples, labels


def _blocks(n_chains: int, n_steps: int) -> list[slice]:
    """Chains that run together: so many that a block of short chains is worth a kernel call."""
    size = max(1, _CHUNK_STEPS // (8 * n_steps))
    return [slice(first, min(first + size, n_chains)) for first in range(0, n_chains, size)]


def _stopping_steps(samples: NDArray[np.float32]) -> NDArray[np.int64]:
    """The first step of each chain that is beyond `FARTHEST`, -1 for chains that end inside."""
    steps = np.full(len(samples), -1, dtype=np.int64)
    for chain in np.flatnonzero(~(np.abs(samples[:, -1]) <= FARTHEST).all(axis=1)):
        steps[chain] = np.argmin((np.abs(samples[chain]) <= FARTHEST).all(axis=1))
    return steps


def _draw_seed(random_state: Any) -> np.uint64:
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return np.uint64(
            check_number("random_state", int(random_state), 0, 2**63 - 1, integer=True)
        )
    if random_state is None:
        return np.uint64(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.Generator):
        return np.uint64(random_state.integers(2**31))
    if isinstance(random_state, np.random.RandomState):
        return np.uint64(random_state.randint(2**31 - 1))
    raise InvalidParameter(f"random_state must be a whole number or None; got {random_state!r}.")
