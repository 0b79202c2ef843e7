"""Columns that give the target away together or by a category, and times that are cut off."""

import time

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table

from gbuq_core.tables import infer_schema, prepare_training, split_warnings
from gbuq_core.tables.cleaning import Feature
from gbuq_core.tables.leaking import find_leaks

RNG = np.random.default_rng(0)
N = 400


def prepared(target="y", task=None, **columns):
    table = as_table(pd.DataFrame(columns))
    return table, prepare_training(table, infer_schema(table), target, task)


def leaks(**columns):
    return [(leak.columns, str(leak).split(":")[0]) for leak in find_leaks(prepared(**columns)[1])]


def numbers(n=N, p=6, seed=0):
    """Columns of both signs, and positive ones with a long tail."""
    rng = np.random.default_rng(seed)
    draws = [rng.normal(10, 9, n) if k % 2 else rng.lognormal(1, 1, n) for k in range(p)]
    return {f"c{k}": draw.round(2) for k, draw in enumerate(draws)}


C = numbers()
GAPS = {name: np.where(RNG.random(N) < 0.08, np.nan, values) for name, values in C.items()}
HIGH = RNG.normal(1e4, 100, N).round(2)
UNIT = RNG.permutation(np.resize([-1.0, 1.0], N))
COUNT = RNG.poisson(0.2, N)
OFF = RNG.choice([0.0, 0.1, 0.2, 0.4], N)
DAY = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 700, N), unit="D")
STAY = RNG.integers(1, 40, N)
STAYED = pd.to_timedelta(STAY, "D")
WENT = RNG.gamma(2.0, 2.0, N).round(2)


@pytest.mark.parametrize(
    ("columns", "y", "said"),
    [
        (C, C["c1"] + C["c3"], '"c1" + "c3"'),
        (C, C["c0"] - C["c2"] + C["c5"], '"c0" + "c5" - "c2"'),
        (C, (C["c0"] * C["c1"]).round(1), '"c0" * "c1"'),
        (C, C["c0"] * C["c2"] * C["c4"], '"c0" * "c2" * "c4"'),
        (C, C["c1"] / C["c2"], '"c1" / "c2"'),
        (C, C["c0"] * C["c2"] / C["c4"], '"c0" * "c2" / "c4"'),
        (C, C["c0"] * C["c2"] - C["c4"], '"c0" * "c2" - "c4"'),
        (C | {"d": OFF}, C["c0"] * C["c2"] * (1 - OFF), '"c0" * "c2" - "c0" * "c2" * "d"'),
        (C, 100 * (C["c0"] - C["c2"]) / C["c2"], '100 * "c0" / "c2" - 100'),
        (C, 0.3 * C["c1"] + 0.7 * C["c3"] + 2, '0.3 * "c1" + 0.7 * "c3" + 2'),
        (GAPS, C["c0"] + C["c1"] - C["c2"], '"c0" + "c1" - "c2"'),
        # R2 of .9995; columns that alone tell next to nothing; money for each of few claims; days.
        (C, C["c1"] + C["c3"] + 0.28 * UNIT, 'almost "c1" + "c3"'),
        ({**C, "out": HIGH, "in": HIGH - WENT}, WENT, '"out" - "in"'),
        ({**C, "count": COUNT}, COUNT * C["c0"], '"c0" * "count"'),
        ({**C, "in": DAY.astype(str), "out": (DAY + STAYED).astype(str)}, STAY, '"out" - "in"'),
    ],
)
def test_a_sum_difference_product_or_ratio_is_named_once(columns, y, said):
    (leak,) = leaks(**columns, y=y)
    assert leak[1] == f"The target is {said}"


@pytest.mark.parametrize("seed", range(20))
def test_clean_wide_tables_have_no_leak(seed):
    rng = np.random.default_rng(seed)
    n, p = (80, 150) if seed % 4 else (600, 40)
    columns = numbers(n, p, seed)
    x = [columns[f"c{k}"] for k in range(p)]
    signal = [x[1] + x[3], x[0] * x[2], x[0] - x[2] + x[5], 3 * x[1], sum(x[:12])][seed % 5]
    columns["kind"] = rng.choice(list("abcdef"), n)
    # R2 of .99, as that of a strong feature.
    y = signal + 0.1 * signal.std() * rng.normal(size=n)
    assert leaks(**columns, y=y) == []
    # A row of totals has an R2 of 1 with all columns.
    total = {name: np.append(v, abs(v).sum()) for name, v in columns.items() if name != "kind"}
    assert leaks(**total, y=np.append(y, abs(y).sum())) == []


