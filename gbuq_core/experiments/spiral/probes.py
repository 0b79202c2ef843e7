"""What the spiral's ensembles say at a point, on a line, beyond the rows, without first cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.experiments.spiral.data import marginal_log_density, spiral_truth, support_limit
from gbuq_core.experiments.spiral.fit import (
    SpiralFit,
    map_spiral,
    model_of,
)
from gbuq_core.experiments.spiral.plan import (
    SpiralSettings,
    member_trees,
)
from gbuq_core.experiments.spiral.scores import (
    BETTER_THAN_CHANCE,
    against_chance,
    spiral_regions,
)
from gbuq_core.synthetic import spiral_features, spiral_log_density, spiral_posterior
from gbuq_core.uncertainty import Uncertainty, decompose_classification, entropy
from gbuq_core.validation import check_number

FARTHEST = 1e6  # what a point's coordinate may be
_PATH_STAGES = 500  # of a probability path


class Probe(NamedTuple):
    """What one method says at one point."""

    method: str  # a key of `METHODS`
    member_proba: Array  # (n_members, 3): class probabilities of each member that counts
    # (n_members,): how many trees it has: where the chain is cut, or all of each model
    member_trees: npt.NDArray[np.int64]
    # (n_stages,): tree counts at up to 500 stages; one stage where a method does not grow
    path_trees: npt.NDArray[np.int64]
    # (n_stages, 3): the probabilities there: of the chain, or of the mean over the models that
    # count
    path_proba: Array
    truth_proba: Array  # (3,): true class probabilities
    # total, data and knowledge uncertainty in nats, one number each; knowledge is NaN with a single
    # member
    uncertainty: Uncertainty


class Ray(NamedTuple):
    """Uncertainty along a straight line, in nats."""

    method: str  # a key of `METHODS`
    distance: Array  # from the start
    # `total`, `data`, `knowledge`: knowledge is NaN with a single member
    total: Array
    data: Array
    knowledge: Array


class RayTruth(NamedTuple):
    """What is true along a straight line."""

    distance: Array  # from the start
    density: Array  # of all rows, whatever their class, per unit area
    data_uncertainty: Array  # entropy of the true class probabilities, in nats
    in_support: npt.NDArray[np.bool_]  # where the density exceeds that of all but 1 % of the rows


def probe(fit: SpiralFit, settings: SpiralSettings, x: float, y: float) -> Probe:
    """Every member's class probabilities at a point, and how they came about."""
    point = _check_points([(x, y)])
    trees, members = predict_points(fit, settings, point)
    path_trees, path = _path(fit, settings, point)
    return Probe(
        method=fit.plan.method,
        member_proba=members[:, 0],
        member_trees=trees,
        path_trees=path_trees,
        path_proba=path,
        truth_proba=spiral_posterior(point, settings.noise)[0],
        uncertainty=Uncertainty(*(part[0] for part in _decompose(members))),
    )


def ray(
    fit: SpiralFit,
    settings: SpiralSettings,
    start: Sequence[float],
    end: Sequence[float],
    n: int = 121,
) -> Ray:
    """Uncertainty at n equally distant points of a line."""
    points, distance = _line(start, end, n)
    return Ray(fit.plan.method, distance, *_decompose(predict_points(fit, settings, points)[1]))


def ray_truth(noise: float, start: Sequence[float], end: Sequence[float], n: int = 121) -> RayTruth:
    """The true density and data uncertainty at n equally distant points of a line."""
    points, distance = _line(start, end, n)
    log_density = marginal_log_density(spiral_log_density(points, noise))
    return RayTruth(
        distance=distance,
        density=np.exp(log_density),
        data_uncertainty=entropy(spiral_posterior(points, noise)),
        in_support=log_density > support_limit(noise),
    )


def predict_points(
    fit: SpiralFit, settings: SpiralSettings, points: Array
) -> tuple[npt.NDArray[np.int64], Array]:
    """Trees (n_members,) and class probabilities (n_members, n, 3) of the members that count."""
    rows = spiral_features(points)
    model = model_of(fit)
    if fit.plan.kind.virtual:
        trees = member_trees(fit.plan, settings)
        return trees, model.staged_members(rows, at=trees).members[:, 0]
    members = model.predict_members(rows)[: _shown(settings)]
    return np.full(len(members), fit.n_trees[-1]), members


