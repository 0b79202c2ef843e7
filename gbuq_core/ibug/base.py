"""What is found out at the fit: the model, where its trees put the rows, k, and the calibration."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug.base_models import Rows, fit_owned, numbers_of
from gbuq_core.ibug.choosing import choose_family
from gbuq_core.ibug.families import FAMILIES, FITS, check_family
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.inputs import (
    check_rows,
    check_target,
    draw_seed,
    explain_missing,
    join_rows,
    split_rows,
)
from gbuq_core.ibug.results import Neighborhood, Setting
from gbuq_core.ibug.search import (
    TREE_ORDERS,
    TrainingRows,
    find_neighborhood,
    index_rows,
    row_parts,
    select_trees,
)
from gbuq_core.jobs import effective_n_jobs, stage
from gbuq_core.metrics.neighbour_tuning import (
    CANDIDATES,
    TINIEST_SCALE,
    NeighbourTuning,
    running_std,
    smallest_positive,
    tune_neighbors,
)
from gbuq_core.metrics.scale_calibration import SCORINGS, calibrate_scale
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.ownership import is_owned
from gbuq_core.validation import check_choice, check_number


class TunedNeighbours(BaseEstimator):
    """Base of `IBUGRegressor`, with its constructor and fit; not for use by itself."""

    def __init__(
        self,
        base_model: Any = None,
        n_neighbors: int | str = "tune",
        scoring: str = "nll",
        calibrate: bool = True,
        posterior: str = "normal",
        posterior_fit: str = "matched",
        n_trees_sampled: int | None = None,
        tree_order: str = "first",
        min_scale: float | None = None,
        validation_fraction: float = 0.2,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.base_model = base_model
        self.n_neighbors = n_neighbors
        self.scoring = scoring
        self.calibrate = calibrate
        self.posterior = posterior
        self.posterior_fit = posterior_fit
        self.n_trees_sampled = n_trees_sampled
        self.tree_order = tree_order
        self.min_scale = min_scale
        self.validation_fraction = validation_fraction
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = self.base_model
        if hasattr(base, "__sklearn_tags__") and not isinstance(base, type):
            tags.input_tags.allow_nan = base.__sklearn_tags__().input_tags.allow_nan
        else:  # CatBoost and boosters
            tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any, X_val: Any = None, y_val: Any = None) -> Self:
        """Find where the trees put the training rows, and tune on rows the model has not seen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or DataFrame
            The rows that the model was or will be trained on; NaN where the model takes it.
        y : array-like of shape (n_samples,)
            Their targets, not all equal.
        X_val, y_val : optional
            Rows for tuning. Without them a part of X is held out, or, with a fitted model, nothing
            can be tuned and ``n_neighbors`` must be a number.

        Raises
        ------
        InvalidParameter, InvalidData
            One sentence each.
        """
        began = time.perf_counter()
        self.__dict__.pop("y_train_", None)  # a fit that fails leaves no half of the one before
        self._check_parameters()
        table = check_rows(self, X, reset=True)
        rows = Rows(table, check_target("y", y, len(table)))
        if len(rows.y) == 1:
            raise InvalidData("n_samples = 1 is too few: a row has no neighbours but itself.")
        if rows.y.min() == rows.y.max():
            raise InvalidData(
                f"y has one value only ({rows.y[0]:g}): equal neighbours have no spread to show."
            )
        self._check_family(rows.y)
        held_out = self._check_validation(X_val, y_val)
        self.seed_ = draw_seed(self.random_state)
        with stage(1):
            if is_owned(self.base_model):
                self._fit_owned(rows, held_out)
            else:
                self._fit_given(rows, held_out)
        leaves = self._rows.leaves
        self.n_trees_ = leaves.n_trees
        self.memory_bytes_ = leaves.n_bytes + self._rows.y.nbytes
        if self.validation_ is not None:
            self.memory_bytes_ += sum(part.nbytes for part in self.validation_[:4])
        self.fit_seconds_ = time.perf_counter() - began
        self.y_train_ = self._rows.y  # last: with it the estimator counts as fitted
        return self

    def setting_for(self, n_neighbors: int | None = None, calibrate: bool | None = None) -> Setting:
        """What another k, or no calibration, would use: found on the cached validation rows.

        k is at most the number of their neighbours, ``validation_.targets.shape[1]``.
        """
        check_is_fitted(self, "y_train_")
        k = self.n_neighbors_ if n_neighbors is None else n_neighbors
        k = self._check_k(k, len(self.y_train_))
        on = self.calibrate if calibrate is None else calibrate
        min_scale, gamma, delta = self.min_scale_, self.gamma_, self.delta_
        if self.validation_ is not None and (k != self.n_neighbors_ or on != self.calibrate):
            return self._tune_scale(self.validation_, self.y_validation_, k, on)
        return Setting(k, min_scale, gamma, delta) if on else Setting(k, min_scale, 1.0, 0.0)

    def _fit_given(self, rows: Rows, held_out: Rows | None) -> None:
        """Use the model as it is; tune on the rows held out, if there are any."""
        if held_out is None:
            for name in ("n_neighbors", "posterior"):
                if getattr(self, name) == "tune":
                    raise InvalidParameter(
                        f"{name}='tune' needs rows that the fitted model has not seen: pass X_val "
                        "and y_val, or choose it."
                    )
        self._rows = self._index(self.base_model, rows)
        self._trees(self._rows, self.n_trees_sampled, None)  # refused if more than there are
        self._tune(self._rows, held_out)

    def _fit_owned(self, rows: Rows, held_out: Rows | None) -> None:
        """Fit the model on a part of the rows, tune on the rest, and refit it on all of them."""
        if self.base_model is None:
            rows = Rows(numbers_of(rows.X), rows.y)
            held_out = None if held_out is None else Rows(numbers_of(held_out.X), held_out.y)
        tuned = "tune" in (self.n_neighbors, self.posterior) or self.calibrate
        every, n_trees, places = rows, None, np.arange(len(rows.y))
        if held_out is not None:
            every = join_rows(rows, held_out)
            self._check_family(every.y)
        elif tuned or self.base_model is None:  # CatBoost stops adding trees by them
            rows, held_out, places = split_rows(rows, self.validation_fraction, self.seed_)
        if held_out is not None:
            with stage(1, span=0.4):
                first, n_trees = self._fit_model(rows, held_out, None)
            with stage(1, span=0.2):
                self._tune(self._index(first, rows), held_out)
        model, _ = self._fit_model(every, None, n_trees)
        self._rows = self._index(model, every)
        if held_out is None:
            self._tune(self._rows, None)
        else:
            self._recount_validation(places)

    def _fit_model(self, rows: Rows, held_out: Rows | None, n_trees: int | None) -> Any:
        try:
            return fit_owned(self.base_model, rows, held_out, n_trees, self.seed_, self.n_jobs)
        except ValueError as error:
            raise explain_missing(error, rows.X, self.base_model) from error

    def _index(self, model: Any, rows: Rows) -> TrainingRows:
        """Where the model's trees put these rows."""
        source = leaf_source(model)
        n_features = rows.X.shape[1]
        if source.n_features != n_features:
            raise InvalidData(
                f"The model was trained on {source.n_features} features and X has {n_features}: "
                "pass the rows that it was trained on."
            )
        self.model_ = model
        try:
            return index_rows(source, rows.X, rows.y)
        except ValueError as error:
            raise explain_missing(error, rows.X, model) from error

    def _tune(self, rows: TrainingRows, held_out: Rows | None) -> None:
        """Choose k, the least scale, the calibration and the family (algorithm 3)."""
        n_train = len(rows.y)
        fixed = None if self.n_neighbors == "tune" else self._check_k(self.n_neighbors, n_train)
        self.tuning_: NeighbourTuning | None = None
        self.validation_: Neighborhood | None = None
        self.y_validation_ = np.empty(0)
        if held_out is None:
            assert fixed is not None
            least = TINIEST_SCALE if self.min_scale is None else float(self.min_scale)
            setting = Setting(fixed, least, 1.0, 0.0)
            self.posterior_ = self.posterior
        else:
            widest = max(fixed or 0, min(CANDIDATES[-1], n_train))
            trees = self._trees(rows, None, None)
            near = find_neighborhood(rows, held_out.X, widest, trees, self.n_jobs)
            if fixed is None:
                self.tuning_ = tune_neighbors(held_out.y, near.loc, near.targets, self.scoring)
                fixed = int(self.tuning_.n_neighbors[self.tuning_.best])
            self.validation_, self.y_validation_ = near, held_out.y
            setting = self._tune_scale(near, held_out.y, fixed, self.calibrate)
            self.posterior_ = self.posterior
            if self.posterior == "tune":
                lowest = float(rows.y.min())
                self.posterior_ = choose_family(
                    setting, near, held_out.y, lowest, self.posterior_fit
                )
        self.n_neighbors_, self.min_scale_, self.gamma_, self.delta_ = setting

    def _recount_validation(self, places: NDArray[np.intp]) -> None:
        """From the tuning model's rows to those of ``y_train_``, where they have these places."""
        if self.validation_ is not None:
            indices = places[self.validation_.indices].astype(np.int32)
            self.validation_ = self.validation_._replace(indices=indices, fit_id=self._rows.fit_id)

    def _tune_scale(
        self, near: Neighborhood, y: FloatArray, n_neighbors: int, calibrate: bool
    ) -> Setting:
        """The least scale and the calibration for one k, from the validation rows' neighbours.

        What is calibrated is what is predicted: a std that is at least ``min_scale``. The authors
        calibrate before that floor, which differs where validation rows have neighbours of one
        value only.
        """
        width = near.targets.shape[1]
        if n_neighbors > width:
            raise InvalidParameter(
                f"The validation rows have {width} neighbours each, too few to calibrate a scale "
                f"of {n_neighbors}: ask for at most {width}."
            )
        std = running_std(near.targets, [n_neighbors])[:, 0]
        least = smallest_positive(std) if self.min_scale is None else float(self.min_scale)
        if not calibrate:
            return Setting(n_neighbors, least, 1.0, 0.0)
        fitted = calibrate_scale(y, near.loc, np.maximum(std, least), self.scoring)
        return Setting(n_neighbors, least, fitted.gamma, fitted.delta)

    def _check_parameters(self) -> None:
        if isinstance(self.base_model, type):
            raise InvalidParameter(
                f"base_model must be an object, not a class: pass {self.base_model.__name__}()."
            )
        check_choice("scoring", self.scoring, SCORINGS)
        check_choice("tree_order", self.tree_order, TREE_ORDERS)
        check_choice("posterior", self.posterior, (*FAMILIES, "tune"))
        check_choice("posterior_fit", self.posterior_fit, FITS)
        if not isinstance(self.calibrate, bool | np.bool_):
            raise InvalidParameter(f"calibrate must be True or False; got {self.calibrate!r}.")
        if self.n_trees_sampled is not None:
            check_number("n_trees_sampled", self.n_trees_sampled, 1, integer=True)
        if self.min_scale is not None:
            check_number("min_scale", self.min_scale, 0, low_open=True)
        check_number("validation_fraction", self.validation_fraction, 0, 0.9, low_open=True)
        effective_n_jobs(self.n_jobs)
        if hasattr(self.base_model, "fit") and hasattr(self.base_model, "predict_proba"):
            raise InvalidParameter(
                f"base_model is a classifier ({type(self.base_model).__name__}): pass a regressor."
            )

    def _check_family(self, y: FloatArray) -> None:
        if self.posterior != "tune":
            check_family(self.posterior, y)

    def _check_validation(self, X_val: Any, y_val: Any) -> Rows | None:
        if X_val is None and y_val is None:
            return None
        if X_val is None or y_val is None:
            raise InvalidData("X_val and y_val belong together: pass both or neither.")
        table = check_rows(self, X_val, reset=False)
        return Rows(table, check_target("y_val", y_val, len(table)))

    def _check_k(self, n_neighbors: Any, n_train: int) -> int:
        """Return k if it is a number that makes sense for so many training rows."""
        if isinstance(n_neighbors, str):
            check_choice("n_neighbors", n_neighbors, ("tune",))
            raise InvalidParameter("n_neighbors must be a number here; 'tune' is for the fit.")
        k: int = check_number("n_neighbors", n_neighbors, 1, integer=True)
        if k == 1:
            raise InvalidParameter(
                "n_neighbors must be at least 2: a single neighbour has no spread."
            )
        if k > n_train:
            raise InvalidParameter(
                f"n_neighbors must be at most {n_train}, the number of training rows; got {k}."
            )
        return k

    def _trees(
        self, rows: TrainingRows, n_sampled: int | None, order: str | None
    ) -> NDArray[np.intp] | None:
        """The trees that count, with these choices in place of the estimator's own."""
        count = n_sampled
        if count is None and self.n_trees_sampled is not None:
            # A model that the estimator fits has as many trees as it turns out to need.
            count = min(self.n_trees_sampled, rows.leaves.n_trees)
        chosen = self.tree_order if order is None else order
        return select_trees(rows.leaves.n_trees, count, chosen, self.seed_)

    def _look_up(
        self, X: Any, n_neighbors: int | None, n_sampled: int | None, order: str | None
    ) -> tuple[Neighborhood, int]:
        """The neighbours of X, found or given, and how many of them count."""
        parts = list(self._each_part(X, n_neighbors, n_sampled, order))
        if len(parts) == 1:
            return parts[0], self._count(parts[0], n_neighbors)
        columns = zip(*(part[:4] for part in parts), strict=True)
        loc, indices, affinities, targets = (np.concatenate(column) for column in columns)
        joined = Neighborhood(loc, indices, affinities, targets, *parts[0][4:])
        return joined, self._count(joined, n_neighbors)

    def _each_part(
        self, X: Any, n_neighbors: int | None, n_sampled: int | None, order: str | None
    ) -> Iterator[Neighborhood]:
        """The neighbours of some rows of X after the other; of a given neighbourhood, itself."""
        check_is_fitted(self, "y_train_")
        if isinstance(X, Neighborhood):
            if n_sampled is not None or order is not None:
                raise InvalidParameter(
                    "n_trees_sampled and tree_order belong to the search: pass the rows themselves."
                )
            yield self._check_found(X)
            return
        k = self.n_neighbors_ if n_neighbors is None else n_neighbors
        k = self._check_k(k, len(self._rows.y))
        trees = self._trees(self._rows, n_sampled, order)
        table = self._check_new(X)
        for part in row_parts(table, k):
            try:
                yield find_neighborhood(self._rows, part, k, trees, self.n_jobs)
            except ValueError as error:
                raise explain_missing(error, part, self.model_) from error

    def _check_found(self, found: Neighborhood) -> Neighborhood:
        if found.fit_id != self._rows.fit_id:
            raise InvalidParameter(
                "This neighbourhood is not of this fit: search again with find_neighborhood."
            )
        return found

    def _predict_loc(self, X: Any) -> FloatArray:
        """The model's prediction, (n_samples,)."""
        table = self._check_new(X)
        try:
            return np.asarray(self._rows.source.predict(table), dtype=np.float64)
        except ValueError as error:
            raise explain_missing(error, table, self.model_) from error

    def _check_new(self, X: Any) -> Any:
        table = check_rows(self, X, reset=False)
        return numbers_of(table) if self.base_model is None else table

    def _count(self, found: Neighborhood, n_neighbors: int | None) -> int:
        width = found.targets.shape[1]
        k = self._check_k(self.n_neighbors_ if n_neighbors is None else n_neighbors, 2**31)
        if k > width:
            raise InvalidParameter(
                f"This neighbourhood holds {width} neighbours a row and {k} are asked for: search "
                "again with more."
            )
        return k
