"""Asking for results on a page: at once, after a while, cancelled, failed."""

import doctest
import itertools
import re
import time
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from gbuq_core.jobs import RUNNER, Job
from pages._ui import jobs_glue
from tests.app.your_data_page import open_at_once

SCRIPT = str(Path(__file__).parent / "apps" / "slow_fits.py")


@pytest.fixture
def at():
    yield AppTest.from_file(SCRIPT, default_timeout=30).run()
    for job in live_jobs():
        job.stop()


def line(at, slot):
    return next(t.value for t in at.text if t.value.startswith(f"{slot}: "))


def live_jobs():
    return [job for job in RUNNER._live.values() if job.key[0] == "test"]


def wait_until(condition):
    """Waits a minute at most, far longer than any machine needs; no time is asserted."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(jobs_glue).failed == 0


def test_short_fits_come_back_at_once_without_progress(at):
    wait_until(lambda: not live_jobs())
    at.run()
    assert not at.exception
    assert line(at, "quick") == "quick: done, counted 0.01, fresh True"
    assert line(at, "slow") == "slow: done, counted 0.01, fresh True"
    assert any(t.value.startswith("Fitted in ") for t in at.text)
    assert [button.label for button in at.button] == ["Look again"]


def test_the_last_good_result_stays_while_a_slow_fit_runs_and_cancel_stops_it(at):
    wait_until(lambda: not live_jobs())
    at.run()
    at.number_input(key="seconds").set_value(50.0).run()
    assert line(at, "slow") == "slow: running, counted 0.01, fresh False"
    assert line(at, "quick").endswith("fresh True")
    (job,) = live_jobs()
    at.button(key="_jobs_cancel").click().run()
    wait_until(lambda: job.state == "cancelled")
    at.run()
    assert line(at, "slow") == "slow: cancelled, counted 0.01, fresh False"
    assert live_jobs() == []
    at.button(key="_jobs_again").click().run()
    assert line(at, "slow").startswith("slow: running")


def test_a_rerun_never_fits_again_what_the_session_holds(at):
    wait_until(lambda: not live_jobs())
    at.run()
    shown = line(at, "slow")
    assert shown == "slow: done, counted 0.01, fresh True"
    took = [t.value for t in at.text if t.value.startswith("Fitted in ")]
    # The results of other sessions took the place of these.
    for key in [key for key in RUNNER._finished if key[0] == "test"]:
        del RUNNER._finished[key]
    for slots in RUNNER._slots.values():
        slots.clear()
    at.run()
    assert line(at, "slow") == shown
    assert [t.value for t in at.text if t.value.startswith("Fitted in ")] == took
    assert [key for key in (*RUNNER._live, *RUNNER._finished) if key[0] == "test"] == []


def test_back_to_the_last_good_setting_stops_the_fit_of_another(at):
    wait_until(lambda: not live_jobs())
    at.run()
    at.number_input(key="seconds").set_value(50.0).run()
    (job,) = live_jobs()
    at.number_input(key="seconds").set_value(0.01).run()
    assert line(at, "slow") == "slow: done, counted 0.01, fresh True"
    wait_until(lambda: job.state == "cancelled")


def test_a_new_setting_stops_the_old_fit(at):
    at.number_input(key="seconds").set_value(50.0).run()
    (old,) = live_jobs()
    at.number_input(key="seconds").set_value(40.0).run()
    wait_until(lambda: old.state == "cancelled")
    (new,) = live_jobs()
    assert new.key == ("test", 40.0, "")


def test_leaving_the_session_stops_its_fits(at):
    at.number_input(key="seconds").set_value(50.0).run()
    (job,) = live_jobs()
    at.toggle(key="gone").set_value(True).run()
    wait_until(lambda: job.state == "cancelled")


def test_going_to_another_page_stops_the_fits_of_the_last_one(at):
    at.number_input(key="seconds").set_value(50.0).run()
    (job,) = live_jobs()
    at.toggle(key="away").set_value(True).run()
    wait_until(lambda: job.state == "cancelled")
    at.toggle(key="away").set_value(False).run()
    # The results of the page before are not shown as this page's last good ones.
    assert line(at, "slow").endswith("running, None, fresh False")


def test_an_error_is_one_sentence(at):
    at.selectbox(key="fails").set_value("ours").run()
    wait_until(lambda: not live_jobs())
    at.run()
    assert not at.exception
    assert "There are no rows." in [t.value for t in at.text]
    assert line(at, "slow").startswith("slow: failed")
    at.selectbox(key="fails").set_value("theirs").run()
    wait_until(lambda: not live_jobs())
    at.run()
    assert not at.exception
    sentences = [t.value for t in at.text if "failed (KeyError)" in t.value]
    assert len(sentences) == 1
    assert "secret" not in sentences[0]


def test_two_places_of_a_page_may_show_what_was_cancelled_at_once():
    """As on Novelty, where the claims are cancelled after the fit that they are about."""
    script = """
