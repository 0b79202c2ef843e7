"""From tables to matrices: levels, cross-fitted target means, missing values, flags, refusals."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusal_parts import refused_from
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder
from tolerances import SAME_SUM

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import MAX_CLASSES, encode_classes
from gbuq_core.trees.binning import (
    MAX_ONE_HOT_LEVELS,
    apply_encoding,
    as_table,
    category_positions,
    fit_encoding,
)

SMALL = {"stopping": None, "n_members": 1, "n_trees": 5, "depth": 2, "random_state": 0}


def encode(X, declared, target=None, n_classes=None, seed=0):
    target = np.arange(len(X), dtype=float) if target is None else target
    return fit_encoding(X, target, n_classes, declared, seed)


def test_numbers_pass_through(rng):
    X = rng.normal(size=(20, 3))
    X[2, 1] = np.nan
    encoding, matrix = encode(X, None)
    np.testing.assert_array_equal(matrix, X)
    assert [column.kind for column in encoding.columns] == ["number"] * 3
    assert [column.has_missing for column in encoding.columns] == [False, True, False]
    assert not encoding.is_category.any()
    np.testing.assert_array_equal(apply_encoding(encoding, X[5:])[0], X[5:])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.0, np.nan, 3.0], dtype="float32"),
        pd.Series([1, None, 3], dtype=object),
        pd.Categorical([1, None, 3]),
        pd.Series(["1", None, "3"]),
    ],
    ids=["Int64", "float32", "object", "category", "text"],
)
def test_every_kind_of_number(column):
    _, matrix = encode(pd.DataFrame({"a": column}), None)
    np.testing.assert_array_equal(matrix[:, 0], [1.0, np.nan, 3.0])
    assert matrix.dtype == np.float64


def test_levels_become_codes_in_order():
    X = pd.DataFrame({"a": ["b", "a", None, "c", "a"]})
    encoding, matrix = encode(X, ["a"])
    assert encoding.columns[0].levels == ("a", "b", "c")
    np.testing.assert_array_equal(matrix[:, 0], [1, 0, 3, 2, 0])  # missing is one level more
    assert encoding.is_category.tolist() == [True]


@given(order=st.permutations(range(7)))
def test_codes_do_not_depend_on_the_order_of_rows(order):
    values = pd.Series(["b", "a", 2.0, 10.0, None, "a", 2.0], dtype=object)
    codes = encode(values.to_frame("a"), ["a"])[1][:, 0]
    shuffled = encode(values[list(order)].to_frame("a"), ["a"])[1][:, 0]
    np.testing.assert_array_equal(shuffled, codes[list(order)])


def test_equal_numbers_are_one_level_whatever_their_type():
    encoding, _ = encode(pd.DataFrame({"a": [1, 2, 1]}), ["a"])
    for column in ([2.0, 1.0], np.array([2, 1], np.int8), pd.Series([2, 1], dtype="Int64")):
        matrix, flags = apply_encoding(encoding, pd.DataFrame({"a": column}))
        np.testing.assert_array_equal(matrix[:, 0], [1, 0])
        assert not flags.unseen_level.any()


def test_unused_categories_of_a_dtype_are_no_levels():
    column = pd.Categorical(["x", "x", "y"], categories=["never", "y", "x"])
    encoding, matrix = encode(pd.DataFrame({"a": column}), "from_dtype")
    assert encoding.columns[0].levels == ("x", "y")
    np.testing.assert_array_equal(matrix[:, 0], [0, 0, 1])


@pytest.mark.parametrize(
    ("n_levels", "missing", "kind"),
    [
        (32, False, "levels"),
        (31, True, "levels"),
        (33, False, "target"),
        (32, True, "target"),
    ],
)
def test_more_than_32_levels_are_replaced_by_means(rng, n_levels, missing, kind):
    values = [f"level {i}" for i in range(n_levels)] + [None] * missing
    X = pd.DataFrame({"a": values * 5})
    encoding, matrix = encode(X, ["a"], rng.normal(size=len(X)))
    assert encoding.columns[0].kind == kind
    assert encoding.is_category.tolist() == [kind == "levels"]
    assert len(np.unique(matrix)) >= MAX_ONE_HOT_LEVELS


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_target_means_are_those_of_scikit_learn(rng, n_classes, missing):
    values = rng.integers(0, 40, 400).astype(float)
    if missing:
        values[rng.random(400) < 0.1] = np.nan
    target = (
        rng.normal(size=400) + values.clip(0, 20) / 5
        if n_classes is None
        else (rng.integers(0, n_classes, 400))
    )
    target = np.nan_to_num(target)
    encoding, matrix = encode(values[:, None], [0], target, n_classes, seed=2**40 + 7)
    kind = {None: "continuous", 2: "binary", 3: "multiclass"}[n_classes]
    folds = (KFold if n_classes is None else StratifiedKFold)(5, shuffle=True, random_state=7)
    encoder = TargetEncoder(target_type=kind, cv=folds)
    # The cross-fitted codes of training: no row has seen its own target.
    expected = encoder.fit_transform(values[:, None], target)
    np.testing.assert_allclose(matrix, expected, rtol=SAME_SUM)
    # Those of new rows: the means over all of training, and the overall mean for a new level.
    new = np.append(np.unique(values), 77.0)[:, None]
    encoded, flags = apply_encoding(encoding, new)
    np.testing.assert_allclose(encoded, encoder.transform(new), rtol=SAME_SUM)
    assert flags.unseen_level.tolist() == [False] * (len(new) - 1) + [True]
    assert not encoding.is_category.any()
    assert len(encoding.is_category) == (3 if n_classes == 3 else 1)


def test_cross_fitting_hides_a_rows_own_target(rng):
    """Every level is alone: a code that knew its row's target would tell it exactly."""
    values, target = np.arange(200.0)[:, None], rng.normal(size=200)
    _, matrix = encode(values, [0], target)
    assert np.abs(np.corrcoef(matrix[:, 0], target)[0, 1]) < 0.5
    assert len(np.unique(matrix.round(12))) <= 5  # the other folds' mean


