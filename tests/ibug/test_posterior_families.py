"""Nine posterior families against scipy.stats: bulk fits, densities, cdfs, quantiles, draws."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats
from scipy.special import ndtr
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug import family_fits
from gbuq_core.ibug.families import (
    FAMILIES,
    FITS,
    cdf,
    check_family,
    fit_posterior,
    log_density,
    log_likelihood,
    moments,
    quantile,
    resolution_of,
    sample,
    take_rows,
)
from gbuq_core.ibug.family_fits import (
    _INVERSE_DF,
    _SKEWNESS,
    _skew_normal_likelihood,
    _student_t_likelihood,
    best_inverse_df,
    best_skewness,
    half_are_equal,
    skew_normal,
    spread_of,
    standardise,
)

PARAMETRIC = [name for name, family in FAMILIES.items() if family.distribution]
BOTH_FITS = pytest.mark.parametrize("fit", FITS)
EVERY = pytest.mark.parametrize("family", FAMILIES)


def gamma_targets(n_rows=5, k=61, seed=0):
    """Skewed positive targets, which every family can be fitted to."""
    return np.random.default_rng(seed).gamma(3.0, 2.0, size=(n_rows, k))


def fitted(family, targets, fit, min_scale=1e-6):
    """The family with the neighbours' own mean and std."""
    return fit_posterior(family, *spread_of(targets), targets, min_scale, fit)


# Moments


@pytest.mark.parametrize("family", PARAMETRIC)
def test_matched_families_have_the_models_mean_and_the_calibrated_std(family):
    targets = gamma_targets()
    loc, scale = np.linspace(3.0, 9.0, 5), np.geomspace(0.2, 6.0, 5)
    mean, std = moments(fit_posterior(family, loc, scale, targets))
    # Closed forms and a Newton iteration to 1e-12, through scipy's own formulas.
    np.testing.assert_allclose(mean, loc, rtol=CANCELLED)
    np.testing.assert_allclose(std, scale, rtol=CANCELLED)


def test_a_kernel_density_is_scipys():
    targets = gamma_targets()
    grid = np.linspace(-2.0, 25.0, 9)
    mine = log_density(fitted("kde", targets, "matched"), np.tile(grid, (len(targets), 1)))
    theirs = [stats.gaussian_kde(row, bw_method="scott").logpdf(grid) for row in targets]
    # The same sum of k exponentials, once as a log-sum-exp.
    np.testing.assert_allclose(mine, theirs, rtol=CANCELLED)


# Shapes


@pytest.mark.parametrize("skewness", [-0.8, -0.3, 0.0, 0.5, 0.9])
def test_the_skewness_of_many_draws_is_found(skewness, rng):
    shape = skew_normal(np.zeros(1), np.ones(1), np.array([skewness])).shape
    z = stats.skewnorm.rvs(shape[0], size=(3, 20_000), random_state=rng)
    # 20,000 draws: a standard error near 0.02 where the likelihood is flattest, at 0.
    np.testing.assert_allclose(best_skewness(standardise(z)), skewness, atol=0.12)


@pytest.mark.parametrize("df", [3.0, 5.0, 10.0])
def test_the_degrees_of_freedom_of_many_draws_are_found(df, rng):
    z = stats.t.rvs(df, size=(3, 20_000), random_state=rng)
    # With the std held, df = 3 is off by its std's own large error; the rest is a standard error.
    np.testing.assert_allclose(best_inverse_df(standardise(z)), 1.0 / df, atol=0.06)


@pytest.mark.parametrize("family", ["skew-normal", "student-t"])
def test_the_shape_is_the_most_likely_one_of_a_fine_grid(family):
    targets = gamma_targets(8, 31, seed=3)
    mean, std = spread_of(targets)
    mine = log_density(fitted(family, targets, "matched"), targets).mean(axis=1)
    shapes = (
        np.linspace(-0.94, 0.94, 400) if family == "skew-normal" else np.linspace(2.05, 300, 4000)
    )
    best, unit = np.full(len(targets), -np.inf), np.ones(len(targets))
    for shape in shapes:
        if family == "skew-normal":
            loc, scale, alpha = (part[:, None] for part in skew_normal(mean, std, shape * unit))
            density = stats.skewnorm.logpdf(targets, alpha, loc, scale)
        else:
            scale = std * np.sqrt((shape - 2) / shape)
            density = stats.t.logpdf(targets, shape, mean[:, None], scale[:, None])
        best = np.maximum(best, density.mean(axis=1))
    # A grid of 25 shapes and a parabola through its top, against 400 or 4000 shapes.
    assert (mine >= best - 2e-3).all()


