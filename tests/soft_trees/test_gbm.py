"""The boosted sum of soft trees: algorithm 1 step by step, its noise, its stages."""

import numpy as np
import pytest
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.soft_trees import VariationalSoftGBMRegressor, boosting_machine
from gbuq_core.soft_trees.forward import draw_moments
from gbuq_core.synthetic import make_gap

KNOBS = {"n_trees": 3, "depth": 2, "n_steps": 500, "n_draws": 40, "random_state": 0}


@pytest.fixture(scope="module")
def gap():
    return make_gap(random_state=0)


@pytest.fixture(scope="module")
def model(gap):
    return VariationalSoftGBMRegressor(**KNOBS).fit(gap.X, gap.y)


def inner(gap, model):
    return (gap.y - model.target_scale_.centre) / model.target_scale_.spread


def test_stages_add_up_to_the_functions(gap, model):
    grid = gap.grid[::30]
    staged = model.staged_functions(grid)
    assert staged.shape == (3, 40, len(grid))
    np.testing.assert_allclose(staged[-1], model.sample_functions(grid), rtol=SAME_SUM)
    pictures = [model.tree_picture(grid, draw=7, tree=t).output for t in range(3)]
    np.testing.assert_allclose(np.cumsum(pictures, axis=0), staged[:, 7], rtol=CANCELLED, atol=ZERO)
    with pytest.raises(InvalidParameter, match="tree must be a whole number"):
        model.tree_picture(grid, tree=3)


def test_each_tree_is_fitted_to_what_draws_of_all_earlier_ones_leave(gap, model, monkeypatch):
    """Algorithm 1 replayed: the residuals that `fit_tree` is given, and who is drawn for them."""
    fits, fit_tree = [], boosting_machine.fit_tree

    def watch(shape, matrix, target, *others):
        fits.append((matrix, target.copy()))
        return fit_tree(shape, matrix, target, *others)

    monkeypatch.setattr(boosting_machine, "fit_tree", watch)
    again = VariationalSoftGBMRegressor(**KNOBS).fit(gap.X, gap.y)
    np.testing.assert_array_equal(
        again.posterior_[2].mean, model.posterior_[2].mean
    )  # same seed, same result
    whole = inner(gap, model)
    np.testing.assert_allclose(fits[0][1], whole, rtol=SAME_SUM)
    sums = [whole - target for _, target in fits]
    # One tree's draw, then those of two: none is its posterior mean, and the first tree is drawn
    # anew for the third.
    matrix = fits[0][0]
    for number in (1, 2):
        draws = [
            tree.posterior.draw(
                1, again.seed_, first=boosting_machine._RESIDUAL_DRAW + number, member=t
            )
            for t, tree in enumerate(again.trees_[:number])
        ]
        expected = sum(
            draw_moments(tree.shape, tree.beta, theta, matrix).means[0]
            for tree, theta in zip(again.trees_, draws, strict=False)
        )
        np.testing.assert_allclose(sums[number], expected, rtol=CANCELLED, atol=ZERO)
    first = again.trees_[0]
    at_mean = draw_moments(first.shape, first.beta, first.posterior.mean[None], matrix).means[0]
    assert np.abs(sums[1] - at_mean).max() > 1e-3


def test_the_noise_is_inverse_gamma_given_the_residuals(gap, model):
    n, draws = 150, 4000
    functions = model.sample_functions(gap.X, draws)
    squares = np.square((gap.y - functions) / model.target_scale_.spread).sum(axis=1)
    shape, rate = 3.0 + n / 2, 1.0 + squares / 2
    drawn = model.noise_variances(draws) / model.target_scale_.spread**2
    # rate / sigma^2 is Gamma(a + n/2, 1): mean and variance a + n/2 = 78.
    gammas = rate / drawn
    error = np.sqrt(shape / draws)
    assert gammas.mean() == pytest.approx(shape, abs=4 * error)
    assert gammas.var() == pytest.approx(shape, rel=4 * np.sqrt(2 / draws) + 0.05)
    np.testing.assert_array_equal(model.noise_variances(10), model.noise_variances(20)[:10])
    members = model.predict_members(gap.grid[:5], 10)
    expected = np.broadcast_to(model.noise_variances(10)[:, None], (10, 5))
    np.testing.assert_allclose(members[..., 1], expected, rtol=SAME_SUM)


def test_the_prior_of_the_noise_counts(gap, model):
    sure = VariationalSoftGBMRegressor(**KNOBS, noise_shape=3e6, noise_rate=3e6 * 0.25)
    drawn = sure.fit(gap.X, gap.y).noise_variances() / sure.target_scale_.spread**2
    np.testing.assert_allclose(drawn, 0.25, rtol=0.01)  # its prior is 0.25 within 0.1 %
    assert model.noise_variances().mean() < 0.2 * gap.y.var()


def test_the_noise_of_many_rows_is_told_by_a_part(gap, model, monkeypatch):
    monkeypatch.setattr(boosting_machine, "MAX_NOISE_ROWS", 100)
    part = VariationalSoftGBMRegressor(**KNOBS).fit(gap.X, gap.y)
    # The mean of 100 of the 150 squared residuals, whose relative error is about sqrt(2 / 100).
    assert part.noise_variances().mean() == pytest.approx(
        model.noise_variances().mean(), rel=3 * np.sqrt(2 / 100)
    )


def test_functions_part_in_the_gap_and_more_trees_fit_better(gap, model):
    spread = model.sample_functions(gap.grid, 200).std(axis=0)
    between = np.abs(gap.grid[:, 0]) < 0.6
    # Fits of five trees and 3,000 steps reach 5 to 10.
    assert spread[between].mean() > 2 * spread[gap.in_support].mean()
    staged = model.staged_functions(gap.X, 40).mean(axis=1)
    errors = np.sqrt(np.mean((staged - gap.row_mean) ** 2, axis=1))
    assert errors[-1] < 0.25 * gap.y.std()
