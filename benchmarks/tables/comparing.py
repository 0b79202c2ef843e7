"""Means over splits with their standard errors, beside a paper's numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ERRORS = 2.0  # standard errors that count as better or worse
BETTER, WORSE, SAME = WORDS = ("better", "worse", "same")
_SIGNS = {BETTER: " +", WORSE: " -"}


class MeanError(NamedTuple):
    """A mean over splits and its standard error; the error is NaN for a single split."""

    mean: float
    error: float

    def __str__(self) -> str:
        """The error stands in parentheses."""
        return f"{self.mean:.3f}" + (f" ({self.error:.3f})" if np.isfinite(self.error) else "")


class Published(NamedTuple):
    """One number of a paper.

    error : its standard error, None where the paper has none; table : where it stands;
    rounding : half of its last digit.
    """

    value: float
    error: float | None
    table: str
    rounding: float

    @property
    def decimals(self) -> int:
        """How many decimals the paper prints.

        Examples
        --------
        >>> Published(0.7, None, "4", 0.005).decimals, Published(45.0, None, "1", 0.5).decimals
        (2, 0)
        """
        return max(0, round(-math.log10(2.0 * self.rounding))) if self.rounding > 0.0 else 0

    def __str__(self) -> str:
        """As the paper prints it; the error stands in parentheses."""
        error = "" if self.error is None else f" ({self.error:.2g})"
        return f"{self.value:.{self.decimals}f}{error}"


class Beside(NamedTuple):
    """Our score on a set beside the paper's; ``word`` is "better", "worse", "same" or ""."""

    ours: MeanError
    theirs: Published | None
    word: str

    def __str__(self) -> str:
        """Ours, the paper's, and a plus or a minus where ours is better or worse."""
        if self.theirs is None:
            return str(self.ours)
        return f"{self.ours} / {self.theirs}{_SIGNS.get(self.word, '')}"


def mean_error(values: Sequence[float]) -> MeanError:
    """Mean and standard error (std with n - 1, over the root of n) of values of several splits.

    Examples
    --------
    >>> str(mean_error([1.0, 2.0, 3.0])), str(mean_error([2.0]))
    ('2.000 (0.577)', '2.000')
    """
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) < 2:
        return MeanError(float(numbers.mean()), float("nan"))
    return MeanError(float(numbers.mean()), float(numbers.std(ddof=1) / np.sqrt(len(numbers))))


def share_by_chance(splits: int) -> float:
    """How often a mean over splits is off by more than two of its own standard errors.

    The values are normal, and what they are compared with has no error: a t statistic with one
    degree of freedom less than splits is beyond two.

    Examples
    --------
    >>> round(share_by_chance(3), 3), round(share_by_chance(20), 3)
    (0.184, 0.06)
    """
    from scipy.special import stdtr

    return float(2.0 * stdtr(splits - 1, -ERRORS))


def judge(ours: MeanError, theirs: Published | None, higher: bool | None) -> Beside:
    """Our mean beside a paper's number, and which of the two is better.

    Ours is better or worse where it differs by more than two standard errors of the difference and
    half of the last digit that the paper prints. A paper without standard errors adds none, and one
    split of ours has none, and then nothing is said.

    Parameters
    ----------
    ours : MeanError
    theirs : Published or None
    higher : bool or None
        Whether higher values are better; None where neither is, and then nothing is said.

    Examples
    --------
    >>> paper = Published(2.5, 0.1, "1", 0.05)
    >>> judge(MeanError(2.0, 0.1), paper, higher=False).word
    'better'
    >>> judge(MeanError(2.4, 0.1), paper, higher=False).word
    'same'
    """
    if theirs is None or higher is None or not math.isfinite(ours.error):
        return Beside(ours, theirs, "")
    gap = ours.mean - theirs.value
    limit = ERRORS * math.hypot(ours.error, theirs.error or 0.0) + theirs.rounding
    if abs(gap) <= limit:
        return Beside(ours, theirs, SAME)
    return Beside(ours, theirs, BETTER if (gap > 0) == higher else WORSE)


def set_beside(values: Sequence[float], theirs: Published | None, higher: bool | None) -> Beside:
    """Our values of several splits beside a paper's number, as `judge` does.

    Examples
    --------
    >>> str(set_beside([1.9, 2.0, 2.1], Published(2.5, None, "1", 0.05), higher=False))
    '2.000 (0.058) / 2.5 +'
    """
    return judge(mean_error(values), theirs, higher)
