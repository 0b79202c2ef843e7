"""The log score at the resolution of the data."""

import numpy as np
import pytest
from drawn_law import DrawnDistribution

from gbuq_core.distribution import NormalDistribution
from gbuq_core.errors import InvalidData
from gbuq_core.metrics import find_resolution, log_scores

CASES = {
    "tenths": (np.arange(300) / 10.0, 0.1),
    "fives": (np.arange(40) * 5.0, 5.0),
    "one odd value in 200": (np.r_[np.arange(199.0), 0.123], 1.0),
    "three odd values in 200": (np.r_[np.arange(197.0), 0.5, 1.5, 2.5], 0.5),
    "claims, most of them none": (
        np.r_[np.zeros(990), 640, 1602, 2000, 2435, 5500, 7000, 8051, 9000, 9500, 9999],
        1.0,
    ),
    "a usual value": (np.r_[np.full(995, 2.5), 1.01, 2.33, 3.14, 4.57, 6.29], 0.01),
    "halves with two slips": (np.r_[np.arange(1000) % 40 / 2.0, 3.14, 2.71], 0.5),
    "constant": (np.ones(5), 1.0),
    "hundreds": (np.array([100.0, 300.0, 1200.0]), 100.0),
}


@pytest.mark.parametrize(("y", "expected"), CASES.values(), ids=CASES)
def test_resolution_is_the_largest_step_of_nearly_all_values(y, expected):
    assert find_resolution(y) == expected


def test_resolution_of_continuous_values_is_a_thousandth_of_their_std():
    y = np.random.default_rng(0).normal(size=500)
    assert find_resolution(y) == 1e-3 * y.std()


def test_it_is_the_density_score_where_the_density_is_flat():
    law = NormalDistribution([0.0, 1.0], [1.0, 2.0])
    y = np.array([0.3, -1.0])
    np.testing.assert_allclose(log_scores(law, y, 1e-3).values, -law.logpdf(y), rtol=1e-6)


def test_a_spike_on_a_repeated_value_earns_no_more_than_its_step():
    spike = NormalDistribution([3.0], [1e-9])
    assert -spike.logpdf([3.0])[0] < -19.0
    assert log_scores(spike, [3.0], 1.0).mean == pytest.approx(0.0)


def test_draws_have_a_log_score_and_far_targets_a_finite_one():
    law = DrawnDistribution(np.arange(10.0)[:, None])
    assert log_scores(law, [4.0], 1.0).mean == pytest.approx(np.log(10.0))
    assert log_scores(law, [1e6], 1.0).mean == pytest.approx(12 * np.log(10.0))


def test_targets_outside_the_support_are_counted_not_averaged():
    from gbuq_core.stacking.law import StackedDistribution, Students
    from gbuq_core.stacking.support import find_support

    ones = np.ones(2)
    law = StackedDistribution(
        (Students(ones, ones, 5.0 * ones, ones),), find_support(np.array([0.5, 1.0]), "nonnegative")
    )
    scores = log_scores(law, [-2.0, 1.0], 0.01)
    assert scores.outside.tolist() == [True, False]
    assert (scores.n_outside, scores.mean) == (1, scores.values[1])
    assert np.isnan(scores.values[0])
    assert np.isnan(log_scores(law, [-2.0, -1.0], 0.01).mean)


def test_other_lengths_are_refused():
    with pytest.raises(InvalidData, match="y has 1 values for 2 rows"):
        log_scores(NormalDistribution([0.0, 1.0], [1.0, 1.0]), [0.0], 0.1)
