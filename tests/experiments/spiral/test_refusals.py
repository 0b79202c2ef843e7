"""The spiral's settings of which no model or no member comes: known, and said, without a fit."""

from dataclasses import replace

import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.spiral.fit import fit_spiral
from gbuq_core.experiments.spiral.plan import (
    SpiralSettings,
    estimate_spiral_seconds,
    why_not,
)
from gbuq_core.settings import plan_of

SMALL = SpiralSettings(
    rows=60, members=3, trees=40, chain_trees=90, step=10, cycle=25, depth=4, seed=1
)


@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
@pytest.mark.parametrize(
    ("moved", "words"),
    [
        ({"rate_cyclical": 0.3}, "Learning rate 0.3 times largest alpha 10 is 3"),
        ({"cycle": 500}, "Cycle length 500 is more than the 90 trees"),
        ({"alpha_max": 1.0, "alpha_min": 2.0}, "Smallest alpha 2 is above largest alpha 1"),
    ],
)
def test_what_cannot_be_fitted_is_estimated_at_nothing_and_refused_in_the_pages_words(
    method, moved, words
):
    plan = plan_of(replace(SMALL, **moved), method)
    assert estimate_spiral_seconds(plan) == 0.0
    assert why_not(plan).startswith(words)
    with pytest.raises(InvalidParameter, match=words) as caught:
        fit_spiral(plan)
    assert str(caught.value) == why_not(plan)
    assert why_not(plan_of(replace(SMALL, **moved), "virtual_sglb")) == ""


def test_the_longest_step_that_is_allowed_is_fitted():
    # Learning rate times largest alpha is 2, to the last bit or nearly.
    for rate, alpha in ((0.2, 10.0), (0.1, 20.0)):
        plan = plan_of(replace(SMALL, rate_cyclical=rate, alpha_max=alpha), "csglb")
        assert why_not(plan) == ""
        assert estimate_spiral_seconds(plan) > 0


def test_members_that_could_not_be_taken_are_known_without_a_fit():
    chain, cycles = (plan_of(SMALL, method) for method in ("virtual_sglb", "csglb"))
    assert why_not(chain, replace(SMALL, step=200)).startswith("Truncation step 200 gives no")
    assert why_not(cycles, replace(SMALL, burn_in=3)).startswith("Burn-in 3 leaves none of the 3")
    assert why_not(cycles, replace(SMALL, step=200)) == why_not(chain, SMALL) == ""
