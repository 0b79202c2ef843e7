"""The stacked law against loops over its parts, on every kind of support."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from gbuq_core.distribution import concatenate
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.stacking.law import Normals, Recalibration, StackedDistribution, Students
from gbuq_core.stacking.support import Support, find_support

INF = np.inf
REAL = Support("real", -INF, INF, False, False, False)
SUPPORTS = {
    "real": REAL,
    "folded at 0": Support("nonnegative", 0.0, INF, False, False, False),
    "mass at 0": Support("nonnegative", 0.0, INF, False, True, False),
    "unit": Support("unit", 0.0, 1.0, False, False, False),
    "unit with masses": Support("unit", 0.0, 1.0, False, True, True),
    "counts": Support("whole", 0.0, INF, True, True, False),
    "stars": Support("whole", 1.0, 5.0, True, False, True),
}
EACH = pytest.mark.parametrize("support", SUPPORTS.values(), ids=SUPPORTS)


def parts(n=3, seed=0):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(5), n)
    normals = Normals(rng.normal(1.0, 1.0, (n, 4)), rng.uniform(0.1, 0.5, (n, 4)), shares[:, :4])
    return normals, Students(rng.uniform(0.2, 2.0, n), rng.uniform(0.3, 1.0, n), np.full(n, 4.0),
                             shares[:, 4])  # fmt: skip


def part_cdfs(parts, row):
    """(share, cdf) of each part of a row, as whole laws."""
    normals, t = parts
    share = normals.shares[row]

    def mixed(x):
        laws = stats.norm.cdf(x, normals.centres[row], normals.std[row])
        return float(share @ laws / share.sum())

    width = t.std[row] * np.sqrt((t.df[row] - 2) / t.df[row])
    return [
        (share.sum(), mixed),
        (t.share[row], lambda x: float(stats.t.cdf((x - t.loc[row]) / width, t.df[row]))),
    ]


def naive_cdf(parts, support, row, x):
    """What is beyond a bound stands at it, or is folded back where training has no mass there."""
    low, high = support.mirrors
    if x < support.low:
        return 0.0
    if x >= support.high:
        return 1.0
    at = np.floor(x) + 0.5 if support.whole else x
    below = 0.0
    for share, cdf in part_cdfs(parts, row):
        folded = cdf(at)
        folded -= cdf(2 * low - at) if np.isfinite(low) else 0.0
        folded += 1.0 - cdf(2 * high - at) if np.isfinite(high) else 0.0
        below += share * folded
    return float(np.clip(below, 0.0, 1.0))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 40))
def test_cdfs_by_tables_are_those_of_scipy(seed, n_points, n_normals):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 6, 4)
    points = 10.0 ** rng.uniform(-3.0, 5.0, (4, n_points)) * rng.choice([-1.0, 1.0], (4, n_points))
    points[0, 0] = np.nan
    shares = rng.dirichlet(np.ones(n_normals), 6)
    normals = Normals(
        rng.normal(0.0, 3.0, shares.shape), 10.0 ** rng.uniform(-3.0, 2.0, shares.shape), shares
    )
    df = rng.choice([2.2, 3.0, 4.0, 7.5, 20.0, 100.0, 1e3, INF], 6)
    width = 10.0 ** rng.uniform(-3.0, 2.0, 6)
    t = Students(rng.normal(0.0, 3.0, 6), width, df, rng.uniform(size=6))
    wanted = np.zeros((2, 4, n_points))
    for i, row in enumerate(rows):
        for k, x in enumerate(points[i]):
            laws = stats.norm.cdf(x, normals.centres[row], normals.std[row])
            wanted[0, i, k] = sum(normals.shares[row] * laws)
            wanted[1, i, k] = t.share[row] * stats.t.cdf((x - t.loc[row]) / t.width[row], t.df[row])
    # Taylor's series: five terms 1 / 128 std from a node, and four at up to 100 degrees of freedom.
    np.testing.assert_allclose(normals.cdf(points, rows), wanted[0], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(t.cdf(points, rows), wanted[1], rtol=0.0, atol=3e-11)


@EACH
def test_cdf_density_and_quantiles_are_those_of_loops(support):
    own = parts()
    law = StackedDistribution(own, support)
    points = np.array([0.0, 0.37, 1.0, 2.0, 5.0])
    for x in points:
        expected = [naive_cdf(own, support, row, x) for row in range(3)]
        np.testing.assert_allclose(law.cdf(np.full(3, x)), expected, atol=1e-9, rtol=0)  # of ndtr
    for level in (0.03, 0.5, 0.9):
        q = law.quantile(level)
        assert (law.cdf(q) >= level - 1e-9).all()
        below = np.maximum(q - (1.0 if support.whole else 1e-6), support.low - 1.0)
        assert (law.cdf(below) < level + 1e-9).all()  # the smallest such value
        assert not support.outside(q).any()
    inside = np.full(3, 2.0 if support.whole else 0.6)
    h = 1.0 if support.whole else 1e-4
    step = law.cdf(inside) - law.cdf(inside - h)
    if not support.whole:
        step = (law.cdf(inside + h) - law.cdf(inside - h)) / 2e-4
    np.testing.assert_allclose(np.exp(law.logpdf(inside)), step, rtol=1e-4)


@EACH
def test_crps_mean_and_variance_are_those_of_fine_sums(support):
    own = parts()
    law = StackedDistribution(own, support)
    y = np.array([1.0, 2.0, 1.0])
    fine = np.linspace(-60.0, 60.0, 480_001)
    row = law.take([1])
    below = row._cdf(fine[None])[0]
    middle = 0.5 * (fine[1:] + fine[:-1])
    rise = np.diff(below)
    mean = float(rise @ middle)
    variance = float(rise @ (middle - mean) ** 2)
    crps = integrate.trapezoid((below - (fine >= y[1])) ** 2, fine)
    close = {"rel": 2e-3, "abs": 2e-3}  # t tails beyond +-60, and the steps of 2.5e-4
    assert law.loc[1] == pytest.approx(mean, **close)
    assert law.variance()[1] == pytest.approx(variance, **close)
    assert law.crps(y)[1] == pytest.approx(crps, abs=2.5e-4)  # the steps


@EACH
def test_draws_follow_the_cdf(support):
    law = StackedDistribution(parts(), support)
    drawn = law.sample(4000, random_state=0)
    assert not support.outside(drawn).any()
    at = 2.0 if support.whole else 0.8
    share = (drawn <= at).mean(axis=0)
    np.testing.assert_allclose(share, law.cdf(np.full(3, at)), atol=4 * 0.5 / np.sqrt(4000))


def test_masses_stand_at_the_bounds_where_training_has_some():
    own = parts()
    kept = StackedDistribution(own, SUPPORTS["unit with masses"])
    folded = StackedDistribution(own, SUPPORTS["folded at 0"])
    zeros, ones = np.zeros(3), np.ones(3)
    assert (kept.cdf(zeros) > 0.01).all()
    np.testing.assert_allclose(np.exp(kept.logpdf(zeros)), kept.cdf(zeros))
    np.testing.assert_allclose(
        np.exp(kept.logpdf(ones)), 1.0 - kept.cdf(np.nextafter(ones, 0.0)), rtol=1e-9
    )  # one float below the bound
    np.testing.assert_array_equal(folded.cdf(zeros), 0.0)
    assert (folded.logpdf(zeros - 0.1) == -INF).all()


def test_tight_spikes_and_wide_tails_keep_the_crps_exact():
    n = 2
    spikes = Normals(np.tile([0.0, 1.0, 1.001, 7.0], (n, 1)), np.full((n, 4), 1e-4),
                     np.full((n, 4), 0.2))  # fmt: skip
    law = StackedDistribution(
        (spikes, Students(np.ones(n), np.full(n, 3.0), np.full(n, 3.0), np.full(n, 0.2))), REAL
    )
    fine = np.unique(np.r_[np.linspace(-150.0, 150.0, 30_001), np.linspace(-0.01, 1.01, 40_001),
                           np.linspace(6.99, 7.01, 4001)])  # fmt: skip
    below = law.take([0])._cdf(fine[None])[0]
    expected = integrate.trapezoid((below - (fine >= 0.5)) ** 2, fine)
    assert law.crps(np.full(n, 0.5))[0] == pytest.approx(expected, abs=1e-4 * law.scale[0])


@pytest.mark.parametrize(("std", "worst"), [(0.01, 7e-4), (0.03, 3e-4), (0.1, 1e-4), (0.5, 1e-5)])
def test_crps_of_many_spikes_is_that_of_all_pairs(std, worst, rng):
    """Grimit et al. (2006), equation 5; a row's worst error, and their mean."""

    def expect(m, s):
        return m * (2.0 * stats.norm.cdf(m / s) - 1.0) + 2.0 * s * stats.norm.pdf(m / s)

    centres, y = rng.normal(size=(300, 40)), rng.normal(size=300)
    law = StackedDistribution(
        (Normals(centres, np.full((300, 40), std), np.full((300, 40), 1 / 40)),), REAL
    )
    pairs = expect(centres[:, :, None] - centres[:, None, :], std * np.sqrt(2.0)).mean(axis=(1, 2))
    error = law.crps(y) - (expect(y[:, None] - centres, std).mean(axis=1) - 0.5 * pairs)
    assert np.abs(error).max() < worst
    assert abs(error.mean()) < 3e-5


