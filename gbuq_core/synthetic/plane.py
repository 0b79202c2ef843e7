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


class PlaneData(NamedTuple):
    """Two classes in the plane that are equally frequent, and a map of side x side cells."""

    X: Floats  # (n_samples, 2)
    y: NDArray[np.int64]  # (n_samples,): the class, 0 or 1; rows alternate
    # (side * side, 2): the middles of the cells, the second feature upwards:
    # `predict(grid).reshape(side, side)` is a map
    grid: Floats
    # (side,): the middles along the first feature (columns of a map) and the second (rows)
    axes: tuple[Floats, Floats]
    mean: Floats  # (side, side): the true probability p of class 1
    variance: Floats  # (side, side): of y, `p (1 - p)`
    log_density: Floats  # (side, side): of a row of either class, per unit area
    in_support: NDArray[np.bool_]  # (side, side): where 99 % of the rows are


def plane_data(
    X: Floats,
    y: NDArray[np.int64],
    axes: tuple[Floats, Floats],
    grid: Floats,
    by_class: Floats,
    inside: NDArray[np.bool_],
) -> PlaneData:
    """The rows and the map, from each class's log density ``by_class`` (side * side, 2) there."""
    shape = (len(axes[1]), len(axes[0]))
    mean = posterior_of(by_class).reshape(shape)
    density = (np.logaddexp(*by_class.T) - np.log(2.0)).reshape(shape)
    return PlaneData(X, y, grid, axes, mean, mean * (1.0 - mean), density, inside.reshape(shape))


def posterior_of(by_class: Floats) -> Floats:
    """Probability of class 1 (n_points,) from both classes' log densities (n_points, 2)."""
    return expit(by_class[:, 1] - by_class[:, 0])
