"""What the scores of a fit do not owe to the knob that moved: kept, within a bound, for the next.

A fit follows from its plan to the last bit, so that a plan tells what is kept apart; the oldest
use is forgotten first.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from gbuq_core.experiments.novelty.data import Array
from gbuq_core.macau.novelty import MeanNovelty
from gbuq_core.resources import held_bytes

T = TypeVar("T")

MOST_BYTES = 64_000_000  # of everything that is kept
MOST_CELLS = 1_000_000  # rows x trees whose distances are kept: 24 to 40 bytes each


class Reuse:
    """Results by key, as many as ``most_bytes`` hold.

    Examples
    --------
    >>> import numpy as np
    >>> reuse = Reuse(most_bytes=1000)
    >>> [int(reuse.get(key, lambda: np.full(100, n))[0]) for n, key in enumerate("aabca")]
    [0, 0, 2, 3, 4]
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of that key, made only if it is not held."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                kept: T = self._held[key][0]
                return kept
        made = make()  # two sessions may both make it: neither waits for the other
        with self._lock:
            self._held[key] = made, held_bytes(made)
            self._held.move_to_end(key)
            while sum(size for _, size in self._held.values()) > self._most:
                self._held.popitem(last=False)
        return made


class Scored(NamedTuple):
    """Scores of rows but for their distance to others, and the seconds that they took.

    novelty : MeanNovelty; knowledge, data, isolation : (n,) each;
    macau_seconds, isolation_seconds : float
    """

    novelty: MeanNovelty
    knowledge: Array
    data: Array
    isolation: Array
    macau_seconds: float
    isolation_seconds: float


_REUSE = Reuse()


def score_rows(plan: Hashable, where: Hashable, rows: Array, model: Any, isolation: Any) -> Scored:
    """Score rows, and work out only what is not held.

    Parameters
    ----------
    plan : hashable
        Of the fit.
    where : hashable
        What tells these rows from other rows of the same fit.
    rows : ndarray of shape (n_rows, n_features)
    model : MacauClassifier or MacauRegressor
        With the tail that is wanted.
    isolation : IsolationForestScore
    """
    plain = _REUSE.get((plan, where), lambda: _timed(lambda: _plain(rows, model)))
    isolated = _REUSE.get(
        (plan, where, "isolation"), lambda: _timed(lambda: isolation.score_novelty(rows))
    )
    novelty = _REUSE.get(
        (plan, where, model.tail), lambda: _timed(lambda: _novelty(plan, where, rows, model))
    )
    return Scored(novelty[0], *plain[0], isolated[0], novelty[1] + plain[1], isolated[1])


def _plain(rows: Array, model: Any) -> tuple[Array, Array]:
    uncertain = model.predict_uncertainty(rows)
    return uncertain.knowledge, uncertain.data


def _novelty(plan: Hashable, where: Hashable, rows: Array, model: Any) -> MeanNovelty:
    """The means of `score_novelty`; of distances that are held where they are few enough."""
    if len(rows) * model.forest_.n_trees > MOST_CELLS:
        return MeanNovelty(*model.score_novelty(rows)[:3])
    measured = _REUSE.get((plan, where, "measured"), lambda: model.measure_novelty(rows))
    return MeanNovelty(*model.mean_novelty(measured))


def _timed(make: Callable[[], T]) -> tuple[T, float]:
    began = time.perf_counter()
    made = make()
    return made, time.perf_counter() - began
