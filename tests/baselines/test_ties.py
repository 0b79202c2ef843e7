"""Targets of which many rows have one value: intervals of forests of quantiles hold these rows."""

import numpy as np
import pytest
from scipy import stats

from gbuq_core.baselines import ConformalizedQuantileRegressor, QuantileForestRegressor


def make_rows(kind, seed, n=800):
    random = np.random.default_rng(seed)
    X = random.uniform(-1.0, 1.0, (n, 3))
    if kind == "zeros":
        return X, np.where(random.uniform(size=n) < 0.6, 0.0, random.gamma(2.0, np.exp(X[:, 0])))
    if kind == "counts":
        return X, random.poisson(np.exp(0.9 * np.sin(3.0 * X[:, 0]) + 0.5)).astype(float)
    return X, np.clip(np.round(random.normal(3.4 + X[:, 0], 1.0)), 1.0, 5.0)


@pytest.mark.parametrize("kind", ["zeros", "counts", "ratings"])
def test_intervals_hold_values_that_many_rows_have(kind):
    X, y = make_rows(kind, seed=0)
    model = QuantileForestRegressor(n_trees=30, random_state=0, n_jobs=1).fit(X[:400], y[:400])
    law, new = model.predict_distribution(X[400:]), y[400:]
    lower, upper = law.interval(0.9)
    # 0.37 to 0.82 without. Of 400 rows a coverage of 90 % has a std of 1.5 %, and an interval that
    # ends at values holds more than it says.
    assert 0.88 <= np.mean((lower <= new) & (new <= upper)) <= 0.98
    assert np.isin([lower, upper], y[:400]).all()
    assert np.isin(law.quantile([0.0, 0.01, 0.99, 1.0]), y[:400]).all()  # within the range
    assert np.isin(model.predict_quantiles(X[400:], model.quantiles_), y[:400]).all()
    lowest = np.full(400, y.min())
    at_median = law.quantile([0.5])[:, 0] == lowest
    assert (law.cdf(lowest)[at_median] >= 0.5).all()
    np.testing.assert_array_equal(law.cdf(np.nextafter(lowest, -np.inf)), 0.0)


def test_moved_ends_are_the_values_that_many_rows_have():
    # 0.33 without: the shift was a rounding error of single precision.
    X, y = make_rows("zeros", seed=1)
    model = ConformalizedQuantileRegressor(
        n_trees=30, levels=(0.5, 0.9), random_state=0, n_jobs=1
    ).fit(X[:400], y[:400])
    intervals, new = model.predict_intervals(X[400:]), y[400:]
    tiny = 1e-5 * y.std()
    for lower, upper in zip(intervals.lower, intervals.upper, strict=True):
        for end in (lower, upper):
            assert not np.any((np.abs(end) > 0.0) & (np.abs(end) < tiny) & (new == 0.0))
    inside = (intervals.lower[-1] <= new) & (new <= intervals.upper[-1])
    assert 0.85 <= np.mean(inside) <= 0.98
    low, up = model.predict_distribution(X[400:]).interval(0.9)
    np.testing.assert_allclose(np.mean((low <= new) & (new <= up)), np.mean(inside), atol=0.01)


def test_a_target_of_one_tie_in_a_large_offset_keeps_its_unit():
    X, y = make_rows("zeros", seed=2)
    plain = QuantileForestRegressor(n_trees=10, random_state=0, n_jobs=1).fit(X, y)
    moved = QuantileForestRegressor(n_trees=10, random_state=0, n_jobs=1).fit(X, 1000.0 * y + 1e6)
    ends = plain.predict_distribution(X).interval(0.9)
    for end, other in zip(ends, moved.predict_distribution(X).interval(0.9), strict=True):
        same = np.isclose(1000.0 * end + 1e6, other, rtol=0.0, atol=1e-6)
        assert same.mean() > 0.99  # a border between two values may fall to either side
    assert stats.spearmanr(plain.predict(X), moved.predict(X)).statistic > 0.99
