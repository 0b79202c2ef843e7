"""What IBUGRegressor refuses, each in one sentence."""

import numpy as np
import pandas as pd
import pytest
from refusal_parts import refused
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.ibug import IBUGRegressor

# One thread, few trees.
GBM = {"n_estimators": 30, "max_depth": 3, "random_state": 0}


def test_tuning_on_rows_that_the_model_has_seen_is_refused(table, fitted_gbm):
    X, y = table
    with refused(InvalidParameter, "n_neighbors='tune' needs rows that the fitted model has not"):
        IBUGRegressor(fitted_gbm).fit(X[:160], y[:160])
    with refused(InvalidParameter, "posterior='tune' needs rows"):
        IBUGRegressor(fitted_gbm, 5, posterior="tune").fit(X[:160], y[:160])


@pytest.mark.parametrize(
    ("k", "text"),
    [
        (1, "at least 2, as a single neighbour has no spread; got 1"),
        (-3, "at least 2, as a single neighbour has no spread; got -3"),
        (161, "at most 160, the number of training rows; got 161"),
        (2.5, "must be a whole number"),
        ("many", "must be a whole number or 'tune'; got 'many'"),
        (True, "must be a whole number or 'tune'; got True"),
        (2.0, "must be a whole number or 'tune'; got 2.0"),
    ],
)
def test_impossible_k_are_refused(k, text, table, fitted_gbm, model, new):
    X, y = table
    with refused(InvalidParameter, text):
        IBUGRegressor(fitted_gbm, k).fit(X[:160], y[:160])
    if not isinstance(k, str):
        with refused(InvalidParameter, text):
            model.predict_distribution(new[0], n_neighbors=k)


def test_a_neighbourhood_holds_no_more_than_was_searched(model, new):
    neighborhood = model.find_neighborhood(new[0], 5)
    with refused(InvalidParameter, "holds 5 neighbours for each row, but 6 were asked for"):
        model.neighbor_targets(neighborhood, 6)
    with refused(InvalidParameter, "searched with fixed trees"):
        model.predict_distribution(neighborhood, 5, n_trees_sampled=3)


