"""scikit-learn's trees as plain arrays and back: one array a field of the nodes of all trees.

The trees are scikit-learn's own again, so they predict the same, bit for bit. Its code trusts the
nodes of a tree, so a child, a feature or a leaf that does not exist is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.model_files.archive import damaged
from gbuq_core.model_files.contents import require, take

_FIELDS = {
    "left_child": np.int64, "right_child": np.int64, "feature": np.int64, "threshold": np.float64,
    "impurity": np.float64, "n_node_samples": np.int64, "weighted_n_node_samples": np.float64,
    "missing_go_to_left": np.uint8,
}  # fmt: skip
_HISTOGRAM_FIELDS = {
    "value": np.float64, "count": np.int64, "feature_idx": np.int64, "num_threshold": np.float64,
    "missing_go_to_left": np.uint8, "left": np.int64, "right": np.int64, "gain": np.float64,
    "depth": np.int64, "is_leaf": np.uint8, "bin_threshold": np.uint8,
}  # fmt: skip
NO_TREE = "the nodes of a tree do not make a tree"


def store_trees(trees: Sequence[Any]) -> dict[str, np.ndarray]:
    """The arrays of fitted trees (``tree_`` of ``DecisionTreeRegressor`` and the like).

    Each has one output, of one value or of one for each class.

    >>> from sklearn.tree import DecisionTreeRegressor
    >>> tree = DecisionTreeRegressor().fit([[0.0], [1.0]], [0.0, 5.0]).tree_
    >>> arrays = store_trees([tree])
    >>> arrays["tree_feature"].tolist(), arrays["tree_value"].tolist()
    ([0, -2, -2], [2.5, 0.0, 5.0])
    >>> read_trees(arrays)[0].predict(np.ones((1, 1), np.float32))
    array([[5.]])
    """
    states = [tree.__getstate__() for tree in trees]
    arrays = join_columns([state["nodes"] for state in states], _FIELDS, "tree_")
    arrays["tree_value"] = np.concatenate([state["values"].ravel() for state in states])
    arrays["tree_n_features"] = np.array([tree.n_features for tree in trees], np.int64)
    arrays["tree_n_values"] = np.array([state["values"].shape[2] for state in states], np.int64)
    return arrays


def read_trees(arrays: Mapping[str, np.ndarray]) -> list[Any]:
    """The trees (``sklearn.tree._tree.Tree``) that `store_trees` has stored."""
    from sklearn.tree._tree import Tree

    nodes = read_columns(arrays, _FIELDS, "tree_", ("left_child", "right_child", "feature"))
    sizes, columns = nodes.sizes, nodes.columns
    n_features, n_values = (
        take(arrays, f"tree_n_{name}", np.int64, (len(sizes),)) for name in ("features", "values")
    )
    possible = (n_features >= 1) & (n_features < 2**31) & (n_values >= 1) & (n_values < 2**16)
    require(possible.all(), NO_TREE)
    values = take(arrays, "tree_value", np.float64, (int((sizes * n_values).sum()),))
    nodes.check_features(np.repeat(n_features, sizes)[~nodes.is_leaf])
    require((columns["n_node_samples"] >= 0).all(), "a node has less than no rows")
    dtype = Tree(1, np.ones(1, np.intp), 1).__getstate__()["nodes"].dtype
    if set(dtype.names) != set(_FIELDS):
        raise _other_version()
    rows = _structured(columns, dtype)
    trees, first, first_value = [], 0, 0
    for size, width, n_columns in zip(
        *map(np.ndarray.tolist, (sizes, n_values, n_features)), strict=True
    ):
        here, own = slice(first, first + size), slice(first_value, first_value + size * width)
        tree = Tree(n_columns, np.array([width], np.intp), 1)
        state = {
            "max_depth": _depth(nodes.left[here], nodes.right[here]), "node_count": size,
            "nodes": rows[here].copy(), "values": values[own].reshape(size, 1, width).copy(),
        }  # fmt: skip
        tree.__setstate__(state)
        trees.append(tree)
        first, first_value = here.stop, own.stop
    return trees


def store_predictors(predictors: Sequence[Any]) -> dict[str, np.ndarray]:
    """The arrays of HistGradientBoosting's trees, none of which splits by categories."""
    return join_columns([predictor.nodes for predictor in predictors], _HISTOGRAM_FIELDS, "tree_")


