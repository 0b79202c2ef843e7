"""Bands of shares, coverage by group, average precision, and thresholds with their recall."""

import math

import naive_metrics as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom
from sklearn.metrics import average_precision_score
from tolerances import SAME_SUM

from gbuq_core import metrics

seeds = st.integers(0, 10**6)


def rows(seed, n, levels=7):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n).astype(float), rng.integers(0, levels, n) / 8.0


@given(st.integers(0, 200), st.integers(1, 200), st.floats(0.5, 0.999))
def test_wilsons_band_holds_the_shares_that_a_score_test_keeps(k, more, confidence):
    n = k + more
    low, high = (float(v) for v in metrics.wilson_band(k, n, confidence))
    assert 0.0 <= low <= k / n <= high <= 1.0
    z = naive.normal_quantile(0.5 + 0.5 * confidence)
    for end in (low, high):
        if 0.0 < end < 1.0:  # where the score test is on the edge
            assert abs(k / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n), rel=1e-6)


@given(seeds, st.integers(1, 60))
def test_average_precision_is_scikit_learns(seed, n):
    errors, doubt = rows(seed, n)
    positive = errors > 1.0
    area = metrics.average_precision(positive, doubt)
    if not positive.any():
        assert math.isnan(area)
    else:
        assert area == pytest.approx(average_precision_score(positive, doubt), rel=SAME_SUM)


@given(seeds, st.integers(1, 60), st.integers(1, 5))
def test_coverage_by_group_is_a_count(seed, n, n_groups):
    rng = np.random.default_rng(seed)
    inside, group = rng.random(n) < 0.8, rng.integers(0, n_groups, n)
    promised = rng.random(n)
    names = [f"g{k}" for k in range(n_groups)]
    coverage = metrics.group_coverage(inside, promised, group, names)
    assert coverage.names[0] == "all rows"
    assert coverage.observed[0] == pytest.approx(inside.mean())
    assert coverage.n_rows[1:].sum() == n
    for place, name in enumerate(coverage.names[1:], 1):
        here = group == int(name[1:])
        assert coverage.n_rows[place] == here.sum() > 0
        assert coverage.observed[place] == pytest.approx(inside[here].mean())
        assert coverage.promised[place] == pytest.approx(promised[here].mean())
        assert coverage.low[place] <= coverage.observed[place] <= coverage.high[place]


@pytest.mark.parametrize(("n", "n_groups"), [(800, 8), (60, 20)])
def test_groups_are_seldom_called_off_by_chance(n, n_groups):
    called = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        inside, group = rng.random(n) < 0.9, rng.integers(0, n_groups, n)
        called += metrics.group_coverage(inside, 0.9, group, [""] * n_groups).is_off[1:].any()
    # 5 % of 200 is 10; 22 or more has probability 0.001.
    assert called < 22


def test_a_threshold_finds_the_share_of_a_class_that_it_is_sure_of():
    rng, short = np.random.default_rng(0), 0
    for _ in range(40):
        mine, others = rng.beta(4, 1, 150), rng.beta(1, 3, 100)
        choice = metrics.recall_threshold([1] * 150 + [0] * 100, [*mine, *others], 0.9)
        short += beta.sf(choice.threshold, 4, 1) < 0.9  # of all rows of the class
        # The share missed is at most a tenth with confidence at this threshold, not at the next.
        k = int((mine < choice.threshold).sum())
        assert binom.cdf(k, 150, 0.1) <= 0.05 < binom.cdf(k + 1, 150, 0.1)
        assert choice.recall == (mine >= choice.threshold).mean() >= 0.9
        n_others = int((others >= choice.threshold).sum())
        assert choice.precision == pytest.approx(1 - n_others / (250 * choice.called))
    assert short <= 6  # 5 % are expected; more by 3 in 1,000
    assert metrics.recall_threshold([1] * 59, [0.5] * 59).recall == 1.0
    assert math.isnan(metrics.recall_threshold([1] * 58, [0.5] * 58).threshold)
    assert metrics.recall_threshold([1] * 25_000, rng.random(25_000)).called > 0.94
