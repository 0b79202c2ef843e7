"""Random forests as ensembles: one forest in groups of trees (vRF), or several forests.

Malinin et al. (2021), appendix C. The trees of a forest are independent of each other, unlike the
trees of a boosted model, so any group of them is a member; the members' disagreement is the
knowledge uncertainty. A regression forest predicts no variance, so it has no data uncertainty.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from gbuq_core.baselines.bootstrap_trees import (
    draw_tree_seeds,
    grow_class_tree,
    grow_regression_tree,
    merge_for_classes,
    merge_for_regression,
    tree_bytes,
)
from gbuq_core.baselines.columns import fit_levels, to_matrix
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import MostProbable
from gbuq_core.jobs import advance, check_memory, effective_n_jobs, parallel_map
from gbuq_core.knobs import check_within
from gbuq_core.methods.forests import GROUP_KNOBS
from gbuq_core.model_files.contents import is_text, require
from gbuq_core.model_files.fields import Savable
from gbuq_core.uncertainty import (
    Uncertainty,
    decompose_classification,
    mean_over_members,
    variance_over_members,
)
from gbuq_core.validation import check_number

_MAX_SEED = np.iinfo(np.int32).max


class _ForestEnsemble(Savable, BaseEstimator):
    """What both ensembles share: parameters, seeds, growing, groups of trees."""

    seed_: int
    groups_: list[
        list[Annotated[Any, "sklearn.DecisionTreeRegressor", "sklearn.DecisionTreeClassifier"]]
    ]
    column_levels_: tuple[tuple[Any, ...] | None, ...]
    member_seeds_: list[int]
    fit_seconds_: float
    _not_saved = ("n_trees_", "memory_bytes_")
    _may_lack = ("member_seeds_",)

    def check_file(self) -> None:
        """Refuse trees of other columns or classes, and groups of other sizes."""
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        sizes = {len(group) for group in self.groups_}
        require(len(sizes) == 1 and 0 not in sizes, "its groups of trees are impossible")
        trees = [tree for group in self.groups_ for tree in group]
        for tree in trees:
            require(tree.n_features_in_ == self.n_features_in_, "a tree has other columns")
            same = getattr(tree, "n_classes_", 0) == n_classes
            require(same and (n_classes or tree.tree_.max_n_classes == 1), "a tree is another")
        levels = self.column_levels_
        known = all(own is None or is_text(list(own)) for own in levels)
        require(known and len(levels) in (0, self.n_features_in_), "its columns do not match")
        self.n_trees_ = len(trees)
        self.memory_bytes_ = sum(tree_bytes(tree) for tree in trees)

    def __init__(
        self,
        n_groups: int = 10,
        trees_per_group: int = 100,
        max_depth: int = 10,
        independent: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_groups = n_groups
        self.trees_per_group = trees_per_group
        self.max_depth = max_depth
        self.independent = independent
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_fit_data(self, X: Any, y: Any) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Check parameters and data; remember the columns. Returns the matrix and raw targets."""
        for knob in GROUP_KNOBS:
            check_within(knob, getattr(self, knob.key))
        if not isinstance(self.independent, bool | np.bool_):
            raise InvalidParameter(f"independent must be True or False; got {self.independent!r}.")
        effective_n_jobs(self.n_jobs)
        if y is None:
            raise InvalidData(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        self.column_levels_ = fit_levels(X)
        matrix = to_matrix(X, self.column_levels_)
        validate_data(self, X, reset=True, skip_check_array=True)
        try:
            target = column_or_1d(y, warn=True)
        except ValueError as error:
            raise InvalidData(str(error)) from error
        if len(target) != len(matrix):
            raise InvalidData(f"X has {len(matrix)} rows but y has {len(target)}.")
        return matrix, target

    def _check_rows(self, X: Any) -> NDArray[np.float32]:
        """Check new rows against the training columns and return their matrix."""
        check_is_fitted(self, "groups_")
        if hasattr(X, "columns"):
            validate_data(self, X, reset=False, skip_check_array=True)
            return to_matrix(X, self.column_levels_)
        matrix = to_matrix(X, self.column_levels_)
        return validate_data(self, matrix, reset=False, skip_check_array=True)

    def _grow(self, grow: Any, n_points: int, n_values: int) -> None:
        """Grow all trees with ``grow(seed)`` on ``n_points`` rows and keep them in groups."""
        n_trees = self.n_groups * self.trees_per_group
        most_nodes = 2 * min(2**self.max_depth, n_points)
        check_memory(n_trees * most_nodes * (64 + 8 * n_values), "this forest")

        def grow_and_count(seed: int) -> Any:
            tree = grow(seed)
            advance(1.0 / n_trees)
            return tree

        trees = parallel_map(grow_and_count, self._tree_seeds(), self.n_jobs)
        size = self.trees_per_group
        self.groups_ = [trees[i : i + size] for i in range(0, n_trees, size)]
        self.n_trees_ = n_trees
        self.memory_bytes_ = sum(tree_bytes(tree) for tree in trees)

    def _tree_seeds(self) -> list[int]:
        """One seed a tree: a function of ``random_state`` only, whatever the threads do."""
        self.seed_ = _draw_seed(self.random_state)
        if not self.independent:
            return draw_tree_seeds(self.seed_, self.n_groups * self.trees_per_group)
        self.member_seeds_ = draw_tree_seeds(self.seed_, self.n_groups)
        forests = [draw_tree_seeds(seed, self.trees_per_group) for seed in self.member_seeds_]
        return [seed for forest in forests for seed in forest]

    def _predict_groups(self, X: Any) -> NDArray[np.float64]:
        """Mean over the trees of each group, (n_members, n_samples, n_values)."""
        matrix = self._check_rows(X)

        def predict_group(trees: list[Any]) -> NDArray[np.float64]:
            total = trees[0].tree_.predict(matrix)
            for tree in trees[1:]:
                total += tree.tree_.predict(matrix)
            return total / len(trees)

        return np.stack(parallel_map(predict_group, self.groups_, self.n_jobs))


class ForestEnsembleRegressor(RegressorMixin, _ForestEnsemble):
    """Random forests for regression, with the knowledge uncertainty of their means.

    The trees are those of scikit-learn's ``RandomForestRegressor(max_depth=max_depth)`` with its
    defaults, seeds included (see `gbuq_core.baselines.bootstrap_trees`).

    Parameters
    ----------
    n_groups : int
        Number of members.
    trees_per_group : int
        Trees of each member.
    max_depth : int
        Of each tree; the paper's 10.
    independent : bool
        False: the members are groups of the trees of one forest (vRF). True: each member is a
        forest with a seed of its own. Trees of one forest are independent given the data, so both
        choices have the same distribution. The paper's true ensemble has 1000 trees in each forest
        (``trees_per_group=1000``), so its means differ about sqrt(10) times less.
    random_state : int, RandomState, Generator or None
    n_jobs : int or None
        Threads; results do not depend on it.

    Attributes
    ----------
    groups_ : list of lists of DecisionTreeRegressor
    n_trees_, n_features_in_, feature_names_in_ : as usual
    fit_seconds_ : float
    memory_bytes_ : int
        What the fitted trees hold.

    Notes
    -----
    Text and category columns of a data frame are coded by level. A level that is new since training
    counts as missing.

    References
    ----------
    Malinin et al. (2021), appendix C and tables 6 and 7.

    Examples
    --------
    >>> from gbuq_core.synthetic import make_heart
    >>> heart = make_heart(n_per_cell=50, random_state=0)
    >>> forest = ForestEnsembleRegressor(trees_per_group=5, random_state=0).fit(heart.X, heart.y)
    >>> knowledge = forest.predict_knowledge(heart.grid).reshape(9, 9)
    >>> bool(knowledge[~heart.in_support].mean() > knowledge[heart.in_support].mean())
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows X (n_samples, n_features) and targets y (n_samples,)."""
        began = time.perf_counter()
        matrix, target = self._check_fit_data(X, y)
        try:
            target = np.asarray(target, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidData("y must hold numbers; use a classifier for text.") from None
        if not np.isfinite(target).all():
            raise InvalidData("Input y contains NaN or infinity; remove those rows.")
        rows = merge_for_regression(matrix, target)
        self._grow(lambda seed: grow_regression_tree(rows, seed, self.max_depth), len(rows.X), 1)
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def predict_members(self, X: Any) -> NDArray[np.float64]:
        """Predict with each member: means of shape (n_members, n_samples), in units of y."""
        return self._predict_groups(X)[:, :, 0]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean over all trees, (n_samples,)."""
        return mean_over_members(self.predict_members(X))

    def predict_knowledge(self, X: Any) -> NDArray[np.float64]:
        """Knowledge uncertainty, the variance of the members' means: (n_samples,), squared units.

        Total and data uncertainty do not exist here: the trees predict no variance.
        """
        return variance_over_members(self.predict_members(X))


class ForestEnsembleClassifier(MostProbable, ClassifierMixin, _ForestEnsemble):
    """Random forests for classification, with the full decomposition of uncertainty.

    The trees are those of scikit-learn's ``RandomForestClassifier(max_depth=max_depth)`` with its
    defaults, seeds included (see `gbuq_core.baselines.bootstrap_trees`).

    Parameters as for `ForestEnsembleRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted labels; the columns of probabilities.
    groups_, n_trees_, n_features_in_, feature_names_in_, fit_seconds_, memory_bytes_
        As for `ForestEnsembleRegressor`.

    References
    ----------
    Malinin et al. (2021), appendix C and tables 5 and 7.

    Examples
    --------
    >>> X, y = np.array([[0.0], [0.1], [0.9], [1.0]]), np.array(["no", "no", "yes", "yes"])
    >>> forest = ForestEnsembleClassifier(trees_per_group=20, random_state=0).fit(X, y)
    >>> forest.predict([[0.05], [0.95]]).tolist()
    ['no', 'yes']
    """

    classes_: np.ndarray

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on rows X (n_samples, n_features) and labels y (n_samples,)."""
        began = time.perf_counter()
        matrix, labels = self._check_fit_data(X, y)
        infinite = labels.dtype.kind == "f" and np.isinf(labels).any()
        if infinite or pd.isna(labels).any():
            raise InvalidData("Input y contains NaN or infinity; remove rows without a class.")
        try:
            check_classification_targets(labels)
        except ValueError as error:
            raise InvalidData(str(error)) from error
        self.classes_, codes = np.unique(labels, return_inverse=True)
        n_classes = len(self.classes_)
        if n_classes < 2:
            raise InvalidData(
                "The target has only one class, but classification needs at least two."
            )
        rows = merge_for_classes(matrix, codes.astype(np.int64))
        self._grow(lambda seed: grow_class_tree(rows, seed, self.max_depth), len(rows.X), n_classes)
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def predict_members(self, X: Any) -> NDArray[np.float64]:
        """Predict with each member: probabilities of shape (n_members, n_samples, n_classes)."""
        return self._predict_groups(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Predict the mean probabilities over all trees, (n_samples, n_classes)."""
        return mean_over_members(self.predict_members(X))

    def predict_uncertainty(self, X: Any) -> Uncertainty:
        """Total, data and knowledge uncertainty in nats, each (n_samples,)."""
        return decompose_classification(self.predict_members(X))

    def predict_knowledge(self, X: Any) -> NDArray[np.float64]:
        """Knowledge uncertainty in nats, (n_samples,)."""
        return self.predict_uncertainty(X).knowledge


def _draw_seed(random_state: Any) -> int:
    """A scikit-learn seed from what scikit-learn and numpy call a random state."""
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_MAX_SEED))
    if random_state is None or isinstance(random_state, np.random.RandomState):
        source = random_state or np.random.RandomState()
        return int(source.randint(_MAX_SEED))
    return int(check_number("random_state", random_state, 0, 2**32 - 1, integer=True))
