"""`Distribution`: its kinds against scoringrules, scipy, numerical integration and each other."""

import copy
import pickle
from itertools import pairwise

import numpy as np
import pytest
from drawn_law import DrawnDistribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM, ZERO

import gbuq_core
from gbuq_core.baselines.quantiles import QuantileDistribution
from gbuq_core.calibration.laws import (
    RecalibratedDistribution,
    StretchedDistribution,
    fit_coverage_map,
)
from gbuq_core.distribution import (
    Distribution,
    LogDistribution,
    MixtureDistribution,
    NormalDistribution,
    StudentDistribution,
    concatenate,
    crps_by_quantiles,
    student,
)
from gbuq_core.errors import InvalidData, InvalidParameter, MemoryLimitExceeded

LEVELS = np.array([1e-6, 0.01, 0.05, 0.25, 0.5, 0.75, 0.9, 0.99, 1 - 1e-6])
N = 7


def make(kind, seed=0, n=N):
    """A distribution of n rows with a density."""
    random = np.random.default_rng(seed)
    loc, scale = random.normal(0.0, 3.0, n), random.uniform(0.1, 2.0, n)
    if kind == "normal":
        return NormalDistribution(loc, scale)
    if kind == "student":
        return StudentDistribution(loc, scale, random.uniform(2.2, 30.0, n))
    means, variances = random.normal(0.0, 3.0, (5, n)), random.uniform(0.01, 2.0, (5, n))
    if kind == "mixture":
        return MixtureDistribution(means, variances)
    if kind == "weighted":
        return MixtureDistribution(means, variances, random.uniform(0.1, 1.0, 5))
    if kind == "stretched":
        inner = MixtureDistribution(means, variances)
        return StretchedDistribution(inner, scale)
    if kind == "recalibrated":
        return RecalibratedDistribution(loc, scale, fit_coverage_map(random.standard_t(4, 400), 7))
    if kind == "quantiles":
        levels = np.sort(random.uniform(0.02, 0.98, 7))
        values = np.sort(random.normal(0.0, 2.0, (7, n)), axis=0)
        law = QuantileDistribution(levels, values, loc, scale)
        return QuantileDistribution(levels, values, law.mean(), np.sqrt(law.variance()))
    inner = {
        "log-normal": NormalDistribution(0.3 * loc, 0.5 * scale),
        "log-student": StudentDistribution(0.3 * loc, 0.5 * scale, np.full(n, 6.0)),
        "log-mixture": MixtureDistribution(0.3 * means, 0.2 * variances),
    }[kind]
    return LogDistribution(inner, shift=0.5)


KINDS = [
    "normal",
    "student",
    "mixture",
    "weighted",
    "log-normal",
    "log-student",
    "log-mixture",
    "stretched",
    "recalibrated",
    "quantiles",
]
KINKED = ("recalibrated", "quantiles")  # densities in pieces, which quad looks for long
SMOOTH = pytest.mark.parametrize("kind", KINDS)


@SMOOTH
@given(seed=st.integers(0, 2**31), q=st.lists(st.floats(1e-4, 1 - 1e-4), min_size=1, max_size=4))
@settings(max_examples=25, deadline=None)
def test_the_cdf_undoes_the_quantiles(kind, seed, q):
    d = make(kind, seed)
    ends = d.quantile(q)
    assert ends.shape == (N, len(q))
    # A quantile rounds to eps |x|, which the density turns into a probability.
    levels = np.broadcast_to(q, ends.shape)
    np.testing.assert_allclose(d.cdf(ends), levels, rtol=CANCELLED, atol=NEAR_ZERO)
    np.testing.assert_array_equal(d.cdf(d.quantile(q[0])), d.cdf(ends)[:, 0])


@SMOOTH
def test_quantiles_rise_and_end_at_the_bounds(kind):
    d = make(kind)
    assert (np.diff(d.quantile(LEVELS), axis=1) > 0.0).all()
    low, high = d.quantile([0.0, 1.0]).T
    assert (low == (-0.5 if kind.startswith("log") else -np.inf)).all()
    assert np.isposinf(high).all()
    np.testing.assert_array_equal(d.cdf(d.quantile([0.0, 1.0])), np.tile([0.0, 1.0], (N, 1)))
    for half in (0.5, np.array(0.5)):
        np.testing.assert_array_equal(d.quantile(half), d.quantile([0.5])[:, 0])
    np.testing.assert_array_equal(d.cdf(1.5), d.cdf(np.full(N, 1.5)))


