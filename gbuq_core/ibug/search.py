"""From a fitted model and its training rows to any row's neighbours and their targets."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from gbuq_core.ibug.affinity import Neighbours, TrainLeaves, nearest, nearest_places, pack_leaves
from gbuq_core.ibug.results import Setting
from gbuq_core.jobs import check_memory, stage
from gbuq_core.methods import METHODS
from gbuq_core.metrics.neighbour_tuning import running_std
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.trees.importers import LeafSource
from gbuq_core.validation import check_choice, check_number

FloatArray = NDArray[np.float64]

TREE_ORDERS = METHODS["ibug"].knob("tree_order").choices
_PART = 4_000_000  # neighbours at a time: 64 MB of indices, affinities and targets


class Neighborhood(NamedTuple):
    """Rows with their nearest training rows, for any k up to the number that was asked for.

    The predicting methods of `IBUGRegressor` take it in place of X, so changing k, the family or
    the calibration needs no new search. Arrays but ``loc`` are (n_samples, k).
    """

    loc: FloatArray  # (n_samples,): the model's predictions
    indices: NDArray[np.int32]  # training rows by descending affinity, ties by ascending index
    affinities: NDArray[np.int32]  # trees in which the two rows share a leaf
    targets: FloatArray  # those of the training rows
    n_trees: int  # that counted: the largest possible affinity
    fit_id: int  # of the fit that these training rows belong to; another estimator refuses them
    tree_order: str  # which trees counted: the scale is calibrated for these
    # How many of the k places each neighbour takes at most, where training rows have weights. Then
    # a row may have more or fewer neighbours than places; 0 and index -1 mean none.
    weights: FloatArray | None = None

    @property
    def n_places(self) -> int:
        """The largest k that these neighbours fill."""
        if self.weights is None:
            return int(self.targets.shape[1])
        return int(np.floor(self.weights.sum(axis=1).min()))

    def places(self, n_neighbors: int) -> FloatArray | None:
        """How many of the k places each neighbour takes, (n_samples, n_columns); None: one each.

        The last one may take a part of its weight, and those after it take 0.
        """
        if self.weights is None:
            return None
        before = np.cumsum(self.weights, axis=1) - self.weights
        return np.clip(n_neighbors - before, 0.0, self.weights)

    def rows(self, n_neighbors: int) -> Neighbours:
        """Which training rows fill the first k places; -1 and affinity 0 stand for none."""
        places = self.places(n_neighbors)
        if places is None:
            return Neighbours(self.indices[:, :n_neighbors], self.affinities[:, :n_neighbors])
        used = places[:, : int((places > 0.0).sum(axis=1).max())] > 0.0
        near = self.indices[:, : used.shape[1]], self.affinities[:, : used.shape[1]]
        return Neighbours(
            np.where(used, near[0], np.int32(-1)), np.where(used, near[1], np.int32(0))
        )

    def nearest(self, n_neighbors: int) -> tuple[FloatArray, FloatArray | None]:
        """Targets of the first k places, and how many places each takes (None: one each).

        A target that takes no place is replaced by the nearest one, so that no extreme is its own.
        """
        places = self.places(n_neighbors)
        if places is None:
            return self.targets[:, :n_neighbors], None
        n_columns = int((places > 0.0).sum(axis=1).max())
        places, targets = places[:, :n_columns], self.targets[:, :n_columns]
        return np.where(places > 0.0, targets, targets[:, :1]), places


class ScalePath(NamedTuple):
    """The neighbours' std, uncalibrated, for several k: (n_k,) and (n_samples, n_k)."""

    n_neighbors: NDArray[np.int64]
    scale: FloatArray


class TreeChoice(NamedTuple):
    """Which trees count: the first, last or random ``n_trees``; (None, "first") for all."""

    n_trees: int | None
    order: str


class TrainingRows(NamedTuple):
    """Where the trees put the training rows, and their targets."""

    source: LeafSource  # the model's leaves and predictions (see `gbuq_core.trees.importers`)
    leaves: TrainLeaves  # where the training rows ended in each tree
    y: FloatArray  # (n_rows,)
    fit_id: int  # a checksum of both, by which a neighbourhood is known as one of these rows
    weight: FloatArray | None = None  # (n_rows,): how many rows each one counts as; None means one
    search: Callable[..., Neighbours] = nearest  # `nearest`, or what finds the same rows elsewhere

    def check_file(self) -> None:
        """Refuse targets and weights of other rows, and leaves of other trees."""
        n_rows = self.leaves.n_rows
        require(self.leaves.n_trees == self.source.n_trees, "its model has other trees")
        check_arrays(self, y=("finite", n_rows))
        require(n_rows >= 2 and self.y.min() < self.y.max(), "its targets are impossible")
        check_weight(self.weight, n_rows)
        same = self.fit_id == checksum(self.leaves, self.y, self.weight)
        require(same, "the number of its fit is of other rows")

    @property
    def n_places(self) -> int:
        """The largest k: the number of rows, or what they weigh together."""
        return count_places(len(self.y), self.weight)


def check_weight(weight: Any, n_rows: int) -> None:
    """Refuse weights of a file that are none: None, or (n_rows,) above 0."""
    if weight is not None:
        possible = weight.dtype == np.float64 and weight.shape == (n_rows,)
        possible = possible and bool((weight > 0.0).all()) and weight.sum() < 2.0**500
        require(possible, "a weight is impossible")


def count_places(n_rows: int, weight: FloatArray | None) -> int:
    """How many places the rows can fill: their number, or the sum of their weights, rounded down.

    >>> count_places(3, np.array([2.0, 0.5, 1.25]))
    3
    """
    return n_rows if weight is None else int(np.floor(weight.sum()))