def read_predictors(arrays: Mapping[str, np.ndarray], n_features: int) -> list[Any]:
    """The trees that `store_predictors` has stored, as scikit-learn's own."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    nodes = read_columns(
        arrays, _HISTOGRAM_FIELDS, "tree_", ("left", "right", "feature_idx"), "is_leaf"
    )
    sizes, columns = nodes.sizes, nodes.columns
    nodes.check_features(n_features)
    for name in ("count", "left", "right", "depth"):
        kept = columns[name]
        require(((kept >= 0) & (kept < 2**32)).all(), NO_TREE)
    if set(PREDICTOR_RECORD_DTYPE.names) != {*_HISTOGRAM_FIELDS, "is_categorical", "bitset_idx"}:
        raise _other_version()
    rows = _structured(columns, PREDICTOR_RECORD_DTYPE)
    bits = np.zeros((0, 8), np.uint32)
    return [
        TreePredictor(rows[first : first + size].copy(), bits.copy(), bits.copy())
        for first, size in zip(np.cumsum(sizes) - sizes, sizes, strict=True)
    ]


def join_columns(
    trees: Sequence[Any], fields: Mapping[str, Any], prefix: str = ""
) -> dict[str, np.ndarray]:
    """One array a field of the nodes of all trees, and how many nodes each has."""
    arrays = {
        prefix + name: np.concatenate([np.asarray(tree[name], kind) for tree in trees])
        for name, kind in fields.items()
    }
    some = next(iter(fields))
    arrays[f"{prefix}sizes"] = np.array([len(tree[some]) for tree in trees], np.int64)
    return arrays


class Nodes(NamedTuple):
    """Nodes of trees one after the other, each the child of one earlier node of its tree."""

    sizes: np.ndarray  # (n_trees,) of each tree
    columns: Mapping[str, np.ndarray]  # (n_nodes,) each, as are the others
    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    is_leaf: np.ndarray

    def check_features(self, n_features: Any) -> None:
        """Refuse splits by features that do not exist."""
        feature = self.feature[~self.is_leaf]
        require(((feature >= 0) & (feature < n_features)).all(), "a tree splits by no feature")


def read_columns(
    arrays: Mapping[str, np.ndarray],
    fields: Mapping[str, Any],
    prefix: str,
    names: tuple[str, str, str],
    leaves: str = "",
) -> Nodes:
    """What `join_columns` has joined, checked: the children and the feature have these names.

    A leaf's children are -1, or it has a column that says that it is one.
    """
    sizes = take(arrays, f"{prefix}sizes", np.int64, (None,))
    n_nodes = len(arrays[prefix + names[0]])
    possible = len(sizes) >= 1 and (sizes >= 1).all() and (sizes <= n_nodes).all()
    require(possible and int(sizes.sum()) == n_nodes, "a tree has no nodes")
    columns = {name: take(arrays, prefix + name, kind, (n_nodes,)) for name, kind in fields.items()}
    left, right, feature = (columns[name] for name in names)
    is_leaf = columns[leaves] == 1 if leaves else left < 0
    if leaves:
        require((columns[leaves] <= 1).all(), NO_TREE)
    else:
        require((left[is_leaf] == -1).all() and (right[is_leaf] == -1).all(), NO_TREE)
    first, size = (np.repeat(part, sizes) for part in (np.cumsum(sizes) - sizes, sizes))
    inner = np.flatnonzero(~is_leaf)
    is_child = np.zeros(n_nodes, np.int64)
    for children in (left[inner], right[inner]):
        after = (children > inner - first[inner]) & (children < size[inner])
        require(after.all(), NO_TREE)
        np.add.at(is_child, first[inner] + children, 1)
    roots = np.arange(n_nodes) == first
    require((is_child == np.where(roots, 0, 1)).all(), NO_TREE)
    return Nodes(sizes, columns, left, right, feature, is_leaf)


def _structured(columns: Mapping[str, np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
    some = next(iter(columns.values()))
    nodes = np.zeros(len(some), dtype)
    for name, column in columns.items():
        nodes[name] = column
    return nodes


def _depth(left: np.ndarray, right: np.ndarray) -> int:
    depth = np.zeros(len(left), np.int64)
    for node in np.flatnonzero(left >= 0):  # parents come before their children
        depth[left[node]] = depth[right[node]] = depth[node] + 1
    return int(depth.max())


def _other_version() -> Exception:
    return damaged("this scikit-learn keeps the nodes of trees in another way")