SERIES = np.random.default_rng(6)
DAYS = np.arange(500)
COURSES = {
    "walk": SERIES.normal(size=500).cumsum(),
    "season": 9 * np.sin(DAYS / 30) + 3 * np.sin(DAYS / 12),
    "trend": 0.05 * DAYS + np.sin(DAYS / 9) + 0.1 * SERIES.normal(size=500),
    "growth": np.exp(DAYS / 150) * (1 + 0.002 * SERIES.normal(size=500)),
}


@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("course", COURSES)
def test_what_a_smooth_series_was_before_is_no_leak_and_its_other_words_are(course, dated):
    y = pd.Series(COURSES[course].round(3))
    before = {f"lag{k}": y.shift(k) for k in (1, 2, 7)} | {"mean": y.rolling(3).mean().shift(1)}
    x = SERIES.normal(size=500).round(3)
    table = pd.DataFrame({**before, "other": COURSES["trend" if course == "walk" else "walk"]})
    table = table.assign(x=x, y=y)
    order = np.arange(500)
    if dated:
        table["date"], order = pd.date_range("2020-01-01", periods=500).astype(str), np.argsort(x)
    assert leaks(**table.iloc[order]) == []
    for told in (1.8 * y + 32, np.log(y - y.min() + 1), y - x):
        (leak,) = leaks(**table[[*"xy", *table.columns[7:]]].assign(told=told).iloc[order])
        assert "told" in leak[0]


