"""Drift of a second file: the index by hand and against a twin, chance, foreign rows, words."""

import csv
import io
import re

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table, with_unfamiliarity
from tolerances import CANCELLED, SAME_SUM

from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidData
from gbuq_core.figures.table.drift import TwoFiles, two_files_figure
from gbuq_core.tables import (
    ScorePlan,
    column_histograms,
    describe_column,
    describe_drift,
    drift_csv,
    measure_drift,
    population_stability,
    score_table,
    why_no_coverage,
)
from gbuq_core.tables.words import describe_table

PLAN = ScorePlan(ensemble="virtual", n_trees=20, depth=2)


def make_frame(n, seed=0, shift=0.0, shops="ABC", gaps=0.0):
    """Like concrete: positive amounts, many zeros in one of them, a category."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "cement": rng.normal(300.0, 80.0, n).round(1) + shift,
            "ash": np.where(rng.random(n) < 0.5, 0.0, rng.uniform(50, 200, n)).round(1),
            "age": rng.choice([3, 7, 28, 90], n),
            "shop": rng.choice(list(shops), n),
        }
    )
    noise = rng.normal(size=n)
    frame["strength"] = (0.1 * frame["cement"] + np.log(frame["age"]) + noise).round(3)
    frame.loc[rng.random(n) < gaps, "ash"] = np.nan
    return frame


def score(first, second):
    return score_table(as_table(first), "strength", new=as_table(second), plan=PLAN)


@pytest.fixture(scope="module")
def shifted():
    second = make_frame(90, 1, shift=200.0, shops="ABD", gaps=0.2)
    return with_unfamiliarity(score(make_frame(200), second))


def dated(n, begins, seed=0):
    """A day, and a number that only its fifth digit tells apart."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp(begins) + pd.to_timedelta(rng.permutation(n), unit="D")
    frame = pd.DataFrame({"day": days.strftime("%d.%m.%Y"), "code": 20100.0 + rng.random(n)})
    frame["strength"] = (frame["code"] - 20100.0 + rng.normal(size=n)).round(3)
    return frame.round(4)


def test_the_bins_of_a_date_are_dates_and_no_bin_ends_where_it_begins():
    scored = score(dated(200, "2024-12-15"), dated(90, "2025-03-01", 1))
    day = measure_drift(scored).find("day: days")
    one_day = r"20\d\d-\d\d-\d\d"
    assert all(
        re.fullmatch(rf"up to {one_day}|{one_day} to {one_day}|above {one_day}", name)
        for name in day.bins
    )
    histograms = column_histograms(scored, "day: days")
    assert histograms.dates[0].startswith(
        "2024-12-1"
    )  # the edges are the quantiles of .5 and 99.5 %
    assert histograms.labels[0] == f"{histograms.dates[0]} to {histograms.dates[1]}"
    spec = two_files_figure(TwoFiles(*histograms), "drift", "value", "").spec
    assert spec["x"]["ticks"]["labels"][0] == histograms.dates[0]
    assert len(spec["x"]["ticks"]["labels"]) == 4
    assert spec["read"]["names"] == list(histograms.labels)
    months = column_histograms(scored, "day: month")
    assert months.dates == ()
    codes = column_histograms(scored, "code")
    assert "ticks" not in two_files_figure(TwoFiles(*codes), "drift", "value", "").spec["x"]
    for names in (codes.labels, measure_drift(scored).find("code").bins[1:-1]):
        assert not any(low == high for low, high in (name.split(" to ") for name in names))


def test_the_index_by_hand():
    # Shares with half a row more in each of two bins: 9.5/21, 11.5/21 and 4.5/11, 6.5/11.
    p, q = np.array([9.5, 11.5]) / 21, np.array([4.5, 6.5]) / 11
    by_hand = (q[0] - p[0]) * np.log(q[0] / p[0]) + (q[1] - p[1]) * np.log(q[1] / p[1])
    index = population_stability(np.array([9, 11]), np.array([4, 6]))
    assert index == pytest.approx(by_hand, rel=SAME_SUM)
    # A bin that no file fills is none.
    assert population_stability(np.array([9, 0, 11]), np.array([4, 0, 6])) == index


def naive_psi(first, second):
    """The index of one column, row by row."""
    if first.dtype.kind in "if":
        known = sorted(first.dropna())
        levels = sorted(set(known))
        ends = [known[int(np.ceil(len(known) * k / 10)) - 1] for k in range(1, 10)]
        for place, value in enumerate(levels):
            if known.count(value) >= 0.1 * len(known):
                ends += [value, *levels[place - 1 : place]]
        ends = sorted({end for end in ends if end < levels[-1]})
        if len(levels) <= 10:
            ends = levels[:-1]

        def bin_of(value):
            return "gap" if np.isnan(value) else sum(value > end for end in ends)
    else:
        common = set(first.dropna().value_counts().index[:20])

        def bin_of(value):
            if not isinstance(value, str):
                return "gap"
            return value if value in common else "other" if value in set(first) else "new"

    bins = [[bin_of(value) for value in part] for part in (first, second)]
    names = set(bins[0]) | set(bins[1])
    total = 0.0
    for name in names:
        p, q = ((part.count(name) + 0.5) / (len(part) + 0.5 * len(names)) for part in bins)
        total += (q - p) * np.log(q / p)
    return total


