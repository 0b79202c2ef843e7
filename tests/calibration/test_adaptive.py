"""Intervals that adapt: coverage under drift, one row at a time, and input that is refused."""

import numpy as np
import pytest

from gbuq_core import AdaptiveIntervals
from gbuq_core.distribution import NormalDistribution
from gbuq_core.errors import GbuqError

N = 1500


class _Fixed:
    """A model that says the same of every row, whatever came."""

    def predict_distribution(self, X):
        return NormalDistribution(np.zeros(len(X)), np.ones(len(X)))


def _series(kind):
    rng, t = np.random.default_rng(0), np.arange(N)
    noise = rng.normal(size=N)
    return {
        "as predicted": noise,
        "random walk": np.cumsum(noise),
        "variance that drifts": noise * np.exp(np.sin(t / 150.0)),
        "five times as much, by turns": noise * np.where(t // 400 % 2, 5.0, 1.0),
        "skewed, with a trend": rng.exponential(size=N) + 0.01 * t,
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "as predicted",
        "random walk",
        "variance that drifts",
        "five times as much, by turns",
        "skewed, with a trend",
    ],
)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_coverage_comes_back_in_every_window(kind, level):
    y = _series(kind)
    lower, upper = AdaptiveIntervals(_Fixed(), level).update(np.zeros((N, 1)), y)
    inside = ((y >= lower) & (y <= upper))[300:]
    windows = np.convolve(inside, np.full(200, 1.0 / 200.0), "valid")
    # Three standard deviations of 200 independent rows, and the same again for what drifts.
    slack = 3.0 * np.sqrt(level * (1.0 - level) / 200.0)
    assert np.mean(np.abs(windows - level) <= slack) >= 0.95
    assert abs(inside.mean() - level) < 0.02


def test_rows_come_in_blocks_or_one_by_one():
    y = _series("random walk")[:60]
    X = np.zeros((60, 1))
    whole = AdaptiveIntervals(_Fixed())
    at_once = whole.update(X, y)
    single, ends = AdaptiveIntervals(_Fixed()), []
    for row in range(60):
        ends.append([end[0] for end in single.predict_interval(X[:1])])
        single.update(X[row : row + 1], y[row : row + 1])
    np.testing.assert_array_equal(np.transpose(ends), at_once)
    assert single.coverage_ == whole.coverage_ == np.mean((y >= at_once[0]) & (y <= at_once[1]))
    assert single.n_rows_ == 60


def test_the_first_interval_is_the_models_own():
    lower, upper = AdaptiveIntervals(_Fixed(), 0.9).predict_interval(np.zeros((1, 1)))
    np.testing.assert_allclose([lower[0], upper[0]], [-1.6449, 1.6449], atol=1e-4)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: AdaptiveIntervals(_Fixed(), 1.5), "level"),
        (lambda: AdaptiveIntervals(object()), "predict_distribution"),
        (lambda: AdaptiveIntervals(_Fixed()).update(np.zeros((3, 1)), [1.0]), "3 rows, y has 1"),
        (lambda: AdaptiveIntervals(_Fixed()).update(np.zeros((1, 1)), [np.nan]), "y"),
    ],
)
def test_what_is_refused(make, words):
    with pytest.raises(GbuqError, match=words):
        make()
