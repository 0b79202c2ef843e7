"""Slider to picture in Chromium: how long after a key press the new picture is on screen.

``python -m benchmarks.latency`` starts the app and, for each line of `CONTROLS`, focuses a control,
presses an arrow key and waits in the browser for the picture to change. The time includes the
frame in which the change is painted and runs from the key event itself, so that only the browser,
the socket and the server are in it. Knobs of a picture's own bar are measured by `live_knobs`.
Medians are printed; ``--json`` writes them.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Page

from benchmarks.chromium import opened_app, show_every_control
from benchmarks.report import Row, report
from tests.browser.conftest import wait_ready

FIRST_MS = 180_000  # until all of a page's fits have ended, its seeds among them

# The drawn paths of a figure of curves.
CURVES = """(key) => [...document.querySelectorAll(`.st-key-${key} *`)]
    .flatMap(node => [...node.shadowRoot?.querySelectorAll('.gbuq-curves [role=img] path') ?? []])
    .map(path => path.getAttribute('d')).join('')"""

# What a canvas figure says about its data.
CANVAS = """(key) => [...document.querySelectorAll(`.st-key-${key} *`)]
    .map(node => node.shadowRoot?.querySelector('.gbuq')?.dataset.digest ?? '').join('')"""

# Asked only when a figure changes: asking in every frame would cost the page what is measured.
WATCH = """([signature, key]) => {
  const read = () => { try { return eval(signature)(key); } catch { return ''; } };
  window.gbuqLatency = null;
  const before = read();
  const found = [...document.querySelectorAll(`.st-key-${key} *`)].filter(node => node.shadowRoot);
  document.addEventListener('keydown', (event) => {
    const start = event.timeStamp;
    const stop = () => { observer.disconnect(); clearInterval(remounted); };
    const look = () => {
      const now = read();
      if (!now || now === before || window.gbuqLatency !== null) return;
      stop();
      // A message posted at a frame's start is read right after that frame has been painted.
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { window.gbuqLatency = performance.now() - start; };
      requestAnimationFrame(() => port2.postMessage(''));
    };
    const observer = new MutationObserver(look);
    const all = {subtree: true, childList: true, attributes: true};
    for (const node of found) observer.observe(node.shadowRoot, all);
    const remounted = setInterval(look, 100);  // a figure that is made anew has another root
  }, {once: true, capture: true});
}"""


class Control(NamedTuple):
    """One control and the picture that answers it."""

    page: str
    name: str
    widget: str  # selector of what takes the arrow keys
    signature: str  # JavaScript: (key) => text that changes with the picture
    key: str
    budget_ms: float
    # Of several keys in one press only the last counts: the others open and move a list.
    presses: tuple[str, ...] = ("ArrowLeft", "ArrowLeft", "ArrowRight", "ArrowRight")


def slider(key: str) -> str:
    """What takes the arrow keys of a slider."""
    return f".st-key-{key} input[type=range], .st-key-{key} [role=slider]"


def radio(key: str) -> str:
    """What takes the arrow keys of a few choices side by side."""
    return f".st-key-{key} input[type=radio]:checked"


def live(key: str) -> str:
    """What takes the keys of a knob in a picture's own bar."""
    return f"[data-knob={key}] :is(input, select)"


SOFT = "soft_trees"
CLOCKS = "two_clocks"
DIAL = f".st-key-{CLOCKS} input[type=range] >> nth=1"
FACTOR = f".st-key-{CLOCKS} input[type=checkbox]"
TABLE = "/your_data?ensemble=virtual"
HETERO, MAPS = "heteroscedastic", "novelty"
MOVES = ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft")

CONTROLS = (
    Control("/", "rows (refit)", slider("rows"), CURVES, "wave", 150.0),
    Control(TABLE, "K (nothing refitted)", slider("step"), CURVES, "row-map", 200.0),
    Control(TABLE, "start (nothing refitted)", slider("start"), CURVES, "row-map", 200.0),
    Control("/soft_trees", "seed of the draws", slider("draw_seed"), CURVES, SOFT, 200.0, MOVES),
    Control("/soft_trees", "functions drawn", live("shown"), CURVES, SOFT, 200.0),
    Control(
        "/soft_trees?methods=VST&shown=100&draw_seed=3",
        "seed, 100 functions",
        slider("draw_seed"),
        CURVES,
        SOFT,
        200.0,
    ),
    Control(
        "/soft_trees",
        "draw of the tree",
        slider("draw"),
        CANVAS,
        "soft_trees-inside-1",
        200.0,
        MOVES,
    ),
    Control("/heteroscedastic", "foreign rows from", slider("left_from"), CURVES, HETERO, 200.0),
    Control("/heteroscedastic", "level of the bands", live("level"), CURVES, HETERO, 200.0),
    Control("/heteroscedastic", "total", live("show_total"), CURVES, HETERO, 150.0, ("Space",)),
    Control("/heteroscedastic", "conformal", live("conformal"), CURVES, HETERO, 200.0, ("Space",)),
    Control("/novelty", "leaves drawn", slider("drawn"), CANVAS, MAPS, 200.0),
    Control(
        "/novelty",
        "place looked at",
        ".st-key-column input",
        CANVAS,
        MAPS,
        200.0,
        ("ArrowUp", "ArrowUp", "ArrowDown", "ArrowDown"),
    ),
    Control("/two_clocks", "tails", radio("tails"), CURVES, CLOCKS, 300.0, MOVES),
    Control("/two_clocks", "trees for the scale", DIAL, CURVES, CLOCKS, 100.0, MOVES),
    Control("/two_clocks?model=kNN", "factor of kNN", FACTOR, CURVES, CLOCKS, 100.0, ("Space",)),
    # Seeds go one way only, so that every press trains 10 + 1 models of 1000 trees anew.
    Control(
        "/heart", "seed (11 x 1000 trees)", slider("seed"), CANVAS, "heart", 600.0, ("ArrowRight",)
    ),
)


def measure(page: Page, url: str, control: Control, repeats: int) -> list[float]:
    """Milliseconds of each press, after two that warm up."""
    page.set_default_timeout(FIRST_MS)
    page.goto(url + control.page)
    wait_ready(page)
    page.wait_for_function(f"({control.signature})('{control.key}')")
    show_every_control(page)
    page.locator(control.widget).first.focus()
    times = []
    for press in range(repeats + 2):
        page.wait_for_timeout(600)  # let the last rerun end
        *before, last = control.presses[press % len(control.presses)].split()
        for key in before:
            page.keyboard.press(key)
        page.evaluate(WATCH, [control.signature, control.key])
        page.keyboard.press(last)
        page.wait_for_function("window.gbuqLatency !== null")
        times.append(page.evaluate("window.gbuqLatency"))
    return times[2:]


def main() -> None:
    """Measure every control and print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--page", default="", help="only controls whose page holds this text")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    arguments = parser.parse_args()
    rows = []
    with opened_app() as opened:
        for control in (each for each in CONTROLS if arguments.page in each.page):
            page = opened.new_page()
            times = measure(page, opened.url, control, arguments.repeats)
            page.close()
            median = statistics.median(times)
            rows.append(
                Row(
                    what=f"{control.page} {control.name}",
                    measured=f"{median:.0f} ms (slowest {max(times):.0f})",
                    bar=f"{control.budget_ms:.0f} ms",
                    met=median <= control.budget_ms,
                    numbers={"median_ms": median, "times_ms": times},
                )
            )
    report("Key press to new picture", rows, arguments.json)


if __name__ == "__main__":
    main()
