"""Cells as their owners mean them: units, signs, marks, missing words, dates and spellings."""

import datetime
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from babel.dates import format_date, format_datetime
from table_parts import as_parquet, table_of

from gbuq_core.errors import InvalidData
from gbuq_core.streaming import open_blocks, survey_file
from gbuq_core.tables import edit_schema, infer_schema, prepare_new, prepare_training, read_table
from gbuq_core.tables.columns import one_form
from gbuq_core.tables.editing import read_cell
from gbuq_core.tables.written_dates import find_date_style, read_dates
from gbuq_core.tables.written_numbers import read_numbers

N = 40
COUNT = list(range(N))


def table_with(cells):
    return table_of(v=cells, y=[k % 7 for k in range(len(cells))])


def schema_of(cells):
    return infer_schema(table_with(cells))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(446.89)", -446.89),
        ("446.89-", -446.89),
        ("\u2212446.89", -446.89),
        ("$(446.89)", -446.89),
        ("\u2013446.89", -446.89),
        ("20\u201330", np.nan),
        ("5.-", 5.0),
        ("5.\u2013", 5.0),
        ("CHF 5.--", 5.0),
        ("5-", -5.0),
        ("12.5- km/h", -12.5),
        ("12.5-%", -12.5),
        ("5-HT", np.nan),
        ("($1,876.85)", -1876.85),
        ("-$2,860.29", -2860.29),
        ("1,87,685", 187685.0),
        ("\uff11\uff12.\uff15", 12.5),
        ("\u0663\u0664\u066b\u0665", 34.5),
        ("USD 630.79", 630.79),
        ("630.79 EUR", 630.79),
        ("R$ 5", 5.0),
        ("5 kr", 5.0),
        ("\u20b95", 5.0),
        ("12.6 kg", 12.6),
        ("45 m2", 45.0),
        ("45 m²", 45.0),
        ("5 km/h", 5.0),
        ("1.2e-3 kg", 0.0012),
        ("<0.5", 0.5),
        ("10+", 10.0),
        ("630.8*", 630.8),
        ("~631", 631.0),
        ("10+ years", 10.0),
        ("(5", np.nan),
        ("5 7", np.nan),
        ("Rp26.090", 26.09),
        ("26.1[a]", 26.1),
        ("26.1 \u00b9", 26.1),
        ("'26.1", 26.1),
        ("26.1 \u00baC", 26.1),
        ("12:30", np.nan),
        ("3 x 4", np.nan),
        ("2020-09-28", np.nan),
        ("12 - 14", np.nan),
    ],
)
def test_what_a_cell_is_as_a_number(text, value):
    np.testing.assert_array_equal(read_numbers(pa.array([text, "x"]), ".").values, [value, np.nan])


@pytest.mark.parametrize(
    ("form", "unit"),
    [("{} kg", "kg"), ("USD {}", "USD"), ("{} %", "%"), ("kr {}", "kr"), ("({})", ""), ("{}*", "")],
)
def test_one_unit_makes_a_column_of_numbers(form, unit):
    """Cells with another one are no numbers of the column, nor is a second file's."""
    cells = [form.format(f"{k}.5") for k in COUNT] + ["7 lb"]
    table = table_with(cells)
    schema = infer_schema(table)
    column = schema.columns[0]
    assert (column.kind, column.n_unreadable, column.unreadable) == ("numeric", 1, ("7 lb",))
    assert column.style.get("unit", "") == unit
    sign = -1.0 if form == "({})" else 1.0
    training = prepare_training(table, schema, "y")
    np.testing.assert_array_equal(training.X["v"], [*(sign * (k + 0.5) for k in COUNT), np.nan])
    new = prepare_new(table_of(v=[form.format("3.25"), form.format("4")], k=[1, 2]), training)
    np.testing.assert_array_equal(new.X["v"], [sign * 3.25, sign * 4.0])
    with pytest.raises(InvalidData, match="something else in the second"):
        prepare_new(table_of(v=["5 lb", "6 lb"], k=[1, 2]), training)


