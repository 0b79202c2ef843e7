"""From columns to features and targets, and a second file matched to the first."""

import numpy as np
import pandas as pd
import pytest
from table_parts import table_of

from gbuq_core.errors import InvalidData, InvalidParameter, MemoryLimitExceeded
from gbuq_core.tables import (
    edit_schema,
    infer_schema,
    infer_task,
    prepare_new,
    prepare_training,
    read_table,
)

N = 40
COUNT = list(range(N))


def prepared(target="y", task=None, **columns):
    table = table_of(**columns)
    return prepare_training(table, infer_schema(table), target, task)


NUMBERS = [k * 0.5 for k in COUNT]


def test_features_are_numbers_categories_and_parts_of_dates():
    training = prepared(
        n=["inf" if k == 1 else "NA" if k == 2 else k for k in COUNT],
        c=["?" if k == 3 else "ab"[k % 2] for k in COUNT],
        d=[f"2021-{k % 12 + 1:02d}-{k % 28 + 1:02d}" for k in COUNT],
        key=[f"k{k}" for k in COUNT],
        y=NUMBERS,
    )
    assert list(training.X.columns) == ["n", "c", "d: days", "d: month", "d: weekday"]
    assert [(f.column, f.part) for f in training.features[2:]] == [
        ("d", "days"),
        ("d", "month"),
        ("d", "weekday"),
    ]
    assert training.categorical == ["c"]
    assert np.flatnonzero(training.X["n"].isna()).tolist() == [1, 2]
    assert np.flatnonzero(training.X["c"].isna()).tolist() == [3]
    day = pd.Timestamp("2021-05-05")  # row 4
    assert training.X.iloc[4, 2:].tolist() == [18752.0, 5.0, float(day.day_of_week)]
    np.testing.assert_array_equal(training.y, NUMBERS)
    assert any('"d" holds dates' in notice for notice in training.notices)


def test_the_name_of_a_date_part_gives_way():
    training = prepared(
        d=[f"2021-01-{k % 28 + 1:02d}" for k in COUNT],
        **{"d: days": [k % 7 for k in COUNT]},
        y=NUMBERS,
    )
    assert list(training.X.columns) == ["d: days (2)", "d: weekday", "d: days"]


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (NUMBERS, "regression"),
        (COUNT, "regression"),
        ([k % 2 for k in COUNT], "classification"),
        ([0.5, 1.5] * 20, "classification"),
        ([k % 4 for k in COUNT], "classification"),
        ([k % 4 + 1 for k in COUNT], "classification"),
        ([k % 6 + 3 for k in COUNT], "regression"),  # marks 3 to 8: no codes
        ([k % 12 for k in COUNT], "regression"),
        (["yes", "no"] * 20, "classification"),
        (["true", "false"] * 20, "classification"),
    ],
)
def test_the_task_is_told_from_the_target(values, task):
    table = table_of(x=[k % 7 for k in COUNT], y=values)
    guess, reason = infer_task(table, infer_schema(table), "y")
    assert guess == task
    assert reason.startswith("The target ")
    # Counts that begin at 0 or 1 may be amounts: it is said how to treat them so.
    assert ("choose regression" in reason) == (guess == "classification" and "counts" in reason)


def test_classes_are_sorted_as_numbers_or_words():
    assert prepared(x=COUNT, y=[[10, 9, 8][k % 3] for k in COUNT], task="classification").target[
        3
    ] == ("8", "9", "10")
    training = prepared(x=COUNT, y=["b", "a"] * 20)
    assert training.target.classes == ("a", "b")
    assert training.y[:2].tolist() == [1.0, 0.0]


def test_rows_without_a_target_are_set_aside_and_reported():
    training = prepared(x=COUNT, y=["" if k % 4 == 0 else k * 0.5 for k in COUNT])
    assert np.flatnonzero(~training.known).tolist() == COUNT[::4]
    assert any(notice.startswith("10 rows have no target") for notice in training.notices)


