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
    """A density as kernels see it.

    Attributes
    ----------
    kind : int
        MIXTURE, RING or BANANA.
    means : float64 array of shape (n_modes, 2)
    precisions : float64 array of shape (n_modes, 3)
        Entries xx, xy and yy of the inverse covariances; MIXTURE only.
    log_weights : float64 array of shape (n_modes,)
        Log of weight times the normalising constant of each Gaussian; MIXTURE only.
    numbers : float64 array
        RING: radius and std. BANANA: spread along x, height, frequency and std.
    edges : float64 array of shape (n_modes + 1,)
        Where the regions begin, in angle (RING) or in x (BANANA).
    """

    kind: int
    means: np.ndarray
    precisions: np.ndarray
    log_weights: np.ndarray
    numbers: np.ndarray
    edges: np.ndarray


class ScheduleArrays(NamedTuple):
    """Step size, gradient scale and std of the injected noise of each step, each (n_steps,)."""

    step_sizes: np.ndarray
    scales: np.ndarray
    noises: np.ndarray
