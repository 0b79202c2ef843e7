"""Asking a person: costs by their definition, honest halves, intervals that know chance."""

import math

import naive_metrics as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import beta, binom
from sklearn.metrics import average_precision_score
from tolerances import SAME_SUM, ZERO

from gbuq_core import metrics

# Sums of up to 60 numbers of order ten, in two orders.
ROUNDING = {"rel": 1e-9, "abs": 1e-9}


def rows(seed, n, levels=7):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n).astype(float), rng.integers(0, levels, n) / 8.0


seeds, sizes = st.integers(0, 10**6), st.integers(2, 60)
costs = st.sampled_from([0.0, 0.25, 1.0, 3.0, 20.0])


@given(seeds, sizes, costs, costs)
def test_the_threshold_is_the_cheapest_of_all(seed, n, error_cost, asking_cost):
    errors, doubt = rows(seed, n)
    limit = metrics.best_threshold(errors, doubt, error_cost, asking_cost)
    cheapest = min(
        naive.cost_of_asking(errors, doubt, at, error_cost, asking_cost)
        for at in [math.inf, -math.inf, *doubt]
    )
    cost = naive.cost_of_asking(errors, doubt, limit, error_cost, asking_cost)
    assert cost == pytest.approx(cheapest, **ROUNDING)


@given(seeds, sizes, costs, costs)
def test_each_row_is_asked_about_by_the_other_half(seed, n, error_cost, asking_cost):
    errors, doubt = rows(seed, n)
    asking = metrics.ask_by_threshold(errors, doubt, error_cost, asking_cost, seed=3)
    half = np.zeros(n, bool)
    half[np.random.default_rng(3).permutation(n)[: n // 2]] = True
    total, asked = naive.cost_by_halves(errors, doubt, half, error_cost, asking_cost)
    assert asking.cost == pytest.approx(total / n, **ROUNDING)
    assert asking.is_asked.tolist() == asked
    assert asking.asked == pytest.approx(sum(asked) / n)
    assert asking.nobody == pytest.approx(error_cost * errors.mean())
    assert asking.everybody == asking_cost
    assert asking.saves_nobody.mean == pytest.approx(asking.nobody - asking.cost, **ROUNDING)
    assert asking.saves_everybody.mean == pytest.approx(asking.everybody - asking.cost, **ROUNDING)


def test_the_curve_begins_with_nobody_and_ends_with_everybody():
    errors, doubt = rows(1, 50)
    curve = metrics.asking_curve(errors, doubt, 3.0, 2.0)
    assert curve.cost[0] == pytest.approx(3.0 * errors.mean())
    assert curve.cost[-1] == pytest.approx(2.0)
    # Sorting by the errors themselves is never dearer.
    assert np.all(curve.best <= curve.cost + ZERO)
    limit = metrics.best_threshold(errors, doubt, 3.0, 2.0)
    at_limit = naive.cost_of_asking(errors, doubt, limit, 3.0, 2.0)
    assert curve.cost.min() == pytest.approx(at_limit)


def test_chance_is_seldom_called_a_saving():
    """An uncertainty that says nothing about errors, at the price where it matters most."""
    n_called = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        wrong, doubt = rng.random(300) < 0.25, rng.random(300)
        n_called += metrics.ask_by_threshold(wrong, doubt, error_cost=4.0, seed=seed).is_cheaper
    # 2.5 % each way; 5 of 60 or more would come by chance with probability 0.02.
    assert n_called <= 4


def test_the_saving_is_that_of_fresh_rows():
    """Averaged over tables, the cost by halves is what the thresholds cost on rows never seen."""

    def draw(rng, n):
        doubt = rng.random(n)
        return rng.random(n) < 0.5 * doubt**2, doubt

    honest, fresh, naive_cost = [], [], []
    for seed in range(80):
        rng = np.random.default_rng(seed)
        wrong, doubt = draw(rng, 120)
        honest.append(metrics.ask_by_threshold(wrong, doubt, 5.0, seed=seed).cost)
        naive_cost.append(metrics.asking_curve(wrong, doubt, 5.0).cost.min())
        limit = metrics.best_threshold(wrong[:60], doubt[:60], 5.0)
        new_wrong, new_doubt = draw(rng, 4000)
        fresh.append(naive.cost_of_asking(new_wrong, new_doubt, limit, 5.0, 1.0))
    # The std of a mean of 80 costs is 0.008; the naive minimum is too cheap by 0.06.
    assert np.mean(honest) == pytest.approx(np.mean(fresh), abs=0.03)
    assert np.mean(naive_cost) < np.mean(fresh) - 0.03


def test_nothing_to_ask_about():
    asking = metrics.ask_by_threshold(np.zeros(10), np.arange(10.0))
    assert (asking.threshold, asking.asked, asking.cost) == (math.inf, 0.0, 0.0)
    assert math.isnan(asking.caught)
    assert not asking.is_cheaper
    every = metrics.ask_by_threshold(np.ones(10), np.arange(10.0), error_cost=2.0)
    assert (every.threshold, every.asked, every.cost, every.caught) == (-math.inf, 1.0, 1.0, 1.0)


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
        tried = np.append(0.0, expit(np.linspace(-9.0, 9.0, 400)))
        missed = np.array([(mine < threshold).sum() for threshold in tried])
        # mapie may round a number of misses up, since it multiplies their share by all rows.
        least, most = (tried[binom.cdf(missed + more, 150, 0.1) <= 0.05].max() for more in (1, 0))
        assert least <= choice.threshold <= most
        assert choice.recall == (mine >= choice.threshold).mean() >= 0.9
        n_others = int((others >= choice.threshold).sum())
        assert choice.precision == pytest.approx(1 - n_others / (250 * choice.called))
    assert short <= 6  # 5 % are expected; more by 3 in 1,000
    assert metrics.recall_threshold([1] * 59, [0.5] * 59).recall == 1.0
    assert math.isnan(metrics.recall_threshold([1] * 58, [0.5] * 58).threshold)
    assert metrics.recall_threshold([1] * 25_000, rng.random(25_000)).called > 0.94
