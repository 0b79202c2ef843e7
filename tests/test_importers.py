"""Leaves and predictions of other libraries' models: equal to the libraries' own."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_ibug import walk_histogram_tree, walk_numeric_trees
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.trees.importers import leaf_source, load_leaf_source
from gbuq_core.trees.importers.replaying import (
    NumericTrees,
    check_structure,
    make_table,
    replay_leaves,
)

lightgbm = pytest.importorskip("lightgbm")
xgboost = pytest.importorskip("xgboost")
catboost = pytest.importorskip("catboost")

ROOT = Path(__file__).resolve().parents[1]
N_TREES = 12
QUIET = {"verbose": 0, "allow_writing_files": False, "iterations": N_TREES, "depth": 4}


@pytest.fixture(scope="module")
def data():
    """400 rows of four features with missing values, zeros and repeats; a target; classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).round(1)
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=400)
    classes = np.digitize(y, [-0.3, 0.3])
    gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    return X, gaps, y, classes


def lightgbm_model(**options):
    return lightgbm.LGBMRegressor(n_estimators=N_TREES, verbose=-1, **options)


def xgboost_model(**options):
    return xgboost.XGBRegressor(n_estimators=N_TREES, max_depth=4, **options)


# Models, and whether they take missing values.
REGRESSORS = {
    "lightgbm": (lightgbm_model, True),
    "lightgbm zeros": (lambda: lightgbm_model(zero_as_missing=True), True),
    "lightgbm no missing": (lambda: lightgbm_model(use_missing=False), True),
    "lightgbm forest": (
        lambda: lightgbm_model(boosting_type="rf", subsample=0.5, subsample_freq=1), True,
    ),
    "lightgbm large": (lambda: lightgbm_model(num_leaves=300, min_child_samples=1), True),
    "xgboost": (xgboost_model, True),
    "xgboost pruned": (lambda: xgboost_model(gamma=0.5, tree_method="exact"), True),
    "xgboost dart": (lambda: xgboost_model(booster="dart", rate_drop=0.3), True),
    "xgboost forest": (lambda: xgboost_model(num_parallel_tree=3, subsample=0.5), True),
    "catboost": (lambda: catboost.CatBoostRegressor(**QUIET), True),
    "catboost lossguide": (
        lambda: catboost.CatBoostRegressor(grow_policy="Lossguide", **QUIET), True,
    ),
    "catboost uncertainty": (
        lambda: catboost.CatBoostRegressor(loss_function="RMSEWithUncertainty", **QUIET), True,
    ),
    "histogram": (lambda: HistGradientBoostingRegressor(max_iter=N_TREES), True),
    "gradient": (lambda: GradientBoostingRegressor(n_estimators=N_TREES), False),
    "forest": (lambda: RandomForestRegressor(N_TREES, random_state=0), True),
    "extra": (lambda: ExtraTreesRegressor(N_TREES, random_state=0), True),
    "own": (lambda: BoostedEnsembleRegressor(n_members=2, n_trees=N_TREES), True),
    "own virtual": (
        lambda: BoostedEnsembleRegressor(ensemble="virtual", n_trees=N_TREES, truncation_step=2),
        True,
    ),
}  # fmt: skip

CLASSIFIERS = {
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=N_TREES, verbose=-1),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=N_TREES, max_depth=4),
    "catboost": lambda: catboost.CatBoostClassifier(**QUIET),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=N_TREES),
    "gradient": lambda: GradientBoostingClassifier(n_estimators=N_TREES),
    "forest": lambda: RandomForestClassifier(N_TREES, random_state=0),
    "own": lambda: BoostedEnsembleClassifier(n_members=2, n_trees=N_TREES),
}


def library_leaves(model, X):
    """What the library says, in its own numbers."""
    if hasattr(model, "booster_"):
        return model.booster_.predict(X, pred_leaf=True)
    if hasattr(model, "calc_leaf_indexes"):
        return model.calc_leaf_indexes(X)
    if hasattr(model, "leaf_indices"):
        return model.leaf_indices(X)
    if hasattr(model, "apply"):
        return np.asarray(model.apply(X)).reshape(len(X), -1)
    return np.array([[walk_histogram_tree(p[0], row) for p in model._predictors] for row in X])


