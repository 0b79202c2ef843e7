"""From a fitted model and its training rows to any row's neighbours and their targets."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from gbuq_core.ibug.affinity import TrainLeaves, nearest, pack_leaves
from gbuq_core.jobs import check_memory, stage
from gbuq_core.metrics.neighbour_tuning import running_std
from gbuq_core.trees.importers import LeafSource
from gbuq_core.validation import check_choice, check_number

FloatArray = NDArray[np.float64]

TREE_ORDERS = ("first", "last", "random")
_PART = 4_000_000  # neighbours at a time: 64 MB of indices, affinities and targets


class Neighborhood(NamedTuple):
    """Rows with their nearest training rows, for any k up to the number that was asked for.

    The predicting methods of `IBUGRegressor` take it in place of X, so changing k, the family or
    the calibration needs no new search.

    Attributes
    ----------
    loc : ndarray of shape (n_samples,)
        The model's predictions.
    indices : ndarray of shape (n_samples, k), int32
        Training rows by descending affinity, ties by ascending index.
    affinities : ndarray of shape (n_samples, k), int32
        Trees in which the two rows share a leaf.
    targets : ndarray of shape (n_samples, k)
        The training rows' targets.
    n_trees : int
        The trees that counted: the largest possible affinity.
    fit_id : int
        Identifies the fit that these training rows belong to; another estimator refuses them.
    tree_order : {"first", "last", "random"}
        Which trees counted: the scale is calibrated for these.
    """

    loc: FloatArray
    indices: NDArray[np.int32]
    affinities: NDArray[np.int32]
    targets: FloatArray
    n_trees: int
    fit_id: int
    tree_order: str


class Setting(NamedTuple):
    """What turns neighbours' targets into a scale: ``gamma * max(std, min_scale) + delta``."""

    n_neighbors: int
    min_scale: float
    gamma: float
    delta: float


class ScalePath(NamedTuple):
    """The neighbours' std, uncalibrated, for several k: (n_k,) and (n_samples, n_k)."""

    n_neighbors: NDArray[np.int64]
    scale: FloatArray


class TreeChoice(NamedTuple):
    """Which trees count: the first, last or random ``n_trees``; (None, "first") for all."""

    n_trees: int | None
    order: str


class TrainingRows(NamedTuple):
    """Where the trees put the training rows, and their targets.

    source : the model's leaves and predictions (see `gbuq_core.trees.importers`)
    leaves : TrainLeaves; y : (n_rows,)
    fit_id : a checksum of both, by which a neighbourhood is known as one of these rows
    """

    source: LeafSource
    leaves: TrainLeaves
    y: FloatArray
    fit_id: int


def index_rows(source: LeafSource, X: Any, y: FloatArray) -> TrainingRows:
    """Keep the leaves of the training rows X (n_rows, n_features) with their targets."""
    leaves = pack_leaves(source.leaf_chunks(X), len(y))
    return TrainingRows(source, leaves, y, checksum(leaves, y))


def checksum(leaves: TrainLeaves, y: FloatArray) -> int:
    """A number that tells these training rows from others."""
    fit_id = 0
    for part in (y, leaves.planes.low, leaves.planes.high, leaves.lookup):
        fit_id = zlib.crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, fit_id)
    return fit_id


def find_neighborhood(
    rows: TrainingRows, X: Any, k: int, choice: TreeChoice, seed: int, n_jobs: int | None
) -> Neighborhood:
    """The k nearest training rows of each row of X (n_samples, n_features), some rows at a time.

    ``seed`` is that of random trees.
    """
    n_rows = len(X)
    trees = select_trees(rows.leaves.n_trees, choice.n_trees, choice.order, seed)
    check_memory(n_rows * (16 * k + 8), "these neighbours")
    indices = np.empty((n_rows, k), np.int32)
    affinities = np.empty((n_rows, k), np.int32)
    first = 0
    with stage(n_rows):
        for leaves in rows.source.leaf_chunks(X):
            here = slice(first, first + len(leaves))
            with stage(1, span=len(leaves)):
                indices[here], affinities[here] = nearest(rows.leaves, leaves, k, trees, n_jobs)
            first = here.stop
    loc = rows.source.predict(X)
    n_trees = rows.leaves.n_trees if trees is None else len(trees)
    targets = rows.y[indices]
    return Neighborhood(loc, indices, affinities, targets, n_trees, rows.fit_id, choice.order)


def select_trees(
    n_trees: int, n_sampled: int | None, order: str, seed: int
) -> NDArray[np.intp] | None:
    """The trees that count: all (None), or the first, last or random ``n_sampled`` of them.

    Random ones are the first of one permutation, so that more trees add to those before.

    References
    ----------
    Brophy and Lowd (IBUG, 2022), section 4.1.

    Examples
    --------
    >>> select_trees(5, 2, "last", 0)
    array([4, 3])
    """
    check_choice("tree_order", order, TREE_ORDERS)
    if n_sampled is None:
        return None
    count = check_number("n_trees_sampled", n_sampled, 1, n_trees, integer=True)
    if count == n_trees:
        return None
    if order == "random":
        return np.random.default_rng(seed).permutation(n_trees)[:count]
    every = np.arange(n_trees)
    return every[:count] if order == "first" else every[::-1][:count]


def parts_of(n_rows: int, n_neighbors: int) -> Iterator[slice]:
    """As many rows at a time as bound the memory of their neighbours.

    Examples
    --------
    >>> list(parts_of(5, 4_000_000 // 3))
    [slice(0, 3, None), slice(3, 5, None)]
    """
    step = max(1, _PART // n_neighbors)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def row_parts(X: Any, n_neighbors: int) -> Iterator[Any]:
    """Rows of an array, a frame or a neighbourhood, some at a time (see `parts_of`)."""
    if isinstance(X, Neighborhood):
        for part in parts_of(len(X.loc), n_neighbors):
            yield X._replace(
                loc=X.loc[part],
                indices=X.indices[part, :n_neighbors],
                affinities=X.affinities[part, :n_neighbors],
                targets=X.targets[part, :n_neighbors],
            )
        return
    take = X.iloc if hasattr(X, "iloc") else X
    for part in parts_of(len(X), n_neighbors):
        yield take[part]


def count_rows(X: Any) -> int:
    """How many rows an array, a frame or a neighbourhood has."""
    return len(X.loc) if isinstance(X, Neighborhood) else int(_num_samples(X))


def join_neighborhoods(parts: list[Neighborhood]) -> Neighborhood:
    """The rows of all parts, which are of one search."""
    if len(parts) == 1:
        return parts[0]
    columns = zip(*(part[:4] for part in parts), strict=True)
    loc, indices, affinities, targets = (np.concatenate(column) for column in columns)
    return Neighborhood(loc, indices, affinities, targets, *parts[0][4:])


def scale_of(targets: FloatArray, setting: Setting) -> FloatArray:
    """The calibrated scale (n_samples,) of neighbours' targets (n_samples, k or more)."""
    k, least, gamma, delta = setting
    return gamma * np.maximum(running_std(targets, [k])[:, 0], least) + delta
