"""What each estimator's ``predict_distribution`` returns: one type, with today's loc and scale."""

import functools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.ensemble import HistGradientBoostingRegressor
from tolerances import CANCELLED, SAME_SUM

from gbuq_core import (
    BoostedEnsembleRegressor,
    Distribution,
    IBUGRegressor,
    MacauRegressor,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeRegressor,
    baselines,
    decompose_regression,
)
from gbuq_core.baselines import AveragedDistribution
from gbuq_core.baselines.quantiles import QuantileDistribution
from gbuq_core.distribution import MixtureDistribution, NormalDistribution, concatenate
from gbuq_core.ibug import FAMILIES, FamilyDistribution
from gbuq_core.ibug.families import moments

RANDOM = np.random.default_rng(0)
X = RANDOM.uniform(-1.0, 1.0, (80, 2))
Y = np.exp(X[:, 0] + 0.3 * RANDOM.normal(size=80))  # above 0: every family can be used
NEW, Y_NEW = X[:9] + 0.01, Y[:9]


def make_ibug(**knobs):
    trees = HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5, random_state=0)
    return IBUGRegressor(trees, random_state=0, **knobs)


def make_average():
    pair = [("near", baselines.EuclideanNeighborsRegressor()), ("line", make_forest())]
    return baselines.AveragingRegressor(pair, random_state=0)


def make_forest():
    return baselines.GaussianNLLRegressor(n_trees=10, subsample=0.5, random_state=0)


ESTIMATORS = {
    "boosted": (BoostedEnsembleRegressor(n_trees=30, n_members=2, depth=2, random_state=0), None),
    "vst": (VariationalSoftTreeRegressor(n_steps=40, random_state=0), MixtureDistribution),
    "vsgbm": (
        VariationalSoftGBMRegressor(n_trees=2, n_steps=40, random_state=0),
        MixtureDistribution,
    ),
    "macau": (MacauRegressor(leaf_model="basic", random_state=0), NormalDistribution),
    "ibug": (make_ibug(), NormalDistribution),
    "ibug laplace": (make_ibug(posterior="laplace"), FamilyDistribution),
    "ibug likelihood": (make_ibug(posterior_fit="likelihood"), FamilyDistribution),
    "average": (make_average(), AveragedDistribution),
    "neighbours": (
        baselines.EuclideanNeighborsRegressor(random_state=0),
        NormalDistribution,
    ),
    "gaussian nll": (make_forest(), NormalDistribution),
    "quantile": (
        baselines.QuantileForestRegressor(n_trees=20, min_child_samples=5, random_state=0),
        baselines.RoundedDistribution,
    ),
    "moved quantiles": (
        baselines.ConformalizedQuantileRegressor(n_trees=15, random_state=0),
        QuantileDistribution,
    ),
    "xbart": (
        baselines.XBARTRegressor(n_trees=5, n_draws=20, random_state=0),
        MixtureDistribution,
    ),
    "process": (baselines.GaussianProcessBaseline(random_state=0), NormalDistribution),
    "ngboost": (baselines.NGBoostRegressor(n_trees=10, random_state=0), NormalDistribution),
    "catboost": (
        baselines.CatBoostUncertaintyRegressor(n_trees=20, random_state=0),
        NormalDistribution,
    ),
}


@functools.cache
def fitted(name):
    return ESTIMATORS[name][0].fit(X, Y)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_it_is_a_distribution(name):
    model, kind = fitted(name), ESTIMATORS[name][1]
    d = model.predict_distribution(NEW)
    assert isinstance(d, Distribution)
    assert kind is None or type(d) is kind
    loc, scale = d
    assert loc.shape == scale.shape == (9,)
    assert (scale > 0.0).all()
    assert len(d) == 9
    joined = concatenate([d[np.arange(9) > 4], d[[0, 3]], d[2:4]])
    places = [5, 6, 7, 8, 0, 3, 2, 3]
    assert type(joined) is type(d)
    for name in ("cdf", "crps"):  # to rounding: a sum over members may be taken in another order
        np.testing.assert_allclose(
            getattr(joined, name)(Y_NEW[places]), getattr(d, name)(Y_NEW)[places], rtol=SAME_SUM
        )
    for ours, theirs in zip(joined, d, strict=True):
        np.testing.assert_array_equal(ours, theirs[places])
    lower, upper = d.interval(0.8)
    if kind is baselines.RoundedDistribution:  # on values: both ends count as inside
        assert (d.cdf(upper) - d.cdf(np.nextafter(lower, -np.inf)) >= 0.8).all()
    else:
        np.testing.assert_allclose(d.cdf(upper) - d.cdf(lower), 0.8, atol=1e-7)
    assert (d.crps(Y_NEW) > 0.0).all()
    assert np.isfinite(d.logpdf(Y_NEW)).all()
    again = pickle.loads(pickle.dumps(d))  # noqa: S301 (our own)
    np.testing.assert_array_equal(d.quantile([0.1, 0.7]), again.quantile([0.1, 0.7]))
    np.testing.assert_array_equal(d.sample(4, random_state=1), again.sample(4, random_state=1))
    if hasattr(model, "predict_uncertainty"):
        np.testing.assert_allclose(scale**2, model.predict_uncertainty(NEW).total, rtol=SAME_SUM)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_ends_and_quantiles_are_those_of_the_law_and_rows_keep_their_names(name):
    model, named = fitted(name), pd.DataFrame(NEW, index=[f"row {k}" for k in range(len(NEW))])
    law = model.predict_distribution(named.to_numpy())
    np.testing.assert_array_equal(model.predict_interval(NEW, 0.8), law.interval(0.8))
    np.testing.assert_allclose(
        model.predict_quantiles(NEW, [0.1, 0.9]), law.quantile([0.1, 0.9]), rtol=SAME_SUM
    )
    assert model.predict_quantiles(NEW, 0.3).shape == (len(NEW),)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fitted without names of columns
        framed = model.predict_distribution(named)
    assert framed.to_pandas().index.equals(named.index)
    assert framed[named.index > "row 4"].to_pandas().index.tolist() == [*named.index[5:]]
    assert law.to_pandas().index.equals(pd.RangeIndex(len(NEW)))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_row_is_judged_alone_as_among_others(name):
    model = fitted(name)
    together, alone = model.predict_distribution(NEW), model.predict_distribution(NEW[3:4])
    # The process multiplies matrices, whose sums BLAS orders by their size, and its variance is
    # what a solve leaves of the prior's. All others do the same steps for one row as for nine.
    allowed = CANCELLED if name == "process" else 0.0
    np.testing.assert_allclose(alone.loc[0], together.loc[3], rtol=allowed)
    np.testing.assert_allclose(alone.scale[0], together.scale[3], rtol=allowed)


