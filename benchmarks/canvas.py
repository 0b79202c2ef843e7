"""Measures the canvas component in Chromium: frames a second and time to a new picture.

Run ``python -m benchmarks.canvas``; medians are printed. Frames are counted by the component's
own ``data-draws``, so a frame that the browser skipped does not count. The time to a new picture
runs from the key press on a Streamlit slider to the component's ``data-digest`` having changed,
and includes what Playwright adds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from benchmarks.chromium import opened_app
from tests.browser.conftest import wait_ready

APP = Path(__file__).resolve().parents[1] / "tests/browser/apps/canvas_app.py"

# Runs in the page: resolves with the milliseconds between successive draws while playing.
_COUNT_FRAMES = """async ([node, seconds]) => {
  const gaps = [];
  let last = 0, draws = Number(node.dataset.draws);
  const end = performance.now() + 1000 * seconds;
  return await new Promise((resolve) => {
    const tick = (now) => {
      const seen = Number(node.dataset.draws);
      if (seen !== draws) { if (last) gaps.push(now - last); last = now; draws = seen; }
      if (now < end && node.dataset.playing === '1') requestAnimationFrame(tick);
      else resolve(gaps);
    };
    requestAnimationFrame(tick);
  });
}"""

# Runs in the page: time from now until the digest differs from the one given.
_NEW_PICTURE = """async ([node, digest]) => {
  while (node.dataset.digest === digest) await new Promise(requestAnimationFrame);
  return node.dataset.digest;
}"""


def frame_rate(page, url: str, query: str, speed: str, seconds: float) -> tuple[float, float]:
    """Return (median frames a second, share of gaps above 20 ms) while playing."""
    page.goto(f"{url}/?{query}")
    wait_ready(page, canvases=1)
    figure = page.locator(".gbuq")
    page.get_by_label("Speed").select_option(speed)
    page.get_by_label("Play", exact=True).click()
    gaps = page.evaluate(_COUNT_FRAMES, [figure.element_handle(), seconds])
    late = sum(gap > 20 for gap in gaps) / max(1, len(gaps))
    return 1000 / statistics.median(gaps), late


def update_time(page, url: str, query: str, repeats: int) -> float:
    """Return the median milliseconds from a slider's key press to the new picture."""
    page.goto(f"{url}/?{query}")
    wait_ready(page, canvases=1)
    figure = page.locator(".gbuq").element_handle()
    page.get_by_role("slider", name="Seed").focus()
    times = []
    for _ in range(repeats):
        digest = figure.get_attribute("data-digest")
        start = time.perf_counter()
        page.keyboard.press("ArrowRight")
        page.evaluate(_NEW_PICTURE, [figure, digest])
        times.append(1000 * (time.perf_counter() - start))
        wait_ready(page)
    return statistics.median(times)


def main() -> None:
    """Print a table of medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5.0, help="playing time a case")
    parser.add_argument("--repeats", type=int, default=15, help="slider presses a case (<= 20)")
    options = parser.parse_args()
    with opened_app(APP) as opened:
        page, url = opened.new_page(), opened.url
        cases = (
            ("9 panels of 9 x 9, 1000 frames", "case=heart&frames=1000", "1"),
            ("3 panels of 200 x 200, 120 frames", "case=fields&frames=120", "1"),
            ("2 panels of 60 x 60 with points", "case=chains", "2"),
            ("4 panels of 80 x 80, 4 strips", "case=training&n=2000&frames=100", "4"),
        )
        # Sheets play at 60 frames a second or more: what is measured is what the browser keeps.
        for name, query, speed in cases:
            rate, late = frame_rate(page, url, query, speed, options.seconds)
            print(f"{name:38} {rate:6.1f} frames/s, {late:.0%} of gaps above 20 ms")
        for name, query in (
            ("9 panels of 9 x 9, 100 frames", "case=heart&frames=100"),
            ("9 panels of 9 x 9, 1000 frames", "case=heart&frames=1000"),
            ("3 panels of 200 x 200", "case=fields&n=200"),
        ):
            print(f"{name:38} {update_time(page, url, query, options.repeats):6.0f} ms to new")


if __name__ == "__main__":
    main()
