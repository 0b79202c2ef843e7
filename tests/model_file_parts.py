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
    """A regression in each of the five formats."""
    return {
        "catboost cbm": catboost_model().content,
        "catboost json": catboost_model(form="json").content,
        "lightgbm text": lightgbm_model().content,
        "xgboost json": xgboost_model().content,
        "xgboost ubj": xgboost_model(form="ubj").content,
    }
