"""The cdfs of a law's parts, from tables of the standard normal and of Student's t."""

from __future__ import annotations

import numpy as np
from numba import njit

from gbuq_core.compiling import lean

REACH = 9.0  # stds; beyond it a normal's cdf is 0 or 1 to 1e-19
PER_STD = 64.0  # nodes of its table a std
FARTHEST = 12.0  # of a t's arsinh(z / sqrt(df)); z = 81,000 sqrt(df)
PER_UNIT = 256.0  # nodes of its table


# Sums may be in the order that suits the processor: it depends on their length alone.
@lean
@njit(nogil=True, cache=True, fastmath={"reassoc"})
def add_normals(points, rows, centres, std, shares, below, density, out):
    """Add to ``out`` (n, m) the cdf of the normals of row ``rows[i]`` at ``points[i]``.

    ``points`` (n, m) float64, ``rows`` (n,) int64; ``centres``, ``std`` and ``shares``
    (n_rows, k) float64; ``below`` and ``density`` (n_nodes,) float64 are those of a standard normal
    at the nodes. All C. Taylor's series about the nearest node, exact to 2e-15.
    """
    n, m = points.shape
    half = REACH * PER_STD + 0.5
    for i in range(n):
        centre, scale, share = centres[rows[i]], 1.0 / std[rows[i]], shares[rows[i]]
        for k in range(m):
            x, total = points[i, k], 0.0
            for j in range(centre.shape[0]):
                z = (x - centre[j]) * scale[j]
                z = z if z > -REACH else -REACH  # NaN too: it must find a node
                z = z if z < REACH else REACH
                node = np.uint64(np.int64(z * PER_STD + half))
                a = np.float64(node) * (1.0 / PER_STD) - REACH
                d, square = z - a, a * a
                fifth = (3.0 + square * (square - 6.0)) * (1.0 / 120.0)
                rest = a * (3.0 - square) * (1.0 / 24.0) + d * fifth
                rest = (square - 1.0) * (1.0 / 6.0) + d * rest
                rise = d * (1.0 + d * (d * rest - 0.5 * a))
                total += share[j] * (below[node] + density[node] * rise)
            out[i, k] += total if x == x else np.nan


@lean
@njit(nogil=True, cache=True)
def add_students(points, rows, loc, width, share, which, tables, out):
    """Add to ``out`` (n, m) the cdf of the Student t of row ``rows[i]`` at ``points[i]``.

    ``points`` (n, m) float64, ``rows`` (n,) int64; ``loc``, ``width`` (the t's own scale times
    sqrt(df)) and ``share`` (n_rows,) float64; ``which`` (n,) int64: the table of each row, -1 for
    none; ``tables`` (n_tables, n_nodes, 5) float64: Taylor's coefficients in arsinh(z / sqrt(df)).
    All C.
    """
    n, m = points.shape
    for i in range(n):
        if which[i] < 0:
            continue
        centre, weight = loc[rows[i]], share[rows[i]]
        scale = 1.0 / width[rows[i]]
        table = tables[which[i]]
        for k in range(m):
            x = points[i, k]
            z = np.arcsinh((x - centre) * scale)
            z = z if z > -FARTHEST else -FARTHEST
            z = z if z < FARTHEST else FARTHEST
            node = np.uint64(np.int64((z + FARTHEST) * PER_UNIT + 0.5))
            d = z + FARTHEST - np.float64(node) / PER_UNIT
            a = table[node]
            probability = a[0] + d * (a[1] + d * (a[2] + d * (a[3] + d * a[4])))
            out[i, k] += weight * probability if x == x else np.nan
