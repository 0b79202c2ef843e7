"""The papers' statements about the spiral, held against what came out.

Malinin et al. (2021), section 4 and the conclusion; Tan, Huertas and Zhao (cyclical SGLB),
sections 1, 5.1 and 5.2.
"""

from __future__ import annotations

import math
from dataclasses import replace

from gbuq_core.experiments.claims import (
    Claim,
    Threshold,
    judged,
    smaller_text,
    times_text,
    verdict_of,
)
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.experiments.spiral.fit import SpiralMaps, SpiralRun, run_spiral
from gbuq_core.experiments.spiral.plan import (
    FIRST,
    METHODS,
    PAPER,
    STAGE_STEP,
    SpiralSettings,
)
from gbuq_core.experiments.spiral.scores import (
    BETTER_THAN_CHANCE,
    SpiralScore,
    against_chance,
    ratio_of,
    scores_of,
)
from gbuq_core.settings import bare, differences, quicker

# What counts as agreeing; the papers use words, the numbers are ours.
DETECTS, HARDLY_DETECTS = 0.8, 0.6  # AUROC
TRACE, FAINT_TRACE = 2.0, 1.2  # knowledge uncertainty at borders over that elsewhere
MUCH_SMALLER, SMALLER = 5.0, 2.0  # times
# Of differences of AUROCs and of rank correlations. With the settings' defaults those of cSGLB and
# virtual SGLB have a std of 0.05 and 0.07 over eight seeds: one seed tells no smaller difference
# from none, and one that is great should be more than two of them.
APART, GREATLY = 0.06, 0.15
LEARNS, HARDLY_LEARNS = 0.05, 0.1  # of the fresh rows, above the best possible error rate

_AUROC = Threshold("AUROC", DETECTS, HARDLY_DETECTS, decimals=2)
_AUROC_FAR = _AUROC._replace(what="AUROC of the farthest cells")
_LEARNED = Threshold(
    "share of wrong rows above the best possible",
    LEARNS,
    HARDLY_LEARNS,
    unit=" points",
    times=100.0,
    decimals=1,
)
_AUROC_GAPS = _AUROC._replace(what="AUROC of the gaps")
_BEST = Threshold("larger of the two AUROCs", HARDLY_DETECTS, DETECTS, decimals=2)
_TRACE = Threshold("ratio of borders to middles", TRACE, FAINT_TRACE)
_LARGER = Threshold("ratio of data to knowledge", MUCH_SMALLER, SMALLER)
_LOWER = Threshold("ratio of independent to virtual", MUCH_SMALLER, SMALLER)
_JITTER = Threshold("ratio at class borders", TRACE, FAINT_TRACE)
_ALIGNED = Threshold("difference of the rank correlations", APART, -APART, decimals=2)

Scored = tuple[SpiralMaps, SpiralScore]


def settings_text(settings: SpiralSettings) -> str:
    """Whether these are the papers' settings, and which are not; methods and seed are free."""
    other = _not_the_papers(settings)
    return f"Not the papers' settings: {'; '.join(other)}." if other else "In the papers' settings."


def check_claims(run: SpiralRun) -> tuple[Claim, ...]:
    """Check the papers' statements about the spiral against these results."""
    by_method: dict[str, Scored] = {
        maps.method: (maps, score)
        for maps, score in zip(run.methods, scores_of(run), strict=True)
        if not math.isnan(score.auroc_far)
    }
    claims: list[Claim] = []
    for method, scored in by_method.items():
        if METHODS[method].boosting and not METHODS[method].virtual:
            claims += _claims_of_independent(METHODS[method].label, *scored)
    true, virtual = by_method.get("sglb"), by_method.get("virtual_sglb")
    if virtual and not math.isnan(virtual[1].auroc_border):
        claims.append(_claim_of_struggle(virtual[1]))
    if true and virtual:
        claims.append(_claim_of_size(true[1], virtual[1]))
    here = "At these settings" if _not_the_papers(run.settings) else "In the papers' settings"
    for method in ("csglb", "cbsglb"):
        if method in by_method:
            cyclical = _claims_of_cyclical(METHODS[method].label, by_method[method], true, virtual)
            claims += [claim._replace(here=f"{here}: {claim.here}") for claim in cyclical]
    claims += [_claim_of_forest(*by_method["vrf"])] if "vrf" in by_method else []
    return tuple(claims)