@pytest.mark.parametrize(
    ("best", "likelihood", "grid"),
    [
        (best_skewness, _skew_normal_likelihood, _SKEWNESS),
        (best_inverse_df, _student_t_likelihood, _INVERSE_DF),
    ],
    ids=["skew-normal", "student-t"],
)
def test_a_search_in_steps_finds_the_top_of_the_whole_grid(best, likelihood, grid, rng):
    """Skewed, two-peaked, flat, wild and few neighbours."""
    for targets in (
        rng.gamma(1.0, size=(40, 31)),
        -rng.gamma(0.3, size=(40, 121)),
        np.where(rng.uniform(size=(40, 61)) < 0.2, 5.0, 0.0) + rng.normal(size=(40, 61)),
        rng.uniform(size=(40, 121)),
        rng.standard_cauchy((40, 61)),
        rng.normal(size=(40, 3)),
        np.where(rng.uniform(size=(40, 15)) < 0.5, 1.0, 0.0),
    ):
        z = standardise(targets)
        whole = np.array([likelihood(z, np.full(len(z), value)) for value in grid])
        mine = best(z)
        # The parabola moves the top by half a step at most; of two peaks either will do.
        near_top = np.abs(mine - grid[whole.argmax(axis=0)]) <= 0.51 * (grid[1] - grid[0])
        assert (near_top | (likelihood(z, mine) >= whole.max(axis=0) - 2e-3)).all()


def test_the_likelihood_of_a_skew_normal_is_scipys_up_to_a_constant():
    z = np.linspace(-9.0, 9.0, 37)[:, None]  # one value a row
    for skewness in (-0.95, 0.0, 0.4, 0.95):
        loc, scale, shape = skew_normal(np.zeros(1), np.ones(1), np.array([skewness]))
        theirs = stats.skewnorm.logpdf(z[:, 0], shape, loc, scale)
        mine = _skew_normal_likelihood(z, np.full(37, skewness))
        # log ndtr in place of log_ndtr: rounding of 1e-16 beside a cdf of one; -1e3 in the tail.
        constant = np.log(2.0) - 0.5 * np.log(2.0 * np.pi)
        np.testing.assert_allclose(mine + constant, theirs, rtol=SAME_SUM, atol=ZERO)


def test_a_skew_normal_takes_eleven_passes_of_the_normal_cdf(monkeypatch):
    seen = []
    monkeypatch.setattr(family_fits, "ndtr", lambda x: seen.append(x.size) or ndtr(x))
    best_skewness(standardise(gamma_targets(20, 61)))
    assert seen == [20 * 61] * 11


# Maximum likelihood


@pytest.mark.parametrize(
    "family", ["normal", "laplace", "logistic", "gumbel", "log-normal", "weibull", "student-t"]
)
def test_likelihood_fits_are_as_likely_as_scipys(family):
    targets = gamma_targets(4, 41, seed=1)
    posterior = fitted(family, targets, "likelihood")
    mine = log_density(posterior, targets).mean(axis=1)
    held = {"floc": 0.0} if FAMILIES[family].positive else {}
    distribution = getattr(stats, FAMILIES[family].distribution)
    for row, here in enumerate(targets):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scipy's search steps outside at times
            theirs = distribution.logpdf(here, *distribution.fit(here, **held)).mean()
        # scipy's simplex stops at 1e-4 of its parameters; our df are 15 values.
        assert mine[row] >= theirs - (2e-3 if family == "student-t" else 1e-7)


@pytest.mark.parametrize("family", ["logistic", "gumbel", "weibull", "student-t"])
@given(seed=st.integers(0, 10_000), k=st.integers(3, 12), heavy=st.booleans())
def test_likelihood_fits_survive_few_and_wild_neighbours(family, seed, k, heavy):
    rng = np.random.default_rng(seed)
    targets = np.exp(rng.standard_cauchy((6, k)).clip(-6, 6) if heavy else rng.normal(size=(6, k)))
    matched, likeliest = (
        log_density(fitted(family, targets, fit), targets).mean(axis=1) for fit in FITS
    )
    assert np.isfinite(likeliest).all()
    # Parameters of the same moments are one candidate; a Student t with a variance is another one
    # than ours, whose df are 15 values and whose EM may end at a lesser peak.
    assert (likeliest >= matched - (0.15 if family == "student-t" else 1e-6)).all()


# Density, cdf, quantile, draws


@EVERY
@BOTH_FITS
def test_densities_integrate_to_cdfs(family, fit):
    posterior = fitted(family, gamma_targets(1), fit)

    def density(y):
        return float(np.exp(log_density(posterior, np.array([y])))[0])

    start = 0.0 if FAMILIES[family].positive else -60.0
    low, high = 2.0, 9.0
    # A Laplace has its kink at loc.
    kinks = [float(posterior.loc[0])] if family == "laplace" else None
    between, _ = integrate.quad(density, low, high, limit=200, points=kinks)
    below, _ = integrate.quad(density, start, low, limit=400, points=[0.5, 1.0])
    at_low, at_high = cdf(posterior, np.array([[low, high]]))[0]
    assert between == pytest.approx(at_high - at_low, abs=1e-6)  # quad's own error
    # What lies below -60 matters for a Student t only.
    assert below == pytest.approx(at_low, abs=1e-4)


