"""Questions to the spiral's ensembles: what burn-in leaves, what is beyond, what compute buys.

Tan, Huertas and Zhao (cyclical SGLB), sections 5.1 and 5.2: independent ensembles of 3, 5, 10 and
30 models beside single chains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.ranking import auroc_of, rank_correlation
from gbuq_core.experiments.spiral.data import spiral_truth
from gbuq_core.experiments.spiral.fit import SpiralFit, SpiralMaps, fit_spiral, map_spiral
from gbuq_core.experiments.spiral.plan import (
    SpiralSettings,
    member_trees,
)
from gbuq_core.experiments.spiral.probe import predict_points
from gbuq_core.experiments.spiral.regions import (
    BETTER_THAN_CHANCE,
    against_chance,
    mean_of,
    spiral_regions,
)
from gbuq_core.experiments.spiral.scores import score_spiral
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.settings import plan_of
from gbuq_core.uncertainty import decompose_classification

Array = npt.NDArray[np.float64]

ENSEMBLE_SIZES = (3, 5, 10, 30)
_REFERENCE = 20  # of the 30 models: the last ones, so that the first 10 are none of them
CHAINS = ("virtual_sglb", "csglb", "cbsglb")

_N_RAYS, _N_STEPS = 72, 24
_NEAR, _REMOTE = (1.02, 2.0), (100.0, 200.0)  # from where to where, in radii of the data
_CONSTANT = 0.01  # relative change that counts as none
_KNOWS = 0.8  # the AUROC of a method that knows that it left the data; below, only in part


class BurnInEffect(NamedTuple):
    """A cyclical ensemble without its first cycles; one entry for each burn-in."""

    method: str  # a key of `METHODS`
    cycles: npt.NDArray[np.int64]  # first cycles that give no member: 0 to all but two
    n_members: npt.NDArray[np.int64]
    # `knowledge`, `knowledge_inside`: mean knowledge uncertainty over the grid, and over the
    # support, in nats
    knowledge: Array
    knowledge_inside: Array
    auroc_far: Array  # as in `gbuq_core.experiments.spiral.scores.SpiralScore`


class WalkOff(NamedTuple):
    """What knowledge uncertainty does along rays that leave the data behind."""

    n_rays: int  # from the middle, in all directions
    # `share_rising`, `share_falling`: shares of the rays along which it ends higher or lower than
    # it began, by 1 % or more, from the outermost row to twice its distance
    share_rising: float
    share_falling: float
    share_constant_far: float  # along which it changes by less from 100 to 200 times that distance
    # mean number of different values along a ray, of the 24 places looked at near the data
    n_levels: float
    auroc_far: float  # of the farthest 40 % of the grid's cells
    sentence: str  # what this says, with the numbers


@dataclass(frozen=True, kw_only=True)
class QualityPoint:
    """One ensemble's quality and what it cost."""

    method: str  # A key of `METHODS`
    # `n_models`, `n_members`, `n_trees`: models trained, members taken, trees in all
    n_models: int
    n_members: int
    n_trees: int
    # of its training: of an independent ensemble its share of the largest one's
    core_seconds: float
    # `auroc_far`, `auroc_between`, `knowledge`, `effective`: as in `SpiralScore`: of the farthest
    # 40 % and between the arms, mean over the grid in nats, effective number of members
    auroc_far: float
    auroc_between: float
    knowledge: float
    effective: float
    # with the knowledge uncertainty of the reference, the last 20 of the 30 independent models; NaN
    # for an ensemble that contains some of those
    rank_correlation: float


def burn_in_effect(fit: SpiralFit) -> BurnInEffect:
    """How much knowledge uncertainty comes from a cyclical ensemble's first cycles."""
    plan = fit.plan
    if not plan.kind.cyclical:
        raise InvalidParameter(f"{plan.kind.label} has no cycles to leave out.")
    ends = member_trees(plan, SpiralSettings())
    members = fit.members[np.searchsorted(fit.n_trees, ends), 0]
    where = spiral_regions(spiral_truth(plan.noise))
    cycles = np.arange(max(len(ends) - 1, 0))
    found = np.full((3, len(cycles)), math.nan)
    for first in cycles:
        knowledge = decompose_classification(members[first:]).knowledge.reshape(where.far.shape)
        found[:, first] = (
            knowledge.mean(),
            mean_of(knowledge, where.inside),
            auroc_of(where.far, ~where.far, knowledge),
        )
    return BurnInEffect(plan.method, cycles, len(ends) - cycles, *found)


