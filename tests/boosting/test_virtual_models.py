"""Virtual ensembles of other libraries' models: equal to what the libraries say themselves."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from scipy.special import expit, softmax
from sklearn.base import clone, is_classifier
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge
from tolerances import SAME_SUM, ZERO

from gbuq_core import (
    BoostedEnsembleRegressor,
    VirtualEnsemble,
    decompose_classification,
    decompose_regression,
)
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.trees.importers import load_leaf_source

T = 40
QUIET = {"iterations": T, "depth": 3, "verbose": 0, "allow_writing_files": False}
XGB = {"n_estimators": T, "max_depth": 3, "n_jobs": 1}
LGB = {"n_estimators": T, "num_leaves": 7, "n_jobs": 1, "verbose": -1}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    return X, X[:, 0] + 0.3 * (1.0 + (X[:, 1] > 0.0)) * rng.normal(size=300)


def classes_of(y, n_classes):
    labels = np.array(["low", "middle", "top"])[:n_classes]
    return labels[np.digitize(y, [-0.4, 0.4] if n_classes == 3 else [0.0])]


# CatBoost, whose own virtual ensembles are the reference


@pytest.mark.parametrize(
    "noise",
    [
        {},
        {"posterior_sampling": True},
        {"langevin": True, "model_shrink_rate": 0.3, "diffusion_temperature": 1e3},
    ],
    ids=["plain", "posterior", "shrunk"],
)
@pytest.mark.parametrize(
    "loss", ["RMSEWithUncertainty", "RMSE", "Poisson", "Logloss", "MultiClass"]
)
def test_members_equal_catboosts_virtual_ensembles(data, loss, noise):
    X, y = data
    kind, target = catboost.CatBoostRegressor, np.abs(y)
    if loss in ("Logloss", "MultiClass"):
        kind, target = catboost.CatBoostClassifier, classes_of(y, 2 if loss == "Logloss" else 3)
    model = kind(loss_function=loss, learning_rate=0.1, **QUIET, **noise).fit(X, target)
    for n_members in (2, 4, 5, 20):
        ensemble = VirtualEnsemble(model, step=T // (2 * n_members))
        theirs = model.virtual_ensembles_predict(
            X, "VirtEnsembles", virtual_ensembles_count=n_members
        ).swapaxes(0, 1)
        members = ensemble.predict_members(X)
        if loss == "Logloss":
            theirs = np.concatenate([1.0 - expit(theirs), expit(theirs)], axis=2)
        elif loss == "MultiClass":
            theirs = softmax(theirs, axis=2)
        elif loss != "RMSEWithUncertainty":  # mean only
            theirs = np.exp(theirs) if loss == "Poisson" else theirs
            assert np.isnan(members[..., 1]).all()
            members = members[..., :1]
        # CatBoost rounds the shrinkage that it undoes to float32.
        np.testing.assert_allclose(members, theirs, rtol=1e-6, atol=1e-6)


def test_uncertainty_equals_catboosts(data):
    X, y = data
    model = catboost.CatBoostRegressor(
        loss_function="RMSEWithUncertainty", posterior_sampling=True, learning_rate=0.1, **QUIET
    ).fit(X, y)
    parts = VirtualEnsemble(model, step=4).predict_uncertainty(X)
    mean, knowledge, noise = model.virtual_ensembles_predict(
        X, "TotalUncertainty", virtual_ensembles_count=5
    ).T
    np.testing.assert_allclose(parts.knowledge, knowledge, atol=1e-6)
    np.testing.assert_allclose(parts.data, noise, rtol=1e-6)
    np.testing.assert_allclose(VirtualEnsemble(model, step=4).predict(X), mean, atol=1e-6)


def test_catboost_reads_the_rows_once(data, monkeypatch):
    X, y = data
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(y > 0.0, "yes", "no"))
    model = catboost.CatBoostRegressor(cat_features=["kind"], **QUIET).fit(table, y)
    expected = np.stack([model.predict(table, ntree_end=t) for t in (10, 20, 30, 40)])
    pools, begin = [], catboost.Pool.__init__

    def count(self, *args, **knobs):
        pools.append(self)
        begin(self, *args, **knobs)

    monkeypatch.setattr(catboost.Pool, "__init__", count)
    members = VirtualEnsemble(model, step=10, start=0.0).predict_members(table)
    assert len(pools) == 1
    # CatBoost adds the trees of all stages at once: rounding.
    np.testing.assert_allclose(members[..., 0], expected, rtol=SAME_SUM, atol=ZERO)


def test_a_catboost_file_and_its_model_agree(data, tmp_path):
    X, y = data
    model = catboost.CatBoostRegressor(
        loss_function="RMSEWithUncertainty", posterior_sampling=True, learning_rate=0.1, **QUIET
    ).fit(X, y)
    path = tmp_path / "model.cbm"
    model.save_model(str(path))
    again = VirtualEnsemble(load_leaf_source(path))
    np.testing.assert_array_equal(
        again.predict_members(X), VirtualEnsemble(model).predict_members(X)
    )


# The others: each member is the library's own truncated prediction, bit for bit

REGRESSORS = {
    "lightgbm": lightgbm.LGBMRegressor(**LGB),
    "lightgbm poisson": lightgbm.LGBMRegressor(objective="poisson", **LGB),
    "xgboost": xgboost.XGBRegressor(**XGB),
    "xgboost poisson": xgboost.XGBRegressor(objective="count:poisson", **XGB),
    "histogram": HistGradientBoostingRegressor(max_iter=T),
    "gradient boosting": GradientBoostingRegressor(n_estimators=T),
}
CLASSIFIERS = {
    "lightgbm": lightgbm.LGBMClassifier(**LGB),
    "xgboost": xgboost.XGBClassifier(**XGB),
    "histogram": HistGradientBoostingClassifier(max_iter=T),
    "gradient boosting": GradientBoostingClassifier(n_estimators=T),
}


def truncated(model, X, t):
    """What the library predicts with the first t rounds."""
    ask = "predict_proba" if is_classifier(model) else "predict"
    if isinstance(model, lightgbm.LGBMModel):
        return getattr(model, ask)(X, num_iteration=t)
    if isinstance(model, xgboost.XGBModel):
        return getattr(model, ask)(X, iteration_range=(0, t))
    return [stage.copy() for stage in getattr(model, f"staged_{ask}")(X)][t - 1]


@pytest.mark.parametrize("name", REGRESSORS)
def test_members_are_truncated_regressors(name, data):
    X, y = data
    model = clone(REGRESSORS[name]).fit(X, np.abs(y))
    ensemble = VirtualEnsemble(model, step=6, start=0.4)
    assert (ensemble.task, ensemble.n_trees_) == ("regression", T)
    assert ensemble.member_trees().tolist() == [18, 24, 30, 36]
    members = ensemble.predict_members(X)
    for member, t in zip(members, ensemble.member_trees(), strict=True):
        np.testing.assert_array_equal(member[:, 0], truncated(model, X, int(t)))
    assert members.shape == (4, 300, 2)
    assert np.isnan(members[..., 1]).all()
    parts = ensemble.predict_uncertainty(X)
    np.testing.assert_array_equal(parts.knowledge, members[..., 0].var(axis=0))
    assert parts.knowledge.mean() > 0.0
    assert np.isnan(parts.total).all()
    assert np.isnan(parts.data).all()
    np.testing.assert_array_equal(ensemble.predict(X), members[..., 0].mean(axis=0))
    with pytest.raises(InvalidParameter, match=r"^The model predicts a mean [^\n]*\.$"):
        ensemble.predict_distribution(X)
    with pytest.raises(InvalidParameter, match=r"^A regressor has no probabilities[^\n]*\.$"):
        ensemble.predict_proba(X)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_members_are_truncated_classifiers(name, n_classes, data):
    X, y = data
    labels = classes_of(y, n_classes)
    target = np.unique(labels, return_inverse=True)[1] if name == "xgboost" else labels
    model = clone(CLASSIFIERS[name]).fit(X, target)
    ensemble = VirtualEnsemble(model, step=10, start=0.0)
    assert ensemble.member_trees().tolist() == [10, 20, 30, 40]
    members = ensemble.predict_members(X)
    assert members.shape == (4, 300, n_classes)
    for member, t in zip(members, ensemble.member_trees(), strict=True):
        # XGBoost's own softmax is in float32.
        np.testing.assert_allclose(member, truncated(model, X, int(t)), atol=3e-7)
    parts = ensemble.predict_uncertainty(X)
    for part, expected in zip(parts, decompose_classification(members), strict=True):
        np.testing.assert_array_equal(part, expected)
    np.testing.assert_array_equal(ensemble.predict_proba(X), members.mean(axis=0))
    assert set(ensemble.predict(X)) <= set(target)
    assert (ensemble.predict(X) == model.predict(X)).mean() > 0.9
    with pytest.raises(InvalidParameter, match=r"^A classifier has no distribution[^\n]*\.$"):
        ensemble.predict_distribution(X)


def test_the_distribution_has_the_total_uncertainty(data):
    X, y = data
    model = catboost.CatBoostRegressor(loss_function="RMSEWithUncertainty", **QUIET).fit(X, y)
    ensemble = VirtualEnsemble(model)
    members = ensemble.predict_members(X)
    loc, scale = ensemble.predict_distribution(X)
    total = decompose_regression(members[..., 0], members[..., 1]).total
    np.testing.assert_array_equal(loc, ensemble.predict(X))
    np.testing.assert_allclose(scale**2, total, rtol=SAME_SUM)


def test_ten_members_by_default(data):
    model = GradientBoostingRegressor(n_estimators=100).fit(*data)
    assert VirtualEnsemble(model).member_trees().tolist() == list(range(55, 101, 5))
    assert VirtualEnsemble(model, start=0.9).member_trees().tolist() == list(range(91, 101))


def test_boosters_frozen_models_and_tables(data):
    X, y = data
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    model = lightgbm.LGBMClassifier(**LGB).fit(table, y > 0.0)
    expected = VirtualEnsemble(model).predict_members(table)
    for same in (FrozenEstimator(model), model.booster_):
        np.testing.assert_array_equal(VirtualEnsemble(same).predict_members(table), expected)
    assert VirtualEnsemble(model.booster_).classes_.tolist() == [0, 1]
    assert VirtualEnsemble(model).classes_.tolist() == [False, True]
    with pytest.raises(InvalidData, match=r"^X has 2 features[^\n]*\.$"):
        VirtualEnsemble(model).predict_members(X[:, :2])


def test_a_softmax_booster_gives_probabilities(data):
    """XGBoost's multi:softmax predicts labels; its margins are logits all the same."""
    X, y = data
    codes = np.digitize(y, [-0.4, 0.4])
    booster = xgboost.train(
        {"objective": "multi:softmax", "num_class": 3}, xgboost.DMatrix(X, codes), T
    )
    ensemble = VirtualEnsemble(booster)
    np.testing.assert_allclose(ensemble.predict_members(X).sum(axis=2), 1.0, rtol=SAME_SUM)
    assert ensemble.classes_.tolist() == [0, 1, 2]


