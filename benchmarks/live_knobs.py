"""Pictures a second while a knob of a picture's own bar is dragged, in Chromium.

``python -m benchmarks.live_knobs`` starts the app. For each line of `LIVE` it opens a page and
moves one knob to and fro for three seconds: the knob gets a new place in every frame, as it does
under a finger, and every change of the picture is noted. Computing and drawing are in it; so is
whatever else the machine does. The server hears nothing before the knob is let go. ``--only``
takes the pages by name. Beside pictures a second stands what one costs: milliseconds of the
processor, script, layout and painting of the page's main thread together.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from playwright.sync_api import Page

from benchmarks.chromium import opened_app, show_every_control
from benchmarks.latency import FIRST_MS
from benchmarks.report import Row, make_parser, report
from tests.browser.conftest import wait_ready

SECONDS = 3.0
BAR = 30.0  # pictures a second
MEMBERS = "globalThis.gbuqMembers?.size > 0"  # sent after everything else

# Calls `move` in every frame; resolves with the times at which the picture was drawn.
_WATCH = """async ([root, control, seconds]) => {
  const times = [];
  const maps = root.dataset.draws !== undefined;
  const watched = maps ? root : root.querySelector('svg[role=img]') ?? root;
  const { move, seen, back } = (MOVES)(control);
  const inside = { childList: true, subtree: true, ...seen };
  const what = maps ? { attributeFilter: ['data-draws'] } : inside;
  const observer = new MutationObserver(() => times.push(performance.now()));
  observer.observe(watched, what);
  const end = performance.now() + 1000 * seconds;
  for (let i = 0; performance.now() < end; i++) {
    await new Promise(requestAnimationFrame);
    move(i);
  }
  await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  observer.disconnect();
  back?.();
  return times;
}"""

# A knob, from its place to its last or first, and back.
_DRAG = _WATCH.replace(
    "MOVES",
    """(control) => {
  const box = control.type === 'checkbox';
  const most = control.type === 'range' ? Number(control.max) : control.options?.length - 1;
  const [first, last] = box ? [Number(control.checked), 1] : [Number(control.value), most];
  let [at, step] = [first, first < last ? 1 : -1];
  const put = (place) => {
    if (box) control.checked = place === 1;
    else control.value = String(place);
    control.dispatchEvent(new Event('input', { bubbles: true }));
  };
  const move = () => {
    if (at + step < 0 || at + step > last) step = -step;
    put(at += step);
  };
  return { move, seen: { attributes: true }, back: () => put(first) };
}""",
)

# The pointer over the picture: what follows it are paths, and the line at the numbers read.
_POINT = _WATCH.replace(
    "MOVES",
    """(target) => {
  const move = (i) => {
    const box = target.getBoundingClientRect();
    const place = { clientX: box.x + box.width * (0.5 + 0.35 * Math.sin(i / 20)),
      clientY: box.y + box.height * (0.6 + 0.2 * Math.cos(i / 20)) };
    const mouse = { ...place, bubbles: true, pointerType: 'mouse' };
    target.dispatchEvent(new PointerEvent('pointermove', mouse));
  };
  return { move, seen: { attributeFilter: ['d', 'x1'] } };
}""",
)
POINTER = "pointer"


class LiveCase(NamedTuple):
    """A knob in the bar of a figure on a page, and what must be there before it is moved.

    The knob `POINTER` is the pointer over the picture.
    """

    page: str
    knob: str
    figure: str  # the key of the component
    root: str = ".gbuq"
    ready: str = "true"


_SPIRAL = "spiral?methods=SGLB&methods=virtual+SGLB&methods=cSGLB"
_HEART = "heart?methods=SGB&methods=SGLB&methods=virtual+SGLB"
_NOISE = (
    "heteroscedastic?methods=MACAU+%28linear%29&methods=MACAU+%28basic%29&methods=Random+forest"
)
_NEAR = "globalThis.gbuqNear?.size > 2"
_COURSE, _SURFACE, _ROWS = "neighbours", "neighbours?data=Ripples", "neighbours?data=Diabetes"
_FUNCTIONS = "soft_trees?methods=VST&methods=SGLB&methods=Gaussian+process"
BEYOND = LiveCase("beyond", POINTER, "beyond", ".gbuq-curves")
LIVE = (
    BEYOND,
    *(
        LiveCase(_SPIRAL, knob, "spiral", ready=MEMBERS)
        for knob in ("step", "start", "burn_in", "shown", "flag", "log", "scale")
    ),
    *(
        LiveCase(_HEART, knob, "heart", ready=MEMBERS)
        for knob in ("step", "start", "shown", "unit", "log", "scale")
    ),
    *(
        LiveCase(_NOISE, knob, "heteroscedastic", ".gbuq-curves")
        for knob in ("level", "show_total", "conformal", "focus")
    ),
    *(
        LiveCase(_FUNCTIONS, knob, "soft_trees", ".gbuq-curves")
        for knob in ("shown", "draws", "show", "focus")
    ),
    *(
        LiveCase(page, knob, figure, root, _NEAR)
        for page, figure, root in (
            (_COURSE, "neighbours-course", ".gbuq-curves"),
            (_SURFACE, "neighbours-maps", ".gbuq"),
            (_ROWS, "neighbours-rows", ".gbuq-curves"),
        )
        for knob in ("k", "tau", "calibrate", "family", POINTER)
        if (page, knob) != (_ROWS, POINTER)  # dots lie apart: the picture does not change each time
    ),
)


def name_of(case: LiveCase) -> str:
    """The page's name."""
    return case.page.partition("?")[0]


