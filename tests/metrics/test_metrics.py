"""Scores and calibration against other libraries, their definitions, and their invariants."""

import math
from functools import partial

import naive_metrics as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusal_parts import refused
from scipy.stats import binomtest, norm
from sklearn import metrics as sklearn_metrics
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core import metrics
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.uncertainty import decompose_regression

values = partial(st.floats, allow_nan=False, allow_infinity=False, allow_subnormal=False)


@pytest.fixture(scope="module")
def uct():
    """Uncertainty Toolbox, imported by the worker that compares with it: it brings Matplotlib."""
    import uncertainty_toolbox

    return uncertainty_toolbox


@pytest.fixture
def gaussians():
    """Fifty targets and normals, some of them far off."""
    rng = np.random.default_rng(11)
    loc, scale = rng.normal(size=50), rng.uniform(0.1, 3.0, size=50)
    return loc + 2 * scale * rng.standard_normal(50), loc, scale


@pytest.fixture
def members():
    """Thirty targets and four members' means and variances."""
    rng = np.random.default_rng(12)
    means, variances = rng.normal(size=(4, 30)), rng.uniform(0.05, 2.0, size=(4, 30))
    return rng.normal(size=30), means, variances


@pytest.fixture
def class_rows():
    """Two hundred rows of three classes, one probability of exactly zero among them."""
    rng = np.random.default_rng(13)
    p = rng.dirichlet([1.0, 1.0, 1.0], size=200)
    p[0] = [0.0, 0.5, 0.5]
    y = np.array([rng.choice(3, p=row) for row in p])
    y[0] = 0
    return y, p


# Proper scores of normals


@pytest.mark.parity
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (metrics.nll_gaussian, "nll_gaussian"),
        (metrics.crps_gaussian, "crps_gaussian"),
        (metrics.check_score, "check_score"),
        (metrics.mean_interval_score, "interval_score"),
        (metrics.mace, "mean_absolute_calibration_error"),
    ],
    ids=lambda function: getattr(function, "__name__", function),
)
def test_scores_of_normals_are_uncertainty_toolboxs(ours, theirs, uct, gaussians):
    y, loc, scale = gaussians
    score = getattr(uct, theirs)
    assert ours(y, loc, scale) == pytest.approx(score(loc, scale, y), rel=SAME_SUM)


@pytest.mark.parity
def test_scores_are_scoringrules(scoringrules, gaussians, members):
    y, loc, scale = gaussians
    np.testing.assert_allclose(
        metrics.crps_gaussian_values(y, loc, scale),
        scoringrules.crps_normal(y, loc, scale),
        rtol=SAME_SUM,  # CRPS is a difference: near its minimum three digits are lost
    )
    assert metrics.nll_gaussian(y, loc, scale) == pytest.approx(
        scoringrules.logs_normal(y, loc, scale).mean(), rel=SAME_SUM
    )
    draws = np.random.default_rng(1).normal(loc, scale, size=(25, 50))
    assert metrics.crps_ensemble(y, draws) == pytest.approx(
        scoringrules.crps_ensemble(y, draws.T, estimator="nrg").mean(), rel=SAME_SUM
    )
    y, means, variances = members
    mixture = scoringrules.logs_mixnorm(y, means.T, np.sqrt(variances).T)
    assert metrics.nll_mixture(y, means, variances) == pytest.approx(mixture.mean(), rel=SAME_SUM)
    assert metrics.interval_score(y, y - 1, y - 0.5, 0.8) == pytest.approx(
        scoringrules.interval_score(y, y - 1, y - 0.5, 0.2).mean(), rel=SAME_SUM
    )


def test_crps_is_the_integral_that_defines_it(members):
    y, means, variances = members
    for i in range(3):
        # The midpoint rule with a jump inside one step of 0.002 is off by at most that step.
        tolerance = 40 / 20_000
        integral = naive.crps_of_cdf(y[i], partial(norm.cdf, loc=0.3, scale=0.7), -20, 20)
        assert metrics.crps_gaussian(y[[i]], 0.3, 0.7) == pytest.approx(integral, abs=tolerance)

        def mixture_cdf(x, i=i):
            return norm.cdf(x[:, None], means[:, i], np.sqrt(variances[:, i])).mean(axis=1)

        mixed = naive.crps_of_cdf(y[i], mixture_cdf, -20, 20)
        ours = metrics.crps_mixture(y[[i]], means[:, [i]], variances[:, [i]])
        assert ours == pytest.approx(mixed, abs=tolerance)


