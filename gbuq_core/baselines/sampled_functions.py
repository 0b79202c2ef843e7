"""What the Bayesian baselines share: numbers without gaps in, draws, moments and variances out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.held_out import check_new_rows, check_rows
from gbuq_core.baselines.interval_regressor import IntervalParts
from gbuq_core.distribution import Distribution, NormalDistribution, PredictsLaw
from gbuq_core.errors import InvalidData
from gbuq_core.inputs import TargetScale, check_numeric_target, fit_target_scale, read_numbers
from gbuq_core.model_files.fields import Savable
from gbuq_core.uncertainty import Uncertainty

_BLOCK_VALUES = 4_000_000  # numbers of one block of rows in memory, 32 MB


class SampledFunctionsRegressor(Savable, PredictsLaw, RegressorMixin, BaseEstimator, ABC):
    """Predictions of a posterior over functions from `_moments` on the standardised target."""

    target_scale_: TargetScale
    fit_seconds_: float

    def predict(self, X: Any) -> FloatArray:
        """Mean over the posterior, (n_samples,)."""
        return self._all_moments(X).pair(self.target_scale_)[0]

    def predict_distribution(self, X: Any) -> Distribution:
        """A normal for each row: the posterior's mean, and the std with the noise.

        A Gaussian process with Gaussian noise predicts just that.
        """
        return NormalDistribution(*self._all_moments(X).pair(self.target_scale_))

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty: variances of y, (n_samples,) each.

        Knowledge is the variance of the mean function over the posterior, data the noise.
        """
        return self._all_moments(X).uncertainty(self.target_scale_)

    @abstractmethod
    def _moments(self, matrix: FloatArray) -> IntervalParts:
        """Moments at the rows of a matrix (n, p)."""

    @abstractmethod
    def _values_per_row(self) -> int:
        """Numbers that `_moments` holds for each row."""

    def _all_moments(self, X: Any) -> IntervalParts:
        """Block by block, so that memory is bounded whatever the number of rows."""
        return join_moments([self._moments(rows) for rows in self._blocks(X)])

    def _blocks(self, X: Any) -> list[FloatArray]:
        """Checked rows, as many at a time as `_moments` may take."""
        matrix = self._read_new_rows(X)
        size = max(1, _BLOCK_VALUES // self._values_per_row())
        return [matrix[start : start + size] for start in range(0, len(matrix), size)]

    def _read_training_rows(self, X: Any, y: Any) -> tuple[FloatArray, FloatArray]:
        """Matrix (n, p) and standardised target (n,); remembers the columns and the scale."""
        values = np.asarray(y)
        if values.ndim == 1 and values.dtype.kind in "OUSmM":  # text and dates
            check_numeric_target(values)
        rows, target = check_rows(self, X, y, reset=True)
        matrix = _numbers(rows)
        self.target_scale_ = fit_target_scale(target)
        return matrix, (target - self.target_scale_.centre) / self.target_scale_.spread

    def _read_new_rows(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return _numbers(check_new_rows(self, X))


def join_moments(blocks: list[IntervalParts]) -> IntervalParts:
    """Those of all rows from those of each block."""
    return IntervalParts(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def _numbers(rows: Any) -> FloatArray:
    """A table as (n, p) float64 without gaps."""
    if isinstance(rows, pd.DataFrame):
        names = rows.columns
        rows = np.stack([read_numbers(rows[name], str(name)) for name in names], axis=1)
    matrix = np.asarray(rows, dtype=np.float64)
    if np.isnan(matrix).any():
        raise InvalidData(
            "Input X contains NaN, which this baseline cannot read: fill the gaps or drop those "
            "rows."
        )
    return matrix