@EVERY
@BOTH_FITS
def test_quantiles_invert_cdfs(family, fit):
    posterior = fitted(family, gamma_targets(), fit)
    levels = np.array([0.001, 0.05, 0.5, 0.9, 0.999])
    y = quantile(posterior, levels)
    assert y.shape == (5, 5)
    assert (np.diff(y, axis=1) > 0).all()
    # Bisection to 1e-13 of the range for the KDE, scipy's inverses (skew-normal: 1e-8) else.
    np.testing.assert_allclose(cdf(posterior, y), np.broadcast_to(levels, y.shape), atol=1e-7)


@EVERY
def test_draws_follow_the_cdf_and_the_seed(family):
    posterior = fitted(family, gamma_targets(2), "matched")
    draws = sample(posterior, 2000, random_state=3)
    assert draws.shape == (2000, 2)
    np.testing.assert_array_equal(draws, sample(posterior, 2000, random_state=3))
    for row in range(2):
        own = take_rows(posterior, np.array([row]))
        # 1.95 / sqrt(n) is exceeded once in a thousand; the seed is fixed.
        gap = stats.kstest(draws[:, row], lambda y, own=own: cdf(own, y[None])[0]).statistic
        assert gap < 1.95 / np.sqrt(2000)


@EVERY
def test_one_value_a_row_and_a_grid_agree(family):
    posterior = fitted(family, gamma_targets(), "matched")
    y = np.linspace(1.0, 9.0, 5)
    for function in (log_density, cdf):
        grid = function(posterior, np.broadcast_to(y, (5, 5)))
        np.testing.assert_allclose(function(posterior, y), np.diag(grid), rtol=SAME_SUM)


@pytest.mark.parametrize("family", PARAMETRIC)
def test_densities_are_scipys(family):
    posterior = fitted(family, gamma_targets(), "matched")
    y = np.array([-1.0, 0.5, 4.0, 30.0])
    mine = log_density(posterior, np.broadcast_to(y, (5, 4)))
    distribution = getattr(stats, FAMILIES[family].distribution)
    for row in range(5):
        shape = () if posterior.shape is None else (posterior.shape[row],)
        law = distribution(*shape, loc=posterior.loc[row], scale=posterior.scale[row])
        np.testing.assert_array_equal(mine[row], law.logpdf(y))


def test_kernel_densities_are_cut_into_blocks_without_a_trace(monkeypatch):
    posterior = fitted("kde", gamma_targets(7, 31), "matched")
    grid = np.linspace(0.0, 20.0, 11)
    y = np.broadcast_to(grid, (7, 11))
    whole = log_density(posterior, y)
    monkeypatch.setattr("gbuq_core.ibug.families._BLOCK", 400)
    np.testing.assert_array_equal(log_density(posterior, y), whole)


# Edges


@EVERY
@BOTH_FITS
def test_equal_neighbours_have_the_least_scale(family, fit):
    targets = np.vstack([np.full(9, 4.0), np.r_[np.full(8, 4.0), 4.0 + 1e-9]])
    posterior = fit_posterior(family, np.full(2, 4.0), np.full(2, 0.5), targets, 0.5, fit)
    mean, std = moments(posterior)
    np.testing.assert_allclose(mean, 4.0, rtol=CANCELLED)
    # A KDE has Scott's share of it as bandwidth; the others have it as std.
    expected = 0.5 * 9**-0.2 if family == "kde" else 0.5
    np.testing.assert_allclose(std, expected, rtol=1e-6)
    assert np.isfinite(log_density(posterior, np.full(2, 4.1))).all()


@pytest.mark.parametrize("family", ["laplace", "student-t"])
def test_most_neighbours_equal_do_not_give_an_infinite_density(family):
    targets = np.array([[2.0] * 30 + [3.0]])
    posterior = fit_posterior(family, np.array([2.0]), np.array([0.5]), targets, 0.1, "likelihood")
    # A density can be no higher than that of a scale of a hundredth of the least std.
    assert 0.0 < log_density(posterior, np.array([2.0]))[0] < np.log(1.0 / (0.01 * 0.1))


def test_positive_families_use_the_neighbours_mean_where_the_model_is_not_positive():
    targets = gamma_targets(2)
    for family in ("log-normal", "weibull"):
        posterior = fit_posterior(family, np.array([-1.0, 5.0]), np.ones(2), targets)
        expected = [targets[0].mean(), 5.0]
        np.testing.assert_allclose(moments(posterior)[0], expected, rtol=CANCELLED)
        assert log_density(posterior, np.array([-0.5, 0.0]))[0] == -np.inf


