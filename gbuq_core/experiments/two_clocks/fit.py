"""A boosted model with everything it says on the way, to its own rows and to rows it has not seen.

`fit_two_clocks` trains twice, as `gbuq_core.BoostedEnsembleRegressor` does by default, and
`gbuq_core.CalibratedRegressor` around CatBoost or NGBoost: in folds, so that training rows that a
fold has not seen can choose the clocks, and on all training rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gbuq_core.calibration import Clocks, Stages, choose_clocks, early_clocks
from gbuq_core.distribution import Distribution, student
from gbuq_core.experiments.two_clocks.data import Array, ClockRows, rows_of
from gbuq_core.experiments.two_clocks.models import fit_model, held_out_stages, new_stages
from gbuq_core.experiments.two_clocks.plan import SINGLE, TwoClocksSettings
from gbuq_core.jobs import stage
from gbuq_core.methods import METHODS
from gbuq_core.presentation import Tally
from gbuq_core.resources import held_bytes


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


def _memory_of(plan: TwoClocksSettings, model: Any) -> int | None:
    if plan.model in SINGLE or METHODS[plan.model].opaque:
        return None
    return int(model.memory_bytes_) if plan.has_clocks else held_bytes(model)


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def clocks_of_ways(choosing: Stages, tails: str) -> dict[str, Clocks]:
    """Where each way to stop stops, from the rows that choose."""
    last = replace(
        choosing,
        n_trees=choosing.n_trees[-1:],
        mean=choosing.mean[-1:],
        knowledge=choosing.knowledge[-1:],
        data=choosing.data[-1:],
        for_mean=choosing.for_mean[-1:],
    )
    ends = {"all": early_clocks(last, "normal"), "factor": choose_clocks(last, tails)}
    if len(choosing.n_trees) == 1:
        return ends
    return {
        **ends,
        "early": early_clocks(choosing, tails),
        "clocks": choose_clocks(choosing, tails),
    }


def laws_of(fit: TwoClocksFit, clocks: dict[str, Clocks]) -> dict[str, Distribution]:
    """What the model predicts of the rows that score, each way; as it is by its own law."""
    laws = {way: law_of(fit.scoring, found) for way, found in clocks.items()}
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
