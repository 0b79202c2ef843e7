"""Inductive conformal prediction through mapie: one constant width, or quantiles moved apart.

The library gets predictions instead of rows: its "features" are the columns that the model
predicted. So it neither copies the model nor calls it again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.interval_regressor import (
    IntervalParts,
    Intervals,
    LightGBMForest,
    check_booster,
)
from gbuq_core.baselines.quantiles import (
    QuantileDistribution,
    check_quantile_forests,
    move_to_nearest,
    quantile_parts,
    values_of_target,
)
from gbuq_core.distribution import Distribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import hold_out
from gbuq_core.lazy import import_optional
from gbuq_core.metrics.conformal import (
    CONFORMAL_LEVELS,
    check_calibration_rows,
    check_levels,
    conformal_rank,
)
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.trees.importers.lightgbm_calls import predict_booster
from gbuq_core.validation import check_choice, check_number

MODELS = ("forest", "linear")
_SAME = 1e-6  # stds: forests are of single precision, and an end may be a value that many rows have


class _ConformalRegressor(LightGBMForest):
    """What both share: levels, and rows held out to calibrate on."""

    levels: Sequence[float]
    calibration_fraction: float

    levels_: FloatArray
    n_calibration_: int

    def check_file(self) -> None:
        """Refuse too few rows for the levels."""
        super().check_file()
        check_arrays(self, levels_=("finite", None))
        check_levels(self.levels_)
        self._check_calibration(self.n_calibration_)

    def predict_intervals(self, X: Any) -> Intervals:
        """The library's interval of each level, in units of y."""
        ends = self._ends(self._predicted(self._read_new_rows(X)))
        return Intervals(self.levels_, *self._in_units(ends))

    def _in_units(self, ends: FloatArray) -> FloatArray:
        """Ends in units of y."""
        centre, spread = self.target_scale_
        return centre + spread * ends

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("calibration_fraction", self.calibration_fraction, 0.0, 0.9, low_open=True)
        self.levels_ = np.sort(check_levels(self.levels))

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        regression = import_optional("mapie.regression")
        held = hold_out(len(y), self.calibration_fraction, self.seed_)
        self._check_calibration(len(held.tuned))
        self.n_calibration_ = len(held.tuned)
        self._fit_model(X[held.fitted], y[held.fitted])
        self._calibrate(regression, self._predicted(X[held.tuned]), y[held.tuned])

    def _check_calibration(self, n_rows: int) -> None:
        """Refuse too few rows; the library asks for one more than the level needs."""
        check_calibration_rows(n_rows, self.levels_)
        needed = math.ceil(1.0 / min(self.levels_[0], 1.0 - self.levels_[-1]) * (1.0 - 1e-9))
        if n_rows < needed:
            raise InvalidData(
                f"{n_rows} calibration rows are too few for these levels, because mapie needs at "
                f"least {needed}: pass more rows, or levels closer to 0.5."
            )

    def _fit_model(self, X: FloatArray, y: FloatArray) -> None:
        raise NotImplementedError

    def _predicted(self, X: FloatArray) -> FloatArray:
        """What the library sees of the rows, (n_samples, n_columns)."""
        raise NotImplementedError

    def _calibrate(self, regression: Any, predicted: FloatArray, y: FloatArray) -> None:
        raise NotImplementedError

    def _ends(self, predicted: FloatArray) -> FloatArray:
        """Lower and upper ends on the inner scale, (2, n_levels, n_samples)."""
        raise NotImplementedError


