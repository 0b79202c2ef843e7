"""Where an ensemble's mean and scale stop, and how deep its trees are: rows that choose.

The models that choose are fitted without the rows that choose, and thrown away; the ensemble
itself is fitted on all rows. See `gbuq_core.calibration.clocks` for the rule.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.boosting.plan import BoostingPlan, cycle_ends
from gbuq_core.calibration import (
    ClassClocks,
    ClassStages,
    Clocks,
    Stages,
    choose_class_clocks,
    choose_clocks,
    early_clocks,
)
from gbuq_core.calibration.clocks import (
    TAILS,
    join_class_stages,
    join_stages,
    tree_grid,
    warn_of_all_trees,
)
from gbuq_core.calibration.splits import HELD_OUT_FROM, Split
from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import stage
from gbuq_core.methods.boosted import KNOBS
from gbuq_core.parallel import outer_map
from gbuq_core.validation import check_choice, check_number

STOPPINGS = ("two_clocks", "early")
FEWEST_ROWS = 40  # fewer say nothing about the number of trees
MEAN_WEIGHT = 100.0  # what "auto" means
_MORE_LEVELS, _MOST_LEVELS = 4, 10  # that "auto" tries
_MOST_GROWN = 4  # times the trees asked for, where no clock stops before
_NEAR_END, _SPARE = 0.85, 1.5  # of trees that begin with few: when there are more, and how many
_LEAST_GAIN = 0.01  # nats a row, for two levels more
_SHARE_ALONE, _SHARE_TOGETHER = 0.1, 0.5  # of the search's progress
_BLOCK_VALUES = 4_000_000  # predictions held at once
_CLASS_VALUES = 16_000_000  # log probabilities that choose the temperature


def resolve_stopping(estimator: Any, plan: BoostingPlan, n_rows: int, has_rows: bool) -> str | None:
    """The rule of a fit: None for samples from a posterior and for fewer than 40 rows."""
    rule = estimator.stopping
    if rule is not None:
        check_choice("stopping", rule, STOPPINGS)
    check_choice("tails", estimator.tails, TAILS)
    check_mean_weight(estimator.mean_weight)
    if estimator.capacity is not None:
        check_choice("capacity", estimator.capacity, ("auto",))
        if rule is None or plan.ensemble != "independent":
            raise InvalidParameter(
                "capacity='auto' is for independent models with stopping: leave it at None here."
            )
    if rule is None or (plan.method != "sgb" and plan.temperature != "catboost"):
        return None
    if n_rows < FEWEST_ROWS and not has_rows:
        warnings.warn(
            f"{n_rows} rows are too few to choose the number of trees (at least {FEWEST_ROWS}): "
            "all trees are used, and intervals are likely to be too narrow.",
            UserWarning,
            stacklevel=5,
        )
        return None
    return str(rule)


def check_mean_weight(value: Any) -> None:
    """Refuse a ``mean_weight`` that is neither "auto", None nor a positive number."""
    if isinstance(value, str):
        check_choice("mean_weight", value, ("auto",))
    elif value is not None:
        check_number("mean_weight", value, 0.0, 1e12, low_open=True)


def weight_of_mean(estimator: Any, stopping: str | None) -> float | None:
    """The weight in use; None leaves it to ``standardize_target``."""
    if estimator.mean_weight == "auto":
        return MEAN_WEIGHT if stopping is not None and estimator.standardize_target else None
    return None if estimator.mean_weight is None else float(estimator.mean_weight)


def members_of_a_fold(n_models: int, n_splits: int) -> int:
    """Models of each fit that chooses: all of them on one split, a share of them in folds.

    >>> members_of_a_fold(20, 5), members_of_a_fold(4, 5), members_of_a_fold(4, 1)
    (4, 2, 4)
    """
    if n_splits == 1 or n_models == 1:
        return n_models
    return min(n_models, max(2, n_models // n_splits))


def fit_clocks(
    ensemble: Any,
    table: Any,
    target: np.ndarray,
    n_classes: int | None,
    splits: list[Split],
    weight: np.ndarray | None = None,
    parts: list[Any] | None = None,
) -> Clocks | ClassClocks:
    """Fit without the rows that choose, and let them choose: the plan's capacity too, if asked.

    ``parts`` takes what was fitted without the rows of each split. Their trees then begin with few.
    """
    fit = _fit_parts if ensemble.capacity is None else _fit_capacity
    chosen = fit(ensemble, table, target, n_classes, splits, weight, parts=parts)
    warn_of_all_trees(chosen.last, ensemble.plan_.n_trees, stacklevel=4)
    if ensemble.capacity is not None:
        ensemble.plan_ = replace(ensemble.plan_, n_trees=chosen.last)
    return chosen


def _fit_parts(
    ensemble: Any,
    table: Any,
    target: np.ndarray,
    n_classes: int | None,
    splits: list[Split],
    weight: np.ndarray | None = None,
    n_members: int | None = None,
    parts: list[Any] | None = None,
) -> Clocks | ClassClocks:
    """The clocks of the plan, from ``n_members`` models of each split."""
    from sklearn.base import clone

    plan: BoostingPlan = ensemble.plan_
    if n_members is None:
        n_members = members_of_a_fold(plan.n_models, len(splits))
    side_by_side = plan.engine == "numba"  # CatBoost keeps all cores busy by itself

    def judge(k: int) -> Any:
        split = splits[k]
        seed = int(np.random.SeedSequence((ensemble.seed_, 3, k)).generate_state(1)[0])
        part = clone(ensemble).set_params(
            stopping=None, capacity=None, random_state=seed, n_members=n_members,
            n_trees=plan.n_trees, depth=plan.depth,
            mean_weight=weight_of_mean(ensemble, ensemble.stopping_),
        )  # fmt: skip
        part.is_category_ = ensemble.is_category_
        part._prepare(len(split.fitted))
        in_fit, in_choice = (None if weight is None else weight[rows] for rows in split)
        with stage(1.0, span=1.0):
            part._train(table.iloc[split.fitted], target[split.fitted], n_classes, in_fit)
        rows, known = table.iloc[split.held], target[split.held]
        if n_classes is None:
            return part, regression_stages(part, rows, known, plan.n_models, in_choice)
        return part, class_stages(part, rows, known, n_classes, in_choice)

    with stage(float(len(splits))):
        judged = outer_map(judge, range(len(splits)), ensemble.n_jobs if side_by_side else 1)
    stages = [stages for _, stages in judged]
    if parts is not None:
        parts[:] = [part for part, _ in judged]
    if n_classes is None:
        return clocks_of(stages, ensemble.stopping_, ensemble.tails)
    return class_clocks_of(stages, ensemble.stopping_)


def _deepest(plan: BoostingPlan, n_rows: int) -> int:
    """The deepest trees that are tried; with few rows only those that the plan has."""
    if n_rows < HELD_OUT_FROM:
        return plan.depth
    return max(plan.depth, min(plan.depth + _MORE_LEVELS, _MOST_LEVELS))


def _fit_capacity(
    ensemble: Any,
    table: Any,
    target: np.ndarray,
    n_classes: int | None,
    splits: list[Split],
    weight: np.ndarray | None = None,
    parts: list[Any] | None = None,
) -> Clocks | ClassClocks:
    """Clocks of trees as deep and as many as unseen rows ask for; the ensemble's plan says both.

    One model of each depth is judged by the first rows that choose. A deeper one must gain a
    hundredth of a nat a row, since each level nearly doubles the seconds. Then trees are doubled
    until both clocks stop: of one model first, which is cheap, then of all. Parts that are kept
    have about as many trees as that one needs.
    """
    first: BoostingPlan = ensemble.plan_
    most = min(_MOST_GROWN * first.n_trees, int(KNOBS["n_trees"].high or 0))
    near_end = 1.0 if parts is None else _NEAR_END
    data = table, target, n_classes

    def alone() -> Clocks | ClassClocks:
        with stage(1.0, span=_SHARE_ALONE):
            return _fit_parts(ensemble, *data, splits[:1], weight, n_members=1)

    def grow(fit: Callable[[], Clocks | ClassClocks], clocks: Clocks | ClassClocks) -> Any:
        while clocks.last >= near_end * ensemble.plan_.n_trees and ensemble.plan_.n_trees < most:
            more = min(2 * ensemble.plan_.n_trees, most)
            ensemble.plan_ = replace(ensemble.plan_, n_trees=more)
            clocks = fit()
        return clocks

    with stage(1.0):
        if parts is not None:
            ensemble.plan_ = replace(first, n_trees=max(1, first.n_trees // _MOST_GROWN))
        clocks = alone()
        if parts is not None:
            clocks = grow(alone, clocks)
        for depth in range(first.depth + 2, _deepest(first, len(target)) + 1, 2):
            shallower = ensemble.plan_
            ensemble.plan_ = replace(shallower, depth=depth)
            deeper = alone()
            if deeper.score > clocks.score - _LEAST_GAIN:
                ensemble.plan_ = shallower
                break
            clocks = deeper
        clocks = grow(alone, clocks)
        if parts is not None:
            enough = min(ensemble.plan_.n_trees, int(_SPARE * clocks.last) + 1)
            ensemble.plan_ = replace(ensemble.plan_, n_trees=enough)

        def together() -> Clocks | ClassClocks:
            with stage(1.0, span=_SHARE_TOGETHER):
                return _fit_parts(ensemble, *data, splits, weight, parts=parts)

        return grow(together, together())


def clocks_of(parts: list[Stages], stopping: str, tails: str) -> Clocks:
    """The clocks of the rows of all parts together."""
    joined = join_stages(parts)
    return (choose_clocks if stopping == "two_clocks" else early_clocks)(joined, tails)


def class_clocks_of(parts: list[ClassStages], stopping: str) -> ClassClocks:
    """Likewise of a classifier."""
    return choose_class_clocks(join_class_stages(parts), sharpen=stopping == "two_clocks")


def stage_grid(plan: BoostingPlan, burn_in: int = 0) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numbers of trees to try, and at which of them the mean may stop.

    About forty, closer together at the start. The mean of a cyclical ensemble stops at the end of a
    cycle with at least two members, if there is one.
    """
    grid = tree_grid(plan.n_trees)
    if not plan.cyclical:
        return grid, np.ones(len(grid), bool)
    ends = cycle_ends(plan.n_trees, plan.cycle_length, burn_in)
    grid = np.union1d(grid, ends)
    return grid, np.isin(grid, ends[1:] if len(ends) > 1 else ends)


