"""When a chain visits which mode: timelines, first visits, modes found so far, changes of mode."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.sampling.chains import VISIT_SAMPLES, Chains, count_visits
from gbuq_core.validation import check_number


class ModesFound(NamedTuple):
    """How many modes have been visited so far.

    Attributes
    ----------
    steps : ndarray of shape (n_points,), int64
        Steps at which the chains are looked at, the last one at the end.
    found : ndarray of shape (n_chains, n_points), int64
        Modes with at least 50 kept samples up to and including that step.
    """

    steps: NDArray[np.int64]
    found: NDArray[np.int64]


class ModeSequence(NamedTuple):
    """The modes of one chain in the order in which it enters them.

    Attributes
    ----------
    modes : ndarray of shape (n_stays,), int16
        No mode follows itself: leaving one and coming back is the same stay.
    steps : ndarray of shape (n_stays,), int64
        The step at which each stay begins.
    """

    modes: NDArray[np.int16]
    steps: NDArray[np.int64]


def mode_timeline(chains: Chains, n_bins: int = 200) -> NDArray[np.int16]:
    """The mode that most steps of each stretch of time lie in, -1 where most lie in none.

    Exploring steps count too. Stretches have equal numbers of steps, to within one.

    Parameters
    ----------
    chains : Chains
    n_bins : int
        From 1 to the number of steps.

    Returns
    -------
    ndarray of shape (n_chains, n_bins), int16

    Examples
    --------
    >>> from gbuq_core import sample_mixture
    >>> mode_timeline(sample_mixture("sgld", n_steps=900, random_state=0), n_bins=3).shape
    (1, 3)
    """
    n_chains, n_steps = chains.mode_index.shape
    bins = check_number("n_bins", n_bins, 1, n_steps, integer=True)
    width = chains.occupancy.shape[1] + 1  # the modes and none
    first = np.arange(n_steps) * bins // n_steps * width + 1
    timeline = np.empty((n_chains, bins), dtype=np.int16)
    for labels, line in zip(chains.mode_index, timeline, strict=True):
        counts = np.bincount(first + labels, minlength=bins * width).reshape(bins, width)
        line[:] = counts.argmax(axis=1) - 1
    return timeline


def first_visits(chains: Chains) -> NDArray[np.int64]:
    """The step of the first kept sample in each mode, -1 for modes without any.

    Returns
    -------
    ndarray of shape (n_chains, n_modes), int64

    Examples
    --------
    >>> from gbuq_core import sample_mixture
    >>> chains = sample_mixture("sgld", n_steps=900, random_state=0)
    >>> int((first_visits(chains) >= 0).sum())
    1
    """
    return _nth_visits(chains, 1)


def modes_by_step(chains: Chains, n_points: int = 200) -> ModesFound:
    """How many modes each chain has visited (at least 50 kept samples) by which step.

    Parameters
    ----------
    chains : Chains
    n_points : int
        From 1 to the number of steps.

    Returns
    -------
    ModesFound

    Examples
    --------
    >>> from gbuq_core import sample_mixture
    >>> chains = sample_mixture("cg", n_steps=20_000, random_state=0)
    >>> bool(modes_by_step(chains).found[0, -1] == chains.modes_visited[0])
    True
    """
    n_steps = chains.mode_index.shape[1]
    points = check_number("n_points", n_points, 1, n_steps, integer=True)
    steps = np.arange(1, points + 1) * n_steps // points - 1
    reached = _nth_visits(chains, VISIT_SAMPLES)
    done = (reached[:, :, None] >= 0) & (reached[:, :, None] <= steps)
    return ModesFound(steps, done.sum(axis=1))


def mode_sequence(chains: Chains, chain: int = 0) -> ModeSequence:
    """The modes that one chain goes through, and when it comes to each.

    Parameters
    ----------
    chains : Chains
    chain : int
        From 0 to n_chains - 1.

    Returns
    -------
    ModeSequence

    Examples
    --------
    >>> from gbuq_core import sample_mixture
    >>> chains = sample_mixture("nsgld", n_steps=5000, random_state=0)
    >>> len(mode_sequence(chains).modes) > 100  # it passes through modes rather than stays
    True
    """
    last = len(chains.mode_index) - 1
    labels = chains.mode_index[check_number("chain", chain, 0, last, integer=True)]
    inside = np.flatnonzero(labels >= 0)
    modes = labels[inside]
    entered = np.concatenate([[True], modes[1:] != modes[:-1]])[: len(modes)]
    return ModeSequence(modes[entered], inside[entered])


def mode_changes(chains: Chains) -> NDArray[np.int64]:
    """How often each chain goes from one mode to another; (n_chains,).

    Examples
    --------
    >>> from gbuq_core import sample_mixture
    >>> mode_changes(sample_mixture("sgld", n_steps=900, random_state=0))
    array([0])
    """
    stays = [len(mode_sequence(chains, chain).modes) for chain in range(len(chains.mode_index))]
    return np.maximum(np.array(stays) - 1, 0)


def visit_counts(chains: Chains) -> NDArray[np.int64]:
    """Kept samples in each mode; (n_chains, n_modes).

    Examples
    --------
    >>> from gbuq_core import sample_mixture
    >>> int(visit_counts(sample_mixture("sgld", n_steps=900, random_state=0)).sum()) <= 900
    True
    """
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
