"""The two estimators: scikit-learn's conventions, tables, results, progress, and refusals."""

import threading

import numpy as np
import pandas as pd
import pytest
from refusal_parts import refused_from
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tolerances import NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core.boosting import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    base,
    numba_engine,
)
from gbuq_core.boosting.plan import make_plan
from gbuq_core.errors import Cancelled, InvalidData, InvalidParameter, MemoryLimitExceeded
from gbuq_core.jobs import JobRunner
from gbuq_core.trees.forest_kernels import empty_forest, forest_bytes

SMALL = {"stopping": None, "n_members": 3, "n_trees": 30, "depth": 3, "random_state": 0}
BOTH = pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])


@pytest.fixture
def frame(rng):
    X = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    return X, X["a"] + 0.3 * rng.normal(size=150)


def target_for(kind, y):
    return np.where(y > 0, "yes", "no") if kind is BoostedEnsembleClassifier else y


@BOTH
def test_grids_pipelines_and_scores(frame, kind):
    X, y = frame
    target = target_for(kind, y)
    model = kind(**SMALL)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), model), {f"{kind.__name__.lower()}__depth": [1, 2]}, cv=2
    )
    search.fit(X.to_numpy(), target)
    assert cross_val_score(model, X, target, cv=3).min() > 0.5  # R^2 or accuracy; y is mostly a


@BOTH
def test_questions_before_the_fit_are_refused(kind):
    for ask in ("member_trees", "predict", "predict_members", "staged_members", "save"):
        question = getattr(kind(), ask)
        with pytest.raises(NotFittedError, match=f"^This {kind.__name__} instance is not fitted"):
            question(*() if ask == "member_trees" else ([[0.0]],))


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


@BOTH
def test_targets_in_other_containers(frame, kind):
    X, y = frame
    target = target_for(kind, y)
    expected = kind(**SMALL).fit(X, target).predict(X)
    for other in (pd.Series(list(target), index=np.arange(150)[::-1]), list(target)):
        np.testing.assert_array_equal(kind(**SMALL).fit(X, other).predict(X), expected)
    with pytest.warns(UserWarning, match="column-vector y"):
        column = kind(**SMALL).fit(X, np.array(target)[:, None])
    np.testing.assert_array_equal(column.predict(X), expected)


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
            found = model.predict(X)
            expected = found if expected is None else expected
            np.testing.assert_array_equal(found, expected)
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


@BOTH
def test_missing_values_are_split_on(rng, kind):
    """Only whether x is missing tells anything about y."""
    x = rng.normal(size=300)
    x[rng.random(300) < 0.5] = np.nan
    y = np.isnan(x) - 0.5 + 0.1 * rng.normal(size=300)
    model = kind(**{**SMALL, "n_trees": 100}).fit(x[:, None], target_for(kind, y))
    found = model.predict([[np.nan], [0.0]])
    assert found.tolist() == ["yes", "no"] if kind is BoostedEnsembleClassifier else (
        np.abs(found - [0.5, -0.5]).max() < 0.1
    )  # fmt: skip


def test_results_of_the_regressor_fit_together(frame):
    X, y = frame
    model = BoostedEnsembleRegressor(**SMALL).fit(X, y)
    members = model.predict_members(X)
    assert members.shape == (3, 150, 2)
    found = model.predict_uncertainty(X)
    np.testing.assert_allclose(found.total, found.data + found.knowledge, rtol=SAME_SUM)
    np.testing.assert_allclose(found.data, members[..., 1].mean(axis=0), rtol=SAME_SUM)
    np.testing.assert_allclose(found.knowledge, members[..., 0].var(axis=0), rtol=SAME_SUM)
    loc, scale = model.predict_distribution(X)
    np.testing.assert_array_equal(loc, model.predict(X))
    np.testing.assert_allclose(scale**2, found.total, rtol=SAME_SUM)
    np.testing.assert_allclose(loc, members[..., 0].mean(axis=0), rtol=SAME_SUM)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_results_of_the_classifier_fit_together(rng, n_classes):
    X = rng.normal(size=(150, 2))
    y = rng.integers(0, n_classes, 150)
    model = BoostedEnsembleClassifier(**SMALL).fit(X, y)
    members = model.predict_members(X)
    assert members.shape == (3, 150, n_classes)
    np.testing.assert_allclose(members.sum(axis=2), 1.0, rtol=SAME_SUM)
    found = model.predict_uncertainty(X)
    np.testing.assert_allclose(found.total, found.data + found.knowledge, rtol=SAME_SUM)
    assert (found.knowledge >= 0.0).all()
    assert found.total.max() <= np.log(n_classes) + ZERO
    np.testing.assert_allclose(model.predict_proba(X), members.mean(axis=0), rtol=SAME_SUM)


