"""Effective ensemble size: known correlations, what it promises of variances, odd members."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal_parts import refused
from tolerances import NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core.errors import InvalidData
from gbuq_core.metrics import effective_ensemble_size


def equally_correlated(n_members, rho, n_points, seed):
    """Standard normals with one correlation between all members: a shared part and own ones."""
    rng = np.random.default_rng(seed)
    shared, own = rng.standard_normal(n_points), rng.standard_normal((n_members, n_points))
    return math.sqrt(rho) * shared + math.sqrt(1 - rho) * own


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_known_correlations_are_found(rho):
    members = equally_correlated(10, rho, 40_000, seed=3)
    size = effective_ensemble_size(members)
    # The std of one correlation is (1 - rho^2) / 200; five of them bound the mean of all 45.
    assert size.correlation == pytest.approx(rho, abs=5 / 200)
    assert size.n_members == 10
    assert size.effective == pytest.approx(10 / (1 + 9 * size.correlation))


def test_the_mean_of_members_varies_as_that_of_so_many_independent_ones():
    members = equally_correlated(8, 0.25, 50_000, seed=5)
    effective = effective_ensemble_size(members).effective
    # Both sides are estimates from 50,000 points: five standard errors, sqrt(2 / n), of each.
    assert members.var() / members.mean(axis=0).var() == pytest.approx(effective, rel=0.07)


def test_it_is_the_mean_over_all_pairs_of_the_correlation_matrix():
    members = np.random.default_rng(2).random((5, 30, 3)) + np.linspace(0, 2, 30)[:, None]
    matrix = np.corrcoef(members.reshape(5, -1))
    expected = matrix[np.triu_indices(5, 1)].mean()
    assert effective_ensemble_size(members).correlation == pytest.approx(expected, rel=SAME_SUM)


def test_classes_are_one_long_vector():
    members = np.random.default_rng(2).random((4, 20, 3))
    flat = effective_ensemble_size(members.reshape(4, 60))
    assert effective_ensemble_size(members) == flat


def test_the_reference_leaves_the_correlation_of_errors():
    truth = np.linspace(0, 10, 4000)
    errors = equally_correlated(6, 0.2, 4000, seed=8)
    plain = effective_ensemble_size(truth + errors)
    against = effective_ensemble_size(truth + errors, truth)
    assert plain.correlation > 0.85  # all follow the truth
    assert against == effective_ensemble_size(truth + errors - truth)
    assert against.correlation == pytest.approx(0.2, abs=5 / math.sqrt(4000))


def test_copies_count_once_and_opposites_cancel():
    row = np.random.default_rng(0).random(50)
    # Rounding of the correlations of equal vectors.
    assert effective_ensemble_size([row, row, row, row]).effective == pytest.approx(1, abs=ZERO)
    opposed = effective_ensemble_size([row, -row])
    assert opposed.correlation == pytest.approx(-1)
    assert opposed.effective == math.inf
    negative = effective_ensemble_size([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.2, 0.0, 1.0]])
    assert negative.correlation < 0
    assert negative.effective > 3


def test_one_member_and_members_without_variation():
    alone = effective_ensemble_size([[0.1, 0.2, 0.3]])
    assert (alone.n_members, alone.effective) == (1, 1.0)
    assert math.isnan(alone.correlation)
    row = [0.1, 0.9, 0.5]
    one_flat = effective_ensemble_size([row, row, [0.3, 0.3, 0.3]])
    assert one_flat.n_members == 3
    assert one_flat.correlation == pytest.approx(1)
    assert one_flat.effective == pytest.approx(1)
    # A constant member is worth nothing; counted in K, two opposites and it were impossible.
    pair = [[0.0, 1.0, 2.0, 4.0], [4.0, 2.5, 2.0, 1.0]]
    padded = effective_ensemble_size([*pair, [0.5] * 4])
    assert padded.correlation < -0.5
    assert padded.effective == effective_ensemble_size(pair).effective
    assert 2 < padded.effective < math.inf
    only_one_varies = effective_ensemble_size([row, [0.3, 0.3, 0.3]])
    assert math.isnan(only_one_varies.correlation)
    assert math.isnan(only_one_varies.effective)
    assert math.isnan(effective_ensemble_size(np.full((4, 7), 1 / 3)).effective)


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 6), st.integers(3, 12), st.integers(0, 10**6), st.floats(0.1, 100))
def test_units_and_order_do_not_matter(n_members, n_points, seed, factor):
    rng = np.random.default_rng(seed)
    members = rng.standard_normal((n_members, n_points))
    size = effective_ensemble_size(members)
    again = effective_ensemble_size(factor * members[::-1, ::-1] + 1.0)
    assert -1 / (n_members - 1) - ZERO <= size.correlation <= 1 + ZERO
    # Rounding of sums over at most 12 points, after a shift of the order of the values.
    assert again.correlation == pytest.approx(size.correlation, abs=NEAR_ZERO)


@pytest.mark.parametrize(
    ("members", "reference", "words"),
    [
        ([1.0, 2.0], None, "two or three axes"),
        ([[1.0, np.nan]], None, "finite"),
        (np.zeros((0, 3)), None, "empty"),
        ([[1.0, 2.0]], [1.0, 2.0, 3.0], "shape of one member"),
        ([[1.0, 2.0]], [[1.0, 2.0]], "reference"),
    ],
)
def test_odd_members_are_refused_by_a_sentence(members, reference, words):
    with refused(InvalidData, words):
        effective_ensemble_size(members, reference)
