"""The MACAU paper's statements about novelty, held against what came out on the page's data.

Merilinna (2023), sections 3.2, 4.1, 4.2 and 5. Its OOD rows lie beyond the range of a feature; here
they are the cells of a map in which rows hardly ever lie, gaps between the rows included.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.claims import Claim, Threshold, judged
from gbuq_core.experiments.novelty.data import SIDE, Mask
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    at_places,
    run_novelty,
)
from gbuq_core.experiments.novelty.plan import (
    FIRST,
    novelty_arguments,
)
from gbuq_core.experiments.novelty.scores import MapScore, crossings, score_maps, support_of
from gbuq_core.experiments.ranking import auroc_of, rank_correlation
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.settings import plan_of

if TYPE_CHECKING:
    from gbuq_core.macau import MacauClassifier, MacauRegressor

# What counts as agreeing; the paper uses words and a table, the levels are ours.
DETECTS, ALMOST_DETECTS = 0.9, 0.75  # an AUROC
CHANCE, ALMOST_CHANCE = 0.6, 0.7  # an AUROC that is said to be no better than chance
AS_GOOD = 0.01  # between two AUROCs
FOLLOWS, HARDLY_FOLLOWS = 0.8, 0.5  # a rank correlation
IGNORES, ALMOST_IGNORES = 0.1, 0.4  # the rise of conditional novelty over that of novelty
SHIFT = 4.0  # stds of the irrelevant feature
NEAR = 4  # cells around the support: farther away every score is right
LOCAL, HARDLY_LOCAL = 0.05, 0.01  # of an AUROC above that of one ellipse around all rows

_DETECTED = Threshold("AUROC of the near cells", DETECTS, ALMOST_DETECTS, decimals=3)
_AHEAD = Threshold("difference of the AUROCs", 0.0, -AS_GOOD, decimals=3)
_LOCAL_AHEAD = Threshold("difference of the AUROCs", AS_GOOD, -AS_GOOD, decimals=3)
_LEAVES = Threshold("AUROC above that of one ellipse", LOCAL, HARDLY_LOCAL, decimals=3)
_IGNORED = Threshold("share of the rise", IGNORES, ALMOST_IGNORES, decimals=2)
_FOLLOWED = Threshold("rank correlation", FOLLOWS, HARDLY_FOLLOWS, decimals=2)
_LOST = Threshold("rank correlation", HARDLY_FOLLOWS, FOLLOWS, decimals=2)
_BLIND = Threshold("AUROC", CHANCE, ALMOST_CHANCE, decimals=3)
_INFERS = Threshold("AUROC", DETECTS, CHANCE, decimals=3)

Array = npt.NDArray[np.float64]


def check_novelty_claims(fit: NoveltyFit, maps: NoveltyMaps) -> tuple[Claim, ...]:
    """Hold the paper's statements against these maps."""
    scores = {score.key: score for score in score_maps(fit, maps)}
    support = support_of(fit)
    claims = []
    if support is not None:
        ellipse = one_ellipse(fit, maps)
        # Crossings first: a score of far cells is nearly free.
        claims += _claims_of_crossings(scores, ellipse, support)
        claims.append(_claim_of_novelty(maps, ellipse, support, scores["novelty"]))
        claims.append(_claim_of_isolation(scores))
    if fit.plan.third:
        claims.append(_claim_of_third(fit))
    claims += _claim_of_rise(fit, maps, support)
    if support is not None:
        claims += _claims_of_leaf_models(fit, maps, support)
    return tuple(claims)


def one_ellipse(fit: NoveltyFit, maps: NoveltyMaps) -> Array:
    """The distance of every cell (3600,) from the middle of all rows, in one ellipse around them.

    It needs no trees: what it finds is nearly free.
    """
    rows = fit.rows.X
    away = at_places(fit, fit.data.grid, maps.third_at) - rows.mean(axis=0)
    spread = np.atleast_2d(np.cov(rows, rowvar=False))
    inverse = np.linalg.pinv(spread)
    return np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", away, inverse, away), 0.0))


def near_cells(support: Mask) -> Mask:
    """Cells (3600,) outside the support within `NEAR` cells of it.

    >>> support = np.zeros(3600, bool)
    >>> support[0] = True
    >>> int(near_cells(support).sum())  # a corner: 1 to 4 cells away in steps along the sides
    14
    """
    from scipy.ndimage import binary_dilation  # slow to import

    grown = binary_dilation(support.reshape(SIDE, SIDE), iterations=NEAR)
    return np.asarray(grown).ravel() & ~support


def _claim_of_novelty(maps: NoveltyMaps, ellipse: Array, support: Mask, score: MapScore) -> Claim:
    near = near_cells(support)
    auroc, free = (auroc_of(near, support, values) for values in (maps.of("novelty"), ellipse))
    far = auroc_of(~support, support, ellipse)
    follows = ""
    if not math.isnan(score.rank_correlation):
        follows = (
            f" Its rank correlation with minus the log of the density is "
            f"{score.rank_correlation:.2f}."
        )
    return judged(
        "MACAU's novelty detects rows out of distribution (AUROC 0.93 to 1.00 in table 1).",
        f"its AUROC for empty cells within {NEAR} cells of the rows is {auroc:.3f}. One ellipse "
        f"around all rows has {free:.3f} there. Empty cells are {100 * (~support).mean():.0f} % of "
        f"the map. For all of them novelty has {score.auroc:.3f} and the ellipse {far:.3f}, so "
        f"most of that is free.{follows}",
        auroc,
        _DETECTED,
        key="novelty",
        chip="Novelty finds near empty cells",
        name="AUROC",
    )


