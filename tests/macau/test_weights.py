"""Whole weights are repeated rows, in the forest and in its leaves."""

import lightgbm
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from gbuq_core import MacauClassifier, MacauRegressor
from gbuq_core.errors import InvalidData, MemoryLimitExceeded

SMALL = {"n_trees": 5, "min_child_samples": 10, "random_state": 0, "n_jobs": 1}


@pytest.fixture
def table(rng):
    X = rng.uniform(-2.0, 2.0, size=(150, 2))
    return X, X[:, 0] + 0.3 * rng.normal(size=150), rng.integers(0, 4, 150)


@pytest.mark.parametrize("leaf_model", ["linear", "basic"])
@pytest.mark.parametrize("kind", [MacauRegressor, MacauClassifier])
def test_whole_weights_equal_repeated_rows(table, kind, leaf_model):
    X, y, weight = table
    y = y if kind is MacauRegressor else np.digitize(y, [-0.5, 0.5])
    weighted = kind(leaf_model, **SMALL).fit(X, y, sample_weight=weight)
    repeated = kind(leaf_model, **SMALL).fit(X.repeat(weight, axis=0), y.repeat(weight))
    for name in ("predict", "predict_uncertainty", "score_novelty"):
        for weighted_part, other in zip(
            np.atleast_2d(getattr(weighted, name)(X)),
            np.atleast_2d(getattr(repeated, name)(X)),
            strict=True,
        ):
            np.testing.assert_array_equal(weighted_part, other)


@pytest.mark.parametrize("base", [RandomForestRegressor, lightgbm.LGBMRegressor])
def test_a_fitted_forest_gets_weighted_leaves(table, base):
    X, y, weight = table
    options = {"n_estimators": 4, "random_state": 0}
    if base is lightgbm.LGBMRegressor:
        options |= {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}
        options |= {"verbose": -1}
    forest = base(**options).fit(X, y)
    weighted = MacauRegressor("basic", forest, n_jobs=1).fit(X, y, sample_weight=weight)
    repeated = MacauRegressor("basic", forest, n_jobs=1)
    repeated.fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_array_equal(weighted.predict_members(X), repeated.predict_members(X))


def test_what_cannot_be_repeated(table):
    X, y, _ = table
    with pytest.raises(InvalidData, match=r"^sample_weight holds fractions, but rows of MACAU"):
        MacauRegressor(**SMALL).fit(X, y, sample_weight=np.full(150, 1.5))
    with pytest.raises(InvalidData, match=r"^sample_weight has the shape"):
        MacauRegressor(**SMALL).fit(X, y, sample_weight=[1, 2])
    with pytest.raises(MemoryLimitExceeded, match=r"^These repeated rows"):
        MacauRegressor(**SMALL).fit(X, y, sample_weight=np.full(150, 10**12))
