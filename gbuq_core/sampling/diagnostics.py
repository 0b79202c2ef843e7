"""What chains found: when each visits which mode, how far the samples are from their target.

And how many independent samples they are worth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from gbuq_core.array_checks import check_array
from gbuq_core.errors import InvalidData
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance
from gbuq_core.sampling.counting import VISIT_SAMPLES, count_steps, count_visits
from gbuq_core.sampling.targets import Target, find_target
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    from gbuq_core.sampling.chains import Chains

FloatArray = NDArray[np.float64]

# Both distributions are mixed with this share of a uniform one over the cells, so that a sample
# where the target has no density costs a finite number of nats (at most ln(n_cells / share)).
UNIFORM_SHARE = 1e-3

# Cells along each axis of a grid: 0.2 wide for the 25 Gaussians, a little more than their std.
DEFAULT_CELLS = 60

_NODES = 4  # Gauss-Legendre nodes a cell and axis


class ModesFound(NamedTuple):
    """How many modes have been visited so far."""

    # (n_points,): steps at which the chains are looked at, the last one at the end
    steps: NDArray[np.int64]
    # (n_chains, n_points): modes with at least 50 kept samples up to and including that step
    counts: NDArray[np.int64]


class Densities(NamedTuple):
    """How the kept samples fill the plane, step by step."""

    steps: NDArray[np.int64]  # (n_frames,): how many steps each chain has done
    # (n_frames, n_cells, n_cells): of the samples kept by then, per unit area, row = y upwards; 0
    # before the first one
    density: FloatArray
    target: FloatArray  # (n_cells, n_cells): the true density, per unit area


class ModeSequence(NamedTuple):
    """The modes of one chain in the order in which it enters them."""

    # (n_stays,): no mode follows itself: leaving one and coming back is the same stay
    modes: NDArray[np.int16]
    steps: NDArray[np.int64]  # (n_stays,): the step at which each stay begins


def modes_by_step(chains: Chains, n_points: int = 200) -> ModesFound:
    """How many modes each chain has visited (at least 50 kept samples) by which step."""
    n_steps = chains.mode_index.shape[1]
    points = check_number("n_points", n_points, 1, n_steps, integer=True)
    steps = np.arange(1, points + 1) * n_steps // points - 1
    reached = _nth_visits(chains, VISIT_SAMPLES)
    done = (reached[:, :, None] >= 0) & (reached[:, :, None] <= steps)
    return ModesFound(steps, done.sum(axis=1))


def density_by_step(
    chains: Chains,
    target: str | Target | None = None,
    n_frames: int = 30,
    n_cells: int = DEFAULT_CELLS,
) -> Densities:
    """How the kept samples of all chains fill the target's extent.

    >>> from gbuq_core import sample_mixture
    >>> chains = sample_mixture("cg", n_steps=20_000, random_state=0)
    >>> steps, density, _ = density_by_step(chains, n_frames=4)
    >>> steps.tolist(), density.shape
    ([5000, 10000, 15000, 20000], (4, 60, 60))
    """
    density = _target_of(chains, target)
    truth = cell_probabilities(density, n_cells)
    last = modes_by_step(chains, n_frames).steps
    frame_of = np.searchsorted(last, np.arange(len(chains.kept)))
    size = n_cells**2 + 1
    counts = np.zeros(len(last) * size, dtype=np.int64)
    for chain in range(len(chains.samples)):  # one at a time: all of them would take more memory
        cells = find_cells(_kept_samples(chains, chain), density, n_cells)
        places = frame_of[count_steps(chains, chain)] * size + cells
        counts += np.bincount(places, minlength=len(counts))
    filled = np.cumsum(counts.reshape(-1, size), axis=0)
    left, right, bottom, top = density.extent
    area = (right - left) * (top - bottom) / n_cells**2
    shares = filled[:, :-1] / np.maximum(filled.sum(axis=1), 1)[:, None]
    return Densities(last + 1, shares.reshape(-1, n_cells, n_cells) / area, truth / area)


def mode_sequence(chains: Chains, chain: int = 0) -> ModeSequence:
    """The modes that one chain goes through, and when it comes to each."""
    last = len(chains.mode_index) - 1
    labels = chains.mode_index[check_number("chain", chain, 0, last, integer=True)]
    inside = np.flatnonzero(labels >= 0)
    modes = labels[inside]
    entered = np.concatenate([[True], modes[1:] != modes[:-1]])[: len(modes)]
    return ModeSequence(modes[entered], inside[entered])


def mode_changes(chains: Chains) -> NDArray[np.int64]:
    """How often each chain goes from one mode to another; (n_chains,)."""
    stays = [len(mode_sequence(chains, chain).modes) for chain in range(len(chains.mode_index))]
    return np.maximum(np.array(stays) - 1, 0)


def visit_counts(chains: Chains) -> NDArray[np.int64]:
    """Kept samples in each mode; (n_chains, n_modes)."""
    return count_visits(chains.mode_index, chains.kept, chains.occupancy.shape[1])


def _nth_visits(chains: Chains, n: int) -> NDArray[np.int64]:
    """The step of the n-th kept sample in each mode, -1 for modes with fewer."""
    n_chains, n_modes = chains.occupancy.shape
    steps = np.full((n_chains, n_modes), -1, dtype=np.int64)
    kept = np.flatnonzero(chains.kept)
    if len(kept) < n:
        return steps
    for labels, line in zip(chains.mode_index, steps, strict=True):
        # Sorted by mode, and by time within each: the n-th of a mode is n - 1 after its first.
        order = np.argsort(labels[kept], kind="stable")
        counts = np.bincount(labels[kept] + 1, minlength=n_modes + 1)
        first = np.cumsum(counts)[:-1]
        often = counts[1:] >= n
        line[often] = kept[order[first[often] + n - 1]]
    return steps


@dataclass(frozen=True, kw_only=True)
class ChainReport:
    """All numbers about chains; one value per chain unless said."""

    # `modes_visited`, `share_in_modes`, `occupancy_error`: (n_chains,): as in `Chains`
    modes_visited: NDArray[np.int64]
    share_in_modes: FloatArray
    occupancy_error: FloatArray
    mode_changes: NDArray[np.int64]  # (n_chains,): steps from one mode to another
    # (n_chains,): KL divergence of the samples to the target in nats, see `grid_kl`
    grid_kl: FloatArray
    # (n_chains,): Effective sample size of the worse coordinate. It knows only what the chain has
    # seen: one that never left a mode can have a large one.
    sample_size: FloatArray
    # `mean`, `covariance`: (n_chains, 2): of the kept samples
    mean: FloatArray
    covariance: FloatArray
    all_modes_visited: int  # modes visited by all chains together
    # `all_occupancy_error`, `all_grid_kl`: the same for the kept samples of all chains together
    all_occupancy_error: float
    all_grid_kl: float


def diagnose(chains: Chains, target: str | Target | None = None) -> ChainReport:
    """Every diagnostic of chains at once."""
    density = _target_of(chains, target)
    together = visit_counts(chains).sum(axis=0)
    occupancy = together / max(1, together.sum())
    apart = 0.5 * np.abs(occupancy - density.weights).sum()
    # The transforms release the interpreter lock.
    parts = parallel_map(
        lambda chain: _describe(_kept_samples(chains, chain), density), range(len(chains.samples))
    )
    return ChainReport(
        modes_visited=chains.modes_visited,
        share_in_modes=chains.share_in_modes,
        occupancy_error=chains.occupancy_error,
        mode_changes=mode_changes(chains),
        grid_kl=np.array([cell_divergence(part.counts, density) for part in parts]),
        sample_size=np.array([part.sample_size for part in parts]),
        mean=np.array([part.mean for part in parts]),
        covariance=np.array([part.covariance for part in parts]),
        all_modes_visited=int((together >= VISIT_SAMPLES).sum()),
        all_occupancy_error=float(apart) if together.any() else 1.0,
        all_grid_kl=float(cell_divergence(sum(part.counts for part in parts), density)),
    )


class _Described(NamedTuple):
    """The numbers of one chain's kept samples."""

    counts: NDArray[np.int64]
    sample_size: float
    mean: FloatArray
    covariance: FloatArray


