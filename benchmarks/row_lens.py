"""The row lens in Chromium: from a click on a dot to the row, and from a typed value to its answer.

``python -m benchmarks.row_lens`` starts the app on the built-in diabetes table. A click counts
until the heading names the new row and the run has ended, so that all of the open tab is there; a
typed value, until the table of the edited row has changed. Times run in the browser.
"""

from __future__ import annotations

import argparse
import statistics
import urllib.parse
from pathlib import Path

from playwright.sync_api import Page

from benchmarks.chromium import opened_app
from benchmarks.report import Row, report
from tests.browser.conftest import wait_ready

CLICK_MS, EDIT_MS = 300.0, 200.0
TABS = ("Why", "Rows that decide", "Edit this row")
_DOTS = ".st-key-row-map .gbuq-curves > svg"
_PLACES = (0.35, 0.42, 0.5, 0.57, 0.64)  # of the picture's width and height

# Milliseconds from the next event of a kind until a condition holds in a frame; null after 20 s.
_WATCH = """([kind, read, ends]) => {
  const value = () => { try { return eval(read)(); } catch { return null; } };
  const before = value();
  window.gbuqTook = undefined;
  document.addEventListener(kind, (event) => {
    const start = event.timeStamp;
    const look = () => {
      const took = performance.now() - start;
      if (took > 20000) { window.gbuqTook = null; return; }
      const now = value();
      if (now !== null && now !== before && (!ends || document.querySelector(ends)))
        window.gbuqTook = took;
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  }, {once: true, capture: true});
}"""
_HEADING = "() => [...document.querySelectorAll('h3')].find(h => h.textContent.startsWith('Row '))"
_READ_ROW = f"() => ({_HEADING})().textContent"
_READ_EDITED = """() => [...document.querySelectorAll('*')].flatMap(
  node => [...node.shadowRoot?.querySelectorAll('.gbuq-editor td') ?? []])
  .map(cell => cell.textContent).join('|') || null"""
_IDLE = "[data-testid=stApp][data-test-script-state=notRunning]"


def _took(page: Page) -> float | None:
    page.wait_for_function("() => window.gbuqTook !== undefined", timeout=30_000)
    return page.evaluate("() => window.gbuqTook")


def clicks(page: Page, repeats: int) -> list[float]:
    """Milliseconds from a click on a dot to the whole row, for dots all over the map."""
    seconds = []
    for number in range(repeats + 2):
        wait_ready(page)
        page.locator(_DOTS).scroll_into_view_if_needed()
        box = page.locator(_DOTS).bounding_box()
        assert box is not None
        across, down = _PLACES[number % 5], _PLACES[(2 * number + number // 5) % 5]
        page.evaluate(_WATCH, ["pointerup", _READ_ROW, _IDLE])
        page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])
        took = _took(page)
        if took is not None and number > 1:  # the first two warm up; null where the row was open
            seconds.append(took)
    return seconds


def edits(page: Page, repeats: int) -> list[float]:
    """Milliseconds from Enter in a box to the answer about the edited row."""
    seconds = []
    box = page.locator(".gbuq-handle-box").first
    start = float(box.input_value())
    for number in range(repeats + 2):
        wait_ready(page)
        box.fill(f"{start + (number % 7 - 3) * 2.5 + 0.5:g}")
        page.evaluate(_WATCH, ["keydown", _READ_EDITED, ""])
        box.press("Enter")
        took = _took(page)
        if took is not None and number > 1:
            seconds.append(took)
    return seconds


def _row(what: str, times: list[float], bar: float) -> Row:
    middle = statistics.median(times)
    return Row(
        f"{what}, {len(times)} times",
        f"{middle:.0f} ms, slowest {max(times):.0f} ms",
        f"{bar:.0f} ms",
        middle <= bar,
        {"median_ms": middle, "slowest_ms": max(times), "all_ms": times},
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with opened_app() as opened:
        for tab in TABS:
            page = opened.new_page()
            page.goto(f"{opened.url}/your_data?{urllib.parse.urlencode({'lens': tab, 'row': 9})}")
            page.locator("h3").filter(has_text="Row ").first.wait_for()
            rows.append(_row(f"click to row, {tab}", clicks(page, options.repeats), CLICK_MS))
            if tab == "Edit this row":
                rows.append(_row("typed edit", edits(page, options.repeats), EDIT_MS))
            page.close()
    report("The row lens", rows, options.json)


if __name__ == "__main__":
    main()
