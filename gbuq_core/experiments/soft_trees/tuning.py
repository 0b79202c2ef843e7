"""Which knobs fit held-out rows best? Tuning of soft trees.

Cinquin et al., "Variational boosted soft trees" (2022), supplement 2.4 and table 5: sharpness of
the gates, prior scale, depth and learning rate are chosen by the validation ELBO. The paper's
search is long; here it is the small grid of `gbuq_core.soft_trees.DEFAULT_GRID`. The log density of
the held-out rows is reported too. The two can prefer different trees, because the ELBO also counts
how far the posterior moves away from the prior.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.experiments.soft_trees.fit import data_of
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SOFT_METHODS,
    SoftTreesSettings,
    estimate_soft_trees_seconds,
    soft_trees_model,
    why_not,
)
from gbuq_core.presentation import short
from gbuq_core.settings import plan_of
from gbuq_core.soft_trees.layout import DEFAULT_GRID
from gbuq_core.validation import check_choice

HELD_OUT = 0.2  # of the rows
_NAMES = {"learning_rate": "rate"}  # of the grid, where a knob is called otherwise


class TunedKnobs(NamedTuple):
    """One setting of the grid, with its validation ELBO and log density in nats for each row."""

    depth: int
    beta: float
    prior_scale: float
    learning_rate: float
    elbo: float
    log_score: float


class TuningRun(NamedTuple):
    """All settings that were tried, with their scores."""

    plan: SoftTreesSettings  # with the knobs that are tuned at their defaults
    label: str  # of the method
    tried: tuple[TunedKnobs, ...]  # the highest validation ELBO first
    # `n_held_out`, `n_rows`: rows that gave the scores, and all
    n_held_out: int
    n_rows: int
    seconds: float


def plan_tuning(settings: SoftTreesSettings, method: str) -> SoftTreesSettings:
    """What tuning a method depends on: the plan of its fit without the knobs that are tuned."""
    check_choice("method", method, SOFT_METHODS)
    tuned = (_NAMES.get(name, name) for name in DEFAULT_GRID)
    defaults = {name: getattr(SoftTreesSettings(), name) for name in tuned}
    return plan_of(replace(settings, **defaults), method)


def why_no_tuning(plan: SoftTreesSettings) -> str:
    """Why a plan cannot be tuned, in a sentence; empty if it can.

    >>> why_no_tuning(plan_tuning(SoftTreesSettings(data="own", points=((0.0, 0.0),)), "vst"))
    'Training needs at least 5 points, but there are 1: add 4.'
    """
    return why_not(_with_depth(plan, DEFAULT_GRID["depth"][0]))


def _with_depth(plan: SoftTreesSettings, depth: float) -> SoftTreesSettings:
    """A plan of the grid; its other knobs hardly change what a fit takes."""
    first: dict[str, Any] = {_NAMES.get(name, name): grid[0] for name, grid in DEFAULT_GRID.items()}
    return replace(plan, **{**first, "depth": int(depth)})


def estimate_tuning_seconds(plan: SoftTreesSettings) -> float:
    """Roughly what `run_tuning` takes on one core; 0 for a plan that is refused.

    >>> quick = plan_tuning(SoftTreesSettings(steps=500), "vst")
    >>> estimate_tuning_seconds(replace(quick, steps=5000)) > 5 * estimate_tuning_seconds(quick)
    True
    """
    if why_no_tuning(plan):
        return 0.0
    depths = DEFAULT_GRID["depth"]
    each = sum(estimate_soft_trees_seconds(_with_depth(plan, depth)) for depth in depths) / len(
        depths
    )
    return each * (1 + int(np.prod([len(values) for values in DEFAULT_GRID.values()])))


def run_tuning(plan: SoftTreesSettings) -> TuningRun:
    """Try the grid on four fifths of the rows and score it on the rest."""
    from gbuq_core.soft_trees import tune_soft_tree

    began = time.perf_counter()
    estimator = soft_trees_model(_with_depth(plan, DEFAULT_GRID["depth"][0]))
    data = data_of(plan)
    tuned = tune_soft_tree(
        estimator, data.X, data.y, validation_fraction=HELD_OUT, random_state=plan.seed
    )
    tried = [
        TunedKnobs(
            int(knobs["depth"]), knobs["beta"], knobs["prior_scale"], knobs["learning_rate"],
            float(elbo), float(log_score),
        )
        for knobs, elbo, log_score in zip(tuned.knobs, tuned.elbos, tuned.log_scores, strict=True)
    ]  # fmt: skip
    return TuningRun(
        plan,
        METHODS[plan.method].label,
        tuple(sorted(tried, key=lambda knobs: -knobs.elbo)),
        round(HELD_OUT * len(data.y)),
        len(data.y),
        time.perf_counter() - began,
    )


def describe_tuning(run: TuningRun) -> str:
    """Which settings fit the held-out rows best, in words."""
    first, likely = run.tried[0], max(run.tried, key=lambda knobs: knobs.log_score)
    text = (
        f"{run.label}: {len(run.tried)} settings tried, {run.n_held_out} of {run.n_rows} rows held "
        f"out. The highest validation ELBO is {short(first.elbo)} nats per row, with "
        f"{_knobs_text(first)}."
    )
    if likely == first:
        return (
            f"{text} The same setting has the highest log density of the held-out rows, "
            f"{short(first.log_score)} nats per row."
        )
    return (
        f"{text} The highest log density of the held-out rows is {short(likely.log_score)} nats "
        f"per row, with {_knobs_text(likely)}. The setting with the highest ELBO has "
        f"{short(first.log_score)}. The two can differ because the ELBO also counts how far the "
        "posterior moves away from the prior."
    )


def _knobs_text(knobs: TunedKnobs) -> str:
    return (
        f"depth {knobs.depth}, sharpness {knobs.beta:g}, prior std {knobs.prior_scale:g} and "
        f"learning rate {knobs.learning_rate:g}"
    )
