"""Cores and memory that this process may use, the size of results, and a cache of recent ones."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import numpy as np

from gbuq_core.errors import MemoryLimitExceeded
from gbuq_core.presentation import format_bytes
from gbuq_core.validation import check_number

Value = TypeVar("Value")

# The limits of a container or a service, where there are some (cgroup version 2).
_CGROUP = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")
_MEMINFO = Path("/proc/meminfo")

# A fit may take this share of the free memory; the rest is for the other sessions, the copies
# that a browser table needs, and the error of the estimate.
USABLE_SHARE = 0.7

# Of the GNU library's malloc.h, for `return_freed_arrays`.
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE_BLOCK, _HEAPS = 256 * 1024, 4  # bytes; what lies below is reused by other small objects

_ASSUMED_MEMORY = 4 * 2**30  # where the system tells nothing


def usable_cores() -> int:
    """The number of cores of this process: the smaller of affinity mask and container's quota."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    for folder in _cgroups():
        quota, _, period = _read(folder / "cpu.max").partition(" ")
        if quota.isdigit() and period.strip().isdigit():
            cores = min(cores, -(-int(quota) // int(period)))
    return max(1, cores)


def effective_n_jobs(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` stands for."""
    if n_jobs is None:
        n_jobs = configured_n_jobs()
    most = MOST_THREADS.get()
    if n_jobs is None:
        return usable_cores() if most is None else most
    number = int(check_number("n_jobs", n_jobs, -1024, 1024, integer=True))
    if number == 0:
        check_number("n_jobs", number, 1, 1024, integer=True)
    number = number if number > 0 else max(1, usable_cores() + 1 + number)
    return number if most is None else min(number, most)


# The most threads of one piece of work, whatever its ``n_jobs`` says: 1 in a worker of a cluster,
# which shares its machine with a worker for every other core.
MOST_THREADS: ContextVar[int | None] = ContextVar("MOST_THREADS", default=None)


def allowed_n_jobs(n_jobs: int | None) -> int | None:
    """``n_jobs`` for another library, or the limit where there is one (see `MOST_THREADS`)."""
    most = MOST_THREADS.get()
    return n_jobs if most is None else most


# What joblib says around a call belongs to its thread; helpers of this project inherit it here.
INHERITED_N_JOBS: ContextVar[int | None] = ContextVar("INHERITED_N_JOBS", default=None)


def configured_n_jobs() -> int | None:
    """What joblib's ``parallel_config(n_jobs=...)`` says around the call, or None.

    >>> from joblib import parallel_config
    >>> with parallel_config(n_jobs=2):
    ...     inside = configured_n_jobs()
    >>> inside, configured_n_jobs()
    (2, None)
    """
    if "joblib" not in sys.modules:  # nobody can have configured it
        return INHERITED_N_JOBS.get()
    from joblib.parallel import get_active_backend

    configured: int | None = get_active_backend()[1]
    return INHERITED_N_JOBS.get() if configured is None else configured


def available_memory_bytes() -> int:
    """Return the memory that is free without swapping, in bytes."""
    limits = [_free_on_the_machine()]
    for folder in _cgroups():
        limit, used = _read(folder / "memory.max"), _read(folder / "memory.current")
        if limit.isdigit() and used.isdigit():
            limits.append(max(0, int(limit) - int(used)))
    return min(limits)


def _cgroups() -> list[Path]:
    """The folders whose limits hold for this process: its service's, and those above it."""
    own = next(
        (line[3:] for line in _read(_OWN_CGROUP).splitlines() if line.startswith("0::")), "/"
    )
    parts = [part for part in own.split("/") if part]
    if ".." in parts:  # seen from another namespace
        parts = []
    return [_CGROUP.joinpath(*parts[:n]) for n in range(len(parts) + 1)]


def _free_on_the_machine() -> int:
    for line in _read(_MEMINFO).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        # What is free is not told here (macOS): half of all is a fair guess.
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return _ASSUMED_MEMORY


def _read(path: Path) -> str:
    """The text of a small system file, or nothing where there is no such file."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def check_memory(estimate_bytes: float, what: str) -> None:
    """Refuse work that needs more than `USABLE_SHARE` of the free memory."""
    free = available_memory_bytes()
    if estimate_bytes > USABLE_SHARE * free:
        subject = what[:1].upper() + what[1:]
        raise MemoryLimitExceeded(
            f"{subject} would need about {format_bytes(estimate_bytes)}, but only "
            f"{format_bytes(USABLE_SHARE * free)} may be used: take fewer rows, columns, trees "
            "or members."
        )


def release_memory() -> None:
    """Return to the system what Python and Arrow have freed; allocators like to keep it."""
    gc.collect()
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with contextlib.suppress(OSError, AttributeError):  # only the GNU library has it
        ctypes.CDLL(None).malloc_trim(0)


def return_freed_arrays() -> bool:
    """Have large arrays go back to the system as soon as they are freed; whether it is so now.

    The GNU library asks the system for a large block alone, and gives it back when it is freed. But
    each time it raises what it calls large, up to 32 MB. Arrays below that then lie between what
    other threads hold for longer, and the process keeps their place. This sets the size once, and
    has threads share a few heaps. To be called before threads start.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another system or another library
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK) and mallopt(_ARENA_MAX, _HEAPS))


def held_bytes(value: Any) -> int:
    """Return about how much memory a result keeps alive, in bytes.

    Arrays and frames inside containers, named tuples and objects are counted once each. A view
    counts as the whole array that it keeps. For fitted estimators of this project, their
    ``memory_bytes_`` counts, because models of other libraries lie outside Python.
    """
    total = 0
    seen: set[int] = set()
    left = [value]
    while left:
        item = left.pop()
        while isinstance(item, np.ndarray) and isinstance(item.base, np.ndarray):
            item = item.base
        if id(item) in seen or isinstance(item, (type, ModuleType)):
            continue
        seen.add(id(item))
        size, parts = _own_bytes(item)
        total += size
        left.extend(parts)
    return total


def _own_bytes(item: Any) -> tuple[int, Iterable[Any]]:
    """The bytes of one object and the objects inside it that are not counted yet."""
    if isinstance(item, np.ndarray):
        return int(item.nbytes), ()
    if isinstance(item, (str, int, float, bytes)):
        return sys.getsizeof(item), ()
    if hasattr(item, "memory_usage"):  # a pandas frame, series or index
        usage = item.memory_usage(deep=True)
        return int(usage.sum() if hasattr(usage, "sum") else usage), ()
    declared = getattr(item, "memory_bytes_", None)
    if isinstance(declared, (int, np.integer)):
        return int(declared), ()
    size = sys.getsizeof(item)
    if isinstance(item, Mapping):
        return size, item.values()
    if isinstance(item, (list, tuple, set, frozenset)):
        return size, item
    return size, getattr(item, "__dict__", {}).values()


class Recent(Generic[Value]):
    """The latest values by key, up to a number of values or bytes; a copy or a pickle is empty."""

    def __init__(self, most: int | None = None, most_bytes: int | None = None) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of a key; if not kept, computed without the lock, so that no session waits."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key][0]
        value = make()
        size = 0 if self._most_bytes is None else held_bytes(value)
        with self._lock:
            self._values[key] = value, size
            self._values.move_to_end(key)
            while self._too_much():
                self._values.popitem(last=False)
        return value

    def _too_much(self) -> bool:
        if self._most is not None and len(self._values) > self._most:
            return True
        if self._most_bytes is None:
            return False
        return sum(size for _, size in self._values.values()) > self._most_bytes

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._most, self._most_bytes)
