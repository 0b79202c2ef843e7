"""Where an ensemble's mean and scale stop: which rows choose, and which fits they judge.

The models that choose are fitted without the rows that choose, and thrown away; the ensemble
itself is fitted on all rows. See `gbuq_core.calibration.clocks` for the rule.
"""

from __future__ import annotations

import math
import warnings
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
from gbuq_core.calibration.splits import HELD_OUT_FROM, N_FOLDS, Split
from gbuq_core.jobs import stage
from gbuq_core.parallel import outer_map
from gbuq_core.validation import check_choice, check_number

STOPPINGS = ("two_clocks", "early")
FEWEST_ROWS = 40  # fewer say nothing about the number of trees
MEAN_WEIGHT = 100.0  # what "auto" means; see benchmarks/calibration.py
_BLOCK_VALUES = 4_000_000  # predictions held at once
_CLASS_VALUES = 16_000_000  # log probabilities that choose the temperature


def resolve_stopping(estimator: Any, plan: BoostingPlan, n_rows: int, has_rows: bool) -> str | None:
    """The rule of a fit: None for samples from a posterior and for fewer than 40 rows."""
    rule = estimator.stopping
    if rule is not None:
        check_choice("stopping", rule, STOPPINGS)
    check_choice("tails", estimator.tails, TAILS)
    check_mean_weight(estimator.mean_weight)
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


def selection_cost(plan: BoostingPlan, n_rows: int) -> float:
    """What choosing costs by default, in fits of the whole ensemble."""
    n_splits = 1 if n_rows >= HELD_OUT_FROM else N_FOLDS
    return (
        n_splits
        * members_of_a_fold(plan.n_models, n_splits)
        / plan.n_models
        * (1.0 - 1.0 / N_FOLDS)
    )


def fit_clocks(
    ensemble: Any,
    table: Any,
    target: np.ndarray,
    n_classes: int | None,
    splits: list[Split],
    weight: np.ndarray | None = None,
) -> Clocks | ClassClocks:
    """Fit without the rows that choose, and let them choose."""
    from sklearn.base import clone

    plan: BoostingPlan = ensemble.plan_
    n_members = members_of_a_fold(plan.n_models, len(splits))
    side_by_side = plan.engine == "numba"  # CatBoost keeps all cores busy by itself

    def judge(k: int) -> Any:
        split = splits[k]
        seed = int(np.random.SeedSequence((ensemble.seed_, 3, k)).generate_state(1)[0])
        part = clone(ensemble).set_params(stopping=None, random_state=seed, n_members=n_members)
        part.set_params(mean_weight=weight_of_mean(ensemble, ensemble.stopping_))
        part.is_category_ = ensemble.is_category_
        part._prepare(len(split.fitted))
        in_fit, in_choice = (None if weight is None else weight[rows] for rows in split)
        with stage(1.0, span=1.0):
            part._train(table.iloc[split.fitted], target[split.fitted], n_classes, in_fit)
        rows, known = table.iloc[split.held], target[split.held]
        if n_classes is None:
            return regression_stages(part, rows, known, plan.n_models, in_choice)
        return class_stages(part, rows, known, n_classes, in_choice)

    with stage(float(len(splits))):
        found = outer_map(judge, range(len(splits)), ensemble.n_jobs if side_by_side else 1)
    chosen: Clocks | ClassClocks
    if n_classes is None:
        chosen = clocks_of(found, ensemble.stopping_, ensemble.tails)
    else:
        chosen = class_clocks_of(found, ensemble.stopping_)
    warn_of_all_trees(chosen.last, plan.n_trees, stacklevel=4)
    return chosen


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
        found = part._parameters(part._raw(matrix, wanted, plan.n_models))
        for k in range(len(grid)):
            if plan.n_models > 1:
                means = found[:, own[k], :, 0]
            else:
                means = found[0, of_members[k], :, 0]
            mean[k, block] = means.mean(axis=0)
            knowledge[k, block] = means.var(axis=0) * more
            data[k, block] = found[:, own[k], :, 1].mean(axis=0)
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