def test_leaf_indices_lead_to_the_predictions(frame):
    X, y = frame
    model = BoostedEnsembleRegressor(**SMALL, method="sgb").fit(X, y)  # no shrinkage
    leaves = model.leaf_indices(X)
    assert leaves.shape == (150, 90)
    assert leaves.dtype == np.uint16
    for member, forest in enumerate(model.models_.forests):
        values = forest.values[np.arange(30), leaves[:, 30 * member : 30 * (member + 1)]]
        raw = model.models_.start + values.sum(axis=1)
        expected = model.target_scale_.centre + model.target_scale_.spread * raw[:, 0]
        # Thirty numbers in another order.
        np.testing.assert_allclose(model.predict_members(X)[member, :, 0], expected, rtol=SAME_SUM)


def test_what_a_fit_tells(frame):
    X, y = frame
    model = BoostedEnsembleRegressor(**SMALL).fit(X, y)
    assert (model.n_trees_, model.n_rows_, model.n_cells_) == (30, 150, 150)
    assert model.fit_seconds_ > 0.0
    assert model.memory_bytes_ == 3 * forest_bytes(30, 3, 2)


def test_estimates_grow_with_the_work():
    small = BoostedEnsembleRegressor(**SMALL).estimate_fit(1000, 5)
    for larger in (
        BoostedEnsembleRegressor(**SMALL).estimate_fit(100_000, 5),
        BoostedEnsembleRegressor(**SMALL).estimate_fit(1000, 50),
        BoostedEnsembleRegressor(**{**SMALL, "n_trees": 300}).estimate_fit(1000, 5),
        BoostedEnsembleRegressor(**{**SMALL, "depth": 8}).estimate_fit(1000, 5),
        BoostedEnsembleClassifier(**SMALL).estimate_fit(1000, 5, n_classes=10),
        BoostedEnsembleRegressor(**{**SMALL, "n_members": 50}).estimate_fit(1000, 5),
    ):
        assert larger.seconds > small.seconds
        assert larger.bytes > small.bytes


@BOTH
def test_a_fit_too_large_for_the_memory_is_refused_before_it_begins(frame, kind, monkeypatch):
    asked = []

    def check_memory(n_bytes, what):
        asked.append(what)
        raise MemoryLimitExceeded("too large.")

    monkeypatch.setattr(numba_engine, "check_memory", check_memory)
    with pytest.raises(MemoryLimitExceeded):
        kind(**SMALL).fit(frame[0], target_for(kind, frame[1]))
    assert asked == ["this fit"]


@BOTH
def test_progress_reaches_the_end_and_stops_on_request(frame, kind):
    X, y = frame
    target = target_for(kind, y)
    runner = JobRunner()
    done = runner.want("user", "short", lambda job: kind(**SMALL).fit(X, target))
    assert isinstance(done.result(60), kind)
    # Rounding of ninety shares of 1 / 90.
    assert done.fraction == pytest.approx(1.0, abs=NEAR_ZERO)
    begun = threading.Event()

    def long(job):
        begun.set()
        return kind(**{**SMALL, "n_trees": 100_000, "n_members": 50}).fit(X, target)

    job = runner.want("user", "long", long)
    assert begun.wait(60)
    runner.release("user")
    with pytest.raises(Cancelled):
        job.result(60)
    assert job.state == "cancelled"


