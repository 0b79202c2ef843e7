"""A change that is enough: planted answers, properties, and every kind of model by one body."""

from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_parts import as_table
from tolerances import CANCELLED

from gbuq_core import find_sufficient_change, read_model
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.tables import ScorePlan, change_row, score_table, score_with_model
from gbuq_core.uncertainty import Uncertainty

RNG = np.random.default_rng(0)
CLOUD = RNG.uniform(0, 10, (2000, 4)).round(2)
CORNER = [9.03, 8.11, 5.02, 1.17]
QUICK = {"n_trees": 40, "depth": 3, "n_folds": 2}
PLANS = {
    "stacked": ScorePlan(method="stacked", n_members=2, **QUICK),
    "members": ScorePlan(method="sglb", ensemble="independent", n_members=2, **QUICK),
    "truncations": ScorePlan(method="sglb", ensemble="virtual", **QUICK),
    "catboost": ScorePlan(method="sgb", engine="catboost", ensemble="virtual", **QUICK),
    "forest": ScorePlan(method="quantile", n_folds=2),
}


def noisy_where(noisy):
    """What a model tells that is sure of all rows but the noisy ones."""

    def predict(X):
        total = np.where(noisy(X), 4.0, 0.01)
        return Uncertainty(total, total, np.zeros(len(total)))

    return predict


def test_one_column_is_enough_and_comes_close_to_the_border():
    predict = noisy_where(lambda X: X[:, 1] > 5)
    change = find_sufficient_change(predict, [CORNER], CLOUD, 0.5)
    assert (change.enough, change.columns, change.before) == (True, (1,), (8.11,))
    assert 4.9 < change.after[0] <= 5.0  # 2,000 values, of which some dozen are tried on the way
    assert change.size == pytest.approx((8.11 - change.after[0]) / CLOUD[:, 1].std(), rel=CANCELLED)
    assert change.uncertainty_before.total[0] == 4.0
    assert change.uncertainty_after.total[0] == 0.01


def test_two_columns_are_found_where_one_after_the_other_finds_nothing():
    predict = noisy_where(lambda X: (X[:, 1] > 3) | (X[:, 3] < 6))
    change = find_sufficient_change(predict, [CORNER], CLOUD, 0.5)
    assert change.columns == (1, 3)
    assert 2.0 < change.after[0] <= 3.0
    assert 6.0 <= change.after[1] < 7.0


def test_nothing_is_enough():
    for noisy in (
        lambda X: np.ones(len(X), bool),
        lambda X: (X[:, 0] > 5) | (X[:, 1] > 5) | (X[:, 3] < 5),  # three are needed
    ):
        change = find_sufficient_change(noisy_where(noisy), [CORNER], CLOUD, 0.5)
        assert (change.enough, change.columns, change.size) == (False, (), 0.0)
        assert change.n_tried > 100
        assert change.row.to_numpy().tolist() == [CORNER]
        assert change.uncertainty_after == change.uncertainty_before


def test_a_row_that_is_sure_enough_is_left_alone():
    change = find_sufficient_change(noisy_where(lambda X: X[:, 1] > 9), [CORNER], CLOUD, 0.5)
    assert (change.enough, change.columns, change.n_tried) == (True, (), 0)


def test_columns_that_are_fixed_keep_their_values():
    predict = noisy_where(lambda X: (X[:, 1] > 5) & (X[:, 2] > 2))
    assert find_sufficient_change(predict, [CORNER], CLOUD, 0.5, fixed=[1]).columns == (2,)
    assert not find_sufficient_change(predict, [CORNER], CLOUD, 0.5, fixed=[1, 2]).enough
    assert not find_sufficient_change(predict, [CORNER], CLOUD, 0.5, fixed=range(4)).enough


@pytest.mark.parametrize("n_columns", [1, 3, 40, 300])
def test_the_number_of_predictions_is_bounded(n_columns):
    rows = np.random.default_rng(1).normal(size=(1500, n_columns))
    asked = []

    def predict(X):
        asked.append(len(X))
        return Uncertainty(*np.ones((3, len(X))))

    assert not find_sufficient_change(predict, rows[:1], rows, 0.5).enough
    assert sum(asked) <= 2000  # 256 rows, 300 and 1,300 changes, and those on the way