def _path(
    fit: SpiralFit, settings: SpiralSettings, point: Array
) -> tuple[npt.NDArray[np.int64], Array]:
    """Tree counts and probabilities (n_stages, 3) at a point while the models grew."""
    rows = spiral_features(point)
    model = model_of(fit)
    if not fit.plan.kind.boosting:
        return fit.n_trees, model.predict_members(rows)[: _shown(settings), 0].mean(axis=0)[None]
    staged: Any = model.staged_members(rows, every=-(-fit.plan.n_trees // _PATH_STAGES))
    models = staged.members[:, : None if fit.plan.n_models == 1 else _shown(settings), 0]
    return staged.n_trees, models.mean(axis=1)


def _shown(settings: SpiralSettings) -> int | None:
    if settings.shown is None:
        return None
    return int(check_number("shown", settings.shown, 1, integer=True))


def _decompose(members: Array) -> Uncertainty:
    parts = decompose_classification(members)
    if len(members) > 1:
        return parts
    return parts._replace(knowledge=np.full_like(parts.knowledge, np.nan))


def _line(start: Sequence[float], end: Sequence[float], n: int) -> tuple[Array, Array]:
    """Points (n, 2) of a line and their distances (n,) from its start."""
    count = check_number("n", n, 2, 10_000, integer=True)
    first, last = _check_points([start, end])
    length = float(np.hypot(*(last - first)))
    if length == 0.0:
        raise InvalidParameter("The line ends where it starts: give it a length.")
    share = np.linspace(0.0, 1.0, count)
    return first + share[:, None] * (last - first), share * length


def _check_points(points: Sequence[Sequence[float]]) -> Array:
    """Points (n, 2) whose coordinates are numbers of at most a million."""
    for point in points:
        if len(point) != 2:
            raise InvalidParameter(f"A point has two coordinates, x and y; got {len(point)}.")
    checked = [
        check_number(name, value, -FARTHEST, FARTHEST)
        for point in points
        for name, value in zip("xy", point, strict=True)
    ]
    return np.reshape(checked, (-1, 2))


Array = npt.NDArray[np.float64]

_N_RAYS, _N_STEPS = 72, 24
_NEAR, _REMOTE = (1.02, 2.0), (100.0, 200.0)  # from where to where, in radii of the data
_CONSTANT = 0.01  # relative change that counts as none
_KNOWS = 0.8  # the AUROC of a method that knows that it left the data; below, only in part


class BurnInEffect(NamedTuple):
    """A cyclical ensemble without its first cycles; one entry for each burn-in."""

    method: str  # a key of `METHODS`
    cycles: npt.NDArray[np.int64]  # first cycles that give no member: 0 to all but two
    knowledge: Array  # its mean over the grid, in nats
    auroc_far: Array  # as in `gbuq_core.experiments.spiral.scores.SpiralScore`


class WalkOff(NamedTuple):
    """What knowledge uncertainty does along rays that leave the data behind."""

    label: str  # of the method
    # `share_rising`, `share_falling`: shares of the 72 rays along which it ends higher or lower
    # than it began, by 1 % or more, from the outermost row to twice its distance
    share_rising: float
    share_falling: float
    share_constant_far: float  # along which it changes by less from 100 to 200 times that distance
    # mean number of different values along a ray, of the 24 places looked at near the data
    n_levels: float
    auroc_far: float  # of the farthest 40 % of the grid's cells

    @property
    def sentence(self) -> str:
        """What this says, with the numbers."""
        notices = "does not know"
        if self.auroc_far >= BETTER_THAN_CHANCE:
            notices = "knows" if self.auroc_far >= _KNOWS else "knows only in part"
        shares = self.share_rising, self.share_falling, self.share_constant_far
        rising, falling, constant = (round(share * _N_RAYS) for share in shares)
        return (
            f"{self.label} {notices} that it left the data. Walking out of the data to twice the "
            f"distance of the outermost row, knowledge uncertainty rises on {rising} of {_N_RAYS} "
            f"straight lines and falls on {falling}. It changes in steps, because every tree "
            f"repeats its outermost cell: a line has {self.n_levels:.0f} different values on "
            f"average. A hundred times as far out it is constant on {constant} of {_N_RAYS} lines. "
            f"AUROC on the farthest 40 % of the map: {self.auroc_far:.2f}, "
            f"{against_chance(self.auroc_far)}."
        )


def burn_in_effect(fit: SpiralFit) -> BurnInEffect:
    """How much knowledge uncertainty comes from a cyclical ensemble's first cycles."""
    plan = fit.plan
    if not plan.kind.cyclical:
        raise InvalidParameter(f"{plan.kind.label} has no cycles to leave out.")
    ends = member_trees(plan, SpiralSettings())
    members = fit.members[np.searchsorted(fit.n_trees, ends), 0]
    far = spiral_regions(spiral_truth(plan.noise)).far
    cycles = np.arange(max(len(ends) - 1, 0))
    levels = np.full((2, len(cycles)), math.nan)
    for first in cycles:
        knowledge = decompose_classification(members[first:]).knowledge.reshape(far.shape)
        levels[:, first] = knowledge.mean(), auroc_of(far, ~far, knowledge)
    return BurnInEffect(plan.method, cycles, *levels)


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
    far = spiral_regions(spiral_truth(fit.plan.noise)).far
    return WalkOff(
        label=fit.plan.kind.label,
        share_rising=float((~constant & (change > limit)).mean()),
        share_falling=float((~constant & (change < -limit)).mean()),
        share_constant_far=float(_is_constant(remote).mean()),
        n_levels=float(np.mean([len(np.unique(ray.round(12))) for ray in near])),
        auroc_far=auroc_of(far, ~far, knowledge),
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
    return np.ptp(rays, axis=1) <= _CONSTANT * rays.mean(axis=1)
