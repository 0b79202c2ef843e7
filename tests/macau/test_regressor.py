"""MacauRegressor: conventions, what its numbers are made of, other forests, and refusals."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from refusal_parts import refused
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor
from tolerances import NEAR_ZERO, SAME_SUM

from gbuq_core import MacauRegressor
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.macau import regressor
from gbuq_core.macau.leaves import make_leaf_table, number_leaves
from gbuq_core.macau.regressor import LEAF_FEATURES
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.paths import leaf_paths

SMALL = {"n_trees": 6, "min_child_samples": 10, "random_state": 0, "n_jobs": 1}


@pytest.fixture
def table(rng):
    X = rng.uniform(-3.0, 3.0, size=(240, 3))
    return X, 3.0 * X[:, 0] + 5.0 * np.sin(X[:, 1]) + rng.normal(size=240)


def everything(model, X):
    """All numbers of a fitted model, one row a column of X's row."""
    parts = (model.predict_uncertainty(X), model.score_novelty(X), [model.predict(X)])
    return np.array([column for part in parts for column in part])


@pytest.mark.parametrize("leaf_model", ["linear", "basic"])
def test_uncertainty_is_the_law_of_total_variance_over_the_trees(table, leaf_model):
    X, y = table
    model = MacauRegressor(leaf_model, **SMALL).fit(X, y)
    means, variances = np.moveaxis(model.predict_members(X[:9]), 2, 0)
    assert means.shape == (6, 9)
    total, data, knowledge = model.predict_uncertainty(X[:9])
    # Sums of six numbers in another order.
    np.testing.assert_allclose(model.predict(X[:9]), means.mean(axis=0), rtol=SAME_SUM)
    np.testing.assert_allclose(data, variances.mean(axis=0), rtol=SAME_SUM)
    np.testing.assert_allclose(knowledge, means.var(axis=0), rtol=SAME_SUM)
    np.testing.assert_array_equal(total, data + knowledge)
    loc, scale = model.predict_distribution(X[:9])
    np.testing.assert_array_equal(loc, model.predict(X[:9]))
    np.testing.assert_array_equal(scale, np.sqrt(total))
    stds = model.set_params(combine="std").predict_uncertainty(X[:9])
    np.testing.assert_allclose(stds.data, np.sqrt(variances).mean(axis=0), rtol=SAME_SUM)
    np.testing.assert_allclose(stds.knowledge, means.std(axis=0), rtol=SAME_SUM)
    np.testing.assert_array_equal(stds.total, stds.data + stds.knowledge)


def test_basic_leaves_hold_mean_and_variance_of_all_their_rows(table):
    X, y = table
    model = MacauRegressor("basic", **SMALL).fit(X, y)
    leaves = model.forest_.leaf_matrix(X)
    members = model.predict_members(X[:5])
    for tree in range(6):
        for row in range(5):
            mine = y[leaves[:, tree] == leaves[row, tree]]
            np.testing.assert_allclose(members[tree, row], [mine.mean(), mine.var()], rtol=SAME_SUM)


def test_linear_leaves_extrapolate_and_then_disagree(table):
    X = table[0][:, :1]
    y = 3.0 * X[:, 0] + table[1] / 10.0  # a line, with waves and noise around it
    far = np.array([[9.0]])  # beyond all rows, where the line goes on to 27
    linear, basic = (MacauRegressor(kind, **SMALL).fit(X, y) for kind in ("linear", "basic"))
    assert linear.predict(far)[0] > y.max() > basic.predict(far)[0]
    inside = linear.predict_uncertainty(X).knowledge
    assert linear.predict_uncertainty(far).knowledge[0] > np.quantile(inside, 0.99)


