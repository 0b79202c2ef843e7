"""What the estimators share: knobs, rows, fitting, draws of parameters, pictures, y."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import check_same_length
from gbuq_core.distribution import Distribution, MixtureDistribution, PredictsLaw
from gbuq_core.errors import InvalidData
from gbuq_core.inputs import (
    RowFlags,
    category_columns,
    check_fit_data,
    check_new_rows,
    check_numeric_target,
    draw_seed,
)
from gbuq_core.jobs import check_memory, effective_n_jobs, parallel_map
from gbuq_core.knobs import check_within
from gbuq_core.methods.functions import SOFT_KNOBS
from gbuq_core.model_files.contents import require
from gbuq_core.model_files.fields import Savable
from gbuq_core.soft_trees.fitting import FitKnobs, estimate_bytes
from gbuq_core.soft_trees.forward import draw_gates, draw_leaves
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.inputs import SoftEncoding, apply_inputs, fit_inputs
from gbuq_core.soft_trees.layout import LEAVES, TreeShape
from gbuq_core.soft_trees.results import (
    ElboPath,
    FittedTree,
    Snapshots,
    TreePicture,
)
from gbuq_core.uncertainty import Uncertainty, decompose_regression, mean_over_members
from gbuq_core.validation import check_choice, check_number

MAX_DRAWS, MAX_RANK = (int(SOFT_KNOBS[name].high or 0) for name in ("n_draws", "rank"))
_BLOCK_CELLS = 400_000  # draws x rows of one block of a prediction


class SoftTrees(Savable, BaseEstimator):
    """Base of the estimators, with their common knobs; not for use by itself."""

    seed_: int
    encoding_: SoftEncoding
    shape_: TreeShape
    trees_: tuple[FittedTree, ...]
    n_rows_: int
    fit_seconds_: float
    _not_saved = ("n_steps_", "memory_bytes_", "noise_", "_noises")
    _most_trees: ClassVar[int] = 1

    def __init__(
        self,
        depth: int = 3,
        leaf: str = "linear",
        rank: int = 5,
        beta: float = 5.0,
        prior_scale: float = 2.5,
        n_steps: int = 3000,
        learning_rate: float | None = None,
        n_draws: int = 100,
        n_gradient_draws: int = 2,
        n_restarts: int = 2,
        batch_size: int | None = None,
        flat_tolerance: float = 0.001,
        categorical_features: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.depth = depth
        self.leaf = leaf
        self.rank = rank
        self.beta = beta
        self.prior_scale = prior_scale
        self.n_steps = n_steps
        self.learning_rate = learning_rate
        self.n_draws = n_draws
        self.n_gradient_draws = n_gradient_draws
        self.n_restarts = n_restarts
        self.batch_size = batch_size
        self.flat_tolerance = flat_tolerance
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _knobs(self) -> FitKnobs:
        """The checked knobs."""
        check_within(SOFT_KNOBS["depth"], self.depth)
        check_choice("leaf", self.leaf, LEAVES)
        check_within(SOFT_KNOBS["n_draws"], self.n_draws)
        effective_n_jobs(self.n_jobs)
        batch = self.batch_size
        if batch is not None:
            batch = check_number("batch_size", batch, 1, integer=True)
        rate = self.learning_rate
        if rate is not None:
            rate = check_number("learning_rate", rate, 0, 1, low_open=True)
        return FitKnobs(
            beta=check_within(SOFT_KNOBS["beta"], self.beta),
            prior_scale=check_within(SOFT_KNOBS["prior_scale"], self.prior_scale),
            rank=check_within(SOFT_KNOBS["rank"], self.rank),
            n_steps=check_within(SOFT_KNOBS["n_steps"], self.n_steps),
            learning_rate=rate,
            n_gradient_draws=check_number(
                "n_gradient_draws", self.n_gradient_draws, 1, 100, integer=True
            ),
            batch_size=batch,
            n_restarts=check_within(SOFT_KNOBS["n_restarts"], self.n_restarts),
            flat_tolerance=check_number("flat_tolerance", self.flat_tolerance, 0, 1000),
        )

    def _shape(self, n_features: int) -> TreeShape:
        """The shape of each tree on ``n_features`` matrix columns."""
        raise NotImplementedError

    def _begin(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Check the data, remember the columns and return the matrix and the raw target."""
        self.__dict__.pop("trees_", None)  # a fit that fails leaves no half of the one before
        table, target = check_fit_data(self, X, y)
        self.seed_ = draw_seed(self.random_state)
        declared = category_columns(X, self.categorical_features)
        self.encoding_, matrix = fit_inputs(table, declared)
        return matrix, target

    def _end(self, trees: tuple[FittedTree, ...], n_rows: int, began: float) -> None:
        self.trees_ = trees
        self.n_rows_ = n_rows
        self.n_steps_ = sum(len(tree.elbo.step) for tree in trees)
        self.memory_bytes_ = sum(tree.n_bytes for tree in trees)
        self.fit_seconds_ = time.perf_counter() - began

    def _plan(self, knobs: FitKnobs, matrix: np.ndarray) -> FitKnobs:
        """The knobs of a fit to this matrix, whose trees get their shape."""
        self.shape_ = self._shape(matrix.shape[1])
        knobs = knobs.fitting(self.shape_)
        check_memory(estimate_bytes(self.shape_, len(matrix), knobs), "this fit")
        return knobs

    def _only_tree(self) -> FittedTree:
        check_is_fitted(self, "trees_")
        return self.trees_[0]

    def _encode(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "trees_")
        return apply_inputs(self.encoding_, check_new_rows(self, X))[0]

    def inspect_rows(self, X: Any) -> RowFlags:
        """Tell which rows hold a level or a missing value that training had not.

        ``unseen_level`` and ``new_missing`` (n_samples,) bool, and the ``columns`` concerned.
        """
        check_is_fitted(self, "trees_")
        return apply_inputs(self.encoding_, check_new_rows(self, X))[1]

    def check_file(self) -> None:
        """Refuse trees of another shape than the columns and classes give."""
        n_classes = len(self.classes_) if hasattr(self, "classes_") else 0
        shape, encoding = self.shape_, self.encoding_
        require(len(encoding.columns) == self.n_features_in_, "its columns do not match")
        same = shape.n_features == encoding.n_columns and shape.n_classes == n_classes
        require(same, "the shape of its trees is impossible")
        require(1 <= len(self.trees_) <= self._most_trees, "it has too few or too many trees")
        for tree in self.trees_:
            require(tree.shape == shape and tree.beta == self.trees_[0].beta, "a tree is another")
            require(tree.posterior.rank <= MAX_RANK, "the rank of a posterior is too large")
        require(self.n_rows_ >= 1, "it has no rows")
        seconds = self.fit_seconds_
        self._end(self.trees_, self.n_rows_, 0.0)
        self.fit_seconds_ = seconds

    def _check_draws(self, n_draws: int | None, seed: int | None) -> tuple[int, int]:
        """Number and seed of the draws: those of the estimator where there are none."""
        check_is_fitted(self, "trees_")
        n = check_number(
            "n_draws", self.n_draws if n_draws is None else n_draws, 1, MAX_DRAWS, integer=True
        )
        if seed is None:
            return n, self.seed_
        return n, check_number("seed", seed, 0, 2**63 - 1, integer=True)

    def draw_parameters(
        self, n_draws: int | None = None, seed: int | None = None
    ) -> tuple[np.ndarray, ...]:
        """Parameter vectors from each tree's posterior, (n_draws, n_parameters) a tree.

        Draw number i depends on the seed and on i only: more draws keep the earlier ones.
        ``n_draws`` and ``seed`` stand in place of the estimator's own; nothing is refitted.
        """
        n, seed = self._check_draws(n_draws, seed)
        return tuple(tree.posterior.draw(n, seed, member=t) for t, tree in enumerate(self.trees_))

    def _by_rows(
        self, fn: Callable[[np.ndarray], np.ndarray], matrix: np.ndarray, n_draws: int
    ) -> np.ndarray:
        """``fn(rows)``, whose second axis are rows, block by block of rows in several threads."""
        size = max(1, _BLOCK_CELLS // n_draws)
        if len(matrix) <= size:
            return fn(matrix)
        blocks = [matrix[i : i + size] for i in range(0, len(matrix), size)]
        return np.concatenate(parallel_map(fn, blocks, self.n_jobs), axis=1)

    def _log_densities_by_draw(
        self, matrix: np.ndarray, y: Any, n_draws: int, seed: int
    ) -> np.ndarray:
        """Log density, or log probability, of y given each draw, (n_draws, n_samples)."""
        raise NotImplementedError

    def _given_each_draw(self, X: Any, y: Any, n_draws: int | None, seed: int | None) -> np.ndarray:
        n, seed = self._check_draws(n_draws, seed)
        matrix = self._encode(X)
        target = np.asarray(y)
        if target.ndim != 1:
            raise InvalidData(f"y must have one value a row; got an array of shape {target.shape}.")
        check_same_length(X=matrix[:, 0], y=target)
        return self._log_densities_by_draw(matrix, target, n, seed)

    def log_densities(
        self, X: Any, y: Any, n_draws: int | None = None, seed: int | None = None
    ) -> np.ndarray:
        """Log of the predictive density, or class probability, at y, (n_samples,), in nats.

        The Monte-Carlo average of eq. 2: the mean of the densities over the draws, which are as in
        `draw_parameters`.
        """
        by_draw = self._given_each_draw(X, y, n_draws, seed)
        return logsumexp(by_draw, axis=0) - math.log(len(by_draw))

    def log_score(
        self, X: Any, y: Any, n_draws: int | None = None, seed: int | None = None
    ) -> float:
        """The mean of `log_densities` over the rows: higher is better."""
        return float(self.log_densities(X, y, n_draws, seed).mean())

    def validation_elbo(
        self, X: Any, y: Any, n_draws: int | None = None, seed: int | None = None
    ) -> float:
        """The evidence lower bound for each row, with its likelihood from other rows, in nats.

        The mean over draws and rows of the log density, less the KL of the posterior to the prior
        (eq. 21) for each training row. Parameters as in `log_densities`.
        """
        fit = float(self._given_each_draw(X, y, n_draws, seed).mean())
        return fit - sum(tree.posterior.kl(self.prior_scale) for tree in self.trees_) / self.n_rows_

    def _picture_parameters(
        self, draw: int | None, tree: int, snapshot: int | None, seed: int | None
    ) -> tuple[FittedTree, np.ndarray]:
        """The tree and the parameters (1, P) that a picture is of."""
        check_is_fitted(self, "trees_")
        chosen = self.trees_[check_number("tree", tree, 0, len(self.trees_) - 1, integer=True)]
        if snapshot is not None:
            n = len(chosen.snapshots.step)
            return chosen, chosen.snapshots.means[
                check_number("snapshot", snapshot, 0, n - 1, integer=True)
            ][None]
        if draw is None:
            return chosen, chosen.posterior.mean[None]
        number = check_number("draw", draw, 0, MAX_DRAWS - 1, integer=True)
        _, seed = self._check_draws(1, seed)
        return chosen, chosen.posterior.draw(1, seed, first=number, member=tree)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True  # in columns declared categorical
        tags.target_tags.required = True
        return tags


class OneTree(SoftTrees):
    """Base of the estimators of a single tree; not for use by itself."""

    @property
    def posterior_(self) -> LowRankGaussian:
        """The posterior of the parameters."""
        return self._only_tree().posterior

    @property
    def elbo_path_(self) -> ElboPath:
        """How the evidence lower bound rose."""
        return self._only_tree().elbo

    @property
    def path_(self) -> Snapshots:
        """The posterior mean through training."""
        return self._only_tree().snapshots


class Draws(NamedTuple):
    """Draws of all that a prediction depends on."""

    thetas: tuple[np.ndarray, ...]  # (n_draws, n_parameters): one array a tree
    # (n_draws,): variance of the noise on the inner scale; 0 where the leaves have their own
    noises: np.ndarray


class SoftTreeRegression(PredictsLaw, RegressorMixin, SoftTrees):
    """Base of the two regressors; not for use by itself."""

    def _draws(self, n_draws: int, seed: int) -> Draws:
        """Parameters of every tree and, where the noise is no part of them, noise variances."""
        raise NotImplementedError

    def _inner_functions(self, matrix: np.ndarray, thetas: tuple[np.ndarray, ...]) -> np.ndarray:
        """Means of the draws on the inner scale, (n_draws, n_samples)."""
        raise NotImplementedError

    def _inner_members(self, matrix: np.ndarray, draws: Draws) -> np.ndarray:
        """Means and variances of the draws on the inner scale, (n_draws, n_samples, 2)."""
        raise NotImplementedError

    def _inner_log_densities(
        self, matrix: np.ndarray, inner: np.ndarray, draws: Draws
    ) -> np.ndarray:
        """Log densities of the inner target given each draw, (n_draws, n_samples)."""
        raise NotImplementedError

    def sample_functions(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> np.ndarray:
        """Mean functions drawn from the posterior, (n_draws, n_samples), in units of y.

        Draw number i is the same whatever their number; ``n_draws`` and ``seed`` stand in place of
        the estimator's own, and nothing is refitted.
        """
        n, seed = self._check_draws(n_draws, seed)
        thetas = self.draw_parameters(n, seed)
        inner = self._by_rows(lambda m: self._inner_functions(m, thetas), self._encode(X), n)
        return self.target_scale_.centre + self.target_scale_.spread * inner

    def predict_members(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> np.ndarray:
        """Mean and variance of y given each draw, (n_draws, n_samples, 2).

        Mean in units of y, variance (that between leaves included) in their square. Draws as in
        `sample_functions`.
        """
        n, seed = self._check_draws(n_draws, seed)
        draws = self._draws(n, seed)
        inner = self._by_rows(lambda m: self._inner_members(m, draws), self._encode(X), n)
        scale = self.target_scale_
        means = scale.centre + scale.spread * inner[..., 0]
        return np.stack([means, scale.spread**2 * inner[..., 1]], axis=-1)

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the draws' means, (n_samples,)."""
        return mean_over_members(self.sample_functions(X))

    def predict_uncertainty(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> Uncertainty:
        """Total, data and knowledge uncertainty as variances of y, (n_samples,) each.

        Knowledge is the variance of the draws' means, data the mean of the draws' variances.
        """
        members = self.predict_members(X, n_draws, seed)
        return decompose_regression(members[..., 0], members[..., 1])

    def predict_distribution(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> Distribution:
        """The mixture over the draws, each a normal with that draw's mean and variance.

        Its std is the root of the total uncertainty. In `VariationalSoftTreeRegressor` a single
        draw is itself a mixture over leaves (eq. 6); `log_densities` is exact there, and this
        distribution keeps each draw's two moments.
        """
        members = self.predict_members(X, n_draws, seed)
        return MixtureDistribution(members[..., 0], members[..., 1])

    def _log_densities_by_draw(
        self, matrix: np.ndarray, y: np.ndarray, n_draws: int, seed: int
    ) -> np.ndarray:
        scale = self.target_scale_
        inner = (check_numeric_target(y) - scale.centre) / scale.spread
        draws = self._draws(n_draws, seed)
        by_draw = self._by_rows(
            lambda both: self._inner_log_densities(both[:, :-1], both[:, -1], draws),
            np.column_stack([matrix, inner]),
            n_draws,
        )
        return by_draw - math.log(scale.spread)

    def tree_picture(
        self,
        X: Any,
        draw: int | None = None,
        tree: int = 0,
        snapshot: int | None = None,
        seed: int | None = None,
    ) -> TreePicture:
        """Gates, leaves and output of a tree over rows.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        draw : int, optional
            Number of a draw, as in `sample_functions`; the posterior mean without it.
        tree : int
            Which tree of a boosted sum.
        snapshot : int, optional
            A moment of the training (see ``trees_[tree].snapshots``) instead of its end.
        seed : int, optional
            Of the draws.
        """
        chosen, theta = self._picture_parameters(draw, tree, snapshot, seed)
        matrix = self._encode(X)
        gates = draw_gates(chosen.shape, chosen.beta, theta, matrix)
        leaves = draw_leaves(chosen.shape, theta, matrix)
        scale = self.target_scale_
        means = scale.spread * leaves.means[0].T + (scale.centre if tree == 0 else 0.0)
        has_stds = chosen.shape.output == "mixture"
        stds = scale.spread * leaves.stds[0].T if has_stds else np.empty((0, len(matrix)))
        reach = gates.leaves[0].T
        return TreePicture(gates.right[0].T, reach, means, stds, (reach * means).sum(axis=0))

    def gates(self, X: Any, draw: int | None = None, tree: int = 0) -> np.ndarray:
        """Probability of going right at each node, (n_nodes, n_samples); see `tree_picture`."""
        return self.tree_picture(X, draw, tree).gates
