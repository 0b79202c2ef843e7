"""Maps of probabilities, and targets that are another kind of value."""

import numpy as np
import pytest
from scipy import stats

from gbuq_core.stacking.outliers import find_outliers, tame_targets
from gbuq_core.stacking.recalibrating import fit_map, needs_map
from gbuq_core.stacking.voices import local_spreads


def test_uniform_probabilities_ask_for_no_map_and_others_do(rng):
    ones = np.ones(400)
    asked = [needs_map(rng.random(400), ones) for _ in range(300)]
    assert np.mean(asked) <= 0.03  # .01 by the test; 300 draws add at most .02 (3.5 std errors)
    assert needs_map(rng.random(400) ** 1.5, ones)


def test_the_test_is_that_of_kolmogorov_and_smirnov(rng):
    pit, ones = rng.random(2000) ** 1.1, np.ones(2000)
    p = stats.kstest(pit, "uniform").pvalue
    assert needs_map(pit, ones) == (p < 0.01)


def test_a_map_makes_probabilities_uniform_and_rises_everywhere(rng):
    pit = rng.beta(0.6, 1.4, 2000)
    table = fit_map(pit, np.ones(2000))
    assert (table[0], table[-1]) == (0.0, 1.0)
    assert (np.diff(table) > 0.0).all()
    new = np.interp(rng.beta(0.6, 1.4, 20_000), np.linspace(0.0, 1.0, len(table)), table)
    # Kolmogorov's distance of 2,000 rows is below .037 in 99 %, of 20,000 below .012.
    assert stats.kstest(new, "uniform").statistic < 0.05


def test_a_weight_counts_rows(rng):
    pit, weight = rng.random(300) ** 2, rng.integers(1, 4, 300)
    table = fit_map(pit, weight.astype(float))
    again = fit_map(np.repeat(pit, weight), np.ones(weight.sum()))
    np.testing.assert_allclose(table, again, atol=0.02)  # ranks inside a repeated row differ


def test_probabilities_at_both_ends_leave_a_map():
    table = fit_map(np.repeat([0.0, 1.0], 50), np.ones(100))
    assert (np.diff(table) > 0.0).all()


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
def test_a_unit_error_is_an_outlier_and_a_heavy_tail_is_none(rng, scale):
    y = scale * (3.0 + rng.normal(size=400))
    y[[7, 99]] *= 1000.0
    y[200] = -500.0 * scale
    np.testing.assert_array_equal(find_outliers(y), [7, 99, 200])
    tame = tame_targets(y, find_outliers(y))
    assert tame[7] == tame.max() == np.delete(y, [7, 99, 200]).max()
    np.testing.assert_array_equal(np.delete(tame, [7, 99, 200]), np.delete(y, [7, 99, 200]))


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=400),
        lambda rng: np.exp(3.0 * rng.normal(size=400)),
        lambda rng: rng.standard_t(3, 400),
        lambda rng: rng.poisson(0.5, 400).astype(float),
        lambda rng: np.where(rng.random(400) < 0.9, 0.0, rng.exponential(size=400)),
        lambda rng: rng.pareto(1.5, 400),
    ],
    ids=["normal", "log-normal", "t", "counts", "zeros", "Pareto"],
)
def test_few_tables_without_outliers_get_any(rng, draw):
    assert np.mean([len(find_outliers(draw(rng))) > 0 for _ in range(100)]) <= 0.03


def test_a_tenth_of_the_rows_are_no_outliers(rng):
    y = rng.normal(size=400)
    y[:40] += 1000.0
    assert not len(find_outliers(y))


def test_local_spreads_are_the_std_of_a_normal_and_small_where_targets_are_close(rng):
    y = rng.normal(size=1000)
    assert np.mean(local_spreads(y, 1e-3, 1.0) == 1.0) > 0.8
    skewed = np.exp(3.0 * rng.normal(size=1000))
    spreads = local_spreads(skewed, 1e-9, float(skewed.std()))
    order = np.argsort(skewed)
    assert spreads[order[100]] < 0.1 * spreads[order[500]] < 0.01 * spreads[order[990]]
    assert (spreads > 0.0).all()
    tied = np.repeat([0.0, 1.0, 2.0], 100)
    np.testing.assert_array_equal(local_spreads(tied, 1.0, 0.8), 0.8)
    np.testing.assert_array_equal(local_spreads(np.full(50, 3.0), 1e-3, 1.0), 1e-3)
