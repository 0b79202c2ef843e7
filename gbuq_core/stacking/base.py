"""What the stacked regressor and classifier share: rows, folds, neighbours, the process, files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.boosting.stopping import weight_of_mean
from gbuq_core.calibration.splits import N_FOLDS, Split, check_group_count, make_splits
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug.affinity import Neighbours
from gbuq_core.inputs import as_table, check_new_rows, check_sample_weight, take_rows
from gbuq_core.jobs import advance, parallel_map, stage
from gbuq_core.lazy import why_missing
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.model_files.fields import Savable
from gbuq_core.stacking import process as processes
from gbuq_core.stacking.process import Process, condition, fit_process
from gbuq_core.stacking.voices import COUNTS, Component
from gbuq_core.trees.importers.ownership import copy_unfitted
from gbuq_core.unfamiliarity.parts import AffinityPart, Learning
from gbuq_core.unfamiliarity.rows import (
    Columns,
    EncodedRows,
    RawRows,
    Space,
    encode_rows,
    find_columns,
    find_outside,
    learn_space,
    read_rows,
)

FloatArray = NDArray[np.float64]

# How long the parts of a fit take, where neighbours and process of all rows take 1: measured once,
# from 150 to 6,000 rows. Trees that are fitted already take nothing.
NEAR_TAKES, PROCESSES_TAKE, WEIGHTS_TAKE = 1.0, 3.0, 1.7  # of the folds
FOLLOWING_TAKES = 4.0  # where a process has earned it, of more rows than it has learnt from
TREES_TAKE = {True: (0.0, 0.3), False: (6.0, 3.0)}  # of all rows and of the folds, by "prefit"
FEWEST_ROWS = 40  # below, nothing is weighed: the trees speak alone
MOST_POOL = 20_000  # rows that neighbours come from
PER_FOLD = 300  # rows of a fold that weigh the voices
ONE_PROCESS_FROM = 1000  # rows; above, rows outside the process's sample weigh it
_SMALLER_PROCESS = 400  # rows of a fold's process
_FOLD_MEMBERS = 2


class Beyond(NamedTuple):
    """How far rows are beyond the training rows.

    share (n,): from 0 inside to 1, by the process; outside (n, n_columns) bool:
    values outside the range of their column, new levels, new values of a constant column and first
    gaps; columns: their names.
    """

    share: FloatArray
    outside: NDArray[np.bool_]
    columns: tuple[str, ...]


class Around(NamedTuple):
    """Fitted trees, what rows each of them has not seen, and trees for other rows, if any."""

    models: tuple[Any, ...]
    held: tuple[NDArray[np.intp], ...]
    whole: Any = None

    @property
    def main(self) -> Any:
        """The trees of the law for other rows."""
        return self.models[0] if self.whole is None else self.whole

    def first(self, n_rows: int) -> NDArray[np.intp] | None:
        """The rows that the first model's law learns from, where no law of all rows is wanted."""
        return self.splits()[0].fitted if self.whole is None and n_rows >= FEWEST_ROWS else None

    def splits(self) -> list[Split]:
        """The rows of each model, and those of all others."""
        every = np.sort(np.concatenate(self.held))
        return [Split(np.setdiff1d(every, mine), mine) for mine in self.held]


class Rows(NamedTuple):
    """Training rows in every form that a voice reads."""

    X: Any  # as the trees take them
    raw: RawRows
    encoded: EncodedRows
    weight: FloatArray  # (n,), ones without weights
    weighted: bool
    groups: Any

    def take(self, chosen: NDArray[np.intp], space: Space) -> EncodedRows:
        """Some rows as neighbours and process read them."""
        return encode_rows(space, self.raw.take(chosen))


