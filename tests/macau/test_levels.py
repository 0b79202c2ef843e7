"""Text and category columns become columns of 0 and 1, and answers are sums over them."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import gbuq_core
from gbuq_core import MacauClassifier, MacauRegressor
from gbuq_core.errors import InvalidData, InvalidParameter, ModelFileError
from gbuq_core.macau.levels import find_columns

SMALL = {"n_trees": 10, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    kind = rng.choice(["a", "b", "c"], 300)
    X = pd.DataFrame({"u": rng.uniform(size=300), "kind": kind, "v": rng.normal(size=300)})
    level = pd.Series(kind).map({"a": 0.0, "b": 3.0, "c": -3.0}).to_numpy()
    return X, level + X["u"].to_numpy() + 0.1 * rng.normal(size=300)


def by_hand(X):
    """The twin: levels written down as numbers."""
    flags = {f"kind{level}": (X["kind"] == level).astype(float) for level in "abc"}
    return pd.DataFrame({"u": X["u"], **flags, "v": X["v"]})


@pytest.mark.parametrize("dtype", [object, "category", "string"])
@pytest.mark.parametrize("kind", [MacauRegressor, MacauClassifier])
def test_levels_are_columns(table, kind, dtype):
    X, y = table
    X, plain = X.astype({"kind": dtype}), by_hand(X)
    y = y if kind is MacauRegressor else y > 0.5
    model, twin = kind(**SMALL).fit(X, y), kind(**SMALL).fit(plain, y)
    for name in ("predict", "predict_uncertainty", "score_novelty"):
        np.testing.assert_array_equal(getattr(model, name)(X), getattr(twin, name)(plain))
    own, other = model.explain_novelty(X), twin.explain_novelty(plain)
    assert own.shape == (300, 3)
    np.testing.assert_allclose(own[:, 1], other[:, 1:4].sum(axis=1))
    np.testing.assert_array_equal(own[:, [0, 2]], other[:, [0, 4]])
    detail, whole = model.inspect_novelty(X[:5]), twin.inspect_novelty(plain[:5])
    np.testing.assert_allclose(detail.contributions[..., 1], whole.contributions[..., 1:4].sum(-1))
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    ellipses = model.leaf_ellipses(X[:1], (0, 2)).covariance
    np.testing.assert_array_equal(ellipses, twin.leaf_ellipses(plain[:1], (0, 4)).covariance)
    with pytest.raises(InvalidParameter, match=r"^Feature 1 is a category"):
        model.leaf_ellipses(X[:1], (0, 1))


def test_new_levels_are_novel_and_gaps_are_not(table):
    X, y = table
    model = MacauRegressor(**SMALL).fit(X, y)
    usual = model.score_novelty(X).novelty
    new, gap = X[:50].assign(kind="never seen"), X[:50].assign(kind=None)
    assert model.score_novelty(new).novelty.mean() > usual.mean() + 1.0
    assert np.isfinite(model.score_novelty(gap).novelty).all()
    assert np.isfinite(model.predict_distribution(gap).scale).all()


def test_forests_fitted_here_get_the_columns(table):
    X, y = table
    forest = RandomForestRegressor(5, min_samples_leaf=20, random_state=0)
    model, twin = MacauRegressor(base_model=forest).fit(X, y), RandomForestRegressor(5)
    np.testing.assert_array_equal(
        model.predict(X), MacauRegressor(base_model=forest).fit(by_hand(X), y).predict(by_hand(X))
    )
    twin.fit(by_hand(X), y)
    with pytest.raises(InvalidData, match=r"^Column 'kind' does not hold numbers"):
        MacauRegressor(base_model=twin).fit(X, y)


def test_levels_come_back_from_a_file(table):
    X, y = table
    model = MacauRegressor(**SMALL).fit(X, y)
    file = io.BytesIO()
    model.save(file)
    again = gbuq_core.load(file.getvalue())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.explain_novelty(X), model.explain_novelty(X))
    for odd in ((None, ("a",), None), (None, ("a", "a", "b"), None), (None, None, None)):
        again._columns = again._columns._replace(levels=odd)
        file = io.BytesIO()
        again.save(file)
        with pytest.raises(ModelFileError):
            gbuq_core.load(file.getvalue())


def test_what_is_refused(table):
    X, y = table
    many = X.assign(kind=[f"n{i % 31}" for i in range(300)])
    with pytest.raises(InvalidData, match=r"^Column 'kind' has 31 levels, but MACAU takes 1 to 30"):
        MacauRegressor(**SMALL).fit(many, y)
    with pytest.raises(InvalidData, match="dates or durations"):
        MacauRegressor(**SMALL).fit(X.assign(v=np.datetime64("2020-01-01")), y)
    assert find_columns(None, X[["u", "v"]]) is None
    assert find_columns(None, X.to_numpy()) is None
