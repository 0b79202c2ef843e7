"""Every model that can be saved comes back bit for bit."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, baselines, load
from gbuq_core.model_files import Savable
from tests.model_files.saved_models import (
    MODELS,
    OWN,
    X,
    Y,
    answers,
    file_of,
    flat,
    model_of,
    saved,
)


def parameters(model):
    """Constructor arguments that are plain."""
    given = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    return flat({k: v for k, v in given.items() if k not in ("base_model", "estimator")})


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_bit_for_bit(name):
    model, again = model_of(name), load(file_of(name))
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    for part in (answers, parameters):
        expected, actual = part(model), part(again)
        assert actual.keys() == expected.keys()
        for place, value in expected.items():
            if place == "memory_bytes_":  # views of one block, which has other small arrays, too
                assert abs(actual[place] - value) <= 1e-3 * value
                continue
            np.testing.assert_array_equal(actual[place], value, err_msg=place)
    for given, fitted in (("base_model", "model_"), ("estimator", "estimator_")):
        if hasattr(model, given) and hasattr(model, fitted):
            same = getattr(model, given) is getattr(model, fitted)
            assert (getattr(again, given) is getattr(again, fitted)) == same
    if "catboost" not in name and name != "ibug":  # which writes its parts in another order
        assert saved(load(saved(again))) == saved(again)


@pytest.mark.parametrize(
    "name",
    [
        "boosted clocks",
        "ibug",
        "ibug lightgbm",
        "ibug histogram",
        "ibug own",
        "macau",
        "soft sum",
        "calibrated clocks",
        "neighbours of ours",
        "quantiles",
        "average",
    ],
)
def test_what_was_loaded_is_fitted_again_as_before(name):
    again = load(file_of(name))
    rows = X if hasattr(again, "feature_names_in_") else X.to_numpy()
    expected, actual = answers(model_of(name)), answers(again.fit(rows, Y))
    for place in ("predict", "law scale"):
        np.testing.assert_array_equal(actual[place], expected[place])


def test_every_estimator_that_is_offered_is_here():
    offered = {getattr(baselines, name) for name in baselines.__all__}
    savable = {kind for kind in offered if isinstance(kind, type) and issubclass(kind, Savable)}
    assert savable <= {type(model_of(name)) for name in MODELS}


def test_one_model_gives_one_file():
    model = model_of("boosted")
    assert saved(model) == saved(model)


def test_a_generator_is_saved_as_the_seed_that_was_drawn_from_it():
    model = baselines.DistanceScore(4).fit(X)
    assert load(saved(model)).get_params() == model.get_params()
    drawn = baselines.IsolationForestScore(8, 50, random_state=np.random.default_rng(0)).fit(X)
    assert load(saved(drawn)).random_state == drawn.seed_


def test_parameters_that_changed_after_the_fit_do_not_change_the_fit():
    model = load(file_of("boosted clocks"))
    expected = answers(model)["predict"]
    model.set_params(n_trees=99, depth=6, learning_rate=0.5)
    again = load(saved(model))
    assert (again.n_trees, again.plan_.n_trees) == (99, 12)
    np.testing.assert_array_equal(answers(again)["predict"], expected)


def test_numpy_opens_a_file_without_pickle():
    with np.load(io.BytesIO(file_of("boosted")), allow_pickle=False) as file:
        assert json.loads(file["header.json"])["model"]["class"] == "BoostedEnsembleRegressor"
        assert file["f8"].dtype == np.float64


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
    rows = np.arange(8.0)[:, None]
    model = BoostedEnsembleClassifier(**OWN).fit(rows, np.array(labels)[np.arange(8) % 2])
    again = load(saved(model))
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(rows).tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize(
    "knobs",
    [
        {"temperature": np.float64(3.0), "n_trees": np.int64(5)},
        {"categorical_features": np.array([1])},
        {"categorical_features": np.array([False, True, False])},
        {"categorical_features": (1,)},
        {"categorical_features": pd.Index([1])},
        {"temperature": np.inf, "n_jobs": 2, "l2": 0.0},
        {"random_state": None},
    ],
    ids=repr,
)
def test_parameters_return_as_they_were_given(knobs):
    rows = np.column_stack([X.to_numpy()[:30, :2], np.arange(30) % 3])
    model = BoostedEnsembleRegressor(**{**OWN, **knobs}).fit(rows, Y[:30])
    again = load(saved(model))
    for name, value in knobs.items():
        np.testing.assert_array_equal(getattr(again, name), value)
    again.set_params(random_state=model.seed_)
    refitted = clone(again).fit(rows, Y[:30]).predict(rows)
    np.testing.assert_array_equal(refitted, model.predict(rows))


def test_paths_bytes_and_files(tmp_path):
    model = model_of("boosted two")
    path = tmp_path / "model.npz"
    model.save(path)
    content = path.read_bytes()
    assert content == file_of("boosted two")
    for source in (path, str(path), bytearray(content), io.BytesIO(content)):
        np.testing.assert_array_equal(load(source).predict_proba(X), model.predict_proba(X))
    with path.open("rb") as file:
        np.testing.assert_array_equal(load(file).predict_proba(X), model.predict_proba(X))