@pytest.mark.parametrize(
    ("first", "second"), [("{}%", "{}"), ("${}", "\u00a5{}"), ("{} kg", "{} g")]
)
def test_mixed_units_are_not_one_scale(first, second):
    cells = [(first if k % 2 else second).format(f"{k}.5") for k in COUNT]
    table = table_with(cells)
    schema = infer_schema(table)
    assert not schema.columns[0].used
    assert any("numbers in different units" in sentence for sentence in schema.notices)
    with pytest.raises(InvalidData, match="numbers in different units"):
        prepare_training(table, schema, "v")
    chosen = edit_schema(table, schema, {"v": "numeric"}).columns[0]
    assert (chosen.used, chosen.n_unreadable) == (True, N // 2)


def test_thousands_and_millions_beside_each_other():
    schema = schema_of(["$1.9M", "$850k", "$12"] * 10)
    assert schema.columns[0].limits == (12.0, 1.9e6)
    assert schema.columns[0].style["unit"].startswith("$")


def test_marks_beside_numbers_are_told_of():
    column = schema_of(["<0.5" if k % 5 == 0 else f"{k}.5" for k in COUNT]).columns[0]
    assert (column.kind, column.limits) == ("numeric", (0.5, 39.5))
    assert "8 cells" in dict(column.remarks)["noted"]


@pytest.mark.parametrize(
    ("form", "what"),
    [
        ("{0}:{1:02d}", "numbers"),
        ("{0} \u00b1 0.{1}", "numbers"),
        ("{0}_{1}00", "numbers"),
        ("ca. {0}.{1}", "numbers"),
        ("No. {0}{1}", "numbers"),
        ("{0}.{1} (est.)", "numbers"),
        ("{0} to {1}", "numbers"),
        ("{0}y {1}m", "numbers"),
        ("2{0:03d}/{1}|2021", "dates"),
    ],
)
def test_what_looks_like_numbers_or_dates_is_told_of(form, what):
    schema = schema_of([form.format(k + 7, k % 7 + 1) for k in COUNT])
    assert any(f'column "v" look like {what}' in sentence for sentence in schema.notices)


@pytest.mark.parametrize("cells", [["3A", "3B", "4C", "7D"] * 10, ["1 year", "2 doors"] * 20])
def test_codes_and_words_stay_categories(cells):
    column = schema_of(cells).columns[0]
    assert (column.kind, column.used) == ("category", True)


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["2020-09-28 12:48:00 UTC", "2021-09-28 12:48:00 UTC"], "2020-09-28T12:48"),
        (["2021-06-16T06:00:00+02:00", "2021-01-16T06:00:00+01:00"], "2021-06-16T04:00"),
        (["2021-05-03 10:00 CEST", "2021-01-03 10:00 CET"], "2021-05-03T08:00"),
        (["28. September 2020", "3. M\u00e4rz 2021"], "2020-09-28"),
        (["3 f\u00e9v 2020", "28 d\u00e9c. 2021"], "2020-02-03"),
        (["28 de septiembre de 2020", "3 de enero de 2021"], "2020-09-28"),
        (["Mon, 28 Sep 2020", "Tue, 3 Nov 2020"], "2020-09-28"),
        (["Sep-20", "Okt-21"], "2020-09-01"),
        (["2020-W40", "2021-W02"], "2020-09-28"),
        (["28-09-20", "03-10-21", "15-01-19"], "2020-09-28"),
        (["2020\u5e749\u670828\u65e5", "2021\u5e741\u67082\u65e5"], "2020-09-28"),
        (["'2020-09-28", "'2020-09-21"], "2020-09-28"),
        (["09/28/2020", "2022-10-08"], "2020-09-28"),
        (["05/31/24", "12/31/28"], "2024-05-31"),
        (["09.2020", "12.2021"], "2020-09-01"),
        (["9/2020", "12/2021"], "2020-09-01"),
        (["2020Q3", "Q1 2021"], "2020-07-01"),
        (["2020-W40-2", "2021W021"], "2020-09-29"),
        (["2020 Ekim", "2021 \u015eubat"], "2020-10-01"),
        (["28/set/2020", "3/out/2021"], "2020-09-28"),
        (["2020-Sep-28", "2021-Oct-03"], "2020-09-28"),
        (["2020. 9. 28. \uc624\ud6c4 1:08", "2021. 1. 2. \uc624\uc804 8:00"], "2020-09-28T13:08"),
        (["2020\u5e749\u670828\u65e5 \u5348\u5f8c1:08"] * 2, "2020-09-28T13:08"),
        (["2020\ub144 9\uc6d4 28\uc77c 13\uc2dc 8\ubd84"] * 2, "2020-09-28T13:08"),
        (
            ["\u4ee4\u548c2\u5e749\u670828\u65e5", "\u5e73\u621030\u5e742\u67081\u65e5"],
            "2020-09-28",
        ),
        (["20200928124805", "20210928T1248Z"], "2020-09-28T12:48:05"),
        (["202009281248", "202111021248"], "2020-09-28T12:48"),
        (["09/28/2020 09:15 PM EST", "09/29/2020 09:15 AM EDT"], "2020-09-29T02:15"),
        (
            ["Mon Sep 28 12:48:00 2020", "Tue Nov  3 12:48:00 UTC 2020".replace("  ", " ")],
            "2020-09-28T12:48",
        ),
        (["September 28th, 2020", "March 3rd, 2021"], "2020-09-28"),
        (["2020-09-28 12:48:00,125", "2021-09-28 12:48:00,000"], "2020-09-28T12:48:00.125"),
        (["28 сентября 2020 г.", "3 мая 2021 г."], "2020-09-28"),
        (["28. syyskuuta 2020", "3. toukokuuta 2021"], "2020-09-28"),
        (["2020. szeptember 28.", "2021. m\u00e1jus 3."], "2020-09-28"),
        (["2020년 9월 28일", "2021년 5월 3일"], "2020-09-28"),
        (["28-9月-2020", "03-12月-2021"], "2020-09-28"),
        (["九月 2020", "十二月 2021"], "2020-09-01"),
        (["28 กันยายน 2563", "3 ธ.ค. 2564"], "2020-09-28"),
        (["Thứ Hai, ngày 28 tháng 9 năm 2020", "ngày 3 tháng 12 năm 2021"], "2020-09-28"),
        (["28 أيلول 2020", "3 ماي 2021"], "2020-09-28"),
        (["2020-09-28 12 h 48", "2021-09-28 00 h 48"], "2020-09-28T12:48"),
    ],
)
def test_more_ways_to_write_dates(texts, first):
    style, _ = find_date_style(texts, day_first=False)
    dates = read_dates(pa.array(texts), style)
    assert dates.values[0] == np.datetime64(first, "us")
    assert not dates.unreadable.any()


