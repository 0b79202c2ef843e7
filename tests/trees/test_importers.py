"""Leaves and predictions of other libraries' models: equal to the libraries' own."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from leaf_models import (
    CLASSIFIERS,
    N_TREES,
    QUIET,
    REGRESSORS,
    assert_same_parts,
    library_leaves,
    lightgbm_model,
    make_data,
    xgboost_model,
)
from naive_ibug import walk_numeric_trees
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from tolerances import SAME_SUM

from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.replaying import (
    NumericTrees,
    check_structure,
    make_table,
    replay_leaves,
)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.mark.parametrize("name", REGRESSORS)
def test_leaves_and_predictions_are_the_librarys(name, data):
    X, gaps, y, _ = data
    make, takes_gaps = REGRESSORS[name]
    rows = gaps if takes_gaps else X
    model = make().fit(rows, y)
    source = leaf_source(model)
    leaves = source.leaf_matrix(rows)
    theirs = library_leaves(model, rows)
    assert leaves.dtype == np.int32
    assert source.n_features == 4
    assert source.n_trees == leaves.shape[1] == theirs.shape[1]
    assert (leaves.max(axis=0) < source.leaf_counts).all()
    assert_same_parts(leaves, theirs)
    predicted = np.asarray(model.predict(rows))
    predicted = predicted[:, 0] if predicted.ndim == 2 else predicted
    # XGBoost estimators predict in place, in another order of float32 sums than a DMatrix.
    np.testing.assert_allclose(source.predict(rows), predicted, atol=2e-6 * ("xgb" in name), rtol=0)
    np.testing.assert_array_equal(source.leaf_matrix(rows, slice(2, 5)), leaves[:, 2:5])
    np.testing.assert_array_equal(np.concatenate(list(source.leaf_chunks(rows))), leaves)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_count_the_trees_of_all_classes(name, n_classes, data):
    X, _, _, classes = data
    model = CLASSIFIERS[name]().fit(X, np.minimum(classes, n_classes - 1))
    source = leaf_source(model, task="classification")
    leaves = source.leaf_matrix(X)
    if name != "histogram":
        assert_same_parts(leaves, library_leaves(model, X))
    np.testing.assert_allclose(source.predict_proba(X), model.predict_proba(X), atol=1e-7)
    with pytest.raises(InvalidParameter, match="is a classifier"):
        leaf_source(model)
    with pytest.raises(InvalidParameter, match="use predict_proba"):
        source.predict(X)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "histogram"])
def test_odd_values_go_where_the_library_sends_them(name, data):
    """Infinity, tiny numbers, float32 and integers, and values at thresholds."""
    _, gaps, y, _ = data
    model = REGRESSORS[name][0]().fit(gaps, y)
    source = leaf_source(model)
    odd = gaps.copy()
    odd[::5, 1], odd[1::5, 1], odd[2::5, 1] = 1e-36, -1e-36, 1e-34
    if name != "xgboost":
        odd[::7, 0], odd[1::7, 0] = np.inf, -np.inf
    for rows in (odd, odd.astype(np.float32), np.nan_to_num(gaps * 10).astype(int)):
        leaves, theirs = source.leaf_matrix(rows), library_leaves(model, rows)
        for a, b in zip(leaves.T, theirs.T, strict=True):
            pairs = np.unique(np.stack([a, b]), axis=1).shape[1]
            assert pairs == len(np.unique(a)) == len(np.unique(b))


def test_infinity_is_refused_where_xgboost_refuses_it(data):
    X, _, y, _ = data
    source = leaf_source(xgboost_model().fit(X, y))
    with pytest.raises(InvalidData, match="infinity"):
        source.leaf_matrix(np.where(X > 1, np.inf, X))


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost", "histogram", "catboost"])
def test_categories_and_missing_ones(kind, data):
    _, gaps, y, _ = data
    rng = np.random.default_rng(1)
    levels = rng.choice(["red", "green", "blue", "grey"], size=400).astype(object)
    levels[::17] = None if kind != "catboost" else "none"
    frame = pd.DataFrame(gaps, columns=list("abcd")).assign(kind=pd.Categorical(levels))
    if kind == "catboost":
        frame["kind"] = levels
    target = y + (levels == "red")
    model = {
        "lightgbm": lambda: lightgbm_model(min_data_per_group=5, cat_smooth=1.0),
        "xgboost": lambda: xgboost_model(enable_categorical=True, max_cat_to_onehot=1),
        "histogram": lambda: HistGradientBoostingRegressor(
            max_iter=N_TREES, categorical_features="from_dtype"
        ),
        "catboost": lambda: catboost.CatBoostRegressor(cat_features=["kind"], **QUIET),
    }[kind]().fit(frame, target)
    source = leaf_source(model)
    assert source.feature_names == ("a", "b", "c", "d", "kind")
    if kind == "histogram":
        matrix = model._preprocess_X(frame, reset=False)
        assert any(p[0].nodes["is_categorical"].any() for p in model._predictors)
        theirs = library_leaves(model, matrix)
    else:
        theirs = library_leaves(model, frame)
    assert_same_parts(source.leaf_matrix(frame), theirs)
    np.testing.assert_allclose(source.predict(frame), model.predict(frame), rtol=SAME_SUM)


def test_the_first_trees_of_an_ensemble_are_the_first_of_every_model(data):
    X, _, y, _ = data
    model = BoostedEnsembleRegressor(
        stopping=None, n_members=3, n_trees=N_TREES, random_state=0
    ).fit(X, y)
    leaves = leaf_source(model).leaf_matrix(X)
    theirs = model.leaf_indices(X)
    for member in range(3):
        np.testing.assert_array_equal(
            leaves[:, member::3], theirs[:, member * N_TREES : (member + 1) * N_TREES]
        )
    np.testing.assert_array_equal(leaf_source(model).leaf_matrix(X, slice(2, 7)), leaves[:, 2:7])


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost"])
def test_a_category_column_that_no_tree_asks_for(kind, data):
    _, gaps, y, _ = data
    frame = pd.DataFrame(gaps, columns=list("abcd")).assign(kind=pd.Categorical(["red"] * 400))
    make = {"lightgbm": lightgbm_model, "xgboost": lambda: xgboost_model(enable_categorical=True)}
    model = make[kind]().fit(frame, y)
    source = leaf_source(model)
    assert_same_parts(source.leaf_matrix(frame), library_leaves(model, frame))
    np.testing.assert_array_equal(source.predict(frame), model.predict(frame))


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_early_stopping_counts_the_trees_that_predict(name, data):
    X, _, _, _ = data
    rng = np.random.default_rng(3)
    noise = rng.normal(size=400)  # nothing to learn: the best round comes early
    kind = {"lightgbm": lightgbm.LGBMRegressor, "xgboost": xgboost.XGBRegressor}[name]
    quiet = {"verbose": -1} if name == "lightgbm" else {}
    model = kind(n_estimators=60, early_stopping_rounds=5, **quiet)
    model.fit(X[:200], noise[:200], eval_set=[(X[200:], noise[200:])])
    source = leaf_source(model)
    theirs = library_leaves(model, X)
    assert source.n_trees == theirs.shape[1] < 60
    assert_same_parts(source.leaf_matrix(X), theirs)
    np.testing.assert_array_equal(source.predict(X), model.predict(X))


# The replay of splits


@st.composite
def numeric_trees(draw):
    """Random trees, their nodes in random order, with all rules for missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    parts = {key: [] for key in ("left", "right", "feature", "threshold", "missing", "to_left")}
    begin = [0]
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, 12))
        left, right = np.zeros(n, int), np.zeros(n, int)
        holes, leaves = [], iter(rng.permutation(n + 1))
        places = np.concatenate([[0], 1 + rng.permutation(max(n - 1, 0))])[:n]
        for place in places:  # the root first; each node fills a hole of an earlier one
            if holes:
                parent, side = holes.pop(rng.integers(len(holes)))
                side[parent] = place
            holes += [(place, left), (place, right)]
        for parent, side in holes:
            side[parent] = ~next(leaves)
        begin.append(begin[-1] + n)
        for key, values in {
            "left": left,
            "right": right,
            "feature": rng.integers(0, 3, n),
            "threshold": rng.integers(-2, 3, n) * 0.5,
            "missing": rng.integers(0, 3, n),
            "to_left": rng.random(n) < 0.5,
        }.items():
            parts[key].append(values)
    joined = {key: np.concatenate(values) for key, values in parts.items()}
    return NumericTrees(
        np.array(begin),
        joined["left"].astype(np.int32),
        joined["right"].astype(np.int32),
        joined["feature"].astype(np.int32),
        joined["threshold"],
        joined["missing"].astype(np.int8),
        joined["to_left"].astype(bool),
        draw(st.booleans()),
    )


