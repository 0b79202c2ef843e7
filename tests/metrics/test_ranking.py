"""Rejection curves, PRR and AUROC: by their authors' definitions, ties, bounds, row order."""

import math
from functools import partial

import naive_metrics as naive
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as sklearn_metrics
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core import metrics

values = partial(st.floats, allow_nan=False, allow_infinity=False, allow_subnormal=False)


@given(st.integers(2, 40), st.integers(0, 10**6))
def test_prr_is_that_of_its_authors_where_nothing_ties(n, seed):
    rng = np.random.default_rng(seed)
    y, prediction = rng.normal(size=(2, n))
    uncertainty = rng.permutation(n).astype(float)
    ratio = metrics.prr((prediction - y) ** 2, uncertainty)
    # A ratio of two areas of order one, each a sum of n terms.
    expected = naive.prr_by_replacing(y, prediction, uncertainty)
    assert ratio == pytest.approx(expected, rel=CANCELLED, abs=1e-7)


def test_prr_of_classes_is_that_of_its_authors_to_one_row():
    """Their curves for classes leave out one row, which moves each area by about 1/n."""
    rng = np.random.default_rng(4)
    uncertainty = rng.random(2000)
    wrong = (rng.random(2000) < 0.4 * uncertainty).astype(float)
    theirs = naive.prr_of_classes(wrong, uncertainty)
    # Errors are a fifth of the rows, so the random area is 0.1 and 1/n of it is 0.5 %.
    assert metrics.prr(wrong, uncertainty) == pytest.approx(theirs, abs=0.5)


@given(
    arrays(np.float64, st.integers(2, 60), elements=values(0, 1e3)),
    st.randoms(use_true_random=False),
)
def test_prr_of_the_oracle_is_100_and_nothing_beats_it(errors, random):
    assume(errors.max() > errors.min() + 1e-6 * errors.max())
    # Sums of up to 60 errors; the area that divides them is at least 1e-8 of them.
    assert metrics.prr(errors, errors) == pytest.approx(100, abs=1e-4)
    uncertainty = np.array([random.random() for _ in errors])
    assert metrics.prr(errors, uncertainty) <= 100 + 1e-4


@given(st.integers(2, 50), st.integers(0, 10**6))
def test_prr_does_not_depend_on_the_order_of_the_rows(n, seed):
    rng = np.random.default_rng(seed)
    errors, uncertainty = rng.random(n), rng.integers(0, 4, size=n).astype(float)  # many ties
    assume(len(np.unique(errors)) > 1)
    order = rng.permutation(n)
    assert metrics.prr(errors[order], uncertainty[order]) == metrics.prr(errors, uncertainty)


def test_ties_count_as_the_mean_over_all_their_orders():
    errors = np.array([0.5, 2.0, 1.0, 0.0, 3.0, 0.25])
    uncertainty = np.array([1.0, 2.0, 2.0, 1.0, 2.0, 3.0])
    expected = naive.prr_over_tie_orders(errors, uncertainty, metrics.prr)
    assert metrics.prr(errors, uncertainty) == pytest.approx(expected, rel=SAME_SUM)


def test_a_constant_uncertainty_ranks_like_chance():
    assert metrics.prr([1.0, 5.0, 0.0, 2.0], np.ones(4)) == pytest.approx(0.0, abs=ZERO)


def test_equal_errors_have_no_ranking():
    assert math.isnan(metrics.prr([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
    assert math.isnan(metrics.prr([0.0], [1.0]))


@given(st.integers(2, 40), st.integers(0, 10**6))
@settings(max_examples=50)
def test_rejection_curve_is_bounded_by_oracle_and_ends(n, seed):
    rng = np.random.default_rng(seed)
    errors, uncertainty = rng.random(n), rng.random(n).round(1)
    curve = metrics.rejection_curve(errors, uncertainty)
    assert len(curve.rejected) == n + 1
    assert curve.rejected[[0, -1]].tolist() == [0.0, 1.0]
    for line in (curve.remaining, curve.oracle, curve.random):
        assert line[0] == pytest.approx(errors.mean(), rel=SAME_SUM)
        assert line[-1] == pytest.approx(0.0, abs=ZERO)
    assert (curve.remaining >= curve.oracle - ZERO).all()
    kept = np.argsort(uncertainty, kind="stable")[: n // 2]
    if uncertainty[kept].max() < np.sort(uncertainty)[n // 2]:  # no tie at the cut
        assert curve.retained[n - n // 2] == pytest.approx(errors[kept].mean(), rel=SAME_SUM)
    assert np.isnan(curve.retained[-1])


def test_thinning_a_rejection_curve_keeps_points_of_the_whole():
    rng = np.random.default_rng(8)
    errors, uncertainty = rng.random(1000), rng.random(1000)
    whole = metrics.rejection_curve(errors, uncertainty)
    thin = metrics.rejection_curve(errors, uncertainty, n_points=50)
    assert len(thin.rejected) == 50
    assert thin.rejected[[0, -1]].tolist() == [0.0, 1.0]
    at = np.searchsorted(whole.rejected, thin.rejected)
    np.testing.assert_array_equal(whole.remaining[at], thin.remaining)
    short = metrics.rejection_curve([1.0, 2.0], [1.0, 2.0], n_points=50)
    assert len(short.rejected) == 3


@given(st.integers(2, 40), st.integers(0, 10**6))
def test_auroc_is_scikit_learns_and_the_share_of_won_pairs(n, seed):
    rng = np.random.default_rng(seed)
    positive, scores = rng.random(n) < 0.4, rng.integers(0, 6, size=n).astype(float)
    assume(0 < positive.sum() < n)
    area = metrics.auroc(positive, scores)
    assert area == pytest.approx(sklearn_metrics.roc_auc_score(positive, scores), abs=ZERO)
    assert area == pytest.approx(naive.auroc(positive, scores), abs=ZERO)
    order = rng.permutation(n)
    assert metrics.auroc(positive[order], scores[order]) == area
    assert metrics.auroc(~positive, scores) == pytest.approx(1 - area, abs=ZERO)


def test_auroc_needs_both_kinds():
    assert math.isnan(metrics.auroc([1, 1], [0.1, 0.2]))
    assert metrics.auroc([0, 0, 1], [0.1, 0.2, 0.3]) == 1.0


@given(st.lists(st.booleans(), min_size=2, max_size=40), st.integers(0, 10**6))
def test_f1_auc_is_that_of_counting(wrong, seed):
    assume(not all(wrong))
    uncertainty = np.random.default_rng(seed).permutation(len(wrong)).astype(float)
    area = metrics.f1_auc(np.array(wrong, float), uncertainty)
    assert area == pytest.approx(naive.f1_auc(wrong, uncertainty), rel=SAME_SUM)
    best = metrics.f1_auc(np.array(wrong, float), np.array(wrong, float))
    assert 0.0 <= area < 1.0
    assert best >= metrics.f1_auc(np.array(wrong, float), -np.array(wrong, float)) - SAME_SUM


def test_f1_auc_without_a_right_class_is_nothing():
    assert metrics.f1_auc([1.0, 1.0], [0.1, 0.2]) == 0.0
