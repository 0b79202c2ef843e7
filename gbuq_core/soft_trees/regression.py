"""What the single tree and the boosted sum share: everything that is said about y."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import RegressorMixin

from gbuq_core.inputs.rows import check_numeric_target
from gbuq_core.soft_trees.base import SoftTrees
from gbuq_core.soft_trees.forward import draw_gates, draw_leaves
from gbuq_core.soft_trees.results import TreePicture
from gbuq_core.uncertainty import Uncertainty, decompose_regression


class Draws(NamedTuple):
    """Draws of all that a prediction depends on.

    thetas : tuple of (n_draws, n_parameters)
        One array a tree.
    noises : (n_draws,)
        Variance of the noise on the inner scale; 0 where the leaves have their own.
    """

    thetas: tuple[np.ndarray, ...]
    noises: np.ndarray


class SoftTreeRegression(RegressorMixin, SoftTrees):
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

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        n_draws, seed : int, optional
            In place of the estimator's ``n_draws`` and of ``seed_``; nothing is refitted, and draw
            number i is the same whatever their number.
        """
        n, seed = self._check_draws(n_draws, seed)
        thetas = self.draw_parameters(n, seed)
        inner = self._by_rows(lambda m: self._inner_functions(m, thetas), self._encode(X), n)
        functions: np.ndarray = self.target_scale_.centre + self.target_scale_.spread * inner
        return functions

    def predict_members(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> np.ndarray:
        """Mean and variance of y given each draw, (n_draws, n_samples, 2).

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        n_draws, seed : int, optional
            In place of the estimator's ``n_draws`` and of ``seed_``; nothing is refitted.

        Returns
        -------
        ndarray of shape (n_draws, n_samples, 2)
            Mean in units of y, variance (that between leaves included) in their square.
        """
        n, seed = self._check_draws(n_draws, seed)
        draws = self._draws(n, seed)
        inner = self._by_rows(lambda m: self._inner_members(m, draws), self._encode(X), n)
        scale = self.target_scale_
        means = scale.centre + scale.spread * inner[..., 0]
        return np.stack([means, scale.spread**2 * inner[..., 1]], axis=-1)

    def predict(self, X: Any) -> np.ndarray:
        """The mean of the draws' means, (n_samples,)."""
        mean: np.ndarray = self.sample_functions(X).mean(axis=0)
        return mean

    def predict_uncertainty(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> Uncertainty:
        """Total, data and knowledge uncertainty as variances of y, (n_samples,) each.

        Knowledge is the variance of the draws' means, data the mean of the draws' variances.
        Parameters as in `predict_members`.
        """
        members = self.predict_members(X, n_draws, seed)
        return decompose_regression(members[..., 0], members[..., 1])

    def predict_distribution(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """``(loc, scale)``: the mean and the std with total uncertainty, (n_samples,) each."""
        members = self.predict_members(X, n_draws, seed)
        total = decompose_regression(members[..., 0], members[..., 1]).total
        return members[..., 0].mean(axis=0), np.sqrt(total)

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

        Returns
        -------
        TreePicture
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

    def leaf_lines(self, X: Any, draw: int | None = None, tree: int = 0) -> np.ndarray:
        """Mean of each leaf in units of y, (n_leaves, n_samples); see `tree_picture`."""
        return self.tree_picture(X, draw, tree).leaf_means
