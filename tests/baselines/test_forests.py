"""Forests as ensembles: scikit-learn's own trees, groups, merging, gaps, threads, refusals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from tolerances import SAME_SUM

from gbuq_core.baselines import ForestEnsembleClassifier, ForestEnsembleRegressor
from gbuq_core.baselines.bootstrap_trees import draw_tree_seeds, merge_for_regression
from gbuq_core.baselines.columns import fit_levels, to_matrix
from gbuq_core.errors import InvalidData
from gbuq_core.metrics import auroc
from gbuq_core.synthetic import make_heart

SMALL = {"n_groups": 3, "trees_per_group": 4, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """300 rows of four numeric features, none equal, with a few gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=300)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


@pytest.fixture(scope="module")
def heart():
    return make_heart(n_per_cell=30, random_state=1)


def member_means(forest, X, n_groups):
    """Means over consecutive groups of a scikit-learn forest's trees."""
    trees = np.stack([tree.predict(X) for tree in forest.estimators_])
    return trees.reshape(n_groups, -1, len(X)).mean(axis=1)


# The trees


def test_one_forest_in_groups_is_scikit_learns_forest(table):
    X, y = table
    ours = ForestEnsembleRegressor(**SMALL).fit(X, y)
    theirs = RandomForestRegressor(12, max_depth=10, random_state=0).fit(X, y)
    expected = member_means(theirs, X.astype(np.float32), 3)
    np.testing.assert_allclose(ours.predict_members(X), expected, rtol=SAME_SUM)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=SAME_SUM)


def test_independent_forests_are_scikit_learns_each_with_its_seed(table):
    X, y = table
    ours = ForestEnsembleRegressor(**SMALL, independent=True).fit(X, y)
    for member, seed in zip(ours.predict_members(X), ours.member_seeds_, strict=True):
        theirs = RandomForestRegressor(4, max_depth=10, random_state=seed).fit(X, y)
        np.testing.assert_allclose(member, theirs.predict(X), rtol=SAME_SUM)


def test_merged_rows_grow_scikit_learns_trees(heart):
    """64 cells of 30 rows are fitted as 128 points, and every filled cell gets the same mean.

    Two splits that part the same cells tie, and rounding decides; that moves empty cells only.
    """
    ours = ForestEnsembleRegressor(n_groups=2, trees_per_group=20, random_state=3)
    ours.fit(heart.X, heart.y)
    theirs = RandomForestRegressor(40, max_depth=10, random_state=3).fit(heart.X, heart.y)
    filled = heart.in_support.ravel()
    mine = ours.predict_members(heart.grid)
    wanted = member_means(theirs, heart.grid.astype(np.float32), 2)
    np.testing.assert_allclose(mine[:, filled], wanted[:, filled], rtol=SAME_SUM)
    nodes = [tree.tree_.node_count for group in ours.groups_ for tree in group]
    same = [n == t.tree_.node_count for n, t in zip(nodes, theirs.estimators_, strict=True)]
    assert np.mean(same) == 1.0


def test_merging_keeps_moments_and_counts(heart):
    rows = merge_for_regression(heart.X.astype(np.float32), heart.y)
    assert len(rows.X) == 128
    assert len(rows.y) == len(heart.y)
    sorted_y = heart.y[np.argsort(rows.sorted_place)]
    np.testing.assert_allclose(rows.y + np.repeat(rows.cell_mean, 30), sorted_y, rtol=SAME_SUM)


@pytest.mark.parametrize("merged", [True, False])
def test_classes_are_scikit_learns_forest(merged, table):
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(400, 2)).astype(float) if merged else table[0]
    labels = np.array(["a", "b", "c"])[rng.integers(0, 3, size=len(X))]
    ours = ForestEnsembleClassifier(**SMALL).fit(X, labels)
    theirs = RandomForestClassifier(12, max_depth=10, random_state=0).fit(X, labels)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=SAME_SUM)
    assert (ours.predict(X) == theirs.predict(X)).all()
    if merged:
        assert ours.groups_[0][0].tree_.n_node_samples[0] <= 27  # 9 cells x 3 classes


# Uncertainty


@pytest.mark.parametrize("independent", [False, True])
def test_knowledge_uncertainty_finds_the_empty_cells(independent):
    heart = make_heart(random_state=0)
    forest = ForestEnsembleRegressor(
        trees_per_group=20, independent=independent, random_state=0
    ).fit(heart.X, heart.y)
    knowledge = forest.predict_knowledge(heart.grid)
    np.testing.assert_array_equal(knowledge, forest.predict_members(heart.grid).var(axis=0))
    # 17 empty cells; groups may agree on a few of them, next to equal neighbours on both sides.
    assert auroc(~heart.in_support.ravel(), knowledge) > 0.9