def answer_spiral(run: SpiralRun) -> str:
    """What the first method with knowledge uncertainty notices, in one sentence from its scores.

    >>> from gbuq_core.experiments.spiral.fit import run_spiral
    >>> run = run_spiral(SpiralSettings(methods=("sglb",), rows=100, trees=50))
    >>> answer_spiral(run)
    'Trees fail far out: SGLB does not notice that it left the data.'
    """
    for maps, score in zip(run.methods, scores_of(run), strict=True):
        if not math.isnan(score.auroc_far):
            far, gaps = (
                _NOTICES[verdict_of(auroc, DETECTS, HARDLY_DETECTS)]
                for auroc in (score.auroc_far, score.auroc_between)
            )
            start = "Trees fail far out: " if far == _NOTICES["does not hold"] else ""
            if not math.isnan(score.auroc_between):
                join = "and" if far == gaps else "but"
                far = f"{gaps} the gaps between the arms, {join} {far}"
            return f"{start}{METHODS[maps.method].label} {far} that it left the data."
    return ""


_NOTICES = {"holds": "notices", "partly": "partly notices", "does not hold": "does not notice"}


def _not_the_papers(settings: SpiralSettings) -> tuple[str, ...]:
    """How the settings differ; the forest's depth counts only if there is a forest."""
    free = bare(replace(settings, methods=PAPER.methods, seed=PAPER.seed))
    forest = free if "vrf" in settings.methods else replace(free, forest_depth=PAPER.forest_depth)
    return differences(forest, PAPER)


def _claims_of_independent(label: str, maps: SpiralMaps, score: SpiralScore) -> list[Claim]:
    share = ratio_of(float(maps.data[-1].mean()), float(maps.knowledge[-1].mean()))
    claims = [
        judged(
            "Knowledge uncertainty is high where there are no training rows.",
            f"{label}: the AUROC of the farthest 40 % of the cells against all others is "
            f"{score.auroc_far:.2f}, {against_chance(score.auroc_far)}. For total uncertainty it "
            f"is {score.auroc_far_total:.2f}.",
            score.auroc_far,
            _AUROC_FAR,
            key=f"far:{maps.method}",
            chip=f"KU of {label} finds far cells",
            name="AUROC",
        )
    ]
    gaps = not math.isnan(score.auroc_between)
    if gaps:
        claims.append(_claim_of_gaps(label, maps, score))
    if not math.isnan(score.auroc_border):
        claims.append(
            judged(
                "Knowledge uncertainty tells regions outside the data from class borders. (The "
                "authors say that this is harder with continuous features, as here, because "
                "borders move from model to model.)",
                f"{label}: the AUROC of cells outside the data against class borders is "
                f"{score.auroc_border:.2f}, {against_chance(score.auroc_border)}. For total "
                f"uncertainty it is {score.auroc_border_total:.2f}.",
                score.auroc_border,
                _AUROC,
                key=f"border:{maps.method}",
                # The gaps are the moment of narrow arms, and chips are few.
                chip="" if gaps else f"KU of {label} tells outside from class borders",
            )
        )
    if not math.isnan(score.border_ratio):
        claims.append(
            judged(
                "It still shows traces of the class borders.",
                f"{label}: where there are rows, knowledge uncertainty is {_trace_text(score)}.",
                score.border_ratio,
                _TRACE,
                key=f"traces:{maps.method}",
                name="ratio",
            )
        )
    if not math.isnan(share):
        claims.append(
            judged(
                "It is much smaller than data uncertainty and adds little to the total.",
                f"{label}: over the map, data uncertainty is {times_text(share)} as high on "
                "average.",
                share,
                _LARGER,
                key=f"share:{maps.method}",
                name="ratio",
            )
        )
    return claims


def _claim_of_gaps(label: str, maps: SpiralMaps, score: SpiralScore) -> Claim:
    return judged(
        "Knowledge uncertainty is high where there are no training rows, also in the gaps between "
        "the arms. (The paper's own arms are too wide to leave gaps.)",
        f"{label}: the AUROC of the cells in the gaps against those with rows is "
        f"{score.auroc_between:.2f}, {against_chance(score.auroc_between)}. In the gaps knowledge "
        f"uncertainty averages {score.ku_mean_between:.2g} nats, where there are rows "
        f"{score.ku_mean_inside:.2g}.",
        score.auroc_between,
        _AUROC_GAPS,
        key=f"between:{maps.method}",
        chip=f"KU of {label} finds the gaps between arms",
        name="AUROC",
    )


