"""How two maps rank the same cells: scores that several experiments compare maps with."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gbuq_core.metrics import auroc


def rank_correlation(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Spearman's correlation of two maps: 1 for cells ranked alike; NaN if one is constant."""
    if np.ptp(first) == 0.0 or np.ptp(second) == 0.0:
        return math.nan
    return float(np.corrcoef(_ranks_of(first), _ranks_of(second))[0, 1])


def _ranks_of(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Ranks from 1, equal values sharing theirs; scipy.stats would take long to import."""
    _, place, counts = np.unique(np.ravel(values), return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - 0.5 * (counts - 1))[place]


def auroc_of(
    positive: npt.NDArray[np.bool_],
    negative: npt.NDArray[np.bool_],
    values: npt.NDArray[np.float64],
) -> float:
    """AUROC of two sets of cells; NaN if a value is not finite or a set is empty."""
    cells = positive | negative
    if not cells.any() or not np.isfinite(values[cells]).all():
        return math.nan
    return auroc(positive[cells], values[cells])
