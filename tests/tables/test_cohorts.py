"""Cohorts: their numbers recomputed by hand, conditions that cannot be read, links."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student
from table_parts import as_table, with_unfamiliarity

from gbuq_core.errors import InvalidData
from gbuq_core.tables import (
    ScorePlan,
    cohort_rows,
    compare_cohorts,
    held_out,
    read_cohorts,
    score_table,
    write_cohorts,
)
from gbuq_core.tables.cohorts import COHORTS_PATTERN, check_cohorts, name_problem

PLAN = ScorePlan(ensemble="virtual", n_trees=30, depth=3)


def make_frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 90, n),
            "shop": rng.choice(["north", "south"], n),
            "id": [f"r{k}" for k in range(n)],
        }
    )
    frame["y"] = frame["age"] / 10 + rng.normal(0, np.where(frame["shop"] == "south", 3.0, 0.2))
    return frame.round(4)


@pytest.fixture(scope="module")
def scored():
    return with_unfamiliarity(score_table(as_table(make_frame()), "y", plan=PLAN))


def test_the_numbers_by_hand(scored):
    frame = make_frame()
    inside = ((frame["age"] > 60) & (frame["shop"] == "south")).to_numpy()
    (cohort,) = compare_cohorts(scored, {"old": "age > 60, shop = south"}).cohorts
    error = np.abs(frame["y"].to_numpy() - scored.predictions.loc)
    n = int(inside.sum())
    assert (cohort.n_rows, cohort.share) == (n, n / 200)
    assert cohort.error == pytest.approx(np.sqrt(np.mean(error[inside] ** 2)))
    assert cohort.nll == pytest.approx(scored.predictions.nll[inside].mean())
    knowledge = scored.predictions.uncertainty.knowledge
    assert cohort.knowledge == pytest.approx(knowledge[inside].mean())
    assert cohort.unfamiliarity == pytest.approx(scored.frame["unfamiliarity"][inside].mean())
    df = scored.predictions.df
    width = student.ppf(0.95, df) * np.sqrt(1.0 - 2.0 / df)  # of a law with std 1
    covered = error <= width * np.sqrt(scored.predictions.uncertainty.total)
    p, z = covered[inside].mean(), norm.ppf(0.975)
    assert cohort.coverage == pytest.approx(p)
    middle, half = p + z * z / (2 * n), z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    band = np.array([middle - half, middle + half]) / (1 + z * z / n)
    np.testing.assert_allclose(cohort.coverage_band, band, rtol=1e-6)
    for gap, values in ((cohort.gaps.error, error), (cohort.gaps.coverage, covered * 1.0)):
        mine, others = values[inside], values[~inside]
        assert gap.value == pytest.approx(mine.mean() - others.mean())
        spread = np.sqrt(mine.var(ddof=1) / len(mine) + others.var(ddof=1) / len(others))
        assert gap.error == pytest.approx(spread)
        assert gap.told_apart == (abs(gap.value) > 1.959964 * spread)
    assert cohort.gaps.error.told_apart


def test_measures_can_name_a_cohort_and_noise_is_not_told_apart(scored):
    compared = compare_cohorts(
        scored, {"sure": "total < 1", "strange": "unfamiliarity > 0.9", "even": "r2"}, unit="std"
    )
    sure, strange, named = compared.cohorts
    total = np.sqrt(scored.predictions.uncertainty.total)
    assert sure.n_rows == int((total < 1.0).sum())
    assert strange.n_rows == int((scored.frame["unfamiliarity"] > 0.9).sum())
    assert strange.gaps.unfamiliarity.told_apart
    assert not named.gaps.error.told_apart
    assert compared.everything.n_rows == 200
    assert np.isnan(compared.everything.gaps.error.value)


def test_rows_of_cohorts_overlap_and_measures_hold_for_held_out_rows_only(scored):
    frame = make_frame()
    cohorts = {"old": "age > 60", "southern": "shop = south", "far off": "error > 2, age > 60"}
    old, southern, far = cohort_rows(scored, cohorts).T
    np.testing.assert_array_equal(old, frame["age"] > 60)
    np.testing.assert_array_equal(southern, frame["shop"] == "south")
    assert (old & southern).any()
    error = np.abs(frame["y"].to_numpy() - scored.predictions.loc)
    np.testing.assert_array_equal(far, old & (error > 2))
    with pytest.raises(InvalidData, match=r'^tall: There is no column "height"'):
        cohort_rows(scored, {"tall": "height > 2"})

    table = as_table(make_frame())
    beside = score_table(table, "y", new=as_table(make_frame(50, 1)), plan=PLAN)
    old, certain = cohort_rows(beside, {"old": "age > 60", "any": "total > 0"}, table=table).T
    np.testing.assert_array_equal(old, frame["age"] > 60)
    np.testing.assert_array_equal(np.flatnonzero(certain), held_out(beside).rows)
    assert not certain.all()


def test_an_empty_cohort_has_no_numbers(scored):
    (nobody,) = compare_cohorts(scored, {"nobody": "age > 900"}).cohorts
    assert nobody.n_rows == 0
    assert np.isnan([nobody.error, nobody.nll, nobody.coverage]).all()
    assert not nobody.gaps.error.told_apart


def test_a_condition_that_cannot_be_read_names_its_cohort(scored):
    with pytest.raises(InvalidData, match='tall: There is no column "height"'):
        compare_cohorts(scored, {"tall": "height > 2"})
    assert list(check_cohorts(scored, {"old": "age > 60", "tall": "height > 2"})) == ["tall"]


def test_classes_and_a_second_file():
    frame = make_frame(150)
    frame["y"] = np.where(frame["age"] + np.random.default_rng(1).normal(0, 9, 150) > 50, "a", "b")
    table, new = as_table(frame), as_table(frame.drop(columns="y").head(20))
    scored = score_table(table, "y", new=new, plan=PLAN)
    held = held_out(scored)
    cohorts = {"south": "shop = south", "said a": "prediction = a", "is a": "y = a"}
    for given in (None, table):
        south, predicted, true = compare_cohorts(scored, cohorts, table=given).cohorts
        inside = (frame["shop"] == "south").to_numpy()[held.rows]
        assert south.n_rows == inside.sum()
        assert south.error == pytest.approx(held.errors[inside].mean())
        assert np.isnan(south.coverage)
        assert true.n_rows == (frame["y"].to_numpy()[held.rows] == "a").sum()
        assert predicted.n_rows == (held.predictions.loc == held.classes.index("a")).sum()
    # Columns that the model does not use are known from the file.
    with pytest.raises(InvalidData, match="no column"):
        compare_cohorts(scored, {"one": "id = r1"})
    assert compare_cohorts(scored, {"one": "id = r1"}, table=table).everything.n_rows == len(held.y)


@pytest.mark.parametrize(
    "cohorts", [{}, {"old": "age > 60"}, {"a, b": 'x = "50 % | more"', "ä ö": "y%7C = 3"}]
)
def test_links_hold_cohorts(cohorts):
    text = write_cohorts(cohorts)
    assert re.fullmatch(COHORTS_PATTERN, text)
    assert read_cohorts(text) == cohorts


@pytest.mark.parametrize("text", ["old", "=age > 60", "old=", "a=b|", "a" * 41 + "=b", "a=b\n"])
def test_other_links_do_not_fit(text):
    assert not re.fullmatch(COHORTS_PATTERN, text)


def test_names_are_limited():
    assert not name_problem("Old, south (60 %)")
    assert all(name_problem(name) for name in ("", " a", "a|b", "a=b", "a" * 41, "a\nb"))
