"""sample_weight trains the base model; every row is one neighbour."""

import numpy as np
import pytest
from catboost import CatBoostRegressor
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline

from gbuq_core import IBUGRegressor
from gbuq_core.errors import InvalidData, InvalidParameter


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
    np.testing.assert_allclose(weighted.predict(X), own.predict(X), rtol=1e-9)
    # Each row that counts is a neighbour, once.
    np.testing.assert_array_equal(weighted.y_train_, y[weight > 0])
    fitted = IBUGRegressor(weighted.model_, n_neighbors=10, calibrate=False)
    fitted.fit(X[weight > 0], y[weight > 0])
    np.testing.assert_array_equal(
        weighted.predict_distribution(X).scale, fitted.predict_distribution(X).scale
    )


@pytest.mark.parametrize("given", [True, False])
def test_rows_held_out_keep_their_weights_in_the_refit(table, given):
    X, y, weight = table
    base = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5, random_state=0)
    tuning = {"X_val": X[150:], "y_val": y[150:]} if given else {}
    n = 150 if given else 200
    model = IBUGRegressor(base, random_state=0)
    model.fit(X[:n], y[:n], sample_weight=weight[:n], **tuning)
    counted = np.concatenate([weight[:n], np.ones(200 - n)])
    own = HistGradientBoostingRegressor(max_iter=20, min_samples_leaf=5, random_state=0)
    own.fit(X[counted > 0], y[counted > 0], sample_weight=counted[counted > 0])
    np.testing.assert_array_equal(model.predict(X), own.predict(X))


@pytest.mark.parametrize("base", [None, CatBoostRegressor(iterations=30, verbose=False)])
def test_catboost_is_trained_with_weights(table, base):
    X, _, weight = table
    y = np.where(weight > 1, 1.0, -1.0) + 0.01 * X[:, 0]
    model = IBUGRegressor(base, n_jobs=1, random_state=0).fit(X, y, sample_weight=weight)
    plain = IBUGRegressor(base, n_jobs=1, random_state=0).fit(X, y)
    assert model.predict(X).mean() > plain.predict(X).mean() + 0.2


def test_what_cannot_be_weighted(table):
    X, y, weight = table
    fitted = GradientBoostingRegressor(n_estimators=5).fit(X, y)
    with pytest.raises(InvalidParameter, match=r"^sample_weight trains the base model, but"):
        IBUGRegressor(fitted, n_neighbors=5).fit(X, y, sample_weight=weight)
    pipe = make_pipeline(GradientBoostingRegressor(n_estimators=5))
    with pytest.raises(InvalidParameter, match=r"^base_model \(Pipeline\) takes no sample_weight"):
        IBUGRegressor(pipe, n_neighbors=5).fit(X, y, sample_weight=weight)
    with pytest.raises(InvalidData, match=r"^sample_weight has the shape"):
        IBUGRegressor(None, n_neighbors=5).fit(X, y, sample_weight=weight[:5])
