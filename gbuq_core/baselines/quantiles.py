"""Quantile regression forests of LightGBM, and the std that matches their quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri

from gbuq_core.baselines.interval_regressor import Intervals, LightGBMForest, Parts
from gbuq_core.errors import InvalidParameter
from gbuq_core.validation import FloatArray, check_array

QUANTILES = (0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975)  # ends of 50, 80 and 95 % and the median


class QuantileForestRegressor(LightGBMForest):
    """One random forest with the pinball loss for each quantile of y.

    Each quantile has its own forest, so predictions can cross: they are sorted within each row.
    ``loc`` comes from one more forest with the squared loss. It follows the curve better than the
    median's forest, which only uses whether a row lies above or below. Quantiles are paired from
    the outside in: first and last, second and last but one. Each pair gives the std of a normal;
    ``scale`` is their median, so one poor tail does not decide. It counts as data uncertainty.

    Parameters
    ----------
    n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs
        As for `ForestVarianceRegressor`; of each quantile's forest.
    quantiles : sequence of float
        Ascending, between 0 and 1, at least two.

    Attributes
    ----------
    boosters_ : list of lightgbm.Booster
        One a quantile, on the standardised target.
    mean_booster_ : lightgbm.Booster
    quantiles_ : ndarray of shape (n_quantiles,)
    fit_seconds_ : float

    References
    ----------
    Meinshausen (2006) for quantiles by forests; MACAU, section 4, takes LightGBM's.

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(500, random_state=0)
    >>> model = QuantileForestRegressor(n_trees=20, random_state=0).fit(data.X, data.y)
    >>> low, middle, high = model.predict_quantiles([[9.0]], [0.1, 0.5, 0.9])[:, 0]
    >>> bool(low < middle < high)
    True
    """

    def __init__(
        self,
        n_trees: int = 100,
        max_leaves: int = 31,
        min_child_samples: int = 20,
        subsample: float = 0.8,
        quantiles: Sequence[float] = QUANTILES,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs)
        self.quantiles = quantiles

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] | None = None) -> FloatArray:
        """Quantiles of y, (n_quantiles, n_samples), ascending in each row.

        Raises
        ------
        InvalidParameter
            If a quantile is asked for that was not fitted.
        """
        matrix = self._read_new_rows(X)
        chosen = slice(None) if quantiles is None else self._positions(quantiles)
        centre, spread = self.target_scale_
        return centre + spread * self._inner_quantiles(matrix)[chosen]

    def predict_intervals(self, X: Any) -> Intervals:
        """Central intervals of every level whose two ends were fitted."""
        values, q = self.predict_quantiles(X), self.quantiles_
        pairs = [
            (low, high)
            for low in range(len(q) - 1, -1, -1)
            for high in range(low + 1, len(q))
            if np.isclose(q[low] + q[high], 1.0)
        ]
        levels = np.array([q[high] - q[low] for low, high in pairs])
        ends = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        return Intervals(levels, values[ends[:, 0]], values[ends[:, 1]])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self.quantiles_ = check_quantiles(self.quantiles)

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        self.mean_booster_, self.boosters_ = self._grow_quantiles(X, y, self.quantiles_)

    def _inner_quantiles(self, X: FloatArray) -> FloatArray:
        return np.sort([booster.predict(X) for booster in self.boosters_], axis=0)

    def _parts(self, X: FloatArray) -> Parts:
        scale = quantile_scale(self.quantiles_, self._inner_quantiles(X))
        return Parts(self._loc(X), scale * scale, np.zeros(len(X)))

    def _loc(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.mean_booster_.predict(X), dtype=np.float64)

    def _positions(self, quantiles: Sequence[float]) -> np.ndarray:
        wanted = check_quantiles(quantiles, at_least=1)
        near = np.abs(self.quantiles_[:, None] - wanted)
        if (near.min(axis=0) > 1e-9).any():
            fitted = ", ".join(f"{q:g}" for q in self.quantiles_)
            raise InvalidParameter(
                f"quantiles must be among those that were fitted ({fitted}); got {quantiles!r}."
            )
        return near.argmin(axis=0)


def check_quantiles(quantiles: Any, at_least: int = 2) -> FloatArray:
    """Quantile levels (n,) float64, ascending and strictly between 0 and 1."""
    levels = check_array("quantiles", quantiles, 1)
    if len(levels) < at_least or levels.min() <= 0.0 or levels.max() >= 1.0:
        raise InvalidParameter(
            f"quantiles must be at least {at_least} numbers above 0 and below 1; got {quantiles!r}."
        )
    if (np.diff(levels) <= 0.0).any():
        raise InvalidParameter(f"quantiles must ascend; got {quantiles!r}.")
    return levels


def quantile_scale(quantiles: FloatArray, values: FloatArray) -> FloatArray:
    """The std of a normal from pairs of quantiles: the median over the pairs.

    The pair ``a < b`` gives ``(y_b - y_a) / (z_b - z_a)``, with z the standard normal's quantiles.

    Parameters
    ----------
    quantiles : ndarray of shape (n_quantiles,)
        Ascending; the first is paired with the last, the second with the last but one.
    values : ndarray of shape (n_quantiles, n_samples)
        Ascending along the first axis.

    Returns
    -------
    ndarray of shape (n_samples,)

    Examples
    --------
    >>> quantile_scale(np.array([0.1, 0.5, 0.9]), np.array([[1.0], [2.0], [3.0]])).round(4)
    array([0.7803])
    """
    z = ndtri(quantiles)
    n_pairs = len(z) // 2
    gaps = values[::-1][:n_pairs] - values[:n_pairs]
    return np.median(gaps / (z[::-1][:n_pairs] - z[:n_pairs])[:, None], axis=0)
