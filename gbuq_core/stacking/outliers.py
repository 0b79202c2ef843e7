"""Targets so far from all others that they are another kind of value: a unit error, a code.

What the others are like: whether they have a long tail.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_MOST = 0.03  # of the rows may be outliers
_FEWEST = 40  # rows; with fewer nothing is known of their tails
_TAIL = 0.1  # of the rows tell how fast the ordinary targets thin out
_GAP = 8.0  # times as wide as the tail's own spacings: by chance with e^-8
_SKEWED = 1.0  # skewness; an exponential distribution has 2
_FAR = 10.0  # interquartile ranges from the median


def find_outliers(y: FloatArray) -> NDArray[np.intp]:
    """Places of targets (n,) that lie behind a gap which the tail of the others does not explain.

    The scale is arsinh of interquartile ranges from the median, on which the spacings of a heavy
    tail stay alike: a skewed target has no outliers by being skewed.
    """
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    if len(y) < _FEWEST or not high > low:
        return np.empty(0, np.intp)
    scaled = np.arcsinh((y - middle) / (high - low))
    sides = [_far_places(side * scaled) for side in (1.0, -1.0)]
    return np.sort(np.concatenate(sides))


def tame_targets(y: FloatArray, outliers: NDArray[np.intp]) -> FloatArray:
    """Targets (n,) for trees to learn from: outliers as the nearest ordinary one."""
    if not len(outliers):
        return y
    ordinary = np.delete(y, outliers)
    return np.clip(y, np.nanmin(ordinary), np.nanmax(ordinary))


def has_long_tail(y: FloatArray) -> bool:
    """Whether targets are positive and skewed to the right, and their logarithms half as much."""
    if not 0.0 < y.min() < y.max():
        return False
    plain, logs = skews(y)
    return plain > _SKEWED and abs(logs) < 0.5 * plain


def skews(y: FloatArray) -> tuple[float, float]:
    """Skewness of targets and of their logarithms, without outlying ones."""
    from scipy.stats import skew  # slow to import

    ordinary = np.delete(y, find_outliers(y))
    return float(skew(ordinary)), float(skew(np.log(ordinary)))


def _far_places(scaled: FloatArray) -> NDArray[np.intp]:
    """Those above all others."""
    order = np.argsort(-scaled)
    ranked = scaled[order]
    n_tail = max(10, int(_TAIL * len(ranked)))
    for count in range(int(_MOST * len(ranked)), 0, -1):
        rest = ranked[count : count + n_tail + 1]
        spacing = float(np.mean(np.arange(1, n_tail + 1) * -np.diff(rest)))
        gap = ranked[count - 1] - ranked[count]
        if gap > _GAP * spacing and ranked[count - 1] > np.arcsinh(_FAR):
            return order[:count]
    return np.empty(0, np.intp)
