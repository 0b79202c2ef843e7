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


class Answer(NamedTuple):
    """The result, or in a sentence why there is none; a method may just not be installed."""

    result: Result | None
    refusal: str = ""
    missing: bool = False


def compute_apart(request: Request) -> Answer:
    """Compute a cell in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.tables.apart"]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **_ONE_THREAD}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=errors,
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(request.time_limit, process.kill)
        late.start()
        began = time.monotonic()
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
            process.stdin.close()
            process.stdout.close()
            process.wait()
        if code == 0:
            return _read(content)
        if time.monotonic() - began >= request.time_limit:
            limit = f"{request.time_limit:g} s"
            return Answer(None, f"{request.cell} took longer than {limit}: raise --time-limit.")
        errors.seek(0)
        lines = errors.read().decode(errors="replace").strip().splitlines() or ["it said nothing"]
        return Answer(None, f"{request.cell} failed with exit code {code}: {lines[-1]}")


def _read(content: bytes) -> Answer:
    found = json.loads(content)
    result = None if found["result"] is None else parse_result(found["result"])
    return Answer(result, found["refusal"], found["missing"])


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
        found = PROTOCOLS[cell.table].run(task)
    except Missing as error:
        return Answer(None, str(error), True)
    except GbuqError as error:
        return Answer(None, f"{cell} was refused: {error}")
    finally:
        MOST_THREADS.reset(token)
    return Answer(
        Result(
            **cell._asdict(),
            scores=finite(found.scores),
            seconds=round(time.process_time(), 3),
            peak_memory=peak_memory(),
            seed=cell.split,
            settings={"effort": request.effort, **found.settings},
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