def _trace_text(score: SpiralScore) -> str:
    """How it is at class borders beside the middles of the arms, which may have none at all."""
    if math.isfinite(score.border_ratio):
        ratio = times_text(score.border_ratio)
        return f"{ratio} as high at class borders as in the middles of the arms"
    return f"{score.ku_mean_border:.2g} nats at class borders and 0 in the middles of the arms"


def _claim_of_struggle(virtual: SpiralScore) -> Claim:
    return judged(
        "A virtual ensemble struggles to find regions outside the data and to tell them from class "
        "borders.",
        f"The AUROC on the farthest 40 % of the cells is {virtual.auroc_far:.2f}, "
        f"{against_chance(virtual.auroc_far)}. For all cells outside the data against class "
        f"borders it is {virtual.auroc_border:.2f}, {against_chance(virtual.auroc_border)}.",
        max(virtual.auroc_far, virtual.auroc_border),
        _BEST,
        key="struggle",
        chip="Virtual SGLB struggles outside",
        name="AUROC",
    )


def _claim_of_size(true: SpiralScore, virtual: SpiralScore) -> Claim:
    ratio = ratio_of(true.ku_mean_outside, virtual.ku_mean_outside)
    return judged(
        "A virtual ensemble's knowledge uncertainty is far lower than that of independent models.",
        f"Outside the data it averages {virtual.ku_mean_outside:.2g} nats; with independent models "
        f"{true.ku_mean_outside:.2g}. It is {smaller_text(ratio)}.",
        ratio,
        _LOWER,
        key="size",
        name="ratio",
    )


def _claims_of_cyclical(
    label: str, cyclical: Scored, true: Scored | None, virtual: Scored | None
) -> list[Claim]:
    """What the cyclical paper says of cSGLB beside virtual SGLB and beside independent models."""
    claims = []
    if virtual:
        claims.append(_claim_of_improvement(label, cyclical[1], virtual[1]))
    if true:
        claims.append(_claim_of_price(label, cyclical[1], true[1]))
        claims.append(_claim_of_jitter(label, cyclical[1], true[1]))
    if true and virtual:
        claims.append(_claim_of_alignment(label, cyclical[0], true[0], virtual[0]))
    return [claim._replace(key=f"{claim.key}:{cyclical[0].method}") for claim in claims]


def finds_outside(score: SpiralScore) -> bool:
    """Whether knowledge uncertainty is high where no rows are."""
    return score.auroc_far >= BETTER_THAN_CHANCE and score.ku_mean_outside > score.ku_mean_inside


def _claim_of_improvement(label: str, score: SpiralScore, virtual: SpiralScore) -> Claim:
    gain = score.auroc_far - virtual.auroc_far
    ratio = ratio_of(score.ku_mean_outside, virtual.ku_mean_outside)
    higher = ratio >= SMALLER
    if not finds_outside(score):
        verdict = "does not hold"
        end = f"{'a' if higher else 'no'} higher level, and not where rows are missing"
    elif gain >= GREATLY:
        verdict, end = "holds", "it finds what virtual SGLB does not"
    elif gain >= APART:
        verdict, end = "partly", "better, not greatly"
    elif higher and gain > -APART:
        verdict, end = "partly", "a higher level, no better placed"
    else:
        verdict, end = "does not hold", "no improvement"
    return Claim(
        f"{label} greatly improves on virtual SGLB in capturing high knowledge uncertainty where "
        "there are no training rows.",
        f"it averages {score.ku_mean_outside:.2g} nats outside the data and "
        f"{score.ku_mean_inside:.2g} among the rows. Virtual SGLB averages "
        f"{virtual.ku_mean_outside:.2g} and {virtual.ku_mean_inside:.2g}. The AUROC on the "
        f"farthest 40 % is {score.auroc_far:.2f} ({against_chance(score.auroc_far)}), and "
        f"{virtual.auroc_far:.2f} for virtual SGLB: {end}.",
        verdict,
        f"Holds if its AUROC is at least {GREATLY:g} higher, partly from {APART:g} or if it "
        f"averages at least {SMALLER:g} times as much outside. It must find the farthest cells "
        f"with an AUROC of at least {BETTER_THAN_CHANCE:g}.",
        f"AUROC gain {_AUROC.say(gain)}",
        "improvement",
        f"{label} improves on virtual SGLB",
    )


