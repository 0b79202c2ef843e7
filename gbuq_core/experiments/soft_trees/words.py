"""The Soft trees page in words, from its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gbuq_core.experiments.claims import times_text
from gbuq_core.experiments.soft_trees.data import DATASETS, SoftTreesData
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit, SoftTreesRun
from gbuq_core.experiments.soft_trees.look import CovarianceView, StagesView, TreeView
from gbuq_core.experiments.soft_trees.scores import SoftTreesScore, score_all
from gbuq_core.presentation import short

_MOST_SPLITS = 7  # of a tree of depth 3: more places are no longer read


def describe_soft_trees(run: SoftTreesRun, scores: tuple[SoftTreesScore, ...] | None = None) -> str:
    """The picture in words: the data, then each method's functions."""
    scores = score_all(run) if scores is None else scores
    return " ".join([describe_data(run.data), *(describe_method(score) for score in scores)])


def answer_soft_trees(scores: Sequence[SoftTreesScore]) -> str:
    """How far apart the first method's functions are, in one sentence."""
    for score in scores:
        if not math.isnan(score.fan_out):
            return (
                f"Where there are no rows, {score.label} spreads its functions "
                f"{_as_wide(score.fan_out)} as among the rows."
            )
        if not math.isnan(score.inside):
            apart = short(score.inside, 2)
            return f"Among the rows, {score.label}'s functions differ by {apart} stds of y."
    return ""


def describe_data(data: SoftTreesData) -> str:
    """How many rows there are, and where there are none."""
    text = f"{data.title}: {len(data.y):,} rows"
    if bool(data.support.all()) or not DATASETS[data.key].empty:
        return f"{text}, spread over the whole picture."
    return f"{text}. There are no rows {DATASETS[data.key].empty}."


def describe_method(score: SoftTreesScore) -> str:
    """How wide one method's functions spread, and how good its predictions are."""
    if math.isnan(score.inside):
        return f"{score.label}: the picture has no place with rows."
    text = f"{score.label}: where there are rows, its functions have a std of "
    text += f"{short(score.inside, 2)} stds of y."
    if not math.isnan(score.fan_out):
        text += f" Where there are none, they have {short(score.outside, 2)} and spread "
        text += f"{_as_wide(score.fan_out)}."
    if not math.isnan(score.rmse):
        text += (
            f" Their mean is {short(score.rmse, 2)} stds of y from the true mean (RMSE). The 90 % "
            f"intervals hold {100 * score.coverage:.0f} % of new rows."
        )
    return text


def _as_wide(ratio: float) -> str:
    """A factor in words.

    >>> _as_wide(5.81), _as_wide(1.02)
    ('5.8 times as wide', 'equally wide')
    """
    return "equally wide" if abs(ratio - 1.0) < 0.05 else f"{times_text(ratio)} as wide"


def describe_tree(view: TreeView) -> str:
    """One tree: how many leaves matter, and where its gates are even, from left to right."""
    used = int((view.reach.max(axis=1) > 0.5).sum())
    n_leaves = len(view.reach)
    splits = np.sort(view.splits[np.isfinite(view.splits)])
    text = f"{view.title}. {used} of {n_leaves} leaves have more than half of the weight somewhere "
    text += "in the picture."
    if len(splits) > _MOST_SPLITS:
        ends = f"{splits[0]:.2f} and {splits[-1]:.2f}"
        text += f" {len(splits)} of {len(view.gates)} gates are even (send half of the weight to "
        text += f"each side) between x = {ends}."
    elif len(splits):
        text += " Gates are even (send half of the weight to each side) at x = "
        text += f"{', '.join(f'{x:.2f}' for x in splits)}."
    elif len(view.gates):
        text += " No gate is even (sends half of the weight to each side) inside the picture."
    return text


def describe_covariance(view: CovarianceView) -> str:
    """How strongly the parameters of one tree vary together."""
    text = f"{view.n_parameters} parameters, rank {view.rank}."
    if view.strongest is None:
        return f"{text} All are independent (mean field)."
    first, second, value = view.strongest
    return (
        f"{text} On average the low-rank factor gives {100 * view.shared:.0f} % of a parameter's "
        f"variance. The largest correlation is {value:+.2f}, between {first} and {second}."
    )


def describe_stages(view: StagesView) -> str:
    """How good a boosted sum is after each tree."""
    return f"RMSE on the training rows after each tree: {', '.join(map(short, view.rmse))}."


def describe_elbo(fit: SoftTreesFit) -> str:
    """How long the training took and whether its bound still rose; empty without a bound."""
    if not fit.elbo:
        return ""
    most = fit.plan.steps
    early = sum(len(path.step) < most for path in fit.elbo)
    if len(fit.elbo) == 1:
        path = fit.elbo[0].elbo
        text = f"{fit.label} trained for {len(path):,} of at most {most:,} steps."
        if early:
            text += " It ended early because the evidence lower bound (ELBO) had stopped rising."
        rise = short(_last_rise(path), 2, "+")
        return f"{text} In the last tenth of the steps the bound changed by {rise} nats."
    rises = [_last_rise(path.elbo) for path in fit.elbo]
    return (
        f"{fit.label}: {early} of {len(rises)} trees ended before {most:,} steps because their "
        f"evidence lower bound (ELBO) had stopped rising. In the last tenth of the steps, no "
        f"tree's bound rose by more than {short(max(rises), 2)} nats."
    )


def _last_rise(elbo: np.ndarray) -> float:
    """The mean over the last tenth of the steps less that over the tenth before."""
    tenth = max(1, len(elbo) // 10)
    return float(elbo[-tenth:].mean() - elbo[-2 * tenth : -tenth].mean())
