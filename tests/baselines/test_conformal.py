"""Split conformal calibration of a predicted scale, and the conformal baselines."""

import logging
import sys

import numpy as np
import pytest
from mapie.regression import ConformalizedQuantileRegressor as MapieQuantiles
from mapie.regression import SplitConformalRegressor
from refusal_parts import refused
from scipy.stats import binom, norm
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from tolerances import CANCELLED, NEAR_ZERO

from gbuq_core.baselines import ConformalizedQuantileRegressor, ConformalRegressor
from gbuq_core.baselines.conformal import _Column
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import hold_out
from gbuq_core.metrics import conformal_scales
from gbuq_core.metrics.conformal import conformal_rank
from gbuq_core.synthetic import make_heteroscedastic

FEW = {"n_trees": 15, "subsample": 0.5, "random_state": 0, "n_jobs": 1}
MODELS = [
    ConformalRegressor("forest", **FEW),
    ConformalRegressor("linear", **FEW),
    ConformalizedQuantileRegressor(**FEW),
]


@pytest.fixture(scope="module")
def curve():
    return make_heteroscedastic(1600, random_state=0)


@pytest.fixture(scope="module")
def fresh():
    return make_heteroscedastic(4000, random_state=1)


@pytest.fixture(scope="module", params=MODELS, ids=["forest", "linear", "quantiles"])
def model(request, curve):
    return clone(request.param).fit(curve.X, curve.y)


def share_limits(level, n_calibration, n_test):
    """Where a coverage lies with a chance of 0.9999: a share given the calibration rows is
    Beta(rank, n + 1 - rank), close to a normal, and the test rows add a binomial one.
    """
    std = np.sqrt(level * (1 - level) * (1 / (n_calibration + 2) + 1 / n_test))
    return level - 4 * std, level + 4 * std + 1 / n_calibration


# Any predicted scale


def test_the_factor_is_the_rank_of_finite_samples(rng):
    y, scale = rng.normal(size=40), rng.uniform(0.5, 2.0, 40)
    scales = conformal_scales(y, np.zeros(40), scale, levels=[0.5, 0.9])
    scores = sorted(abs(y) / scale)
    assert scales.factors.tolist() == [scores[20], scores[36]]  # ceil(41 * 0.5), ceil(41 * 0.9)
    np.testing.assert_allclose(scales.stretch, scales.factors / norm.ppf([0.75, 0.95]))
    assert scales.coverage is None
    assert scales.n_calibration == 40


@pytest.mark.parametrize("n_rows", [20, 21, 39, 99, 100, 101, 399])
def test_constant_widths_are_those_of_mapie(n_rows, rng):
    y = rng.normal(size=n_rows)
    theirs = SplitConformalRegressor(_Column(0), confidence_level=[0.5, 0.8, 0.95])
    theirs.conformalize(np.zeros((n_rows, 1)), y)
    width = theirs.predict_interval(np.zeros((1, 1)))[1][0, 1]
    ours = conformal_scales(y, np.zeros(n_rows), np.ones(n_rows))
    np.testing.assert_array_equal(ours.factors, width)  # order statistics: the same numbers


def test_a_wrong_scale_is_stretched_until_it_covers(rng):
    y, scale = rng.normal(size=3000), np.full(3000, 0.25)
    y[1000:] *= 3.0
    scale[1000:] *= 3.0
    order = rng.permutation(3000)
    y, scale, zero = y[order], scale[order], np.zeros(3000)
    scales = conformal_scales(
        y[:1000], zero[:1000], scale[:1000], y[1000:], zero[1000:], scale[1000:]
    )
    # The std is a quarter of the true one. A sample quantile's relative error is below 0.05 for
    # 1,000 normal rows at these levels (sqrt(p (1 - p) / n) / density / quantile): four of them.
    np.testing.assert_allclose(scales.stretch, 4.0, rtol=0.2)
    for level, observed in zip(scales.levels, scales.coverage.observed, strict=True):
        low, high = share_limits(level, 1000, 2000)
        assert low < observed < high
    lower, upper = scales.intervals(zero[1000:], scale[1000:])
    inside = ((lower <= y[1000:]) & (y[1000:] <= upper)).mean(axis=1)
    np.testing.assert_array_equal(inside, scales.coverage.observed)
    assert (scales.coverage.low < inside).all()
    assert (inside < scales.coverage.high).all()
    assert scales.coverage.n_rows == 2000


