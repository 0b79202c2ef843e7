"""A table judged by a model that exists already: which columns it reads, and what is not known."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest
from model_file_parts import saved_catboost
from table_parts import as_table
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidData
from gbuq_core.given_models import read_model, reading, reading_process
from gbuq_core.tables import edit_schema, infer_schema, score_with_model, to_csv_bytes

RNG = np.random.default_rng(0)
X = pd.DataFrame({"a": RNG.normal(size=150).round(3), "b": RNG.normal(size=150).round(3)})
Y = (2 * X["a"] + np.sin(3 * X["b"]) + 0.1 * RNG.normal(size=150)).round(3)
CLASSES = pd.cut(Y, 3, labels=False)
SMALL = {"verbose": -1, "num_leaves": 5, "min_data_in_leaf": 5, "num_threads": 1}


@pytest.fixture(autouse=True)
def _answers_of_this_process(monkeypatch):
    """What the other process would answer, without it."""

    def ask(*what, **more):
        asked, payload = reading.request_for(*what, **more)
        return 0, reading_process.answer(json.loads(json.dumps(asked)), payload)

    monkeypatch.setattr(reading, "ask_reader", ask)


def boosted(frame, y=Y, n_trees=12, **settings):
    data = lightgbm.Dataset(frame, y)
    return lightgbm.train({**SMALL, **settings}, data, n_trees)


def scored(frame, model, y=Y, **options):
    table = as_table(frame.assign(y=np.asarray(y)))
    content = model if isinstance(model, bytes) else model.model_to_string().encode()
    return score_with_model(table, "y", read_model(content), **options)


def one_forest(n_trees):
    xgboost = pytest.importorskip("xgboost")
    forest = xgboost.XGBRFRegressor(n_estimators=n_trees, max_depth=3, n_jobs=1).fit(X, Y)
    return bytes(forest.get_booster().save_raw("json"))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: boosted(X, boosting="dart"), "trained by DART"),
        (lambda: boosted(X, n_trees=1), "has 1 boosting round, and truncations"),
        (lambda: one_forest(1), "has 1 boosting round, and truncations"),
    ],
)
def test_knowledge_is_empty_where_nothing_can_disagree(make, sentence):
    given = scored(X, make())
    for kind in ("knowledge", "total"):
        for name in (f"{kind}_uncertainty", f"{kind}_uncertainty_std"):
            assert given.frame[name].isna().all()
    assert (given.frame["data_uncertainty"] > 0).all()
    width = given.frame["upper_90"] - given.frame["lower_90"]
    np.testing.assert_allclose(width, 2 * 1.6448536 * given.frame["ibug_std"], rtol=1e-6)
    (why,) = [
        notice for notice in given.notices if "knowledge and total uncertainty are empty" in notice
    ]
    assert sentence in why
    assert np.isnan(given.scored.scores.prr.knowledge)
    assert np.isfinite(given.scored.scores.prr.data)
    assert b"nan" not in to_csv_bytes(given.frame)


def test_a_forest_of_one_round_has_the_knowledge_of_a_forest():
    given = scored(X, one_forest(12))
    assert "random forest: 12 trees" in given.matched.model.summary
    assert (given.frame["knowledge_uncertainty"] > 0).all()
    assert any("MACAU's models in the leaves" in sentence for sentence in given.notices)


def test_the_entropy_of_one_classifier_is_not_called_knowledge():
    given = scored(X, boosted(X, Y > 0, boosting="dart", objective="binary"), Y > 0)
    assert given.frame["knowledge_uncertainty"].isna().all()
    assert (given.frame["data_uncertainty"] > 0).all()
    assert np.isnan(given.scored.scores.auroc.knowledge)


@pytest.mark.parametrize("words", [("False", "True"), ("FALSE", "TRUE"), ("false", "true")])
@pytest.mark.parametrize("is_chosen", [False, True])
def test_true_and_false_are_one_and_zero_to_a_model_of_numbers(words, is_chosen):
    rows = X.assign(new=RNG.random(150) > 0.4)
    booster = boosted(rows, Y + 2 * rows["new"])
    written = rows.assign(new=np.array(words)[rows["new"].astype(int)], y=Y + 2 * rows["new"])
    table = as_table(written)
    schema = infer_schema(table)
    assert schema.column("new").kind == "category"
    if is_chosen:
        schema = edit_schema(table, schema, kinds={"new": "numeric"})
    model = read_model(booster.model_to_string().encode())
    second = as_table(written.iloc[:20], to_score=True)
    for new, n_rows in ((None, 150), (second, 20)):
        given = score_with_model(table, "y", model, schema=schema, new=new)
        expected = booster.predict(rows)[:n_rows]
        np.testing.assert_allclose(given.frame["prediction"], expected, rtol=SAME_SUM)
    sentence = 'True and False of the column "new" are 1 and 0 to the model.'
    assert (sentence in given.notices) != is_chosen


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_new_rows_without_a_target_are_predicted(kind):
    is_class = kind == "classification"
    booster = boosted(X, Y > 0, objective="binary") if is_class else boosted(X)
    target = (Y > 0) if is_class else Y
    new = as_table(X.iloc[:20], to_score=True)
    given = scored(X, booster, target, new=new, task=kind)
    column = "p_True" if is_class else "prediction"
    np.testing.assert_allclose(given.frame[column], booster.predict(X)[:20], rtol=SAME_SUM)
    assert len(given.frame) == 20
    assert "error" not in given.frame


def test_true_and_false_beside_words_are_still_told_apart():
    kinds = pd.Categorical(RNG.choice(["x", "y", "z"], 150))
    rows = X.assign(new=RNG.random(150) > 0.4, kind=kinds)
    booster = boosted(rows, Y + rows["new"] + kinds.codes)
    given = scored(rows, booster, Y + rows["new"] + kinds.codes)
    np.testing.assert_allclose(given.frame["prediction"], booster.predict(rows), rtol=SAME_SUM)


def test_a_name_that_the_library_has_rewritten_is_told_from_another_column():
    rows = X.rename(columns={"a": "floor area"})
    booster = boosted(rows)
    both = rows.assign(floor_area=X["a"].to_numpy()[::-1])
    with pytest.raises(InvalidData, match='"floor area" and "floor_area"'):
        scored(both, booster)
    table = as_table(both.assign(y=Y))
    schema = edit_schema(table, infer_schema(table), used={"floor_area": False})
    model = read_model(booster.model_to_string().encode())
    given = score_with_model(table, "y", model, schema=schema)
    np.testing.assert_allclose(given.frame["prediction"], booster.predict(rows), rtol=SAME_SUM)
    assert given.matched.columns == ("floor area", "b")


def test_the_exact_name_comes_first_where_the_library_keeps_names():
    xgboost = pytest.importorskip("xgboost")
    rows = X.rename(columns={"a": "floor area"})
    booster = xgboost.train({"max_depth": 3}, xgboost.DMatrix(rows, Y), 12)
    both = rows.assign(floor_area=X["a"].to_numpy()[::-1])
    given = scored(both, bytes(booster.save_raw("json")))
    assert given.matched.columns == ("floor area", "b")
    theirs = booster.predict(xgboost.DMatrix(rows))
    np.testing.assert_allclose(given.frame["prediction"], theirs, rtol=1e-5, atol=1e-5)


def test_one_against_all_gives_probabilities_that_sum_to_one():
    booster = boosted(X, CLASSES, objective="multiclassova", num_class=3)
    given = scored(X, booster, CLASSES, task="classification")
    own = booster.predict(X)
    p = given.frame[["p_0", "p_1", "p_2"]].to_numpy()
    np.testing.assert_allclose(p, own / own.sum(axis=1, keepdims=True), rtol=SAME_SUM)
    assert any("divided by their sum" in sentence for sentence in given.notices)
    assert given.frame["knowledge_uncertainty"].isna().all()


def test_many_rounds_of_several_classes_have_novelty():
    booster = boosted(X, CLASSES, 40, objective="multiclass", num_class=3, num_leaves=3)
    given = scored(X, booster, CLASSES, task="classification")
    assert np.isfinite(given.frame["novelty"]).all()
    assert any("in 99 trees of the model" in sentence for sentence in given.notices)


@pytest.mark.parametrize("is_share", [True, False])
def test_a_sigmoid_of_shares_is_a_number_or_a_class_as_the_target_is(is_share):
    y = (1 / (1 + np.exp(-Y))).round(4) if is_share else (Y > 0).astype(int)
    booster = boosted(X, y, objective="cross_entropy")
    frame = scored(X, booster, y).frame
    column = "prediction" if is_share else "p_1"
    np.testing.assert_allclose(frame[column], booster.predict(X), rtol=SAME_SUM)


@pytest.mark.parametrize("n_splits", [1, 30])
def test_numbers_that_are_the_models_levels_are_categories(n_splits):
    codes = np.array([10, 20, 30])[np.arange(150) % 3]
    frame = X.assign(k=pd.Categorical(codes))
    booster = boosted(frame, Y + (codes if n_splits > 1 else 0.0), num_leaves=n_splits + 1)
    given = scored(X.assign(k=codes), booster)
    np.testing.assert_allclose(given.frame["prediction"], booster.predict(frame), rtol=SAME_SUM)
    sentence = 'The numbers of the column "k" are categories to the model.'
    assert sentence in given.notices


def test_an_early_stop_and_a_value_for_missing_are_told():
    xgboost = pytest.importorskip("xgboost")
    half = xgboost.DMatrix(X[:75], Y[:75])
    booster = xgboost.train(
        {"max_depth": 3, "eta": 1.0},
        half,
        40,
        verbose_eval=False,
        early_stopping_rounds=3,
        evals=[(xgboost.DMatrix(X[75:], Y[75:]), "rest")],
    )
    n_best, n_all = booster.best_iteration + 1, booster.num_boosted_rounds()
    assert n_best < n_all
    notices = " ".join(scored(X, bytes(booster.save_raw("json"))).notices)
    assert f"up to its best round, {n_best} of {n_all}, as" in notices
    assert "No file of XGBoost says which value was missing" in notices


def test_a_code_that_was_missing_to_xgboost_is_asked_for():
    xgboost = pytest.importorskip("xgboost")
    rows = X.assign(a=np.where(np.arange(150) % 5, X["a"], -999.0))
    model = xgboost.XGBRegressor(n_estimators=8, max_depth=3, missing=-999.0, n_jobs=1)
    content = bytes(model.fit(rows, Y).get_booster().save_raw("json"))
    (sentence,) = scored(rows, content).warnings
    assert 'The column "a" holds -999, far' in sentence
    assert "(--missing a=-999)" in sentence
    table = as_table(rows.assign(y=Y))
    schema = edit_schema(table, infer_schema(table), missing_values={"a": (-999,)})
    given = score_with_model(table, "y", read_model(content), schema=schema)
    np.testing.assert_allclose(given.frame["prediction"], model.predict(rows), rtol=1e-5, atol=1e-5)
    assert given.warnings == ()


def words_and_truths(is_text):
    """Categories of several kinds; CatBoost reads truths as 1 and 0 unless they are text."""
    rng = np.random.default_rng(4)
    rows = X.assign(
        k=rng.choice(["red", "blue", "Zürich", *"defgh"], 150),
        code=rng.integers(0, 3, 150),
        zip=rng.choice(["00123", "01234"], 150),
        new=rng.random(150) > 0.4,
    )
    target = Y + 2 * (rows["k"] == "red") + rows["code"] + 3 * rows["new"]
    return (rows.astype({"new": str}) if is_text else rows), target.round(3)


@pytest.mark.parametrize(
    ("form", "policy", "is_text", "loss"),
    [
        ("cbm", "SymmetricTree", False, "RMSE"),
        ("json", "Lossguide", True, "RMSEWithUncertainty"),
        ("cbm", "Depthwise", False, "MultiClass"),
    ],
)
def test_catboost_finds_the_leaves_of_categories(form, policy, is_text, loss):
    catboost = pytest.importorskip("catboost")
    rows, target = words_and_truths(is_text)
    is_class = loss == "MultiClass"
    target = pd.cut(target, 3, labels=["l", "m", "h"]).astype(str) if is_class else target
    model = catboost.CatBoost(
        {
            "iterations": 12,
            "depth": 3,
            "loss_function": loss,
            "grow_policy": policy,
            "cat_features": ["k", "code", "zip", "new"],
            "thread_count": 1,
            "verbose": False,
            "max_ctr_complexity": 2,
            "allow_writing_files": False,
        }
    ).fit(rows, target)
    content, new = saved_catboost(model, form), rows.iloc[:20].copy()
    new.loc[new.index[:3], "k"] = "never seen"
    table = as_table(rows.assign(y=target))
    second = as_table(new, to_score=True)
    source = read_model(content)
    for more, asked in ((None, rows), (second, new)):
        given = score_with_model(table, "y", source, new=more)
        kind = "Probability" if is_class else "RawFormulaVal"
        expected = model.predict(asked, prediction_type=kind)
        ours = given.rows.probabilities if is_class else given.frame["prediction"]
        expected = expected[:, 0] if loss == "RMSEWithUncertainty" else expected
        np.testing.assert_allclose(ours, expected, rtol=SAME_SUM, atol=SAME_SUM)
        assert (given.frame["knowledge_uncertainty"] > 0).any()
        assert given.warnings == ()
    sentence = 'True and False of the column "new" are 1 and 0 to the model.'
    assert (sentence in given.notices) != is_text
    gaps = rows.assign(y=target, k=rows["k"].where(rows["k"] != "red"))
    given = score_with_model(as_table(gaps), "y", source)
    assert any('"k" has empty cells' in sentence for sentence in given.warnings)
    leaves = source.source.leaf_matrix(rows)
    if form == "cbm":  # CatBoost numbers leaves anew in its JSON
        np.testing.assert_array_equal(leaves, model.calc_leaf_indexes(rows))
    with pytest.raises(InvalidData, match="of which CatBoost knows the words only"):
        source.source.leaf_matrix(np.zeros((3, 6)))
