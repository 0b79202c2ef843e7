"""XBART and the Gaussian process: draws, their moments, known posteriors and refusals."""

import sys

import numpy as np
import pytest
from refusal_parts import refused
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits
from tolerances import CANCELLED, NEAR_ZERO, ZERO

from gbuq_core.baselines import GaussianProcessBaseline, XBARTRegressor, gaussian_process, xbart
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.synthetic import make_step, make_tails

TREES = {"n_trees": 10, "n_draws": 40, "random_state": 0}
MODELS = [XBARTRegressor(**TREES), GaussianProcessBaseline(n_draws=40, random_state=0)]


@pytest.fixture(scope="module", autouse=True)
def one_blas_thread():
    """Scikit-learn's own matrices are small as well: threads would wait for each other."""
    with threadpool_limits(1, user_api="blas"):
        yield


@pytest.fixture(scope="module")
def tails():
    return make_tails(random_state=0)


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: type(model).__name__)
def model(request, tails):
    return clone(request.param).fit(tails.X, tails.y)


def test_draws_have_the_mean_and_the_knowledge_that_are_predicted(model, tails):
    grid = tails.grid[::20]
    kept = isinstance(model, XBARTRegressor)
    draws = model.sample_functions(grid) if kept else model.sample_functions(grid, 20_000)
    known = model.predict_uncertainty(grid)
    loc, scale = model.predict_distribution(grid)
    # XBART's draws are all there are: rounding. 20,000 of the process: five standard errors.
    std = np.sqrt(known.knowledge)
    off = NEAR_ZERO if kept else 5 * std / np.sqrt(20_000)
    assert (np.abs(draws.mean(axis=0) - loc) <= off).all()
    relative = CANCELLED if kept else 5 * np.sqrt(2 / 20_000)
    np.testing.assert_allclose(draws.var(axis=0), known.knowledge, rtol=relative)
    np.testing.assert_allclose(known.total, known.data + known.knowledge)
    np.testing.assert_allclose(scale**2, known.total)
    np.testing.assert_array_equal(model.predict(grid), loc)


def test_the_mean_and_the_noise_are_found(model, tails):
    inside = tails.in_support
    error = model.predict(tails.grid) - tails.mean
    # The noise is 0.1 and 150 rows carry a curve of a few bends: an error near a third of it.
    assert np.sqrt(np.mean(error[inside] ** 2)) < 0.08
    noise = np.sqrt(model.predict_uncertainty(tails.grid).data.mean())
    # Its own standard error is 0.1 / sqrt(300) = 0.006: within five.
    assert noise == pytest.approx(0.1, abs=0.03)


def test_rows_are_scored_in_blocks(model, tails, monkeypatch):
    whole = model.predict_uncertainty(tails.grid)
    monkeypatch.setattr("gbuq_core.baselines.sampled_functions._BLOCK_VALUES", 2000)
    # A block's matrix product may add in another order: rounding.
    np.testing.assert_allclose(
        model.predict_uncertainty(tails.grid), whole, rtol=CANCELLED, atol=ZERO
    )


def test_xbart_draws_are_thinned_evenly(tails):
    model = XBARTRegressor(**TREES).fit(tails.X, tails.y)
    grid = tails.grid[:3]
    every = model.sample_functions(grid)
    assert every.shape == (40, 3)
    np.testing.assert_array_equal(model.sample_functions(grid, 14), every[::3])
    members = model.predict_members(grid, 14)
    np.testing.assert_array_equal(members[:, :, 0], every[::3])
    np.testing.assert_array_equal(members[:, 1, 1], model.noise_variances_[::3])
    with refused(InvalidParameter, "n_draws must be .* at most 40"):
        model.sample_functions(grid, 41)


def test_xbart_finds_a_step_and_extends_it_as_a_constant():
    step = make_step(random_state=0)
    model = XBARTRegressor(**TREES).fit(step.X, step.y)
    # The paper's RMSE is 0.098; 150 rows with noise 0.1 leave the step's place uncertain by one
    # row, 0.013, whose share of the range, 0.007, alone gives 0.08.
    assert np.sqrt(np.mean((model.predict(step.grid) - step.mean) ** 2)) < 0.1
    far = model.sample_functions([[1.0], [5.0]])
    np.testing.assert_array_equal(far[:, 0], far[:, 1])


def test_xbart_splits_columns_of_few_values():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, size=(200, 3)).astype(float)
    y = X[:, 0] + 0.1 * rng.standard_normal(200)
    predicted = XBARTRegressor(**TREES).fit(X, y).predict(X)
    # 0.3 is far above the noise and far below y's std of 1.1, which the mean of y would leave
    assert np.sqrt(np.mean((predicted - X[:, 0]) ** 2)) < 0.3


def test_gaussian_process_agrees_with_scikit_learn(tails):
    model = GaussianProcessBaseline(random_state=0).fit(tails.X, tails.y)
    square = tails.y.var()
    kernel = ConstantKernel(model.signal_variance_ / square) * RBF(
        model.length_scale_
    ) + WhiteKernel(model.noise_variance_ / square)
    theirs = GaussianProcessRegressor(kernel, optimizer=None)
    scaled = (tails.grid - tails.X.mean()) / tails.X.std()
    theirs.fit(
        (tails.X - tails.X.mean()) / tails.X.std(), (tails.y - tails.y.mean()) / tails.y.std()
    )
    mean, std = theirs.predict(scaled, return_std=True)
    loc, scale = model.predict_distribution(tails.grid)
    # Their std holds the noise as well. Rounding, magnified by the covariance's condition, 1e5.
    np.testing.assert_allclose(loc, tails.y.mean() + tails.y.std() * mean, atol=1e-8)
    np.testing.assert_allclose(scale, tails.y.std() * std, rtol=1e-6)
    assert model.log_marginal_likelihood_ == pytest.approx(
        theirs.log_marginal_likelihood_value_, abs=1e-7
    )


