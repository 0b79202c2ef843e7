"""Chromium against a running app: what every browser test shares.

A test asks for `serve` (starts ``streamlit run`` on an app, once a session and worker) and `page`
(a fresh page that fails the test on any console error). ``viewport`` and ``colour_scheme`` can be
parametrised with ``indirect=True``. Set GBUQ_SCREENSHOTS to a folder to keep pictures, and
GBUQ_THROTTLE to a number to slow Chromium down.
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
from contextlib import suppress
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DESKTOP, PHONE = (1440, 900), (390, 844)
START_TIMEOUT = 60  # seconds until a server that imports everything answers
WAIT = 120_000  # milliseconds until a page shows what it should, on a machine that is busy
# How many times slower than it is Chromium shall be, to look for tests that win races by luck.
_THROTTLE = float(os.environ.get("GBUQ_THROTTLE", "1"))

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Pages of a context share a process, and with it what has been compiled of Streamlit.
    "--process-per-site",
)
# The last run has ended, and no job reports its progress: the next run is not about to begin.
_READY = (
    "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"
    ":not(:has([data-testid=stProgress]))"
)

# As `streamlit`, with small models beside a table's own: their numbers are looked at elsewhere.
_SMALL = """
from streamlit.web.cli import main
from tests.small_models import make_small
make_small()
main()
"""
_SHARE_BEFORE = 0.72  # of all other tests: inside the last part of two or three workers
_FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(config, items):
    """Mark every test of this folder, so that ``-m "not browser"`` leaves Chromium out.

    A browser test that fails runs up to twice more: on a machine that is busy with the other tests,
    Chromium may lose a frame or a key. A fault of the app fails both times. ``--reruns 0`` on the
    command line switches this off; another number takes the place of the one.

    Workers begin with equal parts of the list and then take from each other's ends. So the tests of
    this folder stand inside one part, behind others that compile the kernels: one worker then runs
    nearly all of them, with one Chromium and one server, and what it leaves is cheap to take over.
    """
    mine = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    for item in mine:
        item.add_marker(pytest.mark.browser)
        if config.getoption("reruns", None) is None:
            item.add_marker(pytest.mark.flaky(reruns=2))
    if len(mine) < len(items):
        rest = [item for item in items if item not in set(mine)]
        first = int(_SHARE_BEFORE * len(rest))
        items[:] = [*rest[:first], *mine, *rest[first:]]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Let the pages of a test know whether it failed."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report


def unavailable(reason: str):
    """Skip where there is no browser, but never let a build pass without one."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"{reason} (browser tests must run when CI=true)", pytrace=False)
    pytest.skip(reason)


def _chromium() -> str:
    named = os.environ.get("GBUQ_CHROMIUM")
    names = ("chromium", "chromium-browser", "google-chrome")
    program = named or next((path for name in names if (path := shutil.which(name))), None)
    if not program or not Path(program).exists():
        unavailable("no Chromium found; set GBUQ_CHROMIUM to its path")
    return str(program)


@pytest.fixture(scope="session")
def browser():
    """One Chromium for the session."""
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        unavailable("playwright is not installed")
    expect.set_options(timeout=WAIT)
    path = _chromium()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield running
        running.close()


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return answer.status == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def start_server(
    app: Path, home: Path, streamlit=("-m", "streamlit"), **variables: str
) -> tuple[subprocess.Popen, str]:
    """Start ``streamlit run app`` on a free loopback port and wait until it answers."""
    home.mkdir(parents=True, exist_ok=True)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")}
    environment |= {"HOME": str(home), "PYTHONPATH": str(REPOSITORY)} | variables
    for _ in range(3):  # another process may take the port first
        port = free_port()
        command = [sys.executable, *streamlit, "run", str(app)]
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
            own = app == REPOSITORY / "app.py"
            if own:
                request.getfixturevalue("compiled_kernels")
            # Fits that nobody asked for would take the time of the other tests.
            home = tmp_path_factory.mktemp("home")
            streamlit = ("-c", _SMALL) if own else ("-m", "streamlit")
            running[app] = start_server(app, home, streamlit, GBUQ_SEEDS="asked")
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


@pytest.fixture(scope="session")
def contexts(browser):
    """Return a function that gives the session's window of these options, made at its first use.

    Pages of one context share what Chromium has fetched and compiled, which is most of the time
    that Streamlit takes to start. A page's session on the server is its own all the same. Only the
    newest page of a context draws at full speed, as the others lie behind it.
    """
    made: dict[str, object] = {}

    def context_of(options: dict, window: int = 0):
        name = repr((window, sorted(options.items())))
        if name not in made:
            made[name] = browser.new_context(**options)
            made[name].new_page()  # keeps the window open, which is slow to make; see `_forget`
        return made[name]

    yield context_of
    for context in made.values():
        context.close()


def _say_what_is_shown(page) -> None:
    """Print what a page of a failed test shows: what went wrong elsewhere may not happen here."""
    from playwright.sync_api import Error

    with suppress(Error):
        app, main = page.locator("[data-testid=stApp]"), page.locator("[data-testid=stMain]")
        state = app.get_attribute("data-test-script-state", timeout=2000)
        print(f"{page.url} ({state}):\n{main.inner_text(timeout=2000)[:2000]}")