@pytest.mark.parametrize("name", ["vst", "vsgbm"])
@pytest.mark.parametrize("rows", [NEW, NEW[:1]])
def test_a_mixture_keeps_the_pair_bit_for_bit(name, rows):
    model = fitted(name)
    means, variances = np.moveaxis(model.predict_members(rows), -1, 0)
    d = model.predict_distribution(rows)
    np.testing.assert_array_equal(d.loc, sum(means) / len(means))
    np.testing.assert_array_equal(d.scale, np.sqrt(decompose_regression(means, variances).total))
    # The draws' own normals; VSGBM has no other noise.
    at = np.full(len(rows), 1.5)
    by_draw = -0.5 * ((at - means) ** 2 / variances + np.log(2 * np.pi * variances))
    expected = logsumexp(by_draw, axis=0) - np.log(len(means))
    np.testing.assert_allclose(d.logpdf(at), expected, rtol=SAME_SUM)
    if name == "vsgbm":
        np.testing.assert_allclose(d.logpdf(at), model.log_densities(rows, at), rtol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("fit", ["matched", "likelihood"])
def test_ibug_returns_its_fitted_family(family, fit):
    model = make_ibug(posterior=family, posterior_fit=fit, n_neighbors=15).fit(X, Y)
    plain = make_ibug(n_neighbors=15).fit(X, Y)
    d = model.predict_distribution(NEW)
    # The pair is the same for all families, as it was.
    for mine, theirs in zip(d, plain.predict_distribution(NEW), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    q = [0.05, 0.5, 0.95]
    ends = d.quantile(q)
    np.testing.assert_allclose(ends, model.predict_quantiles(NEW, q), rtol=SAME_SUM)
    for column, level in zip(ends.T, q, strict=True):
        np.testing.assert_allclose(d.cdf(column), level, atol=1e-7)
    if type(d) is NormalDistribution:
        return
    mean, std = moments(d.posterior)
    np.testing.assert_array_equal(d.mean(), mean)
    np.testing.assert_array_equal(d.variance(), std**2)
    density = model.predict_density(NEW, Y_NEW[:, None])[:, 0]
    np.testing.assert_allclose(np.exp(d.logpdf(Y_NEW)), density, rtol=SAME_SUM)
    np.testing.assert_array_equal(*(d.sample(5, random_state=0) for _ in range(2)))
    # CRPS against 5,000 draws: E|Y - y| - E|Y - Y'| / 2.
    usable = np.isfinite(std) & (std < 100)
    draws = d.sample(5000, random_state=0)
    apart = np.abs(draws[::2] - draws[1::2])
    by_draws = np.abs(draws - Y_NEW).mean(axis=0) - 0.5 * apart.mean(axis=0)
    error = 6.0 * (draws.std(axis=0) + apart.std(axis=0)) / 50
    assert (np.abs(d.crps(Y_NEW) - by_draws) < error)[usable].all()
    assert np.isneginf(d.quantile([0.0])).all() == (family not in ("log-normal", "weibull"))


def test_ibug_takes_a_neighbourhood_and_choices_with_every_family():
    model = make_ibug(posterior="laplace").fit(X, Y)
    near = model.find_neighborhood(NEW)
    for given in (near, NEW):
        d = model.predict_distribution(given, n_neighbors=7)
        np.testing.assert_array_equal(d.loc, model.predict(NEW))
    few = model.predict_distribution(NEW, 7, n_trees_sampled=3, tree_order="last")
    assert type(few) is FamilyDistribution
    expected = model.predict_uncertainty(NEW, n_neighbors=7).total
    np.testing.assert_array_equal(expected, np.square(d.scale))
