"""Units and times that scores of rows dealt at random say too much about."""

import json

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table

from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidData
from gbuq_core.tables import (
    ScorePlan,
    ask_about_split,
    infer_schema,
    load_builtin,
    prepare_training,
    score_table,
)
from gbuq_core.tables.splitting import ROW_ORDER, parts_of_time, read_split

RNG = np.random.default_rng(0)


def asked(columns, target="y", shuffle=False):
    frame = pd.DataFrame(columns)
    table = as_table(frame.sample(frac=1, random_state=0) if shuffle else frame)
    return ask_about_split(table, prepare_training(table, infer_schema(table), target), ScorePlan())


def units(n_units=40, each=10):
    """Rows of units whose level is in the target and in nothing else that a new unit has."""
    rng = np.random.default_rng(1)
    unit, sizes = np.repeat(np.arange(n_units), each), rng.normal(size=(3, n_units)).round(3)
    levels = 10.0 * rng.normal(size=n_units)
    return {
        "mill": [f"M{number}" for number in unit],
        "s1": sizes[0, unit],
        "s2": sizes[1, unit],
        "s3": sizes[2, unit],
        "cycle": np.tile(np.arange(each), n_units),
        "y": (levels[unit] + rng.normal(size=len(unit))).round(2),
    }


def walk(n=400):
    rng = np.random.default_rng(2)
    return {
        "a": rng.normal(size=n),
        "b": rng.normal(size=n),
        "y": 3.0 * np.cumsum(rng.normal(size=n)) + rng.normal(size=n),
    }


def test_units_are_found_by_what_is_constant_in_them_whatever_they_are_called():
    (question,) = asked(units(), shuffle=True)
    assert (question.split, question.column) == ("group", "mill")
    # Noise has a std of 1, the levels of units one of 10.
    assert question.at_random < 2.0 < 8.0 < question.apart
    assert str(question).startswith(
        'Will new rows come from the same units (column "mill")? Small models have an RMSE of '
    )
    assert str(question).endswith('choose Split: by group (--split group --split-column "mill").')
    without = {name: values for name, values in units().items() if name != "mill"}
    assert asked(without, shuffle=True) == []  # what is measured names no units


def numbered(name, level, size=60, each=10):
    """Rows of units with numbers, whose ``level`` is in the target beside another column."""
    rng = np.random.default_rng(6)
    unit, x = np.repeat(np.arange(size), each), rng.normal(size=size * each)
    y = x + level * rng.normal(size=size)[unit] + rng.normal(size=len(x))
    return {name: rng.permutation(900)[unit] + 100, "x": x, "z": rng.normal(size=len(x)), "y": y}


@pytest.mark.parametrize("name", ["hospital", "policy_no", "student_id", "Store", "k7"])
def test_units_may_be_numbers(name):
    (question,) = asked(numbered(name, 1.5), shuffle=True)
    assert (question.split, question.column) == ("group", name)


@pytest.mark.parametrize(
    "columns",
    [
        numbered("hospital", 0.0),  # independent rows
        numbered("patient_id", 0.0),
        # Measured, in whole numbers: a size beside its class, and years of work.
        {
            "engine_size": (size := RNG.integers(8, 50, 600) * 100),
            "class": size // 1500,
            "y": size / 500 + RNG.normal(size=600),
        },
        {"years_worked": (years := RNG.integers(0, 40, 600)), "y": years + RNG.normal(size=600)},
        # Leaks: a grade that sets the rate, and an amount of which the target is a share.
        {
            "sub_grade": np.char.add("G", (grade := RNG.integers(0, 35, 600)).astype(str)),
            "x": RNG.normal(size=600),
            "y": 5 + 0.75 * grade,
        },
        {
            "loan": (loan := RNG.integers(10, 60, 600) * 500),
            "rate": (rate := RNG.choice(RNG.uniform(0.01, 0.05, 40).round(4), 600)),
            "y": loan * rate,
        },
        # No order in time: points, a duration, and hours, which go around.
        {
            "num_min_points": (points := RNG.integers(0, 60, 600)),
            "delivery_time": (lasts := RNG.gamma(3, 8, 600).round(1)),
            "hour": (hour := RNG.integers(0, 24, 600)),
            "y": 0.2 * points + 0.2 * lasts + 3 * np.sin(hour / 4) + RNG.normal(size=600),
        },
    ],
)
def test_measures_leaks_and_independent_rows_are_not_asked_about(columns):
    assert asked(columns, shuffle=True) == []


@pytest.mark.parametrize("row", ["", "row", "id", "gaps", "shuffled"])
def test_a_random_walk_along_the_rows_is_asked_about(row):
    columns, count = walk(), np.arange(1, 401)
    if row:
        count = np.sort(RNG.permutation(640)[:400]) if row == "gaps" else count
        columns = {row: count, **columns}
    (question,) = asked(columns, shuffle=row == "shuffled")
    assert question.split == "time"
    assert question.column == (row if row == "shuffled" else ROW_ORDER)
    assert question.apart > 1.5 * question.at_random
    assert "Small models that know it have an RMSE" in str(question)


def test_columns_that_walk_are_asked_about_if_the_target_follows():
    rng = np.random.default_rng(7)
    a, b = np.cumsum(rng.normal(size=(2, 400)), axis=1)
    follows = {"a": a, "b": b, "y": 3 * np.sin(a) + 0.5 * b + 0.3 * rng.normal(size=400)}
    assert [question.column for question in asked(follows)] == [ROW_ORDER]
    assert asked({**follows, "y": rng.normal(size=400)}) == []


def test_units_with_one_class_each_are_asked_about():
    columns = numbered("hospital", 0.0)
    columns["y"] = np.where(np.sin(columns["hospital"]) > 0, "high", "low")
    (question,) = asked(columns, shuffle=True)
    assert question.column == "hospital"
    assert question.at_random < 0.02  # the unit tells it


