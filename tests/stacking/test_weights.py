"""Weights by EM, the gate for voices, and the weights of the means."""

import numpy as np
import pytest
from scipy.optimize import minimize

from gbuq_core.stacking.voices import Component
from gbuq_core.stacking.weights import (
    Judged,
    choose_mean_weights,
    choose_weights,
    expect_weights,
)

RNG = np.random.default_rng(0)


def test_em_finds_the_weights_of_most_posterior_probability():
    masses = RNG.uniform(0.01, 1.0, (3, 200))
    weight = RNG.uniform(0.5, 2.0, 200)
    weights = expect_weights(masses, weight, 5000)
    prior = np.r_[0.02 * weight.sum(), 1e-3, 1e-3]

    def loss(free):
        w = np.exp(free - np.logaddexp.reduce(free))
        return -(weight @ np.log(w @ masses) + prior @ np.log(w))

    best = minimize(loss, np.zeros(3), tol=1e-12).x
    np.testing.assert_allclose(weights, np.exp(best - np.logaddexp.reduce(best)), atol=1e-3)


def test_a_weight_is_so_many_rows():
    masses = RNG.uniform(0.01, 1.0, (3, 50))
    weight = RNG.integers(1, 4, 50)
    copies = np.repeat(masses, weight, axis=1)
    once = expect_weights(masses, weight.astype(float))
    np.testing.assert_allclose(once, expect_weights(copies, np.ones(copies.shape[1])))


def judged(log_gain, crps_gain, n=400):
    """Trees and one other voice, better by so much in either score in the mean."""
    noise = np.random.default_rng(1).normal(size=n)  # the same, whatever ran before
    masses = np.stack([np.full(n, 0.1), 0.1 * np.exp(log_gain + 0.1 * noise)])
    ahead = np.zeros((n, 1))
    errors = np.stack([np.ones(n), 1.0 - crps_gain + 0.1 * noise])
    return Judged(masses, errors[:, :, None], ahead, np.ones(1), np.arange(n) % 5, np.ones(n))


CASES = {
    "better in both": (0.3, 0.2, True), "better in one": (0.3, 0.0, True),
    "worse in CRPS": (0.3, -0.3, False), "worse in the log score": (-0.3, 0.3, False),
    "worse in both": (-0.3, -0.2, False),
}  # fmt: skip


@pytest.mark.parametrize(("log_gain", "crps_gain", "enters"), CASES.values(), ids=CASES)
def test_a_voice_enters_if_it_helps_and_harms_neither_score(log_gain, crps_gain, enters):
    components = (Component("trees", 0, 0.0), Component("process", 0, 10.0))
    weights, entered = choose_weights(components, judged(log_gain, crps_gain))
    assert ("process" in entered) == enters
    assert weights.sum() == pytest.approx(1.0)
    assert (weights[1] > 0.2) == enters


def test_rows_of_one_fold_weigh_voices_too():
    """As where a table is held out in halves, and each half's law is weighed by the other."""
    scores = judged(0.3, 0.2)._replace(fold=np.full(400, 3))
    components = [Component("trees", 0, 0.0), Component("process", 0, 10.0)]
    weights, entered = choose_weights(components, scores)
    assert entered == ("trees", "process")
    assert weights[1] > 0.5
    y = RNG.normal(size=400)
    means = np.stack([np.zeros(400), y], axis=1)
    assert choose_mean_weights(means, y, scores.fold, scores.weight)[1] > 0.5


def test_mean_weights_are_least_squares_and_the_trees_alone_where_nothing_is_gained():
    y = RNG.normal(size=300)
    fold = np.arange(300) % 5
    trees, other = y + 0.5 * RNG.normal(size=300), y + 0.5 * RNG.normal(size=300)
    nothing = np.full(300, np.nan)
    means = np.stack([trees, nothing, RNG.normal(size=300), other], axis=1)
    weights = choose_mean_weights(means, y, fold, np.ones(300))
    assert weights.sum() == pytest.approx(1.0)
    assert weights[[0, 3]] == pytest.approx([0.5, 0.5], abs=0.08)  # three errors of least squares
    assert weights[1] == 0.0
    worse = np.stack([y, nothing, y + 1.0, nothing], axis=1)
    assert choose_mean_weights(worse, y, fold, np.ones(300)).tolist() == [1.0, 0.0, 0.0, 0.0]


def test_weights_of_means_are_drawn_to_the_trees_by_the_error_of_their_gain():
    rng = np.random.default_rng(3)
    y, fold = rng.normal(size=200), np.arange(200) % 5
    trees, other = y + 0.5 * rng.normal(size=200), y + 0.9 * rng.normal(size=200)

    def slope(rows):
        away = (other - trees)[rows]
        return away @ (y - trees)[rows] / (away @ away)

    gain = np.square(y - trees)
    for k in range(5):
        mixed = trees + slope(fold != k) * (other - trees)
        gain[fold == k] -= np.square(y - mixed)[fold == k]
    t = gain.mean() / (gain.std() / np.sqrt(200))
    assert 1.5 < t < 6.0
    nothing = np.full(200, np.nan)
    means = np.stack([trees, nothing, nothing, other], axis=1)
    weights = choose_mean_weights(means, y, fold, np.ones(200))
    assert weights[3] == pytest.approx((1.0 - 1.0 / t**2) * slope(np.ones(200, bool)))
