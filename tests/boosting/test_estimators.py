"""The two estimators: scikit-learn's conventions, tables, results, progress, and refusals."""

import numpy as np
import pandas as pd
import pytest
from refusal_parts import refused_from

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor, base
from gbuq_core.boosting.plan import make_plan
from gbuq_core.errors import InvalidData
from gbuq_core.trees.forest_kernels import empty_forest, forest_bytes

SMALL = {"stopping": None, "n_members": 3, "n_trees": 30, "depth": 3, "random_state": 0}
BOTH = pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])


@pytest.fixture
def frame(rng):
    X = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    return X, X["a"] + 0.3 * rng.normal(size=150)


def target_for(kind, y):
    return np.where(y > 0, "yes", "no") if kind is BoostedEnsembleClassifier else y


@pytest.mark.parametrize(
    "labels",
    [["no", "yes"], [0, 1], [True, False], [-1.0, 1.0], ["b", "a", "c"], np.array([9, 3], object)],
    ids=repr,
)
def test_classes_of_any_type(rng, labels):
    codes = rng.integers(0, len(labels), 90)
    X = (codes + 0.1 * rng.normal(size=90))[:, None]
    y = np.array(labels)[codes]
    model = BoostedEnsembleClassifier(**SMALL).fit(X, y)
    assert model.classes_.tolist() == sorted(labels)
    assert model.classes_.dtype == y.dtype
    assert (model.predict(X) == y).all()
    # Columns follow classes_.
    best = model.classes_[model.predict_proba(X).argmax(axis=1)]
    assert (best == y).all()


def test_categories_of_any_dtype_give_one_result(rng):
    text = rng.choice(["red", "green", "blue"], 200)
    y = (text == "red") + 0.1 * rng.normal(size=200)
    expected = None
    for column in (
        text,
        text.astype(object),
        pd.Series(text).astype("category"),
        pd.Series(text, dtype="string"),
    ):
        X = pd.DataFrame({"colour": column, "x": np.arange(200.0)})
        for declared in (None, ["colour"], [0], "from_dtype"):
            model = BoostedEnsembleRegressor(**SMALL, categorical_features=declared).fit(X, y)
            mean = model.predict(X)
            expected = mean if expected is None else expected
            np.testing.assert_array_equal(mean, expected)
    # Levels are split one against the rest, so means of levels are learnt.
    assert np.corrcoef(expected, text == "red")[0, 1] > 0.99


@BOTH
@pytest.mark.parametrize("stopping", [None, "two_clocks"])
def test_text_in_a_data_frame_is_a_category_unnamed(rng, kind, stopping):
    """Also where some folds hold no text at all: what is a category is decided once."""
    x = rng.normal(size=60)
    odd = np.where(np.arange(60) % 30 == 29, "none", rng.integers(0, 3, 60).astype(object))
    X = pd.DataFrame({"a": x, "odd": odd, "text": pd.Series(np.where(x > 0.0, "up", "down"))})
    X["kind"] = pd.Categorical(rng.integers(0, 2, 60))
    target = target_for(kind, x + 0.1 * rng.normal(size=60))
    knobs = {**SMALL, "stopping": stopping}
    model = kind(**knobs).fit(X, target)
    named = kind(**knobs, categorical_features=["odd", "text", "kind"]).fit(X, target)
    assert model.is_category_.tolist() == [False, True, True, True]
    np.testing.assert_array_equal(model.predict_members(X), named.predict_members(X))
    with refused_from(InvalidData, "column '1' holds values that are not numbers"):
        kind(**knobs).fit(X.to_numpy(), target)  # an array says nothing of its columns


def test_numbers_in_a_data_frame_stay_numbers(frame, rng):
    X, y = frame
    X = X.assign(objects=rng.integers(0, 5, 150).astype(object), flags=rng.random(150) > 0.5)
    X.loc[3, "objects"] = None
    model = BoostedEnsembleRegressor(**SMALL).fit(X, y)
    assert not model.is_category_.any()
    numbers = X.astype(float)
    expected = BoostedEnsembleRegressor(**SMALL, categorical_features=[]).fit(numbers, y)
    np.testing.assert_array_equal(model.predict_members(X), expected.predict_members(numbers))