@BOTH
@pytest.mark.parametrize(
    ("knobs", "start"),
    [
        ({"method": "forest"}, "method must be one of "),
        ({"method": None}, "method must be one of "),
        ({"ensemble": "real"}, "ensemble must be one of "),
        ({"n_members": 0}, "n_members must be a whole number"),
        ({"n_members": 2.5}, "n_members must be a whole number"),
        ({"n_members": True}, "n_members must be a whole number"),
        ({"n_trees": 0}, "n_trees must be a whole number"),
        ({"n_trees": 10**6}, "n_trees must be a whole number"),
        ({"depth": 0}, "depth must be a whole number"),
        ({"depth": 13}, "depth must be a whole number"),
        ({"learning_rate": 0.0}, "learning_rate must be a number greater than 0"),
        ({"learning_rate": 1.01}, "learning_rate must be a number"),
        ({"learning_rate": "fast"}, "learning_rate must be a number"),
        ({"subsample": 0.0}, "subsample must be a number greater than 0"),
        ({"subsample": 1.1}, "subsample must be a number"),
        ({"temperature": "hot"}, "temperature must be one of "),
        ({"temperature": 0.0}, "temperature must be a number greater than 0"),
        ({"temperature": np.nan}, "temperature must be a number"),
        ({"temperature": None}, "temperature must be a number"),
        ({"leaf_noise": 1}, "leaf_noise must be True, False or None"),
        ({"random_strength": -1.0}, "random_strength must be a number at least 0"),
        ({"leaf_estimation": "exact"}, "leaf_estimation must be one of "),
        ({"standardize_target": "yes"}, "standardize_target must be True or False"),
        ({"l2": -1.0}, "l2 must be a number at least 0"),
        ({"l2": np.inf}, "l2 must be a number"),
        ({"max_bins": 1}, "max_bins must be a whole number"),
        ({"max_bins": 256}, "max_bins must be a whole number"),
        ({"engine": "gpu"}, "engine must be one of "),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
        ({"n_jobs": "all"}, "n_jobs must be a whole number"),
        ({"categorical_features": ["z"]}, "categorical_features names 'z'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_impossible_knobs_are_refused(frame, kind, knobs, start):
    with refused_from(InvalidParameter, start):
        kind(**{**SMALL, **knobs}).fit(frame[0], target_for(kind, frame[1]))


def test_defaults_are_filled_in():
    plan = make_plan(BoostedEnsembleRegressor(stopping=None))
    assert (plan.ensemble, plan.n_models, plan.learning_rate, plan.subsample) == (
        "independent", 10, 0.1, 1.0,
    )  # fmt: skip
    assert make_plan(BoostedEnsembleRegressor(stopping=None, ensemble="virtual")).n_models == 1
    assert make_plan(BoostedEnsembleRegressor(stopping=None, method="sgb")).subsample == 0.5


@BOTH
@pytest.mark.parametrize(
    ("X", "start"),
    [
        (np.zeros((2, 0)), r"X has 0 feature\(s\)"),
        (np.zeros((0, 2)), r"Found array with 0 sample\(s\)"),
        (np.zeros((1, 2)), "one sample is too few"),
        (np.zeros((3, 2)), "X has 3 rows but y has 2"),
        (np.array([[1.0], [np.inf]]), "column '0' contains infinity"),
        (np.array([["a"], ["b"]]), "column '0' holds values that are not numbers"),
    ],
    ids=["no column", "no row", "one row", "three rows", "infinity", "text"],
)
def test_impossible_data_are_refused(kind, X, start):
    y = target_for(kind, np.array([-1.0, 1.0]))[: min(len(X), 2)]
    with refused_from(InvalidData, start):
        kind(**SMALL).fit(X, y)


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
    found = BoostedEnsembleRegressor(**SMALL).fit(X, scale * y / np.abs(y).max())
    for part in (*found.predict_uncertainty(X), *found.predict_distribution(X)):
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
    found = model.predict([[np.nan, 1.0], [3.0, 7.0]])
    np.testing.assert_allclose(found, 9.5, atol=1.0)  # within what noise and shrinkage do


def test_prediction_needs_a_fit_and_rows(frame):
    X, y = frame
    for kind in (BoostedEnsembleRegressor, BoostedEnsembleClassifier):
        for method in ("predict", "predict_members", "predict_uncertainty", "inspect_rows", "save"):
            with pytest.raises(ValueError, match="not fitted"):
                getattr(kind(), method)(X)
    with refused_from(InvalidData, r"Found array with 0 sample\(s\)"):
        BoostedEnsembleRegressor(**SMALL).fit(X, y).predict(X[:0])
