"""Novelty of rows: how far they lie from the training rows of their leaves, as z-scores.

Merilinna (2023), section 3.2. Distances are Mahalanobis distances within a leaf; a quantile
transform a tree makes z-scores of them, which are averaged over the trees.

`score_novelty` keeps nothing. `measure_rows` keeps the distances, so that another tail of the
z-scores costs little. `inspect_novelty` and `leaf_ellipses` show a few rows tree by tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from gbuq_core.array_checks import begins
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.macau.covariance_kernels import fit_leaves, write_contributions, write_distances
from gbuq_core.macau.leaves import LeafScaling, LeafTable
from gbuq_core.macau.novelty_kernels import (
    MAX_QUANTILES,
    write_clipped,
    write_leaf_quantiles,
    write_quantiles,
    write_rising,
)
from gbuq_core.macau.results import LeafEllipses, MeanNovelty, Novelty, NoveltyDetail
from gbuq_core.methods import METHODS
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance
from gbuq_core.resources import check_memory
from gbuq_core.validation import check_number

TAILS = METHODS["macau"].knob("tail").choices
_BLOCK_CELLS = 200_000  # rows x trees of one block of a score
_CHUNK = 20_000_000  # rows x features^2 between two questions whether the fit is still wanted
_VARIANCES = (1e-60, 1e120)  # of features in their own units; anything else is no measurement
# Where scikit-learn's transform to a normal ends.
_CLIP = float(-ndtri(1e-7 - np.spacing(1.0)))
_SHARE_CELLS = 200_000  # rows x trees of one share of a thread


class NoveltyModel(NamedTuple):
    """Covariances of all leaves, on their own scaling, and the trees' quantiles of distances."""

    location: np.ndarray  # (n_leaves, n_features) float64: means of the leaves' rows
    # (n_leaves, n_features (n_features + 1) / 2): W with `S^-1 = W^T W`, see covariance_kernels
    factor: np.ndarray
    # (n_leaves + 1,) int64: where W for the path features of each leaf begins in path_factor
    path_first: np.ndarray
    path_factor: np.ndarray  # (path_first[-1],) float64
    quantile_begin: np.ndarray  # (n_trees + 1,) int64: where each tree's quantiles begin
    # (quantile_begin[-1],): of the training rows' distances, at evenly spaced levels
    quantiles: np.ndarray
    path_quantiles: np.ndarray  # the same of their distances in path features

    def check_against(self, table: LeafTable, n_features: int) -> None:
        """Refuse distances of a file that are of other leaves."""
        n_leaves, lengths = table.n_leaves, np.diff(table.path_begin)
        path_first = begins(lengths * (lengths + 1) // 2)
        n_quantiles = len(self.quantiles)
        m, rest = divmod(n_quantiles, table.n_trees)
        require(1 <= m <= MAX_QUANTILES and rest == 0, "its quantiles are impossible")
        check_arrays(
            self,
            location=("number", n_leaves, n_features),
            factor=("number", n_leaves, n_features * (n_features + 1) // 2),
            path_first=(np.int64, n_leaves + 1),
            quantile_begin=(np.int64, table.n_trees + 1),
            path_factor=("number", int(path_first[-1])),
            quantiles=("number", n_quantiles),
            path_quantiles=("number", n_quantiles),
        )
        begin = m * np.arange(table.n_trees + 1)
        same = np.array_equal(self.path_first, path_first)
        require(same and np.array_equal(self.quantile_begin, begin), "a leaf does not exist")
        _check_rising(self.quantiles, begin)
        _check_rising(self.path_quantiles, begin)


class LeafQuantiles(NamedTuple):
    """Quantiles of what each leaf's model predicts for its training rows."""

    begin: np.ndarray  # (n_leaves + 1,) int64
    quantiles: np.ndarray  # of leaf g, `quantiles[begin[g]:begin[g + 1]]`

    def check_against(self, table: LeafTable) -> None:
        """Refuse quantiles of a file that are of other leaves."""
        begin = begins(np.minimum(np.diff(table.begin), MAX_QUANTILES))
        check_arrays(self, begin=(np.int64, len(begin)), quantiles=("number", int(begin[-1])))
        require(np.array_equal(self.begin, begin), "a leaf does not exist")
        _check_rising(self.quantiles, begin)


def _check_rising(values: np.ndarray, begin: np.ndarray) -> None:
    """Refuse values that fall within a part; parts begin at ``begin``."""
    inside = np.diff(np.repeat(np.arange(len(begin) - 1), np.diff(begin))) == 0
    require((values[1:] >= values[:-1])[inside].all(), "its quantiles do not rise")


class DistanceScores(NamedTuple):
    """Mahalanobis distances and z-scores in all and in path features, (n, n_trees) each."""

    distances: np.ndarray
    z: np.ndarray
    path_distances: np.ndarray
    path_z: np.ndarray


def fit_novelty(
    X: np.ndarray, table: LeafTable, scaling: LeafScaling, n_jobs: int | None = None
) -> NoveltyModel:
    """Fit the covariances of every leaf, and every tree's quantiles of the training distances.

    Covariances are scikit-learn's OAS on features that were imputed and scaled within the leaf.
    Their shrinkage takes care of constant and collinear features: a feature that is constant in
    the leaf has the mean variance times the shrinkage. Where nothing varies (one row, or equal
    ones), the distance is measured in the whole training set's stds of each feature, or in its
    own units where it is constant there too. scikit-learn's pseudo-inverse gives a distance of 0
    to every row there, however far it is.

    All n training distances make the quantiles; scikit-learn draws 10,000 of them beyond that.
    """
    p, n_leaves = X.shape[1], table.n_leaves
    lengths = np.diff(table.path_begin)
    path_first = begins(lengths * (lengths + 1) // 2)
    m = min(MAX_QUANTILES, len(X))
    n_cells = n_leaves * (p + p * (p + 1) // 2) + int(path_first[-1]) + 2 * m * table.n_trees
    check_memory(8 * n_cells, "the covariances of these leaves")
    model = NoveltyModel(
        np.empty((n_leaves, p)),
        np.empty((n_leaves, p * (p + 1) // 2)),
        path_first,
        np.empty(path_first[-1]),
        m * np.arange(table.n_trees + 1, dtype=np.int64),
        np.empty(m * table.n_trees),
        np.empty(m * table.n_trees),
    )
    variances = _variances(X)

    def work(tree: int) -> None:
        low, high = int(table.first[tree]), int(table.first[tree + 1])
        step = max(1, (high - low) * _CHUNK // (len(X) * p * p))
        for start in range(low, high, step):
            fit_leaves(X, start, min(start + step, high), table, scaling, model, variances)
            advance(0.0)
        numbers = np.empty((len(X), 1), np.int64)
        rows = table.rows[table.begin[low] : table.begin[high]]
        numbers[rows, 0] = np.repeat(np.arange(low, high), np.diff(table.begin[low : high + 1]))
        distances, path_distances = np.empty(numbers.shape), np.empty(numbers.shape)
        size = max(1, _CHUNK // (p * p))
        for start in range(0, len(X), size):
            part = slice(start, start + size)
            write_distances(
                X[part], numbers[part], table, scaling, model, distances[part], path_distances[part]
            )
            advance(0.0)
        own = slice(tree * m, (tree + 1) * m)
        write_quantiles(np.sort(distances[:, 0]), model.quantiles[own])
        write_quantiles(np.sort(path_distances[:, 0]), model.path_quantiles[own])

    parallel_map(work, range(table.n_trees), n_jobs)
    if table.fallback >= 0:
        last = table.fallback
        fit_leaves(X, last, last + 1, table, scaling, model, variances)
    return model


def _variances(X: np.ndarray) -> np.ndarray:
    """Variances of the features over all rows, (n_features,); 1 for those that do not vary."""
    present = ~np.isnan(X)
    counts = np.maximum(present.sum(axis=0), 1)
    with np.errstate(over="ignore", invalid="ignore"):
        means = np.where(present, X, 0.0).sum(axis=0) / counts
        squares = np.where(present, (X - means) ** 2, 0.0).sum(axis=0) / counts
    squares = np.nan_to_num(squares, nan=_VARIANCES[1], posinf=_VARIANCES[1])
    return np.where(squares > _VARIANCES[0], np.minimum(squares, _VARIANCES[1]), 1.0)


def fit_inference(
    predictions: np.ndarray, table: LeafTable, n_jobs: int | None = None
) -> LeafQuantiles:
    """Fit every leaf's quantiles of its model's predictions for its training rows."""
    sizes = np.minimum(np.diff(table.begin), MAX_QUANTILES)
    begin = begins(sizes)
    values, quantiles = predictions.copy(), np.empty(begin[-1])
    bounds = [*table.first.tolist(), table.n_leaves]  # the last span: the leaf of all rows, if any

    def work(span: int) -> None:
        for g in range(bounds[span], bounds[span + 1]):
            values[table.begin[g] : table.begin[g + 1]].sort()
        write_leaf_quantiles(values, table.begin, begin, bounds[span], bounds[span + 1], quantiles)

    parallel_map(work, range(len(bounds) - 1), n_jobs)
    return LeafQuantiles(begin, quantiles)


def z_scores(
    values: np.ndarray,
    tables: np.ndarray,
    begin: np.ndarray,
    quantiles: np.ndarray,
    tail: str,
    *,
    of_leaves: bool = False,
) -> np.ndarray:
    """Where values stand among the training values, as z-scores."""
    shares, excess = np.empty(values.shape), np.empty(values.shape)
    if tail == "clip":
        write_clipped(values, tables, begin, quantiles, of_leaves, shares, excess)
        z: np.ndarray = np.clip(ndtri(shares), -_CLIP, _CLIP)
    else:
        longest = int(np.diff(begin).max(initial=1))
        edges = ndtri(1.0 - 0.5 / np.arange(1, longest + 1))
        write_rising(values, tables, begin, quantiles, np.append(0.0, edges), shares, excess)
        z = ndtri(shares)
    z += excess
    return z


def score_novelty(
    X: np.ndarray,
    numbers: np.ndarray,
    predictions: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    inference: LeafQuantiles,
    tail: str,
    n_jobs: int | None = None,
    trees: np.ndarray | None = None,
) -> Novelty:
    """Score rows: means and spreads over the trees of their z-scores."""
    size = max(1, _BLOCK_CELLS // max(1, table.n_trees))
    out = np.empty((6, len(X)))
    n_rows_in = np.diff(table.begin)

    def work(start: int) -> None:
        rows = slice(start, start + size)
        leaves = numbers[rows]
        predicting = leaves if trees is None else leaves.take(trees, axis=1)  # row by row
        scores = score_distances(X[rows], leaves, table, scaling, model, tail)
        z = z_scores(
            predictions[rows],
            predicting,
            inference.begin,
            inference.quantiles,
            tail,
            of_leaves=True,
        )
        out[0, rows], out[3, rows] = _mean_and_spread(scores.z, n_rows_in[leaves])
        out[1, rows], out[4, rows] = _mean_and_spread(scores.path_z, n_rows_in[leaves])
        out[2, rows], out[5, rows] = _mean_and_spread(z, n_rows_in[predicting])
        advance(0.0)

    parallel_map(work, range(0, len(X), size), n_jobs)
    return Novelty(*out)


def score_distances(
    X: np.ndarray,
    numbers: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    tail: str,
) -> DistanceScores:
    """Distances and their z-scores tree by tree, for as many rows as memory holds."""
    distances, path_distances = np.empty(numbers.shape), np.empty(numbers.shape)
    write_distances(X, numbers, table, scaling, model, distances, path_distances)
    trees = np.tile(np.arange(table.n_trees, dtype=np.int64), (len(X), 1))
    z = z_scores(distances, trees, model.quantile_begin, model.quantiles, tail)
    z_path = z_scores(path_distances, trees, model.quantile_begin, model.path_quantiles, tail)
    return DistanceScores(distances, z, path_distances, z_path)


def _mean_and_spread(scores: np.ndarray, n_rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the trees, and the spread around it weighted by rows - 1, (n,) each."""
    mean = scores.mean(axis=1)
    weights = np.maximum(n_rows - 1.0, 0.0)
    weights[weights.sum(axis=1) == 0.0] = 1.0
    squares = (weights * (scores - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(squares / weights.sum(axis=1))


def explain_novelty(
    X: np.ndarray,
    numbers: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    conditional: bool = False,
    normalize: bool = False,
    n_jobs: int | None = None,
) -> np.ndarray:
    """How much each feature adds to the rows' squared distances, (n, n_features).

    Shapley values of the squared Mahalanobis distance have a closed form,
    ``phi = d * (S^-1 d)`` with the deviation d from the leaf's mean (Mayrhofer and Filzmoser,
    "Multivariate outlier explanations using Shapley values and Mahalanobis distances", 2023). They
    may be negative: of correlated features, one can make the other's value likelier.
    """
    size = max(1, _BLOCK_CELLS // max(1, table.n_trees * X.shape[1]))

    def work(start: int) -> np.ndarray:
        rows = slice(start, start + size)
        parts = np.empty((len(X[rows]), table.n_trees, X.shape[1]))
        write_contributions(X[rows], numbers[rows], table, scaling, model, conditional, parts)
        advance(0.0)
        return parts.mean(axis=1)

    out = np.concatenate(parallel_map(work, range(0, len(X), size), n_jobs))
    if normalize:
        total = out.sum(axis=1, keepdims=True)
        out = np.divide(out, total, out=np.zeros_like(out), where=total > 0.0)
    return out


class PredictedNovelty(NamedTuple):
    """What inference novelty compares, of some of the rows."""

    rows: np.ndarray  # (k,) int64, which of them
    values: np.ndarray  # (k, m) float64: predictions of m trees' leaves
    leaves: np.ndarray  # (k, m) int64: the numbers of these leaves
    quantiles: LeafQuantiles


class MeasuredNovelty(NamedTuple):
    """Distances of rows in all and in path features, (n, n_trees) float64, and predictions."""

    distances: np.ndarray
    path_distances: np.ndarray
    predicted: tuple[PredictedNovelty, ...]


def measure_rows(
    X: np.ndarray,
    numbers: np.ndarray,
    predicted: Sequence[PredictedNovelty],
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    n_jobs: int | None = None,
) -> MeasuredNovelty:
    """Measure rows X (n, n_features) in their leaves (n, n_trees)."""
    measured = MeasuredNovelty(np.empty(numbers.shape), np.empty(numbers.shape), tuple(predicted))
    size = max(1, _SHARE_CELLS // max(1, table.n_trees))

    def work(start: int) -> None:
        rows = slice(start, start + size)
        write_distances(
            X[rows],
            numbers[rows],
            table,
            scaling,
            model,
            measured.distances[rows],
            measured.path_distances[rows],
        )

    parallel_map(work, range(0, len(X), size), n_jobs)
    return measured


def mean_novelty(
    measured: MeasuredNovelty, model: NoveltyModel, tail: str, n_jobs: int | None = None
) -> MeanNovelty:
    """Means over the trees of the z-scores of what was measured, to the last bit as without."""
    n, n_trees = measured.distances.shape
    out = np.empty((3, n))
    size = max(1, _SHARE_CELLS // max(1, n_trees))

    def work(start: int) -> None:
        rows = slice(start, start + size)
        distances = measured.distances[rows]
        trees = np.tile(np.arange(n_trees, dtype=np.int64), (len(distances), 1))
        begin = model.quantile_begin
        out[0, rows] = z_scores(distances, trees, begin, model.quantiles, tail).mean(axis=1)
        out[1, rows] = z_scores(
            measured.path_distances[rows], trees, begin, model.path_quantiles, tail
        ).mean(axis=1)

    parallel_map(work, range(0, n, size), n_jobs)
    for rows, values, leaves, quantiles in measured.predicted:
        z = z_scores(values, leaves, quantiles.begin, quantiles.quantiles, tail, of_leaves=True)
        out[2, rows] = z.mean(axis=1)
    return MeanNovelty(*out)


def inspect_novelty(
    X: np.ndarray,
    numbers: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    tail: str,
) -> NoveltyDetail:
    """Everything behind the novelty of a few rows."""
    n_cells = numbers.size * (X.shape[1] + 6)
    check_memory(8 * n_cells, "the novelty of these rows in every tree")
    scores = score_distances(X, numbers, table, scaling, model, tail)
    contributions = np.empty((*numbers.shape, X.shape[1]))
    write_contributions(X, numbers, table, scaling, model, False, contributions)
    leaf = np.where(numbers == table.fallback, -1, numbers - table.first[:-1])
    return NoveltyDetail(
        leaf.astype(np.int32),
        scores.distances,
        scores.z,
        np.diff(table.begin)[numbers],
        contributions,
    )


def leaf_ellipses(
    x: np.ndarray,
    numbers: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    tail: str,
    features: Sequence[int],
    trees: Any = None,
) -> LeafEllipses:
    """The leaves of one row, as centres and covariances of two features, in units of X."""
    if len(x) != 1:
        raise InvalidData(f"leaf_ellipses takes one row; got {len(x)} rows.")
    pair = _check_pair(features, x.shape[1])
    tree = _check_trees(trees, table.n_trees)
    scores = score_distances(x, numbers, table, scaling, model, tail)
    known = np.isfinite(scaling.scale[numbers[0, tree]][:, pair]).all(axis=1)
    tree = tree[known]
    leaves = numbers[0, tree]
    scale, centre = (part[leaves][:, pair] for part in (scaling.scale, scaling.centre))
    covariance = leaf_covariances(model, leaves, x.shape[1])[:, pair][:, :, pair]
    return LeafEllipses(
        tree,
        centre + scale * model.location[leaves][:, pair],
        covariance * scale[:, :, None] * scale[:, None, :],
        np.diff(table.begin)[leaves],
        scores.z[0, tree],
        scores.distances[0, tree],
    )


def leaf_covariances(model: NoveltyModel, leaves: np.ndarray, n_features: int) -> np.ndarray:
    """Shrunk covariances of leaves (m,), on their own scaling: (m, n_features, n_features)."""
    check_memory(24 * len(leaves) * n_features**2, "the covariances of these leaves")
    whitening = np.zeros((len(leaves), n_features, n_features))
    rows, columns = np.tril_indices(n_features)
    whitening[:, rows, columns] = model.factor[leaves]
    factor = np.linalg.inv(whitening)
    return factor @ factor.transpose(0, 2, 1)


def _check_pair(features: Sequence[int], n_features: int) -> list[int]:
    """Two different positions of features."""
    places = list(features) if isinstance(features, Sequence | np.ndarray) else []
    if len(places) != 2:
        raise InvalidParameter(f"features must be two positions of features; got {features!r}.")
    pair = [check_number("features", place, 0, n_features - 1, integer=True) for place in places]
    if pair[0] == pair[1]:
        raise InvalidParameter(f"features must be two different positions; got {pair[0]} twice.")
    return pair


def _check_trees(trees: Any, n_trees: int) -> np.ndarray:
    """Positions of trees, all without any given."""
    if trees is None:
        return np.arange(n_trees)
    positions = np.atleast_1d(np.asarray(trees)).tolist()
    if not positions:
        raise InvalidParameter("trees must name at least one tree, or be None for all of them.")
    return np.array([check_number("trees", t, 0, n_trees - 1, integer=True) for t in positions])
