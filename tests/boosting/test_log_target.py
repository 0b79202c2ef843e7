"""target="log": models of log y, results in the unit of y."""

import math

import numpy as np
import pytest
from saving_parts import SMALL
from tolerances import CANCELLED, SAME_SUM

from gbuq_core import BoostedEnsembleRegressor, decompose_regression
from gbuq_core.distribution import LogDistribution
from gbuq_core.errors import InvalidData, InvalidParameter


@pytest.fixture(scope="module")
def prices():
    """A target over four decades whose errors are a quarter of it."""
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 1, (600, 2))
    return X, np.exp(9.0 * X[:, 0] + rng.normal(0, 0.25, 600))


def test_the_models_are_those_of_log_y(prices):
    X, y = prices
    model = BoostedEnsembleRegressor(**SMALL, target="log").fit(X, y)
    of_logs = BoostedEnsembleRegressor(**SMALL).fit(X, np.log(y))
    d, inner = model.predict_distribution(X), of_logs.predict_distribution(X)
    np.testing.assert_array_equal(d.quantile([0.05, 0.5]), np.exp(inner.quantile([0.05, 0.5])))
    np.testing.assert_array_equal(model.leaf_indices(X), of_logs.leaf_indices(X))
    assert isinstance(d, LogDistribution)


def test_members_are_moments_of_y(prices):
    """Log-normals have closed forms; scipy knows them too."""
    from scipy.stats import lognorm

    X, y = prices
    model = BoostedEnsembleRegressor(**SMALL, target="log").fit(X, y)
    of_logs = BoostedEnsembleRegressor(**SMALL).fit(X, np.log(y)).predict_members(X)
    law = lognorm(np.sqrt(of_logs[..., 1]), scale=np.exp(of_logs[..., 0]))
    members = model.predict_members(X)
    np.testing.assert_allclose(members[..., 0], law.mean(), rtol=SAME_SUM)
    np.testing.assert_allclose(members[..., 1], law.var(), rtol=CANCELLED)
    uncertainty = model.predict_uncertainty(X)
    expected = decompose_regression(members[..., 0], members[..., 1])
    for part, same in zip(uncertainty, expected, strict=True):
        np.testing.assert_array_equal(part, same)
    np.testing.assert_array_equal(model.predict(X), members[..., 0].mean(axis=0))
    staged = model.staged_members(X, at=[20]).members[0]
    np.testing.assert_array_equal(staged, members)
    # Two log-normals are nearly the one with their mean and total variance; after only 20 trees
    # the two differ by up to 30 %.
    loc, scale = model.predict_distribution(X)
    np.testing.assert_allclose(loc, model.predict(X), rtol=0.02)
    np.testing.assert_allclose(scale, np.sqrt(uncertainty.total), rtol=0.2)


def test_intervals_cover_in_the_unit_of_y(prices):
    """Two clocks on log y: 90 % intervals are positive, in proportion to y, and cover."""
    X, y = prices
    rng = np.random.default_rng(6)
    new = rng.uniform(0.05, 0.95, (2000, 2))
    truth = np.exp(9.0 * new[:, 0] + rng.normal(0, 0.25, 2000))
    knobs = {"n_members": 2, "n_trees": 150, "random_state": 0}
    model = BoostedEnsembleRegressor(**knobs, target="log").fit(X, y)
    low, high = model.predict_distribution(new).interval(0.9)
    assert (low > 0.0).all()
    assert 0.85 < ((low <= truth) & (truth <= high)).mean() < 0.96
    # A log std of 0.25 makes the ends of a 90 % interval exp(2 x 1.645 x 0.25) = 2.3 apart.
    assert 2.0 < np.median(high / low) < 3.2
    plain = BoostedEnsembleRegressor(**knobs).fit(X, y)
    nll = [-m.predict_distribution(new).logpdf(truth).mean() for m in (model, plain)]
    assert nll[0] < nll[1] - 0.3


def test_another_unit_changes_nothing_else(prices):
    """Dollars to cents: a shift of log y, which standardising takes away up to rounding."""
    X, y = prices
    euros, cents = (
        BoostedEnsembleRegressor(**SMALL, target="log").fit(X, unit * y) for unit in (1.0, 128.0)
    )
    np.testing.assert_allclose(cents.predict(X), 128.0 * euros.predict(X), rtol=1e-6)


def test_losses_and_traces_are_those_of_y(prices):
    """The density of y is that of log y over y."""
    X, y = prices
    model = BoostedEnsembleRegressor(**SMALL, target="log").fit(X, y)
    losses = model.validation_losses(X, y, every=5)
    of_logs = BoostedEnsembleRegressor(**SMALL).fit(X, np.log(y))
    inner = of_logs.validation_losses(X, np.log(y), every=5)
    np.testing.assert_allclose(losses.loss, inner.loss + np.log(y).mean(), rtol=SAME_SUM)
    traces = [np.array([trace.train_loss for trace in m.traces_]) for m in (model, of_logs)]
    np.testing.assert_allclose(traces[0], traces[1] + np.log(y).mean(), rtol=SAME_SUM)
    fitted = BoostedEnsembleRegressor(**{**SMALL, "n_members": 1}, target="log").fit(X, y)
    by_law = -fitted.predict_distribution(X).logpdf(y).mean()
    assert fitted.validation_losses(X, y).loss[0, -1] == pytest.approx(by_law, rel=SAME_SUM)
    assert fitted.traces_[0].train_loss[-1] == pytest.approx(by_law, rel=CANCELLED)


def test_the_callers_own_rows_choose(prices):
    X, y = prices
    model = BoostedEnsembleRegressor(**{**SMALL, "stopping": "two_clocks"}, target="log")
    model.fit(X[:400], y[:400], X[400:], y[400:])
    assert model.clocks_.n_rows == 200
    with pytest.raises(InvalidData, match=r'^target="log" needs a positive y'):
        model.fit(X[:400], y[:400], X[400:], -y[400:])


def test_impossible_targets(prices):
    X, y = prices
    model = BoostedEnsembleRegressor(**SMALL, target="log")
    with pytest.raises(InvalidData, match=r"needs a positive y, but its smallest value is 0: "):
        model.fit(X, np.append(y[:-1], 0.0))
    with pytest.raises(InvalidParameter, match=r"^target must be"):
        model.set_params(target="sqrt").fit(X, y)


def test_absurd_variances_stay_finite(rng):
    """exp of a variance of 1e300 is cut off, not infinite minus infinite."""
    X, y = np.arange(20.0)[:, None], np.exp(rng.normal(size=20))
    model = BoostedEnsembleRegressor(**SMALL, target="log", temperature=1e-6).fit(X, y)
    assert np.isfinite(model.predict_members(X)).all()
    assert all(np.isfinite(part).all() for part in model.predict_uncertainty(X))
    assert math.isfinite(model.predict(X).max())