def assert_same_parts(ours, theirs):
    """Rows share a leaf in the one where they do in the other, in every tree."""
    assert ours.shape == theirs.shape
    for a, b in zip(ours.T, theirs.T, strict=True):
        pairs = len(np.unique(np.stack([a, b]), axis=1).T)
        assert pairs == len(np.unique(a)) == len(np.unique(b))


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
    np.testing.assert_allclose(source.predict(frame), model.predict(frame), rtol=1e-12)


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
            "left": left, "right": right, "feature": rng.integers(0, 3, n),
            "threshold": rng.integers(-2, 3, n) * 0.5, "missing": rng.integers(0, 3, n),
            "to_left": rng.random(n) < 0.5,
        }.items():  # fmt: skip
            parts[key].append(values)
    joined = {key: np.concatenate(values) for key, values in parts.items()}
    return NumericTrees(
        np.array(begin), joined["left"].astype(np.int32), joined["right"].astype(np.int32),
        joined["feature"].astype(np.int32), joined["threshold"],
        joined["missing"].astype(np.int8), joined["to_left"].astype(bool), draw(st.booleans()),
    )  # fmt: skip


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
        np.array([0, n]), ~np.arange(n, dtype=np.int32),
        np.append(np.arange(1, n), ~n).astype(np.int32), np.zeros(n, np.int32),
        np.arange(n) / n, np.full(n, 2, np.int8), np.ones(n, bool), False,
    )  # fmt: skip
    table = make_table(chain)
    assert table.dtype is np.uint16
    X = rng.random((3000, 1))
    expected = [walk_numeric_trees(chain, row) for row in X]
    np.testing.assert_array_equal(replay_leaves(table, X, 0, 1), expected)


@pytest.mark.parametrize(
    ("left", "right"),
    [([1, 0], [-1, -2]), ([5, -1], [-2, -3]), ([1, -1], [-1, -2]), ([-1, -2], [-2, -3]),
     ([1, -1], [-2, -9])],
)  # fmt: skip
def test_nodes_that_make_no_tree_are_refused(left, right):
    """A circle, a child that is not there, a leaf met twice, a node nobody reaches."""
    trees = NumericTrees(
        np.array([0, 2]), np.array(left, np.int32), np.array(right, np.int32),
        np.zeros(2, np.int32), np.zeros(2), np.zeros(2, np.int8), np.zeros(2, bool), False,
    )  # fmt: skip
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
    "own not fitted": (lambda X, y: BoostedEnsembleRegressor(), "not fitted"),
    "no trees": (lambda X, y: xgboost_model(booster="gblinear").fit(X, y), "no trees"),
    "something else": (lambda X, y: object(), "no tree model"),
    "two outputs": (
        lambda X, y: RandomForestRegressor(2).fit(X, np.stack([y, y], 1)), "2 outputs",
    ),
    "xgboost two outputs": (lambda X, y: xgboost_model().fit(X, np.stack([y, y], 1)), "2 outputs"),
    "catboost two outputs": (
        lambda X, y: catboost.CatBoostRegressor(loss_function="MultiRMSE", **QUIET).fit(
            X, np.stack([y, y], 1)
        ),
        "2 outputs",
    ),
    "ranker": (
        lambda X, y: lightgbm.LGBMRanker(n_estimators=2, verbose=-1).fit(
            X, y > 0, group=[40] * 10
        ),
        "ranks",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_USABLE)
def test_other_models_are_refused(name, data):
    X, _, y, _ = data
    make, message = NOT_USABLE[name]
    with pytest.raises((InvalidParameter, ModelFileError), match=message) as caught:
        leaf_source(make(X, y))
    assert "\n" not in str(caught.value)


def test_a_regressor_is_no_classifier(data):
    X, _, y, _ = data
    with pytest.raises(InvalidParameter, match="is no classifier"):
        leaf_source(lightgbm_model().fit(X, y), task="classification")


