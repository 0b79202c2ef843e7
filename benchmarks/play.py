"""How soon a page of Play shows its picture, and how many pictures a second its first knob gives.

``python -m benchmarks.play out/site`` opens each page of a site that ``python -m mkdocs build``
wrote, three times from its file: from the navigation to the frame in which all figures are drawn.
Then it drags the first slider of each experiment as `benchmarks.live_knobs` does.
"""

from __future__ import annotations

import gzip
import statistics
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from benchmarks.live_knobs import _DRAG, BAR
from benchmarks.report import Row, make_parser, report
from tests.browser.conftest import _FLAGS, _chromium

BAR_MS, BAR_BYTES, TIMES, SECONDS = 1000.0, 1.5e6, 3, 2.0
_DRAWN = """() => new Promise(done => {
  const look = () => [...document.querySelectorAll('.figure')].every(one =>
    one.querySelector('canvas, svg')) ? requestAnimationFrame(() => done(performance.now()))
    : requestAnimationFrame(look);
  look();
})"""
_SLIDER = ".figure input[type=range] >> visible=true"


def opened_ms(page: Page, path: Path) -> float:
    """Milliseconds from the navigation to all figures."""
    page.goto(path.as_uri(), wait_until="commit")
    return float(page.evaluate(_DRAWN))


def pictures_a_second(page: Page) -> float:
    """While the first slider moves in every frame."""
    control = page.locator(_SLIDER).first
    root = control.evaluate_handle("knob => knob.closest('[data-draws], .gbuq-curves')")
    times = page.evaluate(_DRAG, [root, control.element_handle(), SECONDS])
    return 1000.0 / statistics.median(later - earlier for earlier, later in pairwise(times))


def rows_of(page: Page, path: Path) -> list[Row]:
    """The lines of a page."""
    name, size = path.parent.name, len(gzip.compress(path.read_bytes()))
    ms = statistics.median(opened_ms(page, path) for _ in range(TIMES))
    words = f"{ms:.0f} ms, {size / 1e6:.2f} MB compressed"
    held = ms <= BAR_MS and size <= BAR_BYTES
    rows = [Row(f"{name}: opened", words, "1 s, 1.5 MB", held, {"ms": ms, "bytes": size})]
    if page.locator(_SLIDER).count() and not name.startswith("learn_"):
        rate = pictures_a_second(page)
        words = f"{rate:.0f} pictures/s"
        rows.append(Row(f"{name}: dragged", words, f"{BAR:g}", rate >= BAR, {"rate": rate}))
    return rows


def main() -> None:
    """Print a table of all pages."""
    parser = make_parser(__doc__.splitlines()[0], ["play"])
    parser.add_argument("site", type=Path)
    options = parser.parse_args()
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=_chromium(), args=list(_FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        paths = sorted((options.site / "play").resolve().glob("*/index.html"))
        rows = [row for path in paths for row in rows_of(page, path)]
        browser.close()
    report("Play: pages without Python", rows, options.json)


if __name__ == "__main__":
    main()