def test_target_means_of_rare_classes(rng):
    """A class of fewer rows than folds cannot have a share in each; that is no error."""
    values = rng.integers(0, 40, 100).astype(float)[:, None]
    classes = np.array([2] + [0, 1] * 49 + [0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoding, matrix = encode(values, [0], classes, 3)
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(encoding.columns[0].fallback, [0.5, 0.49, 0.01])
    expected = TargetEncoder(
        target_type="multiclass", cv=KFold(5, shuffle=True, random_state=0)
    ).fit_transform(values, classes)
    np.testing.assert_allclose(matrix, expected, rtol=SAME_SUM)


def test_no_warning_of_scikit_learn_reaches_the_user(rng):
    X = rng.integers(0, 50, size=(300, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BoostedEnsembleRegressor(categorical_features=[0], **SMALL).fit(X, rng.normal(size=300))


def test_flags_name_rows_and_columns():
    X = pd.DataFrame({"a": ["x", "y", "x"], "b": [1.0, 2.0, np.nan], "c": [1.0, 2.0, 3.0]})
    encoding, _ = encode(X, ["a"])
    new = pd.DataFrame(
        {"a": ["z", None, "x", "y"], "b": [np.nan, 1, 1, 1], "c": [1, 1, np.nan, 9.0]}
    )
    matrix, flags = apply_encoding(encoding, new)
    assert flags.unseen_level.tolist() == [True, False, False, False]
    assert flags.new_missing.tolist() == [False, True, True, False]
    assert flags.columns == ("a", "c")
    np.testing.assert_array_equal(matrix[:, 0], [-1, -1, 0, 1])
    assert apply_encoding(encoding, X)[1].columns == ()


def test_missing_levels_seen_in_training_are_no_news():
    encoding, _ = encode(pd.DataFrame({"a": ["x", None, "y"]}), ["a"])
    matrix, flags = apply_encoding(encoding, pd.DataFrame({"a": [None, "x"]}))
    np.testing.assert_array_equal(matrix[:, 0], [2, 0])
    assert not flags.new_missing.any()


def test_new_rows_take_the_side_of_the_rest(rng):
    """An unseen level and a new gap are predicted like rows that no split singles out."""
    X = pd.DataFrame({"a": rng.choice(["p", "q", "r", "s"], 300), "b": rng.normal(size=300)})
    y = (X["a"] == "p") + 0.1 * rng.normal(size=300)
    model = BoostedEnsembleRegressor(
        stopping=None,
        method="sgb",
        subsample=1.0,
        random_strength=0.0,
        depth=1,
        n_members=1,
        n_trees=50,
        categorical_features=["a"],
        random_state=0,
    ).fit(X, y)
    new = pd.DataFrame({"a": ["unseen", None], "b": [0.0, 0.0]})
    flags = model.inspect_rows(new)
    assert flags.unseen_level.tolist() == [True, False]
    assert flags.new_missing.tolist() == [False, True]
    predicted = model.predict(new)
    assert predicted[0] == predicted[1]
    assert np.abs(predicted).max() < 0.2  # like q, r and s, of mean 0; p has mean 1
    low = X["b"].min() - 1.0
    with_gap, lowest = (pd.DataFrame({"a": ["q"], "b": [b]}) for b in (np.nan, low))
    assert model.predict(with_gap) == model.predict(lowest)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        (None, [False, False, False]),
        ([], [False, False, False]),
        (["b"], [False, True, False]),
        ([1, "a"], [True, True, False]),
        ((2,), [False, False, True]),
        (np.array([0, 2]), [True, False, True]),
        (np.array([False, True, False]), [False, True, False]),
        ([True, False, False], [True, False, False]),
        (pd.Index(["b"]), [False, True, False]),
        ("from_dtype", [False, True, True]),
    ],
    ids=repr,
)
def test_declaring_categories(declared, expected):
    table = pd.DataFrame({"a": [1.0], "b": ["x"], "c": [True]})
    assert category_positions(table, declared).tolist() == expected


@pytest.mark.parametrize(
    "declared", ["a", 0, {"a"}, ["z"], [3], [-1], [0.0], [True], [[0]], [None], b"a"], ids=repr
)
def test_declarations_that_make_no_sense_are_refused(declared):
    table = pd.DataFrame({"a": [1.0], "b": ["x"], "c": [True]})
    with refused_from(InvalidParameter, "categorical_features "):
        category_positions(table, declared)


@pytest.mark.parametrize(
    ("column", "start"),
    [
        (["x", "y"], "column 'a\\\\nb' holds values that are not numbers"),
        ([{}, []], "column 'a\\\\nb' holds values that are not numbers"),
        ([np.inf, 1.0], "column 'a\\\\nb' contains infinity"),
        (pd.to_datetime(["2020-01-01", None]), "column 'a\\\\nb' holds dates"),
        (pd.to_timedelta(["1D", None]), "column 'a\\\\nb' holds dates or durations"),
        ([1 + 2j, 0], "column 'a\\\\nb' holds complex numbers"),
    ],
    ids=["text", "objects", "infinity", "dates", "durations", "complex"],
)
def test_columns_that_are_not_numbers_are_refused(column, start):
    X = pd.DataFrame({"a\nb": column})
    with refused_from(InvalidData, start):
        encode(X, None)


def test_a_column_that_changed_its_kind_is_refused():
    encoding, _ = encode(pd.DataFrame({"a": [1.0, 2.0]}), None)
    with refused_from(InvalidData, "column 'a' holds values that are not numbers"):
        apply_encoding(encoding, pd.DataFrame({"a": ["one"]}))


@pytest.mark.parametrize(
    ("X", "start"),
    [
        (5.0, "Expected 2D array, got 0D"),
        ([1.0, 2.0], "Expected 2D array, got 1D"),
        (np.zeros((2, 2, 2)), "Expected 2D array, got 3D"),
        ([[1.0], [2.0, 3.0]], "X has rows of different lengths"),
        (np.array([[1j]]), "Complex data not supported"),
    ],
    ids=["number", "row", "cube", "ragged", "complex"],
)
def test_what_is_no_table_is_refused(X, start):
    with refused_from(InvalidData, start):
        as_table(X)


def test_sparse_matrices_are_refused():
    from scipy.sparse import csr_array

    with refused_from(InvalidData, "X is a sparse matrix"):
        as_table(csr_array(np.eye(2)))


@pytest.mark.parametrize(
    ("y", "classes", "codes"),
    [
        (["b", "a", "b"], ["a", "b"], [1, 0, 1]),
        ([3, 1, 3], [1, 3], [1, 0, 1]),
        ([2.0, -1.0], [-1.0, 2.0], [1, 0]),
        ([True, False], [False, True], [1, 0]),
        (np.array(["y", "x"], object), ["x", "y"], [1, 0]),
    ],
    ids=repr,
)
def test_classes_are_sorted(y, classes, codes):
    sorted_, own_codes = encode_classes(np.array(y))
    assert sorted_.tolist() == classes
    assert own_codes.tolist() == codes


@pytest.mark.parametrize(
    ("y", "start"),
    [
        (np.array([0.0, np.nan]), "y contains NaN"),
        (np.array(["a", None], object), "y contains NaN"),
        (np.array([0.0, np.inf]), "y contains infinity"),
        (np.array([0.5, 1.0]), "Unknown label type: continuous"),
        (np.array(["a", 1], object), "y mixes text and numbers"),
        (np.array(["a", "a"]), "Classifier can't train when only one class"),
        (np.arange(MAX_CLASSES + 1), "y has 201 different classes"),
    ],
    ids=["NaN", "None", "infinity", "fractions", "mixed", "one class", "many"],
)
def test_labels_that_make_no_classes_are_refused(y, start):
    with refused_from(InvalidData, start):
        encode_classes(y)
    with refused_from(InvalidData, start):
        BoostedEnsembleClassifier(**SMALL).fit(np.zeros((len(y), 1)), y)


def test_two_hundred_classes_are_trained_on(rng):
    X = np.repeat(np.arange(MAX_CLASSES), 2).astype(float)[:, None]
    model = BoostedEnsembleClassifier(**SMALL).fit(X, X[:, 0].astype(int))
    assert model.predict_proba(X).shape == (400, 200)
