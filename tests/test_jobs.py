"""Jobs: one computation for all who want it, stopped when nobody does, and kept for a while."""

import gc
import threading
import traceback
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from job_parts import HANG, Counted

from gbuq_core import jobs, parallel, resources
from gbuq_core.errors import Cancelled, InvalidData, MemoryLimitExceeded
from gbuq_core.jobs import JobRunner, check_memory, current_job, parallel_map, tick


@pytest.fixture
def runner():
    return JobRunner()


@pytest.fixture
def small_pool(monkeypatch):
    """A pool of two threads instead of the process-wide one."""
    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(parallel, "POOL", pool)
        monkeypatch.setattr(jobs, "POOL", pool)
        yield pool


class Endless:
    """A fit that ticks until it is cancelled, and notes what happens to it."""

    def __init__(self):
        self.events = []
        self.begun = threading.Event()

    def __call__(self, job):
        self.events.append("begun")
        self.begun.set()
        try:
            while True:
                job.tick(0)
        except Cancelled:
            self.events.append("cancelled")
            raise


def start(runner, user, key, slot="main"):
    """Let a user want an endless fit and wait until it is at work."""
    fit = Endless()
    job = runner.want(user, key, fit, slot=slot)
    assert fit.begun.wait(HANG)
    return job, fit


def assert_cancelled(job, fit):
    assert job.wait(HANG)
    assert job.state == "cancelled"
    assert fit.events == ["begun", "cancelled"]
    with pytest.raises(Cancelled):
        job.result()


def test_a_runner_is_busy_while_somebody_waits(runner):
    assert not runner.busy
    job, fit = start(runner, "ann", "key")
    assert runner.busy
    runner.release("ann")
    assert_cancelled(job, fit)
    assert not runner.busy


def test_a_result_and_its_states(runner):
    go_on = threading.Event()
    job = runner.want("ann", "key", lambda job: go_on.wait(HANG) and job.key)
    assert job.state in ("queued", "running")
    with pytest.raises(TimeoutError):
        job.result(timeout=0)
    go_on.set()
    assert job.result(HANG) == "key"
    assert job.state == "done"
    assert job.seconds >= 0


def test_the_job_is_known_to_the_code_it_runs_and_to_its_helpers(runner):
    meeting = threading.Barrier(2)

    def compute(job):
        def member(_):
            meeting.wait(HANG)
            return current_job()

        return [current_job(), *parallel_map(member, range(2), n_jobs=2)]

    job = runner.want("ann", "key", compute)
    assert [known is job for known in job.result(HANG)] == [True] * 3
    assert current_job() is None


def test_two_users_share_one_computation(runner):
    go_on, fit = threading.Event(), Counted()
    first = runner.want("ann", "key", lambda job: go_on.wait(HANG) and fit(job))
    second = runner.want("bob", "key", fit)
    assert second is first
    go_on.set()
    assert second.result(HANG) == "value"
    assert runner.want("cleo", "key", fit) is first
    assert fit.calls == 1


def test_a_new_key_stops_the_older_job_of_the_slot(runner):
    old, old_fit = start(runner, "ann", "old")
    new = runner.want("ann", "new", Counted())
    assert_cancelled(old, old_fit)
    assert new.result(HANG) == "value"


def test_a_job_that_another_user_wants_goes_on(runner):
    shared, fit = start(runner, "ann", "key")
    runner.want("bob", "key", fit)
    runner.want("ann", "other", Counted()).result(HANG)
    assert (shared.state, shared.stopped) == ("running", False)
    runner.release("bob")
    assert_cancelled(shared, fit)


def test_slots_of_one_user_do_not_disturb_each_other(runner):
    left, left_fit = start(runner, "ann", "a", slot="left")
    right, right_fit = start(runner, "ann", "b", slot="right")
    newer, newer_fit = start(runner, "ann", "c", slot="left")
    assert_cancelled(left, left_fit)
    assert not right.stopped
    runner.keep("ann", ["left"])
    assert_cancelled(right, right_fit)
    assert not newer.stopped
    runner.release("ann", ["left", "unknown"])
    assert_cancelled(newer, newer_fit)


