"""Seeds and normals of the synthetic sets. A larger set only appends rows.

Each row uses one line of uniforms; quantiles turn them into normals. A generator that rejects draws
would shift all rows after a rejected one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from gbuq_core.errors import InvalidParameter

MAX_ROWS = 10_000_000


def generator_of(random_state: Any) -> np.random.Generator:
    """A numpy Generator from anything that numpy accepts as a seed."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidParameter(
            "random_state must be None, a whole number of at least 0 or a numpy generator; "
            f"got {random_state!r}."
        ) from None


def normals_from(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard normals from uniforms on [0, 1), in their shape.

    >>> normals_from(np.array([0.0, 0.5])).round(1)
    array([-37.5,   0. ])
    """
    return ndtri(np.maximum(uniforms, np.finfo(np.float64).tiny))