@pytest.mark.parametrize(
    ("target", "task", "sentence"),
    [
        (["5"] * N, None, 'is "5" in all rows'),
        (["a"] * N, None, 'is "a" in all rows'),
        (["NA"] * N, None, "is missing in all rows"),
        (["NA"] * 31 + COUNT[:9], None, "Only 9 rows"),
        (["ab"[k % 2] for k in COUNT], "regression", "holds text"),
        (["x" if k % 5 == 0 else k for k in COUNT], "regression", "holds text"),
        (["inf", "-inf"] * 20, "regression", "no finite number"),
        ([f"2021-01-{k % 28 + 1:02d}" for k in COUNT], None, "holds dates"),
        (["b" if k == 3 else "a" for k in COUNT], None, 'The class "b" .* has a single row'),
        ([f"c{k % 38}" for k in COUNT], "classification", "the only ones of their class"),
        ([f"{k}e300" for k in COUNT], None, "too large"),
        ([f"{k}e-300" for k in COUNT], None, "too close"),
    ],
)
def test_targets_that_cannot_be_learnt_are_refused(target, task, sentence):
    with pytest.raises(InvalidData, match=sentence) as refusal:
        prepared(x=[k % 7 for k in COUNT], y=target, task=task)
    assert str(refusal.value).endswith(".")


def test_too_many_classes_are_refused():
    with pytest.raises(InvalidData, match=r"201 classes, more than the 200"):
        prepared(x=list(range(402)), y=[f"c{k % 201}" for k in range(402)])


def test_a_class_with_a_single_row_among_several_is_announced():
    training = prepared(x=COUNT, y=["c" if k == 3 else "ab"[k % 2] for k in COUNT])
    assert any('has a single row ("c")' in notice for notice in training.notices)


def test_some_text_in_a_numeric_target_counts_as_missing():
    training = prepared(x=COUNT, y=["oops" if k == 3 else k * 0.5 for k in COUNT])
    assert np.flatnonzero(~training.known).tolist() == [3]
    assert any('1 row with text in the target "y"' in notice for notice in training.notices)


def test_notices_about_the_target_as_a_column_are_not_repeated():
    training = prepared(x=COUNT, y=["inf" if k == 3 else k * 0.5 for k in COUNT])
    assert sum("infinite" in notice for notice in training.notices) == 1


def test_unknown_targets_tasks_and_empty_feature_sets_are_refused():
    table = table_of(key=[f"k{k}" for k in COUNT], y=NUMBERS)
    schema = infer_schema(table)
    with pytest.raises(InvalidData, match='no column "z"'):
        prepare_training(table, schema, "z")
    with pytest.raises(InvalidParameter, match="task must be one of"):
        prepare_training(table, schema, "y", "ranking")
    with pytest.raises(InvalidData, match="No column is left"):
        prepare_training(table, schema, "y")


def test_a_table_that_does_not_fit_into_memory_is_refused(monkeypatch):
    table = table_of(x=COUNT, y=NUMBERS)
    schema = infer_schema(table)
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 1000)
    with pytest.raises(MemoryLimitExceeded, match="Preparing this table"):
        prepare_training(table, schema, "y")


def first_file():
    return table_of(
        x=[k % 5 + 0.5 for k in COUNT],
        c=["abc"[k % 3] for k in COUNT],
        d=[f"{k % 28 + 1:02d}.02.2021" for k in COUNT],
        key=[f"k{k}" for k in COUNT],
        y=NUMBERS,
    )


def matched(**columns):
    first = first_file()
    decimal = columns.pop("decimal", ".")
    training = prepare_training(first, infer_schema(first), "y")
    return prepare_new(table_of(decimal, **columns), training)


