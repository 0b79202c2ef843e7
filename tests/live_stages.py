"""JavaScript's rule for the members of one model, in Python."""

import math

import numpy as np


def chosen_stages(plan, trees, *, step, start, burn_in, cycle, shown):
    """After how many trees one model gives a member.

    The same as `gbuq_core.boosting.plan.truncation_points` and ``cycle_ends``, but empty where
    these refuse; of more than ``shown`` the last ones.
    """
    if plan == "truncation":
        every, first = step, math.floor(start * trees / step + 1e-9) + 1
    else:
        every, first = cycle, burn_in + 1
    points = np.arange(first, trees // every + 1) * every
    return points[-shown:] if shown else points
