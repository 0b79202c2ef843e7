"""Choosing the number of neighbours: one sorted list of neighbours scores every candidate k.

Brophy and Lowd (IBUG, 2022), section 4.2, algorithm 3. The neighbours of a row are found once; the
std for each k comes from running sums over the sorted targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.array_checks import FloatArray, check_array, check_same_length
from gbuq_core.errors import InvalidData
from gbuq_core.metrics.scale_calibration import SCORINGS, scoring_function
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.validation import check_choice

# Appendix B.2.
CANDIDATES = (3, 5, 7, 9, 11, 15, 31, 61, 91, 121, 151, 201, 301, 401, 501, 601, 701)
# What algorithm 3 starts rho with: a std of 0 then costs so much NLL that its k is not chosen.
TINIEST_SCALE = 1e-15
_BLOCK = 1_000_000  # targets at a time: 8 MB


class NeighbourTuning(NamedTuple):
    """The scores of every candidate; arrays are (n_candidates,)."""

    n_neighbors: NDArray[np.int64]
    # `nll`, `crps`: mean scores of the normals on the validation rows, before any calibration
    nll: FloatArray
    crps: FloatArray
    min_scale: FloatArray  # the smallest positive std on those rows at each k, in units of y
    best: int  # position of the chosen candidate

    def check_file(self) -> None:
        """Refuse scores of other candidates."""
        n = len(self.n_neighbors)
        scores = dict.fromkeys(("nll", "crps", "min_scale"), (np.float64, n))
        check_arrays(self, n_neighbors=(np.int64, None), **scores)
        require(0 <= self.best < n, "the best of its candidates does not exist")


def running_std(
    targets: ArrayLike, counts: Sequence[int], weights: FloatArray | None = None
) -> FloatArray:
    """Std (divided by k) of the first k targets of every row, for each k in ``counts``."""
    y = np.asarray(targets, dtype=np.float64)
    k = np.asarray(counts, dtype=np.int64)
    if weights is not None:
        return _running_weighted_std(y, k, weights)
    if k.size == 0 or k[0] < 1 or (np.diff(k) <= 0).any() or k[-1] > y.shape[1]:
        raise InvalidData(f"counts must be ascending, from at least 1 to at most {y.shape[1]}.")
    starts = np.append(0, k[:-1])
    out = np.empty((len(y), len(k)))
    step = max(1, _BLOCK // int(k[-1]))
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        # From the nearest target: a mean of k can be at most sqrt(k) std away from a member, so
        # the difference of squares below loses no more than a factor k of the digits.
        away = y[rows, : k[-1]] - y[rows, :1]
        mean = np.cumsum(np.add.reduceat(away, starts, axis=1), axis=1) / k
        square = np.cumsum(np.add.reduceat(away * away, starts, axis=1), axis=1) / k
        out[rows] = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return out


def _running_weighted_std(y: FloatArray, k: NDArray[np.int64], weights: FloatArray) -> FloatArray:
    out = np.empty((len(y), len(k)))
    step = max(1, _BLOCK // y.shape[1])
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        away, weight = y[rows] - y[rows, :1], weights[rows]
        below = np.cumsum(weight, axis=1)
        first, second = np.cumsum(weight * away, axis=1), np.cumsum(weight * away * away, axis=1)
        for column, count in enumerate(k):
            # The target that fills the last place, and what of its weight is too much for it.
            last = np.minimum((below < count).sum(axis=1), y.shape[1] - 1)[:, None]
            extra, distance, sum_1, sum_2 = (
                np.take_along_axis(values, last, axis=1)[:, 0]
                for values in (below - count, away, first, second)
            )
            mean = (sum_1 - extra * distance) / count
            square = (sum_2 - extra * distance * distance) / count
            out[rows, column] = np.sqrt(np.maximum(square - mean * mean, 0.0))
    return out


def smallest_positive(scale: FloatArray) -> float:
    """The smallest positive std, or `TINIEST_SCALE` where there is none."""
    positive = scale[scale > TINIEST_SCALE]
    return float(positive.min()) if positive.size else TINIEST_SCALE


def tune_neighbors(
    y: ArrayLike,
    loc: ArrayLike,
    targets: ArrayLike,
    scoring: str = "nll",
    candidates: Sequence[int] = CANDIDATES,
) -> NeighbourTuning:
    """Score numbers of neighbours on rows the model has not seen (IBUG, algorithm 3)."""
    check_choice("scoring", scoring, SCORINGS)
    y, loc = check_array("y", y, 1), check_array("loc", loc, 1)
    near = check_array("targets", targets, 2)
    check_same_length(y=y, loc=loc, targets=near.T)
    counts = [k for k in candidates if k <= near.shape[1]]
    if not counts:
        raise InvalidData(
            f"The smallest candidate is {min(candidates)} neighbours, but there are only "
            f"{near.shape[1]} training rows."
        )
    return score_counts(y, loc, running_std(near, counts), counts, scoring)


def score_counts(
    y: FloatArray,
    loc: FloatArray,
    scale: FloatArray,
    counts: Sequence[int],
    scoring: str = "nll",
    weight: FloatArray | None = None,
) -> NeighbourTuning:
    """The scores of the stds (n_samples, n_counts) of several k, as `running_std` finds them.

    Each row counts ``weight`` (n_samples,) times in the mean scores; once without it.

    >>> score_counts(np.zeros(2), np.zeros(2), np.array([[1.0, 9.0], [1.0, 9.0]]), [3, 5]).best
    0
    """
    scores = np.empty((2, len(counts)))
    for row, name in enumerate(("nll", "crps")):
        mean_score = scoring_function(name, weight)
        scores[row] = [mean_score(y, loc, std + TINIEST_SCALE) for std in scale.T]
    chosen = scores[0 if scoring == "nll" else 1]
    smallest = np.array([smallest_positive(std) for std in scale.T])
    nll, crps = scores
    return NeighbourTuning(np.array(counts), nll, crps, smallest, int(np.argmin(chosen)))
