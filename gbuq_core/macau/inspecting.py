"""The novelty of a few rows tree by tree, and the leaves behind it as ellipses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.macau.covariance_kernels import write_contributions
from gbuq_core.macau.leaves import LeafScaling, LeafTable
from gbuq_core.macau.novelty import NoveltyModel, score_distances
from gbuq_core.macau.results import LeafEllipses, NoveltyDetail
from gbuq_core.resources import check_memory
from gbuq_core.validation import check_number


def inspect_novelty(
    X: np.ndarray,
    numbers: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    tail: str,
) -> NoveltyDetail:
    """Everything behind the novelty of a few rows.

    Parameters
    ----------
    X, numbers, table, scaling, model, tail : as in `gbuq_core.macau.novelty.score_novelty`

    Returns
    -------
    NoveltyDetail
        Where training rows left the row's leaf empty, the leaf of all rows stands for it, as
        number -1.

    Raises
    ------
    MemoryLimitExceeded
        One sentence.
    """
    n_cells = numbers.size * (X.shape[1] + 6)
    check_memory(8 * n_cells, "the novelty of these rows in every tree")
    scores = score_distances(X, numbers, table, scaling, model, tail)
    contributions = np.empty((*numbers.shape, X.shape[1]))
    write_contributions(X, numbers, table, scaling, model, False, contributions)
    leaf = np.where(numbers == table.fallback, -1, numbers - table.first[:-1])
    return NoveltyDetail(
        leaf.astype(np.int32), scores.distances, scores.z, np.diff(table.begin)[numbers],
        contributions,
    )  # fmt: skip


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
    """The leaves of one row, as centres and covariances of two features, in units of X.

    Parameters
    ----------
    x : (1, n_features) float64
    numbers : (1, n_trees) int64
    table, scaling, model, tail : as in `gbuq_core.macau.novelty.score_novelty`
    features : two positions of features, the first for the horizontal axis
    trees : sequence of int, optional
        Which trees; all without it.

    Returns
    -------
    LeafEllipses
        Leaves in which one of the two features is missing throughout are left out.

    Raises
    ------
    InvalidData
        If there is not exactly one row.
    InvalidParameter
        If features or trees are not there.
    """
    if len(x) != 1:
        raise InvalidData(f"Ellipses are of the leaves of one row; X has {len(x)}: pass one.")
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
    covariance: np.ndarray = factor @ factor.transpose(0, 2, 1)
    return covariance


def _check_pair(features: Sequence[int], n_features: int) -> list[int]:
    """Two different positions of features."""
    given = list(features) if isinstance(features, Sequence | np.ndarray) else []
    if len(given) != 2:
        raise InvalidParameter(f"features must be two positions of features; got {features!r}.")
    pair = [check_number("features", feature, 0, n_features - 1, integer=True) for feature in given]
    if pair[0] == pair[1]:
        raise InvalidParameter(f"features must be two different ones; got {pair[0]} twice.")
    return pair


def _check_trees(trees: Any, n_trees: int) -> np.ndarray:
    """Positions of trees, all without any given."""
    if trees is None:
        return np.arange(n_trees)
    given = np.atleast_1d(np.asarray(trees)).tolist()
    if not given:
        raise InvalidParameter("trees must name at least one tree, or be None for all of them.")
    return np.array([check_number("trees", t, 0, n_trees - 1, integer=True) for t in given])