def test_columns_of_the_second_file_are_matched_by_name():
    second = matched(d=["03.02.2021"] * 3, extra=[1, 2, 3], c=["a", "z", ""], x=[7, 8, "NA"])
    assert list(second.X.columns) == ["x", "c", "d: days", "d: weekday"]
    assert second.X["x"].tolist()[:2] == [7.0, 8.0]
    assert second.X["c"].tolist()[:2] == ["a", "z"]
    assert second.X["d: days"].tolist() == [18661.0] * 3
    assert not second.known.any()
    assert second.notices == (
        'The column "extra" of the second file is not in the first and is ignored.',
    )


def test_missing_columns_of_the_second_file_are_refused_by_name():
    with pytest.raises(InvalidData, match='The columns "c" and "d" of the first file are missing'):
        matched(x=[1, 2], zz=[3, 4])
    with pytest.raises(InvalidData, match='The column "d" of the first file is missing'):
        matched(x=[1, 2], c=["a", "b"])


def test_a_second_file_may_be_written_in_another_way():
    second = matched(
        decimal=",", x=["1,5", "2.000,5"], c=["a", "b"], d=["2021-02-03", "2021-02-04"]
    )
    assert second.X["x"].tolist() == [1.5, 2000.5]
    assert second.X["d: days"].tolist() == [18661.0, 18662.0]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"x": ["u", "v", "w"]}, '"x" holds numbers in the first file but something else'),
        ({"d": ["u", "v", "w"]}, '"d" holds dates in the first file but something else'),
    ],
)
def test_columns_of_another_kind_in_the_second_file_are_refused(columns, sentence):
    usual = {"x": [1, 2, 3], "c": ["a", "b", "c"], "d": ["03.02.2021"] * 3}
    with pytest.raises(InvalidData, match=sentence):
        matched(**(usual | columns))


def test_odd_cells_of_the_second_file_are_reported():
    second = matched(
        x=[1, "oops", "inf", 4], c=["a"] * 4, d=["03.02.2021", "soon", "04.02.2021", ""]
    )
    assert np.flatnonzero(second.X["x"].isna()).tolist() == [1, 2]
    assert np.flatnonzero(second.X["d: days"].isna()).tolist() == [1, 3]
    assert [notice.split(":")[0] for notice in second.notices] == ["Second file"] * 3


def test_targets_of_the_second_file_are_read_in_the_classes_of_the_first():
    first = table_of(x=COUNT, y=[f"{k % 3}.0" for k in COUNT])
    training = prepare_training(first, infer_schema(first), "y")
    assert training.target.classes == ("0", "1", "2")
    second = prepare_new(table_of(x=[1, 2, 3, 4], y=[2, 0, 7, ""]), training)
    np.testing.assert_array_equal(second.y, [2.0, 0.0, np.nan, np.nan])
    assert (
        '1 row of the second file has a class that the first file does not have ("7")'
        in (second.notices[0])
    )


def test_categories_that_are_numbers_agree_between_text_and_parquet(tmp_path):
    first = table_of(code=[f"{k % 3}.0" for k in COUNT], y=NUMBERS)
    schema = edit_schema(first, infer_schema(first), kinds={"code": "category"})
    training = prepare_training(first, schema, "y")
    pd.DataFrame({"code": [2, 0, None], "y": [1.0, 2.0, 3.0]}).to_parquet(tmp_path / "n.parquet")
    second = prepare_new(read_table(tmp_path / "n.parquet"), training)
    assert second.X["code"].tolist()[:2] == ["2", "0"]
    assert pd.isna(second.X["code"].iloc[2])
    np.testing.assert_array_equal(second.y, [1.0, 2.0, 3.0])


def test_long_codes_keep_their_digits():
    codes = [str(10**19 + k % 3) for k in COUNT]
    table = table_of(code=codes, y=NUMBERS)
    schema = edit_schema(table, infer_schema(table), kinds={"code": "category"})
    assert prepare_training(table, schema, "y").X["code"].tolist() == codes
