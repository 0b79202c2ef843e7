"""Saving and loading: the same predictions, parameters, classes and levels."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from saving_parts import SMALL, fitted, saved
from sklearn.base import clone

from gbuq_core.boosting import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    load_ensemble,
)
from gbuq_core.errors import InvalidParameter
from gbuq_core.model_files import archive


def assert_same(model, again, X):
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    for name in ("predict", "predict_members", "leaf_indices"):
        np.testing.assert_array_equal(getattr(again, name)(X), getattr(model, name)(X))
    for one, other in (
        (again.predict_uncertainty(X), model.predict_uncertainty(X)),
        (again.inspect_rows(X), model.inspect_rows(X)),
        (again.staged_members(X, 7), model.staged_members(X, 7)),
    ):
        for part, expected in zip(one, other, strict=True):
            np.testing.assert_array_equal(part, expected)
    for name in ("plan_", "langevin_", "seed_", "n_rows_", "n_cells_", "memory_bytes_"):
        assert getattr(again, name) == getattr(model, name)
    assert again.fit_seconds_ == model.fit_seconds_


@pytest.mark.parametrize("ensemble", ["independent", "virtual"])
@pytest.mark.parametrize("kind", ["regressor", "two", "three"])
def test_predictions_are_the_same_bit_for_bit(rng, kind, ensemble):
    model, new = fitted(kind, rng, ensemble=ensemble, truncation_step=2)
    again = load_ensemble(saved(model))
    assert_same(model, again, new)
    assert again.get_params() == model.get_params()
    if kind != "regressor":
        assert again.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize("kind", ["regressor", "two", "three"])
def test_catboost_models(rng, kind):
    model, new = fitted(kind, rng, engine="catboost", ensemble="virtual", truncation_step=2)
    assert_same(model, load_ensemble(saved(model)), new)


def test_paths_bytes_and_files(rng, tmp_path):
    model, new = fitted("regressor", rng)
    path = tmp_path / "model.npz"
    model.save(path)
    content = path.read_bytes()
    expected = model.predict(new)
    for source in (path, str(path), content, bytearray(content), io.BytesIO(content)):
        np.testing.assert_array_equal(load_ensemble(source).predict(new), expected)
    with path.open("rb") as file:
        np.testing.assert_array_equal(load_ensemble(file).predict(new), expected)


def test_one_model_gives_one_file(rng):
    model, _ = fitted("three", rng)
    assert saved(model) == saved(model)
    assert saved(load_ensemble(saved(model))) == saved(model)


def test_numpy_opens_the_file_without_pickle(rng):
    model, _ = fitted("regressor", rng)
    with np.load(io.BytesIO(saved(model)), allow_pickle=False) as file:
        assert file["values"].shape == (2, 20, 8, 2)
        assert json.loads(file["header.json"])["format"] == archive.FORMAT


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a"],
        np.array(["yes", "no"], dtype=object),
        [3, 1],
        np.array([3, 1], np.int8),
        np.array([200, 1], np.uint8),
        [True, False],
        [0.0, 2.0],
        [" ", "\N{SNOWMAN}\n"],
    ],
    ids=repr,
)
def test_class_labels_keep_their_type(labels):
    X = np.arange(8.0)[:, None]
    y = np.array(labels)[np.arange(8) % 2]
    model = BoostedEnsembleClassifier(**SMALL).fit(X, y)
    again = load_ensemble(saved(model))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == model.predict(X).tolist()


def test_pandas_labels_and_levels(rng):
    X = pd.DataFrame(
        {"a": pd.Categorical(["x", "y", None, "x"] * 5), "b": [1.5, np.inf, 2, -3] * 5}
    )
    y = pd.Series(["no", "yes"] * 10)
    model = BoostedEnsembleClassifier(categorical_features=["a", "b"], **SMALL).fit(X, y)
    assert_same(model, load_ensemble(saved(model)), X)


@pytest.mark.parametrize(
    ("knobs", "expected"),
    [
        ({"temperature": np.float64(3.0), "n_trees": np.int64(5)}, {"temperature": 3.0}),
        ({"categorical_features": np.array([1])}, {"categorical_features": [1]}),
        (
            {"categorical_features": np.array([False, True])},
            {"categorical_features": [False, True]},
        ),
        ({"categorical_features": (1,)}, {"categorical_features": [1]}),
        ({"categorical_features": pd.Index([1])}, {"categorical_features": [1]}),
        ({"temperature": np.inf, "n_jobs": 2, "l2": 0.0}, {"temperature": np.inf}),
        ({"random_state": None}, {"random_state": None}),
    ],
    ids=repr,
)
def test_parameters_return_as_plain_values(rng, knobs, expected):
    X = np.column_stack([rng.normal(size=30), rng.integers(0, 3, 30)])
    model = BoostedEnsembleRegressor(**{**SMALL, **knobs}).fit(X, rng.normal(size=30))
    again = load_ensemble(saved(model))
    found = again.get_params()
    assert {name: found[name] for name in expected} == expected
    again.set_params(random_state=model.seed_)
    np.testing.assert_array_equal(
        clone(again).fit(X, X[:, 0]).predict(X), again.fit(X, X[:, 0]).predict(X)
    )


def test_a_generator_is_saved_as_the_seed_drawn_from_it(rng):
    X = rng.normal(size=(30, 1))
    model = BoostedEnsembleRegressor(**{**SMALL, "random_state": np.random.default_rng(5)})
    model.fit(X, X[:, 0])
    again = load_ensemble(saved(model))
    np.testing.assert_array_equal(clone(again).fit(X, X[:, 0]).predict(X), model.predict(X))


def test_parameters_changed_after_the_fit_do_not_change_the_fit(rng):
    model, new = fitted("regressor", rng)
    expected = model.predict(new)
    model.set_params(n_trees=5, depth=1, leaf_estimation="gradient")
    again = load_ensemble(saved(model))
    np.testing.assert_array_equal(again.predict(new), expected)
    assert (again.n_trees, again.plan_.n_trees) == (5, 20)


def test_what_cannot_be_saved_is_refused(rng):
    model, _ = fitted("two", rng)
    model.classes_ = np.array(["2020-01-01", "2021-01-01"], "M8[D]")
    with pytest.raises(InvalidParameter, match=r"^the classes are of type [^\n]*\.$"):
        saved(model)
    model.classes_ = np.array([(1, 2), None], dtype=object)
    with pytest.raises(InvalidParameter, match=r"^the class \[1, 2\] cannot be saved[^\n]*\.$"):
        model.save(io.BytesIO())
    model.set_params(n_jobs=object())
    with pytest.raises(InvalidParameter, match=r"^n_jobs holds [^\n]*\.$"):
        saved(model)