def test_a_scale_of_zero_is_the_absolute_error():
    assert metrics.crps_gaussian([1.0, 4.0], [1.0, 1.0], 0.0) == 1.5
    points = metrics.crps_mixture([0.0], [[-1.0], [3.0]], [[0.0], [0.0]])
    assert points == pytest.approx(metrics.crps_ensemble([0.0], [[-1.0], [3.0]]), rel=SAME_SUM)


def test_mixture_nll_is_the_log_of_the_mean_density(members):
    nll = metrics.nll_mixture(*members)
    assert nll == pytest.approx(naive.nll_mixture(*members), rel=SAME_SUM)


def test_mixture_nll_survives_where_densities_underflow():
    """exp(-5000) is 0 in float64; the log is still that of the nearest member less log 2."""
    nll = metrics.nll_mixture([100.0], [[0.0], [-900.0]], [[1.0], [1.0]])
    assert nll == pytest.approx(5000 + 0.5 * math.log(2 * math.pi) + math.log(2), rel=1e-15 * 8)


def test_members_that_agree_make_one_normal(gaussians):
    y, loc, scale = gaussians
    means, variances = np.tile(loc, (5, 1)), np.tile(scale**2, (5, 1))
    total = decompose_regression(means, variances).total
    nll = metrics.nll_gaussian(y, loc, np.sqrt(total))
    assert metrics.nll_mixture(y, means, variances) == pytest.approx(nll, rel=SAME_SUM)
    assert metrics.crps_mixture(y, means, variances) == pytest.approx(
        metrics.crps_gaussian(y, loc, scale), rel=SAME_SUM
    )


@given(
    arrays(np.float64, 5, elements=values(-1e3, 1e3)),
    arrays(np.float64, 5, elements=values(-1e3, 1e3)),
    arrays(np.float64, 5, elements=values(0, 1e3)),
    values(0.01, 100),
)
def test_crps_is_positive_and_scales_with_the_unit(y, loc, scale, factor):
    per_row = metrics.crps_gaussian_values(y, loc, scale)
    assert (per_row >= 0).all()
    # Never worse than a point at loc, never better by more than the spread could explain.
    assert (per_row <= np.abs(y - loc) + scale).all()
    scaled = metrics.crps_gaussian_values(factor * y, factor * loc, factor * scale)
    # y - loc loses at most an ulp of 1e3 in either unit.
    np.testing.assert_allclose(scaled, factor * per_row, rtol=CANCELLED, atol=ZERO * factor)


@given(st.integers(1, 6), st.integers(0, 10**6))
def test_mixture_scores_have_no_member_order_and_beat_the_average_member(n_members, seed):
    rng = np.random.default_rng(seed)
    y, means = rng.normal(size=7), rng.normal(size=(n_members, 7))
    variances = rng.uniform(0.01, 2, size=(n_members, 7))
    order = rng.permutation(n_members)
    for score in (metrics.nll_mixture, metrics.crps_mixture):
        mean = score(y, means, variances)
        shuffled = score(y, means[order], variances[order])
        assert shuffled == pytest.approx(mean, rel=CANCELLED, abs=ZERO)
        # Jensen: both scores are convex in the forecast.
        alone = [score(y, means[[m]], variances[[m]]) for m in range(n_members)]
        assert mean <= np.mean(alone) + ZERO


def test_pinball_is_scikit_learns(gaussians):
    y, loc, _ = gaussians
    for level in (0.1, 0.5, 0.9):
        theirs = sklearn_metrics.mean_pinball_loss(y, loc, alpha=level)
        assert metrics.pinball_score(y, loc, level) == pytest.approx(theirs, rel=SAME_SUM)


# Points and classes


def test_point_errors_are_scikit_learns(gaussians, class_rows):
    y, loc, _ = gaussians
    theirs = sklearn_metrics.root_mean_squared_error(y, loc)
    assert metrics.rmse(y, loc) == pytest.approx(theirs, rel=SAME_SUM)
    codes, p = class_rows
    accuracy = sklearn_metrics.accuracy_score(codes, p.argmax(axis=1))
    assert metrics.error_rate(codes, p.argmax(axis=1)) == pytest.approx(1 - accuracy)


