"""Neighbours in a classifier's trees, and the classes among them: held against a slow count."""

import lightgbm
import numpy as np
import pytest
from naive_ibug import naive_affinities, naive_nearest
from refusal_parts import refused
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug import IBUGRegressor, class_neighbors
from gbuq_core.ibug.search import select_trees
from gbuq_core.trees.importers import leaf_source


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    noisy = X[:, 0] + 0.5 * rng.normal(size=90)
    return X, np.array(["a", "b", "c"])[np.digitize(noisy, [-0.5, 0.5])]


@pytest.fixture(scope="module")
def model(table):
    quiet = {"n_estimators": 6, "num_leaves": 4, "verbose": -1, "n_jobs": 1}
    return lightgbm.LGBMClassifier(min_child_samples=5, **quiet).fit(*table)


@pytest.mark.parametrize(("n_trees", "order"), [(None, "first"), (5, "last"), (4, "random")])
def test_shares_are_those_of_a_slow_count(n_trees, order, table, model):
    X, y = table
    new = X[:12] + 0.01
    near = class_neighbors(model, X, y, new, 7, n_trees, order, random_state=3)
    source = leaf_source(model, task="classification")
    assert source.n_trees == 18  # six rounds of three classes
    trees = select_trees(18, n_trees, order, 3)
    counts = naive_affinities(source.leaf_matrix(X), source.leaf_matrix(new), trees)
    indices, affinities = naive_nearest(counts, 7)
    np.testing.assert_array_equal(near.indices, indices)
    np.testing.assert_array_equal(near.affinities, affinities)
    assert near.classes.tolist() == ["a", "b", "c"]
    slow = [[np.mean(y[row] == name) for name in "abc"] for row in indices]
    np.testing.assert_allclose(near.shares, slow, rtol=SAME_SUM)


@pytest.mark.parametrize(
    "make",
    [
        lambda: HistGradientBoostingClassifier(max_iter=5),
        lambda: GradientBoostingClassifier(n_estimators=5),
        lambda: RandomForestClassifier(10, random_state=0),
    ],
    ids=["histogram", "boosting", "forest"],
)
def test_other_classifiers_and_labels_they_have_not_seen(make, table):
    X, y = table
    fitted = make().fit(X, y == "a")
    near = class_neighbors(fitted, X, y, X, 9)
    assert near.shares.shape == (90, 3)
    np.testing.assert_allclose(near.shares.sum(axis=1), 1.0, rtol=SAME_SUM)
    own = near.shares[np.arange(90), np.searchsorted(near.classes, y)]
    assert own.mean() > 0.5  # a third by chance


def test_bad_input_is_refused_in_a_sentence(table, model):
    X, y = table
    with refused(InvalidParameter, "is no classifier"):
        class_neighbors(lightgbm.LGBMRegressor(n_estimators=2, verbose=-1).fit(X, X[:, 0]), X, y, X)
    with refused(InvalidParameter, "no tree model"):
        class_neighbors(LogisticRegression().fit(X, y), X, y, X)
    with refused(InvalidData, "labels must name a class for each of the 90"):
        class_neighbors(model, X, y[:-1], X)
    with refused(InvalidData, "of different kinds"):
        class_neighbors(model, X, np.append(y[:-1].astype(object), None), X)
    for k in (0, 91, 2.5, "all"):
        with refused(InvalidParameter, "n_neighbors must be a whole number"):
            class_neighbors(model, X, y, X, k)
    with refused(InvalidData, "X has 2 features"):
        class_neighbors(model, X, y, X[:, :2])
    with refused(InvalidParameter, "tree_order must be one of"):
        class_neighbors(model, X, y, X, 3, 2, "best")


def test_the_regressor_points_a_classifier_here(table, model):
    with refused(InvalidParameter, "pass a regressor, or use gbuq_core.ibug.class_neighbors"):
        IBUGRegressor(model, 5).fit(table[0], np.arange(90.0))
