"""The process's only thread pool, and functions that spread work over it."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, TypeVar

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

# More threads than cores: fits of several users then wait for each other on the scheduler, which
# is fair, rather than in the queue, which is not.
POOL = ThreadPoolExecutor(max(16, 4 * usable_cores()), thread_name_prefix="gbuq")


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
    """Return ``[fn(item) for item in items]``, computed by several threads.

    Parameters
    ----------
    fn : callable
        Must release the interpreter lock for most of its time (kernels do). It may call
        `parallel_map` itself, and `tick` or `advance` for the job around it.
    items : iterable
        Threads take items one at a time and in order, so a slow item does not hold up the others.
    n_jobs : int, optional
        Threads that work at the same time, this one included; see `effective_n_jobs`.

    Raises
    ------
    Cancelled
        If the current job was stopped. This is checked before each item.
    BaseException
        The first error that ``fn`` raised. The other items are stopped or never start.

    Examples
    --------
    >>> parallel_map(abs, [-1, 2, -3])
    [1, 2, 3]
    """
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
        helpers = [POOL.submit(contextvars.copy_context().run, help_out) for _ in range(n_helpers)]
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
