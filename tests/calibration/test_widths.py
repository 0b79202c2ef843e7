"""Factor, floor and shape of "scale": against a slow search, and against known answers."""

import dataclasses

import numpy as np
import pytest
from drawn_law import DrawnDistribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core import CalibratedRegressor
from gbuq_core.calibration import Stages, choose_clocks
from gbuq_core.calibration.clocks import student_nll
from gbuq_core.calibration.laws import StretchedDistribution
from gbuq_core.calibration.widths import FLOORS, LEAST_GAIN, choose_width
from gbuq_core.distribution import LogDistribution, MixtureDistribution, NormalDistribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.uncertainty import Uncertainty

DEGREES = (2.2, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0, 20.0, 50.0, np.inf)
FACTORS = np.exp(np.linspace(-4.0, 4.0, 801))  # one percent apart


def stages_of(data, y, knowledge=0.0, weight=None):
    data = np.broadcast_to(np.asarray(data, float), y.shape)[None]
    return Stages(
        n_trees=np.array([1]),
        mean=np.zeros_like(data),
        data=data,
        y=y,
        weight=weight,
        knowledge=np.broadcast_to(np.asarray(knowledge, float), data.shape),
        for_mean=np.ones(1, bool),
    )


def random_stages(seed, n_rows, weighted=False):
    rng = np.random.default_rng(seed)
    unit = rng.uniform(0.1, 10.0)
    data = unit**2 * rng.gamma(1.0, 1.0, n_rows)
    noise = np.sqrt(rng.uniform(0.1, 4.0) * data + unit**2 * rng.choice([0.0, 0.5, 3.0]))
    y = noise * rng.standard_t(rng.choice([3.0, 30.0]), n_rows)
    weight = rng.integers(1, 4, n_rows).astype(float) if weighted else None
    return stages_of(data, y, unit**2 * rng.gamma(1.0, 0.05, n_rows), weight)


def slow_width(rows, degrees, floors):
    """The best NLL of each floor over all factors and degrees of freedom."""
    unit = np.sqrt(np.average(rows.y**2, weights=rows.weight))
    best = []
    for share in floors:
        beside = rows.knowledge[0] + (share * unit) ** 2
        std = np.sqrt(FACTORS[:, None] ** 2 * rows.data[0] + beside)
        of_floor = []
        for df in degrees:
            own = std * (1.0 if np.isinf(df) else np.sqrt(1.0 - 2.0 / df))
            square = (rows.y / own) ** 2
            slope = square / 2 if np.isinf(df) else (df + 1) / 2 * np.log1p(square / df)
            nll = slope - stats.t.logpdf(0.0, df) + np.log(own)
            of_floor.append(np.average(nll, axis=1, weights=rows.weight).min())
        best.append(min(of_floor))
    return np.array(best), unit


@pytest.mark.parametrize("tails", ["normal", "student"])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_that_of_a_slow_search(seed, tails):
    rows = random_stages(seed, 120, weighted=seed % 2 == 1)
    width = choose_width(rows, tails)
    degrees = (np.inf,) if tails == "normal" else DEGREES
    scores, unit = slow_width(rows, degrees, FLOORS)
    total = len(rows.y) if rows.weight is None else rows.weight.sum()
    # A factor half a percent off costs 0.005^2 nats a row at most, in either search.
    small = 5e-5
    if total * (scores[0] - scores.min()) <= LEAST_GAIN - total * small:
        assert width.floor == 0.0
        assert width.nll == pytest.approx(scores[0], abs=small)
    elif total * (scores[0] - scores.min()) > LEAST_GAIN + total * small:
        assert width.nll <= scores.min() + small  # there is a finer grid around the best floor
        best = int(np.argmin(scores))
        near = np.array(FLOORS)[[max(best - 1, 1), min(best + 1, len(FLOORS) - 1)]] * unit
        assert near[0] * (1.0 - NEAR_ZERO) <= width.floor <= near[1] * (1.0 + NEAR_ZERO)
        there, _ = slow_width(rows, degrees, [width.floor / unit])
        assert width.nll == pytest.approx(there[0], abs=small)
    assert width.df in degrees


