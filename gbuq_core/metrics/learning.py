"""Would more rows help? A learning curve from repeated fits, and a verdict that knows its errors.

Repeats share most of their rows, so the spread between them is too small: standard errors are those
of Nadeau and Bengio (2003), ``std * sqrt(1 / n_repeats + n_test / n_train)`` with a fifth of the
rows for testing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit  # scipy.stats is slow to import

from gbuq_core.errors import InvalidData

ALL_ROWS = "all rows"
# What a doubling of the rows must bring to be worth naming: off the logarithm of a regression's
# error (2 %), and off the log loss of classes in nats.
WORTH, WORTH_CLASSES = 0.02, 0.01
SMALL_KNOWLEDGE = 0.2  # of the total uncertainty
_FEWEST_IN_GROUP = 5  # held-out rows of a repeat
_LEVEL = 0.9
_LEAST_RATIO = 0.25
_TEST_TO_TRAIN = 0.25


class Verdict(NamedTuple):
    """What a learning curve says about one more doubling.

    Attributes
    ----------
    word : {"more", "noise", "undecided"}
        See `LearningCurve.verdict`.
    gain, low, high : float
        What the last doubling of the rows took off the measure, with its 90 % interval: off the
        logarithm of a regression's error (0.02 is 2 %), or off the log loss in nats.
    ratio : float
        Each doubling is expected to bring so many times as much as the one before.
    expected, expected_low, expected_high : float
        What one more doubling would bring: ``ratio`` times the gain and the interval.
    n_agreeing, n_repeats : int
        In how many repeats the last doubling alone says the same: above 0 for "more", and for the
        other words below what is worth naming.
    knowledge_share : float
        Mean knowledge uncertainty with all rows, as a share of the mean total; NaN where no
        ensemble tells it, and then the word is never "noise".
    worth : float
        What a doubling must bring.
    plain : {"more", "noise"}
        What the last doubling says without error bars: more if it brought what is worth naming.
    """

    word: str
    gain: float
    low: float
    high: float
    ratio: float
    expected: float
    expected_low: float
    expected_high: float
    n_agreeing: int
    n_repeats: int
    knowledge_share: float
    worth: float
    plain: str


@dataclass(frozen=True, kw_only=True)
class LearningCurve:
    """Scores by the number of rows that were learnt from.

    All arrays have shape (n_repeats, n_sizes, n_groups); the first group is all rows. NaN where a
    repeat left out fewer than five rows of a group.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,), int64
        Rows learnt from, each about twice as many as the one before.
    names : tuple of str
        Of the groups.
    n_rows : ndarray of shape (n_groups,), int64
        Rows of each group that have a target.
    error : ndarray
        Root mean squared error in units of the target, or share of wrong classes.
    nll : ndarray
        Mean negative log-likelihood, in nats; the log loss of classes.
    knowledge, noise : ndarray
        Means of knowledge and data uncertainty: variances of the target, or nats.
    is_class : bool
    seconds : float
    left_out : tuple of ndarray of int64
        The rows of the table that each repeat left out.
    of_rows : tuple of ndarray of shape (4, n_sizes, n_left_out)
        What they come from: squared error or wrong class, NLL, knowledge and data uncertainty.
    """

    sizes: NDArray[np.int64]
    names: tuple[str, ...]
    n_rows: NDArray[np.int64]
    error: NDArray[np.float64]
    nll: NDArray[np.float64]
    knowledge: NDArray[np.float64]
    noise: NDArray[np.float64]
    is_class: bool
    seconds: float
    left_out: tuple[NDArray[np.int64], ...]
    of_rows: tuple[NDArray[np.float64], ...]

    def by(self, codes: NDArray[np.int64], names: Sequence[str]) -> LearningCurve:
        """The same curve with groups of rows behind that of all rows; trains nothing.

        Parameters
        ----------
        codes : ndarray of shape (n_rows,), int64
            The group of each row of the table, from 0; `gbuq_core.tables.failing_groups` and
            `gbuq_core.tables.group_column` give them with their names.
        names : sequence of str
            Of the groups.
        """
        known = np.unique(np.concatenate(self.left_out))
        if len(codes) <= known[-1]:
            raise InvalidData(
                f"There are groups for {len(codes)} rows, but the table has at least "
                f"{known[-1] + 1}: pass a group for each of its rows."
            )
        named = (ALL_ROWS, *names)
        members = codes[:, np.newaxis] == np.arange(len(names))
        counts = members[known].sum(axis=0)
        curves = [
            group_means(values, members[rows], self.is_class)
            for rows, values in zip(self.left_out, self.of_rows, strict=True)
        ]
        return replace(self, names=named, n_rows=np.r_[self.n_rows[:1], counts], **by_name(curves))

    def mean(self, name: str, group: int = 0) -> NDArray[np.float64]:
        """The mean of ``error``, ``nll``, ``knowledge`` or ``noise`` over the repeats, by size."""
        values = self._of(name, group)
        return values.mean(axis=0) if len(values) else np.full(values.shape[1], math.nan)

    def standard_error(self, name: str, group: int = 0) -> NDArray[np.float64]:
        """The standard error of `mean`, by size."""
        return corrected_error(self._of(name, group))

    def verdict(self, group: int = 0, measure: str | None = None) -> Verdict:
        """Whether more rows would help.

        - **more**: the last doubling lowers the measure (the 90 % interval of its gain is above 0),
          and one more doubling is expected to bring at least 0.02 (0.01 for classes).
        - **noise**: one more doubling is expected to bring less than that (by the upper end of the
          interval), and knowledge uncertainty is at most a fifth of the total.
        - **undecided**: neither.

        A regression is judged by the logarithm of its error (0.02 is 2 % off) and classes by their
        log loss. The NLL of a regression decides worse: one row far outside can fill it.

        Gains are expected to shrink by the same ratio from doubling to doubling, which is what the
        power law ``a + b / n**c`` does. The ratio is that of the doublings so far, at least 0.25
        and at most 1; it is 1 where the last doubling is within chance.

        Parameters
        ----------
        group : int
        measure : {"nll", "error"}, optional
            The error of a regression and the NLL of classes if None. The error of a regression
            counts in logarithms, that of classes in shares.
        """
        measure = measure or ("nll" if self.is_class else "error")
        values = self._of(measure, group)
        if measure == "error" and not self.is_class:
            values = np.log(np.maximum(values, np.finfo(float).tiny))
        knowledge, noise = self.mean("knowledge", group)[-1], self.mean("noise", group)[-1]
        total = knowledge + noise
        share = 0.0 if total <= 0.0 else float(knowledge / total)
        return judge_doublings(values, share, WORTH_CLASSES if self.is_class else WORTH)

    def _of(self, name: str, group: int) -> NDArray[np.float64]:
        values: NDArray[np.float64] = getattr(self, name)[:, :, group]
        return values[~np.isnan(values).any(axis=1)]


def corrected_error(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Standard errors of means over repeats, (n_repeats, ...), that share most of their rows.

    Nadeau and Bengio (2003), "Inference for the generalization error", section 4.

    >>> float(corrected_error(np.array([1.0, 3.0])).round(3))  # sqrt(2) * sqrt(1 / 2 + 1 / 4)
    1.225
    """
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], math.inf)
    return values.std(axis=0, ddof=1) * math.sqrt(1.0 / n + _TEST_TO_TRAIN)


