"""Trees that were read from files sum up to what their own library predicts.

Each loss of each library is in `tests/trees/test_objectives.py`.
"""

import json

import numpy as np
import pandas as pd
import pytest
from model_file_parts import (
    CLASSES,
    ROWS,
    TARGET,
    Saved,
    catboost_model,
    category_rows,
    lightgbm_model,
    saved_catboost,
    xgboost_categories,
    xgboost_model,
)
from tolerances import SAME_SUM

from gbuq_core import VirtualEnsemble
from gbuq_core.errors import GbuqError, InvalidParameter, ModelFileError, UnknownLoss
from gbuq_core.given_models.parsing import parse_model, predict_sums
from gbuq_core.model_files.archive import read_archive, write_archive
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.plain_source import PlainSource, describe_plain, read_plain

pytestmark = pytest.mark.parity
SINGLE = 2e-6  # XGBoost adds up float32 numbers


def read(content):
    """As it goes from the other process to this one."""
    return read_plain(*read_archive(write_archive(*describe_plain(parse_model(content)))))


def assert_same(saved, tolerance, rows=ROWS):
    source = read(saved.content)
    ask = source.predict if source.task == "regression" else source.predict_proba
    own, theirs = ask(rows), saved.predicted
    if source.task == "classification" and theirs.ndim == 1:
        theirs = np.column_stack([1.0 - theirs, theirs])
    np.testing.assert_allclose(own, theirs, rtol=tolerance, atol=tolerance)
    return source


