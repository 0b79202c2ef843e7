"""The app and a Chromium of the tests, for benchmarks that measure what a browser shows."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import (
    _FLAGS,
    DESKTOP,
    _chromium,
    start_server,
    stop_server,
    wait_ready,
)

APP = Path(__file__).resolve().parents[1] / "app.py"


class Opened(NamedTuple):
    """A browser, where the app answers, the server's process number, and how long it started."""

    browser: Browser
    url: str
    pid: int
    start_seconds: float  # until the server answered

    def new_page(self) -> Page:
        """A window of a desktop, of a session of its own."""
        width, height = DESKTOP
        return self.browser.new_page(viewport={"width": width, "height": height})


def show_every_control(page: Page) -> None:
    """Open the fold of all settings and the knobs of the pictures, where a page folds them."""
    folded = "details:not([open]) > summary"
    for fold in page.locator("[data-testid=stExpander]").filter(has_text="All settings").all():
        for summary in fold.locator(folded).all():
            summary.click()
    closed = ".gbuq-quiet:not(.gbuq-viewing) :is(.gbuq-opener, .gbuq-curves-opener)"
    for opener in page.locator(closed).all():
        opener.click()
    wait_ready(page)


@contextmanager
def opened_app(app: Path = APP, **variables: str) -> Iterator[Opened]:
    """Start the app with an empty home and these variables, and a browser; stop both at the end."""
    with tempfile.TemporaryDirectory() as home, sync_playwright() as playwright:
        began = time.perf_counter()
        process, url = start_server(app, Path(home), **variables)
        seconds = time.perf_counter() - began
        try:
            browser = playwright.chromium.launch(executable_path=_chromium(), args=list(_FLAGS))
            yield Opened(browser, url, process.pid, seconds)
            browser.close()
        finally:
            stop_server(process)
