"""Rows count as often as they weigh, in the base model, among neighbours and for tuning."""

import numpy as np
import pytest
import scipy.stats
from catboost import CatBoostRegressor
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from tolerances import CANCELLED, NEAR_ZERO

from gbuq_core import IBUGRegressor
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug import FAMILIES, fit_posterior, log_density, moments
from gbuq_core.ibug.affinity import count_affinities, nearest_places, pack_leaves
from gbuq_core.ibug.family_distribution import FamilyDistribution
from gbuq_core.inputs import hold_out
from gbuq_core.metrics.neighbour_tuning import running_std


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(200, 2))
    return X, X[:, 0] + 0.2 * rng.normal(size=200), rng.integers(0, 4, 200)


def test_the_model_is_that_of_repeated_rows(table):
    X, y, weight = table
    base = GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=0)
    model = IBUGRegressor(base, n_neighbors=10, calibrate=False, random_state=0)
    weighted = model.fit(X, y, sample_weight=weight)
    own = GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=0)
    own.fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(weighted.predict(X), own.predict(X), rtol=CANCELLED)
    np.testing.assert_array_equal(weighted.y_train_, y[weight > 0])
    np.testing.assert_array_equal(weighted.weight_train_, weight[weight > 0])


@pytest.mark.parametrize("own_rows", [True, False])
def test_rows_held_out_keep_their_weights_in_the_refit(table, own_rows):
    X, y, weight = table
    base = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5, random_state=0)
    tuning = {"X_val": X[150:], "y_val": y[150:]} if own_rows else {}
    n = 150 if own_rows else 200
    model = IBUGRegressor(base, random_state=0)
    model.fit(X[:n], y[:n], sample_weight=weight[:n], **tuning)
    counted = np.concatenate([weight[:n], np.ones(200 - n)])
    own = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5, random_state=0)
    own.fit(X[counted > 0], y[counted > 0], sample_weight=counted[counted > 0])
    np.testing.assert_array_equal(model.predict(X), own.predict(X))


def test_catboost_is_trained_with_weights(table):
    X, _, weight = table
    base = CatBoostRegressor(iterations=30, verbose=False, allow_writing_files=False)
    y = np.where(weight > 1, 1.0, -1.0) + 0.01 * X[:, 0]
    model = IBUGRegressor(base, n_jobs=1, random_state=0).fit(X, y, sample_weight=weight)
    plain = IBUGRegressor(base, n_jobs=1, random_state=0).fit(X, y)
    assert model.predict(X).mean() > plain.predict(X).mean() + 0.2


def test_what_cannot_be_weighted(table):
    X, y, weight = table
    pipe = make_pipeline(GradientBoostingRegressor(n_estimators=5))
    with pytest.raises(InvalidParameter, match=r"^base_model \(Pipeline\) takes no sample_weight"):
        IBUGRegressor(pipe, n_neighbors=5).fit(X, y, sample_weight=weight)
    with pytest.raises(InvalidData, match=r"^sample_weight has the shape"):
        IBUGRegressor(None, n_neighbors=5).fit(X, y, sample_weight=weight[:5])


SMALL = {"n_estimators": 20, "max_depth": 2, "random_state": 0}


def repeat(model, X, y, weight, *tuning):
    """The same fit on rows that are written down as often as they weigh."""
    return model.fit(X.repeat(weight, axis=0), y.repeat(weight), *tuning)


@pytest.fixture(scope="module")
def trees(table):
    X, y, weight = table
    return GradientBoostingRegressor(**SMALL).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("posterior", list(FAMILIES))