def test_the_index_of_each_column_is_that_of_a_twin():
    first, second = make_frame(150, 2, gaps=0.1), make_frame(70, 3, 60.0, "ABCD", 0.3)
    columns = {column.name: column for column in measure_drift(score(first, second)).columns}
    assert set(columns) == {"cement", "ash", "age", "shop"}
    for name, column in columns.items():
        assert column.psi == pytest.approx(naive_psi(first[name], second[name]), rel=CANCELLED)
        assert column.first.sum() == 150
        assert column.second.sum() == 70
    psi = [column.psi for column in measure_drift(score(first, second)).columns]
    assert psi == sorted(psi, reverse=True)


def test_unchanged_files_stay_within_chance_however_few_their_rows():
    above = 0
    for seed in range(10):
        drift = measure_drift(score(make_frame(100, seed), make_frame(30, 100 + seed)))
        above += bool(drift.shifted)
        assert drift.columns[0].psi > 0.1  # by convention alone, each of them would be an alarm
    assert above <= 2  # 5 % each


def test_a_shift_is_seen_and_told(shifted):
    drift = measure_drift(shifted)
    cement, shop, ash = (drift.find(name) for name in ("cement", "shop", "ash"))
    assert (cement.size, shop.size) == ("large", "large")
    assert drift.find("age").size == "not told apart"
    first, second = make_frame(200), make_frame(90, 1, 200.0, "ABD", 0.2)
    limits = first["cement"].agg(["min", "max"])
    outside = ~second["cement"].between(*limits)
    assert cement.outside == pytest.approx(outside.mean())
    assert (shop.new_levels, shop.n_new_level) == (("D",), (second["shop"] == "D").sum())
    assert ash.newly_missing
    assert ash.missing[1] == pytest.approx(second["ash"].isna().mean())
    out = outside | (second["shop"] == "D") | second["ash"].isna()
    out |= ~second["ash"].between(*first["ash"].agg(["min", "max"])) & second["ash"].notna()
    assert drift.outside == pytest.approx(out.mean())
    assert drift.outside == pytest.approx((shifted.unfamiliarity.n_outside > 0).mean())
    assert 'a category that is new: "D"' in describe_column(shop)
    assert "in the first file never" in describe_column(ash)
    sentence = describe_drift(drift)
    assert "3 of 4 columns shifted by more than chance: " in sentence
    assert "\n" not in sentence


def test_histograms_hold_all_rows(shifted):
    drift = measure_drift(shifted)
    every = [column_histograms(shifted, column.name) for column in drift.columns]
    for histograms in (drift.unfamiliarity, *every):
        assert histograms.first.sum() == pytest.approx(1.0)
        assert histograms.second.sum() == pytest.approx(1.0)
        assert len(histograms.labels) == len(histograms.first)
    assert len(column_histograms(shifted, "age").first) == 4
    assert column_histograms(shifted, "shop").labels[-1] == "new categories"


def test_the_table_of_columns_as_csv(shifted):
    drift = measure_drift(shifted)
    lines = list(csv.DictReader(io.StringIO(drift_csv(drift))))
    assert [line["column"] for line in lines] == [column.name for column in drift.columns]
    assert float(lines[0]["psi"]) == pytest.approx(drift.columns[0].psi)


def test_coverage_is_not_quoted_for_foreign_rows(shifted):
    assert measure_drift(shifted).foreign > 0.1
    for scored in (shifted, shifted.__class__(**{**vars(shifted), "unfamiliarity": None})):
        refusal = why_no_coverage(scored)
        assert refusal.startswith("The coverage measured on the first file is not shown")
        words = " ".join(describe_table(scored))
        assert refusal in words
        assert "Intervals of" not in words


def test_coverage_is_quoted_for_rows_of_the_same_kind():
    small = with_unfamiliarity(score(make_frame(60), make_frame(40, 7)))
    assert why_no_coverage(small) == ""
    assert "Intervals of" in " ".join(describe_table(small))
    own = score_table(as_table(make_frame(60)), "strength", plan=PLAN)
    assert why_no_coverage(own) == ""
    with pytest.raises(InvalidData, match="no second file"):
        measure_drift(own)


def test_rows_of_another_kind_of_table_as_protein_on_concrete(tmp_path, capsys):
    rng = np.random.default_rng(5)
    first, second = make_frame(120), make_frame(50, 6)
    for name in ("cement", "ash", "age"):  # areas in the thousands
        second[name] = rng.uniform(4000, 20000, 50).round(1)
    first.to_csv(tmp_path / "first.csv", index=False)
    second.to_csv(tmp_path / "second.csv", index=False)
    out = str(tmp_path / "out.csv")
    command = [
        "score",
        str(tmp_path / "first.csv"),
        str(tmp_path / "second.csv"),
        "--target",
        "strength",
        "--out",
        out,
        "--trees",
        "20",
    ]
    assert main(command) == 0
    printed = capsys.readouterr()
    assert "Warning: The second file is unlike the first" in printed.err
    held, second_line = (
        next(line for line in printed.out.splitlines() if line.startswith(start))
        for start in ("On rows held out", "On the second file")
    )
    assert "coverage" not in held
    assert "coverage" in second_line  # measured there
    assert "The coverage measured on the first file is not shown: 100 %" in printed.out
    assert "Drift: 100 % of the second file's 50 rows" in printed.out
