"""A score against the time it takes: who is best for the seconds that you have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.board import BoardMethod, Score, Table
from gbuq_core.experiments.scoreboard.comparing import MeanError
from gbuq_core.presentation import seconds_text, short


class Timed(NamedTuple):
    """A method's mean score, and its median processor seconds of a split (`Table.seconds`).

    on_front : whether no other method is at least as good in no more time.
    """

    method: BoardMethod
    seconds: float
    score: MeanError
    on_front: bool


@dataclass(frozen=True, kw_only=True)
class Front:
    """The methods of a table on one set, quickest first."""

    table: str
    set: str
    score: Score
    points: tuple[Timed, ...]

    @property
    def best(self) -> tuple[Timed, ...]:
        """The Pareto front: each is better than all quicker ones."""
        return tuple(point for point in self.points if point.on_front)

    def within(self, seconds: float) -> Timed | None:
        """The best method among those that take at most so many seconds; None if none does."""
        affordable = [point for point in self.best if point.seconds <= seconds]
        return affordable[-1] if affordable else None

    @property
    def words(self) -> str:
        """The front in a sentence, for who cannot see the picture."""
        listed = "; ".join(
            f"{point.method.label} {short(point.score.mean)} in {seconds_text(point.seconds)}"
            for point in self.best
        )
        return (
            f"{self.score.label} on {self.set.replace('_', ' ')} against processor time. The best "
            f"for their time, quickest first: {listed}."
        )


def find_front(
    table: Table, score: str, set_key: str, methods: Sequence[str] | None = None
) -> Front:
    """Methods by time and score on one set.

    Parameters
    ----------
    table : Table
    score, set_key : str
    methods : sequence of str, optional
        All that have the score on the set without it.

    Raises
    ------
    InvalidParameter
        If neither low nor high values of the score are better, or something is unknown.

    Examples
    --------
    >>> from gbuq_core.experiments.scoreboard.board import read_board
    >>> front = find_front(read_board().table("ours"), "crps", "boston")
    >>> all(point in front.points for point in front.best)
    True
    """
    wanted = table.find_score(score)
    table.find_set(set_key)
    if wanted.higher is None:
        raise InvalidParameter(f"{wanted.label} has no best value: choose another score.")
    named = table.methods if methods is None else [table.find_method(key) for key in methods]
    timed = []
    for method in named:
        ours = table.ours(set_key, method.key, score)
        seconds = table.seconds(set_key, method.key)
        if ours is not None and seconds is not None:
            timed.append((method, seconds, ours))
    timed.sort(key=lambda each: each[1])
    times = np.array([seconds for _, seconds, _ in timed])
    values = np.array([ours.mean for _, _, ours in timed])
    front = on_front(times, -values if wanted.higher else values)
    points = tuple(Timed(*each, bool(is_on)) for each, is_on in zip(timed, front, strict=True))
    return Front(table=table.key, set=set_key, score=wanted, points=points)


def on_front(seconds: np.ndarray, losses: np.ndarray) -> np.ndarray:
    """Which points no other point beats: at most as long, at most as bad, and one of both less.

    Parameters
    ----------
    seconds, losses : ndarray of shape (n_points,)
        Lower is better in both.

    Returns
    -------
    ndarray of bool, shape (n_points,)

    Examples
    --------
    >>> on_front(np.array([1.0, 2.0, 3.0, 3.0]), np.array([5.0, 6.0, 4.0, 4.0])).tolist()
    [True, False, True, True]
    """
    no_more = (seconds[:, None] <= seconds) & (losses[:, None] <= losses)
    less = (seconds[:, None] < seconds) | (losses[:, None] < losses)
    return ~np.any(no_more & less, axis=0)
