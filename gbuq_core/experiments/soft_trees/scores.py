"""Scores of the functions: their spread, agreement, errors, coverage and cost.

Cinquin et al. (2022), section 5.1; figures 6 and 7 of its supplement have the RMSE of step and
wavelet. Fan-out and agreement are this project's numbers for what its figures show.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from gbuq_core.experiments.claims import times_text
from gbuq_core.experiments.soft_trees.data import DATASETS, Array, SoftTreesData
from gbuq_core.experiments.soft_trees.fit import (
    SoftTreesFit,
    SoftTreesMoments,
    SoftTreesRun,
    SoftTreesScore,
    SoftTreesView,
    moments_of,
    moments_of_process,
    soft_trees_members,
)
from gbuq_core.experiments.soft_trees.look import CovarianceView, StagesView, TreeView
from gbuq_core.experiments.soft_trees.plan import METHODS, SoftTreesSettings
from gbuq_core.metrics import nll_gaussian, nll_mixture
from gbuq_core.metrics.scores import binomial_band
from gbuq_core.presentation import short

LEVEL = 0.9  # of the intervals
_HALF_WIDTH = float(ndtri(0.5 + LEVEL / 2.0))  # in stds of a normal
_NAN = math.nan


def score_soft_trees(
    fit: SoftTreesFit, view: SoftTreesView, settings: SoftTreesSettings
) -> SoftTreesScore:
    """Score one method."""
    if fit.opening is not None:
        return fit.opening.score
    data = fit.data
    inside, outside = spread_in(view, data.support), spread_in(view, ~data.support)
    inside, outside = inside / data.target_std, outside / data.target_std
    rmse, nll, share, low, high = _NAN, _NAN, _NAN, _NAN, _NAN
    if data.fresh_X is not None and data.fresh_y is not None and data.fresh_mean is not None:
        moments, nll = _fresh(fit, settings, data.fresh_X, data.fresh_y)
        error = np.square(moments.loc - data.fresh_mean).mean()
        rmse = math.sqrt(float(error)) / data.target_std
        std = np.sqrt(moments.total)
        held = int((np.abs(data.fresh_y - moments.loc) <= _HALF_WIDTH * std).sum())
        share = held / len(data.fresh_y)
        low, high = (float(end) for end in binomial_band(held, len(data.fresh_y)))
    return SoftTreesScore(
        method=fit.method,
        label=fit.label,
        inside=inside,
        outside=outside,
        fan_out=outside / inside if inside > 0.0 else _NAN,
        agreement=_agreement(view, data.support),
        rmse=rmse,
        coverage=share,
        coverage_low=low,
        coverage_high=high,
        nll=nll,
        seconds=fit.seconds,
        memory_bytes=fit.memory_bytes,
    )


def score_all(run: SoftTreesRun) -> tuple[SoftTreesScore, ...]:
    """Score all methods of a run."""
    return tuple(
        score_soft_trees(fit, view, run.settings)
        for fit, view in zip(run.fits, run.views, strict=True)
    )


def spread_in(view: SoftTreesView | SoftTreesMoments, where: np.ndarray) -> float:
    """The mean std of the functions over some places, in units of y; NaN without any."""
    return float(np.sqrt(view.knowledge[where]).mean()) if where.any() else _NAN


def _agreement(view: SoftTreesView, where: np.ndarray) -> float:
    if not where.any():
        return _NAN
    common = float(view.loc[where].var())
    both = common + float(view.knowledge[where].mean())
    return common / both if both > 0.0 else 1.0


def _fresh(
    fit: SoftTreesFit, settings: SoftTreesSettings, X: Array, y: Array
) -> tuple[SoftTreesMoments, float]:
    """SoftTreesMoments at fresh rows, and their mean negative log likelihood."""
    if METHODS[fit.method].family == "process":
        moments = moments_of_process(fit, X)
        return moments, nll_gaussian(y, moments.loc, np.sqrt(moments.total))
    members, _ = soft_trees_members(fit, settings, X)
    moments = moments_of(members)[1]
    if fit.method == "vst":  # each draw is a mixture itself: its leaves'
        return moments, -float(
            fit.model.log_score(X, y, settings.n_functions, settings.sampling_seed)
        )
    return moments, nll_mixture(y, members[..., 0], members[..., 1])


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
