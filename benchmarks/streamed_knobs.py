"""Pictures a second while a slider is dragged whose picture takes a fit, in Chromium.

``python -m benchmarks.streamed_knobs`` starts the app. For each line of `STREAMED` it drags a
slider to and fro for three seconds, one step every `STEP_MS`, and notes every change of the
picture, with the frame in which it is painted. Fits, the socket and the browser are in it; so is
whatever else the machine does. A value that the drag comes back to is not fitted again, as in the
app; between drags another seed is taken where the page has one, so that its fits are new. A line
marked ``anew`` is dragged one way only, so that each picture is a fit. Beside pictures a second
stands what one costs the server's processor, which other programs do not lengthen much. With
Beyond the rows comes what its picture does without a fit: the numbers under the pointer.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page

from benchmarks import live_knobs
from benchmarks.chromium import Opened, opened_app, show_every_control
from benchmarks.latency import CANVAS, CURVES, FIRST_MS
from benchmarks.report import Row, make_parser, report
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
  const observer = new MutationObserver(() => {
    const now = read();
    if (!now || now === last) return;
    last = now;
    requestAnimationFrame((time) => times.push(time));
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
    anew: bool = False  # dragged over no value twice


STREAMED = (
    Streamed("/", "rows", "rows", CURVES, "wave", 10.0),
    Streamed("/?rows=100", "stretch", BAR, CURVES, "wave", 5.0),
    Streamed("/heart?seed={seed}", "noise", "noise", CANVAS, "heart", 3.0),
    Streamed("/heart?seed={seed}", "rate", "rate", CANVAS, "heart", 3.0),
    Streamed("/neighbours?seed={seed}", "rows", "rows", CURVES, "neighbours-course", 3.0),
    Streamed("/neighbours?seed={seed}", "place", "", CURVES, "neighbours-course", 10.0),
    Streamed("/soft_trees?seed={seed}", "noise", "noise", CURVES, "soft-trees-functions", 1.0),
    Streamed("/beyond?seed={seed}", "edge", "edge", CURVES, "beyond-bands", 10.0, True),
    Streamed("/beyond?seed={seed}", "gap", "gap", CURVES, "beyond-bands", 10.0, True),
    Streamed("/novelty?seed={seed}", "noise", "noise", CANVAS, "novelty-maps", 1.0),
)


class Drag(NamedTuple):
    """Pictures a second, ms between them, and of the processor for each: of server and page."""

    rate: float
    gaps: list[float]
    served: float
    drawn: float


def seconds_of(pid: int) -> float:
    """What a process has had of the processor, with all of its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drag(page: Page, case: Streamed, pid: int) -> Drag:
    """Drag the slider; the server has this number."""
    in_picture = case.slider in ("", BAR)
    track = f".st-key-{case.slider} [role=group] > div"
    picture = f".st-key-{case.key} .gbuq-curves svg[role=img]"
    moved = page.locator(picture if in_picture else track).first
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
    lasts = PERIOD if case.anew else SECONDS
    drawing = live_knobs.clock_of(page)
    began, served, drawn = time.monotonic(), seconds_of(pid), drawing()
    while (gone := time.monotonic() - began) < lasts:
        turn = 2 * math.pi * gone / PERIOD
        share = gone / lasts if case.anew else 0.5 - 0.5 * math.cos(turn + math.pi / 2)
        page.mouse.move(left + share * (right - left), y)
        page.wait_for_timeout(STEP_MS)
    times = page.evaluate("[...window.gbuqPictures.times]")
    gone, served, drawn = time.monotonic() - began, seconds_of(pid) - served, drawing() - drawn
    page.mouse.up()
    each = 1000.0 / max(1, len(times))
    gaps = [later - earlier for earlier, later in pairwise(times)]
    return Drag(len(times) / gone, gaps, each * served, each * drawn)


def measure(opened: Opened, case: Streamed, repeats: int) -> list[Drag]:
    """Each drag, after two that warm up."""
    page = opened.new_page()
    page.set_default_timeout(FIRST_MS)
    drags = []
    for seed in range(repeats + 2):
        page.goto(opened.url + case.page.format(seed=seed))
        wait_ready(page)
        page.wait_for_function(f"({case.signature})('{case.key}')")
        show_every_control(page)
        page.wait_for_timeout(1000)
        drags.append(drag(page, case, opened.pid))
    page.close()
    return drags[2:]


def main() -> None:
    """Measure every slider and print pictures a second, the median gap and the slowest 5 %."""
    pages = list(dict.fromkeys(case.page.partition("?")[0] for case in STREAMED))
    parser = make_parser(__doc__.splitlines()[0], pages)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = []
    with opened_app() as opened:
        for case in STREAMED:
            if case.page.partition("?")[0] in options.only:
                rows.append(_row(case, measure(opened, case, options.repeats)))
        if "/beyond" in options.only:
            rows += live_knobs.measure(opened.new_page(), opened.url, [live_knobs.BEYOND])
    report("Pictures a second while dragged", rows, options.json)


def _row(case: Streamed, drags: list[Drag]) -> Row:
    rate, served, drawn = (
        statistics.median(numbers)
        for numbers in zip(*((drag.rate, drag.served, drag.drawn) for drag in drags), strict=True)
    )
    gaps = sorted(gap for drag in drags for gap in drag.gaps) or [math.nan]
    middle, slow = statistics.median(gaps), gaps[int(0.95 * len(gaps))]
    return Row(
        what=f"{case.page.split('?')[0]} {case.name}",
        measured=f"{rate:.1f} a second (gap {middle:.0f} ms, slowest 5 % from {slow:.0f}; of the "
        f"processor {served:.0f} ms in the server, {drawn:.0f} in the page)",
        bar=f"{case.bar:g} a second",
        met=rate >= case.bar,
        numbers={
            "per_second": rate,
            "median_gap_ms": middle,
            "slowest_gap_ms": slow,
            "server_ms": served,
            "page_ms": drawn,
        },
    )


if __name__ == "__main__":
    main()
