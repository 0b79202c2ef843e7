"""What Spiral opens with: members of few stages, whose maps the page draws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.spiral.fit import SpiralFit, fit_spiral
from gbuq_core.experiments.spiral.plan import FIRST, SpiralSettings
from gbuq_core.experiments.spiral.quality import walk_off
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import make_spiral

_STAGES = 3  # of independent models, which all grow


def _make(plan: SpiralSettings) -> SpiralFit:
    fit = fit_spiral(plan)
    ends = np.linspace(plan.n_trees / _STAGES, plan.n_trees, _STAGES)
    wanted = np.arange(plan.cycle, plan.n_trees + 1, plan.cycle) if plan.kind.cyclical else ends
    kept = np.searchsorted(fit.n_trees, wanted)
    first = plan.method == FIRST.method
    return replace(
        fit,
        n_trees=fit.n_trees[kept],
        members=fit.members[kept],
        fresh_members=fit.fresh_members[kept],
        beyond=walk_off(fit, FIRST).sentence if first else "",
    )


OPENING = Opening(
    name="spiral",
    kind=SpiralFit,
    make=_make,
    plans=lambda: [plan_of(FIRST, method) for method in FIRST.methods],
    afresh=lambda plan: {
        "data": make_spiral(plan.rows, plan.noise, plan.seed),
        "model": None,
        "trace": None,
        "seconds": math.nan,
        "memory_bytes": None,
    },
    bits=9,
    fixed=True,
)
