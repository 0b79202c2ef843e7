"""Models of other libraries that predict quantiles, draws or a distribution, through one adapter.

TabPFN, TabICL, NGBoost, quantile-forest, skpro and Treeffuser each name it differently. Here all of
them become one law through 99 quantiles, so that they are compared by the same scores.
"""

from __future__ import annotations

from dataclasses import replace
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone

from gbuq_core.array_checks import FloatArray
from gbuq_core.baselines.quantiles import QuantileDistribution, quantile_scale
from gbuq_core.distribution import Distribution, NormalDistribution, PredictsLaw
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import MostProbable
from gbuq_core.methods.papers import DARK_GREY
from gbuq_core.methods.record import METHODS, Builder, Method, declare_method
from gbuq_core.uncertainty import Uncertainty, decompose_classification

LEVELS = np.arange(1, 100) / 100.0
_DRAWS = 500  # of each row, from models that draw
_ABOUT = "A model of another library."


class _Peer(BaseEstimator):
    """A copy of the estimator is fitted, so that every fold has its own."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a copy of the estimator on rows X (n_samples, n_features) and targets y."""
        self.estimator_ = clone(self.estimator, safe=False)
        self.estimator_.fit(X, y)
        return self


class PeerRegressor(PredictsLaw, RegressorMixin, _Peer):
    """A regressor of another library, with its law as a `Distribution`.

    Parameters
    ----------
    estimator : estimator
        With one of these: ``predict_distribution`` or ``pred_dist`` (NGBoost), which give a
        distribution with ``ppf``; ``predict_quantiles(X, alpha=)`` (skpro); ``predict`` with
        ``output_type="quantiles"`` (TabPFN, TabICL) or ``quantiles=`` (quantile-forest);
        ``sample(X, n_samples=)`` (Treeffuser); ``predict`` with ``return_std`` (scikit-learn).

    Attributes
    ----------
    estimator_ : estimator
        A fitted copy.

    Notes
    -----
    The law goes through the quantiles at 1, 2, ... 99 %, sorted, with a normal's shape between and
    beyond them. `predict` is its mean, whatever the estimator's own ``predict`` is.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> model = PeerRegressor(BayesianRidge()).fit(X, 2.0 * X[:, 0])
    >>> model.predict([[0.5]]).round(2)
    array([1.])
    """

    def predict(self, X: Any) -> FloatArray:
        """Mean of the law, (n_samples,)."""
        return self.predict_distribution(X).mean()

    def predict_distribution(self, X: Any) -> Distribution:
        """The law of each row."""
        model, levels, n = self.estimator_, LEVELS.tolist(), len(X)
        for name in ("predict_distribution", "pred_dist"):
            if hasattr(model, name):
                law = getattr(model, name)(X)
                if isinstance(law, Distribution):
                    return law_through(law.quantile(levels), n)
                return law_through(_ask(law, n), n)
        if hasattr(model, "predict_quantiles"):
            return law_through(model.predict_quantiles(X, alpha=levels), n)
        takes = signature(model.predict).parameters if hasattr(model, "predict") else {}
        if "output_type" in takes:
            named = {"alphas" if "alphas" in takes else "quantiles": levels}
            return law_through(model.predict(X, output_type="quantiles", **named), n)
        if "quantiles" in takes:
            return law_through(model.predict(X, quantiles=levels), n)
        if hasattr(model, "sample"):
            return law_through(_quantiles_of(model.sample(X, n_samples=_DRAWS), n), n)
        if "return_std" in takes:
            return NormalDistribution(*model.predict(X, return_std=True))
        raise InvalidParameter(
            f"{type(model).__name__} predicts no quantiles, draws or distribution: pass a model "
            "that does, such as one of NGBoost, quantile-forest, skpro, TabPFN or TabICL."
        )


