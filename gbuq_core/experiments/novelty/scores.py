"""What the maps are worth: whether a score tells where rows are from where none are.

As an OOD detector each score is judged over the cells of the map: those where rows can lie against
all others, by AUROC, as table 1 of the MACAU paper judges it over rows (Merilinna, 2023).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.novelty.data import SIDE, Mask
from gbuq_core.experiments.novelty.edits import mask_of
from gbuq_core.experiments.novelty.fit import NoveltyFit, NoveltyMaps
from gbuq_core.experiments.novelty.plan import METHODS
from gbuq_core.experiments.ranking import auroc_of, rank_correlation


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
    # with minus the log of the true density, over all cells; NaN after edits that change it
    rank_correlation: float
    seconds: float  # of the fit and of scoring the map; MACAU's five scores share theirs
    memory_bytes: int  # what is held for it; MACAU's five scores share it


def score_maps(fit: NoveltyFit, maps: NoveltyMaps) -> tuple[MapScore, ...]:
    """Score every method of the maps but the truth itself."""
    support = support_of(fit)
    crossing = None if support is None else crossings(support)
    scores = []
    for key, map_seconds in zip(maps.keys, maps.seconds, strict=True):
        if key == "truth":
            continue
        values, fit_seconds, size = maps.of(key), 0.0, int(fit.rows.X.nbytes)
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
    if "truth" not in maps.keys or any(edit.kind != "flip" for edit in fit.plan.edits):
        return math.nan
    return rank_correlation(maps.of(key), maps.of("truth"))


def support_of(fit: NoveltyFit) -> Mask | None:
    """Where rows can lie, edits included: without cells that were emptied, with painted ones."""
    if fit.data.in_support is None:
        return None
    support: Mask = np.array(fit.data.in_support, dtype=bool)
    for edit in fit.plan.edits:
        if edit.kind in ("remove", "add"):
            support[mask_of(edit.runs)] = edit.kind == "add"
    return support if support.any() and not support.all() else None


def crossings(support: Mask) -> Mask:
    """Cells (3600,) outside the support that have some of it in their row and in their column."""
    square = support.reshape(SIDE, SIDE)
    columns, rows = np.asarray(square.any(axis=0)), np.asarray(square.any(axis=1))
    beside: Mask = (rows[:, None] & columns[None, :] & ~square).ravel()
    return beside
