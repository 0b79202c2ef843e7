"""A paper's statement held against what came out here: the statement, the numbers, the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from gbuq_core.presentation import short

VERDICTS = ("holds", "nearly", "does not hold")


class Claim(NamedTuple):
    """A sentence of a paper, what came out here, and whether it agrees.

    ``verdict`` is one of `VERDICTS`; ``here`` has to say what the verdict says, whatever it is.
    """

    paper: str
    here: str
    verdict: str


def verdict_of(value: float, whole: float, part: float) -> str:
    """Whether a value reaches the level that counts as agreeing, or the one that nearly does.

    Parameters
    ----------
    value : float
        NaN, a comparison with nothing, does not agree.
    whole, part : float
        Levels, ``part <= whole``; reached from above, so that an upper bound takes negatives.

    Examples
    --------
    >>> verdict_of(0.9, 0.8, 0.6), verdict_of(0.7, 0.8, 0.6), verdict_of(0.5, 0.8, 0.6)
    ('holds', 'nearly', 'does not hold')
    """
    return "holds" if value >= whole else "nearly" if value >= part else "does not hold"


def other_settings(settings: Any, paper: Any, names: Mapping[str, str]) -> list[str]:
    """Which settings are not the paper's, each with the paper's own.

    Parameters
    ----------
    settings, paper : NamedTuple
    names : mapping
        Fields that count, and how people write them.

    Examples
    --------
    >>> mine, theirs = Claim("", "", "holds"), Claim("", "", "nearly")
    >>> other_settings(mine, theirs, {"here": "here", "verdict": "verdict"})
    ['verdict holds (there nearly)']
    """
    return [
        f"{name} {_plain(getattr(settings, field))} (there {_plain(getattr(paper, field))})"
        for field, name in names.items()
        if getattr(settings, field) != getattr(paper, field)
    ]


def _plain(value: object) -> str:
    if value is None:
        return "automatic"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def times_text(ratio: float) -> str:
    """A factor in words, to two digits.

    >>> times_text(1514.3), times_text(2.31)
    ('1,500 times', '2.3 times')
    """
    if math.isinf(ratio):
        return "infinitely many times"
    return f"{short(ratio, 2)} times"


def smaller_text(ratio: float) -> str:
    """How much smaller a number is than another one, given the other over it.

    >>> smaller_text(20.0), smaller_text(0.25), smaller_text(1.01)
    ('20 times smaller', '4 times larger', 'as large')
    """
    if abs(ratio - 1.0) < 0.05 or math.isnan(ratio):  # NaN: both are 0
        return "as large"
    if ratio > 1.0:
        return f"{times_text(ratio)} smaller"
    return f"{times_text(1.0 / ratio if ratio else math.inf)} larger"
