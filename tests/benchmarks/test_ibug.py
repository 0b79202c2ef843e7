"""The IBUG benchmark: standard errors, and that its shortcuts change nothing."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from tolerances import CANCELLED

from benchmarks.ibug_data import Rows
from benchmarks.ibug_methods import SplitMethods, choose_scale, fit_ibug, virtual_ensemble
from benchmarks.ibug_models import Trained
from benchmarks.tables.comparing import mean_error
from benchmarks.tables.protocol import Missing
from gbuq_core import BoostedEnsembleRegressor, IBUGRegressor
from gbuq_core.baselines import AveragingRegressor


def _base():
    return GradientBoostingRegressor(n_estimators=15, random_state=0)


@pytest.fixture(scope="module")
def parts():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(260, 2))
    y = np.sin(6 * X[:, 0]) + (0.05 + X[:, 1]) * rng.normal(size=260)
    return Rows(X[:160], y[:160], X[160:220], y[160:220], X[220:], y[220:], 3)


@pytest.fixture(scope="module")
def trained(parts):
    rows = [(parts.X_fit, parts.y_fit), (parts.X_all, parts.y_all)]
    models = {len(y): _base().fit(X, y) for X, y in rows}
    return Trained(models, {}, 0.0)


def test_standard_error_of_splits():
    assert mean_error([1.0, 2.0, 3.0]) == pytest.approx((2.0, 1 / np.sqrt(3)))
    assert np.isnan(mean_error([1.0]).error)


@pytest.mark.parametrize("scoring", ["nll", "crps"])
def test_one_search_gives_what_a_fit_for_each_score_gives(parts, trained, scoring):
    """One fit serves both scores, and equals IBUG that trains its own models, to the last bit."""
    chosen = choose_scale(parts.y_val, fit_ibug(trained, parts).find_validation(), scoring)
    alone = IBUGRegressor(_base(), scoring=scoring, delta_unit=1.0, random_state=3)
    alone.fit(parts.X_fit, parts.y_fit, parts.X_val, parts.y_val)
    near = alone.find_neighborhood(parts.X_test)
    assert (chosen.k, chosen.gamma) == (alone.n_neighbors_, alone.gamma_)
    np.testing.assert_array_equal(
        chosen.apply(near.targets), alone.predict_distribution(near).scale
    )


def test_first_trees_make_the_shorter_virtual_ensemble(parts):
    knobs = {"stopping": None, "ensemble": "virtual", "depth": 2, "random_state": 0}
    long, short = (
        BoostedEnsembleRegressor(n_trees=n, **knobs).fit(parts.X_fit, parts.y_fit)
        for n in (200, 100)
    )
    loc, scale = virtual_ensemble(long, parts.X_test, 100)
    expected_loc, expected_scale = short.predict_distribution(parts.X_test)
    np.testing.assert_allclose(loc, expected_loc, rtol=CANCELLED)  # sums in another order
    np.testing.assert_allclose(scale, expected_scale, rtol=CANCELLED)


def test_average_is_that_of_the_averaging_estimator(parts, trained, monkeypatch):
    here = SplitMethods(parts, None, trees=(100,))
    here._models["catboost"] = trained
    monkeypatch.setattr("benchmarks.ibug_methods.SGLB_GRID", ((2, 0.1),))
    average = here.average()
    sglb = BoostedEnsembleRegressor(
        stopping=None,
        ensemble="virtual", n_trees=100, depth=2, learning_rate=0.1, max_bins=255,
        standardize_target=False, random_state=3,
    )  # fmt: skip
    pair = [
        ("ibug", IBUGRegressor(trained, scoring="crps", delta_unit=1.0, random_state=3)),
        ("sglb", sglb),
    ]
    model = AveragingRegressor(pair, scoring="crps")
    model.fit(parts.X_fit, parts.y_fit, parts.X_val, parts.y_val)
    loc, scale = model.predict_distribution(parts.X_test)
    np.testing.assert_allclose(average.loc["crps"], loc, rtol=CANCELLED)  # sums in another order
    np.testing.assert_allclose(average.scale["crps"], scale, rtol=CANCELLED)


@pytest.mark.parametrize("python", [None, Path("no-such-python")])
def test_pgbm_is_left_out_in_a_sentence(parts, python):
    with pytest.raises(Missing, match=r"^PGBM is not installed: .*\.$"):
        SplitMethods(parts, python).pgbm()
