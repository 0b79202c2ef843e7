"""Small models of every format, as their libraries write them."""

import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Saved(NamedTuple):
    """A model file and what its library predicts for ROWS."""

    content: bytes
    predicted: np.ndarray


def _rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    X[::9, 1], X[::11, 2] = np.nan, 0.0
    return X


ROWS = _rows()
TARGET = np.exp(0.3 * ROWS[:, 0]) + np.nan_to_num(ROWS[:, 1]) ** 2 + 0.1
CLASSES = np.digitize(TARGET, [1.0, 2.0])


def lightgbm_model(settings=None, y=TARGET, rows=ROWS, n_trees=8):
    import lightgbm

    settings = {"verbose": -1, "num_leaves": 7, "min_data_in_leaf": 5, **(settings or {})}
    booster = lightgbm.train(settings, lightgbm.Dataset(rows, y), n_trees)
    return Saved(booster.model_to_string().encode(), booster.predict(rows))


def xgboost_model(settings=None, y=TARGET, form="json", n_trees=8):
    import xgboost

    settings = {"max_depth": 3, **(settings or {})}
    booster = xgboost.train(settings, xgboost.DMatrix(ROWS, y), n_trees)
    return Saved(bytes(booster.save_raw(form)), booster.predict(xgboost.DMatrix(ROWS)))


def category_rows(word="red"):
    """Three columns of which two are categories, as a frame and as codes, and a target of them."""
    import pandas as pd

    rng = np.random.default_rng(1)
    frame = pd.DataFrame(ROWS[:, :1], columns=["a"])
    kinds = np.array([word, "blue", *map(str, range(18))], object)[rng.integers(0, 20, len(frame))]
    kinds[::9] = None
    frame["k"] = pd.Categorical(kinds)
    frame["n"] = pd.Categorical(rng.choice([3, 5, 9], len(frame)))
    codes = np.column_stack([frame["a"], frame["k"].cat.codes, frame["n"].cat.codes])
    codes = np.where(codes == -1, np.nan, codes)
    return frame, codes, frame["a"] + frame["k"].cat.codes % 7 + frame["n"].cat.codes


def xgboost_categories(settings=None, form="json", coded=False, word="red"):
    """An XGBoost model of `category_rows`; ``coded`` trains on codes, which have no names."""
    import xgboost

    frame, codes, y = category_rows(word)
    if coded:
        data = xgboost.DMatrix(codes, y, feature_types=["q", "c", "c"], enable_categorical=True)
    else:
        data = xgboost.DMatrix(frame, y, enable_categorical=True)
    settings = {"max_depth": 4, "min_child_weight": 0.5, **(settings or {})}
    booster = xgboost.train(settings, data, 8)
    return Saved(bytes(booster.save_raw(form)), booster.predict(data))


def catboost_model(settings=None, y=TARGET, form="cbm", kind="RawFormulaVal", n_trees=8):
    import catboost

    settings = {"depth": 3, **(settings or {})}
    model = catboost.CatBoost(
        {"iterations": n_trees, "verbose": False, "allow_writing_files": False, **settings}
    ).fit(ROWS, y)
    return Saved(saved_catboost(model, form), model.predict(ROWS, prediction_type=kind))


def saved_catboost(model, form="cbm"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save_model(str(path), format=form)
        return path.read_bytes()


def one_of_each():
    """A regression in each of the five formats, and one that splits by categories."""
    return {
        "catboost cbm": catboost_model().content,
        "catboost json": catboost_model(form="json").content,
        "lightgbm text": lightgbm_model().content,
        "xgboost json": xgboost_model().content,
        "xgboost ubj": xgboost_model(form="ubj").content,
        "xgboost categories": xgboost_categories().content,
    }
