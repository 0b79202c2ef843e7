"""IBUG: the spread of y among the training rows that a prediction comes from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.errors import InvalidData
from gbuq_core.ibug.affinity import Neighbours
from gbuq_core.ibug.choosing import ScoredPart, join_posteriors, scale_of, score_rows
from gbuq_core.ibug.families import FITS, Posterior, log_density, quantile
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.inputs import check_counts, check_target, encode_labels, explain_missing
from gbuq_core.ibug.looking_up import SearchedNeighbours, count_rows
from gbuq_core.ibug.results import (
    ClassShares,
    Distribution,
    FamilyScores,
    Neighborhood,
    ScalePath,
)
from gbuq_core.ibug.train_leaves import LeafDensity, leaf_density
from gbuq_core.jobs import check_memory
from gbuq_core.metrics.neighbour_tuning import CANDIDATES, running_std
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_array, check_choice


class IBUGRegressor(RegressorMixin, SearchedNeighbours):
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
        k, at least 2; "tune" takes the best of the paper's 17 values on validation rows. At a
        prediction from other trees k stays, unless "tune" is passed there: calibration is always
        that of the trees that count (see `setting_for`).
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
        "matched": families with mean ``loc`` and std ``scale``, so that only a shape (of skew-
        normal and Student t) comes from the neighbours. "likelihood": everything is fitted to the
        neighbours by maximum likelihood, and the model's prediction and the calibration are left
        out. A KDE stands on the neighbours either way: its mean is theirs, and neither ``loc``
        nor the calibration moves it. See `gbuq_core.ibug.families.fit_posterior`.
    n_trees_sampled : int or None
        How many trees count (tau in the paper); None means all, and so does a number beyond the
        trees of a model that this estimator fits.
    tree_order : {"first", "last", "random"}
        Which ones.
    min_scale : float or None
        The least std before calibration, in units of y. None means the smallest positive one on the
        validation rows, and 1e-15 without them, as in the authors' code. These 1e-15 are the one
        number here that does not follow the unit of y, so a target must vary by much more.
    validation_fraction : float
        The share of the rows to tune on where the estimator fits the model and no validation rows
        are given; CatBoost, where base_model is None, stops by them even if nothing is tuned.
    n_jobs : int or None
        Threads of the search, and of the fit of a model whose own number is not set; None means
        all cores, and leaves the model's library its default.
    random_state : int, Generator, RandomState or None
        Of the split (the rows that `EuclideanNeighborsRegressor` holds out too), of random trees
        and of the model that is fitted here.

    Attributes
    ----------
    n_neighbors_, min_scale_, gamma_, delta_, posterior_ : int, float, float, float, str
        In use unless a method is given others.
    tuning_ : NeighbourTuning or None
        Scores of every k; None where k was given.
    validation_ : Neighborhood or None
        The validation rows' neighbours, with ``y_validation_`` (n_validation,): predictions and
        affinities are those of the model for tuning, which has not seen these rows. Made anew
        from a compact form each time it is asked for (see `find_validation`).
    model_, n_trees_ : the model and how many trees it has.
    y_train_ : ndarray of shape (n_train,)
        Targets of the rows that neighbours' indices count. Where the estimator fits the model, rows
        given as validation follow those of X: both are trained on in the end.
    n_features_in_, feature_names_in_, fit_seconds_ : as usual.
    memory_bytes_ : int
        Leaves of the training and validation rows, of both models where the estimator fits them,
        targets, and the most that is kept of searches for other trees; without ``model_``.

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
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Neighbours:
        """Training rows of highest affinity, best first, ties by lowest index.

        Training rows are searched like any: each is its own first neighbour, but for its ties.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        n_neighbors, n_trees_sampled, tree_order : optional
            In place of the estimator's own, as for `setting_for`; nothing is refitted.

        Returns
        -------
        Neighbours
            ``(indices, affinities)``, (n_samples, n_neighbors) int32 each: positions in the
            training rows, and numbers of trees.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        found = self._look_up(X, k, choice)
        return Neighbours(found.indices, found.affinities)

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
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Neighborhood:
        """Search once for many k: its result can stand in place of X in all methods.

        Without ``n_neighbors`` it holds as many as the largest k that tuning looks at. It remembers
        its trees, so that predictions from it are calibrated for these.
        """
        check_is_fitted(self, "y_train_")
        if n_neighbors is None and not isinstance(X, Neighborhood):
            n_neighbors = max(self.n_neighbors_, min(CANDIDATES[-1], len(self.y_train_)))
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        return self._look_up(X, k, choice)

    def neighbor_targets(
        self,
        X: Any,
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> FloatArray:
        """Targets of the neighbours, nearest first: (n_samples, n_neighbors), in units of y."""
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        return self._look_up(X, k, choice).targets

    def predict(self, X: Any) -> FloatArray:
        """The model's own prediction, (n_samples,)."""
        check_is_fitted(self, "y_train_")
        if isinstance(X, Neighborhood):
            return self._check_found(X).loc
        return self._predict_loc(X)

    def predict_distribution(
        self,
        X: Any,
        n_neighbors: int | str | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Distribution:
        """``(loc, scale)`` of every row, (n_samples,) each: the prediction and a std.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        n_neighbors, calibrate, n_trees_sampled, tree_order : optional
            In place of the estimator's own; nothing is refitted, but the calibration is that of
            this k and these trees (see `setting_for`).
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        setting = self._setting(k, calibrate, choice)
        loc, scale = [], []
        for found in self._each_part(X, k, choice):
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
        n_neighbors: int | str | None = None,
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
        k, _ = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        family = self.posterior_ if posterior is None else posterior
        held = 2 * k if family == "kde" else 6  # a KDE keeps the neighbours' targets
        check_memory(8 * count_rows(X) * held, "these posteriors")
        given = (n_neighbors, calibrate, n_trees_sampled, tree_order)
        parts = self._each_posterior(X, posterior, posterior_fit, *given)
        return join_posteriors(list(parts))

    def predict_density(
        self, X: Any, y_grid: ArrayLike, posterior: str | None = None, **choices: Any
    ) -> FloatArray:
        """Density of y on a grid (m,), the same for all rows, or (n_samples, m): (n_samples, m).

        ``choices`` as for `predict_posterior`.
        """
        grid = check_array("y_grid", y_grid, 2 if np.ndim(y_grid) == 2 else 1)
        n_rows = count_rows(X)
        if grid.ndim == 2 and len(grid) != n_rows:
            raise InvalidData(
                f"y_grid must be one grid, or one for each of the {n_rows} rows; got shape "
                f"{grid.shape}."
            )
        check_memory(16 * n_rows * grid.shape[-1], "these densities")
        points = np.broadcast_to(grid, (n_rows, grid.shape[-1]))
        out: list[FloatArray] = []
        for fitted in self._each_posterior(X, posterior, **choices):
            first = sum(len(part) for part in out)
            out.append(np.exp(log_density(fitted, points[first : first + len(fitted.scale)])))
        return np.concatenate(out)

    def predict_quantiles(
        self, X: Any, levels: ArrayLike, posterior: str | None = None, **choices: Any
    ) -> FloatArray:
        """Quantiles of every row's posterior at ``levels`` (m,) in (0, 1): (n_samples, m).

        ``choices`` as for `predict_posterior`.
        """
        parts = self._each_posterior(X, posterior, **choices)
        return np.concatenate([quantile(fitted, levels) for fitted in parts])

    def score_families(
        self,
        X: Any,
        y: Any,
        posterior_fit: str | None = None,
        n_neighbors: int | str | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> FamilyScores:
        """Mean NLL of all nine families on rows that the model has not seen.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        y : array-like of shape (n_samples,)
        posterior_fit, n_neighbors, calibrate, n_trees_sampled, tree_order : optional
            As for `predict_posterior`.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        fit = self.posterior_fit if posterior_fit is None else posterior_fit
        check_choice("posterior_fit", fit, FITS)
        setting = self._setting(k, calibrate, choice)
        target = check_target("y", y, count_rows(X))

        def parts() -> Iterator[ScoredPart]:
            first = 0
            for found in self._each_part(X, k, choice):
                yield found, setting, target[first : first + len(found.loc)]
                first += len(found.loc)

        return score_rows(parts(), self.y_train_, fit, self.n_jobs)

    def neighbor_class_shares(
        self,
        X: Any,
        labels: ArrayLike,
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> ClassShares:
        """The share of each class among a row's neighbours; our own view, not the paper's.

        For the neighbours in a classifier's trees see `gbuq_core.ibug.class_neighbors`.

        Parameters
        ----------
        X : array-like, DataFrame or Neighborhood
        labels : array-like of shape (n_train,)
            A class for every training row, in their order.
        n_neighbors, n_trees_sampled, tree_order : optional
            As for `kneighbors`.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        given = np.asarray(labels)
        if given.shape != self.y_train_.shape:
            raise InvalidData(
                f"labels must name a class for each of the {len(self.y_train_)} training rows; got "
                f"shape {given.shape}."
            )
        classes, codes = encode_labels(given)
        shares = []
        for found in self._each_part(X, k, choice):
            near = codes[found.indices]
            columns = [(near == code).mean(axis=1) for code in range(len(classes))]
            shares.append(np.stack(columns, axis=1))
        return ClassShares(classes, np.concatenate(shares))

    def scale_path(
        self,
        X: Any,
        n_neighbors: ArrayLike | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> ScalePath:
        """How each row's std grows with k: without floor and calibration, (n_samples, n_k).

        ``n_neighbors`` (n_k,) rising, the paper's candidates by default; the rest as for
        `kneighbors`.
        """
        check_is_fitted(self, "y_train_")
        held = X.targets.shape[1] if isinstance(X, Neighborhood) else len(self.y_train_)
        if n_neighbors is None:
            counts = [k for k in CANDIDATES if k <= held]
        else:
            counts = check_counts(n_neighbors)
        k, choice = self._resolve(X, max(counts, default=0), n_trees_sampled, tree_order)
        parts = self._each_part(X, k, choice)
        scale = np.concatenate([running_std(found.targets, counts) for found in parts])
        return ScalePath(np.array(counts), scale)
