"""What baselines with a predicted scale share: rows in; mean, data and knowledge parts out.

One of them is LightGBM's random forest. Its trees' disagreement is knowledge without noise.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.held_out import check_new_rows, check_rows
from gbuq_core.distribution import Distribution, NormalDistribution, PredictsLaw
from gbuq_core.errors import InvalidData
from gbuq_core.inputs import (
    TargetScale,
    check_numeric_target,
    draw_seed,
    fit_target_scale,
    refuse_dates,
)
from gbuq_core.jobs import effective_n_jobs, stage
from gbuq_core.model_files.contents import require
from gbuq_core.model_files.fields import Savable
from gbuq_core.trees.importers.lightgbm_calls import predict_booster
from gbuq_core.trees.lightgbm_forest import check_forest, grow_forest, tree_values
from gbuq_core.uncertainty import Uncertainty, mean_over_members, variance_over_members

LARGEST_INPUT = 1e38  # of single precision, in which some of the libraries keep rows


class IntervalParts(NamedTuple):
    """Mean and the two variances, (n_samples,) each, on the inner scale of the target."""

    loc: FloatArray
    data: FloatArray
    knowledge: FloatArray

    def pair(self, target: TargetScale) -> tuple[FloatArray, FloatArray]:
        """``loc`` and ``scale``, (n_samples,) each, in units of y."""
        std = np.sqrt(self.data + self.knowledge)
        return target.centre + target.spread * self.loc, target.spread * std

    def uncertainty(self, target: TargetScale) -> Uncertainty:
        """Variances of y, (n_samples,) each."""
        data, knowledge = target.spread**2 * self.data, target.spread**2 * self.knowledge
        return Uncertainty(data + knowledge, data, knowledge)


class Intervals(NamedTuple):
    """Central intervals, in units of y."""

    levels: FloatArray  # (n_levels,): nominal coverage
    lower: FloatArray  # (n_levels, n_samples)
    upper: FloatArray


class IntervalRegressor(Savable, PredictsLaw, RegressorMixin, BaseEstimator, ABC):
    """A regressor with a mean and a std of its own for each row.

    The target is standardised inside, so its unit does not matter. If a method has no data or no
    knowledge uncertainty, that part is 0.
    """

    _reads_gaps = True  # whether X may hold NaN
    _name = "this baseline"
    _standardizes = True
    target_scale_: TargetScale
    seed_: int
    fit_seconds_: float

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the model to X (n_samples, n_features) and y (n_samples,)."""
        began = time.perf_counter()
        self._check_parameters()
        if hasattr(self, "n_jobs"):
            effective_n_jobs(self.n_jobs)
        self.seed_ = short_seed(getattr(self, "random_state", None))
        rows, target = check_training_rows(self, X, y)
        matrix = self._numbers(rows)
        self.target_scale_ = fit_target_scale(target, self._standardizes)
        self._keep_target(target)
        self._fit(matrix, (target - self.target_scale_.centre) / self.target_scale_.spread)
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def check_file(self) -> None:
        """Refuse impossible parameters; they may differ from those of the fit."""
        fitted = dict(vars(self))
        self._check_parameters()
        self.__dict__.update(fitted)

    def predict(self, X: Any) -> FloatArray:
        """Mean of y, (n_samples,)."""
        loc = self._loc(self._read_new_rows(X))
        return self.target_scale_.centre + self.target_scale_.spread * loc

    def predict_distribution(self, X: Any) -> Distribution:
        """A normal for each row: the mean, and the std of all parts together."""
        return NormalDistribution(*self._parts(self._read_new_rows(X)).pair(self.target_scale_))

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty: variances of y, (n_samples,) each."""
        return self._parts(self._read_new_rows(X)).uncertainty(self.target_scale_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._reads_gaps
        return tags

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse impossible parameters."""

    def _keep_target(self, y: FloatArray) -> None:
        """Keep what predictions need of the target (n,) in its own units."""

    @abstractmethod
    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        """Fit on a matrix (n, p) and the inner target (n,)."""

    @abstractmethod
    def _parts(self, X: FloatArray) -> IntervalParts:
        """Mean and variances at the rows of a matrix, on the inner scale."""

    def _loc(self, X: FloatArray) -> FloatArray:
        """The mean alone, where that is cheaper."""
        return self._parts(X).loc

    def _read_new_rows(self, X: Any) -> FloatArray:
        check_is_fitted(self, "fit_seconds_")
        return self._numbers(check_new_rows(self, X))

    def _numbers(self, rows: Any) -> FloatArray:
        return read_matrix(rows, self._reads_gaps, self._name)


def check_training_rows(estimator: Any, X: Any, y: Any) -> tuple[Any, FloatArray]:
    """Rows as given and targets (n,) float64; at least two of them."""
    values = np.asarray(y)
    if values.ndim == 1 and values.dtype.kind in "OUSmM":  # text and dates
        check_numeric_target(values)
    rows, target = check_rows(estimator, X, y, reset=True)
    if len(target) < 2:
        raise InvalidData("n_samples = 1 is too few: pass at least 2 rows.")
    return rows, target