def test_class_nll_is_scikit_learns_and_takes_labels(class_rows):
    codes, p = class_rows
    theirs = sklearn_metrics.log_loss(codes, p, labels=[0, 1, 2])
    assert metrics.nll_classification(codes, p) == pytest.approx(theirs, rel=SAME_SUM)
    names = np.array(["low", "mid", "high"])  # not in alphabetical order
    named = metrics.nll_classification(names[codes], p, classes=names)
    assert named == metrics.nll_classification(codes, p)


# Calibration


@given(st.integers(1, 300), st.data())
def test_binomial_band_is_scipys(n, data):
    k = data.draw(st.integers(0, n))
    low, high = metrics.binomial_band(k, n, confidence=0.9)
    theirs = binomtest(k, n).proportion_ci(0.9, method="exact")
    # scipy.stats solves for the limits where we take the beta quantile.
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=NEAR_ZERO)
    assert low <= k / n <= high


def test_coverage_counts_rows_within_the_interval(gaussians):
    levels = [0.0, 0.5, 0.8, 0.9, 0.95, 1.0]
    coverage = metrics.coverage(*gaussians, levels=levels)
    half_widths = norm.ppf(0.5 + np.array(levels) / 2)
    np.testing.assert_array_equal(coverage.observed, naive.coverage(*gaussians, half_widths))
    assert (coverage.low <= coverage.observed).all()
    assert (coverage.observed <= coverage.high).all()
    assert coverage.n_rows == 50


def test_coverage_of_given_intervals_is_that_of_the_normals_they_come_from(gaussians):
    y, loc, scale = gaussians
    half = norm.ppf(0.9) * scale
    given_intervals = metrics.interval_coverage(y, loc - half, loc + half, 0.8)
    from_normals = metrics.coverage(y, loc, scale, levels=[0.8])
    for part, wanted in zip(given_intervals, from_normals, strict=True):
        np.testing.assert_array_equal(part, wanted)


def test_band_covers_the_truth_as_often_as_it_says():
    """2,000 samples of 60 calibrated rows: the exact band may only cover too often."""
    rng = np.random.default_rng(5)
    y = rng.standard_normal((2000, 60))
    hits = 0
    for row in y:
        band = metrics.coverage(row, 0.0, 1.0, levels=[0.9], confidence=0.95)
        hits += band.low[0] <= 0.9 <= band.high[0]
    # Three standard errors of a share of 0.95 over 2,000 samples below 0.95.
    assert hits / 2000 >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 2000)


def test_pit_is_the_predicted_probability_of_less(members):
    y, means, variances = members
    expected = [norm.cdf(y[i], means[:, i], np.sqrt(variances[:, i])).mean() for i in range(30)]
    np.testing.assert_allclose(metrics.pit_mixture(y, means, variances), expected, rtol=SAME_SUM)
    values = metrics.pit_mixture(y, means[:1], variances[:1])
    np.testing.assert_array_equal(values, metrics.pit_gaussian(y, means[0], np.sqrt(variances[0])))


def test_pit_histogram_shares_sum_to_one_and_bands_hold_them():
    pit = np.random.default_rng(2).random(500) ** 2
    histogram = metrics.pit_histogram(pit, n_bins=5)
    assert histogram.share.sum() == pytest.approx(1.0, abs=ZERO)
    assert histogram.share[0] == np.mean(pit < 0.2)
    assert histogram.low[0] > 0.2  # sqrt(0.2) = 0.45 of the values fall here: clearly not uniform
    assert ((histogram.low <= histogram.share) & (histogram.share <= histogram.high)).all()


def test_sharpness_is_uncertainty_toolboxs(uct, gaussians):
    scale = gaussians[2]
    assert metrics.sharpness(scale) == pytest.approx(uct.sharpness(scale), rel=SAME_SUM)


