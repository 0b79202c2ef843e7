"""The heart with some of its cells painted: filled cells lose their rows, empty ones get some."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.synthetic import HeartData, make_heart
from gbuq_core.validation import check_number

SIDE = 9
N_CELLS = SIDE * SIDE
LEAST_FILLED = 2


def make_painted_heart(
    n_per_cell: int = 1000, noise: float = 0.01, random_state: int = 0, cells: Any = ()
) -> HeartData:
    """The heart with some cells painted: filled ones lose their rows, empty ones get some."""
    heart = make_heart(n_per_cell, noise, random_state)
    painted = np.zeros(N_CELLS, dtype=bool)
    for cell in cells:
        painted[check_number("cells", cell, 0, N_CELLS - 1, integer=True)] = True
    filled = heart.in_support.ravel()
    in_support = filled ^ painted
    if in_support.sum() < LEAST_FILLED:
        raise InvalidParameter(
            f"At least {LEAST_FILLED} cells need training rows. Undo some of the painting."
        )
    if not painted.any():
        return heart
    cell_of_row = (SIDE * heart.X[:, 0] + heart.X[:, 1]).astype(np.int64)
    stays = ~painted[cell_of_row]
    new = np.flatnonzero(~filled & painted)
    # One column an empty cell, whichever of them are painted: painting one moves no other.
    draws = np.random.default_rng([random_state, N_CELLS]).standard_normal(
        (n_per_cell, int((~filled).sum()))
    )[:, painted[~filled]]
    y_new = heart.mean.ravel()[new] + np.sqrt(noise) * draws
    variance = np.where(in_support, heart.variance.ravel(), np.nan)
    variance[new] = noise
    return HeartData(
        X=np.concatenate([heart.X[stays], np.tile(heart.grid[new], (n_per_cell, 1))]),
        y=np.concatenate([heart.y[stays], y_new.ravel()]),
        mean=heart.mean,
        variance=variance.reshape(SIDE, SIDE),
        in_support=in_support.reshape(SIDE, SIDE),
        grid=heart.grid,
        cell_counts=np.where(in_support, n_per_cell, 0).reshape(SIDE, SIDE),
    )
