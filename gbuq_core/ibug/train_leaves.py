"""The leaves of the training rows in one or two bytes a tree, and how full these leaves are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import InvalidData
from gbuq_core.ibug.affinity_kernels import (
    NARROW_LEAVES,
    NO_CODE,
    LeafPlanes,
    assign_codes,
    count_leaf_rows,
    encode_leaves,
)
from gbuq_core.progress import advance
from gbuq_core.resources import check_memory

_LEAF_LIMIT = 1 << 26  # no model has leaf numbers as large


class TrainLeaves(NamedTuple):
    """The leaves of ``n`` training rows in ``n_trees`` trees, compact.

    planes : LeafPlanes
        Codes from 0 to the number of leaves in use - 1, tree-major, uint8.
    lookup : (n_trees, n_numbers) int32
        From the model's leaf numbers to codes, -1 for leaves without training rows.
    n_leaves : (n_trees,) int64
        Leaves with training rows.
    """

    planes: LeafPlanes
    lookup: np.ndarray
    n_leaves: np.ndarray

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.planes.low.shape[1]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return self.planes.low.shape[0]

    @property
    def n_bytes(self) -> int:
        """What it holds in memory."""
        planes = self.planes
        return planes.low.nbytes + planes.high.nbytes + planes.high_row.nbytes + self.lookup.nbytes


class LeafDensity(NamedTuple):
    """How full the leaves of each tree are; all (n_trees,).

    n_leaves int64: leaves with training rows; visited float64: the mean share of the training rows
    that lie in a query row's leaf, what IBUG visits in that tree; largest float64: the share of
    the training rows in the fullest leaf.
    """

    n_leaves: np.ndarray
    visited: np.ndarray
    largest: np.ndarray


def estimate_leaf_bytes(n_rows: int, n_trees: int, max_leaves: int) -> int:
    """Bytes of `pack_leaves` at its peak, without the chunks of the model's own leaf numbers.

    Examples
    --------
    >>> estimate_leaf_bytes(41_157, 1000, 31) / (41_157 * 1000) < 1.1
    True
    """
    planes = 1 if max_leaves <= NARROW_LEAVES else 3  # the second byte, and both while it grows
    return n_rows * n_trees * planes + 4 * n_trees * max_leaves


def pack_leaves(leaves: Any, n_rows: int | None = None) -> TrainLeaves:
    """Keep the leaves of the training rows in one or two bytes each.

    Parameters
    ----------
    leaves : (n, n_trees) int array, or iterable of such chunks of rows
        Leaf numbers, from 0; only equality within a tree matters.
    n_rows : int, optional
        The total number of rows; needed with chunks.

    Returns
    -------
    TrainLeaves

    Raises
    ------
    InvalidData
        If the chunks do not fit together or a tree has more than 65,535 leaves with training rows.

    Examples
    --------
    >>> train = pack_leaves(np.array([[4, 0], [4, 2], [7, 2]]))
    >>> train.planes.low
    array([[0, 0, 1],
           [0, 1, 1]], dtype=uint8)
    """
    chunks: Iterable[Any]
    if isinstance(leaves, np.ndarray):
        chunks, n_rows = [leaves], len(leaves)
    else:
        chunks = leaves
        if n_rows is None:
            raise InvalidData("n_rows must be given when the leaves come in chunks.")
    packer: _Packer | None = None
    for chunk in chunks:
        matrix = check_leaves(chunk)
        if packer is None:
            packer = _Packer(n_rows, matrix.shape[1])
        packer.add(matrix)
        advance(0.0)
    if packer is None or packer.n_seen < n_rows:
        raise InvalidData(f"The leaves of {n_rows} rows were announced, but fewer were given.")
    return packer.finish()


class _Packer:
    """What `pack_leaves` knows after some of the rows."""

    def __init__(self, n_rows: int, n_trees: int) -> None:
        check_memory(n_rows * n_trees, "the leaf matrix")
        self.n_seen = 0
        self._low = np.empty((n_trees, n_rows), np.uint8)
        self._high: dict[int, np.ndarray] = {}
        self._lookup = np.full((n_trees, 32), -1, np.int32)
        self._n_leaves = np.zeros(n_trees, np.int64)

    def add(self, matrix: np.ndarray) -> None:
        """Number the leaves of more rows."""
        n_trees, n_rows = self._low.shape
        first, last = self.n_seen, self.n_seen + len(matrix)
        if matrix.shape[1] != n_trees or last > n_rows:
            raise InvalidData(
                f"The chunks of leaves do not make a matrix of {n_rows} rows and {n_trees} trees."
            )
        self._make_room(int(matrix.max(initial=0)) + 1)
        codes = np.empty((n_trees, len(matrix)), np.uint16)
        assign_codes(matrix, self._lookup, self._n_leaves, codes)
        if self._n_leaves.max() > NO_CODE:
            raise InvalidData(
                f"Tree {int(self._n_leaves.argmax())} has more than {NO_CODE:,} leaves with "
                "training rows: limit the depth or the number of leaves of the model."
            )
        self._low[:, first:last] = codes  # the low bytes
        for tree in np.flatnonzero(self._n_leaves > NARROW_LEAVES).tolist():
            if tree not in self._high:
                check_memory(n_rows, "the leaf matrix")
                self._high[tree] = np.zeros(n_rows, np.uint8)
            self._high[tree][first:last] = codes[tree] >> 8
        self.n_seen = last

    def _make_room(self, n_numbers: int) -> None:
        n_trees, n_known = self._lookup.shape
        if n_numbers > n_known:
            # Doubled, so that chunks with rising leaf numbers do not copy it each time.
            wanted = max(n_numbers, min(2 * n_known, n_numbers + 4096))
            check_memory(4 * n_trees * wanted, "the table of leaf numbers")
            grown = np.full((n_trees, wanted), -1, np.int32)
            grown[:, :n_known] = self._lookup
            self._lookup = grown

    def finish(self) -> TrainLeaves:
        """The packed leaves of all rows."""
        n_trees, n_rows = self._low.shape
        high_row = np.full(n_trees, -1, np.int32)
        wide = sorted(self._high)
        high_row[wide] = np.arange(len(wide))
        high = np.empty((len(wide), n_rows), np.uint8)
        for row, tree in enumerate(wide):
            high[row] = self._high.pop(tree)
        return TrainLeaves(LeafPlanes(self._low, high, high_row), self._lookup, self._n_leaves)


def check_leaves(leaves: Any, n_trees: int | None = None) -> np.ndarray:
    """Return leaf numbers as a contiguous (n, n_trees) int32 array, or say what is wrong.

    Examples
    --------
    >>> check_leaves([[0, 3]]).dtype
    dtype('int32')
    """
    matrix = np.asarray(leaves)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu" or 0 in matrix.shape:
        raise InvalidData(
            "Leaves must be a matrix of whole numbers with at least one row and one tree; got "
            f"shape {matrix.shape} of {matrix.dtype}."
        )
    if n_trees is not None and matrix.shape[1] != n_trees:
        raise InvalidData(
            f"These leaves are of {matrix.shape[1]} trees, but those of the training rows are of "
            f"{n_trees}: use the same model."
        )
    if matrix.min() < 0 or matrix.max() >= _LEAF_LIMIT:
        raise InvalidData(
            f"Leaf numbers must be from 0 to {_LEAF_LIMIT - 1:,}; got {matrix.min()} to "
            f"{matrix.max()}."
        )
    return np.ascontiguousarray(matrix, np.int32)


def encode(train: TrainLeaves, leaves: np.ndarray, trees: np.ndarray) -> np.ndarray:
    """Codes (n_queries, m) uint16 of query rows in the given order of trees (m,) int64.

    Examples
    --------
    >>> train = pack_leaves(np.array([[4, 0], [4, 2]]))
    >>> encode(train, np.array([[4, 1]], np.int32), np.arange(2))
    array([[    0, 65535]], dtype=uint16)
    """
    codes = np.empty((len(leaves), len(trees)), np.uint16)
    encode_leaves(leaves, train.lookup, trees, codes)
    return codes


def leaf_density(train: TrainLeaves, leaves: Any = None) -> LeafDensity:
    """Tell what share of the training rows IBUG visits in each tree (paper, appendix C.5).

    Parameters
    ----------
    train : TrainLeaves
    leaves : (n_queries, n_trees) int array, optional
        The rows that ask; the training rows themselves without it.

    Examples
    --------
    >>> train = pack_leaves(np.array([[0, 0], [0, 1], [0, 2], [1, 3]]))
    >>> leaf_density(train).visited
    array([0.625, 0.25 ])
    """
    n_trees = train.n_trees
    visited, largest = np.empty(n_trees), np.empty(n_trees)
    codes = None
    if leaves is not None:
        codes = encode(train, check_leaves(leaves, n_trees), np.arange(n_trees))
    for tree in range(n_trees):
        counts = np.empty(train.n_leaves[tree], np.int64)
        count_leaf_rows(train.planes, tree, counts)
        shares = counts / train.n_rows
        largest[tree] = shares.max()
        if codes is None:
            visited[tree] = np.square(shares).sum()
        else:
            mine = codes[:, tree]
            visited[tree] = shares[mine[mine != NO_CODE]].sum() / len(mine)
    return LeafDensity(train.n_leaves.copy(), visited, largest)
