"""One row: its members, its place among the training rows, and what its doubt hangs on."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from table_parts import as_parquet, as_table
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.tables import (
    ScorePlan,
    edit_schema,
    explain_row,
    infer_schema,
    read_table,
    score_table,
)
from gbuq_core.uncertainty import decompose_regression

PLAN = ScorePlan(n_trees=60, depth=3, learning_rate=0.1, ensemble="independent", n_members=4)


def make_frame(n=240):
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame = pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, n),
            "noise": rng.normal(size=n),
            "group": rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1]),
            "day": days.strftime("%Y-%m-%d"),
        }
    )
    frame["y"] = 3 * frame.x + (frame.group == "a") + 0.1 * rng.normal(size=n)
    frame.loc[7, "x"] = np.nan
    frame.loc[9, "group"] = None
    return frame.round(6)


def test_the_date_of_a_typed_file_is_told_as_a_date():
    frame = make_frame(60).assign(day=pd.date_range("2024-02-29", periods=60))
    plan = replace(PLAN, n_trees=10, ensemble="virtual", n_members=None)
    table = score_table(read_table(as_parquet(frame)), "y", plan=plan)
    effects = {effect.column: effect.value for effect in explain_row(table, 0).effects}
    assert effects["day"] == "2024-02-29"


@pytest.fixture(scope="module")
def scored():
    return score_table(as_table(make_frame()), "y", plan=PLAN)


@pytest.fixture(scope="module")
def classified():
    frame = make_frame()
    return score_table(
        as_table(frame.assign(y=np.where(frame.y > 0, "up", "down"))), "y", plan=PLAN
    )


def test_members_and_uncertainty_are_those_of_the_row(scored):
    explained = explain_row(scored, 3)
    frame = scored.frame
    assert len(explained.member_loc) == 4
    assert explained.member_loc.mean() == pytest.approx(frame.prediction[3])
    assert (explained.member_scale**2).mean() == pytest.approx(frame.data_uncertainty[3])
    assert explained.uncertainty.knowledge[0] == pytest.approx(frame.knowledge_uncertainty[3])
    assert explained.member_probabilities.size == 0


def test_members_of_a_classification(classified):
    explained = explain_row(classified, 3)
    assert explained.classes == ("down", "up")
    assert explained.member_probabilities.shape == (4, 2)
    np.testing.assert_allclose(
        explained.member_probabilities.mean(axis=0),
        classified.predictions.probabilities[3],
        rtol=SAME_SUM,
    )
    assert explained.member_loc.size == 0


def test_effects_of_two_columns_are_shapley_values_by_hand():
    """Both orders are gone through, so that nothing but the training rows is drawn."""
    scored = score_table(as_table(make_frame()[["x", "group", "y"]]), "y", plan=PLAN)
    row, n = 11, 16
    explained = explain_row(scored, row, n_background=n, seed=3)
    assert explained.n_background == n
    model = scored.models[scored.model_of_row[row]]
    chosen = np.random.default_rng(3).choice(model.rows, n, replace=False)
    X = scored.training.X

    def uncertainty(x, group):
        copy = X.iloc[[row]].copy()
        copy["x"], copy["group"] = X["x"].iloc[[x]].array, X["group"].iloc[[group]].array
        members = model.estimator.predict_members(copy)
        return np.ravel(decompose_regression(members[..., 0], members[..., 1]))

    expected = dict.fromkeys(("x", "group"), 0.0)
    for other in chosen:
        own, usual = uncertainty(row, row), uncertainty(other, other)
        x_first, group_first = uncertainty(row, other), uncertainty(other, row)
        expected["x"] += 0.5 * (x_first - usual + own - group_first) / n
        expected["group"] += 0.5 * (group_first - usual + own - x_first) / n
    for effect in explained.effects:
        # Sums of 32 numbers in another order: a few rounding errors of their size.
        np.testing.assert_allclose(
            [effect.total, effect.data, effect.knowledge],
            expected[effect.column],
            rtol=CANCELLED,
            atol=ZERO,
        )


def assert_adds_up(explained):
    """The effects of all columns are what the row has more than usual rows, as is promised."""
    for kind in ("total", "data", "knowledge"):
        own, usual = (
            float(getattr(part, kind)[0]) for part in (explained.uncertainty, explained.usual)
        )
        effects = sum(getattr(effect, kind) for effect in explained.effects)
        assert effects == pytest.approx(own - usual, abs=1e-9 * max(own, usual))
    if not explained.classes:
        effects = sum(effect.width for effect in explained.effects)
        assert effects == pytest.approx(
            explained.width - explained.usual_width, abs=1e-9 * explained.width
        )
        assert explained.width > 0.0


def test_effects_add_up(scored, classified):
    for table in (scored, classified):
        for row in (7, 9, 11):
            assert_adds_up(explain_row(table, row))
    frame = scored.frame.iloc[11]
    assert explain_row(scored, 11).width == pytest.approx(frame.upper_90 - frame.lower_90)


def test_effects_are_sorted_by_knowledge_and_depend_on_the_seed_only(scored):
    explained = explain_row(scored, 11)
    sizes = [abs(effect.knowledge) for effect in explained.effects]
    assert sizes == sorted(sizes, reverse=True)
    # As text, since a NaN does not equal itself.
    assert str(explain_row(scored, 11).effects) == str(explained.effects)
    assert str(explain_row(scored, 11, n_background=8, seed=1).effects) != str(explained.effects)


def test_a_rare_level_is_what_the_doubt_hangs_on():
    """Four rows that contradict each other, of which each member sees its own half."""
    frame = make_frame().drop(columns=["day"])
    rare = frame.tail(4).assign(group="rare", y=[5.0, 15.0, 5.0, 15.0])
    table = as_table(pd.concat([frame.iloc[:-4], rare]))
    # All trees: a mean that stops early has not learnt what four rows say.
    plan = replace(PLAN, method="sgb", stopping=None)
    scored = score_table(table, "y", new=as_table(rare), plan=plan)
    effects = explain_row(scored, 0).effects
    assert effects[0].column == "group"
    assert effects[0].share < 2.0
    assert effects[0].knowledge > 0.5 * scored.frame.knowledge_uncertainty[0]


def test_a_column_that_no_tree_uses_has_no_effect():
    frame = make_frame()[["x", "y"]].assign(flat=[0.0, 1.0] * 120)
    frame["y"] = np.sign(frame.x.fillna(0.0))
    plan = replace(PLAN, n_trees=1, depth=1, method="sgb")
    scored = score_table(as_table(frame), "y", task="regression", plan=plan)
    effects = {effect.column: effect for effect in explain_row(scored, 0).effects}
    assert effects["flat"][5:] == (0.0, 0.0, 0.0, 0.0)
    assert effects["x"].data != 0.0


def test_places_among_the_training_rows(scored):
    row = 20
    effects = {effect.column: effect for effect in explain_row(scored, row).effects}
    learnt = scored.training.X.iloc[scored.models[scored.model_of_row[row]].rows]
    value = scored.training.X["x"].iloc[row]
    known = learnt["x"].dropna()
    assert effects["x"].percentile == pytest.approx(100 * (known < value).mean())
    assert np.isnan(effects["x"].share)
    group = scored.frame.group[row]
    assert effects["group"].share == pytest.approx(100 * (learnt["group"] == group).mean())
    assert np.isnan(effects["group"].percentile)
    assert effects["group"].value == group
    assert effects["day"].value == scored.frame.day[row]


def test_missing_cells(scored):
    effects = {effect.column: effect for effect in explain_row(scored, 7).effects}
    learnt = scored.training.X.iloc[scored.models[scored.model_of_row[7]].rows]
    assert effects["x"].is_missing
    assert effects["x"].value == ""
    assert effects["x"].share == pytest.approx(100 * learnt["x"].isna().mean())
    assert {e.column: e.is_missing for e in explain_row(scored, 9).effects}["group"]


def test_a_level_that_training_did_not_have():
    new = make_frame().head(5).assign(group="never")
    scored = score_table(as_table(make_frame()), "y", new=as_table(new), plan=PLAN)
    effect = {effect.column: effect for effect in explain_row(scored, 2).effects}["group"]
    assert (effect.value, effect.share) == ("never", 0.0)


def test_the_cell_of_a_renamed_column_is_shown():
    frame = make_frame()[["x", "noise", "y"]].rename(columns={"noise": "prediction"})
    scored = score_table(as_table(frame), "y", plan=replace(PLAN, n_trees=5))
    effects = {effect.column: effect for effect in explain_row(scored, 4).effects}
    assert float(effects["prediction"].value) == frame.prediction[4]


@pytest.mark.parametrize("row", [-1, 240, 1.5, "3"])
def test_rows_that_do_not_exist_are_refused(scored, row):
    with pytest.raises(InvalidParameter, match="row must be"):
        explain_row(scored, row)


def test_categories_chosen_for_numbers_can_be_explained():
    table = as_table(make_frame()[["x", "y"]].assign(code=[k % 4 for k in range(240)]))
    schema = edit_schema(table, infer_schema(table), kinds={"code": "category"})
    scored = score_table(table, "y", schema=schema, plan=replace(PLAN, n_trees=5))
    effects = {effect.column: effect for effect in explain_row(scored, 6).effects}
    assert (effects["code"].value, effects["code"].is_missing) == ("2", False)


def test_a_row_of_a_method_without_members():
    scored = score_table(as_table(make_frame(80).dropna()), "y", plan=ScorePlan(method="gp"))
    explained = explain_row(scored, 3, n_background=8)
    assert len(explained.member_loc) == 0
    for kind, part in zip(("total", "data", "knowledge"), explained.uncertainty, strict=True):
        # One row's matrix products sum in another order than those of all rows, and the
        # covariance's condition, up to 1e6, magnifies eps in what they leave of the variance.
        np.testing.assert_allclose(part, scored.frame[f"{kind}_uncertainty"][3:4], rtol=1e-6)
    assert max(abs(effect.total) for effect in explained.effects) > 0
