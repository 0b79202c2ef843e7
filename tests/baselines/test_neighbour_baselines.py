"""Euclidean neighbours (kNN and kNN-CB) and averages of distributions."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusal_parts import refused
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM

from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.baselines import (
    AveragingRegressor,
    EuclideanNeighborsRegressor,
    average_distributions,
)
from gbuq_core.baselines.held_out import make_tuning_rows
from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.ibug import IBUGRegressor
from gbuq_core.metrics import nll_gaussian
from gbuq_core.metrics.neighbour_tuning import CANDIDATES
from gbuq_core.metrics.scale_calibration import calibrate_scale
from gbuq_core.trees.importers import leaf_source

GBM = {"n_estimators": 30, "max_depth": 3, "random_state": 0}
VIRTUAL = {
    "stopping": None,
    "ensemble": "virtual",
    "n_trees": 60,
    "truncation_step": 20,
    "depth": 3,
}


@pytest.fixture(scope="module")
def table():
    """Rows whose first feature sets the noise; the last seven features mean nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 10)) * np.arange(1, 11)
    y = X[:, 1] + np.exp(0.5 * X[:, 0]) * rng.normal(size=300)
    return X, y


def parts(table):
    X, y = table
    return X[:180], y[:180], X[180:240], y[180:240]


# kNN


def test_knn_tunes_two_k_on_standardised_features(table):
    X, y, X_val, y_val = parts(table)
    model = EuclideanNeighborsRegressor(calibrate=False).fit(X, y, X_val, y_val)
    scaler = StandardScaler().fit(X)
    errors, scores = {}, {}
    near = {}
    for k in (k for k in CANDIDATES if k <= 180):
        knn = KNeighborsRegressor(k).fit(scaler.transform(X), y)
        near[k] = y[knn.kneighbors(scaler.transform(X_val), return_distance=False)]
        errors[k] = np.square(near[k].mean(axis=1) - y_val).mean()
    assert model.n_mean_neighbors_ == min(errors, key=errors.get)
    loc = near[model.n_mean_neighbors_].mean(axis=1)
    scores = {k: nll_gaussian(y_val, loc, targets.std(axis=1)) for k, targets in near.items()}
    assert model.n_neighbors_ == min(scores, key=scores.get)
    assert (model.gamma_, model.delta_) == (1.0, 0.0)


def test_knn_predicts_with_all_rows(table):
    X, y, X_val, y_val = parts(table)
    model = EuclideanNeighborsRegressor().fit(X, y, X_val, y_val)
    every, targets = np.concatenate([X, X_val]), np.concatenate([y, y_val])
    scaler = StandardScaler().fit(every)
    new = table[0][240:]

    def nearest(k):
        knn = KNeighborsRegressor(k).fit(scaler.transform(every), targets)
        return targets[knn.kneighbors(scaler.transform(new), return_distance=False)]

    loc, scale = model.predict_distribution(new)
    np.testing.assert_allclose(loc, nearest(model.n_mean_neighbors_).mean(axis=1), rtol=SAME_SUM)
    std = np.maximum(nearest(model.n_neighbors_).std(axis=1), model.min_scale_)
    np.testing.assert_allclose(scale, model.gamma_ * std + model.delta_, rtol=CANCELLED)


# kNN-CB


def test_knn_cb_takes_the_models_mean_and_its_important_features(table):
    X, y, X_val, y_val = parts(table)
    base = GradientBoostingRegressor(**GBM)
    model = EuclideanNeighborsRegressor(base, n_important=2).fit(X, y, X_val, y_val)
    assert not hasattr(base, "estimators_")
    assert sorted(model.columns_) == [0, 1]
    assert model.n_mean_neighbors_ == 0
    whole = clone(base).fit(np.concatenate([X, X_val]), np.concatenate([y, y_val]))
    np.testing.assert_array_equal(model.predict(table[0][240:]), whole.predict(table[0][240:]))


