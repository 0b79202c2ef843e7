"""IBUG's search for neighbours where each worker holds some of the training rows.

A worker finds the k best of its own rows, ordered by affinity descending and then by row ascending.
The k best of all rows are among these, and the order leaves no ties, so neither the number of
blocks nor the order in which they answer matters.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gbuq_core.cluster.spreading import Cluster, Kept
from gbuq_core.ibug import IBUGRegressor
from gbuq_core.ibug.affinity import Neighbours, TrainLeaves, nearest
from gbuq_core.validation import check_number


class RowBlock(NamedTuple):
    """The leaves of some training rows, and the position of the first."""

    first: int
    leaves: TrainLeaves


def search_parts(cluster: Cluster, model: IBUGRegressor, n_blocks: int | None = None) -> Any:
    """The same fitted IBUG estimator, whose neighbours are searched for on a cluster.

    All of its methods work as before, with the same results. It must not outlive the cluster.

    Parameters
    ----------
    cluster : Cluster
    model : IBUGRegressor
        Fitted; it is left as it is.
    n_blocks : int, optional
        Into how many blocks the training rows are cut, each held by one worker; one for each
        worker by default.

    Returns
    -------
    IBUGRegressor
        It shares the model and the training rows with ``model``.
    """
    check_is_fitted(model, "y_train_")
    rows = model._rows
    if n_blocks is None:
        n_blocks = min(rows.leaves.n_rows, max(1, cluster.n_workers))
    n_blocks = int(check_number("n_blocks", n_blocks, 1, rows.leaves.n_rows, integer=True))
    search = BlockSearch(cluster, cut_leaves(rows.leaves, n_blocks))
    spread = copy.copy(model)
    spread._rows = rows._replace(search=search.nearest)
    return spread


def cut_leaves(train: TrainLeaves, n_blocks: int) -> list[RowBlock]:
    """Training rows in blocks of nearly equal size.

    >>> from gbuq_core.ibug.affinity import pack_leaves
    >>> [block.first for block in cut_leaves(pack_leaves(np.array([[0], [1], [0]])), 2)]
    [0, 1]
    """
    edges = [train.n_rows * block // n_blocks for block in range(n_blocks + 1)]
    blocks = []
    for low, high in itertools.pairwise(edges):
        planes = train.planes._replace(
            low=np.ascontiguousarray(train.planes.low[:, low:high]),
            high=np.ascontiguousarray(train.planes.high[:, low:high]),
        )
        blocks.append(RowBlock(low, train._replace(planes=planes)))
    return blocks


class BlockSearch:
    """`nearest` over blocks of training rows that workers hold."""

    def __init__(self, cluster: Cluster, blocks: list[RowBlock]) -> None:
        self._cluster = cluster
        self._blocks: list[Kept] = [cluster.keep(block) for block in blocks]

    def nearest(
        self, train: TrainLeaves, leaves: Any, k: int, trees: Any = None, n_jobs: int | None = None
    ) -> Neighbours:
        """As `gbuq_core.ibug.affinity.nearest`."""
        k = check_number("k", k, 1, train.n_rows, integer=True)
        of_blocks = self._cluster.map(_search, (leaves, k, trees), self._blocks)
        return merge_neighbours(of_blocks, k)


def _search(shared: tuple[Any, int, Any], block: RowBlock) -> Neighbours:
    """A block's own k best rows, by their position in the whole."""
    leaves, k, trees = shared
    near = nearest(block.leaves, leaves, min(k, block.leaves.n_rows), trees)
    return near._replace(indices=near.indices + np.int32(block.first))


def merge_neighbours(parts: list[Neighbours], k: int) -> Neighbours:
    """The k best of all parts: by affinity descending, then by row ascending.

    >>> near = Neighbours(np.array([[4, 5]], np.int32), np.array([[9, 7]], np.int32))
    >>> also = Neighbours(np.array([[0, 1]], np.int32), np.array([[7, 2]], np.int32))
    >>> merge_neighbours([near, also], 2).indices
    array([[4, 0]], dtype=int32)
    """
    indices = np.concatenate([part.indices for part in parts], axis=1)
    affinities = np.concatenate([part.affinities for part in parts], axis=1)
    order = np.lexsort((indices, -affinities), axis=1)[:, :k]
    return Neighbours(
        np.take_along_axis(indices, order, axis=1), np.take_along_axis(affinities, order, axis=1)
    )