@pytest.mark.parametrize("package", ["lightgbm", "xgboost", "catboost"])
def test_a_missing_library_is_one_sentence(package, data, monkeypatch, model_files):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InvalidParameter, match=f"need the package {package}"):
        load_leaf_source(model_files[package])


def test_a_leaf_source_comes_back_as_it_is(data):
    X, _, y, _ = data
    source = leaf_source(HistGradientBoostingRegressor(max_iter=2).fit(X, y))
    assert leaf_source(source) is source
    with pytest.raises(InvalidParameter, match="for regression, not for classification"):
        leaf_source(source, task="classification")


# Model files


@pytest.fixture(scope="module")
def model_files(data, tmp_path_factory):
    """Small models in every format."""
    folder = tmp_path_factory.mktemp("models")
    _, gaps, y, _ = data
    paths = {
        name: folder / name for name in ("lightgbm", "xgboost.json", "xgboost.ubj", "catboost")
    }
    lightgbm_model(num_leaves=6).fit(gaps, y).booster_.save_model(paths["lightgbm"])
    fitted = xgboost_model().fit(gaps, y)
    for name in ("xgboost.json", "xgboost.ubj"):
        fitted.save_model(paths[name])
    catboost.CatBoostRegressor(**QUIET).fit(gaps, y).save_model(str(paths["catboost"]))
    return {**paths, "xgboost": paths["xgboost.ubj"]}


@pytest.mark.parametrize("name", ["lightgbm", "xgboost.json", "xgboost.ubj", "catboost"])
def test_files_give_what_the_fitted_model_gives(name, data, model_files):
    _, gaps, y, _ = data
    kind = name.split(".")[0]
    make = {"lightgbm": lambda: lightgbm_model(num_leaves=6)}.get(kind, REGRESSORS[kind][0])
    fitted = leaf_source(make().fit(gaps, y))
    for content in (model_files[name], str(model_files[name]), model_files[name].read_bytes()):
        loaded = load_leaf_source(content)
        assert loaded.kind == kind
        np.testing.assert_array_equal(loaded.leaf_matrix(gaps), fitted.leaf_matrix(gaps))
        np.testing.assert_array_equal(loaded.predict(gaps), fitted.predict(gaps))


@pytest.mark.parametrize("name", ["lightgbm zeros", "lightgbm forest", "xgboost pruned",
                                  "xgboost dart", "xgboost forest"])  # fmt: skip
def test_files_of_other_boosters(name, data, tmp_path):
    """What is written anew for the library predicts as before."""
    _, gaps, y, _ = data
    model = REGRESSORS[name][0]().fit(gaps, y)
    booster = model.booster_ if hasattr(model, "booster_") else model.get_booster()
    path = tmp_path / ("model.txt" if hasattr(model, "booster_") else "model.json")
    booster.save_model(path)
    loaded = load_leaf_source(path)
    assert_same_parts(loaded.leaf_matrix(gaps), library_leaves(model, gaps))
    # dart: weights of trees are multiplied in another order (float32).
    np.testing.assert_allclose(loaded.predict(gaps), model.predict(gaps), rtol=1e-5, atol=1e-6)


def test_a_lightgbm_file_keeps_its_categories(data, tmp_path):
    _, gaps, y, _ = data
    frame = pd.DataFrame(gaps, columns=list("abcd"))
    frame["kind"] = pd.Categorical(np.where(np.arange(400) % 3 == 0, "x", "y"))
    model = lightgbm_model(min_data_per_group=5).fit(frame, y + (frame["kind"] == "x"))
    model.booster_.save_model(tmp_path / "m.txt")
    loaded = load_leaf_source(tmp_path / "m.txt")
    np.testing.assert_array_equal(loaded.leaf_matrix(frame), library_leaves(model, frame))
    np.testing.assert_array_equal(loaded.predict(frame), model.predict(frame))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no model of"), (b"PK\x03\x04", "no model of"), (b"\x80\x04", "no model of"),
        (b"tree of life", "no LightGBM model"), (b"{}", "damaged"), (b"{", "damaged"),
        (b"CBM1", "cut off"), (b"CBM1\xff\xff\xff\xff", "cut off"),
        (b"[" * 100_000, "no model of"), (b'{"a":' * 100_000, "damaged"),
        (b"{U\x01a" * 100_000, "damaged"),
    ],
)  # fmt: skip
def test_foreign_content_is_refused(content, message):
    with pytest.raises(ModelFileError, match=message):
        load_leaf_source(content)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_leaf_source(tmp_path / "nothing.txt")
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_leaf_source(tmp_path)
    with pytest.raises(InvalidParameter, match="a path or bytes"):
        load_leaf_source(3)


