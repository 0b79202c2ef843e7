"""What a neighbourhood's indices count and whose it is; what is held out; how many trees count."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug import IBUGRegressor

GBM = {"n_estimators": 20, "max_depth": 3, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(200, 3))
    return X, X[:, 1] + (0.1 + X[:, 0]) * rng.normal(size=200)


@pytest.mark.parametrize("given", [False, True], ids=["held out", "given"])
def test_validation_neighbours_are_counted_among_all_training_rows(given, table):
    X, y = table
    model = IBUGRegressor(GradientBoostingRegressor(**GBM), random_state=0)
    model.fit(*((X[:150], y[:150], X[150:], y[150:]) if given else (X, y)))
    near = model.validation_
    np.testing.assert_array_equal(model.y_train_[near.indices], near.targets)
    assert near.indices.dtype == np.int32
    shares = model.neighbor_class_shares(near, model.y_train_ > 0.5, 10).shares
    np.testing.assert_allclose(shares[:, 1], (near.targets[:, :10] > 0.5).mean(axis=1))


def test_a_neighbourhood_of_another_fit_is_refused(table):
    X, y = table
    gbm = GradientBoostingRegressor(**GBM).fit(X, y)
    model = IBUGRegressor(gbm, 5).fit(X, y)
    neighborhood = model.find_neighborhood(X[:9], 10)
    for other in (
        IBUGRegressor(gbm, 5).fit(X[:100], y[:100]),
        IBUGRegressor(gbm, 5).fit(X, y + 1.0),
        IBUGRegressor(GradientBoostingRegressor(learning_rate=0.5).fit(X, y), 5).fit(X, y),
    ):
        for ask in (other.predict, other.predict_distribution, other.kneighbors, other.scale_path):
            with pytest.raises(InvalidParameter, match=r"^This neighbourhood belongs to another"):
                ask(neighborhood)
    for same in (IBUGRegressor(gbm, 5).fit(X, y), copy.deepcopy(model)):
        np.testing.assert_array_equal(same.predict(neighborhood), gbm.predict(X[:9]))


@pytest.mark.parametrize("n_neighbors", [5, "tune"])
def test_more_trees_than_there_are(n_neighbors, table):
    X, y = table
    knobs = {"n_neighbors": n_neighbors, "n_trees_sampled": 21, "random_state": 0}
    owned = IBUGRegressor(GradientBoostingRegressor(**GBM), **knobs).fit(X, y)
    every = clone(owned).set_params(n_trees_sampled=None).fit(X, y)
    assert owned.find_neighborhood(X).n_trees == owned.n_trees_ == 20
    np.testing.assert_array_equal(owned.predict_distribution(X), every.predict_distribution(X))
    with pytest.raises(InvalidParameter, match=r"n_trees_sampled must be .* 20"):
        owned.kneighbors(X, n_trees_sampled=21)
    gbm = GradientBoostingRegressor(**GBM).fit(X[:150], y[:150])
    with pytest.raises(InvalidParameter, match=r"n_trees_sampled must be .* 20"):
        IBUGRegressor(gbm, **knobs).fit(X[:150], y[:150], X[150:], y[150:])


@pytest.mark.parametrize("count", [0, 2.5, "many"])
def test_impossible_numbers_of_trees_are_refused_before_the_fit(count, table, monkeypatch):
    base = GradientBoostingRegressor(**GBM)
    monkeypatch.setattr(GradientBoostingRegressor, "fit", lambda *_: pytest.fail("it was fitted"))
    with pytest.raises(InvalidParameter, match="n_trees_sampled must be"):
        IBUGRegressor(base, 5, n_trees_sampled=count).fit(*table)


def test_catboost_stops_by_itself_even_if_nothing_is_tuned(table):
    X, y = table
    model = IBUGRegressor(n_neighbors=5, calibrate=False, n_jobs=1, random_state=0).fit(X, y)
    assert type(model.model_).__name__ == "CatBoostRegressor"
    assert 1 <= model.n_trees_ < 1000
    assert len(model.y_validation_) == 40
    assert model.min_scale_ > 1e-6  # of the noise, std 0.1 to 1.1, not the stand-in of 1e-15
    assert (model.gamma_, model.delta_) == (1.0, 0.0)
    assert len(model.y_train_) == len(X)


def test_leaf_density_is_the_share_of_training_rows_that_share_a_leaf(table):
    X, y = table
    gbm = GradientBoostingRegressor(**GBM).fit(X[:150], y[:150])
    model = IBUGRegressor(gbm, 5).fit(X[:150], y[:150])
    mine = gbm.apply(X[:150])
    for rows in (None, X[150:]):
        theirs = mine if rows is None else gbm.apply(rows)
        shared = (theirs[:, None] == mine[None]).mean(axis=(0, 1))
        # The mean of the same shares, added up in another order.
        np.testing.assert_allclose(model.leaf_density(rows).visited, shared, rtol=SAME_SUM)
    assert model.leaf_density().n_leaves.tolist() == [len(np.unique(tree)) for tree in mine.T]
    with pytest.raises(InvalidData, match="X contains NaN"):
        model.leaf_density(np.full((2, 3), np.nan))
    # A training row is its own neighbour, in all trees.
    np.testing.assert_array_equal(model.kneighbors(X[:150], 2).affinities[:, 0], 20)
