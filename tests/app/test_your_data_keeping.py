"""Files that outlive a reload, and their end: by time, by room, by a button."""

import gc

import pytest

from gbuq_core.tables import ScoredTable
from pages._ui.your_data.keeping import KEPT_MINUTES, KeptFile, KeptFiles, Restored
from tests.app.your_data_page import numbers, open_page, settle, texts

A, B, C = "a" * 32, "b" * 32, "c" * 32
FILE = KeptFile("rows.csv", b"x,y\n1,2\n", "id 1")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_file_stays_a_quarter_of_an_hour_after_its_last_session(clock):
    files = KeptFiles(clock)
    files.hold(A, "first")
    files.put(A, "upload", FILE)
    clock.now = 1e6
    assert files.get(A, "upload") == FILE
    files.hold(A, "reloaded")
    files.let_go(A, "first")
    clock.now += 1e6
    assert files.get(A, "upload") == FILE
    files.let_go(A, "reloaded")
    clock.now += 60 * KEPT_MINUTES - 1
    assert files.get(A, "upload") == FILE
    files.hold(A, "again")
    clock.now += 1e6
    files.let_go(A, "again")
    clock.now += 60 * KEPT_MINUTES
    files.purge()
    assert files.get(A, "upload") is None


def test_a_token_opens_its_own_files_only(clock):
    files = KeptFiles(clock)
    files.hold(A, "one")
    files.hold(B, "two")
    files.put(A, "upload", FILE)
    assert files.get(B, "upload") is None
    assert files.get(A, "upload_second") is None
    files.put(C, "upload", FILE)  # no session holds it
    assert files.get(C, "upload") is None


def test_the_files_that_would_end_first_go_where_there_is_no_room(clock):
    files = KeptFiles(clock, most_bytes=250)
    for k, token in enumerate((A, B, C)):
        clock.now = float(k)
        files.hold(token, "session")
        files.put(token, "upload", KeptFile("f", bytes(100), str(k)))
    for token in (B, A, C):
        clock.now += 1.0
        files.let_go(token, "session")
    assert files.get(B, "upload") is None
    assert files.get(A, "upload") is not None
    assert files.get(C, "upload") is not None


def test_what_is_deleted_does_not_come_back(clock):
    files = KeptFiles(clock)
    files.hold(A, "one")
    files.put(A, "upload", FILE)
    files.put(A, "upload_second", FILE)
    files.delete(A, "upload_second")
    assert files.get(A, "upload") is not None
    files.delete(A)
    assert files.get(A, "upload") is None
    files.delete(C)


def test_a_kept_file_reads_as_an_upload():
    file = Restored(FILE)
    assert file.read() == file.getvalue() == bytes(file.getbuffer()) == FILE.data
    assert (file.name, file.size, file.file_id) == ("rows.csv", 8, "id 1")


def test_the_button_deletes_the_file_and_nothing_holds_what_was_made_of_it():
    at = open_page(numbers(4001))  # long enough in training for progress and Cancel to be drawn
    assert 4001 in scored_tables()
    assert at.session_state["table"] == "your file"
    at.button(key="delete-data").click().run()
    settle(at)
    assert not at.exception
    assert at.session_state["table"] == "none"
    assert not at.dataframe
    assert [button for button in at.button if button.key == "delete-data"] == []
    assert not any("No file is open" in text for text in texts(at))
    assert 4001 not in scored_tables()


def scored_tables():
    """How many rows the scored tables have that are alive."""
    gc.unfreeze()
    gc.collect()
    # By type: isinstance would ask weak proxies of what is gone already.
    return {len(each.frame) for each in gc.get_objects() if type(each) is ScoredTable}
