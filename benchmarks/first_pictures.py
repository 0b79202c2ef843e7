"""How long a reader waits for a page's first picture, on a server that others have used.

``python -m benchmarks.first_pictures`` starts the app, opens every page once, and then each of them
in new windows with a session of their own. The time runs from the navigation to the frame in which
the picture is there. What other sessions have fitted is shared, as it is among readers.

``--only cold`` opens one page each on a new server with an empty cache of kernels, as soon as the
server answers.
"""

from __future__ import annotations

import statistics
import tempfile

from benchmarks.chromium import Opened, opened_app
from benchmarks.latency import CANVAS, CURVES, FIRST_MS
from benchmarks.report import Row, make_parser, report
from tests.browser.conftest import wait_ready

BAR_MS = 1500.0
COLD_BAR_MS = 15_000.0
COLD = ("/", "/heart")
REPEATS = 5
# Page, the picture's signature as in `latency`, and its key.
PICTURES = (
    ("/", CURVES, "wave"),
    ("/heart", CANVAS, "heart"),
    ("/spiral", CANVAS, "spiral"),
    ("/gaussians", CANVAS, "gaussians"),
    ("/heteroscedastic", CURVES, "heteroscedastic-panels"),
    ("/soft_trees", CURVES, "soft-trees-functions"),
    ("/neighbours", CURVES, "neighbours-course"),
    ("/novelty", CANVAS, "novelty-maps"),
    ("/two_clocks", CURVES, "two-clocks-band"),
)

_WATCH = """([signature, key]) => {
  window.gbuqFirst = null;
  const look = () => {
    let shown = '';
    try { shown = eval(signature)(key); } catch { shown = ''; }
    if (shown) requestAnimationFrame(() => { window.gbuqFirst = performance.now(); });
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


def first_ms(app: Opened, path: str, signature: str, key: str) -> float:
    """Milliseconds from the navigation to the picture, in a window of its own."""
    page = app.new_page()
    page.set_default_timeout(FIRST_MS)
    arguments = f"[{signature!r}, {key!r}]".replace("\\n", " ")
    page.add_init_script(f"({_WATCH})({arguments})")
    page.goto(app.url + path)
    page.wait_for_function("window.gbuqFirst")
    taken = float(page.evaluate("window.gbuqFirst"))
    wait_ready(page)
    page.close()
    return taken


def cold_rows() -> list[Row]:
    """The first picture of a page on a server that compiles its kernels."""
    rows = []
    for path, signature, key in PICTURES:
        if path not in COLD:
            continue
        with tempfile.TemporaryDirectory() as place, opened_app(NUMBA_CACHE_DIR=place) as app:
            taken = first_ms(app, path, signature, key)
        rows.append(Row(
            f"{path} first picture, empty cache", f"{taken:.0f} ms", f"{COLD_BAR_MS:.0f} ms",
            taken <= COLD_BAR_MS, {"milliseconds": taken},
        ))  # fmt: skip
    return rows


def main() -> None:
    """Open all pages and print the medians."""
    names = [path for path, _, _ in PICTURES]
    options = make_parser(__doc__.splitlines()[0], [*names, "cold"], names).parse_args()
    if "cold" in options.only:
        report("First pictures on a new server", cold_rows(), None)
    chosen = [one for one in PICTURES if one[0] in options.only]
    if not chosen:
        return
    rows = []
    with opened_app() as app:
        for path, signature, key in chosen:
            first_ms(app, path, signature, key)
        for path, signature, key in chosen:
            taken = [first_ms(app, path, signature, key) for _ in range(REPEATS)]
            median = statistics.median(taken)
            rows.append(Row(
                f"{path} first picture",
                f"{median:.0f} ms (largest {max(taken):.0f})", f"{BAR_MS:.0f} ms",
                median <= BAR_MS, {"milliseconds": taken},
            ))  # fmt: skip
    report("First pictures on a warm server", rows, options.json)


if __name__ == "__main__":
    main()
