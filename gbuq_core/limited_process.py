"""Files of strangers, read in a process of its own that the system ends at limits.

Readers of other libraries believe what a file says: a count can ask for any amount of memory, a
tree that points nowhere ends the process. Such a reader is a file with two functions: ``prepare()``
imports what it needs, which counts towards no limit, and ``answer(asked, payload)`` gives bytes.
`ask_process` starts this file as a script, which loads the reader by its path: nothing of the
package is imported there unless the reader does it.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

_NO_MEMORY = 3  # exit code of a process that has met its limits and could say so
_KILLED = -signal.SIGTERM
# What libraries reserve ahead, and threads of their own, would count towards the limits.
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
}  # fmt: skip


class ProcessLimits(NamedTuple):
    """What a reader may use."""

    memory: int  # bytes beyond what its libraries take
    cpu_seconds: int  # of the processor
    seconds: float  # on the clock, on a machine that others use too
    answer: int = 2**30  # bytes of the answer


def ask_process(
    reader: Path, asked: dict[str, Any], payload: bytes, limits: ProcessLimits
) -> tuple[int, bytes]:
    """The exit code of the other process, and its answer."""
    about = {"limits": limits, "asked": asked, "path": [place for place in sys.path if place]}
    request = json.dumps(about).encode() + b"\n" + payload
    # A file, whose size the system limits, and no pipe, which could be filled for ever.
    with tempfile.TemporaryFile() as out:
        try:
            ended = subprocess.run(
                [sys.executable, "-I", __file__, str(reader)],
                input=request,
                stdout=out,
                stderr=subprocess.DEVNULL,
                timeout=limits.seconds,
                check=False,
                env={**os.environ, **_ENVIRONMENT},
            )
        except subprocess.TimeoutExpired:
            return _KILLED, b""
        out.seek(0)
        return ended.returncode, out.read(limits.answer)


def has_met_limits(code: int) -> bool:
    """Whether a process ended by a signal or for want of memory, and not by an error of its own."""
    return code < 0 or code == _NO_MEMORY


def serve(
    reader: ModuleType, asked: dict[str, Any], payload: bytes, limits: ProcessLimits, out: int
) -> None:
    """Answer within the limits, to a file descriptor; in the other process."""
    _limit(limits)
    try:
        data = memoryview(reader.answer(asked, payload))
        while data:
            data = data[os.write(out, data) :]
    except MemoryError:
        sys.exit(_NO_MEMORY)
    except OSError as error:
        if error.errno == errno.EFBIG:
            sys.exit(_NO_MEMORY)
        raise


def load_reader(path: str) -> ModuleType:
    """A reader by its path, without the packages around it."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no file of Python.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _limit(limits: ProcessLimits) -> None:
    try:
        import resource
    except ImportError:  # Windows; the parent still counts seconds
        return
    try:
        with open("/proc/self/statm") as file:
            in_use = int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        in_use = 2 << 30  # libraries reserve more than they use
    spent = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(spent.ru_utime + spent.ru_stime) + limits.cpu_seconds
    resource.setrlimit(resource.RLIMIT_AS, (in_use + limits.memory, in_use + limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits.answer, limits.answer))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _main(path: str) -> None:
    line, _, payload = sys.stdin.buffer.read().partition(b"\n")
    request = json.loads(line)
    out = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no answer
    # An isolated process does not look where a user has installed packages for herself.
    sys.path += [place for place in request["path"] if place not in sys.path]
    reader = load_reader(path)
    reader.prepare()
    serve(reader, request["asked"], payload, ProcessLimits(*request["limits"]), out)


if __name__ == "__main__":
    _main(sys.argv[1])
