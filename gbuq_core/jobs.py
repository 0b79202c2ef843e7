"""Long fits: each result is computed once and shared by everyone who asks for it.

A key names a result; a `JobRunner` shares that result with every user who wants it. A user (a
browser tab) has one slot for each result it shows. A new key in a slot replaces the older one. A
job in no slot is stopped. Results are kept while a user shows them; the latest ones are kept
longer.

A server may limit what one user takes (`gbuq_core.session_limits`): fits beyond those that a user
may run at once wait for one of them, and fits beyond those of an hour are refused.

A result that nobody waits for, such as verdicts over ten seeds, is asked for in the background: one
thread computes such results one by one, and rests while any other job runs or waits.

From below: `gbuq_core.resources` tells how many cores and how much memory there are,
`gbuq_core.progress` what a fit calls between two kernel chunks, `gbuq_core.parallel` spreads work
over the one thread pool. What estimators need of them can be imported from here.

No lock is held while anything is computed.
"""

from __future__ import annotations

import threading
import time
import traceback
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import Any, Literal

from gbuq_core.errors import Cancelled, MemoryLimitExceeded
from gbuq_core.parallel import POOL, PROGRAM_ENDS, let_pages_go_first, parallel_map, step_back
from gbuq_core.progress import Place, Progress, advance, at, here, stage, tick
from gbuq_core.resources import (
    INHERITED_N_JOBS,
    available_memory_bytes,
    check_memory,
    effective_n_jobs,
    held_bytes,
    release_memory,
    return_freed_arrays,
)
from gbuq_core.session_limits import HOUR, LONG_SECONDS, SessionLimits
from gbuq_core.validation import check_number

__all__ = [
    "RUNNER",
    "Job",
    "JobRunner",
    "advance",
    "available_memory_bytes",
    "check_memory",
    "current_job",
    "effective_n_jobs",
    "let_pages_go_first",
    "parallel_map",
    "release_memory",
    "return_freed_arrays",
    "stage",
    "tick",
]

State = Literal["queued", "running", "done", "failed", "cancelled"]

_LOWEST_PRIORITY = 19  # of the scheduler: it gives such a thread the time that is left
_NEARLY = 0.99  # of a job that has not ended
_LOOK_SECONDS = 0.25  # how long a job in the background may miss that it can go on


_BACKGROUND = ThreadPoolExecutor(
    1, thread_name_prefix="gbuq-background", initializer=partial(step_back, _LOWEST_PRIORITY)
)


