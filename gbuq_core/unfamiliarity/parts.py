"""The measures that know what is unfamiliar, each learnt from the training rows of a fold.

Larger values are less familiar. Each measure fails somewhere: see `UnfamiliarityScore`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.ibug.affinity import Neighbours, nearest, pack_leaves
from gbuq_core.jobs import advance, stage
from gbuq_core.lazy import import_optional
from gbuq_core.macau import MacauClassifier, MacauRegressor
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.trees.importers.lightgbm_calls import predict_booster, shared_threads
from gbuq_core.unfamiliarity.rows import (
    Columns,
    EncodedRows,
    Space,
    find_promising,
    find_strange,
    matrix_columns,
    point_columns,
)

PARTS = ("range", "novelty", "distance", "affinity", "knowledge")

N_NEAREST = 10
N_AFFINE = 20
N_MODELS, N_MODEL_TREES = 5, 200
_AFFINITY_TREES = 200
_NOVELTY_TREES = 100
_FEWEST_TREES = 10
_MANY_ROWS, _FEW_AXES = 4500, 15  # then neighbours need not be the nearest
_OF_SAMPLES = 0.3  # of the trees
_MOST_NOVELTY_WORK = 3e9  # products for the covariances of the leaves and their inverses
_MOST_LEAVES = 31
_MOST_CLASSES = 10  # more are numbers to the forests, whose trees would be too many
_BLOCK_ROWS = 4096


class Learning(NamedTuple):
    """What a fold learns from."""

    columns: Columns
    space: Space
    rows: EncodedRows
    y: NDArray[np.float64]  # (n,) float64: targets, or class codes from 0
    n_classes: int  # 0 for a regression
    seed: int
    n_jobs: int | None
    is_sample: bool = False  # of a larger table, in which few trees say what is ordinary


class _Beyond:
    """Measures whose values are distances: twice the largest value is twice as far."""

    def distances(self, rows: EncodedRows, values: NDArray[np.float64]) -> Any:
        """The values."""
        return np.maximum(values, 0.0)


class RangePart:
    """Numbers outside the range of the training rows, new categories and new missing values.

    A number counts by its distance to the range in stds; a new category or gap by its surprise,
    ``-log`` of the share of the reference rows that have one in this column.
    """

    _surprise: NDArray[np.float64]
    _not_saved = ("_columns", "_space")

    def __init__(self, learning: Learning, reference: EncodedRows) -> None:
        self._columns, self._space = learning.columns, learning.space
        strange = self._strange(reference)
        n = len(reference.raw)
        self._surprise = -np.log((strange.sum(axis=0) + 1.0) / (n + 1.0))

    def restore(self, columns: Columns, space: Space, rows: EncodedRows, n_jobs: int) -> None:
        """Complete a part of a file by the rows that it was learnt from."""
        check_arrays(self, _surprise=("finite", len(columns.names)))
        require((self._surprise >= 0.0).all(), "its ranges are impossible")
        self._columns, self._space = columns, space

    def measure(self, rows: EncodedRows) -> NDArray[np.float64]:
        """The largest of a row's columns, (n,)."""
        return self.shares(rows).max(axis=1, initial=0.0)

    def distances(self, rows: EncodedRows, values: NDArray[np.float64]) -> Any:
        """To the middle of the range, in halves of the range."""
        space = self._space
        half = 0.5 * space.high - 0.5 * space.low
        usable = half > 0.0
        middle = space.low[usable] + half[usable]
        with np.errstate(over="ignore"):
            distance = np.abs(rows.raw.numbers[:, usable] - middle) / half[usable]
        return np.nan_to_num(distance, nan=0.0).max(axis=1, initial=0.0)

    def shares(self, rows: EncodedRows) -> NDArray[np.float64]:
        """How far each of the table's columns is outside, (n, n_columns)."""
        space, x = self._space, rows.raw.numbers
        out = np.zeros((len(x), len(self._columns.names)))
        with np.errstate(over="ignore"):
            excess = np.maximum(np.maximum(space.low - x, x - space.high), 0.0) / space.spread
        out[:, self._columns.numbers] = np.nan_to_num(excess, nan=0.0)
        return np.maximum(out, self._strange(rows) * self._surprise)

    def _strange(self, rows: EncodedRows) -> NDArray[np.bool_]:
        return find_strange(self._columns, self._space, rows.raw)


