"""One place of the map looked at: which feature makes it novel, in which trees, beside which rows.

Merilinna (MACAU, 2023), section 3.2; the shares are a closed form of Shapley values, from the
authors' later code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.novelty.data import Array, cell_numbers
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    at_places,
    predict_places,
    scorer,
)
from gbuq_core.experiments.novelty.plan import (
    METHODS,
    NoveltySettings,
    check_settings,
    finite_point,
)
from gbuq_core.experiments.novelty.ranks import rank_among
from gbuq_core.macau.novelty import LeafEllipses
from gbuq_core.presentation import short

Whole = npt.NDArray[np.int64]


# Where each map is looked at first: in a gap of it.
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
    x: Array  # (n_features,): the place as a row of the model
    cell: int  # the cell it lies in; -1 outside the map
    # (n_features,): what each feature adds to the mean squared distance; below 0 where the feature
    # is as the leaf's rows let one expect from the others
    contributions: Array
    # `shares`, `conditional_shares`: (n_features,): the same over their sum, in all and in path
    # features; they sum to 1, unless the distance is 0 everywhere
    shares: Array
    conditional_shares: Array
    # `z`, `distance`: (n_trees,): novelty and distance in every tree; the mean of `z` is the
    # novelty
    z: Array
    distance: Array
    top: Whole  # (k,): the trees with the highest z, highest first
    ellipses: LeafEllipses  # their leaves in the plane of the map; the third feature is left out
    # for each tree of `top`, which of the rows that were trained on lie in the leaf
    leaf_rows: tuple[Whole, ...]
    prediction: Array  # (n_classes,): class probabilities, or the mean of y
    signed_inference: float  # inference novelty with its sign
    values: tuple[PlaceValue, ...]  # of every score of the maps
    nearest_row: int  # the nearest of the rows that were trained on, in the map's quartile ranges
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
    """Look at a place: the middle of the settings' cell, if no other is given.

    Examples
    --------
    >>> from gbuq_core.experiments.novelty.fit import run_novelty
    >>> run = run_novelty(NoveltySettings(rows=200, trees=10, third=True, third_at=6.0))
    >>> look = explain_place(run.fit, run.maps, run.settings, (0.5, 1.6))
    >>> int(look.shares.argmax()), len(look.leaf_rows)
    (2, 6)
    """
    check_settings(settings)
    notes: list[str] = []
    where = _point(fit, settings, point, notes)
    x = at_places(fit, np.array([where]), maps.third_at)
    model = scorer(fit, maps.tail)
    detail = model.inspect_novelty(x)
    z = detail.z[0]
    contributions = detail.contributions[0].mean(axis=0)
    top = np.argsort(-z, kind="stable")[: settings.drawn].astype(np.int64)
    ellipses = model.leaf_ellipses(x, features=(0, 1), trees=top)
    conditional = model.explain_novelty(x, conditional=True)[0]
    novel = model.score_novelty(x)
    values, nearest = _values(fit, maps, model, x, where, novel)
    names = fit.data.feature_names
    return PlaceLook(
        title=f"{names[0]} = {short(where[0])}, {names[1]} = {short(where[1])}",
        point=where,
        x=x[0],
        cell=int(cell_numbers(fit.data.extent, x)[0]),
        contributions=contributions,
        shares=_shares(contributions),
        conditional_shares=_shares(conditional),
        z=z,
        distance=detail.distance[0],
        top=top,
        ellipses=ellipses,
        leaf_rows=_rows_in_leaves(fit, x, top),
        prediction=np.atleast_1d(predict_places(fit, x)[0]),
        signed_inference=float(novel.inference_novelty[0]),
        values=values,
        nearest_row=nearest,
        notes=tuple(notes),
    )


def _point(
    fit: NoveltyFit, settings: NoveltySettings, given: Any, notes: list[str]
) -> tuple[float, float]:
    point = None if given is None else finite_point(given)
    if given is not None and point is None:
        notes.append(
            "A place is two numbers from \u22121,000,000 to 1,000,000. The picture shows another "
            "place."
        )
    if point is not None:
        return point
    (row, column), (x, y) = settings.cell, fit.data.axes
    return float(x[column]), float(y[row])


def _shares(contributions: Array) -> Array:
    total = float(contributions.sum())
    return contributions / total if total > 0.0 else np.zeros_like(contributions)


def _rows_in_leaves(fit: NoveltyFit, x: Array, trees: Whole) -> tuple[Whole, ...]:
    """Which rows that were trained on share the place's leaf, tree by tree."""
    own = fit.model.forest_.leaf_matrix(x)[0]
    leaves = fit.model.forest_.leaf_matrix(fit.rows.X)
    return tuple(np.flatnonzero(leaves[:, tree] == own[tree]).astype(np.int64) for tree in trees)


def _values(
    fit: NoveltyFit,
    maps: NoveltyMaps,
    model: Any,
    x: Array,
    where: tuple[float, float],
    novel: Any,
) -> tuple[tuple[PlaceValue, ...], int]:
    """Every score at the place, ranked among the cells and the rows; and the nearest row."""
    from gbuq_core.baselines.isolation import DistanceScore

    uncertain = model.predict_uncertainty(x)
    ordered = DistanceScore(maps.neighbours, n_jobs=1).fit(fit.rows.X)
    found = {
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

        found["truth"] = -true_log_density(fit.data.key, np.array([where]), fit.plan.noise)
    values = []
    for key in maps.keys:
        value = float(found[key][0])
        ranks = [rank_among([value], own)[0] for own in (maps.of(key), maps.of_rows(key))]
        values.append(PlaceValue(key, METHODS[key].label, value, float(ranks[0]), float(ranks[1])))
    spread = np.subtract(*np.quantile(fit.rows.X[:, :2], [0.75, 0.25], axis=0))
    away = (fit.rows.X[:, :2] - np.array(where)) / np.where(spread > 0.0, spread, 1.0)
    return tuple(values), int((away**2).sum(axis=1).argmin())
