"""MACAU for regression: Bayesian linear models in the leaves of a random forest."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import begins
from gbuq_core.compilers import need_kernels
from gbuq_core.distribution import Distribution, NormalDistribution, PredictsLaw
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import (
    TargetScale,
    check_numeric_target,
    constant_scale,
    exact_std,
    fit_target_scale,
)
from gbuq_core.macau.ard_kernels import (
    LinearLeaves,
    fit_linear_leaves,
    predict_linear_rows,
    predict_linear_training,
)
from gbuq_core.macau.base import LeafModels, Located
from gbuq_core.macau.leaves import LeafTable, Members, has_rows_for_all, with_all_features
from gbuq_core.macau.novelty import LeafQuantiles
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.resources import check_memory
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice

LEAF_FEATURES = ("auto", "path", "all")
_FARTHEST = 1e100  # in interquartile ranges; squares times a precision are float64 still

# What ARD's fixed numbers (a stop at moves of 1e-3, pruning of weights below 1e-2) are to be small
# against; a power of two, so that standardising rounds nothing more.
_INNER_STD = 128.0


class MacauRegressor(PredictsLaw, RegressorMixin, LeafModels):
    """Random forest with a model in every leaf: data, knowledge and total uncertainty, and novelty.

    In each leaf of each tree, a Bayesian linear regression with automatic relevance determination
    (ARD) is fitted to all training rows that end there, on all features or on those asked about on
    the way. Its predictive variance is the data uncertainty of the tree, and the spread of the
    trees' predictions the knowledge uncertainty. Rows far from the training rows of their leaves
    are novel; since linear models extrapolate, the trees also disagree about them.

    Parameters
    ----------
    leaf_model : {"linear", "basic"}
        ARD regression, or mean and variance of the leaf's targets.
    base_model : None, forest or leaf source
        A fitted random forest, used as it is: LightGBM with ``boosting_type="rf"`` (estimator or
        booster), scikit-learn's RandomForestRegressor or ExtraTreesRegressor, or a `LeafSource` of
        one. An estimator that is not fitted is fitted first. None grows a LightGBM forest.
    combine : {"variance", "std"}
        "variance": the law of total variance (eq. 2). "std": the authors' code, which averages the
        leaves' standard deviations and adds them to that of the predictions.
    tail : {"rise", "clip"}
        "rise": novelty keeps rising outside the training rows. "clip": it ends at 5.2, as in the
        authors' code.
    n_trees, max_leaves, min_child_samples, subsample : int, int, int, float
        The forest that is grown without a ``base_model``: number of trees, most leaves of a tree,
        fewest rows of a leaf, and the share of rows that each tree sees (below 1).
    standardize_target : bool
        Fit the leaf models to ``128 (y - mean) / std``, so results do not depend on the unit of y.
        False fits them to y itself, as the authors do.
    leaf_features : {"auto", "path", "all"}
        What a linear leaf model sees. "path": the features asked about on the way to the leaf, as
        in the paper. "all": all of them, which suits a target that is linear in many features,
        since no path holds these together. "auto": all features in a leaf with at least two rows
        for each of them, and the path in the others; with more than 50 features (levels of text
        and categories count as features), the path in all leaves. `sees_all_` tells which leaves
        these are. Conditional novelty is about the path always, and basic leaves see no features.
    n_jobs : int or None
        Threads. None means what joblib's ``parallel_config`` says, else all cores. Results do not
        depend on it.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    forest_ : LeafSource
        The forest and how to read its leaves.
    n_leaves_ : int
        Leaves of all trees.
    sees_all_ : ndarray (n_leaves_,) of bool
        Which leaves' linear models were given all features, tree after tree; the others have those
        of their paths.
    target_scale_ : TargetScale
        The mean of y, and its std over 128; 0 and 1 where it was not standardised.
    n_features_in_, feature_names_in_, fit_seconds_, memory_bytes_ : as usual.

    Notes
    -----
    In each leaf, missing values are filled with the median, and features are centred by it and
    divided by the interquartile range. A leaf ignores a feature that is missing in all of its rows.
    A constant feature gets no weight, and collinear features share one. In a leaf of one row, or of
    equal targets, the prediction is that target. Its variance is tiny at the leaf's rows; in a leaf
    of one row it rises with the squared distance to that row. If a leaf has fewer rows than
    features, the fit can be exact, and the variance is only rounding error (in scikit-learn's ARD
    too).

    ARD uses the fixed priors of scikit-learn, so the unit of the target matters. Without
    ``standardize_target``, a target with a spread far below 1 gets weights so small that ARD prunes
    all of them, and "linear" becomes "basic". The fixed tolerance that stops its iterations has the
    same problem: at a std of 1 they stop long before the noise has settled, and on the concrete
    table the mean data uncertainty is five times too large. From a std of 100 on, neither matters.

    Leaf models use all rows passed to `fit`, not only the rows that a tree was grown on. A leaf
    that no row reaches takes the model of all rows.

    References
    ----------
    Merilinna, "Advanced uncertainty quantification and novelty detection for random forest models"
    (2023), sections 3.1.1 and 3.2.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0.0, 10.0, size=(500, 1))
    >>> y = np.sin(x[:, 0]) + 0.1 * x[:, 0] * rng.normal(size=500)
    >>> model = MacauRegressor(n_trees=20, random_state=0).fit(x, y)
    >>> quiet, noisy, far = model.predict_uncertainty([[1.0], [9.0], [15.0]]).data
    >>> bool(noisy > 4 * quiet)
    True
    >>> bool(np.diff(model.score_novelty([[5.0], [15.0]]).novelty)[0] > 3)
    True
    """

    target_scale_: TargetScale
    sees_all_: np.ndarray
    _model: LinearLeaves
    _quantiles: LeafQuantiles

    def __init__(
        self,
        leaf_model: str = "linear",
        base_model: Any = None,
        combine: str = "variance",
        tail: str = "rise",
        n_trees: int = 100,
        max_leaves: int = 31,
        min_child_samples: int = 20,
        subsample: float = 0.8,
        standardize_target: bool = True,
        leaf_features: str = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.standardize_target = standardize_target
        self.leaf_features = leaf_features
        super().__init__(
            leaf_model,
            base_model,
            combine,
            tail,
            n_trees,
            max_leaves,
            min_child_samples,
            subsample,
            n_jobs,
            random_state,
        )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the forest, unless there is one, and the models of its leaves.

        Parameters
        ----------
        X : array-like or DataFrame (n_samples, n_features)
            Numbers; missing values are NaN. Text and category columns of a data frame become one
            column of 0 and 1 for each of at most 30 levels, unless the forest is fitted already.
            A missing one is missing in all of these columns, and a new level is 0 in all of them,
            which makes its row novel. Importances and explanations are sums over the levels.
        y : array-like (n_samples,)
        sample_weight : array-like (n_samples,), optional
            Whole numbers: a weight of 3 is three copies of the row, which cost three times as much,
            and 0 leaves it out.
        """
        began = time.perf_counter()
        matrix, raw, knobs = self._begin(X, y, sample_weight)
        check_choice("leaf_features", self.leaf_features, LEAF_FEATURES)
        if not isinstance(self.standardize_target, bool | np.bool_):
            raise InvalidParameter(
                f"standardize_target must be True or False; got {self.standardize_target!r}."
            )
        target = check_numeric_target(raw)
        scale = fit_target_scale(target, bool(self.standardize_target))
        if self.standardize_target:
            scale = scale._replace(spread=scale.spread / _INNER_STD)
        if self.standardize_target and exact_std(target) == 0.0:
            scale = constant_scale(scale.centre)
        self.target_scale_ = scale
        inner = (target - scale.centre) / scale.spread
        need_kernels("macau")
        self._fit_leaves(matrix, inner, target, 0, knobs)
        self._end(began)
        return self

    def check_file(self) -> None:
        """Refuse linear models that are not those of the leaves."""
        table, linear = self._table, self.leaf_model == "linear"
        require(self.leaf_features in LEAF_FEATURES, "a parameter is impossible")
        n_leaves, n_features = int(table.first[-1]), self.forest_.n_features
        check_arrays(self, sees_all_=(bool, n_leaves))
        every = linear and self.leaf_features == "all"
        chosen = np.full(table.n_leaves, every)
        auto = linear and self.leaf_features == "auto"
        require(auto or (self.sees_all_ == every).all(), "a leaf sees other features")
        if auto:
            chosen[:n_leaves] = self.sees_all_
        self._model_table: LeafTable = table
        if chosen.any():
            self._model_table = with_all_features(table, chosen, n_features)
        lengths = np.diff(self._model_table.path_begin) if linear else np.zeros(0, np.int64)
        begin, n_weights = begins(lengths**2), int(lengths.sum())
        check_arrays(
            self._model,
            level=("number", table.n_leaves),
            noise=("number", table.n_leaves),
            weight=("number", n_weights),
            offset=("number", n_weights),
            sigma_begin=(np.int64, len(begin)),
            sigma=("number", int(begin[-1])),
        )
        require(np.array_equal(self._model.sigma_begin, begin), "a leaf does not exist")
        self._quantiles.check_against(table)
        super().check_file()

    def _fit_leaf_models(self, X: np.ndarray, target: np.ndarray) -> None:
        table = self._table
        chosen = self._choose_leaves(X.shape[1])
        self.sees_all_ = chosen[: self.n_leaves_]
        if chosen.any():
            table = with_all_features(table, chosen, X.shape[1])
        self._model_table = table
        lengths = np.diff(table.path_begin) if self.leaf_model == "linear" else np.zeros(0, int)
        sigma_begin = begins(lengths**2)
        check_memory(8 * int(sigma_begin[-1]), "the linear models of these leaves")
        n_weights = int(lengths.sum())
        model = LinearLeaves(
            np.zeros(table.n_leaves),
            np.zeros(table.n_leaves),
            np.zeros(n_weights),
            np.zeros(n_weights),
            sigma_begin,
            np.zeros(int(sigma_begin[-1])),
        )
        if self.leaf_model == "linear":
            _check_reach(X, self._scaling.scale)
            bare = table.first[:-1][np.diff(table.first) == 1]

            def fit(low: int, high: int) -> None:
                if low not in bare[1:]:
                    fit_linear_leaves(X, target, low, high, table, self._scaling, model)

            self._by_leaf(fit)
            _copy_models(model, table, bare)
        else:
            _fit_basic(target, table.begin, table.rows, model)
        self._model = model

    def _choose_leaves(self, n_features: int) -> np.ndarray:
        """The leaves whose linear models see all features, path or not, (n_leaves,) bool."""
        table = self._table
        if self.leaf_model == "linear" and self.leaf_features == "auto":
            return has_rows_for_all(table, n_features)
        every = self.leaf_model == "linear" and self.leaf_features == "all"
        return np.full(table.n_leaves, every)

    def _write_members(self, rows: Located, means: np.ndarray, variances: np.ndarray) -> None:
        if self.leaf_model == "linear":
            table = self._model_table
            predict_linear_rows(
                rows.X, rows.numbers, table, self._scaling, self._model, means, variances
            )
        else:
            means[:] = self._model.level[rows.numbers]
            variances[:] = self._model.noise[rows.numbers]

    def _training_values(self, X: np.ndarray) -> np.ndarray:
        table, model = self._model_table, self._model
        if self.leaf_model == "basic":
            return np.repeat(model.level, np.diff(table.begin))
        means = np.empty(len(table.rows))
        self._by_leaf(
            lambda low, high: predict_linear_training(
                X, low, high, table, self._scaling, model, means
            )
        )
        return means

    def predict(self, X: Any) -> np.ndarray:
        """Mean over the trees of their leaf models' predictions, (n_samples,), in units of y."""
        parts = [self._locate(self._members(rows)) for rows in self._blocks(X)]
        return np.concatenate(parts)

    def predict_members(self, X: Any) -> np.ndarray:
        """Mean (in units of y) and variance of every tree's leaf model, (n_trees, n_samples, 2)."""
        check_is_fitted(self, "_table")
        check_memory(32 * np.shape(X)[0] * self._table.n_trees, "these predictions of all trees")
        parts = [np.stack(self._members(rows), axis=2) for rows in self._blocks(X)]
        members = np.concatenate(parts).transpose(1, 0, 2)
        members *= [self.target_scale_.spread, self.target_scale_.spread**2]
        members[..., 0] += self.target_scale_.centre
        return members

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty, (n_samples,) each.

        Data uncertainty is the mean over the trees of the leaf models' variances, knowledge
        uncertainty the variance of their predictions, and total uncertainty the sum, in squared
        units of y (eq. 2). With ``combine="std"`` these are the mean of the standard deviations,
        the standard deviation of the predictions and the sum of both, in units of y.
        """
        parts = [self._combine(self._members(rows)) for rows in self._blocks(X)]
        return Uncertainty(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def predict_distribution(self, X: Any) -> Distribution:
        """A normal for each row: the prediction, and the root of the total variance.

        With ``combine="std"`` the scale is the total of `predict_uncertainty` itself. The paper
        defines a mean and a variance (eq. 2) and no further shape. A mixture over the trees follows
        from `predict_members`: pass its means and variances to
        `gbuq_core.distribution.MixtureDistribution`.
        """
        loc, scale = [], []
        for rows in self._blocks(X):
            members = self._members(rows)
            total = self._combine(members).total
            loc.append(self._locate(members))
            scale.append(total if self.combine == "std" else np.sqrt(total))
        return NormalDistribution(np.concatenate(loc), np.concatenate(scale))

    def _locate(self, members: Members) -> np.ndarray:
        """Mean over the trees (n,), in units of y."""
        located: np.ndarray = members.means.mean(axis=1) * self.target_scale_.spread
        return located + self.target_scale_.centre

    def _combine(self, members: Members) -> Uncertainty:
        unit = self.target_scale_.spread
        if self.combine == "std":
            data = np.sqrt(members.variances).mean(axis=1) * unit
            knowledge = members.means.std(axis=1) * unit
        else:
            data = members.variances.mean(axis=1) * unit**2
            knowledge = members.means.var(axis=1) * unit**2
        return Uncertainty(data + knowledge, data, knowledge)


def _check_reach(X: np.ndarray, scale: np.ndarray) -> None:
    """Refuse values that no sum of squares on the scales (n_leaves, n_features) could hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.fmax.reduce(np.abs(X), axis=0) / scale.min(axis=0)
    if (reach > _FARTHEST).any():
        raise InvalidData(
            "X holds values too far from the others for linear leaf models: check the units of its "
            'columns, drop such rows, or take leaf_model="basic".'
        )


