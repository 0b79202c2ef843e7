"""What neighbours are turned into, for those who only look at it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class Setting(NamedTuple):
    """What turns neighbours' targets into a scale: ``gamma * max(std, min_scale) + delta``."""

    n_neighbors: int
    min_scale: float
    gamma: float
    delta: float


class FamilyScores(NamedTuple):
    """Scores of every posterior family on some rows, (n_families,) each.

    A target that has equal values is known to their smallest gap: then its likelihood is that of an
    interval of this width (`log_likelihood`).
    """

    families: tuple[str, ...]
    # mean in nats; inf if a target has density 0 under a family, NaN if the family cannot be used
    nll: FloatArray
    refusals: tuple[str, ...]  # why a family cannot be used on these targets; empty where it can
    best: str  # the family of lowest NLL, or of lowest CRPS where that was asked for
    crps: FloatArray | None = None  # mean in units of y, of 500 rows at most
