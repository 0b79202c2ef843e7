"""What MACAU's estimators return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Novelty(NamedTuple):
    """How unlike the training rows of their leaves rows are: z-scores, each (n,) float64.

    novelty : of all features.
    conditional_novelty : of the features on the way to the leaf only.
    inference_novelty : of what the leaf's model predicts; signed, below 0 for low predictions.
        As a score of being out of distribution take its absolute value.
    novelty_std, conditional_novelty_std, inference_novelty_std : their spreads over the trees.
    """

    novelty: np.ndarray
    conditional_novelty: np.ndarray
    inference_novelty: np.ndarray
    novelty_std: np.ndarray
    conditional_novelty_std: np.ndarray
    inference_novelty_std: np.ndarray


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


class Distribution(NamedTuple):
    """Mean and standard deviation of y for each row, in units of y.

    Attributes
    ----------
    loc, scale : ndarray of shape (n_samples,)
    """

    loc: np.ndarray
    scale: np.ndarray
