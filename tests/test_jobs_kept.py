"""Which finished results are kept, and when they give their memory back."""

import gc
import weakref

import numpy as np
from job_parts import HANG, Counted

from gbuq_core.jobs import JobRunner


def test_finished_results_are_kept_up_to_a_number():
    runner = JobRunner(max_results=2)
    fits = {key: Counted(key) for key in "abc"}

    def get(key):
        return runner.want("ann", key, fits[key]).result(HANG)

    for key in "aba":
        get(key)
    get("c")  # b was not asked for the longest
    get("a")
    assert {key: fit.calls for key, fit in fits.items()} == {"a": 1, "b": 1, "c": 1}
    get("b")
    assert fits["b"].calls == 2


def test_finished_results_are_kept_up_to_a_size():
    runner = JobRunner(max_bytes=2_500_000)
    sizes = {"a": 1_000_000, "b": 1_000_000, "c": 1_000_000, "huge": 9_000_000}
    fits = {key: Counted(np.zeros(size // 8)) for key, size in sizes.items()}
    for key in ("a", "b", "c", "b", "c"):
        runner.want("ann", key, fits[key]).result(HANG)
    assert [fits[key].calls for key in "abc"] == [1, 1, 1]
    runner.want("ann", "a", fits["a"]).result(HANG)
    assert fits["a"].calls == 2
    for _ in range(3):  # the latest is kept however large it is
        runner.want("ann", "huge", fits["huge"]).result(HANG)
    assert fits["huge"].calls == 1


def test_a_forgotten_result_gives_its_memory_back():
    runner = JobRunner(max_results=1)

    class Model:
        pass

    model = weakref.ref(runner.want("bob", "a", lambda job: Model()).result(HANG))
    runner.want("ann", "b", Counted()).result(HANG)
    gc.collect()
    assert model() is not None  # bob still shows it
    runner.release("bob")
    gc.collect()
    assert model() is None
    assert runner.want("bob", "a", Counted("again")).result(HANG) == "again"


def test_what_users_show_is_not_computed_again_however_little_memory_there_is():
    runner = JobRunner(max_results=1, max_bytes=1_000)
    fits = {user: Counted(np.zeros(1_000)) for user in ("ann", "bob")}
    for _ in range(5):
        for user, fit in fits.items():
            runner.want(user, user, fit).result(HANG)
    assert [fit.calls for fit in fits.values()] == [1, 1]
    runner.want("cleo", "c", Counted(np.zeros(1_000))).result(HANG)
    for user in ("ann", "bob"):
        runner.release(user)
    assert list(runner._finished) == ["c"]
