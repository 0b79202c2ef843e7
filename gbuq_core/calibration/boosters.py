"""What calibration reads from a model: its ``(loc, scale)``, and its stages while it grew.

One reader for each kind: estimators with ``predict_distribution``, this library's boosted
regressions, CatBoost's RMSEWithUncertainty and NGBoost's normal, as their users have them. The two
libraries are known by their classes' modules, and are not imported.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_array

from gbuq_core.calibration.clocks import Clocks, Stages, tree_grid
from gbuq_core.distribution import Distribution, LogDistribution, NormalDistribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.metrics.scorers import last_step, reads_logs, way_to_law
from gbuq_core.trees.importers.ownership import is_owned

FloatArray = NDArray[np.float64]

_STAGED_VALUES = 4_000_000  # predictions of NGBoost held at once
_BY_SCALE = ("Normal", "T", "TFixedDf", "TFixedDfFixedVar", "Laplace", "Cauchy")
_OF_NGBOOST = (*_BY_SCALE, "LogNormal", "Exponential", "Gamma", "Poisson", "Weibull")
WITH_STAGES = (
    "a BoostedEnsembleRegressor, a CatBoostRegressor with loss_function='RMSEWithUncertainty' or "
    "an NGBRegressor"
)


class BoosterParts(NamedTuple):
    """Mean (units of y), and variances of data and knowledge (squared units), (n_rows,) each.

    With a ``shift`` they are those of ``log(y + shift)``. ``law`` is the model's own one there, or
    None where the other parts are all of it: a normal.
    """

    loc: FloatArray
    data: FloatArray
    knowledge: FloatArray
    shift: float | None = None
    law: Distribution | None = None


class BoosterReader:
    """How to read one kind of model; the base reads ``predict_distribution``."""

    grows = False  # whether there are stages to read
    stops = False  # whether it predicts by given clocks, and chooses them in its own `fit`

    def is_fitted(self, model: Any) -> bool:
        """Whether the model can predict."""
        return not is_owned(model)

    def fit(self, model: Any, X: Any, y: FloatArray, **options: Any) -> Any:
        """Fit an unfitted model in place and return it."""
        pipe = getattr(model, "regressor", model)
        if hasattr(pipe, "steps"):
            options = {f"{pipe.steps[-1][0]}__{name}": value for name, value in options.items()}
        return model.fit(X, y, **options)

    def parts(self, model: Any, X: Any, logs: bool = False) -> BoosterParts:
        """What the fitted model predicts; with ``logs`` of a `LogDistribution` on its log scale."""
        model, X = last_step(model, X)
        law = model.predict_distribution(X)
        on_logs = logs and isinstance(law, LogDistribution)
        read = law.inner if on_logs else law
        loc, scale = (np.asarray(part, np.float64) for part in read)
        total = scale * scale
        # Users' estimators may answer by a plain pair.
        own = isinstance(read, Distribution) and not isinstance(read, NormalDistribution)
        shape = read if own else None
        if on_logs:
            return BoosterParts(loc, total, np.zeros_like(total), law.shift, shape)
        if hasattr(model, "predict_uncertainty"):
            parts = model.predict_uncertainty(X)
            # Not so where uncertainties are stds, or the scale is an average of its own.
            if np.allclose(parts.data + parts.knowledge, total, rtol=1e-6, atol=0.0):
                data, knowledge = np.asarray(parts.data), np.asarray(parts.knowledge)
                return BoosterParts(loc, data, knowledge, law=shape)
        return BoosterParts(loc, total, np.zeros_like(total), law=shape)

    def n_trees(self, model: Any) -> int:
        """Trees of a fitted model."""
        raise NotImplementedError

    def stages(self, model: Any, X: Any, y: FloatArray, n_trees: int) -> Stages:
        """What a fitted model says about other rows at ``tree_grid(n_trees)``."""
        raise NotImplementedError

    def parts_at(self, model: Any, X: Any, clocks: Clocks) -> BoosterParts:
        """Mean and knowledge at the mean's clock, data at the scale's, without the factor."""
        raise NotImplementedError


class _OwnBooster(BoosterReader):
    """A `BoostedEnsembleRegressor`."""

    grows = True
    stops = True

    def n_trees(self, model: Any) -> int:
        return int(model.n_trees_)

    def stages(self, model: Any, X: Any, y: FloatArray, n_trees: int) -> Stages:
        return model.stages(X, y)


class _SingleBooster(BoosterReader):
    """One model of another library: no members, so no knowledge."""

    grows = True
    library = ""

    def fit(self, model: Any, X: Any, y: FloatArray, **options: Any) -> Any:
        try:
            model.fit(X, y, **options)
        except Exception as error:  # CatBoostError is a plain Exception
            foreign = isinstance(error, ValueError | TypeError | RuntimeError)
            if not foreign and not _is_of(type(error), "catboost", "_catboost"):
                raise
            reason = _reason(error)
            if "y contains NaN" in reason:  # after its first steps: none of ours does
                dist = getattr(model, "Dist", type(model)).__name__
                reason = f"its {dist} runs into NaN; choose a smaller learning_rate or another Dist"
            raise InvalidData(
                f"{self.library} cannot be fitted to these rows: {reason}."
            ) from error
        return model

    def parts(self, model: Any, X: Any, logs: bool = False) -> BoosterParts:
        loc, scale = self._at(model, X, self.n_trees(model))
        return BoosterParts(loc, scale * scale, np.zeros_like(loc))

    def parts_at(self, model: Any, X: Any, clocks: Clocks) -> BoosterParts:
        loc, scale = self._at(model, X, clocks.mean_trees)
        if clocks.scale_trees != clocks.mean_trees:
            scale = self._at(model, X, clocks.scale_trees)[1]
        return BoosterParts(loc, scale * scale, np.zeros_like(loc))

    def stages(self, model: Any, X: Any, y: FloatArray, n_trees: int) -> Stages:
        grid = tree_grid(n_trees)
        mean, scale = self._staged(model, X, grid)
        return Stages(
            n_trees=grid,
            mean=mean,
            knowledge=np.zeros_like(mean),
            data=scale * scale,
            y=y,
            for_mean=np.ones(len(grid), bool),
        )

    def _at(self, model: Any, X: Any, n_trees: int) -> tuple[FloatArray, FloatArray]:
        """Mean and std (n_rows,) of the first trees; of all where there are fewer."""
        raise NotImplementedError

    def _staged(self, model: Any, X: Any, grid: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """The same at each number of trees, (n_stages, n_rows)."""
        parts = [self._at(model, X, int(n_trees)) for n_trees in grid]
        return np.stack([mean for mean, _ in parts]), np.stack([scale for _, scale in parts])


class _CatBoostNormal(_SingleBooster):
    """A CatBoostRegressor that was told to predict its uncertainty."""

    library = "CatBoost"

    def n_trees(self, model: Any) -> int:
        return int(model.tree_count_)

    def _at(self, model: Any, X: Any, n_trees: int) -> tuple[FloatArray, FloatArray]:
        end = min(n_trees, self.n_trees(model))
        raw = model.predict(X, prediction_type="RawFormulaVal", ntree_end=end)
        return np.array(raw[:, 0]), np.exp(raw[:, 1])


class _NGBoost(_SingleBooster):
    """An NGBRegressor: place and width of a normal or a t, of a log-normal those of log y."""

    library = "NGBoost"

    def is_fitted(self, model: Any) -> bool:
        return model.init_params is not None

    def n_trees(self, model: Any) -> int:
        return len(model.base_models)

    def parts(self, model: Any, X: Any, logs: bool = False) -> BoosterParts:
        if not (logs and _dist_of(model) == "LogNormal"):
            return super().parts(model, X)
        law = model.pred_dist(X)
        loc, scale = np.asarray(law.loc, np.float64), np.asarray(law.scale, np.float64)
        return BoosterParts(loc, scale * scale, np.zeros_like(loc), 0.0)

    def _at(self, model: Any, X: Any, n_trees: int) -> tuple[FloatArray, FloatArray]:
        return _place_and_width(model.pred_dist(X, max_iter=min(n_trees, self.n_trees(model))))

    def _staged(self, model: Any, X: Any, grid: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
        """One pass over the trees, in blocks of rows: the library keeps every stage."""
        rows = check_array(X, ensure_all_finite="allow-nan")  # as its other methods do
        stage = np.minimum(grid, self.n_trees(model)) - 1
        mean, scale = np.empty((2, len(grid), len(rows)))
        size = max(1, _STAGED_VALUES // max(1, self.n_trees(model)))
        for low in range(0, len(rows), size):
            block = slice(low, low + size)
            grown = model.staged_pred_dist(rows[block], max_iter=int(grid[-1]))
            for k, place in enumerate(stage):
                mean[k, block], scale[k, block] = _place_and_width(grown[place])
        return mean, scale


def _dist_of(model: Any) -> str:
    """The distribution that its user gave."""
    return _name_among(getattr(model, "Dist", type(None)))


def _name_among(kind: type) -> str:
    """The name of the distribution that a class of NGBoost wraps, or its own."""
    names = [base.__name__ for base in kind.__mro__]
    return next((name for name in names if name in _OF_NGBOOST), names[0])


def _place_and_width(law: Any) -> tuple[FloatArray, FloatArray]:
    """Of NGBoost's laws, (n_rows,) each: the std, or the scale of a t, which may have no std."""
    if _name_among(type(law)) in _BY_SCALE:
        return np.asarray(law.loc, np.float64), np.asarray(law.scale, np.float64)
    return np.asarray(law.mean(), np.float64), np.asarray(law.std(), np.float64)


