"""The leaves of the training rows, affinity to them, and the nearest rows (IBUG, algorithm 1).

The affinity of two rows is the number of trees in which they share a leaf. Training rows are kept
as one byte a tree (two where a tree has more than 255 leaves that training rows came into), so
41,157 rows x 1000 trees hold 41 MB.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gbuq_core.compilers import need_kernels
from gbuq_core.errors import InvalidData
from gbuq_core.ibug.affinity_kernels import (
    BLOCK,
    GROUP,
    NARROW_LEAVES,
    NO_CODE,
    LeafPlanes,
    TreeOrder,
    assign_codes,
    count_block,
    count_leaf_rows,
    encode_leaves,
    keep_block,
    make_candidates,
    make_scratch,
    sort_best,
)
from gbuq_core.jobs import advance, check_memory, effective_n_jobs, parallel_map, stage
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    from gbuq_core.figures.curves import Curves

_LEAF_LIMIT = 1 << 26  # no model has leaf numbers as large
_QUERIES = 16 * GROUP  # query rows that share a copy of a training block: fewer wait for memory


class TrainLeaves(NamedTuple):
    """The leaves of ``n`` training rows in ``n_trees`` trees, compact."""

    planes: LeafPlanes  # codes from 0 to the number of leaves in use - 1, tree-major, uint8
    # (n_trees, n_numbers) int32: from the model's leaf numbers to codes, -1 for leaves without
    # training rows
    lookup: np.ndarray
    n_leaves: np.ndarray  # (n_trees,) int64: leaves with training rows

    def check_file(self) -> None:
        """Refuse codes and leaves that do not exist."""
        low, high, high_row = self.planes
        n_trees, n_rows = low.shape if low.ndim == 2 else (0, 0)
        require(n_trees >= 1, "it has no trees")
        check_arrays(self, n_leaves=(np.int64, n_trees), lookup=(np.int32, n_trees, None))
        n_leaves = self.n_leaves
        require((n_leaves >= 1).all() and (n_leaves <= NO_CODE).all(), "a tree has no leaves")
        wide = np.flatnonzero(n_leaves > NARROW_LEAVES)
        check_arrays(
            self.planes,
            low=(np.uint8, n_trees, n_rows),
            high=(np.uint8, len(wide), n_rows),
            high_row=(np.int32, n_trees),
        )
        rows = np.full(n_trees, -1)
        rows[wide] = np.arange(len(wide))
        require((high_row == rows).all(), "a leaf does not exist")
        largest = low.max(axis=1, initial=0).astype(np.int64)
        for row, tree in enumerate(wide):
            codes = low[tree] + 256 * high[row].astype(np.int64)
            largest[tree] = int(codes.max(initial=0))
        require((largest < n_leaves).all(), "a row is in a leaf that does not exist")
        known = (self.lookup >= -1).all() and (self.lookup < n_leaves[:, None]).all()
        require(self.lookup.shape[1] >= 1 and known, "a leaf does not exist")

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
    """How full the leaves of each tree are; all (n_trees,)."""

    n_leaves: np.ndarray  # int64: leaves with training rows
    visited: np.ndarray  # mean share of the training rows in a query row's leaf: what IBUG visits
    largest: np.ndarray  # share of the training rows in the fullest leaf


class Neighbours(NamedTuple):
    """The training rows of highest affinity to each query row, best first.

    indices (n_queries, k) int32; affinities (n_queries, k) int32, numbers of trees. Rows of equal
    affinity come by ascending training index, and that decides about the last places too.
    """

    indices: np.ndarray
    affinities: np.ndarray

    def plot(
        self,
        X_rows: Any,
        y_rows: Any = None,
        *,
        X: Any = None,
        row: int = 0,
        columns: Any = None,
        label: str = "y",
    ) -> Curves:
        """Draw the neighbours of one row among all training rows.

        The stronger a dot, the more trees share a leaf with the row. Over one feature the target
        is drawn upwards, over two features the second one. ``X_rows`` are the training rows,
        ``y_rows`` their targets, which one feature needs; ``X`` the rows whose neighbours these
        are: number ``row`` of them is marked. ``columns`` are one or two to draw, by default those
        that vary; ``label`` is that of the target, with its unit.

        >>> near = Neighbours(np.array([[2, 1]]), np.array([[9, 4]]))
        >>> near.plot([[0.0], [1.0], [2.0]], [5.0, 6.0, 8.0], X=[[2.5]]).alt
        'The 2 neighbours of one row among 3 training rows.'
        """
        from gbuq_core.figures.plots import plot_neighbours

        return plot_neighbours(
            self.indices,
            self.affinities,
            X_rows,
            y_rows,
            X=X,
            row=row,
            columns=columns,
            label=label,
        )


def pack_leaves(leaves: np.ndarray | Iterable[Any], n_rows: int = 0) -> TrainLeaves:
    """Keep the leaves of the training rows in one or two bytes each; of chunks with ``n_rows``."""
    need_kernels("neighbours")
    chunks: Iterable[Any] = leaves
    if isinstance(leaves, np.ndarray):
        chunks, n_rows = [leaves], len(leaves)
    packer: _Packer | None = None
    for chunk in chunks:
        matrix = check_leaves(chunk)
        if packer is None:
            packer = _Packer(n_rows, matrix.shape[1])
        packer.add(matrix)
        advance(0.0)
    if packer is None or packer.n_seen < n_rows:
        raise InvalidData(f"n_rows is {n_rows}, but the chunks of leaves hold fewer rows.")
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
    """Return leaf numbers as a contiguous (n, n_trees) int32 array, or say what is wrong."""
    matrix = np.asarray(leaves)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iu" or 0 in matrix.shape:
        raise InvalidData(
            "Leaves must be a matrix of whole numbers with at least one row and one tree; got "
            f"shape {matrix.shape} of {matrix.dtype}."
        )
    if n_trees is not None and matrix.shape[1] != n_trees:
        raise InvalidData(
            f"These leaves come from {matrix.shape[1]} trees, but the leaves of the training rows "
            f"come from {n_trees}: use the same model."
        )
    if matrix.min() < 0 or matrix.max() >= _LEAF_LIMIT:
        raise InvalidData(
            f"Leaf numbers must be from 0 to {_LEAF_LIMIT - 1:,}; got {matrix.min()} to "
            f"{matrix.max()}."
        )
    return np.ascontiguousarray(matrix, np.int32)


def encode(train: TrainLeaves, leaves: np.ndarray, trees: np.ndarray) -> np.ndarray:
    """Codes (n_queries, m) uint16 of query rows in the given order of trees (m,) int64."""
    codes = np.empty((len(leaves), len(trees)), np.uint16)
    encode_leaves(leaves, train.lookup, trees, codes)
    return codes


def _order_trees(train: TrainLeaves, trees: Any) -> TreeOrder:
    """Trees with one-byte codes first."""
    chosen = np.arange(train.n_trees) if trees is None else np.asarray(trees, np.int64)
    narrow = train.planes.high_row[chosen] < 0
    ordered = np.concatenate([chosen[narrow], chosen[~narrow]])
    return TreeOrder(ordered, int(narrow.sum()), bool((np.diff(ordered) == 1).all()))


def _query_slices(n_queries: int, n_jobs: int | None) -> list[slice]:
    """Query rows cut into equal shares for the threads, of at most `_QUERIES` rows."""
    n_threads = effective_n_jobs(n_jobs)
    n_rounds = -(-n_queries // (_QUERIES * n_threads))
    size = -(-n_queries // (n_rounds * n_threads))
    return [slice(low, min(low + size, n_queries)) for low in range(0, n_queries, size)]


def _blocks(n_rows: int) -> Iterator[tuple[int, int]]:
    """Training rows cut into blocks."""
    return ((low, min(low + BLOCK, n_rows)) for low in range(0, n_rows, BLOCK))


def count_affinities(
    train: TrainLeaves, leaves: Any, trees: Any = None, n_jobs: int | None = None
) -> np.ndarray:
    """Count the trees in which rows share a leaf with training rows (eq. 1; algorithm 1)."""
    matrix = check_leaves(leaves, train.n_trees)
    order = _order_trees(train, trees)
    dtype = np.uint16 if len(order.trees) <= 65_535 else np.uint32
    check_memory(len(matrix) * train.n_rows * np.dtype(dtype).itemsize, "these affinities")
    out = np.empty((len(matrix), train.n_rows), dtype)

    def count(mine: slice) -> None:
        codes = encode(train, matrix[mine], order.trees)
        scratch = make_scratch(len(codes))
        for low, high in _blocks(train.n_rows):
            count_block(train.planes, order, codes, low, high, scratch)
            out[mine, low:high] = scratch.totals[:, : high - low]
            advance(len(codes) * (high - low) / train.n_rows)

    with stage(len(matrix)):
        parallel_map(count, _query_slices(len(matrix), n_jobs), n_jobs)
    return out


def nearest(
    train: TrainLeaves, leaves: Any, k: int, trees: Any = None, n_jobs: int | None = None
) -> Neighbours:
    """Find the k training rows that share most leaves with each query row.

    Memory is bounded whatever the number of rows: no affinity is kept but those of the candidates.
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
        histogram = np.zeros(n_trees + 1, np.int64)
        for low, high in _blocks(train.n_rows):
            count_block(train.planes, order, codes, low, high, scratch)
            keep_block(scratch.totals, low, high - low, k, best, histogram)
            advance(len(codes) * (high - low) / train.n_rows)
        sort_best(best, k, histogram, indices[mine], affinities[mine])

    with stage(n_queries):
        parallel_map(find, _query_slices(n_queries, n_jobs), n_jobs)
    return Neighbours(indices, affinities)


