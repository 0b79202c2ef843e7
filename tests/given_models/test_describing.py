"""What is read off a model's file before there is a table."""

import lightgbm
import numpy as np
import pytest

from gbuq_core.given_models import GivenModel, summarize_model
from gbuq_core.given_models.parsing import parse_model
from gbuq_core.trees.importers.plain_source import PlainSource

X = np.random.default_rng(0).uniform(size=(80, 2))
Y = X[:, 0] * (1.0 + X[:, 1])
CLASSES = (Y > 0.5).astype(int) + (Y > 1.0)


def lightgbm_text(tmp_path):
    settings = {"verbose": -1, "objective": "poisson", "max_depth": 3, "num_leaves": 8}
    booster = lightgbm.train(settings, lightgbm.Dataset(X, Y), 12)
    deepest = booster.trees_to_dataframe().node_depth.max() - 1
    return booster.model_to_string().encode(), "poisson", 12, deepest


def xgboost_file(tmp_path, ending):
    xgboost = pytest.importorskip("xgboost")
    settings = {"objective": "multi:softprob", "num_class": 3, "max_depth": 2}
    booster = xgboost.train(settings, xgboost.DMatrix(X, CLASSES), 4)
    booster.save_model(tmp_path / f"model.{ending}")
    return (tmp_path / f"model.{ending}").read_bytes(), "multi:softprob", 4, 2


def catboost_file(tmp_path, ending):
    catboost = pytest.importorskip("catboost")
    model = catboost.CatBoostRegressor(
        iterations=5, depth=3, loss_function="MAE", verbose=False, allow_writing_files=False
    ).fit(X, Y)
    model.save_model(tmp_path / "model", format=ending)
    return (tmp_path / "model").read_bytes(), "MAE", 5, 3


FILES = {
    "LightGBM": lightgbm_text,
    "XGBoost JSON": lambda path: xgboost_file(path, "json"),
    "XGBoost UBJ": lambda path: xgboost_file(path, "ubj"),
    "CatBoost cbm": lambda path: catboost_file(path, "cbm"),
    "CatBoost JSON": lambda path: catboost_file(path, "json"),
}


@pytest.mark.parametrize("name", FILES)
def test_loss_rounds_and_depth_are_those_of_the_library(name, tmp_path):
    content, loss, rounds, depth = FILES[name](tmp_path)
    summary = summarize_model(GivenModel(PlainSource(parse_model(content)), content, "model"))
    assert (summary.loss, summary.rounds, summary.depth) == (loss, rounds, depth)
    assert summary.leaves > rounds


def test_what_can_be_told_depends_on_the_model(tmp_path):
    content = lightgbm_text(tmp_path)[0]
    boosted = summarize_model(GivenModel(PlainSource(parse_model(content)), content, ""))
    assert "knowledge uncertainty from 6 truncations" in boosted.tells
    settings = {"verbose": -1, "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}
    forest = lightgbm.train(settings, lightgbm.Dataset(X, Y), 5).model_to_string().encode()
    summary = summarize_model(GivenModel(PlainSource(parse_model(forest)), forest, ""))
    assert not any("truncation" in sentence for sentence in summary.tells)
    assert "knowledge uncertainty from its trees (MACAU)" in summary.tells
    # A file that does not name its loss has none.
    nameless = GivenModel(PlainSource(parse_model(content)), b"", "")
    assert summarize_model(nameless).loss == ""
