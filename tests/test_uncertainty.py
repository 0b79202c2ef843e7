"""The decomposition against its definition, its invariants, and what it refuses."""

import math

import naive_metrics as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy as scipy_entropy
from tolerances import SAME_SUM, ZERO

from gbuq_core.errors import InvalidData
from gbuq_core.uncertainty import (
    Uncertainty,
    check_probabilities,
    decompose_classification,
    decompose_regression,
    entropy,
    mean_over_members,
    variance_over_members,
)

# Sums of a handful of float64 terms of size one: a few rounding errors of 1.1e-16 each.
ROUNDING = 1e-14
# The bound for TU = DU + KU, relative to TU.
IDENTITY = 1e-12


@st.composite
def member_probabilities(draw):
    """(n_members, n_samples, n_classes), with exact zeros and very small values among them."""
    shape = draw(st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(2, 4)))
    size = st.one_of(st.just(0.0), st.floats(1e-12, 1.0))
    weights = draw(arrays(np.float64, shape, elements=size))
    weights[..., 0] += weights.sum(axis=-1) == 0
    return weights / weights.sum(axis=-1, keepdims=True)


@st.composite
def member_normals(draw):
    shape = draw(st.tuples(st.integers(1, 6), st.integers(1, 5)))
    means = draw(arrays(np.float64, shape, elements=st.floats(-1e6, 1e6)))
    variances = draw(arrays(np.float64, shape, elements=st.floats(0, 1e6)))
    return means, variances


@given(member_probabilities())
def test_classes_match_the_definition(p):
    expected = naive.decompose_classification(p)
    for part, wanted in zip(decompose_classification(p), expected, strict=True):
        np.testing.assert_allclose(part, wanted, rtol=0, atol=ROUNDING)


@given(member_probabilities())
def test_class_invariants(p):
    u = decompose_classification(p)
    assert (u.knowledge >= 0).all()
    assert (u.data >= 0).all()
    assert (np.abs(u.total - (u.data + u.knowledge)) <= IDENTITY * u.total).all()
    assert (u.total <= math.log(p.shape[-1]) + ROUNDING).all()


@given(member_normals())
def test_regression_matches_the_definition_and_adds_up(members):
    means, variances = members
    u = decompose_regression(means, variances)
    # The mean of values near 1e6 is exact to 1e-10, and enters squared against a spread of 1e6.
    scale = np.abs(means).max() + 1.0
    for part, wanted in zip(u, naive.decompose_regression(means, variances), strict=True):
        np.testing.assert_allclose(part, wanted, rtol=SAME_SUM, atol=1e-13 * scale)
    assert (u.knowledge >= 0).all()
    assert (np.abs(u.total - (u.data + u.knowledge)) <= IDENTITY * u.total).all()


@given(member_probabilities(), st.randoms(use_true_random=False))
def test_members_and_classes_have_no_order(p, random):
    members, classes = list(range(p.shape[0])), list(range(p.shape[2]))
    random.shuffle(members)
    random.shuffle(classes)
    shuffled = decompose_classification(p[members][:, :, classes])
    for part, wanted in zip(shuffled, decompose_classification(p), strict=True):
        np.testing.assert_allclose(part, wanted, rtol=0, atol=ROUNDING)


def test_a_large_common_mean_costs_no_digits():
    """The same spread around 0 and around 2^30, where every value is still exact."""
    spread = np.array([[-0.5], [0.25], [0.25]])
    near = decompose_regression(spread, np.ones((3, 1)))
    far = decompose_regression(spread + 2.0**30, np.ones((3, 1)))
    # The mean is rounded to 2^-22, which moves the variance by its square, 6e-14.
    np.testing.assert_allclose(far.knowledge, near.knowledge, rtol=0, atol=ZERO)


@pytest.mark.parametrize("step", [1e-3, 1e-5, 1e-7])
def test_small_disagreement_keeps_its_digits(step):
    """A difference of entropies would return rounding noise of 1e-16 here.

    For two members p +- step the mutual information is step^2/(2 p (1 - p)) to leading order.
    """
    p = 0.3
    members = np.array([[[p + step, 1 - p - step]], [[p - step, 1 - p + step]]])
    expected = step**2 / (2 * p * (1 - p))
    # The next order is step^2 relative; p + step itself is rounded by 6e-17, relative to step.
    tolerance = 5 * step**2 + 4e-16 / step
    assert decompose_classification(members).knowledge[0] == pytest.approx(expected, rel=tolerance)


