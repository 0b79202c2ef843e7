"""Waiting for what a page has asked for."""

import time

from gbuq_core.jobs import RUNNER

PATIENCE = 300.0  # seconds: NGBoost's fits take half of it where others use the cores, too


def live_jobs():
    return list(RUNNER._live.values())


def run_when_done(at, drawn=lambda at: True, working=live_jobs):
    """Run a page again once nothing works, until that asks for no more and it is ``drawn``.

    While a fit works the page is left alone: each run would take time from the fit. A page that was
    whole when it was opened need not run again.
    """
    deadline = time.monotonic() + PATIENCE
    settled = vars(at).pop("is_whole", False) and drawn(at) and not working()
    while not settled and time.monotonic() < deadline:
        while working() and time.monotonic() < deadline:
            time.sleep(0.02)
        at.run()
        settled = drawn(at) and not working()
    assert not at.exception
    return at