def test_a_fitted_model_is_used_as_it_is(table):
    X, y, X_val, y_val = parts(table)
    base = GradientBoostingRegressor(**GBM).fit(X, y)
    model = EuclideanNeighborsRegressor(base).fit(X, y, X_val, y_val)
    assert model.model_ is base
    assert len(model.columns_) in (5, 10)
    with refused(InvalidParameter, "rows that the fitted model has not seen"):
        EuclideanNeighborsRegressor(base).fit(X, y)


def test_the_noise_is_found_among_few_features_only(table):
    """Why the paper cuts the features: seven that mean nothing hide the one that does."""
    X, y, X_val, y_val = parts(table)
    base = GradientBoostingRegressor(**GBM)
    new, truth = table[0][240:], np.exp(0.5 * table[0][240:, 0])
    few = EuclideanNeighborsRegressor(base, n_important=2).fit(X, y, X_val, y_val)
    many = EuclideanNeighborsRegressor(base, n_important=10).fit(X, y, X_val, y_val)
    rank = [np.corrcoef(m.predict_distribution(new).scale, truth)[0, 1] for m in (few, many)]
    assert rank[0] > 0.6 > rank[1]


def test_rows_and_targets_that_make_no_sense_are_refused(table):
    X, y = table
    gaps = X.copy()
    gaps[2, 3] = np.nan
    for rows, target, text in (
        (X, np.full(len(y), 2.5), r"only one value \(2.5\)"),
        (X, 1e200 * y, "variances overflow"),
        (X, np.datetime64("2020-01-01") + np.arange(len(y)), "y holds dates or durations"),
        (X[:, 0], y, "got 1D array instead: X must have"),
        (gaps, y, "contains NaN, but Euclidean distances need complete rows"),
        (pd.DataFrame({"a": ["u", "v"] * 150}), y, "Euclidean distances need numbers"),
        (X[:3], y[:3], "too few to hold out"),
    ):
        with refused(InvalidData, text):
            EuclideanNeighborsRegressor().fit(rows, target)
    with refused(InvalidData, "belong together"):
        EuclideanNeighborsRegressor().fit(X, y, X_val=X)
    with refused(InvalidData, "got 1D array instead: X must have"):
        EuclideanNeighborsRegressor(random_state=0).fit(X, y).predict(X[:, 0])


# Averages


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0.0, 1e3)), min_size=1, max_size=5),
    st.data(),
)
def test_averages_are_means_within_their_parts(pairs, data):
    weights = data.draw(
        st.none() | st.lists(st.floats(0.01, 10.0), min_size=len(pairs), max_size=len(pairs))
    )
    loc, scale = average_distributions(*(([a], [b]) for a, b in pairs), weights=weights)
    for mean, values in ((loc, [a for a, _ in pairs]), (scale, [b for _, b in pairs])):
        # Five terms of a thousand.
        assert mean[0] == pytest.approx(np.average(values, weights=weights), abs=NEAR_ZERO)
        assert min(values) - NEAR_ZERO <= mean[0] <= max(values) + NEAR_ZERO


@pytest.mark.parametrize(
    ("pairs", "weights", "text"),
    [
        ([], None, "nothing to average"),
        ([([0.0], [-1.0])], None, "scale must be at least 0"),
        ([([0.0], [1.0]), ([0.0, 1.0], [1.0, 1.0])], None, "must describe the same rows"),
        ([([0.0], [1.0])], [1.0, 2.0], "weights must be 1 numbers"),
        ([([0.0], [1.0])], [0.0], "not all 0"),
        ([([0.0], [1.0], [2.0])], None, "Distribution 1 is not a pair"),
        ([([0.0], [1.0]), 3.0], None, "Distribution 2 is not a pair"),
    ],
)
def test_impossible_averages_are_refused(pairs, weights, text):
    with refused(InvalidData, text):
        average_distributions(*pairs, weights=weights)


