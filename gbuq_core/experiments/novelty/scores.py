"""What the maps are worth: whether a score tells where rows are from where none are.

As an OOD detector each score is judged over the cells of the map: those where rows can lie against
all others, by AUROC, as table 1 of the MACAU paper judges it over rows (Merilinna, 2023).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.novelty.data import SIDE, Mask
from gbuq_core.experiments.novelty.erasing import squares_around
from gbuq_core.experiments.novelty.fit import (
    Disagreement,
    NoveltyFit,
    NoveltyMaps,
    NoveltyRun,
    NoveltyView,
)
from gbuq_core.experiments.novelty.look import PlaceLook
from gbuq_core.experiments.novelty.plan import METHODS, forest_of
from gbuq_core.experiments.ranking import auroc_of, rank_correlation
from gbuq_core.presentation import short


class MapScore(NamedTuple):
    """One score as a detector of places without rows."""

    key: str
    label: str
    # The chance that a cell without rows scores above one with rows; 0.5 is chance. NaN where
    # nobody knows.
    auroc: float
    # the same for those cells without rows that have some in their row and in their column of the
    # map: cuts along one feature at a time cannot tell them apart
    auroc_crossings: float
    # with minus the log of the true density, over all cells; NaN once rows are erased
    rank_correlation: float
    seconds: float  # of the fit and of scoring the map; MACAU's five scores share theirs
    # what is held for it; MACAU's five scores share it; None where nothing was fitted here
    memory_bytes: int | None


def score_maps(fit: NoveltyFit, maps: NoveltyMaps) -> tuple[MapScore, ...]:
    """Score every method of the maps but the truth itself."""
    support = support_of(fit)
    crossing = None if support is None else crossings(support)
    scores = []
    for key, map_seconds in zip(maps.keys, maps.seconds, strict=True):
        if key == "truth":
            continue
        values, fit_seconds = maps.of(key), 0.0
        size: int | None = None if fit.opening is not None else int(fit.rows.X.nbytes)
        if METHODS[key].of_macau:
            fit_seconds, size = fit.macau_seconds, fit.macau_bytes
        elif key == "isolation":
            fit_seconds, size = fit.isolation_seconds, fit.isolation_bytes
        outside = beside = math.nan
        if support is not None and crossing is not None:
            outside = auroc_of(~support, support, values)
            if crossing.any():
                beside = auroc_of(crossing, support, values)
        scores.append(
            MapScore(
                key,
                METHODS[key].label,
                outside,
                beside,
                density_correlation(fit, maps, key),
                fit_seconds + map_seconds,
                size,
            )
        )
    return tuple(scores)


def density_correlation(fit: NoveltyFit, maps: NoveltyMaps, key: str) -> float:
    """Rank correlation of a score with minus the log of the true density; NaN if nobody knows."""
    if "truth" not in maps.keys or fit.plan.erased:
        return math.nan
    return rank_correlation(maps.of(key), maps.of("truth"))


def support_of(fit: NoveltyFit) -> Mask | None:
    """Where rows can lie: outside the squares whose rows are erased."""
    if fit.data.in_support is None:
        return None
    support: Mask = np.array(fit.data.in_support, dtype=bool)
    support[squares_around(fit.plan.erased)] = False
    return support if support.any() and not support.all() else None


def crossings(support: Mask) -> Mask:
    """Cells (3600,) outside the support that have some of it in their row and in their column."""
    square = support.reshape(SIDE, SIDE)
    columns, rows = np.asarray(square.any(axis=0)), np.asarray(square.any(axis=1))
    return (rows[:, None] & columns[None, :] & ~square).ravel()


MOST_VARIANCE = 0.25  # of a number between 0 and 1
_APART = 50.0  # percentage points between ranks that count as a disagreement


def describe_novelty(fit: NoveltyFit, maps: NoveltyMaps, view: NoveltyView) -> str:
    """The maps in words, from their numbers."""
    data, rows = fit.data, fit.rows
    parts = [
        f"{data.title}: {forest_of(fit.plan).label} with {fit.n_trees:,} "
        f"tree{'s' if fit.n_trees > 1 else ''} on {len(rows.y):,} rows of "
        f"{rows.X.shape[1]} features. The map has 60 x 60 cells over "
        f"{data.feature_names[0]} and {data.feature_names[1]}."
    ]
    if fit.plan.erased:
        parts.append(describe_erased(fit))
    if fit.plan.third:
        parts.append(f"The third feature is {short(maps.third_at)} everywhere on the map.")
    parts.append(_detectors(fit, maps))
    if view.disagreement is not None:
        parts.append(describe_disagreement(fit, view.disagreement))
    return " ".join([*parts, *view.notes])


def describe_erased(fit: NoveltyFit) -> str:
    """How many rows are erased."""
    n = len(fit.data.y)
    return f"{n - len(fit.rows.y):,} of {n:,} training rows are erased."


def answer_novelty(run: NoveltyRun) -> str:
    """Does novelty find the places without rows? One sentence, beside what the trees say."""
    support = support_of(run.fit)
    where, empty = ("map", slice(None)) if support is None else ("empty places", ~support)
    shares = [
        f"{100 * float((run.maps.of(key)[empty] > np.nanmax(run.maps.of_rows(key))).mean()):.0f} %"
        for key in ("novelty", "knowledge")
    ]
    return (
        f"In {shares[0]} of the {where}, novelty is higher than at any training row. The trees "
        f"disagree more than at any training row in {shares[1]}."
    )


def _detectors(fit: NoveltyFit, maps: NoveltyMaps) -> str:
    scores = [score for score in score_maps(fit, maps) if not math.isnan(score.auroc)]
    if not scores:
        above = maps.of("novelty") > maps.of_rows("novelty").max()
        return (
            "Nobody knows where the rows of this table can lie. In "
            f"{100 * above.mean():.0f} % of the cells, novelty is higher than at any training row."
        )
    ranked = sorted(scores, key=lambda score: -score.auroc)
    listed = ", ".join(f"{score.label} {score.auroc:.2f}" for score in ranked)
    return f"AUROC for detecting cells where rows hardly ever lie: {listed}."


def describe_disagreement(fit: NoveltyFit, apart: Disagreement) -> str:
    """Where the ranks of methods lie apart, and who says what there."""
    at = int(np.nanargmax(apart.spread))
    x, y = fit.data.grid[at]
    most, least = (METHODS[apart.keys[index[at]]].label for index in (apart.most, apart.least))
    share = 100.0 * float((apart.spread > _APART).mean())
    return (
        f"The ranks of {len(apart.keys)} scores differ by more than {_APART:.0f} points in "
        f"{share:.0f} % of the cells. They differ most, by {apart.spread[at]:.0f} points, at "
        f"{short(x)}, {short(y)}: {most} ranks this place highest and {least} lowest."
    )


def explain_variances(fit: NoveltyFit, maps: NoveltyMaps) -> str:
    """Why a variance of a probability can be impossible; empty where none is.

    >>> from gbuq_core.experiments.novelty.fit import run_novelty
    >>> from gbuq_core.experiments.novelty.plan import NoveltySettings
    >>> run = run_novelty(NoveltySettings(rows=200, trees=10))
    >>> explain_variances(run.fit, run.maps)[-52:]
    'a straight line, which leaves the range from 0 to 1.'
    """
    if fit.data.task != "classification":
        return ""
    most = float(maps.of("data").max()) if "data" in maps.keys else 0.0
    if most <= MOST_VARIANCE:
        return ""
    return (
        f"Data uncertainty reaches {short(most, 2)} on this map, as a variance of the "
        f"class probability p. No probability has a variance above {MOST_VARIANCE:g}. MACAU works "
        "it out along a straight line, which leaves the range from 0 to 1."
    )


def describe_place(fit: NoveltyFit, look: PlaceLook) -> str:
    """The place that is looked at, in words."""
    names = fit.data.feature_names
    novelty = next(value for value in look.values if value.key == "novelty")
    spread = float(look.z.std())
    text = (
        f"At {look.title} novelty is z = {novelty.value:.2f}, higher than at "
        f"{novelty.rank_rows:.0f} % of the training rows and in {novelty.rank_cells:.0f} % of the "
        f"map's cells. Single trees give {look.z.min():.2f} to {look.z.max():.2f} (standard "
        f"deviation {spread:.2f})."
    )
    if look.shares.any():
        order = np.argsort(-look.shares)
        listed = ", ".join(f"{names[j]} {100 * look.shares[j]:.0f} %" for j in order)
        text += f" Shares of the squared distance: {listed}."
        if (look.shares < 0.0).any():
            text += (
                " A feature with a share below 0 makes the distance smaller, given the other "
                "features."
            )
    if len(look.top):
        sizes = [len(rows) for rows in look.leaf_rows]
        text += (
            f" In the {len(look.top)} trees with the highest z, its leaf has {min(sizes):,} to "
            f"{max(sizes):,} training rows."
        )
    if fit.data.task == "classification":
        best = int(look.prediction.argmax())
        text += f" Predicted: {fit.data.classes[best]}, probability {look.prediction[best]:.2f}."
    else:
        text += f" Predicted {fit.data.target_name}: {short(look.prediction[0], 4)}."
    return " ".join([text, *look.notes])
