"""Ranks among held-out rows against a twin that counts."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tolerances import CANCELLED, SAME_SUM

from gbuq_core.unfamiliarity.ranks import make_reference, part_ranks, rank_rows
from tests import naive_unfamiliarity as naive

VALUES = st.integers(-3, 6).map(float)  # few of them: many are equal


def rank_reference(values):
    held = make_reference(values)
    return rank_rows(held, part_ranks(held.sorted, values, own=True), own=True)


@given(
    arrays(float, st.tuples(st.just(3), st.integers(1, 12)), elements=VALUES),
    arrays(float, (3, 7), elements=VALUES),
)
def test_ranks_are_those_of_the_twin(reference, values):
    held = make_reference(reference)
    ranks = part_ranks(held.sorted, values)
    np.testing.assert_allclose(ranks, naive.part_ranks(reference, values), rtol=SAME_SUM)
    scores = rank_rows(held, ranks)
    np.testing.assert_allclose(scores, naive.new_scores(reference, values), rtol=SAME_SUM)
    own = rank_reference(reference)
    np.testing.assert_allclose(own, naive.reference_scores(reference), rtol=SAME_SUM)


@given(
    arrays(float, st.tuples(st.integers(1, 5), st.integers(1, 60)), elements=st.floats(-1e9, 1e9))
)
def test_scores_of_reference_rows_average_a_half(values):
    scores = rank_reference(values)
    assert scores.min() > 0.0
    assert scores.max() < 1.0
    np.testing.assert_allclose(scores.mean(), 0.5, rtol=CANCELLED)


def test_distinct_rows_are_spread_evenly(rng):
    scores = rank_reference(rng.normal(size=(4, 200)))
    np.testing.assert_allclose(np.sort(scores), (np.arange(200) + 0.5) / 200, rtol=SAME_SUM)


def test_beyond_all_is_one(rng):
    held = make_reference(rng.normal(size=(3, 50)))
    rows = np.array([[99.0, -99.0], [-99.0, -99.0], [-99.0, -99.0]])  # one beyond, one below
    assert rank_rows(held, part_ranks(held.sorted, rows)).tolist() == [1.0, 0.0]
