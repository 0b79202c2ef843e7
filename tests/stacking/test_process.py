"""The small Gaussian process against scikit-learn's, and what it says away from its rows."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from threadpoolctl import threadpool_info

from gbuq_core.parallel import one_blas_thread
from gbuq_core.stacking.process import bend, condition, fit_process, follow, negative_likelihood


def rows(n=60, p=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)
    return X, ((y - y.mean()) / y.std())[:, None]


@pytest.mark.parametrize("n", [60, 2])  # of few rows no axis is bent
def test_gradient_is_that_of_the_likelihood(n):
    X, y = rows(n)
    targets = np.concatenate([y, -y[::-1]], axis=1)
    theta = np.r_[np.log([0.8, 0.05, 1.0, 2.0, 0.5]), [0.2, 1.5, -0.7] if n > 3 else []]
    noisy = np.linspace(0.5, 2.0, len(X))
    value, gradient = negative_likelihood(theta, X, targets, noisy)
    slope = approx_fprime(theta, lambda t: negative_likelihood(t, X, targets, noisy)[0], 1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-4, atol=1e-4 * abs(value))


@pytest.mark.parametrize("p", [3, 90])
def test_predictions_are_scikit_learns(p):
    X, y = rows(p=p)
    process = fit_process(X, y)
    kernel = ConstantKernel(process.signal) * Matern(process.lengths, nu=2.5)
    other = GaussianProcessRegressor(kernel + WhiteKernel(process.noise), optimizer=None)
    other.fit(bend(X, process.bends)[0], y[:, 0])
    new = rows(50, p, seed=1)[0]
    mean, variance = process.predict(new)
    expected, std = other.predict(bend(new, process.bends)[0], return_std=True)
    np.testing.assert_allclose(
        mean[:, 0], np.clip(expected, y.min() - 0.5, y.max() + 0.5), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(variance, std**2 - process.noise, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 3.0, 300)])
def test_a_process_that_follows_rows_has_scikit_learns_mean_of_all_of_them(weight):
    X, y = rows(300)
    process = fit_process(X[:60], y[:60])
    exact = follow(process, X, y, weight)
    kernel = ConstantKernel(process.signal) * Matern(process.lengths, nu=2.5)
    noise = process.noise / (1.0 if weight is None else weight)
    other = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None)
    other.fit(bend(X, process.bends)[0], y[:, 0])
    new = rows(50, seed=1)[0]
    mean = other.predict(bend(new, process.bends)[0])
    # Two factorisations of one matrix.
    np.testing.assert_allclose(exact.predict(new)[0][:, 0], np.clip(mean, *process.reach[:, 0]),
                               atol=1e-8)  # fmt: skip
    np.testing.assert_array_equal(exact.predict(new)[1], process.predict(new)[1])


def test_every_thread_has_one_blas_thread_and_leaves_the_limit_as_it_was():
    def counts(_=None):
        return {part["num_threads"] for part in threadpool_info() if part["user_api"] == "blas"}

    def limited(_):
        with one_blas_thread():
            return counts()

    before = counts()
    limited(0)  # the main thread sets a limit first
    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(limited, range(8))] == [{1}] * 8
    assert counts() == before


def dense(process, X, y, new, noisy=1.0):
    """Mean and latent variance of new rows, by matrices of all rows (Snelson, Ghahramani 2006)."""
    kernel = ConstantKernel(process.signal) * Matern(np.ones(len(process.lengths)), nu=2.5)
    X, new = (bend(part, process.bends)[0] / process.lengths for part in (X, new))
    points = process.points
    among = np.linalg.inv(kernel(points) + 1e-10 * process.signal * np.eye(len(points)))
    seen, asked = kernel(X, points), kernel(new, points)
    covariance = seen @ among @ seen.T
    np.fill_diagonal(covariance, process.signal)
    inverse = np.linalg.inv(covariance + process.noise * noisy * np.eye(len(X)))
    across = asked @ among @ seen.T
    left = process.signal - np.einsum("ij,jk,ik->i", across, inverse, across)
    return across @ inverse @ y, left


def test_more_rows_speak_through_the_points():
    X, y = rows(150)
    weight = np.linspace(0.5, 3.0, 150)
    few = fit_process(X[:40], y[:40])
    process = condition(few, X, y, weight)
    new = rows(50, seed=1)[0]
    mean, latent = dense(few, X, y, new, 1.0 / weight)
    answer = process.predict(new)
    np.testing.assert_allclose(answer[0], np.clip(mean, *process.reach), atol=1e-5)
    np.testing.assert_allclose(answer[1], latent, atol=1e-5)
    # Each row without itself: its latent variance as of a new row.
    alone = [
        dense(
            few,
            *(np.delete(part, k, axis=0) for part in (X, y)),
            X[k : k + 1],
            1.0 / np.delete(weight, k),
        )[1][0]
        for k in range(150)
    ]
    assert process.usual == pytest.approx(np.median(alone), abs=1e-5)
    assert process.most == pytest.approx(max(alone), abs=1e-5)


def test_a_start_is_left_for_a_better_likelihood_and_useless_columns_get_long_lengths():
    X, y = rows(120)
    process = fit_process(X, y)
    assert process.lengths[2] > 3.0 * process.lengths[:2].max()
    assert process.noise < 0.05


def test_axes_are_bent_where_the_function_is_steep():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    f = np.log(X[:, :1] + 0.01)
    process = fit_process(X[:150], f[:150] + 0.3 * rng.normal(size=(150, 1)))
    assert process.bends[2, 0] > 1.5
    assert abs(process.bends[2, 1]) < 1.0
    assert np.square(process.predict(X[150:])[0] - f[150:]).mean() < 0.02


def test_a_bend_keeps_the_range_and_no_axis_is_flatter_outside():
    bends = np.array([[2.0, 2.0, 2.0], [4.0, 4.0, 4.0], [-3.0, 0.0, 5.0]])
    x = np.linspace(-2.0, 10.0, 121)[:, None] * np.ones(3)
    bent = bend(x, bends)[0]
    np.testing.assert_allclose(bent[40], 0.0, atol=1e-6)
    np.testing.assert_allclose(bent[80], 4.0)
    np.testing.assert_allclose(bent[:, 1], x[:, 1] - 2.0, atol=1e-5)
    steps = np.diff(bent, axis=0)
    assert (steps > 0.0).all()
    assert (np.delete(steps, np.s_[40:80], axis=0) >= 0.1 - 1e-6).all()


def test_a_weight_counts_as_so_many_rows():
    X, y = rows(40)
    weight = np.r_[np.full(20, 3.0), np.ones(20)]
    many = np.repeat(np.arange(40), weight.astype(int))
    theta = np.r_[np.log([0.8, 0.3, 1.0, 2.0, 0.5]), 0.0, 0.0, 0.0]
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


@pytest.mark.parametrize("signal", [0.7, 4.0])
def test_far_from_rows_another_prior_takes_the_place_of_the_process_s(signal):
    process = fit_process(*rows())._replace(signal=signal)
    mean, latent, other = np.array([0.3, 0.2, 0.0]), np.array([0.2, 0.5, 1.0]) * signal, 0.5
    got = process.lean(mean, latent, latent, np.full(3, other))
    # Bayes's rule on a grid: what the rows say is the posterior over the prior.
    grid = np.linspace(-60.0, 60.0, 240_001)
    room = min(signal, 1.0)
    for at in range(3):
        logs = norm.logpdf(grid, mean[at], latent[at] ** 0.5) - norm.logpdf(grid, 0, signal**0.5)
        mass = np.exp(logs + norm.logpdf(grid, other, room**0.5))
        centre = (mass @ grid) / mass.sum()
        assert got[0][at] == pytest.approx(centre)
        assert got[1][at] == pytest.approx(mass @ (grid - centre) ** 2 / mass.sum())
    assert (got[0][2], got[1][2]) == pytest.approx((other, room))
    # Rows that are not beyond hear nothing of it, others as far as they are.
    np.testing.assert_array_equal(process.lean(mean, latent, 0.0 * latent, mean), [mean, latent])
    half = process.lean(mean, latent, 0.5 * latent, np.full(3, other))
    np.testing.assert_allclose(half, 0.5 * (np.array(got) + [mean, latent]))


def _mean_and_latent(process, new):
    mean, latent = process.predict(new)
    return mean[:, 0], latent


@pytest.mark.parametrize("known", [60, 300])
def test_a_row_does_not_depend_on_its_batch(known):
    X, y = rows(known)
    process = condition(fit_process(X[:60], y[:60]), X, y)
    new = rows(400, seed=2)[0]
    mean, variance = process.predict(new)
    for k in (0, 191, 192, 399):
        alone, latent = process.predict(new[k : k + 1])
        assert (alone[0, 0], latent[0]) == (mean[k, 0], variance[k])


def test_columns_that_never_vary_leave_it():
    X, y = rows()
    X[:, 2] = 4.0
    process = fit_process(X, y)
    assert process.used.tolist() == [True, True, False]
    moved = X.copy()
    moved[:, 2] = 9.0
    np.testing.assert_array_equal(process.predict(moved)[0], process.predict(X)[0])