@given(numeric_trees(), st.integers(0, 2**32))
def test_replayed_leaves_equal_a_walk(trees, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(20, 3)) * 0.5
    X[rng.random(X.shape) < 0.2] = np.nan
    leaves = replay_leaves(make_table(trees), X, 0, len(trees.begin) - 1)
    np.testing.assert_array_equal(leaves, [walk_numeric_trees(trees, row) for row in X])


def test_many_thresholds_take_two_bytes(rng):
    n = 300
    chain = NumericTrees(
        np.array([0, n]),
        ~np.arange(n, dtype=np.int32),
        np.append(np.arange(1, n), ~n).astype(np.int32),
        np.zeros(n, np.int32),
        np.arange(n) / n,
        np.full(n, 2, np.int8),
        np.ones(n, bool),
        False,
    )
    table = make_table(chain)
    assert table.dtype is np.uint16
    X = rng.random((3000, 1))
    expected = [walk_numeric_trees(chain, row) for row in X]
    np.testing.assert_array_equal(replay_leaves(table, X, 0, 1), expected)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([1, 0], [-1, -2]),
        ([5, -1], [-2, -3]),
        ([1, -1], [-1, -2]),
        ([-1, -2], [-2, -3]),
        ([1, -1], [-2, -9]),
    ],
)
def test_nodes_that_make_no_tree_are_refused(left, right):
    """A circle, a child that is not there, a leaf met twice, a node nobody reaches."""
    trees = NumericTrees(
        np.array([0, 2]),
        np.array(left, np.int32),
        np.array(right, np.int32),
        np.zeros(2, np.int32),
        np.zeros(2),
        np.zeros(2, np.int8),
        np.zeros(2, bool),
        False,
    )
    with pytest.raises(ModelFileError, match="the nodes of tree 0 do not make a tree"):
        check_structure(trees)