def test_more_trees_a_member_disagree_less(table):
    """The variance of a mean of n trees is that of one tree over n."""
    X, y = table
    few = ForestEnsembleRegressor(30, 5, random_state=0).fit(X, y).predict_knowledge(X).mean()
    many = ForestEnsembleRegressor(30, 20, random_state=1).fit(X, y).predict_knowledge(X).mean()
    # 30 members give a variance to 26 % a row; 300 correlated rows average most of it out.
    assert few / many == pytest.approx(4.0, rel=0.25)


# Reproducibility


def test_seeds_are_drawn_from_generators(table):
    X, y = table
    generators = [np.random.default_rng(2), np.random.RandomState(2), None]
    seeds = [ForestEnsembleRegressor(2, 1, random_state=g).fit(X, y).seed_ for g in generators]
    assert len(set(seeds)) == 3


def test_tree_seeds_are_those_of_a_scikit_learn_forest(table):
    X, y = table
    theirs = RandomForestRegressor(5, max_depth=1, random_state=42).fit(X, y)
    assert draw_tree_seeds(42, 5) == [tree.random_state for tree in theirs.estimators_]


# Columns


def test_frames_with_categories_and_gaps():
    rng = np.random.default_rng(7)
    size = rng.choice(["s", "m", "l"], 200)
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(size, categories=["s", "m", "l"], ordered=True),
            "town": rng.choice(["Ulm", "Köln"], 200),
            "sold": rng.random(200) < 0.5,
            "price": rng.normal(size=200),
        }
    )
    frame.loc[:9, "town"] = None
    frame.loc[5:14, "price"] = np.nan
    y = (size == "l") * 3.0 + frame["price"].fillna(0).to_numpy()
    forest = ForestEnsembleRegressor(**SMALL).fit(frame, y)
    assert forest.column_levels_ == (("s", "m", "l"), ("Köln", "Ulm"), None, None)
    assert forest.feature_names_in_.tolist() == ["size", "town", "sold", "price"]
    large, small = forest.predict(frame)[size == "l"], forest.predict(frame)[size != "l"]
    assert large.mean() > small.mean() + 2
    strange = frame.head(3).assign(town=["Bonn", "Ulm", None])
    assert np.isfinite(forest.predict(strange)).all()


def test_codes_follow_training_levels_and_gaps_are_nan():
    training = pd.DataFrame({"a": ["y", "x", None], "b": pd.array([1, None, 3], dtype="Int64")})
    levels = fit_levels(training)
    assert levels == (("x", "y"), None)
    np.testing.assert_array_equal(to_matrix(training, levels), [[1, 1], [0, np.nan], [np.nan, 3]])
    new = pd.DataFrame({"a": ["new", "x"], "b": [0, 1]})
    np.testing.assert_array_equal(to_matrix(new, levels), [[np.nan, 0], [0, 1]])
    numbers = pd.DataFrame({"a": pd.Categorical([10, 9, 10])})
    np.testing.assert_array_equal(to_matrix(numbers, fit_levels(numbers))[:, 0], [1, 0, 1])


def test_minus_zero_is_zero():
    assert to_matrix(np.array([[-0.0], [0.0]]), ()).tobytes() == bytes(8)


# Jobs


def test_what_a_fit_cost_is_told(heart):
    forest = ForestEnsembleRegressor(**SMALL).fit(heart.X, heart.y)
    assert forest.fit_seconds_ > 0
    nodes = sum(tree.tree_.node_count for group in forest.groups_ for tree in group)
    assert forest.memory_bytes_ == 72 * nodes  # 64 a node and one float64


# Refusals


@pytest.mark.parametrize("labels", [["a", None, "b"], [0.0, np.nan, 1.0], [0.0, np.inf, 1.0]])
def test_rows_without_a_class_are_refused(labels):
    with pytest.raises(InvalidData, match="remove rows"):
        ForestEnsembleClassifier(**SMALL).fit([[1.0], [2.0], [3.0]], labels)


def test_a_column_that_turns_to_text_is_refused():
    forest = ForestEnsembleRegressor(**SMALL).fit(pd.DataFrame({"a": [1.0, 2, 3]}), [1.0, 2, 3])
    with pytest.raises(InvalidData, match="'a' held numbers"):
        forest.predict(pd.DataFrame({"a": ["one"]}))


def test_arrays_and_frames_meet_only_where_columns_are_numbers():
    rows, y = np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0]
    by_array = ForestEnsembleRegressor(**SMALL).fit(rows, y)
    with pytest.warns(UserWarning, match="feature names"):
        from_frame = by_array.predict(pd.DataFrame(rows, columns=["a", "b"]))
    np.testing.assert_array_equal(from_frame, by_array.predict(rows))
    by_frame = ForestEnsembleRegressor(**SMALL).fit(pd.DataFrame({"a": ["x", "y", "z"]}), y)
    with pytest.raises(InvalidData, match="pass a DataFrame"):
        by_frame.predict([[1.0]])
