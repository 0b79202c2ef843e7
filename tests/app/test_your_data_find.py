"""Finding and ranking rows, and reading the corrections of the column list."""

import doctest
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from gbuq_core.errors import InvalidData
from gbuq_core.tables import Edits, finding, load_builtin
from gbuq_core.tables.finding import find_rows, list_rows
from pages._ui.your_data import columns as data_columns
from pages._ui.your_data.columns import current_edits
from pages._ui.your_data.source import Opened

CELLS = pd.DataFrame(
    {
        "city": ["Ulm", "Bonn", "New York, NY", None],
        "age": [61.0, 35.0, np.nan, 40.0],
        "a > b": [1, 2, 3, 4],
        "total": [9, 9, 9, 9],
    }
)
MEASURES = {"total": np.array([0.1, 0.2, 0.3, 0.4]), "error": np.array([1.0, np.nan, 0.0, 2.0])}


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(finding).failed == 0


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2, 3]),
        ("age > 35", [0, 3]),
        ("AGE >= 35 and age < 61", [1, 3]),
        ("city = ulm", [0]),
        ("city != ulm", [1, 2, 3]),
        ('city = "New York, NY"', [2]),
        ('"a > b" <= 2', [0, 1]),
        ("age = 61.0", [0]),
        ("age =", [2]),
        ("york", [2]),
        ("(", []),
        ("total = 9", [0, 1, 2, 3]),  # the table's own column comes first
        ("TU > 0.25", [2, 3]),
        ("error > 0.5, age > 50", [0]),
        ("city > 3", []),
    ],
)
def test_conditions(text, rows):
    assert np.flatnonzero(find_rows(text, CELLS, MEASURES)).tolist() == rows


@pytest.mark.parametrize(
    ("cells", "mark", "text", "rows"),
    [
        (["37,997", "1,250", None, "12,5"], ".", "x > 30000", [0]),  # a cell that is no number
        (["202.932", "1.234.567", "987"], ",", "x > 1000", [0, 1]),
        (["202.932", "1.234.567", "987"], ",", "x = 202932", [0]),
        (["12,5", "3,25", "NA"], ",", "x <= 3.25", [1]),
        (["$1,250", "12 %", "oops"], ".", "x >= 12", [0, 1]),
    ],
)
def test_numbers_in_text_are_compared_as_numbers(cells, mark, text, rows):
    table = pd.DataFrame({"x": cells})
    assert np.flatnonzero(find_rows(text, table, {}, {"x": mark})).tolist() == rows


DAYS = ["2024-02-29", "2023-12-31", None, "2024-03-01"]


@pytest.mark.parametrize(
    ("cells", "text", "rows"),
    [
        (DAYS, "day > 2024-02-29", [3]),
        (["29/02/2024", "31/12/2023", None, "01/03/2024"], "day <= 29/02/2024", [0, 1]),
        (["29.02.2024", "31.12.2023", None, "01.03.2024"], "day >= 2024-02-29", [0, 3]),
        (pd.to_datetime(DAYS), "day < 2024-02-29 12:00", [0, 1]),
    ],
    ids=["ISO", "as the column", "ISO for another style", "typed"],
)
def test_dates_are_compared_as_dates(cells, text, rows):
    assert np.flatnonzero(find_rows(text, pd.DataFrame({"day": cells}), {})).tolist() == rows


@pytest.mark.parametrize(
    ("text", "part"),
    [("size > 3", 'no column "size"'), ("age > old", "needs a number"), ("KU > 1", "no column")],
)
def test_conditions_that_make_no_sense_are_one_sentence(text, part):
    with pytest.raises(InvalidData, match=part):
        find_rows(text, CELLS, MEASURES)


@pytest.mark.parametrize("lowest_first", [False, True])
def test_rows_without_a_value_come_last(lowest_first):
    listed = list_rows(np.ones(4, bool), MEASURES["error"], lowest_first, 10)
    assert listed.positions.tolist() == ([2, 0, 3, 1] if lowest_first else [3, 0, 2, 1])
    assert list_rows(np.ones(4, bool), MEASURES["error"], lowest_first, 2).n_found == 4


def test_corrections_are_read_from_the_editor_and_nonsense_is_dropped(monkeypatch):
    loaded = load_builtin("diabetes")
    opened = Opened("k", loaded.table, loaded.schema, "", "", True)
    state = {
        "_columns:k": {
            "edited_rows": {
                "0": {"kind": "category"},
                "1": {"used": False, "kind": "<b>"},
                "2": {"missing_values": " -999, x,, "},
                "99": {"used": False},
            }
        }
    }
    monkeypatch.setattr(data_columns, "st", SimpleNamespace(session_state=state))
    names = [column.name for column in loaded.schema.columns]
    assert current_edits(opened) == Edits(
        ((names[0], "category"),), ((names[1], False),), ((names[2], ("-999", "x")),)
    )
