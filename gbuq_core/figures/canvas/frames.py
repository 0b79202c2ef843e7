"""Which stages of a growing model a player shows: most happens among the first trees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def log_spaced(counts: npt.ArrayLike, most: int) -> npt.NDArray[np.int64]:
    """Choose stages at even steps of the logarithm of their counts.

    >>> counts = np.arange(10, 1001, 10)
    >>> counts[log_spaced(counts, 8)].tolist()
    [10, 20, 40, 70, 140, 270, 520, 1000]
    """
    logs = np.log(np.asarray(counts, dtype=np.float64))
    if len(logs) < 3:
        return np.arange(len(logs))
    steps = np.linspace(logs[0], logs[-1], most)
    after = np.clip(np.searchsorted(logs, steps), 1, len(logs) - 1)
    before_is_nearer = steps - logs[after - 1] < logs[after] - steps
    return np.unique(np.where(before_is_nearer, after - 1, after))
