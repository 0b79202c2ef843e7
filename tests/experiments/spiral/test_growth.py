"""How the spiral's methods were trained, as plain curves."""

from dataclasses import replace

import numpy as np

from gbuq_core.experiments.spiral.fit import run_spiral
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.spiral.training import growth_of

SMALL = SpiralSettings(rows=50, members=2, trees=40, chain_trees=60, cycle=20, step=10)


def growth(method, **knobs):
    return growth_of(run_spiral(replace(SMALL, methods=(method,), **knobs)).methods[0])


def test_a_cyclical_chain_has_its_schedule_and_its_members():
    grown = growth("csglb", burn_in=1)
    assert grown.n_trees.tolist() == list(range(1, 61))
    assert grown.scale[::20].tolist() == [10.0] * 3  # alpha_max at the start of each cycle
    assert grown.member_trees.tolist() == [40, 60]
    assert grown.exploring == ()  # no mask, no noise left out
    assert grown.validation_trees[-1] == 60
    assert grown.train_loss[-1] < grown.train_loss[0]


def test_independent_models_have_no_members_on_the_axis():
    grown = growth("sglb")
    assert grown.member_trees.size == 0
    assert grown.validation_loss.shape == grown.validation_trees.shape
    assert np.ptp(grown.scale) == 0


def test_a_forest_keeps_no_trace():
    assert growth("vrf") is None


def test_noise_that_is_left_out_is_exploring_too():
    assert growth("csglb", noise_free=True, exploration=0.5).exploring == (
        (1.0, 10.0),
        (21.0, 30.0),
        (41.0, 50.0),
    )
