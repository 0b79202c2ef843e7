"""The server's log: a line for each fit that ended and for each error, and nothing of a table.

Each line is one JSON object. `note_work` writes page, method, rows, columns, seconds and outcome.
An error has a reference, which the reader sees too.

`start_log` is what a server for others begins with. Its log tells the type of an error and where it
was raised, but no message, which may quote a cell, a column's name or a file's. `guard_log` takes
messages away from what other libraries log of errors and warnings, too. Without `start_log`, as on
one's own computer, errors are logged in full and fits are not.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
import uuid
from collections.abc import Hashable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from gbuq_core.errors import GbuqError
from gbuq_core.jobs import Job

LOG = logging.getLogger("gbuq.server")


class Work(NamedTuple):
    """What the log says about a job, beside its cost and its outcome.

    ``key`` is the job's; of it only a number of rows is looked for where ``rows`` is not told.
    """

    page: str
    slot: str
    method: str
    rows: int | None
    columns: int | None
    key: Hashable


def note_work(work: Work, job: Job) -> None:
    """Write a line about a job that has ended; an error that is not ours with its place."""
    entry: dict[str, Any] = {
        "event": "fit",
        "page": work.page or "home",
        "slot": work.slot,
        "method": work.method,
        "rows": work.rows if work.rows is not None else next(_rows_in(work.key), None),
        "columns": work.columns,
        "seconds": round(job.seconds, 3),
        "outcome": job.state,
        "reference": job.reference,
    }
    error = job.error
    if error is None:
        LOG.info(_line(entry))
        return
    entry["error"] = type(error).__name__
    if isinstance(error, GbuqError):  # its sentence is for the reader, and may quote the table
        entry["outcome"] = "refused"
        LOG.info(_line(entry))
        return
    LOG.error(_line({**entry, "at": places(error)}), exc_info=error)


def note_error(error: BaseException, what: str, reference: str = "") -> str:
    """Write a line about an error that no job ended with, and return its reference."""
    reference = reference or uuid.uuid4().hex[:8]
    entry = {"event": "error", "what": what, "reference": reference, "error": type(error).__name__}
    LOG.error(_line({**entry, "at": places(error)}), exc_info=error)
    return reference


def places(error: BaseException) -> list[str]:
    """Where an error was raised, and what it came from: types, files and lines, no messages.

    >>> try:
    ...     int("secret")
    ... except ValueError as error:
    ...     shown = places(error)
    >>> [place for place in shown if "secret" in place], shown[0]
    ([], 'ValueError')
    """
    lines: list[str] = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        lines.append(type(link).__name__)
        lines += [
            f"{frame.filename}:{frame.lineno} {frame.name}"
            for frame in traceback.extract_tb(link.__traceback__)
        ]
        link = link.__cause__ or link.__context__
    return lines


def start_log(level: int = logging.INFO) -> None:
    """Write the log to the standard error, line by line, and guard it; once a process."""
    LOG.setLevel(level)
    if not LOG.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Lines())
        LOG.addHandler(handler)
        LOG.propagate = False
    guard_log()


def guard_log() -> None:
    """Keep what is in a table out of all that this process logs of errors and warnings."""
    make = logging.getLogRecordFactory()
    if getattr(make, "guards_tables", False):
        return

    def guarded(*args: Any, **more: Any) -> logging.LogRecord:
        record = make(*args, **more)
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            record.exc_info, record.exc_text = None, "\n".join(places(error))
        if record.name == "py.warnings":
            record.args = (_without_message(record.getMessage()),)
            record.msg = "%s"
        return record

    guarded.guards_tables = True  # type: ignore[attr-defined]
    logging.setLogRecordFactory(guarded)
    logging.captureWarnings(True)


class _Lines(logging.Formatter):
    """Time, level and the fields of a line, as one JSON object."""

    default_time_format = "%Y-%m-%dT%H:%M:%S"

    def format(self, record: logging.LogRecord) -> str:
        head = {"time": self.formatTime(record, self.default_time_format), "level": "error"}
        head["level"] = record.levelname.lower()
        return _line({**head, **json.loads(record.getMessage())})


def _line(entry: dict[str, Any]) -> str:
    return json.dumps({name: value for name, value in entry.items() if value is not None})


def _without_message(warning: str) -> str:
    """A warning as Python writes it, up to its category."""
    match = re.match(r"(.*?:\d+: \w+):", warning, re.DOTALL)
    return match[1] if match else "A warning"


def _rows_in(key: Any) -> Iterator[int]:
    """The numbers of rows that a job's key names: fields called rows or n_rows of its settings."""
    parts = key if isinstance(key, tuple) else (key,)
    for part in parts:
        for name in ("rows", "n_rows"):
            value = getattr(part, name, None)
            if isinstance(value, int):
                yield value
        if is_dataclass(part):
            yield from _rows_in(tuple(getattr(part, field.name) for field in fields(part)))
        elif isinstance(part, tuple):
            yield from _rows_in(part)