@pytest.mark.parametrize("n", [20, 40, 100])
def test_a_few_rows_of_a_kind_are_told_by_chance(n):
    columns, row = numbers(n, 30, n), np.arange(n)
    assert leaks(**columns, y=np.where(row < 2, "yes", "no")) == []
    y = np.random.default_rng(0).lognormal(1, 1, n)
    assert leaks(**columns, y=np.where(row < n // 20, 0.0, y)) == []


def test_a_thousand_columns_take_about_a_second():
    training, columns = prepared(**C, y=C["c0"])[1], numbers(1000, 1000)
    wide = training._replace(
        X=pd.DataFrame(columns),
        y=RNG.normal(size=1000),
        features=tuple(Feature(name, name, "") for name in columns),
    )
    began = time.thread_time()
    assert find_leaks(wide) == []
    # 1.2 s on an idle machine.
    assert time.thread_time() - began < 4.0


DEAD = np.random.default_rng(1).random(20_000) < 0.045
DREW = np.random.default_rng(2).random(20_000)
GRADE = RNG.integers(0, 35, 2000)
MONTH = RNG.integers(0, 3, 2000)
CLAIMS = RNG.poisson(0.2, 2000)


@pytest.mark.parametrize(
    ("told", "y", "what"),
    [
        # 92 % of the dead have grade 4, and 98 % of those with grade 4 are dead.
        (
            np.where(DEAD, 4 - (DREW > 0.92), np.where(DREW < 0.001, 4, DREW * 4 // 1)),
            DEAD,
            "class",
        ),
        ([f"G{grade}" for grade in GRADE], 5 + 0.75 * GRADE + 0.2 * MONTH, "target almost"),
        (CLAIMS > 0, CLAIMS, "class"),
        (CLAIMS, CLAIMS > 0, "parts the classes"),
        (np.where(CLAIMS > 0, "yes", "no"), CLAIMS * RNG.gamma(2, 500, 2000), "target is 0"),
    ],
)
def test_a_category_that_nearly_gives_the_target_is_a_leak(told, y, what):
    y = np.asarray(y)
    x = np.random.default_rng(3).normal(size=len(y))
    (leak,) = leaks(x=x, told=np.asarray(told), y=y * 1 if y.dtype == bool else y)
    assert leak[0] == ("told",)
    assert what in leak[1]


def test_strong_categories_are_no_leaks():
    rng = np.random.default_rng(4)
    yes, town = rng.random(1000) < 0.5, rng.integers(0, 10, 1000)
    flag = np.where(rng.random(1000) < 0.94, yes, ~yes) * 1
    assert leaks(x=rng.normal(size=1000), flag=flag, y=yes * 1) == []
    level = 10 * rng.normal(size=10)[town]
    words = [f"t{k}" for k in town]
    assert leaks(x=rng.normal(size=1000), town=words, y=level + rng.normal(size=1000)) == []


def cut_off(target, column, levels):
    rng = np.random.default_rng(5)
    columns = {"a": rng.normal(size=200), column: np.resize(levels, 200)}
    table, training = prepared(target, "regression", **columns, **{target: rng.exponential(9, 200)})
    return [
        sentence for sentence in split_warnings(table, training) if "censored times" in sentence
    ]


@pytest.mark.parametrize(
    ("target", "column", "levels", "who"),
    [
        ("time", "event", [0, 1, 1, 1], "0 in 25.0 %"),
        ("time", "status", [1, 2], "1 in 50.0 %"),
        ("time", "status", [0, 1, 2, 2], "0 in 25.0 %"),
        ("os_months", "os_status", ["0:LIVING", "1:DECEASED"], "0:LIVING in 50.0 %"),
        ("tenure", "Churn", ["No", "No", "No", "Yes"], "No in 75.0 %"),
        ("Survival (days)", "vital", ["Dead", "Alive"], "Alive in 50.0 %"),
        ("t", "censored", [True, False, False, False], "True in 25.0 %"),
        ("age_at_death", "died", [False, True], "False in 50.0 %"),
        ("timeToFailure", "machine_failed", ["n", "y"], "n in 50.0 %"),
        ("Monate", "verstorben", ["nein", "ja"], "nein in 50.0 %"),
        ("T", "E", [0, 1], "0 in 50.0 %"),
        ("duration", "relapse", [0, 1], "0 in 50.0 %"),
        ("OS.time", "OS", [0, 1], "0 in 50.0 %"),
        (
            "DFS_MONTHS",
            "DFS_STATUS",
            ["1:Recurred/Progressed", "0:DiseaseFree"],
            "0:DiseaseFree in",
        ),
        ("tiempo", "fallecio", [0, 1], "0 in 50.0 %"),
        ("overlevingstijd", "overleden", [0, 1], "0 in 50.0 %"),
        ("生存期間", "死亡", [0, 1, 1, 1], "0 in 25.0 %"),
        ("lifetime_days", "is_active", [0, 1], "1 in 50.0 %"),
        ("days_on_market", "sold", ["no", "yes"], "no in 50.0 %"),
        ("stop", "event", [0, 1], "0 in 50.0 %"),
        ("months_on_book", "Attrition", ["Existing Customer", "Attrited"], "Existing Customer in"),
    ],
)
def test_times_beside_who_had_the_event_may_be_cut_off(target, column, levels, who):
    (sentence,) = cut_off(target, column, levels)
    assert sentence.startswith(f'"{column}" is {who}')
    assert f'"{target}"' in sentence
    assert "predictions are too low" in sentence


def test_a_name_that_means_either_is_told_with_both_shares():
    (sentence,) = cut_off("time", "cens", [0, 1, 1, 1])
    assert "1 in 75.0 % of the rows and 0 in 25.0 % of the rows. If, in one of them" in sentence


@pytest.mark.parametrize(
    ("target", "column", "levels"),
    [
        ("price", "status", [0, 1]),
        ("days", "diabetes", [0, 1]),
        ("age", "survived", [0, 1]),
        ("time", "marital_status", ["single", "married"]),
        ("sales_per_day", "event", [0, 1]),
        ("average_monthly_hours", "left", [0, 1]),
        ("delivery_time", "special_event", [0, 1]),
        ("days", "prior_failure", [0, 1]),
        ("time", "hand", ["left", "right"]),
        ("T", "failed", [0, 1]),
        ("age_at_diagnosis", "dead", [0, 1]),
        ("time", "treatment", ["active", "control"]),
        ("wait_days", "status", ["gold", "silver"]),
        ("time", "active", [0, 1]),
        ("cook_time", "cook", [0, 1]),
        ("age_months", "sold", [0, 1]),
        ("TIME0", "event", [0, 1]),
    ],
)
def test_other_targets_and_ordinary_flags_are_not_warned_of(target, column, levels):
    assert cut_off(target, column, levels) == []


@pytest.mark.parametrize("name", ["Week", "day", "Month", "hour"])
def test_a_week_beside_its_date_is_when_and_not_how_long(name):
    when = pd.date_range("2019-01-02", periods=400, freq="77h").to_series()
    part = when.dt.isocalendar().week if name == "Week" else getattr(when.dt, name.lower())
    columns = {"date": when.astype(str), "Censored": np.arange(400) % 3 == 0}
    for y, is_span in ((part, False), (np.random.default_rng(7).permutation(part), True)):
        table, training = prepared(name, "regression", **columns, **{name: np.asarray(y, float)})
        assert ("censored times" in " ".join(split_warnings(table, training))) == is_span
