"""The members that the browser computes the heart's maps from while a knob moves."""

from __future__ import annotations

from gbuq_core.experiments.heart.fit import HeartMaps
from gbuq_core.experiments.heart.plan import METHODS
from gbuq_core.experiments.moving import MovingMembers

STAGE_STEP = 5  # trees between two stages that are sent: K is a multiple of it


def moving_members(maps: HeartMaps) -> MovingMembers:
    """What the browser needs to draw a method's maps for any K, start and number of members.

    Examples
    --------
    >>> from gbuq_core.experiments.heart.fit import run_heart
    >>> from gbuq_core.experiments.heart.plan import HeartSettings
    >>> settings = HeartSettings(methods=("virtual_sglb",), rows=10, trees=20, step=5)
    >>> moving_members(run_heart(settings).methods[0]).stages.tolist()
    [5, 10, 15, 20]
    """
    fit = maps.fit
    if METHODS[fit.plan.method].virtual:
        rows, plan = slice(STAGE_STEP - 1, None, STAGE_STEP), "truncation"
    else:
        rows, plan = slice(-1, None), "models"
    return MovingMembers(fit.plan.method, plan, fit.n_trees[rows], fit.members[rows])