PLACES = (
    "ar bg bn ca cs da de_AT el es et fi fr he hi hu hy is it ja kk ko lt lv nb nl pl pt ro ru sk"
    " sl sr sv th tr uk vi zh"
)


@pytest.mark.parametrize("form", ["medium", "long", "full"])
@pytest.mark.parametrize("place", PLACES.split())
def test_dates_are_read_as_each_language_writes_them(place, form):
    moments = [datetime.datetime(2018, 1 + k % 12, 1 + 5 * k % 28, 8 + 5 * (k % 2)) for k in COUNT]
    written = {
        "D": [format_date(moment, form, locale=place) for moment in moments],
        "s": [format_datetime(moment, "medium", locale=place) for moment in moments],
    }
    for unit, texts in written.items():
        cells = one_form(pa.array(texts))
        values = read_dates(cells, find_date_style(cells.to_pylist(), True)[0]).values
        np.testing.assert_array_equal(values, np.array(moments, f"M8[{unit}]"))


@pytest.mark.parametrize(
    ("form", "style"),
    [("%m%d%Y", "mmddyyyy"), ("%d%m%Y", "ddmmyyyy"), ("%Y%m%d", "yyyymmdd")],
)
def test_dates_of_eight_digits(form, style):
    first = datetime.date(2018, 1, 2)
    days = [first + datetime.timedelta(17 * k) for k in COUNT]
    numbers = [int(day.strftime(form)) for day in days]  # without the first zero
    for cells in (numbers, [f"{number}.0" for number in numbers]):
        column = schema_of(cells).columns[0]
        assert (column.kind, column.date_style) == ("date", style)
        assert column.limits == (str(days[0]), str(days[-1]))


