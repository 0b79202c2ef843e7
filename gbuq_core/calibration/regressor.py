"""A wrapper that makes the stated uncertainty of a regression true on rows it has not learnt."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gbuq_core.array_checks import check_array, check_flag
from gbuq_core.calibration.boosters import BoosterParts, last_of, reader_of, unwrap
from gbuq_core.calibration.clocks import (
    MOST_LOG_FACTOR,
    TAILS,
    Clocks,
    Stages,
    choose_clocks,
    join_stages,
    join_weights,
    smallest_variance,
    warn_of_all_trees,
)
from gbuq_core.calibration.laws import (
    CoverageMap,
    RecalibratedDistribution,
    ResidualDistribution,
    fit_coverage_map,
)
from gbuq_core.calibration.splits import Split, make_splits
from gbuq_core.calibration.widths import SHAPES, Width, choose_own_width, choose_width, stretch
from gbuq_core.distribution import Distribution, LogDistribution, PredictsLaw, student
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import (
    check_fit_data,
    check_new_rows,
    check_numeric_target,
    draw_seed,
    stack_rows,
    take_rows,
    weighted_mean,
)
from gbuq_core.jobs import parallel_map, stage
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.model_files.fields import Savable
from gbuq_core.trees.importers.ownership import copy_unfitted, is_owned
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice

FloatArray = NDArray[np.float64]

METHODS = ("scale", "two_clocks", "conformal", "isotonic")
FEWEST_ROWS = 10  # to calibrate on
FEWEST_ROWS_OF_CLOCKS = 40


class _Held(NamedTuple):
    """Rows that calibrate, their targets (n,) and how many rows each counts as, or None."""

    X: Any
    y: FloatArray
    weight: FloatArray | None


def _has_uncertainty(wrapper: CalibratedRegressor) -> bool:
    """Libraries' boosters are read without members: their knowledge is 0."""
    return hasattr(wrapper.estimator, "predict_uncertainty") or not hasattr(
        wrapper.estimator, "predict_distribution"
    )


