"""The warm-up makes way for the pages, and one part that fails stops no other."""

import sys
import threading

import pytest

from gbuq_core.jobs import JobRunner
from pages._ui import warmup

HANG = 20  # seconds after which a test that waits has failed


@pytest.fixture
def runner(monkeypatch):
    """A runner of the test's own; the warm-up waits for no page."""
    runner = JobRunner()
    monkeypatch.setattr(warmup, "RUNNER", runner)
    monkeypatch.setattr(warmup, "_DONE", threading.Event())
    for name in ("FIRST_KERNELS", "NEXT_KERNELS", "LATER_STEPS", "STEPS"):
        monkeypatch.setattr(warmup, name, ())
    return runner


def test_what_somebody_waits_for_goes_first(runner, monkeypatch):
    order, may_end = [], threading.Event()

    def fit(job):
        may_end.wait(HANG)
        order.append("fit")

    monkeypatch.setattr(warmup, "FIRST_STEPS", (lambda: order.append("kernels"),))
    job = runner.want("ann", "key", fit)
    thread = threading.Thread(target=warmup._warm_up)
    thread.start()
    thread.join(5 * warmup._LOOK_SECONDS)  # time enough to go wrong
    assert order == []
    may_end.set()
    job.result(HANG)
    thread.join(HANG)
    assert order == ["fit", "kernels"]
    assert warmup.is_warm()


def test_threads_wait_less_for_each_other(monkeypatch):
    monkeypatch.setattr(warmup, "_warm_up", lambda: None)
    warmup.start_warm_up.__wrapped__().join(HANG)
    assert sys.getswitchinterval() == pytest.approx(0.001)  # Python keeps whole microseconds


def test_it_does_not_wait_for_ever(runner, monkeypatch):
    may_end = threading.Event()
    monkeypatch.setattr(warmup, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(warmup, "FIRST_STEPS", ())
    monkeypatch.setattr(warmup, "LATER_STEPS", (may_end.set,))
    job = runner.want("ann", "key", lambda job: may_end.wait(HANG))
    warmup._warm_up()
    assert job.result(HANG) is True


def test_a_part_that_fails_stops_no_other(runner, monkeypatch, caplog):
    done = []

    def fail():
        raise RuntimeError("no such library")

    monkeypatch.setattr(warmup, "FIRST_STEPS", (fail, lambda: done.append("first")))
    monkeypatch.setattr(warmup, "LATER_STEPS", (lambda: done.append("later"),))
    warmup._warm_up()
    assert done == ["first", "later"]
    assert "A part of the warm-up failed" in caplog.text
    assert warmup.is_warm()


def test_a_package_is_warmed_up_by_its_own_function(monkeypatch):
    done = []
    monkeypatch.setattr("gbuq_core.sampling.warmup.warm_up", lambda: done.append("sampling"))
    warmup._warm_up_of("sampling")()
    assert done == ["sampling"]
