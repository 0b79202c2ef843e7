"""The site of the documentation in Chromium: on a desk and on a phone, in light and in dark."""

import functools
import http.server
import threading
from pathlib import Path

import pytest
from site_parts import build_site

from tests.browser.conftest import DESKTOP, PHONE, screenshot

_FITS = "(width) => document.documentElement.scrollWidth <= width"


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    return build_site(tmp_path_factory.mktemp("site"))


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
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    shown = [path for path in paths(site) if path != "404.html"]
    assert len(shown) > 30
    for path in shown:
        page.goto(f"{address}/{path}")
        for (width, height), scheme in ((DESKTOP, "light"), (PHONE, "dark")):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme=scheme)
            # The drawer of a phone moves out of the window after the change of size.
            page.wait_for_function(_FITS, arg=width, timeout=30_000)
            named = {"light": "default", "dark": "slate"}[scheme]
            page.locator(f"body[data-md-color-scheme={named}]").wait_for()
            screenshot(page, f"docs-{path.replace('/', '-')}-{width}")
    strangers = {url for url in asked if not url.startswith((address, "data:", "blob:"))}
    assert strangers == set()


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
