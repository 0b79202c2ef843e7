"""Your data: what a review found, each case as a reader would meet it."""

import numpy as np
from streamlit.runtime.caching import clear_session_resource_cache
from streamlit.runtime.caching.cache_utils import CachedFunc

from gbuq_core.errors import MemoryLimitExceeded
from gbuq_core.jobs import RUNNER
from gbuq_core.tables import Edits, read_table
from pages._ui import kept
from pages._ui.your_data import columns as data_columns
from pages._ui.your_data import source as data_source
from pages._ui.your_data import training as data_training
from tests.app.test_your_data import (
    csv_of,
    drop,
    judged,
    numbers,
    open_page,
    rows_of,
    says,
    settle,
)

SESSION = "test session id"  # of every AppTest


def classes(n=60):
    """Two classes that are called 3 and 5, told apart by x."""
    x = np.arange(n)
    return csv_of(x=x, z=x % 7, y=np.where(x < n // 2, 3, 5))


def test_a_condition_on_the_prediction_is_about_the_label():
    at = open_page(
        classes(),
        table="your file",
        target="y",
        task="classification",
        find="prediction = 5",
    )
    rows = rows_of(at)
    assert not at.exception
    assert len(rows) == 30
    assert set(rows["prediction"]) == {"5"}


def test_a_row_of_the_second_file_can_be_opened_however_short_the_first_is():
    at = open_page(numbers(), table="your file")
    drop(at, numbers(n=200), "new.csv", key="upload_second")
    at.number_input(key="row").set_value(150.0).run()
    assert not at.exception
    assert any(element.value == "Row 150" for element in at.subheader)
    drop(at, numbers(n=30), "short.csv", key="upload_second")
    assert at.number_input(key="row").max == 30


def test_a_link_to_a_file_waits_for_the_file():
    at = open_page(table="your file", target="z", row="500")
    assert not at.exception
    assert says(at, "No file is open")
    assert not says(at, "target must be")
    at.run()
    assert at.query_params["target"] == "z"
    drop(at, numbers(n=600))
    assert not at.exception
    assert at.selectbox(key="target").value == "z"
    assert any(element.value == "Row 500" for element in at.subheader)
    at = open_page(table="your file", target="nowhere")  # told once the file is there
    drop(at, numbers())
    assert says(at, 'but the link says "nowhere"')
    assert len(rows_of(at)) == 60


def test_a_file_that_could_not_be_read_is_read_as_the_reader_says():
    # The first rows look like two columns between semicolons; the comma is what holds.
    lines = [f"{i};{'a;' * (i % 4) if i > 210 else ''},{i % 9},{i * i}" for i in range(400)]
    at = open_page("\n".join(["x;t,z,y", *lines]).encode())
    assert says(at, 'You still see the table "diabetes".')
    choose(at, "Delimiter", "comma")
    assert not at.exception
    assert len(rows_of(at)) == 400
    choose(at, "Delimiter", "semicolon")  # what was open and what failed are the same file now
    assert not at.exception
    assert says(at, "check the delimiter")
    choose(at, "Delimiter", "automatic")
    assert not at.exception


def choose(at, label, value):
    """Set one of the controls of reading, which are there once."""
    (box,) = [box for box in at.selectbox if box.label == label]
    box.set_value(value).run()
    settle(at)


def test_a_refusal_for_want_of_memory_is_not_remembered(monkeypatch):
    refuse = [True]

    def reader(*args, **options):
        if refuse:
            raise MemoryLimitExceeded("There is no room.")
        return read_table(*args, **options)

    monkeypatch.setattr("pages._ui.your_data.source.read_table", reader)
    at = open_page(numbers(n=53), seed="77")
    assert says(at, "There is no room.")
    refuse.clear()
    settle(at.run())
    assert not at.exception
    assert len(rows_of(at)) == 53


def test_a_file_and_its_name_are_nobody_elses_and_go_with_the_session():
    data = numbers(n=47)
    for name, second in (("secret.csv", "hidden.csv"), ("mine.csv", "new.csv")):
        at = drop(open_page(table="your file"), data, name)
        drop(at, numbers(n=31), second, key="upload_second")
        code = next(c.value for c in at.code if "score_table" in c.value)
        assert name in code
        assert second in code
        assert ("secret" in code, "hidden" in code) == (name == "secret.csv",) * 2
    # The same reader gives the same bytes another name.
    drop(at, data, "renamed.csv")
    assert any("renamed.csv" in c.value for c in at.code)
    owned = [key for key in RUNNER._finished if key[0] == "your data" and len(key) == 3]
    assert len({key[2] for key in owned}) >= 2  # no session was given another's
    clear_session_resource_cache(SESSION)
    assert not [key for key in RUNNER._finished if key in owned]


def test_no_cache_of_the_page_outlives_a_session():
    modules = (data_source, data_training, data_columns, kept)
    cached = [
        function
        for module in modules
        for function in vars(module).values()
        if isinstance(function, CachedFunc) and function is not data_source._builtin
    ]
    resources = [function._info for function in cached if hasattr(function._info, "on_release")]
    assert len(resources) >= 4
    assert all(info.scope == "session" for info in resources)


def test_corrections_of_columns_outlive_the_list():
    at = open_page(table="wine")
    assert in_use(at) == "14 of 14"
    opened = at.session_state["_data_last_open"]
    left_out = Edits(used=(("hue", False),))
    at.session_state["_data_edits"] = {opened.key: data_columns._Saved(left_out, left_out)}
    settle(at.run())
    assert in_use(at) == "13 of 14"
    assert any("corrections of columns" in caption.value for caption in at.caption)
    before = rows_of(at)["total"].to_numpy()
    at.switch_page("pages/home.py").run()
    at.switch_page("pages/your_data.py").run()
    settle(at)
    assert not at.exception
    assert in_use(at) == "13 of 14"
    np.testing.assert_array_equal(rows_of(at)["total"], before)


def in_use(at):
    """How many of the columns are used, as the list's heading says."""
    (label,) = [box.label for box in at.expander if box.label.startswith("Columns and reading")]
    return label.split(": ")[1].split(" in use")[0]


def test_what_is_typed_into_the_list_of_columns_is_laid_over_what_was_corrected_before(monkeypatch):
    state = {}
    monkeypatch.setattr(data_columns.st, "session_state", state)
    opened = data_source._builtin.__wrapped__("wine")
    editor, names = data_columns._editor_key(opened), [c.name for c in opened.schema.columns]
    assert data_columns.current_edits(opened) == Edits()
    state[editor] = {"edited_rows": {0: {"kind": "category"}, 1: {"used": False}}}
    first = data_columns.current_edits(opened)
    assert first == Edits(((names[0], "category"),), ((names[1], False),))
    del state[editor]  # another page was open
    assert data_columns.current_edits(opened) == first
    frame = data_columns._frame(opened.schema, state["_data_edits"][opened.key].base)
    assert frame["kind"][0] == "category"
    assert not frame["used"][1]
    state[editor] = {"edited_rows": {1: {"used": True}, 2: {"missing_values": "-9, none"}}}
    second = data_columns.current_edits(opened)
    assert second.kinds == first.kinds
    assert second.used == ((names[1], True),)
    assert second.missing_values == ((names[2], ("-9", "none")),)
    state[editor] = {"edited_rows": {2: {"keep_words": True}, 3: {"keep_words": "yes"}}}
    assert data_columns.current_edits(opened).keep_words == (names[2],)
    del state[editor]
    data_columns.current_edits(opened)
    frame = data_columns._frame(opened.schema, state["_data_edits"][opened.key].base)
    assert frame["keep_words"].tolist()[:4] == [False, False, True, False]
    state[editor] = {"edited_rows": {2: {"keep_words": False}}}
    assert data_columns.current_edits(opened).keep_words == ()


def test_one_member_left_is_said_and_ranks_no_rows_by_knowledge():
    at = open_page(table="wine", method="cSGLB", burn_in="9", rank="knowledge")
    assert not at.exception
    missing = "With one member there is no knowledge uncertainty: lower the burn-in."
    assert any(caption.value.endswith(missing) for caption in at.caption)
    assert says(at, "The rows are in the order of the file.")
    assert rows_of(at)["row"].tolist() == list(range(1, 179))
    heads = judged(at)
    assert any(text.endswith(missing) for text in heads)
    assert any(head.endswith("PRR of total / data, %") for head in heads)
    assert "**1**  \nMember" in heads
    at.slider(key="burn_in").set_value(8).run()
    assert not says(at, "The rows are in the order of the file.")
    assert "**2**  \nMembers" in judged(at)
