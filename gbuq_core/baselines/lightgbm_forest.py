"""A LightGBM random forest whose trees' disagreement is the scale: knowledge without noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.baselines.interval_regressor import IntervalRegressor, Parts
from gbuq_core.jobs import stage
from gbuq_core.metrics.inputs import FloatArray
from gbuq_core.trees.lightgbm_forest import check_forest, grow_forest, tree_values


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


class ForestVarianceRegressor(LightGBMForest):
    """A random forest with the variance between its trees as its only uncertainty.

    ``loc`` is the mean over the trees, ``scale`` their std. The noise of y is in none of the two:
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

    def predict_knowledge(self, X: Any) -> FloatArray:
        """Variance between the trees, (n_samples,), in squared units of y."""
        return self.predict_uncertainty(X).knowledge

    def predict_members(self, X: Any) -> FloatArray:
        """What each tree says, (n_trees, n_samples), in units of y."""
        values = tree_values(self.booster_, self._read_new_rows(X))
        return self.target_scale_.centre + self.target_scale_.spread * values

    def _fit(self, X: FloatArray, y: FloatArray) -> None:
        self.booster_ = self._grow(X, y)

    def _parts(self, X: FloatArray) -> Parts:
        values = tree_values(self.booster_, X)
        return Parts(values.mean(axis=0), np.zeros(len(X)), values.var(axis=0))

    def _loc(self, X: FloatArray) -> FloatArray:
        return np.asarray(self.booster_.predict(X), dtype=np.float64)
