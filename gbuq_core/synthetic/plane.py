"""Cells of a map over the plane, checks of points in it, and the truth of two classes there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gbuq_core.array_checks import check_array
from gbuq_core.errors import InvalidData

Floats = NDArray[np.float64]
Extent = tuple[tuple[float, float], tuple[float, float]]


def cell_middles(extent: Extent, side: int) -> tuple[tuple[Floats, Floats], Floats]:
    """Middles of ``side`` x ``side`` cells: along both features, and of every cell."""
    x, y = (low + (np.arange(side) + 0.5) * (high - low) / side for low, high in extent)
    return (x, y), np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def check_points(points: Any) -> Floats:
    """Points of the plane as (n_points, 2), finite and within a million."""
    where = check_array("points", points, 2, low=-1e6, high=1e6)
    if where.shape[1] != 2:
        raise InvalidData(f"points must have two columns; got {where.shape[1]}.")
    return where


class PlaneTruth(NamedTuple):
    """Of two classes that are equally frequent, over a map; ndarrays of shape (side, side)."""

    # `mean`, `variance`: of y: the true probability p of class 1, and `p (1 - p)`
    mean: Floats
    variance: Floats
    log_density: Floats  # log of the true density of a row of either class, per unit area


def map_truth(by_class: Floats, side: int) -> PlaneTruth:
    """The truth at the cells of a map, from each class's log density there (side * side, 2).

    >>> map_truth(np.log([[0.5, 0.5]]), 1)
    PlaneTruth(mean=array([[0.5]]), variance=array([[0.25]]), log_density=array([[-0.69314718]]))
    """
    mean = posterior_of(by_class).reshape(side, side)
    density = (np.logaddexp(*by_class.T) - np.log(2.0)).reshape(side, side)
    return PlaneTruth(mean, mean * (1.0 - mean), density)


def posterior_of(by_class: Floats) -> Floats:
    """Probability of class 1 (n_points,) from both classes' log densities (n_points, 2)."""
    probability: Floats = expit(by_class[:, 1] - by_class[:, 0])
    return probability
