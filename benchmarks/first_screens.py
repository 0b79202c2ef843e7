"""What a reader meets on each page: controls, words, height, share of picture and maps.

``python -m benchmarks.first_screens`` starts the app and opens every page in three sizes, light and
dark. A control is what can be pressed, moved or typed into and is seen before scrolling; the
navigation is left out, and so are labels of axes among the words. The picture is the union of the
figures' boxes on the first screen.
"""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from benchmarks.chromium import opened_app
from benchmarks.report import Row, make_parser, report
from tests.browser.conftest import wait_ready

SIZES = ((1440, 900), (960, 600), (390, 844))
MOST_CONTROLS, MOST_WORDS, MOST_PIXELS, LEAST_PICTURE, MOST_MAPS = 9, 180, 1500, 0.5, 2
FOUR_MAPS = ("gaussians",)  # its four samplers are compared
EXPERIMENTS = (
    "heart", "spiral", "gaussians", "heteroscedastic", "soft_trees", "neighbours", "novelty",
    "two_clocks",
)  # fmt: skip
TABLE = "your_data?table=diabetes"
PAGES = ("home", "explore", *EXPERIMENTS, "your_data", TABLE, "scoreboard", "lessons")

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
    node.matches(CONTROLS) && there(node) && !node.disabled && hit(node)));
  const outermost = controls.filter((node) => (
    !controls.some((other) => other !== node && other.contains(node))));
  const WORDLESS = 'style, script, svg, option, [data-testid=stIconMaterial]';
  const words = [];
  const walk = (node) => {
    if (node.nodeType === Node.TEXT_NODE) {
      words.push(...node.textContent.split(/\\s+/).filter((word) => /[\\p{L}\\p{N}]/u.test(word)));
      return;
    }
    if (node.nodeType !== Node.ELEMENT_NODE || node.matches(WORDLESS) || !seen(node)) return;
    for (const child of (node.shadowRoot ?? node).childNodes) walk(child);
  };
  walk(main);
  const cell = 6;
  const covered = new Set();
  const FIGURES = '.gbuq, .gbuq-curves, .vega-embed, .js-plotly-plot';
  for (const figure of everything.filter((node) => node.matches(FIGURES) && seen(node))) {
    const { left, right, top, bottom } = box(figure);
    for (let x = Math.max(0, left); x < Math.min(right, innerWidth); x += cell) {
      for (let y = Math.max(0, top); y < Math.min(bottom, innerHeight); y += cell) {
        covered.add(`${Math.floor(x / cell)},${Math.floor(y / cell)}`);
      }
    }
  }
  const track = (node) => node.closest('.gbuq-track');
  const panels = everything.filter((node) => node.matches('.gbuq-panel') && there(node));
  const maps = panels.filter((node) => {
    if (!track(node)) return true;
    const [inner, outer] = [box(node), box(track(node))];
    return inner.left < outer.right - 4 && inner.right > outer.left + 4;
  });
  return {
    controls: outermost.length,
    words: words.length,
    height: Math.round(document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight),
    picture: (covered.size * cell * cell) / (innerWidth * innerHeight),
    maps: maps.length,
  };
}"""


def rows_of(name: str, size: tuple[int, int], found: dict[str, Any]) -> list[Row]:
    """A page's figures in one size beside what they should be."""
    most_maps = 4 if name in FOUR_MAPS else MOST_MAPS
    bars: list[tuple[str, Any, str, bool]] = [
        ("controls on the first screen", found["controls"], f"<= {MOST_CONTROLS}",
         found["controls"] <= MOST_CONTROLS),
        ("words", found["words"], f"<= {MOST_WORDS}", found["words"] <= MOST_WORDS),
        ("height", found["height"], f"<= {MOST_PIXELS} px", found["height"] <= MOST_PIXELS),
        ("maps", found["maps"], f"<= {most_maps}", found["maps"] <= most_maps),
    ]  # fmt: skip
    if name in EXPERIMENTS:
        share = found["picture"]
        bars.append(("picture", f"{100 * share:.0f} %", ">= 50 %", share >= LEAST_PICTURE))
    where = f"/{name} at {size[0]} x {size[1]}"
    return [Row(f"{where}, {what}", str(got), bar, met, found) for what, got, bar, met in bars]


def main() -> None:
    """Open all pages in all sizes and print what stands on them."""
    options = make_parser(__doc__.splitlines()[0], list(PAGES)).parse_args()
    rows: list[Row] = []
    with opened_app() as app:
        page = app.new_page()
        page.set_default_timeout(240_000)
        for name in options.only:
            for i, (width, height) in enumerate(SIZES):
                page.emulate_media(color_scheme="dark" if i == 1 else "light")
                page.set_viewport_size({"width": width, "height": height})
                page.goto(f"{app.url}/{'' if name == 'home' else name}")
                wait_ready(page)
                expect(page.locator("[data-testid=stProgress]")).to_have_count(0, timeout=240_000)
                page.wait_for_timeout(2000)
                rows += rows_of(name, (width, height), page.evaluate(_LOOK))
    report("What stands on the first screen", rows, options.json)


if __name__ == "__main__":
    main()
