"""Compile, or load from the cache, the kernels of a stacked law."""

from __future__ import annotations

import numpy as np

from gbuq_core.stacking.cdfs import normals_cdf, students_cdf


def warm_up() -> None:
    """The cdfs of one row."""
    one, rows = np.ones((1, 1)), np.zeros(1, np.int64)
    normals_cdf(one, rows, one, one[0], one)
    students_cdf(one, rows, one[0], one[0], np.full(1, 4.0), one[0])
