"""Which features a random forest asks about on the way to each of its leaves.

MACAU fits a leaf's model on these features alone (Merilinna, 2023, section 3.1.1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.array_checks import begins
from gbuq_core.errors import InvalidParameter
from gbuq_core.trees.importers.lightgbm_source import LightGBMSource
from gbuq_core.trees.importers.plain_source import PlainSource
from gbuq_core.trees.importers.replaying import NumericTrees
from gbuq_core.trees.importers.sklearn_source import ForestSource
from gbuq_core.trees.importers.source import LeafSource


class LeafPaths(NamedTuple):
    """The features on each leaf's path, leaves of all trees one after the other."""

    begin: np.ndarray  # (n_leaves + 1,) int64
    # (begin[-1],) int32: of leaf g `features[begin[g]:begin[g + 1]]`, ascending, each once
    features: np.ndarray


class _Nodes(NamedTuple):
    """Splits of all trees numbered through: feature, parent (-1 at a root), and leaves' parents."""

    feature: np.ndarray
    parent: np.ndarray
    leaf_parent: np.ndarray


def leaf_paths(source: LeafSource) -> LeafPaths:
    """Collect the features on the path to every leaf of a random forest."""
    if isinstance(source, LightGBMSource):
        if not source.averages:
            raise _no_forest("this LightGBM model adds its trees up (boosting)")
        _refuse_categories(source.has_categories)
        n_splits = int((source.leaf_counts - 1).sum())  # those of trees that count
        nodes = _lightgbm_nodes(source.trees, n_splits, len(source.leaf_counts))
    elif isinstance(source, PlainSource) and source.is_forest:
        _refuse_categories(source.has_categories)
        trees = source.plain.trees
        nodes = _lightgbm_nodes(trees, len(trees.left), source.n_trees)
    elif isinstance(source, ForestSource) and _is_sklearn_forest(source):
        nodes = _sklearn_nodes(source)
    else:
        raise _no_forest(f"a {type(source.model).__name__} is none")
    return _climb(nodes, source.n_features)


def _no_forest(why: str) -> InvalidParameter:
    return InvalidParameter(
        f"The leaves must be those of a random forest, and {why}: pass LightGBM fitted with "
        'boosting_type="rf", or scikit-learn\'s RandomForest or ExtraTrees.'
    )


def _refuse_categories(has_categories: bool) -> None:
    if has_categories:
        raise InvalidParameter(
            "The forest splits by categories, which a linear leaf model cannot take as numbers: "
            "fit it on numeric columns, without categorical_feature."
        )


def _is_sklearn_forest(source: ForestSource) -> bool:
    from sklearn import ensemble

    forests = (
        ensemble.RandomForestRegressor,
        ensemble.RandomForestClassifier,
        ensemble.ExtraTreesRegressor,
        ensemble.ExtraTreesClassifier,
    )
    return isinstance(source.model, forests)


def _lightgbm_nodes(trees: NumericTrees, n_splits: int, n_trees: int) -> _Nodes:
    """LightGBM's splits; a child is a split of its own tree, or ``~leaf``."""
    begin = trees.begin[: n_trees + 1]
    counts = np.diff(begin)
    first_leaf = begins(counts + 1)
    split = np.arange(n_splits)
    tree = np.repeat(np.arange(n_trees), counts)
    parent = np.full(n_splits, -1, np.int64)
    leaf_parent = np.full(int(first_leaf[-1]), -1, np.int64)
    for children in (
        trees.left[:n_splits].astype(np.int64),
        trees.right[:n_splits].astype(np.int64),
    ):
        inner = children >= 0
        parent[begin[tree[inner]] + children[inner]] = split[inner]
        leaf_parent[first_leaf[tree[~inner]] + ~children[~inner]] = split[~inner]
    return _Nodes(trees.feature[:n_splits], parent, leaf_parent)


def _sklearn_nodes(source: ForestSource) -> _Nodes:
    """scikit-learn's nodes, leaves among them; leaves are counted in the order of the nodes."""
    features, parents, leaf_parents = [], [], []
    first = 0
    for tree in source.trees:
        parent = np.full(tree.node_count, -1, np.int64)
        inner = np.flatnonzero(tree.children_left >= 0)
        parent[tree.children_left[inner]] = first + inner
        parent[tree.children_right[inner]] = first + inner
        features.append(tree.feature)
        parents.append(parent)
        leaf_parents.append(parent[tree.children_left < 0])
        first += tree.node_count
    return _Nodes(*(np.concatenate(part) for part in (features, parents, leaf_parents)))


def _climb(nodes: _Nodes, n_features: int) -> LeafPaths:
    """Walk up from all leaves at once, one level a step, and sort out what was met twice."""
    leaf = np.flatnonzero(nodes.leaf_parent >= 0)
    node = nodes.leaf_parent[leaf]
    visits = []
    while len(leaf):
        visits.append(leaf * n_features + nodes.feature[node])
        node = nodes.parent[node]
        leaf, node = leaf[node >= 0], node[node >= 0]
    codes = np.unique(np.concatenate(visits)) if visits else np.empty(0, np.int64)
    n_leaves = len(nodes.leaf_parent)
    begin = np.searchsorted(codes, np.arange(n_leaves + 1) * n_features)
    return LeafPaths(begin.astype(np.int64), (codes % n_features).astype(np.int32))
