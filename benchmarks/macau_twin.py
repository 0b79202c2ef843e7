"""MACAU as plain scikit-learn writes it, one leaf after the other: the twin that speed is held to.

Everything is fitted to some trees of a forest that is given; the forest itself is left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.covariance import OAS
from sklearn.linear_model import ARDRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import QuantileTransformer, RobustScaler

from gbuq_core.trees.importers import LeafSource
from gbuq_core.trees.importers.paths import leaf_paths


class LeafTwin(NamedTuple):
    """A leaf: rows, path, model, distances in all and in path features, predicted values."""

    columns: np.ndarray
    model: Any
    near: Pipeline
    near_path: Pipeline
    values: Any


class TreeTwin(NamedTuple):
    """Leaves by number, and the maps of both distances to z-scores."""

    leaves: dict[int, LeafTwin]
    to_z: Any
    to_z_path: Any


class TwinAnswer(NamedTuple):
    """(n, n_trees) each: mean and std of each leaf's model, and three z-scores."""

    mean: np.ndarray
    std: np.ndarray
    novelty: np.ndarray
    conditional_novelty: np.ndarray
    inference_novelty: np.ndarray


class Constant:
    """A leaf of one class."""

    def __init__(self, value: float) -> None:
        self.value = value

    def answer(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The class with certainty."""
        return np.full(len(X), self.value), np.zeros(len(X))


class Bayesian:
    """ARD regression."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.line = make_pipeline(RobustScaler(), ARDRegression()).fit(X, y)

    def answer(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and std of the prediction."""
        return self.line.predict(X, return_std=True)


class Logistic:
    """Logistic regression with the delta method (equations 3 to 5)."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.scaler = RobustScaler().fit(X)
        Z = self.scaler.transform(X)
        self.line = LogisticRegression(tol=1e-8, max_iter=1000).fit(Z, y)
        p = self.line.predict_proba(Z)[:, 1]
        self.covariance = np.linalg.pinv((Z.T * (p * (1 - p))) @ Z)

    def answer(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Probability of the second class and its std."""
        Z = self.scaler.transform(X)
        p = self.line.predict_proba(Z)[:, 1]
        slope = (p * (1 - p))[:, None] * Z
        return p, np.sqrt(np.einsum("ij,jk,ik->i", slope, self.covariance, slope))


def fit_twin(
    X: np.ndarray, y: np.ndarray, source: LeafSource, trees: range, classes: bool = False
) -> list[TreeTwin]:
    """Fit the leaves of some trees; y holds targets, or the codes 0 and 1."""
    paths = leaf_paths(source)
    leaf_matrix = source.leaf_matrix(X)
    first = np.concatenate([[0], np.cumsum(source.leaf_counts)])
    twins = []
    for tree in trees:
        leaves: dict[int, LeafTwin] = {}
        own, own_path = np.empty(len(X)), np.empty(len(X))
        for leaf in np.unique(leaf_matrix[:, tree]):
            rows = np.flatnonzero(leaf_matrix[:, tree] == leaf)
            g = first[tree] + leaf
            columns = paths.features[paths.begin[g] : paths.begin[g + 1]]
            columns = columns if len(columns) else np.arange(X.shape[1])
            leaves[int(leaf)] = fit = _fit_leaf(X[rows], y[rows], columns, classes)
            own[rows] = _distance(fit.near, X[rows])
            own_path[rows] = _distance(fit.near_path, X[np.ix_(rows, columns)])
        twins.append(TreeTwin(leaves, _to_z(own), _to_z(own_path)))
    return twins


def _fit_leaf(X: np.ndarray, y: np.ndarray, columns: np.ndarray, classes: bool) -> LeafTwin:
    part = X[:, columns]
    if classes:
        is_constant = len(np.unique(y)) == 1
        model = Constant(float(y[0])) if is_constant else Logistic(part, y)
    else:
        model = Bayesian(part, y)
    fitted, _ = model.answer(part)
    values = RobustScaler().fit(fitted[:, None]) if np.ptp(fitted) == 0 else _to_z(fitted)
    return LeafTwin(columns, model, _near(X), _near(part), values)


def _near(X: np.ndarray) -> Pipeline:
    return make_pipeline(RobustScaler(), OAS()).fit(X)


def _distance(near: Pipeline, X: np.ndarray) -> np.ndarray:
    scaler, covariance = near[0], near[1]
    return np.sqrt(covariance.mahalanobis(scaler.transform(X)))


def _to_z(values: np.ndarray) -> QuantileTransformer:
    n_quantiles = min(1000, len(values))
    scaler = QuantileTransformer(
        n_quantiles=n_quantiles, output_distribution="normal", subsample=None
    )
    return scaler.fit(values[:, None])


def score_twin(twin: list[TreeTwin], X: np.ndarray, source: LeafSource, trees: range) -> TwinAnswer:
    """Predictions and z-scores of new rows."""
    leaf_matrix = source.leaf_matrix(X)
    scores = np.empty((5, len(X), len(trees)))
    for i, tree in enumerate(trees):
        distance, distance_path = np.empty(len(X)), np.empty(len(X))
        for leaf in np.unique(leaf_matrix[:, tree]):
            rows = np.flatnonzero(leaf_matrix[:, tree] == leaf)
            fit = twin[i].leaves[int(leaf)]
            part = X[np.ix_(rows, fit.columns)]
            scores[0, rows, i], scores[1, rows, i] = fit.model.answer(part)
            distance[rows] = _distance(fit.near, X[rows])
            distance_path[rows] = _distance(fit.near_path, part)
            scores[4, rows, i] = fit.values.transform(scores[0, rows, i][:, None])[:, 0]
        scores[2, :, i] = twin[i].to_z.transform(distance[:, None])[:, 0]
        scores[3, :, i] = twin[i].to_z_path.transform(distance_path[:, None])[:, 0]
    return TwinAnswer(*scores)
