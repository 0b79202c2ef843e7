"""Where the spiral's truth says that rows are, none are, or classes meet; rankings."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.spiral_data import ARM_RADIUS, GRID, SIDE, SpiralTruth
from gbuq_core.metrics import auroc

Array = npt.NDArray[np.float64]
Cells = npt.NDArray[np.bool_]

FAR_SHARE = 0.4  # of the grid: where the true density is lowest
# In nats: class borders have more true data uncertainty than the first (two equal classes: 0.69),
# the middles of the arms less than the second.
BORDER_ENTROPY, CLEAR_ENTROPY = 0.35, 0.05


class SpiralRegions(NamedTuple):
    """Cells of the grid by the truth alone, (80, 80) bool each.

    Attributes
    ----------
    far : the 40 % of the cells where the true density is lowest.
    disc : no farther from the middle than the arms' ends.
    between : in the disc but outside the support, which holds 99 % of the rows.
    inside : in the support.
    border, clear : in the support, where the true data uncertainty is above 0.35, below 0.05 nats.
    """

    far: Cells
    disc: Cells
    between: Cells
    inside: Cells
    border: Cells
    clear: Cells


def spiral_regions(truth: SpiralTruth) -> SpiralRegions:
    """Where the truth says that there are rows, none, or two classes.

    Examples
    --------
    >>> from gbuq_core.experiments.spiral import spiral_truth
    >>> regions = spiral_regions(spiral_truth(0.2))
    >>> int(regions.far.sum()), bool((regions.between & regions.far).any())
    (2560, False)
    """
    disc = np.hypot(*GRID.T).reshape(SIDE, SIDE) <= ARM_RADIUS
    inside = truth.in_support
    return SpiralRegions(
        far=truth.log_density <= np.quantile(truth.log_density, FAR_SHARE),
        disc=disc,
        between=disc & ~inside,
        inside=inside,
        border=inside & (truth.data_uncertainty > BORDER_ENTROPY),
        clear=inside & (truth.data_uncertainty < CLEAR_ENTROPY),
    )


def rank_correlation(knowledge: npt.ArrayLike, other: npt.ArrayLike) -> float:
    """Spearman's correlation of two maps: 1 if they order the cells alike; NaN if one is constant.

    Examples
    --------
    >>> rank_correlation([[1.0, 2.0], [3.0, 9.0]], [[10.0, 11.0], [12.0, 12.5]])
    1.0
    """
    from scipy.stats import rankdata

    first, second = (rankdata(np.ravel(values)) for values in (knowledge, other))
    first, second = first - first.mean(), second - second.mean()
    norm = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / norm if norm else math.nan


def auroc_of(positive: Cells, negative: Cells, values: Array) -> float:
    """AUROC of two sets of cells; NaN without values or without cells of a kind."""
    cells = positive | negative
    if not cells.any() or not np.isfinite(values[cells]).all():
        return math.nan
    return auroc(positive[cells], values[cells])


def mean_of(values: Array, cells: Cells) -> float:
    """Mean over some cells; NaN without any."""
    return float(values[cells].mean()) if cells.any() else math.nan
