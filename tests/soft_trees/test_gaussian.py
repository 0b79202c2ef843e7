"""The low-rank posterior of a soft tree: KL, densities, draws, and its training."""

import naive_soft_trees as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from tolerances import SAME_SUM

from gbuq_core.soft_trees.fitting import (
    factor_rate,
    noise_of,
    posterior,
    run_steps,
    start_state,
    training_plan,
)
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.gaussian_kernels import allocate_kl_work, kl_gradient
from gbuq_core.soft_trees.layout import TreeShape


def a_gaussian(rng, n, rank, size=1.0):
    return LowRankGaussian(
        rng.normal(size=n), rng.uniform(0.1, 1.5, n), size * rng.normal(size=(n, rank))
    )


def kl_and_gradient(q, prior_scale):
    columns = np.ascontiguousarray(q.factor.T)
    out = np.empty_like(q.mean), np.empty_like(q.scale), np.empty_like(columns)
    work = allocate_kl_work(*columns.shape)
    value = kl_gradient((q.mean, q.scale, columns), prior_scale, work, *out)
    return value, (out[0], out[1], out[2].T)


@given(n=st.integers(1, 12), rank=st.integers(0, 14), seed=st.integers(0, 2**32))
def test_kl_is_the_textbook_one(n, rank, seed):
    q = a_gaussian(np.random.default_rng(seed), n, rank)
    value, gradients = kl_and_gradient(q, 2.5)
    # Condition numbers up to some 1e4 in the dense twin: 1e4 eps = 1e-12, with room.
    assert value == pytest.approx(naive.kl(*q, 2.5), rel=1e-9, abs=1e-9)
    assert q.kl(2.5) == value
    assert value >= 0
    for own, twin in zip(gradients, naive.kl_gradient(*q, 2.5), strict=True):
        np.testing.assert_allclose(own, twin, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("rank", [0, 1, 4])
def test_kl_gradient_equals_finite_differences(rank, rng):
    q = a_gaussian(rng, 7, rank)
    _, gradients = kl_and_gradient(q, 1.3)
    for name, own in zip(q._fields, gradients, strict=True):
        values = getattr(q, name)
        twin = naive.five_point(
            lambda moved, name=name: q._replace(**{name: moved}).kl(1.3), values, 1e-3
        )
        # h^4 = 1e-12 times a fifth derivative of up to 24 / scale^5 = 2e6, at the least scale.
        np.testing.assert_allclose(own, twin, rtol=1e-6, atol=1e-6)


def test_kl_equals_monte_carlo(rng):
    q = a_gaussian(rng, 6, 2)
    thetas = q.draw(20_000, seed=4)
    log_prior = -0.5 * (thetas**2).sum(axis=1) / 2.5**2 - 6 * np.log(2.5 * np.sqrt(2 * np.pi))
    terms = q.log_density(thetas) - log_prior
    # Four standard errors: a right KL fails once in 16,000 seeds, and the seed is fixed.
    assert abs(terms.mean() - q.kl(2.5)) < 4 * terms.std() / np.sqrt(len(terms))


@pytest.mark.parametrize("rank", [0, 3])
def test_log_density_is_the_dense_one(rank, rng):
    q = a_gaussian(rng, 5, rank)
    points = rng.normal(size=(4, 2, 5))
    dense = multivariate_normal(q.mean, q.covariance()).logpdf(points)
    np.testing.assert_allclose(q.log_density(points), dense, rtol=SAME_SUM)


@pytest.mark.parametrize("rank", [0, 3])
def test_draws_have_the_mean_and_the_covariance(rank, rng):
    q = a_gaussian(rng, 4, rank)
    thetas, n = q.draw(20_000, seed=9), 20_000
    variances = q.marginal_scale() ** 2
    np.testing.assert_allclose(variances, np.diag(q.covariance()))
    assert (np.abs(thetas.mean(axis=0) - q.mean) < 4.5 * np.sqrt(variances / n)).all()
    # Var of a sample covariance entry: (s_ii s_jj + s_ij^2) / n.
    errors = np.sqrt((np.outer(variances, variances) + q.covariance() ** 2) / n)
    assert (np.abs(np.cov(thetas.T) - q.covariance()) < 4.5 * errors).all()


def test_more_draws_keep_the_earlier_ones(rng):
    q = a_gaussian(rng, 4, 2)
    few, more = q.draw(3, seed=2), q.draw(8, seed=2)
    np.testing.assert_array_equal(few, more[:3])
    np.testing.assert_array_equal(q.draw(5, seed=2, first=3), more[3:])
    assert not (q.draw(3, seed=3) == few).any()
    assert not (q.draw(3, seed=2, member=1) == few).any()


def test_a_nearly_singular_posterior_keeps_its_kl_and_gradient(rng):
    q = LowRankGaussian(np.zeros(6), np.full(6, 1e-7), rng.normal(size=(6, 6)))
    value, gradients = kl_and_gradient(q, 2.0)
    # The scale of 1e-7 hardly counts beside V: the KL is that of V alone.
    assert value == pytest.approx(naive.kl(q.mean, np.full(6, 1e-12), q.factor, 2.0), rel=1e-6)
    assert all(np.isfinite(gradient).all() for gradient in gradients)


def a_problem(rng, shape, n=60):
    X = rng.normal(size=(n, shape.n_features))
    if shape.output == "classes":
        y = (X[:, 0] > 0).astype(float)
    else:
        y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)
    return X, np.ascontiguousarray(X.T), y