def bad_fits(X, y):
    """The estimator, what to fit it to, and what is wrong."""
    gbm = GradientBoostingRegressor(**GBM)
    gaps, infinite, short = X.copy(), X.copy(), gbm.fit(X[:, :2], y)
    gaps[3, 1], infinite[3, 1] = np.nan, np.inf
    gap_y = np.where(np.arange(len(y)) == 5, np.nan, y)
    own = IBUGRegressor(clone(gbm), random_state=0)
    labels = GradientBoostingClassifier(n_estimators=2)
    yield IBUGRegressor(short, 5), (X, y), "trained on 2 features, but X has 3"
    yield IBUGRegressor(labels), (X, y), "is a classifier"
    fitted = clone(labels).fit(X, y > 6)
    yield IBUGRegressor(fitted, 5), (X, y), "classifier"
    yield IBUGRegressor(GradientBoostingRegressor), (X, y), "must be an object, not a"
    yield IBUGRegressor(DummyRegressor()), (X, y), "DummyRegressor"
    yield own, (X, np.column_stack([y, y])), "one value a row, not several targets"
    yield own, (X, np.full(len(X), 2.5)), r"only one value \(2.5\)"
    yield own, (X, 1e-18 * y), "y varies by only .*, and a std below 1e-15 counts as 0"
    yield own, (X, gap_y), "y contains NaN or infinity"
    yield own, (X, np.ma.masked_less(y, 5.0)), "y is a masked array"
    yield own, (X, 1e200 * y), "variances overflow above 1e\\+75"
    dates = np.datetime64("2020-01-01") + np.arange(len(y))
    yield own, (X, dates), "y holds dates or durations"
    yield own, (X[:, 0], y), "got 1D array instead: X must have"
    yield own, (X, ["a"] * len(X)), "y holds values that are not numbers"
    frame = pd.DataFrame(X).add_prefix("x").assign(when=dates)
    yield IBUGRegressor(), (frame, y), "Column 'when' holds neither numbers nor text"
    yield own, (gaps, y), "contains NaN"
    yield own, (infinite, y), "infinity"
    yield own, (X, y[:-1]), "differ in number"
    yield own, (X[:3], y[:3]), "too few"
    yield own, (X, y, X), "belong together"
    yield IBUGRegressor(clone(gbm), tree_order="best"), (X, y), "tree_order must be one of"
    yield IBUGRegressor(clone(gbm), scoring="mse"), (X, y), "scoring must be one of"
    yield IBUGRegressor(clone(gbm), posterior="cauchy"), (X, y), "posterior must be one"
    yield IBUGRegressor(clone(gbm), n_trees_sampled=0), (X, y), "n_trees_sampled must be"
    yield IBUGRegressor(clone(gbm), random_state="x"), (X, y), "random_state must be"
    yield IBUGRegressor(clone(gbm), calibrate="yes"), (X, y), "calibrate must be True"
    yield IBUGRegressor(clone(gbm), validation_fraction=1.5), (X, y), "validation_fraction"
    text = pd.DataFrame({"a": ["u", "v"] * (len(X) // 2), "b": X[:, 0], "when": dates})
    yield IBUGRegressor(), (text, y), "column 'when' holds dates or durations"
    yield IBUGRegressor(n_jobs=1), (np.ones_like(X), y), "CatBoost cannot be fitted"


def test_bad_input_is_refused_in_a_sentence(table):
    X, y = table[0][:60], table[1][:60]
    for estimator, arguments, text in bad_fits(X, y):
        with refused(GbuqError, text):
            estimator.fit(*arguments)


def test_validation_rows_count_as_training_rows_of_an_owned_model(table):
    X, y = table
    model = IBUGRegressor(GradientBoostingRegressor(**GBM), 5, posterior="weibull")
    with refused(InvalidData, "posterior='weibull' needs targets above 0 and the lowest is -1"):
        model.fit(X, np.abs(y) + 0.1, X[:40], np.full(40, -1.0))


def test_settings_reach_as_far_as_the_validation_neighbours(table, new):
    X, y = table
    model = IBUGRegressor(GradientBoostingRegressor(**GBM), 5, random_state=0).fit(X, y)
    width = model.validation_.targets.shape[1]
    assert model.setting_for(width).n_neighbors == width == 208 < len(model.y_train_)
    for ask in (model.setting_for, lambda k: model.predict_distribution(new[0], n_neighbors=k)):
        with refused(InvalidParameter, "only 208 rows are left for tuning"):
            ask(209)
    assert model.kneighbors(new[0], 209).indices.shape == (50, 209)  # needs no calibration


def test_new_rows_are_checked(model, new):
    with pytest.raises(ValueError, match="2 features"):
        model.predict(new[0][:, :2])
    gaps = new[0].copy()
    gaps[0, 0] = np.nan
    for predict in (model.predict, model.predict_distribution):
        with pytest.raises(InvalidData, match=r"^[^\n]*(missing|NaN)[^\n]*\.$"):
            predict(gaps)
    with refused(InvalidData, "y_grid must be one grid"):
        model.predict_density(new[0], np.zeros((2, 3)))
    with refused(InvalidData, "y_grid must hold finite numbers"):
        model.predict_density(new[0], [0.0, np.nan])
    with refused(InvalidData, "levels must lie between 0 and 1"):
        model.predict_quantiles(new[0], 1.5)


def test_labels_that_have_no_order_are_refused(model, new):
    labels = np.where(model.y_train_ > 5, "high", "low").astype(object)
    labels[3] = None
    with refused(InvalidData, r"labels mixes values of different kinds \(NoneType, str\)"):
        model.neighbor_class_shares(new[0], labels)
    with refused(InvalidData, "labels must name a class for each"):
        model.neighbor_class_shares(new[0], ["high"])


def test_a_single_row_is_refused_in_a_short_sentence(model, new):
    for predict in (model.predict, model.kneighbors, model.leaf_density):
        with refused(InvalidData, "got 1D array instead: X must have"):
            predict(new[0].ravel())


def test_gaps_are_not_blamed_for_another_error(table):
    X, y = table
    gaps = np.where(X < 0.05, np.nan, X)
    wrong = HistGradientBoostingRegressor(max_iter=5, monotonic_cst=[1, 0])
    with pytest.raises(ValueError, match="monotonic_cst has shape"):
        IBUGRegressor(wrong, 5).fit(gaps, y)
    with refused(InvalidData, "does not take missing values"):
        IBUGRegressor(GradientBoostingRegressor(**GBM), 5).fit(gaps, y)
