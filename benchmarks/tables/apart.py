"""A cell in a process of its own: ``python -m benchmarks.tables.apart``, asked through its stdin.

`compute_apart` starts the process, gives it one line of JSON, and reads the result from its stdout.
The process ends itself when its stdin closes, so it never outlives a runner that was killed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.tables.cells import Cell, Result, finite, parse_result

ROOT = Path(__file__).resolve().parents[2]
# A cell has one thread, so that its seconds can be added up and cells can run side by side.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


class Request(NamedTuple):
    """A cell to compute, and what it is computed from; all of it is plain data."""

    cell: Cell
    data_dir: str | None
    effort: str
    known: dict[str, dict[str, Any]]
    time_limit: float


class Children:
    """The processes of a run, so that they can all be ended before their time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._ended = False

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        """As `subprocess.Popen`. A process that is started after the end is killed at once."""
        with self._lock:
            process = subprocess.Popen(command, **options)
            self._running.add(process)
            if self._ended:
                process.kill()
        return process

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        """It has ended."""
        with self._lock:
            self._running.discard(process)

    def end(self) -> None:
        """Kill all of them."""
        with self._lock:
            self._ended = True
            for process in self._running:
                process.kill()


class Answer(NamedTuple):
    """The result, or in a sentence why there is none; a method may just not be installed."""

    result: Result | None
    refusal: str = ""
    missing: bool = False


def compute_apart(request: Request, children: Children | None = None) -> Answer:
    """Compute a cell in a process of its own, one of ``children``."""
    try:
        return _compute_apart(request, children or Children())
    except OSError as error:  # no room for its files, or too many processes
        return Answer(None, f"{request.cell} could not be started: {error.strerror}.")


def _compute_apart(request: Request, children: Children) -> Answer:
    command = [sys.executable, "-m", "benchmarks.tables.apart"]
    with tempfile.TemporaryFile() as errors:
        # A session of its own: Ctrl-C is for the runner, which ends its processes itself.
        process = children.start(
            command, cwd=ROOT, env={**os.environ, **_ONE_THREAD}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=errors, start_new_session=True,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        overdue = threading.Event()

        def end() -> None:
            overdue.set()
            process.kill()

        late = threading.Timer(request.time_limit, end)
        late.start()
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            content = process.stdout.read()
            code = process.wait()
        except BrokenPipeError:
            content, code = b"", process.wait()
        finally:
            late.cancel()
            process.kill()
            with suppress(BrokenPipeError):  # a request that the process did not live to read
                process.stdin.close()
            process.stdout.close()
            process.wait()
            children.forget(process)
        if code == 0:
            return _read(content)
        if overdue.is_set():
            limit = f"{request.time_limit:g} s"
            return Answer(None, f"{request.cell} took longer than {limit}: raise --time-limit.")
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
        return Answer(None, f"{request.cell} failed with exit code {code}: {lines[-1]}")


def _read(content: bytes) -> Answer:
    answer = json.loads(content)
    result = None if answer["result"] is None else parse_result(answer["result"])
    return Answer(result, answer["refusal"], answer["missing"])


def compute_here(request: Request) -> Answer:
    """Compute a cell in this process."""
    from benchmarks.protocols import PROTOCOLS, Task
    from benchmarks.tables.machine import describe_machine, peak_memory
    from benchmarks.tables.protocol import Missing
    from gbuq_core.errors import GbuqError
    from gbuq_core.resources import MOST_THREADS
    from gbuq_core.streaming.parts import package_version

    cell = request.cell
    data_dir = None if request.data_dir is None else Path(request.data_dir)
    task = Task(data_dir, cell.set, cell.split, cell.method, request.effort, request.known)
    token = MOST_THREADS.set(1)
    try:
        outcome = PROTOCOLS[cell.table].run(task)
    except Missing as error:
        return Answer(None, str(error), True)
    except GbuqError as error:
        return Answer(None, f"{cell} was refused: {error}")
    finally:
        MOST_THREADS.reset(token)
    return Answer(
        Result(
            **cell._asdict(),
            scores=finite(outcome.scores),
            seconds=round(time.process_time(), 3),
            peak_memory=peak_memory(),
            seed=cell.split,
            settings={"effort": request.effort, **outcome.settings},
            version=package_version(),
            machine=describe_machine(),
        )
    )


def _end_with_the_runner() -> None:
    """Wait until the runner closes stdin, which it does by ending, too."""
    while os.read(0, 4096):  # without a buffer, whose lock the interpreter's end could not have
        pass
    os._exit(3)


def main() -> None:
    """Read a request, answer it, and end."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    cell, *rest = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_the_runner, daemon=True).start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = compute_here(Request(Cell(*cell), *rest))
    result = None if answer.result is None else asdict(answer.result)
    json.dump({**answer._asdict(), "result": result}, answers, allow_nan=False)
    answers.close()


if __name__ == "__main__":
    main()