@pytest.mark.parametrize("family", ["log-normal", "weibull"])
@pytest.mark.parametrize("lowest", [0.0, -2.0])
def test_positive_families_refuse_other_targets_in_a_sentence(family, lowest):
    with pytest.raises(
        InvalidData, match=r"^posterior=.* needs targets above 0 .*: choose another.*\.$"
    ):
        check_family(family, [lowest, 1.0])


def test_unknown_families_and_fits_are_refused():
    with pytest.raises(InvalidParameter, match=r"^posterior must be one of 'normal'"):
        check_family("cauchy", [1.0])
    with pytest.raises(InvalidParameter, match=r"^posterior_fit must be one of"):
        fitted("normal", gamma_targets(), "guess")
    with pytest.raises(InvalidData, match=r"^levels must lie between 0 and 1; got .*\.$"):
        quantile(fitted("normal", gamma_targets(), "matched"), [0.5, 1.0])
    with pytest.raises(InvalidParameter, match=r"^n_draws must be"):
        sample(fitted("normal", gamma_targets(), "matched"), 0)


@EVERY
@BOTH_FITS
@given(shift=st.floats(-5.0, 50.0), factor=st.floats(0.01, 100.0))
def test_fits_move_with_the_unit_of_y(family, fit, shift, factor):
    """Density of a*y + b is the density of y over a (positive families: of a*y)."""
    targets = gamma_targets(3, 15, seed=5)
    moved = factor * targets + (0.0 if FAMILIES[family].positive else shift)
    y = np.array([2.0, 5.0, 9.0])
    there = factor * y + (0.0 if FAMILIES[family].positive else shift)
    before = log_density(fitted(family, targets, fit), y)
    after = log_density(fitted(family, moved, fit), there)
    # The same arithmetic on other numbers: rounding of a shift of 50 on a scale of 0.01.
    np.testing.assert_allclose(after + np.log(factor), before, rtol=1e-5, atol=1e-5)


# Ties


@pytest.mark.parametrize("family", PARAMETRIC)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_one_value_keep_the_spread_of_their_neighbours(family, weighted):
    """A Student t of one degree of freedom would shrink onto a value that half of them have."""
    spread = gamma_targets(3, 21, seed=5)
    targets = np.where(np.arange(21) < [[0], [11], [21 - 1]], 2.0, spread)
    places = np.ones(targets.shape) if weighted else None
    posterior = fit_posterior(
        family, *spread_of(targets), targets, 1e-6, "likelihood", places=places
    )
    mean, std = spread_of(targets)
    np.testing.assert_array_equal(half_are_equal(targets, places), [False, True, True])
    np.testing.assert_allclose(moments(posterior)[0][1:], mean[1:], rtol=1e-9)  # closed forms
    np.testing.assert_allclose(moments(posterior)[1][1:], std[1:], rtol=1e-8)
    alone = fitted(family, targets[:1], "likelihood")
    np.testing.assert_allclose(posterior.scale[0], alone.scale[0], rtol=1e-12)


def test_a_weight_counts_as_so_many_equal_neighbours():
    targets, places = np.array([[1.0, 2.0, 3.0, 9.0]]), np.array([[1.0, 3.0, 1.0, 1.0]])
    assert half_are_equal(targets, places).all()
    assert not half_are_equal(targets).any()
    assert not half_are_equal(np.array([[1.0, 2.0]])).any()  # half of two, and no tie


@EVERY
def test_a_likelihood_is_that_of_an_interval(family):
    posterior = fitted(family, gamma_targets(4, 41, seed=6), "likelihood")
    y = np.array([4.0, 5.0, 6.0, 7.0])
    share = cdf(posterior, y + 0.5) - cdf(posterior, y - 0.5)
    logs = log_likelihood(posterior, y, 1.0)
    np.testing.assert_allclose(logs, np.log(share), rtol=1e-12)
    # Of a small interval it is the density's; beyond what floats tell apart it is the density.
    dense = log_density(posterior, y)
    np.testing.assert_allclose(log_likelihood(posterior, y, 1e-4), dense, rtol=1e-6)
    np.testing.assert_array_equal(log_likelihood(posterior, y, 0.0), dense)
    np.testing.assert_array_equal(log_likelihood(posterior, y, 1e-12), dense)


@pytest.mark.parametrize(
    ("y", "gap"),
    [([0.0, 0.0, 2.0, 2.5], 0.5), ([0.0, 2.0, 2.5], 0.0), ([3.0, 3.0], 0.0)],
)
def test_the_resolution_is_the_smallest_gap_where_rows_are_equal(y, gap):
    assert resolution_of(np.array(y)) == gap