def test_noise_that_the_estimator_does_not_see_is_found(rng):
    data = rng.gamma(1.0, 1.0, 6000)
    y = np.sqrt(4.0 * data + 9.0) * rng.normal(size=6000)
    width = choose_width(stages_of(data, y), "student")
    # Floors are tried in steps of 9 %, and 6,000 rows share out the variance to a tenth.
    assert width.floor == pytest.approx(3.0, rel=0.15)
    assert width.factor == pytest.approx(2.0, rel=0.15)
    assert width.df >= 20.0
    alone = choose_width(stages_of(data, y), "student", with_floor=False)
    assert alone.floor == 0.0
    assert alone.nll > width.nll + 0.05


def test_right_stds_have_no_floor():
    """Of 100 tables 2.3 have one by chance: more than 8 would be one in a thousand."""
    some = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        data = rng.gamma(2.0, 1.0, 200)
        rows = stages_of(data, np.sqrt(data + 0.2) * rng.normal(size=200), 0.2)
        some += choose_width(rows, "normal").floor > 0.0
    assert some <= 8


@given(seed=st.integers(0, 10_000), n_rows=st.sampled_from([10, 60, 200]))
@settings(max_examples=8)
def test_rows_that_choose_never_score_worse(seed, n_rows):
    rows = random_stages(seed, n_rows)
    as_it_is = student_nll(rows.y**2, rows.data[0] + rows.knowledge[0], np.inf).mean()
    one_factor = choose_clocks(rows, "student").nll[0]
    width = choose_width(rows, "student")
    # The search for a factor stops within half a percent of the best.
    assert width.nll <= as_it_is + 5e-5
    assert width.nll <= one_factor + ZERO


@given(seed=st.integers(0, 10_000), power=st.integers(-12, 12))
@settings(max_examples=6)
def test_the_unit_of_y_does_not_matter(seed, power):
    rows, unit = random_stages(seed, 80), 2.0**power  # the same digits
    moved = dataclasses.replace(
        rows, y=unit * rows.y, data=unit**2 * rows.data, knowledge=unit**2 * rows.knowledge
    )
    width, other = choose_width(rows, "student"), choose_width(moved, "student")
    assert other.floor == pytest.approx(unit * width.floor)
    assert other.factor == pytest.approx(width.factor, rel=1e-5)
    assert other.df == width.df
    assert other.crps == pytest.approx(unit * width.crps, rel=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_without_a_floor_it_is_one_factor(seed):
    rows = random_stages(seed, 150)
    for tails in ("student", "normal"):
        width, clocks = choose_width(rows, tails, with_floor=False), choose_clocks(rows, tails)
        assert (width.factor, width.df, width.floor) == (clocks.factor, clocks.df, 0.0)
        assert width.nll == pytest.approx(clocks.nll[0], abs=ZERO)


SHARES, CENTRES, STDS = np.array([0.85, 0.15]), np.array([-0.4, 34.0 / 15.0]), (0.3, 0.6)


DRAWS = MixtureDistribution(CENTRES[:, None], np.square(STDS)[:, None], SHARES).quantile(
    (np.arange(400) + 0.5) / 400
)[0]


class Skewed(RegressorMixin, BaseEstimator):
    """A right mean, and a law of ``kind`` whose std is ``off`` times the true one, 1 + x."""

    def __init__(self, off=1.0, kind="mixture"):
        self.off = off
        self.kind = kind

    def fit(self, X, y, sample_weight=None):
        self.n_features_in_ = 1
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]

    def predict_uncertainty(self, X):
        data = np.square(self.predict_distribution(X).scale)
        return Uncertainty(data, data, np.zeros(len(data)))

    def predict_distribution(self, X):
        loc = self.predict(X)
        width = self.off * (1.0 + loc)
        variances = np.square(np.array(STDS)[:, None] * width)
        mixture = MixtureDistribution(loc + CENTRES[:, None] * width, variances, SHARES)
        return {
            "draws": lambda: DrawnDistribution(loc + width * DRAWS[:, None]),
            "log": lambda: LogDistribution(mixture),
            "flat": lambda: DrawnDistribution(loc + width * (loc >= 0.5) * DRAWS[:, None]),
            "normal": lambda: NormalDistribution(*mixture),
            "mixture": lambda: mixture,
        }[self.kind]()


def skewed_rows(n, seed, shape="own"):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 2.0, (n, 1))
    if shape == "own":
        noise = Skewed().predict_distribution(X).sample(1, rng)[0] - X[:, 0]
    else:
        noise = (1.0 + X[:, 0]) * rng.normal(size=n)
    return X, X[:, 0] + noise


