"""An ensemble of boosted Gaussian models: the regressor of the virtual-ensembles paper."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.boosting.monotone import follow_mean, path_of
from gbuq_core.boosting.stopping import regression_stages, weight_of_mean
from gbuq_core.calibration import Clocks, Stages
from gbuq_core.distribution import Distribution, LogDistribution, PredictsLaw, student
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import TargetScale, check_new_rows, check_numeric_target, fit_target_scale
from gbuq_core.metrics.scores import nll_gaussian_values
from gbuq_core.model_files.contents import require
from gbuq_core.uncertainty import Uncertainty, mean_over_members, split_variance
from gbuq_core.validation import check_choice

TARGETS = ("log",)

# Only absurd noise gets there (a temperature of 1e-6); a thousand such variances can be summed.
_LARGEST_LOG_STD = 300.0
_LARGEST_STD = 1e150
_LARGEST_LOG_MEAN = 170.0  # of a target on a log scale: exp of four times this is a float64 still


class BoostedEnsembleRegressor(PredictsLaw, RegressorMixin, BoostedEnsemble):
    """Boosted oblivious trees that predict a mean and a variance, many times over.

    Each model boosts ``(mu, log s)`` of a Gaussian by its negative log likelihood (Malinin,
    Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", eq. 9-12).
    Knowledge uncertainty is the variance of the members' means, data uncertainty the mean of their
    variances (eq. 6).

    Parameters
    ----------
    method : {"sgb", "sglb", "csglb", "cbsglb"}
        "sgb": stochastic gradient boosting, with a random part of the rows for every tree. "sglb":
        stochastic gradient Langevin boosting, with all rows, noise on the gradients and shrinkage
        of the whole model (eq. 11-12). "csglb": one SGLB model whose gradients rise and fall in
        cycles; each cycle gives a member (Tan, Huertas and Zhao, "Efficient and effective
        uncertainty quantification in gradient boosting via cyclical gradient MCMC", algorithm 1).
        "cbsglb": the same with bootstrapped rows.
    ensemble : {"independent", "virtual"} or None
        Train ``n_members`` models from different seeds, or use truncations of one model as members
        (eq. 15). None means independent, and virtual for the cyclical methods.
    n_members : int
        Number of models of an independent ensemble. A virtual ensemble has one member for each
        truncation point.
    n_trees : int
        Trees of each model (T).
    truncation_step, truncation_start : int, float
        The members of a virtual ensemble have ``K, 2K, ...`` trees, starting above
        ``truncation_start * T``. The predicting methods take both too, without refitting.
    depth : int
        Levels of each oblivious tree, 1 to 12.
    learning_rate : float or None
        None means 0.1, and 0.05 for the cyclical methods.
    subsample : float or None
        Share of rows that choose the splits of each tree; None means 0.5 for sgb and 1 for the
        others. Leaf values use all rows, as in CatBoost. (The cyclical paper leaves rows out only
        while exploring.)
    cycle_length, burn_in_cycles : int
        Trees of a cycle (C), and how many cycles at the start give no member. The predicting
        methods take ``burn_in_cycles`` too, without refitting. These and the next four parameters
        are for the cyclical methods only.
    alpha_max, alpha_min : float
        The factor of the gradients at the start of a cycle, and the least value it falls to (eq. 7
        of the cyclical paper). Noise is not scaled. ``learning_rate * alpha_max`` must be at most
        2, because the model diverges above it.
    mask_prob, exploration_fraction : float
        Exploration lasts ``exploration_fraction`` of a cycle. While exploring, cbsglb uses the
        gradients of a random share ``mask_prob`` of the rows, drawn at the start of each cycle.
    noise_free_exploration : bool
        No Langevin noise during exploration, as in cSG-MCMC (appendix A).
    temperature : {"catboost", "posterior"} or float
        The diffusion temperature: a number, "catboost" for that of CatBoost's posterior sampling
        (the number of rows), or "posterior" for sampling from the posterior (1). Lower means more
        noise. At "catboost" the noise has one size for all rows, as in CatBoost. Otherwise it has
        the covariance that the posterior needs: it follows each row's predicted std, and the mean
        of a leaf weights its rows by one over their predicted variance.
    leaf_noise : bool or None
        Whether the leaf values are noisy too, as Langevin sampling needs, or only the choice of
        splits. None means always, except for temperature "catboost", where only gradient leaves are
        noisy, as in CatBoost.
    random_strength : float
        Noise on the scores of candidate splits, fading over the first ``ln(N) / learning_rate``
        trees.
    leaf_estimation : {"newton", "gradient"}
        One Newton step a leaf, as CatBoost does, or the mean gradient (natural gradient, eq. 16).
    class_weight : for the classifier only.
    standardize_target : bool
        Train on ``(y - mean) / std``, so the noise does not depend on the unit of y.
    target : {"log"} or None
        "log": train on log y, for a positive target whose errors are relative, such as a price.
        Everything is given in the unit of y again: the law is that of exp of what the models
        predict, so intervals are positive and need not be symmetric.
    l2 : float
        L2 regularisation of leaf values.
    max_bins : int
        Bins of each numeric feature, 2 to 255; missing values get one more.
    categorical_features : None, "from_dtype" or list
        Names or positions of category columns. None takes those columns of a DataFrame whose dtype
        is category or that hold text; "from_dtype" takes booleans and other objects too. A column
        with up to 32 levels is split one level against the rest; a larger one is replaced by
        cross-fitted means of the target.
    monotone_constraints : list, dict or None
        1 where the prediction may only rise with a numeric column, -1 where it may only fall, 0
        elsewhere: one for each column, or a dict by names or positions, as LightGBM's. Leaves are
        moved to comply after their noise is drawn, so every member does, and every truncation. Of
        two classes it is the chance of the second; of more, the logit of each class, whose chance
        may still turn where another's logit rises faster. Of a regression it is the mean, and the
        ends of intervals with it; not with ``target="log"`` or engine "catboost".
    stopping : {"two_clocks", "early"} or None
        Where the ensemble stops. "two_clocks": on rows held out, first the number of trees for the
        mean (least squared error), then the number of trees for the scale, a factor of the std and
        the tails (least negative log likelihood); then the models are trained on all rows. "early":
        one number of trees for both, by the likelihood. None: all trees, as in the papers; their
        variances collapse on most tables. Temperature "posterior" or a number means None.
    cv : None, int or scikit-learn splitter
        Which rows choose. None: five folds, and from 2,000 rows on one held-out fifth.
    mean_weight : "auto", float or None
        How much the mean's gradient counts beside the log std's when splits are chosen, for a
        target of unit variance. "auto" is 100 with `stopping` and None without; None leaves it to
        ``standardize_target`` (1 if standardised, else the variance of y).
    tails : {"student", "normal"}
        The law around the mean that `predict_distribution` gives, with `stopping`: a Student t with
        the same std and chosen degrees of freedom, or a normal.
    capacity : {"auto"} or None
        "auto": from 2,000 rows on, trees of ``depth``, and two and four levels deeper, are tried on
        the rows that choose the clocks; and trees are added until both clocks have stopped, up to
        four times ``n_trees``. ``plan_`` says what was chosen.
        None: depth and trees as given. The papers' settings have names, such as
        ``gbuq_core.methods.METHODS["sglb"].make()``.
    engine : {"numba", "catboost"}
        This project's kernels, or CatBoost behind the same interface. See
        `gbuq_core.boosting.catboost_engine` for the differences.
    n_jobs : int or None
        Threads. None means what joblib's ``parallel_config`` says, else all cores. Results do not
        depend on it.
    random_state : int, Generator, RandomState or None
        The same whole number gives the same result.

    Attributes
    ----------
    n_features_in_, feature_names_in_, n_rows_, total_weight_ : what was fitted on.
    is_category_ : (n_features,) bool
        Which columns are categories.
    n_cells_ : int
        Distinct rows after binning; identical rows are merged where that changes no result.
    n_trees_, fit_seconds_, memory_bytes_ : int, float, int
        Size and cost of the fit.
    stopping_ : str or None
        The rule that was followed.
    clocks_ : Clocks or None
        What was chosen: trees of the mean and of the scale, factor and degrees of freedom, with
        the curves they were read from; `gbuq_core.figures.clocks.draw_clocks` draws them.
    feature_importances_ : (n_features,)
        Shares of the columns in what the trees do; they sum to 1.
    traces_ : tuple of FitTrace
        Scale, loss and size of every tree, one trace for each model.
    target_ : "log" or None
        The scale that the models were trained on.
    plan_, langevin_, seed_ : the checked knobs, the noise in use, and the seed.

    Examples
    --------
    >>> from gbuq_core import make_heart, BoostedEnsembleRegressor
    >>> heart = make_heart(n_per_cell=50, random_state=0)
    >>> model = BoostedEnsembleRegressor(
    ...     n_members=5, n_trees=200, learning_rate=0.3, categorical_features=[0, 1], random_state=0
    ... ).fit(heart.X, heart.y)
    >>> knowledge = model.predict_uncertainty(heart.grid).knowledge.reshape(9, 9)
    >>> bool(knowledge[~heart.in_support].min() > knowledge[heart.in_support].max())
    True

    Prices with errors of a fifth, and intervals that are in proportion:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (500, 1))
    >>> price = np.exp(X[:, 0] + rng.normal(0, 0.2, 500))
    >>> model = BoostedEnsembleRegressor(target="log", n_members=2, n_trees=100, random_state=0)
    >>> low, high = model.fit(X, price).predict_distribution([[0.5], [2.5]]).interval(0.9)
    >>> bool((low > 0).all()), (high / low).round()
    (True, array([2., 2.]))
    """

    clocks_: Clocks | None
    target_: str | None
    target_scale_: TargetScale

    def fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Choose where the mean and the scale stop, then train the models on all rows.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
            NaN is missing. Text is allowed in data frames, and in columns named in
            ``categorical_features``.
        y : array-like (n_samples,)
            In any unit; variances come back in its square. Positive with ``target="log"``.
        X_val, y_val : the same, optional
            Rows that choose the clocks in place of rows held out of X. The models are trained on
            both in the end.
        groups : array-like (n_samples,), optional
            Rows of one group are never on both sides when the clocks are chosen.
        sample_weight : array-like (n_samples,), optional
            How many rows each row counts as: a weight of 3 is three copies, 0 leaves the row out.
            Weights need not be whole, but their size matters, because l2 and the noise are set
            against the number of rows: scale them to a mean of 1 if in doubt. Rows of X_val count
            once. A row and its weight are drawn (`subsample`, `mask_prob`) and held out as one.
        """
        table, target = self._check_fit_data(X, y)
        if self.class_weight is not None:
            raise InvalidParameter("class_weight is for classifiers: pass sample_weight to fit.")
        table, target, groups, weight = self._leave_out(
            table, check_numeric_target(target), groups, sample_weight
        )
        table, extra_target = self._stack_rows(table, X_val, y_val)
        values = target
        if extra_target is not None:
            values = np.concatenate([values, check_numeric_target(extra_target)])
        if self.target is not None:
            check_choice("target", self.target, TARGETS)
            values = _log_of(values)
        self.target_ = self.target
        n_given = len(values) - len(target)
        if weight is not None:
            weight = np.append(weight, np.ones(n_given))
        return self._fit_all(table, values, None, groups, n_given, weight)

    def check_file(self) -> None:
        """As of both ensembles; the scale of the target is one that there is."""
        require(self.target_ in (None, *TARGETS), "the scale of its target is impossible")
        super().check_file()

    def _finish_members(self, raw: np.ndarray) -> np.ndarray:
        return self._in_unit(self._law_members(raw))

    def _law_members(self, raw: np.ndarray) -> np.ndarray:
        """Mean and variance of what the models predict: of y, or of log y."""
        members = self._parameters(raw)
        if self.clocks_ is not None:
            members[..., 1] *= self.clocks_.factor**2
        return members

    def _decompose(self, members: np.ndarray) -> Uncertainty:
        return split_variance(members[..., 0], members[..., 1])

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the members' means, (n_samples,)."""
        means = self._map_members(
            X, lambda raw: [mean_over_members(self._finish_members(raw)[..., 0])]
        )
        return means[0]

    def predict_distribution(self, X: Any) -> Distribution:
        """The predicted law of y in every row; unpacks as ``loc, scale``.

        ``loc`` is the mean of the members' means, ``scale`` the std with total uncertainty. The law
        is a Student t with that std where `stopping` has chosen degrees of freedom, else a normal.
        With ``monotone_constraints``, ``scale`` follows the mean along constrained columns, slowly
        enough that both ends of intervals up to 99 % move one way.

        With ``target="log"`` this law is that of log y, and a `LogDistribution` carries it to y:
        its quantiles and intervals are exact, its ``loc`` and ``scale`` those of y. They differ a
        little from `predict` and `predict_uncertainty`, which average log-normals.
        """

        def locate(raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            members = self._law_members(raw)
            total = self._decompose(members).total
            return mean_over_members(members[..., 0]), np.sqrt(total)

        matrix, _ = self._encode(X)
        loc, scale = self._map_matrix(matrix, locate)
        df = math.inf if self.clocks_ is None else self.clocks_.df
        if self.monotone_constraints is not None:
            path = path_of(self, check_new_rows(self, X), matrix)
            scale = follow_mean(loc, scale, [self._map_matrix(at, locate) for at in path], df)
        law = student(loc, scale, df)
        return law if self.target_ is None else LogDistribution(law)

    def stages(self, X: Any, y: Any) -> Stages:
        """What the ensemble says about rows that it has not learnt from while it grows.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        y : array-like (n_samples,)

        Returns
        -------
        Stages
            For `gbuq_core.calibration.choose_clocks`, of log y with ``target="log"``. What the
            ensemble chose itself plays no part.

        Examples
        --------
        >>> from gbuq_core.calibration import choose_clocks
        >>> from gbuq_core.synthetic import make_heteroscedastic
        >>> train, new = (make_heteroscedastic(300, random_state=k) for k in (0, 1))
        >>> model = BoostedEnsembleRegressor(n_members=2, n_trees=100, stopping=None)
        >>> clocks = choose_clocks(model.fit(train.X, train.y).stages(new.X, new.y))
        >>> model.with_clocks(clocks).clocks_ is clocks
        True
        """
        check_is_fitted(self, "models_")
        table, target = check_new_rows(self, X), check_numeric_target(np.asarray(y))
        if target.shape != (len(table),):
            raise InvalidData(f"X has {len(table)} rows, but y has the shape {target.shape}.")
        return regression_stages(self, table, target if self.target_ is None else _log_of(target))

    def _inner_target(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        self.target_scale_ = fit_target_scale(target, self.standardize_target, weight)
        of_mean = weight_of_mean(self, self.stopping_)
        if of_mean is not None:
            centre, spread = fit_target_scale(target, weight=weight)
            self.target_scale_ = TargetScale(centre, spread / math.sqrt(of_mean))
        return (target - self.target_scale_.centre) / self.target_scale_.spread

    def _mean_trees(self) -> int:
        return self.n_trees_ if self.clocks_ is None else self.clocks_.mean_trees

    def _scale_trees(self) -> int | None:
        return None if self.clocks_ is None else self.clocks_.scale_trees

    def _output_units(self) -> np.ndarray:
        # The first raw prediction is the mean and the log std of what the models are trained on.
        start = getattr(self.models_, "start", None)  # CatBoost counts in units of its own
        return np.array([1.0 if start is None else math.exp(-start[1]), 1.0])

    def _parameters(self, raw: np.ndarray) -> np.ndarray:
        scale = self.target_scale_
        std = np.minimum(raw[..., 1], _LARGEST_LOG_STD)
        np.exp(std, out=std)  # in place: this takes a third of a prediction's time
        std *= scale.spread
        np.minimum(std, _LARGEST_STD, out=std)
        parameters = np.empty_like(raw)
        np.multiply(raw[..., 0], scale.spread, out=parameters[..., 0])
        parameters[..., 0] += scale.centre
        np.multiply(std, std, out=parameters[..., 1])
        return parameters

    def _in_unit(self, parameters: np.ndarray) -> np.ndarray:
        if self.target_ is None:
            return parameters
        variance = parameters[..., 1]
        mean = np.exp(np.minimum(parameters[..., 0] + 0.5 * variance, _LARGEST_LOG_MEAN))
        ratio = np.expm1(np.minimum(variance, 2.0 * _LARGEST_LOG_MEAN))
        return np.stack([mean, mean * mean * ratio], axis=-1)

    def _losses(self, staged: np.ndarray, y: np.ndarray) -> np.ndarray:
        shape = staged.shape[:3]
        values = y if self.target_ is None else _log_of(y)
        every = np.broadcast_to(values, shape).ravel()
        std = np.sqrt(staged[..., 1]).ravel()
        losses = nll_gaussian_values(every, staged[..., 0].ravel(), std).reshape(shape)
        return losses if self.target_ is None else losses + values

    def _loss_shift(self) -> float:
        centre, spread = self.target_scale_
        if self.target_ is None:
            return math.log(spread)
        models: Any = self.models_
        mean = centre + spread * models.start[0]  # of log y, which the density of y divides
        return math.log(spread) + float(mean)


def _log_of(y: np.ndarray) -> np.ndarray:
    """``log y`` (n,) of a target on a log scale."""
    low = float(y.min())
    if not low > 0.0:
        raise InvalidData(
            f'target="log" needs a positive y, but its smallest value is {low:g}: use target=None, '
            "or add a constant to y."
        )
    return np.log(y)
