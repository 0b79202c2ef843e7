"""One cell of the scoreboard computed now, in a process of the checkout's own runner.

The runner of the papers' tables (`benchmarks`) is not installed with the library. Where this
package lies in a checkout, a cell is asked of ``python -m benchmarks.tables.apart`` with the
checkout as its folder. That process ends itself once its stdin is closed, so it outlives neither a
cancelled job nor this process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gbuq_core.errors import InvalidData, MissingPackage
from gbuq_core.progress import stage, tick

DATA_FOLDER = "GBUQ_DATA_DIR"  # names the folder of the sets that are read from files
CHECKOUT = Path(__file__).resolve().parents[3]
TIME_LIMIT = 1800.0  # seconds
_RUNNER = ("benchmarks", "tables", "apart.py")
_EFFORT = "small"
_LOOK_SECONDS = 0.05
_MOST_TOLD = 0.99  # of the progress, until the answer is there
# As the runner has it: a cell has one thread, so that its seconds can be compared.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


@dataclass(frozen=True, kw_only=True)
class FreshCell:
    """What a cell gave just now."""

    table: str
    set: str
    method: str
    split: int
    scores: Mapping[str, float]  # by the keys of the table's scores
    seconds: float  # processor time of its process


def why_not_run(
    files: Sequence[str], data_dir: str | Path | None = None, checkout: Path = CHECKOUT
) -> str:
    """Why a cell cannot be computed here, in a sentence that says what to do; empty if it can."""
    if not checkout.joinpath(*_RUNNER).is_file():
        return (
            "Cells are computed by the runner of the papers' tables, which an installed package "
            "does not have: start the app from a checkout of the project."
        )
    if not files:
        return ""
    folder = _folder(data_dir)
    if folder is None:
        return (
            f"This cell reads {files[0]}.csv.gz from a folder: start the app with the variable "
            f"{DATA_FOLDER} set to it, or choose a set that needs no files."
        )
    for name in files:
        for file in (f"{name}.csv.gz", f"{name}_splits.npz"):
            if not (folder / file).is_file():
                return (
                    f"This cell reads {file}, and the folder of {DATA_FOLDER} has no such file: "
                    "put it there, or choose another set."
                )
    return ""


def run_cell(
    table: str,
    name: str,
    method: str,
    split: int = 0,
    *,
    files: Sequence[str] = (),
    expected_seconds: float = 30.0,
    data_dir: str | Path | None = None,
    checkout: Path = CHECKOUT,
) -> FreshCell:
    """Compute a cell in the small setting, in a process of its own."""
    reason = why_not_run(files, data_dir, checkout)
    if reason:
        raise InvalidData(reason)
    folder = _folder(data_dir) if files else None
    request: tuple[Any, ...] = (
        (table, name, split, method),
        None if folder is None else str(folder.resolve()),
        _EFFORT,
        {},
        TIME_LIMIT,
    )
    answer = _answer(json.dumps(request).encode() + b"\n", expected_seconds, checkout)
    if answer["result"] is None:
        kind = MissingPackage if answer["missing"] else InvalidData
        raise kind(str(answer["refusal"]))
    result = answer["result"]
    return FreshCell(
        table=table,
        set=name,
        method=method,
        split=split,
        scores={key: float(value) for key, value in result["scores"].items()},
        seconds=float(result["seconds"]),
    )


def _folder(data_dir: str | Path | None) -> Path | None:
    named = data_dir or os.environ.get(DATA_FOLDER)
    return None if not named else Path(named).expanduser()


def _answer(request: bytes, expected: float, checkout: Path) -> dict[str, Any]:
    """What the process answers."""
    command = [sys.executable, "-m", "benchmarks.tables.apart"]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            command, cwd=checkout, env={**os.environ, **_ONE_THREAD}, stdin=subprocess.PIPE,
            stdout=output, stderr=errors, bufsize=0,
        )  # fmt: skip
        assert process.stdin is not None
        began = time.monotonic()
        try:
            process.stdin.write(request)
            with stage(1.0):
                while process.poll() is None:
                    passed = time.monotonic() - began
                    if passed > TIME_LIMIT:
                        raise InvalidData(
                            f"The cell took longer than {TIME_LIMIT / 60:.0f} minutes and was "
                            "stopped: run its command in a terminal."
                        )
                    tick(min(_MOST_TOLD, passed / max(expected, 1.0)))
                    time.sleep(_LOOK_SECONDS)
        except BrokenPipeError:
            process.wait()  # it ended before it was asked; its own words follow
        finally:
            process.kill()
            process.stdin.close()
            process.wait()
        output.seek(0)
        errors.seek(0)
        if process.returncode == 0:
            return json.loads(output.read())
        lines = errors.read().decode(errors="replace").strip().splitlines()
    last = lines[-1] if lines else "it said nothing"
    raise InvalidData(
        f"The cell's process failed with exit code {process.returncode}: {last}. Run its command "
        "in a terminal to see more."
    )
