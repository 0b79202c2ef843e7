"""The small Gaussian process against scikit-learn's, and what it says away from its rows."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from gbuq_core.stacking.process import fit_process, negative_likelihood


def rows(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    return X, ((y - y.mean()) / y.std())[:, None]


def test_gradient_is_that_of_the_likelihood():
    X, y = rows()
    targets = np.concatenate([y, -y[::-1]], axis=1)
    theta = np.log([0.8, 0.05, 1.0, 2.0, 0.5])
    noisy = np.linspace(0.5, 2.0, len(X))
    value, gradient = negative_likelihood(theta, X, targets, noisy)
    slope = approx_fprime(theta, lambda t: negative_likelihood(t, X, targets, noisy)[0], 1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4 * abs(value))


def test_predictions_are_scikit_learns():
    X, y = rows()
    process = fit_process(X, y)
    kernel = ConstantKernel(process.signal) * Matern(process.lengths, nu=2.5)
    other = GaussianProcessRegressor(kernel + WhiteKernel(process.noise), optimizer=None)
    other.fit(X, y[:, 0])
    new = rows(50, seed=1)[0]
    mean, variance = process.predict(new)
    expected, std = other.predict(new, return_std=True)
    np.testing.assert_allclose(
        mean[:, 0], np.clip(expected, y.min() - 0.5, y.max() + 0.5), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(variance, std**2 - process.noise, rtol=1e-5, atol=1e-6)


def test_errors_left_out_are_those_of_a_process_without_the_row():
    X, y = rows()
    process = fit_process(X, y)
    kernel = ConstantKernel(process.signal) * Matern(process.lengths, nu=2.5)
    found = process.errors_left_out()
    for k in (0, 17, 59):
        rest = np.arange(len(X)) != k
        other = GaussianProcessRegressor(kernel, alpha=process.noise, optimizer=None)
        mean = other.fit(X[rest], y[rest, 0]).predict(X[[k]])[0]
        assert found[k] == pytest.approx(y[k, 0] - mean, rel=1e-6, abs=1e-6)


def test_a_start_is_left_for_a_better_likelihood_and_useless_columns_get_long_lengths():
    X, y = rows(120)
    process = fit_process(X, y)
    assert process.lengths[2] > 3.0 * process.lengths[:2].max()
    assert process.noise < 0.05


def test_a_weight_counts_as_so_many_rows():
    X, y = rows(40)
    weight = np.r_[np.full(20, 3.0), np.ones(20)]
    many = np.repeat(np.arange(40), weight.astype(int))
    theta = np.log([0.8, 0.3, 1.0, 2.0, 0.5])
    # The mean of w equal rows has a w-th of their noise, so both have the same posterior mean.
    kernel = ConstantKernel(0.8) * Matern([1.0, 2.0, 0.5], nu=2.5)
    copies = GaussianProcessRegressor(kernel, alpha=0.3, optimizer=None).fit(X[many], y[many, 0])
    once = GaussianProcessRegressor(kernel, alpha=0.3 / weight, optimizer=None).fit(X, y[:, 0])
    np.testing.assert_allclose(once.predict(X), copies.predict(X), rtol=1e-6)
    value = negative_likelihood(theta, X, y, 1.0 / weight)[0]
    assert value == pytest.approx(-once.log_marginal_likelihood_value_ - 20 * np.log(2 * np.pi))


def test_beyond_the_box_the_step_is_what_the_mean_does_from_its_edge():
    X, y = rows()
    process = fit_process(X, y)
    new = np.array([[9.0, 0.0, 0.0], [0.1, 0.1, 0.1]])
    mean, latent = process.predict(new)
    edge = process.predict(np.clip(new, X.min(axis=0), X.max(axis=0)))[0][:, 0]
    excess, step = process.leave(new, mean[:, 0], latent)
    np.testing.assert_array_equal(step, [mean[0, 0] - edge[0], 0.0])
    np.testing.assert_allclose(excess, [latent[0] - process.usual, 0.0])
    assert latent[0] > 10.0 * process.usual


def test_training_rows_and_those_at_the_edge_of_the_box_have_no_excess():
    X, y = rows()
    process = fit_process(X, y)
    assert process.usual < process.most < process.signal
    assert not process.leave(X, *_mean_and_latent(process, X))[0].any()
    # On the way out of the box it grows from nothing.
    way = np.tile(X[:1], (50, 1))
    way[:, 0] = X[:, 0].max() + np.r_[0.0, np.geomspace(1e-6, 5.0, 49)]
    excess = process.leave(way, *_mean_and_latent(process, way))[0]
    assert excess[0] == 0.0
    assert excess[1] < 1e-3 * excess[-1]
    assert (np.diff(excess) >= 0.0).all()


def test_a_slope_does_not_lead_far_beyond_the_targets():
    x = np.linspace(-1.0, 1.0, 60)[:, None]
    process = fit_process(x, 3.0 * x)
    far = np.array([[1.1], [2.0], [40.0]])
    mean = process.predict(far)[0][:, 0]
    assert 3.0 < mean[0] < 3.5
    assert mean[1] == 3.5
    assert process.leave(far, mean, process.predict(far)[1])[1].max() < 0.6


def _mean_and_latent(process, new):
    mean, latent = process.predict(new)
    return mean[:, 0], latent


def test_a_row_does_not_depend_on_its_batch():
    process = fit_process(*rows())
    new = rows(400, seed=2)[0]
    mean, variance = process.predict(new)
    for k in (0, 191, 192, 399):
        one, latent = process.predict(new[k : k + 1])
        assert (one[0, 0], latent[0]) == (mean[k, 0], variance[k])


def test_columns_that_never_vary_leave_it():
    X, y = rows()
    X[:, 2] = 4.0
    process = fit_process(X, y)
    assert process.used.tolist() == [True, True, False]
    moved = X.copy()
    moved[:, 2] = 9.0
    np.testing.assert_array_equal(process.predict(moved)[0], process.predict(X)[0])