def count_novelty_trees(n_rows: int, n_features: int) -> int:
    """How many trees `NoveltyPart` can afford, 100 at most; 0 where ten would take too long.

    >>> count_novelty_trees(800, 8), count_novelty_trees(8000, 100), count_novelty_trees(80, 1000)
    (100, 33, 0)
    """
    n_leaves = min(_MOST_LEAVES, n_rows // _leaf_rows(n_rows))
    work = n_features**2 * (n_rows + n_leaves * n_features / 3.0)
    n_trees = int(min(_MOST_NOVELTY_WORK / max(work, 1.0), _NOVELTY_TREES))
    return n_trees if n_trees >= _FEWEST_TREES else 0


class NoveltyPart(_Beyond):
    """MACAU's novelty: distances to the training rows of the same leaves of a forest."""

    _model: MacauRegressor | MacauClassifier
    _not_saved = ("_of", "_n_columns")

    def __init__(self, learning: Learning) -> None:
        n, p = learning.rows.matrix.shape
        n_classes = _forest_classes(learning)
        n_trees = max(_FEWEST_TREES, int(_trees(learning, count_novelty_trees(n, p))))
        kind = MacauClassifier if n_classes else MacauRegressor
        if n_classes > 2:
            n_trees = max(_FEWEST_TREES, n_trees // n_classes)
        # Novelty does not depend on the models in the leaves: the quick ones will do.
        self._model = kind(
            leaf_model="basic",
            n_trees=n_trees,
            max_leaves=_MOST_LEAVES,
            min_child_samples=_leaf_rows(n),
            random_state=learning.seed,
            n_jobs=learning.n_jobs,
        )
        y = learning.y.astype(np.int64) if n_classes else learning.y
        self._model.fit(learning.rows.matrix, y)
        self._of = matrix_columns(learning.columns, learning.space)
        self._n_columns = len(learning.columns.names)

    def restore(self, columns: Columns, space: Space, rows: EncodedRows, n_jobs: int) -> None:
        """Complete a part of a file by the rows that it was learnt from."""
        same = self._model.n_features_in_ == rows.matrix.shape[1]
        require(same, "its forest has other columns")
        self._of, self._n_columns = matrix_columns(columns, space), len(columns.names)

    def measure(self, rows: EncodedRows) -> NDArray[np.float64]:
        """The mean z-score over the trees, (n,)."""
        return self._model.score_novelty(rows.matrix).novelty

    def shares(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Shapley values of the squared distance, (n, n_columns)."""
        return _by_column(self._model.explain_novelty(rows.matrix), self._of, self._n_columns)


class DistancePart(_Beyond):
    """Mean distance to the ten nearest training rows, in stds; categories by mismatch."""

    _not_saved = ("_points", "_near", "_of", "_n_columns")

    def __init__(self, learning: Learning) -> None:
        self._learn(learning.columns, learning.space, learning.rows)

    def _learn(self, columns: Columns, space: Space, rows: EncodedRows) -> None:
        self._points = rows.points
        self._near = _Nearest(rows.points)
        self._of = point_columns(columns, space)
        self._n_columns = len(columns.names)

    def restore(self, columns: Columns, space: Space, rows: EncodedRows, n_jobs: int) -> None:
        """Complete a part of a file by the rows that it was learnt from."""
        self._learn(columns, space, rows)

    def measure(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Mean distances, (n,)."""
        parts = []
        for block in _blocks(rows.points):
            parts.append(self._near.find(block)[0].mean(axis=1, dtype=np.float64))
            advance(0.0)
        return np.concatenate(parts)

    def shares(self, rows: EncodedRows) -> NDArray[np.float64]:
        """Mean squared differences to the nearest rows, (n, n_columns)."""
        parts = []
        for block in _blocks(rows.points, 512):
            near = self._near.find(block)[1]
            squared = np.square(self._points[near] - block[:, None, :], dtype=np.float64)
            parts.append(_by_column(squared.mean(axis=1), self._of, self._n_columns))
            advance(0.0)
        return np.concatenate(parts)


class _Nearest:
    """The ten nearest of some points; of many points in few columns, ten of the nearest.

    Their distances are then at most twice those of the nearest ones. On ordinary rows, mean
    distances correlate by 0.998 with the exact ones, and take an eighth of the time.
    """

    def __init__(self, points: NDArray[np.float32]) -> None:
        from scipy.spatial import KDTree
        from sklearn.neighbors import NearestNeighbors

        k = min(N_NEAREST, len(points))
        if len(points) > _MANY_ROWS and points.shape[1] <= _FEW_AXES:
            tree = KDTree(points)
            self.find = lambda rows: tree.query(rows, k, eps=1.0)
        else:
            self.find = NearestNeighbors(n_neighbors=k).fit(points).kneighbors


class AffinityPart:
    """One minus the share of boosted trees in which the nearest rows by IBUG share a leaf."""

    _booster: Annotated[Any, "lightgbm.Booster"]
    _not_saved = ("_n_jobs", "_leaves")

    def __init__(self, learning: Learning) -> None:
        lightgbm = import_optional("lightgbm")
        n_classes = _forest_classes(learning)
        settings: dict[str, Any] = {"objective": "regression"}
        y = learning.y
        n_rounds = max(_FEWEST_TREES, int(_trees(learning, _AFFINITY_TREES)))
        if n_classes == 2:
            settings = {"objective": "binary"}
        elif n_classes > 2:
            settings = {"objective": "multiclass", "num_class": n_classes}
            n_rounds = max(_FEWEST_TREES, n_rounds // n_classes)
        else:  # LightGBM's targets are float32
            y = (y - y.mean()) / (float(np.std(y)) or 1.0)
        settings |= {
            "num_leaves": 31,
            "min_data_in_leaf": _leaf_rows(len(y)),
            "seed": learning.seed % 2**31,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        with shared_threads(learning.n_jobs) as number:
            quiet = {"verbosity": -1, "num_threads": number}
            # Columns of one value alone take no time.
            read = find_promising(learning.rows.matrix, learning.y, n_classes)
            matrix = learning.rows.matrix
            matrix = matrix if read.all() else np.where(read, matrix, 0.0)
            data = lightgbm.Dataset(matrix, label=y, params=quiet)
            self._booster = lightgbm.train(
                {**settings, "num_threads": number},
                data,
                n_rounds,
                callbacks=[lambda now: advance(0.0)],
            )
        self._n_jobs = learning.n_jobs
        self._leaves = pack_leaves(self._leaf_matrix(learning.rows.matrix))

    def restore(self, columns: Columns, space: Space, rows: EncodedRows, n_jobs: int) -> None:
        """Complete a part of a file by the rows that it was learnt from."""
        same = self._booster.num_feature() == rows.matrix.shape[1]
        require(same, "its trees have other columns")
        self._n_jobs = n_jobs
        self._leaves = pack_leaves(self._leaf_matrix(rows.matrix))

    def measure(self, rows: EncodedRows) -> NDArray[np.float64]:
        """One minus the mean affinity of the nearest rows as a share of the trees, (n,)."""
        neighbours = self.nearest(rows, min(N_AFFINE, self._leaves.n_rows))
        return 1.0 - neighbours.affinities.mean(axis=1) / self._leaves.n_trees

    def nearest(self, rows: EncodedRows, k: int) -> Neighbours:
        """The k rows of the fold that share most leaves with each row."""
        return nearest(self._leaves, self._leaf_matrix(rows.matrix), k, n_jobs=self._n_jobs)

    def distances(self, rows: EncodedRows, values: NDArray[np.float64]) -> Any:
        """Zeros: rows that share no leaf are as far as it can tell."""
        return np.zeros(len(values))

    def shares(self, rows: EncodedRows) -> None:
        """Cannot tell."""

    def _leaf_matrix(self, matrix: NDArray[np.float64]) -> NDArray[np.int32]:
        leaves = predict_booster(self._booster, matrix, self._n_jobs, pred_leaf=True)
        return np.ascontiguousarray(leaves.reshape(len(matrix), -1), dtype=np.int32)


class KnowledgePart(_Beyond):
    """Knowledge uncertainty of independent models: how much they disagree."""

    _model: BoostedEnsembleRegressor | BoostedEnsembleClassifier
    _not_saved = ()

    def __init__(self, learning: Learning) -> None:
        kind = BoostedEnsembleClassifier if learning.n_classes else BoostedEnsembleRegressor
        self._model = kind(
            ensemble="independent",
            n_members=N_MODELS,
            n_trees=int(_trees(learning, N_MODEL_TREES)),
            stopping=None,
            random_state=learning.seed,
            n_jobs=learning.n_jobs,
        )
        y = learning.y.astype(np.int64) if learning.n_classes else learning.y
        self._model.fit(learning.rows.matrix, y)

    def restore(self, columns: Columns, space: Space, rows: EncodedRows, n_jobs: int) -> None:
        """Complete a part of a file by the rows that it was learnt from."""
        same = self._model.n_features_in_ == rows.matrix.shape[1]
        require(same, "its models have other columns")

    def measure(self, rows: EncodedRows) -> NDArray[np.float64]:
        """As a std of the target, or the root of nats, (n,)."""
        parts = [
            np.sqrt(np.maximum(self._model.predict_uncertainty(block).knowledge, 0.0))
            for block in _blocks(rows.matrix)
        ]
        return np.concatenate(parts)

    def shares(self, rows: EncodedRows) -> None:
        """Cannot tell."""


AnyPart = RangePart | NoveltyPart | DistancePart | AffinityPart | KnowledgePart
KINDS_OF_PARTS: dict[str, Any] = dict(
    zip(PARTS, (RangePart, NoveltyPart, DistancePart, AffinityPart, KnowledgePart), strict=True)
)


def fit_parts(
    names: Sequence[str], learning: Learning, reference: EncodedRows
) -> dict[str, AnyPart]:
    """The measures of a fold by their names."""
    parts = {}
    for name in names:
        with stage(1.0, span=1.0):
            more = (reference,) if name == "range" else ()
            parts[name] = KINDS_OF_PARTS[name](learning, *more)
    return parts


def _forest_classes(learning: Learning) -> int:
    """Classes of the forests; 0 where their targets are numbers."""
    return learning.n_classes if learning.n_classes <= _MOST_CLASSES else 0


def _trees(learning: Learning, usual: int) -> float:
    return _OF_SAMPLES * usual if learning.is_sample else usual


def _leaf_rows(n: int) -> int:
    """Fewest rows of a leaf: as in the papers, and fewer in small tables."""
    return int(np.clip(n // 20, 2, 20))


def _blocks(matrix: NDArray[Any], size: int = _BLOCK_ROWS) -> list[NDArray[Any]]:
    return [matrix[start : start + size] for start in range(0, len(matrix), size)]


def _by_column(
    values: NDArray[np.float64], of: NDArray[np.int64], n_columns: int
) -> NDArray[np.float64]:
    """Sums of features over the columns that they come from, (n, n_columns)."""
    out = np.zeros((len(values), n_columns))
    np.add.at(out.T, of, values.T)
    return out
