"""IBUGRegressor.save: what comes back is the same bit for bit; bad files are refused."""

import copy
import io
import sys

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor, early_stopping
from saving_parts import bad_arrays, header_places, saved
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from xgboost import XGBRegressor

from gbuq_core import BoostedEnsembleRegressor, CalibratedRegressor, IBUGRegressor, load
from gbuq_core.errors import InvalidParameter, MissingPackage, ModelFileError
from gbuq_core.model_files import archive
from gbuq_core.model_files.contents import pack
from gbuq_core.trees.importers import leaf_source

T = 12
CAT = {"iterations": T, "depth": 3, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
LGB = {"n_estimators": T, "num_leaves": 7, "n_jobs": 1, "verbose": -1}
XGB = {"n_estimators": T, "max_depth": 3, "n_jobs": 1}
OWN = {"n_members": 2, "n_trees": T, "depth": 3, "stopping": None}


def rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + 0.3 * (1.0 + (X[:, 1] > 0.0)) * rng.normal(size=n)


X, Y = rows(160, 0)
HELD = rows(60, 1)
NEW = rows(25, 2)[0]


def owned(model, **options):
    return IBUGRegressor(model, random_state=0, n_jobs=1, **options).fit(X, Y)


def given(model, **options):
    return IBUGRegressor(model, random_state=0, **options).fit(X, Y, *HELD)


def stopped_xgboost():
    model = XGBRegressor(**{**XGB, "n_estimators": 40}, early_stopping_rounds=2, learning_rate=0.7)
    return model.fit(X, Y, eval_set=[HELD], verbose=False)


def stopped_lightgbm():
    model = LGBMRegressor(**{**LGB, "n_estimators": 40}, learning_rate=0.7)
    return model.fit(X, Y, eval_set=[HELD], callbacks=[early_stopping(2, verbose=False)])


def wide():
    """More than 255 leaves a tree: codes of two bytes."""
    big, y = rows(700, 4)
    forest = RandomForestRegressor(3, n_jobs=1, random_state=0)
    return IBUGRegressor(forest, n_neighbors=5, random_state=0).fit(big, y)


MAKERS = {
    "default": lambda: owned(None),
    "catboost": lambda: owned(CatBoostRegressor(**CAT), posterior="tune"),
    "fitted catboost": lambda: given(CatBoostRegressor(**CAT).fit(X, Y)),
    "lightgbm": lambda: owned(LGBMRegressor(**LGB), scoring="crps"),
    "stopped lightgbm": lambda: given(stopped_lightgbm()),
    "booster": lambda: given(LGBMRegressor(**LGB).fit(X, Y).booster_),
    "xgboost": lambda: owned(XGBRegressor(**XGB), n_trees_sampled=7, tree_order="random"),
    "stopped xgboost": lambda: given(stopped_xgboost()),
    "source": lambda: given(leaf_source(XGBRegressor(**XGB).fit(X, Y).get_booster())),
    "random forest": lambda: owned(RandomForestRegressor(T, max_depth=5)),
    "extra trees": lambda: owned(ExtraTreesRegressor(T, max_depth=5), posterior="student-t"),
    "gradient boosting": lambda: owned(GradientBoostingRegressor(n_estimators=T, loss="huber")),
    "from zero": lambda: owned(GradientBoostingRegressor(n_estimators=T, init="zero")),
    "histogram": lambda: owned(HistGradientBoostingRegressor(max_iter=T, min_samples_leaf=5)),
    "poisson": lambda: IBUGRegressor(
        HistGradientBoostingRegressor(max_iter=T, loss="poisson").fit(X, np.exp(Y)), n_neighbors=9,
        min_scale=0.1,
    ).fit(X, np.exp(Y)),
    "frozen": lambda: given(FrozenEstimator(RandomForestRegressor(T, max_depth=4).fit(X, Y))),
    "own": lambda: owned(BoostedEnsembleRegressor(**OWN), n_neighbors=8),
    "fitted own": lambda: given(BoostedEnsembleRegressor(**OWN, random_state=1).fit(X, Y)),
    "untuned": lambda: IBUGRegressor(LGBMRegressor(**LGB).fit(X, Y), n_neighbors=6).fit(X, Y),
    "two bytes": wide,
}  # fmt: skip
EVERY = pytest.mark.parametrize("name", MAKERS)


@pytest.fixture(scope="module")
def models():
    return {name: make() for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def files(models):
    return {name: saved(model) for name, model in models.items()}


FITTED = (
    "n_neighbors_", "min_scale_", "gamma_", "delta_", "posterior_", "n_trees_", "memory_bytes_",
    "y_train_", "y_validation_", "fit_seconds_", "seed_",
)  # fmt: skip


def answers(model):
    """Everything that a model says, as arrays."""
    law = model.predict_distribution(NEW)
    near = model.find_neighborhood(NEW, 7)
    found = {"predict": model.predict(NEW), "loc": law.loc, "scale": law.scale}
    found |= {"interval": np.array(law.interval(0.9)), "draws": law.sample(3, 0)}
    found |= {f"near {k}": v for k, v in near._asdict().items() if k != "tree_order"}
    found |= {f"k {k}": v for k, v in model.kneighbors(NEW, 4, 2, "random")._asdict().items()}
    found |= model.predict_uncertainty(NEW)._asdict()
    found |= {f"full {k}": v for k, v in model.leaf_density(NEW)._asdict().items()}
    found |= {f"own {k}": v for k, v in model.leaf_density()._asdict().items()}
    found["other trees"] = model.predict_distribution(NEW, 5, n_trees_sampled=2).scale
    found["plain"] = model.predict_distribution(NEW, calibrate=False).scale
    found["setting"] = np.array(model.setting_for(4, n_trees_sampled=2))
    found["path"] = model.scale_path(NEW, [2, 3]).scale
    found["laplace"] = model.predict_quantiles(NEW, [0.2, 0.7], "laplace")
    found["density"] = model.predict_density(NEW, [0.0, 0.5])
    found["targets"] = model.neighbor_targets(NEW, 3)
    found["families"] = model.score_families(*HELD).nll
    labels = np.arange(len(model.y_train_)) % 3
    found["shares"] = model.neighbor_class_shares(NEW, labels).shares
    if model._validation is not None:
        found |= {f"held {k}": v for k, v in model.validation_._asdict().items()
                  if k != "tree_order"}  # fmt: skip
        found["tuned k"] = model.setting_for("tune", n_trees_sampled=2)
        found |= {f"tried {k}": v for k, v in model.tuning_for()._asdict().items()}
    if hasattr(model, "feature_importances_"):
        found["importances"] = model.feature_importances_
    for name in FITTED:
        found[name] = getattr(model, name)
    return found


@EVERY
def test_models_come_back_bit_for_bit(name, models, files):
    model, again = models[name], load(files[name])
    assert set(vars(again)) == set(vars(model))
    expected, found = answers(model), answers(again)
    assert found.keys() == expected.keys()
    for part, value in expected.items():
        np.testing.assert_array_equal(found[part], value, err_msg=part)
    assert (again.tuning_ is None) == (model.tuning_ is None)
    assert (again.base_model is again.model_) == (model.base_model is model.model_)
    if name not in ("stopped lightgbm", "untuned"):  # whose estimators come back as boosters
        assert type(again.base_model) is type(model.base_model)
    options, kept = (each.get_params(deep=False) for each in (model, again))
    assert options.pop("base_model", 0) is None or kept["base_model"] is not None
    kept.pop("base_model")
    assert kept == options
    if "catboost" not in name and name != "default":  # which writes its parts in another order
        assert saved(load(saved(again))) == saved(again)


@EVERY
def test_neighbourhoods_found_before_are_known_after(name, models, files):
    near = models[name].find_neighborhood(NEW)
    found = load(files[name]).predict_distribution(near)
    np.testing.assert_array_equal(found.scale, models[name].predict_distribution(near).scale)


@pytest.mark.parametrize("name", ["default", "lightgbm", "xgboost", "histogram", "own"])
def test_what_was_loaded_is_fitted_again_as_before(name, models, files):
    again = load(files[name]).fit(X, Y)
    np.testing.assert_array_equal(again.predict(NEW), models[name].predict(NEW))


def test_frames_names_and_gaps():
    table = pd.DataFrame(X, columns=["a b", "c", "d"])
    table.loc[::7, "d"] = np.nan
    new = pd.DataFrame(NEW, columns=table.columns)
    new.loc[3, "d"] = np.nan
    kinds = (None, HistGradientBoostingRegressor(max_iter=T), RandomForestRegressor(T),
             LGBMRegressor(**LGB), XGBRegressor(**XGB))  # fmt: skip
    for base in kinds:
        model = IBUGRegressor(base, random_state=0).fit(table, Y)
        again = load(saved(model))
        np.testing.assert_array_equal(again.predict(new), model.predict(new))
        scale = again.predict_distribution(new).scale
        np.testing.assert_array_equal(scale, model.predict_distribution(new).scale)
        with pytest.raises(ValueError, match="feature names"):
            again.predict(new[["c", "d", "a b"]])


def test_categories_of_catboost_and_lightgbm():
    colour = np.where(X[:, 0] > 0.3, "red", "blue")
    table = pd.DataFrame({"x": X[:, 1], "colour": pd.Categorical(colour)})
    for base in (CatBoostRegressor(**CAT, cat_features=["colour"]), LGBMRegressor(**LGB)):
        model = IBUGRegressor(base, random_state=0).fit(table, Y)
        again = load(saved(model))
        law, found = model.predict_distribution(table), again.predict_distribution(table)
        np.testing.assert_array_equal(found.loc, law.loc)
        np.testing.assert_array_equal(found.scale, law.scale)


@pytest.mark.parametrize("base", [None, LGBMRegressor(**LGB), RandomForestRegressor(T)])
def test_text_and_weights_come_back(base):
    colour = np.where(X[:, 0] > 0.3, "red", "blue")
    table = pd.DataFrame({"x": X[:, 1], "colour": colour})
    weight = np.random.default_rng(0).integers(0, 9, len(X)) / 4.0
    model = IBUGRegressor(base, random_state=0).fit(table, Y, sample_weight=weight)
    again = load(saved(model))
    new = table.assign(colour=np.where(X[:, 2] > 0.3, "red", "green"))
    np.testing.assert_array_equal(again.weight_train_, model.weight_train_)
    np.testing.assert_array_equal(again.kneighbors(new).indices, model.kneighbors(new).indices)
    for k in (None, 4):
        law, found = model.predict_distribution(new, k), again.predict_distribution(new, k)
        np.testing.assert_array_equal(found.loc, law.loc)
        np.testing.assert_array_equal(found.scale, law.scale)
    header, arrays = archive.read_archive(saved(model))
    for name in ("weight", "held_weight"):
        refused(archive.write_archive(header, {**arrays, name: -arrays[name]}))
        refused(archive.write_archive(header, {k: v for k, v in arrays.items() if k != name}))
    for odd in ("odd", ["odd", [1], [["a"]]], ["code", [7], [["a"]]], ["code", [1], [[None]]],
                ["code", [1, 0], [["a"], ["b"]]], ["code", [1], [["a", "a"]]]):  # fmt: skip
        refused(archive.write_archive({**header, "coding": odd}, arrays))


@pytest.mark.parametrize("base", [None, BoostedEnsembleRegressor(**OWN), RandomForestRegressor(T)])
def test_calibrated_around_it(base):
    model = CalibratedRegressor(IBUGRegressor(base), "scale", random_state=0).fit(X, Y)
    again = load(saved(model))
    law, found = model.predict_distribution(NEW), again.predict_distribution(NEW)
    np.testing.assert_array_equal(found.quantile([0.1, 0.8]), law.quantile([0.1, 0.8]))


def test_what_cannot_be_held_is_told():
    with pytest.raises(InvalidParameter, match=r"^The Grad\w+ starts from a model [^\n]*\.$"):
        owned(GradientBoostingRegressor(n_estimators=T, init=LinearRegression())).save(io.BytesIO())
    table = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(np.where(X[:, 1] > 0, "u", "v"))})
    base = HistGradientBoostingRegressor(max_iter=T)
    model = IBUGRegressor(base, random_state=0).fit(table, Y)
    with pytest.raises(InvalidParameter, match=r"^The Hist\w+ was trained on categ[^\n]*\.$"):
        model.save(io.BytesIO())
    odd = XGBRegressor(**XGB, missing=-1.0).fit(X, Y)
    with pytest.raises(InvalidParameter, match=r"^An XGBoost model with categories[^\n]*\.$"):
        given(odd).save(io.BytesIO())

    class Mine(IBUGRegressor):
        pass

    with pytest.raises(InvalidParameter, match=r"^A Mine is of another class [^\n]*\.$"):
        Mine(LGBMRegressor(**LGB)).fit(X, Y).save(io.BytesIO())

    class Forest(RandomForestRegressor):
        pass

    with pytest.raises(InvalidParameter, match=r"^A Forest has no file format [^\n]*\.$"):
        owned(Forest(T)).save(io.BytesIO())


