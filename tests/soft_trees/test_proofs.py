"""What must come out of a soft tree's fit because it can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED

from gbuq_core.soft_trees import VariationalSoftTreeRegressor
from gbuq_core.soft_trees.fitting import Climb, FitKnobs, fit_tree, start_means
from gbuq_core.soft_trees.layout import TreeShape

NOISE, PRIOR = 0.5, 1.5
KNOBS = FitKnobs(
    beta=2.0,
    prior_scale=PRIOR,
    rank=2,
    n_steps=300,
    learning_rate=0.03,
    n_gradient_draws=2,
    batch_size=None,
    n_restarts=1,
    flat_tolerance=0.0,
)


@pytest.fixture(scope="module")
def correlated():
    """Rows whose two columns are nearly one, standardised, and their target."""
    rng = np.random.default_rng(3)
    first = rng.normal(size=40)
    X = np.column_stack([first, first + 0.3 * rng.normal(size=40)])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = X @ [1.0, -0.5] + NOISE * rng.normal(size=40)
    return X, (y - y.mean()) / y.std(), y


def true_posterior(X, inner, noise):
    """Mean and precision of Bayesian linear regression with the prior N(0, PRIOR^2)."""
    columns = np.column_stack([X, np.ones(len(X))])
    precision = columns.T @ columns / noise**2 + np.eye(3) / PRIOR**2
    return np.linalg.solve(precision, columns.T @ inner / noise**2), precision


def kl(mean, covariance, true_mean, precision):
    """KL(q || p) of normals, in nats."""
    off = mean - true_mean
    log_dets = np.linalg.slogdet(precision)[1] + np.linalg.slogdet(covariance)[1]
    return 0.5 * (np.trace(precision @ covariance) - len(mean) + off @ precision @ off - log_dets)


def single_leaf(correlated, rank):
    X, _, y = correlated
    return VariationalSoftTreeRegressor(
        depth=0,
        rank=rank,
        prior_scale=PRIOR,
        output="mean",
        noise=NOISE,
        n_steps=6000,
        learning_rate=0.02,
        n_gradient_draws=4,
        flat_tolerance=0.0,
        random_state=0,
    ).fit(X, y)


@pytest.fixture(scope="module")
def full_rank(correlated):
    return single_leaf(correlated, rank=3)


def test_a_single_leaf_of_full_rank_is_bayesian_linear_regression(correlated, full_rank):
    X, inner, y = correlated
    mean, precision = true_posterior(X, inner, NOISE / y.std())
    posterior = full_rank.posterior_
    covariance, exact = posterior.covariance(), np.linalg.inv(precision)
    # Stochastic gradients leave some noise though the rate ends at 0. A KL of 0.02 nats is a mean
    # 0.2 posterior stds off, or one std wrong by 14 %.
    assert kl(posterior.mean, covariance, mean, precision) < 0.02
    stds = np.sqrt(np.diag(exact))
    assert (np.abs(posterior.mean - mean) < 0.2 * stds).all()
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), stds, rtol=0.15)
    # The columns' near collinearity is seen: their weights' correlation is close to -1.
    correlation = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert correlation == pytest.approx(exact[0, 1] / np.sqrt(exact[0, 0] * exact[1, 1]), abs=0.05)


def test_functions_of_the_single_leaf_are_the_regressions_own(correlated, full_rank):
    X, inner, y = correlated
    mean, precision = true_posterior(X, inner, NOISE / y.std())
    rows = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, -2.0]])
    columns = np.column_stack([rows, np.ones(3)])
    functions = full_rank.sample_functions(rows, n_draws=4000)
    expected = y.mean() + y.std() * columns @ mean
    spread = y.std() * np.sqrt(np.einsum("ij,jk,ik->i", columns, np.linalg.inv(precision), columns))
    # The posterior's own error (a fifth of a std) and that of 4,000 draws (1 to 2 %).
    assert (np.abs(functions.mean(axis=0) - expected) < 0.25 * spread).all()
    np.testing.assert_allclose(functions.std(axis=0), spread, rtol=0.2)
    data = full_rank.predict_uncertainty(rows).data
    np.testing.assert_allclose(data, NOISE**2, rtol=CANCELLED)  # the noise is not learnt


def test_rank_0_finds_the_best_mean_field_and_no_more(correlated):
    X, inner, y = correlated
    mean, precision = true_posterior(X, inner, NOISE / y.std())
    posterior = single_leaf(correlated, rank=0).posterior_
    # The best factorised normal has the precisions on the diagonal (Bishop, PRML, 10.1.2).
    best = 1.0 / np.diag(precision)
    np.testing.assert_allclose(posterior.scale, np.sqrt(best), rtol=0.1)
    least = kl(mean, np.diag(best), mean, precision)
    assert least > 0.5  # far from what full rank reaches
    reached = kl(posterior.mean, np.diag(posterior.scale**2), mean, precision)
    assert reached == pytest.approx(least, abs=0.1)


@pytest.mark.parametrize("output", ["mixture", "mean"])
@pytest.mark.parametrize("rank", [0, 3])
def test_without_rows_the_posterior_is_the_prior(output, rank):
    shape = TreeShape(2, 2, "linear", output)
    knobs = replace(KNOBS, rank=rank, n_steps=1500)
    posterior = fit_tree(shape, np.empty((0, 2)), np.empty(0), knobs, seed=1).posterior
    # No likelihood, no noise in the gradient: only Adam's last small steps are left.
    assert posterior.kl(PRIOR) < 1e-2
    np.testing.assert_allclose(posterior.marginal_scale(), PRIOR, rtol=0.02)
    np.testing.assert_allclose(posterior.mean, 0.0, atol=0.05)


@pytest.mark.parametrize("output", ["mixture", "mean"])
def test_the_order_of_rows_does_not_matter(correlated, output):
    X, inner, _ = correlated
    shape = TreeShape(2, 2, "linear", output)
    start = start_means(shape, X, inner, 2.0, seed=5)
    order = np.random.default_rng(0).permutation(len(X))
    fits = []
    for rows in (slice(None), order):  # sums in another order
        climb = Climb(shape, X[rows], inner[rows], start, KNOBS, seed=5, lane=0)
        climb.go(60)
        fits.append(climb.result())
    # Rounding grows along 60 steps, but stays far below the steps themselves (0.03).
    np.testing.assert_allclose(fits[0].posterior.mean, fits[1].posterior.mean, atol=1e-7)
    np.testing.assert_allclose(fits[0].elbo.elbo, fits[1].elbo.elbo, rtol=1e-7)


def test_one_seed_one_result_with_any_number_of_threads(correlated):
    X, inner, _ = correlated
    shape = TreeShape(1, 2)
    knobs = replace(KNOBS, n_restarts=3, n_steps=120)
    fits = [fit_tree(shape, X, inner, knobs, seed=7, n_jobs=jobs) for jobs in (1, 2, 3)]
    for other in fits[1:]:
        for mine, theirs in zip(fits[0].posterior, other.posterior, strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(fits[0].elbo.elbo, other.elbo.elbo)
    assert (fit_tree(shape, X, inner, knobs, seed=8).posterior.mean != fits[0].posterior.mean).any()


def test_the_best_of_several_starts_goes_on(correlated):
    X, inner, _ = correlated
    shape = TreeShape(2, 2)
    tree = fit_tree(shape, X, inner, replace(KNOBS, n_restarts=4), seed=2)
    assert len(tree.elbo.step) == KNOBS.n_steps
    heats = []
    for lane in range(4):
        start = start_means(shape, X, inner, KNOBS.beta, 2000 + lane)
        climb = Climb(shape, X, inner, start, KNOBS, seed=2, lane=lane)
        climb.go(60)  # a fifth of the steps
        heats.append((climb.recent_elbo, climb.result().elbo.elbo))
    assert len({elbo for elbo, _ in heats}) == 4
    np.testing.assert_array_equal(tree.elbo.elbo[:60], max(heats, key=lambda heat: heat[0])[1])


def test_training_lands_early_once_the_bound_is_flat(correlated):
    X, inner, _ = correlated
    shape = TreeShape(1, 2)
    whole = fit_tree(shape, X, inner, replace(KNOBS, n_steps=3000), seed=0)
    early = fit_tree(shape, X, inner, replace(KNOBS, n_steps=3000, flat_tolerance=0.05), seed=0)
    assert len(whole.elbo.step) == 3000
    assert len(early.elbo.step) < 2000
    # The bound may miss what it would still have risen: the tolerance a row for each of the
    # twenty windows.
    last = [fitted.elbo.elbo[-len(fitted.elbo.elbo) // 20 :].mean() for fitted in (early, whole)]
    assert last[0] > last[1] - 20 * 0.05 * len(X)
    assert early.snapshots.step[-1] == len(early.elbo.step)
    np.testing.assert_array_equal(early.snapshots.means[-1], early.posterior.mean)