@pytest.mark.parametrize("posterior_fit", ["matched", "likelihood"])
def test_whole_weights_in_the_neighbourhood_equal_repeated_rows(
    table, trees, posterior, posterior_fit
):
    X, y, weight = table
    y = y + 2.0  # some families need positive targets
    new, y_new = X[::4] + 0.01, y[::4]
    options = {"posterior": posterior, "posterior_fit": posterior_fit}
    weighted = IBUGRegressor(trees, **options)
    weighted.fit(X, y, new, y_new, sample_weight=weight)
    repeated = repeat(IBUGRegressor(trees, **options), X, y, weight, new, y_new)
    assert weighted.n_neighbors_ == repeated.n_neighbors_
    for name in ("min_scale_", "gamma_", "delta_"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-6)
    law_of_weights, other = weighted.predict_distribution(new), repeated.predict_distribution(new)
    np.testing.assert_allclose(law_of_weights.scale, other.scale, rtol=1e-7)
    for name, given_ in (
        ("logpdf", y_new),
        ("cdf", y_new),
        ("crps", y_new),
        ("quantile", [0.1, 0.6]),
    ):
        left, right = (getattr(law, name)(given_) for law in (law_of_weights, other))
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-7)


def test_neighbours_are_those_of_repeated_rows(table, trees):
    X, y, weight = table
    weighted = IBUGRegressor(trees, n_neighbors=7).fit(X, y, sample_weight=weight)
    repeated = repeat(IBUGRegressor(trees, n_neighbors=7), X, y, weight)
    kept, place = np.flatnonzero(weight), np.arange(len(X)).repeat(weight)
    indices, affinities = weighted.kneighbors(X[:30])
    copies, near = repeated.kneighbors(X[:30])
    neighborhood = weighted.find_neighborhood(X[:30], 7)
    assert neighborhood.n_places >= 7
    for row in range(30):
        times = neighborhood.places(7)[row].astype(int)
        own = neighborhood.indices[row]
        np.testing.assert_array_equal(kept[own].repeat(times), place[copies[row]])
        np.testing.assert_array_equal(neighborhood.affinities[row].repeat(times), near[row])
        used = indices[row] >= 0
        np.testing.assert_array_equal(indices[row][used], own[times > 0])
        assert (affinities[row][~used] == 0).all()
    targets = weighted.neighbor_targets(X[:30])
    np.testing.assert_array_equal(np.isnan(targets), indices < 0)
    labels = y > np.median(y)
    np.testing.assert_allclose(
        weighted.neighbor_class_shares(X[:30], labels[kept]).shares,
        repeated.neighbor_class_shares(X[:30], labels[place]).shares,
    )
    path, other = weighted.scale_path(X[:30]), repeated.scale_path(X[:30])
    np.testing.assert_array_equal(path.n_neighbors, other.n_neighbors)
    np.testing.assert_allclose(path.scale, other.scale, rtol=1e-7, atol=NEAR_ZERO)
    for query in (None, X[:30]):
        left, right = weighted.leaf_density(query), repeated.leaf_density(query)
        np.testing.assert_allclose(left.visited, right.visited)
        np.testing.assert_allclose(left.largest, right.largest)
    # A neighbourhood stands in for its rows, for any k that it fills.
    wide = weighted.find_neighborhood(X[:30])
    np.testing.assert_array_equal(
        weighted.predict_distribution(wide, 5).scale, weighted.predict_distribution(X[:30], 5).scale
    )


