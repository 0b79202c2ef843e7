"""What is found out at the fit: the model, where its trees put the rows, k, and the calibration."""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug.base_models import Rows, fit_owned, numbers_of
from gbuq_core.ibug.choosing import score_rows
from gbuq_core.ibug.families import FAMILIES, FITS, check_family
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.inputs import (
    check_rows,
    check_target,
    explain_missing,
)
from gbuq_core.ibug.recalibrating import ValidationRows
from gbuq_core.ibug.results import Setting
from gbuq_core.ibug.search import (
    TREE_ORDERS,
    TrainingRows,
    TreeChoice,
    index_rows,
    select_trees,
)
from gbuq_core.inputs.held_out import hold_out, stack_rows, take_rows
from gbuq_core.inputs.rows import draw_seed
from gbuq_core.jobs import effective_n_jobs, stage
from gbuq_core.metrics.neighbour_tuning import TINIEST_SCALE, NeighbourTuning
from gbuq_core.metrics.scale_calibration import SCORINGS
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.ownership import is_owned
from gbuq_core.validation import check_choice, check_flag, check_number

_LEAST_SPREAD = 1e3 * TINIEST_SCALE  # of y: three digits of its std are more than nothing


class TunedNeighbours(BaseEstimator):
    """Base of `IBUGRegressor`: its constructor and fit; not for use by itself."""

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
        spread = rows.y.max() - rows.y.min()
        if spread < _LEAST_SPREAD:
            raise InvalidData(
                f"y varies by {spread:g} only, and a std below {TINIEST_SCALE:g} counts as none: "
                "measure it in a smaller unit."
            )
        self._check_family(rows.y)
        held_out = self._check_validation(X_val, y_val)
        self.seed_ = draw_seed(self.random_state)
        with stage(1):
            if is_owned(self.base_model):
                self._fit_owned(rows, held_out)
            else:
                self._fit_given(rows, held_out)
            self._tune()
        leaves = self._rows.leaves
        self.n_trees_ = leaves.n_trees
        self.memory_bytes_ = leaves.n_bytes + self._rows.y.nbytes
        if self._validation is not None:
            self.memory_bytes_ += self._validation.n_bytes
        self.fit_seconds_ = time.perf_counter() - began
        self.y_train_ = self._rows.y  # last: with it the estimator counts as fitted
        return self

    def _fit_given(self, rows: Rows, held_out: Rows | None) -> None:
        """Use the model as it is; tune on the rows held out, if there are any."""
        if held_out is None:
            for name in ("n_neighbors", "posterior"):
                if getattr(self, name) == "tune":
                    raise InvalidParameter(
                        f"{name}='tune' needs rows that the fitted model has not seen: pass X_val "
                        "and y_val, or choose it."
                    )
        self._check_fixed_k(len(rows.y))
        with stage(1, span=0.6):
            self._rows = self._index(self.base_model, rows)
        n_trees = self._rows.leaves.n_trees
        if self.n_trees_sampled is not None:  # refused if more than there are
            select_trees(n_trees, self.n_trees_sampled, self.tree_order, self.seed_)
        self._validation = self._watch(self._rows, held_out, None, rows.y)

    def _fit_owned(self, rows: Rows, held_out: Rows | None) -> None:
        """Fit the model on a part of the rows, tune on the rest, and refit it on all of them."""
        if self.base_model is None:
            rows = Rows(numbers_of(rows.X), rows.y)
            held_out = None if held_out is None else Rows(numbers_of(held_out.X), held_out.y)
        tuned = "tune" in (self.n_neighbors, self.posterior) or self.calibrate
        every, n_trees, places = rows, None, np.arange(len(rows.y))
        if held_out is not None:
            every = Rows(stack_rows(rows.X, held_out.X), np.concatenate([rows.y, held_out.y]))
            self._check_family(every.y)
        elif tuned or self.base_model is None:  # CatBoost stops adding trees by them
            places, others = hold_out(len(rows.y), self.validation_fraction, self.seed_)
            held_out = Rows(take_rows(rows.X, others), rows.y[others])
            rows = Rows(take_rows(rows.X, places), rows.y[places])
        self._check_fixed_k(len(rows.y))
        self._validation = None
        if held_out is not None:
            with stage(1, span=0.4):
                first, n_trees = self._fit_model(rows, held_out, None)
            with stage(1, span=0.1):
                self._validation = self._watch(self._index(first, rows), held_out, places, every.y)
        with stage(1, span=0.4):
            model, _ = self._fit_model(every, None, n_trees)
            self._rows = self._index(model, every)

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

    def _watch(
        self,
        rows: TrainingRows,
        held_out: Rows | None,
        places: NDArray[np.intp] | None,
        y_train: FloatArray,
    ) -> ValidationRows | None:
        """Where the trees of the model for tuning put the validation rows."""
        if held_out is None:
            return None
        X, y = held_out
        found = (rows.source, rows.leaves, X, y, places, y_train, self.seed_, self.n_jobs)
        try:
            return ValidationRows(*found)
        except ValueError as error:
            raise explain_missing(error, X, rows.source.model) from error

    def _tune(self) -> None:
        """Choose k, the least scale, the calibration and the family (algorithm 3)."""
        self.n_trees_ = self._rows.leaves.n_trees
        choice, seen = self._choose_trees(None, None), self._validation
        self.tuning_: NeighbourTuning | None = None
        self.y_validation_ = np.empty(0) if seen is None else seen.y
        fixed = self.n_neighbors
        if fixed == "tune":
            self.tuning_ = self._need_validation("n_neighbors='tune'").tuning(choice, self.scoring)
            fixed = self.tuning_.n_neighbors[self.tuning_.best]
        self.min_scale_ = TINIEST_SCALE if self.min_scale is None else float(self.min_scale)
        setting = self._setting(int(fixed), None, choice)
        self.n_neighbors_, self.min_scale_, self.gamma_, self.delta_ = setting
        self.posterior_ = self.posterior
        if self.posterior == "tune":
            seen = self._need_validation("posterior='tune'")
            near = seen.neighborhood(choice, self.n_neighbors_, self.n_trees_, self._rows.fit_id)
            self.posterior_ = score_rows(
                [(near, setting, seen.y)], self._rows.y, self.posterior_fit, self.n_jobs
            ).best

    def _check_parameters(self) -> None:
        if isinstance(self.base_model, type):
            raise InvalidParameter(
                f"base_model must be an object, not a class: pass {self.base_model.__name__}()."
            )
        check_choice("scoring", self.scoring, SCORINGS)
        check_choice("tree_order", self.tree_order, TREE_ORDERS)
        check_choice("posterior", self.posterior, (*FAMILIES, "tune"))
        check_choice("posterior_fit", self.posterior_fit, FITS)
        check_flag("calibrate", self.calibrate)
        if self.n_trees_sampled is not None:
            check_number("n_trees_sampled", self.n_trees_sampled, 1, integer=True)
        if self.min_scale is not None:
            check_number("min_scale", self.min_scale, 0, low_open=True)
        check_number("validation_fraction", self.validation_fraction, 0, 0.9, low_open=True)
        effective_n_jobs(self.n_jobs)
        if hasattr(self.base_model, "fit") and hasattr(self.base_model, "predict_proba"):
            raise InvalidParameter(
                f"base_model is a classifier ({type(self.base_model).__name__}): pass a regressor, "
                "or ask gbuq_core.ibug.class_neighbors for the classes among its neighbours."
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

    def _check_fixed_k(self, n_train: int) -> None:
        """Refuse, before anything is fitted, a k that so many rows of the model for tuning lack."""
        if self.n_neighbors != "tune":
            self._check_k(self.n_neighbors, n_train)

    def _check_k(self, n_neighbors: Any, n_train: int) -> int:
        """Return k if it is a number that makes sense for so many training rows."""
        if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer):
            raise InvalidParameter(
                f"n_neighbors must be a whole number or 'tune'; got {n_neighbors!r}."
            )
        k = int(n_neighbors)
        if k < 2:
            raise InvalidParameter(
                f"n_neighbors must be at least 2, as a single neighbour has no spread; got {k}."
            )
        if k > n_train:
            raise InvalidParameter(
                f"n_neighbors must be at most {n_train}, the number of training rows; got {k}."
            )
        return k

    def _need_validation(self, what: str) -> ValidationRows:
        if self._validation is None:
            raise InvalidParameter(
                f"{what} needs validation rows and the fit had none: fit with X_val and y_val."
            )
        return self._validation

    def _choose_trees(self, n_sampled: int | None, order: str | None) -> TreeChoice:
        """The trees that count, with these choices in place of the estimator's own."""
        count, n_trees = n_sampled, self._rows.leaves.n_trees
        if count is None and self.n_trees_sampled is not None:
            # A model that the estimator fits has as many trees as it turns out to need.
            count = min(self.n_trees_sampled, n_trees)
        chosen = self.tree_order if order is None else order
        check_choice("tree_order", chosen, TREE_ORDERS)
        if count is not None:
            count = check_number("n_trees_sampled", count, 1, n_trees, integer=True)
        return TreeChoice(None, "first") if count in (None, n_trees) else TreeChoice(count, chosen)

    def _choose_k(self, n_neighbors: int | str | None, choice: TreeChoice) -> int:
        """k: the fitted one, the best with these trees, or a number."""
        if n_neighbors is None:
            return int(self.n_neighbors_)
        if isinstance(n_neighbors, str) and n_neighbors == "tune":
            scores = self._need_validation("n_neighbors='tune'").tuning(choice, self.scoring)
            return int(scores.n_neighbors[scores.best])
        return self._check_k(n_neighbors, len(self._rows.y))

    def _setting(self, k: int, calibrate: bool | None, choice: TreeChoice) -> Setting:
        """The least scale and calibration of one k with these trees."""
        on = check_flag("calibrate", self.calibrate if calibrate is None else calibrate)
        if self._validation is None:
            return Setting(k, self.min_scale_, 1.0, 0.0)
        return self._validation.setting(choice, k, on, self.scoring, self.min_scale)
