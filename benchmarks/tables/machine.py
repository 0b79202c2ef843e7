"""What ran a cell, in words, and how much memory it took."""

from __future__ import annotations

import os
import platform
import resource
import sys
from pathlib import Path

import llvmlite.binding as llvm

from gbuq_core.resources import usable_cores

_STATUS = Path("/proc/self/status")


def describe_machine() -> str:
    """Cores, processor, memory, system and Python.

    >>> describe_machine().split(" of ")[0][-1] in "es"
    True
    """
    cores = usable_cores()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{cores} core{'s' * (cores > 1)} of a {llvm.get_host_cpu_name()} processor, "
        f"{memory:.0f} GiB of memory, {platform.system()}, Python {platform.python_version()}"
    )


def peak_memory() -> int:
    """The most memory that this process has held at once, in bytes.

    Linux counts the process that started this one into ``ru_maxrss``, so its own status is read
    where there is one.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)
