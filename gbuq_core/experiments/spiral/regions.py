"""Where the spiral's truth says that rows are, none are, or classes meet."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.spiral.data import ARM_RADIUS, EXTENT, GRID, SIDE, SpiralTruth

Array = npt.NDArray[np.float64]
Cells = npt.NDArray[np.bool_]

FAR_SHARE = 0.4  # of the grid: where the true density is lowest
# In nats: class borders have more true data uncertainty than the first (two equal classes: 0.69),
# the middles of the arms less than the second.
BORDER_ENTROPY, CLEAR_ENTROPY = 0.35, 0.05
MIN_BETWEEN = 20  # cells: with fewer there is no gap between the arms to speak of

# Between them an AUROC says nothing: that of the far cells has a std of 0.02 to 0.04 over seeds.
WORSE_THAN_CHANCE, BETTER_THAN_CHANCE = 0.45, 0.55


class SpiralRegions(NamedTuple):
    """Cells of the grid by the truth alone, (80, 80) bool each."""

    far: Cells
    disc: Cells
    inside: Cells
    # gaps, not the rim. There are some if the arms are narrow, with a noise below 0.25 or so.
    between: Cells
    border: Cells
    clear: Cells


def spiral_regions(truth: SpiralTruth) -> SpiralRegions:
    """Where the truth says that there are rows, none, or two classes."""
    disc = np.hypot(*GRID.T).reshape(SIDE, SIDE) <= ARM_RADIUS
    inside = truth.in_support
    return SpiralRegions(
        far=truth.log_density <= np.quantile(truth.log_density, FAR_SHARE),
        disc=disc,
        inside=inside,
        between=_on_both_sides(inside.tobytes()) & ~inside,
        border=inside & (truth.data_uncertainty > BORDER_ENTROPY),
        clear=inside & (truth.data_uncertainty < CLEAR_ENTROPY),
    )


@lru_cache(maxsize=8)
def _on_both_sides(support: bytes) -> Cells:
    """Cells with the support nearer to the middle and farther out along their ray; found once."""
    crossed, nearer = _rays()
    hits = np.append(np.frombuffer(support, dtype=bool), False)[crossed]
    both = np.any(hits & nearer, axis=1) & np.any(hits & ~nearer, axis=1)
    return np.reshape(both, (SIDE, SIDE))


@lru_cache(maxsize=1)
def _rays() -> tuple[npt.NDArray[np.int16], Cells]:
    """What each cell's ray crosses from the middle to the corners, in steps of half a cell.

    Cells (6400, n_steps) by their place in `GRID`, 6400 beyond it; and which steps are nearer to
    the middle than the cell itself.
    """
    width = (EXTENT[1] - EXTENT[0]) / SIDE
    own = np.hypot(*GRID.T)[:, None]
    radius = np.arange(0.0, EXTENT[1] * math.sqrt(2.0), width / 2.0)
    points = (GRID / own)[:, None] * radius[:, None]
    column, row = np.moveaxis(np.floor((points - EXTENT[0]) / width).astype(np.int16), -1, 0)
    on_grid = (row >= 0) & (row < SIDE) & (column >= 0) & (column < SIDE)
    crossed = np.where(on_grid, row * SIDE + column, SIDE * SIDE).astype(np.int16)
    return crossed, radius < own


def against_chance(value: float) -> str:
    """What an AUROC is beside one half, in words."""
    if value < WORSE_THAN_CHANCE:
        return "worse than chance"
    return "better than chance" if value >= BETTER_THAN_CHANCE else "no better than chance"


def mean_of(values: Array, cells: Cells) -> float:
    """Mean over some cells; NaN without any."""
    return float(values[cells].mean()) if cells.any() else math.nan