def frame_of(n=600, seed=3):
    """Rows of kind "b" and rows without a size are noisy, and others where x is above 0."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"x": rng.uniform(-1, 1, n).round(4), "size": rng.uniform(0, 1, n)})
    frame.loc[rng.random(n) < 0.2, "size"] = np.nan
    frame["kind"] = pd.Categorical(rng.choice(["a", "b"], n))
    frame["flag"] = rng.random(n) < 0.5
    return frame


def test_categories_change_and_gaps_are_filled_but_never_made():
    frame = frame_of()
    row = frame[(frame["kind"] == "b") & frame["size"].notna()].iloc[[0]]
    change = find_sufficient_change(noisy_where(lambda X: X["kind"] == "b"), row, frame, 0.5)
    assert (change.columns, change.before, change.after, change.size) == (
        ("kind",),
        ("b",),
        ("a",),
        1,
    )
    row = frame[frame["size"].isna()].iloc[[0]]
    change = find_sufficient_change(noisy_where(lambda X: X["size"].isna()), row, frame, 0.5)
    assert (change.columns, change.size) == (("size",), 1.0)
    assert change.after[0] in set(frame["size"])
    row = frame[frame["size"].notna()].iloc[[0]]
    calm = noisy_where(lambda X: X["size"].notna())
    assert not find_sufficient_change(calm, row, frame, 0.5).enough
    # A category that no training row has is left where it is, or goes.
    row = row.assign(kind=pd.Categorical(["new"]))
    change = find_sufficient_change(noisy_where(lambda X: X["kind"] == "new"), row, frame, 0.5)
    assert (change.columns, change.before) == (("kind",), ("new",))
    row = row.assign(flag=True)
    change = find_sufficient_change(noisy_where(lambda X: X["flag"]), row, frame, 0.5)
    assert (change.columns, change.after, change.size) == (("flag",), (False,), 1.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.02, 0.9))
def test_what_is_told_holds_and_every_value_is_one_that_a_row_has(seed, share):
    rng = np.random.default_rng(seed)
    frame, weights = frame_of(200, seed), rng.normal(size=4)
    width, frequency = rng.uniform(0.2, 2.0), rng.uniform(1.0, 6.0)

    def predict(X):
        parts = [X["x"], X["size"].fillna(1.5), X["kind"] == "b", X["flag"]]
        total = np.abs(np.sin(frequency * (np.stack(parts, axis=1).astype(float) @ weights)))
        return Uncertainty(width * total, width * total, 0.0 * total)

    most = float(np.quantile(predict(frame).total, share))
    row = frame.iloc[[int(rng.integers(len(frame)))]]
    change = find_sufficient_change(predict, row, frame, most)
    assert len(change.columns) <= 2
    assert (predict(change.row).total[0] <= most) == change.enough
    for name in frame:
        own, new = row[name].iloc[0], change.row[name].iloc[0]
        if name in change.columns:
            assert new in set(frame[name])
            assert new != own
        else:
            assert (new == own) or (pd.isna(new) and pd.isna(own))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"row": CLOUD[:2]}, "one row"),
        ({"row": CLOUD[:1, :3]}, "columns of X"),
        ({"most": -1.0}, "most"),
        ({"most": np.nan}, "most"),
        ({"kind": "doubt"}, "kind"),
        ({"fixed": ["height"]}, "height"),
        ({"fixed": [4]}, "fixed"),
    ],
)
def test_impossible_arguments_are_refused(edit, message):
    arguments = {"row": [CORNER], "X": CLOUD, "most": 0.1} | edit
    with pytest.raises((InvalidParameter, InvalidData), match=message):
        find_sufficient_change(noisy_where(lambda X: X[:, 0] > 5), **arguments)


def test_an_uncertainty_that_the_model_does_not_tell_is_refused():
    def predict(X):
        return Uncertainty(*np.ones((2, len(X))), np.full(len(X), np.nan))

    with pytest.raises(InvalidParameter, match="no knowledge uncertainty"):
        find_sufficient_change(predict, [CORNER], CLOUD, 0.1, "knowledge")


def table_of(task, n=300):
    """Rows of group "b" with x above 0 are noisy; the day says nothing."""
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame = pd.DataFrame({"x": rng.uniform(-1, 1, n).round(4), "z": rng.normal(size=n).round(4)})
    frame["group"] = rng.choice(["a", "b"], n)
    frame["day"] = days.strftime("%Y-%m-%d")
    noisy = (frame.group == "b") & (frame.x > 0)
    frame["y"] = (frame.x + rng.normal(0, np.where(noisy, 2.0, 0.05))).round(6)
    if task == "classification":
        frame["y"] = np.where(frame.y > 0.5, "high", "low")
    return frame


def external(task):
    """The table by a model of LightGBM, which reads two of its columns."""
    frame = table_of(task)
    y = frame["y"] if task == "regression" else (frame["y"] == "high").astype(int)
    quiet = {"verbose": -1, "num_leaves": 8, "min_data_in_leaf": 5}
    quiet["objective"] = "regression" if task == "regression" else "binary"
    booster = lightgbm.train(quiet, lightgbm.Dataset(frame[["x", "z"]], y), 40)
    model = read_model(booster.model_to_string().encode())
    return score_with_model(as_table(frame), "y", model, task=task).scored


CASES = [(plan, task) for plan in PLANS for task in ("regression", "classification")]
CASES = [case for case in CASES if case != ("forest", "classification")]


@pytest.fixture(
    scope="module",
    params=[*CASES, *(("external", task) for task in ("regression", "classification"))],
    ids="-".join,
)
def scored(request):
    plan, task = request.param
    if plan == "external":
        return external(task)
    return score_table(as_table(table_of(task)), "y", plan=PLANS[plan])


def test_every_model_is_changed_by_the_same_search(scored):
    total = scored.predictions.uncertainty.total
    row, most = int(np.argmax(total)), float(np.quantile(total, 0.5))
    change, before, after = change_row(scored, row, most)
    assert change.enough
    assert 1 <= len(change.columns) <= 2
    assert change.uncertainty_before.total[0] == pytest.approx(total[row], rel=CANCELLED)
    assert change.uncertainty_after.total[0] <= most
    learnt = scored.training.X.iloc[scored.models[int(scored.model_of_row[row])].rows]
    for name, new in zip(change.columns, change.after, strict=True):
        assert new in set(learnt[name])
    kept = change_row(scored, row, most, fixed=change.columns).change
    assert not {*kept.columns} & {*change.columns}
    for prediction in (before, after):
        assert (prediction in ("high", "low")) == bool(scored.training.target.classes)
    if not scored.training.target.classes:
        assert before == pytest.approx(scored.predictions.loc[row], rel=CANCELLED)


def test_dates_stay_and_other_words_are_refused():
    scored = score_table(as_table(table_of("regression")), "y", plan=PLANS["members"])
    total = scored.predictions.uncertainty.total
    row, most = int(np.argmax(total)), float(np.quantile(total, 0.1))
    change = change_row(scored, row, most, fixed=["x", "z", "group"]).change
    assert not change.enough
    assert change.n_tried == 0  # the day is several columns to the model
    with pytest.raises(InvalidParameter, match="row"):
        change_row(scored, len(scored.frame), 1.0)
    with pytest.raises(InvalidParameter, match="height"):
        change_row(scored, 0, 1.0, fixed=["height"])
    with pytest.raises(InvalidParameter, match="kind"):
        change_row(scored, 0, 1.0, kind="doubt")
    on_logs = replace(PLANS["members"], scale="log")
    frame = table_of("regression")
    scored = score_table(as_table(frame.assign(y=np.exp(frame.y))), "y", plan=on_logs)
    total = scored.predictions.uncertainty.total
    most = float(np.quantile(total, 0.5))
    assert change_row(scored, int(np.argmax(total)), most).change.uncertainty_after.total[0] <= most
