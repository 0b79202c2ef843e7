"""From what was found about neighbours to what the figures draw.

The experiment's results are named by what is read of them: figures know no estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.figures.neighbours.charts import Reasons
from gbuq_core.figures.neighbours.parts import Array, Near
from gbuq_core.figures.neighbours.picture import Surface

_BINS = 50  # of a histogram of affinities, if there are more trees
_LEAST_REACH, _REACH = 60, 4  # of k that a scale is drawn up to: so many, or times k
SCORES = {"nll": "NLL (nats)", "crps": "CRPS (units of y)"}


def near_from(look: Any) -> Near:
    """The neighbours, their affinities as shares of the trees.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> look = SimpleNamespace(indices=np.array([4, 1]), affinities=np.array([8, 6]), n_trees=8)
    >>> near_from(look).share
    array([1.  , 0.75])
    """
    return Near(look.indices.astype(np.int64), look.affinities / look.n_trees)


def surface_from(data: Any, scale: Array, share: Array) -> Surface:
    """Maps over the two inputs of a set."""
    shape = data.grid_shape
    x_extent, y_extent = (_edges(axis) for axis in data.axes)
    true_std, in_support = data.true_std.reshape(shape), data.in_support.reshape(shape)
    maps = scale.reshape(shape), share.reshape(shape)
    return Surface(true_std, *maps, in_support, data.X, x_extent, y_extent)


def reasons_from(
    look: Any, setting: Any, tuning: Any, scoring: str, true_std: float | None
) -> Reasons:
    """Affinities of all training rows, the scale against k, the score that chooses k."""
    n = look.n_trees
    width = -(-(n + 1) // _BINS)  # whole numbers of trees, or bars would differ by their room
    edges = np.arange(-0.5, n + 0.5 + width, width)
    counts, near = (
        np.histogram(part, bins=edges)[0] for part in (look.row_affinities, look.affinities)
    )
    drawn = look.path_k <= max(_LEAST_REACH, _REACH * look.k)
    tried = tuning.n_neighbors <= look.path_k[drawn][-1]
    _, least, gamma, delta = setting
    return Reasons(
        edges=np.clip(edges / n, 0.0, 1.0),
        counts=counts,
        near_counts=near,
        k=look.path_k[drawn].astype(np.float64),
        scale=gamma * np.maximum(look.path_std[drawn], least) + delta,
        chosen_k=look.k,
        true_std=true_std,
        tried=tuning.n_neighbors[tried].astype(np.float64),
        score=(tuning.nll if scoring == "nll" else tuning.crps)[tried],
        scoring=SCORES[scoring],
    )


def _edges(axis: Array) -> tuple[float, float]:
    half = 0.5 * float(axis[1] - axis[0])
    return float(axis[0]) - half, float(axis[-1]) + half