class Job:
    """One result being computed: its progress, its state, and at the end its value or its error."""

    def __init__(self, key: Hashable, total: float = 1.0, background: bool = False) -> None:
        self.key = key
        self.background = background  # whether it rests while other jobs run or wait
        self.so_far: Any = None  # set by the computation: what it has found so far
        self.state: State = "queued"  # a stopped job is "cancelled" at its next tick
        self.error: BaseException | None = None
        self.reference = uuid.uuid4().hex[:8]  # names it in a log and beside an error
        self.held_back = False  # whether it waits, as its user runs as many fits as they may
        self.owner: Hashable = None  # who started it; guarded by the runner's lock, as are users
        self.users: set[tuple[Hashable, str]] = set()
        self._progress = Progress(total)
        self._lock = threading.Lock()  # of the state
        self._stopped = threading.Event()
        self._ended = threading.Event()
        self._value: Any = None
        self._size = 0
        self._traceback: TracebackType | None = None
        self._started_at = self._ended_at = 0.0

    @property
    def total(self) -> float:
        """The number of units that the fit counts to."""
        return self._progress.total

    @property
    def done(self) -> float:
        """The number of units counted so far."""
        return self._progress.done

    @property
    def fraction(self) -> float:
        """The share of the work that is done; 1 only once the job has ended."""
        return 1.0 if self.state == "done" else min(_NEARLY, self.done / self.total)

    @property
    def seconds(self) -> float:
        """How long the job has been running, or ran, in seconds."""
        if not self._started_at:
            return 0.0
        return (self._ended_at or time.perf_counter()) - self._started_at

    @property
    def stopped(self) -> bool:
        """Whether the job was told to stop."""
        return self._stopped.is_set()

    def tick(self, done: float) -> None:
        """Report ``done`` units and raise `Cancelled` if nobody wants the result any more."""
        self.check()
        self._progress.reach(done)

    def check(self) -> None:
        """Raise `Cancelled` if nobody wants the result any more, or the program ends."""
        if self._stopped.is_set() or PROGRAM_ENDS.is_set():
            raise Cancelled

    def stop(self) -> None:
        """Ask the job to end at its next tick; one that waits in the queue ends at once."""
        self._stopped.set()
        with self._lock:
            if self.state == "queued":
                self.state = "cancelled"
                self._ended.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait up to ``timeout`` seconds for the job to end; return whether it ended."""
        return self._ended.wait(timeout)

    def result(self, timeout: float | None = None) -> Any:
        """Return the value of the job, waiting for it up to ``timeout`` seconds."""
        if not self.wait(timeout):
            raise TimeoutError("the job has not ended yet")
        if self.state == "cancelled":
            raise Cancelled
        if self.error is not None:
            # Raised once per look at the page: without this the traceback grows each time.
            raise self.error.with_traceback(self._traceback)
        return self._value

    def _begin(self) -> bool:
        with self._lock:
            if self.state != "queued":
                return False
            self.state, self._started_at = "running", time.perf_counter()
            return True

    def _end(self, state: State, error: BaseException | None = None) -> None:
        if error is not None:
            self.error, self._traceback = error, error.__traceback__
        with self._lock:
            self.state, self._ended_at = state, time.perf_counter()
        self._ended.set()


def current_job() -> Job | None:
    """Return the job that this code runs for, also inside `parallel_map`; None without one."""
    return here().job


class JobRunner:
    """Computes each result once for all users who want it, and keeps the latest ones.

    It keeps at most ``max_results`` finished ones and ``max_bytes`` of them. The latest one and
    those in a user's slot are kept whatever their size. ``limits`` hold for later requests.
    """

    def __init__(self, max_results: int = 64, max_bytes: int = 512 * 2**20) -> None:
        self._max_results, self._max_bytes = max_results, max_bytes
        self._lock = threading.Lock()
        self._ended = threading.Condition(self._lock)
        self._live: dict[Hashable, Job] = {}
        self._finished: OrderedDict[Hashable, Job] = OrderedDict()
        self._slots: dict[Hashable, dict[str, Job]] = {}
        self.limits = SessionLimits()
        self._held_back: list[tuple[Job, Callable[[], object]]] = []  # the first one is next
        self._counted: dict[Hashable, deque[float]] = {}  # when fits ended that count for the hour
        self._files: dict[Hashable, int] = {}

    @property
    def busy(self) -> bool:
        """Whether somebody waits for a result. Nobody waits for one in the background."""
        with self._lock:
            return self._waited_for()

    def want(
        self,
        user: Hashable,
        key: Hashable,
        fn: Callable[[Job], Any],
        total: float = 1.0,
        slot: str = "main",
        background: bool = False,
        when_ended: Callable[[Job], None] | None = None,
    ) -> Job:
        """Return the job that computes ``key``; start it if no user has asked for it yet."""
        check_number("total", total, 0, low_open=True)
        with self._lock:
            slots = self._slots.setdefault(user, {})
            held = slots.get(slot)
            known = held if held is not None and held.key == key else None
            job = self._live_or_finished(key)
            if job is None and known is not None and known.state == "failed":
                job = known
            fresh = job is None
            if job is None:
                self.limits.check_hourly(list(self._counted.get(user, ())), time.monotonic())
                self.limits.check_held(self._held_by(user, slot))
                job = self._live[key] = Job(key, total, background)
                job.owner = user
            slots[slot] = job
            job.users.add((user, slot))
            if held is not None and held is not job:
                self._drop(held, user, slot)
            if fresh:
                pool = _BACKGROUND if background else POOL
                start = partial(pool.submit, self._run, job, fn, when_ended)
                self._held_back.append((job, start))
                job.held_back = not background
            elif job.held_back and self._has_room(user):
                job.owner = user  # it need not wait for the limit of somebody else
            self._start_next()
        return job

    def hold_files(self, user: Hashable, n_bytes: int) -> None:
        """Note how many bytes of files a user holds beside results."""
        with self._lock:
            self._files[user] = n_bytes

    def check_held(self, user: Hashable) -> None:
        """Raise `LimitReached` if a user's files and results are more than they may hold."""
        with self._lock:
            self.limits.check_held(self._held_by(user))

    def forget_user(self, user: Hashable) -> None:
        """Empty a user's slots and what is noted for the limits: the session has ended."""
        self.release(user)
        with self._lock:
            self._files.pop(user, None)
            self._counted.pop(user, None)

    def release(self, user: Hashable, slots: Iterable[str] | None = None) -> None:
        """Empty a user's slots: some of them, or all (when a tab closes)."""
        with self._lock:
            mine = self._slots.get(user, {})
            for slot in list(mine) if slots is None else slots:
                job = mine.pop(slot, None)
                if job is not None:
                    self._drop(job, user, slot)
            if not mine:
                self._slots.pop(user, None)

    def forget(self, keys: Iterable[Hashable]) -> None:
        """Drop finished results that are in no slot, such as those of a closed tab's own data."""
        with self._lock:
            for key in keys:
                job = self._finished.get(key)
                if job is not None and not job.users:
                    del self._finished[key]

    def settle(self, user: Hashable, key: Hashable, slot: str = "main") -> None:
        """Record that a user holds the result of ``key`` and shows it in a slot."""
        with self._lock:
            slots = self._slots.setdefault(user, {})
            held = slots.pop(slot, None)
            job = self._finished.get(key)
            if job is not None:
                self._finished.move_to_end(key)
                slots[slot] = job
                job.users.add((user, slot))
            if held is not None and held is not job:
                self._drop(held, user, slot)
            if not slots:
                self._slots.pop(user, None)

    def keep(self, user: Hashable, slots: Iterable[str]) -> None:
        """Release all slots of a user except these. A page calls it with the slots it shows."""
        kept = set(slots)
        with self._lock:
            others = [slot for slot in self._slots.get(user, {}) if slot not in kept]
        self.release(user, others)

    def _held_by(self, user: Hashable, but: str = "") -> int:
        """Bytes of a user's files and of the results in their slots, each counted once."""
        slots = self._slots.get(user, {})
        jobs = {id(job): job for slot, job in slots.items() if slot != but}
        return self._files.get(user, 0) + sum(job._size for job in jobs.values())

    def _has_room(self, user: Hashable) -> bool:
        """Whether a user may run one more job now (the lock is held)."""
        most = self.limits.fits_at_once
        if most is None:
            return True
        running = sum(
            job.owner == user and not job.background and not job.held_back
            for job in self._live.values()
            if any(name == user for name, _ in job.users)
        )
        return running < most

    def _start_next(self) -> None:
        """Hand to the pool what was held back and may run now (the lock is held)."""
        left: list[tuple[Job, Callable[[], object]]] = []
        for job, start in self._held_back:
            if job.stopped:
                continue
            if job.held_back and not self._has_room(job.owner):
                left.append((job, start))
                continue
            job.held_back = False
            start()
        self._held_back = left

    def _count(self, job: Job) -> None:
        """Note a fit for the hour's limit of who started it (the lock is held)."""
        now = time.monotonic()
        if self.limits.fits_per_hour is None or job.background or job.seconds < LONG_SECONDS:
            return
        self._counted.setdefault(job.owner, deque()).append(now)
        for user, counted in list(self._counted.items()):
            while counted and counted[0] <= now - HOUR:
                counted.popleft()
            if not counted:
                del self._counted[user]

    def _live_or_finished(self, key: Hashable) -> Job | None:
        job = self._live.get(key)
        if job is not None and not job.stopped:
            return job
        if key in self._finished:
            self._finished.move_to_end(key)
            return self._finished[key]
        return None

    def _drop(self, job: Job, user: Hashable, slot: str) -> None:
        """Take a job out of a slot (the lock is held) and stop it if it is in no other."""
        job.users.discard((user, slot))
        if job.users:
            return
        if self._live.get(job.key) is job:
            del self._live[job.key]
            job.stop()
            self._start_next()
            self._ended.notify_all()
        elif self._finished.get(job.key) is job:
            self._evict()

    def _waited_for(self) -> bool:
        """Whether a job runs or waits that is not in the background (the lock is held)."""
        return any(not job.background for job in self._live.values())

    def _give_way(self, job: Job) -> None:
        """Rest while other jobs run or wait, unless this one is stopped."""
        with self._ended:
            while self._waited_for() and not job.stopped:
                self._ended.wait(_LOOK_SECONDS)

    def _run(
        self, job: Job, fn: Callable[[Job], Any], when_ended: Callable[[Job], None] | None
    ) -> None:
        if not job._begin():
            return
        self._compute(job, fn)
        if when_ended is not None:
            when_ended(job)

    def _compute(self, job: Job, fn: Callable[[Job], Any]) -> None:
        value: Any = None
        error: BaseException | None = None
        checks: tuple[Callable[[], None], ...] = (job.check,)
        if job.background:
            checks = (partial(self._give_way, job), job.check)
            INHERITED_N_JOBS.set(1)  # the thread is this kind of job's own
        try:
            with at(Place(job, job._progress, checks)):
                here().check()
                value = fn(job)
                job.check()  # a fit that swallowed `Cancelled` may be half done
            job._size = held_bytes(value)
        except MemoryError:
            error = MemoryLimitExceeded(
                "The memory ran out: take fewer rows, columns, trees or members."
            )
        except BaseException as caught:
            error = caught
            _clear_frames(caught)
        with self._lock:
            self._count(job)
            if self._live.get(job.key) is job:
                del self._live[job.key]
                self._start_next()
                self._ended.notify_all()
            if error is None and job.stopped:  # its last user left a moment ago
                error = Cancelled()
            if error is None:
                job._value = value
                self._finished[job.key] = job
                self._finished.move_to_end(job.key)
                self._evict()
                job._end("done")
            elif isinstance(error, Cancelled):
                job._end("cancelled")
            else:
                job._end("failed", error)

    def _evict(self) -> None:
        """Forget the results that nobody shows and that were not asked for the longest.

        The lock is held. A result in a slot is kept: its user holds it anyway, so that forgetting
        it would free nothing and cost a fit. So is the latest one.
        """
        held = sum(job._size for job in self._finished.values())
        for key in list(self._finished)[:-1]:
            if len(self._finished) <= self._max_results and held <= self._max_bytes:
                return
            if not self._finished[key].users:
                held -= self._finished.pop(key)._size


def _clear_frames(error: BaseException) -> None:
    """Let go of the arrays in the frames that an error came through."""
    link: BaseException | None = error
    while link is not None:
        traceback.clear_frames(link.__traceback__)
        link = link.__cause__ or link.__context__


RUNNER = JobRunner()
