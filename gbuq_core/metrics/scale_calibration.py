"""Calibrating a predicted std on rows with known targets: multiply it or add to it.

Brophy and Lowd (IBUG, 2022), section 3.2, equation 2. The paper writes the variance there; the
authors' code changes the std, and so does this project.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbuq_core.array_checks import FloatArray, check_gaussian
from gbuq_core.methods import METHODS
from gbuq_core.metrics.scores import (
    crps_gaussian,
    crps_gaussian_values,
    nll_gaussian,
    nll_gaussian_values,
)
from gbuq_core.validation import check_choice

SCORINGS = METHODS["knn"].knob("scoring").choices
_POWERS = 10.0 ** np.arange(-8, 4)
# Appendix B.2: {1e-8 .. 1e3} x {1, 2.5, 5}, and 0 for what is added.
GAMMAS = np.outer(_POWERS, (1.0, 2.5, 5.0)).ravel()
DELTAS = np.append(0.0, GAMMAS)


class ScaleCalibration(NamedTuple):
    """``gamma * scale + delta``. At most one of them changes anything: gamma is 1 or delta is 0."""

    # `gamma`, `delta`: A factor, and a std in units of y
    gamma: float
    delta: float
    # mean NLL (nats) or CRPS (units of y) of the calibrated normals on the rows it was fitted to
    score: float

    def apply(self, scale: FloatArray) -> FloatArray:
        """The calibrated std."""
        return self.gamma * scale + self.delta


def scoring_function(
    scoring: str, weight: FloatArray | None = None
) -> Callable[[ArrayLike, ArrayLike, ArrayLike], float]:
    """The function ``score(y, loc, scale)`` for "nll" or "crps": a weighted mean over normals."""
    check_choice("scoring", scoring, SCORINGS)
    if weight is None:
        return nll_gaussian if scoring == "nll" else crps_gaussian
    values = nll_gaussian_values if scoring == "nll" else crps_gaussian_values

    def weighted(y: ArrayLike, loc: ArrayLike, scale: ArrayLike) -> float:
        return float(np.average(values(y, loc, scale), weights=weight))

    return weighted


def calibrate_scale(
    y: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    scoring: str = "nll",
    weight: FloatArray | None = None,
    delta_unit: float = 1.0,
) -> ScaleCalibration:
    """The best of ``gamma * scale`` and ``scale + delta`` on a grid (IBUG, eq. 2, B.2), whose
    deltas are multiples of ``delta_unit``.
    """
    score = scoring_function(scoring, weight)
    y, loc, scale = check_gaussian(y, loc, scale, positive=True)
    tried = [(1.0, float(delta)) for delta in delta_unit * DELTAS] + [
        (float(gamma), 0.0) for gamma in GAMMAS
    ]
    with np.errstate(over="ignore"):  # a std stretched by 1e-8: z^2 may leave float64, and loses
        scores = [score(y, loc, gamma * scale + delta) for gamma, delta in tried]
    best = int(np.argmin(scores))
    return ScaleCalibration(*tried[best], scores[best])
