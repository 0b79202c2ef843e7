"""An ensemble with everything it says on the way, to its own rows and to rows it has not seen.

`fit_two_clocks` trains twice, as `gbuq_core.BoostedEnsembleRegressor` does by default: in folds, so
that training rows that a fold has not seen can choose the clocks, and on all training rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.boosting.stopping import members_of_a_fold, regression_stages
from gbuq_core.calibration import Clocks, Stages, choose_clocks, early_clocks
from gbuq_core.calibration.clocks import join_stages
from gbuq_core.calibration.splits import make_splits
from gbuq_core.distribution import Distribution, student
from gbuq_core.experiments.two_clocks.data import Array, ClockRows, rows_of
from gbuq_core.experiments.two_clocks.plan import TwoClocksPlan
from gbuq_core.jobs import stage
from gbuq_core.presentation import Tally


@dataclass(frozen=True, kw_only=True)
class TwoClocksFit:
    """What the ensemble says at about forty numbers of trees.

    Attributes
    ----------
    plan : TwoClocksPlan
    rows : ClockRows
    choosing : Stages
        About training rows, from folds that were not trained on them.
    scoring, scene : Stages
        About rows that score, and about the scene's points (whose ``y`` is 0), from the ensemble
        that was trained on all training rows.
    seconds, memory_bytes : float, int
        Cost of both trainings, and what the ensemble holds.
    """

    plan: TwoClocksPlan
    rows: ClockRows
    choosing: Stages
    scoring: Stages
    scene: Stages
    seconds: float
    memory_bytes: int


def fit_two_clocks(plan: TwoClocksPlan) -> TwoClocksFit:
    """Train the ensemble and the folds that choose.

    Examples
    --------
    >>> from gbuq_core.experiments.two_clocks.plan import TwoClocksSettings, plan_two_clocks
    >>> some = TwoClocksSettings(data="wave", rows=100, trees=50, members=2)
    >>> fit = fit_two_clocks(plan_two_clocks(some))
    >>> fit.choosing.mean.shape[1], int(fit.choosing.n_trees[-1])
    (100, 50)
    """
    rows = rows_of(plan)
    began = time.perf_counter()
    with stage(2.0):
        with stage(1.0, span=1.0):
            model = _estimator(plan, plan.seed, plan.members).fit(rows.X, rows.y)
        with stage(1.0, span=1.0):
            choosing = _choosing(plan, rows, model)
    seconds = time.perf_counter() - began
    scene = rows.scene.X
    _FITS.add()
    return TwoClocksFit(
        plan=plan,
        rows=rows,
        choosing=choosing,
        scoring=regression_stages(model, pd.DataFrame(rows.X_scored), rows.y_scored),
        scene=regression_stages(model, pd.DataFrame(scene), np.zeros(len(scene))),
        seconds=seconds,
        memory_bytes=int(model.memory_bytes_),
    )


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def clocks_of_ways(choosing: Stages, tails: str) -> dict[str, Clocks]:
    """Where each way of `plan.WAYS` stops, from the rows that choose.

    "All trees" chooses nothing. "All trees, one factor" may choose a factor and the tails.
    """
    last = replace(
        choosing,
        n_trees=choosing.n_trees[-1:],
        mean=choosing.mean[-1:],
        knowledge=choosing.knowledge[-1:],
        data=choosing.data[-1:],
        for_mean=choosing.for_mean[-1:],
    )
    return {
        "all": early_clocks(last, "normal"),
        "factor": choose_clocks(last, tails),
        "early": early_clocks(choosing, tails),
        "clocks": choose_clocks(choosing, tails),
    }


def law_of(stages: Stages, clocks: Clocks) -> Distribution:
    """What an ensemble that stops at these clocks predicts."""
    mean, total = moments_of(stages, clocks.mean_trees, clocks.scale_trees, clocks.factor)
    return student(mean, np.sqrt(total), clocks.df)


def moments_of(
    stages: Stages, mean_trees: int, scale_trees: int, factor: float
) -> tuple[Array, Array]:
    """The mean and the total variance, (n_rows,) each."""
    a, b = (stage_of(stages, n_trees) for n_trees in (mean_trees, scale_trees))
    total: Array = factor**2 * stages.data[b] + stages.knowledge[a]
    return stages.mean[a], total


def stage_of(stages: Stages, n_trees: int) -> int:
    """The stage whose number of trees is nearest.

    >>> none = np.zeros((2, 0))
    >>> stages = Stages(n_trees=np.array([5, 100]), mean=none, knowledge=none, data=none,
    ...                 y=none[0], for_mean=np.ones(2, bool))
    >>> stage_of(stages, 90)
    1
    """
    return int(np.argmin(np.abs(stages.n_trees - n_trees)))


def _choosing(plan: TwoClocksPlan, rows: ClockRows, model: BoostedEnsembleRegressor) -> Stages:
    """About each row that chooses, from a fold without it: the estimator's own folds and seeds."""
    splits = make_splits(rows.y, False, None, None, model.seed_)
    members = members_of_a_fold(model.plan_, len(splits))
    parts = []
    with stage(float(len(splits))):
        for k, split in enumerate(splits):
            seed = int(np.random.SeedSequence((model.seed_, 3, k)).generate_state(1)[0])
            with stage(1.0, span=1.0):
                part = _estimator(plan, seed, members).fit(
                    rows.X[split.fitted], rows.y[split.fitted]
                )
            held = pd.DataFrame(rows.X[split.held])
            parts.append(regression_stages(part, held, rows.y[split.held], model.plan_.n_models))
    return join_stages(parts)


def _estimator(plan: TwoClocksPlan, seed: int, members: int) -> BoostedEnsembleRegressor:
    return BoostedEnsembleRegressor(
        stopping=None,
        mean_weight=plan.mean_weight,
        n_members=members,
        n_trees=plan.trees,
        learning_rate=plan.rate,
        depth=plan.depth,
        random_state=seed,
    )
