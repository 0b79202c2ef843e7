"""A boosted model with everything it says on the way, to its own rows and to rows it has not seen.

`fit_two_clocks` trains twice, as `gbuq_core.BoostedEnsembleRegressor` does by default, and
`gbuq_core.CalibratedRegressor` around CatBoost or NGBoost: in folds, so that training rows that a
fold has not seen can choose the clocks, and on all training rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gbuq_core.boosting.stopping import members_of_a_fold, regression_stages
from gbuq_core.calibration import Clocks, Stages, choose_clocks, early_clocks
from gbuq_core.calibration.clocks import join_stages
from gbuq_core.calibration.splits import make_splits
from gbuq_core.distribution import Distribution, student
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.two_clocks.data import Array, ClockRows, rows_of
from gbuq_core.experiments.two_clocks.plan import MODELS, SINGLE, TwoClocksSettings, clock_arguments
from gbuq_core.jobs import stage, tick
from gbuq_core.methods import METHODS
from gbuq_core.presentation import Tally
from gbuq_core.progress import TreeWatcher
from gbuq_core.resources import held_bytes
from gbuq_core.settings import arguments, plan_of
from gbuq_core.validation import check_choice

if TYPE_CHECKING:
    from gbuq_core.boosting import BoostedEnsembleRegressor


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
                parts.append(regression_stages(part, _frame(held), held_y, n_models))
    return join_stages(parts)


def new_stages(plan: TwoClocksSettings, model: Any, X: Array, y: Array) -> Stages:
    """What a fitted model says about new rows while it grows, or in its one stage."""
    if not plan.has_clocks:
        law = _reader_of(model).parts(model, X)
        return Stages(
            n_trees=np.array([1]),
            mean=law.loc[None],
            knowledge=law.knowledge[None],
            data=law.data[None],
            y=y,
            for_mean=np.ones(1, bool),
        )
    if plan.model in SINGLE:
        return _reader_of(model, growing=True).stages(model, X, y, arguments(plan)["n_trees"])
    return regression_stages(model, _frame(X), y)


def _frame(X: Array) -> Any:
    import pandas as pd  # as all that only a fit needs, imported by it

    return pd.DataFrame(X)


def _reader_of(model: Any, **options: Any) -> Any:
    from gbuq_core.calibration.boosters import reader_of

    return reader_of(model, **options)


def _stands_alone(plan: TwoClocksSettings) -> bool:
    """Whether it is not one of this library's ensembles, which choose clocks in their own fit."""
    return plan.model in SINGLE or not plan.has_clocks


def _ensemble(plan: TwoClocksSettings, **changes: int) -> BoostedEnsembleRegressor:
    from gbuq_core.boosting import BoostedEnsembleRegressor

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
    _reader_of(model).fit(model, X, y, callbacks=[watcher])
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
        return _reader_of(model).fit(model, X, y, train_loss_monitor=count)


@dataclass(frozen=True, kw_only=True)
class TwoClocksFit:
    """What the model says at about forty numbers of trees, or once if it has no clocks."""

    plan: TwoClocksSettings
    rows: ClockRows
    choosing: Stages  # about training rows, from folds that were not trained on them
    # `scoring`, `scene`: about rows that score, and about the scene's points (whose `y` is 0), from
    # the model that was trained on all training rows
    scoring: Stages
    scene: Stages
    # what a model without clocks predicts of the rows that score: its own law, which need not be a
    # normal
    own: Distribution | None
    # `seconds`, `memory_bytes`: cost of both trainings, and what the model holds; None where
    # another library holds it
    seconds: float
    memory_bytes: int | None


def fit_two_clocks(plan: TwoClocksSettings) -> TwoClocksFit:
    """Train the model and the folds that choose."""
    rows = rows_of(plan)
    began = time.perf_counter()
    with stage(2.0):
        with stage(1.0, span=1.0):
            model = fit_model(plan, rows)
        with stage(1.0, span=1.0):
            choosing = held_out_stages(plan, rows, model)
    seconds = time.perf_counter() - began
    scene = rows.scene.X
    _FITS.add()
    return TwoClocksFit(
        plan=plan,
        rows=rows,
        choosing=choosing,
        scoring=new_stages(plan, model, rows.X_scored, rows.y_scored),
        scene=new_stages(plan, model, scene, np.zeros(len(scene))),
        own=None if plan.has_clocks else model.predict_distribution(rows.X_scored),
        seconds=seconds,
        memory_bytes=_memory_of(plan, model),
    )


OPENING = Opening(
    name="two_clocks",
    kind=TwoClocksFit,
    make=fit_two_clocks,
    plans=lambda: [plan_of(TwoClocksSettings(data="growing noise", rows=200))],
    afresh=lambda plan: {"rows": rows_of(plan)},
    bits=13,
)


def _memory_of(plan: TwoClocksSettings, model: Any) -> int | None:
    if plan.model in SINGLE or METHODS[plan.model].opaque:
        return None
    return int(model.memory_bytes_) if plan.has_clocks else held_bytes(model)


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def clocks_of_ways(choosing: Stages, tails: str) -> dict[str, Clocks]:
    """Where each way to stop stops, from the rows that choose."""
    names = ("n_trees", "mean", "knowledge", "data", "for_mean")
    last = replace(choosing, **{name: getattr(choosing, name)[-1:] for name in names})
    ends = {"all": early_clocks(last, "normal"), "factor": choose_clocks(last, tails)}
    if len(choosing.n_trees) == 1:
        return ends
    both = {"early": early_clocks(choosing, tails), "clocks": choose_clocks(choosing, tails)}
    return ends | both


def laws_of(fit: TwoClocksFit, clocks: dict[str, Clocks]) -> dict[str, Distribution]:
    """What the model predicts of the rows that score, each way; as it is by its own law."""
    laws = {way: law_of(fit.scoring, stops) for way, stops in clocks.items()}
    return laws if fit.own is None else {**laws, "all": fit.own}


def law_of(stages: Stages, clocks: Clocks) -> Distribution:
    """What a model that stops at these clocks predicts."""
    mean, total = moments_of(stages, clocks.mean_trees, clocks.scale_trees, clocks.factor)
    return student(mean, np.sqrt(total), clocks.df)


def moments_of(
    stages: Stages, mean_trees: int, scale_trees: int, factor: float
) -> tuple[Array, Array]:
    """The mean and the total variance, (n_rows,) each."""
    a, b = (stage_of(stages, n_trees) for n_trees in (mean_trees, scale_trees))
    return stages.mean[a], factor**2 * stages.data[b] + stages.knowledge[a]


def stage_of(stages: Stages, n_trees: int) -> int:
    """The stage whose number of trees is nearest.

    >>> none = np.zeros((2, 0))
    >>> stages = Stages(n_trees=np.array([5, 100]), mean=none, knowledge=none, data=none,
    ...                 y=none[0], for_mean=np.ones(2, bool))
    >>> stage_of(stages, 90)
    1
    """
    return int(np.argmin(np.abs(stages.n_trees - n_trees)))