def test_what_a_fit_tells(frame):
    X, y = frame
    model = BoostedEnsembleRegressor(**SMALL).fit(X, y)
    assert (model.n_trees_, model.n_rows_, model.n_cells_) == (30, 150, 150)
    assert model.fit_seconds_ > 0.0
    assert model.memory_bytes_ == 3 * forest_bytes(30, 3, 2)


def test_memory_grows_with_the_table_and_the_trees():
    small = BoostedEnsembleRegressor(**SMALL).estimate_bytes(1000, 5)
    for larger in (
        BoostedEnsembleRegressor(**SMALL).estimate_bytes(100_000, 5),
        BoostedEnsembleRegressor(**SMALL).estimate_bytes(1000, 50),
        BoostedEnsembleRegressor(**{**SMALL, "n_trees": 300}).estimate_bytes(1000, 5),
        BoostedEnsembleRegressor(**{**SMALL, "depth": 8}).estimate_bytes(1000, 5),
        BoostedEnsembleClassifier(**SMALL).estimate_bytes(1000, 5, n_classes=10),
        BoostedEnsembleRegressor(**{**SMALL, "n_members": 50}).estimate_bytes(1000, 5),
    ):
        assert larger > small


def test_defaults_are_filled_in():
    plan = make_plan(BoostedEnsembleRegressor(stopping=None))
    assert (plan.ensemble, plan.n_models, plan.learning_rate, plan.subsample) == (
        "independent",
        10,
        0.1,
        1.0,
    )
    assert make_plan(BoostedEnsembleRegressor(stopping=None, ensemble="virtual")).n_models == 1
    assert make_plan(BoostedEnsembleRegressor(stopping=None, method="sgb")).subsample == 0.5


@pytest.mark.parametrize(
    ("y", "start"),
    [
        (None, "BoostedEnsembleRegressor requires y"),
        (["a", "b"], "y holds values that are not numbers"),
        ([1.0, np.nan], "y contains NaN or infinity"),
        ([1.0, np.inf], "y contains NaN or infinity"),
        ([[1.0, 2.0], [3.0, 4.0]], "y must have one value a row"),
        ([1e76, 0.0], r"y holds 1e\+76, but variances overflow above 1e\+75"),
    ],
    ids=["none", "text", "missing", "infinite", "two columns", "huge"],
)
def test_impossible_targets_are_refused(y, start):
    with refused_from(InvalidData, start):
        BoostedEnsembleRegressor(**SMALL).fit([[0.0], [1.0]], y)


def test_more_columns_than_trees_can_name_are_refused(monkeypatch):
    monkeypatch.setattr(base, "MAX_COLUMNS", 3)
    with refused_from(InvalidData, "X has 4 columns after encoding"):
        BoostedEnsembleRegressor(**SMALL).fit(np.zeros((5, 4)), np.arange(5.0))


def test_trees_can_name_as_many_columns_as_are_allowed():
    assert np.iinfo(empty_forest(1, 1, 2).features.dtype).max >= base.MAX_COLUMNS


@pytest.mark.parametrize("scale", [1e-60, 1e-3, 1e60, 9e74])
def test_extreme_units_of_y_give_finite_results(frame, scale):
    X, y = frame
    model = BoostedEnsembleRegressor(**SMALL).fit(X, scale * y / np.abs(y).max())
    for part in (*model.predict_uncertainty(X), *model.predict_distribution(X)):
        assert np.isfinite(part).all()


def test_a_constant_target_is_learnt_without_doubt():
    """0.1 has a mean that differs in its last digit: that is no variance."""
    X = np.arange(10.0)[:, None]
    model = BoostedEnsembleRegressor(**SMALL).fit(X, np.full(10, 0.1))
    np.testing.assert_allclose(model.predict(X), 0.1, rtol=1e-6)
    # The floor of the std: e^-12 of a unit, or somewhat less.
    assert 0.0 < model.predict_uncertainty(X).total.max() < 1e-9


def test_only_missing_and_constant_columns():
    X = np.column_stack([np.full(20, np.nan), np.ones(20)])
    model = BoostedEnsembleRegressor(**SMALL).fit(X, np.arange(20.0))
    mean = model.predict([[np.nan, 1.0], [3.0, 7.0]])
    np.testing.assert_allclose(mean, 9.5, atol=1.0)  # within what noise and shrinkage do