def test_rows_do_not_depend_on_their_batch():
    own = parts(700)
    for support in (REAL, SUPPORTS["counts"]):
        law = StackedDistribution(own, support)
        few = StackedDistribution(tuple(part.take(slice(300, 303)) for part in own), support)
        assert (few.loc == law.loc[300:303]).all()
        assert (few.quantile([0.1, 0.9]) == law.quantile([0.1, 0.9])[300:303]).all()
        y = np.full(3, 2.0)
        assert (few.crps(y) == law.take(slice(300, 303)).crps(y)).all()


@EACH
def test_laws_of_other_voices_are_joined_and_cut(support):
    normals, t = parts(5)
    alone = t._replace(share=np.ones(5))
    wide = Normals(*(np.tile(part, 2) for part in normals))
    shares = 1.0 / (2.0 * normals.shares.sum(axis=1, keepdims=True))
    laws = [
        StackedDistribution(own, support)
        for own in ((normals, t), (alone,), (wide._replace(shares=wide.shares * shares),))
    ]
    joined = concatenate(laws)
    assert len(joined) == 15
    rows = np.array([12, 3, 7])
    places = [(2, 2), (0, 3), (1, 2)]
    wanted = np.stack([laws[k].quantile([0.1, 0.9])[row] for k, row in places])
    for cut in (joined[rows], joined.take(rows)):  # roots are solved to 1e-12
        np.testing.assert_allclose(cut.quantile([0.1, 0.9]), wanted, rtol=0.0, atol=1e-9)
        np.testing.assert_array_equal(cut.loc, joined.loc[rows])