def test_leaf_models_of_all_features_find_a_linear_target(rng):
    X = rng.normal(size=(600, 8))
    y = X @ np.arange(1.0, 9.0) + rng.normal(size=600)  # each path has a few of eight features
    few, every = (
        MacauRegressor(**SMALL, max_leaves=6, leaf_features=which).fit(X[:400], y[:400])
        for which in ("path", "all")
    )
    errors = [np.sqrt(np.mean((model.predict(X[400:]) - y[400:]) ** 2)) for model in (few, every)]
    assert errors[1] < 1.3 < 2.6 < errors[0]  # the noise has a std of 1
    # Novelty is of the leaves' rows and paths, which are the same.
    expected, scores = few.score_novelty(X[400:]), every.score_novelty(X[400:])
    np.testing.assert_array_equal(scores.conditional_novelty, expected.conditional_novelty)
    np.testing.assert_array_equal(scores.novelty, expected.novelty)
    assert (scores.inference_novelty != expected.inference_novelty).any()


def fits_of(X, y, weight=None, **knobs):
    """The same forest with each choice of features."""
    return {
        which: MacauRegressor(**{**SMALL, **knobs}, leaf_features=which).fit(X, y, weight)
        for which in LEAF_FEATURES
    }


@pytest.mark.parametrize(("n_features", "max_leaves"), [(3, 20), (6, 12), (9, 8), (25, 4)])
def test_a_leaf_sees_all_features_where_it_has_two_rows_for_each(rng, n_features, max_leaves):
    X = rng.normal(size=(300, n_features))
    y = X @ np.arange(n_features) + rng.normal(size=300)
    models = fits_of(X, y, max_leaves=max_leaves, min_child_samples=5)
    leaves = models["auto"].forest_.leaf_matrix(X)
    new = rng.normal(size=(40, n_features))
    of_new = models["auto"].forest_.leaf_matrix(new)
    chosen = []
    members = {which: model.predict_members(new) for which, model in models.items()}
    for tree, n_leaves in enumerate(models["auto"].forest_.leaf_counts):
        for leaf in range(n_leaves):
            enough = (leaves[:, tree] == leaf).sum() >= 2 * n_features
            chosen.append(enough)
            there = of_new[:, tree] == leaf
            alike = members["all" if enough else "path"][tree, there]
            np.testing.assert_array_equal(members["auto"][tree, there], alike)
    np.testing.assert_array_equal(models["auto"].sees_all_, chosen)
    assert 0 < np.sum(chosen) < len(chosen)  # both kinds are there
    assert models["all"].sees_all_.all()
    assert not models["path"].sees_all_.any()


def test_many_features_and_basic_leaves_keep_to_the_path(table, monkeypatch):
    X, y = table
    assert fits_of(X, y)["auto"].sees_all_.any()
    assert not any(model.sees_all_.any() for model in fits_of(X, y, leaf_model="basic").values())
    monkeypatch.setattr("gbuq_core.macau.leaves.MOST_FEATURES", X.shape[1] - 1)
    models = fits_of(X, y)
    assert not models["auto"].sees_all_.any()
    np.testing.assert_array_equal(everything(models["auto"], X), everything(models["path"], X))
    assert models["all"].sees_all_.all()


def test_levels_count_as_features_and_repeated_rows_as_rows(rng):
    numbers = rng.normal(size=200)
    levels = pd.Categorical([f"level {k}" for k in rng.integers(0, 8, 200)])
    X, y = pd.DataFrame({"number": numbers, "text": levels}), numbers + levels.codes
    model = fits_of(X, y)["auto"]
    leaves = model.forest_.leaf_matrix(model._read(X))
    counts = model.forest_.leaf_counts
    sizes = np.concatenate(
        [np.bincount(leaves[:, tree], minlength=counts[tree]) for tree in range(6)]
    )
    np.testing.assert_array_equal(model.sees_all_, sizes >= 2 * 9)
    as_numbers = model._read(X)
    once, thrice = (
        fits_of(as_numbers, y, np.full(200, weight), base_model=model.forest_)["auto"]
        for weight in (1, 3)
    )
    np.testing.assert_array_equal(once.sees_all_, sizes >= 2 * 9)
    np.testing.assert_array_equal(thrice.sees_all_, 3 * sizes >= 2 * 9)
    assert thrice.sees_all_.sum() > once.sees_all_.sum()


