"""scikit-learn's trees as plain arrays and back: one array a field of the nodes of all trees.

The trees are scikit-learn's own again, so they predict the same, bit for bit. Its code trusts the
nodes of a tree, so a child, a feature or a leaf that does not exist is refused here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gbuq_core.model_files.contents import Arrays, check_places, require, take

_OF_CATEGORIES = ("is_categorical", "bitset_idx")  # fields of nodes, all 0 where none are split by
NO_TREE = "the nodes of a tree do not make a tree"


def store_trees(trees: Sequence[Any]) -> Arrays:
    """The arrays of trees (`sklearn.tree._tree.Tree`) of one output, of one value or of classes."""
    states = [tree.__getstate__() for tree in trees]
    arrays = store_nodes([state["nodes"] for state in states])
    arrays["tree_value"] = np.concatenate([state["values"].ravel() for state in states])
    arrays["tree_n_features"] = np.array([tree.n_features for tree in trees], np.int64)
    arrays["tree_n_values"] = np.array([state["values"].shape[2] for state in states], np.int64)
    return arrays


def read_trees(arrays: Arrays) -> list[Any]:
    """The trees that `store_trees` has stored."""
    from sklearn.tree._tree import Tree

    n_features = take(arrays, "tree_n_features", np.int64, (None,))
    n_values = take(arrays, "tree_n_values", np.int64, (None,))
    possible = (n_features >= 1) & (n_features < 2**31) & (n_values >= 1) & (n_values < 2**16)
    require(possible.all(), NO_TREE)
    dtype = Tree(1, np.ones(1, np.intp), 1).__getstate__()["nodes"].dtype
    names = ("left_child", "right_child", "feature")
    sizes, columns = read_columns(arrays, _stored_types(dtype), "tree_", names, n_features)
    require((columns["n_node_samples"] >= 0).all(), "a node has less than no rows")
    values = take(arrays, "tree_value", np.float64, (int((sizes * n_values).sum()),))
    parts = np.split(_structured(columns, dtype), np.cumsum(sizes)[:-1])
    of_leaves = np.split(values, np.cumsum(sizes * n_values)[:-1])
    trees = []
    for nodes, own, width, n_columns in zip(parts, of_leaves, n_values, n_features, strict=True):
        tree = Tree(n_columns, np.array([width], np.intp), 1)
        state = {
            "max_depth": 0,
            "node_count": len(nodes),
            "nodes": nodes.copy(),
            "values": own.reshape(-1, 1, width).copy(),
        }
        tree.__setstate__(state)
        tree.max_depth = int(tree.compute_node_depths().max()) - 1
        trees.append(tree)
    return trees


def store_nodes(nodes: Sequence[Any]) -> Arrays:
    """The arrays of the nodes of trees, none of which splits by categories."""
    return join_columns(nodes, _stored_types(nodes[0].dtype), "tree_")


def read_predictors(arrays: Arrays, n_features: int) -> list[Any]:
    """HistGradientBoosting's trees, whose nodes `store_nodes` has stored."""
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    fields, names = _stored_types(PREDICTOR_RECORD_DTYPE), ("left", "right", "feature_idx")
    sizes, columns = read_columns(arrays, fields, "tree_", names, n_features, "is_leaf")
    for name in ("count", "left", "right", "depth"):
        check_places(columns[name], 2**32, "a node of a tree")
    parts = np.split(_structured(columns, PREDICTOR_RECORD_DTYPE), np.cumsum(sizes)[:-1])
    bits = np.zeros((0, 8), np.uint32)
    return [TreePredictor(nodes.copy(), bits.copy(), bits.copy()) for nodes in parts]


def join_columns(trees: Sequence[Any], fields: Mapping[str, Any], prefix: str = "") -> Arrays:
    """One array a field of the nodes of all trees, and how many nodes each has."""
    arrays = {
        prefix + name: np.concatenate([np.asarray(tree[name], kind) for tree in trees])
        for name, kind in fields.items()
    }
    some = next(iter(fields))
    arrays[f"{prefix}sizes"] = np.array([len(tree[some]) for tree in trees], np.int64)
    return arrays


def read_columns(
    arrays: Arrays,
    fields: Mapping[str, Any],
    prefix: str,
    names: tuple[str, str, str],
    n_features: Any,
    leaves: str = "",
) -> tuple[np.ndarray, Arrays]:
    """How many nodes each tree has, and what `join_columns` has joined, checked.

    ``names`` are those of the children and of the feature, ``n_features`` is a number or one for
    each tree. A leaf's children are -1, or the column ``leaves`` says that it is one. Nodes are
    each the child of one earlier node of their tree.
    """
    sizes = take(arrays, f"{prefix}sizes", np.int64, (None,))
    n_nodes = len(arrays[prefix + names[0]])
    possible = len(sizes) >= 1 and (sizes >= 1).all() and (sizes <= n_nodes).all()
    require(possible and int(sizes.sum()) == n_nodes, "a tree has no nodes")
    has_all = {prefix + name for name in fields} <= set(arrays)
    require(has_all, "this scikit-learn keeps the nodes of trees in another way")
    columns = {name: take(arrays, prefix + name, kind, (n_nodes,)) for name, kind in fields.items()}
    left, right, feature = (columns[name] for name in names)
    is_leaf = columns[leaves] == 1 if leaves else left < 0
    if leaves:
        require((columns[leaves] <= 1).all(), NO_TREE)
    else:
        require((left[is_leaf] == -1).all() and (right[is_leaf] == -1).all(), NO_TREE)
    begin, size, most = (
        np.repeat(np.broadcast_to(part, sizes.shape), sizes)
        for part in (np.cumsum(sizes) - sizes, sizes, n_features)
    )
    inner = np.flatnonzero(~is_leaf)
    known = (feature[inner] >= 0) & (feature[inner] < most[inner])
    require(known.all(), "a tree splits by no feature")
    is_child = np.zeros(n_nodes, np.int64)
    for children in (left[inner], right[inner]):
        after = (children > inner - begin[inner]) & (children < size[inner])
        require(after.all(), NO_TREE)
        np.add.at(is_child, begin[inner] + children, 1)
    require((is_child == (np.arange(n_nodes) != begin)).all(), NO_TREE)
    return sizes, columns


def _stored_types(dtype: np.dtype[Any]) -> dict[str, Any]:
    """In which types the fields of scikit-learn's nodes are stored, whatever its version has."""
    wide = {"f": np.float64, "i": np.int64, "u": np.int64}
    return {
        name: np.uint8 if dtype[name].itemsize == 1 else wide[dtype[name].kind]
        for name in dtype.names or ()
        if name not in _OF_CATEGORIES
    }


def _structured(columns: Arrays, dtype: np.dtype[Any]) -> np.ndarray:
    nodes = np.zeros(len(next(iter(columns.values()))), dtype)
    for name, column in columns.items():
        nodes[name] = column
    return nodes
