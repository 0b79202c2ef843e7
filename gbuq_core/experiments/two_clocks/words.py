"""Two clocks in words, from its numbers."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gbuq_core.calibration.splits import HELD_OUT_FROM
from gbuq_core.experiments.two_clocks.plan import (
    CYCLICAL,
    FACTOR_WAYS,
    SINGLE,
    WAYS,
    TwoClocksSettings,
)
from gbuq_core.experiments.two_clocks.scores import TwoClocksLook, WayScore
from gbuq_core.methods import METHODS
from gbuq_core.presentation import short


def describe_data(settings: TwoClocksSettings) -> str:
    """The rows that train and choose, and the rows that score."""
    about = {
        "five features": "Five features that all matter; the noise grows with the fourth.",
        "growing noise": "One feature; the noise grows with it.",
        "wave": "The wave: one feature with a noisy stretch and a rare one.",
        "diabetes": "442 patients and ten measurements; the target is how far the disease went.",
    }[settings.data]
    n = settings.n_rows
    who = "a fifth of them, held out," if n >= HELD_OUT_FROM else "held out in five folds, they"
    verb = "chooses" if n >= HELD_OUT_FROM else "choose"
    what = "the clocks" if settings.has_clocks else "the factor"
    them = "them" if settings.has_clocks else "it"
    told = f"{about} {n:,} rows train the model; {who} {verb} {what}. Other rows score {them}."
    label = METHODS[settings.model].label
    if settings.model in CYCLICAL:
        told += (
            f" {label} has a member at the end of every {settings.cycle_length} trees, and its "
            "mean can stop where at least two members are complete."
        )
    if settings.model in SINGLE:
        told += f" {label} is one model, so its knowledge uncertainty is 0."
    return told


def answer_two_clocks(look: TwoClocksLook) -> str:
    """Is the stated uncertainty true? One sentence, from rows that neither trained nor chose.

    >>> from gbuq_core.experiments.two_clocks.fit import fit_two_clocks
    >>> from gbuq_core.experiments.two_clocks.scores import look_two_clocks
    >>> some = TwoClocksSettings(data="wave", rows=100, trees=50, members=2)
    >>> answer_two_clocks(look_two_clocks(fit_two_clocks(some), "normal"))[:43]
    'With all trees, 90 % intervals hold 95 % of'
    """
    ways = WAYS if look.fit.plan.has_clocks else FACTOR_WAYS
    inside = {score.label: f"{100 * score.coverage:.0f} %" for score in look.scores}
    first, *_, last = ways.values()
    given = "With all trees" if look.fit.plan.has_clocks else "As it is"
    return (
        f"{given}, 90 % intervals hold {inside[first]} of new rows; with {last[:1].lower()}"
        f"{last[1:]}, {inside[last]}."
    )


def describe_two_clocks(look: TwoClocksLook) -> str:
    """The picture in words: each way to stop with its clocks and scores."""
    told = [describe_way(score) for score in look.scores]
    if not look.fit.plan.has_clocks:
        return " ".join(told)
    curves = look.curves
    best, truest = int(curves.rmse.argmin()), int(curves.nll.argmin())
    told.append(
        f"With one number of trees for both, the RMSE is least at {int(curves.n_trees[best]):,} "
        f"trees and the NLL at {int(curves.n_trees[truest]):,}."
    )
    return " ".join(told)


def describe_way(score: WayScore) -> str:
    """One way to stop, its clocks and its scores."""
    scores = (
        f"90 % intervals hold {100 * score.coverage:.0f} % of the rows, NLL {short(score.nll)}, "
        f"RMSE {short(score.rmse)}, CRPS {short(score.crps)}."
    )
    return f"{score.label}{_clocks_text(score)}: {scores}"


def why_no_clocks(model: str) -> str:
    """Why a model has no sliders, and what can be done instead."""
    return (
        f"{METHODS[model].label} does not boost a mean and a scale tree by tree, so there are no "
        "clocks to stop. One factor can still make its std larger or smaller."
    )


def _clocks_text(score: WayScore) -> str:
    clocks = score.clocks
    if clocks is None:
        return ""
    parts = []
    if score.label in WAYS.values():
        parts.append(
            f"{clocks.mean_trees:,} trees for the mean, {clocks.scale_trees:,} for the scale"
        )
    if score.label in (WAYS["factor"], WAYS["clocks"], FACTOR_WAYS["factor"]):
        parts.append(f"factor {short(clocks.factor)}")
    if not math.isinf(clocks.df):
        parts.append(f"t with {short(clocks.df)} degrees of freedom")
    return f" ({', '.join(parts)})" if parts else ""


def score_rows(look: TwoClocksLook) -> list[tuple[str, ...]]:
    """The table of this seed: a line a way to stop, its headings first."""
    has_clocks = look.fit.plan.has_clocks
    second = "Mean, scale" if has_clocks else "Factor"
    rows: list[tuple[str, ...]] = [("", second, "Coverage", "NLL", "RMSE", "CRPS")]
    for score in look.scores:
        clocks, stops = score.clocks, ""
        if clocks is not None:
            both = f"{clocks.mean_trees:,}, {clocks.scale_trees:,}"
            stops = both if has_clocks else short(clocks.factor)
        rows.append(
            (
                score.label,
                stops,
                f"{100 * score.coverage:.0f} %",
                *(short(value) for value in (score.nll, score.rmse, score.crps)),
            )
        )
    return rows


def seed_rows(scores: NDArray[np.float64]) -> list[tuple[str, ...]]:
    """The table of the seeds' means: a line a way to stop, its headings first."""
    means = np.asarray(scores).mean(axis=0)
    rows: list[tuple[str, ...]] = [("", "Coverage", "NLL", "RMSE", "CRPS")]
    ways = WAYS if len(means) == len(WAYS) else FACTOR_WAYS
    for label, (coverage, *others) in zip(ways.values(), means, strict=True):
        rows.append((label, f"{100 * coverage:.0f} %", *(short(value) for value in others)))
    return rows
