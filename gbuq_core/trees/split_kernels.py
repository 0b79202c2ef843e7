"""Leaf numbers by replaying a tree's splits in order on blocks of rows.

Every row starts in one leaf. A split moves the rows of its leaf that go right into a new leaf:

    for each split, parents first:  leaf = new where (leaf == old) & (rank of x > rank of threshold)

Rows are compared many at a time and nothing is looked up, so a tree of 31 leaves costs less than
walking down five nodes a row. Features are ranks among the model's thresholds, mostly one byte.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

_BLOCK = 512  # rows whose leaf numbers and feature ranks stay in the first-level cache


class Replay(NamedTuple):
    """The splits of all trees, parents before children.

    begin (n_trees + 1,) int64: where a tree's splits begin; start (n_trees,) int32: the leaf all
    rows begin in; plane (n_splits,) int32: which row of ranks is compared; rank (n_splits,) int32:
    with what; old, new (n_splits,) int32: the leaf that is split and the one for rows going right.
    """

    begin: np.ndarray
    start: np.ndarray
    plane: np.ndarray
    rank: np.ndarray
    old: np.ndarray
    new: np.ndarray


@njit(nogil=True, cache=True)
def _visit(left, right, n_leaves, order):
    """Write the nodes of one tree to ``order``, parents first; False if they make no tree."""
    n_nodes = left.shape[0]
    node_seen = np.zeros(n_nodes, np.bool_)
    leaf_seen = np.zeros(n_leaves, np.bool_)
    stack = np.empty(n_nodes + 1, np.int64)
    stack[0], depth, n_visited = 0, 1, 0
    node_seen[0] = True
    while depth > 0:
        depth -= 1
        node = stack[depth]
        order[n_visited] = node
        n_visited += 1
        for child in (right[node], left[node]):
            if child >= 0:
                if child >= n_nodes or node_seen[child]:
                    return False
                node_seen[child] = True
                stack[depth] = child
                depth += 1
            else:
                if ~child >= n_leaves or leaf_seen[~child]:
                    return False
                leaf_seen[~child] = True
    return n_visited == n_nodes


@njit(nogil=True, cache=True)
def order_splits(left, right, begin, order, start, old, new):
    """Order the splits of all trees and name the leaf each of them splits.

    ``left``, ``right`` (n_splits,) int32: a child's place in its own tree, or ``~leaf``; ``begin``
    (n_trees + 1,) int64. A tree of m splits has m + 1 leaves. Writes ``order`` (n_splits,) int64
    (places in the whole arrays), ``start``, ``old`` and ``new`` as in `Replay`. The leaf that a
    split divides keeps the number of its leftmost leaf, so numbers end as they are in the model.
    Returns the first tree whose nodes do not make a tree, or -1.
    """
    for tree in range(begin.shape[0] - 1):
        low, high = begin[tree], begin[tree + 1]
        start[tree] = 0
        if high == low:
            continue
        mine = order[low:high]
        if not _visit(left[low:high], right[low:high], high - low + 1, mine):
            return tree
        leftmost = np.empty(high - low, np.int32)
        for place in range(high - low - 1, -1, -1):
            node = mine[place]
            child, other = left[low + node], right[low + node]
            leftmost[node] = ~child if child < 0 else leftmost[child]
            old[low + place] = leftmost[node]
            new[low + place] = ~other if other < 0 else leftmost[other]
        start[tree] = leftmost[0]
        for place in range(high - low):
            mine[place] += low
    return -1


@njit(nogil=True, cache=True)
def replay_splits(ranks, replay, first_tree, last_tree, first_row, last_row, out):
    """Write the leaves of rows ``first_row:last_row`` to ``out`` (n, last_tree - first_tree) int32.

    ``ranks`` (n_planes, n) C, uint8 or uint16; leaf numbers and ranks in ``replay`` must fit into
    its type.
    """
    n_trees = last_tree - first_tree
    block = np.empty((n_trees, _BLOCK), ranks.dtype)
    rank_type = ranks.dtype.type
    for low in range(first_row, last_row, _BLOCK):
        width = min(_BLOCK, last_row - low)
        for tree in range(first_tree, last_tree):
            leaf = block[tree - first_tree][:width]
            leaf[:] = replay.start[tree]
            for split in range(replay.begin[tree], replay.begin[tree + 1]):
                column = ranks[replay.plane[split]][low : low + width]
                rank = rank_type(replay.rank[split])
                old, new = rank_type(replay.old[split]), rank_type(replay.new[split])
                for j in range(width):
                    moves = (leaf[j] == old) & (column[j] > rank)
                    leaf[j] = new if moves else leaf[j]
        for begin in range(0, width, 16):  # a corner of the block at a time, so that both stay near
            end = min(begin + 16, width)
            for tree in range(n_trees):
                for j in range(begin, end):
                    out[low + j, tree] = block[tree, j]
