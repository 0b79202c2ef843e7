"""Rows split by groups and by time: who learns from whom, and when it is impossible."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_parts import as_table

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.tables import (
    ScorePlan,
    edit_schema,
    held_out,
    infer_schema,
    prepare_training,
    score_table,
)
from gbuq_core.tables.clocks import halves
from gbuq_core.tables.splitting import (
    CHAIN,
    LAST_FIFTH,
    assign_groups,
    chain_blocks,
    describe_split,
    hold_out_groups,
)

FAST = ScorePlan(ensemble="virtual", n_trees=30, depth=3, learning_rate=0.1, max_bins=16)
BY_GROUP = replace(FAST, split="group", split_column="who")
BY_TIME = replace(FAST, split="time", split_column="day")


def frame_of(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    who = rng.integers(0, 12, n)
    days = pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.permutation(n // 2).repeat(2), "D")
    return pd.DataFrame(
        {
            "x": x,
            "who": [f"p{k}" for k in who],
            "day": days.strftime("%Y-%m-%d"),
            "y": x + 0.3 * who + rng.normal(0, 0.2, n),
        }
    )


groups_and_targets = st.integers(2, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 8), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=n, max_size=n),
        st.sampled_from([0, 3]),
        st.integers(0, 3),
    )
)


@settings(max_examples=100)
@given(groups_and_targets)
def test_no_group_is_in_two_folds(case):
    groups, y, n_classes, seed = (np.array(part) for part in case)
    folds = assign_groups(groups, y, int(n_classes), int(seed), 5)
    with_target = {g for g, value in zip(groups, y, strict=True) if not np.isnan(value)}
    for group in np.unique(groups):
        own = set(folds[groups == group])
        assert len(own) == 1
        assert (own == {-1}) == (group not in with_target)
    assert set(folds) - {-1} == set(range(min(5, len(with_target))))


@settings(max_examples=50)
@given(st.lists(st.integers(1, 6), min_size=10, max_size=40), st.integers(0, 3))
def test_folds_of_small_groups_have_nearly_as_many_rows(sizes, seed):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    folds = assign_groups(groups, np.ones(len(groups)), 0, seed, 5)
    n_rows = np.bincount(folds)
    assert n_rows.max() - n_rows.min() <= max(sizes)


@settings(max_examples=100)
@given(groups_and_targets)
def test_about_a_fifth_is_held_out_in_whole_groups(case):
    groups, y, n_classes, seed = (np.array(part) for part in case)
    known = ~np.isnan(y)
    n_groups = len(set(groups[known]))
    if n_groups < 2:
        return
    held = hold_out_groups(groups, y, int(n_classes), int(seed))
    assert held.any()
    assert not held[~known].any()
    assert not held[known].all()
    assert not set(groups[held]) & set(groups[known & ~held])
    if n_groups >= 4:
        assert len(set(groups[held])) >= 2


times_and_targets = st.integers(12, 60).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-1, 30), min_size=n, max_size=n),
        st.lists(st.sampled_from([0.0, 1.0, 2.0, np.nan]), min_size=n, max_size=n),
        st.sampled_from([CHAIN, LAST_FIFTH]),
    )
)


@settings(max_examples=200)
@given(times_and_targets)
def test_blocks_follow_each_other_in_time(case):
    times, y, starts = np.array(case[0]), np.array(case[1]), case[2]
    try:
        chain = chain_blocks(times, y, starts, "day")
    except InvalidData:
        return
    assert ((chain.block < 0) == (times < 0)).all()
    for number in (*([] if chain.chooses is None else [chain.chooses]), *chain.judged):
        mine, learnt = chain.block == number, (chain.block >= 0) & (chain.block < number)
        assert times[mine].min() > times[learnt].max()
        assert np.ptp(y[learnt & ~np.isnan(y)]) > 0
    assert chain.chooses is None or chain.chooses < chain.judged[0]
    assert chain.judged[-1] == chain.block.max()


def models_with_rows(scored):
    """Each model with the held-out rows that it judged."""
    if scored.measured:
        return [(part.model, part.rows) for part in scored.measured]
    return [
        (model, np.flatnonzero(scored.held & (scored.model_of_row == number)))
        for number, model in enumerate(scored.models)
    ]


@pytest.mark.parametrize("protocol", ["out_of_fold", "held_out", "new_file"])
def test_by_group_no_model_has_learnt_from_the_group_that_it_judges(protocol, monkeypatch):
    if protocol == "held_out":
        monkeypatch.setattr("gbuq_core.tables.settling.MAX_ROWS_OUT_OF_FOLD", 50)
    frame = frame_of()
    frame.loc[[3, 4], "who"] = None
    frame.loc[[5, 6], "y"] = np.nan
    new = as_table(frame.head(9), to_score=True) if protocol == "new_file" else None
    scored = score_table(as_table(frame), "y", new=new, plan=BY_GROUP)
    assert scored.protocol == protocol
    who = frame.who.fillna(pd.Series(frame.index.astype(str))).to_numpy()
    assert list(scored.training.X.columns) == ["x", "day: days", "day: month", "day: weekday"]
    assert any("2 rows have no value" in notice for notice in scored.notices)
    assert any("left out of the features" in notice for notice in scored.notices)
    pairs = models_with_rows(scored)
    judged = np.concatenate([rows for _, rows in pairs])
    np.testing.assert_array_equal(np.sort(judged), held_out(scored).rows)
    assert scored.scores.n_rows == len(judged)
    for model, rows in pairs:
        assert not set(who[rows]) & set(who[model.rows])
    if protocol == "out_of_fold":
        assert sorted(judged) == np.flatnonzero(frame.y.notna()).tolist()
        for number, model in enumerate(scored.models):  # rows without a target go with their group
            mine = scored.model_of_row == number
            assert not set(who[mine]) & set(who[model.rows])
    else:  # the two halves choose for each other: no group is in both
        half = halves(scored.held, scored.training, 0)
        assert not set(who[half == 0]) & set(who[half == 1])
        assert set(half[scored.held]) == {0, 1}


@pytest.mark.parametrize("protocol", ["out_of_fold", "held_out", "new_file"])
def test_by_time_each_row_is_judged_by_a_model_of_earlier_rows(protocol, monkeypatch):
    if protocol == "held_out":
        monkeypatch.setattr("gbuq_core.tables.settling.MAX_ROWS_OUT_OF_FOLD", 50)
    frame = frame_of()
    frame.loc[[3, 4], "day"] = None
    frame.loc[[5, 6], "y"] = np.nan
    new = as_table(frame.head(9), to_score=True) if protocol == "new_file" else None
    scored = score_table(as_table(frame), "y", new=new, plan=BY_TIME)
    assert scored.protocol == protocol
    day = pd.to_datetime(frame.day).to_numpy()
    pairs = models_with_rows(scored)
    if protocol == "new_file":
        assert len(scored.models[0].rows) == 118  # the model of the second file knows all rows
    else:
        marked = scored.frame.in_training.to_numpy()
        assert not (marked & scored.held).any()
        assert not marked[3:7].any()
    for model, rows in pairs:
        assert len(rows)
        assert day[rows].min() > day[model.rows].max()
    judged = np.sort(np.concatenate([rows for _, rows in pairs]))
    np.testing.assert_array_equal(judged, held_out(scored).rows)
    assert not np.isin([3, 4, 5, 6], judged).any()
    if protocol == "out_of_fold":
        assert len(pairs) == 5
        fold = scored.frame.fold
        assert fold.isna().to_numpy().tolist() == (~scored.held).tolist()
        assert 0.8 < scored.held.sum() / 116 < 0.86
        latest = pd.Series(day[scored.held]).groupby(fold[scored.held].to_numpy()).max()
        assert latest.is_monotonic_increasing
    else:
        assert 0.15 < scored.held.mean() < 0.25


def test_later_rows_choose_nothing_for_earlier_ones():
    frame = frame_of().sort_values("day", ignore_index=True)
    frame["y"] += np.random.default_rng(1).normal(0, 1, len(frame))
    scored = score_table(as_table(frame), "y", plan=BY_TIME)
    last = scored.frame.fold == 5
    changed = frame.copy()
    changed.loc[last.fillna(False), "y"] *= -3.0
    again = score_table(as_table(changed), "y", plan=BY_TIME)
    before = ~last.fillna(False).to_numpy(bool)
    for name in ("prediction", "total_uncertainty"):
        np.testing.assert_array_equal(scored.frame[name][before], again.frame[name][before])
    used = [model.estimator.clocks_ for model in scored.models]
    assert all(clocks is not None for clocks in used)


def test_the_split_can_be_a_number_a_feature_or_neither():
    frame = frame_of()
    frame["hour"] = pd.to_datetime(frame.day).astype("int64")
    table = as_table(frame)
    by_hour = score_table(table, "y", plan=replace(BY_TIME, split_column="hour"))
    by_day = score_table(table, "y", plan=BY_TIME)
    np.testing.assert_array_equal(by_hour.held, by_day.held)
    assert "hour" in by_hour.training.X
    kept = edit_schema(table, infer_schema(table), used={"who": True})
    assert "who" in prepare_training(table, kept, "y", None, "group", "who").X
    left = edit_schema(table, infer_schema(table), used={"who": False})
    assert "who" not in prepare_training(table, left, "y", None, "group", "who").X


def test_fewer_groups_make_fewer_folds():
    frame = frame_of()
    frame["who"] = np.where(
        np.arange(120) % 3 == 0, "a", np.where(np.arange(120) % 3 == 1, "b", "c")
    )
    assert score_table(as_table(frame), "y", plan=BY_GROUP).frame.fold.nunique() == 3
    assert (
        score_table(
            as_table(frame.head(60)), "y", plan=replace(BY_GROUP, stopping=None)
        ).frame.fold.nunique()
        == 3
    )


@pytest.mark.parametrize(
    ("plan", "change", "sentence"),
    [
        ({"split": "group", "split_column": "nobody"}, {}, "nobody"),
        ({"split": "group", "split_column": None}, {}, "needs a column"),
        ({"split": "random", "split_column": "who"}, {}, "at random"),
        ({"split": "weekly", "split_column": "who"}, {}, "split must be"),
        ({"split": "group", "split_column": "y"}, {}, "target"),
        ({"split": "group", "split_column": "who"}, {"who": "a"}, "one value only"),
        ({"split": "group", "split_column": "who"}, {"who": None}, "missing in all rows"),
        ({"split": "time", "split_column": "day"}, {"day": "2020-01-01"}, "one value only"),
        ({"split": "time", "split_column": "who"}, {}, "neither dates nor numbers"),
        ({"split": "time", "split_column": "day"}, {"day": None}, "missing in all rows"),
    ],
)
def test_an_impossible_split_is_one_sentence(plan, change, sentence):
    with pytest.raises((InvalidData, InvalidParameter), match=sentence):
        score_table(as_table(frame_of().assign(**change)), "y", plan=replace(FAST, **plan))


def test_classes_that_a_split_sets_apart():
    frame = frame_of()
    frame["y"] = np.where(frame.who.isin(["p1", "p2"]), "left", "right")
    frame["who"] = frame["y"]
    with pytest.raises(InvalidData, match="one target value only"):
        score_table(as_table(frame), "y", plan=BY_GROUP)
    frame = frame_of().sort_values("day", ignore_index=True)
    frame["y"] = np.where((frame.index > 30) & (frame.index % 2 == 0), "late", "always")
    scored = score_table(as_table(frame), "y", plan=BY_TIME)
    assert not scored.held[:40].any()  # before, there was one class to learn from
    assert scored.held[-20:].all()
    frame["y"] = np.where(frame.index > 110, "late", "always")
    with pytest.raises(InvalidData, match="earlier rows"):
        score_table(as_table(frame), "y", plan=BY_TIME)


def test_words_for_a_split():
    assert describe_split("time", "the\nday") == "split by time (the day)"
    assert describe_split("random") == "split at random"


def test_scores_of_a_single_group_are_named_as_such():
    frame = frame_of()
    frame["who"] = np.where(np.arange(120) % 4 == 0, "a", "b")
    new = as_table(frame.head(9), to_score=True)
    scored = score_table(as_table(frame), "y", new=new, plan=BY_GROUP)
    assert set(frame.who[scored.held]) == {"a"}
    assert any("those of one group" in notice for notice in scored.notices)
