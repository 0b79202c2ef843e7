"""Opening a page of the app as a link does: at once, without the home page before it."""

import threading
from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.app.waiting import run_watched

APP = str(Path(__file__).resolve().parents[2] / "app.py")


def open_link(page, query, timeout=60):
    """The page ``pages/<page>.py`` after its first run; it may still be computing."""
    at = AppTest.from_file(APP, default_timeout=timeout)
    at.switch_page(f"pages/{page}.py")
    for name, text in query.items():
        at.query_params[name] = text
    return run_watched(at)


def wait_for_warm_up():
    """The thread that the app's first run starts fits, too."""
    for thread in threading.enumerate():
        if thread.name == "gbuq-warm-up":
            thread.join(300)