# Refused models and rows


@pytest.mark.parametrize("name", REGRESSORS)
def test_rows_of_other_features_are_refused(name, data):
    X, _, y, _ = data
    source = leaf_source(REGRESSORS[name][0]().fit(X, y))
    for rows in (X[:, :3], np.hstack([X, X]), X[0], X[:0]):
        with pytest.raises(InvalidData, match=r"features|at least one row"):
            source.leaf_matrix(rows)
    with pytest.raises(InvalidData):
        source.leaf_matrix([["a", "b", "c", "d"]])


def test_missing_values_are_refused_where_the_library_refuses_them(data):
    X, gaps, y, _ = data
    source = leaf_source(GradientBoostingRegressor(n_estimators=3).fit(X, y))
    for rows in (gaps, pd.DataFrame(gaps)):
        for ask in (source.leaf_matrix, source.predict):
            with pytest.raises(InvalidData, match="NaN"):
                ask(rows)


def test_columns_of_another_name_are_refused(data):
    X, _, y, _ = data
    frame = pd.DataFrame(X, columns=["a b", "c", "d", "e"])
    source = leaf_source(HistGradientBoostingRegressor(max_iter=3).fit(frame, y))
    source.leaf_matrix(frame)
    with pytest.raises(InvalidData, match="column 'd' where"):
        source.leaf_matrix(frame[["a b", "d", "c", "e"]])


NOT_USABLE = {
    "not fitted": (lambda X, y: lightgbm_model(), "not fitted"),
    "xgboost not fitted": (lambda X, y: xgboost_model(), "not fitted"),
    "catboost not fitted": (lambda X, y: catboost.CatBoostRegressor(), "not fitted"),
    "forest not fitted": (lambda X, y: RandomForestRegressor(), "not fitted"),
    "own not fitted": (lambda X, y: BoostedEnsembleRegressor(stopping=None), "not fitted"),
    "no trees": (lambda X, y: xgboost_model(booster="gblinear").fit(X, y), "no trees"),
    "something else": (lambda X, y: object(), "no tree model"),
    "two outputs": (
        lambda X, y: RandomForestRegressor(2).fit(X, np.stack([y, y], 1)),
        "2 outputs",
    ),
    "xgboost two outputs": (lambda X, y: xgboost_model().fit(X, np.stack([y, y], 1)), "2 outputs"),
    "catboost two outputs": (
        lambda X, y: catboost.CatBoostRegressor(loss_function="MultiRMSE", **QUIET).fit(
            X, np.stack([y, y], 1)
        ),
        "several numbers at once",
    ),
    "a pipeline": (lambda X, y: make_pipeline(RandomForestRegressor(2)).fit(X, y), "its last step"),
    "ranker": (
        lambda X, y: lightgbm.LGBMRanker(n_estimators=2, verbose=-1).fit(X, y > 0, group=[40] * 10),
        "ranks",
    ),
}


@pytest.mark.parametrize("name", NOT_USABLE)
def test_other_models_are_refused(name, data):
    X, _, y, _ = data
    make, message = NOT_USABLE[name]
    with pytest.raises((InvalidParameter, ModelFileError), match=message) as caught:
        leaf_source(make(X, y))
    assert "\n" not in str(caught.value)


def test_a_leaf_source_comes_back_as_it_is(data):
    X, _, y, _ = data
    source = leaf_source(HistGradientBoostingRegressor(max_iter=2).fit(X, y))
    assert leaf_source(source) is source
    with pytest.raises(InvalidParameter, match="for regression, not for classification"):
        leaf_source(source, task="classification")