@pytest.mark.parametrize("posterior", ["normal", "tune"])
@pytest.mark.parametrize("scoring", ["nll", "crps"])
def test_rows_that_tune_count_as_often_as_they_weigh(table, posterior, scoring):
    X, y, weight = table
    base = GradientBoostingRegressor(**SMALL)
    options = {"scoring": scoring, "posterior": posterior, "random_state": 0}
    weighted = IBUGRegressor(base, **options).fit(X, y, sample_weight=weight)
    kept = weight > 0
    X, y, weight = X[kept], y[kept], weight[kept]
    fitted, tuned = hold_out(len(y), 0.2, 0)
    repeated = IBUGRegressor(base, **options).fit(
        X[fitted].repeat(weight[fitted], axis=0),
        y[fitted].repeat(weight[fitted]),
        X[tuned].repeat(weight[tuned], axis=0),
        y[tuned].repeat(weight[tuned]),
    )
    for name in ("n_neighbors_", "posterior_"):
        assert getattr(weighted, name) == getattr(repeated, name)
    for name in ("min_scale_", "gamma_", "delta_"):
        assert getattr(weighted, name) == pytest.approx(getattr(repeated, name), rel=1e-6)
    np.testing.assert_allclose(
        getattr(weighted.tuning_, scoring), getattr(repeated.tuning_, scoring)
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 12))
def test_fractions_take_shares_of_the_places(seed, k):
    """The twin walks down all rows by affinity and hands out the places."""
    rng = np.random.default_rng(seed)
    leaves = rng.integers(0, 3, (40, 6))
    weight = rng.integers(1, 17, 40) / 8.0
    train = pack_leaves(leaves)
    query = rng.integers(0, 3, (5, 6))
    near = nearest_places(train, query, k, weight)
    y = rng.normal(size=40)
    std = running_std(y[near.indices], [k], weight[near.indices])[:, 0]
    for row, counts in enumerate(count_affinities(train, query)):
        left, shares = float(k), np.zeros(40)
        for i in np.argsort(-counts.astype(int), kind="stable"):
            shares[i] = min(weight[i], left)
            left -= shares[i]
        own = np.flatnonzero(shares)
        assert set(own) <= set(near.indices[row])
        mean = np.average(y, weights=shares)
        expected = np.sqrt(np.average((y - mean) ** 2, weights=shares))
        assert std[row] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("family", list(FAMILIES))
@pytest.mark.parametrize("fit", ["matched", "likelihood"])
def test_families_of_shares_are_those_of_repeated_targets(family, fit, rng):
    """Half a place each is what one place each is, twice over."""
    targets = rng.gamma(3.0, size=(20, 8))
    places = rng.integers(1, 4, (20, 8)).astype(float)
    places[:, -1] = 24.0 - places[:, :-1].sum(axis=1)
    loc, scale = np.full(20, 3.0), np.full(20, 1.5)
    weighted = fit_posterior(family, loc, scale, targets, fit=fit, places=places)
    for row in range(20):
        copies = targets[row].repeat(places[row].astype(int))[None]
        own = fit_posterior(family, loc[:1], scale[:1], copies, fit=fit)
        points = np.array([1.0, 2.5, 6.0])
        left = log_density(weighted, np.tile(points, (20, 1)))[row]
        np.testing.assert_allclose(left, log_density(own, points[None])[0], rtol=1e-6)
        np.testing.assert_allclose(
            [part[row] for part in moments(weighted)], [part[0] for part in moments(own)], rtol=1e-6
        )


def test_draws_of_weighted_kernels(rng):
    places = np.array([[3.0, 1.0]])
    targets = np.array([[0.0, 100.0]])
    fitted = fit_posterior("kde", np.zeros(1), np.ones(1), targets, places=places)
    fitted = fitted._replace(scale=np.array([1.0]))
    law = FamilyDistribution(np.zeros(1), np.ones(1), fitted)
    draws = law.sample(4000, random_state=0)
    assert np.mean(draws > 50.0) == pytest.approx(0.25, abs=0.03)
    expected = 0.75 * scipy.stats.norm.cdf(1.0) + 0.25 * scipy.stats.norm.cdf(-99.0)
    assert law.cdf([1.0])[0] == pytest.approx(expected)


def test_more_places_than_rows(table, trees):
    X, y, _ = table
    weight = np.full(len(y), 0.25)
    model = IBUGRegressor(trees, n_neighbors=40).fit(X, y, sample_weight=weight)
    assert model.kneighbors(X[:2]).indices.shape == (2, 160)
    with pytest.raises(InvalidParameter, match="at most 50, the number of training rows"):
        IBUGRegressor(trees, n_neighbors=51).fit(X, y, sample_weight=weight)
    heavy = IBUGRegressor(trees, n_neighbors=400).fit(X, y, sample_weight=np.full(len(y), 3.0))
    assert heavy.kneighbors(X[:2]).indices.shape == (2, 134)
