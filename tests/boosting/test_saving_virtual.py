"""VirtualEnsemble.save: what comes back is the same bit for bit; bad files are refused."""

import copy
import io

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from saving_parts import saved
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.frozen import FrozenEstimator

from gbuq_core import VirtualEnsemble, load, load_ensemble
from gbuq_core.errors import InvalidParameter, ModelFileError
from gbuq_core.model_files import archive
from gbuq_core.model_files.contents import pack

T = 24
CAT = {"iterations": T, "depth": 3, "verbose": 0, "allow_writing_files": False, "random_seed": 0}
NORMAL = {"loss_function": "RMSEWithUncertainty", "posterior_sampling": True}
XGB = {"n_estimators": T, "max_depth": 3, "n_jobs": 1}
LGB = {"n_estimators": T, "num_leaves": 7, "n_jobs": 1, "verbose": -1}


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[::17, 2] = np.nan
    y = X[:, 0] + 0.3 * (1.0 + (X[:, 1] > 0.0)) * rng.normal(size=n)
    return X, y


X, Y = rows()
NEW = rows(40, 1)[0]
TWO, THREE = np.where(Y > 0.0, "yes", "no"), np.digitize(Y, [-0.4, 0.4]) * 2


def stopped(kind, **options):
    """A model with a best round before its last."""
    model = kind(**options)
    other, target = rows(60, 2)
    if kind is lightgbm.LGBMRegressor:
        stop = [lightgbm.early_stopping(3, verbose=False)]
        return model.fit(X, Y, eval_set=[(other, target)], callbacks=stop)
    return model.fit(X, Y, eval_set=[(other, target)], verbose=False)


def categories():
    table = pd.DataFrame(X, columns=list("abc")).assign(d=pd.Categorical(TWO))
    return lightgbm.LGBMRegressor(**LGB).fit(table, Y)