class Stacked(Savable, BaseEstimator):
    """Base of the two; not for use by itself."""

    estimator_: Any
    seed_: int
    n_rows_: int
    _components: tuple[Component, ...]
    _columns: Columns
    _space: Space
    _pool: RawRows
    _pool_places: NDArray[np.intp]  # of its rows among the training rows
    _near: AffinityPart | None
    _process: Process | None
    _n_neighbours: int
    _usual = 0.5  # the share of left-out rows whose latent variance is the usual

    def __init__(
        self,
        estimator: Any = None,
        voices: Sequence[str] = ("trees", "residuals", "targets", "process"),
        support: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.voices = voices
        self.support = support
        self.random_state = random_state
        self.n_jobs = n_jobs

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also ``estimator__name`` of the trees: scikit-learn's protocol."""
        inner = [name for name in params if name.startswith("estimator__")]
        if inner and params.get("estimator", self.estimator) is None:
            name = type(self).__name__
            trees = name.replace("Stacked", "BoostedEnsemble")
            raise InvalidParameter(
                f"{inner[0]} is a parameter of the trees, but estimator is None: pass "
                f"{name}({trees}())."
            )
        super().set_params(**params)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the trees, hear all voices on rows that they have not seen, and weigh them.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
            NaN is missing. Text in a data frame is a category, as are the columns of the
            estimator's ``categorical_features``.
        y : array-like (n_samples,)
            Numbers; of a classifier at least two classes, of any one type.
        sample_weight : array-like (n_samples,), optional
            How many rows each row counts as, in the trees, among the neighbours, in the process's
            noise and in the weights of the voices.
        groups : array-like (n_samples,), optional
            Rows of one group are never on both sides of a fold.

        Raises
        ------
        InvalidParameter, InvalidData
            One sentence each.
        """
        self._fit(X, y, sample_weight, groups)
        del self._process_places
        if self._near is None and self._asks_for_near():
            missing = why_missing("lightgbm")
            warnings.warn(f"Rows like a row have no voice. {missing}", UserWarning, stacklevel=2)
        return self

    @property
    def component_weights_(self) -> Mapping[tuple[str, int, float], float]:
        """The weight of each way to speak."""
        pairs = zip(self._components, self._weights.tolist(), strict=True)
        return MappingProxyType({(*way,): weight for way, weight in pairs if weight > 0.0})

    def find_beyond(self, X: Any) -> Beyond:
        """Which rows, and which of their values, are beyond the training rows.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame

        Returns
        -------
        Beyond
            ``share`` (n_samples,), ``outside`` (n_samples, n_features) and ``columns``.
        """
        table = self._new_rows(X)
        raw = read_rows(self._columns, table)
        outside = find_outside(self._columns, self._space, raw)
        return Beyond(self._share_beyond(encode_rows(self._space, raw)), outside,
                      self._columns.names)  # fmt: skip

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True  # in data frames
        tags.target_tags.required = True
        return tags

    def _share_beyond(self, rows: EncodedRows) -> FloatArray:
        raise NotImplementedError

    def _new_rows(self, X: Any) -> Any:
        check_is_fitted(self, "_weights")
        return check_new_rows(self, X)

    def _tree_rows(self, X: Any, table: Any) -> Any:
        """New rows as the trees saw the others: a frame or an array."""
        return table if hasattr(X, "iloc") else np.asarray(X)

    @property
    def _speaking(self) -> tuple[str, ...]:
        """The voices that may enter: trees alone where columns must move the law one way."""
        rules = getattr(self.estimator, "monotone_constraints", None)
        return tuple(self.voices) if rules is None else ("trees",)

    def _check_voices(self, allowed: tuple[str, ...]) -> tuple[str, ...]:
        given = self.voices
        listed = [] if isinstance(given, str) else list(given)
        if "trees" not in listed or not set(listed) <= set(allowed):
            raise InvalidParameter(
                f"voices must name 'trees' and any of {', '.join(allowed[1:])}; got {given!r}."
            )
        return tuple(voice for voice in allowed if voice in listed)

    def _read_training(self, X: Any, table: Any, weight: Any, groups: Any, y: Any) -> Any:
        """Rows of positive weight, and their targets."""
        self.__dict__.pop("_weights", None)  # a fit that fails leaves no half of the one before
        n = len(table)
        checked = check_sample_weight(weight, n)
        rows = table if hasattr(X, "iloc") else np.asarray(X)
        if groups is not None:
            groups = np.asarray(groups)
            check_group_count(groups, n)
        if checked is not None and (checked == 0.0).any():
            kept = np.flatnonzero(checked)
            rows, y, checked = take_rows(rows, kept), y[kept], checked[kept]
            groups = None if groups is None else groups[kept]
        declared = getattr(self.estimator, "categorical_features", None)
        self._columns = find_columns(as_table(rows), declared)
        raw = read_rows(self._columns, as_table(rows))
        self._space = learn_space(self._columns, raw)
        self.n_rows_ = len(raw)
        weights = np.ones(len(raw)) if checked is None else checked
        encoded = encode_rows(self._space, raw)
        return Rows(rows, raw, encoded, weights, checked is not None, groups), y

    def _make_folds(self, y: Any, rows: Rows, n_classes: int = 0) -> list[Split]:
        """Five folds at every number of rows."""
        if rows.groups is not None:
            n_groups = len(np.unique(rows.groups))
            if n_groups < 2:
                raise InvalidData("All rows are in one group: pass at least two groups.")
            cv: Any = GroupKFold(min(N_FOLDS, n_groups))
        elif n_classes and np.bincount(y).min() >= N_FOLDS:
            cv = StratifiedKFold(N_FOLDS, shuffle=True, random_state=self.seed_ % 2**32)
        else:
            cv = min(N_FOLDS, len(y))
        return make_splits(y, False, cv, rows.groups, self.seed_, as_table(rows.X))

    def _fit_trees(
        self, model: Any, rows: Rows, y: Any, chosen: Any = None, splits: list[Split] | None = None
    ) -> Any:
        """A fitted copy of a model on some of the rows; those of the splits, if it has any, too."""
        X, weight, groups = rows.X, rows.weight, rows.groups
        if chosen is not None:
            X, y, weight = take_rows(X, chosen), y[chosen], weight[chosen]
            groups = None if groups is None else groups[chosen]
        options: dict[str, Any] = {}
        if rows.weighted:
            if not has_fit_parameter(model, "sample_weight"):
                raise InvalidParameter(
                    f"estimator ({type(model).__name__}) takes no sample_weight in fit: pass one "
                    "that does."
                )
            options["sample_weight"] = weight
        if groups is not None and has_fit_parameter(model, "groups"):
            options["groups"] = groups
        fresh = copy_unfitted(model)
        own = {"random_state": self.seed_ % 2**32, "n_jobs": self.n_jobs}
        params = fresh.get_params(deep=False)
        fresh.set_params(**{k: v for k, v in own.items() if params.get(k, 0) is None})
        if splits is None:
            return fresh.fit(X, y, **options)
        # An ensemble that chooses where it stops fits to folds for that.
        if isinstance(fresh, BoostedEnsemble) and fresh.cv is None:
            return fresh, fresh.fit_with_folds(X, y, splits, **options)
        return fresh.fit(X, y, **options), []

    def _fold_model(self, model: Any, fold: int) -> Any:
        """What is fitted to the rows of a fold: boosted ensembles keep the clocks of all rows."""
        own = isinstance(model, BoostedEnsembleRegressor | BoostedEnsembleClassifier)
        if own and model.clocks_ is not None and model.plan_.ensemble == "independent":
            part = clone(model).set_params(
                stopping=None, capacity=None, n_trees=model.clocks_.last, depth=model.plan_.depth,
                n_members=min(_FOLD_MEMBERS, model.n_members),
                random_state=(self.seed_ + fold + 1) % 2**31,
            )  # fmt: skip
            if isinstance(model, BoostedEnsembleRegressor):
                part.set_params(mean_weight=weight_of_mean(model, model.stopping_))
            return part
        return model

    def _trees_of(
        self, trees: list[Any], rows: Rows, y: Any, k: int, split: Split, prefit: bool
    ) -> Any:
        """The trees of a fold: those that there are, or new ones."""
        if prefit or trees:
            return trees[k] if trees else self.estimator_
        return self._fit_fold(self.estimator_, rows, y, k, split.fitted)

    def _fit_fold(self, whole: Any, rows: Rows, y: Any, k: int, chosen: NDArray[np.intp]) -> Any:
        """The trees of a fold's rows, with the clocks of those of all rows if they have none."""
        model = self._fit_trees(self._fold_model(whole, k), rows, y, chosen)
        clocks = getattr(whole, "clocks_", None)
        if clocks is not None and getattr(model, "clocks_", clocks) is None:
            return model.with_clocks(clocks)
        return model

    def _fit_near(
        self, rows: Rows, y: Any, chosen: NDArray[np.intp], n_classes: int = 0
    ) -> AffinityPart:
        encoded = rows.take(chosen, self._space)
        # One thread: LightGBM's wait for each other on tables as small, and folds run side by side.
        return AffinityPart(
            Learning(self._columns, self._space, encoded, y[chosen], n_classes, self.seed_, 1)
        )

    def _fit_folds_near(
        self, rows: Rows, y: Any, splits: list[Split], around: Around | None, n_classes: int = 0
    ) -> tuple[list[NDArray[np.intp]], list[AffinityPart | None]]:
        """Of each fold the places of the pool's rows that are fitted on, and their trees."""
        places = [np.intersect1d(split.fitted, self._pool_places) for split in splits]
        if self._near is None:
            return places, [None] * len(splits)
        parts: list[AffinityPart | None] = []
        if around is not None and around.first(self.n_rows_) is not None:
            parts.append(self._near)

        def fit(mine: NDArray[np.intp]) -> AffinityPart:
            with stage(1.0, span=1.0):
                return self._fit_near(rows, y, mine, n_classes)

        with stage(len(places) - len(parts) or 1.0):
            parts += parallel_map(fit, places[len(parts) :], self.n_jobs)
        return places, parts

    def _sample(self, chosen: NDArray[np.intp], most: int, key: int) -> NDArray[np.intp]:
        """At most so many of the rows, drawn at random, in order."""
        if len(chosen) <= most:
            return chosen
        order = np.random.default_rng((self.seed_, key)).permutation(len(chosen))
        return np.sort(chosen[order[:most]])

    def _fit_all(
        self, rows: Rows, y: Any, targets: FloatArray, around: Around | None, n_classes: int = 0
    ) -> None:
        """The neighbours and the process of all rows; targets (n, k) are those of the process.

        Where no law of all rows is wanted, they are those of the first model around.
        """
        everything = np.arange(len(rows.raw))
        first = None if around is None else around.first(len(everything))
        seen = everything if first is None else first
        pool = self._sample(everything, MOST_POOL, 11)
        self._pool_places = pool
        self._pool = rows.raw.take(pool)
        smallest = int(len(pool) * (N_FOLDS - 1) / N_FOLDS)
        if around is not None:
            smallest = min(np.isin(pool, split.fitted).sum() for split in around.splits())
        self._n_neighbours = min(max(COUNTS), smallest // 3)
        self._near = None
        if self._asks_for_near() and not why_missing("lightgbm"):
            with stage(1.0, span=0.3):
                self._near = self._fit_near(rows, y, np.intersect1d(pool, seen), n_classes)
        self._process, self._process_places = None, everything[:0]
        if "process" in self._speaking:
            key = 12 if first is None else 30
            most = processes.MOST_ROWS if first is None else _SMALLER_PROCESS
            seen = np.intersect1d(pool, seen)
            self._process_places = self._sample(seen, most, key)
            self._process = self._fit_process(rows, targets, self._process_places, seen)
        self._process = _in_box(self._process, rows, everything if first is None else first)

    def _asks_for_near(self) -> bool:
        return bool({"residuals", "targets"} & {*self._speaking}) and self._n_neighbours > 0

    def _fit_process(
        self, rows: Rows, targets: FloatArray, chosen: NDArray[np.intp], known: NDArray[np.intp]
    ) -> Process | None:
        """A process with lengths of the chosen rows that knows others; None if no column varies."""
        if len(chosen) < 2 or not np.ptp(rows.encoded.points[chosen], axis=0).any():
            return None
        process = fit_process(*self._axes(rows, targets, chosen), self._usual)
        return process if len(known) == len(chosen) else self._after(process, rows, targets, known)

    def _after(
        self, process: Process, rows: Rows, targets: FloatArray, known: NDArray[np.intp]
    ) -> Process:
        """The process after these rows."""
        return condition(process, *self._axes(rows, targets, known), self._usual)

    def _axes(
        self, rows: Rows, targets: FloatArray, chosen: NDArray[np.intp]
    ) -> tuple[NDArray[Any], FloatArray, FloatArray | None]:
        weight = rows.weight[chosen] if rows.weighted else None
        return rows.encoded.points[chosen], targets[chosen], weight

    def _judged(self, fold: int, held: NDArray[np.intp], around: Around | None) -> NDArray[np.intp]:
        """Rows of a fold that weigh the voices; of large tables none that the lengths have seen."""
        pool = np.intersect1d(held, self._pool_places)
        if self.n_rows_ > ONE_PROCESS_FROM and around is None:
            pool = np.setdiff1d(pool, self._process_places)
        most = PER_FOLD if around is None else PER_FOLD * N_FOLDS // len(around.held)
        return self._sample(pool, most, 20 + fold)

    def _fit_folds_process(
        self, rows: Rows, targets: FloatArray, splits: list[Split], around: Around | None
    ) -> list[Process | None]:
        """The process that rows of each fold are judged by, which does not know them."""
        process = self._process
        if process is None:
            return [None] * len(splits)
        reuses = around is not None and around.first(self.n_rows_) is not None

        def fit(fold: int) -> Process | None:
            with stage(1.0, span=1.0):
                return fit_fold(fold)

        def fit_fold(fold: int) -> Process | None:
            fitted = np.intersect1d(splits[fold].fitted, self._pool_places)
            if self.n_rows_ > ONE_PROCESS_FROM and around is None:
                return self._after(process, rows, targets, fitted)
            chosen = self._sample(fitted, _SMALLER_PROCESS, 30 + fold)
            own = self._fit_process(rows, targets, chosen, fitted)
            return _in_box(own, rows, splits[fold].fitted)

        of_folds: list[Process | None] = [self._process] * reuses
        with stage(len(splits) - reuses or 1.0):
            of_folds += parallel_map(fit, range(len(of_folds), len(splits)), self.n_jobs)
        if rows.groups is None:
            return of_folds
        # Rows of a group tell of each other: to a new group, what left-out groups have is usual.
        held = [self._judged(fold, split.held, around) for fold, split in enumerate(splits)]
        points = [rows.take(mine, self._space).points for mine in held]
        pairs = zip(of_folds, points, strict=True)
        latent = np.concatenate([own.predict(left)[1] for own, left in pairs if own])
        usual, most = float(np.quantile(latent, self._usual)), float(latent.max())
        self._process = process._replace(usual=usual, most=most)
        return [own and own._replace(usual=usual, most=most) for own in of_folds]

    def _follow_rows(
        self, rows: Rows, targets: FloatArray, splits: list[Split], smooth: list[Process | None],
        around: Around | None,
    ) -> list[Process | None]:  # fmt: skip
        """The processes of all rows and of the folds (returned), after they follow many rows."""
        known = self._sample(self._pool_places, processes.MOST_FOLLOWED, 15)

        def follow(process: Process | None, fitted: NDArray[np.intp]) -> Process | None:
            mine = np.intersect1d(known, fitted)
            if process is None or len(mine) <= len(process.points):
                return process
            return processes.follow(process, *self._axes(rows, targets, mine))

        followed = []
        for process, split in zip(smooth, splits, strict=True):
            followed.append(follow(process, split.fitted))
            advance(1.0 / (len(splits) + 1))
        first = None if around is None else around.first(self.n_rows_)
        self._process = followed[0] if first is not None else follow(self._process, known)
        return followed

    def _parts_around(
        self,
        around: Around,
        rows: Rows,
        near: list[AffinityPart | None],
        of_process: list[Process | None],
    ) -> list[tuple[Self, NDArray[np.intp]]]:
        """The law around each model, before its own weights, and the rows of its pool.

        It has not seen the model's rows.
        """
        laws = []
        for k, split in enumerate(around.splits()):
            law = copy(self)
            law.estimator_, law._near, law._process = around.models[k], near[k], of_process[k]
            mine = np.intersect1d(split.fitted, self._pool_places)
            law._pool, law.n_rows_ = rows.raw.take(mine), len(split.fitted)
            law._pool_places = np.searchsorted(split.fitted, mine)  # among the rows it has seen
            laws.append((law, mine))
        return laws

    def _nearest(self, encoded: EncodedRows) -> Neighbours:
        assert self._near is not None
        return self._near.nearest(encoded, self._n_neighbours)

    def fit_around(self, X: Any, y: Any, around: Around, groups: Any = None) -> list[Self]:
        """Laws around fitted trees: one for the rows that each has not seen; mine is for others.

        Nothing in a law has learnt from its rows but the smoothing of all: support, resolution,
        scales, and how far residuals are set on the process's mean.
        """
        laws: list[Self] = self._fit(X, y, groups=groups, around=around)
        for law in (self, *laws):
            del law._process_places
        return laws

    def _fit(
        self, X: Any, y: Any, weight: Any = None, groups: Any = None, around: Around | None = None
    ) -> list[Self]:
        raise NotImplementedError

    def check_file(self) -> None:
        """Refuse parts that do not go together, and look at the pool's leaves again."""
        names = self._columns.names
        require(len(names) == self.n_features_in_, "its columns do not match")
        check_arrays(
            self._pool, numbers=(np.float64, None, len(self._columns.numbers)),
            codes=(np.int64, len(self._pool.numbers), len(self._columns.categories)),
        )  # fmt: skip
        check_arrays(self, _pool_places=(np.int64, len(self._pool.numbers)))
        require((self._pool_places >= 0).all(), "a neighbour is impossible")
        for k, levels in enumerate(self._columns.levels):
            codes = self._pool.codes[:, k]
            require(((codes >= -1) & (codes <= len(levels))).all(), "a level does not exist")
        encoded = encode_rows(self._space, self._pool)
        if self._near is not None:
            self._near.restore(self._columns, self._space, encoded, 1)
            most = 0 < self._n_neighbours <= len(self._pool)
            require(most, "its neighbours are impossible")
        if self._process is not None:
            same = len(self._process.used) == encoded.points.shape[1]
            require(same, "its process has other columns")
        require(all(way.near <= self._n_neighbours for way in self._components),
                "a voice has too many neighbours")  # fmt: skip
        model = self.estimator_
        names_ = getattr(model, "feature_names_", None)
        n_features = getattr(model, "n_features_in_", None) if names_ is None else len(names_)
        require(n_features == self.n_features_in_, "its estimator has other columns")


def _in_box(process: Process | None, rows: Rows, chosen: NDArray[np.intp]) -> Process | None:
    """A process whose training box is that of all these rows."""
    if process is None:
        return None
    axes = rows.encoded.points[chosen][:, process.used].astype(np.float64)
    return process._replace(low=axes.min(axis=0), high=axes.max(axis=0))
