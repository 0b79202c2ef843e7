"""What Neighbours opens with: the picture, scores and statements of its first settings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.neighbours.claims import check_neighbours_claims
from gbuq_core.experiments.neighbours.data import NeighboursData, load_neighbours_data
from gbuq_core.experiments.neighbours.fit import (
    NeighboursFit,
    NeighboursSearch,
    NeighboursView,
    rank_families,
)
from gbuq_core.experiments.neighbours.live import (
    LeafNumbers,
    ScaleTable,
    TreeTable,
    leaf_table,
    scale_table,
    tree_table,
)
from gbuq_core.experiments.neighbours.look import (
    NeighboursLook,
    describe_near,
    run_neighbours,
)
from gbuq_core.experiments.neighbours.plan import KS, SHARES, NeighboursSettings
from gbuq_core.experiments.neighbours.scores import NeighboursScore, score_neighbours
from gbuq_core.experiments.opening import Opening
from gbuq_core.ibug.results import FamilyScores
from gbuq_core.settings import needed, plan_of

FIRST = NeighboursSettings()
_SAME_X = 1e-9  # an x of the address is off a place of the grid by its rounding


class NeighboursOpening(NamedTuple):
    """All that the page asks of its first fit."""

    data: NeighboursData
    fit: NeighboursFit
    search: NeighboursSearch
    view: NeighboursView
    look: NeighboursLook
    ranked: FamilyScores
    leaves: LeafNumbers
    scales: ScaleTable
    trees: TreeTable
    scores: tuple[NeighboursScore, ...]
    claims: tuple[Claim, ...]


def stored_x(settings: NeighboursSettings) -> float:
    """The x of the settings if the stored leaves are known there, else the first one."""
    (x,) = _data(plan_of(FIRST)).axes or ()
    return settings.x if np.abs(x - settings.x).min() < _SAME_X else FIRST.x


def look_stored(opening: NeighboursOpening, settings: NeighboursSettings) -> NeighboursLook:
    """The look at a `stored_x`: affinities are counts of equal leaves, which are stored."""
    if settings.x == FIRST.x:
        return opening.look
    from gbuq_core.ibug.search import Neighborhood

    leaves, search, y = opening.leaves, opening.search, opening.data.y
    (x,) = opening.data.axes or ()
    at = int(np.abs(x - settings.x).argmin())
    codes = leaves.places[:, at : at + 1]
    affinities = (leaves.rows == codes).sum(axis=0, dtype=np.int32)
    order = np.argsort(-affinities, kind="stable").astype(np.int32)  # ties by ascending index
    near = Neighborhood(
        leaves.loc[at : at + 1].astype(np.float64),
        order[None],
        affinities[order][None],
        y[order][None],
        search.n_trees,
        0,
        search.order,
    )
    look = describe_near(
        opening.fit, search, settings, opening.view, near, codes[:, 0].astype(np.int64)
    )
    shared = (leaves.places == codes).sum(axis=0, dtype=np.int64)
    return replace(look, map_affinity=shared)


def _depends(settings: NeighboursSettings) -> NeighboursSettings:
    """All settings but what is marked in the picture, and an x whose leaves are stored."""
    x = FIRST.x if settings.x == stored_x(settings) else settings.x
    return replace(needed(settings), x=x, scales=FIRST.scales, scales_of=FIRST.scales_of)


def _make(plan: NeighboursSettings) -> NeighboursOpening:
    _, fit, search, view, look, *_ = run_neighbours(FIRST)
    data = _data(plan)
    scores = score_neighbours(fit, search, view, {}, look.family)
    return NeighboursOpening(
        data,
        fit._replace(
            data=data,
            model=None,
            source=None,
            grid_leaves=None,
            seconds=math.nan,
            memory_bytes=None,
        ),
        search._replace(near_test=None, grid_targets=None, seconds=math.nan),
        view,
        look,
        rank_families(fit, search, view),
        leaf_table(fit),
        scale_table(fit, search, FIRST, KS),
        tree_table(fit, FIRST, SHARES),
        tuple(replace(score, seconds=math.nan, memory_bytes=None) for score in scores),
        check_neighbours_claims(fit, search, view, {}),
    )


def _data(plan: NeighboursSettings) -> NeighboursData:
    return load_neighbours_data(plan.data, plan.rows, plan.noise, plan.seed)


OPENING = Opening(
    name="neighbours",
    kind=NeighboursOpening,
    make=_make,
    plans=lambda: [plan_of(FIRST)],
    first=FIRST,
    depends=_depends,
    afresh=lambda plan: {"data": _data(plan)},
)
