"""The MACAU paper's statements about novelty, held against what came out on the page's data.

Merilinna (2023), sections 3.2, 4.1, 4.2 and 5. Its OOD rows lie beyond the range of a feature; here
they are the cells of a map in which rows hardly ever lie, gaps between the rows included.
"""

from __future__ import annotations

import math

import numpy as np

from gbuq_core.experiments.claims import Claim, verdict_of
from gbuq_core.experiments.novelty.data import Mask
from gbuq_core.experiments.novelty.fit import NoveltyFit, NoveltyMaps, at_places
from gbuq_core.experiments.novelty.scores import MapScore, score_maps, support_of
from gbuq_core.experiments.ranking import auroc_of, rank_correlation
from gbuq_core.macau import MacauClassifier, MacauRegressor

# What counts as agreeing; the paper uses words and a table, the levels are ours.
DETECTS, ALMOST_DETECTS = 0.9, 0.75  # an AUROC
CHANCE, ALMOST_CHANCE = 0.6, 0.7  # an AUROC that is said to be no better than chance
AS_GOOD = 0.01  # between two AUROCs
FOLLOWS, HARDLY_FOLLOWS = 0.8, 0.5  # a rank correlation
IGNORES, ALMOST_IGNORES = 0.1, 0.4  # the rise of conditional novelty over that of novelty
SHIFT = 4.0  # stds of the irrelevant feature


def check_novelty_claims(fit: NoveltyFit, maps: NoveltyMaps) -> tuple[Claim, ...]:
    """Hold the paper's statements against these maps.

    Fits the other kind of leaf model to the same forest, so that it takes about as long as the fit.
    Statements that need the true support are left out where nobody knows it.

    Examples
    --------
    >>> from gbuq_core.experiments.novelty.fit import run_novelty
    >>> from gbuq_core.experiments.novelty.plan import NoveltySettings
    >>> run = run_novelty(NoveltySettings(rows=200, trees=10))
    >>> claims = check_novelty_claims(run.fit, run.maps)
    >>> claims[0].paper[:48]
    "MACAU's novelty detects rows out of distribution"
    """
    scores = {score.key: score for score in score_maps(fit, maps)}
    support = support_of(fit)
    claims = []
    if support is not None:
        claims += [_claim_of_novelty(scores["novelty"]), *_claims_of_isolation(scores)]
        claims += _claim_of_ellipses(scores)
    if fit.plan.third:
        claims.append(_claim_of_third(fit))
    claims += _claim_of_rise(fit, maps, support)
    if support is not None:
        claims += _claims_of_leaf_models(fit, maps, support)
    return tuple(claims)


def _claim_of_novelty(score: MapScore) -> Claim:
    follows = ""
    if not math.isnan(score.rank_correlation):
        follows = (
            f". Its rank correlation with minus the log of the density is "
            f"{score.rank_correlation:.2f}"
        )
    return Claim(
        "MACAU's novelty detects rows out of distribution (AUROC 0.93 to 1.00 in table 1).",
        f"its AUROC for cells where rows hardly ever lie is {score.auroc:.3f}{follows}.",
        verdict_of(score.auroc, DETECTS, ALMOST_DETECTS),
    )


def _claims_of_isolation(scores: dict[str, MapScore]) -> list[Claim]:
    novelty, isolation = scores["novelty"], scores["isolation"]
    ahead = novelty.auroc - isolation.auroc
    claims = [
        Claim(
            "Novelty outperforms the isolation forest in OOD detection (section 4.2).",
            f"the AUROC of novelty is {novelty.auroc:.3f}, that of the isolation forest "
            f"{isolation.auroc:.3f}. The distance to the nearest rows, which needs no forest, has "
            f"{scores['distance'].auroc:.3f}.",
            verdict_of(ahead, 0.0, -AS_GOOD),
        )
    ]
    beside = novelty.auroc_crossings - isolation.auroc_crossings
    if not math.isnan(beside):
        claims.append(
            Claim(
                "Novelty may win because the isolation forest considers the global feature space, "
                "and novelty the sub-spaces of leaves (section 4.2).",
                "some empty cells have rows beside them along both features. There the axis-"
                "parallel cuts of an isolation forest draw stripes. For these cells the AUROC of "
                f"novelty is {novelty.auroc_crossings:.3f}, that of the isolation forest "
                f"{isolation.auroc_crossings:.3f}.",
                verdict_of(beside, AS_GOOD, -AS_GOOD),
            )
        )
    return claims


def _claim_of_ellipses(scores: dict[str, MapScore]) -> list[Claim]:
    """Holes that leaves stretch over: their middle is the middle of the leaf's ellipse."""
    beside = scores["novelty"].auroc_crossings
    if math.isnan(beside):
        return []
    return [
        Claim(
            "Within a leaf it is more reasonable to assume that the data follow an elliptical "
            "distribution (section 3.2).",
            "for empty cells with rows beside them along both features, such as holes and gaps, "
            f"the AUROC of novelty is {beside:.3f}. The distance to the nearest rows, which "
            f"assumes no shape, has {scores['distance'].auroc_crossings:.3f}. A leaf that covers "
            "a hole treats the middle of the hole as typical.",
            verdict_of(beside, DETECTS, ALMOST_DETECTS),
        )
    ]


