"""IBUG: the spread of y among the training rows that a prediction comes from."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import check_flag
from gbuq_core.distribution import Distribution, PredictsLaw
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug.affinity import LeafDensity, Neighbours, leaf_density
from gbuq_core.ibug.base_models import Rows, check_validation, fit_owned, weigh_rows
from gbuq_core.ibug.categories import Coding, encode_rows, find_coding, text_positions
from gbuq_core.ibug.class_view import ClassShares, count_classes
from gbuq_core.ibug.families import (
    FITS,
    Posterior,
    check_family,
    check_posterior_memory,
    fit_rows,
    join_posteriors,
    log_density,
    quantile,
)
from gbuq_core.ibug.family_distribution import distribute
from gbuq_core.ibug.family_scores import score_rows, with_targets
from gbuq_core.ibug.inputs import (
    check_counts,
    check_grid,
    check_k,
    check_parameters,
    check_rows,
    check_spread,
    check_target,
    check_untuned,
    encode_labels,
    missing_explained,
    numbers_of,
)
from gbuq_core.ibug.recalibrating import ValidationRows, check_fitted, tune, watch_rows
from gbuq_core.ibug.results import FamilyScores, Setting
from gbuq_core.ibug.search import (
    TREE_ORDERS,
    FloatArray,
    Neighborhood,
    ScalePath,
    TrainingRows,
    TreeChoice,
    count_places,
    count_rows,
    find_neighborhood,
    index_rows,
    join_neighborhoods,
    row_parts,
    select_trees,
)
from gbuq_core.inputs import draw_seed, exact_std, hold_out
from gbuq_core.jobs import check_memory, stage
from gbuq_core.metrics.neighbour_tuning import CANDIDATES, NeighbourTuning, running_std
from gbuq_core.model_files.fields import Savable
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.importances import source_importances
from gbuq_core.trees.importers.ownership import copy_unfitted, is_owned
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice, check_number


class IBUGRegressor(Savable, PredictsLaw, RegressorMixin, BaseEstimator):
    """Instance-based uncertainty: a std for the predictions of any boosted trees.

    The affinity of two rows is the number of trees in which they share a leaf (equation 1). The
    model makes the prediction. Its scale is the std of the targets of the k training rows with the
    highest affinity. The scale is at least ``min_scale`` and is then calibrated to
    ``gamma * scale`` or ``scale + delta``.

    Parameters
    ----------
    base_model : None, estimator, booster or leaf source
        A fitted model is used as it is; it must have been trained on the same X and y. This
        estimator fits an unfitted model, or CatBoost for None: first on a part of the rows for
        tuning, then on all of them (the paper's protocol). scikit-learn's ``clone`` turns a fitted
        estimator into an unfitted one; wrap it in ``sklearn.frozen.FrozenEstimator`` to keep it.
    n_neighbors : int or "tune"
        k, at least 2; "tune" takes the best of the paper's 17 values on validation rows. A
        prediction from other trees keeps this k unless it is given "tune" too. The calibration
        always belongs to the trees in use (see `setting_for`).
    scoring : {"nll", "crps"}
        The score that tuning, calibration and the choice of a family minimise.
    calibrate : bool
        Whether to fit gamma or delta to validation rows. A fitted model without validation rows
        is left uncalibrated.
    delta_unit : "std" or float
        What the deltas that are tried are multiples of, in units of y: the std of y, so that the
        scale follows the unit of y, or a number, which is 1 in the authors' code.
    posterior : str
        Family of the predicted distributions: "normal", "skew-normal", "log-normal", "laplace",
        "student-t", "logistic", "gumbel", "weibull", "kde", or "tune" for the one of the lowest
        score on validation rows: an NLL, which counts equal targets as known to the smallest gap
        between two of them, or a CRPS of at most 500 rows.
    posterior_fit : {"matched", "likelihood"}
        "matched": every family has mean ``loc`` and std ``scale``; only the shape of skew-normal
        and Student t comes from the neighbours. "likelihood": all parameters are fitted to the
        neighbours by maximum likelihood, without the model's prediction and the calibration, or by
        their mean and std where at least half of them have one value. A KDE
        uses the neighbours' targets either way, so ``loc`` and the calibration do not move it. See
        `gbuq_core.ibug.families.fit_posterior`.
    n_trees_sampled : int or None
        How many trees to use (tau in the paper); None means all. A number above the trees of a
        model that this estimator fits means all as well.
    tree_order : {"first", "last", "random"}
        Which trees to use.
    min_scale : float or None
        The least std before calibration, in units of y. None means the smallest positive std on
        the validation rows, or 1e-15 without them, as in the authors' code. Only this 1e-15 does
        not follow the unit of y, so the target must vary by much more.
    validation_fraction : float
        The share of rows held out for tuning when this estimator fits the model and gets no
        validation rows. The default CatBoost also uses them to choose its number of trees.
    n_jobs : int or None
        Threads of the search, and of the model's fit unless the model sets its own. None means all
        cores for the search and the library's default for the fit.
    random_state : int, Generator, RandomState or None
        Of the split (the rows that `EuclideanNeighborsRegressor` holds out too), of random trees
        and of the model that is fitted here.

    Attributes
    ----------
    n_neighbors_, min_scale_, gamma_, delta_, posterior_ : int, float, float, float, str
        The values in use unless a method is given others.
    tuning_ : NeighbourTuning or None
        Scores of every k; None where k was given.
    validation_ : Neighborhood or None
        The validation rows' neighbours; their targets are ``y_validation_`` (n_validation,).
        Predictions and affinities come from the model for tuning, which has not seen these rows.
        Each access rebuilds it from a compact form (see `find_validation`).
    model_, n_trees_ : the model and how many trees it has.
    y_train_ : ndarray of shape (n_train,)
        Targets of the training rows; neighbours' indices point into them. When this estimator fits
        the model, validation rows follow the rows of X, because the final model trains on both.
    weight_train_ : ndarray of shape (n_train,) or None
        How many of the k places each training row takes; None means one.
    n_features_in_, feature_names_in_, fit_seconds_ : as usual.
    memory_bytes_ : int
        Size of the leaves and targets of all rows (for both models if this estimator fits them),
        and the most that searches with other trees keep; without ``model_``.

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

    seed_: int
    model_: Any
    n_neighbors_: int
    min_scale_: float
    gamma_: float
    delta_: float
    posterior_: str
    tuning_: NeighbourTuning | None
    y_train_: FloatArray
    fit_seconds_: float
    _rows: TrainingRows
    _validation: ValidationRows | None
    _coding: Coding | None
    _not_saved = ("n_trees_", "y_validation_", "memory_bytes_", "weight_train_")

    def __init__(
        self,
        base_model: Any = None,
        n_neighbors: int | str = "tune",
        scoring: str = "nll",
        calibrate: bool = True,
        delta_unit: str | float = "std",
        posterior: str = "normal",
        posterior_fit: str = "matched",
        n_trees_sampled: int | None = None,
        tree_order: str = "first",
        min_scale: float | None = None,
        validation_fraction: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.base_model = base_model
        self.n_neighbors = n_neighbors
        self.scoring = scoring
        self.calibrate = calibrate
        self.delta_unit = delta_unit
        self.posterior = posterior
        self.posterior_fit = posterior_fit
        self.n_trees_sampled = n_trees_sampled
        self.tree_order = tree_order
        self.min_scale = min_scale
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = self.base_model
        if hasattr(base, "__sklearn_tags__") and not isinstance(base, type):
            tags.input_tags.allow_nan = base.__sklearn_tags__().input_tags.allow_nan
        else:  # CatBoost and boosters
            tags.input_tags.allow_nan = True
        return tags

    def fit(
        self, X: Any, y: Any, X_val: Any = None, y_val: Any = None, sample_weight: Any = None
    ) -> Self:
        """Record the leaves of the training rows, and tune on rows that the model has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or DataFrame
            The rows that the model was or will be trained on; NaN where the model takes it. Text
            and category columns of a data frame are categories: CatBoost, LightGBM and
            HistGradientBoosting (XGBoost with ``enable_categorical``) split by them, other models
            get the level's number in the order of the levels. A level that is new at prediction
            gets a number of its own, or what the library does with one. A fitted model gets X as
            it is.
        y : array-like of shape (n_samples,)
            Their targets, not all equal.
        X_val, y_val : optional
            Rows for tuning. Without them, a part of X is held out. A fitted model has seen all of
            X, so without them nothing can be tuned and ``n_neighbors`` must be a number.
        sample_weight : array-like of shape (n_samples,), optional
            How many rows each row counts as: when the model is trained, among the neighbours and
            for tuning. Whole weights equal repeated rows: a row of weight w takes up to w of the k
            places, and the last one may take a part of its weight. Fractions follow the same rule.
            A row of weight 0 is left out, and rows of ``X_val`` weigh 1. The rows held out for
            tuning are drawn whatever they weigh. A fitted model should have been trained with the
            same weights; here they count among the neighbours only.
        """
        began = time.perf_counter()
        self.__dict__.pop("y_train_", None)  # a fit that fails leaves no half of the one before
        check_parameters(self)
        table = check_rows(self, X, reset=True)
        rows = Rows(table, check_target("y", y, len(table)))
        rows = weigh_rows(self.base_model, rows, sample_weight)
        check_spread(rows.y)
        self._check_family(rows.y)
        self._coding: Coding | None = find_coding(self.base_model, rows.X)
        held_out = check_validation(self, X_val, y_val)
        self.seed_ = draw_seed(self.random_state)
        with stage(1):
            if is_owned(self.base_model):
                self._fit_owned(rows, held_out)
            else:
                self._fit_given(rows, held_out)
            tune(self)
        leaves = self._rows.leaves
        self.n_trees_ = leaves.n_trees
        self.memory_bytes_ = leaves.n_bytes + self._rows.y.nbytes
        if self._validation is not None:
            self.memory_bytes_ += self._validation.n_bytes
        self.weight_train_ = self._rows.weight
        self.fit_seconds_ = time.perf_counter() - began
        self.y_train_ = self._rows.y  # last: with it the estimator counts as fitted
        return self

    @property
    def feature_importances_(self) -> np.ndarray:
        """The base model's own importances (n_features,), divided by their sum.

        An AttributeError tells of models that have none, as scikit-learn's HistGradientBoosting.
        """
        check_is_fitted(self, "y_train_")
        return source_importances(self._rows.source)

    @property
    def validation_(self) -> Neighborhood | None:
        """The validation rows' neighbours with the estimator's own trees; None without any."""
        check_is_fitted(self, "y_train_")
        return None if self._validation is None else self.find_validation()

    def find_validation(
        self, n_trees_sampled: int | None = None, tree_order: str | None = None
    ) -> Neighborhood:
        """The neighbours of the validation rows, whose targets are ``y_validation_``.

        Predictions and affinities are those of the model for tuning, which has not seen the rows;
        `InvalidParameter` if the fit had none. Parameters as for `setting_for`.
        """
        check_is_fitted(self, "y_train_")
        choice = self._choose_trees(n_trees_sampled, tree_order)
        n_trees = self.n_trees_ if choice.n_trees is None else choice.n_trees
        return self._need_validation("find_validation").neighborhood(
            choice, self.n_neighbors_, n_trees, self._rows.fit_id
        )

    def setting_for(
        self,
        n_neighbors: int | str | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Setting:
        """The setting for another k, for other trees or without calibration.

        The least scale and the calibration come from the validation rows with exactly these trees,
        as in `fit` (algorithm 3 and section 4.1). Without validation rows the fitted values stay.
        Nothing is refitted, and each choice is computed once.

        Parameters
        ----------
        n_neighbors : int, "tune" or None
            None is the fitted ``n_neighbors_`` for any trees; "tune" is the best k for these trees.
            It can be at most the number of training rows of the model for tuning.
        calibrate, n_trees_sampled, tree_order : optional
            In place of the estimator's own.
        """
        check_is_fitted(self, "y_train_")
        choice = self._choose_trees(n_trees_sampled, tree_order)
        return self._setting(self._choose_k(n_neighbors, choice), calibrate, choice)

    def tuning_for(
        self, n_trees_sampled: int | None = None, tree_order: str | None = None
    ) -> NeighbourTuning | None:
        """The scores of all candidate k with these trees; None without validation rows."""
        check_is_fitted(self, "y_train_")
        choice = self._choose_trees(n_trees_sampled, tree_order)
        return None if self._validation is None else self._validation.tuning(choice, self.scoring)

    def kneighbors(
        self,
        X: Any,
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Neighbours:
        """Training rows of highest affinity, best first, ties by lowest index.

        A training row is searched like any other row: it is its own first neighbour, except in
        ties. X may be a `Neighborhood`; the other parameters are as for `setting_for`.

        Returns
        -------
        Neighbours
            ``(indices, affinities)``, (n_samples, n_neighbors) int32 each: positions in the
            training rows, and numbers of trees. With weights as many columns as one row needs to
            fill n_neighbors places; a row that needs fewer has -1 and 0 there.
            `find_neighborhood` has the weights.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        return self._look_up(X, k, choice).rows(k)

    def leaf_density(self, X: Any = None) -> LeafDensity:
        """What share of the training rows lies in the leaves of X, tree by tree (appendix C.5).

        ``(n_leaves, visited, largest)``, (n_trees_,) each: what IBUG visits in each tree. Without X
        it is that of the training rows themselves.
        """
        check_is_fitted(self, "y_train_")
        weight = self._rows.weight
        if X is None:
            return leaf_density(self._rows.leaves, None, weight)
        table = self._check_new(X)
        with missing_explained(table, self.model_):
            return leaf_density(self._rows.leaves, self._rows.source.leaf_matrix(table), weight)

    def find_neighborhood(
        self,
        X: Any,
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Neighborhood:
        """Search once for many k: its result can stand in place of X in all methods.

        Without ``n_neighbors`` it holds as many neighbours as the largest k of tuning. It remembers
        its trees, so predictions from it are calibrated for these trees.
        """
        check_is_fitted(self, "y_train_")
        if n_neighbors is None and not isinstance(X, Neighborhood):
            n_neighbors = max(self.n_neighbors_, min(CANDIDATES[-1], self._rows.n_places))
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        return self._look_up(X, k, choice)

    def neighbor_targets(
        self,
        X: Any,
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> FloatArray:
        """Targets of the neighbours, nearest first: (n_samples, n_neighbors), in units of y.

        With weights the columns are those of `kneighbors`, NaN where it has no neighbour.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        targets, places = self._look_up(X, k, choice).nearest(k)
        return targets if places is None else np.where(places > 0.0, targets, np.nan)

    def predict(self, X: Any) -> FloatArray:
        """The model's own prediction, (n_samples,)."""
        check_is_fitted(self, "y_train_")
        if isinstance(X, Neighborhood):
            return self._check_neighborhood(X).loc
        table = self._check_new(X)
        with missing_explained(table, self.model_):
            return np.asarray(self._rows.source.predict(table), dtype=np.float64)

    def predict_distribution(
        self,
        X: Any,
        n_neighbors: int | str | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Distribution:
        """The estimator's family ``posterior_`` for every row.

        X may be a `Neighborhood`; the other parameters are as for `setting_for`: the calibration
        belongs to this k and these trees.

        Returns
        -------
        Distribution
            ``loc`` is the model's prediction and ``scale`` the calibrated std of the neighbours. A
            `NormalDistribution` of them, or for any other family a `FamilyDistribution` with its
            parameters as ``posterior``.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        setting = self._setting(k, calibrate, choice)
        check_posterior_memory(self.posterior_, count_rows(X), k)
        parts = self._each_part(X, k, choice)
        return distribute(parts, setting, self.posterior_, self.posterior_fit, self.n_jobs)

    def predict_uncertainty(self, X: Any, **choices: Any) -> Uncertainty:
        """The squared scale as total and as data uncertainty, in squared units of y.

        Knowledge uncertainty is 0, because one model has no members that could disagree. The
        calibration puts the model's own errors on validation rows into the scale (paper, section
        3.3). ``choices`` are those of `predict_distribution`.
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

        The result is for `log_density`, `cdf`, `quantile` and `sample` of `gbuq_core.ibug`. X may
        be a `Neighborhood`; all parameters stand in place of the estimator's own.
        """
        k, _ = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        family = self.posterior_ if posterior is None else posterior
        check_posterior_memory(family, count_rows(X), k)
        choices = (n_neighbors, calibrate, n_trees_sampled, tree_order)
        parts = self._each_posterior(X, posterior, posterior_fit, *choices)
        return join_posteriors(list(parts))

    def predict_density(
        self, X: Any, y_grid: ArrayLike, posterior: str | None = None, **choices: Any
    ) -> FloatArray:
        """Density of y on a grid (m,), the same for all rows, or (n_samples, m): (n_samples, m).

        ``choices`` as for `predict_posterior`.
        """
        n_rows = count_rows(X)
        grid = check_grid(y_grid, n_rows)
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

        Of one number they are (n_samples,).

        ``choices`` as for `predict_posterior`.
        """
        parts = self._each_posterior(X, posterior, **choices)
        found = np.concatenate([quantile(fitted, levels) for fitted in parts])
        return found if np.ndim(levels) else found[:, 0]

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
        """Mean NLL of all nine families on rows that the model has not seen, with targets ``y``.

        The other parameters are as for `predict_posterior`.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        fit = self.posterior_fit if posterior_fit is None else posterior_fit
        check_choice("posterior_fit", fit, FITS)
        setting = self._setting(k, calibrate, choice)
        target = check_target("y", y, count_rows(X))
        parts = with_targets(self._each_part(X, k, choice), setting, target)
        return score_rows(parts, self.y_train_, fit, self.n_jobs)

    def neighbor_class_shares(
        self,
        X: Any,
        labels: ArrayLike,
        n_neighbors: int | str | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> ClassShares:
        """The share of each class among a row's neighbours; our own view, not the paper's.

        ``labels`` (n_train,) give every training row a class, in their order; the other parameters
        are as for `kneighbors`. For the neighbours in a classifier's trees see
        `gbuq_core.ibug.class_neighbors`.
        """
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        classes, codes = encode_labels(labels, len(self.y_train_))
        parts = self._each_part(X, k, choice)
        shares = [
            count_classes(codes[near.indices], len(classes), near.places(k)) for near in parts
        ]
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
        held = X.n_places if isinstance(X, Neighborhood) else self._rows.n_places
        known = [k for k in CANDIDATES if k <= held]
        counts = known if n_neighbors is None else check_counts(n_neighbors)
        k, choice = self._resolve(X, max(counts, default=0), n_trees_sampled, tree_order)
        parts = self._each_part(X, k, choice)
        scale = np.concatenate([running_std(near.targets, counts, near.weights) for near in parts])
        return ScalePath(np.array(counts), scale)

    def check_file(self) -> None:
        """Refuse what no fit makes, and make again what follows from the rest."""
        check_parameters(self)
        check_fitted(self)
        check_family(self.posterior_, self._rows.y)

    def __sklearn_clone__(self) -> Self:
        bare = copy.copy(self)
        bare.base_model = None
        cloned: Self = super(IBUGRegressor, bare).__sklearn_clone__()
        cloned.base_model = copy_unfitted(self.base_model)
        return cloned

    def _fit_given(self, rows: Rows, held_out: Rows | None) -> None:
        """Use the model as it is; tune on the rows held out, if there are any."""
        if held_out is None:
            check_untuned(self)
        if self.n_neighbors != "tune":  # refused before anything is fitted
            check_k(self.n_neighbors, count_places(len(rows.y), rows.weight))
        with stage(1, span=0.6):
            self._rows = self._index(self.base_model, rows)
        n_trees = self._rows.leaves.n_trees
        if self.n_trees_sampled is not None:  # refused if more than there are
            select_trees(n_trees, self.n_trees_sampled, self.tree_order, self.seed_)
        self._validation = watch_rows(
            self._rows, held_out, None, rows.y, self.seed_, self.n_jobs, rows.weight
        )

    def _fit_owned(self, rows: Rows, held_out: Rows | None) -> None:
        """Fit the model on a part of the rows, tune on the rest, and refit it on all of them."""
        rows = rows._replace(X=self._encode(rows.X))
        if held_out is not None:
            held_out = held_out._replace(X=self._encode(held_out.X))
        tuned = "tune" in (self.n_neighbors, self.posterior) or self.calibrate
        every, n_trees, places = rows, None, np.arange(len(rows.y))
        if held_out is not None:
            every = rows.stack(held_out)
            self._check_family(every.y)
        elif tuned or self.base_model is None:  # CatBoost stops adding trees by them
            places, others = hold_out(len(rows.y), self.validation_fraction, self.seed_)
            held_out, rows = rows.take(others), rows.take(places)
        if self.n_neighbors != "tune":  # refused before anything is fitted
            check_k(self.n_neighbors, count_places(len(rows.y), rows.weight))
        self._validation = None
        if held_out is not None:
            with stage(1, span=0.4):
                first, n_trees = self._fit_model(rows, held_out, None)
            with stage(1, span=0.1):
                index = self._index(first, rows)
                self._validation = watch_rows(
                    index, held_out, places, every.y, self.seed_, self.n_jobs, every.weight
                )
        with stage(1, span=0.4):
            model, _ = self._fit_model(every, None, n_trees)
            self._rows = self._index(model, every)

    def _fit_model(self, rows: Rows, held_out: Rows | None, n_trees: int | None) -> Any:
        with missing_explained(rows.X, self.base_model):
            return fit_owned(
                self.base_model,
                rows,
                held_out,
                n_trees,
                self.seed_,
                self.n_jobs,
                text_positions(self._coding),
            )

    def _index(self, model: Any, rows: Rows) -> TrainingRows:
        """Where the model's trees put these rows."""
        source = leaf_source(model)
        n_features = rows.X.shape[1]
        if source.n_features != n_features:
            raise InvalidData(
                f"The model was trained on {source.n_features} features, but X has {n_features}: "
                "pass the rows that it was trained on."
            )
        self.model_ = model
        with missing_explained(rows.X, model):
            return index_rows(source, rows.X, rows.y, rows.weight)

    def _check_family(self, y: FloatArray) -> None:
        if self.posterior != "tune":
            check_family(self.posterior, y)

    def _need_validation(self, what: str) -> ValidationRows:
        if self._validation is None:
            raise InvalidParameter(
                f"{what} needs validation rows, but the fit had none: fit with X_val and y_val."
            )
        return self._validation

    def _choose_trees(self, n_sampled: int | None, order: str | None) -> TreeChoice:
        """The trees that count, with these choices in place of the estimator's own."""
        count, n_trees = n_sampled, self._rows.leaves.n_trees
        if count is None and self.n_trees_sampled is not None:
            # A model that the estimator fits has as many trees as it turns out to need.
            count = min(self.n_trees_sampled, n_trees)
        chosen = self.tree_order if order is None else order
        check_choice("tree_order", chosen, TREE_ORDERS)
        if count is not None:
            count = check_number("n_trees_sampled", count, 1, n_trees, integer=True)
        return TreeChoice(None, "first") if count in (None, n_trees) else TreeChoice(count, chosen)

    def _choose_k(self, n_neighbors: int | str | None, choice: TreeChoice) -> int:
        """k: the fitted one, the best with these trees, or a number."""
        if n_neighbors is None:
            return int(self.n_neighbors_)
        if isinstance(n_neighbors, str) and n_neighbors == "tune":
            scores = self._need_validation("n_neighbors='tune'").tuning(choice, self.scoring)
            return int(scores.n_neighbors[scores.best])
        return check_k(n_neighbors, self._rows.n_places)

    def _setting(self, k: int, calibrate: bool | None, choice: TreeChoice) -> Setting:
        """The least scale and calibration of one k with these trees."""
        on = check_flag("calibrate", self.calibrate if calibrate is None else calibrate)
        if self._validation is None:
            return Setting(k, self.min_scale_, 1.0, 0.0)
        unit = self.delta_unit
        if unit == "std":
            unit = exact_std(self._rows.y, self._rows.weight)
        return self._validation.setting(choice, k, on, self.scoring, self.min_scale, float(unit))

    def _resolve(
        self, X: Any, n_neighbors: int | str | None, n_sampled: int | None, order: str | None
    ) -> tuple[int, TreeChoice]:
        """How many neighbours and which trees count: those of a neighbourhood where X is one."""
        check_is_fitted(self, "y_train_")
        if not isinstance(X, Neighborhood):
            choice = self._choose_trees(n_sampled, order)
            return self._choose_k(n_neighbors, choice), choice
        if n_sampled is not None or order is not None:
            raise InvalidParameter(
                "A Neighborhood was searched with fixed trees: pass the rows themselves to "
                "choose n_trees_sampled or tree_order."
            )
        self._check_neighborhood(X)
        choice = self._choose_trees(X.n_trees, X.tree_order)
        k, width = self._choose_k(n_neighbors, choice), X.n_places
        if k > width:
            raise InvalidParameter(
                f"This neighbourhood holds {width} neighbours for each row, but {k} were asked "
                "for: search again with more."
            )
        return k, choice

    def _look_up(self, X: Any, k: int, choice: TreeChoice) -> Neighborhood:
        """The k nearest neighbours of all rows of X, found or given."""
        each = self._each_part(X, k, choice)
        check_memory(count_rows(X) * (32 * k + 16), "these neighbours")
        return join_neighborhoods(list(each))

    def _each_part(self, X: Any, k: int, choice: TreeChoice) -> Iterator[Neighborhood]:
        """The k nearest neighbours of some rows of X after the other."""
        rows = X if isinstance(X, Neighborhood) else self._check_new(X)
        return self._parts(rows, k, choice)

    def _parts(self, rows: Any, k: int, choice: TreeChoice) -> Iterator[Neighborhood]:
        if isinstance(rows, Neighborhood):
            yield from row_parts(rows, k)
            return
        for part in row_parts(rows, k):
            with missing_explained(part, self.model_):
                yield find_neighborhood(self._rows, part, k, choice, self.seed_, self.n_jobs)

    def _check_neighborhood(self, neighborhood: Neighborhood) -> Neighborhood:
        if neighborhood.fit_id != self._rows.fit_id:
            raise InvalidParameter(
                "This neighbourhood belongs to another fit: search again with find_neighborhood."
            )
        return neighborhood

    def _check_new(self, X: Any) -> Any:
        return self._encode(check_rows(self, X, reset=False))

    def _encode(self, table: Any) -> Any:
        """Checked rows as the model reads them."""
        if self._coding is not None:
            return encode_rows(self._coding, table)
        return numbers_of(table) if self.base_model is None else table

    def _each_posterior(
        self,
        X: Any,
        posterior: str | None = None,
        posterior_fit: str | None = None,
        n_neighbors: int | str | None = None,
        calibrate: bool | None = None,
        n_trees_sampled: int | None = None,
        tree_order: str | None = None,
    ) -> Iterator[Posterior]:
        """A family fitted to the neighbours of some rows of X after the other."""
        check_is_fitted(self, "y_train_")
        family = check_family(self.posterior_ if posterior is None else posterior, self.y_train_)
        fit = self.posterior_fit if posterior_fit is None else posterior_fit
        check_choice("posterior_fit", fit, FITS)
        k, choice = self._resolve(X, n_neighbors, n_trees_sampled, tree_order)
        setting = self._setting(k, calibrate, choice)
        for near in self._each_part(X, k, choice):
            yield fit_rows(family, near, setting, fit, self.n_jobs)
