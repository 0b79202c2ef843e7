"""What a worker does: one piece of work on one thread, and telling what it is."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gbuq_core.streaming.parts import package_version

# What must be equal for equal numbers, and for objects to be understood on the other side.
PACKAGES = ("dask", "distributed", "numpy", "scipy", "pandas", "scikit-learn", "numba", "lightgbm")


def run_task(fn: Callable[[Any, Any], Any], shared: Any, item: Any) -> Any:
    """Return ``fn(shared, item)``, computed on one thread."""
    import pyarrow as pa
    from threadpoolctl import threadpool_limits

    from gbuq_core.resources import MOST_THREADS

    # For good: the process is a worker and does nothing else.
    threadpool_limits(1)
    pa.set_cpu_count(1)
    token = MOST_THREADS.set(1)
    try:
        return fn(shared, item)
    finally:
        MOST_THREADS.reset(token)


def hold(item: Any) -> Any:
    """Return an object that a worker has fetched, for tasks that need it there."""
    return item


def describe_process() -> dict[str, str]:
    """Versions of what computes, by package, and the ``processor``."""
    import llvmlite.binding as llvm

    versions = {"Python": ".".join(platform.python_version_tuple()[:2]), "gbuq": package_version()}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "missing"
    versions["processor"] = llvm.get_host_cpu_name()
    return versions
