"""Opening a page of the app as a link does: at once, without the home page before it."""

import threading
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from gbuq_core.jobs import JobRunner

APP = str(Path(__file__).resolve().parents[2] / "app.py")


def open_link(page, query, timeout=60):
    """The page ``pages/<page>.py`` after its first run; it may still be computing.

    Its ``is_whole`` says whether all that the run asked for was there: another run draws the same.
    """
    at = AppTest.from_file(APP, default_timeout=timeout)
    at.switch_page(f"pages/{page}.py")
    for name, text in query.items():
        at.query_params[name] = text
    asked, ask = [], JobRunner.want

    def want(runner, *args, **options):
        job = ask(runner, *args, **options)
        asked.append(job.wait(0))
        return job

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobRunner, "want", want)
        at.run()
    at.is_whole = all(asked)
    return at


def wait_for_warm_up():
    """The thread that the app's first run starts fits, too."""
    for thread in threading.enumerate():
        if thread.name == "gbuq-warm-up":
            thread.join(300)
