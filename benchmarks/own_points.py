"""Seconds from a click on Own points to the first look of the methods, and to all of them.

``python -m benchmarks.own_points`` starts the app, places points on a line and in a plane in
Chromium, and prints medians; before, one click loads the kernels.
"""

from __future__ import annotations

import re
import statistics
import time

from playwright.sync_api import Page, expect

from benchmarks.chromium import opened_app
from benchmarks.report import Row, make_parser, report
from tests.browser.conftest import wait_ready

CLICKS = 7
FIRST, WHOLE = 0.3, 2.0  # seconds
_PLANE = ".st-key-own-plane"
# By place: the address, what is clicked, and a panel
PLACES = {
    "line": ("own_points", ".st-key-own-line .panel", ".st-key-own-line .panel"),
    "plane": ("own_points?where=in+a+plane", f"{_PLANE} canvas", f"{_PLANE} .gbuq-panel"),
}


def measure(page: Page, clicked: str, panel: str, click: int) -> tuple[float, float]:
    """Seconds from a click to the first look and to all methods."""
    counted = page.get_by_text(re.compile(r"^\d+ points\.$"))
    box, n_points = page.locator(clicked).first.bounding_box(), int(counted.inner_text().split()[0])
    assert box is not None
    across, down = 0.3 + 0.05 * click, 0.15 if clicked == panel else 0.42  # where no point is
    began = time.perf_counter()
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])
    page.get_by_text(f"{n_points + 1} points.").wait_for()  # stands below the picture
    first = time.perf_counter() - began
    expect(page.locator("[aria-label*='a first look']")).to_have_count(0, timeout=60_000)
    whole = time.perf_counter() - began
    wait_ready(page)
    return first, whole


def main() -> None:
    """Click, and print the medians."""
    options = make_parser(__doc__.splitlines()[0], list(PLACES)).parse_args()
    rows = []
    with opened_app() as app:
        for place in options.only:
            address, clicked, panel = PLACES[place]
            page = app.new_page()
            page.set_default_timeout(60_000)
            page.goto(f"{app.url}/{address}")
            page.locator(panel).first.wait_for()
            wait_ready(page)
            taken = [measure(page, clicked, panel, click) for click in range(CLICKS + 1)][1:]
            for what, bar, times in zip(
                ("first look", "all methods"), (FIRST, WHOLE), zip(*taken, strict=True), strict=True
            ):
                median = statistics.median(times)
                numbers = {"median": median, "slowest": max(times)}
                measured = f"{median:.2f} s, slowest {max(times):.2f} s"
                rows.append(Row(f"{place}, {what}", measured, f"{bar} s", median <= bar, numbers))
            page.close()
    report("Own points", rows, options.json)


if __name__ == "__main__":
    main()
