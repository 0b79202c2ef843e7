"""Virtual ensembles of boosted models that exist already, whatever library trained them."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.boosting.plan import truncation_points
from gbuq_core.distribution import Distribution, NormalDistribution, PredictsLaw
from gbuq_core.errors import InvalidParameter
from gbuq_core.model_files.contents import require
from gbuq_core.model_files.fields import Savable
from gbuq_core.trees.importers import LeafSource, leaf_source
from gbuq_core.uncertainty import (
    Uncertainty,
    decompose_classification,
    decompose_regression,
    mean_over_members,
    variance_over_members,
)
from gbuq_core.validation import check_number

_DEFAULT_MEMBERS = 10


class VirtualEnsemble(Savable, PredictsLaw):
    """Truncations of one fitted boosted model as the members of an ensemble. Trains nothing.

    Member t is the model as it was after t boosting rounds, for ``t = K, 2K, ...`` above
    ``start * T`` (Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via
    ensembles", section 3). CatBoost shrinks old trees while it adds new ones if it was trained with
    Langevin noise; that shrinkage is undone (eq. 15). With K a divisor of half the rounds and
    ``start=0.5``, members equal those of CatBoost's ``virtual_ensembles_predict`` with
    ``virtual_ensembles_count = T / (2 K)``.

    Parameters
    ----------
    model : object
        A fitted estimator or booster of CatBoost, LightGBM or XGBoost; scikit-learn's
        HistGradientBoosting or GradientBoosting; any of them in ``FrozenEstimator``; or what
        `gbuq_core.trees.importers.load_leaf_source` reads from a model file. Regressors with one
        output and classifiers. It is used as it is, up to its best round if it stopped early.
    step : int or None
        Boosting rounds between two members (K). None gives about ten members.
    start : float
        Members have more than ``start * T`` rounds; from 0 to 1.

    Attributes
    ----------
    task : str
        "regression" or "classification".
    n_trees_ : int
        Boosting rounds of the model (T).
    classes_ : (n_classes,) array
        Of classifiers only. A booster that does not know its labels has 0, 1, ...

    Notes
    -----
    Most boosted models predict a mean only. They tell knowledge uncertainty; data and total
    uncertainty are NaN. CatBoost's RMSEWithUncertainty has a variance too.

    Predicting with M members of CatBoost or scikit-learn takes one pass over the trees. LightGBM
    and XGBoost are asked once for each member, so that each is exactly the library's own truncated
    prediction.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from gbuq_core import VirtualEnsemble
    >>> X = np.linspace(0.0, 1.0, 50)[:, None]
    >>> model = GradientBoostingRegressor(n_estimators=40).fit(X, np.sin(6.0 * X[:, 0]))
    >>> ensemble = VirtualEnsemble(model, step=5)
    >>> ensemble.member_trees()
    array([25, 30, 35, 40])
    >>> bool((ensemble.predict_members(X)[-1, :, 0] == model.predict(X)).all())
    True
    >>> uncertainty = ensemble.predict_uncertainty(X)
    >>> bool((uncertainty.knowledge > 0.0).all()), bool(np.isnan(uncertainty.total).all())
    (True, True)
    """

    _source: LeafSource
    n_trees_: int
    classes_: np.ndarray
    _not_saved = ("model", "task", "_points")
    _may_lack = ("classes_",)

    def __init__(self, model: Any, step: int | None = None, start: float = 0.5) -> None:
        self.model, self.step, self.start = model, step, start
        self._source = _find_source(model)
        self._source.refuse_stages()
        self.task = self._source.task
        self.n_trees_ = int(self._source.n_iterations)
        start = check_number("start", start, 0.0, 1.0)
        if step is None:
            step = max(1, round((1.0 - start) * self.n_trees_ / _DEFAULT_MEMBERS))
        check_number("step", step, 1, 100_000, integer=True)
        self._points = _points(self.n_trees_, step, start)
        if self.task == "classification":
            self.classes_ = _classes(self._source)

    def __repr__(self) -> str:
        model = type(self._source.model).__name__
        return f"VirtualEnsemble({model}, step={self.step}, start={self.start})"

    def member_trees(self) -> np.ndarray:
        """Boosting rounds of each member, (n_members,)."""
        return self._points.copy()

    def predict_members(self, X: Any) -> np.ndarray:
        """What every member predicts, (n_members, n_samples, 2 or n_classes) float64.

        Regression: mean in the unit of y and variance in its square, NaN where the model has no
        variance. Classification: probabilities. `InvalidData` if X has other columns than the model
        was trained on, or values that it does not take.
        """
        members = self._source.staged(X, self._points)
        if self.task == "regression" and members.shape[2] == 1:
            members = np.concatenate([members, np.full_like(members, np.nan)], axis=2)
        return members

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty, (n_samples,) each.

        Regression: variances in squared units of y (eq. 6); data and total are NaN where the model
        predicts a mean only. Classification: nats (eq. 3-4).
        """
        members = self.predict_members(X)
        if self.task == "classification":
            return decompose_classification(members)
        means, variances = members[..., 0], members[..., 1]
        if not np.isnan(variances).any():
            return decompose_regression(means, variances)
        knowledge = variance_over_members(means)
        unknown = np.full_like(knowledge, np.nan)
        return Uncertainty(total=unknown, data=unknown.copy(), knowledge=knowledge)

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the members' means, or the most probable class, (n_samples,)."""
        if self.task == "classification":
            return self.classes_[np.argmax(self.predict_proba(X), axis=1)]
        return mean_over_members(self.predict_members(X)[..., 0])

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the members' probabilities (eq. 2), (n_samples, n_classes).

        `InvalidParameter` if the model is a regressor.
        """
        if self.task != "classification":
            raise InvalidParameter("A regressor has no probabilities: use predict.")
        return mean_over_members(self.predict_members(X))

    def predict_distribution(self, X: Any) -> Distribution:
        """A normal with the members' mean and the total uncertainty, one a row.

        `InvalidParameter` if the model has no variance.
        """
        if self.task == "classification":
            raise InvalidParameter("A classifier has no distribution of y: use predict_proba.")
        members = self.predict_members(X)
        if np.isnan(members[..., 1]).any():
            raise InvalidParameter(
                "The model predicts a mean without a variance, so it has no distribution: use "
                "predict_uncertainty, or train CatBoost with RMSEWithUncertainty."
            )
        total = decompose_regression(members[..., 0], members[..., 1]).total
        return NormalDistribution(mean_over_members(members[..., 0]), np.sqrt(total))

    def check_file(self) -> None:
        """Refuse members that the model does not have, and find the others again."""
        n_trees, classes = self.n_trees_, getattr(self, "classes_", None)
        VirtualEnsemble.__init__(self, self._source, self.step, self.start)
        self.model = self._source.model
        require(self.n_trees_ == n_trees, "its model has other trees")
        require((self.task == "classification") == (classes is not None), "it is of another task")
        if classes is not None:
            require(len(classes) == len(self.classes_), "its model has other classes")
            self.classes_ = classes


def _find_source(model: Any) -> LeafSource:
    """The source of a model that does not say by itself whether it is a classifier."""
    if isinstance(model, LeafSource):
        return model
    try:
        return leaf_source(model, "regression")
    except InvalidParameter as error:
        try:
            return leaf_source(model, "classification")
        except InvalidParameter:
            raise error from None


def _points(n_trees: int, step: int, start: float) -> np.ndarray:
    """The members' rounds; two at least, because one member cannot disagree."""
    shortest = int(n_trees // step - np.floor(start * n_trees / step + 1e-9))
    if shortest < 2:
        raise InvalidParameter(
            f"The model has {n_trees} boosting rounds, which are too few for two members with step "
            f"{step} and start {start:g}: choose a smaller step, an earlier start or a model with "
            "more rounds."
        )
    return truncation_points(n_trees, step, start)


def _classes(source: LeafSource) -> np.ndarray:
    known = getattr(source.model, "classes_", None)
    if known is not None and len(known):
        return np.asarray(known)
    return np.arange(source.n_classes)
