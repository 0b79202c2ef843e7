"""Cells of a map over the plane, and checks of points in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.validation import check_array

Floats = NDArray[np.float64]
Extent = tuple[tuple[float, float], tuple[float, float]]


def cell_middles(extent: Extent, side: int) -> tuple[tuple[Floats, Floats], Floats]:
    """Middles of ``side`` x ``side`` cells: along both features, and of every cell.

    Parameters
    ----------
    extent : ((low, high), (low, high))
        Outer edges along the first and the second feature.
    side : int

    Returns
    -------
    axes : pair of ndarrays of shape (side,)
    cells : ndarray of shape (side * side, 2)
        The second feature upwards: ``values.reshape(side, side)`` is a map.

    Examples
    --------
    >>> axes, cells = cell_middles(((0.0, 4.0), (0.0, 2.0)), 2)
    >>> axes[0].tolist(), cells.tolist()
    ([1.0, 3.0], [[1.0, 0.5], [3.0, 0.5], [1.0, 1.5], [3.0, 1.5]])
    """
    x, y = (low + (np.arange(side) + 0.5) * (high - low) / side for low, high in extent)
    return (x, y), np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)


def check_points(points: Any) -> Floats:
    """Points of the plane as (n_points, 2), finite and within a million.

    Raises
    ------
    InvalidData
        One sentence.

    Examples
    --------
    >>> check_points([[0, 1]])
    array([[0., 1.]])
    """
    where = check_array("points", points, 2, low=-1e6, high=1e6)
    if where.shape[1] != 2:
        raise InvalidData(f"points must have two columns; got {where.shape[1]}.")
    return where
