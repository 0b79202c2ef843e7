"""Members at the temperature "posterior" are draws from it: their spread against exact ones."""

import exact_posterior as posterior
import numpy as np
import pytest
from boosting_parts import KINDS

from gbuq_core import BoostedEnsembleClassifier

# From 800 draws on, a sample std is off by 1 / sqrt(1600) = 2.5 %, so the bar, 10 %, is four
# standard errors; seeds are fixed. Finite steps and sigma's own spread are below 2 %.
N_DRAWS = 800
LEAVES = pytest.mark.parametrize("leaf_estimation", ["newton", "gradient"])


def assert_ratios(ratios):
    low, high = posterior.BAR
    for variance in ratios:
        assert variance.n_draws >= N_DRAWS
        assert low < variance.ratio < high, variance


@LEAVES
@pytest.mark.parametrize("sigma", posterior.SIGMAS)
def test_means_and_log_stds_of_two_groups(sigma, leaf_estimation):
    """With noise of one size the means spread 1.4, 5 and 20 times too much."""
    assert_ratios(posterior.groups(leaf_estimation, sigma, 3.0, N_DRAWS // 2))


@LEAVES
def test_means_where_noise_varies_inside_a_leaf(leaf_estimation):
    """Unweighted leaves let rows of sigma 0.05 spread several times too much."""
    assert_ratios(posterior.mixed_leaf(leaf_estimation, N_DRAWS))


@LEAVES
@pytest.mark.parametrize("counts", posterior.COUNTS, ids=["binary", "three classes"])
def test_logits(counts, leaf_estimation):
    """Independent noise on the logits makes those of rare classes spread 0.7 times as much."""
    assert_ratios(posterior.logits(leaf_estimation, counts, N_DRAWS))


@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
def test_ends_of_cycles_spread_like_the_posterior(method):
    """A cycle's last gradients are scaled by 1, for long enough to forget the larger ones.

    400 cycles, their first left out: a sample std is off by 4 %, and 15 % are four of them. (Cycles
    end 30 trees of rate 0.1 after their exploration: less than a twentieth of it is left.)
    """
    codes = np.repeat([0, 1], 300)
    model = BoostedEnsembleClassifier(
        method=method, temperature="posterior", n_trees=401 * 60, cycle_length=60, alpha_max=1.5,
        exploration_fraction=0.5, learning_rate=0.1, depth=1, random_strength=0.0, burn_in_cycles=1,
        random_state=0,
    ).fit(np.zeros((600, 1)), codes)  # fmt: skip
    logit = np.diff(np.log(model.predict_members([[0.0]])[:, 0]))[:, 0]
    assert len(logit) == 400
    assert 0.85 < logit.std() / np.sqrt(2 / 300 / 0.95) < 1.15


@KINDS
@pytest.mark.parametrize("leaf_estimation", ["newton", "gradient"])
@pytest.mark.parametrize("temperature", [1e-6, 1e-100])
def test_absurd_noise_leaves_finite_numbers(kind, leaf_estimation, temperature):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    model = kind(
        temperature=temperature, leaf_estimation=leaf_estimation, n_members=2, n_trees=300,
        depth=3, random_state=0,
    ).fit(X, X[:, 0] > 0)  # fmt: skip
    assert np.isfinite(model.predict_members(X)).all()


@KINDS
def test_without_leaf_noise_only_the_choice_of_splits_differs(kind):
    """With a single leaf nothing is chosen, so members are alike."""
    X, y = np.zeros((50, 1)), np.arange(50) % 3
    knobs = {"temperature": "posterior", "n_members": 3, "n_trees": 20, "random_state": 0}
    quiet = kind(leaf_noise=False, **knobs).fit(X, y).predict_members(X[:1])
    noisy = kind(**knobs).fit(X, y).predict_members(X[:1])
    assert np.ptp(quiet, axis=0).max() == 0.0
    assert np.ptp(noisy, axis=0).max() > 0.01
