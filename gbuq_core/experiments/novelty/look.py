"""One place of the map looked at: which feature makes it novel, in which trees, beside which rows.

Merilinna (MACAU, 2023), section 3.2; the shares are a closed form of Shapley values, from the
authors' later code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.novelty.data import Array
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    at_places,
    predict_places,
    rank_among,
    scorer,
)
from gbuq_core.experiments.novelty.plan import (
    METHODS,
    NoveltySettings,
    check_settings,
    finite_point,
)
from gbuq_core.macau.results import LeafEllipses
from gbuq_core.presentation import short

Whole = npt.NDArray[np.int64]


class PlaceValue(NamedTuple):
    """One score at the place, and its percentiles.

    key, label, unit-less value; ``rank_cells``, ``rank_rows`` : the percentages of the map's cells,
    and of the training rows, whose own score is lower.
    """

    key: str
    label: str
    value: float
    rank_cells: float
    rank_rows: float


@dataclass(frozen=True, kw_only=True)
class PlaceLook:
    """What the forest makes of one place."""

    title: str
    point: tuple[float, float]
    # (n_features,): the share of each feature in the mean squared distance; below 0 where the
    # feature is as the leaf's rows let one expect from the others. They sum to 1, unless the
    # distance is 0 everywhere.
    shares: Array
    z: Array  # (n_trees,): novelty in every tree; their mean is the novelty
    top: Whole  # (k,): the trees with the highest z, highest first
    ellipses: LeafEllipses  # their leaves in the plane of the map; the third feature is left out
    # for each tree of `top`, which of the rows that were trained on lie in the leaf
    leaf_rows: tuple[Whole, ...]
    prediction: Array  # (n_classes,): class probabilities, or the mean of y
    values: tuple[PlaceValue, ...]  # of every score of the maps
    notes: tuple[str, ...]

    def value_of(self, key: str) -> float:
        """One score at the place."""
        return next(value.value for value in self.values if value.key == key)


def explain_place(
    fit: NoveltyFit,
    maps: NoveltyMaps,
    settings: NoveltySettings,
    point: tuple[float, float] | None = None,
) -> PlaceLook:
    """Look at a place: the middle of the settings' cell, if no other is given."""
    check_settings(settings)
    notes: list[str] = []
    where = _point(fit, settings, point, notes)
    x = at_places(fit, np.array([where]), maps.third_at)
    model = scorer(fit, maps.tail)
    detail = model.inspect_novelty(x)
    z, contributions = detail.z[0], detail.contributions[0].mean(axis=0)
    total = float(contributions.sum())
    top = np.argsort(-z, kind="stable")[: settings.drawn].astype(np.int64)
    shared = fit.model.forest_.leaf_matrix(fit.rows.X) == fit.model.forest_.leaf_matrix(x)
    ellipses = model.leaf_ellipses(x, features=(0, 1), trees=top)
    names = fit.data.feature_names
    return PlaceLook(
        title=f"{names[0]} = {short(where[0])}, {names[1]} = {short(where[1])}",
        point=where,
        shares=contributions / total if total > 0.0 else np.zeros_like(contributions),
        z=z,
        top=top,
        ellipses=ellipses,
        leaf_rows=tuple(np.flatnonzero(shared[:, tree]).astype(np.int64) for tree in top),
        prediction=np.atleast_1d(predict_places(fit, x)[0]),
        values=_values(fit, maps, model, x, where, model.score_novelty(x)),
        notes=tuple(notes),
    )


def _point(
    fit: NoveltyFit, settings: NoveltySettings, place: Any, notes: list[str]
) -> tuple[float, float]:
    point = None if place is None else finite_point(place)
    if place is not None and point is None:
        notes.append(
            "A place is two numbers from \u22121,000,000 to 1,000,000. The picture shows another "
            "place."
        )
    if point is not None:
        return point
    (row, column), (x, y) = settings.cell, fit.data.axes
    return float(x[column]), float(y[row])


def _values(
    fit: NoveltyFit,
    maps: NoveltyMaps,
    model: Any,
    x: Array,
    where: tuple[float, float],
    novel: Any,
) -> tuple[PlaceValue, ...]:
    """Every score at the place, ranked among the cells and the rows."""
    from gbuq_core.baselines.isolation import DistanceScore

    uncertain = model.predict_uncertainty(x)
    ordered = DistanceScore(maps.neighbours, n_jobs=1).fit(fit.rows.X)
    at_place = {
        "novelty": novel.novelty,
        "conditional": novel.conditional_novelty,
        "inference": np.abs(novel.inference_novelty),
        "knowledge": uncertain.knowledge,
        "data": uncertain.data,
        "isolation": fit.isolation.score_novelty(x),
        "distance": ordered.score_novelty(x),
    }
    if "truth" in maps.keys:
        from gbuq_core.experiments.novelty.data import true_log_density

        at_place["truth"] = -true_log_density(fit.data.key, np.array([where]), fit.plan.noise)
    values = []
    for key in maps.keys:
        value = float(at_place[key][0])
        ranks = [rank_among([value], own)[0] for own in (maps.of(key), maps.of_rows(key))]
        values.append(PlaceValue(key, METHODS[key].label, value, float(ranks[0]), float(ranks[1])))
    return tuple(values)
