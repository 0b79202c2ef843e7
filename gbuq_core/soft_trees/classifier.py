"""A variational soft tree for classes: what the paper leaves to future work, so this is ours."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import ClassifierMixin

from gbuq_core.inputs import MostProbable, codes_of_known, encode_classes
from gbuq_core.soft_trees.base import OneTree
from gbuq_core.soft_trees.fitting import fit_tree
from gbuq_core.soft_trees.forward import draw_gates, draw_probabilities
from gbuq_core.soft_trees.layout import TreeShape
from gbuq_core.soft_trees.results import ClassTreePicture
from gbuq_core.uncertainty import Uncertainty, decompose_classification, mean_over_members


class VariationalSoftTreeClassifier(MostProbable, ClassifierMixin, OneTree):
    """One soft decision tree with softmax leaves and a posterior over all of its parameters.

    The paper stops at regression; this is our own extension of it: leaf l gives class c the
    probability ``softmax(W_l x + b_l)_c``, and a row the mean of its leaves' (eq. 6 with a
    categorical leaf). All else is as in `VariationalSoftTreeRegressor`.

    Parameters as in `VariationalSoftTreeRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    posterior_, elbo_path_, path_, trees_, shape_, encoding_, seed_, n_rows_, n_steps_,
    n_features_in_, feature_names_in_, fit_seconds_, memory_bytes_
        As in `VariationalSoftTreeRegressor`.

    References
    ----------
    Cinquin et al., "Variational boosted soft trees" (2023), section 4.1.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 80)[:, None]
    >>> model = VariationalSoftTreeClassifier(depth=1, n_steps=300, random_state=0)
    >>> model.fit(x, np.where(x[:, 0] > 0, "above", "below")).predict([[-0.8], [0.8]]).tolist()
    ['below', 'above']
    """

    classes_: np.ndarray

    def _shape(self, n_features: int) -> TreeShape:
        n_classes = len(getattr(self, "classes_", (0, 1)))
        return TreeShape(self.depth, n_features, self.leaf, "classes", n_classes)

    def fit(self, X: Any, y: Any) -> Self:
        """Find the posterior.

        ``y`` holds at least two classes, of any one type; rows as in
        `VariationalSoftTreeRegressor.fit`.
        """
        began = time.perf_counter()
        knobs = self._knobs()
        matrix, target = self._begin(X, y)
        self.classes_, codes = encode_classes(target)
        knobs = self._plan(knobs, matrix)
        tree = fit_tree(self.shape_, matrix, codes, knobs, self.seed_, n_jobs=self.n_jobs)
        self._end((tree,), len(matrix), began)
        return self

    def predict_members(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> np.ndarray:
        """Class probabilities given each draw, (n_draws, n_samples, n_classes)."""
        n, seed = self._check_draws(n_draws, seed)
        return self._inner_probabilities(self._encode(X), n, seed)

    def _inner_probabilities(self, matrix: np.ndarray, n_draws: int, seed: int) -> np.ndarray:
        (theta,) = self.draw_parameters(n_draws, seed)
        tree = self.trees_[0]
        return self._by_rows(
            lambda rows: draw_probabilities(tree.shape, tree.beta, theta, rows), matrix, n_draws
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """The mean of the draws' probabilities (eq. 2), (n_samples, n_classes)."""
        return mean_over_members(self.predict_members(X))

    def predict_uncertainty(
        self, X: Any, n_draws: int | None = None, seed: int | None = None
    ) -> Uncertainty:
        """Total, data and knowledge uncertainty in nats, (n_samples,) each."""
        return decompose_classification(self.predict_members(X, n_draws, seed))

    def _log_densities_by_draw(
        self, matrix: np.ndarray, y: np.ndarray, n_draws: int, seed: int
    ) -> np.ndarray:
        codes = codes_of_known(self.classes_, y)
        members = self._inner_probabilities(matrix, n_draws, seed)
        chosen = members[:, np.arange(len(y)), codes]
        return np.log(np.maximum(chosen, np.finfo(np.float64).tiny))

    def tree_picture(
        self,
        X: Any,
        draw: int | None = None,
        snapshot: int | None = None,
        seed: int | None = None,
    ) -> ClassTreePicture:
        """Gates, leaves and output of the tree over rows.

        Parameters as in `VariationalSoftTreeRegressor.tree_picture`.
        """
        tree, theta = self._picture_parameters(draw, 0, snapshot, seed)
        matrix = self._encode(X)
        gates = draw_gates(tree.shape, tree.beta, theta, matrix)
        parts = tree.shape.split(theta[0])
        logits = np.repeat(parts.leaf_biases[:, None, :], len(matrix), axis=1)
        if tree.shape.leaf == "linear":
            logits = logits + np.einsum("lcp,np->lnc", parts.leaf_weights, matrix)
        leaves: np.ndarray = softmax(logits, axis=-1)
        reach = gates.leaves[0].T
        return ClassTreePicture(
            gates.right[0].T, reach, leaves, np.einsum("ln,lnc->nc", reach, leaves)
        )