@pytest.mark.parametrize(
    ("form", "first"),
    [
        ("{0:02d}:{1:02d}", 1.25),
        ("{0}:{1:02d}:36", 1.26),
        ("{0}:{1:02d} PM", 13.25),
        ("\u5348\u5f8c{0}:{1:02d}", 13.25),
        ("{0:02d}.00.36", 1.01),
        ("{0}h{1:02d}", 1.25),
        ("{0:02d}.{1:02d} Uhr", 1.25),
        ("kl. {0:02d}.{1:02d}", 1.25),
        ("{0} h {1:02d}", 1.25),
        ("{0}時{1}分", 1.25),
        ("{0}:{1:02d} μ.μ.", 13.25),
        ("0 days {0:02d}:{1:02d}:36", 1.26),
        ("{0:02d}:{1:02d}:36+02:00", 1.26),
    ],
)
def test_times_of_day_are_hours(form, first):
    table = table_with([form.format(k % 12 + 1, (15 + 7 * k) % 60) for k in COUNT])
    column = infer_schema(table).columns[0]
    assert (column.kind, column.style["unit"]) == ("numeric", "time of day")
    training = prepare_training(table, infer_schema(table), "y")
    assert training.X["v"][0] == pytest.approx(first)
    assert read_cell(SimpleNamespace(training=training), "v", form.format(1, 15)) == first


@pytest.mark.parametrize("form", ["{0}:{1:02d}", "{0:02d}.{1:02d}.18", "3:{1}", "9:30-{0:02d}:30"])
def test_durations_dates_and_results_are_no_times_of_day(form):
    column = schema_of([form.format(k + 1, k % 12 + 1) for k in range(30)]).columns[0]
    assert "unit" not in column.style


CODES = [100 + 7 * (k % 13) for k in COUNT]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        *(
            (name, CODES, "category")
            for name in ("FIPS", "zip_code", "DRG", "ProviderID", "HSCode")
        ),
        *(
            (name, CODES, "category")
            for name in ("store_nbr", "sic2", "Customer phone", "dept_no", "area_code", "ArtikelNr")
        ),
        *(
            (name, CODES, "category")
            for name in (
                "Gemeindeschlüssel",
                "cod_comune",
                "kod_pocztowy",
                "郵便番号",
                "Customer_Key",
            )
        ),
        ("NPI", [10**9 + 7919 * k for k in COUNT], "identifier"),
        *(
            (name, CODES, "numeric")
            for name in ("zip_population", "code_lines", "number", "humid", "area", "line", "rank")
        ),
        ("code", [k / 7 for k in COUNT], "numeric"),
        ("zip", [k % 2 for k in COUNT], "numeric"),
        ("Customer ID", [f"RP-{10000 + 7919 * k % 80000}" for k in COUNT], "identifier"),
        ("Customer", ["RP-18390", "CG-12520", "RS-19765", "DV-13045"] * 10, "category"),
        ("customer id", [f"RS{10000 + 7919 * k % 80000}" for k in COUNT], "identifier"),
        ("price", [f"-EUR {k}" for k in COUNT], "numeric"),
        ("iban", [f"DE{k} 3704 0044 {1009 * k:04d} {k:04d}" for k in range(10, 50)], "identifier"),
    ],
)
def test_numbers_that_do_not_count_are_codes(name, values, kind):
    schema = infer_schema(table_of(**{name: values, "w": COUNT}))
    column = schema.columns[0]
    assert column.kind == kind
    told = [sentence for sentence in schema.notices if "read as codes" in sentence]
    assert len(told) == (kind == "category" and values is CODES)
    assert not any("different units" in sentence for sentence in schema.notices)