def unwrap(estimator: Any) -> Any:
    """The estimator inside scikit-learn's FrozenEstimator, which must be fitted; else itself."""
    if not isinstance(estimator, FrozenEstimator):
        return estimator
    inner = estimator.estimator
    if not reader_of(inner).is_fitted(inner):
        raise NotFittedError(
            f"The {type(inner).__name__} inside the FrozenEstimator is not fitted: fit it first."
        )
    return inner


def reader_of(estimator: Any, growing: bool = False) -> BoosterReader:
    """The reader of an estimator, or one sentence if there is none."""
    name = type(estimator).__name__
    if isinstance(estimator, type):
        raise InvalidParameter(f"estimator must be an object, not a class: pass {name}().")
    reader: BoosterReader | None = None
    if _is_of(type(estimator), "catboost"):
        _check_loss(estimator)
        reader = _CatBoostNormal()
    elif _is_of(type(estimator), "ngboost"):
        dist = _dist_of(estimator)
        if dist not in _OF_NGBOOST:
            raise InvalidParameter(
                f"{name} must have a Dist among {', '.join(_OF_NGBOOST)}; it has {dist}."
            )
        reader = _NGBoost()
    elif hasattr(estimator, "stages") and hasattr(estimator, "with_clocks"):
        reader = _OwnBooster()
    elif hasattr(last_of(estimator), "predict_distribution") and hasattr(estimator, "fit"):
        reader = BoosterReader()
    if reader is None:
        raise InvalidParameter(
            f"{name} predicts no scale: choose an estimator with predict_distribution, or "
            f"{WITH_STAGES}; of this one, {way_to_law(last_of(estimator))}."
        )
    if growing and not reader.grows:
        raise InvalidParameter(
            f"method='two_clocks' needs {WITH_STAGES}; {name} does not grow tree by tree: choose "
            "method='scale'."
        )
    return reader


def last_of(estimator: Any) -> Any:
    """The last step of a pipeline or what a model of logs is around; else the estimator."""
    if reads_logs(estimator):
        return last_of(estimator.regressor)
    return last_of(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def _check_loss(model: Any) -> None:
    """Refuse a CatBoost model of a mean only, fitted or not."""
    known = model.get_all_params() if model.is_fitted() else model.get_params()
    loss = known.get("loss_function", known.get("objective", "RMSE"))
    if str(loss) != "RMSEWithUncertainty":
        raise InvalidParameter(
            f"CatBoost must have loss_function='RMSEWithUncertainty' to predict a scale; it has "
            f"{str(loss)!r}."
        )


def _is_of(kind: type, *libraries: str) -> bool:
    return any(base.__module__.partition(".")[0] in libraries for base in kind.__mro__)


def _reason(error: Exception) -> str:
    """A library's message on one line, without where in its code it comes from."""
    text = re.sub(r"^.*?\.cpp:\d+:\s*", "", " ".join(str(error).split()))
    return text.strip().rstrip(".")
