"""An ensemble of boosted softmax models: the classifier of the virtual-ensembles paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.calibration import ClassClocks
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import check_sample_weight, codes_of_known, encode_classes
from gbuq_core.uncertainty import Uncertainty, decompose_classification, mean_over_members


class BoostedEnsembleClassifier(ClassifierMixin, BoostedEnsemble):
    """Boosted oblivious trees that predict class probabilities, many times over.

    Each model boosts the logits of all classes by the negative log likelihood (Malinin,
    Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles"). Total
    uncertainty is the entropy of the members' mean probabilities, data uncertainty is the mean of
    their entropies, and knowledge uncertainty is the difference, a mutual information (eq. 3-4).

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
        the covariance that the posterior needs: it follows each row's predicted probabilities, so
        rows that the model is sure of get little noise.
    leaf_noise : bool or None
        Whether the leaf values are noisy too, as Langevin sampling needs, or only the choice of
        splits. None means always, except for temperature "catboost", where only gradient leaves are
        noisy, as in CatBoost.
    random_strength : float
        Noise on the scores of candidate splits, fading over the first ``ln(N) / learning_rate``
        trees.
    leaf_estimation : {"newton", "gradient"}
        One Newton step a leaf, as CatBoost does, or the mean gradient (the sum of gradients over
        rows + l2).
    standardize_target : bool
        For the regressor only; a classifier ignores it.
    class_weight : None, "balanced" or dict
        How many rows a row of each class counts as, times its ``sample_weight``. "balanced": all
        classes weigh the same together, and a row weighs 1 on average. A dict gives a number for
        each label, and 1 for those that it leaves out. Probabilities are those of data with these
        weights, not of the data as they are.
    l2 : float
        L2 regularisation of leaf values.
    max_bins : int
        Bins of each numeric feature, 2 to 255; missing values get one more.
    categorical_features : None, "from_dtype" or list
        Names or positions of category columns. None takes those columns of a DataFrame whose dtype
        is category or that hold text; "from_dtype" takes booleans and other objects too. A column
        with up to 32 levels is split one level against the rest; a larger one is replaced by
        cross-fitted means of the target.
    stopping : {"two_clocks", "early"} or None
        Where the ensemble stops. "two_clocks": the number of trees and one temperature of the
        logits with the least log loss on rows held out; then the models are trained on all rows.
        "early": the number of trees alone. None: all trees, as in the papers. Diffusion temperature
        "posterior" or a number means None.
    cv : None, int or scikit-learn splitter
        Which rows choose. None: five folds, and from 2,000 rows on one held-out fifth.
    mean_weight, tails, target : for the regressor only; a classifier ignores them.
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
    classes_ : (n_classes,)
    stopping_, clocks_ : str or None, ClassClocks or None
        The rule that was followed, and the trees and the temperature that it chose.
    n_features_in_, feature_names_in_, is_category_, n_rows_, total_weight_, n_cells_, n_trees_,
    fit_seconds_, memory_bytes_, feature_importances_, traces_, plan_, langevin_, seed_ : as in
        `BoostedEnsembleRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from gbuq_core import BoostedEnsembleClassifier
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = BoostedEnsembleClassifier(ensemble="virtual", n_trees=200, random_state=0)
    >>> model.fit(X, np.where(X[:, 0] > 0, "above", "below")).predict([[0.5]]).tolist()
    ['above']
    >>> model.predict_uncertainty([[0.5]]).total.shape
    (1,)

    One model in cycles of 50 trees, each of which gives a member, with all trees as in the paper:

    >>> model = BoostedEnsembleClassifier(
    ...     method="csglb", n_trees=200, cycle_length=50, stopping=None
    ... )
    >>> model.fit(X, X[:, 0] > 0).member_trees()
    array([ 50, 100, 150, 200])
    """

    clocks_: ClassClocks | None
    classes_: np.ndarray

    def fit(
        self,
        X: Any,
        y: Any,
        X_val: Any = None,
        y_val: Any = None,
        groups: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Choose where the models stop, then train them on all rows.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
            NaN is missing. Text is allowed in data frames, and in columns named in
            ``categorical_features``.
        y : array-like (n_samples,)
            At least two classes, of any one type.
        X_val, y_val : the same, optional
            Rows that choose the number of trees and the temperature in place of rows held out of X.
            The models are trained on both in the end.
        groups : array-like (n_samples,), optional
            Rows of one group are never on both sides when these are chosen.
        sample_weight : array-like (n_samples,), optional
            How many rows each row counts as: a weight of 3 is three copies, 0 leaves the row out.
            Weights need not be whole, but their size matters, because l2 and the noise are set
            against the number of rows: scale them to a mean of 1 if in doubt. Rows of X_val count
            once. A row and its weight are drawn (`subsample`, `mask_prob`) and held out as one.

        Raises
        ------
        InvalidParameter, InvalidData, MemoryLimitExceeded
            One sentence each.
        """
        table, target = self._check_fit_data(X, y)
        table, target, groups, weight = self._leave_out(table, target, groups, sample_weight)
        table, given = self._stack_rows(table, X_val, y_val)
        n_given = 0 if given is None else len(given)
        classes, codes = encode_classes(
            target if given is None else np.concatenate([target, given])
        )
        if weight is not None:
            weight = np.append(weight, np.ones(n_given))
        weight = self._weigh_classes(classes, codes, weight)
        self._fit_all(table, codes, len(classes), groups, n_given, weight)
        self.classes_ = classes
        return self

    def predict_members(
        self,
        X: Any,
        truncation_step: int | None = None,
        truncation_start: float | None = None,
        n_members: int | None = None,
        burn_in_cycles: int | None = None,
    ) -> np.ndarray:
        """Class probabilities from every member, (n_members, n_samples, n_classes).

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        truncation_step, truncation_start : optional
            In place of the estimator's own, for virtual ensembles.
        n_members : int, optional
            Use only this many members: the first models, or the last truncations.
        burn_in_cycles : optional
            In place of the estimator's own, for cyclical methods.
        """
        return self._finish_members(
            self._raw_members(X, truncation_step, truncation_start, n_members, burn_in_cycles)
        )

    def _finish_members(self, raw: np.ndarray) -> np.ndarray:
        if self.clocks_ is not None:
            raw = raw / self.clocks_.temperature
        return self._parameters(raw)

    def predict_uncertainty(
        self,
        X: Any,
        truncation_step: int | None = None,
        truncation_start: float | None = None,
        n_members: int | None = None,
        burn_in_cycles: int | None = None,
    ) -> Uncertainty:
        """Total, data and knowledge uncertainty in nats (eq. 3-4), (n_samples,) each.

        Parameters as in `predict_members`.
        """
        parts = self._map_members(
            X,
            lambda raw: decompose_classification(self._finish_members(raw)),
            truncation_step, truncation_start, n_members, burn_in_cycles,
        )  # fmt: skip
        return Uncertainty(*parts)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the members' probabilities (eq. 2), (n_samples, n_classes)."""
        return self._map_members(X, lambda raw: [mean_over_members(self._finish_members(raw))])[0]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row, (n_samples,)."""
        codes = np.argmax(self.predict_proba(X), axis=1)
        labels: np.ndarray = self.classes_[codes]
        return labels

    def _weigh_classes(
        self, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray | None:
        """The rows' weights (n,) times those of their classes."""
        if self.class_weight is None:
            return weight
        counts = np.bincount(codes, weight).astype(np.float64)
        if isinstance(self.class_weight, Mapping):
            given = dict(self.class_weight)
            of_class = np.array([given.pop(label, 1.0) for label in classes.tolist()], np.float64)
            if given:
                raise InvalidData(f"class_weight names {next(iter(given))!r}, which y never is.")
            if not (np.isfinite(of_class).all() and (of_class > 0.0).all()):
                raise InvalidParameter("class_weight must hold positive numbers.")
        elif isinstance(self.class_weight, str) and self.class_weight == "balanced":
            of_class = counts.sum() / (len(counts) * counts)
        else:
            raise InvalidParameter(
                "class_weight must be None, 'balanced' or a dict of a number for each class; got "
                f"{self.class_weight!r}."
            )
        rows = of_class[codes]
        return check_sample_weight(rows if weight is None else rows * weight, len(codes))

    def _inner_target(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        return target

    def _mean_trees(self) -> int:
        return self.n_trees_ if self.clocks_ is None else self.clocks_.n_trees_used

    def _output_units(self) -> np.ndarray:
        return np.ones(len(self.classes_))

    def _parameters(self, raw: np.ndarray) -> np.ndarray:
        probabilities: np.ndarray = softmax(raw, axis=-1)
        return probabilities

    def _losses(self, staged: np.ndarray, y: np.ndarray) -> np.ndarray:
        chosen = staged[:, :, np.arange(len(y)), codes_of_known(self.classes_, y)]
        return -np.log(np.maximum(chosen, np.finfo(np.float64).tiny))

    def _loss_shift(self) -> float:
        return 0.0
