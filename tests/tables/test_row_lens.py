"""One row of a table: the rows that decide it, its values edited."""

import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table, with_unfamiliarity
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidParameter
from gbuq_core.tables import (
    ScorePlan,
    add_unfamiliarity,
    column_curve,
    deciding_rows,
    score_edited,
    score_table,
    unfamiliarity_parts,
)

PLAN = ScorePlan(ensemble="virtual", n_trees=40, depth=3)


def nearly(value):
    """Means over members of one row and of many are sums in another order."""
    return pytest.approx(value, rel=SAME_SUM)


def make_frame(n=120):
    """A number, a category, a date, a number with gaps."""
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame = pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, n).round(4),
            "group": rng.choice(["a", "b", "c"], n, p=[0.5, 0.4, 0.1]),
            "day": days.strftime("%d.%m.%Y"),
            "gappy": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n).round(3)),
        }
    )
    frame["y"] = (3 * frame.x + (frame.group == "a") + 0.1 * rng.normal(size=n)).round(6)
    return frame


@pytest.fixture(scope="module")
def scored():
    return with_unfamiliarity(score_table(as_table(make_frame()), "y", plan=PLAN))


@pytest.fixture(scope="module")
def second():
    """Rows of a second file, which one model scores."""
    new = as_table(make_frame().head(6), to_score=True)
    return with_unfamiliarity(score_table(as_table(make_frame()), "y", plan=PLAN, new=new))


def classified(plan=PLAN):
    frame = make_frame()
    return score_table(
        as_table(frame.assign(y=np.where(frame.y > 0, "up", "down"))), "y", plan=plan
    )


# The rows that decide.


def shared_leaves(scored, row):
    """Trees in which each row that the model learnt from lies in the leaf of this row, by hand."""
    model, rows = scored.models[scored.model_of_row[row]]
    trees = int(model.member_trees()[-1])
    used = [k * model.n_trees_ + t for k in range(model.plan_.n_models) for t in range(trees)]
    own = model.leaf_indices(scored.scored.X.iloc[[row]])[0]
    theirs = model.leaf_indices(scored.training.X.iloc[rows])
    return {
        int(place): sum(int(leaves[t] == own[t]) for t in used)
        for place, leaves in zip(rows, theirs, strict=True)
    }, len(used)


@pytest.mark.parametrize("ensemble", ["virtual", "independent"])
def test_affinity_is_the_number_of_leaves_in_common(scored, ensemble):
    if ensemble == "independent":
        plan = replace(PLAN, ensemble="independent", n_members=3)
        scored = score_table(as_table(make_frame()), "y", plan=plan)
    row = 17
    counted, n_trees = shared_leaves(scored, row)
    deciding = deciding_rows(scored, row, k=10)
    expected = sorted(counted, key=lambda place: (-counted[place], place))[:10]
    assert [near.row for near in deciding.rows] == expected
    assert [near.affinity for near in deciding.rows] == [counted[place] for place in expected]
    assert deciding.n_trees == n_trees
    assert [near.share for near in deciding.rows] == [counted[p] / n_trees for p in expected]
    assert [near.target for near in deciding.rows] == [scored.training.y[p] for p in expected]
    assert row not in expected  # out of fold: its model did not learn from it