@SMOOTH
@pytest.mark.parametrize("level", [0.0, 0.5, 0.9, 0.999])
def test_an_interval_holds_its_level(kind, level):
    d = make(kind)
    lower, upper = d.interval(level)
    np.testing.assert_allclose(d.cdf(upper) - d.cdf(lower), level, atol=NEAR_ZERO)
    np.testing.assert_allclose(d.cdf(upper), 0.5 + level / 2, atol=NEAR_ZERO)


@SMOOTH
def test_the_density_is_the_slope_of_the_cdf_and_integrates_to_one(kind):
    d = make(kind, n=3)
    ends = d.quantile([1e-5, 0.01, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999, 1 - 1e-5])
    for row in range(0 if kind in KINKED else 3):

        def density(y, row=row):
            return float(np.exp(d.logpdf(np.full(3, y))[row]))

        mass = sum(quad(density, *pair, limit=300)[0] for pair in pairwise(ends[row]))
        assert mass == pytest.approx(1.0 - 2e-5, abs=1e-6)
    y, h = d.quantile([0.3])[:, 0], 1e-5
    slope = (d.cdf(y + h) - d.cdf(y - h)) / (2 * h)
    np.testing.assert_allclose(np.exp(d.logpdf(y)), slope, rtol=1e-5)


def by_integration(d, y, row, low=-np.inf, high=np.inf):
    """CRPS of one row as the integral of the squared distance of cdfs."""

    def cdf(x):
        return float(d.cdf(np.full(len(d.loc), x))[row])

    middle = np.clip(y, low, high)
    below = quad(lambda x: cdf(x) ** 2, low, middle, limit=400)[0]
    above = quad(lambda x: (1.0 - cdf(x)) ** 2, middle, high, limit=400)[0]
    return below + above + abs(y - middle)


@SMOOTH
def test_the_crps_is_the_integral_of_the_squared_distance_of_cdfs(kind):
    d = make(kind, n=3)
    if kind in KINKED:
        y, draws = d.quantile([0.1])[:, 0], d.sample(100_000, random_state=0)
        apart = np.abs(draws[::2] - draws[1::2]).mean(axis=0)
        np.testing.assert_allclose(
            d.crps(y), np.abs(draws - y).mean(axis=0) - 0.5 * apart, rtol=0.03
        )
        return
    tail = 1e-4 if kind == "log-student" else 1e-10
    low, high = d.quantile([tail, 1 - tail]).T
    for level in (0.02, 0.4, 0.97):
        y = d.quantile([level])[:, 0]
        expected = [by_integration(d, y[row], row, low[row], high[row]) for row in range(3)]
        np.testing.assert_allclose(d.crps(y), expected, rtol=2e-5, atol=1e-7)
    for y in (low - 1.0, high + 1.0):
        if not kind.startswith("log"):
            expected = [by_integration(d, y[row], row, low[row], high[row]) for row in range(3)]
            np.testing.assert_allclose(d.crps(y), expected, rtol=2e-5)


@pytest.mark.parametrize("kind", ["normal", "student"])
def test_the_quadrature_is_the_closed_form(kind):
    d = make(kind)
    for level in (1e-5, 0.3, 0.999):
        y = d.quantile([level])[:, 0]
        np.testing.assert_allclose(crps_by_quantiles(d, y, 6.0), d.crps(y), rtol=1e-5)


def test_scores_are_scoringrules(scoringrules):
    y = np.random.default_rng(1).normal(0.0, 4.0, N)
    normal, t, mixture, weighted = (make(kind) for kind in KINDS[:4])
    np.testing.assert_allclose(normal.crps(y), scoringrules.crps_normal(y, *normal), rtol=SAME_SUM)
    width = t.scale * np.sqrt((t.df - 2) / t.df)
    np.testing.assert_allclose(
        t.crps(y), scoringrules.crps_t(y, t.df, t.loc, width), rtol=CANCELLED
    )
    np.testing.assert_allclose(-t.logpdf(y), -stats.t.logpdf(y, t.df, t.loc, width), rtol=SAME_SUM)
    for d in (mixture, weighted):
        theirs = scoringrules.crps_mixnorm(
            y, d.means.T, np.sqrt(d.variances).T, None if d.weights is None else d.weights[None]
        )
        np.testing.assert_allclose(d.crps(y), theirs, rtol=CANCELLED)
    log = make("log-normal")
    theirs = scoringrules.crps_lognormal(np.abs(y) + 0.5, log.inner.loc, log.inner.scale)
    np.testing.assert_allclose(log.crps(np.abs(y)), theirs, rtol=CANCELLED)
    draws = np.random.default_rng(2).normal(size=(50, N))
    theirs = scoringrules.crps_ensemble(y, draws.T, estimator="nrg")
    np.testing.assert_allclose(DrawnDistribution(draws).crps(y), theirs, rtol=SAME_SUM)


