"""What Soft trees opens with: functions and scores of its first settings, without the models."""

from __future__ import annotations

import math
from dataclasses import replace

from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.soft_trees.fit import (
    SoftTreesFit,
    SoftTreesOpening,
    data_of,
    drawn_by,
    fit_soft_trees,
    moments_by_draws,
    view_soft_trees,
)
from gbuq_core.experiments.soft_trees.picture import counts_ahead
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings, plan_soft_trees
from gbuq_core.experiments.soft_trees.scores import score_soft_trees

FIRST = SoftTreesSettings()


def whole_fit(fit: SoftTreesFit) -> SoftTreesFit:
    """The fit with its model; a stored one is made again."""
    return fit if fit.opening is None else fit_soft_trees(fit.plan)


def _make(plan: SoftTreesSettings) -> SoftTreesFit:
    fit = fit_soft_trees(plan)
    view = view_soft_trees(fit, FIRST)
    score = replace(score_soft_trees(fit, view, FIRST), seconds=math.nan, memory_bytes=None)
    ahead = moments_by_draws(fit, FIRST, counts_ahead(FIRST))
    return fit._replace(opening=SoftTreesOpening(view, *ahead, score))


OPENING = Opening(
    name="soft_trees",
    kind=SoftTreesFit,
    make=_make,
    plans=lambda: [plan_soft_trees(FIRST, method) for method in FIRST.methods],
    first=FIRST,
    depends=drawn_by,
    afresh=lambda plan: {"data": data_of(plan), "elbo": (), "frames": ()},
    bits=13,
)
