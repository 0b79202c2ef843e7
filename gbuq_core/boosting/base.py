"""What the regressor and the classifier share: fitting, members, flags, saving."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gbuq_core.array_checks import check_same_length
from gbuq_core.boosting import numba_engine
from gbuq_core.boosting.monotone import signs_of_columns
from gbuq_core.boosting.numba_engine import NumbaModels
from gbuq_core.boosting.plan import (
    BoostingPlan,
    CatBoostModels,
    check_stages,
    langevin_numbers,
    make_plan,
    member_points,
    plan_schedule,
)
from gbuq_core.boosting.stopping import (
    STOPPINGS,
    fit_clocks,
    members_of_a_fold,
    resolve_stopping,
)
from gbuq_core.calibration.splits import Split, check_group_count, make_splits
from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.inputs import (
    RowFlags,
    category_columns,
    check_fit_data,
    check_new_rows,
    check_sample_weight,
    draw_seed,
    stack_rows,
)
from gbuq_core.jobs import check_memory, parallel_map, stage
from gbuq_core.model_files.contents import require
from gbuq_core.model_files.fields import Savable, load
from gbuq_core.trees.binning import Encoding, apply_encoding, fit_encoding
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_number

_BLOCK_ROWS = 4096  # whose members stay in the cache while their uncertainty is computed
MAX_COLUMNS = 32_767  # the trees keep their features as int16


class FitTrace(NamedTuple):
    """How the training of one model went, tree by tree, (n_trees,) each.

    ``n_trees`` counts 1, 2, ...; ``scale`` is the factor of that tree's gradients (eq. 7 of the
    cyclical paper, else 1); ``train_loss`` the mean negative log likelihood of the training rows
    with that many trees, in nats, for regression of the target in its own unit; ``leaf_norm`` the
    root mean square over rows of what the tree added to the raw outputs.
    """

    n_trees: np.ndarray
    scale: np.ndarray
    train_loss: np.ndarray
    leaf_norm: np.ndarray


class StagedMembers(NamedTuple):
    """Members while they grow: n_trees (n_stages,) and members (n_stages, n_members, n_samples, 2
    or n_classes), as `predict_members` of an ensemble trained for that many trees would give them.
    """

    n_trees: np.ndarray
    members: np.ndarray


class ValidationLosses(NamedTuple):
    """n_trees (n_stages,) and the mean negative log likelihood in nats, (n_models, n_stages)."""

    n_trees: np.ndarray
    loss: np.ndarray


def _engine_of(plan: BoostingPlan) -> Any:
    """The module that trains and predicts for a plan."""
    if plan.engine == "catboost":
        from gbuq_core.boosting import catboost_engine

        return catboost_engine
    return numba_engine


class BoostedEnsemble(Savable, BaseEstimator):
    """Base of the two ensembles, with their constructor; not for use by itself."""

    plan_: BoostingPlan
    seed_: int
    stopping_: str | None
    clocks_: Any
    encoding_: Encoding
    models_: NumbaModels | CatBoostModels
    n_rows_: int
    total_weight_: float
    fit_seconds_: float
    _not_saved = ("is_category_", "langevin_", "n_trees_", "n_cells_", "memory_bytes_")

    def __init__(
        self,
        method: str = "sglb",
        ensemble: str | None = None,
        n_members: int = 10,
        n_trees: int = 1000,
        truncation_step: int = 50,
        truncation_start: float = 0.5,
        depth: int = 6,
        learning_rate: float | None = None,
        subsample: float | None = None,
        cycle_length: int = 200,
        burn_in_cycles: int = 0,
        alpha_max: float = 10.0,
        alpha_min: float = 1.0,
        mask_prob: float = 0.66,
        exploration_fraction: float = 0.9,
        noise_free_exploration: bool = False,
        temperature: str | float = "catboost",
        leaf_noise: bool | None = None,
        random_strength: float = 1.0,
        leaf_estimation: str = "newton",
        class_weight: Any = None,
        standardize_target: bool = True,
        target: str | None = None,
        l2: float = 3.0,
        max_bins: int = 128,
        categorical_features: Any = None,
        monotone_constraints: Any = None,
        stopping: str | None = "two_clocks",
        cv: Any = None,
        mean_weight: str | float | None = "auto",
        tails: str = "student",
        capacity: str | None = None,
        engine: str = "numba",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.ensemble = ensemble
        self.n_members = n_members
        self.n_trees = n_trees
        self.truncation_step = truncation_step
        self.truncation_start = truncation_start
        self.depth = depth
        self.learning_rate = learning_rate
        self.subsample = subsample
        self.cycle_length = cycle_length
        self.burn_in_cycles = burn_in_cycles
        self.alpha_max = alpha_max
        self.alpha_min = alpha_min
        self.mask_prob = mask_prob
        self.exploration_fraction = exploration_fraction
        self.noise_free_exploration = noise_free_exploration
        self.temperature = temperature
        self.leaf_noise = leaf_noise
        self.random_strength = random_strength
        self.leaf_estimation = leaf_estimation
        self.class_weight = class_weight
        self.standardize_target = standardize_target
        self.target = target
        self.l2 = l2
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotone_constraints = monotone_constraints
        self.stopping = stopping
        self.cv = cv
        self.mean_weight = mean_weight
        self.tails = tails
        self.capacity = capacity
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit_all(
        self,
        table: Any,
        target: np.ndarray,
        n_classes: int | None,
        groups: Any,
        n_given: int,
        weight: np.ndarray | None,
    ) -> Self:
        """Choose where to stop, by the last ``n_given`` rows if any; then train on all rows."""
        began = time.perf_counter()
        self._prepare(len(table), n_given > 0)
        plan = self.plan_
        if self.stopping_ is None:
            self._train(table, target, n_classes, weight)
        else:
            cut = len(table) - n_given
            splits, parts = self.__dict__.pop("_folds", (None, None))
            if splits is None:
                splits = [Split(np.arange(cut), np.arange(cut, len(table)))]
            if n_given == 0 and parts is None:
                splits = make_splits(target, bool(n_classes), self.cv, groups, self.seed_, table)
            cost = len(splits) * members_of_a_fold(plan.n_models, len(splits)) / plan.n_models
            with stage(1.0 + cost):
                with stage(1.0, span=cost):
                    clocks = fit_clocks(self, table, target, n_classes, splits, weight, parts)
                with stage(1.0, span=1.0):
                    self._train(table, target, n_classes, weight)
            self.clocks_ = clocks
        self.fit_seconds_ = time.perf_counter() - began
        return self

    def fit_with_folds(self, X: Any, y: Any, splits: list[Split], **options: Any) -> list[Self]:
        """Fit to all rows, and return what was fitted without the held rows of each split.

        These have chosen the clocks together and stop at them. None are returned where the ensemble
        chooses no clocks. ``options`` are those of `fit`; no row may have a weight of 0.
        """
        parts: list[Self] = []
        self._folds = splits, parts
        try:
            self.fit(X, y, **options)
        finally:  # a fit that fails leaves no splits to the next one
            self.__dict__.pop("_folds", None)
        for part in parts:
            part.__dict__.update({**self.__dict__, **part.__dict__})
        return [part.with_clocks(self.clocks_) for part in parts]

    def _prepare(self, n_rows: int, has_rows: bool = False) -> None:
        """Check the knobs against the rows: plan, seed, and the rule of stopping."""
        self.plan_ = make_plan(self)
        self.seed_ = draw_seed(self.random_state)
        self.stopping_ = resolve_stopping(self, self.plan_, n_rows, has_rows)

    def _train(
        self,
        table: Any,
        target: np.ndarray,
        n_classes: int | None,
        weight: np.ndarray | None = None,
    ) -> None:
        """Fit all trees on a table and its target (n,): numbers, or class codes."""
        self.clocks_ = None
        engine = _engine_of(self.plan_)
        n_bytes = engine.estimate_bytes(self.plan_, *table.shape, n_classes or 2, self.n_jobs)
        check_memory(n_bytes, "this fit")
        inner = self._inner_target(target, weight)
        self.encoding_, matrix = fit_encoding(
            table, inner, n_classes, self.is_category_, self.seed_, weight
        )
        if matrix.shape[1] > MAX_COLUMNS:
            raise InvalidData(
                f"X has {matrix.shape[1]} columns after encoding, but at most {MAX_COLUMNS} are "
                "supported: drop some."
            )
        signs = signs_of_columns(self, table)
        more = (weight,) if signs is None else (weight, signs)
        self.models_ = engine.fit(
            matrix,
            self.encoding_.is_category,
            inner,
            n_classes,
            self.plan_,
            self.seed_,
            self.n_jobs,
            *more,
        )
        counted = None if self.plan_.engine == "catboost" else weight
        self.total_weight_ = numba_engine.count_weighted(len(matrix), counted)
        self.langevin_ = langevin_numbers(self.plan_, self.total_weight_)
        self.n_trees_ = self.plan_.n_trees
        self.n_cells_ = self.models_.n_cells
        self.n_rows_ = len(matrix)
        self.memory_bytes_ = self.models_.n_bytes

    def _check_fit_data(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        table, target = check_fit_data(self, X, y)
        self.__dict__.pop("models_", None)  # a fit that fails leaves no half of the one before
        self.is_category_ = category_columns(X, self.categorical_features)
        return table, target

    def _leave_out(
        self, table: Any, target: np.ndarray, groups: Any, sample_weight: Any
    ) -> tuple[Any, np.ndarray, Any, np.ndarray | None]:
        """The rows that count, with their target, groups and weights."""
        weight = check_sample_weight(sample_weight, len(table))
        if weight is None or (weight > 0.0).all():
            return table, target, groups, weight
        rows = np.flatnonzero(weight)
        if groups is not None:
            check_group_count(groups, len(table))
            groups = np.asarray(groups)[rows]
        weight = weight[rows]
        return table.iloc[rows], target[rows], groups, None if (weight == 1.0).all() else weight

    def _stack_rows(self, table: Any, X_val: Any, y_val: Any) -> tuple[Any, np.ndarray | None]:
        """The table with the caller's own rows to choose on below it, and their target."""
        if (X_val is None) != (y_val is None):
            raise InvalidData("X_val and y_val belong together: pass both or neither.")
        if X_val is None:
            return table, None
        more, target = check_new_rows(self, X_val), np.asarray(y_val)
        if target.shape != (len(more),):
            raise InvalidData(
                f"X_val has {len(more)} rows, but y_val has the shape {target.shape}."
            )
        return stack_rows(table, more.set_axis(table.columns, axis=1)), target

    def _matrix(self, table: Any) -> np.ndarray:
        """The matrix that the models read, of a table whose columns are known to match."""
        return apply_encoding(self.encoding_, table)[0]

    def _encode(self, X: Any) -> tuple[np.ndarray, RowFlags]:
        check_is_fitted(self, "models_")
        return apply_encoding(self.encoding_, check_new_rows(self, X))

    def _map_members(
        self,
        X: Any,
        finish: Callable[[np.ndarray], Sequence[np.ndarray]],
        *members: Any,
    ) -> list[np.ndarray]:
        """What ``finish`` makes of raw outputs (n_members, n_rows, n_outputs), block by block;
        ``members`` are the arguments of `chosen_members`.
        """
        return self._map_matrix(self._encode(X)[0], finish, *members)

    def _map_matrix(
        self,
        matrix: np.ndarray,
        finish: Callable[[np.ndarray], Sequence[np.ndarray]],
        *members: Any,
    ) -> list[np.ndarray]:
        """The same of an encoded matrix."""
        points, limit = self.chosen_members(*members)
        stages = self._stages_for(points)
        if len(matrix) < 2 * _BLOCK_ROWS or self.plan_.engine != "numba":
            raw = self._raw(matrix, stages, limit)
            return list(finish(self._pick_members(raw, points)))

        models: Any = self.models_
        read = numba_engine.read_stages(models, stages, limit)

        def finish_block(low: int) -> Sequence[np.ndarray]:
            return finish(self._pick_members(read(matrix[low : low + _BLOCK_ROWS]), points))

        blocks = parallel_map(finish_block, range(0, len(matrix), _BLOCK_ROWS), self.n_jobs)
        return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]

    def predict_members(
        self,
        X: Any,
        truncation_step: int | None = None,
        truncation_start: float | None = None,
        n_members: int | None = None,
        burn_in_cycles: int | None = None,
    ) -> np.ndarray:
        """What every member says.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        truncation_step, truncation_start : optional
            In place of the estimator's own, for virtual ensembles.
        n_members : int, optional
            Use only this many members: the first models, or the last truncations.
        burn_in_cycles : optional
            In place of the estimator's own, for cyclical methods.

        Returns
        -------
        (n_members, n_samples, 2 or n_classes) float64
            Class probabilities; of a regression the mean in the unit of y, and the variance in its
            square. With ``target="log"`` they are those of a log-normal: ``exp(m + v / 2)`` and
            ``(exp(v) - 1) exp(2 m + v)``, with mean m and variance v of log y.
        """
        matrix, _ = self._encode(X)
        points, limit = self.chosen_members(
            truncation_step, truncation_start, n_members, burn_in_cycles
        )
        raw = self._raw(matrix, self._stages_for(points), limit)
        return self._finish_members(self._pick_members(raw, points))

    def predict_uncertainty(
        self,
        X: Any,
        truncation_step: int | None = None,
        truncation_start: float | None = None,
        n_members: int | None = None,
        burn_in_cycles: int | None = None,
    ) -> Uncertainty:
        """Total, data and knowledge uncertainty, (n_samples,) each.

        Of a regression as variances of y (eq. 6), of classes in nats (eq. 3-4). Parameters as in
        `predict_members`.
        """
        parts = self._map_members(
            X,
            lambda raw: self._decompose(self._finish_members(raw)),
            truncation_step,
            truncation_start,
            n_members,
            burn_in_cycles,
        )
        return Uncertainty(*parts)

    def chosen_members(
        self,
        truncation_step: int | None = None,
        truncation_start: float | None = None,
        n_members: int | None = None,
        burn_in_cycles: int | None = None,
    ) -> tuple[np.ndarray, int]:
        """Numbers of trees that the members have, and how many models they are of."""
        points = self.member_trees(truncation_step, truncation_start, burn_in_cycles)
        limit = self.plan_.n_models
        if self.plan_.ensemble == "virtual":
            if n_members is not None:
                n_members = check_number("n_members", n_members, 1, len(points), integer=True)
                points = points[-n_members:]
        elif n_members is not None:
            limit = check_number("n_members", n_members, 1, limit, integer=True)
        return points, limit

    def _stages_for(self, points: np.ndarray) -> np.ndarray:
        """The numbers of trees at which members with these numbers read the models."""
        scale_trees = self._scale_trees()
        return points if scale_trees is None else np.union1d(points, [scale_trees])

    def _pick_members(self, raw: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Raw outputs of the members, (n_members, n_samples, n_outputs), out of those of all models
        at `_stages_for` these points, (n_models, n_stages, n_samples, n_outputs).
        """
        scale_trees = self._scale_trees()
        if scale_trees is None:
            return raw.reshape(-1, *raw.shape[2:])
        stages = self._stages_for(points)
        members = raw[:, np.searchsorted(stages, points)]
        members[..., 1] = raw[:, None, np.searchsorted(stages, scale_trees), :, 1]
        return members.reshape(-1, *raw.shape[2:])

    def _raw(self, matrix: np.ndarray, points: np.ndarray, n_models: int) -> np.ndarray:
        """Raw outputs (n_models, n_points, n_samples, n_outputs) after each number of trees."""
        engine = _engine_of(self.plan_)
        return engine.raw_predictions(self.models_, matrix, points, n_models, self.n_jobs)

    def member_trees(
        self,
        truncation_step: int | None = None,
        truncation_start: float | None = None,
        burn_in_cycles: int | None = None,
    ) -> np.ndarray:
        """Numbers of trees that the members use: truncation points, ends of cycles, or all
        trees.
        """
        check_is_fitted(self, "models_")
        plan = self.plan_
        if plan.cyclical and (truncation_step is not None or truncation_start is not None):
            raise InvalidParameter(
                f"truncation_step and truncation_start do not apply to method={plan.method!r}, "
                "whose members are the ends of its cycles: leave them out."
            )
        if burn_in_cycles is not None and not plan.cyclical:
            raise InvalidParameter(
                f"burn_in_cycles does not apply to method={plan.method!r}, which has no cycles: "
                "leave it out."
            )
        return self._points(self._mean_trees(), truncation_step, truncation_start, burn_in_cycles)

    def _points(
        self,
        n_trees: int,
        truncation_step: int | None = None,
        truncation_start: float | None = None,
        burn_in_cycles: int | None = None,
    ) -> np.ndarray:
        """The members' numbers of trees of ``n_trees``; truncations keep their number."""
        step = self.truncation_step if truncation_step is None else truncation_step
        start = self.truncation_start if truncation_start is None else truncation_start
        burn_in = self.burn_in_cycles if burn_in_cycles is None else burn_in_cycles
        return member_points(self.plan_, n_trees, step, start, burn_in)

    def with_clocks(self, clocks: Any) -> Self:
        """The same trees stopped elsewhere: a fitted ensemble that predicts with these clocks.

        Nothing is fitted or copied: both ensembles share their trees.

        Parameters
        ----------
        clocks : Clocks, ClassClocks or None
            Of `gbuq_core.calibration.choose_clocks` on rows that the models have not learnt from,
            or `choose_class_clocks`. None means all trees.

        Raises
        ------
        InvalidParameter
            If the clocks stop at a tree that the ensemble does not have.

        Examples
        --------
        >>> from gbuq_core import BoostedEnsembleRegressor
        >>> X = [[float(i)] for i in range(50)]
        >>> model = BoostedEnsembleRegressor(n_members=2, n_trees=20).fit(X, range(50))
        >>> whole = model.with_clocks(None)
        >>> whole.member_trees().tolist(), whole.stopping_
        ([20], None)
        """
        check_is_fitted(self, "models_")
        other = copy.copy(self)
        other.clocks_ = clocks
        last = self.n_trees_ if clocks is None else clocks.last
        if last > self.n_trees_:
            raise InvalidParameter(
                f"The clocks stop at {last} trees, but the ensemble has {self.n_trees_}."
            )
        other.stopping_ = None if clocks is None else (self.stopping_ or "two_clocks")
        return other

    def _mean_trees(self) -> int:
        """Trees of the members' means, or of all outputs of a classifier."""
        return self.n_trees_

    def _scale_trees(self) -> int | None:
        """Trees of the members' variances where they stop at another number than the means."""
        return None

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each column in what the trees do, (n_features,); they sum to 1.

        How much the predictions change at the splits on a column, squared and added up over the
        trees that the members use (as CatBoost's PredictionValuesChange, but every leaf counts the
        same). Regression counts the mean and the log std, both in units of the target's std. A
        column without a split has 0, and all have where no tree splits.
        """
        check_is_fitted(self, "models_")
        last = int(self.member_trees()[-1])
        units = self._output_units()
        n_trees = np.full(len(units), last)
        n_trees[1:] = self._scale_trees() or last
        changes = _engine_of(self.plan_).value_changes(self.models_, n_trees, units)
        widths = [c.means.shape[1] if c.kind == "target" else 1 for c in self.encoding_.columns]
        owner = np.repeat(np.arange(len(widths)), widths)
        summed = np.bincount(owner, changes, len(widths))
        total = summed.sum()
        return summed / total if total > 0.0 else summed

    @property
    def traces_(self) -> tuple[FitTrace, ...]:
        """How the training of each model went; empty with ``engine="catboost"``."""
        check_is_fitted(self, "models_")
        scale, shift = plan_schedule(self.plan_).scale, self._loss_shift()
        return tuple(
            FitTrace(np.arange(1, len(scale) + 1), scale, trace[0, 1:] + shift, trace[1, :-1])
            for trace in getattr(self.models_, "traces", ())
        )

    def validation_losses(self, X: Any, y: Any, every: int | None = None) -> ValidationLosses:
        """Each model's mean negative log likelihood on other rows while it grew; refits nothing.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        y : array-like (n_samples,)
        every : int, optional
            Stages as in `staged_members`.

        Raises
        ------
        InvalidData
            If y does not match X, or holds a class that training had not.

        Examples
        --------
        >>> from gbuq_core import BoostedEnsembleRegressor
        >>> X = [[0.0], [1.0], [2.0], [3.0]]
        >>> model = BoostedEnsembleRegressor(n_members=2, n_trees=20, random_state=0)
        >>> model.fit(X, [0.1, 0.9, 2.1, 2.9]).validation_losses(X, [0.0, 1.0, 2.0, 3.0]).loss.shape
        (2, 2)
        """
        target = np.asarray(y)
        if target.ndim != 1:
            raise InvalidData(f"y must have one value a row; got an array of shape {target.shape}.")
        n_trees, staged = self._staged(X, every, None)
        check_same_length(X=staged[0, 0, :, 0], y=target)
        losses = self._losses(staged, target)
        return ValidationLosses(n_trees, np.ascontiguousarray(losses.mean(axis=-1).T))

    def inspect_rows(self, X: Any) -> RowFlags:
        """Tell which rows hold a level or a missing value that training had not.

        ``unseen_level`` and ``new_missing`` (n_samples,) bool, and the ``columns`` concerned.
        """
        return self._encode(X)[1]

    def staged_members(self, X: Any, every: int | None = None, at: Any = None) -> StagedMembers:
        """Every model's predictions while it grows, from one pass over the trees.

        Parameters
        ----------
        X : array-like (n_samples, n_features) or DataFrame
        every : int, optional
            Stages are at ``every, 2 every, ...`` and all trees; None means every tenth tree.
        at : array-like (n_stages,) of int, optional
            These numbers of trees instead, rising from 1 at least to all trees at most.

        Returns
        -------
        StagedMembers
            The axis of members holds the independent models; a virtual or cyclical ensemble has one
            model here, and its members at ``t`` trees are the stages before ``t`` that
            `member_trees` selects.

        Examples
        --------
        >>> from gbuq_core import BoostedEnsembleRegressor
        >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0]
        >>> model = BoostedEnsembleRegressor(method="csglb", n_trees=20, cycle_length=10).fit(X, y)
        >>> model.staged_members(X, at=model.member_trees()).members.shape
        (2, 1, 3, 2)
        """
        staged = self._staged(X, every, at)
        return staged._replace(members=self._in_unit(staged.members))

    def _staged(self, X: Any, every: int | None, at: Any) -> StagedMembers:
        """The parameters of the law that the models were trained to predict, at every stage."""
        matrix, _ = self._encode(X)
        if at is None:
            step = min(10, self.n_trees_)
            if every is not None:
                step = check_number("every", every, 1, self.n_trees_, integer=True)
            stages = np.unique(np.append(np.arange(step, self.n_trees_ + 1, step), self.n_trees_))
        else:
            stages = check_stages(at, self.n_trees_)
        raw = self._raw(matrix, stages, self.plan_.n_models)
        return StagedMembers(stages, self._parameters(raw).swapaxes(0, 1))

    def leaf_indices(self, X: Any) -> np.ndarray:
        """Leaf of every row in every tree of every model, (n_samples, n_models * n_trees)
        uint16.
        """
        matrix, _ = self._encode(X)
        return _engine_of(self.plan_).leaf_indices(self.models_, matrix)

    def check_file(self) -> None:
        """Refuse what no fit makes, and make again what follows from the rest."""
        plan, encoding = self.plan_, self.encoding_
        knobs = asdict(plan)
        knobs["n_members"] = knobs.pop("n_models")
        knobs["leaf_estimation"] = "newton" if knobs.pop("newton") else "gradient"
        require(make_plan(type(self)(**knobs)) == plan, "its knobs contradict each other")
        require(self.stopping_ in (None, *STOPPINGS), "its rule of stopping is unknown")
        n_outputs = len(self.classes_) if hasattr(self, "classes_") else 2
        width = n_outputs if n_outputs > 2 else 1
        widths = {len(column.fallback) for column in encoding.columns if column.kind == "target"}
        same = widths <= {width} and len(encoding.columns) == self.n_features_in_
        require(same, "its columns do not match")
        self.is_category_ = np.array([column.kind != "number" for column in encoding.columns])
        of_engine = isinstance(self.models_, CatBoostModels) == (plan.engine == "catboost")
        require(of_engine, "its models are of another engine")
        _engine_of(plan).check_models(self.models_, plan, n_outputs, encoding.is_category)
        require(self.n_rows_ >= 1 and 1.0 <= self.total_weight_ < math.inf, "it has no rows")
        self.langevin_ = langevin_numbers(plan, self.total_weight_)
        self.n_trees_, self.n_cells_ = plan.n_trees, self.models_.n_cells
        self.memory_bytes_ = self.models_.n_bytes
        if self.clocks_ is not None:
            require(self.clocks_.last <= plan.n_trees, "a clock stops at a tree that is not there")

    def estimate_bytes(self, n_rows: int, n_features: int, n_classes: int | None = None) -> int:
        """Roughly the memory that `fit` takes at its peak, before any data is touched."""
        engine = _engine_of(plan := make_plan(self))
        return engine.estimate_bytes(plan, n_rows, n_features, n_classes or 2, self.n_jobs)

    def _parameters(self, raw: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _output_units(self) -> np.ndarray:
        """What makes changes of the raw outputs comparable, (n_outputs,)."""
        raise NotImplementedError

    def _finish_members(self, raw: np.ndarray) -> np.ndarray:
        """What `predict_members` gives, of the members' raw outputs."""
        raise NotImplementedError

    def _decompose(self, members: np.ndarray) -> Uncertainty:
        """The parts of the uncertainty, of what the members say."""
        raise NotImplementedError

    def _in_unit(self, parameters: np.ndarray) -> np.ndarray:
        """What members say about y itself, of the parameters (..., 2 or n_classes) of their law."""
        return parameters

    def _losses(self, staged: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Negative log likelihoods (n_stages, n_models, n_samples) of staged parameters."""
        raise NotImplementedError

    def _inner_target(self, target: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
        """What the models are trained on."""
        raise NotImplementedError

    def _loss_shift(self) -> float:
        """What turns the loss of the inner target into that of the target."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True  # in columns declared categorical
        tags.target_tags.required = True
        return tags


def load_ensemble(source: Any) -> Any:
    """Read a fitted ensemble that ``save`` has written.

    Parameters
    ----------
    source : path, bytes or binary file
        Models of ``engine="catboost"`` only from sources you trust: CatBoost parses them itself.

    Returns
    -------
    BoostedEnsembleRegressor or BoostedEnsembleClassifier
        With the same predictions, bit for bit.

    Raises
    ------
    ModelFileError
        If there is no such file, or it is damaged, foreign, or written by another version.
    MemoryLimitExceeded
        If it does not fit into the free memory.

    Examples
    --------
    >>> import io
    >>> from gbuq_core import BoostedEnsembleRegressor, load_ensemble
    >>> X = [[0.0], [1.0], [2.0]]
    >>> model = BoostedEnsembleRegressor(n_trees=5, random_state=0).fit(X, [0.0, 1.0, 4.0])
    >>> file = io.BytesIO()
    >>> model.save(file)
    >>> again = load_ensemble(file.getvalue())
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    model = load(source)
    if not isinstance(model, BoostedEnsemble):
        raise ModelFileError("The file holds no boosted ensemble: read it by gbuq_core.load.")
    return model
