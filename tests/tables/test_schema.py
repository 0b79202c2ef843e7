"""What a column is taken for, and what the user makes of it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from table_parts import table_of
from tolerances import NEAR_ZERO, SAME_SUM

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.tables import (
    FEATURE_KINDS,
    KINDS,
    edit_schema,
    infer_schema,
    prepare_new,
    prepare_training,
    read_table,
    suggest_target,
)
from gbuq_core.tables.columns import (
    MISSING_MARKERS,
    as_categories,
    plain_column,
    single_chunk,
    suspected_missing,
    trim,
)
from gbuq_core.tables.written_dates import date_part, find_date_style, read_dates, used_parts
from gbuq_core.tables.written_numbers import read_numbers

N = 40


def column_of(values, name="v", decimal="."):
    """The only interesting column of a table, with a filler that makes it a table."""
    table = table_of(decimal, **{name: values, "filler": [k % 7 for k in range(len(values))]})
    return infer_schema(table).columns[0]


COUNT = list(range(N))
WORDS = ["the cat sat on the mat number {}", "a dog ran over the hill with {}"]


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("v", [k * 0.5 for k in COUNT], "numeric"),
        ("v", [k % 3 for k in COUNT], "numeric"),
        ("v", [f"{k} %" for k in COUNT], "numeric"),
        ("v", [f"${k}.50" for k in COUNT], "numeric"),
        ("v", [f"1e{k}" for k in COUNT], "numeric"),
        ("v", ["oops", *COUNT[1:]], "numeric"),
        ("v", ["a" if k % 5 else k for k in COUNT], "category"),
        ("v", ["red", "blue"] * 20, "category"),
        ("v", ["x", ""] * 20, "category"),
        ("v", ["true", "false"] * 20, "category"),
        ("v", [f"{k % 9:05d}" for k in COUNT], "category"),  # codes: a number would lose zeros
        ("v", [f"k{k}" for k in COUNT], "identifier"),
        ("v", [WORDS[k % 2].format(k) for k in COUNT], "text"),
        ("v", [f"2021-{k % 12 + 1:02d}-03" for k in COUNT], "date"),
        ("v", [f"{20210101 + k % 28}" for k in COUNT], "date"),
        ("v", [f"{2001 + k % 20}" for k in COUNT], "numeric"),  # years are numbers
        ("v", ["5"] * N, "constant"),
        ("v", ["NA", ""] * 20, "empty"),
        ("user_id", [(k * 37) % 101 for k in COUNT], "identifier"),
        ("PassengerId", [k + 1 for k in COUNT], "identifier"),
        ("idea", [(k * 37) % 101 for k in COUNT], "numeric"),
        ("v", COUNT, "numeric"),
        ("humid", [k % 5 for k in COUNT], "numeric"),
    ],
)
def test_kinds(name, values, kind):
    column = column_of(values, name)
    assert column.kind == kind
    assert column.used == (kind in FEATURE_KINDS)
    assert column.kind in KINDS
    assert column.reason.endswith(".")
    assert len(column.examples) <= 3


def test_the_first_of_many_columns_that_counts_the_rows_is_an_identifier():
    others = {name: [(k * 7) % 11 for k in COUNT] for name in "abc"}
    assert infer_schema(table_of(nr=COUNT, **others)).columns[0].kind == "identifier"
    assert infer_schema(table_of(**others, nr=COUNT)).columns[3].kind == "numeric"


def test_numbers_are_kept_as_features_when_nothing_else_is_left():
    columns = infer_schema(table_of(row_id=COUNT, key=[f"k{k}" for k in COUNT])).columns
    assert [column.used for column in columns] == [True, False]
    assert "may identify rows" in columns[0].reason


def test_counts_of_missing_and_distinct_values():
    column = column_of(["1", "NA", "2", "1", "-", "", "3"])
    assert (column.n_missing, column.n_distinct) == (3, 3)
    assert column.examples == ("1", "2", "3")
    column = column_of(["a", "?", "b", "a", "a", "n/a", "c"])
    assert (column.n_missing, column.n_distinct) == (2, 3)


@pytest.mark.parametrize("marker", sorted(MISSING_MARKERS - {""}))
def test_markers_of_missing_values(marker):
    assert trim(pa.array([marker, f" {marker} ", "x"])).to_pylist() == [None, None, "x"]


def test_cells_that_are_no_numbers_are_reported():
    values = ["oops" if k == 3 else "inf" if k == 5 else k for k in COUNT]
    schema = infer_schema(table_of(v=values, filler=[k % 7 for k in COUNT]))
    column = schema.columns[0]
    assert (column.n_unreadable, column.unreadable, column.n_infinite) == (1, ("oops",), 1)
    assert (
        '1 cell of the column "v" cannot be read as a number ("oops") and counts as missing.'
        in schema.notices
    )
    assert '1 infinite value of the column "v" counts as missing.' in schema.notices


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("1.5", ".", 1.5),
        ("+1.5", ".", 1.5),
        ("- 2", ".", -2.0),
        (".5", ".", 0.5),
        ("5.", ".", 5.0),
        ("1e3", ".", 1000.0),
        ("1,234.5", ".", 1234.5),
        ("12 %", ".", 12.0),
        ("€ 3", ".", 3.0),
        ("3 €", ".", 3.0),
        ("-$3.50", ".", -3.5),
        ("1 234", ".", 1234.0),
        ("1'234.5", ".", 1234.5),
        ("1\u202f234", ".", 1234.0),
        ("1,5", ",", 1.5),
        ("1.234,5", ",", 1234.5),
        ("1.234", ",", 1234.0),
        ("-0,25", ",", -0.25),
        ("2,5e-1", ",", 0.25),
        ("inf", ".", np.inf),
        ("-Infinity", ".", -np.inf),
        ("1,23", ".", np.nan),
        ("12.5.3", ".", np.nan),
        ("1.5", ",", np.nan),
        ("abc", ".", np.nan),
        ("0x1F", ".", np.nan),
        ("1_000", ".", np.nan),
        ("5 kg", ".", 5.0),
        ("e5", ".", np.nan),
        ("True", ".", np.nan),
        ("%", ".", np.nan),
    ],
)
def test_numbers_written_in_many_ways(text, decimal, value):
    numbers = read_numbers(pa.array([text, "x", None]), decimal)
    np.testing.assert_array_equal(numbers.values, [value, np.nan, np.nan])
    assert numbers.unreadable.tolist() == [bool(np.isnan(value)), True, False]


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_survive_a_decimal_comma(numbers):
    text = pa.array([repr(number).replace(".", ",") for number in numbers])
    np.testing.assert_array_equal(read_numbers(text, ",").values, numbers)


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20))
def test_numbers_survive_groups_of_three_digits(numbers):
    for mark, decimal in ((",", "."), (".", ","), ("\u00a0", ",")):
        text = pa.array([f"{number:,}".replace(",", mark) for number in numbers])
        np.testing.assert_array_equal(read_numbers(text, decimal).values, numbers)


def test_a_column_may_have_another_decimal_mark_than_its_file():
    columns = {"a": [f"{k},5" for k in COUNT], "b": [f"{k},25" for k in COUNT]}
    table = table_of(",", **columns, c=[f"{k}.75" for k in COUNT])
    assert table.source.mark == (",", "shown")
    assert [column.decimal for column in infer_schema(table).columns] == [",", ",", "."]


@pytest.mark.parametrize(
    ("values", "suspects"),
    [
        ([12.0, 15.0, 9.0, -999.0, -999.0], (-999.0,)),
        ([1.0, 2.0, 3.0, 4.0, 999.0, 999.0, -99.0, -99.0], (-99.0, 999.0)),
        ([12.0, 15.0, 9.0, 9e99, 9e99], (9e99,)),
        ([12.0, 15.0, 9.0, -999.0], ()),  # once may be a value
        ([-999.0, -1000.0, -998.0, -999.0, -1001.0, -990.0], ()),  # among its like
        ([97.0, 98.0, 99.0, 99.0, 96.0, 95.0], ()),
        ([-999.0, -999.0, np.nan], ()),
        ([], ()),
    ],
)
def test_codes_for_missing_values_are_suspected(values, suspects):
    assert suspected_missing(np.array(values)) == suspects


def test_a_suspect_stays_a_value_until_the_user_says_otherwise():
    values = [-999 if k % 8 == 0 else k % 9 for k in COUNT]
    table = table_of(v=values, filler=[k % 7 for k in COUNT])
    schema = infer_schema(table)
    assert (schema.columns[0].suspects, schema.columns[0].n_missing) == ((-999.0,), 0)
    assert any("-999" in notice and "Missing if" in notice for notice in schema.notices)
    edited = edit_schema(table, schema, missing_values={"v": schema.columns[0].suspects})
    assert (edited.columns[0].n_missing, edited.columns[0].suspects) == (5, ())
    assert edited.columns[0].kind == "numeric"


@pytest.mark.parametrize(
    ("texts", "style", "first"),
    [
        (["2021-03-04", "2021-03-05T10:20"], "year-month-day", "2021-03-04"),
        (["2021-03-05 10:20:30.5"], "year-month-day", "2021-03-05T10:20:30.5"),
        (["2021-03-04T00:30:00+02:00"], "year-month-day", "2021-03-03T22:30"),
        (["2021/3/4 5:10", "2021/12/24"], "year/month/day", "2021-03-04T05:10"),
        (["04.03.2021", "24.12.2021 10:00"], "day.month.year", "2021-03-04"),
        (["03/24/2021", "12/01/2021"], "month/day/year", "2021-03-24"),
        (["24/03/2021", "01/12/2021"], "day/month/year", "2021-03-24"),
        (["4 Mar 2021", "24 December 2021"], "day month-name year", "2021-03-04"),
        (["Mar. 4, 2021", "December 24, 2021"], "month-name day, year", "2021-03-04"),
        (["4-Mar-2021"], "day-month-name-year", "2021-03-04"),
        (["2021-03", "2021-12"], "year-month", "2021-03-01"),
        (["20210304", "20211224"], "yyyymmdd", "2021-03-04"),
        (["0001-01-01", "9999-12-31"], "year-month-day", "0001-01-01"),
    ],
)
def test_dates_written_in_many_ways(texts, style, first):
    assert find_date_style(texts, day_first=True) == (style, False)
    read = read_dates(pa.array([*texts, None, "soon"]), style)
    assert read.values[0] == np.datetime64(first)
    assert read.unreadable.tolist() == [*[False] * len(texts), False, True]


@pytest.mark.parametrize("texts", [["soon"], ["12:30"], ["2021-13-01"], ["31.02.2021"], []])
def test_what_is_no_date(texts):
    assert find_date_style(texts, day_first=True) == ("", False)


def test_dates_that_can_be_read_either_way_are_announced():
    values = [f"0{k % 9 + 1}/0{k % 7 + 1}/2021" for k in COUNT]
    schema = infer_schema(table_of(d=values, filler=[k % 7 for k in COUNT]))
    assert schema.columns[0].date_style == "month/day/year"
    assert any("day or month comes first" in notice for notice in schema.notices)
    european = infer_schema(table_of(",", d=values, filler=[k % 7 for k in COUNT]))
    assert european.columns[0].date_style == "day/month/year"


def test_parts_of_dates():
    dates = np.array(["2021-03-01T12:00", "2021-03-02T18:30", "NaT"], "datetime64[us]")
    assert used_parts(dates) == ("days", "weekday", "hour")
    expected = {
        "days": [18687.5, 18688.770833333],
        "month": [3, 3],
        "weekday": [0, 1],
        "hour": [12, 18.5],
    }
    for part, values in expected.items():
        np.testing.assert_allclose(
            date_part(dates, part), [*values, np.nan], rtol=SAME_SUM, atol=NEAR_ZERO
        )


def test_high_cardinality_is_announced(rng):
    values = [f"k{k}" for k in rng.integers(0, 10_000, 20_000)]
    schema = infer_schema(table_of(v=values, filler=np.arange(20_000) % 7))
    assert schema.columns[0].kind == "category"
    assert schema.columns[0].used
    assert any("categories, which are replaced by averages" in notice for notice in schema.notices)


def test_many_columns_of_one_sort_are_summed_up():
    columns = {f"c{k}": [f"{'inf' if row == k else row % 7}" for row in COUNT] for k in range(9)}
    notices = infer_schema(table_of(**columns)).notices
    assert sum("infinite" in notice for notice in notices) == 5
    assert "The same holds for 4 more columns." in notices


def edited(table, **changes):
    return edit_schema(table, infer_schema(table), **changes)


def test_the_user_decides_about_kinds_and_use():
    table = table_of(
        code=[k % 4 for k in COUNT], key=[f"k{k % 39}" for k in COUNT], n=[k * 0.5 for k in COUNT]
    )
    schema = edited(table, kinds={"code": "category"}, used={"n": False, "key": True})
    kinds = {column.name: (column.kind, column.used) for column in schema.columns}
    assert kinds == {"code": ("category", True), "key": ("category", True), "n": ("numeric", False)}
    assert schema.columns[0].reason == "Chosen by you."
    again = edit_schema(table, schema, kinds={"code": "identifier"})
    assert not again.columns[0].used
    assert again.columns[1] == schema.columns[1]


def test_numbers_from_an_identifier_become_numbers_when_taken_in():
    table = table_of(row_id=COUNT, n=[k % 7 for k in COUNT])
    assert edited(table, used={"row_id": True}).columns[0].kind == "numeric"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"kinds": {"w": "numeric"}}, "cannot be read as numbers"),
        ({"kinds": {"w": "date"}}, "cannot be read as dates"),
        ({"kinds": {"nope": "numeric"}}, 'no column "nope"'),
        ({"used": {"nope": True}}, 'no column "nope"'),
        ({"missing_values": {"nope": (1,)}}, 'no column "nope"'),
        ({"used": {"gone": True}}, "all of its cells are missing"),
    ],
)
def test_impossible_choices_are_refused(changes, sentence):
    table = table_of(w=["a", "b"] * 20, gone=["NA"] * N, n=COUNT)
    with pytest.raises(InvalidData, match=sentence):
        edited(table, **changes)


def test_unknown_kinds_are_refused():
    table = table_of(w=["a", "b"] * 20, n=COUNT)
    with pytest.raises(InvalidParameter, match="kind must be one of"):
        edited(table, kinds={"w": "empty"})


def test_a_mistyped_name_is_answered_with_near_ones():
    schema = infer_schema(table_of(price=COUNT, size=COUNT))
    with pytest.raises(InvalidData, match='did you mean "price"'):
        schema.column("prize")


SEATS = ["3E8", "6E2", "2E7", "7E1"] * 10


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["1.000000000000000000e+00", "0.000000000000000000e+00"], ["1", "0"]),
        (["2.500000000000000000e-01", "1"], ["0.25", "1"]),
        (["1.0000000000000000000", "2"], ["1", "2"]),
        (["100000000000000000000", "2"], ["100000000000000000000", "2"]),
        (["1.234567890123456789e+00", "2"], ["1.234567890123456789e+00", "2"]),
    ],
)
def test_numbers_that_are_classes_have_short_names(written, labels):
    table = table_of(kind=[*written, *written * 20], x=range(len(written) * 21))
    schema = edit_schema(table, infer_schema(table), {"kind": "category"})
    array = single_chunk(table.data, "kind")
    assert list(as_categories(array, schema.column("kind")).categories) == labels


def test_codes_that_look_like_exponents_stay_codes():
    table = table_of(seat=SEATS, x=COUNT, y=COUNT)
    for schema in (
        infer_schema(table),
        edit_schema(table, infer_schema(table), {"seat": "category"}),
    ):
        assert schema.column("seat").kind == "category"
    array = single_chunk(table.data, "seat")
    assert list(as_categories(array, schema.column("seat")).categories) == [
        "3E8",
        "6E2",
        "2E7",
        "7E1",
    ]
    assert plain_column(array).tolist() == SEATS


def test_a_few_exponents_among_numbers_are_numbers_until_the_user_says_otherwise():
    values = ["3E8", "250", "1.5", "-4"] * 10
    table = table_of(v=values, x=COUNT, y=COUNT)
    assert infer_schema(table).column("v").kind == "numeric"
    chosen = edit_schema(table, infer_schema(table), {"v": "category"})
    X = prepare_training(table, chosen, "y").X
    assert list(X["v"].cat.categories) == ["3E8", "250", "1.5", "-4"]
    assert plain_column(single_chunk(table.data, "v")).tolist() == values
    for written in ("3e+08", "3.0E8", "3e-8", "3e8"):
        assert column_of([written, "1e+05", "2.5"] * 10).kind == "numeric"


def test_long_whole_numbers_that_end_in_a_point_keep_their_digits():
    keys = [f"{1600000004950127306 + k}.0" for k in COUNT]
    table = table_of(v=keys, x=COUNT, y=COUNT)
    assert plain_column(single_chunk(table.data, "v")).tolist() == keys
    assert infer_schema(table).column("v").kind != "numeric"  # doubles would make them one


def test_codes_like_exponents_are_taken_in_as_codes():
    keys = [f"{k}E{k % 7}" for k in range(N)]
    assert column_of(keys).kind == "identifier"
    table = table_of(v=keys, x=COUNT, y=COUNT)
    assert edit_schema(table, infer_schema(table), used={"v": True}).column("v").kind == "category"


def test_the_target_is_suggested_by_name_or_place():
    assert suggest_target(infer_schema(table_of(Target=COUNT, x=COUNT, z=COUNT))) == "Target"
    assert suggest_target(infer_schema(table_of(x=COUNT, z=COUNT))) == "z"
    last = [f"k{k}" for k in COUNT]
    assert suggest_target(infer_schema(table_of(x=COUNT, z=COUNT, key=last))) == "z"


def test_parquet_columns_keep_their_types(tmp_path):
    frame = pd.DataFrame(
        {
            "flag": [True, False] * 20,
            "day": pd.date_range("2021-01-01", periods=N),
            "n": np.where(np.arange(N) == 3, np.inf, np.arange(N) * 0.5),
            "code": pd.Categorical(["a", "b"] * 20),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    columns = infer_schema(read_table(tmp_path / "t.parquet")).columns
    assert [column.kind for column in columns] == ["category", "date", "numeric", "category"]
    assert columns[2].n_infinite == 1


@pytest.mark.parametrize(
    ("texts", "style", "last"),
    [
        (["1/30/2019 02:00 PM", "1/31/2019 12:30 AM"], "month/day/year", "2019-01-31T00:30"),
        (
            ["1/30/2019 2:00:05 pm", "1/31/2019 2:00:06 p.m."],
            "month/day/year",
            "2019-01-31T14:00:06",
        ),
        (["01/30/19", "01/31/19"], "month/day/year", "2019-01-31"),
        (["30/01/19", "31/01/19 13:00"], "day/month/year", "2019-01-31T13:00"),
        (["30.01.19", "31.01.19"], "day.month.year", "2019-01-31"),
        (["30-Jan-19", "31-JAN-19"], "day-month-name-year", "2019-01-31"),
        (["30-January-2019", "31-Jan-2019 14:05"], "day-month-name-year", "2019-01-31T14:05"),
        (["Jan 30 2019", "Jan 31 2019"], "month-name day, year", "2019-01-31"),
        (["January 30, 2019", "Jan. 31, 2019 2:00 PM"], "month-name day, year", "2019-01-31T14:00"),
        (["30 Jan 19", "31 January 2019"], "day month-name year", "2019-01-31"),
        (["2019.01.30", "2019.01.31"], "year.month.day", "2019-01-31"),
        (["2019.1.30 5:00", "2019.1.31 17:00"], "year.month.day", "2019-01-31T17:00"),
    ],
)
def test_ways_to_write_dates(texts, style, last):
    written, _ = find_date_style(texts, day_first=False)
    assert written.partition(" from ")[0] == style
    dates = read_dates(pa.array(texts), written)
    assert dates.values[1] == np.datetime64(last, "us")
    assert not dates.unreadable.any()


@pytest.mark.parametrize("texts", [["1.2.10", "1.3.11"], ["12:30", "13:45"], ["a 1", "b 2"]])
def test_versions_and_times_are_no_dates(texts):
    assert find_date_style(texts, day_first=False) == ("", False)


def test_a_date_is_not_suggested_as_target():
    table = read_table(b"x,day\n1,2021-01-04\n2,2021-01-05\n4,2021-01-07\n")
    assert infer_schema(table).column("day").kind == "date"
    assert suggest_target(infer_schema(table)) == "x"


CODES = ["-999", "-999.0", " -999 ", "-9.99e2"]


@pytest.mark.parametrize("marker", [-999, -999.0, "-999", "-999.0", "-999.00"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_missing_numbers_are_numbers_however_they_are_written(marker, decimal):
    cells = [f"{k}.5" for k in range(20)] + CODES
    table = table_of(decimal, v=[cell.replace(".", decimal) for cell in cells], n=range(len(cells)))
    # A computer writes a point, as sentences about such a cell do, whatever the file has.
    for typed in (str(marker).replace(".", decimal), str(marker)):
        schema = edited(table, missing_values={"v": (typed,)})
        assert schema.columns[0].n_missing == len(CODES)
    pointed = [cell.replace(".", decimal) for cell in cells[:20]] + ["-999.0"] * len(CODES)
    table_ = table_of(decimal, v=pointed, n=range(len(cells)))
    assert edited(table_, missing_values={"v": (str(marker),)}).columns[0].n_missing == len(CODES)
    assert schema.columns[0].suspects == ()
    values = prepare_training(table, schema, "n").X["v"]
    np.testing.assert_array_equal(values, [k + 0.5 for k in range(20)] + [np.nan] * len(CODES))


def test_a_missing_number_is_no_other_number():
    cells = ["9.999", "9999", "9999.0", "x", *[f"{k}.5" for k in range(90)]]
    table = table_of(v=cells, n=range(len(cells)))
    column = edited(table, missing_values={"v": (9999,)}).columns[0]
    assert (column.n_missing, column.n_unreadable) == (2, 1)


def test_what_matched_nothing_is_said():
    table = table_of(v=COUNT, w=["a", "b"] * 20)
    schema = edited(table, missing_values={"v": ("-1", "3"), "w": ("c",)})
    notices = [notice for notice in schema.notices if notice.startswith("No cell")]
    assert len(notices) == 2
    assert 'No cell of the column "v" is "-1", so' in notices[0]
    assert 'No cell of the column "w" is "c", so' in notices[1]


@pytest.mark.parametrize("marker", [r"\N", "..", ":", "unknown", "TBD", "(null)", "n.a.", "*"])
def test_words_among_numbers_that_mean_missing(marker):
    cells = [marker if k % 5 == 0 else f"{k}.5" for k in COUNT]
    table = table_of(v=cells, n=COUNT)
    schema = infer_schema(table)
    column = schema.columns[0]
    assert (column.kind, column.n_missing, column.n_unreadable) == ("numeric", 8, 0)
    assert column.missing_words == ((marker, 8),)
    sentence = f'80 % of the cells of the column "v" are numbers; "{marker}" is not and counts as'
    assert any(notice.startswith(sentence) for notice in schema.notices)
    chosen = edit_schema(table, schema, {"v": "category"}).columns[0]
    assert (chosen.kind, chosen.n_missing) == ("category", 0)


def test_the_kind_is_inferred_again_without_missing_values():
    cells = ["-" if k % 5 == 0 else "odd" if k % 2 else f"{k}.5" for k in COUNT]
    table = table_of(v=cells, n=COUNT)
    schema = infer_schema(table)
    assert schema.columns[0].kind == "category"
    assert any("16 of 32 cells" in notice and "Missing if" in notice for notice in schema.notices)
    column = edit_schema(table, schema, missing_values={"v": ("odd",)}).columns[0]
    assert (column.kind, column.n_missing, column.used) == ("numeric", 24, True)


LEVELS = ["None", "Low", "High", "NA", "null"] * 8


def test_none_is_a_word_and_na_is_missing():
    table = table_of(risk=LEVELS, n=COUNT, v=["None", "2", "3", "NA", "4"] * 8)
    schema = infer_schema(table)
    risk, _, numbers = schema.columns
    assert (risk.kind, risk.n_missing, risk.n_distinct) == ("category", 16, 3)
    assert (numbers.kind, numbers.n_missing) == ("numeric", 16)  # no word among numbers
    assert schema.notices[:2] == (
        '8 cells of the column "risk" are None, which is kept as a value like the others. If it '
        "means missing, enter it under Missing if (--missing).",
        '16 cells of the column "risk" ("NA" and "null") count as missing. If that is a value, '
        "tick Keep words (--keep-words).",
    )
    assert prepare_training(table, schema, "risk").target.classes == ("High", "Low", "None")
    without = edit_schema(table, schema, missing_values={"risk": ("None",)}).columns[0]
    assert (without.n_missing, without.n_distinct) == (24, 2)


def test_words_are_kept_where_the_user_says_so():
    table = table_of(risk=LEVELS, n=COUNT)
    schema = edited(table, keep_words=["risk"])
    assert (schema.columns[0].n_missing, schema.columns[0].n_distinct) == (0, 5)
    assert schema.notices == ()
    training = prepare_training(table, schema, "n")
    new = table_of(risk=["NA", "None", "", "-"], n=[1, 2, 3, 4])
    words = prepare_new(new, training).X["risk"].astype(object)
    assert words.fillna("missing").tolist() == ["NA", "None", "missing", "missing"]
    with pytest.raises(InvalidData, match='no column "nope"'):
        edited(table, keep_words=["nope"])


def test_a_class_that_counts_as_missing_is_named_where_one_class_is_left():
    table = table_of(y=["NA", "yes"] * 20, n=COUNT)
    with pytest.raises(InvalidData, match=r'"yes" in all rows.*20 cells.*"NA".*--keep-words'):
        prepare_training(table, infer_schema(table), "y")
    kept = prepare_training(table, edited(table, keep_words=["y"]), "y")
    assert kept.target.classes == ("NA", "yes")


def test_nan_can_be_a_word_among_numbers():
    table = table_of(code=["1", "2", "nan", "NaN"] * 10, n=COUNT)
    column = edited(table, keep_words=["code"]).columns[0]
    assert (column.kind, column.n_missing, column.n_distinct) == ("category", 0, 4)
