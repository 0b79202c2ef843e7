"""How long a reader waits for a page's first picture, cold and warm, and what the server holds.

``python -m benchmarks.first_minute`` starts a server for each page, with an empty cache of kernels,
opens the page as the very first one, and takes the time from the server's start to the frame in
which the picture is there; an empty Streamlit app is started in the same rounds. ``warm`` opens all
pages on one server, and then each again: from the click on its link to the picture, and in new
windows, which an empty app is opened in, too. ``fit`` presses a knob on the first page of a server
with an empty cache of kernels. Memory is the server's alone.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.chromium import APP, Opened, opened_app
from benchmarks.latency import CANVAS, CURVES, FIRST_MS, WATCH, slider
from benchmarks.report import Row, make_parser, megabytes, report
from tests.browser.conftest import wait_ready

COLD_BAR_SECONDS, WARM_BAR_MS = 2.5, 1200.0  # cold: beyond the empty app
FIRST_BAR_MB, ALL_BAR_MB = 350.0, 750.0
FIT_BAR_SECONDS = 12.0
FIT_KNOBS = {"/": "rows", "/heart": "rows", "/gaussians": "steps", "/spiral": "noise"}
YOUR_DATA, SAMPLE, ROWS = (
    "/your_data",
    ".st-key-sample-diabetes button",
    ".st-key-checks",
)
EMPTY = "empty"
_TEXT = "(key) => document.querySelector(`.st-key-${key}`)?.textContent ?? ''"
_EMPTY_APP = """import streamlit as st
st.set_page_config(layout="wide")
with st.container(key="first"):
    st.text("Nothing")