def _describe(points: FloatArray, density: Target) -> _Described:
    advance(0)  # so that a job can be stopped between two chains
    counts = _count_cells(points, density, DEFAULT_CELLS)
    if len(points) < 2:
        return _Described(counts, math.nan, np.full(2, np.nan), np.full((2, 2), np.nan))
    size = float(effective_sample_size(points.T).min())
    return _Described(counts, size, points.mean(axis=0), np.cov(points.T))


def grid_kl(
    chains: Chains,
    target: str | Target | None = None,
    n_cells: int = DEFAULT_CELLS,
    together: bool = False,
) -> FloatArray:
    """KL divergence of the kept samples to the target, over the cells of a grid, in nats.

    ``KL = sum_c q_c ln(q_c / p_c)`` over the ``n_cells`` x ``n_cells`` cells of the target's
    ``extent`` and one more cell for everything outside; ``q`` are shares of the samples, ``p``
    integrals of the density, both mixed with 0.1 % of the uniform distribution. A perfect sampler
    of N independent samples would still have about (occupied cells) / 2N.
    """
    density = _target_of(chains, target)
    cell_probabilities(density, n_cells)  # checks the number of cells
    kept = [_kept_samples(chains, chain) for chain in range(len(chains.samples))]
    counts = [_count_cells(points, density, n_cells) for points in kept]
    if together:
        counts = [np.sum(counts, axis=0)]
    return np.array([cell_divergence(count, density) for count in counts])