@SMOOTH
def test_draws_have_the_moments(kind):
    d = make(kind, n=3)
    draws = d.sample(40_000, random_state=3)
    assert draws.shape == (40_000, 3)
    np.testing.assert_array_equal(draws, d.sample(40_000, random_state=3))
    # The share of draws below a quantile is binomial: 4.5 of its standard errors.
    for level in (0.05, 0.5, 0.9):
        share = (draws <= d.quantile([level])[:, 0]).mean(axis=0)
        np.testing.assert_allclose(share, level, atol=4.5 * 0.5 / 200)
    if kind != "log-student":
        error = 4.5 * d.scale / 200
        assert (np.abs(draws.mean(axis=0) - d.mean()) < error).all()
        np.testing.assert_allclose(draws.var(axis=0), d.variance(), rtol=0.25)


@SMOOTH
def test_it_unpacks_as_the_pair_it_was(kind):
    d = make(kind)
    loc, scale = d
    assert loc is d.loc
    assert scale is d.scale
    assert loc.shape == scale.shape == (N,)
    np.testing.assert_array_equal(np.stack(d), np.array(d))
    if kind != "quantiles":  # whose std is given, as its mean is
        np.testing.assert_allclose(d.variance(), d.scale**2)


def test_rows_are_cut_and_joined_and_one_number_is_no_row():
    d = make("weighted")
    assert len(d) == N
    assert len(d[:0]) == 0
    with pytest.raises(TypeError, match=r"one row law\[3:4\]"):
        d[0]
    with pytest.raises(InvalidData, match="no distribution"):
        concatenate([])
    for other in (make("weighted", seed=1), make("normal"), make("mixture")):
        with pytest.raises(InvalidData, match="of one kind and one model"):
            concatenate([d, other])
    with pytest.raises(InvalidData, match="same number of members"):
        concatenate([make("mixture"), MixtureDistribution([[0.0]], [[1.0]])])


@SMOOTH
def test_several_levels_at_once_are_the_single_ones(kind):
    d = make(kind)
    both = d.interval([0.5, 0.9])
    for place, level in enumerate([0.5, 0.9]):
        for ends, ends_at_level in zip(both, d.interval(level), strict=True):
            np.testing.assert_array_equal(ends[:, place], ends_at_level)


@SMOOTH
def test_a_frame_keeps_normals_and_ts_and_refuses_other_shapes(kind):
    d = make(kind)
    frame = d.to_pandas([0.1, 0.9], index=list("abcdefg"))
    np.testing.assert_array_equal(frame[["q0.1", "q0.9"]], d.quantile([0.1, 0.9]))
    assert list(frame.index) == list("abcdefg")
    if kind in ("normal", "student"):
        np.testing.assert_array_equal(
            Distribution.from_pandas(frame).quantile(LEVELS), d.quantile(LEVELS)
        )
    else:
        with pytest.raises(InvalidData, match="do not hold the shape"):
            Distribution.from_pandas(frame)
    with pytest.raises(InvalidData, match="no column scale"):
        Distribution.from_pandas(frame[["loc"]])


@SMOOTH
def test_it_survives_a_pickle_and_a_copy(kind):
    d = make(kind)
    for other in (pickle.loads(pickle.dumps(d)), copy.deepcopy(d)):  # noqa: S301 (our own)
        assert type(other) is type(d)
        for ours, theirs in zip(d, other, strict=True):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(d.quantile(LEVELS), other.quantile(LEVELS))


@SMOOTH
def test_nothing_in_it_changes(kind):
    d = make(kind)
    with pytest.raises(AttributeError):
        d.loc = np.zeros(N)
    with pytest.raises(ValueError, match="read-only"):
        d.scale[0] = 1.0


