"""Neighbours by Euclidean distance: what IBUG's affinity is compared with.

Brophy and Lowd (IBUG, 2022), appendix C.2: kNN on standardised features, with one k for the mean
and one for the std; and kNN-CB, which takes the mean from a boosted model and looks for neighbours
among that model's most important features only.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import FloatArray, check_flag
from gbuq_core.baselines.held_out import TuningRows, check_new_rows, make_tuning_rows
from gbuq_core.distribution import Distribution, NormalDistribution, PredictsLaw
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import check_largest_target
from gbuq_core.metrics.neighbour_tuning import (
    CANDIDATES,
    NeighbourTuning,
    running_std,
    smallest_positive,
    tune_neighbors,
)
from gbuq_core.metrics.scale_calibration import SCORINGS, calibrate_scale
from gbuq_core.model_files.contents import check_arrays, check_places, require
from gbuq_core.model_files.fields import Savable
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.ownership import is_owned
from gbuq_core.validation import check_choice, check_number

IMPORTANT = (5, 10, 20)  # the paper's numbers of features


_FARTHEST = 1e150  # its square, times the number of columns, is a float64 still


class _Space(NamedTuple):
    """Training rows in the standardised columns that count, and their targets."""

    columns: np.ndarray
    scaler: StandardScaler
    index: NearestNeighbors
    y: FloatArray

    def check_file(self) -> None:
        """Refuse rows and targets that do not go together."""
        n_columns = len(self.columns)
        check_arrays(self, columns=(np.int64, n_columns), y=("finite", self.index.n_samples_fit_))
        same = n_columns >= 1 and self.index.n_features_in_ == n_columns
        require(same and self.scaler.n_features_in_ == n_columns, "its rows have other columns")

    def targets(self, X: FloatArray, k: int) -> FloatArray:
        """Targets of the k nearest training rows, nearest first: (n_samples, k)."""
        rows = _standardised(self.scaler, X[:, self.columns])
        return self.y[self.index.kneighbors(rows, k, return_distance=False)]


class _Tuned(NamedTuple):
    """One choice of columns: every k's score, and what the scale of the best one is made of."""

    columns: np.ndarray
    tuning: NeighbourTuning
    targets: FloatArray
    loc: FloatArray
    n_mean: int