def index_rows(
    source: LeafSource, X: Any, y: FloatArray, weight: FloatArray | None = None
) -> TrainingRows:
    """Keep the leaves of the training rows X (n_rows, n_features) with targets and weights."""
    leaves = pack_leaves(source.leaf_chunks(X), len(y))
    return TrainingRows(source, leaves, y, checksum(leaves, y, weight), weight)


def checksum(leaves: TrainLeaves, y: FloatArray, weight: FloatArray | None = None) -> int:
    """A number that tells these training rows from others."""
    fit_id = 0
    of_weight = () if weight is None else (weight,)
    for part in (y, leaves.planes.low, leaves.planes.high, leaves.lookup, *of_weight):
        fit_id = zlib.crc32(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data, fit_id)
    return fit_id


def find_neighborhood(
    rows: TrainingRows, X: Any, k: int, choice: TreeChoice, seed: int, n_jobs: int | None
) -> Neighborhood:
    """The k nearest training rows of each row of X; ``seed`` is that of random trees."""
    n_rows = len(X)
    trees = select_trees(rows.leaves.n_trees, choice.n_trees, choice.order, seed)
    check_memory(n_rows * (16 * k + 8), "these neighbours")
    if rows.weight is not None:
        return _find_weighted(rows, rows.weight, X, k, choice, trees, n_jobs)
    indices = np.empty((n_rows, k), np.int32)
    affinities = np.empty((n_rows, k), np.int32)
    first = 0
    with stage(n_rows):
        for leaves in rows.source.leaf_chunks(X):
            here = slice(first, first + len(leaves))
            with stage(1, span=len(leaves)):
                indices[here], affinities[here] = rows.search(rows.leaves, leaves, k, trees, n_jobs)
            first = here.stop
    loc = rows.source.predict(X)
    n_trees = rows.leaves.n_trees if trees is None else len(trees)
    targets = rows.y[indices]
    return Neighborhood(loc, indices, affinities, targets, n_trees, rows.fit_id, choice.order)


def _find_weighted(
    rows: TrainingRows,
    weight: FloatArray,
    X: Any,
    k: int,
    choice: TreeChoice,
    trees: NDArray[np.intp] | None,
    n_jobs: int | None,
) -> Neighborhood:
    """The training rows that fill k places, which are as many columns as one row needs."""
    parts = []
    with stage(len(X)):
        for leaves in rows.source.leaf_chunks(X):
            with stage(1, span=len(leaves)):
                parts.append(
                    nearest_places(rows.leaves, leaves, k, weight, trees, n_jobs, rows.search)
                )
    indices = stack_columns([part.indices for part in parts], -1)
    affinities = stack_columns([part.affinities for part in parts], 0)
    n_trees = rows.leaves.n_trees if trees is None else len(trees)
    return Neighborhood(
        rows.source.predict(X),
        indices,
        affinities,
        rows.y[indices],
        n_trees,
        rows.fit_id,
        choice.order,
        weights_at(weight, indices),
    )


def weights_at(weight: FloatArray, indices: NDArray[Any]) -> FloatArray:
    """The weights of training rows by position; 0 at -1."""
    return np.where(indices >= 0, weight[indices], 0.0)


def stack_columns(parts: list[NDArray[Any]], fill: float) -> NDArray[Any]:
    """Rows below each other, filled up on the right where some have fewer columns.

    >>> stack_columns([np.array([[1, 2]]), np.array([[3]])], -1)
    array([[ 1,  2],
           [ 3, -1]])
    """
    widths = {part.shape[1] for part in parts}
    if len(widths) == 1:
        return np.concatenate(parts)
    widest = max(widths)
    filled = [
        np.pad(part, ((0, 0), (0, widest - part.shape[1])), constant_values=fill) for part in parts
    ]
    return np.concatenate(filled)


def select_trees(
    n_trees: int, n_sampled: int | None, order: str, seed: int
) -> NDArray[np.intp] | None:
    """The trees that count: all, the first, the last, or the first of one random permutation."""
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
    """As many rows at a time as bound the memory of their neighbours."""
    step = max(1, _PART // n_neighbors)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def row_parts(X: Any, n_neighbors: int) -> Iterator[Any]:
    """Rows of an array, a frame or a neighbourhood, some at a time (see `parts_of`)."""
    if isinstance(X, Neighborhood):
        width = n_neighbors if X.weights is None else X.targets.shape[1]
        for part in parts_of(len(X.loc), width):
            cells = part, slice(width)
            yield X._replace(
                loc=X.loc[part],
                indices=X.indices[cells],
                affinities=X.affinities[cells],
                targets=X.targets[cells],
                weights=None if X.weights is None else X.weights[part],
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
    loc = np.concatenate([part.loc for part in parts])
    weights = [part.weights for part in parts if part.weights is not None]
    return parts[0]._replace(
        loc=loc,
        indices=stack_columns([part.indices for part in parts], -1),
        affinities=stack_columns([part.affinities for part in parts], 0),
        targets=stack_columns([part.targets for part in parts], 0.0),
        weights=stack_columns(weights, 0.0) if weights else None,
    )


def scale_of(
    targets: FloatArray, setting: Setting, weights: FloatArray | None = None
) -> FloatArray:
    """The calibrated scale (n_samples,) of a `Neighborhood`'s targets and weights."""
    k, least, gamma, delta = setting
    return gamma * np.maximum(running_std(targets, [k], weights)[:, 0], least) + delta