def clock_of(page: Page) -> Callable[[], float]:
    """Seconds of the processor that the page's main thread has had, each time it is asked."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))

    return busy


def drag(page: Page, case: LiveCase) -> tuple[list[float], float]:
    """Milliseconds between two pictures while the knob moves, and of the processor for each.

    The processor's time is that of the page's main thread, which other programs do not lengthen.
    """
    figure = page.locator(f".st-key-{case.figure} {case.root}").first
    moves, control = _DRAG, figure.locator(f"[data-knob={case.knob}] :is(input, select)")
    if case.knob == POINTER:
        moves, control = _POINT, figure.locator("svg[role=img], .gbuq-panel").last
    control.scroll_into_view_if_needed()
    about = [figure.element_handle(), control.element_handle(), SECONDS]
    busy = clock_of(page)
    before = busy()
    times = page.evaluate(moves, about)
    spent = 1000.0 * (busy() - before) / max(1, len(times))
    return [later - earlier for earlier, later in pairwise(times)], spent


def row_of(case: LiveCase, gaps: list[float], spent: float) -> Row:
    """A line of the table."""
    what = f"{name_of(case)}: {case.knob}"
    if len(gaps) < 2:
        return Row(what, "no pictures", f"{BAR:g}", False, {"pictures": len(gaps)})
    median = 1000.0 / statistics.median(gaps)
    slow = 1000.0 / sorted(gaps)[int(0.95 * len(gaps))]
    measured = f"{median:.0f} pictures/s, slowest 5 % {slow:.0f}; {spent:.1f} ms of the processor"
    numbers = {"median": median, "slowest_5_percent": slow, "cpu_ms": spent, "pictures": len(gaps)}
    return Row(what, measured, f"{BAR:g}", median >= BAR, numbers)


def measure(page: Page, url: str, cases: list[LiveCase]) -> list[Row]:
    """A line for each knob; a page is opened once for all its knobs."""
    page.set_default_timeout(FIRST_MS)
    rows, last = [], ""
    for case in cases:
        if case.page != last:
            page.goto(f"{url}/{case.page}")
            wait_ready(page)
            page.wait_for_function(case.ready)
            show_every_control(page)
            last = case.page
        rows.append(row_of(case, *drag(page, case)))
    return rows


def main() -> None:
    """Print a table of all knobs."""
    names = list(dict.fromkeys(map(name_of, LIVE)))
    options = make_parser(__doc__.splitlines()[0], names).parse_args()
    cases = [case for case in LIVE if name_of(case) in options.only]
    with opened_app() as opened:
        rows = measure(opened.new_page(), opened.url, cases)
    report("Knobs that the browser follows while they are dragged", rows, options.json)


if __name__ == "__main__":
    main()
