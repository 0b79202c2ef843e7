"""What the maps of the spiral amount to: scores against the true density, and words.

Malinin et al. (2021), section 4, and Tan, Huertas and Zhao (cyclical SGLB), section 5.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.claims import Claim, times_text, verdict_of
from gbuq_core.experiments.spiral import SpiralMaps, SpiralRun, fresh_sample
from gbuq_core.experiments.spiral_data import SIDE, SpiralTruth
from gbuq_core.experiments.spiral_plan import METHODS
from gbuq_core.experiments.spiral_regions import (
    auroc_of,
    mean_of,
    rank_correlation,
    spiral_regions,
)
from gbuq_core.metrics import (
    EnsembleSize,
    effective_ensemble_size,
    error_rate,
    nll_classification,
)

# What counts as agreeing; the papers use words, the numbers are ours.
DETECTS, HARDLY_DETECTS = 0.8, 0.6  # AUROC
TRACE, FAINT_TRACE = 2.0, 1.2  # knowledge uncertainty at borders over that elsewhere
MUCH_SMALLER, SMALLER = 5.0, 2.0  # times
BETTER, AS_GOOD = 0.02, 0.05  # of AUROCs and rank correlations


class SpiralScore(NamedTuple):
    """One method's scores with all trees; uncertainties in nats.

    NaN where there is a single member or there are no such cells.

    Attributes
    ----------
    auroc_far : float
        Chance that a cell of the farthest 40 % has more knowledge uncertainty than another one.
    auroc_between : float
        The same for cells between the arms against the support's, within the data's disc.
    auroc_border : float
        The same for cells outside the support against class borders inside.
    auroc_far_total, auroc_border_total : float
        `auroc_far` and `auroc_border` of total uncertainty.
    ku_mean_inside, ku_mean_between, ku_mean_outside, ku_mean_border : float
        Mean knowledge uncertainty in the support, between the arms, outside the support, and at
        class borders.
    border_ratio : float
        Mean knowledge uncertainty at class borders over that in the middles of the arms.
    data_error : float
        Mean absolute error of data uncertainty in the support.
    nll, error : float
        Mean negative log likelihood and error rate of the mean prediction for 1,500 fresh rows.
    nll_optimal, error_optimal : float
        Those of the true class probabilities on the same rows.
    size : EnsembleSize
        From the correlation of the members' errors in the support.
    n_members, n_trees : int
        Members that count, and trees trained in all.
    seconds, memory_bytes : float, int
        Cost of the training, and what the trained model holds.
    """

    auroc_far: float
    auroc_between: float
    auroc_border: float
    auroc_far_total: float
    auroc_border_total: float
    ku_mean_inside: float
    ku_mean_between: float
    ku_mean_outside: float
    ku_mean_border: float
    border_ratio: float
    data_error: float
    nll: float
    error: float
    nll_optimal: float
    error_optimal: float
    size: EnsembleSize
    n_members: int
    n_trees: int
    seconds: float
    memory_bytes: int


def score_spiral(maps: SpiralMaps, truth: SpiralTruth) -> SpiralScore:
    """Score the maps with all trees against the truth of their noise.

    Examples
    --------
    >>> from gbuq_core.experiments.spiral import run_spiral
    >>> from gbuq_core.experiments.spiral_plan import SpiralSettings
    >>> run = run_spiral(SpiralSettings(methods=("sglb",), rows=100, trees=50))
    >>> score = score_spiral(run.methods[0], run.truth)
    >>> score.error_optimal < score.error < 2 / 3
    True
    """
    where = spiral_regions(truth)
    knowledge, plan = maps.knowledge[-1], maps.fit.plan
    fresh = fresh_sample(plan.noise, plan.seed)
    true_proba = truth.proba.reshape(3, -1).T
    cells = where.inside.ravel()
    data_error = np.abs(maps.data[-1] - truth.data_uncertainty)[where.inside]
    return SpiralScore(
        auroc_far=auroc_of(where.far, ~where.far, knowledge),
        auroc_between=auroc_of(where.between, where.inside & where.disc, knowledge),
        auroc_border=auroc_of(~where.inside, where.border, knowledge),
        auroc_far_total=auroc_of(where.far, ~where.far, maps.total[-1]),
        auroc_border_total=auroc_of(~where.inside, where.border, maps.total[-1]),
        ku_mean_inside=mean_of(knowledge, where.inside),
        ku_mean_between=mean_of(knowledge, where.between),
        ku_mean_outside=mean_of(knowledge, ~where.inside),
        ku_mean_border=mean_of(knowledge, where.border),
        border_ratio=_ratio(mean_of(knowledge, where.border), mean_of(knowledge, where.clear)),
        data_error=float(data_error.mean()),
        nll=nll_classification(fresh.data.y, maps.fresh_proba),
        error=error_rate(fresh.data.y, maps.fresh_proba.argmax(axis=1)),
        nll_optimal=nll_classification(fresh.data.y, fresh.proba),
        error_optimal=error_rate(fresh.data.y, fresh.proba.argmax(axis=1)),
        size=effective_ensemble_size(maps.members[:, cells], true_proba[cells]),
        n_members=int(maps.n_members[-1]),
        n_trees=plan.trees * (plan.members if METHODS[plan.method].boosting else 1),
        seconds=maps.fit.seconds,
        memory_bytes=maps.fit.memory_bytes,
    )


def describe_spiral(run: SpiralRun) -> str:
    """The picture in words, from its numbers.

    Examples
    --------
    >>> from gbuq_core.experiments.spiral import run_spiral
    >>> from gbuq_core.experiments.spiral_plan import SpiralSettings
    >>> describe_spiral(run_spiral(SpiralSettings(methods=()))).startswith("Three arms")
    True
    """
    where, truth = spiral_regions(run.truth), run.truth
    words = [
        f"Three arms of a spiral, one class each, {run.settings.rows:,} rows a class, drawn on a "
        f"grid of {SIDE} by {SIDE} cells from -600 to 600. 99 % of all rows lie in "
        f"{100 * where.inside.mean():.0f} % of the cells. True data uncertainty averages "
        f"{truth.data_uncertainty[where.inside].mean():.2g} nats there and is highest at the "
        f"borders of classes. {int(where.between.sum())} cells of the arms' disc have next to no "
        f"rows."
    ]
    words += [_describe_method(maps, truth) for maps in run.methods]
    return " ".join(words)


def _describe_method(maps: SpiralMaps, truth: SpiralTruth) -> str:
    kind, score = METHODS[maps.method], score_spiral(maps, truth)
    trees = f"{int(maps.n_trees[-1]):,} trees"
    what = f"{score.n_members} models of {trees}"
    if kind.virtual:
        what = f"{score.n_members} truncations of one model of {trees}"
    elif not kind.boosting:
        what = f"one forest of {trees} in {score.n_members} groups"
    text = f"{kind.label} ({what}): "
    if math.isnan(score.auroc_far):
        text += "knowledge uncertainty takes at least two members"
    else:
        text += (
            f"knowledge uncertainty averages {score.ku_mean_inside:.2g} nats where rows are and "
            f"{score.ku_mean_outside:.2g} elsewhere; it tells the farthest 40 % of the cells from "
            f"the others with AUROC {score.auroc_far:.2f} (0.5 is chance)"
        )
    return text + (
        f". Of fresh rows it gets {100 * score.error:.1f} % wrong, where the best possible gets "
        f"{100 * score.error_optimal:.1f} %, with a mean NLL of {score.nll:.3f} against "
        f"{score.nll_optimal:.3f}."
    )


def check_claims(run: SpiralRun) -> tuple[Claim, ...]:
    """Hold the papers' statements about the spiral against what came out.

    Only statements about methods that were run: each ensemble by itself, then the virtual ones and
    the cyclical ones against the others (Malinin et al., section 4; Tan et al., sections 1 and
    5.1).
    """
    found = {
        maps.method: (maps, score)
        for maps in run.methods
        if not math.isnan((score := score_spiral(maps, run.truth)).auroc_far)
    }
    claims: list[Claim] = []
    for method, (maps, score) in found.items():
        if METHODS[method].boosting and not METHODS[method].virtual:
            claims += _claims_of_independent(maps, score, run.truth)
    true, virtual = found.get("sglb"), found.get("virtual_sglb")
    if true and virtual:
        claims.append(_claim_of_size(true[1], virtual[1]))
    for method in ("csglb", "cbsglb"):
        if method in found:
            claims += _claims_of_cyclical(METHODS[method].label, found[method], true, virtual)
    return tuple(claims)


def _claims_of_independent(maps: SpiralMaps, score: SpiralScore, truth: SpiralTruth) -> list[Claim]:
    label, where = METHODS[maps.method].label, spiral_regions(truth)
    others = max(score.ku_mean_inside, mean_of(maps.knowledge[-1], ~where.disc))
    between = score.ku_mean_between
    share = _ratio(float(maps.data[-1].mean()), float(maps.knowledge[-1].mean()))
    claims = [
        Claim(
            "Knowledge uncertainty tells regions outside the data from class borders.",
            f"{label}: AUROC {score.auroc_border:.2f} of all cells outside the data against class "
            f"borders (0.5 is chance); total uncertainty's is {score.auroc_border_total:.2f}.",
            verdict_of(score.auroc_border, DETECTS, HARDLY_DETECTS),
        ),
        Claim(
            "It still shows traces of the class borders.",
            f"{label}: where rows are, knowledge uncertainty is {score.border_ratio:.1f} times as "
            f"high at class borders as in the middles of the arms.",
            verdict_of(score.border_ratio, TRACE, FAINT_TRACE),
        ),
        Claim(
            "It is much smaller than data uncertainty and adds little to the total.",
            f"{label}: data uncertainty averages {times_text(share)} as much over the map.",
            verdict_of(share, MUCH_SMALLER, SMALLER),
        ),
    ]
    if not math.isnan(between):
        claims.insert(
            1,
            Claim(
                "Knowledge uncertainty is highest between the arms.",
                f"{label}: {between:.2g} nats on average in the {int(where.between.sum())} cells "
                f"between the arms, {score.ku_mean_inside:.2g} where rows are; AUROC "
                f"{score.auroc_between:.2f} of the former against the latter.",
                verdict_of(
                    score.auroc_between if between > others else 0.0, DETECTS, HARDLY_DETECTS
                ),
            ),
        )
    return claims


def _claim_of_size(true: SpiralScore, virtual: SpiralScore) -> Claim:
    ratio = _ratio(true.ku_mean_outside, virtual.ku_mean_outside)
    return Claim(
        "A virtual ensemble's knowledge uncertainty is far lower than that of independent models.",
        f"Outside the data {virtual.ku_mean_outside:.2g} nats against {true.ku_mean_outside:.2g}, "
        f"{times_text(ratio)} lower.",
        verdict_of(ratio, MUCH_SMALLER, SMALLER),
    )


def _claims_of_cyclical(
    label: str,
    cyclical: tuple[SpiralMaps, SpiralScore],
    true: tuple[SpiralMaps, SpiralScore] | None,
    virtual: tuple[SpiralMaps, SpiralScore] | None,
) -> list[Claim]:
    """What the cyclical paper says of cSGLB beside virtual SGLB and beside independent models."""
    maps, score = cyclical
    claims = []
    if virtual:
        gain = score.auroc_far - virtual[1].auroc_far
        ratio = _ratio(score.ku_mean_outside, virtual[1].ku_mean_outside)
        claims.append(
            Claim(
                f"{label} greatly improves on virtual SGLB in capturing high knowledge "
                "uncertainty where there are no training rows.",
                f"Outside the data it is {times_text(ratio)} as high, but AUROC on the farthest "
                f"40 % is {score.auroc_far:.2f} against {virtual[1].auroc_far:.2f}: a higher level "
                f"everywhere helps only if it is higher there than elsewhere.",
                "nearly" if ratio > SMALLER and gain < BETTER else verdict_of(gain, BETTER, 0.0),
            )
        )
    if true:
        gap = score.auroc_far - true[1].auroc_far
        share = _ratio(score.n_trees, true[1].n_trees)
        claims.append(
            Claim(
                f"{label}'s single model finds data unlike the training rows about as well as "
                "independent models that cost far more (shown there on weather data).",
                f"AUROC on the farthest 40 % is {score.auroc_far:.2f} against "
                f"{true[1].auroc_far:.2f}, with {100 * share:.3g} % of the trees.",
                verdict_of(gap, -AS_GOOD, -2 * AS_GOOD),
            )
        )
        jitter = _ratio(score.ku_mean_border, true[1].ku_mean_border)
        claims.append(
            Claim(
                f"At class borders {label} jitters more than independent models.",
                f"Knowledge uncertainty there averages {score.ku_mean_border:.2g} nats against "
                f"{true[1].ku_mean_border:.2g}.",
                verdict_of(jitter, TRACE, 1.0),
            )
        )
    if true and virtual:
        reference = true[0].knowledge[-1]
        own = rank_correlation(maps.knowledge[-1], reference)
        other = rank_correlation(virtual[0].knowledge[-1], reference)
        claims.append(
            Claim(
                f"{label}'s uncertainty is better aligned with that of independent models than "
                "virtual SGLB's.",
                f"Rank correlation of the maps of knowledge uncertainty with that of "
                f"{true[1].n_members} independent models: {own:.2f} against {other:.2f}.",
                verdict_of(own - other, BETTER, -BETTER),
            )
        )
    return claims


def _ratio(above: float, below: float) -> float:
    """A quotient; infinite over 0, NaN of 0 and 0."""
    return above / below if below else math.nan if not above else math.inf