class ConformalRegressor(_ConformalRegressor):
    """A model's prediction with one constant width for all rows (inductive conformal prediction).

    A share of the rows is held out of the fit. An interval's half width is the ``ceil((n + 1)
    level)``-th smallest absolute residual there. On average over new rows from the same
    distribution, the coverage is at least the level. If the noise varies, quiet regions are covered
    too often and noisy regions too rarely.

    Parameters
    ----------
    model : {"forest", "linear"}
        LightGBM's random forest, or ordinary least squares (which cannot read NaN).
    n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs
        As for `ForestVarianceRegressor`.
    levels : sequence of float
        Nominal coverage of the intervals.
    calibration_fraction : float
        Share of the rows to calibrate on.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        Ascending.
    residual_scale_ : float
        In units of y.
    n_calibration_ : int
    fit_seconds_ : float

    Notes
    -----
    Conformal prediction gives intervals, not a distribution. A score such as the CRPS needs one: it
    gets a normal whose std is the root mean square of the calibration residuals. This std counts as
    data uncertainty.

    References
    ----------
    Papadopoulos et al. (2002); MACAU, section 4 and table 1 ("Inductive conformal prediction").

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(500, random_state=0)
    >>> model = ConformalRegressor(n_trees=20, random_state=0).fit(data.X, data.y)
    >>> levels, lower, upper = model.predict_intervals([[1.0], [9.0]])
    >>> bool(np.ptp(upper - lower, axis=1).max() < 1e-12)  # the same width everywhere
    True
    """

    model_: Annotated[Any, "lightgbm.Booster", "sklearn.LinearRegression"]
    residual_scale_: float
    _inner_scale: float
    _residuals: FloatArray
    _not_saved = ("conformal_",)

    def check_file(self) -> None:
        """Refuse a model of other columns, and calibrate by the residuals again."""
        super().check_file()
        check_arrays(self, _residuals=("finite", self.n_calibration_))
        require((self._residuals >= 0.0).all(), "its residuals are impossible")
        if isinstance(self.model_, LinearRegression):
            require(len(self.model_.coef_) == self.n_features_in_, "its model has other columns")
        else:
            check_booster(self.model_, self.n_features_in_)
        # A prediction of 0 has the residuals for targets.
        self._calibrate(
            import_optional("mapie.regression"), np.zeros((self.n_calibration_, 1)), self._residuals
        )

    def __init__(
        self,
        model: str = "forest",
        n_trees: int = 100,
        max_leaves: int = 31,
        min_child_samples: int = 20,
        subsample: float = 0.8,
        levels: Sequence[float] = CONFORMAL_LEVELS,
        calibration_fraction: float = 0.25,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs)
        self.model = model
        self.levels = levels
        self.calibration_fraction = calibration_fraction

    @property
    def _reads_gaps(self) -> bool:  # type: ignore[override]
        return self.model != "linear"

    @property
    def _name(self) -> str:  # type: ignore[override]
        return "a linear regression" if self.model == "linear" else "LightGBM"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("model", self.model, MODELS)

    def _fit_model(self, X: FloatArray, y: FloatArray) -> None:
        linear = self.model == "linear"
        self.model_ = LinearRegression().fit(X, y) if linear else self._grow(X, y)

    def _predicted(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.model_.predict(X), dtype=np.float64)[:, None]

    def _calibrate(self, regression: Any, predicted: FloatArray, y: FloatArray) -> None:
        self.conformal_ = regression.SplitConformalRegressor(
            _Column(0), confidence_level=self.levels_.tolist(), prefit=True
        ).conformalize(predicted, y)
        self._residuals = np.asarray(self.conformal_.conformity_scores, np.float64).ravel()
        inner = float(np.sqrt(np.mean(np.square(self._residuals))))
        self._inner_scale = inner
        self.residual_scale_ = inner * self.target_scale_.spread

    def _ends(self, predicted: FloatArray) -> FloatArray:
        return self.conformal_.predict_interval(predicted)[1].transpose(1, 2, 0)

    def _parts(self, X: FloatArray) -> IntervalParts:
        variance = np.full(len(X), self._inner_scale**2)
        return IntervalParts(self._predicted(X)[:, 0], variance, np.zeros(len(X)))