def test_each_member_is_calibrated_on_its_own_and_refitted(table):
    X, y, X_val, y_val = parts(table)
    ibug = IBUGRegressor(GradientBoostingRegressor(**GBM))
    cbu = BoostedEnsembleRegressor(**VIRTUAL, random_state=0)
    both = AveragingRegressor([("ibug", ibug), ("cbu", cbu)]).fit(X, y, X_val, y_val)
    alone = clone(ibug).fit(X, y, X_val, y_val)
    raw = clone(cbu).fit(X, y).predict_distribution(X_val)
    expected = calibrate_scale(y_val, *raw)
    assert both.calibrations_[1] == expected
    assert both.calibrations_[0].gamma == 1.0
    whole = clone(cbu).fit(np.concatenate([X, X_val]), np.concatenate([y, y_val]))
    new = table[0][240:]
    loc, scale = whole.predict_distribution(new)
    by_hand = average_distributions(alone.predict_distribution(new), (loc, expected.apply(scale)))
    for mine, theirs in zip(both.predict_distribution(new), by_hand, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(both.predict(new), by_hand.loc)


@pytest.mark.parametrize(
    ("estimators", "text"),
    [
        ([], "at least one pair"),
        (EuclideanNeighborsRegressor(), "list of pairs"),
        ([("a", EuclideanNeighborsRegressor()), ("a", EuclideanNeighborsRegressor())], "differ"),
        ([("a", LinearRegression())], "has no predict_distribution"),
    ],
)
def test_what_cannot_be_averaged_is_refused(estimators, text, table):
    with pytest.raises(GbuqError, match=text):
        AveragingRegressor(estimators).fit(*table)


@pytest.mark.parametrize("averaged", [False, True], ids=["alone", "averaged"])
def test_validation_rows_may_bring_other_categories(averaged, table):
    X, y = table
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(10)])
    levels = np.array(["red", "green", "blue"])[np.arange(len(y)) % 3]
    fewer = np.where(levels == "blue", "red", levels)
    parts = [
        frame[:200].assign(kind=pd.Categorical(fewer[:200])),
        frame[200:].assign(kind=pd.Categorical(levels[200:])),
    ]
    base = HistGradientBoostingRegressor(max_iter=10, categorical_features="from_dtype")
    model = IBUGRegressor(base, 5, random_state=0)
    model = AveragingRegressor([("ibug", model)]) if averaged else model
    model.fit(parts[0], y[:200], parts[1], y[200:])
    assert np.isfinite(model.predict(parts[1])).all()
    rows = make_tuning_rows(clone(model), parts[0], y[:200], parts[1], y[200:], 0.2, 0)
    assert rows.X_all["kind"].tolist() == [*parts[0]["kind"], *parts[1]["kind"]]
    assert sorted(rows.X_all["kind"].cat.categories) == ["blue", "green", "red"]


def test_members_tune_on_no_row_that_their_model_has_seen(table):
    X, y = table
    model = GradientBoostingRegressor(**GBM).fit(X[:200], y[:200])
    for base in (leaf_source(model), FrozenEstimator(model)):
        averaged = AveragingRegressor([("ibug", IBUGRegressor(base, random_state=0))])
        with refused(InvalidParameter, "base_model of estimator 'ibug' is already fitted"):
            averaged.fit(X[:200], y[:200])
        averaged.fit(X[:200], y[:200], X[200:], y[200:])
        assert len(averaged.estimators_[0].y_validation_) == len(X) - 200
        np.testing.assert_array_equal(averaged.predict(X), model.predict(X))
    knn = AveragingRegressor([("knn", EuclideanNeighborsRegressor(FrozenEstimator(model)))])
    with refused(InvalidParameter, "base_model of estimator 'knn' is already fitted"):
        knn.fit(X[:200], y[:200])
    # clone makes it an unfitted one, which is fitted to the other rows only.
    averaged = AveragingRegressor([("ibug", IBUGRegressor(model, random_state=0))])
    assert averaged.fit(X, y).estimators_[0].model_ is not model
