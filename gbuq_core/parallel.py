"""The process's only thread pool, and functions that spread work over it.

`spread_map` is for work that other processes can do as well: models that know nothing of each
other, parts of the rows to score. Inside `elsewhere` they do it, with the same result.
"""

from __future__ import annotations

import contextvars
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Any, Protocol, TypeVar

from gbuq_core.errors import Cancelled
from gbuq_core.progress import at, here
from gbuq_core.resources import (
    INHERITED_N_JOBS,
    configured_n_jobs,
    effective_n_jobs,
    usable_cores,
)

Item = TypeVar("Item")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

_LOWER = 10  # of the scheduler's steps; a page's thread then gets nine times the time of a fit's
_PAGES_FIRST = threading.Event()
_HOLDING = threading.Lock()
_LIMITS: list[Any] = []  # of BLAS: the limit, and one more for each who wants it


def step_back(steps: int) -> None:
    """Lower the priority of the calling thread, where a system can do this for one thread."""
    if sys.platform == "linux":
        with suppress(OSError):
            thread = threading.get_native_id()
            now = os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, max(now, steps))


def let_pages_go_first() -> None:
    """Have the pool's threads work at a lower priority than the process's other threads.

    A server calls it before anything is computed: with eight fits on two cores, what a page does
    itself took five times as long without it. Fits lose nothing while no page has anything to do.
    """
    _PAGES_FIRST.set()


def _begin() -> None:
    if _PAGES_FIRST.is_set():
        step_back(_LOWER)


# More threads than cores: fits of several users then wait for each other on the scheduler, which
# is fair, rather than in the queue, which is not.
POOL = ThreadPoolExecutor(
    max(16, 4 * usable_cores()), thread_name_prefix="gbuq", initializer=_begin
)


# Set when the main thread has nothing left to do but to wait for the pool's threads. Python's own
# atexit comes after that wait, and so would a look at the main thread.
PROGRAM_ENDS = threading.Event()
threading._register_atexit(PROGRAM_ENDS.set)  # type: ignore[attr-defined]


class Batch:
    """The items of one `parallel_map`, taken one by one by whoever has time."""

    def __init__(self, fn: Callable[[Any], Any], items: list[Any]) -> None:
        self.failed = False
        self.error: BaseException | None = None
        self.results: list[Any] = [None] * len(items)
        self._fn, self._items = fn, items
        self._next = 0
        self._error_index = len(items)
        self._lock = threading.Lock()

    def work(self) -> None:
        """Take items until none is left or one has failed."""
        while True:
            with self._lock:
                if self.failed or self._next == len(self._items):
                    return
                index = self._next
                self._next += 1
            try:
                here().check()
                self.results[index] = self._fn(self._items[index])
            except BaseException as error:
                self._note(index, error)

    def check(self) -> None:
        """Raise `Cancelled` if another item has failed."""
        if self.failed:
            raise Cancelled

    def _note(self, index: int, error: BaseException) -> None:
        """Keep the first true error; its siblings see `failed` and end as cancelled."""
        with self._lock:
            self.failed = True
            weaker = self.error is None or isinstance(self.error, Cancelled)
            if weaker or (index < self._error_index and not isinstance(error, Cancelled)):
                self.error, self._error_index = error, index


