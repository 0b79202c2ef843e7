"""Scores of predicted distributions for `cross_val_score`, `GridSearchCV` and the like.

scikit-learn's strings, such as ``scoring="r2"``, come from a registry of its own. Pass
``scoring=scorer("neg_crps")`` instead.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from gbuq_core.array_checks import check_array
from gbuq_core.distribution import LogDistribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.validation import check_choice, check_number

SCORERS = ("neg_crps", "neg_nll", "coverage")
_LEVEL = 0.9


class DistributionScorer(BaseEstimator):
    """A score of ``predict_distribution``, called as ``scorer(estimator, X, y)``.

    scikit-learn's scorer protocol: ``set_score_request(sample_weight=True)`` asks for weights where
    metadata routing is enabled. Made by `scorer`.

    Parameters
    ----------
    name : {"neg_crps", "neg_nll", "coverage"}
    level : float
        Of the intervals, for "coverage".
    """

    def __init__(self, name: str, level: float = _LEVEL) -> None:
        self.name = name
        self.level = level

    def __call__(
        self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The mean score of ``estimator.predict_distribution(X)`` at y, weighted if asked."""
        return self.score(estimator, X, y, sample_weight)

    def score(
        self, estimator: Any, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """As a call: the method that scikit-learn's metadata routing knows."""
        check_choice("scorer", self.name, SCORERS)
        distribution = _distribution_of(estimator, X)
        target = check_array("y", y, 1)
        if self.name == "neg_crps":
            values = -distribution.crps(target)
        elif self.name == "neg_nll":
            values = distribution.logpdf(target)
        else:
            lower, upper = distribution.interval(self.level)
            if len(lower) != len(target):
                raise InvalidData(f"y has {len(target)} values, but X has {len(lower)} rows.")
            values = ((lower <= target) & (target <= upper)).astype(np.float64)
        if sample_weight is None:
            return float(values.mean())
        weights = check_array("sample_weight", sample_weight, 1, low=0.0)
        if len(weights) != len(values) or not weights.any():
            raise InvalidData(
                f"sample_weight must hold {len(values)} numbers, one for each row and not all 0."
            )
        return float(np.average(values, weights=weights))


def scorer(name: str, level: float = _LEVEL) -> DistributionScorer:
    """A scorer of predicted distributions by its name.

    Parameters
    ----------
    name : {"neg_crps", "neg_nll", "coverage"}
        The CRPS in units of y and the NLL in nats, both negated so that higher is better; or the
        share of rows inside the central interval of ``level``. The best coverage is the level, not
        the highest: report it, and choose a model by one of the others.
    level : float
        For "coverage", between 0 and 1.

    Returns
    -------
    DistributionScorer

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from gbuq_core.baselines import EuclideanNeighborsRegressor
    >>> x = np.linspace(0.0, 1.0, 120)[:, None]
    >>> y = x[:, 0] + 0.1 * np.random.default_rng(0).normal(size=120)
    >>> model = EuclideanNeighborsRegressor(random_state=0)
    >>> bool(cross_val_score(model, x, y, cv=3, scoring=scorer("neg_crps")).mean() < 0)
    True
    """
    check_choice("scorer", name, SCORERS)
    wide = check_number("level", level, 0.0, 1.0, low_open=True)
    return DistributionScorer(name, wide)


def get_scorer(name: Any) -> Any:
    """The scorer of a name, ours or scikit-learn's; anything that is not a name as it is.

    Examples
    --------
    >>> get_scorer("neg_nll")
    DistributionScorer(name='neg_nll')
    >>> get_scorer("neg_root_mean_squared_error")
    make_scorer(root_mean_squared_error, ...)
    """
    if isinstance(name, str) and name in SCORERS:
        return scorer(name)
    import sklearn.metrics

    try:
        return sklearn.metrics.get_scorer(name)
    except ValueError:
        listed = ", ".join(repr(known) for known in SCORERS)
        raise InvalidParameter(
            f"There is no scorer {name!r}: choose one of {listed}, or one of scikit-learn's."
        ) from None


def last_step(estimator: Any, X: Any) -> tuple[Any, Any]:
    """What predicts in a pipeline, with the rows as it gets them; else both as they are.

    A search that has been fitted is its best estimator. A TransformedTargetRegressor of np.log or
    np.log1p is its regressor, with the law brought back.
    """
    if hasattr(estimator, "steps"):
        for _, step in estimator.steps[:-1]:
            X = X if step is None or step == "passthrough" else step.transform(X)
        return last_step(estimator.steps[-1][1], X)
    if hasattr(estimator, "best_estimator_"):
        return last_step(estimator.best_estimator_, X)
    if hasattr(estimator, "regressor_") and reads_logs(estimator):
        inner, X = last_step(estimator.regressor_, X)
        return _OfLogs(inner, _SHIFTS[estimator.func, estimator.inverse_func]), X
    return estimator, X


_SHIFTS = {(np.log, np.exp): 0.0, (np.log1p, np.expm1): 1.0}


def reads_logs(estimator: Any) -> bool:
    """Whether it is a TransformedTargetRegressor whose law can be brought back from logs."""
    return (getattr(estimator, "func", 0), getattr(estimator, "inverse_func", 0)) in _SHIFTS


class _OfLogs(NamedTuple):
    regressor: Any  # fitted to the logs
    shift: float

    def predict_distribution(self, X: Any) -> LogDistribution:
        return LogDistribution(self.regressor.predict_distribution(X), self.shift)


def _distribution_of(estimator: Any, X: Any) -> Any:
    estimator, X = last_step(estimator, X)
    if not hasattr(estimator, "predict_distribution"):
        raise InvalidParameter(
            f"{type(estimator).__name__} has no predict_distribution: {way_to_law(estimator)}."
        )
    return estimator.predict_distribution(X)


def way_to_law(estimator: Any) -> str:
    """What to pass in place of an estimator that predicts a mean only.

    >>> from sklearn.ensemble import RandomForestRegressor
    >>> way_to_law(RandomForestRegressor())
    'IBUGRegressor(RandomForestRegressor()) gives it one'
    """
    name = type(estimator).__name__
    if name == "TransformedTargetRegressor":
        return (
            "transform y first and pass its regressor, or use func=np.log and inverse_func=np.exp "
            "(or np.log1p and np.expm1) around an estimator with predict_distribution"
        )
    if hasattr(estimator, "best_index_") or hasattr(estimator, "refit"):
        return "pass its best_estimator_, or search around it"
    if re.search(r"Forest|Trees|Boosting|LGBM|XGB|CatBoost", name):
        return f"IBUGRegressor({name}()) gives it one"
    return "use an estimator of gbuq_core, or gbuq_core.baselines.ConformalRegressor for intervals"