MAKERS = {
    "catboost": lambda: catboost.CatBoostRegressor(**CAT, **NORMAL).fit(X, Y),
    "catboost classes": lambda: catboost.CatBoostClassifier(**CAT).fit(X, TWO),
    "lightgbm": lambda: lightgbm.LGBMRegressor(**LGB).fit(X, Y),
    "lightgbm stopped": lambda: stopped(lightgbm.LGBMRegressor, **{**LGB, "learning_rate": 0.5}),
    "lightgbm classes": lambda: lightgbm.LGBMClassifier(**LGB).fit(X, THREE),
    "lightgbm booster": lambda: lightgbm.LGBMRegressor(**LGB).fit(X, Y).booster_,
    "xgboost": lambda: xgboost.XGBRegressor(**XGB).fit(X, Y),
    "xgboost stopped": lambda: stopped(
        xgboost.XGBRegressor, **XGB, early_stopping_rounds=3, learning_rate=0.5
    ),
    "xgboost classes": lambda: xgboost.XGBClassifier(**XGB).fit(X, Y > 0.0),
    "xgboost three": lambda: xgboost.XGBClassifier(**XGB).fit(X, THREE // 2),
    "xgboost booster": lambda: xgboost.XGBRegressor(**XGB).fit(X, Y).get_booster(),
    "histogram": lambda: HistGradientBoostingRegressor(max_iter=T).fit(X, Y),
    "frozen": lambda: FrozenEstimator(xgboost.XGBRegressor(**XGB).fit(X, Y)),
}
EVERY = pytest.mark.parametrize("name", MAKERS)


@pytest.fixture(scope="module")
def ensembles():
    found = {}
    for k, (name, make) in enumerate(MAKERS.items()):
        options = {"step": 2, "start": 0.25} if k % 2 else {}
        if "stopped" in name:
            options = {"step": 1, "start": 0.0}
        found[name] = VirtualEnsemble(make(), **options)
    return found


@pytest.fixture(scope="module")
def files(ensembles):
    return {name: saved(ensemble) for name, ensemble in ensembles.items()}


@EVERY
def test_ensembles_come_back_bit_for_bit(name, ensembles, files):
    ensemble, again = ensembles[name], load(files[name])
    assert set(vars(again)) == set(vars(ensemble))
    for known in ("step", "start", "task", "n_trees_"):
        assert getattr(again, known) == getattr(ensemble, known), known
    assert (ensemble.n_trees_ < T) == ("stopped" in name)
    np.testing.assert_array_equal(again.member_trees(), ensemble.member_trees())
    np.testing.assert_array_equal(again.predict_members(NEW), ensemble.predict_members(NEW))
    found = again.predict(NEW)
    np.testing.assert_array_equal(found, ensemble.predict(NEW))
    assert found.dtype == ensemble.predict(NEW).dtype
    if ensemble.task == "classification":
        np.testing.assert_array_equal(again.classes_, ensemble.classes_)
    np.testing.assert_array_equal(load(saved(again)).predict(NEW), found)


def test_frames_with_categories_of_lightgbm():
    table = pd.DataFrame(NEW, columns=list("abc")).assign(d=pd.Categorical(["no", "yes"] * 20))
    ensemble = VirtualEnsemble(categories())
    again = load(saved(ensemble))
    np.testing.assert_array_equal(again.predict_members(table), ensemble.predict_members(table))


def test_gradient_boosting_of_scikit_learn():
    model = GradientBoostingRegressor(n_estimators=T, loss="huber").fit(np.nan_to_num(X), Y)
    ensemble, rows = VirtualEnsemble(model, step=3), np.nan_to_num(NEW)
    again = load(saved(ensemble))
    assert type(again.model) is GradientBoostingRegressor
    np.testing.assert_array_equal(again.predict_members(rows), ensemble.predict_members(rows))


def test_frames_of_xgboost():
    table = pd.DataFrame(X, columns=["a b", "c", "d"])
    ensemble = VirtualEnsemble(xgboost.XGBRegressor(**XGB).fit(table, Y))
    new = pd.DataFrame(NEW, columns=table.columns)
    found = load(saved(ensemble)).predict_members(new)
    np.testing.assert_array_equal(found, ensemble.predict_members(new))


def refused(content):
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(content)


@pytest.mark.parametrize("name", ["catboost", "lightgbm classes", "xgboost"])
def test_every_part_is_checked(name, files):
    header, arrays = archive.read_archive(files[name])
    for part, array in arrays.items():
        for odd in (array[:, None], array.astype(np.int64), array[:-1], array[::-1], array[:0]):
            refused(archive.write_archive(header, {**arrays, part: odd}))
        refused(archive.write_archive(header, {k: v for k, v in arrays.items() if k != part}))
    half = arrays["model"].tobytes()[: len(arrays["model"]) // 2]
    for content in (b"", b"tree of life", half):
        refused(archive.write_archive(header, pack("model", content)))
    for key in header.keys() - {"format", "version", "arrays"}:
        refused(archive.write_archive({k: v for k, v in header.items() if k != key}, arrays))
        for odd in ("odd", -1, [], {}, float("nan")):
            refused(archive.write_archive({**copy.deepcopy(header), key: odd}, arrays))
    for other in (
        {"n_trees": T + 1},
        {"step": T},
        {"start": 1.0},
        {"library": "sklearn"},
        {"library": "gbuq"},
    ):
        refused(archive.write_archive({**header, **other}, arrays))


def test_other_classes_are_refused(files):
    header, arrays = archive.read_archive(files["lightgbm classes"])
    header["classes"]["labels"].pop()
    refused(archive.write_archive(header, arrays))


def test_what_has_no_file_format_is_told():
    model = GradientBoostingClassifier(n_estimators=T).fit(np.nan_to_num(X), TWO)
    with pytest.raises(InvalidParameter, match=r"^A GradientB\w+ has no file [^\n]*\.$"):
        VirtualEnsemble(model).save(io.BytesIO())
    odd = VirtualEnsemble(xgboost.XGBRegressor(**XGB, missing=-1.0).fit(X, Y))
    with pytest.raises(InvalidParameter, match=r"^An XGBoost model with categories[^\n]*\.$"):
        odd.save(io.BytesIO())


def test_the_wrong_door_and_classes_of_others(files):
    with pytest.raises(ModelFileError, match=r"read it by gbuq_core\.load\.$"):
        load_ensemble(files["lightgbm"])

    class Mine(VirtualEnsemble):
        pass

    with pytest.raises(InvalidParameter, match=r"^A Mine is of another class [^\n]*\.$"):
        Mine(MAKERS["lightgbm"]()).save(io.BytesIO())
