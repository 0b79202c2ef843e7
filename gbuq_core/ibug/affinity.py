"""Affinity of rows and their nearest training rows (IBUG, algorithm 1).

The affinity of two rows is the number of trees in which they share a leaf. Training rows are kept
as one byte a tree (two where a tree has more than 255 leaves that training rows came into), so
41,157 rows x 1000 trees hold 41 MB.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import InvalidData
from gbuq_core.ibug.affinity_kernels import (
    BLOCK,
    GROUP,
    TreeOrder,
    count_rows_shared,
    make_candidates,
    make_scratch,
    scan_rows,
    sort_best,
)
from gbuq_core.ibug.train_leaves import (
    LeafDensity,
    TrainLeaves,
    check_leaves,
    encode,
    estimate_leaf_bytes,
    leaf_density,
    pack_leaves,
)
from gbuq_core.jobs import advance, check_memory, effective_n_jobs, parallel_map, stage
from gbuq_core.validation import check_number

__all__ = [
    "LeafDensity",
    "Neighbours",
    "TrainLeaves",
    "check_leaves",
    "check_trees",
    "count_affinities",
    "estimate_leaf_bytes",
    "estimate_nearest_bytes",
    "leaf_density",
    "nearest",
    "pack_leaves",
]

_QUERIES = 16 * GROUP  # query rows that share a copy of a training block: fewer wait for memory
_COMPARISONS = 2_000_000_000  # between two ticks: about 30 ms


class Neighbours(NamedTuple):
    """The training rows of highest affinity to each query row, best first.

    indices (n_queries, k) int32; affinities (n_queries, k) int32, numbers of trees. Rows of equal
    affinity come by ascending training index, and that decides about the last places too.
    """

    indices: np.ndarray
    affinities: np.ndarray


def check_trees(trees: Any, n_trees: int) -> np.ndarray:
    """Return the positions of the trees that count, (m,) int64, each at most once.

    Parameters
    ----------
    trees : None, slice or array-like of int
        None stands for all.

    Examples
    --------
    >>> check_trees(slice(3), 1000)
    array([0, 1, 2])
    """
    if trees is None:
        return np.arange(n_trees)
    if isinstance(trees, slice):
        chosen = np.arange(n_trees)[trees]
    else:
        chosen = np.asarray(trees)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or len(chosen) == 0:
        raise InvalidData("trees must be a list of at least one tree position.")
    if chosen.min() < 0 or chosen.max() >= n_trees or len(np.unique(chosen)) < len(chosen):
        raise InvalidData(
            f"trees must be different positions from 0 to {n_trees - 1}; got {chosen.min()} to "
            f"{chosen.max()} ({len(chosen)} of them)."
        )
    return chosen.astype(np.int64)


def _order_trees(train: TrainLeaves, trees: Any) -> TreeOrder:
    """Trees with one-byte codes first."""
    chosen = check_trees(trees, train.n_trees)
    narrow = train.planes.high_row[chosen] < 0
    return TreeOrder(np.concatenate([chosen[narrow], chosen[~narrow]]), int(narrow.sum()))


def _query_slices(n_queries: int, n_jobs: int | None) -> list[slice]:
    """Query rows cut into equal shares for the threads, of at most `_QUERIES` rows."""
    n_threads = effective_n_jobs(n_jobs)
    n_rounds = -(-n_queries // (_QUERIES * n_threads))
    size = -(-n_queries // (n_rounds * n_threads))
    return [slice(low, min(low + size, n_queries)) for low in range(0, n_queries, size)]


def _row_steps(n_rows: int, n_queries: int, n_trees: int) -> list[tuple[int, int]]:
    """Training rows cut into steps of about 30 ms."""
    step = max(1, _COMPARISONS // (n_queries * n_trees * BLOCK)) * BLOCK
    return [(low, min(low + step, n_rows)) for low in range(0, n_rows, step)]


def count_affinities(
    train: TrainLeaves, leaves: Any, trees: Any = None, n_jobs: int | None = None
) -> np.ndarray:
    """Count the trees in which each query row shares a leaf with each training row (eq. 1).

    Parameters
    ----------
    train : TrainLeaves
    leaves : (n_queries, n_trees) int array
        Leaf numbers of the same model, as `pack_leaves` took them.
    trees : None, slice or array-like of int
        The trees that count.
    n_jobs : int, optional
        Threads; see `gbuq_core.jobs.effective_n_jobs`.

    Returns
    -------
    (n_queries, n_rows) uint16 array
        uint32 where more than 65,535 trees count.

    References
    ----------
    Brophy and Lowd (2022), algorithm 1.

    Examples
    --------
    >>> train = pack_leaves(np.array([[0, 0], [0, 1], [1, 1]]))
    >>> count_affinities(train, np.array([[0, 1], [1, 5]]))
    array([[1, 2, 1],
           [0, 0, 1]], dtype=uint16)
    """
    matrix = check_leaves(leaves, train.n_trees)
    order = _order_trees(train, trees)
    dtype = np.uint16 if len(order.trees) <= 65_535 else np.uint32
    check_memory(len(matrix) * train.n_rows * np.dtype(dtype).itemsize, "these affinities")
    out = np.empty((len(matrix), train.n_rows), dtype)

    def count(mine: slice) -> None:
        codes = encode(train, matrix[mine], order.trees)
        scratch = make_scratch(len(codes))
        for first, last in _row_steps(train.n_rows, *codes.shape):
            count_rows_shared(train.planes, order, codes, first, last, scratch, out[mine])
            advance(len(codes) * (last - first) / train.n_rows)

    with stage(len(matrix)):
        parallel_map(count, _query_slices(len(matrix), n_jobs), n_jobs)
    return out


def nearest(
    train: TrainLeaves, leaves: Any, k: int, trees: Any = None, n_jobs: int | None = None
) -> Neighbours:
    """Find the k training rows that share most leaves with each query row.

    Memory is bounded whatever the number of rows: no affinity is kept but those of the candidates.

    Parameters
    ----------
    train : TrainLeaves
    leaves : (n_queries, n_trees) int array
        Leaf numbers of the same model, as `pack_leaves` took them.
    k : int
        How many, at most the number of training rows.
    trees : None, slice or array-like of int
        The trees that count.
    n_jobs : int, optional
        Threads; results do not depend on it.

    Returns
    -------
    Neighbours

    Raises
    ------
    InvalidParameter
        If k is not between 1 and the number of training rows.

    Examples
    --------
    >>> train = pack_leaves(np.array([[0, 0], [0, 1], [1, 1], [0, 1]]))
    >>> nearest(train, np.array([[0, 1]]), k=3)
    Neighbours(indices=array([[1, 3, 0]], dtype=int32), affinities=array([[2, 2, 1]], dtype=int32))
    """
    k = check_number("k", k, 1, train.n_rows, integer=True)
    matrix = check_leaves(leaves, train.n_trees)
    order = _order_trees(train, trees)
    n_queries, n_trees = len(matrix), len(order.trees)
    check_memory(estimate_nearest_bytes(n_queries, n_trees, k, n_jobs), "this search")
    indices = np.empty((n_queries, k), np.int32)
    affinities = np.empty((n_queries, k), np.int32)

    def find(mine: slice) -> None:
        codes = encode(train, matrix[mine], order.trees)
        scratch, best = make_scratch(len(codes)), make_candidates(len(codes), k)
        for first, last in _row_steps(train.n_rows, len(codes), n_trees):
            scan_rows(train.planes, order, codes, first, last, k, scratch, best)
            advance(len(codes) * (last - first) / train.n_rows)
        sort_best(best, k, n_trees, indices[mine], affinities[mine])

    with stage(n_queries):
        parallel_map(find, _query_slices(n_queries, n_jobs), n_jobs)
    return Neighbours(indices, affinities)


def estimate_nearest_bytes(n_queries: int, n_trees: int, k: int, n_jobs: int | None = None) -> int:
    """Bytes that `nearest` needs besides the training rows: results, codes and candidates.

    Examples
    --------
    >>> estimate_nearest_bytes(800, 1000, 50) < 20e6
    True
    """
    at_work = min(n_queries, _QUERIES * effective_n_jobs(n_jobs))
    return n_queries * (8 * k + 4 * n_trees) + at_work * (8 * (k + 4 * BLOCK) + 2 * n_trees)
