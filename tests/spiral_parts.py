"""Small runs of the spiral, whose fits are made once."""

from dataclasses import replace
from functools import cache

from gbuq_core.settings import plan_of
from gbuq_core.study.spiral import SPIRAL, SpiralSettings

SMALL = SpiralSettings(
    rows=60, members=3, trees=40, chain_trees=90, step=10, cycle=25, depth=4, seed=1
)
# Kept probabilities are float32: 6e-8 of a number up to 1, and entropies are about as steep.
SINGLE = {"rtol": 0, "atol": 1e-6}


@cache
def fit_of(method, settings=SMALL):
    return SPIRAL.fit(plan_of(settings, method))


def seen(*methods, **knobs):
    """A run of small fits, whose knobs of the view may be others."""
    settings = replace(SMALL, methods=methods, **knobs)
    return SPIRAL.gather(settings, [SPIRAL.view(fit_of(each), settings) for each in methods])