def test_reliability_bins_rows_by_confidence(class_rows):
    y, p = class_rows
    bins = metrics.reliability(y, p, n_bins=4)
    sure, right = p.max(axis=1), p.argmax(axis=1) == y
    gaps = 0.0
    for b, (low, high) in enumerate(zip(bins.edges[:-1], bins.edges[1:], strict=True)):
        rows = (low <= sure) & ((sure < high) | (high == 1.0))
        assert bins.n_rows[b] == rows.sum()
        if rows.any():
            assert bins.confidence[b] == pytest.approx(sure[rows].mean(), rel=SAME_SUM)
            assert bins.accuracy[b] == right[rows].mean()
            gaps += rows.sum() * abs(sure[rows].mean() - right[rows].mean())
        else:
            assert np.isnan([bins.confidence[b], bins.accuracy[b], bins.low[b]]).all()
    expected = gaps / len(y)
    assert metrics.calibration_error(y, p, n_bins=4) == pytest.approx(expected, rel=SAME_SUM)


# What they refuse

BAD_CALLS = {
    "lengths": (lambda: metrics.rmse([1.0, 2.0], [1.0]), "same rows: y has 2, loc has 1"),
    "empty": (lambda: metrics.rmse([], []), "must not be empty"),
    "missing": (lambda: metrics.crps_gaussian([np.nan], 0.0, 1.0), "finite"),
    "text": (lambda: metrics.rmse(["a"], [1.0]), "array of numbers"),
    "zero scale": (lambda: metrics.nll_gaussian([1.0], 1.0, 0.0), "no density"),
    "zero scale in a PIT": (lambda: metrics.pit_gaussian([1.0], 1.0, 0.0), "no density"),
    "zero variance": (lambda: metrics.nll_mixture([1.0], [[1.0]], [[0.0]]), "no density"),
    "negative scale": (lambda: metrics.crps_gaussian([1.0], 1.0, -1.0), "at least 0"),
    "shapes": (lambda: metrics.crps_mixture([1.0], [[1.0], [2.0]], [[1.0]]), "one shape"),
    "negative errors": (lambda: metrics.prr([-1.0, 1.0], [1.0, 2.0]), "at least 0"),
    "probabilities": (lambda: metrics.nll_classification([0], [[0.5, 0.4]]), "sum to one"),
    "codes": (lambda: metrics.nll_classification([2], [[0.5, 0.5]]), "from 0 to 1"),
    "fractions": (lambda: metrics.nll_classification([0.5], [[0.5, 0.5]]), "class codes"),
    "labels": (lambda: metrics.reliability(["c"], [[0.5, 0.5]], classes=["a", "b"]), "'c'"),
    "classes": (lambda: metrics.reliability(["a"], [[0.5, 0.5]], classes=["a"]), "2 columns"),
    "class rows": (lambda: metrics.nll_classification([0, 1], [[0.5, 0.5]]), "2 rows"),
    "label shapes": (lambda: metrics.error_rate([0, 1], [0]), "same rows"),
    "not binary": (lambda: metrics.auroc([0, 2], [1.0, 2.0]), "true and false"),
    "more than all": (lambda: metrics.binomial_band(3, 2), "between 0 and n_trials"),
    "more than all, Wilson": (lambda: metrics.wilson_band(3, 2), "between 0 and n_trials"),
    "half a positive": (lambda: metrics.recall_threshold([0.5], [1.5]), "true and false"),
    "no group": (lambda: metrics.group_coverage([1, 0], 0.9, [0, 2], "ab"), "between 0 and 1"),
    "half a group": (lambda: metrics.group_coverage([1, 0], 0.9, [0.0, 1.0], "ab"), "whole"),
    "no share of right": (lambda: metrics.f1_auc([0.0, 2.0], [0.1, 0.2]), "from 0 to 1"),
}


@pytest.mark.parametrize("case", BAD_CALLS)
def test_bad_data_are_refused_by_a_sentence(case):
    call, words = BAD_CALLS[case]
    with refused(InvalidData, words):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: metrics.pinball_score([1.0], [1.0], 1.5),
        lambda: metrics.mace([1.0], 1.0, 1.0, n_levels=1),
        lambda: metrics.coverage([1.0], 1.0, 1.0, confidence=2),
        lambda: metrics.rejection_curve([1.0], [1.0], n_points=1),
        lambda: metrics.pit_histogram([0.5], n_bins=0),
        lambda: metrics.recall_threshold([1.0, 0.0], [1.0, 2.0], recall=1.0),
    ],
)
def test_bad_knobs_are_refused(call):
    with pytest.raises(InvalidParameter):
        call()