def test_units_of_classes_are_told_in_shares():
    columns = units()
    columns["y"] = np.where(columns["y"] > 0, "high", "low")
    (question,) = asked(columns, shuffle=True)
    assert question.column == "mill"
    assert np.isnan(question.wider)
    assert "of the rows dealt at random, and in" in str(question)


@pytest.mark.parametrize(
    ("name", "first", "step"),
    [
        ("stamp", 1_600_000_000, 3600),
        ("stamp", 1_600_000_000_000, 3_600_000),
        ("Zeit", 0.25, 0.25),
        ("year", 1500, 0.5),
        ("excel_day", 43_000, 1),
        ("stand", None, 1),
    ],
)
def test_seconds_since_1970_and_what_is_called_a_time_are_a_time(name, first, step):
    columns = walk()
    count = np.arange(400)
    columns[name] = first + step * count if first else 100 * (1970 + count // 12) + count % 12 + 1
    if name == "year":
        columns[name] = np.floor(columns[name]).astype(int)
    (question,) = asked(columns, shuffle=True)
    assert (question.split, question.column) == ("time", name)
    assert question.apart > 1.5 * question.at_random


def test_parts_of_a_time_are_one_time():
    hours = pd.date_range("2021-01-01", periods=400, freq="h")
    months = hours.strftime("%B")
    columns = {"yr": hours.year, "month": months, "day": hours.day, "hr": hours.hour, **walk()}
    (question,) = asked(columns, shuffle=True)
    assert (question.split, question.column) == ("time", "yr, month, day, hr")
    table = as_table(pd.DataFrame(columns))
    split = read_split(table, infer_schema(table), "time", question.column, "y")
    assert split.codes.tolist() == list(range(400))  # as the file is sorted
    months = np.arange(600)
    unnamed = {"c": 1960 + months // 12, "d": months % 12 + 1, **walk(600)}
    (question,) = asked(unnamed)
    assert (question.split, question.column) == ("time", ROW_ORDER)


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        ("num_min_points num_day_x day_rate", ""),
        ("temp_min year_built_min hour_total", ""),
        ("pickup_year pickup_hour", "pickup_year pickup_hour"),
        ("hour_of_day YrSold day_of_week", "YrSold hour_of_day"),
        ("year min hour", "year hour min"),
    ],
)
def test_parts_of_a_time_are_words_of_names(names, parts):
    columns = {name: np.arange(80) % 4 + 1 for name in names.split()}
    schema = infer_schema(as_table(pd.DataFrame({**columns, "y": np.arange(80) / 7})))
    assert parts_of_time(schema, "y") == parts.split()


def test_nothing_is_asked_where_both_ways_come_to_the_same():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 2))
    plain = {"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] + rng.normal(size=300)}
    assert asked(plain) == []
    assert asked(pd.DataFrame(plain).sort_values("a")) == []
    assert asked(pd.DataFrame(plain).sort_values("y")) == []
    assert asked({**plain, "patient_id": rng.integers(0, 60, 300)}) == []
    wine = load_builtin("wine")
    training = prepare_training(wine.table, wine.schema, wine.about.target)
    assert ask_about_split(wine.table, training, ScorePlan()) == []


def test_the_order_of_the_rows_splits_them_by_time():
    table = as_table(pd.DataFrame(walk(120)))
    schema = infer_schema(table)
    plan = ScorePlan(ensemble="virtual", n_trees=20, split="time", split_column=ROW_ORDER)
    scored = score_table(table, "y", schema=schema, plan=plan)
    # The first sixth is only learnt from, and the others are judged block by block.
    assert scored.frame["fold"].isna().sum() == 20
    assert scored.frame["fold"].dropna().is_monotonic_increasing
    assert read_split(table, schema, "time", ROW_ORDER, "y").codes.tolist() == list(range(120))
    with pytest.raises(InvalidData, match='no column "order of the rows"'):
        read_split(table, schema, "group", ROW_ORDER, "y")


def test_the_question_is_the_first_line_of_the_command_and_part_of_its_json(tmp_path, capsys):
    path, out = tmp_path / "mills.csv", tmp_path / "out.csv"
    pd.DataFrame(units(20, 8)).to_csv(path, index=False)
    words = ["score", str(path), "--target", "y", "--out", str(out), "--trees", "20"]
    words += ["--ensemble", "virtual", "--unfamiliarity", "no"]
    assert main(words) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith('Will new rows come from the same units (column "mill")?')
    assert main([*words, "--json"]) == 0
    (question,) = json.loads(capsys.readouterr().out)["questions"]
    assert (question["text"], question["split"], question["column"]) == (first, "group", "mill")
    assert question["at_random"] < question["apart"]
    # A fit tells it, and so does what explains a row, also from a project.
    project = str(tmp_path / "mills.gbuq")
    fit = ["fit", *words[1:4], "--out", project, "--with-data", *words[6:10]]
    row = ["explain", str(path), "--row", "3", "--unfamiliarity", "no"]
    for line in (fit, [*row, *words[2:4], *words[6:10]], [*row, "--project", project]):
        assert main(line) == 0
        assert first[:40] in capsys.readouterr().err, line
    compare = ["compare", *words[1:4], "--methods", "knn"]
    later = ["score", str(path), "--project", project, "--out", str(out), *words[-2:]]
    for line in (compare, later):
        assert main(line) == 0
        assert first == capsys.readouterr().out.splitlines()[0]
        assert main([*line, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["questions"] == [question]
    # As is asked for.
    assert main([*words, "--split", "group", "--split-column", "mill"]) == 0
    assert not capsys.readouterr().out.startswith("Will")