def test_whole_numbers_beyond_doubles_are_read():
    numbers = pa.array([2**63 + k for k in COUNT], pa.uint64())
    schema = infer_schema(read_table(as_parquet(pa.table({"v": numbers, "w": list(COUNT)}))))
    assert schema.columns[0].kind == "identifier"
    assert not any("not read" in sentence for sentence in schema.notices)


def test_a_round_number_far_below_may_mean_missing():
    seen = [-200.0 if k % 5 == 0 else 10.0 + k for k in COUNT]
    wide = [-200.0 if k % 7 == 0 else 40.0 * k for k in COUNT]  # asked because of the other one
    steps = [100.0 * (k - 9) for k in COUNT]
    columns = infer_schema(table_of(seen=seen, wide=wide, steps=steps, w=COUNT)).columns
    assert [column.suspects for column in columns] == [(-200.0,), (-200.0,), (), ()]


def test_nobody_is_born_in_the_future():
    cells = [f"03/{k % 28 + 1:02d}/{y:02d}" for k, y in enumerate([37, 49, 64, 85, 97, 5, 22] * 6)]
    schema = infer_schema(table_of(birth=cells, y=range(len(cells))))
    low, high = schema.columns[0].limits
    assert low[:4] == "1937"
    assert int(high[:4]) <= datetime.date.today().year
    assert any(
        "years of the column" in sentence and "two digits" in sentence
        for sentence in schema.notices
    )


def test_local_hours_of_times_with_offsets():
    cells = [f"2021-{1 + k % 12:02d}-05T07:00:00{'+02:00' if k % 2 else '+01:00'}" for k in COUNT]
    cells[0] = cells[0].replace("07:00:00", "09:30:00")
    table = table_with(cells)
    training = prepare_training(table, infer_schema(table), "y")
    assert sorted(set(training.X["v: hour"])) == [7.0, 9.5]
    assert any("distance from UTC" in sentence for sentence in training.notices)


def test_sentinel_dates_are_suspected():
    cells = ["9999-12-31" if k % 6 == 0 else f"2021-{k % 12 + 1:02d}-05" for k in COUNT]
    days = pa.array([datetime.datetime.fromisoformat(cell) for cell in cells])
    typed = read_table(as_parquet({"v": days, "y": COUNT}))
    for schema in (schema_of(cells), infer_schema(typed)):
        assert any('has "9999-12-31" far from' in sentence for sentence in schema.notices)
        assert schema.columns[0].limits == ("2021-02-05", "9999-12-31")
    column = schema_of([cell.replace("9999-12-31", "n.a.") for cell in cells]).columns[0]
    assert (column.kind, column.n_missing, column.limits[0]) == ("date", 7, "2021-02-05")


def test_spellings_of_one_level():
    words = [
        "Yes",
        "yes",
        "YES",
        "No",
        "Besan\u00e7on",
        "Besanc\u0327on",
        "Bes\u200ban\u00e7on",
        "No\u00a0",
    ]
    table = table_with(words * 5)
    schema = infer_schema(table)
    assert schema.columns[0].n_distinct == 3
    told = next(sentence for sentence in schema.notices if "differ only in case" in sentence)
    assert '"Yes", "yes", "YES", "No", "No" (no-break space)' in told
    training = prepare_training(table, schema, "y")
    assert set(training.X["v"].cat.categories) == {"Yes", "No", "Besan\u00e7on"}
    new = prepare_new(table_of(v=["yEs", "NO"], k=[1, 2]), training)
    assert new.X["v"].tolist()[0] == "Yes"
    kept = edit_schema(table, schema, keep_words=["v"]).columns[0]
    assert kept.n_distinct == 5


