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
from gbuq_core.experiments.two_clocks.plan import CYCLICAL, MODELS, SINGLE, TwoClocksSettings
from gbuq_core.jobs import stage, tick
from gbuq_core.methods import METHODS
from gbuq_core.progress import TreeWatcher
from gbuq_core.settings import arguments
from gbuq_core.validation import check_choice


def fit_model(plan: TwoClocksSettings, rows: ClockRows) -> Any:
    """The model, fitted on all training rows."""
    check_choice("model", plan.model, MODELS)
    refusal = METHODS[plan.model].why_not(len(rows.y))
    if refusal:
        raise InvalidParameter(refusal)
    if _stands_alone(plan):
        return _fit_alone(plan, rows.X, rows.y)
    return _ensemble(plan).fit(rows.X, rows.y)


def held_out_stages(plan: TwoClocksSettings, rows: ClockRows, model: Any) -> Stages:
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
                part = _ensemble(plan, random_state=drawn, n_members=members).fit(X, y)
                n_models = model.plan_.n_models
                parts.append(regression_stages(part, pd.DataFrame(held), held_y, n_models))
    return join_stages(parts)


def new_stages(plan: TwoClocksSettings, model: Any, X: Array, y: Array) -> Stages:
    """What a fitted model says about new rows while it grows, or in its one stage."""
    if not plan.has_clocks:
        found = reader_of(model).parts(model, X)
        return Stages(
            n_trees=np.array([1]), mean=found.loc[None], knowledge=found.knowledge[None],
            data=found.data[None], y=y, for_mean=np.ones(1, bool),
        )  # fmt: skip
    if plan.model in SINGLE:
        return reader_of(model, growing=True).stages(model, X, y, arguments(plan)["n_trees"])
    return regression_stages(model, pd.DataFrame(X), y)


def clock_arguments(plan: TwoClocksSettings) -> dict[str, Any]:
    """All arguments of the model's estimator.

    CatBoost and NGBoost are those of their own libraries. A model without clocks has its method's
    defaults, the seed, and one thread: threads would wait for so few rows.
    """
    given = arguments(plan)
    if plan.model == "catboost":
        return {
            "loss_function": "RMSEWithUncertainty",
            "iterations": plan.trees,
            "learning_rate": plan.rate,
            "depth": plan.depth,
            "random_seed": plan.seed,
            "thread_count": 1,
            "verbose": False,
            "allow_writing_files": False,
        }
    if plan.model == "ngboost":
        tree = DecisionTreeRegressor(max_depth=given.pop("depth"), random_state=plan.seed)
        return {"Base": tree, "n_estimators": given.pop("n_trees"), "verbose": False, **given}
    builder = METHODS[plan.model].builder()
    if not plan.has_clocks:
        shared = {"n_jobs": 1, **given}
        return {name: value for name, value in shared.items() if name in builder.takes}
    if plan.model in CYCLICAL:
        given["cycle_length"] = plan.cycle_length
    return {**builder.fixed, **given}


def _stands_alone(plan: TwoClocksSettings) -> bool:
    """Whether it is not one of this library's ensembles, which choose clocks in their own fit."""
    return plan.model in SINGLE or not plan.has_clocks


def _ensemble(plan: TwoClocksSettings, **changes: int) -> BoostedEnsembleRegressor:
    return BoostedEnsembleRegressor(**{**clock_arguments(plan), **changes})


def _fit_alone(plan: TwoClocksSettings, X: Array, y: Array) -> Any:
    if not plan.has_clocks:
        with stage(1.0, span=1.0):
            return METHODS[plan.model].make(**clock_arguments(plan)).fit(X, y)
    with stage(float(arguments(plan)["n_trees"])):
        fit = _fit_catboost if plan.model == "catboost" else _fit_ngboost
        return fit(plan, X, y)


def _fit_catboost(plan: TwoClocksSettings, X: Array, y: Array) -> Any:
    from catboost import CatBoostRegressor

    model = CatBoostRegressor(**clock_arguments(plan))
    watcher = TreeWatcher()
    reader_of(model).fit(model, X, y, callbacks=[watcher])
    watcher.raise_error()
    return model


def _fit_ngboost(plan: TwoClocksSettings, X: Array, y: Array) -> Any:
    from ngboost import NGBRegressor

    model = NGBRegressor(**clock_arguments(plan))

    def count(*_: Any) -> float:
        """The library asks for the training loss before each tree; nothing depends on it."""
        tick(float(len(model.base_models)))
        return 0.0

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return reader_of(model).fit(model, X, y, train_loss_monitor=count)
