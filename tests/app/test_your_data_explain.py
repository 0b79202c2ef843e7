"""Your data: a row that takes long to explain is worked out beside the page."""

import threading
import time

import pytest

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import tick
from gbuq_core.lenses import explaining
from gbuq_core.tables import explain_row
from tests.app.your_data_page import open_at_once, open_page, rows_of, says, settle


class SlowRow:
    """Explains a row in its own time, and notes in which thread."""

    def __init__(self):
        self.threads, self.go = [], threading.Event()

    def __call__(self, scored, row):
        self.threads.append(threading.current_thread().name)
        while not self.go.wait(0.01):
            tick(0.0)  # ends here when it is cancelled
        return explain_row(scored, row)


@pytest.fixture
def slow(monkeypatch):
    settle(open_page())  # the table is trained before, and it is known how unfamiliar its rows are
    row = SlowRow()
    monkeypatch.setattr(explaining, "explain_row", row)
    monkeypatch.setattr(explaining, "_MOST_AT_ONCE", 0)
    yield row
    row.go.set()


def run_until(at, condition):
    """Rerun until the page is as wanted, a minute at most."""
    for _ in range(300):
        if condition():
            break
        time.sleep(0.2)
        at.run()
    assert condition()


def can_cancel(at):
    return any(button.key == "_jobs_cancel-row" for button in at.button)


def charts(at):
    return at.get("vega_lite_chart") or at.get("arrow_vega_lite_chart")


def test_it_is_beside_the_page_survives_reruns_and_can_be_cancelled(slow):
    at = open_at_once(row="3")
    run_until(at, lambda: can_cancel(at))
    assert not at.exception
    assert len(rows_of(at)) == 442  # all the rest is there
    assert any(element.value == "Row 3" for element in at.subheader)
    assert not charts(at)
    begun = len(slow.threads)
    at.run()  # a rerun of the page does not begin again
    assert len(slow.threads) == begun == 1
    at.button(key="_jobs_cancel-row").click().run()
    assert says(at, "is not known")
    at.button(key="_jobs_again-row").click().run()
    slow.go.set()
    run_until(at, lambda: charts(at))
    assert not at.exception
    assert not can_cancel(at)
    assert len(charts(at)) == 5
    assert len(slow.threads) == 2
    assert not any("ScriptRunner" in name for name in slow.threads)


def test_a_row_that_cannot_be_explained_is_a_sentence(slow, monkeypatch):
    def refuse(scored, row):
        raise InvalidData("This row is not to be explained.")

    monkeypatch.setattr(explaining, "explain_row", refuse)
    at = open_at_once(row="4")
    run_until(at, lambda: says(at, "This row is not to be explained."))
    assert not at.exception
    assert len(rows_of(at)) == 442