def test_names_that_print_alike_show_what_differs():
    notices = schema_of(["Nelson 2", "Nelson  2", "Nelson\u00a02", "Ulm"] * 10).notices
    assert any(
        '("Nelson 2", "Nelson 2" (2 blanks in a row) and "Nelson 2" (no-break space))' in sentence
        for sentence in notices
    )


@pytest.mark.parametrize(
    ("form", "odd", "told"),
    [
        ("%d.%m.%y", "14.10.99", '"14.10.99" is 1999-10-14 and "13.10.12" is 2012-10-13'),
        (
            "%d/%m/%Y",
            "14/10/1927",
            '1 date of the column "v" ("14/10/1927") is far from the others',
        ),
        (
            "%Y-%m-%d",
            "2109-10-14",
            '1 date of the column "v" ("2109-10-14") is far from the others',
        ),
        ("%Y-%m-%d", "2009-10-14", ""),
    ],
)
def test_odd_years_name_their_cells(form, odd, told):
    first = datetime.date(2011, 1, 3)
    cells = [(first + datetime.timedelta(11 * k)).strftime(form) for k in range(60)]
    schema = schema_of([*cells, odd])
    years = [text for sort, text in schema.columns[0].remarks if sort == "years"]
    assert [told in text for text in years] == [True] * bool(told)


def test_sentences_of_a_sort_fold_for_a_second_file_too():
    columns = {f"n{k}": [k + 0.5 * row for row in COUNT] for k in range(9)}
    table = table_of(**columns, y=COUNT)
    training = prepare_training(table, infer_schema(table), "y")
    bad = {
        name: ["bad"] * (1 + k % 3) + values[3:] for k, (name, values) in enumerate(columns.items())
    }
    bad = {name: [*cells, *[1.5] * (N - len(cells))] for name, cells in bad.items()}
    notices = prepare_new(table_of(**bad), training).notices
    assert len(notices) == 6
    assert notices[-1] == "The same holds for 4 more columns."


def test_short_words_for_yes_and_no_are_the_long_ones():
    schema = schema_of(["Y", "Yes", "N", "no", "No"] * 8)
    assert schema.columns[0].n_distinct == 2
    assert any(
        'or are Y for Yes, ("Y", "Yes", "N", "no" and "No") are one' in s for s in schema.notices
    )
    assert schema_of(["Y", "Yes", "N", "maybe"] * 10).columns[0].n_distinct == 4


def test_words_that_count_as_missing_in_a_second_file_are_named(tmp_path):
    table = table_with(["DE", "FR", "NL", "BE"] * 10)
    new = b"v,k\nNA,1\nDE,2\nnull,3\nNone,4\n"
    (tmp_path / "new.csv").write_bytes(new)
    for keeps in ((), ("v",)):
        schema = edit_schema(table, infer_schema(table), keep_words=keeps)
        training = prepare_training(table, schema, "y")
        ways = (
            prepare_new(read_table(new, to_score=True), training),
            survey_file(open_blocks(tmp_path / "new.csv", to_score=True), training),
        )
        for way in ways:
            sentence = [
                s for s in way.notices if '2 cells of the column "v" ("NA" and "null")' in s
            ]
            assert len(sentence) == 1 - len(keeps)


def test_what_info_tells_of_a_column():
    lines = "\n".join(f"{k}.500 kg;{'NA' if k % 4 else 'ab'};{k}" for k in COUNT)
    first, second, _ = infer_schema(read_table(f"v;w;y\n{lines}".encode())).columns
    assert first.limits == (0.5, 39.5)
    assert first.style == {"decimal": ".", "unit": "kg"}
    assert second.missing_words == (("NA", 30),)
