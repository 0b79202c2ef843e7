"""Counting progress: stages inside stages, several threads, and a count that never goes back."""

import pytest
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import Job, JobRunner, advance, current_job, parallel_map, stage, tick
from gbuq_core.progress import Progress

HANG = 60


def run(fn, total=1.0):
    """Let a job run ``fn`` and return the units it has counted when ``fn`` returns."""
    seen = []

    def compute(job):
        fn()
        seen.append(job.done)

    JobRunner().want("ann", "key", compute, total).result(HANG)
    return seen[0]


def test_without_a_job_nothing_happens():
    assert current_job() is None
    tick(3)
    advance(2)
    with stage(10):
        tick(5)


def test_ticks_count_up_to_the_total():
    assert run(lambda: tick(3), total=10) == 3
    assert run(lambda: tick(30), total=10) == 10


def test_a_count_never_goes_back():
    def back_and_forth():
        tick(6)
        tick(2)
        advance(-1)

    assert run(back_and_forth, total=10) == 6


def test_advances_add_up():
    def add():
        advance()
        advance(2.5)

    assert run(add, total=10) == 3.5


def test_advances_of_several_threads_add_up():
    def members():
        with stage(8 * 50):
            parallel_map(lambda _: [advance() for _ in range(50)], range(8), n_jobs=4)

    # 400 additions of 1/400 in float64.
    assert run(members) == pytest.approx(1.0, rel=SAME_SUM)


def test_a_stage_is_worth_its_span():
    marks = []

    def folds():
        job = current_job()
        for _ in range(4):
            with stage(200, span=0.2):
                tick(100)
                marks.append(job.done)
        tick(0.9)
        marks.append(job.done)

    run(folds)
    assert marks == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], rel=SAME_SUM)


def test_a_stage_without_span_takes_what_is_left():
    def two_steps():
        tick(0.25)
        with stage(10):
            tick(5)
            assert current_job().done == 0.25 + 0.75 / 2

    assert run(two_steps) == 1.0


def test_a_stage_that_fails_does_not_count_as_done():
    def broken():
        with stage(10, span=0.5):
            tick(4)
            raise KeyError

    def caught():
        with pytest.raises(KeyError):
            broken()

    assert run(caught) == pytest.approx(0.2, rel=SAME_SUM)


@pytest.mark.parametrize("total", [0, -1, float("nan"), "many"])
def test_there_must_be_something_to_count(total):
    with pytest.raises(InvalidParameter, match="total must be"):
        Progress(total)
    with pytest.raises(InvalidParameter, match="total must be"):
        JobRunner().want("ann", "key", lambda job: None, total)


def test_the_fraction_of_a_job():
    job = Job("key", total=8)
    job.tick(2)
    assert (job.done, job.total, job.fraction) == (2, 8, 0.25)
    done = JobRunner().want("ann", "key", lambda job: None, total=8)
    done.result(HANG)
    assert done.fraction == 1.0