def test_coverage_holds_on_average_for_few_rows(rng):
    # 9 rows at 80 %: rank 8 of 9 covers 8/10 exactly. 4,000 repetitions, one test row each.
    y = rng.standard_t(2, size=(4000, 10))
    hits = 0
    for row in y:
        factor = conformal_scales(row[:9], np.zeros(9), np.ones(9), levels=[0.8]).factors[0]
        hits += abs(row[9]) <= factor
    low, high = binom.ppf([0.0001, 0.9999], 4000, 0.8)
    assert low <= hits <= high


def test_ranks_of_rounded_levels():
    assert conformal_rank(19, 0.95) == 19
    assert conformal_rank(9, 0.9) == 9
    assert conformal_rank(9, 0.7) == 7  # 10 x 0.7 is a rounding above 7
    assert conformal_rank(18, 0.95) == 19


def test_impossible_calibrations_are_refused():
    y = np.arange(18.0)
    with refused(InvalidData, "18 calibration rows are too few for an interval of 95 %, .* 19"):
        conformal_scales(y, 0.0, 1.0)
    conformal_scales(np.arange(19.0), 0.0, 1.0)
    with refused(InvalidData, "needs at least 4"):
        conformal_scales(y[:3], 0.0, 1.0, levels=[0.8])
    with refused(InvalidParameter, "levels must lie above 0 and below 1"):
        conformal_scales(y, 0.0, 1.0, levels=[0.5, 1.0])
    with refused(InvalidData, "scale must be positive"):
        conformal_scales(y, 0.0, 0.0, levels=[0.5])
    with refused(InvalidData, "belong together"):
        conformal_scales(y, 0.0, 1.0, y, 0.0, levels=[0.5])
    with refused(InvalidData, "the same rows"):
        conformal_scales(y, np.zeros(3), 1.0, levels=[0.5])


# The baselines


def test_fresh_rows_are_covered(model, fresh):
    levels, lower, upper = model.predict_intervals(fresh.X)
    assert levels.tolist() == [0.5, 0.8, 0.95]
    assert (lower <= upper).all()
    inside = ((lower <= fresh.y) & (fresh.y <= upper)).mean(axis=1)
    for level, observed in zip(levels, inside, strict=True):
        low, high = share_limits(level, model.n_calibration_, len(fresh.y))
        assert low < observed < high


def test_one_width_is_too_wide_here_and_too_narrow_there(curve, fresh):
    model = clone(MODELS[0]).fit(curve.X, curve.y)
    _, lower, upper = model.predict_intervals(fresh.X)
    widths = upper - lower
    np.testing.assert_allclose(widths, np.broadcast_to(widths[:, :1], widths.shape), rtol=CANCELLED)
    x, inside = fresh.X[:, 0], (lower[1] <= fresh.y) & (fresh.y <= upper[1])
    # Noise 0.1 x beside a half width near 0.8: all of the first rows, well below 80 % of the last.
    assert inside[x < 3].mean() > 0.97
    assert inside[x > 8].mean() < 0.75


def test_quantiles_that_are_moved_keep_their_shape(curve, fresh):
    model = clone(MODELS[2]).fit(curve.X, curve.y)
    _, lower, upper = model.predict_intervals(np.array([[1.0], [9.0]]))
    quiet, noisy = (upper - lower)[1]
    assert noisy > 1.5 * quiet  # nine times the noise, which forests of few trees smear