def nearest_places(
    train: TrainLeaves,
    leaves: Any,
    k: int,
    weight: np.ndarray,
    trees: Any = None,
    n_jobs: int | None = None,
    search: Any = nearest,
) -> Neighbours:
    """Find the training rows that fill k places, where a row takes as many as it weighs."""
    lightest = np.cumsum(np.sort(weight))
    most = min(int(np.searchsorted(lightest, k)) + 1, train.n_rows)
    width = min(most, int(1.25 * k / weight.mean()) + 8)
    while True:
        near = search(train, leaves, width, trees, n_jobs)
        below = np.cumsum(weight[near.indices], axis=1)
        if width == most or (below[:, -1] >= k).all():
            break
        width = min(most, 2 * width)
    needed = int((below < k).sum(axis=1).max()) + 1
    return Neighbours(near.indices[:, :needed], near.affinities[:, :needed])


def estimate_nearest_bytes(n_queries: int, n_trees: int, k: int, n_jobs: int | None = None) -> int:
    """Bytes that `nearest` needs besides the training rows: results, codes and candidates."""
    at_work = min(n_queries, _QUERIES * effective_n_jobs(n_jobs))
    return n_queries * (8 * k + 4 * n_trees) + at_work * (8 * (k + 4 * BLOCK) + 2 * n_trees)


