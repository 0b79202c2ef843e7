"""A linear log-variance by the Gaussian NLL: its gradient, its minimum, and what it finds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gbuq_core.baselines import GaussianNLLRegressor
from gbuq_core.baselines.gaussian_nll import fit_log_variance, log_variance_nll


def test_the_gradient_of_the_nll_is_that_of_finite_differences(rng):
    X, squares = rng.normal(size=(50, 3)), rng.exponential(size=50)
    c = rng.normal(size=4)
    _, gradient = log_variance_nll(c, X, squares)
    step = 1e-5
    numeric = [
        (log_variance_nll(c + d, X, squares)[0] - log_variance_nll(c - d, X, squares)[0])
        / (2 * step)
        for d in step * np.eye(4)
    ]
    # Central differences: step^2 of the third derivative and eps/step of rounding, near 1e-10.
    np.testing.assert_allclose(gradient, numeric, rtol=1e-7, atol=1e-8)


def test_newton_reaches_the_minimum_that_a_general_optimiser_finds(rng):
    X = rng.normal(size=(200, 3))
    squares = np.exp(1.0 + X @ [0.5, -1.0, 0.0]) * rng.chisquare(1, 200)
    coefficients = fit_log_variance(X, squares)
    theirs = minimize(log_variance_nll, np.zeros(4), (X, squares), jac=True, options={"gtol": 1e-9})
    # The ridge is 5e-9 a row: coefficients move by as much over the smallest curvature, 0.1 or so.
    np.testing.assert_allclose(coefficients, theirs.x, atol=1e-5)
    # Convex: the mean of two points is not above the mean of their values.
    a, b = rng.normal(size=(2, 4))
    middle = log_variance_nll((a + b) / 2, X, squares)[0]
    assert middle <= (log_variance_nll(a, X, squares)[0] + log_variance_nll(b, X, squares)[0]) / 2


def test_degenerate_residuals_have_a_log_variance():
    X = np.linspace(-1, 1, 20)[:, None]
    np.testing.assert_allclose(fit_log_variance(X, np.zeros(20)), [np.log(1e-12), 0.0], atol=1e-6)
    twice = np.hstack([X, X, np.zeros((20, 1))])
    coefficients = fit_log_variance(twice, np.exp(2.0 * X[:, 0]))
    # Two equal columns share the slope of 2; the ridge pulls it by 1e-8 or so.
    np.testing.assert_allclose(coefficients, [0.0, 1.0, 1.0, 0.0], atol=1e-4)
    outlier = np.r_[1e12, np.full(19, 1e-12)]
    assert np.isfinite(fit_log_variance(X, outlier)).all()


def test_gnll_finds_a_log_linear_noise(rng):
    X = rng.uniform(-1, 1, size=(4000, 2))
    y = 3.0 + np.exp(0.5 + X[:, 0]) * rng.normal(size=4000)
    model = GaussianNLLRegressor(20, subsample=0.1, random_state=0, n_jobs=1).fit(X, y)
    # log s^2 = 1 + 2 x_0. Standard errors are sqrt(2/n / var x) = 0.04 for a slope: five of them.
    # The forest's own error adds to the residuals, most where the noise is small (0.15).
    np.testing.assert_allclose(model.coef_, [2.0, 0.0], atol=0.2 + 0.15)
    assert model.intercept_ == pytest.approx(1.0, abs=0.25)
