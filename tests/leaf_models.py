"""Small models of every library, their data, and what each library says of a row's leaves."""

import catboost
import lightgbm
import numpy as np
import xgboost
from naive_ibug import walk_histogram_tree
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor

N_TREES = 12
QUIET = {"verbose": 0, "allow_writing_files": False, "iterations": N_TREES, "depth": 4}


def make_data():
    """400 rows of four features with missing values, zeros and repeats; a target; classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)).round(1)
    y = X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=400)
    classes = np.digitize(y, [-0.3, 0.3])
    gaps = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    return X, gaps, y, classes


def lightgbm_model(**options):
    return lightgbm.LGBMRegressor(n_estimators=N_TREES, verbose=-1, **options)


def xgboost_model(**options):
    return xgboost.XGBRegressor(n_estimators=N_TREES, max_depth=4, **options)


# Models, and whether they take missing values.
REGRESSORS = {
    "lightgbm": (lightgbm_model, True),
    "lightgbm zeros": (lambda: lightgbm_model(zero_as_missing=True), True),
    "lightgbm no missing": (lambda: lightgbm_model(use_missing=False), True),
    "lightgbm forest": (
        lambda: lightgbm_model(boosting_type="rf", subsample=0.5, subsample_freq=1),
        True,
    ),
    "lightgbm large": (lambda: lightgbm_model(num_leaves=300, min_child_samples=1), True),
    "xgboost": (xgboost_model, True),
    "xgboost pruned": (lambda: xgboost_model(gamma=0.5, tree_method="exact"), True),
    "xgboost dart": (lambda: xgboost_model(booster="dart", rate_drop=0.3), True),
    "xgboost forest": (lambda: xgboost_model(num_parallel_tree=3, subsample=0.5), True),
    "catboost": (lambda: catboost.CatBoostRegressor(**QUIET), True),
    "catboost lossguide": (
        lambda: catboost.CatBoostRegressor(grow_policy="Lossguide", **QUIET),
        True,
    ),
    "catboost uncertainty": (
        lambda: catboost.CatBoostRegressor(loss_function="RMSEWithUncertainty", **QUIET),
        True,
    ),
    "histogram": (lambda: HistGradientBoostingRegressor(max_iter=N_TREES), True),
    "gradient": (lambda: GradientBoostingRegressor(n_estimators=N_TREES), False),
    "forest": (lambda: RandomForestRegressor(N_TREES, random_state=0), True),
    "extra": (lambda: ExtraTreesRegressor(N_TREES, random_state=0), True),
    "own": (lambda: BoostedEnsembleRegressor(stopping=None, n_members=2, n_trees=N_TREES), True),
    "own virtual": (
        lambda: BoostedEnsembleRegressor(
            stopping=None, ensemble="virtual", n_trees=N_TREES, truncation_step=2
        ),
        True,
    ),
}

CLASSIFIERS = {
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=N_TREES, verbose=-1),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=N_TREES, max_depth=4),
    "catboost": lambda: catboost.CatBoostClassifier(**QUIET),
    "histogram": lambda: HistGradientBoostingClassifier(max_iter=N_TREES),
    "gradient": lambda: GradientBoostingClassifier(n_estimators=N_TREES),
    "forest": lambda: RandomForestClassifier(N_TREES, random_state=0),
    "own": lambda: BoostedEnsembleClassifier(stopping=None, n_members=2, n_trees=N_TREES),
}


def library_leaves(model, X):
    """What the library says, in its own numbers."""
    if hasattr(model, "booster_"):
        return model.booster_.predict(X, pred_leaf=True)
    if hasattr(model, "calc_leaf_indexes"):
        return model.calc_leaf_indexes(X)
    if hasattr(model, "leaf_indices"):
        by_model = model.leaf_indices(X).reshape(len(X), -1, model.n_trees_)
        return by_model.swapaxes(1, 2).reshape(len(X), -1)  # ours: iteration by iteration
    if hasattr(model, "apply"):
        return np.asarray(model.apply(X)).reshape(len(X), -1)
    return np.array([[walk_histogram_tree(p[0], row) for p in model._predictors] for row in X])


def assert_same_parts(ours, theirs):
    """Rows share a leaf in the one where they do in the other, in every tree."""
    assert ours.shape == theirs.shape
    for a, b in zip(ours.T, theirs.T, strict=True):
        pairs = len(np.unique(np.stack([a, b]), axis=1).T)
        assert pairs == len(np.unique(a)) == len(np.unique(b))