def trained(shape, Xt, y, chunks, rank=2, noise=0.5, **options):
    plan = training_plan(shape, len(y), rank=rank, n_steps=sum(chunks), **options)
    mean = np.linspace(-1, 1, shape.n_parameters)
    state = start_state(shape, mean, 0.1, rank, noise=noise, n_rows=len(y), seed=plan.seed)
    path = np.empty(plan.n_steps)
    for n_steps in chunks:
        run_steps(plan, state, Xt, y, path, n_steps)
    return state, path


@pytest.mark.parametrize(
    ("output", "rank", "options"),
    [
        ("mixture", 2, {}),
        ("mixture", 0, {"batch_size": 25, "n_draws": 3}),
        ("mean", 7, {"antithetic": True, "n_draws": 4}),
        ("mean", 1, {"learn_noise": False}),
        ("classes", 3, {"batch_size": 60, "n_draws": 1}),
    ],
)
def test_steps_are_those_of_the_naive_trainer(output, rank, options, rng):
    shape = TreeShape(2, 2, "linear", output, 2 if output == "classes" else 0)
    X, Xt, y = a_problem(rng, shape)
    options = {"seed": 5, "member": 3, "learning_rate": 0.02, "warm_up": 0.3, **options}
    plan = training_plan(shape, len(y), rank=rank, n_steps=12, **options)
    state = start_state(shape, rng.normal(size=shape.n_parameters), 0.1, rank, n_rows=len(y))
    twin = naive.Trainer(shape, plan, state)
    path = np.empty(12)
    run_steps(plan, state, Xt, y, path, 12)
    twin.run(X, y, 12)
    # Rounding of 1e-13 in a gradient may be enlarged where Adam divides by a small one.
    np.testing.assert_allclose(path, twin.elbos, rtol=1e-8)
    groups = (state.mean, state.raw_scale, state.columns.T, state.raw_noise)
    for own, expected in zip(groups, twin.groups, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-7, atol=1e-7)
    assert state.step[0] == 12


@pytest.mark.parametrize("batch_size", [None, 17])
def test_chunks_change_nothing_and_seeds_do(batch_size, rng):
    shape = TreeShape(2, 1)
    _, Xt, y = a_problem(rng, shape)
    state, path = trained(shape, Xt, y, [40], batch_size=batch_size)
    for chunks in ([1] * 40, [7, 13, 20]):
        other, other_path = trained(shape, Xt, y, chunks, batch_size=batch_size)
        np.testing.assert_array_equal(other.values, state.values)
        np.testing.assert_array_equal(other_path, path)
    other, _ = trained(shape, Xt, y, [40], batch_size=batch_size, seed=1)
    assert not (other.mean == state.mean).any()


def test_steps_end_with_the_plan_and_go_on_from_a_state(rng):
    shape = TreeShape(1, 1)
    _, Xt, y = a_problem(rng, shape)
    plan = training_plan(shape, len(y), rank=2, n_steps=10)
    state = start_state(shape, np.zeros(10), 0.1, 2)
    path = np.empty(10)
    run_steps(plan, state, Xt, y, path, 6)
    copy, q = start_state(shape, np.zeros(10), 0.1, 2), posterior(state)
    for part in ("values", "first", "second", "step", "order"):  # the others are views of values
        getattr(copy, part)[:] = getattr(state, part)
    run_steps(plan, state, Xt, y, path, 100)
    assert state.step[0] == 10
    np.testing.assert_array_equal(q.mean, copy.mean)
    assert not (copy.mean == state.mean).any()
    run_steps(plan, copy, Xt, y, path, 4)
    np.testing.assert_array_equal(copy.values, state.values)
    assert np.shares_memory(copy.values, copy.columns)


def test_the_noise_of_a_mean_output_is_learnt(rng):
    shape = TreeShape(0, 1, "constant", "mean")
    y = 0.3 * rng.normal(size=400)
    Xt = np.zeros((1, 400))
    state, _ = trained(shape, Xt, y, [600], rank=0)
    # The std of 400 residuals has a standard error of 1 / sqrt(800) = 3.5 %; this is the same
    # sample, so only the training's own noise remains.
    assert noise_of(state) == pytest.approx(y.std(), rel=0.02)
    fixed, _ = trained(shape, Xt, y, [50], rank=0, noise=0.7, learn_noise=False)
    assert noise_of(fixed) == pytest.approx(0.7, rel=SAME_SUM)


def test_rank_20_climbs_as_high_as_rank_5(rng):
    shape = TreeShape(2, 1)
    _, Xt, y = a_problem(rng, shape, 100)
    ends = {rank: trained(shape, Xt, y, [1500], rank=rank)[1][-200:].mean() for rank in (5, 20)}
    # A diverged run ends hundreds of nats lower.
    assert ends[20] > ends[5] - 5.0
    assert factor_rate(20, 0.03) < factor_rate(5, 0.03)
