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
    """The novelty of a few rows tree by tree, (n, n_trees)."""

    leaf: np.ndarray  # int32: the rows' leaves, as the forest numbers them in each tree
    distance: np.ndarray  # Mahalanobis distances in all features, in the leaf's stds
    z: np.ndarray  # their z-scores; the mean over the trees is `Novelty.novelty`
    rows_in_leaf: np.ndarray  # int64: training rows of these leaves
    # (n, n_trees, n_features): what each feature adds to the squared distance
    contributions: np.ndarray


class LeafEllipses(NamedTuple):
    """The leaves that one row falls into, as centres and covariances of two features.

    ``(x - centre)^T covariance^-1 (x - centre) = r^2`` is the ellipse of all points r stds away,
    where the other features are left out.
    """

    tree: np.ndarray  # (m,) int64
    centre: np.ndarray  # (m, 2): means of the leaf's training rows, in units of X
    covariance: np.ndarray  # (m, 2, 2): shrunk covariances, in squared units of X
    n_rows: np.ndarray  # (m,) int64: training rows of the leaf
    z: np.ndarray  # (m,): of the row itself, in all features; as of `NoveltyDetail`
    distance: np.ndarray  # (m,): likewise


class MeanNovelty(NamedTuple):
    """The first three fields of `gbuq_core.macau.novelty.Novelty`, (n,) each."""

    novelty: np.ndarray
    conditional_novelty: np.ndarray
    inference_novelty: np.ndarray