def _forget(page) -> None:
    """Leave nothing of a page behind for the next page of its context, then close it.

    The context's first page moves to the server's address: it keeps the process of that site, in
    which Streamlit starts in a third of the time.
    """
    address = urllib.parse.urlsplit(page.url)
    if address.scheme == "http":
        first = page.context.pages[0]
        if first.url == "about:blank":
            first.goto(f"http://{address.netloc}/_stcore/health")
        origin = {"origin": f"http://{address.netloc}", "storageTypes": "local_storage,cookies"}
        session = page.context.new_cdp_session(first)
        session.send("Storage.clearDataForOrigin", origin)
        session.detach()
    if not page.is_closed():
        page.close()


def _listen(page, problems: list[str]) -> None:
    """Collect what goes wrong in a page."""
    page.on("pageerror", lambda error: problems.append(f"page error: {error}"))
    page.on(
        "console",
        lambda message: (
            problems.append(f"console: {message.text}")
            if message.type == "error" and not _probes_the_path(message)
            else None
        ),
    )


@pytest.fixture
def new_page(request, contexts, viewport, colour_scheme):
    """Return a function that opens a page of its own session; console errors fail the test.

    With ``private=True`` the page has another window, which shares no cookies and no storage with
    the first and keeps none, as a stranger's. Of several pages in one test all but one must be
    private, or they would hide each other.
    """
    problems: list[str] = []
    pages, n_private = [], 0

    def open_page(private: bool = False, **options):
        nonlocal n_private
        size = {"width": viewport[0], "height": viewport[1]}
        options = {"viewport": size, "color_scheme": colour_scheme, **options}
        n_private += private
        context = contexts(options, n_private if private else 0)
        assert private or len(pages) == n_private, "the page before would be hidden"
        page = context.new_page()
        page.set_default_timeout(WAIT)
        pages.append(page)
        _listen(page, problems)
        if _THROTTLE > 1:
            session = context.new_cdp_session(page)
            session.send("Emulation.setCPUThrottlingRate", {"rate": _THROTTLE})
        return page

    yield open_page
    for page in pages:
        if request.node.stash.get(_FAILED, False):
            _say_what_is_shown(page)
        _forget(page)
    assert not problems, "\n".join(problems)


@pytest.fixture
def page(new_page):
    """A fresh page."""
    return new_page()


# For so many milliseconds nothing has moved, grown or been added, and what must be there was.
_STILL = """([there, milliseconds, limit]) => new Promise((resolve, reject) => {
  const boxes = 'body, section, .stElementContainer, .gbuq, .gbuq-curves';
  const begin = performance.now();
  let before = '', since = begin;
  const look = () => {
    const now = document.querySelector(there) && JSON.stringify(
      [...document.querySelectorAll(boxes)].map((node) => [
        node.getBoundingClientRect(), node.scrollWidth, node.scrollHeight,
      ]));
    if (!now || now !== before) since = performance.now();
    before = now;
    if (performance.now() - since >= milliseconds) resolve();
    else if (performance.now() - begin > limit) reject(new Error('the page does not stand still'));
    else setTimeout(look, 60);
  };
  look();
})"""


def wait_ready(page, canvases: int = 0) -> None:
    """Wait until the script has run, so many figures are drawn, and all stands still.

    A run that was asked for a moment ago begins before that, as what changes a slider is sent
    after 200 ms; but wait first for what a run after a longer while changes.
    """
    page.wait_for_selector(_READY, state="attached")
    if canvases:
        page.locator(".gbuq[data-ready='1']").nth(canvases - 1).wait_for()
    page.evaluate(_STILL, [_READY, 300, WAIT])
    assert_no_exception(page)


_NOT_OURS = {"exclude": [["[data-testid=stSidebarNav]"]]}  # Streamlit's menu on a phone
_SCREENS = ((DESKTOP, "light"), (PHONE, "dark"))
_IN_SCHEME = """(scheme) => {
  const app = document.querySelector('[data-testid=stApp]');
  const [red] = getComputedStyle(app).backgroundColor.match(/\\d+/g).map(Number);
  return (red < 128) === (scheme === 'dark');
}"""


def screens(page):
    """Give an open page a desk's window and light colours, then a phone's and dark ones.

    Yields the window's size and the scheme when the page has taken them and stands still: what a
    page looks like there is seen without opening it twice.
    """
    for size, scheme in _SCREENS:
        show_as(page, size, scheme)
        yield size, scheme


def show_as(page, size, scheme):
    """Give an open page a window of this size and these colours, and wait until it has them."""
    width, height = size
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=scheme)
    if page.locator("[data-testid=stApp]").count():
        page.wait_for_function(_IN_SCHEME, arg=scheme)
        unfolded = page.locator("[data-testid=stSidebar][aria-expanded=true]")
        if width == PHONE[0]:  # Streamlit folds the bar beside the page
            unfolded.wait_for(state="detached")
        wait_ready(page)
        page.locator("[data-testid=stMain]").evaluate("node => { node.scrollTop = 0; }")
    page.evaluate(_STILL, ["body", 150, WAIT])


def assert_accessible(page) -> None:
    """Fail when a page scrolls sideways or axe-core finds something serious in it."""
    from axe_playwright_python.sync_playwright import Axe

    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [
        (problem["id"], node["html"][:120])
        for problem in Axe().run(page, _NOT_OURS).response["violations"]
        if problem["impact"] in ("serious", "critical")
        for node in problem["nodes"]
    ] == []


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
