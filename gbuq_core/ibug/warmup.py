"""Compile, or load from the cache, the kernels that a first search for neighbours needs."""

from __future__ import annotations

import numpy as np

from gbuq_core.ibug.affinity import count_affinities, nearest, pack_leaves


def warm_up() -> None:
    """Search among three rows, so that no user waits for a compiler."""
    leaves = np.array([[0, 0], [0, 1], [1, 1]])
    train = pack_leaves(leaves)
    nearest(train, leaves, k=2)
    count_affinities(train, leaves)