class PeerClassifier(MostProbable, ClassifierMixin, _Peer):
    """A classifier of another library; all of its uncertainty counts as data uncertainty."""

    def fit(self, X: Any, y: Any) -> Self:  # noqa: D102 (of the base)
        super().fit(X, y)
        self.classes_ = np.asarray(self.estimator_.classes_)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes, (n_samples, n_classes)."""
        return np.asarray(self.estimator_.predict_proba(X), dtype=np.float64)

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """The entropy of each row in nats; knowledge is not known."""
        return decompose_classification(self.predict_proba(X)[None]).without_knowledge()


def _ask(law: Any, n: int) -> Any:
    """Quantiles of a distribution object, (n_levels, n_samples)."""
    if hasattr(law, "ppf"):
        return np.broadcast_to(law.ppf(LEVELS[:, None]), (len(LEVELS), n)).T
    return _quantiles_of(law.sample(_DRAWS), n)


def _quantiles_of(draws: Any, n: int) -> FloatArray:
    """Quantiles (n_samples, n_levels) of draws (n_draws, n_samples), or with one target behind."""
    rows = np.asarray(draws, dtype=np.float64)
    if rows.size != len(rows) * n:
        raise InvalidData(f"Draws must be of one target for {n} rows; got the shape {rows.shape}.")
    return np.quantile(rows.reshape(len(rows), n), LEVELS, axis=0).T


def law_through(quantiles: Any, n: int) -> QuantileDistribution:
    """The law through quantiles at `LEVELS`: a list of (n,) arrays, or (n, n_levels).

    >>> law = law_through([np.full(2, level) for level in LEVELS], 2)
    >>> law.quantile(0.25).round(2), law.loc.round(2)
    (array([0.25, 0.25]), array([0.5, 0.5]))
    """
    values = np.asarray(quantiles, dtype=np.float64)
    if not isinstance(quantiles, list):
        values = values.T
    if values.shape != (len(LEVELS), n) or not np.isfinite(values).all():
        raise InvalidData(
            f"The model's quantiles must be {len(LEVELS)} finite numbers for each of {n} rows."
        )
    values = np.sort(values, axis=0)  # they may cross
    law = QuantileDistribution(LEVELS, values, values[49], quantile_scale(LEVELS, values))
    return replace(law, loc=law.mean())


def declare_peer(name: str, estimator: Any) -> Method:
    """Let a model of another library stand beside the methods of this one by a name of its own.

    Parameters
    ----------
    name : str
        What `gbuq_core.tables.compare_methods` calls it; a peer of that name is replaced.
    estimator : estimator, or a class or function that makes one
        As `PeerRegressor` takes it, or a classifier with ``predict_proba``.

    Returns
    -------
    Method
        Its record, which is in `gbuq_core.methods.METHODS` until this program ends.

    Examples
    --------
    >>> from quantile_forest import RandomForestQuantileRegressor
    >>> peer = declare_peer("other", RandomForestQuantileRegressor())  # doctest: +SKIP
    >>> compare_methods(table, "y", ["stacked", peer.key])  # doctest: +SKIP
    """
    model = estimator
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        model = estimator() if callable(estimator) else None
    if not hasattr(model, "fit"):
        raise InvalidParameter(f"{name} is no estimator: it has no fit.")
    # A regressor of skpro has predict_proba, too, for its distribution.
    classes = hasattr(model, "predict_proba") and not hasattr(model, "predict_quantiles")
    task, of = ("classification", PeerClassifier) if classes else ("regression", PeerRegressor)
    peers = [key for key, method in METHODS.items() if method.about == _ABOUT]
    return declare_method(
        Method(
            key=name,
            label=name,
            about=_ABOUT,
            paper="",
            colour=DARK_GREY,
            dash=f"1px {6 + len({*peers} - {name})}px",
            builders={
                task: Builder(of=f"{__name__}:{of.__name__}", fixed={"estimator": model}, takes=())
            },
            yields=("total", "data", "law"),
            classes_yield=("total", "data"),
        ),
        replaces=name in peers,
    )
