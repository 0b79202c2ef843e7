"""What the scores of a fit do not owe to the knob that moved: kept, within a bound, for the next.

A fit follows from its plan to the last bit, so that a plan tells what is kept apart; the oldest
use is forgotten first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

from gbuq_core.experiments.novelty.data import Array
from gbuq_core.macau.novelty import MeanNovelty
from gbuq_core.resources import Recent

T = TypeVar("T")

MOST_BYTES = 64_000_000  # of everything that is kept
MOST_CELLS = 1_000_000  # rows x trees whose distances are kept: 24 to 40 bytes each


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


_REUSE: Recent[Any] = Recent(most_bytes=MOST_BYTES)


def score_rows(plan: Hashable, where: Hashable, rows: Array, model: Any, isolation: Any) -> Scored:
    """Score rows, and work out only what is not held."""
    plain: tuple[tuple[Array, Array], float] = _REUSE.get(
        (plan, where), lambda: _timed(lambda: _plain(rows, model))
    )
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
