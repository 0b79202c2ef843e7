"""The log score of any law at the resolution of the data, so that repeated values earn no infinite
credit.

A density rewards a spike on a value that many rows share without limit; the probability of an
interval as wide as the step of the data does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.array_checks import check_array
from gbuq_core.errors import InvalidData
from gbuq_core.validation import check_number

_MOST_ODD = 0.01  # of the values other than 0 may be no multiples of the step
_MOST_ODD_KINDS = 0.1  # of the distinct ones: a value that most rows have tells no step of others
FINEST = 1e-3  # of the std
_LEAST = 1e-12  # probability that a law can be punished for: below, nobody can tell how wrong it is


class LogScores(NamedTuple):
    """The log score of each row in nats, lower is better; NaN where y cannot occur by the law."""

    values: NDArray[np.float64]
    outside: NDArray[np.bool_]  # (n,): targets that the law excludes

    @property
    def mean(self) -> float:
        """Over the rows that can occur; NaN if there are none."""
        return float(self.values[~self.outside].mean()) if not self.outside.all() else float("nan")

    @property
    def n_outside(self) -> int:
        """How many targets cannot occur."""
        return int(self.outside.sum())


def find_resolution(y: ArrayLike) -> float:
    """The largest step 1, 2 or 5 times a power of ten that explains y, zeros apart.

    99 % of the values are its multiples, and 90 % of the distinct ones, which then lie apart by it.
    It is at least a thousandth of the std.

    Examples
    --------
    >>> find_resolution([0.5, 1.0, 7.5]), find_resolution([3.0, 4.0, 40.0])
    (0.5, 1.0)
    >>> find_resolution([0.0] * 990 + [640, 1602, 2000, 2435, 5500, 7000, 8051, 9000, 9500, 9999])
    1.0
    """
    values = check_array("y", y, 1)
    finest = FINEST * float(np.std(values))
    if not finest > 0.0:
        return 1.0
    kinds, counts = np.unique(values[values != 0.0], return_counts=True)
    largest = int(np.ceil(np.log10(max(float(np.abs(values).max()), finest))))
    for power in range(largest, int(np.floor(np.log10(finest))) - 1, -1):
        for digit in (5.0, 2.0, 1.0):
            # A negative power of ten divides: 0.1 has no float of its own.
            step = digit * 10.0**power if power >= 0 else digit / 10.0**-power
            if step < finest:
                return finest
            odd = np.abs(kinds / step - np.round(kinds / step)) >= 1e-6
            few = counts[odd].sum() <= _MOST_ODD * counts.sum()
            if few and odd.mean() <= _MOST_ODD_KINDS:
                return step
    return finest


def log_scores(law: Any, y: ArrayLike, resolution: float) -> LogScores:
    """``-log((F(y + r/2) - F(y - r/2)) / r)`` of any distribution at y (n_samples,).

    Parameters
    ----------
    law : Distribution
    y : array-like of shape (n_samples,)
    resolution : float
        The step r of the data, `find_resolution` of the training targets.

    Returns
    -------
    LogScores
        Targets outside the law's support (``law.support``, if it has one) are counted, not scored.
        A law that gives less than 1e-12 to an interval is scored as if it gave that.

    Examples
    --------
    >>> from gbuq_core.distribution import NormalDistribution
    >>> log_scores(NormalDistribution([0.0], [1.0]), [0.0], 0.01).mean.__round__(3)
    0.919
    """
    step = check_number("resolution", resolution, 0.0, low_open=True)
    target = check_array("y", y, 1)
    if len(target) != len(law.loc):
        raise InvalidData(f"y has {len(target)} values for {len(law.loc)} rows.")
    mass = law.cdf(target + 0.5 * step) - law.cdf(target - 0.5 * step)
    support = getattr(law, "support", None)
    outside = np.zeros(len(target), bool) if support is None else support.outside(target)
    with np.errstate(invalid="ignore"):
        values = np.log(step) - np.log(np.maximum(mass, _LEAST))
    return LogScores(np.where(outside, np.nan, values), outside)
