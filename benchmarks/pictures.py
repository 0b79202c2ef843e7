"""Make the pictures of the pages: each as it opens in a window of a desktop.

README and the guides show them.
``python -m benchmarks.pictures`` writes all of them to ``demos/``; ``--only heart,spiral`` some.
``scaling`` is a chart of the numbers that `benchmarks.scaling` wrote. ``--thumbnails`` writes the
small pictures of the cards instead, light and dark.
"""

from __future__ import annotations

import argparse
import io
import json
import os
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page

from benchmarks.chromium import opened_app
from benchmarks.scaling import N_TREES, RESULTS, RIVALS
from tests.browser.conftest import wait_ready

FOLDER = Path(__file__).resolve().parents[1] / "demos"
THUMBNAILS = FOLDER.parent / "pages" / "_ui" / "thumbnails"
_SMALL = (480, 300)  # pixels: twice those of a card on a phone
# Maps without their bar, or curves.
_FIGURE = ":is(.gbuq-stage, .gbuq-curves svg[aria-label], .vega-embed) >> visible=true"

# The address of each page, by the picture's name.
ADDRESSES = {
    "home": "",
    "heart": "heart",
    "spiral": "spiral",
    "gaussians": "gaussians",
    "neighbours": "neighbours?data=ripples",
    "soft_trees": "soft_trees",
    "heteroscedastic": "heteroscedastic",
    "novelty": "novelty",
    "your_data": "your_data?table=diabetes",
    "two_clocks": "two_clocks",
    "beyond": "beyond",
    "own_points": "own_points",
    "scoreboard": "scoreboard",
}
_COLOURS = ("#0b6e99", "#b45309", "#6b7280")  # of `benchmarks.scaling.RIVALS`
_LONGEST_MS = 300_000  # the first fit of each kind compiles its kernels


def take(page: Page, address: str) -> bytes:
    """The page at an address as a PNG, once it is drawn."""
    page.goto(address)
    wait_ready(page)
    page.wait_for_timeout(2000)  # what is drawn after the run: maps, and chips that fold
    wait_ready(page)
    return packed(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))


def packed(picture: Image.Image) -> bytes:
    """A picture as a small PNG."""
    small = io.BytesIO()
    picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        small, "PNG", optimize=True
    )
    return small.getvalue()


def thumbnail(page: Page, address: str) -> bytes:
    """The first figure of the page at an address, small, on the page's own ground."""
    page.goto(address)
    wait_ready(page)
    figure = page.locator(_FIGURE).first
    figure.wait_for()
    page.wait_for_timeout(3000)
    figure.scroll_into_view_if_needed()
    whole = Image.open(io.BytesIO(figure.screenshot())).convert("RGB")
    whole.thumbnail(_SMALL, Image.Resampling.LANCZOS)
    ground = page.locator("[data-testid=stApp]").evaluate(
        "node => getComputedStyle(node).backgroundColor"
    )
    small = Image.new("RGB", _SMALL, ground)
    small.paste(whole, ((_SMALL[0] - whole.width) // 2, (_SMALL[1] - whole.height) // 2))
    written = io.BytesIO()
    small.save(written, "WEBP", quality=80, method=6)
    return written.getvalue()


def growth_chart(page: Page) -> bytes:
    """Seconds of a fit over rows, both axes in powers of ten, from `benchmarks.scaling`'s file."""
    import plotly.graph_objects as go

    drawn = go.Figure()
    results = list(json.loads(RESULTS.read_text("utf-8"))["results"].values())
    for who, colour in zip(RIVALS, _COLOURS, strict=True):
        for n_threads, dash in ((1, "dot"), (2, "solid")):
            wanted = {"who": who, "columns": 20, "threads": n_threads}
            points = sorted(
                (run["rows"], run["seconds"]) for run in results if wanted.items() <= run.items()
            )
            if not points:
                continue  # growth was measured with other numbers of threads
            name = "gbuq" if who == "ours" else who
            drawn.add_scatter(
                x=[n for n, _ in points],
                y=[seconds for _, seconds in points],
                name=f"{name}, {n_threads} thread" + "s" * (n_threads > 1),
                mode="lines+markers",
                line={"color": colour, "dash": dash},
            )
    drawn.update_layout(
        template="simple_white",
        width=760,
        height=420,
        font={"size": 15},
        xaxis={"type": "log", "title": f"rows (20 columns, {N_TREES} trees)", "dtick": 1},
        yaxis={"type": "log", "title": "seconds of a fit", "dtick": 1},
        margin={"l": 70, "r": 20, "t": 20, "b": 60},
    )
    page.set_content(drawn.to_html(include_plotlyjs=True, config={"staticPlot": True}))
    page.wait_for_selector(".legend")
    return packed(
        Image.open(io.BytesIO(page.locator(".svg-container").screenshot())).convert("RGB")
    )


def main() -> None:
    """Take the pictures that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = ",".join((*ADDRESSES, "scaling"))
    parser.add_argument("--only", default=names, help="names, with commas")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--thumbnails", action="store_true")
    args = parser.parse_args()
    out = args.out or (THUMBNAILS if args.thumbnails else FOLDER)
    os.environ["GBUQ_SEEDS"] = "asked"  # nothing else runs while a page is drawn
    with opened_app() as opened:
        for name in args.only.split(","):
            page = opened.new_page()
            page.set_default_timeout(_LONGEST_MS)
            if args.thumbnails:
                page.set_viewport_size({"width": 1100, "height": 900})
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    picture = thumbnail(page, f"{opened.url}/{ADDRESSES[name]}")
                    (out / f"{name}-{scheme}.webp").write_bytes(picture)
            else:
                address = f"{opened.url}/{ADDRESSES.get(name)}"
                picture = growth_chart(page) if name == "scaling" else take(page, address)
                (out / f"{name}.png").write_bytes(picture)
            print(f"{name}: {len(picture) / 1000:.0f} kB")
            page.close()


if __name__ == "__main__":
    main()
