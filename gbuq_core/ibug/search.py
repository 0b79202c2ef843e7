"""From a fitted model and its training rows to any row's neighbours and their targets."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.ibug.affinity import nearest
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.results import Neighborhood
from gbuq_core.ibug.train_leaves import TrainLeaves, pack_leaves
from gbuq_core.jobs import check_memory, stage
from gbuq_core.trees.importers import LeafSource
from gbuq_core.validation import check_choice, check_number

TREE_ORDERS = ("first", "last", "random")
_PART = 4_000_000  # neighbours at a time: 64 MB of indices, affinities and targets


class TrainingRows(NamedTuple):
    """Where the trees put the training rows, and their targets.

    source : the model's leaves and predictions (see `gbuq_core.trees.importers`)
    leaves : TrainLeaves; y : (n_rows,)
    fit_id : a checksum of both, by which a neighbourhood is known as one of these rows
    """

    source: LeafSource
    leaves: TrainLeaves
    y: FloatArray
    fit_id: int


def index_rows(source: LeafSource, X: Any, y: FloatArray) -> TrainingRows:
    """Keep the leaves of the training rows X (n_rows, n_features) with their targets."""
    leaves = pack_leaves(source.leaf_chunks(X), len(y))
    fit_id = 0
    for part in (y, leaves.planes.low, leaves.planes.high, leaves.lookup):
        fit_id = zlib.crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, fit_id)
    return TrainingRows(source, leaves, y, fit_id)


def find_neighborhood(
    rows: TrainingRows, X: Any, k: int, trees: NDArray[np.intp] | None, n_jobs: int | None
) -> Neighborhood:
    """The k nearest training rows of each row of X (n_samples, n_features), some rows at a time.

    ``trees`` (m,) are those that count, None for all.
    """
    n_rows = len(X)
    check_memory(n_rows * (16 * k + 8), "these neighbours")
    indices = np.empty((n_rows, k), np.int32)
    affinities = np.empty((n_rows, k), np.int32)
    first = 0
    with stage(n_rows):
        for leaves in rows.source.leaf_chunks(X):
            here = slice(first, first + len(leaves))
            with stage(1, span=len(leaves)):
                indices[here], affinities[here] = nearest(rows.leaves, leaves, k, trees, n_jobs)
            first = here.stop
    loc = rows.source.predict(X)
    n_trees = rows.leaves.n_trees if trees is None else len(trees)
    return Neighborhood(loc, indices, affinities, rows.y[indices], n_trees, rows.fit_id)


def select_trees(
    n_trees: int, n_sampled: int | None, order: str, seed: int
) -> NDArray[np.intp] | None:
    """The trees that count: all (None), or the first, last or random ``n_sampled`` of them.

    Random ones are the first of one permutation, so that more trees add to those before.

    References
    ----------
    Brophy and Lowd (IBUG, 2022), section 4.1.

    Examples
    --------
    >>> select_trees(5, 2, "last", 0)
    array([4, 3])
    """
    check_choice("tree_order", order, TREE_ORDERS)
    if n_sampled is None:
        return None
    count = check_number("n_trees_sampled", n_sampled, 1, n_trees, integer=True)
    if count == n_trees:
        return None
    if order == "random":
        return np.random.default_rng(seed).permutation(n_trees)[:count]
    every = np.arange(n_trees)
    return every[:count] if order == "first" else every[::-1][:count]


def row_parts(X: Any, n_neighbors: int) -> Iterator[Any]:
    """Rows of an array or a frame, as many at a time as bound the memory of their neighbours."""
    step = max(1, _PART // n_neighbors)
    take = X.iloc if hasattr(X, "iloc") else X
    for start in range(0, len(X), step):
        yield take[start : start + step]
