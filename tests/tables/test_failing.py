"""Where a model fails: groups that one half of the rows chooses and the other half judges."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from table_parts import as_table

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.tables import (
    ScorePlan,
    find_failures,
    held_out,
    held_out_inside,
    score_table,
    with_intervals,
)
from gbuq_core.tables.failing import Condition
from gbuq_core.tables.finding import find_rows

PLAN = ScorePlan(ensemble="virtual", n_trees=60, depth=3, learning_rate=0.1)


def make_frame(n=600, seed=3):
    """Errors are large for the shop "south, old" where the age is above 60."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n).astype(float),
            "shop": rng.choice(["north", "south, old", "east"], n),
            "a >= b": rng.normal(size=n).round(3),
        }
    )
    noisy = (frame.age > 60) & (frame["shop"] == "south, old")
    frame["y"] = (frame.age / 10 + rng.normal(0, np.where(noisy, 8.0, 0.2))).round(5)
    frame.loc[5:20, "age"] = np.nan
    return frame


def score(frame, **changes):
    return score_table(as_table(frame), "y", plan=replace(PLAN, **changes))


@pytest.fixture(scope="module")
def scored():
    return score(make_frame())


def test_the_group_that_was_planted_is_found(scored):
    failures = find_failures(scored)
    worst = failures.groups[0]
    assert {condition.column for condition in worst.conditions} <= {"age", "shop"}
    assert Condition("shop", "=", "south, old") in worst.conditions
    assert worst.is_worse
    assert worst.error > 3 * failures.everything.error / 2
    assert not failures.groups[-1].is_worse


def test_the_numbers_are_those_of_rows_that_did_not_look(scored):
    failures = find_failures(scored, seed=1)
    n = len(scored.frame)
    looking, judging = np.split(np.random.default_rng(1).permutation(np.arange(n)), [n // 2])
    cells = scored.frame.drop(columns=list(scored.added.names))
    total, df = scored.predictions.uncertainty.total, scored.predictions.df
    error = np.abs(scored.scored.y - scored.predictions.loc)
    width = student.ppf(0.95, df) * np.sqrt(1.0 - 2.0 / df)  # of a law with std 1
    misses = error > width * np.sqrt(total)
    assert failures.n_looking == len(looking)
    for group in failures.groups:
        # What the box "Find rows" makes of the text is the same group.
        inside = find_rows(group.text, cells, {})[judging]
        mine, others = judging[inside], judging[~inside]
        assert group.n_rows == len(mine)
        assert group.share == pytest.approx(len(mine) / len(judging))
        assert group.error == pytest.approx(np.sqrt(np.mean(error[mine] ** 2)))
        assert group.misses == pytest.approx(misses[mine].mean())
        assert group.misses_band[0] <= group.misses <= group.misses_band[1]
        squares = np.square(error)
        assert group.gap == pytest.approx(squares[mine].mean() - squares[others].mean())


@pytest.mark.parametrize("measure", ["error", "misses", "knowledge"])
def test_the_groups_are_in_the_order_of_the_number_that_was_asked_for(scored, measure):
    failures = find_failures(scored, measure)
    numbers = [getattr(group, measure) for group in failures.groups]
    assert len(numbers) > 2
    assert numbers == sorted(numbers, reverse=True)
    # What is shown and what is said of it cannot contradict each other.
    for group in failures.groups:
        assert not group.is_worse or getattr(group, measure) > getattr(failures.everything, measure)
        assert not group.is_better or getattr(group, measure) < getattr(
            failures.everything, measure
        )


def test_a_group_that_is_clearly_better_is_told(scored):
    best = find_failures(scored).groups[-1]
    assert best.is_better
    assert not best.is_worse


def test_noise_without_groups_seldom_stands_out():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(500, 4)).round(4), columns=["a", "b", "c", "y"])
    table = score(frame, n_trees=20)
    failures = [find_failures(table, seed=s).groups for s in range(20)]
    # Of some 100 groups without any difference 2.5 % stand out by chance on each side. Squared
    # errors are skewed, so that a small group without a large one looks better more often.
    assert sum(group.is_worse for groups in failures for group in groups) <= 12
    assert sum(group.is_better for groups in failures for group in groups) <= 18


def test_missing_cells_are_a_group_of_their_own():
    frame = make_frame(500)
    rng = np.random.default_rng(1)
    gone = (rng.random(500) < 0.2) | frame["age"].isna().to_numpy()
    frame["age"] = np.where(gone, np.nan, frame.age)
    frame["y"] = np.where(gone, rng.normal(0, 10, 500), 1.0 + rng.normal(0, 0.1, 500)).round(4)
    table = score(frame)
    worst = find_failures(table).groups[0]
    assert worst.conditions[0] == Condition("age", "=", "")
    cells = table.frame.drop(columns=list(table.added.names))
    assert find_rows(worst.conditions[0].text, cells, {}).tolist() == gone.tolist()


def test_classes_and_other_measures(scored):
    frame = make_frame()
    rng = np.random.default_rng(0)
    unsure = (frame["shop"] == "east") & (rng.random(len(frame)) < 0.5)
    frame["y"] = np.where((frame["a >= b"] > 0) ^ unsure, "yes", "no")
    table = score(frame)
    failures = find_failures(table)
    assert Condition("shop", "=", "east") in failures.groups[0].conditions
    assert 0.0 <= failures.everything.error <= 1.0
    assert np.isnan(failures.everything.misses)
    with pytest.raises(InvalidData, match="interval"):
        find_failures(table, "misses")
    for measure in ("misses", "knowledge"):
        assert find_failures(scored, measure).measure == measure


@pytest.mark.parametrize("conformal", [False, True])
def test_misses_are_those_of_the_tables_own_intervals(scored, conformal):
    held, every = held_out(scored), find_failures(scored, "misses").everything
    table = with_intervals(scored, 0.5, conformal)
    failures = find_failures(table, "misses")
    _, judging = np.split(
        np.random.default_rng(0).permutation(len(held.rows)), [len(held.rows) // 2]
    )
    misses = ~held_out_inside(scored, 0.5, conformal, held)
    assert failures.everything.misses == pytest.approx(misses[judging].mean())
    assert failures.everything.misses > every.misses + 0.2


def test_too_few_rows_and_unknown_measures_are_refused(scored):
    with pytest.raises(InvalidData, match="100"):
        find_failures(score(make_frame(90)))
    with pytest.raises(InvalidParameter, match="measure"):
        find_failures(scored, "luck")


def test_a_table_without_anything_to_ask_has_no_groups():
    days = pd.date_range("2021-01-01", periods=200).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"day": days, "y": np.random.default_rng(0).normal(size=200).round(4)})
    failures = find_failures(score(frame))
    assert failures.groups == ()
    assert failures.everything.share == 1.0


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition("age", ">", "60"), "age > 60"),
        (Condition("shop", "=", "south, old"), 'shop = "south, old"'),
        (Condition("a >= b", "!=", ""), '"a >= b" !='),
    ],
)
def test_conditions_are_written_as_the_box_reads_them(condition, text):
    assert condition.text == text


def test_beside_a_second_file_the_first_files_rows_are_judged():
    frame = make_frame()
    new = frame.drop(columns="y").iloc[:30]
    first, second = (as_table(part) for part in (frame, new))
    failures = find_failures(score_table(first, "y", new=second, plan=PLAN))
    # One fifth of 600 rows was held out; half of these look and half judge.
    assert (failures.n_looking, failures.everything.n_rows) == (60, 60)
