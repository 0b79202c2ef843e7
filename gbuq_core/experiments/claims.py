"""A paper's statement held against what came out here: the statement, the numbers, the verdict."""

from __future__ import annotations

from typing import NamedTuple

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


def times_text(ratio: float) -> str:
    """A factor in words, to two digits.

    >>> times_text(1514.3), times_text(2.31)
    ('1,500 times', '2.3 times')
    """
    return f"{float(f'{ratio:.2g}'):,.10g} times"