@pytest.mark.parametrize("kind", ["mixture", "draws"])
@pytest.mark.parametrize("off", [0.4, 1.0, 2.5])
def test_a_right_shape_is_kept_and_stretched(off, kind):
    X, y = skewed_rows(800, 0)
    new, truth = skewed_rows(4000, 1)
    model = CalibratedRegressor(Skewed(off, kind).fit(X, y)).fit(X, y)
    assert (model.shape_, model.df_) == ("own", None)
    # 800 rows: three standard errors of a std with these tails, 4 % each.
    assert model.factor_ == pytest.approx(1.0 / off, rel=0.13)
    law = model.predict_distribution(new)
    assert isinstance(law, StretchedDistribution)
    moments = CalibratedRegressor(model.estimator, shape="moments").fit(X, y)
    assert moments.shape_ == "moments"
    other = moments.predict_distribution(new)
    assert law.crps(truth).mean() < other.crps(truth).mean()
    lower, upper = law.interval(0.9)
    # Three standard errors with 800 rows that calibrate: 3.2 points.
    assert abs(np.mean((lower <= truth) & (truth <= upper)) - 0.9) < 0.035
    if kind == "draws":
        with pytest.raises(InvalidData, match="no density"):
            law.logpdf(truth)
    else:
        assert law.logpdf(truth).mean() > other.logpdf(truth).mean()
    total, data, knowledge = model.predict_uncertainty(new)
    np.testing.assert_allclose(law.scale**2, total)
    np.testing.assert_array_equal(total, data + knowledge)


def test_a_wrong_shape_gives_way():
    X, y = skewed_rows(800, 2, "normal")
    base = Skewed().fit(X, y)
    model = CalibratedRegressor(base).fit(X, y)
    assert model.shape_ == "moments"
    assert not isinstance(model.predict_distribution(X), StretchedDistribution)
    own = CalibratedRegressor(base, shape="own").fit(X, y)
    assert own.shape_ == "own"
    right, wrong = (each.predict_distribution(X).logpdf(y).mean() for each in (model, own))
    assert wrong < right


@pytest.mark.parametrize("shape", ["auto", "own", "moments"])
def test_normals_are_computed_once(shape, monkeypatch):
    X, y = skewed_rows(100, 3)
    monkeypatch.setattr("gbuq_core.calibration.regressor.choose_own_width", _never)
    model = CalibratedRegressor(Skewed(kind="normal"), shape=shape, random_state=0).fit(X, y)
    assert model.shape_ == "moments"


def _never(*_, **__):
    raise AssertionError("a normal has no other shape")


def test_a_law_on_a_log_scale_is_stretched_there():
    X, y = skewed_rows(600, 4)
    model = CalibratedRegressor(Skewed(0.5, "log").fit(X, y)).fit(X, np.exp(0.2 * y) ** 5)
    assert model.shape_ == "own"
    law = model.predict_distribution(X)
    assert isinstance(law, LogDistribution)
    assert isinstance(law.inner, StretchedDistribution)
    plain = CalibratedRegressor(Skewed(0.5).fit(X, y)).fit(X, y)
    assert model.factor_ == pytest.approx(plain.factor_, rel=1e-6)
    np.testing.assert_allclose(law.inner.scale, plain.predict_distribution(X).scale, rtol=1e-6)


def test_rows_without_spread_leave_the_moments():
    X, y = skewed_rows(200, 5)
    base = Skewed(kind="flat").fit(X, y)
    assert CalibratedRegressor(base).fit(X, y).shape_ == "moments"
    with pytest.raises(InvalidData, match=r"^The law of Skewed has no spread[^\n]*\.$"):
        CalibratedRegressor(base, shape="own").fit(X, y)


def test_whole_weights_equal_repeated_rows():
    X, y = skewed_rows(150, 6)
    weight = np.random.default_rng(0).integers(0, 4, 150)
    for kind in ("mixture", "draws"):
        base = Skewed(0.5, kind).fit(X, y)
        counted = CalibratedRegressor(base, shape="own").fit(X, y, sample_weight=weight)
        other = CalibratedRegressor(base, shape="own")
        other.fit(X.repeat(weight, axis=0), y.repeat(weight))
        # The search stops within a percent, on the same path for the same sums.
        assert counted.factor_ == pytest.approx(other.factor_, rel=1e-6)
        assert counted.floor_ == pytest.approx(other.floor_, rel=CANCELLED)