def leaf_density(
    train: TrainLeaves, leaves: Any = None, weight: np.ndarray | None = None
) -> LeafDensity:
    """Tell what share of the training rows IBUG visits in each tree (paper, appendix C.5)."""
    n_trees = train.n_trees
    visited, largest = np.empty(n_trees), np.empty(n_trees)
    codes = None
    if leaves is not None:
        codes = encode(train, check_leaves(leaves, n_trees), np.arange(n_trees))
    for tree in range(n_trees):
        if weight is None:
            counts = np.empty(train.n_leaves[tree], np.int64)
            count_leaf_rows(train.planes, tree, counts)
            shares = counts / train.n_rows
        else:
            shares = np.bincount(_codes_of(train.planes, tree), weight) / weight.sum()
        largest[tree] = shares.max()
        if codes is None:
            visited[tree] = np.square(shares).sum()
        else:
            mine = codes[:, tree]
            visited[tree] = shares[mine[mine != NO_CODE]].sum() / len(mine)
    return LeafDensity(train.n_leaves.copy(), visited, largest)


def _codes_of(planes: LeafPlanes, tree: int) -> np.ndarray:
    """The codes of the training rows in one tree, (n_rows,) int64."""
    codes = planes.low[tree].astype(np.int64)
    if planes.high_row[tree] >= 0:
        codes += planes.high[planes.high_row[tree]].astype(np.int64) << 8
    return codes
