"""Scores of the heart's maps, the paper's claims checked against them, and the maps in words.

Malinin et al. (2021), section 4; eq. 6 for what the maps show.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.claims import Claim, Threshold, judged, smaller_text
from gbuq_core.experiments.heart.fit import HeartMaps, HeartRun, run_heart
from gbuq_core.experiments.heart.plan import METHODS, HeartSettings
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.glossary import VIEWS
from gbuq_core.presentation import short
from gbuq_core.validation import check_choice

Array = npt.NDArray[np.float64]

# What counts as agreeing. The paper says "perfectly", "correctly" and "much smaller"; the numbers
# behind the last two are ours.
NEARLY_PERFECT = 0.97
DATA_TOLERANCE = 0.1  # of the true noise as a std: 4.5 times the standard error with 1000 rows
MUCH_SMALLER, SMALLER = 10.0, 2.0

_PERFECT = Threshold("AUROC", 1.0, NEARLY_PERFECT)
_CAPTURED = Threshold(
    "largest error of the std", DATA_TOLERANCE, 2 * DATA_TOLERANCE, unit=" %", times=100.0
)
_SMALLER = Threshold("ratio of the variances", MUCH_SMALLER, SMALLER)
_FAINTER = Threshold("ratio of the standard deviations", MUCH_SMALLER, SMALLER)


class HeartScores(NamedTuple):
    """One method's scores with all trees; all but AUROCs in the unit of the view.

    NaN where the method has no such uncertainty or there are no such cells.
    """

    # `auroc_knowledge`, `auroc_total`: chance that an empty cell has more of it than a filled one;
    # 1 separates them perfectly
    auroc_knowledge: float
    auroc_total: float
    # `data_error_max`, `data_error_mean`: largest and mean absolute error of data uncertainty over
    # the filled cells
    data_error_max: float
    data_error_mean: float
    # the largest error of data uncertainty relative to the truth, both as std
    data_error_share: float
    # `knowledge_empty`, `knowledge_filled`: mean over the cells without and with rows
    knowledge_empty: float
    knowledge_filled: float
    # `least_empty`, `most_filled`: the smallest knowledge uncertainty of an empty, the largest of a
    # filled cell
    least_empty: float
    most_filled: float


def score_heart(maps: HeartMaps, view: str = "std") -> HeartScores:
    """Score the maps with all trees."""
    check_choice("view", view, VIEWS)
    data = maps.truth
    filled = data.in_support
    total, noise, knowledge = (
        as_view(part[-1], view) for part in (maps.total, maps.data, maps.knowledge)
    )
    error = np.abs(noise - as_view(data.variance, view))[filled]
    stds = as_view(maps.data[-1], "std")[filled], as_view(data.variance, "std")[filled]
    return HeartScores(
        auroc_knowledge=auroc_of(~filled, filled, knowledge),
        auroc_total=auroc_of(~filled, filled, total),
        data_error_max=float(error.max()),
        data_error_mean=float(error.mean()),
        data_error_share=float(np.abs(stds[0] / stds[1] - 1.0).max()),
        knowledge_empty=_or_nan(np.mean, knowledge[~filled]),
        knowledge_filled=_or_nan(np.mean, knowledge[filled]),
        least_empty=_or_nan(np.min, knowledge[~filled]),
        most_filled=_or_nan(np.max, knowledge[filled]),
    )


def as_view(variances: Array, view: str) -> Array:
    """Variances as they are, or as standard deviations.

    >>> as_view(np.array([0.25]), "std")
    array([0.5])
    """
    return np.sqrt(variances) if view == "std" else variances


def check_claims(run: HeartRun) -> tuple[Claim, ...]:
    """Check the paper's statements about the heart (section 4) against these results."""
    by_method = {maps.method: score_heart(maps) for maps in run.methods}
    claims: list[Claim] = []
    for method, scores in by_method.items():
        kind = METHODS[method]
        if not kind.boosting or math.isnan(scores.auroc_knowledge):
            continue
        if kind.virtual:
            true = by_method.get(method.removeprefix("virtual_"))
            claims += _claims_of_virtual(method, scores, true)
        else:
            claims += _claims_of_true(method, scores, run)
    return tuple(claims)


def answer_heart(run: HeartRun) -> str:
    """Does the model know where it has seen nothing? One sentence on the first method.

    >>> from gbuq_core.experiments.heart.fit import run_heart
    >>> from gbuq_core.experiments.heart.plan import HeartSettings
    >>> answer_heart(run_heart(HeartSettings(rows=30, trees=100, methods=("sglb",))))
    'SGLB is less sure in 17 of the 17 empty cells than in any cell with rows.'
    """
    empty = ~run.data.in_support
    for maps in run.methods:
        knowledge = maps.knowledge[-1]
        if empty.any() and np.isfinite(knowledge).all():
            n = int((knowledge[empty] > knowledge[~empty].max()).sum())
            return (
                f"{METHODS[maps.method].label} is less sure in {n} of the {empty.sum()} empty "
                "cells than in any cell with rows."
            )
    return ""