def read_matrix(rows: Any, reads_gaps: bool, name: str) -> FloatArray:
    """A table of numbers as (n, p) float64."""
    if isinstance(rows, pd.DataFrame):
        columns = [_read_column(rows.iloc[:, i], name) for i, name in enumerate(rows.columns)]
        rows = np.stack(columns, axis=1)
    try:
        matrix = np.ascontiguousarray(rows, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData("X holds text or categories: code them as numbers first.") from None
    if not reads_gaps and np.isnan(matrix).any():
        raise InvalidData(
            f"Input X contains NaN, which {name} cannot read: fill the gaps or drop those rows."
        )
    if np.isinf(matrix).any():
        raise InvalidData("Input X contains infinity: replace it by numbers.")
    if (np.abs(matrix) > LARGEST_INPUT).any():
        raise InvalidData(
            f"X holds values beyond {LARGEST_INPUT:g}, where single precision overflows: use a "
            "larger unit."
        )
    return matrix


def _read_column(values: pd.Series, name: Any) -> FloatArray:
    refuse_dates(values, f"column {str(name)!r}")
    try:
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InvalidData(
            f"Column {str(name)!r} holds text or categories: code it as numbers first."
        ) from None


def short_seed(random_state: Any) -> int:
    """A seed of 31 bits, as the libraries' are, that differs for all seeds of this project."""
    return int(np.random.SeedSequence(draw_seed(random_state)).generate_state(1)[0] >> 1)


class LightGBMForest(IntervalRegressor):
    """What the baselines on LightGBM's forest share: how it is grown."""

    _name = "LightGBM"

    def __init__(
        self,
        n_trees: int = 100,
        max_leaves: int = 31,
        min_child_samples: int = 20,
        subsample: float = 0.8,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_forest(self.n_trees, self.max_leaves, self.min_child_samples, self.subsample)

    def _grow(self, X: FloatArray, y: FloatArray, **settings: Any) -> Any:
        return grow_forest(
            X,
            y,
            n_trees=self.n_trees,
            max_leaves=self.max_leaves,
            min_child_samples=self.min_child_samples,
            subsample=self.subsample,
            seed=self.seed_,
            n_jobs=self.n_jobs,
            **settings,
        )

    def _grow_quantiles(
        self, X: FloatArray, y: FloatArray, quantiles: FloatArray
    ) -> tuple[Any, list[Any]]:
        """A forest of the mean, and one of each quantile."""
        with stage(1 + len(quantiles)):
            with stage(1, span=1):
                mean = self._grow(X, y)
            boosters = []
            for quantile in quantiles:
                with stage(1, span=1):
                    boosters.append(self._grow(X, y, objective="quantile", alpha=float(quantile)))
        return mean, boosters


def check_booster(booster: Any, n_features: int) -> None:
    """Refuse a forest of a file that has other columns, or predicts classes."""
    require(booster.num_feature() == n_features, "its forest has other columns")
    require(booster.num_model_per_iteration() == 1, "its forest has several outputs")


class ForestVarianceRegressor(LightGBMForest):
    """A random forest with the variance between its trees as its only uncertainty.

    ``loc`` is the mean over the trees and ``scale`` is their std. Neither contains the noise of y:
    the data uncertainty is 0, and intervals are too narrow wherever y is noisy.

    Parameters
    ----------
    n_trees : int
    max_leaves, min_child_samples : int
        Of each tree.
    subsample : float
        Share of the rows that each tree sees, below 1.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads; results do not depend on it.

    Attributes
    ----------
    booster_ : lightgbm.Booster
        On the standardised target.
    n_features_in_, feature_names_in_ : as usual
    fit_seconds_ : float

    References
    ----------
    MACAU, section 4 and table 1 ("Randomforest").

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heteroscedastic
    >>> data = make_heteroscedastic(500, random_state=0)
    >>> model = ForestVarianceRegressor(n_trees=20, random_state=0).fit(data.X, data.y)
    >>> total, noise, knowledge = model.predict_uncertainty(data.X)
    >>> float(noise.max()), bool(knowledge.mean() > 0)
    (0.0, True)
    """

    booster_: Annotated[Any, "lightgbm.Booster"]

    def check_file(self) -> None:
        """Refuse a forest of other columns."""
        super().check_file()
        check_booster(self.booster_, self.n_features_in_)

    def predict_knowledge(self, X: Any) -> FloatArray:
        """Variance between the trees, (n_samples,), in squared units of y."""
        return self.predict_uncertainty(X).knowledge

    def predict_members(self, X: Any) -> FloatArray:
        """Prediction of each tree, (n_trees, n_samples), in units of y."""
        rows = self._read_new_rows(X)  # checks that there is a booster
        values = tree_values(self.booster_, rows)
        return self.target_scale_.centre + self.target_scale_.spread * values

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        self.booster_ = self._grow(X, y)

    def _parts(self, X: FloatArray) -> IntervalParts:
        values = tree_values(self.booster_, X)
        return IntervalParts(
            mean_over_members(values), np.zeros(len(X)), variance_over_members(values)
        )

    def _loc(self, X: FloatArray) -> FloatArray:
        return predict_booster(self.booster_, X)