def test_one_key_in_two_slots_goes_on_until_both_are_given_up(runner):
    job, fit = start(runner, "ann", "a", slot="left")
    assert runner.want("ann", "a", fit, slot="right") is job
    runner.release("ann", ["left"])
    assert not job.stopped
    runner.release("ann", ["right"])
    assert_cancelled(job, fit)


def test_a_closed_tab_stops_all_its_jobs_and_no_others(runner):
    mine = [start(runner, "ann", key, slot=key) for key in ("a", "b")]
    other, other_fit = start(runner, "bob", "c")
    runner.release("ann")
    for job, fit in mine:
        assert_cancelled(job, fit)
    assert not other.stopped
    runner.release("nobody")
    runner.release("bob")
    assert_cancelled(other, other_fit)


def test_a_stopped_fit_stops_in_all_its_threads(runner):
    meeting = threading.Barrier(3)
    ended = []

    def member(index):
        meeting.wait(HANG)
        try:
            while True:
                tick(0)
        except Cancelled:
            ended.append(index)
            raise

    job = runner.want("ann", "key", lambda job: parallel_map(member, range(9), n_jobs=2))
    meeting.wait(HANG)
    runner.release("ann")
    assert job.wait(HANG)
    assert job.state == "cancelled"
    assert sorted(ended) == [0, 1]


def test_a_job_that_is_stopping_is_not_joined(runner):
    begun, go_on = threading.Event(), threading.Event()

    def deaf(job):
        begun.set()
        go_on.wait(HANG)

    old = runner.want("ann", "key", deaf)
    assert begun.wait(HANG)
    runner.release("ann")
    new = runner.want("bob", "key", Counted())
    assert new is not old
    assert new.result(HANG) == "value"
    go_on.set()
    assert old.wait(HANG)
    assert old.state == "cancelled"
    # The late end of the old job does not take the place of the new result.
    assert runner.want("cleo", "key", Counted("other")).result(HANG) == "value"


def test_a_fit_that_hides_its_cancellation_is_not_believed(runner):
    begun = threading.Event()

    def half_done(job):
        begun.set()
        try:
            while True:
                job.tick(0)
        except Exception:
            return "half"

    job = runner.want("ann", "key", half_done)
    assert begun.wait(HANG)
    runner.release("ann")
    assert job.wait(HANG)
    assert job.state == "cancelled"
    assert runner.want("ann", "key", Counted("whole")).result(HANG) == "whole"


def test_a_job_in_the_queue_is_cancelled_at_once(runner, small_pool):
    busy = [start(runner, user, user) for user in ("ann", "bob")]
    fit = Counted()
    waiting = runner.want("cleo", "key", fit)
    assert (waiting.state, waiting.seconds) == ("queued", 0.0)
    runner.release("cleo")
    assert waiting.state == "cancelled"
    for user, (job, endless) in zip(("ann", "bob"), busy, strict=True):
        runner.release(user)
        assert_cancelled(job, endless)
    runner.want("dan", "last", Counted()).result(HANG)
    assert fit.calls == 0


def test_nested_maps_of_jobs_on_all_threads_end(runner, small_pool):
    def sums(depth):
        if depth == 0:
            return 1
        return sum(parallel_map(lambda _: sums(depth - 1), range(3), n_jobs=3))

    mine = [runner.want(user, user, lambda job: sums(4)) for user in range(6)]
    assert [job.result(HANG) for job in mine] == [3**4] * 6


def test_no_lock_is_held_while_computing(runner):
    def outer(job):
        inner = runner.want("ann", "inner", Counted(3), slot="inner")
        return inner.result(HANG) + 1

    assert runner.want("ann", "outer", outer).result(HANG) == 4


def test_a_user_who_holds_a_result_settles_for_it(runner):
    runner.want("ann", "a", Counted("a")).result(HANG)
    job, fit = start(runner, "ann", "b")
    runner.settle("ann", "a")
    assert_cancelled(job, fit)
    (kept,) = runner._slots["ann"].values()
    assert kept.key == "a"
    runner.settle("ann", "forgotten")  # nothing is begun for it
    assert runner._live == {}
    assert runner._slots == {}
    assert not kept.users


def fail(job):
    rows = np.zeros(1000)
    raise InvalidData(f"There are {len(rows)} bad rows.")