@given(seed=st.integers(0, 2**31), df=st.sampled_from([1e3, 1e6, 1e9, 1e12, np.inf]))
@settings(max_examples=20, deadline=None)
def test_a_student_of_many_degrees_of_freedom_is_the_normal(seed, df):
    normal = make("normal", seed)
    t = StudentDistribution(*normal, df)
    y = normal.sample(1, random_state=0)[0]
    near = 10.0 / df + NEAR_ZERO
    for name in ("logpdf", "cdf", "crps"):
        np.testing.assert_allclose(getattr(t, name)(y), getattr(normal, name)(y), rtol=20 * near)
    np.testing.assert_allclose(t.quantile(LEVELS[1:-1]), normal.quantile(LEVELS[1:-1]), atol=near)


def test_student_gives_the_normal_itself_and_mixed_rows():
    assert type(student([0.0], [1.0], np.inf)) is NormalDistribution
    both = student([0.0, 0.0], [1.0, 1.0], [3.0, np.inf])
    np.testing.assert_allclose(both.scale, 1.0)
    np.testing.assert_allclose(both.interval(0.9).upper[1], stats.norm.ppf(0.95))
    np.testing.assert_allclose(both.logpdf([0.5, 0.5])[1], stats.norm.logpdf(0.5))
    # The std of a t of 3 degrees of freedom, by its scale and scipy.
    width = stats.t.std(3.0)
    np.testing.assert_allclose(both.cdf([1.0, 1.0])[0], stats.t.cdf(width, 3.0))
    assert np.isfinite(both.sample(100, random_state=0)).all()


def test_a_mixture_of_equal_members_is_their_normal():
    normal = make("normal")
    mixture = MixtureDistribution(np.tile(normal.loc, (3, 1)), np.tile(normal.variance(), (3, 1)))
    y = normal.sample(1, random_state=0)[0]
    for name in ("logpdf", "cdf", "crps"):
        np.testing.assert_allclose(
            getattr(mixture, name)(y), getattr(normal, name)(y), rtol=CANCELLED
        )
    np.testing.assert_allclose(mixture.quantile(LEVELS), normal.quantile(LEVELS), rtol=CANCELLED)


@given(seed=st.integers(0, 2**31), gap=st.floats(0.0, 1e6), narrow=st.floats(1e-6, 1.0))
@settings(max_examples=50, deadline=None)
def test_quantiles_of_members_far_apart_and_of_any_width(seed, gap, narrow):
    random = np.random.default_rng(seed)
    means = random.normal(size=(4, 3)) * gap
    variances = np.square(random.uniform(0.5, 1.0, (4, 3)) * narrow)
    d = MixtureDistribution(means, variances, random.uniform(0.0, 1.0, 4) + 1e-3)
    q = np.array([0.001, 0.05, 0.5, 0.95, 0.999])
    for column, level in zip(d.quantile(q).T, q, strict=True):
        eps = 8e-16 * np.abs(column) / narrow  # a quantile's own rounding, as a probability
        assert (np.abs(d.cdf(column) - level) <= NEAR_ZERO + eps).all()