from pages._ui.jobs_glue import Answer, Request, show_progress
for place in ("", "-claims"):
    request = Request("slot" + place, ("test", place), print)
    show_progress([Answer(request.slot, request, "cancelled", None, False, None, "", None)], place)
    running = Answer(request.slot, request, "running", None, False, None, "", Job("key"))
    show_progress([running], place)
"""
    at = AppTest.from_string("from gbuq_core.jobs import Job\n" + script, default_timeout=30).run()
    assert not at.exception
    keys = {"_jobs_again", "_jobs_again-claims", "_jobs_cancel", "_jobs_cancel-claims"}
    assert keys <= {button.key for button in at.button}


def bars(at):
    """What each bar of a page says: its share in percent and its words."""
    return [(bar.proto.value, bar.proto.text) for bar in at.get("progress")]


def test_two_places_that_wait_share_one_bar_which_only_grows():
    first, second, third = (Job(key, total=10) for key in ("first", "second", "third"))
    bar = jobs_glue._Bar()
    for job in (first, second):
        job._begin()
    first.tick(4)
    bar.wait_for("", [("First", first)])
    bar.wait_for("-b", [("Second", second)])
    assert bar.is_at("")
    assert not bar.is_at("-b")
    share, words = bar.look()
    assert (share, words) == (0.2, "First, Second: 20 %")  # nothing is known of the second's time
    second.tick(8)
    share, words = bar.look()
    assert share == pytest.approx(0.6)
    assert re.fullmatch(r"First, Second: 60 %(, about .* left)?", words)
    # The first one ends, in a run of the page; another one joins.
    first._end("done")
    bar.begin_run()
    bar.wait_for("-b", [("Second", second)])
    bar.wait_for("-c", [("Third", third)])
    assert bar.is_at("-b")
    share, words = bar.look()
    assert (share, words) == (pytest.approx(0.6), "Second, Third: 60 %")
    third._begin()
    third.tick(9)
    assert bar.look()[0] == pytest.approx((1 + 0.8 + 0.9) / 3)
    second.tick(10)
    third.tick(10)
    assert bar.look()[0] < 1.0
    # What is waited for is all new: the bar begins anew.
    for job in (second, third):
        job._end("done")
    bar.begin_run()
    fourth = Job("fourth")
    bar.wait_for("", [("Fourth", fourth)])
    assert bar.look() == (0.0, "Fourth: waiting for another fit")


def test_your_data_shows_one_bar_at_a_time():
    at = open_at_once(table="diabetes", method="automatic", trees="100")
    seen = []
    deadline = time.monotonic() + 300
    while RUNNER.busy:
        assert time.monotonic() < deadline
        seen.append(bars(at))
        at.run()
    assert max(map(len, seen)) == 1
    told = [bar for shown in seen for bar in shown]
    assert not any(value >= 100 for value, _ in told)
    for (before, earlier), (value, words) in itertools.pairwise(told):
        names, now = (set(text.rpartition(": ")[0].split(", ")) for text in (earlier, words))
        assert value >= before or not names & now


def test_a_stored_result_needs_no_fit_and_does_where_it_is_asked_for_only():
    def page():
        import streamlit as st

        from pages._ui.jobs_glue import Request, ask

        stored = None if st.checkbox("own") else (lambda: 7)
        request = Request("one", ("test", "stored"), lambda job: 8, stored=stored)
        (answer,) = ask([request], 10.0)
        st.text(f"one: {answer.result}, fresh {answer.fresh}, fitted {answer.seconds is not None}")

    at = AppTest.from_function(page, default_timeout=30).run()
    assert line(at, "one") == "one: 7, fresh True, fitted False"
    assert [key for key in (*RUNNER._live, *RUNNER._finished) if key == ("test", "stored")] == []
    at.checkbox[0].check().run()
    assert line(at, "one") == "one: 8, fresh True, fitted True"
    at.checkbox[0].uncheck().run()
    assert line(at, "one") == "one: 8, fresh True, fitted True"
