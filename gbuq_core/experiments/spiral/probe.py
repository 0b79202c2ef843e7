"""A closer look at the spiral: every member at one point, and a straight walk out of the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.spiral.data import marginal_log_density, support_limit
from gbuq_core.experiments.spiral.fit import SpiralFit
from gbuq_core.experiments.spiral.plan import SpiralSettings, member_trees
from gbuq_core.synthetic import spiral_features, spiral_log_density, spiral_posterior
from gbuq_core.uncertainty import Uncertainty, decompose_classification, entropy
from gbuq_core.validation import check_number

Array = npt.NDArray[np.float64]

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
    points: Array
    # `total`, `data`, `knowledge`: knowledge is NaN with a single member
    total: Array
    data: Array
    knowledge: Array


class RayTruth(NamedTuple):
    """What is true along a straight line."""

    distance: Array  # from the start
    points: Array
    # `density`, `log_density`: of all rows, whatever their class, per unit area
    density: Array
    log_density: Array
    data_uncertainty: Array  # entropy of the true class probabilities, in nats
    in_support: npt.NDArray[np.bool_]  # where the density exceeds that of all but 1 % of the rows
    proba: Array  # true class probabilities


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
    uncertainty = _decompose(predict_points(fit, settings, points)[1])
    return Ray(fit.plan.method, distance, points, *uncertainty)


def ray_truth(noise: float, start: Sequence[float], end: Sequence[float], n: int = 121) -> RayTruth:
    """The true density and data uncertainty at n equally distant points of a line."""
    points, distance = _line(start, end, n)
    log_density = marginal_log_density(spiral_log_density(points, noise))
    proba = spiral_posterior(points, noise)
    return RayTruth(
        distance=distance,
        points=points,
        density=np.exp(log_density),
        log_density=log_density,
        data_uncertainty=entropy(proba),
        in_support=log_density > support_limit(noise),
        proba=proba,
    )


def predict_points(
    fit: SpiralFit, settings: SpiralSettings, points: Array
) -> tuple[npt.NDArray[np.int64], Array]:
    """Trees (n_members,) and class probabilities (n_members, n, 3) of the members that count."""
    rows = spiral_features(points)
    if fit.plan.kind.virtual:
        trees = member_trees(fit.plan, settings)
        return trees, fit.model.staged_members(rows, at=trees).members[:, 0]
    members = fit.model.predict_members(rows)[: _shown(settings)]
    return np.full(len(members), fit.n_trees[-1]), members


def _path(
    fit: SpiralFit, settings: SpiralSettings, point: Array
) -> tuple[npt.NDArray[np.int64], Array]:
    """Tree counts and probabilities (n_stages, 3) at a point while the models grew."""
    rows = spiral_features(point)
    if not fit.plan.kind.boosting:
        return fit.n_trees, fit.model.predict_members(rows)[: _shown(settings), 0].mean(axis=0)[
            None
        ]
    every = -(-fit.plan.n_trees // _PATH_STAGES)
    staged: Any = fit.model.staged_members(rows, every=every)
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
    return np.array(
        [
            [
                check_number(name, value, -FARTHEST, FARTHEST)
                for name, value in zip("xy", point, strict=True)
            ]
            for point in points
        ]
    )