"""
# The picture's signature as in `latency`, and its key.
PICTURES = {
    "/": (CURVES, "wave"),
    "/heart": (CANVAS, "heart"),
    "/spiral": (CANVAS, "spiral"),
    "/gaussians": (CANVAS, "gaussians"),
    "/heteroscedastic": (CURVES, "heteroscedastic"),
    "/soft_trees": (CURVES, "soft_trees"),
    "/neighbours": (CURVES, "neighbours-course"),
    "/novelty": (CANVAS, "novelty"),
    "/two_clocks": (CURVES, "two_clocks"),
    "/beyond": (CURVES, "beyond"),
    "/your_data": (_TEXT, "first-drop"),
    "/lessons": (_TEXT, "cards-lessons"),
    "/scoreboard": (_TEXT, "scoreboard-picture"),
}

_WATCH = """([signature, key]) => {
  window.gbuqFirst = null;
  const look = () => {
    let shown = '';
    try { shown = eval(signature)(key); } catch { shown = ''; }
    if (shown) requestAnimationFrame(() => { window.gbuqFirst = performance.now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


def first_ms(app: Opened, path: str, signature: str, key: str) -> float:
    """Milliseconds from the navigation to the picture, in a window of its own."""
    page = app.new_page()
    page.set_default_timeout(FIRST_MS)
    arguments = f"[{signature!r}, {key!r}]".replace("\\n", " ")
    page.add_init_script(f"({_WATCH})({arguments})")
    page.goto(app.url + path)
    page.wait_for_function("window.gbuqFirst")
    taken = float(page.evaluate("window.gbuqFirst"))
    wait_ready(page)
    page.close()
    return taken


@contextmanager
def new_server(empty: bool = False) -> Iterator[Opened]:
    """The app on a new server without kernels, or an empty one."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "app.py"
        script.write_text(_EMPTY_APP)
        kernels = f"{folder}/kernels"
        with opened_app(script if empty else APP, NUMBA_CACHE_DIR=kernels) as app:
            yield app


def first_fit(path: str) -> float:
    """Seconds from the press of a knob, or the choice of a sample, to its picture."""
    signature, key = PICTURES[path]
    with new_server() as app:
        page = app.new_page()
        page.set_default_timeout(FIRST_MS)
        page.goto(app.url + path)
        page.wait_for_function(f"({signature})({key!r})")
        wait_ready(page)
        if path == YOUR_DATA:
            began = time.perf_counter()
            page.locator(SAMPLE).click()
            page.wait_for_selector(ROWS)
            return time.perf_counter() - began
        page.locator(slider(FIT_KNOBS[path])).first.focus()
        page.evaluate(WATCH, [signature, key])
        page.keyboard.press("ArrowRight")
        page.wait_for_function("window.gbuqLatency !== null")
        return float(page.evaluate("window.gbuqLatency")) / 1000


def fit_rows(paths: list[str], repeats: int) -> list[Row]:
    """The first fit after a knob, while kernels compile."""
    rows = []
    for path in (path for path in paths if path in (*FIT_KNOBS, YOUR_DATA)):
        seconds = [first_fit(path) for _ in range(repeats)]
        median = statistics.median(seconds)
        moved = "sample" if path == YOUR_DATA else "knob"
        rows.append(
            Row(
                f"{path}: {moved} to picture",
                f"{median:.1f} s",
                f"{FIT_BAR_SECONDS:.0f} s",
                median <= FIT_BAR_SECONDS,
                {"fit": seconds},
            )
        )
    return rows


def cold(path: str) -> tuple[float, float]:
    """Seconds from a server's start to the picture of its first page, and its megabytes then."""
    empty = path == EMPTY
    with new_server(empty) as app:
        ms = first_ms(app, *(("/", _TEXT, "first") if empty else (path, *PICTURES[path])))
        return app.start_seconds + ms / 1000, megabytes(app.pid)


def cold_rows(paths: list[str], repeats: int) -> list[Row]:
    """Each page as the very first on a new server, beside the empty app."""
    times: dict[str, list[tuple[float, float]]] = {path: [] for path in (EMPTY, *paths)}
    for _ in range(repeats):
        for path, runs in times.items():
            runs.append(cold(path))
    empty = statistics.median(seconds for seconds, _ in times[EMPTY])
    rows = []
    for path, runs in times.items():
        seconds = statistics.median(wall for wall, _ in runs)
        held = statistics.median(busy for _, busy in runs)
        more = f", {seconds - empty:+.1f} s, {seconds / empty:.1f} times" if path != EMPTY else ""
        met = seconds <= empty + COLD_BAR_SECONDS and held <= FIRST_BAR_MB
        rows.append(
            Row(
                f"{path}: start to picture",
                f"{seconds:.1f} s{more}; {held:.0f} MB",
                f"+{COLD_BAR_SECONDS} s; {FIRST_BAR_MB:.0f} MB",
                met,
                {"cold": runs},
            )
        )
    return rows


def clicked_ms(page: Page, path: str) -> float:
    """Milliseconds from the click on a link of Explore, or of the navigation, to the picture."""
    page.get_by_role("link", name="Explore").first.click()
    card = ".st-key-card-heart a"
    page.wait_for_selector(card)
    wait_ready(page)
    link = card.replace("heart", path[1:])
    if page.locator(link).count() == 0:  # no experiment: in the navigation
        link = f"header a[href$='{path}']"
    page.evaluate(_WATCH, [*PICTURES[path]])
    began = page.evaluate(f"document.querySelector({link!r}).click() ?? performance.now()")
    page.wait_for_function("window.gbuqFirst")
    taken = float(page.evaluate("window.gbuqFirst")) - began
    wait_ready(page)
    return taken


def warm_rows(paths: list[str], repeats: int) -> list[Row]:
    """Each page again on a server that others have used, by a link of the app and in a new window.

    A new window also fetches and starts Streamlit's own part, as the empty app does.
    """
    rows = []
    with new_server(empty=True) as app:
        alone = statistics.median(first_ms(app, "/", _TEXT, "first") for _ in range(repeats + 1))
    with opened_app() as app:
        for path in (*paths, *paths):
            first_ms(app, path, *PICTURES[path])
        held = megabytes(app.pid)
        page = app.new_page()
        page.set_default_timeout(FIRST_MS)
        page.goto(app.url + "/explore")
        for path in paths:
            ms = [clicked_ms(page, path) for _ in range(repeats)]
            window = statistics.median(first_ms(app, path, *PICTURES[path]) for _ in range(repeats))
            median = statistics.median(ms)
            rows.append(
                Row(
                    f"{path}: link clicked to picture; in a new window",
                    f"{median:.0f} ms (largest {max(ms):.0f}); {window:.0f}, empty {alone:.0f}",
                    f"{WARM_BAR_MS:.0f} ms",
                    median <= WARM_BAR_MS,
                    {"clicked": ms, "window": window, "empty": alone},
                )
            )
    rows.append(
        Row(
            "memory, all pages twice",
            f"{held:.0f} MB",
            f"{ALL_BAR_MB:.0f} MB",
            held <= ALL_BAR_MB,
            {"megabytes": held},
        )
    )
    return rows


def main() -> None:
    """Measure and print the medians."""
    parser = make_parser(__doc__.splitlines()[0], ["cold", "warm", "fit"])
    parser.add_argument("--pages", nargs="+", choices=[*PICTURES], default=[*PICTURES])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rows = cold_rows(options.pages, options.repeats) if "cold" in options.only else []
    if "warm" in options.only:
        rows += warm_rows(options.pages, options.repeats)
    if "fit" in options.only:
        rows += fit_rows(options.pages, options.repeats)
    report("The first minute", rows, options.json)


if __name__ == "__main__":
    main()
