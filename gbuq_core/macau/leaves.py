"""All leaves of a forest as one table: their training rows, features, and scaling."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.array_checks import begins
from gbuq_core.macau.scaling_kernels import scale_tree
from gbuq_core.model_files.contents import check_arrays, check_places, require
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance
from gbuq_core.resources import check_memory
from gbuq_core.trees.importers.paths import LeafPaths
from gbuq_core.trees.importers.source import LeafSource

# Of a leaf whose linear model sees all features without being told to. Its time for each row rises
# with the square of the features.
ROWS_PER_FEATURE = 2.0
MOST_FEATURES = 50


class LeafTable(NamedTuple):
    """The leaves of all trees one after the other.

    Where training rows left a leaf of the forest empty (it was trained on others), one more leaf
    stands at the end, with all rows and all features: new rows of empty leaves belong to it.
    """

    first: np.ndarray  # (n_trees + 1,) int64: leaf g of tree t has the number `first[t] + g`
    begin: np.ndarray  # (n_leaves + 1,) int64: leaf g has the rows `rows[begin[g]:begin[g + 1]]`
    # (begin[-1],) int32: training rows, ordered by leaf within each tree, ascending within each
    # leaf
    rows: np.ndarray
    # (n_leaves + 1,) int64: leaf g has the features `path[path_begin[g]:path_begin[g + 1]]`
    path_begin: np.ndarray
    # (path_begin[-1],) int32: features on the path to the leaf, ascending; all features where there
    # are none
    path: np.ndarray
    fallback: int  # number of the leaf of all rows, or -1 where no leaf is empty

    def check_file(self) -> None:
        """Refuse leaves that have lost rows, or have rows and paths that do not exist."""
        check_arrays(
            self,
            first=(np.int64, None),
            begin=(np.int64, None),
            rows=(np.int32, None),
            path_begin=(np.int64, len(self.begin)),
            path=(np.int32, None),
        )
        first, begin, sizes = self.first, self.begin, np.diff(self.begin)
        require(len(first) >= 2 and len(begin) >= 2, "it has no leaves")
        counted = first[0] == 0 and begin[0] == 0 and self.path_begin[0] == 0
        require(counted and (np.diff(first) >= 1).all() and (sizes >= 0).all(), "a leaf is missing")
        n_leaves, n_rows = self.n_leaves, int(begin[first[1]]) if first[1] < len(begin) else 0
        has_fallback = n_leaves == first[-1] + 1
        require(has_fallback or n_leaves == first[-1], "its leaves are not those of its forest")
        require(self.fallback == (n_leaves - 1 if has_fallback else -1), "a leaf does not exist")
        require(n_rows >= 1 and (sizes <= n_rows).all(), "a leaf has more rows than there are")
        whole = (begin[first] == n_rows * np.arange(self.n_trees + 1)).all()
        require(whole, "a tree has lost rows")
        require(has_fallback == bool((sizes[: first[-1]] == 0).any()), "a leaf is empty")
        require(not has_fallback or sizes[-1] == n_rows, "the leaf of all rows has lost some")
        require(len(self.rows) == begin[-1], "a row is missing")
        check_places(self.rows, n_rows, "a row")
        lengths = np.diff(self.path_begin)
        require((lengths >= 1).all(), "the path to a leaf is impossible")
        require(len(self.path) == self.path_begin[-1], "the path to a leaf is impossible")
        inside = np.diff(np.repeat(np.arange(n_leaves), lengths)) == 0
        require((np.diff(self.path)[inside] > 0).all(), "the path to a leaf is impossible")

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.first) - 1

    @property
    def n_leaves(self) -> int:
        """Number of leaves, with the one of all rows where there is one."""
        return len(self.begin) - 1


class Members(NamedTuple):
    """What each tree's leaf models say, (n, n_trees) each."""

    means: np.ndarray
    variances: np.ndarray


class LeafScaling(NamedTuple):
    """A feature in a leaf's own units: ``(x - centre) / scale``, gaps filled by the median."""

    # `median`, `centre`, `scale`: (n_leaves, n_features) float64: Medians and interquartile ranges
    # of the leaf's rows, as scikit-learn's SimpleImputer and RobustScaler find them one after the
    # other; scale 1 where the range is 0 but for rounding (of values below 1 relative to them, so
    # that no unit is too small). A feature that is missing in all rows of the leaf has median 0 and
    # scale infinity, so that it is always 0: the imputer drops such a column. Leaves without rows:
    # 0, 0, 1.
    median: np.ndarray
    centre: np.ndarray
    scale: np.ndarray