def cell_probabilities(target: str | Target, n_cells: int = DEFAULT_CELLS) -> FloatArray:
    """The target's probability of each cell of its extent, row = y upwards, column = x."""
    cells = check_number("n_cells", n_cells, 2, 500, integer=True)
    return _cell_probabilities(find_target(target), cells)


def find_cells(points: ArrayLike, density: Target, n_cells: int) -> NDArray[np.int64]:
    """The cell of the grid that each point lies in, row = y upwards first."""
    x, y = np.asarray(points, dtype=np.float64).T
    left, right, bottom, top = density.extent
    column = np.floor((x - left) / (right - left) * n_cells)
    row = np.floor((y - bottom) / (top - bottom) * n_cells)
    inside = (column >= 0) & (column < n_cells) & (row >= 0) & (row < n_cells)
    return np.where(inside, row * n_cells + column, n_cells**2).astype(np.int64)


def cell_divergence(counts: ArrayLike, density: Target) -> FloatArray:
    """`grid_kl` of samples that are counted already."""
    points = np.asarray(counts, dtype=np.float64)
    n = points.shape[-1]
    inside = cell_probabilities(density, math.isqrt(n)).ravel()
    truth = np.append(inside, max(0.0, 1.0 - inside.sum()))
    uniform = UNIFORM_SHARE / n
    p = (1.0 - UNIFORM_SHARE) * truth / truth.sum() + uniform
    total = points.sum(axis=-1, keepdims=True)
    q = (1.0 - UNIFORM_SHARE) * points / np.maximum(total, 1.0) + uniform
    return np.where(total[..., 0] > 0, np.sum(q * np.log(q / p), axis=-1), np.nan)


def autocorrelation(values: ArrayLike, max_lag: int | None = None) -> FloatArray:
    """Autocorrelation of series by the fast Fourier transform.

    ``rho_k = sum_t (x_t - m)(x_(t+k) - m) / sum_t (x_t - m)^2``: the estimator that divides by the
    full length, whose noise dies out at long lags.
    """
    series = _series(values)
    n = series.shape[-1]
    lags = n - 1 if max_lag is None else check_number("max_lag", max_lag, 0, n - 1, integer=True)
    centred = series - series.mean(axis=-1, keepdims=True)
    # Rounding of the mean is no movement.
    still = np.ptp(series, axis=-1) == 0.0
    spectrum = fft.rfft(centred, fft.next_fast_len(n + lags, real=True), axis=-1)
    power = spectrum.real**2 + spectrum.imag**2
    products = fft.irfft(power, fft.next_fast_len(n + lags, real=True), axis=-1)[..., : lags + 1]
    products[still] = 1.0
    return np.asarray(products / products[..., :1])