def test_a_package_that_is_missing_is_told(files, monkeypatch):
    for name in ("catboost", "xgboost"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, name, None)
            with pytest.raises(MissingPackage, match=rf"^[^\n]*pip install '?{name}[^\n]*\.$"):
                load(files[name])


def refused(content):
    with pytest.raises(ModelFileError, match=r"^[^\n]*\.$"):
        load(content)


BROKEN = ("stopped lightgbm", "lightgbm", "random forest", "histogram", "gradient boosting",
          "untuned", "two bytes")  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_every_array_is_checked(name, files):
    header, arrays = archive.read_archive(files[name])
    for part, array in arrays.items():
        for other in bad_arrays(array):
            if part == "held_leaves" and other.shape == array.shape and (other == array).all():
                continue  # wider leaf numbers are read too
            refused(archive.write_archive(header, {**arrays, part: other}))
        refused(archive.write_archive(header, {k: v for k, v in arrays.items() if k != part}))


def lie(name, index, value):
    def change(arrays):
        arrays[name][index] = value

    return change


LIES = {
    "a leaf": lie("train_low", (0, 0), 200),
    "another leaf": lie("tuned_low", (1, 3), 200),
    "a code": lie("train_lookup", (0, 0), 300),
    "no code": lie("train_lookup", (0, 0), -2),
    "too few leaves": lie("train_n_leaves", 0, 1),
    "no leaves": lie("tuned_n_leaves", 0, 0),
    "more leaves than two bytes": lie("train_n_leaves", 0, 70_000),
    "a row": lie("places", 0, 160),
    "no row": lie("places", 0, -1),
    "a target": lie("y", 0, np.inf),
    "a child before its parent": lie("model_left_child", 1, 0),
    "a child of another tree": lie("model_left_child", 0, 10_000),
    "a node of two parents": lie("model_right_child", 0, 1),
    "half a leaf": lie("model_right_child", 2, -1),
    "a child below": lie("model_left_child", 0, -2),
    "a feature": lie("model_feature", 0, 3),
    "no feature": lie("model_feature", 0, -1),
    "a tree of no nodes": lie("model_sizes", 0, 0),
    "a tree of less": lie("model_sizes", 0, -5),
    "a tree of more": lie("model_sizes", 0, 2**62),
}


