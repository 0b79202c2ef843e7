"""Rows that calibrate count as often as they weigh: whole weights equal repeated rows."""

import numpy as np
import pytest
from catboost import CatBoostRegressor
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import CANCELLED, NEAR_ZERO

from gbuq_core import CalibratedRegressor, MacauRegressor
from gbuq_core.calibration.laws import ResidualDistribution, fit_coverage_map


def draw(seed, n=120):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    y = X[:, 0] + (0.1 + 0.4 * X[:, 1]) * rng.standard_t(4, size=n)
    return X, y, rng.integers(0, 4, n)


@pytest.fixture(scope="module")
def macau():
    X, y, _ = draw(0)
    return MacauRegressor(n_trees=4, min_child_samples=15, random_state=0, n_jobs=1).fit(X, y)


@pytest.fixture(scope="module")
def catboost():
    X, y, _ = draw(0)
    model = CatBoostRegressor(
        iterations=60, loss_function="RMSEWithUncertainty", verbose=False, thread_count=1
    )
    return model.fit(X, y)


def compare(weighted, repeated, X):
    law, other = weighted.predict_distribution(X), repeated.predict_distribution(X)
    for left, right in zip([*law, *law.interval(0.8)], [*other, *other.interval(0.8)], strict=True):
        np.testing.assert_allclose(left, right, rtol=CANCELLED)
    y = np.asarray(law.loc) + 0.1
    np.testing.assert_allclose(law.cdf(y), other.cdf(y), rtol=CANCELLED)
    np.testing.assert_allclose(law.quantile([0.2, 0.7]), other.quantile([0.2, 0.7]), rtol=CANCELLED)


@pytest.mark.parametrize("method", ["scale", "conformal", "isotonic"])
def test_whole_weights_of_calibration_rows_equal_repeated_rows(macau, method):
    X, y, weight = draw(1)
    weighted = CalibratedRegressor(macau, method).fit(X, y, sample_weight=weight)
    repeated = CalibratedRegressor(macau, method).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert weighted.n_calibration_ == (weight > 0).sum()
    # The factor's search stops within 0.005 of its logarithm, on the same path for the same sums.
    compare(weighted, repeated, X)
    plain = CalibratedRegressor(macau, method).fit(X, y)
    assert plain.factor_ != weighted.factor_


def test_clocks_count_weights(catboost):
    X, y, weight = draw(1)
    weighted = CalibratedRegressor(catboost, "two_clocks").fit(X, y, sample_weight=weight)
    repeated = CalibratedRegressor(catboost, "two_clocks")
    repeated.fit(X.repeat(weight, axis=0), y.repeat(weight))
    for name in ("mean_trees", "scale_trees", "df"):
        assert getattr(weighted.clocks_, name) == getattr(repeated.clocks_, name)
    np.testing.assert_allclose(weighted.clocks_.nll, repeated.clocks_.nll, rtol=CANCELLED)
    compare(weighted, repeated, X)


@pytest.mark.parametrize("method", ["scale", "conformal", "isotonic"])
def test_folds_calibrate_by_weight(method):
    X, y, weight = draw(2)
    fitted, held = np.arange(70), np.arange(70, 120)
    base = MacauRegressor("basic", n_trees=3, min_child_samples=10, random_state=0, n_jobs=1)
    weighted = CalibratedRegressor(base, method, cv=[(fitted, held)], random_state=0)
    weighted.fit(X, y, sample_weight=weight)
    place = np.arange(120).repeat(weight)
    cv = [(np.flatnonzero(place < 70), np.flatnonzero(place >= 70))]
    repeated = CalibratedRegressor(base, method, cv=cv, random_state=0).fit(X[place], y[place])
    compare(weighted, repeated, X)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.0, 9.0), st.integers(1, 4)), min_size=2, max_size=30),
    st.floats(0.05, 0.6),
    st.integers(0, 2**31),
)
def test_laws_of_weighted_residuals_are_those_of_repeated_ones(pairs, level, seed):
    sizes, weight = np.array([a for a, _ in pairs]), np.array([float(b) for _, b in pairs])
    centre, width = np.array([1.0, -2.0]), np.array([1.0, 3.0])
    repeated = sizes.repeat(weight.astype(int))
    law = ResidualDistribution(centre, width, sizes, weight)
    other = ResidualDistribution(centre, width, repeated)
    y = np.random.default_rng(seed).normal(size=2) * 3.0
    for name, at in (("interval", level), ("cdf", y), ("crps", y), ("quantile", [level])):
        left, right = getattr(law, name)(at), getattr(other, name)(at)
        np.testing.assert_allclose(left, right, rtol=CANCELLED, atol=NEAR_ZERO)
    assert law.scale == pytest.approx(other.scale)
    curves = fit_coverage_map(sizes, 5.0, weight), fit_coverage_map(repeated, 5.0)
    grid = np.linspace(0.0, 1.0, 50)
    left, right = (np.interp(grid, curve.nominal, curve.coverage) for curve in curves)
    np.testing.assert_allclose(left, right, atol=NEAR_ZERO)


def test_fractions_lie_between_whole_weights(macau):
    X, y, _ = draw(4)
    ends = []
    for extra in (0.0, 0.5, 1.0):
        weight = np.where(np.abs(y - macau.predict(X)) > 0.4, 1.0 + extra, 1.0)
        model = CalibratedRegressor(macau, tails="normal", floor=False)
        model.fit(X, y, sample_weight=weight)
        ends.append(model.factor_)
    assert ends[0] < ends[1] < ends[2]
