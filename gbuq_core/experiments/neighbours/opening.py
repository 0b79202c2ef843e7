"""What Neighbours opens with: the picture, scores and statements of its first settings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

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
from gbuq_core.experiments.neighbours.look import NeighboursLook, run_neighbours
from gbuq_core.experiments.neighbours.plan import KS, SHARES, NeighboursSettings
from gbuq_core.experiments.neighbours.scores import NeighboursScore, score_neighbours
from gbuq_core.experiments.opening import Opening
from gbuq_core.ibug.results import FamilyScores
from gbuq_core.settings import bare, plan_of

FIRST = NeighboursSettings()


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


def is_first(settings: NeighboursSettings) -> bool:
    """Whether a picture of these settings is the first one, but for what is only marked in it."""
    return bare(settings) == bare(FIRST) and settings.family == FIRST.family


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
    afresh=lambda plan: {"data": _data(plan)},
)
