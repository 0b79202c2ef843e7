"""The site of the documentation in Chromium: on a desk and on a phone, in light and in dark."""

import functools
import gzip
import http.server
import json
import threading
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, PHONE, screenshot

_MOST = 1.5e6  # bytes of a page of Play, compressed
# Whether each figure of a page is drawn, the folded ones, too.
_DRAWN = """() => [...document.querySelectorAll('.figure')].every(figure =>
  figure.querySelector('canvas, svg'))"""
# What a knob changes: the count of a canvas' pictures, or the drawn lines.
_LOOK = """() => [...document.querySelectorAll('[data-draws]')].map(one => one.dataset.draws).join()
  + [...document.querySelectorAll('.figure svg')].map(one => one.innerHTML).join()"""
_KNOB = ".figure :is(input[type=range], input[type=checkbox]) >> visible=true"

_FITS = "(width) => document.documentElement.scrollWidth <= width"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def address(site):
    serving = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def paths(site):
    return sorted(path.relative_to(site).as_posix() for path in Path(site).rglob("*.html"))


@pytest.mark.slow
def test_every_page_fits_a_desk_and_a_phone_and_asks_no_other_server(page, site, address):
    """Both widths on each page; of the schemes, which one script sets on all pages, one by turns.

    A page begins in the window in which the page before ended, as a change of size takes longer
    than the page.
    """
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    # Each page would fetch and read a megabyte of words that nobody looks for in it.
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    no_words = {**index, "docs": []}
    page.route("**/search_index.json", lambda route: route.fulfill(json=no_words))
    shown = [path for path in paths(site) if path != "404.html" and not path.startswith("play/")]
    assert len(shown) > 30
    windows, schemes = [DESKTOP, PHONE], [("light", "default"), ("dark", "slate")]
    for number, path in enumerate(shown):
        scheme, named = schemes[number // 2 % 2]
        page.emulate_media(color_scheme=scheme)
        page.goto(f"{address}/{path}")
        page.locator(f"body[data-md-color-scheme={named}]").wait_for()
        for width, height in windows:
            page.set_viewport_size({"width": width, "height": height})
            # The drawer of a phone moves out of the window after the change of size.
            page.wait_for_function(_FITS, arg=width, timeout=30_000)
            screenshot(page, f"docs-{path.replace('/', '-')}-{width}")
        windows.reverse()
    assert any(url.endswith("search_index.json") for url in asked)
    strangers = {url for url in asked if not url.startswith((address, "data:", "blob:"))}
    assert strangers == set()


def test_an_open_page_takes_the_other_scheme(page, address):
    page.goto(f"{address}/methods/sglb.html")
    for scheme, named in (("light", "default"), ("dark", "slate"), ("light", "default")):
        page.emulate_media(color_scheme=scheme)
        page.locator(f"body[data-md-color-scheme={named}]").wait_for()


def test_formulas_have_the_colour_and_the_size_of_the_text(page, address):
    page.goto(f"{address}/methods/sglb.html")
    formulas = page.locator("svg[role=img][aria-label]")
    assert formulas.count() > 5
    text = page.locator("article p").first
    wanted = text.evaluate("node => getComputedStyle(node).color")
    for number in range(formulas.count()):
        formula = formulas.nth(number)
        assert formula.bounding_box()["height"] >= 5  # an epsilon is this high
        path = formula.locator("path, use, rect").first
        assert path.evaluate("node => getComputedStyle(node).fill") == wanted


def test_the_search_finds_a_word_without_a_network(page, address):
    page.goto(f"{address}/index.html")
    page.get_by_placeholder("Search").first.fill("truncation")
    first = page.locator(".md-search-result__link").first
    first.wait_for()
    first.click()
    page.wait_for_url(lambda url: "/index.html" not in url)
    assert page.locator("article").inner_text().lower().count("truncation") >= 1


# Pages whose knobs fit: they are in the app, and here values are read.
_READ = {"beyond": "truth", "own_points": "SGLB"}


@pytest.mark.slow
def test_play_opens_from_a_file_and_answers_the_hand(page, site):
    """Each page, as somebody who was sent the file opens it: nothing is fetched."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    opened = sorted((site / "play").glob("*/index.html"))
    assert len(opened) > 15
    for path in opened:
        name = path.parent.name
        assert len(gzip.compress(path.read_bytes())) < _MOST, name
        page.goto(path.as_uri())
        page.wait_for_function(_DRAWN)
        assert page.locator("meta[property='og:image']").get_attribute("content") == "preview.webp"
        assert (path.parent / "preview.webp").stat().st_size < 40_000
        if name.startswith("learn_"):
            continue  # its knobs wait for an answer
        if read := _READ.get(name):
            page.locator(".figure svg[tabindex]").first.press("ArrowRight")
            expect(page.locator(".gbuq-curves-readout").first).to_contain_text(read)
            continue
        before, knob = page.evaluate(_LOOK), page.locator(_KNOB).first
        lowest = knob.evaluate("knob => knob.value === knob.min")
        switch = knob.get_attribute("type") == "checkbox"
        knob.press("Space" if switch else "End" if lowest else "Home")
        page.wait_for_function(f"before => ({_LOOK})() !== before", arg=before, timeout=20_000)
        screenshot(page, f"play-{name}")
    assert {url for url in asked if not url.startswith(("file:", "data:", "blob:"))} == set()


def test_play_is_shared_by_its_address(page, address):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{address}/index.html")
    page.get_by_role("link", name="Does the model know where it has seen nothing?").first.click()
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("status").first).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()").endswith("/play/heart/index.html")
    page.get_by_role("link", name="All pictures").click()
    page.get_by_role("heading", name="See what a tree ensemble does not know").wait_for()
