"""Intervals that adapt as rows arrive, around any fitted model.

A fixed correction of intervals holds while new rows are like the old ones. Here each end has a
correction of its own, in predicted stds, that moves up a little after a miss and down a little
otherwise (adaptive conformal inference: Gibbs and Candes, 2021, followed on the ends themselves as
in Angelopoulos, Candes and Tibshirani, 2023). How far it moves is not chosen: several step sizes
run side by side, and the corrections of those with the smallest recent pinball loss count most
(aggregated as by Gibbs and Candes, 2024; Zaffran et al., 2022).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from gbuq_core.array_checks import FloatArray, check_array
from gbuq_core.distribution import Interval
from gbuq_core.errors import InvalidData
from gbuq_core.validation import check_number

STEPS = 0.005 * 4.0 ** np.arange(5)  # of a correction, in multiples of the usual miss: to 1.28
# How much of the spread of recent rows each following row keeps: 1 for a spread that is never
# learnt, else about the last 33 or 100 rows.
MEMORIES = np.array([1.0, 0.97])
_SHARE = 0.005  # of the weights that is dealt anew after each row, so that none is lost
_LAST_STEP = 0.02  # of the correction that what all together miss asks for
_SIZE_MEMORY = 0.99  # of the usual distance between targets and ends
_NORMAL_SPREAD = 0.7979  # mean distance of a standard normal from its mean


class AdaptiveIntervals:
    """Intervals of a fitted regressor whose coverage is kept while the data drift.

    Parameters
    ----------
    model : estimator
        Any fitted regressor with ``predict_distribution``. It is not fitted again.
    level : float
        Share of rows that the intervals shall hold, between 0 and 1.

    Attributes
    ----------
    n_rows_ : int
        Rows seen by `update`.
    coverage_ : float
        Share of these that lay inside the interval given before them; NaN without rows.

    Notes
    -----
    Rows are taken in the order of time. The corrections of both ends are learnt apart, each from
    its own misses, of which ``(1 - level) / 2`` are aimed at.

    References
    ----------
    Gibbs and Candes, "Adaptive conformal inference under distribution shift" (2021). Zaffran,
    Feron, Goude, Josse and Dieuleveut, "Adaptive conformal predictions for time series" (2022).
    Angelopoulos, Candes and Tibshirani, "Conformal PID control for time series prediction" (2023).
    Gibbs and Candes, "Conformal inference for online prediction with arbitrary distribution
    shifts" (2024).

    Examples
    --------
    >>> from gbuq_core import BoostedEnsembleRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1500, 1))
    >>> noise = np.where(np.arange(1500) < 500, 0.2, 1.0)  # five times as much, from row 500 on
    >>> y = X[:, 0] + noise * rng.normal(size=1500)
    >>> model = BoostedEnsembleRegressor(n_members=2, n_trees=50, random_state=0)
    >>> adaptive = AdaptiveIntervals(model.fit(X[:500], y[:500]), level=0.9)
    >>> lower, upper = adaptive.update(X[500:], y[500:])  # each row's before it was seen
    >>> bool(0.86 < ((y[500:] >= lower) & (y[500:] <= upper)).mean() < 0.94)
    True
    >>> lower, upper = adaptive.predict_interval(X[:2])  # of the rows to come
    """

    def __init__(self, model: Any, level: float = 0.9) -> None:
        self.model = model
        self.level = check_number("level", level, 0.0, 1.0)
        if not hasattr(model, "predict_distribution"):
            raise InvalidData(
                "AdaptiveIntervals needs a fitted regressor with predict_distribution: wrap others "
                "in CalibratedRegressor."
            )
        self.n_rows_ = 0
        self._inside = 0
        # Of the lower and the upper end, by memory and step size: corrections and their weights.
        shape = (2, len(MEMORIES), len(STEPS))
        self._corrections = np.zeros(shape)
        self._weights = np.full(shape, 1.0 / (len(MEMORIES) * len(STEPS)))
        self._last = np.zeros(2)  # what the ends in use are moved by, in usual distances
        self._size = np.zeros(2)  # the usual distance of a target from its end, in stds
        # Of recent targets about their prediction, in stds, by memory.
        self._centre, self._spread = np.zeros(len(MEMORIES)), np.full(len(MEMORIES), _NORMAL_SPREAD)

    @property
    def coverage_(self) -> float:
        """Share of the rows seen that lay inside their intervals."""
        return self._inside / self.n_rows_ if self.n_rows_ else float("nan")

    def predict_interval(self, X: Any) -> Interval:
        """Interval of rows to come, as corrected by the rows seen so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        Interval
            ``(lower, upper)``, (n_samples,) each, in units of y.
        """
        loc, scale, widths = self._given(X)
        lower, upper = np.stack([self._reach(row)[0] for row in widths.T], axis=1)
        return _interval(loc, scale, lower, upper)

    def update(self, X: Any, y: ArrayLike) -> Interval:
        """See new rows, in the order of time, and return the intervals that stood before each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        Interval
            ``(lower, upper)``, (n_samples,) each: each row's from the rows before it alone.
        """
        loc, scale, widths = self._given(X)
        targets = check_array("y", y, 1)
        if len(targets) != len(loc):
            raise InvalidData(f"X has {len(loc):,} rows, y has {len(targets):,}.")
        reach = np.empty_like(widths)
        for row, z in enumerate((targets - loc) / scale):
            reach[:, row], each = self._reach(widths[:, row])
            self._learn(z, reach[:, row], each)
        interval = _interval(loc, scale, *reach)
        self.n_rows_ += len(targets)
        self._inside += int(((targets >= interval.lower) & (targets <= interval.upper)).sum())
        return interval

    def _given(self, X: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The model's prediction and std of each row, and how far its two ends lie off, in stds."""
        distribution = self.model.predict_distribution(X)
        lower, upper = distribution.interval(self.level)
        loc, scale = distribution.loc, distribution.scale
        known = scale[scale > 0.0]
        scale = np.where(scale > 0.0, scale, known.min() if len(known) else 1.0)
        return loc, scale, np.stack([loc - lower, upper - loc]) / scale

    def _reach(self, widths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """How far the ends of a row lie off, in stds: (2,) in use, and those of all (2, m, k)."""
        spread = (self._spread / _NORMAL_SPREAD)[:, None]
        each = spread * (widths[:, None, None] + self._corrections)
        return (self._weights * each).sum(axis=(1, 2)) + self._last * self._size, each

    def _learn(self, z: float, used: FloatArray, each: FloatArray) -> None:
        """Learn from the residual ``z`` of a row, in stds, what its ends should have been."""
        rate = 0.5 * (1.0 - self.level)  # of misses at each end
        distances = np.array([-z, z])
        gaps = distances[:, None, None] - each
        misses = gaps > 0.0
        self._last += _LAST_STEP * ((distances > used) - rate)
        off = np.abs(distances - used)
        self._size += np.where(self._size > 0.0, 1.0 - _SIZE_MEMORY, 1.0) * (off - self._size)
        size = np.maximum(self._size, 1e-12)[:, None, None]
        losses = gaps * (misses - rate) / size  # pinball loss of the end as a quantile
        weights = self._weights * np.exp(losses.min(axis=(1, 2), keepdims=True) - losses)
        weights /= weights.sum(axis=(1, 2), keepdims=True)
        self._weights = (1.0 - _SHARE) * weights + _SHARE / weights[0].size
        spread = (self._spread / _NORMAL_SPREAD)[:, None]
        self._corrections = self._corrections + STEPS * size / spread * (misses - rate)
        self._centre = MEMORIES * self._centre + (1.0 - MEMORIES) * z
        self._spread = MEMORIES * self._spread + (1.0 - MEMORIES) * np.abs(z - self._centre)
        self._spread = np.maximum(self._spread, 1e-12)


def _interval(loc: FloatArray, scale: FloatArray, below: FloatArray, above: FloatArray) -> Interval:
    """Ends that lie some stds below and above the predictions, never past each other."""
    lower, upper = loc - below * scale, loc + above * scale
    middle = 0.5 * (lower + upper)
    return Interval(np.minimum(lower, middle), np.maximum(upper, middle))