def test_an_early_stop_ends_the_members(data):
    X, y = data
    model = xgboost.XGBRegressor(**XGB, early_stopping_rounds=2, learning_rate=0.3)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    best = model.best_iteration + 1
    assert best < T
    ensemble = VirtualEnsemble(model, step=1)
    assert ensemble.member_trees()[-1] == best
    np.testing.assert_array_equal(ensemble.predict_members(X)[-1, :, 0], model.predict(X))


# What has no earlier states


def test_what_is_no_boosted_model_is_refused(data):
    X, y = data
    is_high = y > 0.0
    bagged = {"bagging_freq": 1, "bagging_fraction": 0.5}
    one_vs_all = catboost.CatBoostClassifier(loss_function="MultiClassOneVsAll", **QUIET)
    hinge = xgboost.XGBClassifier(objective="binary:hinge", **XGB)
    refused = {
        "A RandomForestRegressor has no earlier states": RandomForestRegressor(5).fit(X, y),
        "A ExtraTreesClassifier has no earlier": ExtraTreesClassifier(5).fit(X, is_high),
        "A LGBMRegressor has no earlier states": lightgbm.LGBMRegressor(
            boosting_type="rf", **bagged, **LGB
        ).fit(X, y),
        "The model was trained by DART": lightgbm.LGBMRegressor(boosting_type="dart", **LGB).fit(
            X, y
        ),
        "The model was trained by DART,": xgboost.XGBRegressor(
            booster="dart", rate_drop=0.5, **XGB
        ).fit(X, y),
        "The model has 1 boosting rounds": xgboost.XGBRFRegressor(n_jobs=1).fit(X, y),
        "A Ridge is no tree model": Ridge().fit(X, y),
        "A BoostedEnsembleRegressor has members already": BoostedEnsembleRegressor(
            n_members=2, n_trees=5, stopping=None
        ).fit(X, y),
        "The probabilities of CatBoost's MultiClassOneVsAll": one_vs_all.fit(X, classes_of(y, 3)),
        "The model, trained with binary:hinge, gives no probabilities": hinge.fit(X, is_high),
        "The model has 2 outputs": xgboost.XGBRegressor(**XGB).fit(X, X[:, :2]),
        "A model file has to be read first": "model.cbm",
    }
    for start, model in refused.items():
        with pytest.raises(InvalidParameter, match=rf"^{start}[^\n]*\.$"):
            VirtualEnsemble(model)


@pytest.mark.parametrize(
    "model",
    [
        catboost.CatBoostRegressor(),
        catboost.CatBoostClassifier(),
        lightgbm.LGBMClassifier(),
        xgboost.XGBRegressor(),
        HistGradientBoostingClassifier(),
        GradientBoostingRegressor(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_that_are_not_fitted_are_refused(model):
    with pytest.raises(InvalidParameter, match=r"^The [^\n]* is not fitted: call fit first\.$"):
        VirtualEnsemble(model)


@pytest.mark.parametrize(
    ("step", "start", "says"),
    [
        (30, 0.5, "The model has 40 boosting rounds, which are too few"),
        (11, 0.9, "The model has 40 boosting rounds, which are too few"),
        (1, 1.0, "The model has 40 boosting rounds, which are too few"),
        (0, 0.5, "step must be"),
        (2.5, 0.5, "step must be"),
        (5, -0.1, "start must be"),
        (5, "half", "start must be"),
    ],
)
def test_members_that_are_not_there_are_refused(data, step, start, says):
    model = GradientBoostingRegressor(n_estimators=T).fit(*data)
    with pytest.raises(InvalidParameter, match=rf"^{says}[^\n]*\.$"):
        VirtualEnsemble(model, step, start)
