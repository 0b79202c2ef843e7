"""Calls of LightGBM that several threads may make at the same time.

LightGBM keeps its number of threads in one variable of the process. A call with another number
changes it for those that are under way, whose buffers have room for the number they began with: the
process may end. So calls at the same time share one number. Results do not depend on it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from gbuq_core.resources import effective_n_jobs

_LOCK = threading.Lock()
_IN_USE = {"calls": 0, "threads": 1}


@contextmanager
def shared_threads(n_jobs: int | None = None) -> Iterator[int]:
    """Threads for calls of LightGBM inside: those of the calls under way, or else ``n_jobs``."""
    wanted = effective_n_jobs(n_jobs)
    with _LOCK:
        if _IN_USE["calls"] == 0:
            _IN_USE["threads"] = wanted
        _IN_USE["calls"] += 1
        number = _IN_USE["threads"]
    try:
        yield number
    finally:
        with _LOCK:
            _IN_USE["calls"] -= 1


def predict_booster(booster: Any, X: Any, n_jobs: int | None = None, **options: Any) -> np.ndarray:
    """``booster.predict(X, **options)`` as an array."""
    with shared_threads(n_jobs) as number:
        return np.asarray(booster.predict(X, num_threads=number, **options))
