"""Chromium against a running app: what every browser test shares.

A test asks for `serve` (starts ``streamlit run`` on an app, once a session and worker) and `page`
(a fresh page that fails the test on any console error). ``viewport`` and ``colour_scheme`` can be
parametrised with ``indirect=True``. Set GBUQ_SCREENSHOTS to a folder to keep pictures.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DESKTOP, PHONE = (1440, 900), (390, 844)
START_TIMEOUT = 60  # seconds until a server that imports everything answers
WAIT = 60_000  # milliseconds until a page shows what it should, on a machine that is busy

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_READY = (
    "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"
)


def pytest_collection_modifyitems(items):
    """Mark every test of this folder, so that ``-m "not browser"`` leaves Chromium out."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.browser)


def _unavailable(reason: str):
    """Skip where there is no browser, but never let a build pass without one."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{reason} (browser tests must run when CI=true)", pytrace=False)
    pytest.skip(reason)


def _chromium() -> str:
    named = os.environ.get("GBUQ_CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome")
    found = named or next((path for name in names if (path := shutil.which(name))), None)
    if not found or not Path(found).exists():
        _unavailable("no Chromium found; set GBUQ_CHROMIUM to its path")
    return str(found)


@pytest.fixture(scope="session")
def browser():
    """One Chromium for the session."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        _unavailable("playwright is not installed")
    path = _chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield running
        running.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def start_server(app: Path, home: Path) -> tuple[subprocess.Popen, str]:
    """Start ``streamlit run app`` on a free loopback port and wait until it answers."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")}
    environment |= {"HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
    for _ in range(3):  # another process may take the port first
        port = _free_port()
        command = [sys.executable, "-m", "streamlit", "run", str(app)]
        command += ["--server.address=127.0.0.1", f"--server.port={port}"]
        command += ["--server.headless=true", "--server.fileWatcherType=none"]
        with (home / "server.log").open("wb") as log:
            process = subprocess.Popen(
                command, cwd=REPOSITORY, env=environment, stdout=log, stderr=subprocess.STDOUT
            )
        url = f"http://127.0.0.1:{port}"
        deadline = time.monotonic() + START_TIMEOUT
        while time.monotonic() < deadline and process.poll() is None:
            if _healthy(url):
                return process, url
            time.sleep(0.1)
        stop_server(process)
    raise RuntimeError((home / "server.log").read_text(errors="replace")[-3000:])


def stop_server(process: subprocess.Popen) -> None:
    """End a server, gently first."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=10)


@pytest.fixture(scope="session")
def serve(tmp_path_factory, request) -> Iterator[Callable[[Path], str]]:
    """Return a function that gives the URL of a running app, started at its first use."""
    running: dict[Path, tuple[subprocess.Popen, str]] = {}

    def url_of(app: Path) -> str:
        if app not in running or running[app][0].poll() is not None:
            if app == REPOSITORY / "app.py":
                request.getfixturevalue("compiled_kernels")
            running[app] = start_server(app, tmp_path_factory.mktemp("home"))
        return running[app][1]

    yield url_of
    for process, _ in running.values():
        stop_server(process)


@pytest.fixture
def viewport(request) -> tuple[int, int]:
    """The window's size; parametrise with ``indirect=True``."""
    return getattr(request, "param", DESKTOP)


@pytest.fixture
def colour_scheme(request) -> str:
    """ "light" or "dark"; parametrise with ``indirect=True``."""
    return getattr(request, "param", "light")


def _probes_the_path(message) -> bool:
    """On a page's address Streamlit asks there for its health before it asks at the root."""
    address = urllib.parse.urlsplit(message.location.get("url", "")).path
    return re.fullmatch(r"/[^/]+/_stcore/(health|host-config)", address) is not None


@pytest.fixture
def new_page(browser, viewport, colour_scheme):
    """Return a function that opens a page of its own session; console errors fail the test."""
    problems: list[str] = []
    contexts = []

    def open_page(**options):
        size = {"width": viewport[0], "height": viewport[1]}
        options = {"viewport": size, "color_scheme": colour_scheme, **options}
        context = browser.new_context(**options)
        context.set_default_timeout(WAIT)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
        page.on(
            "console",
            lambda message: (
                problems.append(f"console: {message.text}")
                if message.type == "error" and not _probes_the_path(message)
                else None
            ),
        )
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not problems, "\n".join(problems)


@pytest.fixture
def page(new_page):
    """A fresh page."""
    return new_page()


def wait_ready(page, canvases: int = 0) -> None:
    """Wait until the script has run, and until so many canvas figures are drawn."""
    page.wait_for_selector(_READY, state="attached")
    if canvases:
        page.locator(".gbuq[data-ready='1']").nth(canvases - 1).wait_for()
    assert_no_exception(page)


def assert_no_exception(page) -> None:
    """Fail when the app shows an exception."""
    shown = page.locator("[data-testid=stException]")
    assert shown.count() == 0, shown.first.inner_text()


def screenshot(page, name: str, full_page: bool = False) -> None:
    """Keep a picture under GBUQ_SCREENSHOTS, if that is set."""
    folder = os.environ.get("GBUQ_SCREENSHOTS")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=full_page)
