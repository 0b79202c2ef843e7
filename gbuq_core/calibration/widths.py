"""How wide a law should be, from unseen rows: a factor, a constant noise beside it, and a shape.

The variance of a row is ``factor^2 data + knowledge + floor^2``. A factor alone cannot mend stds
that are far too small and do not know which rows are noisy: it makes some rows far too wide. The
floor is noise that the estimator does not see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.calibration.boosters import BoosterParts
from gbuq_core.calibration.clocks import (
    Clocks,
    Stages,
    choose_clocks,
    least_over_factors,
    smallest_variance,
    student_nll,
)
from gbuq_core.calibration.laws import StretchedDistribution
from gbuq_core.distribution import Distribution, NormalDistribution, student
from gbuq_core.errors import InvalidData
from gbuq_core.inputs import weighted_mean

FloatArray = NDArray[np.float64]

SHAPES = ("auto", "moments", "own")
# Stds that are tried as floors, as shares of the root mean squared error. With the heaviest tails
# that are tried, the std of the errors is a little above their root mean square.
FLOORS = (0.0, *np.geomspace(0.02, 1.4, 13).tolist())
_FINER = tuple(((FLOORS[2] / FLOORS[1]) ** (np.array([-3, -2, -1, 1, 2, 3]) / 4.0)).tolist())
_FLOORS_OF_OWN = FLOORS[:1] + FLOORS[3::2]  # an own law may take long to score
# A floor is one more number to choose, and 0 is its bound. By chance alone it raises the log
# likelihood by more than 2 nats in 2.3 % of tables (half of a chi-squared with one degree).
LEAST_GAIN = 2.0
_LOG_FACTOR_STEP = 0.01  # of an own law's factor
_WORST = 1e300  # instead of infinity, which a search cannot compare


class Width(NamedTuple):
    """What the rows chose."""

    factor: float  # of the data part of the std
    floor: float  # A std in units of y
    # of a Student t, or inf for a normal; None if the estimator's own shape was kept
    df: float | None
    # `nll`, `crps`: mean scores of the law on the rows that chose, in nats and units of y; the NLL
    # is NaN where the estimator's own law has no density
    nll: float
    crps: float


def choose_width(rows: Stages, tails: str, with_floor: bool = True) -> Width:
    """Choose factor, floor and tails by the likelihood of a Student t or a normal."""
    squared = np.square(rows.y - rows.mean[0])
    plain = choose_clocks(rows, tails)
    floor, best = 0.0, plain
    if with_floor:
        unit = math.sqrt(weighted_mean(squared, rows.weight))
        coarse = [share * unit for share in FLOORS[1:]]
        floor, best = _best_floor(rows, tails, coarse, (floor, best))
        finer = [floor * step for step in _FINER if floor > 0.0]
        floor, best = _best_floor(rows, tails, finer, (floor, best))
        if _total(rows.y, rows.weight) * (plain.nll[0] - best.nll[0]) <= LEAST_GAIN:
            floor, best = 0.0, plain
    data = np.maximum(rows.data[0], smallest_variance(squared, rows.weight))
    variance = best.factor**2 * data + rows.knowledge[0] + floor**2
    law = student(rows.mean[0], np.sqrt(variance), best.df)
    return Width(
        factor=best.factor,
        floor=floor,
        df=best.df,
        nll=weighted_mean(student_nll(squared, variance, best.df), rows.weight),
        crps=weighted_mean(law.crps(rows.y), rows.weight),
    )


def _best_floor(
    rows: Stages, tails: str, floors: Sequence[float], best: tuple[float, Clocks]
) -> tuple[float, Clocks]:
    """The best of these floors, each with its own factor and tails, and of the best so far."""
    for floor in floors:
        clocks = choose_clocks(replace(rows, knowledge=rows.knowledge + floor**2), tails)
        if clocks.nll[0] < best[1].nll[0]:
            best = floor, clocks
    return best


def choose_own_width(
    parts: Sequence[BoosterParts],
    y: Sequence[FloatArray],
    weight: FloatArray | None = None,
    with_floor: bool = True,
) -> Width | None:
    """Choose factor and floor of the estimator's own law, stretched around its prediction."""
    own = [part.law for part in parts if part.law is not None]
    if not own or not all(np.all(law.scale > 0.0) for law in own):
        return None
    laws = _OwnLaws(parts, y, weight)
    plain = laws.best(0.0)
    best = plain
    if with_floor and laws.has_density:
        unit = math.sqrt(weighted_mean(laws.squared, weight))
        best = min([plain, *(laws.best(share * unit) for share in _FLOORS_OF_OWN[1:])])
        if _total(laws.squared, weight) * (plain[0] - best[0]) <= LEAST_GAIN:
            best = plain
    score, floor, factor = best
    if score >= _WORST:
        return None
    crps = score if not laws.has_density else laws.score(factor, floor, "crps")
    nll = score if laws.has_density else math.nan
    return Width(factor=factor, floor=floor, df=None, nll=nll, crps=crps)


def stretch(part: BoosterParts, width: FloatArray) -> Distribution:
    """The estimator's own law with another std, (n_rows,); a normal stays one."""
    if part.law is None:
        return NormalDistribution(part.loc, width)
    return StretchedDistribution(part.law, width)


class _OwnLaws:
    """The estimator's laws of the rows that choose, as wide as a factor and a floor make them."""

    def __init__(
        self, parts: Sequence[BoosterParts], y: Sequence[FloatArray], weight: FloatArray | None
    ) -> None:
        self._parts, self._y, self._weight = parts, y, weight
        self.squared = np.concatenate(
            [np.square(target - part.loc) for part, target in zip(parts, y, strict=True)]
        )
        self._smallest = smallest_variance(self.squared, weight)
        self.has_density = True
        try:
            self.score(1.0, 0.0, "nll")
        except InvalidData:
            self.has_density = False

    def best(self, floor: float) -> tuple[float, float, float]:
        """The best score with this floor, the floor, and the factor: exactly 1 where it serves."""
        kind = "nll" if self.has_density else "crps"
        least, factor = least_over_factors(
            lambda log_factor: self.score(math.exp(log_factor), floor, kind), _LOG_FACTOR_STEP
        )
        as_it_is = self.score(1.0, floor, kind)
        return (as_it_is, floor, 1.0) if as_it_is <= least else (least, floor, factor)

    def score(self, factor: float, floor: float, kind: str) -> float:
        """The mean NLL or CRPS over all rows."""
        scores = []
        for part, y in zip(self._parts, self._y, strict=True):
            data = factor**2 * np.maximum(part.data, self._smallest)
            law = stretch(part, np.sqrt(data + part.knowledge + floor**2))
            scores.append(-law.logpdf(y) if kind == "nll" else law.crps(y))
        mean = weighted_mean(np.concatenate(scores), self._weight)
        return min(mean, _WORST) if mean == mean else _WORST


def _total(rows: FloatArray, weight: FloatArray | None) -> float:
    """How many rows there are, counted as often as they weigh."""
    return float(len(rows) if weight is None else weight.sum())
