"""Scores of the spiral's maps against the true density, and the maps in words.

Malinin et al. (2021), section 4, and Tan, Huertas and Zhao (cyclical SGLB), section 5.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.experiments.spiral.data import (
    ARM_RADIUS,
    EXTENT,
    GRID,
    SIDE,
    SpiralTruth,
    fresh_sample,
)
from gbuq_core.experiments.spiral.fit import SpiralMaps, SpiralRun
from gbuq_core.experiments.spiral.plan import METHODS
from gbuq_core.metrics import (
    EnsembleSize,
    effective_ensemble_size,
    error_rate,
    nll_classification,
)

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


@dataclass(frozen=True, kw_only=True)
class SpiralScore:
    """One method's scores with all trees; uncertainties in nats.

    NaN where there is a single member or there are no such cells.
    """

    # chance that a cell of the farthest 40 % has more knowledge uncertainty than another one
    auroc_far: float
    # the same for cells between the arms against the support's, within the data's disc; NaN with
    # fewer than 20 cells between the arms
    auroc_between: float
    auroc_border: float  # the same for cells outside the support against class borders inside
    # `auroc_far_total`, `auroc_border_total`: `auroc_far` and `auroc_border` of total uncertainty
    auroc_far_total: float
    auroc_border_total: float
    # `ku_mean_inside`, `ku_mean_between`, `ku_mean_outside`, `ku_mean_border`: mean knowledge
    # uncertainty in the support, between the arms, outside the support, and at class borders
    ku_mean_inside: float
    ku_mean_between: float
    ku_mean_outside: float
    ku_mean_border: float
    # mean knowledge uncertainty at class borders over that in the middles of the arms
    border_ratio: float
    data_error: float  # mean absolute error of data uncertainty in the support
    # `nll`, `error`: mean negative log likelihood and error rate of the mean prediction for 1,500
    # fresh rows
    nll: float
    error: float
    # `nll_optimal`, `error_optimal`: those of the true class probabilities on the same rows
    nll_optimal: float
    error_optimal: float
    size: EnsembleSize  # from the correlation of the members' errors in the support
    # `n_members`, `n_trees`: members that count, and trees trained in all
    n_members: int
    n_trees: int
    # `seconds`, `memory_bytes`: cost of the training, and what the trained model holds
    seconds: float
    memory_bytes: int | None


def score_spiral(maps: SpiralMaps, truth: SpiralTruth) -> SpiralScore:
    """Score the maps with all trees against the truth of their noise."""
    where = spiral_regions(truth)
    between = where.between if where.between.sum() >= MIN_BETWEEN else np.zeros_like(where.between)
    knowledge, plan = maps.knowledge[-1], maps.fit.plan
    fresh = fresh_sample(plan.noise, plan.seed)
    true_proba = truth.proba.reshape(3, -1).T
    cells = where.inside.ravel()
    return SpiralScore(
        auroc_far=auroc_of(where.far, ~where.far, knowledge),
        auroc_between=auroc_of(between, where.inside & where.disc, knowledge),
        auroc_border=auroc_of(~where.inside, where.border, knowledge),
        auroc_far_total=auroc_of(where.far, ~where.far, maps.total[-1]),
        auroc_border_total=auroc_of(~where.inside, where.border, maps.total[-1]),
        ku_mean_inside=mean_of(knowledge, where.inside),
        ku_mean_between=mean_of(knowledge, between),
        ku_mean_outside=mean_of(knowledge, ~where.inside),
        ku_mean_border=mean_of(knowledge, where.border),
        border_ratio=ratio_of(mean_of(knowledge, where.border), mean_of(knowledge, where.clear)),
        data_error=float(np.abs(maps.data[-1] - truth.data_uncertainty)[where.inside].mean()),
        nll=nll_classification(fresh.data.y, maps.fresh_proba),
        error=error_rate(fresh.data.y, maps.fresh_proba.argmax(axis=1)),
        nll_optimal=nll_classification(fresh.data.y, fresh.proba),
        error_optimal=error_rate(fresh.data.y, fresh.proba.argmax(axis=1)),
        size=effective_ensemble_size(maps.members[:, cells], true_proba[cells]),
        n_members=int(maps.n_members[-1]),
        n_trees=int(maps.fit.n_trees[-1]) * (plan.n_models if plan.kind.boosting else 1),
        seconds=maps.fit.seconds,
        memory_bytes=maps.fit.memory_bytes,
    )


def scores_of(run: SpiralRun) -> list[SpiralScore]:
    """The methods' scores; none is worked out twice that a page has."""
    return [maps.score or score_spiral(maps, run.truth) for maps in run.methods]


def describe_spiral(run: SpiralRun) -> str:
    """The picture in words, from its numbers."""
    where, truth = spiral_regions(run.truth), run.truth
    words = [
        f"Three arms of a spiral are three classes with {run.settings.rows:,} rows each. The maps "
        f"have {SIDE} by {SIDE} cells from -600 to 600. 99 % of all rows lie in "
        f"{100 * where.inside.mean():.0f} % of the cells. There the true data uncertainty averages "
        f"{truth.data_uncertainty[where.inside].mean():.2g} nats, and it is highest at class "
        f"borders. {_describe_gaps(int(where.between.sum()))}"
    ]
    words += [_describe_method(*scored) for scored in zip(run.methods, scores_of(run), strict=True)]
    return " ".join(words)


def _describe_gaps(n_cells: int) -> str:
    if n_cells < MIN_BETWEEN:
        return "Hardly any cell between the arms is without rows."
    return f"{n_cells} cells between the arms have next to no rows."


def _describe_method(maps: SpiralMaps, score: SpiralScore) -> str:
    members = METHODS[maps.method].describe(score.n_members, int(maps.n_trees[-1]))
    text = f"{members}: "
    if math.isnan(score.auroc_far):
        text += "knowledge uncertainty needs at least two members"
    else:
        text += (
            f"knowledge uncertainty averages {score.ku_mean_inside:.2g} nats where there are rows "
            f"and {score.ku_mean_outside:.2g} elsewhere. It finds the farthest 40 % of the cells "
            f"with AUROC {score.auroc_far:.2f}, {against_chance(score.auroc_far)}"
        )
    return text + (
        f". It gets {100 * score.error:.1f} % of fresh rows wrong (the best possible: "
        f"{100 * score.error_optimal:.1f} %), with a mean NLL of {score.nll:.3f} (the best "
        f"possible: {score.nll_optimal:.3f})."
    )


def ratio_of(above: float, below: float) -> float:
    """The quotient; infinite if ``below`` is 0, NaN if both are."""
    return above / below if below else math.nan if not above else math.inf