def test_an_error_is_kept_for_who_wanted_it(runner):
    calls = []

    def counted(job):
        calls.append(job)
        fail(job)

    job = runner.want("ann", "key", counted)
    depths = set()
    for _ in range(3):
        with pytest.raises(InvalidData, match="1000 bad rows") as excinfo:
            job.result(HANG)
        depths.add(len(traceback.extract_tb(excinfo.value.__traceback__)))
        assert runner.want("ann", "key", counted) is job
    assert job.state == "failed"
    assert len(calls) == 1
    assert len(depths) == 1  # raising it again does not make its traceback longer


def test_an_error_is_not_cached(runner):
    runner.want("ann", "key", fail).wait(HANG)
    assert runner.want("bob", "key", Counted()).result(HANG) == "value"
    runner.want("cleo", "other", fail).wait(HANG)
    runner.want("cleo", "key", fail)
    assert runner.want("cleo", "other", Counted("second try")).result(HANG) == "second try"


def test_an_error_does_not_keep_the_arrays_of_the_fit(runner):
    class Rows:
        pass

    alive = []

    def broken(job):
        rows = Rows()
        alive.append(weakref.ref(rows))
        try:
            raise KeyError("inside")
        except KeyError as error:
            raise InvalidData("There are no rows.") from error

    runner.want("ann", "key", broken).wait(HANG)
    gc.collect()
    assert alive[0]() is None


def test_too_large_a_fit_is_a_sentence(runner, monkeypatch):
    monkeypatch.setattr(resources, "available_memory_bytes", lambda: 10**9)
    job = runner.want("ann", "key", lambda job: check_memory(10**10, "this fit"))
    with pytest.raises(MemoryLimitExceeded, match="This fit would need about 10 GB, but only"):
        job.result(HANG)


def test_running_out_of_memory_is_a_sentence(runner):
    def exhaust(job):
        raise MemoryError

    with pytest.raises(MemoryLimitExceeded, match="The memory ran out: take fewer rows"):
        runner.want("ann", "key", exhaust).result(HANG)


def test_many_users_at_once_get_right_results_and_leave_nothing_behind(runner):
    def fit(job):
        for step in range(5):
            job.tick(step)
        return job.key

    def visit(user):
        rng = np.random.default_rng(user)
        for key in rng.integers(6, size=40):
            slot = f"slot {rng.integers(2)}"
            job = runner.want(user, int(key), fit, slot=slot)
            if rng.random() < 0.2:
                runner.release(user)
            elif rng.random() < 0.5:  # nobody else can take it from this user
                assert job.result(HANG) == key
        runner.release(user)

    with ThreadPoolExecutor(8) as users:
        list(users.map(visit, range(8)))
    assert runner._live == {}
    assert runner._slots == {}
    assert all(not job.users for job in runner._finished.values())


def test_a_job_in_the_background_rests_while_another_one_runs(runner):
    steps, go_on, begun = [], threading.Event(), threading.Event()

    def quiet(job):
        begun.set()
        steps.append("begins")
        assert go_on.wait(HANG)
        tick(0)  # rests here
        steps.append("ends")
        job.so_far = 7
        return resources.effective_n_jobs(None)

    job = runner.want("ann", "quiet", quiet, slot="seeds", background=True)
    assert begun.wait(HANG)
    assert not runner.busy  # nobody waits for it
    other, fit = start(runner, "ann", "loud")
    go_on.set()
    assert not job.wait(0.3)
    assert steps == ["begins"]
    runner.release("ann", ["main"])
    assert_cancelled(other, fit)
    assert job.result(HANG) == 1  # thread
    assert (steps[-1], job.so_far) == ("ends", 7)
    assert runner.want("bob", "quiet", quiet, slot="seeds", background=True) is job


def test_a_job_that_rests_can_be_stopped(runner):
    loud, fit = start(runner, "ann", "loud")
    compute = Counted()
    quiet = runner.want("ann", "quiet", compute, slot="seeds", background=True)
    assert not quiet.wait(0.1)
    runner.release("ann", ["seeds"])
    assert quiet.wait(HANG)
    assert quiet.state == "cancelled"
    assert compute.calls == 0
    runner.release("ann")
    assert_cancelled(loud, fit)