def describe_heart(run: HeartRun) -> str:
    """The picture in words, from its numbers."""
    data, view = run.data, run.settings.unit
    n_empty = int((~data.in_support).sum())
    noise = as_view(data.variance[data.in_support], view)
    words = [
        f"81 cells: feature 1 runs down, feature 2 across. {n_empty} cells have no training rows; "
        f"the others have {run.settings.rows:,} each. Uncertainties are "
        f"{'standard deviations' if view == 'std' else 'variances'} of y. The true noise lies "
        f"between {short(noise.min())} and {short(noise.max())}."
    ]
    words += [_describe_method(maps, view) for maps in run.methods]
    return " ".join(words)


def _describe_method(maps: HeartMaps, view: str) -> str:
    scores = score_heart(maps, view)
    members = METHODS[maps.method].describe(int(maps.n_members[-1]), int(maps.n_trees[-1]))
    text = f"{members}: "
    if math.isnan(scores.knowledge_filled):
        text += "knowledge uncertainty needs at least two members"
    else:
        text += f"knowledge uncertainty is {short(scores.knowledge_filled)} in filled cells"
        if not math.isnan(scores.knowledge_empty):
            text += (
                f" and {short(scores.knowledge_empty)} in empty ones; it tells them apart with an "
                f"AUROC of {auroc_text(scores.auroc_knowledge)}"
            )
    if math.isnan(scores.data_error_max):
        return text + ". It predicts no noise, so it has no data and no total uncertainty."
    return text + (
        f". Data uncertainty is off by {short(scores.data_error_mean)} on average and by at most "
        f"{short(scores.data_error_max)} in filled cells."
    )


def auroc_text(value: float) -> str:
    """An AUROC with three decimals. It says 1.000 only if every pair is in order."""
    if math.isnan(value):
        return "–"
    return "> 0.999" if 0.9995 <= value < 1.0 else f"{value:.3f}"


def _claims_of_true(method: str, scores: HeartScores, run: HeartRun) -> list[Claim]:
    label, share = METHODS[method].label, scores.data_error_share
    noise = float(np.nanmean(run.data.variance))
    ratio = noise / scores.knowledge_empty**2
    return [
        judged(
            "Knowledge uncertainty separates cells without rows perfectly, with no trace of the "
            "heart's border.",
            f"{label}: the AUROC is {auroc_text(scores.auroc_knowledge)}. The smallest value in an "
            f"empty cell is {short(scores.least_empty, 2)}; the largest in a filled cell is "
            f"{short(scores.most_filled, 2)}.",
            scores.auroc_knowledge,
            _PERFECT,
            key=f"empty:{method}",
            chip=f"KU of {label} finds the empty cells",
        )._replace(value=f"AUROC {auroc_text(scores.auroc_knowledge)}"),
        judged(
            "The noise is captured correctly in all cells with training rows.",
            f"{label}: its standard deviation is off by at most {short(100 * share, 2)} % of the "
            "true one.",
            share,
            _CAPTURED,
            key=f"noise:{method}",
            chip=f"DU of {label} repeats the noise",
            name="off by up to",
        ),
        judged(
            "Knowledge uncertainty is much smaller than data uncertainty.",
            f"{label}: in cells without rows its variance is "
            f"{short(scores.knowledge_empty**2, 2)}. The noise of the other cells is "
            f"{short(noise, 2)}. Knowledge uncertainty is {smaller_text(ratio)}.",
            ratio,
            _SMALLER,
            key=f"share:{method}",
            name="ratio",
        ),
    ]


def _claims_of_virtual(method: str, scores: HeartScores, true: HeartScores | None) -> list[Claim]:
    label = METHODS[method].label
    claims = [
        judged(
            "A virtual ensemble detects the cells without rows perfectly too.",
            f"{label}: the AUROC is {auroc_text(scores.auroc_knowledge)}.",
            scores.auroc_knowledge,
            _PERFECT,
            key=f"empty:{method}",
            chip=f"KU of {label} finds the empty cells",
        )._replace(value=f"AUROC {auroc_text(scores.auroc_knowledge)}")
    ]
    if true is not None and not math.isnan(true.knowledge_empty):
        ratio = true.knowledge_empty / scores.knowledge_empty
        claims.append(
            judged(
                "Its knowledge uncertainty is much smaller than that of independent models.",
                f"{label}: in cells without rows its standard deviation is "
                f"{short(scores.knowledge_empty, 2)}. With independent models it is "
                f"{short(true.knowledge_empty, 2)}. The virtual one is {smaller_text(ratio)}.",
                ratio,
                _FAINTER,
                key=f"size:{method}",
                name="ratio",
            )
        )
    return claims


def _or_nan(reduce: object, values: Array) -> float:
    return float(reduce(values)) if values.size else math.nan  # type: ignore[operator]


STUDY = SeedStudy(
    name="heart",
    fit=run_heart,
    claims=check_claims,
    first=HeartSettings(),
)
