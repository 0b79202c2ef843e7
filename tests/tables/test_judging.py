"""Held-out rows of each protocol, groups of any column, and what makes scores look too good."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_parts import as_table
from tolerances import SAME_SUM

from gbuq_core.tables import (
    ScorePlan,
    class_scores,
    coverage_by_group,
    edit_schema,
    group_column,
    heavy_rows,
    held_out,
    infer_schema,
    load_builtin,
    pit_values,
    prepare_training,
    read_table,
    score_table,
    settling,
    split_warnings,
)
from gbuq_core.tables.predicting import interval_of
from gbuq_core.tables.words import describe_table

PLAN = ScorePlan(ensemble="virtual", n_trees=40, depth=3)


def table_of(**columns):
    return as_table(pd.DataFrame(columns))


def noisy(n=200, seed=0, **more):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return {"x": x, "z": rng.normal(size=n), "y": x + rng.normal(size=n), **more}


def warned(target="y", task=None, **columns):
    table = table_of(**columns)
    return split_warnings(table, prepare_training(table, infer_schema(table), target, task))


@pytest.mark.parametrize("protocol", ["out_of_fold", "held_out", "new_file"])
def test_the_rows_are_those_of_the_scores(protocol, monkeypatch):
    table = table_of(**noisy())
    new = table_of(**noisy(30, 1)) if protocol == "new_file" else None
    if protocol == "held_out":
        monkeypatch.setattr(settling, "MAX_ROWS_OUT_OF_FOLD", 100)
    scored = score_table(table, "y", new=new, plan=PLAN)
    assert scored.protocol == protocol
    held = held_out(scored)
    assert len(held.rows) == scored.scores.n_rows
    # The same sums in another order.
    assert np.sqrt(np.mean(held.errors**2)) == pytest.approx(scored.scores.rmse, rel=SAME_SUM)
    coverage = coverage_by_group(
        held, group_column(table, infer_schema(table).column("x"), held.rows)
    )
    inside = np.abs(2.0 * pit_values(held) - 1.0) <= 0.9
    assert coverage.observed[0] == inside.mean()
    at = scored.scores.coverage
    again = coverage_by_group(
        held, group_column(table, infer_schema(table).column("x"), held.rows), at.levels[0]
    )
    assert again.observed[0] == at.observed[0]


def test_classes_are_found_as_their_scores_say():
    wine = load_builtin("wine")
    scored = score_table(wine.table, wine.about.target, schema=wine.schema, plan=PLAN)
    held = held_out(scored)
    assert held.errors.mean() == pytest.approx(scored.scores.error_rate)
    scores = class_scores(held)
    assert [score.n_rows for score in scores] == sorted(score.n_rows for score in scores)
    right = sum(score.recall * score.n_rows for score in scores) / len(held.y)
    assert right == pytest.approx(1.0 - scored.scores.error_rate)
    for score in scores:
        assert score.low <= score.recall <= score.high
        assert score.average_precision > score.n_rows / len(held.y)
    assert class_scores(held._replace(classes=())) == []


@given(st.lists(st.one_of(st.none(), st.integers(-30, 30)), min_size=3, max_size=60))
def test_every_row_has_one_group_and_numbers_do_not_overlap(values):
    if len({value for value in values if value is not None}) < 2:
        return
    table = table_of(x=pd.array(values, dtype="Int64"), y=np.arange(float(len(values))))
    column = infer_schema(table).column("x")
    groups = group_column(table, column, np.arange(len(values)))
    assert groups.codes.shape == (len(values),)
    assert sorted(set(groups.codes.tolist())) == list(range(len(groups.names)))
    missing = np.array([value is None for value in values])
    if missing.any() and column.kind == "numeric":
        assert groups.names[-1] == "missing"
        assert (groups.codes[missing] == len(groups.names) - 1).all()
    if column.kind == "numeric":
        spans = [
            [value for value, code in zip(values, groups.codes, strict=True) if code == k]
            for k in range(len(groups.names) - bool(missing.any()))
        ]
        for before, after in pairwise(spans):
            assert max(before) < min(after)


def test_frequent_categories_stand_alone_and_dates_are_days():
    words = [f"w{k}" for k in range(12) for _ in range(2 + (k < 8))] * 3
    table = table_of(
        w=words,
        day=pd.date_range("2024-01-01", periods=len(words)).strftime("%Y-%m-%d"),
        y=np.arange(float(len(words))),
    )
    schema, rows = infer_schema(table), np.arange(len(words))
    groups = group_column(table, schema.column("w"), rows)
    assert groups.names == (*(f"w{k}" for k in range(8)), "4 other values")
    days = group_column(table, schema.column("day"), rows)
    assert days.names[0].startswith("2024-01-01 to 2024-01-")
    assert len(days.names) == 5


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        # Four significant digits would be "20,240,000 to 20,240,000".
        (20_240_101.0 + np.arange(50), "20,240,101 to 20,240,110"),
        (
            (pd.Timestamp("2024-02-29 08:00") + pd.to_timedelta(np.arange(50), unit="min")),
            "2024-02-29 08:00 to 2024-02-29 08:09",
        ),
    ],
    ids=["numbers that are close", "minutes of one day"],
)
def test_the_ends_of_a_group_are_told_apart(cells, first):
    table = table_of(x=cells, y=np.arange(50.0))
    kinds = {"x": "numeric" if isinstance(cells, np.ndarray) else "date"}
    column = edit_schema(table, infer_schema(table), kinds=kinds).column("x")
    assert group_column(table, column, np.arange(50)).names[0] == first


def test_clean_tables_are_not_warned_of():
    assert warned(**noisy()) == []
    for key in ("diabetes", "wine", "breast_cancer"):
        built = load_builtin(key)
        training = prepare_training(built.table, built.schema, built.about.target)
        assert split_warnings(built.table, training) == []


def test_few_categories_repeat_by_themselves():
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(["a", "b"], 300) for name in "pqr"}
    assert warned(**columns, y=rng.integers(0, 3, 300)) == []


def shops(*extra):
    """Sixty shops and further rows of name, area and turnover."""
    rng = np.random.default_rng(0)
    area = rng.integers(40, 160, 60)
    lines = [f"shop {k},{a},{1.5 * a + rng.normal():.2f}" for k, a in enumerate(area)]
    return read_table("\n".join(["name,area,y", *lines, *extra]).encode())


def test_a_row_with_most_of_the_squared_error_is_named_and_stays():
    (sentence,) = heavy_rows(scored := score_table(shops("", "Total,6000,9000.5"), "y", plan=PLAN))
    assert len(scored.frame) == 61
    assert scored.held[60]
    prediction = scored.predictions.loc[60]
    assert sentence.startswith(
        "Row 62 has 100 % of the squared error of the 61 rows held out: its "
    )
    assert f'"y" is 9,000.5, predicted as {prediction:.4g}.' in sentence
    assert sentence.endswith('or enter its target under Missing if (--missing "y=9000.5").')
    assert describe_table(scored)[0] == sentence
    # As told: the marker leaves it out.
    table = shops("", "Total,6000,9000.5")
    schema = edit_schema(table, infer_schema(table), missing_values={"y": (9000.5,)})
    again = score_table(table, "y", schema=schema, plan=PLAN)
    assert heavy_rows(again) == []
    assert again.scores.rmse < 0.05 * scored.scores.rmse


def test_a_few_subtotals_are_named_together():
    subtotals = [f"{city},2000,{3000 + k}" for k, city in enumerate(("Ulm", "Bonn"))]
    (sentence,) = heavy_rows(score_table(shops(*subtotals), "y", plan=PLAN))
    assert sentence.startswith("Rows 61 and 62 have ")
    assert "of the squared error of the 62 rows held out: their" in sentence


def test_the_row_of_a_second_file_is_named_with_its_own_number():
    new = shops("broken", "Total,6000,9000")
    sentences = heavy_rows(score_table(shops(), "y", new=new, plan=PLAN))
    assert [sentence[:42] for sentence in sentences] == [
        "Second file: row 62 has 100 % of the squar"
    ]
    assert "It is judged like all others." in sentences[0]


def test_the_stack_learns_from_unit_errors_as_from_ordinary_targets_and_names_their_rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 3.0, 300)
    y = 5.0 + 2.0 * x + 0.5 * rng.normal(size=300)
    gross = np.where(np.isin(np.arange(300), [7, 99, 200]), 1000.0 * y, y)
    rows = "\n".join(f"{a:.4f},{b:.4f}" for a, b in zip(x, gross, strict=True))
    plan = ScorePlan(n_members=2, n_trees=40, n_folds=2)
    scored = score_table(read_table(f"x,y\n{rows}\n".encode()), "y", plan=plan)
    assert scored.plan.stacks
    said = " ".join(scored.notices)
    assert "Rows whose targets lie far outside all others: 8, 100 and 201." in said
    assert "as if" in heavy_rows(scored)[0]
    lower, upper = interval_of(scored.predictions, 0.5)
    held = np.mean((lower <= y) & (y <= upper))
    assert 0.38 <= held <= 0.62  # a std error of .03; .9 without


def test_ordinary_errors_and_classes_have_no_heavy_rows():
    assert heavy_rows(score_table(shops(), "y", plan=PLAN)) == []
    wine = load_builtin("wine")
    scored = score_table(wine.table, wine.about.target, schema=wine.schema, plan=PLAN)
    assert heavy_rows(scored) == []


def test_copied_rows():
    columns = {name: np.concatenate([v, v[:20]]) for name, v in noisy().items()}
    assert warned(**columns)[0].startswith("40 rows are copies of another row, target included.")
    columns["noise"] = np.random.default_rng(1).normal(size=220)  # of a counter or a clock
    assert warned(**columns)[0].startswith(
        '40 rows are copies of another row in all but "noise", target included.'
    )
    more = {name: np.concatenate([v, v[:60]]) for name, v in noisy().items()}
    more |= {name: np.random.default_rng(k).normal(size=260) for k, name in enumerate("pq")}
    assert 'in all but "p" and "q", target' in warned(**more)[0]
    hours = np.random.default_rng(3).permutation(np.arange(220))
    days = np.datetime64("2021-01-01T00:00") + hours.astype("timedelta64[h]")
    columns = {name: columns[name] for name in noisy()} | {"when": days.astype(str)}
    assert any('in all but "when", target' in sentence for sentence in warned(**columns))


def test_classes_that_are_never_predicted_are_named_with_their_rows():
    rng = np.random.default_rng(0)
    rare = np.isin(np.arange(400), [7, 90, 231])
    table = table_of(
        a=rng.normal(size=400), b=rng.normal(size=400), fraud=np.where(rare, "yes", "no")
    )
    assert heavy_rows(score_table(table, "fraud", plan=PLAN)) == [
        'The class "yes" has 3 rows (rows 8, 91 and 232) and is never predicted: all of them are '
        'wrong. Sort by "p_yes" to find rows like them.'
    ]
    sentences = heavy_rows(score_table(table, "fraud", new=table, plan=PLAN))
    assert 'Second file: the class "yes" has 3 rows (rows 8, 91' in sentences[-1]


def test_leaks():
    base = noisy()
    (warning,) = warned(**base, price=np.exp(-base["y"]))
    assert 'The column "price" orders the rows exactly as the target does' in warning
    (warning,) = warned(**base, near=base["y"] + 1e-3 * np.arange(200) / 200)
    assert 'The column "near" orders the rows' in warning
    label = np.where(base["y"] > 0, "yes", "no")
    code = {"yes": "A", "no": "B"}
    plain = {"x": base["x"], "z": base["z"]}
    (warning,) = warned(**plain, state=[code[word] for word in label], y=label)
    assert 'The column "state" gives the class in 100.0 % of the rows' in warning
    (warning,) = warned(**plain, dose=base["y"], y=label)
    assert 'The column "dose" parts the classes' in warning


def leaking(kind):
    """A table with one leak of a kind, and what is said of it."""
    base = noisy()
    plain = {"x": base["x"], "z": base["z"]}
    y, label = base["y"], np.where(base["y"] > 0.5, "dead", "alive")
    first_missing = np.where(np.arange(200) == 0, np.nan, 1.0)
    coded = np.where(label == "dead", 1.0, np.nan)
    grade = np.round(3.0 * y)
    return {
        "one price missing": (
            base | {"price": 1.19 * y * first_missing},
            '"price" orders the rows exactly as the target does in the 199 rows where it has',
        ),
        "one score missing": (
            {**plain, "score": y * first_missing, "y": label},
            '"score" parts the classes almost without error in the 199 rows where it has a value',
        ),
        "filled for the dead": (
            {**plain, "date": coded, "y": label},
            '"date" is missing or not by the class in 100.0 % of the rows',
        ),
        "filled for most of the dead": (
            {**plain, "code": np.where(np.arange(200) % 50 == 0, np.nan, coded), "y": label},
            '"code" is missing or not by the class in 98.5 % of the rows',
        ),
        "no word for the dead": (
            {**plain, "ward": np.where(label == "dead", "", base["z"] > 0), "y": label},
            '"ward" gives the class in 100.0 % of the rows',
        ),
        "a single gap": (
            {**plain, "ward": np.where(np.arange(200) == 7, "", label), "y": label},
            '"ward" gives the class in 100.0 % of the rows whose value other rows have',
        ),
        "missing where low": (
            base | {"paid": np.where(y > -0.5, base["z"], np.nan)},
            '"paid" is missing only where the target is low',
        ),
        "grade in words": (
            {**plain, "grade": [f"{value:g} of 9" for value in grade], "y": grade / 10},
            '"grade" gives the target almost without error',
        ),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "one price missing",
        "one score missing",
        "filled for the dead",
        "filled for most of the dead",
        "no word for the dead",
        "a single gap",
        "missing where low",
        "grade in words",
    ],
)
def test_leaks_through_gaps_and_words(kind):
    columns, what = leaking(kind)
    (warning,) = warned(**columns)
    assert warning.startswith(f"The column {what}")
    assert warning.endswith(": leave it out unless it is known before the target is.")


def test_gaps_and_words_that_tell_little_are_no_leaks():
    rng = np.random.default_rng(3)
    base = noisy(2000)
    gaps = np.where(rng.random(2000) < 0.3, np.nan, base["z"])
    often_low = np.where(rng.random(2000) < 1 / (1 + np.exp(3 * base["y"])), np.nan, base["z"])
    # Five known cells are in the target's order by chance in 1 of 60 columns.
    few = np.where(np.arange(2000) % 400 == 100, np.arange(2000), np.nan)
    town = rng.choice(list("abcdefgh"), 2000)
    assert warned(**base, gaps=gaps, often_low=often_low, town=town) == []
    rising = {"x": base["x"], "few": few, "y": np.arange(2000.0)}
    assert warned(**rising) == []
    # One row in 2,000: any word "gives the class" of the others.
    assert warned(x=base["x"], town=town, gaps=gaps, y=(np.arange(2000) > 1997).astype(int)) == []


def test_a_column_that_tells_one_of_three_classes_is_no_leak():
    rng = np.random.default_rng(1)
    label = rng.integers(0, 3, 300)
    assert warned(size=np.where(label == 0, 9.0, 0.0) + rng.random(300), y=label) == []


def test_duplicate_columns():
    base = noisy()
    words = np.where(base["z"] > 0, "left", "right")
    warnings = warned(
        **base,
        fahrenheit=32 + 1.8 * base["x"],
        falling=-(base["x"] ** 3),
        side=words,
        seite=np.where(words == "left", "links", "rechts"),
    )
    assert warnings == [
        'The columns "fahrenheit" and "falling" tell a tree the same as "x": one of them is '
        "enough.",
        'The column "seite" tells a tree the same as "side": one of them is enough.',
    ]