class CalibratedRegressor(Savable, MetaEstimatorMixin, PredictsLaw, RegressorMixin, BaseEstimator):
    """Make the intervals of a regression hold as many values as they say.

    An unfitted ``estimator`` is fitted several times: on the rows of each fold, to see how it does
    on the others, and at the end on all rows. A fitted ``estimator`` is used as it is:
    ``fit(X, y)`` then takes rows which it has not seen, and all of them calibrate.

    Parameters
    ----------
    estimator : estimator
        Any regression of this library with ``predict_distribution``; a CatBoostRegressor with
        ``loss_function="RMSEWithUncertainty"``; an NGBRegressor, of whose law place and width are
        read (a log-normal's on the log scale). It is cloned if it is not fitted.
    method : {"scale", "two_clocks", "conformal", "isotonic"}
        "scale": one factor of the std, constant noise beside it, and the shape, by the negative log
        likelihood. "two_clocks":
        for ensembles that grow tree by tree; the number of trees for the mean by squared error,
        then the number of trees for the scale, the factor and the tails by the likelihood.
        "conformal": intervals from the sizes of the residuals in predicted stds, which cover new
        rows from the same distribution at least as often as they say. "isotonic": as "scale" with
        ``shape="moments"``, and then the coverage of every level is corrected by isotonic
        regression.
    tails : {"student", "normal"}
        Whether the law may have heavier tails than a normal. The std is the same either way.
        "conformal" has the tails of the residuals.
    cv : None, int or scikit-learn splitter
        Which rows calibrate. None: five folds, and from 2,000 rows on one held-out fifth. A
        TimeSeriesSplit calibrates on rows that come later.
    random_state : int, Generator, RandomState or None
        Of the folds. The estimator keeps its own.
    n_jobs : int or None
        Folds that are fitted at the same time; None means one, because most estimators use all
        cores themselves.
    shape : {"auto", "moments", "own"}
        Of the law that "scale" predicts. "moments" reads the mean and the std of the estimator's
        law only, and puts a Student t or a normal around them. "own" stretches the estimator's own
        law around its mean, row by row. "auto" takes whichever has the better likelihood on the
        rows that calibrate (the better CRPS, if the own law has no density). For an estimator that
        predicts normals, all three are "moments".
    floor : bool
        Whether "scale" and "isotonic" may add constant noise to every row's variance. False leaves
        one factor.

    Attributes
    ----------
    estimator_ : estimator
        Fitted on all rows; the given one itself if that was fitted.
    clocks_ : Clocks or None
        What "two_clocks" chose, with the curves.
    factor_ : float
        What the data part of the std is multiplied by.
    floor_ : float
        Std of the noise that the estimator does not see, in units of y; with a target on a log
        scale, in units of the log. 0 where it does not help, and for the other methods.
    shape_ : str or None
        "moments" or "own"; None for "conformal".
    df_ : float or None
        Degrees of freedom of the Student t; inf means a normal. None for "conformal" and where
        ``shape_`` is "own".
    n_calibration_ : int
        Rows that calibrated, each counted once whatever its weight.
    prefit_ : bool
        Whether the estimator was fitted already.
    seed_ : int
        What ``random_state`` gave.

    Notes
    -----
    With "scale" and "isotonic" the variance of a row is

    ``factor_**2 * data + knowledge + floor_**2``.

    The floor mends an overfitted ensemble, whose stds are far too small and do not know which rows
    are noisy: a factor alone would make some rows far too wide. It must raise the log likelihood of
    the rows that calibrate by more than 2 nats, which chance alone does in 2.3 % of tables, since 0
    is its bound (Self and Liang, case 5).

    Only "scale" can keep the estimator's own shape (quantiles of a forest, draws of XBART or soft
    trees, one of IBUG's families). The other methods read the mean and the std only.

    Knowledge uncertainty is never scaled: only data uncertainty is. It counts as 0 if the estimator
    has no ``predict_uncertainty``, or if its parts do not add up to the squared scale. The floor
    counts as data uncertainty.

    An estimator that predicts on a log scale (``target="log"``) is calibrated there, except by
    "conformal", whose intervals are symmetric in the unit of y.

    scikit-learn's ``clone`` makes a fitted estimator an unfitted one, here too. In a search or a
    cross-validation, put a fitted one into ``sklearn.frozen.FrozenEstimator``.

    With folds, "conformal" takes the residuals of the folds' models for those of the final one
    (cross-conformal prediction). Its guarantee is exact for a fitted estimator without weights.
    With weights, the quantile is that of the rows repeated as often. Nothing is guaranteed then,
    because copies of a row are not independent rows. (The conformal baselines take no weights,
    because mapie's calibration has none.)

    For classes, scikit-learn's ``CalibratedClassifierCV`` works around `BoostedEnsembleClassifier`.

    References
    ----------
    Papadopoulos et al. (2002) and Vovk (2015), "Cross-conformal predictors"; Kuleshov, Fenner and
    Ermon (2018); Self and Liang (1987), "Asymptotic properties of maximum likelihood estimators and
    likelihood ratio tests under nonstandard conditions".

    Examples
    --------
    >>> from gbuq_core import CalibratedRegressor, make_heteroscedastic
    >>> from gbuq_core.baselines import EuclideanNeighborsRegressor
    >>> train, new = (make_heteroscedastic(500, random_state=k) for k in (0, 1))
    >>> model = CalibratedRegressor(EuclideanNeighborsRegressor(random_state=0), random_state=0)
    >>> lower, upper = model.fit(train.X, train.y).predict_interval(new.X, 0.9)
    >>> bool(0.85 < np.mean((lower <= new.y) & (new.y <= upper)) < 0.95)
    True
    """

    estimator_: Any
    prefit_: bool
    factor_: float
    df_: float | None
    floor_: float
    shape_: str | None
    clocks_: Clocks | None
    n_calibration_: int
    seed_: int
    _smallest: float
    _sizes: FloatArray
    _size_weight: FloatArray | None
    _map: CoverageMap
    _not_saved = ("_reader",)
    _may_lack = ("_sizes", "_size_weight", "_map")

    def __init__(
        self,
        estimator: Any,
        method: str = "scale",
        tails: str = "student",
        cv: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        shape: str = "auto",
        floor: bool = True,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.tails = tails
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.shape = shape
        self.floor = floor

    def fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Calibrate, and fit the estimator on all rows unless it is fitted.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
            If the estimator is fitted already: rows which it has not seen. Nobody can check that.
        y : array-like (n_samples,)
        X_val, y_val : the same, optional
            Rows that calibrate in place of folds. The final fit uses them too. Not for a fitted
            estimator.
        groups : array-like (n_samples,), optional
            Rows of one group are never on both sides.
        sample_weight : array-like (n_samples,), optional
            How many rows each row counts as, in the estimator's own fits and where it calibrates:
            in the factor, the tails, the clocks, the isotonic regression and the ranks of the
            conformal sizes. Rows of weight 0 calibrate nothing. A fitted estimator needs no
            ``sample_weight`` of its own. The folds are made of rows, whatever they weigh.
        """
        check_choice("method", self.method, METHODS)
        check_choice("tails", self.tails, TAILS)
        check_choice("shape", self.shape, SHAPES)
        check_flag("floor", self.floor)
        if self.shape == "own" and self.method != "scale":
            raise InvalidParameter(
                f"method={self.method!r} reads the mean and the std only: choose shape='auto', or "
                "method='scale'."
            )
        model = unwrap(self.estimator)
        self._reader = reader_of(model, self.method == "two_clocks")
        table, values = check_fit_data(self, X, y)
        target = check_numeric_target(values)
        self._forget()
        self.prefit_ = self._reader.is_fitted(model)
        rows = table if hasattr(X, "iloc") else np.asarray(X)
        seed = self.seed_ = draw_seed(self.random_state)
        if self.prefit_:
            self._refuse_training(X_val, y_val, groups)
            weights = _weights_of(sample_weight, len(target))
            self._calibrate_fitted(model, rows, target, weights)
            self._warn_of_the_last_tree()
            return self
        splits = None
        if X_val is not None or y_val is not None:
            rows, target, splits = self._stack(rows, target, X_val, y_val)
        weights = self._check_weights(model, sample_weight, len(target), splits)
        self._check_inner_model(model, splits)
        if self._reader.stops and self.method == "two_clocks":
            options = {} if weights is None else {"sample_weight": weights}
            return self._let_it_choose(model, rows, target, splits, seed, groups=groups, **options)
        if splits is None:
            splits = make_splits(target, False, self.cv, groups, seed, table)
        if weights is not None:
            splits = [
                split._replace(held=split.held[weights[split.held] > 0.0]) for split in splits
            ]
        _require_rows(sum(len(split.held) for split in splits), self.method)
        with stage(len(splits) + 1.0):
            with stage(float(len(splits)), span=float(len(splits))):
                fitted = parallel_map(
                    lambda split: self._fit_part(model, rows, target, weights, split.fitted),
                    splits,
                    1 if self.n_jobs is None else self.n_jobs,
                )
            held = [_take(rows, target, weights, split.held) for split in splits]
            self._calibrate(fitted, held)
            everything = np.arange(len(target))
            self.estimator_ = self._fit_part(model, rows, target, weights, everything)
        self._warn_of_the_last_tree()
        return self

    def predict(self, X: Any) -> FloatArray:
        """The mean, (n_samples,): the estimator's own, or with "two_clocks" that of its clock."""
        return self.predict_distribution(X).loc

    def predict_distribution(self, X: Any) -> Distribution:
        """The calibrated law of y in every row; unpacks as ``loc, scale``."""
        if self._stopped is not None:
            return self._stopped.predict_distribution(self._rows(X))
        parts = self._parts(X)
        width = np.sqrt(parts.data + parts.knowledge)
        if self.method == "conformal":
            return ResidualDistribution(parts.loc, width, self._sizes, self._size_weight)
        if self.shape_ == "own":
            law = stretch(parts, width)
        elif self.method == "isotonic":
            law = RecalibratedDistribution(parts.loc, width, self._map)
        else:
            law = student(parts.loc, width, self.df_ or math.inf)
        return law if parts.shift is None else LogDistribution(law, parts.shift)

    @available_if(_has_uncertainty)
    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty as variances of y, (n_samples,) each.

        Data is the estimator's times ``factor_`` squared, and ``floor_`` squared; knowledge is the
        estimator's own. With a target on a log scale, all of it counts as data.
        """
        if self._stopped is not None:
            return self._stopped.predict_uncertainty(self._rows(X))
        parts = self._parts(X)
        data, knowledge = parts.data, parts.knowledge
        if parts.shift is not None:
            data, knowledge = self.predict_distribution(X).variance(), np.zeros_like(knowledge)
        return Uncertainty(data + knowledge, data, knowledge)

    def check_file(self) -> None:
        """Refuse what no fit makes, and find how the estimator is read."""
        known = self.method in METHODS and self.tails in TAILS and self.shape in SHAPES
        require(known and isinstance(self.floor, bool), "a parameter is impossible")
        model = self.estimator_
        self._reader = reader_of(model, self.method == "two_clocks")
        require(self._reader.is_fitted(model), "its estimator is not fitted")
        names = getattr(model, "feature_names_", None)  # CatBoost's
        n_features = model.n_features_in_ if names is None else len(names)
        require(n_features == self.n_features_in_, "its estimator has other columns")
        sizes = (self.factor_, self._smallest, self.floor_)
        possible = all(math.isfinite(size) and size >= 0.0 for size in sizes)
        require(possible and self.factor_ > 0.0, "its factor is impossible")
        allowed = self.floor and self.method in ("scale", "isotonic")
        require(allowed or self.floor_ == 0.0, "its floor is impossible")
        usual = None if self.method == "conformal" else "moments"
        own = self.shape_ == "own" and self.method == "scale" and self.shape != "moments"
        require(own or self.shape_ == usual, "its shape is impossible")
        tails = self.df_ is not None and self.df_ > 2.0
        require(tails if self.shape_ == "moments" else self.df_ is None, "its tails are impossible")
        require(self.n_calibration_ >= 1, "it has no rows")
        require((self.clocks_ is not None) == (self.method == "two_clocks"), "its clocks differ")
        if self.clocks_ is not None:
            self._check_clocks(self.clocks_)
        elif self.method == "conformal":
            n_rows = self.n_calibration_
            check_arrays(self, _sizes=("finite", n_rows))
            rises = (np.diff(self._sizes) >= 0.0).all() and self._sizes[0] >= 0.0
            require(rises, "its residuals are impossible")
            if self._size_weight is not None:
                check_arrays(self, _size_weight=("finite", n_rows))
                require((self._size_weight > 0.0).all(), "a weight is impossible")
        elif self.method == "isotonic":
            require(isinstance(getattr(self, "_map", None), CoverageMap), "it has no map")

    def _check_clocks(self, clocks: Clocks) -> None:
        n_trees = clocks.n_trees
        known = len(n_trees) >= 1 and n_trees[0] >= 1 and (np.diff(n_trees) > 0).all()
        tried = known and clocks.mean_trees in n_trees and clocks.scale_trees in n_trees
        require(tried, "a clock stops at a tree that was not tried")
        if self._reader.stops:
            there = clocks.last <= self._reader.n_trees(self.estimator_)
            require(there, "a clock stops at a tree that does not exist")
        at_mean = clocks.rmse[n_trees == clocks.mean_trees]
        scored = not np.isnan([*at_mean, *clocks.nll, *clocks.nll_uncorrected]).any()
        require(scored, "a score of its clocks is missing")
        chosen = (clocks.factor, clocks.df, clocks.n_rows)
        require(chosen == (self.factor_, self.df_, self.n_calibration_), "its clocks differ")

    @property
    def _stopped(self) -> Any:
        """An ensemble of this library at its clocks, which needs no scaling from here; or None."""
        check_is_fitted(self, "factor_")
        if self.clocks_ is None or not self._reader.stops:
            return None
        return self.estimator_.with_clocks(self.clocks_)

    def _rows(self, X: Any) -> Any:
        """New rows as the estimator saw the others: a frame or an array."""
        table = check_new_rows(self, X)
        return table if hasattr(X, "iloc") else np.asarray(X)

    def _parts(self, X: Any) -> BoosterParts:
        """Calibrated parts of new rows."""
        rows = self._rows(X)
        if self.clocks_ is not None:
            parts = self._reader.parts_at(self.estimator_, rows, self.clocks_)
        else:
            parts = self._reader.parts(self.estimator_, rows, self.method != "conformal")
        return parts._replace(data=self._data(parts))

    def _data(self, parts: BoosterParts) -> FloatArray:
        """The calibrated data part of the variance, with the floor."""
        scaled = self.factor_**2 * np.maximum(parts.data, self._smallest)
        return scaled + self.floor_**2

    def __sklearn_clone__(self) -> Self:
        bare = copy.copy(self)
        bare.estimator = None
        cloned: Self = super(CalibratedRegressor, bare).__sklearn_clone__()
        cloned.estimator = copy_unfitted(self.estimator)
        return cloned

    def _forget(self) -> None:
        """A fit that fails leaves no half of the one before."""
        for name in ("factor_", "estimator_"):
            self.__dict__.pop(name, None)
        self.clocks_: Clocks | None = None
        self.df_: Any = None
        self.floor_ = 0.0
        self.shape_: str | None = None

    def _calibrate_fitted(
        self, model: Any, rows: Any, target: FloatArray, weights: FloatArray | None
    ) -> None:
        n_features = getattr(model, "n_features_in_", getattr(model, "n_features", None))
        if n_features and n_features != self.n_features_in_:  # a model from a file says 0
            raise InvalidData(
                f"X has {self.n_features_in_} columns, but the fitted {type(model).__name__} "
                f"expects {n_features}."
            )
        chosen = np.arange(len(target)) if weights is None else np.flatnonzero(weights)
        _require_rows(len(chosen), self.method)
        self._calibrate([model], [_take(rows, target, weights, chosen)])
        self.estimator_ = model

    def _let_it_choose(
        self, model: Any, rows: Any, y: FloatArray, splits: Any, seed: int, **options: Any
    ) -> Self:
        """An ensemble of this library chooses its clocks in its own fit, at less cost."""
        own = clone(model).set_params(stopping="two_clocks", tails=self.tails)
        if self.cv is not None:
            own.set_params(cv=self.cv)
        if own.random_state is None:
            own.set_params(random_state=seed)
        if splits is None:
            _require_rows(len(y), self.method)
            own.fit(rows, y, **options)
        else:
            first, last = splits[0]
            own.fit(take_rows(rows, first), y[first], take_rows(rows, last), y[last])
        if own.clocks_ is None:
            raise InvalidParameter(
                f"{type(own).__name__} has no clocks with temperature={own.temperature!r}, because "
                "a chain of samples is not truncated: choose method='scale'."
            )
        self.estimator_ = own
        self._set_clocks(own.clocks_, 0.0)
        return self

    def _fit_part(
        self, model: Any, rows: Any, y: FloatArray, weights: Any, chosen: NDArray[np.intp]
    ) -> Any:
        options = {} if weights is None else {"sample_weight": weights[chosen]}
        with stage(1.0, span=1.0):
            part = copy_unfitted(model)
            return self._reader.fit(part, take_rows(rows, chosen), y[chosen], **options)

    def _calibrate(self, models: list[Any], held: list[_Held]) -> None:
        """Choose by what each model says about rows that it has not seen."""
        pairs = [(model, rows) for model, rows in zip(models, held, strict=True) if len(rows.y)]
        weight = join_weights([rows.weight for _, rows in pairs])
        if self.method == "two_clocks":
            n_trees = max(1, *(self._reader.n_trees(model) for model in models))
            stages = [
                replace(self._reader.stages(model, rows.X, rows.y, n_trees), weight=rows.weight)
                for model, rows in pairs
            ]
            self._choose(join_stages(stages))
            return
        logs = self.method != "conformal"  # which has no tails to carry over from a log scale
        parts = [self._reader.parts(model, rows.X, logs) for model, rows in pairs]
        joined = BoosterParts(
            np.concatenate([part.loc for part in parts]),
            np.concatenate([part.data for part in parts]),
            np.concatenate([part.knowledge for part in parts]),
        )
        targets = [rows.y for _, rows in pairs]
        if parts[0].shift is not None:
            shift = parts[0].shift
            targets = [_on_log_scale(each, shift) for each in targets]
        y = np.concatenate(targets)
        if not all(np.isfinite(part).all() for part in joined[:3]):
            raise InvalidData(
                f"The predictions of {type(models[0]).__name__} are not all finite, so they cannot "
                "be calibrated."
            )
        if self.method == "conformal":
            self._measure_residuals(joined, y, weight)
            return
        stage = Stages(
            n_trees=np.array([1]),
            mean=joined.loc[None],
            knowledge=joined.knowledge[None],
            data=joined.data[None],
            y=y,
            for_mean=np.ones(1, bool),
            weight=weight,
        )
        width = choose_width(stage, self.tails, self.floor)
        has_own = any(part.law is not None for part in parts)
        if self.method == "scale" and self.shape != "moments" and has_own:
            own = choose_own_width(parts, targets, weight, self.floor)
            if own is None and self.shape == "own":
                raise InvalidData(
                    f"The law of {type(models[0]).__name__} has no spread in some of the rows that "
                    "calibrate, or does not allow their targets: choose shape='moments'."
                )
            if own is not None and (self.shape == "own" or _is_better(own, width)):
                width = own
        self._smallest = smallest_variance(np.square(y - joined.loc), weight)
        self._set_factor(width.factor, width.df, len(y))
        self.floor_, self.shape_ = width.floor, "own" if width.df is None else "moments"
        if self.method == "isotonic":
            z = self._standardised(joined, y)
            self._map = fit_coverage_map(z, self.df_ or math.inf, weight)

    def _choose(self, stages: Stages) -> None:
        clocks = choose_clocks(stages, self.tails)
        at_mean = int(np.searchsorted(stages.n_trees, clocks.mean_trees))
        squared = np.square(stages.y - stages.mean[at_mean])
        self._set_clocks(clocks, smallest_variance(squared, stages.weight))

    def _warn_of_the_last_tree(self) -> None:
        if self.clocks_ is not None:
            warn_of_all_trees(self.clocks_.last, int(self.clocks_.n_trees[-1]), stacklevel=3)

    def _set_clocks(self, clocks: Clocks, smallest: float) -> None:
        self.clocks_, self._smallest = clocks, smallest
        self.factor_, self.df_, self.n_calibration_ = clocks.factor, clocks.df, clocks.n_rows
        self.shape_ = "moments"

    def _set_factor(self, factor: float, df: float | None, n_rows: int) -> None:
        self.factor_, self.df_, self.n_calibration_ = factor, df, n_rows

    def _measure_residuals(
        self, parts: BoosterParts, y: FloatArray, weight: FloatArray | None
    ) -> None:
        """Sizes of the residuals in stds, which are scaled to have mean square 1 beforehand."""
        squared = np.square(y - parts.loc)
        self._smallest = smallest_variance(squared, weight)
        data = np.maximum(parts.data, self._smallest)

        def excess(log_factor: float) -> float:
            total = math.exp(2.0 * log_factor) * data + parts.knowledge
            return weighted_mean(squared / total, weight) - 1.0

        low, high = -MOST_LOG_FACTOR, MOST_LOG_FACTOR
        if excess(low) <= 0.0:  # knowledge alone is wider than the residuals
            log_factor = low
        else:
            log_factor = high if excess(high) >= 0.0 else float(brentq(excess, low, high))
        self._set_factor(math.exp(log_factor), None, len(y))
        sizes = np.abs(self._standardised(parts, y))
        order = np.argsort(sizes, kind="stable")
        self._sizes = sizes[order]
        self._size_weight = None if weight is None else weight[order]

    def _standardised(self, parts: BoosterParts, y: FloatArray) -> FloatArray:
        return (y - parts.loc) / np.sqrt(self._data(parts) + parts.knowledge)

    def _stack(
        self, rows: Any, target: FloatArray, X_val: Any, y_val: Any
    ) -> tuple[Any, FloatArray, list[Split]]:
        """All rows, the caller's own below the others, and the split between them."""
        if X_val is None or y_val is None:
            raise InvalidData("X_val and y_val belong together: pass both or neither.")
        table = check_new_rows(self, X_val)
        more = table if hasattr(X_val, "iloc") else np.asarray(X_val)
        values = check_numeric_target(np.asarray(y_val))
        if values.shape != (len(table),):
            raise InvalidData(
                f"X_val has {len(table)} rows, but y_val has the shape {values.shape}."
            )
        cut, n_rows = len(target), len(target) + len(values)
        split = Split(np.arange(cut), np.arange(cut, n_rows))
        return stack_rows(rows, more), np.concatenate([target, values]), [split]

    def _check_weights(
        self, model: Any, weights: Any, n_rows: int, splits: Any
    ) -> FloatArray | None:
        if weights is None:
            return None
        if not has_fit_parameter(last_of(model), "sample_weight"):
            raise InvalidParameter(
                f"The fit of {type(model).__name__} takes no sample_weight: leave it out."
            )
        if splits is not None:
            raise InvalidParameter(
                "sample_weight does not cover X_val: pass all rows as X, and scikit-learn's "
                "PredefinedSplit as cv."
            )
        return _weights_of(weights, n_rows)

    def _check_inner_model(self, model: Any, splits: Any) -> None:
        """Refuse a model within the estimator that has seen the rows which would calibrate."""
        if splits is None and not is_owned(getattr(model, "base_model", None)):
            raise InvalidParameter(
                f"The base_model of {type(model).__name__} is already fitted and has seen all rows "
                "of X: pass X_val and y_val."
            )

    def _refuse_training(self, X_val: Any, y_val: Any, groups: Any) -> None:
        extra = {"X_val": X_val, "y_val": y_val, "groups": groups}
        names = [name for name, value in extra.items() if value is not None]
        if names:
            raise InvalidParameter(
                "The estimator is already fitted, so all rows of X and y calibrate it: leave out "
                f"{' and '.join(names)}."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.target_tags.required = True
        return tags


def _is_better(own: Width, other: Width) -> bool:
    """Whether the own shape scores better: by the NLL, or by the CRPS if it has no density."""
    return own.crps < other.crps if math.isnan(own.nll) else own.nll < other.nll


def _weights_of(weights: Any, n_rows: int) -> FloatArray | None:
    """One weight from 0 for each row; None without any."""
    if weights is None:
        return None
    values = check_array("sample_weight", weights, 1, low=0.0)
    if len(values) != n_rows:
        raise InvalidData(f"X has {n_rows} rows, but sample_weight has {len(values)} values.")
    if not values.any():
        raise InvalidData("The sample weights are all zero: at least one must be positive.")
    return values


def _take(rows: Any, y: FloatArray, weights: FloatArray | None, chosen: NDArray[np.intp]) -> _Held:
    counted = None if weights is None else weights[chosen]
    return _Held(take_rows(rows, chosen), y[chosen], counted)


def _on_log_scale(y: FloatArray, shift: float) -> FloatArray:
    if not float(y.min()) > -shift:
        raise InvalidData(
            f"The estimator predicts y on a log scale, so y must lie above {0.0 - shift:g}; its "
            f"smallest value is {float(y.min()):g}."
        )
    return np.log(y + shift)


def _require_rows(n_rows: int, method: str) -> None:
    fewest = FEWEST_ROWS_OF_CLOCKS if method == "two_clocks" else FEWEST_ROWS
    if n_rows < fewest:
        raise InvalidData(
            f"n_samples = {n_rows} is too few to calibrate by method={method!r}: pass at least "
            f"{fewest} rows."
        )