def regression_stages(
    part: Any,
    table: Any,
    y: NDArray[np.float64],
    n_models: int | None = None,
    weight: NDArray[np.float64] | None = None,
) -> Stages:
    """What a fitted regression says about new rows at every number of trees to try."""
    plan: BoostingPlan = part.plan_
    grid, for_mean = stage_grid(plan, part.burn_in_cycles)
    members = [part._points(int(n_trees)) for n_trees in grid]
    wanted = np.unique(np.concatenate([grid, *members]))
    own = np.searchsorted(wanted, grid)
    of_members = [np.searchsorted(wanted, points) for points in members]
    more = 1.0
    if plan.n_models > 1 and n_models is not None:
        more = (1.0 - 1.0 / n_models) / (1.0 - 1.0 / plan.n_models)
    mean, knowledge, data = np.empty((3, len(grid), len(table)))
    size = max(1, _BLOCK_VALUES // (len(wanted) * plan.n_models * 2))
    for low in range(0, len(table), size):
        block = slice(low, low + size)
        matrix = part._matrix(table.iloc[block])
        members = part._parameters(part._raw(matrix, wanted, plan.n_models))
        for k in range(len(grid)):
            if plan.n_models > 1:
                means = members[:, own[k], :, 0]
            else:
                means = members[0, of_members[k], :, 0]
            mean[k, block] = means.mean(axis=0)
            knowledge[k, block] = means.var(axis=0) * more
            data[k, block] = members[:, own[k], :, 1].mean(axis=0)
    return Stages(
        n_trees=grid, mean=mean, knowledge=knowledge, data=data, y=np.asarray(y, np.float64),
        for_mean=for_mean, weight=weight,
    )  # fmt: skip


def class_stages(
    part: Any,
    table: Any,
    codes: NDArray[np.int64],
    n_classes: int,
    weight: NDArray[np.float64] | None = None,
) -> ClassStages:
    """Likewise of a classifier; at most as many rows as fit into 128 MB, in their order."""
    plan: BoostingPlan = part.plan_
    grid, for_mean = stage_grid(plan, part.burn_in_cycles)
    grid = grid[for_mean]
    members = [part._points(int(n_trees)) for n_trees in grid]
    n_each = max(plan.n_models, *(len(points) for points in members))
    most = max(1000, math.ceil(_CLASS_VALUES / (len(grid) * n_each * n_classes)))
    rows = np.arange(len(table))
    if len(rows) > most:
        rows = np.sort(np.random.default_rng((part.seed_, 4)).choice(len(rows), most, False))
    wanted = np.unique(np.concatenate([grid, *members]))
    raw = part._raw(part._matrix(table.iloc[rows]), wanted, plan.n_models)
    log_p = raw - np.logaddexp.reduce(raw, axis=-1, keepdims=True)
    stages = []
    for n_trees, points in zip(grid, members, strict=True):
        if plan.n_models > 1:
            stages.append(log_p[:, np.searchsorted(wanted, n_trees)])
        else:
            stages.append(log_p[0, np.searchsorted(wanted, points)])
    return ClassStages(
        n_trees=grid, log_probabilities=tuple(stages), codes=codes[rows],
        weight=None if weight is None else weight[rows],
    )  # fmt: skip