def _copy_models(model: LinearLeaves, table: LeafTable, leaves: np.ndarray) -> None:
    """Give leaves of trees without a split, which are all alike, the model of the first of them."""
    of_features = (
        (model.weight, table.path_begin),
        (model.offset, table.path_begin),
        (model.sigma, model.sigma_begin),
    )
    for leaf in leaves[1:]:
        first = leaves[0]
        model.level[leaf], model.noise[leaf] = model.level[first], model.noise[first]
        for values, begin in of_features:
            values[begin[leaf] : begin[leaf + 1]] = values[begin[first] : begin[first + 1]]


def _fit_basic(y: np.ndarray, begin: np.ndarray, rows: np.ndarray, model: LinearLeaves) -> None:
    """Write mean and variance of each leaf's targets; empty leaves stay as they are."""
    sizes = np.diff(begin)
    filled = np.flatnonzero(sizes)
    starts = begin[filled]
    values = y[rows]
    means = np.add.reduceat(values, starts) / sizes[filled]
    # The mean of equal numbers may differ from them by its rounding.
    equal = np.minimum.reduceat(values, starts) == np.maximum.reduceat(values, starts)
    means[equal] = values[starts[equal]]
    values -= np.repeat(means, sizes[filled])
    model.level[filled] = means
    model.noise[filled] = np.add.reduceat(values**2, starts) / sizes[filled]