def test_leaf_models_of_all_features_are_those_of_paths_that_hold_them_all(table):
    X, y = table[0][:, :1], table[1]
    path, every, _ = (everything(model, X) for model in fits_of(X, y).values())
    np.testing.assert_array_equal(every, path)


def test_rows_are_read_in_blocks_without_a_trace(table, monkeypatch):
    X, y = table
    model = MacauRegressor(**SMALL).fit(X, y)
    expected = everything(model, X)
    monkeypatch.setattr("gbuq_core.macau.base._BLOCK_CELLS", 60)
    monkeypatch.setattr("gbuq_core.macau.base._SHARE_CELLS", 24)
    np.testing.assert_array_equal(everything(model, X), expected)


def test_the_order_of_the_rows_and_of_the_features_does_not_matter(table, rng):
    X, y = table
    forest = RandomForestRegressor(5, min_samples_leaf=8, random_state=0).fit(X, y)
    expected = everything(MacauRegressor(base_model=forest, random_state=0).fit(X, y), X)
    order = rng.permutation(len(X))
    other = MacauRegressor(base_model=forest, random_state=0).fit(X[order], y[order])
    # Sums over a leaf in another order; ARD leaves of 1e-9 of the spread in parity.
    np.testing.assert_allclose(everything(other, X), expected, rtol=1e-7, atol=NEAR_ZERO)


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_scikit_learn_forests_with_tiny_leaves(table, kind):
    X, y = table
    forest = kind(4, min_samples_leaf=1, random_state=0).fit(X, y)
    model = MacauRegressor(base_model=forest).fit(X, y)
    assert np.isfinite(everything(model, 3.0 * X)).all()
    assert (model.predict_uncertainty(3.0 * X).data > 0.0).all()
    unfitted = MacauRegressor(base_model=kind(4, min_samples_leaf=1, random_state=0)).fit(X, y)
    np.testing.assert_array_equal(everything(unfitted, X), everything(model, X))


def test_paths_are_those_of_the_trees(table):
    X, y = table
    forest = RandomForestRegressor(3, max_leaf_nodes=9, random_state=0).fit(X, y)
    source = leaf_source(forest)
    paths = leaf_paths(source)
    leaves = source.leaf_matrix(X)
    first = 0
    for number, tree in enumerate(forest.estimators_):
        visited = tree.decision_path(X).toarray().astype(bool)
        for row in range(20):
            features = tree.tree_.feature[visited[row]]
            leaf = first + leaves[row, number]
            mine = paths.features[paths.begin[leaf] : paths.begin[leaf + 1]]
            np.testing.assert_array_equal(mine, np.unique(features[features >= 0]))
        first += source.leaf_counts[number]


def test_lightgbm_paths_are_those_of_its_own_table(table):
    model = MacauRegressor(**SMALL).fit(*table)
    booster, paths = model.forest_.model, leaf_paths(model.forest_)
    nodes = booster.trees_to_dataframe().set_index("node_index")
    first = np.concatenate([[0], np.cumsum(model.forest_.leaf_counts)])
    for name in nodes.index[nodes["split_feature"].isna()]:
        tree, leaf = name.split("-L")
        columns, at = set(), nodes.loc[name, "parent_index"]
        while isinstance(at, str):
            columns.add(int(nodes.loc[at, "split_feature"].removeprefix("Column_")))
            at = nodes.loc[at, "parent_index"]
        g = first[int(tree)] + int(leaf)
        mine = paths.features[paths.begin[g] : paths.begin[g + 1]]
        assert mine.tolist() == sorted(columns)