def effective_sample_size(values: ArrayLike) -> FloatArray:
    """How many independent samples would give the mean of a series as exactly.

    ``n / (2 sum_k G_k - 1)`` with the sums of neighbouring autocorrelations
    ``G_k = rho_2k + rho_(2k+1)`` up to the first that is not positive, made monotone from the left
    (Geyer, 1992, "Practical Markov chain Monte Carlo", section 3.3: the initial monotone sequence).
    At most ``n log10(n)``, for series that oscillate: the ceiling is Stan's.
    """
    series = _series(values)
    n = series.shape[-1]
    if n < 2:
        raise InvalidData("values must have at least two entries along the last axis.")
    time = _autocorrelation_time(np.ascontiguousarray(series))
    size = n / np.maximum(time, 1.0 / max(1.0, math.log10(n)))
    return np.asarray(np.where(np.ptp(series, axis=-1) == 0.0, 1.0, size))


def _autocorrelation_time(series: FloatArray) -> FloatArray:
    """Twice the initial monotone sum minus one; (...,)."""
    n = series.shape[-1]
    lags = min(n - 1, max(99, n // 16))  # most sums end early: short transforms first
    while True:
        rho = autocorrelation(series, lags)
        even = (lags + 1) // 2 * 2
        pairs = rho[..., :even].reshape(*rho.shape[:-1], -1, 2).sum(axis=-1)
        ended = np.logical_or.accumulate(pairs <= 0.0, axis=-1)
        if lags == n - 1 or ended[..., -1].all():
            break
        lags = min(n - 1, 4 * lags)
    monotone = np.minimum.accumulate(np.where(ended, 0.0, pairs), axis=-1)
    return np.asarray(2.0 * monotone.sum(axis=-1) - 1.0)


def _series(values: ArrayLike) -> FloatArray:
    array = np.asarray(values)
    if array.ndim == 0:
        raise InvalidData("values must be a series of numbers; got a single number.")
    return check_array("values", values, array.ndim)


def _target_of(chains: Chains, target: str | Target | None) -> Target:
    density = find_target(chains.target if target is None else target)
    n_modes = chains.occupancy.shape[1]
    if len(density.weights) != n_modes:
        raise InvalidData(
            f"These chains were drawn from a target of {n_modes} modes; "
            f"{density.name} has {len(density.weights)}."
        )
    return density


def _kept_samples(chains: Chains, chain: int) -> FloatArray:
    """The kept samples of a chain before it ran off, if it did; (n, 2) float64."""
    return chains.samples[chain, count_steps(chains, chain)].astype(np.float64)


def _count_cells(points: FloatArray, density: Target, n_cells: int) -> NDArray[np.int64]:
    """Points in each cell of `find_cells`; (n_cells^2 + 1,)."""
    return np.bincount(find_cells(points, density, n_cells), minlength=n_cells**2 + 1)


@lru_cache(maxsize=16)
def _cell_probabilities(target: Target, n_cells: int) -> FloatArray:
    left, right, bottom, top = target.extent
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    places = (np.arange(n_cells)[:, None] + 0.5 * (nodes + 1.0)).ravel() / n_cells
    share = np.tile(0.5 * weights, n_cells) / n_cells
    x, y = left + (right - left) * places, bottom + (top - bottom) * places
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    density = np.exp(target.log_density(grid)).reshape(len(y), len(x))
    mass = density * np.outer(share, share) * (right - left) * (top - bottom)
    cells = mass.reshape(n_cells, _NODES, n_cells, _NODES).sum(axis=(1, 3))
    cells.setflags(write=False)
    return np.asarray(cells)
