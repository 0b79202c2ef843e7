"""The members that the browser computes the spiral's maps from while a knob moves."""

from __future__ import annotations

import numpy as np

from gbuq_core.experiments.moving import MovingMembers
from gbuq_core.experiments.spiral.fit import SpiralMaps
from gbuq_core.experiments.spiral.plan import STAGE_STEP


def moving_members(maps: SpiralMaps) -> MovingMembers:
    """What the browser needs to draw a method's maps for any K, start, burn-in and members.

    Examples
    --------
    >>> from gbuq_core.experiments.spiral.fit import run_spiral
    >>> from gbuq_core.experiments.spiral.plan import SpiralSettings
    >>> settings = SpiralSettings(methods=("csglb",), rows=50, chain_trees=40, cycle=20)
    >>> moving_members(run_spiral(settings).methods[0]).stages.tolist()
    [20, 40]
    """
    fit = maps.fit
    cycle = fit.plan.cycle if fit.plan.kind.cyclical else 0
    if not fit.plan.kind.virtual:
        chosen, plan = np.arange(len(fit.n_trees)) == len(fit.n_trees) - 1, "models"
    elif cycle:
        chosen, plan = fit.n_trees % cycle == 0, "cycles"
    else:
        chosen, plan = fit.n_trees % STAGE_STEP == 0, "truncation"
    # A slice copies nothing where every stage is sent, or only the last.
    where = np.flatnonzero(chosen)
    steps = np.unique(np.diff(where))
    rows = slice(where[0], where[-1] + 1, int(steps[0]) if len(steps) else 1)
    members = fit.members[rows] if len(steps) <= 1 else fit.members[where]
    return MovingMembers(fit.plan.method, plan, fit.n_trees[where], members, cycle)
