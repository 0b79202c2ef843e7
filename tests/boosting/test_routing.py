"""scikit-learn's metadata routing carries sample_weight and groups to every `fit`."""

import numpy as np
import pytest
from saving_parts import SMALL
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    IBUGRegressor,
    MacauRegressor,
)

BOTH = pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(120, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    return X, y, rng.integers(0, 4, 120), np.arange(120) % 6


@pytest.fixture(autouse=True)
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def weighted(model):
    """Weights for training and for the score, which is R^2 or the accuracy."""
    return model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


def target_for(kind, y):
    return (y > 0).astype(int) if kind is BoostedEnsembleClassifier else y


@BOTH
def test_cross_validate_passes_each_folds_weights(rows, kind):
    X, y, weight, _ = rows
    y = target_for(kind, y)
    model = weighted(kind(**SMALL))
    folds = cross_validate(
        model,
        X,
        y,
        cv=3,
        params={"sample_weight": weight},
        return_estimator=True,
        return_indices=True,
    )
    for fitted, train in zip(folds["estimator"], folds["indices"]["train"], strict=True):
        assert fitted.total_weight_ == weight[train].sum()
        own = kind(**SMALL).fit(X[train], y[train], sample_weight=weight[train])
        np.testing.assert_array_equal(fitted.predict_members(X), own.predict_members(X))


def test_groups_reach_the_splitter_and_the_rows_that_choose(rows):
    X, y, _, groups = rows
    model = BoostedEnsembleRegressor(**{**SMALL, "stopping": "two_clocks"})
    model.set_fit_request(groups=True)
    folds = cross_validate(
        model,
        X,
        y,
        cv=GroupKFold(3),
        params={"groups": groups},
        return_estimator=True,
        return_indices=True,
    )
    for fitted, train in zip(folds["estimator"], folds["indices"]["train"], strict=True):
        own = BoostedEnsembleRegressor(**{**SMALL, "stopping": "two_clocks"})
        own.fit(X[train], y[train], groups=groups[train])
        assert fitted.clocks_.factor == own.clocks_.factor
        np.testing.assert_array_equal(fitted.predict_members(X), own.predict_members(X))


def test_pipelines_pass_both(rows):
    X, y, weight, groups = rows
    last = BoostedEnsembleRegressor(**{**SMALL, "stopping": "early"})
    last.set_fit_request(sample_weight=True, groups=True)
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    pipe = make_pipeline(scaler, last).fit(X, y, sample_weight=weight, groups=groups)
    assert pipe[-1].total_weight_ == weight.sum()
    assert pipe[-1].clocks_.n_rows == (weight > 0).sum()


@pytest.mark.parametrize(
    "model",
    [
        IBUGRegressor(GradientBoostingRegressor(n_estimators=5, random_state=0), n_jobs=1),
        MacauRegressor(n_trees=2, n_jobs=1, random_state=0),
    ],
    ids=["ibug", "macau"],
)
def test_the_other_estimators_take_routed_weights(rows, model):
    X, y, weight, _ = rows
    folds = cross_validate(
        weighted(model),
        X,
        y,
        cv=2,
        params={"sample_weight": weight},
        return_estimator=True,
        return_indices=True,
    )
    for fitted, train in zip(folds["estimator"], folds["indices"]["train"], strict=True):
        own = clone(model).fit(X[train], y[train], sample_weight=weight[train])
        np.testing.assert_array_equal(fitted.predict(X), own.predict(X))
