"""Which steps of a chain count as samples, and how many of them each mode has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gbuq_core.sampling.chains import Chains

# A mode counts as visited from this many kept samples on.
VISIT_SAMPLES = 50


def count_steps(chains: Chains, chain: int) -> NDArray[np.bool_]:
    """Which steps of one chain count as samples: kept ones before it ran off; (n_steps,)."""
    counted = chains.kept.copy()
    if chains.stopped_at[chain] >= 0:
        counted[chains.stopped_at[chain] :] = False
    return counted


def count_visits(
    labels: NDArray[np.int16], kept: NDArray[np.bool_], n_modes: int
) -> NDArray[np.int64]:
    """Kept samples in each mode, (n_chains, n_modes), of labels (n_chains, n_steps)."""
    return np.array([np.bincount(row[kept] + 1, minlength=n_modes + 1)[1:] for row in labels])
