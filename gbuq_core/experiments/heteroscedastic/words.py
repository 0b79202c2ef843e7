"""The Heteroscedastic page in words, from its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gbuq_core.experiments.claims import times_text
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticRun
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    SCORES,
    SUPPORT,
    HeteroscedasticSettings,
)
from gbuq_core.experiments.heteroscedastic.scores import HeteroscedasticScore, score_all
from gbuq_core.presentation import short


def describe_heteroscedastic(
    run: HeteroscedasticRun, scores: tuple[HeteroscedasticScore, ...] | None = None
) -> str:
    """The picture in words: the rows, then each method from the best CRPS to the worst."""
    scores = score_all(run) if scores is None else scores
    told = [describe_data(run.settings), *(describe_method(score) for score in scores)]
    if run.settings.tail == "clip" and any(
        "novelty" in METHODS[score.method].scores for score in scores
    ):
        told.append("Novelty scores stop at 5.2, as in the authors' code.")
    return " ".join(told)


def answer_heteroscedastic(run: HeteroscedasticRun, scores: Sequence[HeteroscedasticScore]) -> str:
    """Does the first method know its noise, and where it has seen nothing? One sentence.

    >>> from gbuq_core.experiments.heteroscedastic.fit import run_heteroscedastic
    >>> run = run_heteroscedastic(
    ...     HeteroscedasticSettings(methods=("macau_basic",), rows=300, trees=10, subsample=0.3)
    ... )
    >>> among, outside = answer_heteroscedastic(run, score_all(run)).split(". ")
    >>> among
    'Among the rows, the 95 % band of MACAU (basic) holds 95 % of new rows'
    >>> outside
    'Outside, it holds 16 %, and its novelty warns of 100 % of them.'
    """
    for fit, measure in zip(run.fits, run.measures, strict=True):
        known = {one.key: one.values for one in measure.of_test.curves}
        foreign = {one.key: one.values for one in measure.of_foreign.curves}
        key = "novelty" if "novelty" in known else next(iter(known))
        found = np.mean(foreign[key] > np.quantile(known[key], 0.95))
        warned = f"its {SCORES[key].label.lower()} warns of {100 * found:.0f} %"
        (score,) = (one for one in scores if one.method == fit.method)
        if not score.outside:
            return f"{fit.label} predicts nothing; {warned} of the rows outside 0 to 10."
        level = run.settings.level
        (inside,) = (one.observed for one in score.coverage if one.level == level)
        widths = [part.high - part.low for part in score.outside]
        outside = np.average([part.observed for part in score.outside], weights=widths)
        return (
            f"Among the rows, the {100 * level:g} % band of {fit.label} holds {100 * inside:.0f} % "
            f"of new rows. Outside, it holds {100 * outside:.0f} %, and {warned} of them."
        )
    return ""


def describe_data(settings: HeteroscedasticSettings) -> str:
    """Rows, their noise, and where foreign rows lie."""
    low, high = SUPPORT
    noise = "There is no noise."
    if settings.noise_slope > 0.0:
        noise = (
            f"The noise grows with x and has a std of {short(settings.noise_slope * high, 2)} at "
            f"x = {high:g}."
        )
    return (
        f"{settings.rows:,} rows with x from {low:g} to {high:g}. {noise} Foreign rows lie from "
        f"{settings.left_from:g} to {low:g} and from {high:g} to {settings.right_to:g}."
    )


def describe_method(score: HeteroscedasticScore) -> str:
    """One method: its prediction, noise, coverage and foreign rows."""
    return f"{_describe_fit(score)} {describe_ood(score)}".strip()


def _describe_fit(score: HeteroscedasticScore) -> str:
    if math.isnan(score.crps):
        return f"{score.label} predicts nothing."
    text = (
        f"{score.label}: its CRPS is {score.crps:.3f}, {score.excess:.3f} above that of the true "
    )
    text += "distribution."
    if not math.isnan(score.noise_ratio):
        text += f" On average its std is {_as_large(score.noise_ratio)} that of the noise."
    if "knowledge" in METHODS[score.method].parts and not math.isnan(score.data_share):
        text += f" Data uncertainty is {100 * score.data_share:.0f} % of its variance."
    last = score.coverage[-1]
    text += (
        f" Its {100 * last.level:.0f} % intervals hold {100 * last.observed:.0f} % of test rows."
    )
    if score.thirds:
        shares = ", ".join(f"{100 * part.observed:.0f} %" for part in score.thirds)
        level = 100 * score.thirds[0].level
        text += f" In the left, middle and right third of x, {level:.0f} % intervals hold {shares}."
    return text


def _as_large(ratio: float) -> str:
    """A factor in words.

    >>> _as_large(1.31), _as_large(0.98)
    ('1.3 times', 'as large as')
    """
    return "as large as" if abs(ratio - 1.0) < 0.05 else times_text(ratio)


def describe_ood(score: HeteroscedasticScore) -> str:
    """How well each of a method's scores detects foreign rows, best first."""
    if not score.auroc:
        return ""
    best = sorted(score.auroc, key=lambda found: -found.value)
    told = ", ".join(f"{found.label.lower()} {found.value:.2f}" for found in best)
    return f"AUROC for foreign rows: {told}."
