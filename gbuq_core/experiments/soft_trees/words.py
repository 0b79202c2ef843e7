"""The Soft trees page in words, from its numbers."""

from __future__ import annotations

import math

import numpy as np

from gbuq_core.experiments.claims import times_text
from gbuq_core.experiments.soft_trees.data import DATASETS, SoftTreesData
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit, SoftTreesRun
from gbuq_core.experiments.soft_trees.look import CovarianceView, TreeView
from gbuq_core.experiments.soft_trees.scores import SoftTreesScore, score_all
from gbuq_core.presentation import short

_MOST_SPLITS = 7  # of a tree of depth 3: more places are no longer read


def describe_soft_trees(run: SoftTreesRun, scores: tuple[SoftTreesScore, ...] | None = None) -> str:
    """The picture in words: the data, then each method's functions.

    Examples
    --------
    >>> from gbuq_core.experiments.soft_trees.fit import run_soft_trees
    >>> from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings
    >>> describe_soft_trees(run_soft_trees(SoftTreesSettings(methods=("gp",), rows=30)))[:52]
    'Tails: 30 rows; there are none beyond the rows on bo'
    """
    scores = score_all(run) if scores is None else scores
    return " ".join([describe_data(run.data), *(describe_method(score) for score in scores)])


def describe_data(data: SoftTreesData) -> str:
    """Rows, and where there are none."""
    text = f"{data.title}: {len(data.y):,} rows"
    if bool(data.support.all()) or not DATASETS[data.key].empty:
        return f"{text} all over the picture."
    return f"{text}; there are none {DATASETS[data.key].empty}."


def describe_method(score: SoftTreesScore) -> str:
    """One method's functions in a sentence."""
    if math.isnan(score.inside):
        return f"{score.label}: no place of the picture has rows."
    text = f"{score.label}: functions differ by {short(score.inside, 2)} target stds where rows are"
    if not math.isnan(score.fan_out):
        text += f" and by {short(score.outside, 2)} where none are ({_as_much(score.fan_out)})"
    if not math.isnan(score.rmse):
        text += (
            f"; their mean is off by {short(score.rmse, 2)} target stds, and 90 % intervals hold "
            f"{100 * score.coverage:.0f} % of fresh rows"
        )
    return f"{text}."


def _as_much(ratio: float) -> str:
    """A factor in words.

    >>> _as_much(5.81), _as_much(1.02)
    ('5.8 times as much', 'as much')
    """
    return "as much" if abs(ratio - 1.0) < 0.05 else f"{times_text(ratio)} as much"


def describe_tree(view: TreeView) -> str:
    """The tree in words: its gates from left to right, and how many leaves matter."""
    used = int((view.reach.max(axis=1) > 0.5).sum())
    n_leaves = len(view.reach)
    splits = np.sort(view.splits[np.isfinite(view.splits)])
    text = f"{view.title}. {used} of {n_leaves} leaves rule somewhere in the picture"
    if len(splits) > _MOST_SPLITS:
        ends = f"{splits[0]:.2f} and {splits[-1]:.2f}"
        text += f"; {len(splits)} of {len(view.gates)} gates are even between x = {ends}"
    elif len(splits):
        text += f"; gates are even at x = {', '.join(f'{x:.2f}' for x in splits)}"
    elif len(view.gates):
        text += "; no gate is even anywhere in the picture"
    return f"{text}."


def describe_covariance(view: CovarianceView) -> str:
    """The posterior's covariance in words."""
    text = f"{view.n_parameters} parameters, rank {view.rank}"
    if view.strongest is None:
        return f"{text}: all are independent (mean field)."
    first, second, value = view.strongest
    return (
        f"{text}: the factor holds {100 * view.shared:.0f} % of their variances; {first} and "
        f"{second} have the largest correlation, {value:+.2f}."
    )


def describe_elbo(fit: SoftTreesFit) -> str:
    """How far the evidence lower bound has come; empty for methods without one."""
    if not fit.elbo or fit.plan.steps is None:
        return ""
    most = fit.plan.steps
    early = sum(len(path.step) < most for path in fit.elbo)
    if len(fit.elbo) == 1:
        path = fit.elbo[0].elbo
        text = f"{fit.label}: {len(path):,} of {most:,} steps"
        if early:
            text += ", as the evidence lower bound had stopped rising: the learning rate fell early"
        rise = short(_last_rise(path), 2, "+")
        return f"{text}. The bound changed by {rise} nats in the last tenth."
    rises = [_last_rise(path.elbo) for path in fit.elbo]
    return (
        f"{fit.label}: {early} of {len(rises)} trees stopped before {most:,} steps, as their "
        f"evidence lower bound had stopped rising. In the last tenth none rose by more than "
        f"{short(max(rises), 2)} nats."
    )


def _last_rise(elbo: np.ndarray) -> float:
    """The mean over the last tenth of the steps less that over the tenth before."""
    tenth = max(1, len(elbo) // 10)
    return float(elbo[-tenth:].mean() - elbo[-2 * tenth : -tenth].mean())
