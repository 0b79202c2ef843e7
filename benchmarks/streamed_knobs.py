"""Pictures a second while a slider is dragged whose picture takes a fit, in Chromium.

``python -m benchmarks.streamed_knobs`` starts the app. For each line of `STREAMED` it drags a
slider to and fro for three seconds, one step every `STEP_MS`, and notes every change of the
picture, with the frame in which it is painted. Fits, the socket and the browser are in it; so is
whatever else the machine does. A value that the drag comes back to is not fitted again, as in the
app; between drags another seed is taken where the page has one, so that its fits are new.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from playwright.sync_api import Page

from benchmarks.chromium import opened_app, show_every_control
from benchmarks.latency import CANVAS, CURVES, FIRST_MS
from benchmarks.report import Row, report
from gbuq_core.experiments.beyond.fit import BeyondSettings, fit_beyond
from gbuq_core.experiments.beyond.picture import beyond_figure
from tests.browser.conftest import wait_ready

SECONDS = 3.0
PERIOD = 1.5  # seconds to and fro
STEP_MS = 33  # between two moves of the mouse
BAR = ".gbuq-curves .grip rect"  # above a stretch of the picture

_WATCH = """([signature, key]) => {
  const read = () => { try { return eval(signature)(key); } catch { return ''; } };
  window.gbuqPictures?.stop();
  const times = [];
  let last = read();
  let asked = false;
  const look = () => {
    const now = read();
    if (now && now !== last) {
      last = now;
      requestAnimationFrame((time) => times.push(time));
    }
  };
  const observer = new MutationObserver(() => {
    if (asked) return;
    asked = true;
    queueMicrotask(() => { asked = false; look(); });
  });
  const all = {subtree: true, childList: true, attributes: true};
  for (const node of document.querySelectorAll(`.st-key-${key} *`)) {
    if (node.shadowRoot) observer.observe(node.shadowRoot, all);
  }
  window.gbuqPictures = {times, stop: () => observer.disconnect()};
}"""


class Streamed(NamedTuple):
    """A slider, the picture that follows it, and how many pictures a second it should give."""

    page: str
    name: str
    slider: str  # its key; empty for the place in the middle of the picture, BAR for the bar above
    signature: str
    key: str
    bar: float


STREAMED = (
    Streamed("/", "rows", "rows", CURVES, "wave", 10.0),
    Streamed("/?rows=100", "stretch", BAR, CURVES, "wave", 5.0),
    Streamed("/heart?seed={seed}", "noise", "noise", CANVAS, "heart", 3.0),
    Streamed("/heart?seed={seed}", "rate", "rate", CANVAS, "heart", 3.0),
    Streamed("/neighbours?seed={seed}", "rows", "rows", CURVES, "neighbours-course", 3.0),
    Streamed("/neighbours?seed={seed}", "place", "", CURVES, "neighbours-course", 10.0),
    Streamed("/soft_trees?seed={seed}", "noise", "noise", CURVES, "soft-trees-functions", 1.0),
    Streamed("/beyond?seed={seed}", "edge", "edge", CURVES, "beyond-bands", 10.0),
    Streamed("/beyond?seed={seed}", "gap", "gap", CURVES, "beyond-bands", 10.0),
    Streamed("/novelty?seed={seed}", "noise", "noise", CANVAS, "novelty-maps", 1.0),
)


def drag(page: Page, case: Streamed) -> list[float]:
    """Milliseconds at which the picture changed while the slider was dragged."""
    in_picture = case.slider in ("", BAR)
    track = f".st-key-{case.slider} [role=group] > div"
    moved = page.locator(f".st-key-{case.key} .gbuq-curves > svg" if in_picture else track).first
    moved.scroll_into_view_if_needed()
    box = moved.bounding_box()
    assert box is not None
    left, right = box["x"] + 2, box["x"] + box["width"] - 2
    y = box["y"] + (60 if in_picture else box["height"] / 2)
    held = (left + right) / 2
    if in_picture:
        left += 60  # the axis
    if case.slider == BAR:
        bar = page.locator(f".st-key-{case.key} {BAR}").first.bounding_box()
        assert bar is not None
        held, y = bar["x"] + bar["width"] / 2, bar["y"] + bar["height"] / 2
    elif in_picture:
        held = (left + right) / 2
        page.mouse.click(held, y)
        page.wait_for_timeout(1000)
    page.evaluate(_WATCH, [case.signature, case.key])
    page.mouse.move(held, y)
    page.mouse.down()
    began = time.monotonic()
    while (gone := time.monotonic() - began) < SECONDS:
        share = 0.5 - 0.5 * math.cos(2 * math.pi * gone / PERIOD + math.pi / 2)
        page.mouse.move(left + share * (right - left), y)
        page.wait_for_timeout(STEP_MS)
    times = page.evaluate("[...window.gbuqPictures.times]")
    page.mouse.up()
    return [float(one) for one in times]


def measure(page: Page, url: str, case: Streamed, repeats: int) -> list[list[float]]:
    """The times of each drag."""
    page.set_default_timeout(FIRST_MS)
    drags = []
    for seed in range(1, repeats + 1):
        page.goto(url + case.page.format(seed=seed))
        wait_ready(page)
        page.wait_for_function(f"({case.signature})('{case.key}')")
        show_every_control(page)
        page.wait_for_timeout(1000)
        drags.append(drag(page, case))
    return drags


def main() -> None:
    """Measure every slider and print pictures a second, the median gap and the slowest 5 %."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--page", default="", help="only sliders of this page: / for Home")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    rows = []
    with opened_app() as opened:
        for case in STREAMED:
            if arguments.page and case.page.split("?")[0] != arguments.page:
                continue
            page = opened.new_page()
            rows.append(_row(case, measure(page, opened.url, case, arguments.repeats)))
            page.close()
    if arguments.page in ("", "/beyond"):
        rows.append(_refits())
    report("Pictures a second while dragged", rows, arguments.json)


def _refits() -> Row:
    """How often a processor fits what follows the hand on Beyond the rows, with its figure."""
    taken = []
    for edge in np.arange(4.5, 8.0, 0.1).round(1).tolist():
        began = time.process_time()
        beyond_figure(fit_beyond(BeyondSettings(edge=edge), whole=False))
        taken.append(time.process_time() - began)
    rate = 1.0 / statistics.median(taken)
    return Row(
        "/beyond trees and process, 150 rows", f"{rate:.1f} refits a second of CPU time", "10",
        rate >= 10.0, {"seconds": taken},
    )  # fmt: skip


def _row(case: Streamed, drags: list[list[float]]) -> Row:
    rate = statistics.median(len(times) / SECONDS for times in drags)
    gaps = sorted(b - a for times in drags for a, b in pairwise(times))
    middle = statistics.median(gaps) if gaps else math.nan
    slow = gaps[min(len(gaps) - 1, int(0.95 * len(gaps)))] if gaps else math.nan
    return Row(
        what=f"{case.page.split('?')[0]} {case.name}",
        measured=f"{rate:.1f} a second (gap {middle:.0f} ms, slowest 5 % from {slow:.0f})",
        bar=f"{case.bar:g} a second",
        met=rate >= case.bar,
        numbers={"per_second": rate, "median_gap_ms": middle, "slowest_gap_ms": slow},
    )


if __name__ == "__main__":
    main()