def test_certain_members_are_steps():
    d = MixtureDistribution([[0.0], [1.0]], [[0.0], [0.0]])
    np.testing.assert_array_equal(d.cdf([0.0]), [0.5])
    np.testing.assert_array_equal(d.cdf([-1e-9]), [0.0])
    np.testing.assert_allclose(
        d.quantile([0.0, 0.25, 0.75, 1.0]), [[0.0, 0.0, 1.0, 1.0]], atol=ZERO
    )
    np.testing.assert_allclose(d.crps([0.0]), [0.25])
    sure = NormalDistribution([2.0], [0.0])
    np.testing.assert_array_equal(sure.quantile([0.0, 0.5, 1.0]), [[2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(sure.crps([3.0]), [1.0])
    np.testing.assert_array_equal(StudentDistribution([2.0], [0.0], 5.0).crps([3.0]), [1.0])
    with pytest.raises(InvalidData, match="no density"):
        sure.logpdf([2.0])


def test_draws_are_a_distribution():
    draws = np.random.default_rng(0).normal(size=(10, N))
    d = DrawnDistribution(draws)
    np.testing.assert_array_equal(d.loc, draws.mean(axis=0))
    np.testing.assert_array_equal(
        d.quantile([0.0, 0.1, 0.3, 1.0]), np.sort(draws, 0)[[0, 0, 2, 9]].T
    )
    np.testing.assert_allclose(d.cdf(d.quantile([0.3])[:, 0]), 0.3)
    assert np.isin(d.sample(5, random_state=0), draws).all()
    with pytest.raises(InvalidData, match="no density"):
        d.logpdf(draws[0])


def test_the_log_scale_comes_back():
    z = NormalDistribution([0.0, 1.0], [0.5, 1.0])
    d = LogDistribution(z)
    np.testing.assert_allclose(d.loc, stats.lognorm.mean(z.scale, scale=np.exp(z.loc)))
    np.testing.assert_allclose(d.scale, stats.lognorm.std(z.scale, scale=np.exp(z.loc)))
    np.testing.assert_allclose(d.interval(0.9).lower, np.exp(z.interval(0.9).lower))
    y = np.array([0.5, 3.0])
    np.testing.assert_allclose(d.logpdf(y), stats.lognorm.logpdf(y, z.scale, scale=np.exp(z.loc)))
    outside = np.array([-1.0, 0.0])
    np.testing.assert_array_equal(d.cdf(outside), 0.0)
    np.testing.assert_array_equal(d.logpdf(outside), -np.inf)
    assert (d.crps(outside) > d.crps(np.array([0.01, 0.01]))).all()
    heavy = LogDistribution(StudentDistribution(*z, 4.0))
    assert np.isfinite(heavy.loc).all()
    assert np.isfinite(heavy.scale).all()
    assert np.isfinite(heavy.crps(y)).all()
    # The cut mean, by scipy.
    width, cut = z.scale[0] * np.sqrt(0.5), stats.t.ppf(1 - 1e-4, 4.0)
    inside = quad(lambda u: np.exp(width * u) * stats.t.pdf(u, 4.0), -cut, cut)[0]
    expected = inside + 1e-4 * (np.exp(width * cut) + np.exp(-width * cut))
    assert heavy.loc[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda d: d.quantile([1.5]), InvalidData, "q must be from 0 to 1"),
        (lambda d: d.quantile([np.nan]), InvalidData, "q must hold finite numbers"),
        (lambda d: d.quantile([[0.5]]), InvalidData, "q must have one axis"),
        (lambda d: d.interval(1.1), InvalidParameter, "level must be a number"),
        (lambda d: d.interval("wide"), InvalidParameter, "level must be a number"),
        (lambda d: d.logpdf([1.0]), InvalidData, "one value for each of the 7 rows; got 1"),
        (lambda d: d.cdf([[[0.0]]]), InvalidData, "y must have one axis"),
        (lambda d: d.crps(["a"] * N), InvalidData, "y must be an array of numbers"),
        (lambda d: d.sample(0), InvalidParameter, "draws must be a whole number at least 1"),
        (lambda d: d.sample(1.5), InvalidParameter, "draws must be a whole number"),
        (lambda d: d.sample(2, random_state="x"), InvalidParameter, "random_state must be"),
        (lambda d: StudentDistribution(*d, 2.0), InvalidData, "df must be one number above 2"),
        (lambda d: StudentDistribution(*d, [3.0]), InvalidData, "df must be one number above 2"),
        (lambda d: NormalDistribution(d.loc, -d.scale), InvalidData, "scale must be at least 0"),
        (lambda d: NormalDistribution(d.loc, d.scale[1:]), InvalidData, "loc has 7, scale has 6"),
        (lambda d: MixtureDistribution([d.loc], [d.scale[1:]]), InvalidData, "one shape"),
        (lambda d: MixtureDistribution([d.loc], [d.scale], [0.0]), InvalidData, "not all 0"),
        (lambda d: LogDistribution(d, -1.0), InvalidParameter, "shift must be a number"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(ask, error, words):
    with pytest.raises(error, match=words):
        ask(make("normal"))


def test_draws_beyond_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 1000)
    with pytest.raises(MemoryLimitExceeded, match="These draws would need"):
        make("normal").sample(1000)


def test_it_is_public():
    assert gbuq_core.Distribution is Distribution


@pytest.mark.parametrize("kind", ["mixture", "weighted"])
def test_a_mixture_scores_its_rows_in_blocks(kind, monkeypatch):
    d = make(kind, n=11)
    y = d.quantile([0.2])[:, 0]
    whole = d.crps(y), d.logpdf(y), d.quantile([0.1, 0.9])
    monkeypatch.setattr("gbuq_core.distribution._BLOCK", 20)  # four rows of five members
    for block, expected in zip(
        (d.crps(y), d.logpdf(y), d.quantile([0.1, 0.9])), whole, strict=True
    ):
        # Sums over members may add in another order: rounding.
        np.testing.assert_allclose(block, expected, rtol=SAME_SUM, atol=ZERO)
