"""Your data: rows marked as reviewed, with a note; found, exported, and kept by table."""

import numpy as np
import pandas as pd
import pytest

from gbuq_core.tables import Mark, add_marks, read_marks, to_csv_bytes, write_marks
from gbuq_core.tables.finding import find_rows
from pages._ui.your_data import marks as data_marks
from pages._ui.your_data.keeping import KeptFile, _files
from pages._ui.your_data.marks import review_measures
from tests.app.your_data_page import drop, numbers, open_page, rows_of, settle

TOKEN = "d" * 32


def captioned(at, part):
    return any(part in caption.value for caption in at.caption)


def mark_of(at, kind):
    return next(w for w in getattr(at, kind) if (w.key or "").startswith(("_mark:", "_note:")))


def test_marks_are_found_and_words_in_quotation_marks_are_not():
    cells = pd.DataFrame({"x": ["reviewed", "new"], "note": ["a", "b"]})
    measures = review_measures({1: Mark(True, "odd")}, 2)
    assert find_rows("reviewed", cells, measures).tolist() == [False, True]
    assert find_rows("Not reviewed, x = reviewed", cells, measures).tolist() == [True, False]
    assert find_rows('"reviewed"', cells, measures).tolist() == [True, False]
    assert find_rows("reviewed", cells, {}).tolist() == [True, False]
    assert find_rows("note = odd", cells[["x"]], measures).tolist() == [False, True]


def test_a_table_keeps_its_own_columns_and_its_live_cells_are_harmless():
    frame = pd.DataFrame({"note": ["mine", "too"], "reviewed": [1, 2]})
    marked = add_marks(frame, {0: Mark(True, "=1+1"), 7: Mark(True, "no such row")})
    assert marked.columns.tolist() == ["note", "reviewed", "reviewed (2)", "note (2)"]
    assert marked["note"].tolist() == ["mine", "too"]
    assert to_csv_bytes(marked).splitlines()[1].endswith(b",'=1+1")


@pytest.mark.parametrize(
    "tables", [{}, {"a": {}}, {"a": {3: Mark(True, "ö|")}, "b": {0: Mark(False)}}]
)
def test_marks_are_written_and_read(tables):
    assert read_marks(write_marks(tables)) == tables


@pytest.mark.parametrize(
    ("drawn", "kept"),
    [
        ({"switch": True}, {2: Mark(True, "odd")}),
        ({"switch": False, "note": ""}, {}),
        ({"note": "two  words"}, {2: Mark(False, "two words")}),
        ({}, {2: Mark(False, "odd")}),
    ],
)
def test_a_run_cut_short_may_have_drawn_one_of_the_mark_and_its_note(monkeypatch, drawn, kept):
    before = {"mine": {2: Mark(False, "odd")}}
    state = {data_marks._MARKS: before, data_marks._LOADED: True, **drawn}
    monkeypatch.setattr(data_marks.st, "session_state", state)
    data_marks._put("mine", 2, "switch", "note")
    assert state[data_marks._MARKS] == {"mine": kept}
    assert before == {"mine": {2: Mark(False, "odd")}}


def test_marked_rows_are_listed_exported_and_stay_with_their_table():
    before = {"builtin:wine": {4: Mark(True, "of another table")}}
    files = _files()
    files.hold(TOKEN, "test")
    files.put(TOKEN, "marks", KeptFile("marks", write_marks(before), "marks"))
    at = open_page(row="7")
    at.session_state["_data_token"] = TOKEN  # as the browser tells it
    at.run()
    mark_of(at, "toggle").set_value(True).run()
    assert captioned(at, "1 row of this table is marked. 1 mark of other tables comes back")
    at.session_state["row"] = 9.0
    at.run()
    assert not mark_of(at, "toggle").value
    mark_of(at, "text_input").set_value("typing\terror").run()
    assert mark_of(at, "toggle").value
    at.session_state["find"] = "reviewed"
    at.run()
    assert not at.exception
    assert sorted(rows_of(at)["row"]) == [7, 9]
    assert set(rows_of(at)["reviewed"]) == {"yes", "typing error"}
    at.session_state["find"] = "not reviewed"
    at.run()
    assert not {7, 9} & set(rows_of(at)["row"])
    # What a reload finds.
    kept = read_marks(files.get(TOKEN, "marks").data)
    assert kept["builtin:diabetes"] == {6: Mark(True, ""), 8: Mark(True, "typing error")}
    assert kept["builtin:wine"] == before["builtin:wine"]
    # Another table has its own marks, and these come back with theirs.
    at.session_state["find"] = ""
    at = drop(at, numbers())
    assert captioned(at, "0 rows of this table are marked. 3 marks of other tables come back")
    assert "reviewed" not in rows_of(at).columns
    at.session_state["table"] = "diabetes"
    settle(at.run())
    assert "reviewed" in rows_of(at).columns
    at.session_state["row"] = 7.0
    at.run()
    mark_of(at, "toggle").set_value(False).run()
    assert np.sum(rows_of(at)["reviewed"] != "") == 1
    files.let_go(TOKEN, "test")