def _claim_of_price(label: str, score: SpiralScore, true: SpiralScore) -> Claim:
    gap = score.auroc_far - true.auroc_far
    share = ratio_of(score.n_trees, true.n_trees)
    verdict = verdict_of(gap, -APART, -2 * APART)
    end = {"holds": "as well", "partly": "somewhat worse", "does not hold": "worse"}[verdict]
    if not finds_outside(score):
        verdict = "does not hold"
        end = "independent models alone find them" if finds_outside(true) else "neither finds them"
    elif gap >= APART:
        end = "better"
    if share * SMALLER > 1.0:  # the others do not cost far more: half of the statement is untried
        verdict = "partly" if verdict == "holds" else verdict
        end += "; independent models do not cost far more here, so the price is not tested"
    return Claim(
        f"{label}'s single model finds data unlike the training rows about as well as independent "
        "models that cost far more (shown on weather data only).",
        f"the AUROC on the farthest 40 % is {score.auroc_far:.2f}, and {true.auroc_far:.2f} for "
        f"independent models. It has {100 * share:.3g} % of their trees: {end}.",
        verdict,
        f"Holds if its AUROC is at most {APART:g} lower, partly up to {2 * APART:g}. It must find "
        f"the farthest cells with an AUROC of at least {BETTER_THAN_CHANCE:g}, with less than half "
        "of the trees.",
        f"AUROC {_AUROC.say(score.auroc_far)} against {_AUROC.say(true.auroc_far)}",
        "price",
        f"{label} finds far cells as well as SGLB",
    )


def _claim_of_jitter(label: str, score: SpiralScore, true: SpiralScore) -> Claim:
    return judged(
        f"At class borders {label} jitters more than independent models.",
        f"knowledge uncertainty there averages {score.ku_mean_border:.2g} nats, and "
        f"{true.ku_mean_border:.2g} with independent models. Over all cells with rows it averages "
        f"{score.ku_mean_inside:.2g} and {true.ku_mean_inside:.2g}.",
        ratio_of(score.ku_mean_border, true.ku_mean_border),
        _JITTER,
        key="jitter",
        name="ratio",
    )


def _claim_of_alignment(
    label: str, cyclical: SpiralMaps, true: SpiralMaps, virtual: SpiralMaps
) -> Claim:
    own, other = (
        rank_correlation(maps.knowledge[-1], true.knowledge[-1]) for maps in (cyclical, virtual)
    )
    verdict = _ALIGNED.judge(own - other)
    end = {"holds": "better", "partly": "no better, no worse", "does not hold": "worse"}[verdict]
    return judged(
        f"{label}'s uncertainty is better aligned with that of independent models than virtual "
        "SGLB's.",
        f"the rank correlation of its map with that of {int(true.n_members[-1])} independent "
        f"models is {own:.2f}, and {other:.2f} for virtual SGLB's map: {end}.",
        own - other,
        _ALIGNED,
        key="alignment",
        name="difference",
    )


def _claim_of_forest(maps: SpiralMaps, score: SpiralScore) -> Claim:
    """Whether its trees are deep enough: its uncertainty says little where it learned little."""
    above = score.error - score.error_optimal
    claim = judged(
        "vRF learns the arms. (The paper's forests have depth 10.)",
        f"vRF: with trees of depth {maps.fit.plan.forest_depth} it gets {100 * score.error:.1f} % "
        f"of fresh rows wrong. The best possible is {100 * score.error_optimal:.1f} %.",
        above,
        _LEARNED,
        key="depth:vrf",
        chip="vRF learns the arms",
    )
    return claim._replace(value=f"{_LEARNED.say(above)} above the best error rate")


def _quicker(settings: SpiralSettings, share: float) -> SpiralSettings:
    """Fewer rows, trees and models; a chain keeps its number of cycles."""
    smaller = quicker(settings, share)
    fewer = smaller.chain_trees / settings.chain_trees
    return replace(
        smaller,
        cycle=min(settings.cycle, max(5, int(settings.cycle * fewer))),
        step=min(settings.step, max(1, round(settings.step * fewer / STAGE_STEP)) * STAGE_STEP),
    )


STUDY = SeedStudy(
    name="spiral",
    fit=run_spiral,
    claims=check_claims,
    quicker=_quicker,
    first=FIRST,
)
