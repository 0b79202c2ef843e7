"""How the spiral's methods were trained: schedule, losses, and where the members were taken.

Tan, Huertas and Zhao (cyclical SGLB), algorithm 1 and equation 7.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.boosting.plan import exploring
from gbuq_core.experiments.spiral.fit import SpiralMaps
from gbuq_core.experiments.spiral.plan import explores

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class SpiralGrowth(NamedTuple):
    """How one method was trained."""

    method: str  # A key of `METHODS`
    n_trees: Ints  # 1 to all trees of the first model
    # `scale`, `train_loss`: the factor of its gradients, and the mean loss of the training rows
    # after each tree, in nats
    scale: Array
    train_loss: Array
    # `validation_trees`, `validation_loss`: (n_stages,): the fresh rows' loss at fewer tree counts,
    # in nats: the mean over the models
    validation_trees: Ints
    validation_loss: Array
    # (n_members,): tree counts that give a member; empty where each model is one
    member_trees: Ints
    # stretches of tree counts in which rows are masked or noise is left out
    exploring: tuple[tuple[float, float], ...] = ()


def growth_of(maps: SpiralMaps) -> SpiralGrowth | None:
    """How a method was trained; None if it kept no trace (forests, CatBoost)."""
    fit = maps.fit
    if fit.trace is None:
        return None
    plan = fit.plan
    stretches: tuple[tuple[float, float], ...] = ()
    if explores(plan):
        stretches = _stretches(exploring(plan.n_trees, plan.cycle, plan.exploration))
    return SpiralGrowth(
        method=plan.method,
        n_trees=fit.trace.n_trees,
        scale=fit.trace.scale,
        train_loss=fit.trace.train_loss,
        validation_trees=fit.n_trees,
        validation_loss=fit.validation.mean(axis=1),
        member_trees=maps.member_trees if plan.kind.virtual else np.empty(0, np.int64),
        exploring=stretches,
    )


def _stretches(on: npt.NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """First and last tree of every stretch in which something is on; trees count from 1."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(np.int8), [0]])))
    return tuple((float(lo + 1), float(hi)) for lo, hi in edges.reshape(-1, 2))
