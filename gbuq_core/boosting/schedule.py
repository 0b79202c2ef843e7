"""Which numbers of trees give members, and how strongly each tree follows its gradient.

The members of a virtual ensemble are truncations of one model (virtual-ensembles paper, eq. 15 and
figure 1), or the ends of cycles (cyclical SGLB, eq. 7).

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 4 and algorithm 1. A cycle of C trees begins with large gradients,
which carry the model away from where it is, and ends with small ones, among which the noise is
relatively large; the model at the end of each cycle is one member of the ensemble.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.validation import check_number

CYCLICAL = ("csglb", "cbsglb")


class Schedule(NamedTuple):
    """What changes from tree to tree, (n_trees,) each, as the kernels read it.

    ``scale`` float64 multiplies the gradients; ``noise`` float64 multiplies the Langevin noise (1,
    or 0 where exploration is free of it); ``share`` float64 is the share of rows whose gradients
    count, and ``cycle`` int64 numbers the cycles: rows are drawn anew where either changes.
    """

    scale: np.ndarray
    noise: np.ndarray
    share: np.ndarray
    cycle: np.ndarray


def gradient_scale(
    n_trees: int, method: str, cycle_length: int, alpha_max: float, alpha_min: float
) -> np.ndarray:
    """The factor of every tree's gradients, (n_trees,): 1, or eq. 7 for the cyclical methods.

    ``alpha_t = max(alpha_max / 2 * (cos(pi * mod(t, C) / C) + 1), alpha_min)`` for t = 0, 1, ...

    Examples
    --------
    >>> gradient_scale(6, "csglb", 4, 10.0, 1.0).round(2).tolist()
    [10.0, 8.54, 5.0, 1.46, 10.0, 8.54]
    """
    if method not in CYCLICAL:
        return np.ones(n_trees)
    angle = math.pi * (np.arange(n_trees) % cycle_length) / cycle_length
    scale: np.ndarray = np.maximum(0.5 * alpha_max * (np.cos(angle) + 1.0), alpha_min)
    return scale


def exploring(n_trees: int, cycle_length: int, exploration_fraction: float) -> np.ndarray:
    """Whether each tree belongs to the exploration of its cycle, (n_trees,) bool.

    Those with ``mod(t, C) / C < exploration_fraction``; the others belong to its sampling.

    Examples
    --------
    >>> exploring(5, 5, 0.6).tolist()
    [True, True, True, False, False]
    """
    done = np.arange(n_trees) % cycle_length
    return done < exploration_fraction * cycle_length - 1e-9  # 0.9 * 200 is 180.00000000000003


def cycle_ends(n_trees: int, cycle_length: int, burn_in_cycles: int = 0) -> np.ndarray:
    """Numbers of trees ``C, 2 C, ...`` at which members are taken, without the first cycles.

    Raises
    ------
    InvalidParameter
        If no cycle is left.

    Examples
    --------
    >>> cycle_ends(1100, 200, burn_in_cycles=2)
    array([ 600,  800, 1000])
    """
    length = check_number("cycle_length", cycle_length, 2, 100_000, integer=True)
    burn_in = check_number("burn_in_cycles", burn_in_cycles, 0, 100_000, integer=True)
    n_cycles = n_trees // length
    if n_cycles == 0:
        raise InvalidParameter(
            f"cycle_length is {length}, but the model has only {n_trees} trees: choose shorter "
            "cycles or more trees."
        )
    if burn_in >= n_cycles:
        raise InvalidParameter(
            f"burn_in_cycles is {burn_in}, but there are only {n_cycles} cycles: choose at most "
            f"{n_cycles - 1}."
        )
    ends: np.ndarray = np.arange(burn_in + 1, n_cycles + 1) * length
    return ends


def make_schedule(
    n_trees: int,
    method: str,
    cycle_length: int,
    alpha: tuple[float, float],
    mask_prob: float,
    exploration_fraction: float,
    noise_free_exploration: bool,
) -> Schedule:
    """The schedule of a fit; ``alpha`` is (alpha_max, alpha_min).

    cbSGLB lets a random ``mask_prob`` of the rows, drawn once a cycle, have gradients while it
    explores (algorithm 1). ``noise_free_exploration`` leaves out the Langevin noise there, as
    cSG-MCMC does (appendix A).
    """
    every = np.ones(n_trees)
    if method not in CYCLICAL:
        return Schedule(every, every, every, np.zeros(n_trees, np.int64))
    explores = exploring(n_trees, cycle_length, exploration_fraction)
    return Schedule(
        scale=gradient_scale(n_trees, method, cycle_length, *alpha),
        noise=np.where(explores & noise_free_exploration, 0.0, 1.0),
        share=np.where(explores & (method == "cbsglb"), mask_prob, 1.0),
        cycle=np.arange(n_trees) // cycle_length,
    )


def truncation_points(n_trees: int, truncation_step: int, truncation_start: float) -> np.ndarray:
    """Numbers of trees ``t = K, 2K, ...`` with ``truncation_start * n_trees < t <= n_trees``.

    Raises
    ------
    InvalidParameter
        If no multiple of the step lies in that range.

    Examples
    --------
    >>> truncation_points(1000, 50, 0.5)
    array([ 550,  600,  650,  700,  750,  800,  850,  900,  950, 1000])
    """
    step = check_number("truncation_step", truncation_step, 1, 100_000, integer=True)
    start = check_number("truncation_start", truncation_start, 0.0, 1.0)
    first = math.floor(start * n_trees / step + 1e-9) + 1
    points = np.arange(first, n_trees // step + 1) * step
    if len(points) == 0:
        raise InvalidParameter(
            f"truncation_step {step} gives no member between tree {start * n_trees:.0f} and tree "
            f"{n_trees}: choose a smaller step, an earlier start or more trees."
        )
    return points
