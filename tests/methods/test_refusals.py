"""Arguments that no record says: an estimator refuses each bad one before it looks at its rows."""

import math

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    MacauClassifier,
    MacauRegressor,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
)
from gbuq_core.baselines import (
    CatBoostUncertaintyRegressor,
    DistanceScore,
    EuclideanNeighborsRegressor,
    ForestEnsembleClassifier,
    ForestEnsembleRegressor,
    ForestVarianceRegressor,
    GaussianProcessBaseline,
    IsolationForestScore,
    NGBoostRegressor,
    QuantileForestRegressor,
    XBARTRegressor,
)
from gbuq_core.errors import InvalidParameter

SHARED = {"n_jobs": (0,), "random_state": ("x",)}
BOOSTED = SHARED | {
    "method": ("forest", None),
    "ensemble": ("real",),
    "n_members": (2.5, True),
    "n_trees": (10**6,),
    "learning_rate": ("fast",),
    "temperature": ("hot", 0.0, math.nan, None),
    "leaf_noise": (1,),
    "leaf_estimation": ("exact",),
    "standardize_target": ("yes",),
    "l2": (-1.0, math.inf),
    "max_bins": (1, 256),
    "engine": ("gpu",),
    "n_jobs": (0, "all"),
    "categorical_features": (["z"],),
}
SOFT = SHARED | {
    "depth": (7, True),
    "leaf": ("quadratic",),
    "rank": (-1,),
    "beta": (0.0, "hard"),
    "prior_scale": (-1.0,),
    "n_steps": (0,),
    "learning_rate": (2.0, 0.0),
    "n_draws": (0,),
    "n_gradient_draws": (0,),
    "n_restarts": (0,),
    "batch_size": (0,),
    "flat_tolerance": (math.nan,),
    "categorical_features": (["z"],),
}
MACAU = SHARED | {"leaf_model": ("quadratic",), "combine": ("sum",), "tail": ("long",)}
FOREST = SHARED | {
    "n_groups": (1,),
    "trees_per_group": (0,),
    "max_depth": (2.5,),
    "independent": ("yes",),
}
BAD = {
    BoostedEnsembleRegressor: BOOSTED,
    BoostedEnsembleClassifier: BOOSTED,
    VariationalSoftTreeRegressor: SOFT | {"output": ("median",)},
    VariationalSoftTreeClassifier: SOFT,
    VariationalSoftGBMRegressor: SOFT | {
        "n_trees": (0,), "noise_shape": (0.0,), "noise_rate": (-1.0,)},
    MacauRegressor: MACAU | {
        "n_trees": (0,), "max_leaves": (1,), "min_child_samples": (0,), "subsample": (0.0, 1.0),
        "standardize_target": ("yes",), "leaf_features": ("some",)},
    MacauClassifier: MACAU | {"inference": ("odds",), "n_trees": (0,)},
    ForestEnsembleRegressor: FOREST,
    ForestEnsembleClassifier: FOREST,
    ForestVarianceRegressor: SHARED | {
        "n_trees": (0,), "subsample": (1.0,), "max_leaves": (1,), "min_child_samples": (0,)},
    QuantileForestRegressor: {"quantiles": ((0.9, 0.1), (0.0, 0.5), (0.5,))},
    NGBoostRegressor: {"subsample": (0.0,), "learning_rate": (-1.0,)},
    CatBoostUncertaintyRegressor: {
        "depth": (17,), "n_members": (1,), "n_trees": (10,), "standardize_target": ("no",)},
    IsolationForestScore: {"max_rows": (1,)},
    DistanceScore: {"n_neighbors": (0,)},
    XBARTRegressor: {
        "n_trees": (0,), "n_draws": (2.5,), "n_burn_in": (-1,), "alpha": (1.0,), "beta": (-1.0,),
        "max_depth": (0,), "min_samples_leaf": (0,), "random_state": ("seed",)},
    GaussianProcessBaseline: {"n_draws": (0,), "n_restarts": (-1,), "random_state": (-1,)},
    EuclideanNeighborsRegressor: {
        "base_model": (LinearRegression(), LinearRegression, GradientBoostingClassifier()),
        "scoring": ("mse",), "n_important": (0,), "validation_fraction": (0.0,),
        "random_state": ("x",), "calibrate": ("no",)},
}  # fmt: skip
X = np.random.default_rng(0).normal(size=(60, 2))


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        pytest.param(kind, name, value, id=f"{kind.__name__}-{name}-{value}")
        for kind, arguments in BAD.items()
        for name, values in arguments.items()
        for value in values
    ],
)
def test_a_bad_argument_is_named_in_one_sentence(kind, name, value):
    y = X[:, 0] > 0.0 if kind.__name__.endswith("Classifier") else X[:, 0]
    with pytest.raises(InvalidParameter, match=rf"^[^\n]*{name}[^\n]*\.$"):
        kind(**{name: value}).fit(X, y)
