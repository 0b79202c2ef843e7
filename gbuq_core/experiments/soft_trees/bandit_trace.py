"""What a policy of the bandit saw and drew, step by step: the functions behind each pull.

A run of thousands of steps draws far more functions than a picture can show. They are kept at the
steps of a ladder, dense at the beginning, where most is learned.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TRACE_PLACES = 81  # contexts at which a function is kept
_DENSE, _GROWTH, _LAST = 30, 1.08, 20_000
_ENDS = (200, 500, 1000, 2000, 5000, 10_000)  # of runs: whatever its length, the last step is kept


def _ladder() -> tuple[int, ...]:
    steps = list(range(1, _DENSE + 1))
    while steps[-1] < _LAST:
        steps.append(min(_LAST, round(_GROWTH * steps[-1])))
    return tuple(sorted({*steps, *_ENDS}))


TRACE_STEPS = _ladder()


@dataclass(frozen=True, kw_only=True)
class BanditTrace:
    """The pulls of the first repetition, and what led to them; less than a megabyte."""

    steps: NDArray[np.int64]  # the steps at which functions are kept, from 1
    x: Array  # contexts
    # The function of each arm that was drawn at the step; NaN before the first fit. Without any
    # place (g = 0) for a policy that draws none.
    functions: NDArray[np.float32]
    # its value in the context of the step, by which the arm was chosen; NaN before the first fit
    drawn: Array
    rewards: Array  # (n_steps,): what the pulled arm paid at every step, its noise included


class DrawnArm(Protocol):
    """A model whose last draw can be looked at."""

    def last_functions(self, contexts: Array, which: NDArray[np.int64]) -> Array:
        """The functions of some of the last draws, (len(which), m), at contexts (m,)."""
        ...


class Recorder:
    """Keeps what is drawn at the steps of the ladder, while a policy plays."""

    def __init__(self, n_steps: int, n_arms: int, draws: bool) -> None:
        self._at = trace_steps(n_steps) - 1
        self._x = np.linspace(-1.0, 1.0, TRACE_PLACES if draws else 0)
        self._drawn = np.full((len(self._at), n_arms), np.nan)
        shape = (len(self._at), n_arms, len(self._x))
        self._functions = np.full(shape, np.nan, dtype=np.float32)

    def note(self, arms: Sequence[DrawnArm], first: int, drawn: Array) -> None:
        """Keep what arms have just drawn for the contexts of steps from ``first`` on."""
        inside = np.flatnonzero((self._at >= first) & (self._at < first + len(drawn)))
        which = self._at[inside] - first
        self._drawn[inside] = drawn[which]
        if not len(which) or not len(self._x):
            return
        for number, arm in enumerate(arms):
            self._functions[inside, number] = arm.last_functions(self._x, which)

    def trace(self, rewards: Array) -> BanditTrace:
        """What was kept, with the rewards (n_steps,) that were paid."""
        return BanditTrace(
            steps=self._at + 1,
            x=self._x,
            functions=self._functions,
            drawn=self._drawn,
            rewards=rewards,
        )


def trace_steps(n_steps: int) -> NDArray[np.int64]:
    """The steps of a run at which drawn functions are kept: its last one is among them."""
    return np.array([*(step for step in TRACE_STEPS if step < n_steps), n_steps], dtype=np.int64)
