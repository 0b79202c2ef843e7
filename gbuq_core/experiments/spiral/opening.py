"""What Spiral opens with: members of few stages, whose maps the page draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.spiral.fit import Members, SpiralFit, fit_spiral
from gbuq_core.experiments.spiral.plan import FIRST, SpiralSettings
from gbuq_core.experiments.spiral.probes import walk_off
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import make_spiral

_STAGES = 3  # of independent models, which all grow


def _make(plan: SpiralSettings) -> SpiralFit:
    fit = fit_spiral(plan)
    ends = np.linspace(fit.n_trees[0], plan.n_trees, _STAGES)
    wanted = np.arange(plan.cycle, plan.n_trees + 1, plan.cycle) if plan.kind.cyclical else ends
    stages = np.searchsorted(fit.n_trees, wanted)
    return replace(
        fit,
        n_trees=fit.n_trees[stages],
        members=fit.members[stages, ..., :2],
        fresh_members=fit.fresh_members[stages, ..., :2],
        beyond=walk_off(fit, FIRST).sentence if plan.method == FIRST.method else "",
    )


def _with_third(shares: Members) -> Members:
    """With the third class, which has what the others leave."""
    third = np.maximum(1.0 - shares.sum(axis=-1, keepdims=True), 0.0)
    every: Members = np.concatenate([shares, third], axis=-1)
    every /= every.sum(axis=-1, keepdims=True)  # two shares that were rounded up may be above one
    every.setflags(write=False)
    return every


OPENING = Opening(
    name="spiral",
    kind=SpiralFit,
    make=_make,
    plans=lambda: [plan_of(FIRST, method) for method in FIRST.methods],
    afresh=lambda plan: {"data": make_spiral(plan.rows, plan.noise, plan.seed), "trace": None},
    bits=11,
    fixed=True,
    restore=lambda fit: replace(
        fit, members=_with_third(fit.members), fresh_members=_with_third(fit.fresh_members)
    ),
)
