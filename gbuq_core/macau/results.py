"""What novelty is made of, for those who only look at it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from gbuq_core.figures.canvas.panels import PanelSheet
    from gbuq_core.figures.curves import Curves


class Novelty(NamedTuple):
    """How much rows differ from the training rows of their leaves: z-scores, each (n,) float64.

    novelty : from all features.
    conditional_novelty : only from the features on the path to the leaf.
    inference_novelty : from the prediction of the leaf's model; negative for low predictions.
        Use its absolute value to score rows as out of distribution.
    novelty_std, conditional_novelty_std, inference_novelty_std : their spreads over the trees.
    """

    novelty: np.ndarray
    conditional_novelty: np.ndarray
    inference_novelty: np.ndarray
    novelty_std: np.ndarray
    conditional_novelty_std: np.ndarray
    inference_novelty_std: np.ndarray

    def plot(self, X: Any, *, X_rows: Any = None, columns: Any = None) -> PanelSheet | Curves:
        """Draw the three scores over the rows that were scored: maps over two features.

        Over one feature they are curves.

        Parameters, result and errors as of `gbuq_core.Uncertainty.plot`.

        Examples
        --------
        >>> z = np.array([0.1, 0.2, 3.0, 9.0])
        >>> sheet = Novelty(z, z, z, z, z, z).plot([[0, 0], [1, 0], [0, 1], [1, 1]])
        >>> [panel.title for panel in sheet.panels]
        ['Novelty', 'Conditional novelty', 'Inference novelty']
        """
        from gbuq_core.figures.plots import plot_scores

        scores = {
            "Novelty": self.novelty,
            "Conditional novelty": self.conditional_novelty,
            "Inference novelty": self.inference_novelty,
        }
        return plot_scores(scores, X, X_rows=X_rows, columns=columns, unit="z-score")


class NoveltyDetail(NamedTuple):
    """The novelty of a few rows tree by tree.

    leaf : (n, n_trees) int32
        The rows' leaves, as the forest numbers them in each tree.
    distance : (n, n_trees) float64
        Mahalanobis distances in all features, in the leaf's stds.
    z : (n, n_trees) float64
        Their z-scores; the mean over the trees is ``Novelty.novelty``.
    rows_in_leaf : (n, n_trees) int64
        Training rows of these leaves.
    contributions : (n, n_trees, n_features) float64
        What each feature adds to the squared distance; sums to ``distance**2``.
    """

    leaf: np.ndarray
    distance: np.ndarray
    z: np.ndarray
    rows_in_leaf: np.ndarray
    contributions: np.ndarray


class LeafEllipses(NamedTuple):
    """The leaves that one row falls into, as centres and covariances of two features.

    tree : (m,) int64
    centre : (m, 2) float64
        Means of the leaf's training rows, in units of X.
    covariance : (m, 2, 2) float64
        Shrunk covariances, in squared units of X: ``(x - centre)^T covariance^-1 (x - centre) =
        r^2`` is the ellipse of all points r stds away, where the other features are left out.
    n_rows : (m,) int64
        Training rows of the leaf.
    z, distance : (m,) float64
        Of the row itself, in all features: see `NoveltyDetail`.
    """

    tree: np.ndarray
    centre: np.ndarray
    covariance: np.ndarray
    n_rows: np.ndarray
    z: np.ndarray
    distance: np.ndarray


class MeanNovelty(NamedTuple):
    """The first three fields of `gbuq_core.macau.novelty.Novelty`, (n,) each."""

    novelty: np.ndarray
    conditional_novelty: np.ndarray
    inference_novelty: np.ndarray