@pytest.mark.parametrize(
    ("what", "lie", "message"),
    [
        (r"num_leaves=6", "num_leaves=7", "too short"),
        (r"left_child=1 ", "left_child=0 ", "do not make a tree"),
        (r"split_feature=\d", "split_feature=9", "out of range"),
        (r"leaf_value=\S+", "leaf_value=nan", "not where|out of range"),
        (r"version=v4", "version=v9", "version"),
        (r"objective=regression", "objective=regressior", "objective"),
        (r"max_feature_idx=3", "max_feature_idx=4", "name all"),
        (r"objective=regression", "objective=binary sigmoid:1", "is a classifier"),
    ],
)
def test_a_lightgbm_file_that_lies_is_refused(what, lie, message, model_files):
    text = model_files["lightgbm"].read_text()
    lied = re.sub(what, lie, text, count=1)
    assert lied != text
    sizes = [len(part) for part in re.findall(r"Tree=\d+\n.*?\n\n\n", lied, re.DOTALL)]
    lied = re.sub(r"tree_sizes=.*", "tree_sizes=" + " ".join(map(str, sizes)), lied)
    with pytest.raises((ModelFileError, InvalidParameter), match=message):
        load_leaf_source(lied.encode())


def test_a_catboost_file_that_ends_its_reader_is_refused(model_files, monkeypatch):
    from gbuq_core.trees.importers import catboost_source

    monkeypatch.setattr(catboost_source, "_TRIAL", "import os; os.abort()")
    with pytest.raises(ModelFileError, match="its process ended"):
        load_leaf_source(model_files["catboost"])


# Mutations from a seed: cut, flip, delete, other digits. Whatever comes of it, the process lives,
# and what is refused is refused in one sentence.
FUZZ = """
import sys
import numpy as np
from gbuq_core.errors import GbuqError
from gbuq_core.trees.importers import load_leaf_source
content = open(sys.argv[1], "rb").read()
X = np.random.default_rng(0).normal(size=(20, 4))
digits = [i for i, c in enumerate(content) if 48 <= c < 58]
refused = read = 0
for seed in range(int(sys.argv[2])):
    rng = np.random.default_rng(seed)
    damaged = bytearray(content)
    at = int(rng.integers(len(damaged)))
    if seed % 5 == 0:
        del damaged[at:]
    elif seed % 5 == 1:
        damaged[at] ^= 1 << int(rng.integers(8))
    elif seed % 5 == 2:
        del damaged[at : at + int(rng.integers(1, 20))]
    elif seed % 5 == 3:
        damaged[digits[int(rng.integers(len(digits)))]] = 48 + int(rng.integers(10))
    else:
        others = [b"\\xff\\xff\\xff\\xff", b"\\0\\0\\0\\x80", b"nan ", b"-1  "]
        damaged[at : at + 4] = others[seed % 4]
    try:
        source = load_leaf_source(bytes(damaged))
        source.leaf_matrix(X)
        source.predict(X)
        read += 1
    except GbuqError as error:
        assert "\\n" not in str(error), error
        refused += 1
print(refused, read)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n"),
    [("lightgbm", 150), ("xgboost.json", 150), ("xgboost.ubj", 150), ("catboost", 5)],
)
def test_damaged_files_do_not_end_the_process(name, n, model_files):
    """CatBoost's files are tried in a process of their own, seconds each: few of them."""
    done = subprocess.run(
        [sys.executable, "-c", FUZZ, str(model_files[name]), str(n)],
        capture_output=True, text=True, check=False, cwd=model_files[name].parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    refused, read = map(int, done.stdout.split()[-2:])
    assert refused + read == n
    assert refused > 0