def walk_off(fit: SpiralFit, settings: SpiralSettings) -> WalkOff:
    """Follow knowledge uncertainty along rays out of the data.

    A tree has no split beyond its outermost rows, so that each feature by itself soon stops to
    matter. Of the nine features some barely change in certain directions (x - 2y along x = 2y) and
    go on crossing borders for long; far enough, the prediction depends on the direction alone.
    """
    near, remote = (_along_rays(fit, settings, span) for span in (_NEAR, _REMOTE))
    change = near[:, -1] - near[:, 0]
    limit = _CONSTANT * near.mean(axis=1)
    constant = _is_constant(near)
    knowledge = map_spiral(fit, settings).knowledge[-1]
    where = spiral_regions(spiral_truth(fit.plan.noise))
    far = auroc_of(where.far, ~where.far, knowledge)
    off = WalkOff(
        n_rays=len(near),
        share_rising=float((~constant & (change > limit)).mean()),
        share_falling=float((~constant & (change < -limit)).mean()),
        share_constant_far=float(_is_constant(remote).mean()),
        n_levels=float(np.mean([len(np.unique(ray.round(12))) for ray in near])),
        auroc_far=far,
        sentence="",
    )
    return off._replace(sentence=_say(fit.plan.kind.label, off))


def quality_plans(settings: SpiralSettings) -> tuple[SpiralSettings, ...]:
    """The four fits that `quality_against_compute` needs: 30 independent models, and the chains."""
    largest = replace(settings, members=max(ENSEMBLE_SIZES))
    return tuple(plan_of(largest, method) for method in ("sglb", *CHAINS))


def quality_against_compute(
    settings: SpiralSettings, fits: Mapping[SpiralSettings, SpiralFit] | None = None
) -> tuple[QualityPoint, ...]:
    """Independent ensembles of 3, 5, 10 and 30 models beside virtual SGLB, cSGLB and cbSGLB."""
    settings = replace(settings, shown=None)
    done = dict(fits or {})
    plans = quality_plans(settings)
    for plan in plans:
        if plan not in done:
            done[plan] = fit_spiral(plan)
    independent, chains = done[plans[0]], [done[plan] for plan in plans[1:]]
    reference = decompose_classification(independent.members[-1, -_REFERENCE:]).knowledge
    points = []
    for size in ENSEMBLE_SIZES:
        maps = map_spiral(independent, replace(settings, shown=size))
        apart = size <= max(ENSEMBLE_SIZES) - _REFERENCE
        points.append(_point(maps, size, reference if apart else None))
    points += [_point(map_spiral(fit, settings), 1, reference) for fit in chains]
    return tuple(points)


def _point(maps: SpiralMaps, n_models: int, reference: Array | None) -> QualityPoint:
    plan, knowledge = maps.fit.plan, maps.knowledge[-1]
    score = score_spiral(maps, spiral_truth(plan.noise))
    cores = min(effective_n_jobs(None), plan.n_models)
    return QualityPoint(
        method=maps.method,
        n_models=n_models,
        n_members=score.n_members,
        n_trees=n_models * plan.n_trees,
        core_seconds=maps.fit.seconds * cores * n_models / plan.n_models,
        auroc_far=score.auroc_far,
        auroc_between=score.auroc_between,
        knowledge=float(knowledge.mean()),
        effective=score.size.effective,
        rank_correlation=(
            math.nan if reference is None else rank_correlation(knowledge, reference)
        ),
    )


def _along_rays(fit: SpiralFit, settings: SpiralSettings, span: tuple[float, float]) -> Array:
    """Knowledge uncertainty (n_rays, n_steps) between two multiples of the data's radius."""
    # An odd offset, so that no ray lies along a line on which a feature is exactly 0.
    angle = 2.0 * np.pi * (np.arange(_N_RAYS) + 0.137) / _N_RAYS
    radius = fit.data.X[:, -1].max() * np.linspace(*span, _N_STEPS)
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    points = (directions[:, None] * radius[:, None]).reshape(-1, 2)
    members = predict_points(fit, settings, points)[1]
    if len(members) < 2:
        raise InvalidParameter(
            "Knowledge uncertainty needs at least two members: show more of them."
        )
    return decompose_classification(members).knowledge.reshape(_N_RAYS, _N_STEPS)


def _is_constant(rays: Array) -> npt.NDArray[np.bool_]:
    spread = rays.max(axis=1) - rays.min(axis=1)
    constant: npt.NDArray[np.bool_] = spread <= _CONSTANT * rays.mean(axis=1)
    return constant


def _say(label: str, off: WalkOff) -> str:
    notices = "does not know"
    if off.auroc_far >= BETTER_THAN_CHANCE:
        notices = "knows" if off.auroc_far >= _KNOWS else "knows only in part"
    shares = (off.share_rising, off.share_falling, off.share_constant_far)
    rising, falling, constant = (round(share * off.n_rays) for share in shares)
    return (
        f"{label} {notices} that it left the data. Walking out of the data to twice the distance "
        f"of the outermost row, knowledge uncertainty rises on {rising} of {off.n_rays} straight "
        f"lines and falls on {falling}. It changes in steps, because every tree repeats its "
        f"outermost cell: a line has {off.n_levels:.0f} different values on average. A hundred "
        f"times as far out it is constant on {constant} of {off.n_rays} lines. AUROC on the "
        f"farthest 40 % of the map: {off.auroc_far:.2f}, {against_chance(off.auroc_far)}."
    )