def judge_doublings(
    values: NDArray[np.float64], knowledge_share: float, worth: float = WORTH
) -> Verdict:
    """The verdict of `LearningCurve.verdict` on numbers.

    Parameters
    ----------
    values : ndarray of shape (n_repeats, n_sizes)
        What should be low, at sizes that double.
    knowledge_share : float
    worth : float

    Examples
    --------
    >>> falling = np.array([[1.0, 0.8, 0.7, 0.65], [1.02, 0.8, 0.71, 0.65], [1.0, 0.81, 0.7, 0.66]])
    >>> verdict = judge_doublings(falling, 0.1)
    >>> verdict.word, round(verdict.ratio, 2), round(verdict.expected, 3), verdict.n_agreeing
    ('more', 0.49, 0.025, 3)
    >>> flat = np.array([[1.0, 0.99, 0.99, 0.99], [1.0, 1.0, 0.99, 0.991], [1.0, 0.99, 0.98, 0.98]])
    >>> judge_doublings(flat, 0.1).word, judge_doublings(flat, 0.5).word
    ('noise', 'undecided')
    >>> judge_doublings(flat, math.nan).word
    'undecided'
    """
    n_repeats = len(values)
    gains = values[:, :-1] - values[:, 1:]
    if n_repeats < 2 or gains.shape[1] < 2:
        none = math.nan
        return Verdict(
            "undecided",
            none,
            none,
            none,
            none,
            none,
            none,
            none,
            0,
            n_repeats,
            knowledge_share,
            worth,
            "noise",
        )
    mean, last = gains.mean(axis=0), gains[:, -1]
    gain = float(mean[-1])
    reach = float(stdtrit(n_repeats - 1, 0.5 + _LEVEL / 2.0) * corrected_error(last))
    low, high = gain - reach, gain + reach
    before, after = float(mean[:-1].sum()), float(mean[1:].sum())
    is_sure = low > 0.0 and before > 0.0
    ratio = float(np.clip(after / before, _LEAST_RATIO, 1.0)) if is_sure else 1.0
    word = "undecided"
    if low > 0.0 and ratio * gain >= worth:
        word = "more"
    elif ratio * high < worth and knowledge_share <= SMALL_KNOWLEDGE:
        word = "noise"
    agreeing = int(np.sum(last > 0.0 if word == "more" else last < worth))
    return Verdict(
        word,
        gain,
        low,
        high,
        ratio,
        ratio * gain,
        ratio * low,
        ratio * high,
        agreeing,
        n_repeats,
        knowledge_share,
        worth,
        "more" if gain >= worth else "noise",
    )


def group_means(
    values: NDArray[np.float64], members: NDArray[np.bool_], is_class: bool
) -> NDArray[np.float64]:
    """Error, NLL, knowledge and noise of a repeat, (4, n_sizes, 1 + n_groups); first all rows."""
    n_groups = 1 + members.shape[1]
    out = np.full((*values.shape[:2], n_groups), np.nan)
    for group in range(n_groups):
        mine = np.flatnonzero(members[:, group - 1]) if group else np.arange(len(members))
        if group == 0 or len(mine) >= _FEWEST_IN_GROUP:
            out[:, :, group] = values[:, :, mine].mean(axis=2)
    if not is_class:
        out[0] = np.sqrt(out[0])
    return out


def by_name(curves: list[NDArray[np.float64]]) -> dict[str, Any]:
    """The four measures of all repeats by their names, (n_repeats, n_sizes, n_groups) each."""
    names = ("error", "nll", "knowledge", "noise")
    return dict(zip(names, np.stack(curves, axis=1), strict=True))
