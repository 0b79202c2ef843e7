"""Which of the nine families suits rows with known targets: their scores, and the best.

Brophy and Lowd (IBUG, 2022), section 5.4, choose by the NLL of validation rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.ibug.families import (
    FAMILIES,
    Places,
    check_family,
    fit_posterior,
    log_likelihood,
    resolution_of,
    row_blocks,
    take_rows,
)
from gbuq_core.ibug.family_distribution import FamilyDistribution
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.results import FamilyScores, Setting
from gbuq_core.ibug.search import Neighborhood, scale_of
from gbuq_core.inputs import weighted_mean
from gbuq_core.jobs import advance, parallel_map

_MOST_BY_CRPS = 500  # rows: the CRPS of a KDE counts all pairs of a row's neighbours


ScoredPart = tuple[Neighborhood, Setting, FloatArray]


def with_targets(
    parts: Iterable[Neighborhood], setting: Setting, y: FloatArray
) -> Iterator[ScoredPart]:
    """Some rows' neighbours after the other, with the setting and these rows' own targets."""
    first = 0
    for near in parts:
        yield near, setting, y[first : first + len(near.loc)]
        first += len(near.loc)


def score_rows(
    parts: Iterable[ScoredPart],
    y_train: FloatArray,
    posterior_fit: str,
    n_jobs: int | None,
    weight: FloatArray | None = None,
    scoring: str = "nll",
) -> FamilyScores:
    """Mean scores of every family on rows with known targets, some rows at a time."""
    names, refusals = tuple(FAMILIES), [""] * len(FAMILIES)
    for i, name in enumerate(names):
        try:
            check_family(name, y_train)
        except InvalidData as error:
            refusals[i] = str(error)
    usable = [name for name, refusal in zip(names, refusals, strict=True) if not refusal]
    resolution = resolution_of(y_train)
    costs: dict[str, list[FloatArray]] = {name: [] for name in usable}
    for near, setting, y in parts:
        targets, places = near.nearest(setting.n_neighbors)
        scale = scale_of(targets, setting, places)
        by_crps = np.zeros(len(y), bool)
        if scoring == "crps":
            by_crps[:: math.ceil(len(y) / _MOST_BY_CRPS)] = True

        def cost(
            item: tuple[str, slice],
            laws: tuple[FloatArray, ...] = (near.loc, scale, targets, y),
            least: float = setting.min_scale,
            of_places: Places = places,
            sampled: NDArray[np.bool_] = by_crps,
        ) -> FloatArray:
            """NLL and CRPS, (2, rows); NaN for a CRPS that is not asked for."""
            name, rows = item
            loc, std, close, here = (part[rows] for part in laws)
            mine = None if of_places is None else of_places[rows]
            fitted = fit_posterior(name, loc, std, close, least, posterior_fit, mine)
            advance(0.0)  # does anybody still want it?
            scores = np.full((2, len(here)), np.nan)
            scores[0] = -log_likelihood(fitted, here, resolution)
            some = sampled[rows]
            if some.any():
                law = FamilyDistribution(loc[some], std[some], take_rows(fitted, some))
                scores[1, some] = law.crps(here[some])
            return scores

        items = [(name, rows) for rows in row_blocks(*targets.shape) for name in usable]
        for (name, _), values in zip(items, parallel_map(cost, items, n_jobs), strict=True):
            costs[name].append(values)
    nll, crps = np.full((2, len(names)), np.nan)
    for i, name in enumerate(names):
        if name in costs:
            of_rows = np.concatenate(costs[name], axis=1)
            nll[i] = weighted_mean(of_rows[0], weight)
            some = ~np.isnan(of_rows[1])
            if some.any():
                crps[i] = weighted_mean(of_rows[1, some], None if weight is None else weight[some])
    best = names[int(np.nanargmin(crps if scoring == "crps" else nll))]
    return FamilyScores(names, nll, tuple(refusals), best, crps if scoring == "crps" else None)