class Unaware(Skewed):
    """Normals that know a tenth of the noise, and some knowledge."""

    def predict_uncertainty(self, X):
        data = np.square(0.1 * self.predict(X))
        return Uncertainty(data + 0.01, data, np.full(len(data), 0.01))

    def predict_distribution(self, X):
        return NormalDistribution(self.predict(X), np.sqrt(self.predict_uncertainty(X).total))


@pytest.mark.parametrize("method", ["scale", "isotonic"])
def test_the_floor_is_data_uncertainty(method):
    X, y = skewed_rows(1000, 7, "normal")
    base = Unaware().fit(X, y)
    model = CalibratedRegressor(base, method).fit(X, y)
    assert model.floor_ > 0.3
    total, data, knowledge = model.predict_uncertainty(X)
    np.testing.assert_array_equal(knowledge, 0.01)
    expected = model.factor_**2 * base.predict_uncertainty(X).data + model.floor_**2
    np.testing.assert_allclose(data, expected)
    np.testing.assert_array_equal(total, data + knowledge)
    lower, upper = model.predict_interval(X)
    assert abs(np.mean((lower <= y) & (y <= upper)) - 0.9) < 0.04  # of 1,000 rows: three errors
    plain = CalibratedRegressor(base, method, floor=False).fit(X, y)
    assert plain.floor_ == 0.0
    assert plain.factor_ > model.factor_


@pytest.mark.parametrize("method", ["conformal", "two_clocks"])
def test_other_methods_have_no_floor(method):
    from gbuq_core import BoostedEnsembleRegressor

    X, y = skewed_rows(120, 8)
    base = BoostedEnsembleRegressor(n_members=2, n_trees=20, stopping=None, random_state=0)
    model = CalibratedRegressor(base.fit(X, y), method).fit(*skewed_rows(120, 9))
    assert model.floor_ == 0.0
    assert model.shape_ == (None if method == "conformal" else "moments")


def test_what_cannot_be_is_refused():
    X, y = skewed_rows(50, 10)
    for options, message in [
        ({"shape": "normal"}, "shape must be one of"),
        ({"floor": "yes"}, "floor must be True or False"),
        ({"shape": "own", "method": "conformal"}, "choose shape='auto'"),
        ({"shape": "own", "method": "isotonic"}, "choose shape='auto'"),
    ]:
        with pytest.raises(InvalidParameter, match=message):
            CalibratedRegressor(Skewed(), **options).fit(X, y)


class TestStretched:
    """The law agrees with itself and with its inner one."""

    def test_a_normal_stays_a_normal(self, rng):
        inner = NormalDistribution(rng.normal(size=4), rng.uniform(0.5, 2.0, 4))
        wide = NormalDistribution(inner.loc, 3.0 * inner.scale)
        law, y = StretchedDistribution(inner, wide.scale), rng.normal(size=4)
        for name in ("logpdf", "cdf", "crps"):
            np.testing.assert_allclose(getattr(law, name)(y), getattr(wide, name)(y), rtol=SAME_SUM)
        np.testing.assert_allclose(law.quantile([0.0, 0.1, 1.0]), wide.quantile([0.0, 0.1, 1.0]))
        np.testing.assert_allclose(law.sample(3, 0), wide.sample(3, 0))
        np.testing.assert_allclose(law.variance(), wide.variance())

    def test_a_row_without_shape_is_a_normal(self):
        inner = DrawnDistribution([[2.0, 0.0], [2.0, 4.0]])
        law = StretchedDistribution(inner, [0.5, 4.0])
        normal = NormalDistribution([2.0], [0.5])
        np.testing.assert_array_equal(law.quantile([0.25, 0.75])[1], [-2.0, 6.0])
        np.testing.assert_allclose(law.quantile([0.25, 0.75])[:1], normal.quantile([0.25, 0.75]))
        np.testing.assert_allclose(law.crps([3.0, 1.0])[:1], normal.crps([3.0]))
        np.testing.assert_allclose(law.cdf([3.0, 1.0])[:1], normal.cdf([3.0]))
        np.testing.assert_allclose(law.variance(), [0.25, 16.0])
        assert law.sample(2000, 0)[:, 0].std() == pytest.approx(0.5, rel=0.05)
        with pytest.raises(InvalidData, match=r"^The estimator's own law has no spread[^\n]*\.$"):
            law.logpdf([3.0, 1.0])

    @pytest.mark.parametrize("width", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, np.nan]])
    def test_impossible_widths_are_refused(self, width):
        with pytest.raises(InvalidData):
            StretchedDistribution(NormalDistribution([0.0, 1.0], [1.0, 1.0]), width)
