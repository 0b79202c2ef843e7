"""What a reader meets on each page: controls, words, height, share of picture and maps.

``python -m benchmarks.first_screens`` starts the app, opens every page once, and gives it three
sizes, light and dark. A control is what can be pressed, moved or typed into and is seen before
scrolling; the navigation is left out, and so are labels of axes among the words. The picture is
the union of the boxes of what is drawn on the first screen, without the bars of the figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from playwright.sync_api import Page

from benchmarks.chromium import opened_app
from benchmarks.report import Row, make_parser, report
from tests.browser.conftest import show_as, wait_ready

SIZES = ((1440, 900), (960, 600), (390, 844))
Look = tuple[tuple[int, int], str]  # a size and a scheme
LOOKS: list[Look] = [(size, scheme) for scheme in ("light", "dark") for size in SIZES]
MOST_CONTROLS, MOST_WORDS, MOST_PIXELS, MOST_MAPS = 9, 180, 1550, 2
LEAST_PICTURE = {1440: 0.52, 960: 0.45, 390: 0.42}  # by the window's width
START, LEAST_AT_START = "", {1440: 0.45}  # which leaves room for a file
FOUR_MAPS = "gaussians"  # its four samplers are compared
PICTURES = (
    "heart", "spiral", "gaussians", "heteroscedastic", "soft_trees", "neighbours", "novelty",
    "two_clocks", "beyond", "own_points",
)  # fmt: skip
OTHERS = (START, "your_data", "explore", "lessons", "scoreboard")
OPENED = ("your_data?table=diabetes", "lessons?lesson=Heart")
ADDRESSES = (*OTHERS, *PICTURES, *OPENED)

_LOOK = """() => {
  const everything = [];
  const gather = (root) => {
    for (const node of root.querySelectorAll('*')) {
      everything.push(node);
      if (node.shadowRoot) gather(node.shadowRoot);
    }
  };
  const main = document.querySelector('[data-testid=stMain]');
  gather(main);
  gather(document.querySelector('[data-testid=stSidebar]') ?? document.createElement('div'));
  const seen = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const box = (node) => node.getBoundingClientRect();
  const onScreen = (node) => {
    const { left, right, top, bottom, width, height } = box(node);
    const across = width > 0 && left < innerWidth && right > 0;
    return across && height > 0 && top < innerHeight && bottom > 0;
  };
  const hit = (node) => {
    const { left, right, top, bottom } = box(node);
    const [x, y] = [(Math.max(left, 0) + Math.min(right, innerWidth)) / 2, (top + bottom) / 2];
    let found = document.elementFromPoint(x, Math.min(y, innerHeight - 1));
    while (found?.shadowRoot?.elementFromPoint) {
      const inner = found.shadowRoot.elementFromPoint(x, Math.min(y, innerHeight - 1));
      if (!inner || inner === found) break;
      found = inner;
    }
    for (let at = found; at; at = at.parentNode ?? at.host) if (at === node) return true;
    return Boolean(found && node.contains(found));
  };
  const CONTROLS = 'button, input, select, textarea, summary, a[href], [role=slider], '
    + '[role=combobox], [role=switch]';
  const there = (node) => seen(node) && onScreen(node);
  const controls = everything.filter((node) => (
    node.matches(CONTROLS) && there(node) && !node.disabled && hit(node)
    && !node.matches('[data-testid=stSelectbox] button')));  // its arrow opens the same list
  const outermost = controls.filter((node) => (
    !controls.some((other) => other !== node && other.contains(node))));
  const WORDLESS = 'style, script, svg, option, [data-testid=stIconMaterial]';
  const words = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      words.push(...node.textContent.split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word)));
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(WORDLESS)) return;
    if (!seen(node) && getComputedStyle(node).display !== 'contents') return;
    for (const child of (node.shadowRoot ?? node).childNodes) walk(child);
  };
  walk(main);
  const cell = 6;
  const covered = new Set();
  const FIGURES = '.gbuq-stage, .gbuq-curves svg[aria-label], .vega-embed, .js-plotly-plot';
  for (const figure of everything.filter((node) => node.matches(FIGURES) && seen(node))) {
    const { left, right, top, bottom } = box(figure);
    for (let x = Math.max(0, left); x < Math.min(right, innerWidth); x += cell) {
      for (let y = Math.max(0, top); y < Math.min(bottom, innerHeight); y += cell) {
        covered.add(`${Math.floor(x / cell)},${Math.floor(y / cell)}`);
      }
    }
  }
  const track = (node) => node.closest('.gbuq-track');
  const panels = everything.filter((node) => node.matches('.gbuq-panel') && seen(node));
  const maps = panels.filter((node) => {
    if (!track(node)) return true;
    const [inner, outer] = [box(node), box(track(node))];
    return inner.left < outer.right - 4 && inner.right > outer.left + 4;
  });
  return {
    controls: outermost.map((node) => (
      node.getAttribute('aria-label') || node.innerText || node.type || node.tagName
    ).trim().replace(/\\s+/g, ' ')),
    words: words.length, said: words.join(" "),
    height: Math.round(document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight),
    picture: (covered.size * cell * cell) / (innerWidth * innerHeight),
    maps: maps.length, width: innerWidth,
  };
}"""


def first_screens(
    page: Page, looks: Iterable[Look] = LOOKS
) -> Iterator[tuple[str, dict[str, Any]]]:
    """What stands on an open page in each of these sizes and schemes, with a name of both."""
    for size, scheme in looks:
        show_as(page, size, scheme)
        yield f"{size[0]} x {size[1]}, {scheme}", page.evaluate(_LOOK)


def beyond_bars(address: str, counts: dict[str, Any]) -> list[str]:
    """What is more, or less, than may stand on a page."""
    most_maps = 4 if address == FOUR_MAPS else MOST_MAPS
    most = {"words": MOST_WORDS, "height": MOST_PIXELS, "maps": most_maps}
    beyond = [f"{counts[what]} {what}" for what, most in most.items() if counts[what] > most]
    if len(counts["controls"]) > MOST_CONTROLS:
        beyond.append(f"controls: {', '.join(counts['controls'])}")
    least = LEAST_PICTURE if address in PICTURES else LEAST_AT_START if address == START else {}
    if counts["picture"] < least.get(counts["width"], 0.0):
        beyond.append(f"{100 * counts['picture']:.0f} % picture")
    return beyond


def main() -> None:
    """Open all pages and print what stands on them."""
    options = make_parser(__doc__.splitlines()[0], list(ADDRESSES)).parse_args()
    rows: list[Row] = []
    with opened_app(GBUQ_SEEDS="asked") as app:
        for address in options.only:
            page = app.new_page()
            page.set_default_timeout(240_000)
            page.goto(f"{app.url}/{address}")
            wait_ready(page)
            for where, counts in first_screens(page):
                beyond = "; ".join(beyond_bars(address, counts))
                words = (
                    f"{len(counts['controls'])} controls, {counts['words']} words, "
                    f"{counts['height']} px, {100 * counts['picture']:.0f} % picture, "
                    f"{counts['maps']} maps"
                )
                rows.append(Row(f"/{address} at {where}", words, beyond, not beyond, counts))
            page.close()
    report("What stands on the first screen", rows, options.json)


if __name__ == "__main__":
    main()