@pytest.mark.parametrize("name", LIES)
def test_indices_that_lead_outside_are_refused(files, name):
    header, arrays = archive.read_archive(files["random forest"])
    LIES[name](arrays)
    refused(archive.write_archive(header, arrays))


@pytest.mark.parametrize("part", ["left", "right", "feature_idx", "is_leaf", "depth"])
@pytest.mark.parametrize("value", [-1, 3, 2**40])
def test_histogram_trees_that_lead_outside_are_refused(files, part, value):
    header, arrays = archive.read_archive(files["histogram"])
    array = arrays[f"model_{part}"]
    if part in ("left", "right") and value == 3:
        array[0] = array[1] = 3
    elif part == "is_leaf":
        array[:] = {-1: 1, 3: 3}.get(value, 0)
    elif not (part == "depth" and value == 3):
        array[0] = value
    else:
        return
    refused(archive.write_archive(header, arrays))


@pytest.mark.parametrize("name", ["lightgbm", "random forest", "frozen", "untuned"])
def test_every_part_of_the_header_is_checked(name, files):
    """Whatever is put anywhere: one sentence, or a model that still predicts."""
    header, arrays = archive.read_archive(files[name])
    odds = (None, -1, 2**70, "odd", [], {}, float("nan"), True)
    for number, path in enumerate(header_places(header)):
        if path[0] in ("format", "version", "arrays", "fit_seconds"):
            continue
        for odd in [odds[(number + k) % len(odds)] for k in range(3)]:  # each in its turn
            changed = copy.deepcopy(header)
            part = changed
            for key in path[:-1]:
                part = part[key]
            part[path[-1]] = odd
            try:
                again = load(archive.write_archive(changed, arrays))
                again.predict_distribution(NEW, 5)
            except ValueError as error:  # ours and those of scikit-learn for odd parameters
                said = str(error)
            else:
                said = "."
            assert said, path