def parallel_map(
    fn: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> list[Result]:
    """Return ``[fn(item) for item in items]``, computed by several threads."""
    work = list(items)
    batch = Batch(fn, work)
    place = here()
    n_helpers = min(effective_n_jobs(n_jobs), len(work)) - 1
    inherited = configured_n_jobs()

    def help_out() -> None:
        INHERITED_N_JOBS.set(inherited)
        batch.work()

    with at(place._replace(checks=(*place.checks, batch.check))):
        # A context can be entered by one thread at a time: each helper has its own copy.
        helpers = list(_hire(n_helpers, help_out))
        try:
            batch.work()
            # No item is left to take, so a helper that is still in the queue is not needed.
            wait([helper for helper in helpers if not helper.cancel()])
        except BaseException:  # Ctrl-C while waiting
            batch.failed = True
            raise
    if batch.error is not None:
        raise batch.error
    return batch.results


def _hire(n_helpers: int, work: Callable[[], None]) -> Iterator[Future[None]]:
    """Threads of the pool that help; none once the program ends, or where no thread can start."""
    for _ in range(n_helpers):
        try:
            yield POOL.submit(contextvars.copy_context().run, work)
        except RuntimeError:  # the caller does the work alone
            return


class OtherProcesses(Protocol):
    """What computes independent items in other processes, such as `gbuq_core.cluster.Cluster`."""

    def map(self, fn: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]) -> list[Any]:
        """Return ``[fn(shared, item) for item in items]``; ``shared`` is sent once."""

    def each(
        self, fn: Callable[[Any, Any], Any], shared: Any, items: Iterable[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield ``(index, fn(shared, item))`` as they are done, in any order."""


_ELSEWHERE: ContextVar[OtherProcesses | None] = ContextVar("gbuq_elsewhere", default=None)


@contextmanager
def elsewhere(processes: OtherProcesses) -> Iterator[None]:
    """Let other processes do what `spread_map` is given inside."""
    token = _ELSEWHERE.set(processes)
    try:
        yield
    finally:
        _ELSEWHERE.reset(token)


def is_elsewhere() -> bool:
    """Whether other processes do what `spread_map` is given."""
    return _ELSEWHERE.get() is not None


def spread_map(
    fn: Callable[[Shared, Item], Result],
    shared: Shared,
    items: Iterable[Item],
    n_jobs: int | None = None,
) -> list[Result]:
    """Return ``[fn(shared, item) for item in items]``, by threads, or `elsewhere`.

    >>> spread_map(pow, 2, [1, 2, 3])
    [2, 4, 8]
    """
    others = _ELSEWHERE.get()
    if others is None:
        return parallel_map(partial(fn, shared), items, n_jobs)
    return others.map(fn, shared, items)


def spread_each(
    fn: Callable[[Shared, Item], Result], shared: Shared, items: Iterable[Item]
) -> Iterator[tuple[int, Result]]:
    """Yield ``(index, fn(shared, item))``: one by one in order, or `elsewhere` as they are done.

    >>> list(spread_each(pow, 2, [1, 3]))
    [(0, 2), (1, 8)]
    """
    others = _ELSEWHERE.get()
    if others is None:
        return ((index, fn(shared, item)) for index, item in enumerate(items))
    return others.each(fn, shared, items)


def outer_map(
    fn: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> list[Result]:
    """`parallel_map` around calls of `spread_map`.

    Threads that wait for other processes need no core, so `elsewhere` all items are begun at once.

    >>> outer_map(abs, [-1, 2])
    [1, 2]
    """
    work = list(items)
    return parallel_map(fn, work, max(1, len(work)) if is_elsewhere() else n_jobs)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread for small matrices: more wait for each other, and change the order of sums.

    The limit is the process's: it stays until the last of those who want it at once has gone.
    """
    with _HOLDING:
        if not _LIMITS:
            _let_this_thread_set()
            _LIMITS.append(_libraries().limit(limits=1, user_api="blas"))
        _LIMITS.append(None)
    try:
        yield
    finally:
        with _HOLDING:
            _LIMITS.pop()
            if len(_LIMITS) == 1:
                _let_this_thread_set()
                _LIMITS.pop().restore_original_limits()


def _let_this_thread_set() -> None:
    """From 3.7 on, threadpoolctl ignores all threads but the first that has set a limit."""
    from threadpoolctl import OpenBLASController

    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


@lru_cache(maxsize=1)
def _libraries() -> Any:
    """The process's libraries with threads; to look for them takes 10 ms."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
