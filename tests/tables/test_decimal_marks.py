"""Decimal marks: of a file, of a column, and of the same column in a second file."""

import numpy as np
import pytest

from gbuq_core.streaming import open_blocks, prepare_block, survey_file
from gbuq_core.streaming.surveying import own_columns
from gbuq_core.tables import ReadOptions, infer_schema, prepare_new, prepare_training, read_table
from gbuq_core.tables.output import plain_columns

N = 40
GROUPED = [f"{20 + k}.{(37 * k) % 900 + 100}" for k in range(N)]  # 20.100, 21.137, ...
COMMAS = [cell.replace(".", ",") for cell in GROUPED]
THOUSANDS = [float(cell.replace(".", "")) for cell in GROUPED]
SMALL = [float(cell) for cell in GROUPED]


def table_of(delimiter=",", decimal=None, to_score=False, **columns):
    lines = [delimiter.join(columns)]
    lines += [
        delimiter.join(f'"{cell}"' for cell in row) for row in zip(*columns.values(), strict=True)
    ]
    options = ReadOptions(decimal=decimal)
    return read_table("\n".join(lines).encode(), options=options, to_score=to_score)


def trained(table):
    """The table to learn from, with a target that stands as it is."""
    return prepare_training(table, infer_schema(table), "y")


POINTS = [f"{k}.25" for k in range(N)]
WHOLE = list(range(N))


@pytest.mark.parametrize("odd", ["12,5", "1,23"])
@pytest.mark.parametrize("decimal", [None, "."])
@pytest.mark.parametrize("y", [POINTS, WHOLE])  # with and without another column that decides
def test_one_odd_cell_does_not_turn_thousands_into_decimals(odd, decimal, y):
    cells = [*COMMAS, odd, *COMMAS]
    training = trained(table_of(decimal=decimal, x=cells, y=[*y, 7, *y]))
    expected = [*THOUSANDS, np.nan, *THOUSANDS]
    np.testing.assert_array_equal(training.X["x"], expected)
    sentence = f'1 cell of the column "x" cannot be read as a number ("{odd}") and counts as'
    assert any(notice.startswith(sentence) for notice in training.notices)


@pytest.mark.parametrize(("odd", "bad"), [("12,5", True), ("1.234,5", False)])
def test_one_odd_cell_does_not_turn_decimals_into_thousands(odd, bad):
    """Unless it shows that points part groups of three digits."""
    training = trained(table_of(";", x=[*GROUPED, odd, *GROUPED], y=[*POINTS, 7, *POINTS]))
    values = SMALL if bad else THOUSANDS
    np.testing.assert_array_equal(training.X["x"], [*values, np.nan if bad else 1234.5, *values])
    assert any(f'("{odd}")' in notice for notice in training.notices) == bad


@pytest.mark.parametrize(
    ("delimiter", "cells", "more", "mark", "sentence"),
    [
        (";", GROUPED, ["987"], ",", "20.100 was read as 20100"),  # below 1,000 without a mark
        ("\t", COMMAS, ["987"], ".", "20,100 was read as 20100"),
        (",", GROUPED, ["1.234.567"], ",", ""),  # decides
        (";", GROUPED, ["5.25"] * 9, ".", ""),
        (";", COMMAS, ["5,25"] * 9, ",", ""),
        (",", GROUPED, ["0.755"] * 9, ".", ""),  # no thousands begin with a zero
        (",", GROUPED, ["1.234e5"] * 9, ".", ""),
        (",", GROUPED, [], ".", "20.100 was read as 20.1; it would be 20100 with Decimal mark"),
        (",", GROUPED, ["12345"], ".", "was read as 20.1"),  # five digits without a mark
        (",", COMMAS, [], ".", "20,100 was read as 20100; it would be 20.1 with Decimal mark"),
        (";", COMMAS, [], ",", "20,100 was read as 20.1"),
    ],
)
def test_groups_of_three_digits(delimiter, cells, more, mark, sentence):
    column = [*cells, *more]
    schema = infer_schema(table_of(delimiter, x=column, y=range(len(column))))
    first = schema.columns[0]
    assert (first.kind, first.decimal, first.n_unreadable) == ("numeric", mark, 0)
    notices = [notice for notice in schema.notices if "decimal" in notice]
    assert len(notices) == bool(sentence)
    assert all(sentence in notice and "(--decimal" in notice for notice in notices)


BARE = [str(3 * k) for k in range(90)]
FEW = [f"{k + 1},{100 + k}" for k in range(10)]


@pytest.mark.parametrize(
    ("delimiter", "cells", "y", "mark", "n_bad"),
    [
        (",", [*BARE, *FEW, "12,5"], "{}.25", ".", 1),  # thousands among small numbers, and a slip
        (",", [*BARE, *FEW, "12,5"], "{}", ".", 1),
        (",", [*COMMAS, *["12,5"] * 5], "{}.25", ",", 0),  # as many as three decimals leave out
        (",", [*COMMAS, *["12,5"] * 5], "{}", ",", 0),
        (";", [*GROUPED, *["12.5"] * 5], "{},25", ".", 0),
    ],
)
def test_few_cells_against_the_files_mark_are_told_of(delimiter, cells, y, mark, n_bad):
    table = table_of(delimiter, x=cells, y=[y.format(k) for k in range(len(cells))])
    schema = infer_schema(table)
    column = schema.column("x")
    assert (column.kind, column.decimal, column.n_unreadable) == ("numeric", mark, n_bad)
    (sentence,) = [
        notice for notice in schema.notices if notice.startswith("Few cells of the column")
    ]
    assert f"(--decimal {'.' if mark == ',' else ','})" in sentence


