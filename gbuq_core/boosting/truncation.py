"""Which truncations of one model are the members of its virtual ensemble (eq. 15, figure 1)."""

from __future__ import annotations

import math

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.validation import check_number


def truncation_points(n_trees: int, truncation_step: int, truncation_start: float) -> np.ndarray:
    """Numbers of trees ``t = K, 2K, ...`` with ``truncation_start * n_trees < t <= n_trees``.

    Raises
    ------
    InvalidParameter
        If no multiple of the step lies in that range.

    Examples
    --------
    >>> truncation_points(1000, 50, 0.5)
    array([ 550,  600,  650,  700,  750,  800,  850,  900,  950, 1000])
    """
    step = check_number("truncation_step", truncation_step, 1, 100_000, integer=True)
    start = check_number("truncation_start", truncation_start, 0.0, 1.0)
    first = math.floor(start * n_trees / step + 1e-9) + 1
    points = np.arange(first, n_trees // step + 1) * step
    if len(points) == 0:
        raise InvalidParameter(
            f"truncation_step {step} gives no member between tree {start * n_trees:.0f} and tree "
            f"{n_trees}: choose a smaller step, an earlier start or more trees."
        )
    return points