class ConformalizedQuantileRegressor(_ConformalRegressor):
    """Quantile forests with both ends moved outwards until held-out rows are covered (CQR).

    For each level, both ends of the interval move outwards by the same amount. It is a conformal
    quantile of how far held-out rows lie outside; a negative amount moves the ends inwards. Widths
    still vary with x, and coverage holds on average.

    Parameters
    ----------
    n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs
        As for `ForestVarianceRegressor`; of each quantile's forest.
    levels : sequence of float
        Nominal coverage of the intervals. Each level needs two forests; the median needs one more.
    calibration_fraction : float
        Share of the rows to calibrate on.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        Ascending.
    target_values_ : ndarray of shape (n_values,)
        As of `QuantileForestRegressor`: an end that differs from one by rounding is this value.
    shifts_ : ndarray of shape (n_levels,)
        How far both ends of each level are moved outwards, in units of y.
    n_calibration_ : int
    fit_seconds_ : float

    Notes
    -----
    ``loc`` is the mean from one more forest. Each interval's width gives the std of a normal;
    ``scale`` is the median of these stds. It counts as data uncertainty. `predict_distribution`
    gives the law through the ends of all intervals.

    References
    ----------
    Romano, Patterson and Candes (2019), algorithm 1.

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(500, random_state=0)
    >>> model = ConformalizedQuantileRegressor(n_trees=20, random_state=0).fit(data.X, data.y)
    >>> levels, lower, upper = model.predict_intervals([[1.0], [9.0]])
    >>> quiet, noisy = (upper - lower)[-1]
    >>> bool(noisy > quiet)
    True
    """

    quantiles_: FloatArray
    target_values_: FloatArray
    mean_booster_: Annotated[Any, "lightgbm.Booster"]
    boosters_: list[Annotated[Any, "lightgbm.Booster"]]
    shifts_: FloatArray
    _inner_shifts: FloatArray

    def check_file(self) -> None:
        """Refuse other forests and shifts than those of the levels."""
        super().check_file()
        check_quantile_forests(self)
        n_levels = len(self.levels_)
        require(len(self.quantiles_) == 2 * n_levels + 1, "its levels are of other forests")
        check_arrays(self, shifts_=("finite", n_levels), _inner_shifts=("finite", n_levels))

    def __init__(
        self,
        n_trees: int = 100,
        max_leaves: int = 31,
        min_child_samples: int = 20,
        subsample: float = 0.8,
        levels: Sequence[float] = CONFORMAL_LEVELS,
        calibration_fraction: float = 0.25,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(n_trees, max_leaves, min_child_samples, subsample, random_state, n_jobs)
        self.levels = levels
        self.calibration_fraction = calibration_fraction

    def _check_parameters(self) -> None:
        super()._check_parameters()
        tails = 0.5 * (1.0 - self.levels_)
        self.quantiles_ = np.unique(np.concatenate([tails, [0.5], 1.0 - tails]))
        if len(self.quantiles_) != 2 * len(tails) + 1:
            raise InvalidParameter(f"levels must all differ; got {self.levels!r}.")

    def _keep_target(self, y: FloatArray) -> None:
        self.target_values_ = values_of_target(y)

    def _in_units(self, ends: FloatArray) -> FloatArray:
        moved = super()._in_units(ends)
        nearest = move_to_nearest(self.target_values_, moved)
        same = np.abs(nearest - moved) <= _SAME * self.target_scale_.spread
        return np.where(same, nearest, moved)

    def _fit_model(self, X: FloatArray, y: FloatArray) -> None:
        self.mean_booster_, self.boosters_ = self._grow_quantiles(X, y, self.quantiles_)

    def _predicted(self, X: FloatArray) -> FloatArray:
        """Sorted within each row: the forests' quantiles may cross."""
        return np.sort(np.stack([b.predict(X) for b in self.boosters_], axis=1), axis=1)

    def _calibrate(self, regression: Any, predicted: FloatArray, y: FloatArray) -> None:
        middle = len(self.levels_)
        shifts = []
        for i, level in enumerate(self.levels_):
            columns = [_Column(middle - 1 - i), _Column(middle + 1 + i), _Column(middle)]
            scores = np.sort(
                regression.ConformalizedQuantileRegressor(
                    columns, confidence_level=float(level), prefit=True
                )
                .conformalize(predicted, y)
                .conformity_scores[2]
            )
            shifts.append(scores[conformal_rank(len(y), float(level)) - 1])
        self._inner_shifts = np.array(shifts)
        self.shifts_ = self._inner_shifts * self.target_scale_.spread

    def _ends(self, predicted: FloatArray) -> FloatArray:
        # Not by the library: where shifted ends cross the median, it takes over the process's log.
        middle, shifts = len(self.levels_), self._inner_shifts[:, None]
        lower = predicted.T[:middle][::-1] - shifts
        upper = predicted.T[middle + 1 :] + shifts
        return np.sort(np.stack([lower, upper]), axis=0)

    def predict_distribution(self, X: Any) -> Distribution:
        """The law through the intervals' ends: a `QuantileDistribution`.

        Its intervals are those of `predict_intervals`, except in rows where moved ends of two
        levels cross: they are sorted.
        """
        matrix = self._read_new_rows(X)
        ends = self._sorted_ends(matrix)
        pair = quantile_parts(self._end_levels, ends, self._loc(matrix)).pair(self.target_scale_)
        return QuantileDistribution(self._end_levels, self._in_units(ends), *pair)

    @property
    def _end_levels(self) -> FloatArray:
        return np.delete(self.quantiles_, len(self.levels_))

    def _sorted_ends(self, X: FloatArray) -> FloatArray:
        """Ends of all levels on the inner scale, ascending, (2 n_levels, n_samples)."""
        return np.sort(np.concatenate(self._ends(self._predicted(X))), axis=0)

    def _parts(self, X: FloatArray) -> IntervalParts:
        return quantile_parts(self._end_levels, self._sorted_ends(X), self._loc(X))

    def _loc(self, X: FloatArray) -> FloatArray:
        return predict_booster(self.mean_booster_, X)


class _Column(RegressorMixin, BaseEstimator):
    """A fitted "model" for the library: a column of what was predicted already."""

    fitted_ = True  # what it looks for

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Any, y: Any) -> _Column:
        """There is nothing to fit."""
        return self

    def predict(self, X: Any) -> FloatArray:
        """The column."""
        return np.asarray(X)[:, self.column]
