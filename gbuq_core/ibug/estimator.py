"""IBUG: the spread of y among the training rows that a prediction comes from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.errors import InvalidData
from gbuq_core.ibug import families
from gbuq_core.ibug.affinity import Neighbours
from gbuq_core.ibug.base import TunedNeighbours
from gbuq_core.ibug.choosing import scale_of
from gbuq_core.ibug.families import FAMILIES, FITS, Posterior, check_family, fit_posterior
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.inputs import check_target, explain_missing
from gbuq_core.ibug.results import (
    ClassShares,
    Distribution,
    FamilyScores,
    Neighborhood,
    ScalePath,
)
from gbuq_core.ibug.train_leaves import LeafDensity, leaf_density
from gbuq_core.metrics.neighbour_tuning import CANDIDATES, running_std
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_array, check_choice


class IBUGRegressor(RegressorMixin, TunedNeighbours):
    """Instance-based uncertainty: any boosted trees' predictions, with the spread of neighbours.

    The affinity of two rows is the number of trees in which they share a leaf (equation 1). The
    prediction is the model's; its scale is the std of the targets of the k training rows of highest
    affinity, at least ``min_scale``, then calibrated: ``gamma * scale`` or ``scale + delta``.

    Parameters
    ----------
    base_model : None, estimator, booster or leaf source
        A fitted model is used as it is, trained on the same X and y. One that is not fitted, or
        CatBoost where there is None, is fitted by this estimator: for tuning on a part of the rows,
        and afterwards on all of them (the paper's protocol). scikit-learn's ``clone`` makes a
        fitted estimator an unfitted one; ``sklearn.frozen.FrozenEstimator`` around it does not.
    n_neighbors : int or "tune"
        k, at least 2; "tune" takes the best of the paper's 17 values on validation rows.
    scoring : {"nll", "crps"}
        What tuning and calibration minimise.
    calibrate : bool
        Whether to fit gamma or delta to validation rows. A fitted model without validation rows
        is left uncalibrated.
    posterior : str
        Family of the predicted distributions: "normal", "skew-normal", "log-normal", "laplace",
        "student-t", "logistic", "gumbel", "weibull", "kde", or "tune" for the one of lowest NLL on
        validation rows.
    posterior_fit : {"matched", "likelihood"}
        Families with mean ``loc`` and std ``scale``, the shape from the neighbours; or fitted to
        the neighbours by maximum likelihood alone (see `gbuq_core.ibug.families.fit_posterior`).
    n_trees_sampled : int or None
        How many trees count (tau in the paper); None means all, and so does a number beyond the
        trees of a model that this estimator fits.
    tree_order : {"first", "last", "random"}
        Which ones.
    min_scale : float or None
        The least std before calibration, in units of y. None means the smallest positive one on the
        validation rows, and 1e-15 without them, as in the authors' code.
    validation_fraction : float
        The share of the rows to tune on where the estimator fits the model and no validation rows
        are given; CatBoost, where base_model is None, stops by them even if nothing is tuned.
    n_jobs : int or None
        Threads; None means all cores.
    random_state : int, Generator, RandomState or None
        Of the split, of random trees and of CatBoost.

    Attributes
    ----------
    n_neighbors_, min_scale_, gamma_, delta_, posterior_ : int, float, float, float, str
        In use unless a method is given others.
    tuning_ : NeighbourTuning or None
        Scores of every k; None where k was given.
    validation_ : Neighborhood or None
        The validation rows' neighbours, with ``y_validation_`` (n_validation,): predictions and
        affinities are those of the model for tuning, which has not seen these rows.
    model_, n_trees_ : the model and how many trees it has.
    y_train_ : ndarray of shape (n_train,)
        Targets of the rows that neighbours' indices count. Where the estimator fits the model, rows
        given as validation follow those of X: both are trained on in the end.
    n_features_in_, feature_names_in_, fit_seconds_, memory_bytes_ : as usual.

    References
    ----------
    Brophy and Lowd, "Instance-based uncertainty estimation for gradient-boosted regression trees"
    (2022), algorithms 1-3.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> x = np.linspace(0.0, 1.0, 400)[:, None]
    >>> y = x[:, 0] + x[:, 0] * np.random.default_rng(0).normal(size=400)
    >>> model = IBUGRegressor(HistGradientBoostingRegressor(max_iter=30), random_state=0).fit(x, y)
    >>> quiet, noisy = model.predict_distribution([[0.05], [0.95]]).scale
    >>> bool(noisy > 3 * quiet)
    True
    """

    def kneighbors(
        self,
        X: Any,
        n_neighbors: int | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Neighbours:
        """Training rows of highest affinity, best first, ties by lowest index.

        Training rows are searched like any: each is its own first neighbour, but for its ties.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        n_neighbors, n_trees_sampled, tree_order : optional
            In place of the estimator's own; nothing is refitted.

        Returns
        -------
        Neighbours
            ``(indices, affinities)``, (n_samples, n_neighbors) int32 each: positions in the
            training rows, and numbers of trees.
        """
        found, k = self._look_up(X, n_neighbors, n_trees_sampled, tree_order)
        return Neighbours(found.indices[:, :k], found.affinities[:, :k])

    def leaf_density(self, X: Any = None) -> LeafDensity:
        """What share of the training rows lies in the leaves of X, tree by tree.

        Parameters
        ----------
        X : array-like or DataFrame, optional
            The training rows themselves without it.

        Returns
        -------
        LeafDensity
            ``(n_leaves, visited, largest)``, (n_trees_,) each: what IBUG visits in each tree.

        References
        ----------
        Brophy and Lowd (IBUG, 2022), appendix C.5.
        """
        check_is_fitted(self, "y_train_")
        if X is None:
            return leaf_density(self._rows.leaves)
        table = self._check_new(X)
        try:
            return leaf_density(self._rows.leaves, self._rows.source.leaf_matrix(table))
        except ValueError as error:
            raise explain_missing(error, table, self.model_) from error

    def find_neighborhood(
        self,
        X: Any,
        n_neighbors: int | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Neighborhood:
        """Search once for many k: its result can stand in place of X in all methods.

        Without ``n_neighbors`` it holds as many as the largest k that tuning looks at.
        """
        check_is_fitted(self, "y_train_")
        if n_neighbors is None:
            n_neighbors = max(self.n_neighbors_, min(CANDIDATES[-1], len(self.y_train_)))
        return self._look_up(X, n_neighbors, n_trees_sampled, tree_order)[0]

    def neighbor_targets(self, X: Any, n_neighbors: int | None = None) -> FloatArray:
        """Targets of the neighbours, nearest first: (n_samples, n_neighbors), in units of y."""
        found, k = self._look_up(X, n_neighbors, None, None)
        return found.targets[:, :k]

    def predict(self, X: Any) -> FloatArray:
        """The model's own prediction, (n_samples,)."""
        check_is_fitted(self, "y_train_")
        if isinstance(X, Neighborhood):
            return self._check_found(X).loc
        return self._predict_loc(X)

    def predict_distribution(
        self,
        X: Any,
        n_neighbors: int | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Distribution:
        """``(loc, scale)`` of every row, (n_samples,) each: the prediction and a std.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        n_neighbors, calibrate, n_trees_sampled, tree_order : optional
            In place of the estimator's own; nothing is refitted (see `setting_for`).
        """
        loc, scale, setting = [], [], None
        for found in self._each_part(X, n_neighbors, n_trees_sampled, tree_order):
            k = self._count(found, n_neighbors)
            setting = setting or self.setting_for(k, calibrate)
            loc.append(found.loc)
            scale.append(scale_of(found.targets, setting))
        return Distribution(np.concatenate(loc), np.concatenate(scale))

    def predict_uncertainty(self, X: Any, **choices: Any) -> Uncertainty:
        """The scale's square as total and as data uncertainty, in squared units of y.

        One model has no members that could disagree, so knowledge uncertainty is 0; what the
        validation rows' errors hold of it went into the scale (paper, section 3.3). ``choices`` as
        for `predict_distribution`.
        """
        variance = np.square(self.predict_distribution(X, **choices).scale)
        return Uncertainty(variance, variance.copy(), np.zeros_like(variance))

    def predict_posterior(
        self,
        X: Any,
        posterior: str | None = None,
        posterior_fit: str | None = None,
        n_neighbors: int | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Posterior:
        """Fit a family to every row's neighbours.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        posterior, posterior_fit : optional
            In place of the estimator's own.
        n_neighbors, calibrate, n_trees_sampled, tree_order : optional
            As for `predict_distribution`.

        Returns
        -------
        Posterior
            For `log_density`, `cdf`, `quantile` and `sample` of `gbuq_core.ibug`.
        """
        check_is_fitted(self, "y_train_")
        family = check_family(self.posterior_ if posterior is None else posterior, self.y_train_)
        fit = self.posterior_fit if posterior_fit is None else posterior_fit
        check_choice("posterior_fit", fit, FITS)
        found, k = self._look_up(X, n_neighbors, n_trees_sampled, tree_order)
        setting = self.setting_for(k, calibrate)
        near = found.targets[:, :k]
        scale = scale_of(near, setting)
        return fit_posterior(family, found.loc, scale, near, setting.min_scale, fit)

    def predict_density(
        self, X: Any, y_grid: ArrayLike, posterior: str | None = None, **choices: Any
    ) -> FloatArray:
        """Density of y on a grid (m,), the same for all rows, or (n_samples, m): (n_samples, m)."""
        fitted = self.predict_posterior(X, posterior, **choices)
        grid = check_array("y_grid", y_grid, 2 if np.ndim(y_grid) == 2 else 1)
        n_rows = len(fitted.scale)
        if grid.ndim == 2 and len(grid) != n_rows:
            raise InvalidData(
                f"y_grid must be one grid, or one for each of the {n_rows} rows; got shape "
                f"{grid.shape}."
            )
        points = np.broadcast_to(grid, (n_rows, grid.shape[-1]))
        return np.exp(families.log_density(fitted, points))

    def predict_quantiles(
        self, X: Any, levels: ArrayLike, posterior: str | None = None, **choices: Any
    ) -> FloatArray:
        """Quantiles of every row's posterior at ``levels`` (m,) in (0, 1): (n_samples, m)."""
        return families.quantile(self.predict_posterior(X, posterior, **choices), levels)

    def score_families(
        self,
        X: Any,
        y: Any,
        posterior_fit: str | None = None,
        n_neighbors: int | None = None,
        calibrate: bool | None = None,
    ) -> FamilyScores:
        """Mean NLL of all nine families on rows that the model has not seen.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        y : array-like of shape (n_samples,)
        posterior_fit, n_neighbors, calibrate : optional
            As for `predict_posterior`.
        """
        found, k = self._look_up(X, n_neighbors, None, None)
        target = check_target("y", y, len(found.loc))
        nll, refusals = np.full(len(FAMILIES), np.nan), [""] * len(FAMILIES)
        for i, name in enumerate(FAMILIES):
            try:
                fitted = self.predict_posterior(found, name, posterior_fit, k, calibrate)
            except InvalidData as error:
                refusals[i] = str(error)
            else:
                nll[i] = -families.log_density(fitted, target).mean()
        best = tuple(FAMILIES)[int(np.nanargmin(nll))]
        return FamilyScores(tuple(FAMILIES), nll, tuple(refusals), best)

    def neighbor_class_shares(
        self, X: Any, labels: ArrayLike, n_neighbors: int | None = None
    ) -> ClassShares:
        """The share of each class among a row's neighbours; our own view, not the paper's.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        labels : array-like of shape (n_train,)
            A class for every training row, in their order.
        n_neighbors : int, optional
        """
        found, k = self._look_up(X, n_neighbors, None, None)
        given = np.asarray(labels)
        if given.shape != self.y_train_.shape:
            raise InvalidData(
                f"labels must name a class for each of the {len(self.y_train_)} training rows; got "
                f"shape {given.shape}."
            )
        classes, codes = np.unique(given, return_inverse=True)
        near = codes[found.indices[:, :k]]
        shares = np.stack([(near == code).mean(axis=1) for code in range(len(classes))], axis=1)
        return ClassShares(classes, shares)

    def scale_path(self, X: Any, n_neighbors: ArrayLike | None = None) -> ScalePath:
        """How each row's std grows with k: without floor and calibration, (n_samples, n_k).

        ``n_neighbors`` (n_k,) rising; the paper's candidates by default.
        """
        check_is_fitted(self, "y_train_")
        held = X.targets.shape[1] if isinstance(X, Neighborhood) else len(self.y_train_)
        if n_neighbors is None:
            counts = [k for k in CANDIDATES if k <= held]
        else:
            counts = [int(k) for k in np.atleast_1d(n_neighbors)]
        found, _ = self._look_up(X, max(counts, default=0), None, None)
        return ScalePath(np.array(counts), running_std(found.targets, counts))
