"""Baselines that know more than a mean and a std: the laws through quantiles and over draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core import CalibratedRegressor
from gbuq_core.baselines import (
    ConformalizedQuantileRegressor,
    QuantileForestRegressor,
    XBARTRegressor,
)
from gbuq_core.baselines.quantiles import (
    QuantileDistribution,
    RoundedDistribution,
    values_of_target,
)
from gbuq_core.distribution import MixtureDistribution, NormalDistribution
from gbuq_core.errors import InvalidData, MemoryLimitExceeded

RANDOM = np.random.default_rng(11)
X = RANDOM.uniform(0.0, 10.0, (300, 1))
Y = np.sin(X[:, 0]) + 0.2 * X[:, 0] * RANDOM.exponential(size=300)  # skewed
NEW, Y_NEW = X[:40] + 0.05, Y[:40]
MODELS = {
    "quantile": QuantileForestRegressor(n_trees=15, random_state=0),
    "cqr": ConformalizedQuantileRegressor(n_trees=15, random_state=0),
    "xbart": XBARTRegressor(n_trees=5, n_draws=30, random_state=0),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(X, Y) for name, model in MODELS.items()}


def make_law(seed=0, n=5, k=7, tied=False):
    """A law of n rows through k quantiles; with ``tied`` the third and the fourth are equal."""
    random = np.random.default_rng(seed)
    levels = np.sort(random.uniform(0.02, 0.98, k))
    values = np.sort(random.normal(0.0, 2.0, (k, n)), axis=0)
    if tied:
        values[3] = values[2]
    return QuantileDistribution(levels, values, random.normal(size=n), random.uniform(0.5, 2.0, n))


def test_quantiles_are_the_forests_own(fitted):
    model = fitted["quantile"]
    law = model.predict_distribution(NEW)
    levels, lower, upper = model.predict_intervals(NEW)
    for level, low, high in zip(levels, lower, upper, strict=True):
        ends = law.interval(level)
        np.testing.assert_allclose(ends.lower, low, rtol=SAME_SUM, atol=ZERO)
        np.testing.assert_allclose(ends.upper, high, rtol=SAME_SUM, atol=ZERO)
    # Skewed noise: the upper half of the intervals is wider.
    low, middle, high = law.quantile([0.1, 0.5, 0.9]).T
    assert (high - middle).mean() > 1.3 * (middle - low).mean()


def test_intervals_are_the_moved_ones(fitted):
    model = fitted["cqr"]
    law = model.predict_distribution(NEW)
    levels, lower, upper = model.predict_intervals(NEW)
    crossed = (np.diff(lower, axis=0) > 0).any(axis=0) | (np.diff(upper, axis=0) < 0).any(axis=0)
    assert crossed.mean() < 0.5
    for level, low, high in zip(levels, lower, upper, strict=True):
        ends = law.interval(level)
        np.testing.assert_allclose(ends.lower[~crossed], low[~crossed], rtol=CANCELLED, atol=ZERO)
        np.testing.assert_allclose(ends.upper[~crossed], high[~crossed], rtol=CANCELLED, atol=ZERO)


def test_xbart_is_the_mixture_over_its_sweeps(fitted):
    model = fitted["xbart"]
    law = model.predict_distribution(NEW)
    members = model.predict_members(NEW)
    np.testing.assert_array_equal(law.means, members[..., 0])
    np.testing.assert_array_equal(law.variances, members[..., 1])
    plain = MixtureDistribution(members[..., 0], members[..., 1])
    # The estimator adds the variances on its inner scale: rounding.
    np.testing.assert_allclose(law.loc, plain.loc, rtol=SAME_SUM, atol=ZERO)
    np.testing.assert_allclose(law.scale, plain.scale, rtol=SAME_SUM)
    density = np.exp(-0.5 * (Y_NEW - law.means) ** 2 / law.variances)
    density /= np.sqrt(2 * np.pi * law.variances)
    np.testing.assert_allclose(np.exp(law.logpdf(Y_NEW)), density.mean(axis=0), rtol=SAME_SUM)


def test_xbart_reads_rows_in_blocks_and_refuses_too_many(fitted, monkeypatch):
    model = fitted["xbart"]
    whole = model.predict_distribution(NEW)
    monkeypatch.setattr("gbuq_core.baselines.sampled_functions._BLOCK_VALUES", 700)
    blocks = model.predict_distribution(NEW)
    np.testing.assert_array_equal(blocks.means, whole.means)
    # A block's mean may add in another order: rounding.
    np.testing.assert_allclose(blocks.scale, whole.scale, rtol=SAME_SUM)
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 10_000)
    with pytest.raises(MemoryLimitExceeded, match="laws of all draws"):
        model.predict_distribution(NEW)


@pytest.mark.parametrize("values", [[0.0, 1.0, 2.0, 5.0], [-1.5, 0.25], [0.7]])
def test_a_rounded_law_has_the_masses_of_its_values(values):
    inner, values = make_law(2, tied=True), np.array(values)
    law, n = RoundedDistribution(inner, values), len(inner.loc)
    halves = 0.5 * (values[:-1] + values[1:])
    below = np.stack([inner.cdf(np.full(n, half)) for half in halves] + [np.ones(n)])
    masses = np.diff(below, axis=0, prepend=0.0)
    for place, value in enumerate(values):
        np.testing.assert_allclose(law.cdf(np.full(n, value)), below[place], atol=ZERO)
        before = np.full(n, np.nextafter(value, -np.inf))
        np.testing.assert_allclose(law.cdf(before), below[place] - masses[place], atol=ZERO)
    mean = values @ masses
    # Sums in another order: rounding.
    np.testing.assert_allclose(law.mean(), mean, rtol=SAME_SUM, atol=ZERO)
    expected = (masses * np.square(values[:, None] - mean)).sum(axis=0)
    np.testing.assert_allclose(law.variance(), expected, rtol=SAME_SUM, atol=ZERO)
    pairs = np.einsum("in,jn,ij->n", masses, masses, np.abs(values[:, None] - values))
    for y in (values[0] - 2.0, values[0], values.mean() + 0.01, values[-1] + 0.5):
        to_y = (masses * np.abs(values[:, None] - y)).sum(axis=0)
        scores = law.crps(np.full(n, y))
        np.testing.assert_allclose(scores, to_y - 0.5 * pairs, rtol=SAME_SUM, atol=ZERO)
    levels = np.array([0.0, 0.03, 0.4, 0.5, 0.9, 1.0])
    for level, ends in zip(levels, law.quantile(levels).T, strict=True):
        least = values[(below < level - 1e-15).sum(axis=0).clip(max=len(values) - 1)]
        np.testing.assert_array_equal(ends, least)
    drawn = law.sample(20_000, random_state=0)
    for value, mass in zip(values, masses, strict=True):
        assert np.abs((drawn == value).mean(axis=0) - mass).max() < 0.02  # five standard errors
    np.testing.assert_array_equal(law.logpdf(inner.values[1]), inner.logpdf(inner.values[1]))


def test_many_values_are_summed_some_at_a_time(monkeypatch):
    law = RoundedDistribution(make_law(4), np.linspace(-3.0, 3.0, 41))
    whole = law.crps(law.loc), law.mean(), law.variance()
    monkeypatch.setattr("gbuq_core.baselines.quantiles._BLOCK", 35)
    blocks = law.crps(law.loc), law.mean(), law.variance()
    np.testing.assert_allclose(blocks, whole, rtol=1e-12)  # another order of adding


def test_a_law_keeps_the_values_that_many_rows_have():
    y = np.r_[np.zeros(40), np.linspace(1.0, 2.0, 5000), 17.0]
    values = values_of_target(y)
    assert len(values) <= 1001
    assert np.isin(values, y).all()
    assert (values[0], values[-1]) == (0.0, 17.0)
    with pytest.raises(InvalidData, match="values must ascend"):
        RoundedDistribution(NormalDistribution([0.0], [1.0]), [1.0, 1.0])


def test_scores_and_moments_of_a_tied_law_are_the_integrals():
    law = make_law(3, tied=True)
    n = len(law.loc)
    low, high = law.quantile([1e-12, 1 - 1e-12]).T
    for y in (law.values[2] - 0.1, law.values[-1] + 1.0, law.values[0] - 2.0, law.values[3]):
        for row in range(n):

            def gap(x, row=row, y=y):
                return (law.cdf(np.full(n, x))[row] - (y[row] <= x)) ** 2

            breaks = np.sort(np.r_[law.values[:, row], y[row]])
            expected = quad(gap, low[row], high[row], points=breaks, limit=500)[0]
            assert law.crps(y)[row] == pytest.approx(expected, rel=1e-6)
    # The mean over levels; the ends beyond 1e-9 weigh nothing.
    t = (np.arange(400_000) + 0.5) / 400_000
    drawn = law.quantile(t)
    np.testing.assert_allclose(law.mean(), drawn.mean(axis=1), atol=1e-4)
    np.testing.assert_allclose(law.variance(), drawn.var(axis=1), rtol=1e-4)
    # Draws: five standard errors.
    draws = law.sample(20_000, random_state=0)
    off = 5 * np.sqrt(law.variance() / 20_000)
    assert (np.abs(draws.mean(axis=0) - law.mean()) < off).all()
    assert np.abs((draws <= law.values[5]).mean(axis=0) - law.levels[5]).max() < 0.02


def test_quantiles_of_a_normal_give_the_normal():
    normal = NormalDistribution([1.0, -3.0], [0.5, 2.0])
    levels = np.array([0.025, 0.1, 0.25, 0.5, 0.9])
    law = QuantileDistribution(levels, normal.quantile(levels).T, *normal)
    y = np.array([1.7, -4.0])
    np.testing.assert_allclose(law.crps(y), normal.crps(y), rtol=SAME_SUM)
    np.testing.assert_allclose(law.logpdf(y), normal.logpdf(y), rtol=SAME_SUM)
    np.testing.assert_allclose(law.mean(), normal.loc, rtol=SAME_SUM)
    np.testing.assert_allclose(law.variance(), normal.variance(), rtol=SAME_SUM)
    np.testing.assert_allclose(law.quantile([0.7]), normal.quantile([0.7]), rtol=SAME_SUM)


def test_a_law_without_spread_is_a_value():
    law = QuantileDistribution([0.1, 0.9], [[2.0], [2.0]], [2.0], [0.0])
    np.testing.assert_array_equal(law.quantile([0.0, 0.3, 1.0]), [[2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(law.crps([5.0]), [3.0])
    np.testing.assert_array_equal(law.crps([-1.0]), [3.0])
    np.testing.assert_array_equal([law.cdf([1.9])[0], law.cdf([2.0])[0]], [0.0, 1.0])
    with pytest.raises(InvalidData, match="has no density"):
        law.logpdf([2.0])


@pytest.mark.parametrize(
    ("levels", "values", "words"),
    [
        ([0.1, 0.9], [[1.0], [0.0]], "ascend"),
        ([0.9, 0.1], [[0.0], [1.0]], "ascend"),
        ([0.0, 0.9], [[0.0], [1.0]], "between 0 and 1"),
        ([0.1, 0.5, 0.9], [[0.0], [1.0]], "each of the 3 levels; got 2"),
        ([0.1, 0.9], [[0.0, 1.0], [1.0, 2.0]], "same rows"),
    ],
)
def test_what_is_no_law_is_refused(levels, values, words):
    with pytest.raises(InvalidData, match=words):
        QuantileDistribution(levels, values, [0.5], [1.0])


@pytest.mark.parametrize("name", MODELS)
def test_calibration_takes_the_mean_and_the_std_or_the_shape_too(name, fitted):
    stretched = CalibratedRegressor(fitted[name], shape="own").fit(NEW, Y_NEW)
    assert stretched.shape_ == "own"
    law, own = (model.predict_distribution(NEW) for model in (stretched, fitted[name]))
    ratio = law.scale / own.scale
    for end, known in zip(law.interval(0.8), own.interval(0.8), strict=True):
        np.testing.assert_allclose(end - own.loc, ratio * (known - own.loc), atol=ZERO)
    wrapped = CalibratedRegressor(fitted[name], tails="normal", shape="moments").fit(NEW, Y_NEW)
    law = wrapped.predict_distribution(NEW)
    assert type(law) is NormalDistribution
    np.testing.assert_array_equal(law.loc, fitted[name].predict(NEW))