BENT = np.stack([np.linspace(0.0, 1.0, 65) ** 2, np.linspace(0.0, 1.0, 65) ** 0.5])


@EACH
def test_a_recalibrated_law_is_the_mixture_through_its_map(support):
    own = parts()
    which = np.array([0, 1, 0])
    plain = StackedDistribution(own, support)
    law = StackedDistribution(own, support, Recalibration(BENT, which))
    inner = np.array([0.4, 0.6, 0.8]) if not support.whole else np.array([1.0, 2.0, 1.0])
    expected = [np.interp(p, np.linspace(0.0, 1.0, 65), BENT[k])
                for p, k in zip(plain.cdf(inner), which, strict=True)]  # fmt: skip
    np.testing.assert_allclose(law.cdf(inner), expected, rtol=1e-12)  # a line between two nodes
    levels = np.array([0.05, 0.5, 0.95])
    ends = law.quantile(levels)
    for k, level in enumerate(levels):
        assert (law.cdf(ends[:, k]) >= level - 1e-9).all()  # the roots are solved to 1e-10
    if not support.whole:
        step = 1e-6
        slope = (law.cdf(inner + step) - law.cdf(inner - step)) / (2.0 * step)
        # Central differences are exact to step^2; no node of the map lies within a step here.
        np.testing.assert_allclose(np.exp(law.logpdf(inner)), slope, rtol=1e-5)
    draws = law.sample(4000, random_state=0)
    share = (draws <= inner).mean(axis=0)
    np.testing.assert_allclose(share, law.cdf(inner), atol=4 * 0.5 / np.sqrt(4000))
    # Four standard errors of a mean of 4,000 draws, and 1e-3 of the grid.
    np.testing.assert_allclose(
        draws.mean(axis=0), law.loc, atol=4.0 * law.scale.max() / np.sqrt(4000) + 1e-3
    )


@EACH
def test_recalibrated_laws_are_joined_and_cut(support):
    own = parts(4)
    laws = [StackedDistribution(own, support, Recalibration(BENT[k : k + 1], np.zeros(4, int)))
            for k in (0, 1)]  # fmt: skip
    joined = concatenate(laws)
    ends = joined[np.array([6, 1])].quantile([0.1, 0.9])
    wanted = [laws[1].quantile([0.1, 0.9])[2], laws[0].quantile([0.1, 0.9])[1]]
    np.testing.assert_allclose(ends, wanted, rtol=0.0, atol=1e-9)  # roots are solved to 1e-12


