"""Validation rows in the trees of the model for tuning: any k and any trees calibrated on them.

Where the rows ended is kept, not their neighbours: so the least scale and the calibration are found
with exactly the trees that count, whichever these are (Brophy and Lowd, IBUG, 2022, algorithm 3 and
section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidParameter
from gbuq_core.ibug.affinity import Neighbours, TrainLeaves, nearest, nearest_places
from gbuq_core.ibug.base_models import Rows
from gbuq_core.ibug.family_scores import score_rows
from gbuq_core.ibug.inputs import missing_explained
from gbuq_core.ibug.results import Setting
from gbuq_core.ibug.search import (
    FloatArray,
    Neighborhood,
    TrainingRows,
    TreeChoice,
    check_weight,
    count_places,
    parts_of,
    select_trees,
    stack_columns,
    weights_at,
)
from gbuq_core.jobs import check_memory, stage
from gbuq_core.metrics.neighbour_tuning import (
    CANDIDATES,
    TINIEST_SCALE,
    NeighbourTuning,
    running_std,
    score_counts,
    smallest_positive,
)
from gbuq_core.metrics.scale_calibration import calibrate_scale
from gbuq_core.model_files.contents import check_arrays, check_places, require
from gbuq_core.resources import Recent
from gbuq_core.trees.importers import LeafSource
from gbuq_core.trees.importers.ownership import is_owned

_KEPT_BYTES = 16_000_000  # neighbours of validation rows that are kept, for one choice at least
_MOST_CHOICES = 8
_MOST_SETTINGS = 2048


class ValidationRows:
    """The validation rows, and what every choice of k and of trees makes of them.

    Their neighbours are training rows of the estimator, not of the model for tuning, in few bytes.
    """

    # where the rows of the model for tuning ended, which has not seen these rows
    leaves: TrainLeaves
    own: NDArray[Any]  # (n_validation, n_trees): where these rows ended in its trees
    loc: FloatArray  # (n_validation,): its predictions
    y: FloatArray  # (n_validation,)
    # (n_fitted,): its training rows among those of y_train; None: the same
    places: NDArray[np.intp] | None
    # (n_validation,): how many rows each one counts as in the scores; None means one
    weight: FloatArray | None
    # (n_train,): how many of the k places each row takes; None means one
    _weight_train: FloatArray | None
    _y_train: FloatArray  # (n_train,)
    _seed: int  # of random trees
    _n_jobs: int | None
    _not_saved = ("_most_near", "_near", "_settings", "_tunings")

    def __init__(
        self,
        leaves: TrainLeaves,
        own: NDArray[Any],
        loc: FloatArray,
        y: FloatArray,
        places: NDArray[np.intp] | None,
        y_train: FloatArray,
        seed: int,
        n_jobs: int | None,
        weight: FloatArray | None = None,
        weight_train: FloatArray | None = None,
    ) -> None:
        self.y, self.loc = y, loc
        self.leaves, self.own, self.places = leaves, own, places
        self.weight, self._weight_train = weight, weight_train
        self._y_train, self._seed, self._n_jobs = y_train, seed, n_jobs
        self._start()

    def _start(self) -> None:
        """Nothing is found yet."""
        size = self._entry_bytes()
        self._most_near = max(1, min(_MOST_CHOICES, _KEPT_BYTES // size))
        self._near: Recent[Neighbours] = Recent(self._most_near)
        self._settings: Recent[Setting] = Recent(_MOST_SETTINGS)
        self._tunings: Recent[NeighbourTuning] = Recent(_MOST_CHOICES * 8)

    def check_file(self) -> None:
        """Refuse rows and leaves that do not exist, and start without neighbours."""
        n_rows, n_train = len(self.y), len(self._y_train)
        check_arrays(self, y=("finite", None), loc=("finite", n_rows), _y_train=("finite", None))
        require(n_rows >= 1, "it has no validation rows")
        n_fitted = n_train
        if self.places is not None:
            require(self.places.ndim == 1 and len(self.places) >= 2, "it has too few rows")
            check_places(self.places, n_train, "a row")
            n_fitted = len(self.places)
        require(self.leaves.n_rows == n_fitted, "its leaves are of other rows")
        codes = self.own.dtype.kind == "u" and self.own.shape == (n_rows, self.leaves.n_trees)
        require(codes, "the leaves of its validation rows are of another type or shape")
        check_places(self.own, 2**26, "a leaf")
        check_weight(self.weight, n_rows)
        check_weight(self._weight_train, n_train)
        self._start()

    @property
    def width(self) -> int:
        """How many neighbours of a row are kept: as many as tuning looks at."""
        return min(CANDIDATES[-1], self.n_places)

    @property
    def n_places(self) -> int:
        """The largest k of the model for tuning."""
        return count_places(self.leaves.n_rows, self._weights_fitted)

    @property
    def _weights_fitted(self) -> FloatArray | None:
        """The weights of the rows of the model for tuning."""
        if self._weight_train is None or self.places is None:
            return self._weight_train
        return self._weight_train[self.places]

    @property
    def n_bytes(self) -> int:
        """What it holds at most, neighbours kept for later included."""
        held = self.own.nbytes + self.loc.nbytes + self.y.nbytes
        if self.places is not None:  # else the estimator's own leaves
            held += self.leaves.n_bytes + self.places.nbytes
        return held + self._most_near * self._entry_bytes()

    def tuning(self, choice: TreeChoice, scoring: str) -> NeighbourTuning:
        """The scores of every candidate k with these trees (algorithm 3)."""
        key = self._key(choice)

        def make() -> NeighbourTuning:
            counts = [k for k in CANDIDATES if k <= self.width]
            std = self._std(key, counts)
            return score_counts(self.y, self.loc, std, counts, scoring, self.weight)

        return self._tunings.get((key, scoring), make)

    def setting(
        self,
        choice: TreeChoice,
        n_neighbors: int,
        calibrate: bool,
        scoring: str,
        min_scale: float | None,
        delta_unit: float,
    ) -> Setting:
        """The least scale and the calibration for one k with these trees.

        What is calibrated is what is predicted: a std that is at least ``min_scale``. The authors
        calibrate before that floor, which differs where validation rows have neighbours of one
        value only.
        """
        if n_neighbors > self.n_places:
            raise InvalidParameter(
                f"n_neighbors is {n_neighbors}, but only {self.n_places} rows are left for "
                f"tuning: choose at most {self.n_places}."
            )
        key = self._key(choice)

        def make() -> Setting:
            std = self._std(key, [n_neighbors])[:, 0]
            least = smallest_positive(std) if min_scale is None else float(min_scale)
            if not calibrate:
                return Setting(n_neighbors, least, 1.0, 0.0)
            std = np.maximum(std, least)
            fitted = calibrate_scale(self.y, self.loc, std, scoring, self.weight, delta_unit)
            return Setting(n_neighbors, least, fitted.gamma, fitted.delta)

        known = (key, n_neighbors, bool(calibrate), scoring, min_scale)
        return self._settings.get(known, make)

    def neighborhood(
        self, choice: TreeChoice, n_neighbors: int, n_trees: int, fit_id: int
    ) -> Neighborhood:
        """The rows with at least ``n_neighbors``; ``n_trees`` is how many trees count."""
        key, k = self._key(choice), max(self.width, n_neighbors)
        check_memory(len(self.y) * 32 * k, "these neighbours")
        near = self._kept(key) if k == self.width else _joined(list(self._search(key, k)))
        indices = near.indices.astype(np.int32)
        weights = None if self._weight_train is None else weights_at(self._weight_train, indices)
        return Neighborhood(
            self.loc,
            indices,
            near.affinities.astype(np.int32),
            self._y_train[indices],
            n_trees,
            fit_id,
            choice.order,
            weights,
        )

    def keep_tuning(
        self, choice: TreeChoice, scoring: str, tuning: NeighbourTuning
    ) -> NeighbourTuning:
        """Take scores that `tuning` found before, in place of computing them."""
        return self._tunings.get((self._key(choice), scoring), lambda: tuning)

    def keep_setting(
        self, choice: TreeChoice, tuned: Setting, calibrate: bool, scoring: str, least: float | None
    ) -> Setting:
        """Take what `setting` found before, in place of computing it."""
        known = (self._key(choice), tuned.n_neighbors, bool(calibrate), scoring, least)
        return self._settings.get(known, lambda: tuned)

    def _key(self, choice: TreeChoice) -> TreeChoice:
        """The choice among the trees of the model for tuning, which may have fewer."""
        count = choice.n_trees
        every = count is None or count >= self.leaves.n_trees
        return TreeChoice(None, "first") if every else choice

    def _entry_bytes(self) -> int:
        indices, affinities = self._dtypes()
        return max(1, len(self.y) * self.width * (indices.itemsize + affinities.itemsize))

    def _dtypes(self) -> tuple[np.dtype[Any], np.dtype[Any]]:
        affinity_type = np.min_scalar_type(self.leaves.n_trees)
        if self._weight_train is not None:  # -1 stands for no neighbour
            return np.dtype(np.int32), affinity_type
        return np.min_scalar_type(len(self._y_train)), affinity_type

    def _kept(self, key: TreeChoice) -> Neighbours:
        return self._near.get(key, lambda: _joined(list(self._search(key, self.width))))

    def _search(self, key: TreeChoice, k: int) -> Iterator[Neighbours]:
        """Neighbours of some rows after the other, which bounds the memory of the search."""
        trees = select_trees(self.leaves.n_trees, key.n_trees, key.order, self._seed)
        index_type, affinity_type = self._dtypes()
        weight = self._weights_fitted
        with stage(len(self.y)):
            for part in parts_of(len(self.y), k):
                own = self.own[part]
                with stage(1, span=len(own)):
                    if weight is None:
                        near = nearest(self.leaves, own, k, trees, self._n_jobs)
                    else:
                        leaves, n_jobs = self.leaves, self._n_jobs
                        near = nearest_places(leaves, own, k, weight, trees, n_jobs)
                indices, affinities = near
                if self.places is not None:
                    indices = self.places[indices]
                yield Neighbours(indices.astype(index_type), affinities.astype(affinity_type))

    def _std(self, key: TreeChoice, counts: list[int]) -> FloatArray:
        """Std of the first k targets for each k of ``counts``, (n_validation, n_counts)."""
        weight = self._weight_train
        if counts[-1] <= self.width:
            indices = self._kept(key).indices
            indices = indices[:, : counts[-1]] if weight is None else indices
            near = (indices[part] for part in parts_of(len(indices), counts[-1]))
        else:
            near = (part.indices for part in self._search(key, counts[-1]))
        if weight is None:
            return np.concatenate([running_std(self._y_train[rows], counts) for rows in near])
        return np.concatenate(
            [running_std(self._y_train[rows], counts, weights_at(weight, rows)) for rows in near]
        )


def _joined(parts: list[Neighbours]) -> Neighbours:
    if len(parts) == 1:
        return parts[0]
    return Neighbours(
        stack_columns([part.indices for part in parts], -1),
        stack_columns([part.affinities for part in parts], 0),
    )


def watch_rows(
    rows: TrainingRows,
    held_out: Rows | None,
    places: NDArray[np.intp] | None,
    y_train: FloatArray,
    seed: int,
    n_jobs: int | None,
    weight_train: FloatArray | None = None,
) -> ValidationRows | None:
    """Where the trees of the model for tuning put the validation rows; None without any."""
    if held_out is None:
        return None
    source, leaves = rows.source, rows.leaves
    with missing_explained(held_out.X, source.model):
        loc = source.predict(held_out.X)
        own = _leaves_of(source, held_out.X, len(loc))
    return ValidationRows(
        leaves, own, loc, held_out.y, places, y_train, seed, n_jobs, held_out.weight, weight_train
    )


def _leaves_of(source: LeafSource, X: Any, n_rows: int) -> NDArray[Any]:
    """Leaf numbers (n_rows, n_trees) in the smallest type that holds them."""
    dtype = np.min_scalar_type(int(source.leaf_counts.max()))
    check_memory(n_rows * source.n_trees * dtype.itemsize, "the leaves of the validation rows")
    own = np.empty((n_rows, source.n_trees), dtype)
    first = 0
    for chunk in source.leaf_chunks(X):
        own[first : first + len(chunk)] = chunk
        first += len(chunk)
    return own


def tune(model: Any) -> None:
    """Choose k, the least scale, the calibration and the family (algorithm 3)."""
    model.n_trees_ = model._rows.leaves.n_trees
    choice, seen = model._choose_trees(None, None), model._validation
    model.tuning_ = None
    model.y_validation_ = np.empty(0) if seen is None else seen.y
    fixed = model.n_neighbors
    if fixed == "tune":
        model.tuning_ = model._need_validation("n_neighbors='tune'").tuning(choice, model.scoring)
        fixed = model.tuning_.n_neighbors[model.tuning_.best]
    model.min_scale_ = TINIEST_SCALE if model.min_scale is None else float(model.min_scale)
    setting = model._setting(int(fixed), None, choice)
    model.n_neighbors_, model.min_scale_, model.gamma_, model.delta_ = setting
    model.posterior_ = model.posterior
    if model.posterior == "tune":
        seen = model._need_validation("posterior='tune'")
        near = seen.neighborhood(choice, model.n_neighbors_, model.n_trees_, model._rows.fit_id)
        parts, fit, how = [(near, setting, seen.y)], model.posterior_fit, model.scoring
        scores = score_rows(parts, model._rows.y, fit, model.n_jobs, seen.weight, how)
        model.posterior_ = scores.best


def check_fitted(model: Any) -> None:
    """Refuse a fitted `IBUGRegressor` that no fit makes; make what follows from the rest."""
    rows, seen = model._rows, model._validation
    require(rows.source.n_features == model.n_features_in_, "its model has other columns")
    require(model.y_train_ is rows.y, "its targets are of other rows")
    if model._coding is not None:
        known = model._coding.positions[-1] < model.n_features_in_
        require(known, "its categories are of other columns")
    given = not is_owned(model.base_model)
    own = model.model_ is rows.source.model
    require(own or (given and model.model_ is model.base_model), "its model is another")
    if given and model.n_trees_sampled is not None:
        require(model.n_trees_sampled <= rows.source.n_trees, "its model has fewer trees")
    model.n_trees_, model.weight_train_ = rows.leaves.n_trees, rows.weight
    model.y_validation_ = np.empty(0)
    model.memory_bytes_ = rows.leaves.n_bytes + rows.y.nbytes
    if seen is not None:
        same = seen._y_train is rows.y and seen._weight_train is rows.weight
        require(same, "its validation rows are of other rows")
        require(seen.places is not None or seen.leaves is rows.leaves, "a leaf does not exist")
        seen._seed, seen._n_jobs = model.seed_, model.n_jobs
        model.y_validation_ = seen.y
        model.memory_bytes_ += seen.n_bytes
    _check_choice(model)


def _check_choice(model: Any) -> None:
    """Refuse an impossible k, scale or family; they need not be found again."""
    seen, tuning = model._validation, model.tuning_
    setting = Setting(model.n_neighbors_, model.min_scale_, model.gamma_, model.delta_)
    most = model._rows.n_places if seen is None else seen.n_places
    require(2 <= setting.n_neighbors <= most, "it has fewer rows than neighbours")
    possible = np.isfinite(setting).all() and setting.min_scale > 0.0 and setting.gamma > 0.0
    require(possible, "its scale is impossible")
    choice = model._choose_trees(None, None)
    if seen is not None:
        seen.keep_setting(choice, setting, model.calibrate, model.scoring, model.min_scale)
    require((model.n_neighbors == "tune") == (tuning is not None), "its tuning is impossible")
    if tuning is not None and seen is not None:
        require(tuning.n_neighbors[tuning.best] == setting.n_neighbors, "its k is another")
        seen.keep_tuning(choice, model.scoring, tuning)
    require(tuning is None or seen is not None, "it has no validation rows")
