"""A job with a line of progress on the standard error, which Ctrl-C stops."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from gbuq_core.commands.interrupting import raise_again

if TYPE_CHECKING:
    from gbuq_core.jobs import Job

_LOOK_SECONDS = 0.2  # between two looks at the progress


def say_progress(words: str) -> None:
    """Write over the line of progress."""
    print(f"\r{words:<60}\r{words}", end="", file=sys.stderr, flush=True)


def watched(
    run: Callable[[Job], Any],
    show: bool,
    there: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> Any:
    """Run a job inside ``there()``, with a line of progress if ``show``; Ctrl-C stops it."""
    # Loaded here rather than by the job: Ctrl-C ends the program at once in the meantime.
    import gbuq_core.tables.scoring  # noqa: F401
    from gbuq_core.compilers import compiling_words
    from gbuq_core.jobs import JobRunner

    def run_there(job: Job) -> Any:
        with there():
            return run(job)

    job = JobRunner().want("command line", "table", run_there)
    raise_again()
    try:
        while not job.wait(_LOOK_SECONDS):
            if show:
                say_progress(compiling_words() or f"Training and scoring: {job.fraction:4.0%}")
    except KeyboardInterrupt:
        job.stop()
        job.wait(10)
        raise
    finally:
        if show:
            say_progress("")
    return job.result()
