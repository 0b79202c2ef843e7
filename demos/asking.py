"""What a step of a lesson asks, and how a reader's guess is compared with the computed answer.

A question is answered by choosing an option, brushing a range of an axis or drawing a curve. Which
option is right follows from numbers of the run, by one of two rules (`Largest`, `Between`). What a
reader answered is kept as a short code, a token a step: ``b`` for the second option, ``12-30`` for
a brushed part of the axis in percent, 17 letters for a drawn curve.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.guess import LETTERS, PLACES, GuessChart
from gbuq_core.presentation import short

_OPTIONS = "abcdefgh"
_SHARED, _PARTLY = 0.7, 0.3  # of two ranges together, what both hold
_SEPARATOR = "."  # of the steps in a code; no token holds one


class Largest(NamedTuple):
    """The option with the largest value is right.

    >>> Largest((0.5, 0.9)).index, Largest((0.9, 0.5)).index
    (1, 0)
    """

    values: tuple[float, ...]

    @property
    def index(self) -> int:
        """Of the right option."""
        return int(np.argmax(self.values))


class Between(NamedTuple):
    """Options follow each other like ranges of a value; ``cuts`` are where one ends.

    >>> [Between(value, (1.0, 7.0)).index for value in (0.5, 1.0, 6.9, 23.0)]
    [0, 1, 1, 2]
    """

    value: float
    cuts: tuple[float, ...]

    @property
    def index(self) -> int:
        """Of the right option."""
        return sum(self.value >= cut for cut in self.cuts)


@dataclass(frozen=True)
class Brush:
    """A question that is answered by brushing a range of an axis."""


@dataclass(frozen=True)
class Drawing:
    """A question that is answered by drawing a curve."""


class Brushed(NamedTuple):
    """The chart that is brushed, and the true range.

    ``lines`` of the chart may only come after the answer: ``shown_after``.
    """

    chart: GuessChart
    low: float
    high: float
    name: str
    shown_after: GuessChart


class Drawn(NamedTuple):
    """The chart that is drawn on, and the true curve.

    ``y`` is (PLACES,), at even steps of the chart's x; a guess is close if it lies within ``near``
    on average, in ``unit``.
    """

    chart: GuessChart
    y: np.ndarray
    near: float
    unit: str
    name: str


Ask = tuple[str, ...] | Brush | Drawing  # options, or what else a reader does
Right = Largest | Between | Brushed | Drawn
Guess = int | tuple[float, float] | np.ndarray


class Compared(NamedTuple):
    """A guess beside the answer: a word, and how near it was."""

    word: str
    text: str


def read_token(ask: Ask, token: str) -> Guess | None:
    """A reader's guess from its code; None for one that this question cannot have.

    >>> read_token(("Yes", "No"), "b"), read_token(("Yes", "No"), "c")
    (1, None)
    >>> read_token(Brush(), "12-30"), read_token(Brush(), "30-12")
    ((0.12, 0.3), None)
    """
    if isinstance(ask, Brush):
        ends = re.fullmatch(r"(\d{1,3})-(\d{1,3})", token)
        low, high = (int(end) for end in ends.groups()) if ends else (1, 0)
        return (low / 100, high / 100) if low < high <= 100 else None
    if isinstance(ask, Drawing):
        if len(token) != PLACES or not set(token) <= set(LETTERS):
            return None
        return np.array([LETTERS.index(letter) for letter in token]) / (len(LETTERS) - 1)
    at = _OPTIONS.find(token) if len(token) == 1 else -1
    return at if 0 <= at < len(ask) else None


def choice_token(option: int) -> str:
    """The code of an option.

    >>> choice_token(1)
    'b'
    """
    return _OPTIONS[option]


def split_code(asks: Sequence[Ask], code: str) -> tuple[list[str], str]:
    """Tokens of all steps, empty where there is no answer, and what is wrong with the code.

    >>> split_code([("Yes", "No"), ("1", "2")], ".b"), split_code([("Yes", "No")], "b.a")[1]
    ((['', 'b'], ''), 'answers has 2 answers, but this lesson asks 1; the others are ignored.')
    >>> split_code([("Yes", "No")], "z")
    ([''], 'answers says "z" for step 1, which is not an answer to it; it is asked again.')
    """
    answers = code.split(_SEPARATOR) if code else []
    if len(answers) > len(asks):
        return split_code(asks, _SEPARATOR.join(answers[: len(asks)]))[0], (
            f"answers has {len(answers)} answers, but this lesson asks {len(asks)}; the others are "
            "ignored."
        )
    tokens, problem = [], ""
    for number, (ask, token) in enumerate(zip(asks, answers, strict=False), start=1):
        fits = not token or read_token(ask, token) is not None
        tokens.append(token if fits else "")
        if not fits and not problem:
            problem = (
                f'answers says "{token}" for step {number}, which is not an answer to it; it is '
                "asked again."
            )
    return [*tokens, *[""] * (len(asks) - len(tokens))], problem


def join_tokens(tokens: Sequence[str]) -> str:
    """The code of a lesson's answers, as `split_code` reads it.

    >>> join_tokens(["", "b", ""]), join_tokens(["", ""])
    ('.b', '')
    """
    return _SEPARATOR.join(tokens).rstrip(_SEPARATOR)


def compare(ask: Ask, right: Right, guess: Guess) -> Compared:
    """A guess beside the answer.

    >>> compare(("Yes", "No"), Largest((1.0, 2.0)), 1)
    Compared(word='Right.', text='You chose "No".')
    >>> compare(("Yes", "No"), Largest((1.0, 2.0)), 0).text
    'It is "No". You chose "Yes".'
    """
    if isinstance(right, Brushed):
        assert isinstance(guess, tuple)
        return _compare_ranges(right, guess)
    if isinstance(right, Drawn):
        assert isinstance(guess, np.ndarray)
        return _compare_curves(right, guess)
    assert isinstance(ask, tuple)
    assert isinstance(guess, int)
    if guess == right.index:
        return Compared("Right.", f'You chose "{ask[guess]}".')
    return Compared("Not quite.", f'It is "{ask[right.index]}". You chose "{ask[guess]}".')


def _compare_ranges(right: Brushed, guess: tuple[float, float]) -> Compared:
    start, end = right.chart.x
    low, high = (start + part * (end - start) for part in guess)
    common = max(0.0, min(high, right.high) - max(low, right.low))
    together = (high - low) + (right.high - right.low) - common
    shared = common / together
    word = "Right." if shared >= _SHARED else "Partly." if shared >= _PARTLY else "Not quite."
    return Compared(word, f"Your range and the true one share {100 * shared:.0f} % of their width.")


def _compare_curves(right: Drawn, guess: np.ndarray) -> Compared:
    low, high = right.chart.y
    off = float(np.abs(low + guess * (high - low) - right.y).mean())
    word = "Close." if off <= right.near else "Partly." if off <= 2 * right.near else "Not close."
    return Compared(word, f"Your line is off by {short(off, 2)} {right.unit} on average.")


def crossing(x: np.ndarray, below: np.ndarray) -> float:
    """Where a condition (n,) begins to hold up to the end; the last x if it never does.

    >>> crossing(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    3.0
    """
    changes = [i for i, (a, b) in enumerate(pairwise(below.tolist()), start=1) if b and not a]
    if below.all():
        return float(x[0])
    return float(x[changes[-1]]) if below[-1] else float(x[-1])


def both_of(first: float, second: float) -> tuple[float, float, float, float]:
    """Values of the options "both", "the first only", "the second only" and "neither".

    Each number is above 0 where its own statement holds.

    >>> Largest(both_of(0.2, -0.1)).index, Largest(both_of(-0.2, -0.1)).index
    (1, 3)
    """
    return (min(first, second), min(first, -second), min(-first, second), min(-first, -second))
