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
    """Scores of every posterior family on some rows.

    Attributes
    ----------
    families : tuple of str
    nll : ndarray of shape (n_families,)
        Mean NLL in nats. A target that has equal values is known to their smallest gap: then its
        likelihood is that of an interval of this width (`log_likelihood`). inf if an observed
        target has density 0 under a family, NaN if the family cannot be used.
    refusals : tuple of str
        Why a family cannot be used on these targets; empty where it can.
    best : str
        The family of lowest NLL, or of lowest CRPS where that was asked for.
    crps : ndarray of shape (n_families,) or None
        Mean CRPS in units of y, of 500 rows at most; None unless asked for.
    """

    families: tuple[str, ...]
    nll: FloatArray
    refusals: tuple[str, ...]
    best: str
    crps: FloatArray | None = None