def test_random_bytes_never_end_the_process(files):
    rng = np.random.default_rng(0)
    content = bytearray(files["random forest"])
    for _ in range(60):
        odd = bytearray(content)
        for place in rng.integers(0, len(odd), 3):
            odd[place] ^= int(rng.integers(1, 256))
        refused(bytes(odd))
    for size in (0, 1, 50, len(content) // 2, len(content) - 1):
        refused(bytes(content[:size]))


def test_random_numbers_in_arrays_never_end_the_process(files):
    """Files whose digests are right: anything that is read predicts, or is refused."""
    rng = np.random.default_rng(0)
    for name in ("random forest", "histogram", "lightgbm"):
        header, arrays = archive.read_archive(files[name])
        for _ in range(60):
            changed = {part: array.copy() for part, array in arrays.items()}
            part = str(rng.choice([p for p in changed if changed[p].size and p != "model"]))
            flat = changed[part].reshape(-1).view(np.uint8)
            flat[rng.integers(0, len(flat), 2)] = rng.integers(0, 256, 2)
            if part == "model_digest":
                continue
            try:
                again = load(archive.write_archive(header, changed))
                again.predict_distribution(NEW, 4, n_trees_sampled=2)
                again.kneighbors(NEW, 4)
            except ValueError as error:
                said = str(error)
            else:
                said = "."
            assert said


def test_models_inside_are_checked(files):
    header, _ = archive.read_archive(files["lightgbm"])
    _, arrays = archive.read_archive(files["lightgbm"])
    for content in (b"", b"tree of life", files["own"]):
        refused(archive.write_archive(header, arrays | pack("model", content)))
    header, arrays = archive.read_archive(files["own"])
    refused(archive.write_archive(header, arrays | pack("model", files["own"])))
    inner = archive.read_archive(files["own"])[1]
    assert "model" in inner
