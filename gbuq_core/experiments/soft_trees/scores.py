"""Scores of the functions: their spread, agreement, errors, coverage and cost.

Cinquin et al. (2022), section 5.1; figures 6 and 7 of its supplement have the RMSE of step and
wavelet. Fan-out and agreement are this project's numbers for what its figures show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from gbuq_core.experiments.soft_trees.data import Array
from gbuq_core.experiments.soft_trees.fit import (
    SoftTreesFit,
    SoftTreesMoments,
    SoftTreesRun,
    SoftTreesView,
    moments_of,
    moments_of_process,
    soft_trees_members,
)
from gbuq_core.experiments.soft_trees.plan import METHODS, SoftTreesSettings
from gbuq_core.metrics import nll_gaussian, nll_mixture
from gbuq_core.metrics.scores import binomial_band

LEVEL = 0.9  # of the intervals
_HALF_WIDTH = float(ndtri(0.5 + LEVEL / 2.0))  # in stds of a normal
_NAN = math.nan


@dataclass(frozen=True, kw_only=True)
class SoftTreesScore:
    """One method's scores. NaN where the data have none: own points, sets without empty places."""

    method: str
    label: str
    # `inside`, `outside`: mean std of the drawn functions over the places with and without rows, in
    # target stds: inside, small means that the functions agree
    inside: float
    outside: float
    fan_out: float  # `outside / inside`
    # share of the functions' variation over the places with rows that all have in common, from 0 to
    # 1: `var(mean function) / (var(mean function) + mean knowledge)`
    agreement: float
    rmse: float  # of the mean to the true mean at fresh rows, in target stds
    # `coverage`, `coverage_low`, `coverage_high`: share of fresh rows in their central 90 %
    # intervals, and its exact binomial band at 95 %
    coverage: float
    coverage_low: float
    coverage_high: float
    # of fresh rows, in nats, in units of y: of the mixture over all draws; of a Gaussian process,
    # which is one normal, of that
    nll: float
    seconds: float
    memory_bytes: int | None  # none where a library does not report it


def score_soft_trees(
    fit: SoftTreesFit, view: SoftTreesView, settings: SoftTreesSettings
) -> SoftTreesScore:
    """Score one method."""
    data = fit.data
    inside, outside = _spread(view, data.support), _spread(view, ~data.support)
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


def _spread(view: SoftTreesView, where: np.ndarray) -> float:
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