@pytest.mark.parametrize(
    ("settings", "y"),
    [
        ({}, TARGET),
        ({"reg_sqrt": True}, TARGET),
        ({"zero_as_missing": True}, TARGET),
        ({"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}, TARGET),
        ({"boosting": "dart"}, TARGET),
        ({"objective": "binary", "sigmoid": 2.0}, CLASSES > 0),
        ({"objective": "multiclass", "num_class": 3}, CLASSES),
    ],
)
def test_lightgbm(settings, y):
    assert_same(lightgbm_model(settings, y), SAME_SUM)


def test_lightgbm_categories_are_codes_of_the_models_own_levels():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(ROWS[:, :2], columns=["a", "b"])
    frame["k"] = pd.Categorical(rng.choice([str(i) for i in range(40)], len(frame)))
    y = TARGET + frame["k"].cat.codes % 7
    few = {"min_data_in_leaf": 2, "min_data_per_group": 1, "cat_smooth": 1}
    saved = lightgbm_model(few, y, frame)
    coded = frame.assign(k=frame["k"].cat.codes.astype(float)).to_numpy()
    source = assert_same(saved, SAME_SUM, coded)
    assert source.has_categories
    assert source.plain.categories == (tuple(frame["k"].cat.categories),)
    # Levels that are missing or new go where LightGBM sends what is missing.
    odd = np.repeat(coded[:1], 3, axis=0)
    odd[:, 2] = np.nan, 99.0, -1.0
    assert len(set(source.predict(odd))) == 1
    np.testing.assert_allclose(source.predict_raw(odd)[0], predict_sums(saved.content, odd, 8))


def test_large_trees_are_walked_down():
    rows = np.random.default_rng(2).normal(size=(3000, 2))
    few = {"num_leaves": 2000, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 0}
    source = assert_same(lightgbm_model(few, rows[:, 0] * rows[:, 1], rows, 2), SAME_SUM, rows)
    assert source.leaf_counts.max() > 1024


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize(
    ("settings", "y"),
    [
        ({}, TARGET),
        ({"objective": "multi:softprob", "num_class": 3}, CLASSES),
        ({"booster": "dart", "rate_drop": 0.5}, TARGET),
        ({"num_parallel_tree": 3, "subsample": 0.5}, TARGET),
    ],
)
def test_xgboost(settings, y, form):
    assert_same(xgboost_model(settings, y, form), SINGLE)


@pytest.mark.parametrize("form", ["json", "ubj"])
@pytest.mark.parametrize("coded", [False, True])
@pytest.mark.parametrize(
    "settings",
    [{}, {"max_cat_to_onehot": 100}, {"max_cat_to_onehot": 1}, {"booster": "dart"}],
)
def test_xgboost_categories(settings, coded, form):
    frame, codes, _ = category_rows()
    saved = xgboost_categories(settings, form, coded)
    source = assert_same(saved, SINGLE, codes)
    assert source.has_categories
    named = (tuple(map(str, frame["k"].cat.categories)), ("3", "5", "9"))
    assert source.plain.categories == (() if coded else named)
    # What is missing goes its split's own way; a new level goes with those that are not listed.
    odd = np.repeat(codes[1:2], 4, axis=0)
    odd[:, 1] = np.nan, 19.0, 20.0, 1000.0
    odd = np.concatenate([odd, codes[1:2] * [1.0, 1.0, np.nan]])
    theirs = predict_sums(saved.content, odd, 8)
    np.testing.assert_allclose(source.predict_raw(odd)[0], theirs, rtol=SINGLE, atol=SINGLE)


@pytest.mark.parametrize("form", ["cbm", "json"])
@pytest.mark.parametrize(
    ("settings", "y", "kind"),
    [
        ({}, TARGET, "RawFormulaVal"),
        ({"grow_policy": "Lossguide"}, TARGET, "RawFormulaVal"),
        ({"nan_mode": "Max"}, TARGET, "RawFormulaVal"),
        ({"loss_function": "MultiClass"}, CLASSES, "Probability"),
    ],
)
def test_catboost(settings, y, kind, form):
    assert_same(catboost_model(settings, y, form, kind), SAME_SUM)


def test_truncations_of_a_file_are_those_of_the_model():
    import catboost

    model = catboost.CatBoostRegressor(
        iterations=20,
        depth=2,
        loss_function="RMSEWithUncertainty",
        posterior_sampling=True,
        verbose=False,
        allow_writing_files=False,
    ).fit(ROWS, TARGET)
    ours = VirtualEnsemble(read(saved_catboost(model)), step=2).predict_members(ROWS)
    theirs = VirtualEnsemble(model, step=2).predict_members(ROWS)
    np.testing.assert_allclose(ours, theirs, rtol=SAME_SUM)


def langevin(n_trees, mode, rate):
    import catboost

    return catboost.CatBoost(
        {
            "iterations": n_trees,
            "depth": 3,
            "learning_rate": 0.2,
            "random_seed": 1,
            "langevin": True,
            "diffusion_temperature": 100,
            "model_shrink_mode": mode,
            "model_shrink_rate": rate,
            "verbose": False,
            "allow_writing_files": False,
        }
    ).fit(ROWS, TARGET)


@pytest.mark.parametrize(("mode", "rate"), [("Constant", 0.05), ("Decreasing", 0.3)])
def test_earlier_states_of_a_shrunk_model_are_models_of_fewer_trees(mode, rate):
    whole, stages = langevin(12, mode, rate), np.array([1, 5, 11, 12])
    shorter = [langevin(n_trees, mode, rate).predict(ROWS) for n_trees in stages]
    for source in (read(saved_catboost(whole)), leaf_source(whole)):
        np.testing.assert_allclose(source.staged(ROWS, stages)[..., 0], shorter, rtol=SAME_SUM)


def trained(loss, y):
    import catboost

    quiet = {"iterations": 4, "depth": 3, "verbose": False, "allow_writing_files": False}
    return catboost.CatBoost({"loss_function": loss, **quiet}).fit(ROWS, y)


@pytest.mark.parametrize(
    ("loss", "y", "kind"),
    [
        ("RMSE", TARGET, "RawFormulaVal"),
        ("Poisson", TARGET, "Exponent"),
        ("Logloss", CLASSES > 0, "Probability"),
    ],
)
def test_a_sum_of_models_keeps_its_loss_and_has_no_truncations(loss, y, kind):
    import catboost

    both = catboost.sum_models([trained(loss, y), trained(loss, y)], weights=[0.5, 0.25])
    theirs = both.predict(ROWS, prediction_type=kind)
    source = assert_same(Saved(saved_catboost(both), theirs), SAME_SUM)
    for sources in (source, leaf_source(both, source.task)):
        with pytest.raises(InvalidParameter, match="truncations would cut between them"):
            VirtualEnsemble(sources)


def test_the_loss_is_asked_for_where_the_file_has_none():
    import catboost

    mixed = catboost.sum_models([trained("Poisson", TARGET), trained("RMSE", TARGET)])
    content = saved_catboost(mixed)
    with pytest.raises(UnknownLoss, match="name the loss"):
        parse_model(content)
    with pytest.raises(UnknownLoss, match="sum_models"):
        leaf_source(mixed)
    sums = mixed.predict(ROWS)
    for loss, expected in (("RMSE", sums), ("Poisson", np.exp(sums))):
        np.testing.assert_allclose(PlainSource(parse_model(content, loss)).predict(ROWS), expected)
    for file, loss, sentence in (
        (content, "MultiClass", "has 1 output, which MultiClass has not"),
        (saved_catboost(trained("Poisson", TARGET)), "RMSE", "was trained with Poisson, not"),
        (lightgbm_model().content, "RMSE", "for files of CatBoost only"),
    ):
        with pytest.raises(InvalidParameter, match=sentence):
            parse_model(file, loss)


def test_xgboost_2_writes_nan_where_it_splits_by_categories():
    saved = xgboost_categories()
    document = json.loads(saved.content)
    for tree in document["learner"]["gradient_booster"]["model"]["trees"]:
        for node in tree["categories_nodes"]:
            tree["split_conditions"][node] = float("nan")
    # XGBoost 2 has no names of categories either.
    document["learner"]["gradient_booster"]["model"].pop("cats")
    document["version"] = [2, 1, 4]
    content = json.dumps(document).encode()
    assert b"NaN" in content
    assert_same(saved._replace(content=content), SINGLE, category_rows()[1])
    tree["split_conditions"][-1] = float("nan")  # a leaf's
    with pytest.raises(ModelFileError, match="not a finite number"):
        parse_model(json.dumps(document).encode())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"\x80\x04\x95", "pickle"),
        (b"PK\x03\x04", "pickle or an archive"),
        (b"x,y\n1,2\n", "no model of CatBoost"),
        (b"CBM1" + b"\xff" * 4, "cut off"),
        (b'{"a": 1}', "no XGBoost model"),
        (b'{"features_info": 1}', "CatBoost model file is damaged"),
        (b"tree\nversion=v4\n", "LightGBM model file is damaged"),
    ],
)
def test_foreign_files_cost_one_sentence(content, sentence):
    with pytest.raises(GbuqError, match=sentence):
        parse_model(content)
