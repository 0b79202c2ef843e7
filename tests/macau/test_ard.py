"""Linear leaf models beside their naive twin, scikit-learn's ARDRegression, leaf by leaf."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.impute import SimpleImputer
from sklearn.linear_model import ARDRegression
from sklearn.preprocessing import RobustScaler

from gbuq_core.macau.ard_kernels import LinearLeaves, fit_linear_leaves, predict_linear_rows
from gbuq_core.macau.leaves import LeafScaling, LeafTable, fit_scaling


def one_leaf(n_rows, path):
    """A table of one tree with one leaf that holds all rows."""
    begin, path = np.array([0, n_rows]), np.asarray(path, np.int32)
    rows = np.arange(n_rows, dtype=np.int32)
    return LeafTable(np.array([0, 1]), begin, rows, np.array([0, len(path)]), path, -1)


def fit_leaf(X, y, scaling=None):
    """The model of a leaf of all rows; by default on features as they are."""
    p = X.shape[1]
    table = one_leaf(len(X), range(p))
    scaling = scaling or LeafScaling(np.zeros((1, p)), np.zeros((1, p)), np.ones((1, p)))
    model = LinearLeaves(
        np.zeros(1), np.zeros(1), np.zeros(p), np.zeros(p), np.array([0, p * p]), np.zeros(p * p)
    )
    fit_linear_leaves(X, y, 0, 1, table, scaling, model)
    return table, scaling, model


def predict(fitted, X):
    """Mean and standard deviation of every row, (n,) each."""
    means, variances = np.empty((len(X), 1)), np.empty((len(X), 1))
    predict_linear_rows(X, np.zeros((len(X), 1), np.int64), *fitted, means, variances)
    return means[:, 0], np.sqrt(variances[:, 0])


def twin(X, y, rows):
    return ARDRegression().fit(X, y).predict(rows, return_std=True)


def worst_difference(first, second):
    """Of means in stds, and of stds in themselves."""
    std = np.maximum(first[1], second[1])
    gaps = np.abs(first[0] - second[0]) / std, np.abs(first[1] - second[1]) / std
    return max(float(gap.max()) for gap in gaps)


def problem(seed, n, p, kind):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    if kind == "collinear" and p > 1:
        X[:, 1] = -2.0 * X[:, 0]
    if kind == "constant column":
        X[:, 0] = 3.0
    if kind == "whole numbers":
        X = np.round(X)
    weights = rng.normal(size=p) * (rng.random(p) < 0.5) * 10.0 ** rng.uniform(-1, 2)
    y = X @ weights + rng.normal(size=n) * 10.0 ** rng.uniform(-1, 1)
    return X, y, 3.0 * rng.normal(size=(5, p))


KINDS = ("plain", "collinear", "constant column", "whole numbers")


@given(st.integers(0, 2**32), st.integers(2, 40), st.integers(1, 8), st.sampled_from(KINDS))
@settings(max_examples=60)
def test_ard_is_scikit_learns(seed, n, p, kind):
    X, y, rows = problem(seed, n, p, kind)
    theirs = twin(X, y, rows)
    difference = worst_difference(predict(fit_leaf(X, y), rows), theirs)
    # Leaves that are fitted almost exactly have no answer of their own in scikit-learn either: it
    # moves by ``moved`` when the last bit of X does. A thousand such bits stand for the roundings
    # of some hundred iterations, 1e-6 for one step more or less of the slowest convergence.
    nudged = X * (1.0 + 2e-16 * np.random.default_rng(seed).choice([-1.0, 1.0], size=X.shape))
    moved = worst_difference(twin(nudged, y, rows), theirs)
    assert difference <= 1e-6 + 1e3 * moved


@pytest.mark.parametrize(("n", "p"), [(2, 5), (3, 3), (30, 2)])
def test_equal_targets_leave_the_mean_and_no_weights(n, p):
    X, _, rows = problem(0, n, p, "plain")
    y = np.full(n, 0.1)
    mine = predict(fit_leaf(X, y), rows)
    np.testing.assert_array_equal(mine[0], 0.1)  # no rounding of a sum of equal numbers
    # The same formula, with inverses of matrices whose entries differ by 15 digits.
    np.testing.assert_allclose(mine[1], twin(X, y, rows)[1], rtol=1e-6)


def test_one_row_says_its_target_and_doubts_with_the_squared_distance():
    fitted = fit_leaf(np.array([[1.0, 2.0]]), np.array([7.0]))
    mean, std = predict(fitted, np.array([[1.0, 2.0], [4.0, 6.0]]))
    np.testing.assert_array_equal(mean, 7.0)
    # Nothing is learnt: the prior N(0, 1) of both weights, and the noise (n + 2e-6) / 2e-6 of ARD.
    np.testing.assert_allclose(std**2, np.array([0.0, 25.0]) + 2e-6, rtol=1e-5)


def test_an_exact_line_keeps_its_tiny_noise():
    x = np.linspace(-1.0, 1.0, 200)[:, None]
    y = 1e4 * x[:, 0]
    mine, theirs = predict(fit_leaf(x, y), x), twin(x, y, x)
    # Sums of squares are 1e10 here and the squared errors below 1: from the Gram matrix alone they
    # would be off by 1e-6, as much as the prior adds to them.
    np.testing.assert_allclose(mine[0], theirs[0], atol=1e-9)
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-6)


def test_more_rows_than_the_prior_knows_prune_what_is_noise(rng):
    X = rng.normal(size=(500, 3))
    y = 2.0 * X[:, 0] + 0.1 * rng.normal(size=500)
    fitted = fit_leaf(X, y)
    weights = fitted[2].weight
    assert abs(weights[0] - 2.0) < 0.05  # ten standard errors
    np.testing.assert_array_equal(weights == 0.0, ARDRegression().fit(X, y).coef_ == 0.0)
    assert (weights[1:] == 0.0).any()


@given(st.integers(0, 2**32), st.integers(1, 12), st.floats(0.0, 0.9))
@settings(max_examples=60)
def test_scaling_is_scikit_learns_bit_by_bit(seed, n, gaps):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, 4)) * rng.choice([1.0, 1e-12, 1e9], size=4)
    X[rng.random(X.shape) < gaps] = np.nan
    scaling = fit_scaling(X, one_leaf(n, range(4)), n_jobs=1)
    there = ~np.isnan(X).all(axis=0)
    np.testing.assert_array_equal(np.isinf(scaling.scale[0]), ~there)
    if there.any():
        imputer = SimpleImputer(strategy="median").fit(X[:, there])
        scaler = RobustScaler().fit(imputer.transform(X[:, there]))
        np.testing.assert_array_equal(scaling.median[0, there], imputer.statistics_)
        np.testing.assert_array_equal(scaling.centre[0, there], scaler.center_)
        np.testing.assert_array_equal(scaling.scale[0, there], scaler.scale_)


def test_tiny_units_are_scaled_and_rounding_is_not(rng):
    x = rng.normal(size=(20, 1))
    rounding = np.where(np.arange(20) % 2, 0.3, 0.1 + 0.2)  # two floats, one beside the other
    table = one_leaf(20, range(3))
    scaling = fit_scaling(np.hstack([x, 2.0**-60 * x, rounding[:, None]]), table, n_jobs=1)
    # scikit-learn takes any range below 2e-15 for 0, whatever the numbers' size.
    assert scaling.scale[0, 1] == 2.0**-60 * scaling.scale[0, 0]
    assert scaling.scale[0, 2] == 1.0


def test_a_leaf_is_imputed_and_scaled_before_its_regression(rng):
    X = rng.lognormal(size=(60, 3)) * [1.0, 1e3, 1e-3]
    y = X @ [1.0, 2e-3, 0.0] + 0.3 * rng.normal(size=60)
    X[rng.random(X.shape) < 0.2] = np.nan
    rows = np.vstack([X[:5], np.full((1, 3), np.nan)])
    fitted = fit_leaf(X, y, fit_scaling(X, one_leaf(60, range(3)), n_jobs=1))
    imputer = SimpleImputer(strategy="median").fit(X)
    scaler = RobustScaler().fit(imputer.transform(X))
    ready = [scaler.transform(imputer.transform(part)) for part in (X, rows)]
    assert worst_difference(predict(fitted, rows), twin(ready[0], y, ready[1])) < 1e-8