def test_gaussian_process_finds_a_better_optimum_than_any_nearby(tails):
    model = GaussianProcessBaseline(random_state=0).fit(tails.X, tails.y)
    best = model.log_marginal_likelihood_
    process = GaussianProcessRegressor(model._kernel, optimizer=None)
    process.fit(model._X, (tails.y - tails.y.mean()) / tails.y.std())
    for axis in range(3):
        for step in (-0.05, 0.05):
            theta = model._kernel.theta.copy()
            theta[axis] += step
            assert process.log_marginal_likelihood(theta) < best


def test_gaussian_process_fans_out_and_reaches_its_prior(tails):
    model = GaussianProcessBaseline(random_state=0).fit(tails.X, tails.y)
    knowledge = model.predict_uncertainty(np.r_[tails.grid, [[1e6]]]).knowledge
    inside, outside = np.append(tails.in_support, False), np.append(~tails.in_support, False)
    assert np.sqrt(knowledge[outside].mean()) > 4 * np.sqrt(knowledge[inside].mean())
    assert knowledge[-1] == pytest.approx(model.signal_variance_)
    assert model.predict([[1e6]])[0] == pytest.approx(tails.y.mean())


def test_gaussian_process_draws_are_smooth_and_a_prefix_of_more(tails):
    model = GaussianProcessBaseline(random_state=0).fit(tails.X, tails.y)
    few, many = (model.sample_functions(tails.grid, n) for n in (3, 9))
    # One matrix product of another shape: rounding.
    np.testing.assert_allclose(many[:3], few, rtol=0, atol=NEAR_ZERO)
    # Neighbours on the grid are 0.01 apart, a hundredth of the length scale or so.
    assert np.abs(np.diff(few, axis=1)).max() < 0.1
    assert few.std(axis=0)[0] > 0.01


def test_impossible_rows_are_refused(model, monkeypatch):
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    with refused(InvalidData, "contains NaN"):
        clone(model).fit(np.where(X == 3, np.nan, X), y)
    with refused(InvalidData, "not numbers"):
        clone(model).fit(X, ["a"] * 20)
    with refused(InvalidData, "contains NaN"):
        model.predict([[np.nan]])
    with refused(InvalidParameter, "n_draws must be"):
        model.sample_functions([[0.0]], 0)
    with refused(InvalidData, "too few for XBART"):
        XBARTRegressor().fit(X[:2], y[:2])
    with refused(InvalidData, "only one value"):
        XBARTRegressor().fit(X, np.ones(20))
    monkeypatch.setattr(gaussian_process, "MAX_GP_ROWS", 10)
    with refused(InvalidData, "20 rows, but a Gaussian process takes at most 10"):
        GaussianProcessBaseline().fit(X, y)
    with refused(InvalidData, "squares overflow"):
        GaussianProcessBaseline().fit(1e300 * X[:9], y[:9])


def test_a_missing_stochtree_is_one_sentence(tails, monkeypatch):
    monkeypatch.setitem(sys.modules, "stochtree", None)
    with refused(InvalidParameter, "needs the package stochtree"):
        xbart.XBARTRegressor().fit(tails.X, tails.y)


def test_rows_that_know_nothing_of_each_other_are_noise():
    X = np.array([[-2.37], [-1.73], [-1.09], [-0.45], [0.49], [1.46]])
    y = np.array([1.22, 0.14, 0.68, 1.33, -0.08, 1.01])
    model = GaussianProcessBaseline(random_state=0).fit(X, y)
    # The likeliest kernel would be shorter than the picture's grid, its functions noise.
    assert model.length_scale_ > 0.5
    assert model.noise_variance_ == pytest.approx(y.var(), rel=0.01)
    functions = model.sample_functions(np.linspace(-3.0, 3.0, 200)[:, None], 20)
    assert np.abs(np.diff(functions, axis=1)).max() < 0.01


def test_a_constant_target_is_a_constant_for_the_process():
    model = GaussianProcessBaseline().fit([[0.0], [1.0], [2.0]], [4.0, 4.0, 4.0])
    np.testing.assert_allclose(model.predict([[0.5]]), 4.0)


def test_roots_of_singular_covariances_are_found(tails, monkeypatch):
    model = GaussianProcessBaseline(random_state=0).fit(tails.X, tails.y)
    twice = np.repeat(tails.grid[::20], 2, axis=0)  # each row twice: rank of half the rows

    def fail(matrix):
        raise np.linalg.LinAlgError

    quick = model.sample_functions(twice, 4000)
    monkeypatch.setattr(np.linalg, "cholesky", fail)
    slow = model.sample_functions(twice, 4000)
    known = model.predict_uncertainty(twice).knowledge
    for draws in (quick, slow):
        # The jitter's std is 1e-4 of the prior's; twins differ by sqrt(2) of it, five times at most
        # in 4,000 draws.
        apart = np.abs(draws[:, ::2] - draws[:, 1::2]).max()
        assert apart < 8e-4 * np.sqrt(model.signal_variance_)
        # Five standard errors of a variance of 4,000 draws, and the jitter.
        np.testing.assert_allclose(
            draws.var(axis=0), known, rtol=5 * np.sqrt(2 / 4000), atol=1e-7 * model.signal_variance_
        )