def make_leaf_table(leaf_matrix: np.ndarray, source: LeafSource, paths: LeafPaths) -> LeafTable:
    """Order the training rows by leaf."""
    n_rows, n_trees = leaf_matrix.shape
    counts = source.leaf_counts[:n_trees]
    first = begins(counts)
    rows = np.empty(n_trees * n_rows, np.int32)
    sizes = np.zeros(int(first[-1]), np.int64)
    for tree in range(n_trees):
        leaves = np.ascontiguousarray(leaf_matrix[:, tree])
        rows[tree * n_rows : (tree + 1) * n_rows] = np.argsort(leaves, kind="stable")
        sizes[first[tree] : first[tree + 1]] = np.bincount(leaves, minlength=counts[tree])
    fallback = -1
    bare = np.diff(paths.begin) == 0  # leaves without a path have all features
    path_begin, path = _with_all(paths.begin, paths.features, bare, source.n_features)
    if (sizes == 0).any():
        fallback = len(sizes)
        sizes = np.append(sizes, n_rows)
        rows = np.append(rows, np.arange(n_rows, dtype=np.int32))
        path_begin = np.append(path_begin, path_begin[-1] + source.n_features)
        path = np.append(path, np.arange(source.n_features, dtype=np.int32))
    begin = begins(sizes)
    return LeafTable(first, begin, rows, path_begin, path, fallback)


def _with_all(
    begin: np.ndarray, features: np.ndarray, chosen: np.ndarray, n_features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Paths with all features for the ``chosen`` leaves (n_leaves,) bool."""
    counts = np.diff(begin)
    sizes = np.where(chosen, n_features, counts)
    check_memory(20.0 * float(sizes.sum()), "the features of these leaves")
    new_begin = begins(sizes)
    filled = np.arange(new_begin[-1]) - np.repeat(new_begin[:-1], sizes)  # 0, 1, ... in every leaf
    filled[np.repeat(~chosen, sizes)] = features[np.repeat(~chosen, counts)]
    return new_begin, filled.astype(np.int32)


def with_all_features(table: LeafTable, chosen: np.ndarray, n_features: int) -> LeafTable:
    """The same leaves; the ``chosen`` ones (n_leaves,) bool have all features for their paths.

    >>> two, one_each = np.array([0, 2, 4]), np.array([0, 1, 2])
    >>> table = LeafTable(np.array([0, 2]), two, np.zeros(4), one_each, np.array([2, 1]), -1)
    >>> with_all_features(table, np.array([True, False]), 3).path.tolist()
    [0, 1, 2, 1]
    """
    begin, path = _with_all(table.path_begin, table.path, chosen, n_features)
    return table._replace(path_begin=begin, path=path)


def has_rows_for_all(table: LeafTable, n_features: int) -> np.ndarray:
    """Which leaves have rows enough for a linear model of all features, (n_leaves,) bool.

    >>> begin = np.array([0, 5, 12])  # leaves of 5 and of 7 rows
    >>> table = LeafTable(np.array([0, 2]), begin, np.zeros(12), begin, np.zeros(12), -1)
    >>> has_rows_for_all(table, 3).tolist()
    [False, True]
    """
    if n_features > MOST_FEATURES:
        return np.zeros(table.n_leaves, bool)
    return np.diff(table.begin) >= ROWS_PER_FEATURE * n_features


def number_leaves(table: LeafTable, leaf_matrix: np.ndarray) -> np.ndarray:
    """Numbers in the table of new rows' leaves (n, n_trees): (n, n_trees) int64."""
    numbers: np.ndarray = leaf_matrix + table.first[:-1]
    if table.fallback >= 0:
        empty = table.begin[numbers] == table.begin[numbers + 1]
        numbers[empty] = table.fallback
    return numbers


def fit_scaling(X: np.ndarray, table: LeafTable, n_jobs: int | None = None) -> LeafScaling:
    """Fit the scaling of every feature in every leaf."""
    shape = (table.n_leaves, X.shape[1])
    check_memory(16 * shape[0] * shape[1] + 12 * X.size, "the scaling of these leaves")
    centre, scale = np.zeros(shape), np.ones(shape)
    # Once sorted, a column's values fall into the leaves in their order, and no leaf is sorted.
    order = np.argsort(X, axis=0, kind="stable").T.astype(np.int32, order="C")  # NaN last
    present = (~np.isnan(X)).sum(axis=0)
    columns = np.ascontiguousarray(X.T)
    spans = [(int(table.first[t]), int(table.first[t + 1])) for t in range(table.n_trees)]
    if table.fallback >= 0:
        spans.append((table.fallback, table.fallback + 1))

    def work(span: tuple[int, int]) -> None:
        scale_tree(
            columns, order, present, table.rows, table.begin, span[0], span[1], centre, scale
        )
        advance(0.0)

    parallel_map(work, spans, n_jobs)
    return LeafScaling(centre, centre, scale)  # filled-in medians leave the median where it is
