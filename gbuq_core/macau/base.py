"""What the regressor and the classifier share: knobs, rows, the forest's leaves, novelty."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import begins
from gbuq_core.errors import InvalidData
from gbuq_core.inputs import (
    check_fit_data,
    check_new_rows,
    check_sample_weight,
    draw_seed,
    read_numbers,
)
from gbuq_core.macau import novelty
from gbuq_core.macau.forest import ForestKnobs, check_knobs, find_forest, rows_for
from gbuq_core.macau.leaves import (
    LeafScaling,
    LeafTable,
    Members,
    fit_scaling,
    make_leaf_table,
    number_leaves,
)
from gbuq_core.macau.levels import LevelColumns, find_columns
from gbuq_core.macau.novelty import (
    LeafQuantiles,
    MeasuredNovelty,
    NoveltyModel,
    PredictedNovelty,
    mean_novelty,
    measure_rows,
)
from gbuq_core.macau.results import LeafEllipses, MeanNovelty, Novelty, NoveltyDetail
from gbuq_core.methods import METHODS
from gbuq_core.model_files.contents import check_arrays, check_places, require
from gbuq_core.model_files.fields import Savable
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance, stage
from gbuq_core.resources import check_memory, held_bytes
from gbuq_core.trees.importers import LeafSource
from gbuq_core.trees.importers.importances import source_importances
from gbuq_core.trees.importers.paths import leaf_paths
from gbuq_core.validation import check_choice

LEAF_MODELS = METHODS["macau"].knob("leaf_model").choices
COMBINATIONS = ("variance", "std")
_BLOCK_CELLS = 4_000_000  # rows x trees that are located at a time
_SHARE_CELLS = 200_000  # rows x trees of one share of a thread


class Located(NamedTuple):
    """New rows X (n, n_features) float64 and the numbers of their leaves (n, n_trees) int64."""

    X: np.ndarray
    numbers: np.ndarray


class LeafModels(Savable, BaseEstimator):
    """Base of the estimators, with their common knobs; not for use by itself."""

    seed_: int
    forest_: LeafSource
    fit_seconds_: float
    _columns: LevelColumns | None
    _importances: np.ndarray
    _scaling: LeafScaling
    _distances: NoveltyModel
    _table: LeafTable
    _not_saved = ("n_leaves_", "memory_bytes_", "_model_table")

    def __init__(
        self,
        leaf_model: str,
        base_model: Any,
        combine: str,
        tail: str,
        n_trees: int,
        max_leaves: int,
        min_child_samples: int,
        subsample: float,
        n_jobs: int | None,
        random_state: Any,
    ) -> None:
        self.leaf_model = leaf_model
        self.base_model = base_model
        self.combine = combine
        self.tail = tail
        self.n_trees = n_trees
        self.max_leaves = max_leaves
        self.min_child_samples = min_child_samples
        self.subsample = subsample
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_leaf_models(self, X: np.ndarray, target: np.ndarray) -> None:
        """Fit the models of all leaves to rows X and targets or class codes (n,)."""
        raise NotImplementedError

    def _write_members(self, rows: Located, means: np.ndarray, variances: np.ndarray) -> None:
        """Write means and variances (n, n_trees) of rows by their leaves' models."""
        raise NotImplementedError

    def _training_values(self, X: np.ndarray) -> np.ndarray:
        """What inference novelty compares, of all training rows in their leaves, (table.rows,)."""
        raise NotImplementedError

    def _inference_values(self, members: Members) -> np.ndarray:
        """The same of new rows, (n, n_trees)."""
        return members.means

    def _begin(
        self, X: Any, y: Any, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, ForestKnobs]:
        """Check the knobs and the data; return X as numbers, the raw target and the knobs."""
        self.__dict__.pop("_table", None)  # a fit that fails leaves no half of the one before
        check_choice("leaf_model", self.leaf_model, LEAF_MODELS)
        check_choice("combine", self.combine, COMBINATIONS)
        check_choice("tail", self.tail, novelty.TAILS)
        self.seed_ = draw_seed(self.random_state)
        knobs = ForestKnobs(
            self.n_trees,
            self.max_leaves,
            self.min_child_samples,
            self.subsample,
            self.seed_ % 2**31,
            self.n_jobs,
        )
        check_knobs(knobs)
        table, target = check_fit_data(self, X, y)
        self._columns = find_columns(self.base_model, X)
        return *_repeat_rows(self._read(table), target, sample_weight), knobs

    def _read(self, table: pd.DataFrame) -> np.ndarray:
        """A table as numbers (n, n_encoded): one column for each level of text and categories."""
        if self._columns is None:
            return read_matrix(table)
        is_level = np.array([levels is not None for levels in self._columns.levels])
        return self._columns.encode(read_matrix(table, ~is_level), table)

    def _fit_leaves(
        self, X: np.ndarray, target: np.ndarray, labels: Any, n_classes: int, knobs: ForestKnobs
    ) -> None:
        """Find the forest by ``labels``, and fit everything in its leaves to ``target``."""
        with stage(4.0):
            values = target if self.base_model is None and n_classes else labels
            names = getattr(self, "feature_names_in_", None)
            if names is not None and self._columns is not None:
                names = self._columns.names(names)
            rows = X if names is None else pd.DataFrame(X, columns=list(names))
            with stage(1.0, span=1.0):
                source = find_forest(self.base_model, rows, values, n_classes, knobs)
            leaves = source.leaf_matrix(rows_for(source, X))
            table = make_leaf_table(leaves, source, leaf_paths(source))
            self._scaling = fit_scaling(X, table, self.n_jobs)
            self.forest_ = source
            self._importances = source_importances(source)
            self.n_leaves_ = int(table.first[-1])
            self._table = table
            try:
                with stage(table.n_trees, span=1.5):
                    self._fit_leaf_models(X, target)
                with stage(table.n_trees, span=1.5):
                    self._fit_novelty(X)
            except BaseException:
                self.__dict__.pop("_table", None)
                raise

    def _fit_novelty(self, X: np.ndarray) -> None:
        self._distances = novelty.fit_novelty(X, self._table, self._scaling, self.n_jobs)
        self._quantiles: LeafQuantiles = novelty.fit_inference(
            self._training_values(X), self._table, self.n_jobs
        )

    def _end(self, began: float) -> None:
        self.memory_bytes_ = held_bytes(
            [value for name, value in self.__dict__.items() if name.startswith("_")]
        )
        self.fit_seconds_ = time.perf_counter() - began

    def _by_leaf(self, fn: Callable[[int, int], None]) -> None:
        """``fn(low, high)`` for the leaves of every tree, in several threads."""
        bounds = [*self._table.first.tolist(), self._table.n_leaves]  # last: the leaf of all rows

        def work(span: int) -> None:
            fn(bounds[span], bounds[span + 1])
            advance(1.0 if span < self._table.n_trees else 0.0)

        parallel_map(work, range(len(bounds) - 1), self.n_jobs)

    def _blocks(self, X: Any) -> Iterator[Located]:
        """New rows with their leaves, block by block."""
        check_is_fitted(self, "_table")
        matrix = self._read(check_new_rows(self, X))
        size = max(1, _BLOCK_CELLS // self._table.n_trees)
        for start in range(0, len(matrix), size):
            part = matrix[start : start + size]
            leaves = self.forest_.leaf_matrix(rows_for(self.forest_, part))
            yield Located(part, number_leaves(self._table, leaves))

    def _members(self, rows: Located) -> Members:
        means, variances = np.empty(rows.numbers.shape), np.empty(rows.numbers.shape)
        size = max(1, _SHARE_CELLS // self._table.n_trees)

        def work(start: int) -> None:
            share = slice(start, start + size)
            part = Located(rows.X[share], rows.numbers[share])
            self._write_members(part, means[share], variances[share])
            advance(0.0)

        parallel_map(work, range(0, len(means), size), self.n_jobs)
        if not (np.isfinite(means).all() and np.isfinite(variances).all()):
            raise InvalidData(
                "X holds values so far from the training rows that linear leaf models overflow: "
                "check the units of its columns."
            )
        return Members(means, variances)

    def check_file(self) -> None:
        """Refuse leaves that are not those of the forest; kernels look nothing up."""
        source, table = self.forest_, self._table
        known = self.leaf_model in LEAF_MODELS and self.combine in COMBINATIONS
        require(known and self.tail in novelty.TAILS, "a parameter is impossible")
        classifies = source.task == "classification"
        require(classifies == hasattr(self, "classes_"), "its forest is for another task")
        n_encoded = self.n_features_in_ if self._columns is None else len(self._columns.owner)
        n_columns = n_encoded if self._columns is None else len(self._columns.levels)
        same = source.n_features == n_encoded and n_columns == self.n_features_in_
        require(same, "its forest has other columns")
        same = np.array_equal(table.first, begins(source.leaf_counts))
        require(same, "its leaves are not those of its forest")
        check_places(table.path, n_encoded, "a feature")
        check_arrays(self, _importances=("finite", n_encoded))
        form = ("number", table.n_leaves, n_encoded)
        check_arrays(self._scaling, median=form, centre=form, scale=form)
        self._distances.check_against(table, n_encoded)
        self.n_leaves_ = int(table.first[-1])
        seconds = self.fit_seconds_
        self._end(0.0)
        self.fit_seconds_ = seconds

    @property
    def feature_importances_(self) -> np.ndarray:
        """The forest's own importances (n_features,), divided by their sum."""
        check_is_fitted(self, "_table")
        return self._by_column(self._importances).copy()

    def _by_column(self, values: np.ndarray) -> np.ndarray:
        """Parts of encoded columns (..., n_encoded) added up to those of the columns of X."""
        return values if self._columns is None else self._columns.sum_up(values)

    def score_novelty(self, X: Any) -> Novelty:
        """How much each row differs from the training rows.

        Three z-scores, means over the trees, and their spreads; (n_samples,) each.
        """
        parts = []
        for rows in self._blocks(X):
            values = self._inference_values(self._members(rows))
            parts.append(
                novelty.score_novelty(
                    rows.X,
                    rows.numbers,
                    values,
                    self._table,
                    self._scaling,
                    self._distances,
                    self._quantiles,
                    self.tail,
                    self.n_jobs,
                )
            )
        return Novelty(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _predicted(self, rows: Located) -> list[PredictedNovelty]:
        """What inference novelty compares, of all rows."""
        values = self._inference_values(self._members(rows))
        return [PredictedNovelty(np.arange(len(rows.X)), values, rows.numbers, self._quantiles)]

    def measure_novelty(self, X: Any) -> tuple[MeasuredNovelty, ...]:
        """Distances and predictions of rows in every tree, block by block, for `mean_novelty`."""
        return tuple(
            measure_rows(
                rows.X,
                rows.numbers,
                self._predicted(rows),
                self._table,
                self._scaling,
                self._distances,
                self.n_jobs,
            )
            for rows in self._blocks(X)
        )

    def mean_novelty(self, measured: tuple[MeasuredNovelty, ...]) -> MeanNovelty:
        """The means of `score_novelty` for rows that were measured, with today's ``tail``."""
        parts = [mean_novelty(rows, self._distances, self.tail, self.n_jobs) for rows in measured]
        return MeanNovelty(*np.concatenate(parts, axis=1))

    def explain_novelty(
        self, X: Any, conditional: bool = False, normalize: bool = False
    ) -> np.ndarray:
        """How much each feature adds to the squared distance of each row, (n_samples, n_features).

        Shapley values, means over the trees; their sum is the mean squared distance.
        ``conditional`` explains the distances in path features only, which make conditional
        novelty; ``normalize`` returns shares that sum to 1.
        """
        parts = [
            novelty.explain_novelty(
                rows.X,
                rows.numbers,
                self._table,
                self._scaling,
                self._distances,
                conditional,
                normalize,
                self.n_jobs,
            )
            for rows in self._blocks(X)
        ]
        return self._by_column(np.concatenate(parts))

    def inspect_novelty(self, X: Any) -> NoveltyDetail:
        """Every tree's leaf, distance and z-score of a few rows."""
        parts = [
            novelty.inspect_novelty(
                rows.X, rows.numbers, self._table, self._scaling, self._distances, self.tail
            )
            for rows in self._blocks(X)
        ]
        detail = NoveltyDetail(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        return detail._replace(contributions=self._by_column(detail.contributions))

    def leaf_ellipses(
        self, X_one_row: Any, features: tuple[int, int], trees: Any = None
    ) -> LeafEllipses:
        """The leaves of one row as ellipses in two features, for drawing.

        ``features`` are the positions of two that hold numbers; ``trees`` a sequence of them, all
        without it.
        """
        rows = next(self._blocks(X_one_row))
        if self._columns is not None:
            features = self._columns.place_numbers(features)
        return novelty.leaf_ellipses(
            rows.X,
            rows.numbers,
            self._table,
            self._scaling,
            self._distances,
            self.tail,
            features,
            trees,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        return tags


def _repeat_rows(
    X: np.ndarray, target: np.ndarray, sample_weight: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and targets as often as they weigh."""
    weight = check_sample_weight(sample_weight, len(X))
    if weight is None:
        return X, target
    if (weight != np.round(weight)).any():
        raise InvalidData(
            "sample_weight holds fractions, but rows of MACAU's leaves can only be repeated: round "
            "the weights to whole numbers, after scaling them if need be."
        )
    check_memory(8.0 * float(weight.sum()) * (X.shape[1] + 1), "these repeated rows")
    counts = weight.astype(np.int64)
    return X.repeat(counts, axis=0), target.repeat(counts)


def read_matrix(table: pd.DataFrame, chosen: np.ndarray | None = None) -> np.ndarray:
    """The table's numbers (n, n_features) as C-contiguous float64 with NaN for missing ones.

    Only of the ``chosen`` columns (n_features,) bool where it is given; the others are NaN.

    >>> read_matrix(pd.DataFrame({"a": [1, 2], "b": [0.5, None]}))
    array([[1. , 0.5],
           [2. , nan]])
    """
    matrix = np.empty(table.shape)
    for position, name in enumerate(table.columns):
        if chosen is not None and not chosen[position]:
            matrix[:, position] = np.nan
            continue
        column = table.iloc[:, position]
        if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype.kind in "US":
            raise _not_numbers(name)
        try:
            matrix[:, position] = read_numbers(column, str(name))
        except InvalidData as error:
            if "categorical_features" in str(error):
                raise _not_numbers(name) from None
            raise
    return matrix


def _not_numbers(name: Any) -> InvalidData:
    return InvalidData(
        f"Column {str(name)!r} does not hold numbers: encode it as numbers (for example one "
        "column for each level), because leaf models are linear."
    )