def test_what_differs_by_a_std_or_by_name(scored):
    row = 17
    deciding = deciding_rows(scored, row, k=20)
    assert deciding.columns == ("x", "group", "day", "gappy")
    frame = make_frame()
    learnt = frame.iloc[scored.models[scored.model_of_row[row]].rows]
    days = pd.to_datetime(frame.day, format="%d.%m.%Y")
    for near in deciding.rows:
        own, other = frame.iloc[row], frame.iloc[near.row]
        gap = abs((days[row] - days[near.row]).days)
        spread = (days[learnt.index] - days.min()).dt.days.std(ddof=0)
        gappy = [own.gappy, other.gappy]
        apart = abs(gappy[0] - gappy[1]) > learnt.gappy.std(ddof=0)
        assert near.differs == (
            abs(own.x - other.x) > learnt.x.std(ddof=0),
            own.group != other.group,
            gap > spread,
            apart if not np.isnan(gappy).any() else np.isnan(gappy).sum() == 1,
        )
        assert near.cells[0] == repr(other.x).removesuffix(".0").replace("np.float64(", "").strip(
            ")"
        )
        assert near.cells[1] == other.group
        assert near.cells[2] == str(days[near.row].date())
    assert not any(deciding_rows(scored, row, k=20, differs=1e9).rows[0].differs[::2][:1])