def test_extremes():
    sure_and_opposed = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    u = decompose_classification(sure_and_opposed)
    assert u.data[0] == 0
    assert u.knowledge[0] == pytest.approx(math.log(2), abs=ROUNDING)
    agreed = np.tile([0.25, 0.75], (10, 3, 1))
    np.testing.assert_array_equal(decompose_classification(agreed).knowledge, np.zeros(3))


def test_a_single_member_knows_of_no_disagreement():
    u = decompose_regression([[1.0, 2.0]], [[3.0, 4.0]])
    np.testing.assert_array_equal(u.knowledge, [0, 0])
    np.testing.assert_array_equal(u.total, [3, 4])
    assert decompose_classification([[[0.2, 0.8]]]).knowledge[0] == 0


def test_blocks_do_not_show():
    """More rows than one block of the classification holds give what each row gives alone."""
    rng = np.random.default_rng(3)
    p = rng.dirichlet([1.0, 1.0, 1.0], size=(2, 5000))
    whole = decompose_classification(p)
    for row in (0, 2047, 2048, 4999):
        alone = decompose_classification(p[:, [row]])
        assert [part[row] for part in whole] == [part[0] for part in alone]


def test_no_rows_give_no_rows():
    empty = decompose_regression(np.empty((3, 0)), np.empty((3, 0)))
    assert [len(part) for part in empty] == [0, 0, 0]
    assert len(decompose_classification(np.empty((3, 0, 2))).total) == 0


@given(arrays(np.float64, 4, elements=st.floats(0, 1)).filter(lambda w: w.sum() > 1e-6))
def test_entropy_is_scipys(weights):
    p = weights / weights.sum()
    assert entropy(p) == pytest.approx(scipy_entropy(p), abs=ROUNDING)


def test_the_result_is_the_named_triple():
    u = decompose_regression([[1.0]], [[2.0]])
    assert isinstance(u, Uncertainty)
    assert u._fields == ("total", "data", "knowledge")


@pytest.mark.parametrize(
    ("means", "variances", "words"),
    [
        ([1.0, 2.0], [1.0, 2.0], "2 axes"),
        ([[1.0, 2.0]], [[1.0]], "one shape"),
        ([[np.nan]], [[1.0]], "means must hold finite"),
        ([[1.0]], [[np.inf]], "variances must hold finite"),
        ([[1.0]], [[-0.1]], "variances must be at least 0"),
        (np.empty((0, 3)), np.empty((0, 3)), "must not be empty"),
        ([["a"]], [[1.0]], "array of numbers"),
    ],
)
def test_regression_refuses_by_a_sentence(means, variances, words):
    with pytest.raises(InvalidData, match=words) as caught:
        decompose_regression(means, variances)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("probabilities", "words"),
    [
        ([[0.5, 0.5]], "3 axes"),
        ([[[0.5, 0.6]]], "sum to one"),
        ([[[-0.1, 1.1]]], "from 0 to 1"),
        ([[[np.nan, 1.0]]], "finite"),
        (np.empty((0, 2, 3)), "must not be empty"),
    ],
)
def test_classification_refuses_by_a_sentence(probabilities, words):
    with pytest.raises(InvalidData, match=words) as caught:
        decompose_classification(probabilities)
    assert str(caught.value).endswith(".")


def test_float32_probabilities_are_welcome():
    p = np.full((2, 3, 7), 1 / 7, dtype=np.float32)
    assert check_probabilities("p", p, 3).dtype == np.float64
    # float32 holds 1/7 to 6e-9, and the entropy moves by less than that times log 7.
    assert decompose_classification(p).total == pytest.approx(math.log(7), abs=1e-7)


@given(member_normals())
def test_members_are_added_in_order_for_any_number_of_rows(pair):
    means, _ = pair
    together = variance_over_members(means)
    for row in range(means.shape[1]):
        alone = variance_over_members(means[:, row : row + 1])
        np.testing.assert_array_equal(alone, together[row : row + 1])
    np.testing.assert_array_equal(mean_over_members(means), sum(means) / len(means))