def test_a_second_file_whose_mark_neither_file_shows_is_told_of():
    whole = [str(20_000 + k) for k in WHOLE]
    new = table_of(";", to_score=True, x=["202.932", "21.500"], k=[1, 2])
    for cells, n_notices in ((whole, 1), (POINTS, 0)):  # the second one is like the first
        second = prepare_new(new, trained(table_of(x=cells, y=POINTS)))
        notices = [notice for notice in second.notices if "202.932 was read as 202.932" in notice]
        assert len(notices) == n_notices


def test_the_other_columns_decide_where_one_does_not():
    for other, mark, n_notices in (
        (POINTS, ".", 0),
        ([p.replace(".", ",") for p in POINTS], ",", 1),
    ):
        schema = infer_schema(table_of(";", x=GROUPED, y=other))
        assert [column.decimal for column in schema.columns] == [mark, mark]
        assert len(schema.notices) == n_notices  # a computer's number may stand among commas
    schema = infer_schema(table_of(";", x=COMMAS, y=POINTS))
    assert schema.columns[0].decimal == "."


def test_a_given_mark_stands():
    table = table_of(decimal=".", x=[f"{k},5" for k in WHOLE], y=POINTS)
    assert table.source.mark == (".", "given")
    schema = infer_schema(table)
    assert schema.columns[0].kind != "numeric"
    assert any("numbers with a decimal comma, but the mark" in notice for notice in schema.notices)
    for mark, values in ((".", SMALL), (",", THOUSANDS)):
        training = trained(table_of(decimal=mark, x=GROUPED, y=WHOLE))
        np.testing.assert_array_equal(training.X["x"], values)
        assert not any("decimal" in notice for notice in training.notices)


SECOND = {
    "thousands": (";", [*GROUPED, "1.234.567"], ["202.932", "21.686"], [202932.0, 21686.0]),
    "prices": (";", [f"{k + 1}.500,00" for k in range(N)], ["1.500", "4.000"], [1500.0, 4000.0]),
    "odd cell": (",", COMMAS, ["37,997", "86,497", "2,5"], [37997.0, 86497.0, np.nan]),
    "few": (";", [*GROUPED, "1.234.567"], ["1.500", "4.000", "2.5"], [1500.0, 4000.0, np.nan]),
    "another mark": (",", POINTS, ["1,5", "2", "3,25"], [1.5, 2.0, 3.25]),
}


@pytest.mark.parametrize("case", SECOND)
def test_a_second_file_is_read_as_the_first_one(case, tmp_path):
    delimiter, cells, new, expected = SECOND[case]
    training = trained(table_of(delimiter, x=cells, y=range(len(cells))))
    path = tmp_path / "new.csv"
    path.write_text("\n".join([f"x{delimiter}k", *[f'"{cell}"{delimiter}1' for cell in new]]))
    second = prepare_new(read_table(path, to_score=True), training)
    np.testing.assert_array_equal(second.X["x"], expected)
    file = open_blocks(path, to_score=True)
    survey = survey_file(file, training)
    blocks = [prepare_block(block, survey, training).X["x"] for block in file.blocks(2)]
    np.testing.assert_array_equal(np.concatenate(blocks), expected)
    if np.isnan(expected).any():
        assert any("cannot be read as a number" in notice for notice in second.notices)
    if case == "another mark":
        sentence = 'Second file: The column "x" has a decimal comma and not a point'
        assert any(notice.startswith(sentence) for notice in second.notices)
        assert any(notice.startswith(sentence) for notice in survey.notices)


@pytest.mark.parametrize("decimal", [None, ","])  # known from the first file, or given
def test_points_that_part_thousands_are_written_as_they_came(decimal, tmp_path):
    first = table_of(";", decimal=decimal, x=[*GROUPED, "1.234.567"], y=range(N + 1))
    cells = ["1.500", "4.000", "2.750"]  # as numbers they would be written as 1.5, 4 and 2.75
    new = table_of(";", decimal=decimal, to_score=True, x=cells, k=["1.5", "2", "3"])
    schema = infer_schema(first)
    assert plain_columns(new, schema)["x"].tolist() == cells
    assert plain_columns(new, schema)["k"].tolist() == (
        ["1.5", "2", "3"] if decimal else [1.5, 2, 3]
    )
    path = tmp_path / "new.csv"
    path.write_text("\n".join(["x;k", *[f"{cell};1.5" for cell in cells]]))
    file = open_blocks(path, ReadOptions(decimal=decimal), to_score=True)
    survey = survey_file(file, trained(first))
    blocks = [own_columns(block, survey)[0] for block in file.blocks(1)]
    assert [cell for block in blocks for cell in block] == cells


def test_the_target_of_a_second_file_is_read_as_the_first_one():
    first = table_of(";", k=[f"{k % 7}" for k in range(N + 1)], y=[*GROUPED, "1.234.567"])
    new = table_of(";", to_score=True, k=["1", "2"], y=["202.932", "21.686"])
    np.testing.assert_array_equal(prepare_new(new, trained(first)).y, [202932.0, 21686.0])


def test_doubt_about_the_target_is_said():
    training = trained(table_of(";", x=WHOLE, y=GROUPED))
    assert any('column "y" does not show' in notice for notice in training.notices)
