"""Targets with several modes around their mean."""

import warnings

import numpy as np
import pytest

from gbuq_core import BoostedEnsembleRegressor, StackedRegressor
from gbuq_core.model_files.fields import load
from gbuq_core.stacking.base import Around
from gbuq_core.stacking.modes import find_modes

MODES = {
    "two": lambda rng, n: rng.normal(size=n) + 6.0 * (rng.random(n) < 0.5),
    "unlike": lambda rng, n: (
        rng.normal(size=n) * (0.3 + (upper := rng.random(n) < 0.8)) + 9.0 * upper
    ),
    "three": lambda rng, n: rng.normal(size=n) + 8.0 * rng.integers(0, 3, n),
}
ONE = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "skewed": lambda rng, n: np.exp(2.0 * rng.normal(size=n)),
    "t": lambda rng, n: rng.standard_t(3, n),
    "both ends": lambda rng, n: rng.beta(0.5, 0.5, n),
    "close": lambda rng, n: rng.normal(size=n) + 3.0 * (rng.random(n) < 0.5),
}


@pytest.mark.parametrize("draw", MODES.values(), ids=MODES)
def test_modes_that_stand_apart_are_found(rng, draw):
    values = draw(rng, 400)
    places = find_modes(values, 0)
    assert np.abs(values - places).mean() < 1.0 < np.abs(values - np.median(values)).mean()


@pytest.mark.parametrize("draw", ONE.values(), ids=ONE)
def test_one_mode_is_none(rng, draw):
    assert not any(find_modes(draw(rng, n), 0) is not None for n in (120, 400, 1500))
    assert find_modes(np.zeros(200), 0) is None


def two_modes(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 3))
    f = np.sin(3.0 * X[:, 0]) + X[:, 1]
    return X, f, f + np.where(rng.random(n) < 0.4, 1.2, 0.0) + 0.2 * rng.normal(size=n)


def valley(law, f):
    """The density half-way between both modes over that at the first."""
    return np.exp(law.logpdf(f + 0.6)).mean() / np.exp(law.logpdf(f)).mean()


@pytest.fixture(scope="module")
def model():
    X, _, y = two_modes(500)
    trees = BoostedEnsembleRegressor(n_members=2, n_trees=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return StackedRegressor(trees, random_state=0).fit(X, y)


def test_both_modes_are_as_narrow_as_the_noise(model, tmp_path):
    X, f, y = two_modes(2000, 1)
    law = model.predict_distribution(X)
    noise = np.random.default_rng(2)
    drawn = f[:, None] + np.where(noise.random((1, 400)) < 0.4, 1.2, 0.0)
    drawn = np.sort(drawn + 0.2 * noise.normal(size=(1, 400)), axis=1)
    m = drawn.shape[1]
    spread = drawn @ (2.0 * np.arange(1, m + 1) - m - 1.0) / (m * (m - 1.0))
    truth = (np.abs(drawn - y[:, None]).mean(axis=1) - spread).mean()
    assert law.crps(y).mean() < 1.06 * truth  # 1.03; 1.10 around one mean
    assert valley(law, f) < 0.2
    assert np.abs(model.predict(X) - (f + 0.48)).mean() < 0.15
    model.save(tmp_path / "model.gbuq")
    again = load(tmp_path / "model.gbuq").predict_distribution(X[:9])
    np.testing.assert_array_equal(again.crps(y[:9]), law.take(slice(9)).crps(y[:9]))


def test_laws_around_fitted_trees_know_the_modes_too(model):
    X, f, y = two_modes(500)
    held = np.array_split(np.random.default_rng(0).permutation(500), 3)
    kept = [np.setdiff1d(np.arange(500), rows) for rows in held]
    models = tuple(
        BoostedEnsembleRegressor(n_members=2, n_trees=60, random_state=0).fit(X[rows], y[rows])
        for rows in kept
    )
    laws = StackedRegressor(random_state=0).fit_around(X, y, Around(models, tuple(held)))
    for law, rows in zip(laws, held, strict=True):
        assert valley(law.predict_distribution(X[rows]), f[rows]) < 0.3


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda rng, x: np.exp(x + 0.7 * rng.normal(size=len(x))), True),
        (lambda rng, x: x + rng.exponential(size=len(x)) ** 2 - 5.0, False),
        (lambda rng, x: 9.0 + x + rng.normal(size=len(x)), False),
    ],
    ids=["log-normal", "negative", "normal"],
)
def test_a_better_log_scale_is_said(draw, said):
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 3.0, (2400, 3))
    y = draw(rng, X[:, 0])[:400]
    trees = BoostedEnsembleRegressor(n_members=2, n_trees=100, random_state=0)
    model = StackedRegressor(trees, random_state=0).fit(X[:400], y)
    assert (model.log_scale_ is not None) == any("log scale" in line for line in model.describe())
    assert (model.log_scale_ is not None) == said