class EuclideanNeighborsRegressor(Savable, PredictsLaw, RegressorMixin, BaseEstimator):
    """kNN, or kNN-CB with a model: the scale is the std of the nearest rows' targets.

    Parameters
    ----------
    base_model : None or estimator with ``feature_importances_``
        None gives kNN: the mean is that of the nearest rows. With a model, its prediction is the
        mean and distances use only its most important features. A fitted model is used as it is. An
        unfitted one is fitted for tuning and then again on all rows.
    n_important : int or "tune"
        Number of features in the distance if there is a model; "tune" chooses among 5, 10 and 20.
    scoring : {"nll", "crps"}
    calibrate : bool
        As for IBUG.
    validation_fraction : float
        Share of the rows to tune on if ``fit`` gets no validation rows.
    random_state : int, RandomState or None

    Attributes
    ----------
    n_neighbors_, n_mean_neighbors_ : int
        k for the std and for the mean (0 with a model).
    columns_ : ndarray of int
        The features that count.
    min_scale_, gamma_, delta_ : float

    References
    ----------
    Brophy and Lowd (IBUG, 2022), appendix C.2 and table 16.

    Examples
    --------
    >>> x = np.linspace(0.0, 1.0, 300)[:, None]
    >>> y = x[:, 0] * np.random.default_rng(0).normal(size=300)
    >>> model = EuclideanNeighborsRegressor(random_state=0).fit(x, y)
    >>> quiet, noisy = model.predict_distribution([[0.1], [0.9]]).scale
    >>> bool(noisy > 2 * quiet)
    True
    """

    n_neighbors_: int
    n_mean_neighbors_: int
    min_scale_: float
    gamma_: float
    delta_: float
    model_: Any
    columns_: np.ndarray
    _space: _Space

    def check_file(self) -> None:
        """Refuse columns and neighbours that do not exist."""
        require(self.scoring in SCORINGS, "a parameter is impossible")
        space, most = self._space, max(self.n_neighbors_, self.n_mean_neighbors_)
        require(np.array_equal(self.columns_, space.columns), "its columns do not match")
        check_places(space.columns, self.n_features_in_, "a column")
        fewest = min(self.n_neighbors_ - 1, self.n_mean_neighbors_)
        needed = (self.n_mean_neighbors_ == 0) == (self.model_ is not None)
        possible = fewest >= 0 and most <= len(space.y) and needed
        require(possible, "its number of neighbours is impossible")
        scale = (self.min_scale_, self.gamma_, self.delta_)
        require(np.isfinite(scale).all(), "its scale is impossible")
        if self.model_ is not None:
            source = leaf_source(self.model_)
            require(source.n_features == self.n_features_in_, "its model has other columns")

    def __init__(
        self,
        base_model: Any = None,
        n_important: int | str = "tune",
        scoring: str = "nll",
        calibrate: bool = True,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.base_model = base_model
        self.n_important = n_important
        self.scoring = scoring
        self.calibrate = calibrate
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Tune on rows held out, then keep all rows.

        X holds numbers without missing values: a distance to a missing value does not exist.
        ``X_val`` and ``y_val`` are rows to tune on, instead of a share of X. A fitted model has
        seen X, so it needs them.
        """
        check_choice("scoring", self.scoring, SCORINGS)
        if self.n_important != "tune":
            check_number("n_important", self.n_important, 1, integer=True)
        check_flag("calibrate", self.calibrate)
        self._check_model()
        prefit = not is_owned(self.base_model) and self.base_model is not None
        if prefit and X_val is None:
            raise InvalidParameter(
                "Tuning needs rows that the fitted model has not seen: pass X_val and y_val."
            )
        rows = make_tuning_rows(
            self, X, y, X_val, y_val, self.validation_fraction, self.random_state
        )
        _check_target(rows.y_all)
        rows = rows._replace(X=_numbers(rows.X), X_val=_numbers(rows.X_val))
        model = self._model_for(rows.X, rows.y, prefit)
        best = min(self._tune(rows, model), key=lambda each: _score(each.tuning, self.scoring))
        self._set_scale(rows.y_val, best)
        if prefit:  # its own training rows only, as the model is not trained again
            self.model_, X_kept, y_kept = model, rows.X, rows.y
        else:
            X_kept, y_kept = _numbers(rows.X_all), rows.y_all
            self.model_ = self._model_for(X_kept, y_kept, False)
        self.columns_ = best.columns
        self._space = _make_space(X_kept, y_kept, best.columns)
        return self

    def predict(self, X: Any) -> FloatArray:
        """Mean, (n_samples,)."""
        return self.predict_distribution(X).loc

    def predict_distribution(self, X: Any) -> Distribution:
        """A normal for each row: the mean, and the calibrated std of the neighbours' targets."""
        check_is_fitted(self, "columns_")
        matrix = _numbers(check_new_rows(self, X))
        near = self._space.targets(matrix, max(self.n_neighbors_, self.n_mean_neighbors_))
        if self.model_ is None:
            loc = near[:, : self.n_mean_neighbors_].mean(axis=1)
        else:
            loc = np.asarray(self.model_.predict(matrix), dtype=np.float64)
        std = np.maximum(running_std(near, [self.n_neighbors_])[:, 0], self.min_scale_)
        return NormalDistribution(loc, self.gamma_ * std + self.delta_)

    def _check_model(self) -> None:
        base = self.base_model
        if isinstance(base, type):
            raise InvalidParameter(
                f"base_model must be an object, not a class: pass {base.__name__}()."
            )
        if hasattr(base, "predict_proba"):
            raise InvalidParameter(
                f"base_model is a classifier ({type(base).__name__}): pass a regressor."
            )

    def _model_for(self, X: FloatArray, y: FloatArray, prefit: bool) -> Any:
        if self.base_model is None or prefit:
            return self.base_model
        return clone(self.base_model).fit(X, y)

    def _tune(self, rows: TuningRows, model: Any) -> list[_Tuned]:
        """Score every k for each choice of columns."""
        choices = []
        for columns in self._column_choices(model, rows.X.shape[1]):
            space = _make_space(rows.X, rows.y, columns)
            near = space.targets(rows.X_val, min(CANDIDATES[-1], len(rows.y)))
            loc, n_mean = _best_mean(near, rows.y_val)
            if model is not None:
                loc, n_mean = np.asarray(model.predict(rows.X_val), dtype=np.float64), 0
            tuning = tune_neighbors(rows.y_val, loc, near, self.scoring)
            choices.append(_Tuned(columns, tuning, near, loc, n_mean))
        return choices

    def _column_choices(self, model: Any, n_features: int) -> list[np.ndarray]:
        if model is None:
            return [np.arange(n_features)]
        importances = getattr(model, "feature_importances_", None)
        if importances is None:
            raise InvalidParameter(
                f"base_model ({type(model).__name__}) has no feature_importances_: use a booster "
                "of CatBoost, LightGBM or XGBoost, or a forest."
            )
        order = np.argsort(-np.asarray(importances), kind="stable")
        wanted = IMPORTANT if self.n_important == "tune" else (int(self.n_important),)
        return [order[:count] for count in sorted({min(each, n_features) for each in wanted})]

    def _set_scale(self, y_val: FloatArray, best: _Tuned) -> None:
        k = int(best.tuning.n_neighbors[best.tuning.best])
        std = running_std(best.targets, [k])[:, 0]
        self.n_neighbors_, self.n_mean_neighbors_ = k, best.n_mean
        self.min_scale_, self.gamma_, self.delta_ = smallest_positive(std), 1.0, 0.0
        if self.calibrate:
            fitted = calibrate_scale(
                y_val, best.loc, np.maximum(std, self.min_scale_), self.scoring
            )
            self.gamma_, self.delta_ = fitted.gamma, fitted.delta


def _score(tuning: NeighbourTuning, scoring: str) -> float:
    return float((tuning.nll if scoring == "nll" else tuning.crps)[tuning.best])


def _best_mean(near: FloatArray, y: FloatArray) -> tuple[FloatArray, int]:
    """Means of the k nearest targets for the k of least squared error, and that k."""
    counts = [k for k in CANDIDATES if k <= near.shape[1]]
    means = np.cumsum(near, axis=1)[:, np.array(counts, dtype=np.intp) - 1] / counts
    best = int(np.square(means - y[:, None]).mean(axis=0).argmin()) if counts else 0
    return (means[:, best], counts[best]) if counts else (np.zeros(len(y)), 0)


def _make_space(X: FloatArray, y: FloatArray, columns: np.ndarray) -> _Space:
    _check_reach(X[:, columns])
    scaler = StandardScaler().fit(X[:, columns])
    index = NearestNeighbors().fit(_standardised(scaler, X[:, columns]))
    return _Space(columns, scaler, index, y)


def _standardised(scaler: StandardScaler, X: FloatArray) -> FloatArray:
    """Rows in stds of the training rows, refused where a squared distance would overflow."""
    _check_reach(X)
    with np.errstate(over="ignore"):
        rows: FloatArray = scaler.transform(X)
    _check_reach(rows)
    return rows


def _check_reach(X: FloatArray) -> None:
    farthest = float(np.abs(X).max(initial=0.0))
    if farthest > _FARTHEST:
        raise InvalidData(
            f"X holds values too far from the others ({farthest:g}), and squared distances "
            f"overflow above {_FARTHEST:g}: use a larger unit or drop such rows."
        )


def _numbers(X: Any) -> FloatArray:
    """A table as float64 without gaps."""
    try:
        matrix = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData(
            "X holds text or categories, but Euclidean distances need numbers: encode them first."
        ) from None
    if np.isnan(matrix).any():
        raise InvalidData(
            "Input X contains NaN, but Euclidean distances need complete rows: fill the gaps or "
            "drop those rows."
        )
    return matrix


def _check_target(y: FloatArray) -> None:
    """Refuse targets whose neighbours' spread is nothing, or overflows."""
    check_largest_target(y)
    if y.min() == y.max():
        raise InvalidData(
            f"y has only one value ({y[0]:g}): equal neighbours have no spread to show."
        )
