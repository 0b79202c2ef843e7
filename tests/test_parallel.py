"""Spreading work over the pool: order, errors, nesting, and no deadlock when it is full."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from gbuq_core import parallel
from gbuq_core.errors import Cancelled, InvalidParameter
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import here, tick
from gbuq_core.resources import effective_n_jobs

# Reached only by a test that hangs; no time is asserted.
HANG = 60


@pytest.fixture
def small_pool(monkeypatch):
    """A pool of two threads instead of the process-wide one."""
    with ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(parallel, "POOL", pool)
        yield pool


@pytest.fixture
def full_pool(small_pool):
    """The same with both threads busy until the test ends."""
    end, busy = threading.Event(), threading.Barrier(3)

    def block():
        busy.wait(HANG)
        end.wait(HANG)

    blockers = [small_pool.submit(block) for _ in range(2)]
    busy.wait(HANG)
    yield small_pool
    end.set()
    for blocker in blockers:
        blocker.result(HANG)


def test_results_come_in_order():
    items = range(100)
    assert parallel_map(lambda i: i * i, items, n_jobs=4) == [i * i for i in items]
    assert parallel_map(str, iter("abc")) == ["a", "b", "c"]
    assert parallel_map(str, []) == []


@pytest.mark.parametrize("n_jobs", [0, 2.5, "all"])
def test_impossible_numbers_of_threads_are_refused(n_jobs):
    with pytest.raises(InvalidParameter, match="n_jobs must be"):
        parallel_map(str, [1, 2], n_jobs=n_jobs)


def test_threads_work_at_the_same_time():
    meeting = threading.Barrier(3)
    # Each item waits for two others: fewer than three threads would never finish.
    assert sorted(parallel_map(lambda _: meeting.wait(HANG), range(3), n_jobs=3)) == [0, 1, 2]


def test_no_more_threads_than_asked_for():
    lock, at_work, most = threading.Lock(), 0, 0

    def count(_):
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        np.sort(np.arange(20_000)[::-1] % 977)
        with lock:
            at_work -= 1

    parallel_map(count, range(60), n_jobs=2)
    assert 1 <= most <= 2


def test_one_thread_stops_at_the_first_error():
    begun = []

    def fail_at_two(item):
        begun.append(item)
        if item == 2:
            raise KeyError("two")

    with pytest.raises(KeyError, match="two"):
        parallel_map(fail_at_two, range(10), n_jobs=1)
    assert begun == [0, 1, 2]


def test_an_error_stops_the_items_at_work_and_begins_no_others():
    at_work, ended, begun = threading.Event(), [], []

    def work(item):
        begun.append(item)
        if item == 1:
            assert at_work.wait(HANG)
            raise ValueError("broken")
        at_work.set()
        try:
            while True:
                tick(0)
        except Cancelled:
            ended.append(item)
            raise

    with pytest.raises(ValueError, match="broken"):
        parallel_map(work, range(10), n_jobs=2)
    assert ended == [0]
    assert sorted(begun) == [0, 1]


def test_of_several_errors_the_first_item_counts():
    second_failed = threading.Event()

    def fail(item):
        if item == 0:
            assert second_failed.wait(HANG)
            raise ValueError("first")
        second_failed.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        parallel_map(fail, range(2), n_jobs=2)


def test_an_interrupt_comes_through():
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parallel_map(interrupt, range(4), n_jobs=2)


def test_an_error_in_a_nested_map_ends_the_outer_one():
    def inner(item):
        if item == 3:
            raise ValueError("inner")
        return item

    with pytest.raises(ValueError, match="inner"):
        parallel_map(lambda _: parallel_map(inner, range(5), n_jobs=2), range(4), n_jobs=2)


def nested_sums(depth):
    if depth == 0:
        return 1
    return sum(parallel_map(lambda _: nested_sums(depth - 1), range(3), n_jobs=3))


def test_a_full_pool_does_not_block_the_caller(full_pool):
    assert nested_sums(4) == 3**4


def test_nested_maps_on_all_threads_do_not_wait_for_each_other(small_pool):
    tasks = [small_pool.submit(nested_sums, 4) for _ in range(6)]
    assert [task.result(HANG) for task in tasks] == [3**4] * 6


def test_no_helper_is_left_in_a_full_pool(full_pool):
    calls = []
    parallel_map(calls.append, range(5), n_jobs=4)
    assert calls == list(range(5))
    # All three helpers were taken back: they count as cancelled, so none will run later.
    left = [full_pool._work_queue.get_nowait() for _ in range(full_pool._work_queue.qsize())]
    assert len(left) == 3
    assert all(item.future.cancelled() for item in left)


def test_the_place_is_the_same_afterwards():
    before = here()
    parallel_map(str, range(3), n_jobs=2)
    with pytest.raises(ZeroDivisionError):
        parallel_map(lambda i: 1 // i, [0], n_jobs=1)
    assert here() is before


@pytest.mark.parametrize("n_jobs", [2, 8])
def test_results_do_not_depend_on_the_number_of_threads(n_jobs):
    def member(index):
        draws = np.random.default_rng((7, index)).normal(size=1000)
        return np.cumsum(draws)

    alone = parallel_map(member, range(20), n_jobs=1)
    together = parallel_map(member, range(20), n_jobs=n_jobs)
    np.testing.assert_array_equal(together, alone)


def test_helpers_follow_joblibs_configuration_too():
    """joblib keeps it in the thread that asked; no helper may start more threads than it says."""
    all_cores = effective_n_jobs(None)
    together = threading.Barrier(3)

    def look(_):
        together.wait(HANG)
        return threading.get_ident(), effective_n_jobs(None)

    with parallel_config(n_jobs=3):
        seen = parallel_map(look, range(3))
    assert len({thread for thread, _ in seen}) == 3
    assert [n for _, n in seen] == [3, 3, 3]
    assert effective_n_jobs(None) == all_cores
    assert parallel_map(lambda _: effective_n_jobs(None), range(3), 3) == [all_cores] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_on_a_server_the_pool_lets_pages_go_first(monkeypatch):
    monkeypatch.setattr(parallel, "_PAGES_FIRST", threading.Event())

    def steps():
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    def steps_in_the_pool():
        with ThreadPoolExecutor(1, initializer=parallel._begin) as pool:
            return pool.submit(steps).result(HANG)

    mine = steps()
    assert steps_in_the_pool() == mine
    parallel.let_pages_go_first()
    assert steps_in_the_pool() == max(mine, 10)
    assert steps() == mine


# Fits that would never end: in a thread of the user's, which goes on alone, and in a job.
AT_THE_END = """
import threading
from gbuq_core.jobs import JobRunner
from gbuq_core.parallel import parallel_map

def fit(*_):
    while True:
        parallel_map(lambda _: begun.set(), range(4), n_jobs=3)

begun = threading.Event()
{start}
begun.wait(60)
"""


@pytest.mark.parametrize(
    "start",
    ["threading.Thread(target=fit, daemon=True).start()", "JobRunner().want('ann', 'fit', fit)"],
)
def test_a_program_ends_without_a_word_while_fits_run(start):
    process = subprocess.run(
        [sys.executable, "-c", AT_THE_END.format(start=start)],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
