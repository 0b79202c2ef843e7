"""What kernels of sampling take: a density and a schedule as arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MIXTURE, RING, BANANA = range(3)

# A chain farther out than this has left for good: an unstable step doubles its distance each time.
FARTHEST = 1e6

# A sample is in a mode within this many std of it.
MODE_STDS = 3.0


class TargetArrays(NamedTuple):
    """A density as kernels see it."""

    kind: int  # MIXTURE, RING or BANANA
    means: np.ndarray  # (n_modes, 2)
    precisions: np.ndarray  # (n_modes, 3): xx, xy, yy of the inverse covariances; MIXTURE only
    log_weights: np.ndarray  # (n_modes,): of weight times each Gaussian's normaliser; MIXTURE only
    numbers: np.ndarray  # RING: radius and std. BANANA: spread along x, height, frequency and std
    edges: np.ndarray  # (n_modes + 1,): where regions begin, in angle (RING) or in x (BANANA)


class ScheduleArrays(NamedTuple):
    """Step size, gradient scale and std of the injected noise of each step, each (n_steps,)."""

    step_sizes: np.ndarray
    scales: np.ndarray
    noises: np.ndarray