def test_a_row_does_not_decide_about_itself(monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.settling.MAX_ROWS_OUT_OF_FOLD", 60)
    scored = score_table(as_table(make_frame()), "y", plan=PLAN)
    row = int(scored.models[0].rows[0])
    assert scored.protocol == "held_out"
    deciding = deciding_rows(scored, row, k=200)
    assert len(deciding.rows) == len(scored.models[0].rows) - 1
    assert row not in [near.row for near in deciding.rows]


def test_classes_and_methods_without_boosted_trees():
    deciding = deciding_rows(classified(), 3, k=4)
    assert {near.target for near in deciding.rows} <= {"up", "down"}
    frame = make_frame()[["x", "y"]]
    other = score_table(as_table(frame), "y", plan=replace(PLAN, method="knn"))
    with pytest.raises(InvalidParameter, match="boosted trees"):
        deciding_rows(other, 0)
    assert score_edited(other, 0, {}).prediction == nearly(other.frame.prediction[0])


# Edited.


def test_without_an_edit_it_is_the_row(scored, second):
    for table in (scored, second):
        for row in (0, 3, 5):
            edited = score_edited(table, row, {})
            frame = table.frame.iloc[row]
            assert edited.prediction == nearly(frame.prediction)
            assert edited.uncertainty.total[0] == nearly(frame.total_uncertainty)
            assert edited.unfamiliarity == frame.unfamiliarity
            assert edited.times_beyond == frame.times_beyond
            assert edited.notes == ()
            assert edited.parts == unfamiliarity_parts(table, row)
            ranks = table.unfamiliarity.rows.ranks[row]
            np.testing.assert_array_equal([part.rank for part in edited.parts], ranks)


def test_it_is_what_a_second_file_with_such_a_row_gets(second):
    edits = {"x": 0.123, "group": "never", "day": datetime.date(2021, 12, 24), "gappy": None}
    rows = make_frame().head(6).astype({"group": object, "day": object})
    rows.loc[2, ["x", "group", "day", "gappy"]] = [0.123, "never", "24.12.2021", np.nan]
    other = score_table(as_table(make_frame()), "y", plan=PLAN, new=as_table(rows, to_score=True))
    other = add_unfamiliarity(other, second.unfamiliarity)  # the same measures, other rows
    judged = second.unfamiliarity.estimator.judge(other.scored.X)
    edited = score_edited(second, 2, edits)
    frame = other.frame.iloc[2]
    assert edited.prediction == nearly(frame.prediction)
    for part, name in zip(edited.uncertainty, ("total", "data", "knowledge"), strict=True):
        assert part[0] == nearly(frame[f"{name}_uncertainty"])
    assert edited.unfamiliarity == judged.score[2]
    assert edited.times_beyond == judged.times_beyond[2]
    assert frame.unseen_level
    assert dict(edited.notes)["group"] == 'The training rows have no "never".'
    assert dict(edited.notes)["gappy"] == "Missing."
    assert "Above all training values: they end at 2021-" in dict(edited.notes)["day"]


def test_cells_are_read_as_in_the_file(scored):
    plain = score_edited(scored, 4, {"x": 0.25, "day": datetime.date(2021, 3, 4)})
    for x in ("0.25", " 0,25 ", np.float32(0.25)):
        for day in ("04.03.2021", "2021-03-04", np.datetime64("2021-03-04")):
            assert score_edited(scored, 4, {"x": x, "day": day})[:3] == plain[:3]
    missing = score_edited(scored, 4, {"x": None, "group": "NA", "day": ""})
    assert [note for _, note in missing.notes] == [
        "Missing, which it never is in the training rows."
    ] * 3
    assert score_edited(scored, 4, {"x": None}).parts[0].what == "missing"
    assert score_edited(scored, 4, {"x": -7}).notes[0][1].startswith("Below all training values")
    assert score_edited(scored, 4, {"x": 1e6}).unfamiliarity == 1.0


@pytest.mark.parametrize(
    ("edits", "part"),
    [
        ({"x": "many"}, "is not a number"),
        ({"x": "1_000"}, "is not a number"),
        ({"x": float("inf")}, "finite"),
        ({"x": "-inf"}, "finite"),
        ({"x": datetime.date(2021, 1, 1)}, "is not a number"),
        ({"day": "soon"}, "is not a date"),
        ({"day": 3.5}, "is not a date"),
        ({"day": "31.02.2021"}, "is not a date"),
        ({"y": 1.0}, "cannot be edited"),
        ({"nope": 1.0}, "cannot be edited"),
    ],
)
def test_what_cannot_be_a_cell_is_a_sentence(scored, edits, part):
    with pytest.raises(InvalidParameter, match=part) as caught:
        score_edited(scored, 4, edits)
    assert str(caught.value).endswith(".")


def test_numbers_chosen_as_categories_are_one_however_they_are_written():
    from gbuq_core.tables import edit_schema, infer_schema

    table = as_table(make_frame()[["x", "y"]].assign(code=[k % 4 for k in range(120)]))
    schema = edit_schema(table, infer_schema(table), kinds={"code": "category"})
    scored = score_table(table, "y", schema=schema, plan=replace(PLAN, n_trees=5))
    edited = {score_edited(scored, 6, {"code": v}).prediction for v in (2, 2.0, "2", "2.0", " 2 ")}
    assert len(edited) == 1
    assert edited.pop() == nearly(scored.frame.prediction[6])
    assert score_edited(scored, 6, {"code": 9}).notes == (
        ("code", 'The training rows have no "9".'),
    )


@pytest.mark.parametrize("column", ["x", "group", "day", "gappy"])
def test_a_curve_is_the_row_edited_value_by_value(scored, column):
    other = {"x": 0.5} if column != "x" else {"group": "b"}
    curve = column_curve(scored, 7, column, {**other, column: None}, n_values=9)
    frame = make_frame()
    assert len(curve.values) == len(curve.texts)
    if column == "group":
        assert curve.values == ("a", "b", "c")
    else:
        assert list(curve.values) == sorted(curve.values)
        assert 9 <= len(curve.values) <= 10
    if column == "x":
        assert frame.x[7] in curve.values
    for k, value in enumerate(curve.values):
        for given in (value, curve.texts[k]):
            edited = score_edited(scored, 7, {**other, column: given})
            assert edited.prediction == nearly(curve.loc[k])
            assert (edited.lower, edited.upper) == nearly((curve.lower[k], curve.upper[k]))
            assert edited.uncertainty.total[0] == nearly(curve.uncertainty.total[k])
            assert edited.unfamiliarity == curve.unfamiliarity[k]


def test_curves_of_classes_have_probabilities():
    curve = column_curve(classified(), 7, "x", n_values=5)
    np.testing.assert_allclose(curve.probabilities.sum(axis=1), 1.0, rtol=SAME_SUM)
    np.testing.assert_array_equal(curve.loc, curve.probabilities.argmax(axis=1))
    assert np.isnan(curve.lower).all()
    assert np.isnan(curve.unfamiliarity).all()
