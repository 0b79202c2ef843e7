"""Text and category columns of a data frame are categories without being named."""

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from xgboost import XGBRegressor

from gbuq_core import BoostedEnsembleRegressor, IBUGRegressor
from gbuq_core.errors import InvalidData
from gbuq_core.ibug.categories import encode_rows, find_coding

LEVEL = {"a": 0.0, "b": 4.0, "c": -4.0, "d": 8.0}
NOISE = {"a": 0.1, "b": 1.0, "c": 0.1, "d": 1.0}
LIGHT = {"n_estimators": 40, "min_child_samples": 5, "min_data_per_group": 5, "verbose": -1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    kind = rng.choice(list(LEVEL), 400)
    X = pd.DataFrame({"size": rng.uniform(size=400), "kind": kind})
    noise = pd.Series(kind).map(NOISE).to_numpy() * rng.normal(size=400)
    return X, pd.Series(kind).map(LEVEL).to_numpy() + X["size"].to_numpy() + noise


BASES = {
    "default": None,
    "catboost": CatBoostRegressor(iterations=40, verbose=False, allow_writing_files=False),
    "lightgbm": LGBMRegressor(**LIGHT),
    "histogram": HistGradientBoostingRegressor(max_iter=40, min_samples_leaf=5),
    "xgboost": XGBRegressor(n_estimators=40),
    "xgboost's own": XGBRegressor(n_estimators=40, enable_categorical=True),
    "boosting": GradientBoostingRegressor(n_estimators=40),
    "forest": RandomForestRegressor(n_estimators=40),
    "gbuq": BoostedEnsembleRegressor(n_members=2, n_trees=60, stopping=None),
}


@pytest.mark.parametrize(
    ("base", "dtype"),
    [*((base, "category") for base in BASES), ("lightgbm", object), ("catboost", "string")],
)
def test_every_base_model_takes_text_and_categories(table, base, dtype):
    X, y = table
    X = X.astype({"kind": dtype})
    model = IBUGRegressor(BASES[base], random_state=0, n_jobs=1).fit(X, y)
    new = pd.DataFrame({"size": [0.5] * 4, "kind": list(LEVEL)}).astype({"kind": dtype})
    loc, scale = model.predict_distribution(new)
    # CatBoost's one border of the target may not tell a from c.
    assert loc[3] > loc[1] > max(loc[0], loc[2])
    assert np.isfinite(scale).all()
    indices, _ = model.kneighbors(new, 5)
    own = X["kind"].to_numpy()[indices] == np.array(list(LEVEL))[:, None]
    assert own[[1, 3]].mean() > 0.8
    odd = pd.DataFrame({"size": [0.5], "kind": ["never seen"]}).astype({"kind": dtype})
    assert np.isfinite(model.predict_distribution(odd).scale).all()
    if dtype == "category":
        assert len(clone(model).fit(X, y).predict(new)) == 4


@pytest.mark.parametrize("base", ["lightgbm", "histogram", "catboost"])
def test_a_missing_category_is_no_error(table, base):
    X, y = table
    X = X.copy()
    X.loc[::9, "kind"] = None
    model = IBUGRegressor(BASES[base], random_state=0, n_jobs=1).fit(X, y)
    assert np.isfinite(model.predict_distribution(X.iloc[:12]).scale).all()


def test_models_that_take_no_gaps_say_so(table):
    X, y = table
    X = X.copy()
    X.loc[::9, "kind"] = None
    with pytest.raises(InvalidData, match=r"^X contains NaN, and GradientBoostingRegressor"):
        IBUGRegressor(BASES["boosting"], random_state=0).fit(X, y)


@pytest.mark.parametrize("base", ["catboost", "lightgbm"])
def test_weights_and_validation_rows_with_text(table, base):
    X, y = table
    weight = np.random.default_rng(0).integers(0, 4, 400)
    model = IBUGRegressor(BASES[base], random_state=0, n_jobs=1)
    model.fit(X[:300], y[:300], X[300:], y[300:], sample_weight=weight[:300])
    assert model.n_neighbors_ in (3, 5, 7, 9, 11, 15, 31, 61, 91, 121, 151, 201, 301)
    assert np.isfinite(model.score_families(X, y).nll[0])


def test_catboost_searches_its_own_leaves(table):
    """The twin compares calc_leaf_indexes of the frame as CatBoost reads it."""
    X, y = table
    model = IBUGRegressor(BASES["catboost"], n_neighbors=5, calibrate=False, random_state=0)
    model.fit(X, y)
    leaves = model.model_.calc_leaf_indexes(X)
    shared = (leaves[:10, None] == leaves[None]).sum(axis=2)
    expected = np.argsort(-shared, axis=1, kind="stable")[:, :5]
    indices, affinities = model.kneighbors(X.iloc[:10])
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(affinities, np.take_along_axis(shared, expected, axis=1))


def test_codes_follow_the_levels_of_the_training_rows():
    X = pd.DataFrame(
        {
            "grade": pd.Categorical(["low", "high", "mid"], ["low", "mid", "high"], ordered=True),
            "mixed": ["x", 2, None],
        }
    )
    coding = find_coding(GradientBoostingRegressor(), X)
    assert coding.levels == (("low", "mid", "high"), (2.0, "x"))
    new = pd.DataFrame({"grade": ["mid", "odd", None], "mixed": ["x", 2.0, "odd"]})
    coded = encode_rows(coding, new)
    assert coded["grade"].tolist()[:2] == [1.0, 3.0]
    assert np.isnan(coded["grade"][2])
    assert coded["mixed"].tolist() == [1.0, 0.0, 2.0]


def test_too_many_levels_for_histograms_become_codes():
    X = pd.DataFrame({"name": [f"n{i}" for i in range(300)], "size": np.arange(300.0)})
    assert find_coding(HistGradientBoostingRegressor(), X).kind == "code"
    assert find_coding(LGBMRegressor(), X).kind == "category"


def test_what_stays_as_it_is(table):
    X, y = table
    assert find_coding(None, X[["size"]]) is None
    assert find_coding(None, X.to_numpy()) is None
    assert find_coding(CatBoostRegressor(cat_features=["kind"]), X) is None
    fitted = CatBoostRegressor(iterations=5, cat_features=["kind"], verbose=False).fit(X, y)
    assert find_coding(fitted, X) is None
    assert len(IBUGRegressor(fitted, 5).fit(X, y).predict(X[:3])) == 3


def test_arrays_have_no_text(table):
    X, y = table
    model = IBUGRegressor(BASES["lightgbm"], random_state=0).fit(X, y)
    with (
        pytest.warns(UserWarning, match="feature names"),
        pytest.raises(InvalidData, match=r"^X is an array, but the training rows were"),
    ):
        model.predict(np.zeros((2, 2)))
    with pytest.raises(InvalidData, match="holds values that are not numbers"):
        model.predict(pd.DataFrame({"size": ["a"], "kind": ["a"]}))


@pytest.mark.parametrize("declared", [True, False], ids=["named", "unnamed"])
def test_an_array_of_objects_is_read_as_a_frame(declared):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({0: rng.normal(size=200), 1: rng.choice(["a", "b", "c"], 200)})
    y = frame[0] + 3.0 * (frame[1] == "a")

    def fitted(X):
        settings = {"cat_features": [1]} if declared else {}
        base = CatBoostRegressor(
            iterations=30, random_seed=0, verbose=False, allow_writing_files=False, **settings
        )
        return IBUGRegressor(base, random_state=0).fit(X, y)

    array = frame.to_numpy(object)
    expected = fitted(frame).predict(frame.iloc[:9])
    np.testing.assert_array_equal(fitted(array).predict(array[:9]), expected)