def test_a_probability_is_drawn_between_the_ends_of_a_mass():
    law = StackedDistribution(parts(), SUPPORTS["counts"])
    y = np.array([0.0, 1.0, 2.0])
    pit = law.pit(y, 0)
    assert ((pit <= law.cdf(y)) & (pit >= law.cdf(y - 1.0))).all()


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_what_was_found_holds_the_training_rows(values):
    y = np.array(values)
    support = find_support(y)
    assert not support.outside(y).any()
    assert support.describe().endswith(".")


CASES = {
    "ratings": (np.repeat([1, 2, 3, 4, 5], 20), ("whole", 1.0, 5.0)),
    "few ratings at the end": (np.repeat([1, 2, 3], [30, 40, 3]), ("whole", 1.0, INF)),
    "a count up to 8": (
        np.r_[np.zeros(200), np.ones(90), np.full(25, 2), 5, 8],
        ("whole", 0.0, INF),
    ),
    "0 or 1": (np.repeat([0, 1], [70, 30]), ("whole", 0.0, 1.0)),
    "few ones": (np.repeat([0, 1], [900, 20]), ("whole", 0.0, INF)),
    "below 1, far from it": (np.linspace(0.0, 0.3, 50), ("nonnegative", 0.0, INF)),
    "counts": (np.arange(30) % 17, ("whole", 0.0, INF)),
    "shares": ([0.1, 0.5, 0.97], ("unit", 0.0, 1.0)),
    "prices": ([1.5, 10.0, 30.0], ("nonnegative", 0.0, INF)),
    "far from 0": ([100.5, 101.0, 102.2], ("real", -INF, INF)),
    "negative whole": ([-3, *range(20)], ("whole", -INF, INF)),
    "signed": ([-0.5, 1.0, 2.5], ("real", -INF, INF)),
    "half stars": (
        np.repeat([0.5, 3.0, 3.5, 4.0, 4.5, 5.0], [12, 20, 30, 40, 50, 40]),
        ("interval", 0.5, 5.0),
    ),
    "tenths that thin out": (
        np.repeat(np.arange(30) / 10, [*range(60, 0, -2)]),
        ("nonnegative", 0.0, INF),
    ),
    "a gauge that is full": (
        np.r_[np.linspace(-9.5, 20.2, 80), np.full(9, 20.3)],
        ("interval", -INF, 20.3),
    ),
    "round prices among others": (
        np.r_[np.repeat([5.0, 10.0, 15.0, 20.0], [9, 40, 90, 60]), np.arange(8, 40) + 0.29],
        ("nonnegative", 0.0, INF),
    ),
    "heaped at tens": (
        np.repeat(np.arange(3, 38), [12, *[1] * 8, 60, *[1] * 9, 80, *[1] * 15]),
        ("whole", 0.0, INF),
    ),
    "each unit ten times": (np.repeat(np.linspace(0.1, 7.3, 40), 10), ("nonnegative", 0.0, INF)),
}


@pytest.mark.parametrize(("y", "expected"), CASES.values(), ids=CASES)
def test_auto_reads_the_support_off_the_targets(y, expected):
    assert find_support(np.array(y, float))[:3] == expected


def test_whole_numbers_that_the_user_declares_have_no_end():
    ratings = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 20)
    assert find_support(ratings, "whole")[:3] == ("whole", 0.0, INF)


def test_a_mass_needs_a_hundredth_of_the_rows_and_two():
    y = np.r_[np.zeros(2), np.linspace(0.1, 3.0, 98)]
    assert find_support(y).low_mass
    assert not find_support(np.r_[y, np.linspace(0.1, 3.0, 200)]).low_mass
    assert find_support(y).describe().endswith("and many rows are at 0.")


@pytest.mark.parametrize("wanted", ["positive", (1.0, 1.0), (2, 1), "real ", 3, ("a", "b"), (1,)])
def test_impossible_supports_are_refused(wanted):
    with pytest.raises(InvalidParameter, match=r"^support must be [^\n]*$"):
        find_support(np.array([1.0, 2.5]), wanted)


def test_a_support_that_leaves_rows_out_is_refused():
    with pytest.raises(InvalidData, match="from 0 to 1, but y holds 2"):
        find_support(np.array([0.5, 2.0]), "unit")
    with pytest.raises(InvalidData, match=r"'whole', but y holds 0\.5"):
        find_support(np.array([0.5, 2.0]), "whole")
    assert find_support(np.array([0.5, 2.0]), (0, None))[:3] == ("interval", 0.0, INF)
