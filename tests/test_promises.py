"""Seeds that repeat a fit, and inputs at the edge: what users of such libraries try first."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.tree import ExtraTreeRegressor

import gbuq_core
from gbuq_core import (
    IBUGRegressor,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeRegressor,
    scorer,
)
from gbuq_core.baselines import (
    AveragingRegressor,
    EuclideanNeighborsRegressor,
    GaussianNLLRegressor,
    NGBoostRegressor,
)
from gbuq_core.errors import InvalidData

RANDOM = np.random.default_rng(2)
X = RANDOM.normal(size=(90, 3))
Y = X[:, 0] + 0.3 * RANDOM.normal(size=90)


def make_average(random_state):
    forest = GaussianNLLRegressor(n_trees=10, subsample=0.5)
    return AveragingRegressor([("a", forest), ("b", clone(forest))], random_state=random_state)


@pytest.mark.parametrize("random_state", [0, 7])
def test_one_seed_repeats_an_average(random_state):
    first, second = (make_average(random_state).fit(X, Y) for _ in range(2))
    for mine, theirs in zip(
        first.predict_distribution(X), second.predict_distribution(X), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)
    a, b = first.estimators_
    assert a.random_state != b.random_state
    assert first.estimators[0][1].random_state is None  # the user's own stays as it is
    other = make_average(random_state + 1).fit(X, Y)
    assert not np.array_equal(other.predict(X), first.predict(X))


def test_a_member_keeps_its_own_seed_and_a_fitted_model_stays_as_it_is():
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, Y)
    members = [("ibug", IBUGRegressor(model)), ("nll", GaussianNLLRegressor(random_state=3))]
    average = AveragingRegressor(members, random_state=0)
    average.fit(X[:60], Y[:60], X[60:], Y[60:])
    assert model.random_state is None
    assert average.estimators_[1].random_state == 3


def test_one_seed_repeats_ngboost():
    # Columns that repeat each other split equally well: which one is drawn.
    twins = np.concatenate([X, X, X], axis=1)
    new = RANDOM.normal(size=(50, 9))
    fits = [NGBoostRegressor(n_trees=15, random_state=0).fit(twins, Y) for _ in range(3)]
    for other in fits[1:]:
        for mine, theirs in zip(
            fits[0].predict_distribution(new), other.predict_distribution(new), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("far", [1e151, 1e200, 1e308])
def test_neighbours_far_beyond_float64_squares_are_refused(far):
    model = EuclideanNeighborsRegressor(random_state=0)
    with pytest.raises(InvalidData, match="squared distances overflow above 1e"):
        model.fit(X / np.abs(X).max() * far, Y)
    model.fit(X, Y)
    with pytest.raises(InvalidData, match="squared distances overflow above 1e"):
        model.predict(np.full((1, 3), far))
    large = clone(model).fit(1e140 * X, Y)
    np.testing.assert_allclose(large.predict(1e140 * X), model.predict(X))


@pytest.mark.parametrize("value", [0.0, 5.0, -3e6])
@pytest.mark.parametrize("kind", [VariationalSoftTreeRegressor, VariationalSoftGBMRegressor])
def test_a_constant_target_has_nearly_no_variance(kind, value):
    model = kind(n_steps=100, random_state=0).fit(X, np.full(90, value))
    size = max(abs(value), 1.0)
    loc, scale = model.predict_distribution(3.0 * X)
    assert (scale < 1e-4 * size).all()
    np.testing.assert_allclose(loc, value, atol=1e-4 * size)


def test_a_constant_target_keeps_a_given_noise():
    model = VariationalSoftTreeRegressor(output="mean", noise=0.5, n_steps=50, random_state=0)
    data = model.fit(X, np.full(90, 5.0)).predict_uncertainty(X).data
    np.testing.assert_allclose(data, 0.25)


@pytest.mark.parametrize("columns", [["colour"], [1]])
def test_ibug_fits_a_catboost_that_names_its_categories(columns):
    frame = pd.DataFrame({"x": X[:, 0], "colour": RANDOM.choice(["red", "green", "blue"], 90)})
    base = CatBoostRegressor(iterations=15, verbose=0, cat_features=columns, thread_count=1)
    model = IBUGRegressor(base, random_state=0)
    scale = model.fit(frame, Y).predict_distribution(frame).scale
    assert np.isfinite(scale).all()
    assert not base.is_fitted()
    again = clone(model)
    assert again.base_model is not base
    assert again.base_model.get_params() == base.get_params()
    np.testing.assert_array_equal(again.fit(frame, Y).predict_distribution(frame).scale, scale)
    assert np.isfinite(cross_val_score(model, frame, Y, cv=3, scoring=scorer("neg_crps"))).all()
    average = AveragingRegressor([("ibug", model)], random_state=0).fit(frame, Y)
    assert np.isfinite(average.predict(frame)).all()


def test_a_clone_of_ibug_is_otherwise_as_scikit_learn_makes_it():
    model = IBUGRegressor(ExtraTreeRegressor(max_depth=3), n_neighbors=9, random_state=1)
    other = clone(model)
    assert other.get_params(deep=False).keys() == model.get_params(deep=False).keys()
    assert other.base_model is not model.base_model
    assert (other.n_neighbors, other.base_model.max_depth) == (9, 3)


METHODS_OF_A_FIT = [
    "predict", "predict_distribution", "predict_uncertainty", "predict_members", "member_trees",
    "predict_knowledge", "predict_quantiles", "predict_intervals", "sample_functions",
    "score_novelty", "explain_novelty", "kneighbors", "neighbor_targets", "staged_members",
    "inspect_rows", "leaf_indices", "save", "predict_proba", "tree_picture", "leaf_density",
]  # fmt: skip


@pytest.mark.parametrize(
    "kind",
    [
        getattr(gbuq_core.baselines, name)
        for name in [
            "AveragingRegressor",
            "CatBoostUncertaintyRegressor",
            "ConformalRegressor",
            "ConformalizedQuantileRegressor",
            "DistanceScore",
            "EuclideanNeighborsRegressor",
            "ForestEnsembleClassifier",
            "ForestEnsembleRegressor",
            "ForestVarianceRegressor",
            "GaussianNLLRegressor",
            "GaussianProcessBaseline",
            "IsolationForestScore",
            "NGBoostRegressor",
            "QuantileForestRegressor",
            "XBARTRegressor",
        ]
    ]
    + [
        gbuq_core.BoostedEnsembleClassifier,
        gbuq_core.BoostedEnsembleRegressor,
        IBUGRegressor,
        gbuq_core.MacauClassifier,
        gbuq_core.MacauRegressor,
        VariationalSoftGBMRegressor,
        VariationalSoftTreeRegressor,
        gbuq_core.VariationalSoftTreeClassifier,
        gbuq_core.CalibratedRegressor,
        gbuq_core.StackedClassifier,
        gbuq_core.StackedRegressor,
    ],
)
def test_nothing_is_told_before_the_fit(kind):
    inner = {
        AveragingRegressor: [("a", EuclideanNeighborsRegressor())],
        gbuq_core.CalibratedRegressor: EuclideanNeighborsRegressor(),
    }
    model = kind(inner[kind]) if kind in inner else kind()
    asked = [name for name in METHODS_OF_A_FIT if hasattr(model, name)]
    assert asked
    given = {"member_trees": (), "predict_quantiles": (X, [0.5])}
    for name in asked:
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(model, name)(*given.get(name, (X,)))
