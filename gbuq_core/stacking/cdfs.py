"""The cdfs of a law's parts by kernels, and the tables that these read."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, stdtr

from gbuq_core.compilers import need_kernels
from gbuq_core.stacking.law_kernels import (
    FARTHEST,
    PER_STD,
    PER_UNIT,
    REACH,
    add_normals,
    add_students,
)

FloatArray = NDArray[np.float64]
Places = NDArray[np.int64]

# Degrees of freedom of clocks and process, exact to 3e-11 by tables; scipy knows all others.
_TABLED = np.array([2.2, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, 100.0])
_AS_NORMAL = 1e5


def normals_cdf(
    points: FloatArray, rows: Places, centres: FloatArray, std: FloatArray, shares: FloatArray
) -> FloatArray:
    """At points (n, m), times the shares of row ``rows[i]``: (n, m)."""
    need_kernels("laws")
    out = np.zeros(points.shape)
    below, density = _normal_table()
    law = _whole(centres), _whole(std), _whole(shares)
    add_normals(_whole(points), rows, law[0], law[1], law[2], below, density, out)
    return out


def students_cdf(
    points: FloatArray, rows: Places, loc: FloatArray, width: FloatArray, df: FloatArray,
    share: FloatArray,
) -> FloatArray:  # fmt: skip
    """The same of one Student t a row."""
    need_kernels("laws")
    out = np.zeros(points.shape)
    degrees = df[rows]
    which = np.minimum(np.searchsorted(_TABLED, degrees), len(_TABLED) - 1)
    which[_TABLED[which] != degrees] = -1
    if (which >= 0).any():
        with np.errstate(invalid="ignore"):
            scale = _whole(width * np.sqrt(df))
        tables = _student_tables()
        add_students(_whole(points), rows, _whole(loc), scale, _whole(share), which, tables, out)
    for known, cdf in ((degrees <= _AS_NORMAL, stdtr), (degrees > _AS_NORMAL, None)):
        mine = np.flatnonzero(known & (which < 0))
        if len(mine):
            own = rows[mine, None]
            z = (points[mine] - loc[own]) / width[own]
            out[mine] = share[own] * (ndtr(z) if cdf is None else cdf(df[own], z))
    return out


def _whole(values: FloatArray) -> FloatArray:
    """As kernels are compiled for: in one piece, and not for reading alone."""
    return np.require(values, np.float64, ["C", "W"])


@lru_cache(maxsize=1)
def _normal_table() -> tuple[FloatArray, FloatArray]:
    nodes = np.arange(-REACH * PER_STD, REACH * PER_STD + 1.0) / PER_STD
    return ndtr(nodes), np.exp(-0.5 * nodes * nodes) / math.sqrt(2.0 * math.pi)


@lru_cache(maxsize=1)
def _student_tables() -> FloatArray:
    """Taylor's coefficients (n_tables, n_nodes, 5) of the cdfs in arsinh(z / sqrt(df)).

    Their slopes are proportional to cosh^-df.
    """
    nodes = np.arange(-FARTHEST * PER_UNIT, FARTHEST * PER_UNIT + 1.0) / PER_UNIT
    s, df = np.tanh(nodes), _TABLED[:, None]
    log = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df) - 0.5 * math.log(math.pi)
    slope = np.exp(log - df * np.log(np.cosh(nodes)))
    second = df * ((df + 1.0) * s * s - 1.0)
    third = -df * s * second + 2.0 * df * (df + 1.0) * s * (1.0 - s * s)
    below = stdtr(df, np.sqrt(df) * np.sinh(nodes))
    each = [below, slope, -0.5 * df * s * slope, second * slope / 6.0, third * slope / 24.0]
    return np.stack(each, axis=2)


def warm_up() -> None:
    """Compile both kernels, or load them from the cache."""
    unit, rows = np.ones((1, 1)), np.zeros(1, np.int64)
    normals_cdf(unit, rows, unit, unit, unit)
    students_cdf(unit, rows, unit[0], unit[0], np.full(1, 4.0), unit[0])
