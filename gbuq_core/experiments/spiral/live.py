"""The members that the browser computes the spiral's maps from while a knob moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.spiral.fit import SpiralMaps
from gbuq_core.experiments.spiral.plan import METHODS, STAGE_STEP


class MovingMembers(NamedTuple):
    """Members of one method at the stages that its knobs can ask for.

    Attributes
    ----------
    method : str
        A key of `METHODS`.
    plan : str
        "models", "truncation" or "cycles".
    stages : (n_stages,) int array
        Numbers of trees: multiples of 10 of one model that is cut, the ends of its cycles, or all
        trees of independent models.
    members : (n_stages, n_models, 6400, 3) float32 array
        Class probabilities on `GRID`; a view of the fit's own.
    cycle : int
        Trees of a cycle; 0 without cycles.
    """

    method: str
    plan: str
    stages: npt.NDArray[np.int64]
    members: npt.NDArray[np.float32]
    cycle: int


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
    cycle = fit.plan.cycle or 0
    if not METHODS[fit.plan.method].virtual:
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