def test_rows_of_leaves_that_no_training_row_reached_get_the_model_of_all_rows(table):
    X, y = table
    forest = RandomForestRegressor(2, max_leaf_nodes=4, random_state=0).fit(X, y)
    leaves = forest.estimators_[0].apply(X)
    kept = leaves != leaves[0]
    model = MacauRegressor("basic", forest).fit(X[kept], y[kept])
    source = leaf_source(forest)
    leaf_table = make_leaf_table(source.leaf_matrix(X[kept]), source, leaf_paths(source))
    assert number_leaves(leaf_table, source.leaf_matrix(X[:1]))[0, 0] == leaf_table.fallback
    mean, variance = model.predict_members(X[:1])[0, 0]
    np.testing.assert_allclose([mean, variance], [y[kept].mean(), y[kept].var()], rtol=SAME_SUM)
    linear = MacauRegressor(base_model=forest).fit(X[kept], y[kept])
    assert np.isfinite(everything(linear, X)).all()


def test_missing_constant_and_collinear_features(table, rng):
    X, y = table
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    odd = np.column_stack([gaps, np.full(240, 5.0), -gaps[:, 0], np.full(240, np.nan)])
    model = MacauRegressor(**SMALL).fit(odd, y)
    rows = np.vstack([odd[:20], np.full((1, 6), np.nan), odd[:1] + [0, 0, 0, 9.0, 0, 0]])
    assert np.isfinite(everything(model, rows)).all()
    r2 = 1.0 - np.var(y - model.predict(odd)) / np.var(y)
    assert r2 > 0.5  # a fifth of the values is missing, and the noise is a tenth of the variance


@pytest.mark.parametrize("rows", [2, 5, 30])
def test_tables_too_small_to_split_are_one_leaf(rng, rows):
    X = rng.normal(size=(rows, 2))
    model = MacauRegressor("basic", n_trees=3, random_state=0, n_jobs=1).fit(X, X[:, 0])
    np.testing.assert_allclose(model.predict(X), X[:, 0].mean(), rtol=SAME_SUM)
    linear = MacauRegressor(n_trees=3, random_state=0, n_jobs=1).fit(X, X[:, 0])
    assert np.isfinite(everything(linear, X)).all()


def test_trees_without_a_split_share_one_model(rng, monkeypatch):
    X = rng.normal(size=(30, 40))  # more features than rows: nothing to split, much to fit
    fitted, own = [], regressor.fit_linear_leaves
    monkeypatch.setattr(
        regressor,
        "fit_linear_leaves",
        lambda *arguments: fitted.append(arguments[2:4]) or own(*arguments),
    )
    model = MacauRegressor(n_trees=5, random_state=0, n_jobs=1).fit(X, X[:, 0])
    assert [span for span in fitted if span[0] < span[1]] == [(0, 1)]  # the last one is empty
    members = model.predict_members(X)
    assert (members == members[:1]).all()
    assert np.ptp(members[0, :, 0]) > 0.1  # it is a model, not a mean
    alone = MacauRegressor(n_trees=1, random_state=0, n_jobs=1).fit(X, X[:, 0])
    np.testing.assert_array_equal(alone.predict_members(X)[0], members[0])
    np.testing.assert_allclose(
        model.score_novelty(X).inference_novelty,
        alone.score_novelty(X).inference_novelty,
        rtol=SAME_SUM,  # a mean of five equal numbers rounds
    )


def test_a_constant_target_is_predicted_everywhere(table):
    X, _ = table
    model = MacauRegressor(**SMALL).fit(X, np.full(240, 0.1))
    np.testing.assert_array_equal(model.predict_members(3.0 * X)[..., 0], 0.1)
    np.testing.assert_array_equal(model.predict_uncertainty(X).knowledge < 1e-30, True)
    large = MacauRegressor(**SMALL).fit(X, np.full(240, 0.1 * 2.0**60)).predict_distribution(X)
    np.testing.assert_array_equal(large.scale, 2.0**60 * model.predict_distribution(X).scale)


