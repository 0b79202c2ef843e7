"""Slow, obvious twins of the affinity kernels and of walks through trees."""

import math

import numpy as np


def naive_affinities(train, query, trees=None):
    """IBUG algorithm 1: (n_queries, n_rows) from leaf numbers (rows, trees)."""
    chosen = range(train.shape[1]) if trees is None else trees
    counts = np.zeros((len(query), len(train)), int)
    for i in range(len(query)):
        for j in range(len(train)):
            counts[i, j] = sum(query[i, t] == train[j, t] for t in chosen)
    return counts


def naive_nearest(affinities, k):
    """Indices and affinities (n_queries, k), by affinity descending, then index ascending."""
    indices = []
    for row in affinities:
        ranked = sorted(range(len(row)), key=lambda j: (-row[j], j))
        indices.append(ranked[:k])
    indices = np.array(indices)
    return indices, np.take_along_axis(affinities, indices, axis=1)


def naive_density(train, query):
    """Per tree the mean over query rows of the share of training rows in their leaf."""
    return np.array(
        [
            np.mean([np.mean(train[:, t] == query[i, t]) for i in range(len(query))])
            for t in range(train.shape[1])
        ]
    )


def argsort_neighbours(train, row, k):
    """What NumPy users write: one comparison of the whole matrix and a full sort a query row."""
    return np.argsort(-(train == row).sum(axis=1), kind="stable")[:k]


def walk_histogram_tree(predictor, row):
    """The leaf's place among the leaves of one tree of HistGradientBoosting, by its nodes.

    Numeric splits only: ``row`` (n_features,) of floats, NaN where missing.
    """
    nodes = predictor.nodes
    at = 0
    while not nodes[at]["is_leaf"]:
        node = nodes[at]
        value = row[node["feature_idx"]]
        if node["is_categorical"]:
            bits = predictor.raw_left_cat_bitsets[node["bitset_idx"]]
            if math.isnan(value) or value < 0 or value >= 256:
                left = bool(node["missing_go_to_left"])
            else:
                left = bool(bits[int(value) // 32] >> (int(value) % 32) & 1)
        elif math.isnan(value):
            left = bool(node["missing_go_to_left"])
        else:
            left = value <= node["num_threshold"]
        at = node["left"] if left else node["right"]
    return int(nodes["is_leaf"][:at].sum())


def walk_numeric_trees(trees, row):
    """Leaf numbers of one row in `NumericTrees`, node by node, as LightGBM's sources have it."""
    leaves = []
    for tree in range(len(trees.begin) - 1):
        low, high = trees.begin[tree], trees.begin[tree + 1]
        at = 0 if high > low else ~0
        while at >= 0:
            value = row[trees.feature[low + at]]
            rule = trees.missing[low + at]
            if math.isnan(value) and rule != 2:
                value = 0.0
            missing = (rule == 1 and abs(value) <= 1e-35) or math.isnan(value)
            threshold = trees.threshold[low + at]
            below = value < threshold if trees.strict else value <= threshold
            left = trees.missing_left[low + at] if missing else below
            at = int((trees.left if left else trees.right)[low + at])
        leaves.append(~at)
    return np.array(leaves)
