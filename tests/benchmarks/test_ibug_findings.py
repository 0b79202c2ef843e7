"""The experiments on paper 3's table, on a few made-up rows."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from benchmarks.findings import ibug_knn, ibug_settings, ibug_tau
from benchmarks.ibug_data import Rows
from benchmarks.protocols.ibug import PROTOCOL
from benchmarks.tables.protocol import Found


def made_up_parts(scale_of_noise=1.0, n=150):
    """One column that matters, and one of noise whose unit is ``scale_of_noise``."""
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(n, 2))
    y = 10.0 * X[:, 0] + 0.1 * rng.normal(size=n)
    X = X * (1.0, scale_of_noise)
    a, b = n // 2, 3 * n // 4
    return Rows(X[:a], y[:a], X[a:b], y[a:b], X[b:], y[b:], seed=0)


def test_the_mean_of_unscaled_neighbours_depends_on_units():
    small, large = made_up_parts(1.0), made_up_parts(1e4)
    assert ibug_knn.measure(large, True) == pytest.approx(ibug_knn.measure(small, True), rel=1e-6)
    # Only the noise column counts in the distance then.
    assert ibug_knn.measure(large, False)[1] > 3.0 * ibug_knn.measure(small, False)[1]


def test_the_unscaled_mean_is_that_of_a_plain_regressor():
    parts = made_up_parts(50.0)
    chosen = ibug_knn.choose_unscaled(parts)
    errors = {}
    for k in (3, 5, 7, 9, 11, 15, 31, 61):
        plain = KNeighborsRegressor(k).fit(parts.X_fit, parts.y_fit)
        errors[k] = np.square(plain.predict(parts.X_val) - parts.y_val).mean()
    assert chosen.n_neighbors == min(errors, key=errors.get)


def test_indicators_make_sixteen_columns_of_energys_eight():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    X[:, 5], X[:, 7] = rng.integers(2, 6, 200), rng.integers(0, 6, 200)
    y = X[:, 0]
    parts = Rows(X[:100], y[:100], X[100:150], y[100:150], X[150:], y[150:], seed=0)
    columns = ibug_knn.with_indicators(parts).X_test
    assert columns.shape == (50, 16)
    np.testing.assert_array_equal(columns[:, :6], X[150:, [0, 1, 2, 3, 4, 6]])
    np.testing.assert_array_equal(columns[:, 6:10].argmax(axis=1) + 2, X[150:, 5])
    np.testing.assert_array_equal(columns[:, 6:].sum(axis=1), 2.0)


def test_given_settings_reach_the_cells(monkeypatch):
    seen = []

    def run(task):
        seen.append(task.known)
        return Found(dict.fromkeys(ibug_settings.SCORES, float(task.split)), {})

    monkeypatch.setattr(ibug_settings, "PROTOCOL", replace(PROTOCOL, run=run))
    scores = ibug_settings.measure(None, "power", "ibug_cbu", [0, 3], 7, 2000)
    assert scores["crps"] == 1.5
    assert seen[0]["virtual_sglb"] == {"knobs": (7, 0.1), "n_trees": 2000}
    assert seen[0]["ibug"] == {"depth": 7, "n_trees": 2000}


def test_costs_of_fewer_trees_have_a_row_a_share():
    pytest.importorskip("catboost")
    costs = ibug_tau.costs(made_up_parts(), 2, 20, 1)
    assert list(costs) == list(ibug_tau.SHARES)
    assert all(cost.neighbors > 0.0 and cost.mean > 0.0 for cost in costs.values())