@pytest.mark.parametrize(("unit", "shift"), [(2.0**-20, 0.0), (2.0**20, 0.0), (2.0**-20, 1e-4)])
def test_the_unit_of_the_target_is_only_a_unit(table, unit, shift):
    X, y = table
    here = MacauRegressor(**SMALL).fit(X, y)
    there = MacauRegressor(**SMALL).fit(X, unit * y + shift)
    # A power of 2 rounds nothing. A shift, some 10 stds of the smaller targets, takes 4 of their
    # 53 bits (1e-15), which iterations enlarge: they stop at moves of 1e-3.
    close = {"rtol": 1e-9, "atol": 1e-9} if shift else {"rtol": 0.0, "atol": 0.0}
    np.testing.assert_allclose((there.predict(X) - shift) / unit, here.predict(X), **close)
    for mine, other in zip(here.predict_uncertainty(X), there.predict_uncertainty(X), strict=True):
        np.testing.assert_allclose(other / unit**2, mine, **close)
    for mine, other in zip(here.score_novelty(X), there.score_novelty(X), strict=True):
        np.testing.assert_allclose(other, mine, **close)
    members = there.predict_members(X[:9])
    np.testing.assert_allclose(members[..., 0].mean(axis=0), there.predict(X[:9]), rtol=SAME_SUM)
    raw = MacauRegressor(**SMALL, standardize_target=False).fit(X, 2.0**-20 * y)
    assert (raw._model.weight == 0.0).all()  # the trap: priors prune what looks that small
    assert (there._model.weight != 0.0).any()


def test_models_that_are_no_forest_of_numbers_are_refused(table):
    X, y = table
    boosted = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1).fit(X, y)
    labels = (y > 0).astype(int)
    for base_model, text in (
        (boosted, "adds its trees up"),
        (GradientBoostingRegressor(n_estimators=2), "random forest"),
        (DecisionTreeRegressor(), "DecisionTreeRegressor"),
        (RandomForestClassifier(2).fit(X, labels), "is a classifier"),
        (RandomForestClassifier(2), "is a classifier"),
        (RandomForestRegressor, "pass an instance"),
    ):
        with refused(InvalidParameter, text):
            MacauRegressor(base_model=base_model).fit(X, y)
    codes = np.column_stack([X, np.arange(240) % 4])
    categorical = lightgbm.LGBMRegressor(
        boosting_type="rf",
        subsample=0.7,
        subsample_freq=1,
        n_estimators=3,
        verbose=-1,
        n_jobs=1,
        min_data_per_group=5,
    ).fit(codes, y + 90.0 * (codes[:, 3] == 2), categorical_feature=[3])
    with refused(InvalidParameter, "splits by categories"):
        MacauRegressor(base_model=categorical).fit(codes, y)
    forest = RandomForestRegressor(2).fit(X, y)
    with refused(InvalidParameter, "trained on 3 features"):
        MacauRegressor(base_model=forest).fit(codes, y)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    named = RandomForestRegressor(2).fit(frame, y)
    with refused(InvalidData, "in the same order"):
        MacauRegressor(base_model=named).fit(frame[["b", "a", "c"]], y)


def test_rows_and_targets_that_make_no_sense_are_refused(table):
    X, y = table
    model = MacauRegressor(**SMALL)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    with refused(InvalidData, "'b' does not hold numbers"):
        model.fit(frame.assign(b=[{}] * len(y)), y)
    apart = np.where(np.arange(240)[:, None] == 7, 1e200, X)
    with refused(InvalidData, "too far from the others"):
        model.fit(apart, y)
    distances = MacauRegressor("basic", **SMALL).fit(apart, y).score_novelty(apart)
    assert np.isfinite(distances).all()
    with refused(InvalidData, "above 1e\\+75"):
        model.fit(X, y * 1e80)
    model.fit(frame, y)
    with refused(InvalidData, "infinity"):
        model.predict(frame.replace(frame.iloc[0, 0], np.inf))
    with refused(InvalidData, "overflow"):
        model.predict_uncertainty(frame * 1e300)
    with refused(InvalidData, "one row"):
        model.leaf_ellipses(frame, (0, 1))
