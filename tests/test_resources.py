"""Cores and memory: what the system and the container tell, and the sentence of a refusal."""

import ctypes
import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from gbuq_core import resources
from gbuq_core.errors import InvalidParameter, MemoryLimitExceeded
from gbuq_core.resources import (
    available_memory_bytes,
    check_memory,
    effective_n_jobs,
    held_bytes,
    usable_cores,
)


@pytest.fixture
def container(monkeypatch, tmp_path):
    """A container's limits and a machine with 8 GB free; ``container(name, text)`` sets one."""
    monkeypatch.setattr(resources, "_CGROUP", tmp_path)
    monkeypatch.setattr(resources, "_MEMINFO", tmp_path / "meminfo")

    def write(name, text):
        (tmp_path / name).write_text(text)

    write("meminfo", "MemTotal:  16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n")
    return write


def test_the_affinity_mask_counts(container, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 3, 5}, raising=False)
    assert usable_cores() == 3
    assert effective_n_jobs(None) == 3
    assert effective_n_jobs(-1) == 3
    assert effective_n_jobs(-2) == 2
    assert effective_n_jobs(-9) == 1
    assert effective_n_jobs(8) == 8


@pytest.mark.parametrize(
    ("quota", "cores"), [("max 100000", 4), ("150000 100000", 2), ("50000 100000", 1), ("", 4)]
)
def test_the_quota_of_a_container_counts(container, monkeypatch, quota, cores):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    container("cpu.max", quota)
    assert usable_cores() == cores


def test_joblibs_configuration_counts(container, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)), raising=False)
    for configured, expected in ((1, 1), (2, 2), (7, 7), (-1, 4), (-2, 3)):
        with parallel_config(n_jobs=configured):
            assert effective_n_jobs(None) == expected
            assert effective_n_jobs(3) == 3
    with parallel_config(backend="threading"):  # which says nothing of how many
        assert effective_n_jobs(None) == 4
    assert effective_n_jobs(None) == 4


@pytest.mark.parametrize("n_jobs", [0, 1.5, True, "2"])
def test_other_numbers_of_jobs_are_refused(n_jobs):
    with pytest.raises(InvalidParameter, match="n_jobs must be a whole number"):
        effective_n_jobs(n_jobs)


def test_free_memory_is_the_machines_or_the_containers(container):
    assert available_memory_bytes() == 8_000_000 * 1024
    container("memory.max", "max")
    container("memory.current", "1000000")
    assert available_memory_bytes() == 8_000_000 * 1024
    container("memory.max", "3000000")
    assert available_memory_bytes() == 2_000_000
    container("memory.max", "900000")
    assert available_memory_bytes() == 0


def test_the_limits_of_a_service_count_too(container, monkeypatch, tmp_path):
    """On a host that runs services, each has a folder of its own below the system's."""
    own = tmp_path / "own"
    own.write_text("4:memory:/old\n0::/system.slice/gbuq.service\n")
    monkeypatch.setattr(resources, "_OWN_CGROUP", own)
    folder = tmp_path / "system.slice" / "gbuq.service"
    folder.mkdir(parents=True)
    (folder / "memory.max").write_text("3000000")
    (folder / "memory.current").write_text("1000000")
    assert available_memory_bytes() == 2_000_000
    (folder.parent / "memory.max").write_text("1500000")
    (folder.parent / "memory.current").write_text("1000000")
    assert available_memory_bytes() == 500_000
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    (folder / "cpu.max").write_text("150000 100000")
    assert usable_cores() == 2
    own.write_text("0::/../..\n")
    assert available_memory_bytes() == 8_000_000 * 1024


def test_a_system_that_tells_nothing_still_has_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(resources, "_CGROUP", tmp_path)
    monkeypatch.setattr(resources, "_MEMINFO", tmp_path / "meminfo")
    assert available_memory_bytes() > 2**28
    monkeypatch.setattr(os, "sysconf_names", {}, raising=False)
    assert available_memory_bytes() == 4 * 2**30


def test_too_large_a_fit_is_refused_with_both_numbers(container):
    check_memory(5.7e9, "this fit")
    with pytest.raises(MemoryLimitExceeded) as excinfo:
        check_memory(31e9, "this fit")
    assert str(excinfo.value) == (
        "This fit would need about 31 GB, but only 5.7 GB may be used: "
        "take fewer rows, columns, trees or members."
    )


class Fit(NamedTuple):
    members: np.ndarray
    table: pd.DataFrame
    parts: list


class Model:
    def __init__(self, array):
        self.array = array
        self.own = self


class Foreign(Model):
    memory_bytes_ = 5_000_000


def test_results_are_measured_once_with_all_they_hold():
    members = np.zeros((10, 1000))
    table = pd.DataFrame({"a": np.zeros(5000), "b": np.zeros(5000)})
    arrays = members.nbytes + 2 * 5000 * 8
    size = held_bytes(Fit(members, table, [Model(members), {"first": members[0], "list": [1]}]))
    # The rest are small Python objects.
    assert arrays <= size < arrays + 5000


def test_a_view_holds_its_whole_array():
    members = np.zeros((10, 1000))
    assert held_bytes(members[::5, :3].T) == members.nbytes
    assert held_bytes(np.broadcast_to(np.zeros(1), (1000, 1000))) < 1000


def test_what_lies_outside_python_is_believed():
    assert held_bytes([Foreign(np.zeros(10))]) - held_bytes([]) == pytest.approx(5_000_000, abs=100)


_FREED = """
import ctypes, sys
import numpy as np
from gbuq_core.resources import return_freed_arrays

class Told(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd",
        "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")]

library = ctypes.CDLL(None)
library.mallinfo2.restype = Told
if sys.argv[1] == "set":
    assert return_freed_arrays()
large = np.ones(3_000_000)
del large  # from now on the library would call less than its 24 MB small
before = library.mallinfo2().hblks
array = np.ones(131_072)
print(library.mallinfo2().hblks - before)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "mallinfo2"),
    reason="asks the GNU library how it holds memory",
)
def test_an_array_of_a_megabyte_is_given_back_alone_when_it_is_freed():
    blocks = {
        how: subprocess.run(
            [sys.executable, "-c", _FREED, how], check=True, capture_output=True, text=True
        ).stdout.strip()
        for how in ("set", "left")
    }
    assert blocks == {"set": "1", "left": "0"}
