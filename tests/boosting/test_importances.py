"""Feature importances: by a slow twin, and that they name the columns that matter."""

import numpy as np
import pandas as pd
import pytest
from tolerances import SAME_SUM

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    IBUGRegressor,
    MacauRegressor,
)

SMALL = {"stopping": None, "n_members": 2, "n_trees": 30, "depth": 3, "random_state": 0}


def twin(model, n_trees, units):
    """Leaf by leaf and level by level; ``n_trees`` and ``units`` for each output."""
    total = np.zeros(model.n_features_in_)
    for forest in model.models_.forests:
        for tree in range(max(n_trees)):
            filled = [leaf for leaf in range(8) if forest.values[tree, leaf].any()]
            for level in range(forest.levels[tree]):
                for leaf in filled:
                    other = leaf | 1 << level
                    if other == leaf or other not in filled:
                        continue
                    for output, (last, unit) in enumerate(zip(n_trees, units, strict=True)):
                        if tree < last:
                            shrunk = unit * model.langevin_.decay ** (last - 1 - tree)
                            change = np.diff(forest.values[tree, [leaf, other], output])[0]
                            added = (shrunk * change) ** 2 / len(filled)
                            total[forest.features[tree, level]] += added
    return total / total.sum()


@pytest.fixture
def data(rng):
    X = rng.normal(size=(300, 4))
    X[:, 3] = 7.0
    return X, 3.0 * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=300)


def test_they_equal_the_twin(data):
    X, y = data
    model = BoostedEnsembleRegressor(**SMALL, temperature="posterior").fit(X, y)
    np.testing.assert_allclose(model.feature_importances_, twin(model, [30, 30], [1, 1]))
    stopped = BoostedEnsembleRegressor(**{**SMALL, "stopping": "two_clocks"}).fit(X, y)
    trees = [stopped.clocks_.mean_trees, stopped.clocks_.scale_trees]
    np.testing.assert_allclose(stopped.feature_importances_, twin(stopped, trees, [0.1, 1.0]))
    virtual = BoostedEnsembleClassifier(**SMALL, ensemble="virtual", truncation_step=7)
    virtual.fit(X, np.digitize(y, [-2.0, 2.0]))
    expected = twin(virtual, [28, 28, 28], [1, 1, 1])
    np.testing.assert_allclose(virtual.feature_importances_, expected)


@pytest.mark.parametrize("engine", ["numba", "catboost"])
@pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
def test_they_name_the_columns_that_matter(data, kind, engine):
    X, y = data
    target = y > 0.0 if kind is BoostedEnsembleClassifier else y
    shares = kind(**SMALL, engine=engine).fit(X, target).feature_importances_
    assert shares.sum() == pytest.approx(1.0, rel=SAME_SUM)
    assert shares[0] > shares[1] > shares[2] >= shares[3] == 0.0


def test_a_category_in_several_columns_counts_once(rng):
    """More than 32 levels are one mean a class inside."""
    level = rng.integers(0, 40, 600)
    X = pd.DataFrame({"x": rng.normal(size=600), "level": [f"l{i}" for i in level]})
    model = BoostedEnsembleClassifier(**SMALL).fit(X, level % 3)
    assert model.models_.bins.is_category.shape == (4,)
    assert model.feature_importances_.shape == (2,)
    assert model.feature_importances_[1] > 0.9


def test_all_are_0_where_no_tree_splits():
    model = BoostedEnsembleRegressor(**SMALL).fit(np.zeros((50, 2)), np.arange(50.0))
    assert model.feature_importances_.tolist() == [0.0, 0.0]


def test_those_of_a_base_model(data):
    from catboost import CatBoostRegressor
    from lightgbm import LGBMRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
    from xgboost import DMatrix, XGBRegressor, train

    X, y = data
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    shares = MacauRegressor(base_model=forest).fit(X, y).feature_importances_
    np.testing.assert_allclose(shares, forest.feature_importances_)
    for base in (
        CatBoostRegressor(iterations=20, verbose=0, allow_writing_files=False),
        LGBMRegressor(n_estimators=20, verbose=-1),
        XGBRegressor(n_estimators=20),
        train({}, DMatrix(X, y), 20),
    ):
        shares = IBUGRegressor(base, n_neighbors=5).fit(X, y).feature_importances_
        assert shares.sum() == pytest.approx(1.0)
        assert shares[0] > shares[1] > shares[2] >= shares[3] == 0.0
    assert MacauRegressor(n_trees=20).fit(X, y).feature_importances_[0] > 0.5
    silent = IBUGRegressor(HistGradientBoostingRegressor(max_iter=5), n_neighbors=5).fit(X, y)
    assert not hasattr(silent, "feature_importances_")


@pytest.mark.parametrize("knobs", [{}, {"standardize_target": False, "stopping": None}])
def test_regressions_count_in_units_of_the_targets_std(rng, knobs):
    """Neither the weight of the mean nor the unit of y decides how much the mean counts."""
    X = rng.normal(size=(200, 3))
    y = 50.0 * X[:, 0] + 10.0 * np.abs(X[:, 1]) * rng.normal(size=200)
    model = BoostedEnsembleRegressor(n_members=2, n_trees=30, depth=3, random_state=0, **knobs)
    model.fit(X, y)
    inner = y.std() / model.target_scale_.spread
    np.testing.assert_allclose(model._output_units(), [1.0 / inner, 1.0], rtol=SAME_SUM)
    np.testing.assert_array_equal(model.with_clocks(None)._output_units(), model._output_units())