def _claim_of_third(fit: NoveltyFit) -> Claim:
    """Move the irrelevant feature of every training row, and nothing else."""
    rows = fit.rows.X
    moved = rows.copy()
    moved[:, 2] += SHIFT * float(rows[:, 2].std())
    before, after = fit.model.score_novelty(rows), fit.model.score_novelty(moved)
    rise = float((after.novelty - before.novelty).mean())
    conditional = float((after.conditional_novelty - before.conditional_novelty).mean())
    share = conditional / rise if rise > 0.0 else math.nan
    return Claim(
        "Conditional novelty is not aware of features that the trees do not select; novelty is "
        "(sections 3.2 and 4.2).",
        f"when the irrelevant feature of the training rows moves by {SHIFT:g} stds, novelty rises "
        f"by {rise:.2f} on average and conditional novelty by {conditional:.2f}, a share of "
        f"{share:.2f}. Trees that chose the feature by chance do see it.",
        verdict_of(-share, -IGNORES, -ALMOST_IGNORES),
    )


def _claim_of_rise(fit: NoveltyFit, maps: NoveltyMaps, support: Mask | None) -> list[Claim]:
    """Whether the knowledge uncertainty of linear leaves goes on rising outside."""
    outside = ~support if support is not None else None
    if outside is None or not outside.any():  # farther from the rows than any row is
        outside = maps.of("distance") > maps.of_rows("distance").max()
    known = maps.of("knowledge")[outside], maps.of("distance")[outside]
    agreement = rank_correlation(*known) if outside.any() else math.nan
    if math.isnan(agreement):  # one tree, or trees that all agree
        return []
    linear = fit.plan.leaf_model == "linear"
    squeezed = ""
    if linear and fit.data.task == "classification":
        squeezed = ". These are class probabilities: near 0 or 1 all trees agree"
    found = f"away from the rows its rank correlation with the distance to them is {agreement:.2f}"
    if linear:
        return [
            Claim(
                "MACAU (linear) exhibits a linear increase in epistemic uncertainty out of "
                "distribution (section 4.1).",
                f"{found}{squeezed}.",
                verdict_of(agreement, FOLLOWS, HARDLY_FOLLOWS),
            )
        ]
    return [
        Claim(
            "MACAU (basic), lacking extrapolation, struggles to express its epistemic uncertainty "
            "out of distribution (section 4.1).",
            f"{found}.",
            verdict_of(-agreement, -HARDLY_FOLLOWS, -FOLLOWS),
        )
    ]


def _claims_of_leaf_models(fit: NoveltyFit, maps: NoveltyMaps, support: Mask) -> list[Claim]:
    """Knowledge uncertainty and inference novelty of both leaf models on the same forest."""
    known, inferred = {}, {}
    for leaf_model in ("basic", "linear"):
        if leaf_model == fit.plan.leaf_model:
            knowledge, inference = maps.of("knowledge"), maps.of("inference")
        else:
            other = refit_leaves(fit, leaf_model)
            places = at_places(fit, fit.data.grid, maps.third_at)
            knowledge = other.predict_uncertainty(places).knowledge
            inference = np.abs(other.score_novelty(places).inference_novelty)
        known[leaf_model] = auroc_of(~support, support, knowledge)
        inferred[leaf_model] = auroc_of(~support, support, inference)
    return [
        Claim(
            "MACAU (basic)'s knowledge uncertainty does not detect OOD rows (AUROC 0.20 to 0.50 in "
            "table 1).",
            f"its AUROC is {known['basic']:.3f}.",
            verdict_of(-known["basic"], -CHANCE, -ALMOST_CHANCE),
        ),
        Claim(
            "MACAU (linear)'s knowledge uncertainty detects OOD rows with one feature (AUROC 0.95) "
            "but not with several (0.50 and 0.57).",
            f"its AUROC is {known['linear']:.3f}.",
            verdict_of(-known["linear"], -CHANCE, -ALMOST_CHANCE),
        ),
        Claim(
            "Inference novelty detects extrapolation with linear leaves (AUROC 1.00 with one "
            "feature, about 0.6 with several).",
            f"the AUROC of its absolute value is {inferred['linear']:.3f}.",
            verdict_of(inferred["linear"], DETECTS, CHANCE),
        ),
        Claim(
            "MACAU (basic) cannot use inference novelty to detect extrapolation (AUROC 0.50).",
            f"the AUROC of its absolute value is {inferred['basic']:.3f}.",
            verdict_of(-inferred["basic"], -CHANCE, -ALMOST_CHANCE),
        ),
    ]


def refit_leaves(fit: NoveltyFit, leaf_model: str) -> MacauClassifier | MacauRegressor:
    """The same forest with another kind of model in its leaves."""
    model = type(fit.model)(
        leaf_model=leaf_model, base_model=fit.model.forest_, n_jobs=1, random_state=fit.plan.seed
    )
    return model.fit(fit.rows.X, fit.rows.y)