def _claim_of_isolation(scores: Mapping[str, MapScore]) -> Claim:
    novelty, isolation = scores["novelty"], scores["isolation"]
    return judged(
        "Novelty outperforms the isolation forest in OOD detection (section 4.2).",
        f"the AUROC of novelty is {novelty.auroc:.3f}, that of the isolation forest "
        f"{isolation.auroc:.3f}. The distance to the nearest rows, which needs no forest, has "
        f"{scores['distance'].auroc:.3f}.",
        novelty.auroc - isolation.auroc,
        _AHEAD,
        key="isolation",
        name="difference",
    )


def _claims_of_crossings(
    scores: Mapping[str, MapScore], ellipse: Array, support: Mask
) -> list[Claim]:
    """Holes and gaps: one ellipse, stripes of an isolation forest, and leaves that stretch over."""
    novelty, isolation = scores["novelty"], scores["isolation"]
    beside = novelty.auroc_crossings
    if math.isnan(beside):
        return []
    by_ellipse = auroc_of(crossings(support), support, ellipse)
    return [
        judged(
            "Within a leaf it is more reasonable to assume that the data follow an elliptical "
            "distribution (section 3.2).",
            "for empty cells with rows beside them along both features, such as holes and gaps, "
            f"the AUROC of novelty is {beside:.3f}, and that of one ellipse around all rows "
            f"{by_ellipse:.3f}. The distance to the nearest rows, which assumes no shape, has "
            f"{scores['distance'].auroc_crossings:.3f}. A leaf that covers a hole treats the "
            "middle of the hole as typical.",
            beside - by_ellipse,
            _LEAVES,
            key="ellipses",
            chip="Leaves beat one ellipse at crossings",
            name="AUROC gain",
        ),
        judged(
            "Novelty may win because the isolation forest considers the global feature space, "
            "and novelty the sub-spaces of leaves (section 4.2).",
            "some empty cells have rows beside them along both features. There the axis-"
            "parallel cuts of an isolation forest draw stripes. For these cells the AUROC of "
            f"novelty is {beside:.3f}, that of the isolation forest "
            f"{isolation.auroc_crossings:.3f}.",
            beside - isolation.auroc_crossings,
            _LOCAL_AHEAD,
            key="crossings",
            chip="Novelty beats isolation at crossings",
            name="AUROC gain",
        ),
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
    return judged(
        "Conditional novelty is not aware of features that the trees do not select; novelty is "
        "(sections 3.2 and 4.2).",
        f"when the irrelevant feature of the training rows moves by {SHIFT:g} stds, novelty rises "
        f"by {rise:.2f} on average and conditional novelty by {conditional:.2f}, a share of "
        f"{share:.2f}. Trees that chose the feature by chance do see it.",
        share,
        _IGNORED,
        key="third",
        name="share",
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
    agrees = f"away from the rows its rank correlation with the distance to them is {agreement:.2f}"
    if linear:
        return [
            judged(
                "MACAU (linear) exhibits a linear increase in epistemic uncertainty out of "
                "distribution (section 4.1).",
                f"{agrees}{squeezed}.",
                agreement,
                _FOLLOWED,
                key="rise",
                chip="KU rises away from the rows",
            )
        ]
    return [
        judged(
            "MACAU (basic), lacking extrapolation, struggles to express its epistemic uncertainty "
            "out of distribution (section 4.1).",
            f"{agrees}.",
            agreement,
            _LOST,
            key="rise",
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
        judged(
            "MACAU (basic)'s knowledge uncertainty does not detect OOD rows (AUROC 0.20 to 0.50 in "
            "table 1).",
            f"its AUROC is {known['basic']:.3f}.",
            known["basic"],
            _BLIND,
            key="knowledge:basic",
        ),
        judged(
            "MACAU (linear)'s knowledge uncertainty detects OOD rows with one feature (AUROC 0.95) "
            "but not with several (0.50 and 0.57).",
            f"its AUROC is {known['linear']:.3f}.",
            known["linear"],
            _BLIND,
            key="knowledge:linear",
        ),
        judged(
            "Inference novelty detects extrapolation with linear leaves (AUROC 1.00 with one "
            "feature, about 0.6 with several).",
            f"the AUROC of its absolute value is {inferred['linear']:.3f}.",
            inferred["linear"],
            _INFERS,
            key="inference:linear",
        ),
        judged(
            "MACAU (basic) cannot use inference novelty to detect extrapolation (AUROC 0.50).",
            f"the AUROC of its absolute value is {inferred['basic']:.3f}.",
            inferred["basic"],
            _BLIND,
            key="inference:basic",
        ),
    ]


def refit_leaves(fit: NoveltyFit, leaf_model: str) -> MacauClassifier | MacauRegressor:
    """The same forest with another kind of model in its leaves."""
    known = novelty_arguments(replace(fit.plan, leaf_model=leaf_model), fit.data.task)
    of_leaves = {name: known[name] for name in ("leaf_model", "leaf_features") if name in known}
    model = type(fit.model)(
        **of_leaves, base_model=fit.model.forest_, n_jobs=1, random_state=fit.plan.seed
    )
    return model.fit(fit.rows.X, fit.rows.y)


STUDY = SeedStudy(
    name="novelty",
    fit=run_novelty,
    claims=lambda run: check_novelty_claims(run.fit, run.maps),
    bare=plan_of,  # with the view as the page opens: no knob of it changes a statement
    first=FIRST,
)
