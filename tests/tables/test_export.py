"""Downloads: what a spreadsheet must not run, and what must come back as it was."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbuq_core.presentation import csv_text
from gbuq_core.tables import read_table, to_csv_bytes, to_parquet_bytes

LIVE = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "=cmd|' /C calc'!A0",
    "-",
    "+",
    " =1+1",
    "\uff1d1+1",
    "-2+3+cmd|' /C calc'!D2",
    "@",
]
HARMLESS = [
    "plain",
    "a=b",
    "1-2",
    "'quoted",
    "",
    "x@y.z",
    "-5",
    "+3",
    "-1.5e-3",
    "-1,5",
    "é",
    "<b>",
]


def read_back(frame):
    return pd.read_csv(io.BytesIO(to_csv_bytes(frame)), keep_default_na=False)


@pytest.mark.parametrize("cell", LIVE)
def test_cells_that_a_spreadsheet_would_run_get_an_apostrophe(cell):
    frame = pd.DataFrame({"a": [cell, "x"], cell: [1, 2]})
    again = pd.read_csv(io.BytesIO(to_csv_bytes(frame)), keep_default_na=False)
    assert again.columns[1] == "'" + cell
    # pandas itself turns a lone carriage return in a quoted cell into a line feed or keeps it.
    assert again["a"].tolist() == ["'" + cell, "x"]


@pytest.mark.parametrize("cell", HARMLESS)
def test_other_cells_stay_as_they_are(cell):
    frame = pd.DataFrame({"a": [cell, "x"]})
    assert read_back(frame)["a"].tolist() == [cell, "x"]


def test_numbers_are_written_as_numbers():
    numbers = [-1.5, -0.0, 1e-300, 0.1, np.nan, 123456789.123456]
    frame = pd.DataFrame({"n": numbers, "i": range(6), "m": pd.array([-1, None] * 3, "Int64")})
    again = pd.read_csv(io.BytesIO(to_csv_bytes(frame)))
    np.testing.assert_array_equal(again["n"], numbers)
    assert again["i"].tolist() == list(range(6))
    assert again["m"].isna().tolist() == [False, True] * 3
    assert b"'" not in to_csv_bytes(frame)


TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=10)


@given(st.lists(TEXT, min_size=1, max_size=10))
def test_no_text_cell_begins_alive_and_nothing_else_changes(cells):
    frame = pd.DataFrame({"a": pd.array(cells, "str"), "b": range(len(cells))})
    for before, after in zip(cells, read_back(frame)["a"], strict=True):
        assert after in (before, "'" + before)
        if after == before and after[:1] in tuple("=+-@"):
            # Only a plain number may begin with a sign.
            float(after.replace(",", "."))


def test_names_with_delimiters_quotes_and_html():
    names = ['a,b "c"', "<img src=x onerror=alert(1)>", "line\nbreak", "**bold**"]
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=names)
    assert list(read_back(frame).columns) == names


def test_parquet_keeps_types_and_letters():
    frame = pd.DataFrame(
        {
            "text": pd.array(["=1+1", None], "str"),
            "category": pd.Categorical(["a", "b"]),
            "number": [1.5, np.nan],
            "whole": pd.array([1, None], "Int64"),
            "flag": [True, False],
            "day": pd.to_datetime(["2021-01-01", "2021-01-02"]),
        }
    )
    again = pd.read_parquet(io.BytesIO(to_parquet_bytes(frame)))
    assert again["text"].tolist()[0] == "=1+1"
    assert again["category"].tolist() == ["a", "b"]
    assert again["flag"].tolist() == [True, False]
    assert again["day"].tolist() == frame["day"].tolist()
    np.testing.assert_array_equal(again["number"], frame["number"])


def test_an_export_can_be_read_again():
    frame = pd.DataFrame({"word": ["=x", "y", "z"], "n": [1.25, -2.0, 3.5]})
    for data in (to_csv_bytes(frame), to_parquet_bytes(frame)):
        table = read_table(data)
        assert table.names == ["word", "n"]
        assert [float(cell) for cell in table.data["n"].to_pylist()] == [1.25, -2.0, 3.5]


def test_an_empty_selection_has_a_header():
    frame = pd.DataFrame({"a": pd.array([], "str"), "b": np.empty(0)})
    assert to_csv_bytes(frame) == b"a,b\n"


CELLS = st.text(st.sampled_from(list('ab,"\n\r\t\v =+-@5.e\uff1d')), max_size=6)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=6))
def test_large_tables_are_written_as_small_ones(rows):
    frame = pd.DataFrame(rows, columns=["a", '=b"'], dtype="str")
    assert to_csv_bytes(frame).decode() == csv_text(list(frame.columns), rows)
    assert to_csv_bytes(frame[["a"]]).decode() == csv_text(["a"], [row[:1] for row in rows])


def test_dates_truth_values_bytes_and_missing_cells():
    frame = pd.DataFrame(
        {
            "day": pd.to_datetime(["2021-01-02", None]),
            "flag": [True, False],
            "bytes": [b"=x", b"a,b"],
            "kind": pd.Categorical(["a", None]),
        }
    )
    assert to_csv_bytes(frame).decode() == (
        'day,flag,bytes,kind\n2021-01-02 00:00:00.000000,true,\'=x,a\n,false,"a,b",\n'
    )
