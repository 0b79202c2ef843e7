"""The models of the page: made, fitted with progress, and read at every stage.

The ensembles are this library's. CatBoost and NGBoost are fitted as their users fit them, on the
target as it is, and imported at their first use. Every other method of `gbuq_core.methods` is
fitted with its defaults, and read once: it has one stage.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.boosting.stopping import members_of_a_fold, regression_stages
from gbuq_core.calibration import Stages
from gbuq_core.calibration.boosters import reader_of
from gbuq_core.calibration.clocks import join_stages
from gbuq_core.calibration.splits import make_splits
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.two_clocks.data import Array, ClockRows
from gbuq_core.experiments.two_clocks.plan import CYCLICAL, SINGLE, TwoClocksPlan
from gbuq_core.jobs import stage, tick
from gbuq_core.methods import METHODS
from gbuq_core.progress import TreeWatcher

# What sets an ensemble apart from the estimator's defaults.
_KINDS: dict[str, dict[str, Any]] = {
    "sglb": {},
    "sgb": {"method": "sgb"},
    "virtual_sglb": {"ensemble": "virtual"},
    "virtual_catboost": {"ensemble": "virtual", "engine": "catboost"},
    "csglb": {"method": "csglb"},
    "cbsglb": {"method": "cbsglb"},
}


def fit_model(plan: TwoClocksPlan, rows: ClockRows) -> Any:
    """The model, fitted on all training rows."""
    refusal = METHODS[plan.model].why_not(len(rows.y))
    if refusal:
        raise InvalidParameter(refusal)
    if _stands_alone(plan):
        return _fit_alone(plan, rows.X, rows.y)
    return _ensemble(plan, plan.seed, plan.members).fit(rows.X, rows.y)


def held_out_stages(plan: TwoClocksPlan, rows: ClockRows, model: Any) -> Stages:
    """About each row that chooses, from a fold without it.

    Folds and seeds are those of the estimator itself, or those of `CalibratedRegressor` around a
    model that chooses no clocks.
    """
    alone = _stands_alone(plan)
    seed = plan.seed if alone else model.seed_
    splits = make_splits(rows.y, False, None, None, seed)
    parts = []
    with stage(float(len(splits))):
        for k, split in enumerate(splits):
            X, y = rows.X[split.fitted], rows.y[split.fitted]
            held, held_y = rows.X[split.held], rows.y[split.held]
            with stage(1.0, span=1.0):
                if alone:
                    parts.append(new_stages(plan, _fit_alone(plan, X, y), held, held_y))
                    continue
                drawn = int(np.random.SeedSequence((seed, 3, k)).generate_state(1)[0])
                members = members_of_a_fold(model.plan_.n_models, len(splits))
                part = _ensemble(plan, drawn, members).fit(X, y)
                n_models = model.plan_.n_models
                parts.append(regression_stages(part, pd.DataFrame(held), held_y, n_models))
    return join_stages(parts)


def new_stages(plan: TwoClocksPlan, model: Any, X: Array, y: Array) -> Stages:
    """What a fitted model says about new rows while it grows, or in its one stage."""
    if not plan.has_clocks:
        found = reader_of(model).parts(model, X)
        return Stages(
            n_trees=np.array([1]), mean=found.loc[None], knowledge=found.knowledge[None],
            data=found.data[None], y=y, for_mean=np.ones(1, bool),
        )  # fmt: skip
    if plan.model in SINGLE:
        return reader_of(model, growing=True).stages(model, X, y, plan.trees)
    return regression_stages(model, pd.DataFrame(X), y)


def kind_of(plan: TwoClocksPlan) -> dict[str, Any]:
    """Arguments of `BoostedEnsembleRegressor` that make it this ensemble.

    >>> from gbuq_core.experiments.two_clocks.plan import TwoClocksSettings, plan_two_clocks
    >>> kind_of(plan_two_clocks(TwoClocksSettings(model="virtual_sglb")))
    {'ensemble': 'virtual'}
    """
    cycles = {"cycle_length": plan.cycle_length} if plan.model in CYCLICAL else {}
    return {**_KINDS[plan.model], **cycles}


def arguments_of(plan: TwoClocksPlan) -> dict[str, Any]:
    """Arguments of a model without clocks: its method's defaults, one thread, the seed.

    >>> from gbuq_core.experiments.two_clocks.plan import TwoClocksSettings, plan_two_clocks
    >>> arguments_of(plan_two_clocks(TwoClocksSettings(model="ibug", seed=7)))
    {'n_jobs': 1, 'random_state': 7}
    """
    takes = METHODS[plan.model].builder().takes
    shared = {"n_jobs": 1, "random_state": plan.seed}  # threads would wait for so few rows
    return {name: value for name, value in shared.items() if name in takes}


def _stands_alone(plan: TwoClocksPlan) -> bool:
    """Whether it is not one of this library's ensembles, which choose clocks in their own fit."""
    return plan.model in SINGLE or not plan.has_clocks


def _ensemble(plan: TwoClocksPlan, seed: int, members: int) -> BoostedEnsembleRegressor:
    return BoostedEnsembleRegressor(
        stopping=None,
        mean_weight=plan.mean_weight,
        n_members=members,
        n_trees=plan.trees,
        learning_rate=plan.rate,
        depth=plan.depth,
        random_state=seed,
        **kind_of(plan),
    )


def _fit_alone(plan: TwoClocksPlan, X: Array, y: Array) -> Any:
    if not plan.has_clocks:
        with stage(1.0, span=1.0):
            return METHODS[plan.model].make(**arguments_of(plan)).fit(X, y)
    with stage(float(plan.trees)):
        fit = _fit_catboost if plan.model == "catboost" else _fit_ngboost
        return fit(plan, X, y)


def _fit_catboost(plan: TwoClocksPlan, X: Array, y: Array) -> Any:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(
        loss_function="RMSEWithUncertainty",
        iterations=plan.trees,
        learning_rate=plan.rate,
        depth=plan.depth,
        random_seed=plan.seed,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
    )
    watcher = TreeWatcher()
    reader_of(model).fit(model, X, y, callbacks=[watcher])
    watcher.raise_error()
    return model


def _fit_ngboost(plan: TwoClocksPlan, X: Array, y: Array) -> Any:
    from ngboost import NGBRegressor

    model = NGBRegressor(
        Base=DecisionTreeRegressor(max_depth=plan.depth, random_state=plan.seed),
        n_estimators=plan.trees,
        learning_rate=plan.rate,
        random_state=plan.seed,
        verbose=False,
    )

    def count(*_: Any) -> float:
        """The library asks for the training loss before each tree; nothing depends on it."""
        tick(float(len(model.base_models)))
        return 0.0

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return reader_of(model).fit(model, X, y, train_loss_monitor=count)