def test_the_forest_and_the_line_are_those_of_the_library(curve):
    held = hold_out(1600, 0.25, clone(MODELS[1]).fit(curve.X, curve.y).seed_)
    line = LinearRegression().fit(curve.X[held.fitted], curve.y[held.fitted])
    theirs = SplitConformalRegressor(line, confidence_level=[0.5, 0.8, 0.95], prefit=True)
    theirs.conformalize(curve.X[held.tuned], curve.y[held.tuned])
    loc, ends = theirs.predict_interval(curve.grid)
    model = clone(MODELS[1]).fit(curve.X, curve.y)
    _, lower, upper = model.predict_intervals(curve.grid)
    # The target is standardised inside: rounding.
    np.testing.assert_allclose(model.predict(curve.grid), loc, rtol=CANCELLED, atol=NEAR_ZERO)
    np.testing.assert_allclose(lower, ends[:, 0].T, rtol=CANCELLED, atol=NEAR_ZERO)
    np.testing.assert_allclose(upper, ends[:, 1].T, rtol=CANCELLED, atol=NEAR_ZERO)
    residuals = curve.y[held.tuned] - line.predict(curve.X[held.tuned])
    loc, scale = model.predict_distribution(curve.grid)
    np.testing.assert_allclose(scale, np.sqrt(np.mean(residuals**2)))
    np.testing.assert_allclose(model.residual_scale_, scale[0])


def test_moved_quantiles_are_those_of_the_library(curve):
    model = clone(MODELS[2]).fit(curve.X, curve.y)
    held = hold_out(1600, 0.25, model.seed_)
    centre, spread = model.target_scale_
    seen = model._predicted(curve.X[held.tuned])
    theirs = MapieQuantiles(
        [_Column(2), _Column(4), _Column(3)], confidence_level=0.5, prefit=True
    ).conformalize(seen, (curve.y[held.tuned] - centre) / spread)
    rows = np.linspace(0.0, 10.0, 50)[:, None]
    ends = theirs.predict_interval(model._predicted(rows), symmetric_correction=True)[1][:, :, 0]
    _, lower, upper = model.predict_intervals(rows)
    expected = centre + spread * np.sort(ends, axis=1)
    np.testing.assert_allclose(np.stack([lower[0], upper[0]], axis=1), expected, rtol=CANCELLED)


def test_the_log_of_the_process_is_left_alone(curve):
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    clone(MODELS[2]).set_params(n_trees=3).fit(curve.X, curve.y).predict_intervals(curve.grid)
    assert (root.level, list(root.handlers)) == before


def test_impossible_conformal_baselines_are_refused(curve, monkeypatch):
    with refused(InvalidData, "15 calibration rows are too few .* at least 19"):
        ConformalRegressor("linear").fit(curve.X[:60], curve.y[:60])
    with refused(InvalidData, "19 calibration rows are too few .* mapie needs at least 20"):
        ConformalRegressor("linear").fit(curve.X[:76], curve.y[:76])
    with refused(InvalidParameter, "model must be one of"):
        ConformalRegressor("tree").fit(curve.X, curve.y)
    with refused(InvalidParameter, "levels must all differ"):
        ConformalizedQuantileRegressor(levels=(0.5, 0.5)).fit(curve.X, curve.y)
    with refused(InvalidParameter, "calibration_fraction must be"):
        ConformalRegressor(calibration_fraction=0.0).fit(curve.X, curve.y)
    with refused(InvalidData, "NaN, which a linear regression cannot read"):
        ConformalRegressor("linear").fit(np.where(curve.X < 1, np.nan, curve.X), curve.y)
    monkeypatch.setitem(sys.modules, "mapie", None)
    monkeypatch.setitem(sys.modules, "mapie.regression", None)
    with refused(InvalidParameter, "Conformal prediction needs the package mapie"):
        ConformalRegressor("linear").fit(curve.X, curve.y)
