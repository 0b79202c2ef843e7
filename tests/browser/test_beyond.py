"""Beyond the rows in Chromium: the end of the rows moves the bands, a link restores it, phones."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import (
    assert_no_exception,
    screenshot,
    wait_ready,
)
from tests.browser.first_screen import opening_screens
from tests.browser.test_heteroscedastic import wait_until_another

APP = Path(__file__).resolve().parents[2] / "app.py"
COLD = 240_000  # ms: kernels may have to be compiled first, on a machine that does other things too
ROOT = ".st-key-beyond-bands .gbuq-curves"


def open_page(page, url, query=""):
    page.goto(f"{url}/beyond?{query}")
    root = page.locator(ROOT).first
    root.wait_for(timeout=COLD)
    wait_ready(page)
    return root


def test_the_end_of_the_rows_moves_the_bands_and_back_undoes_it(page, serve):
    root = open_page(page, serve(APP))
    before = root.evaluate("node => node.querySelector('svg[tabindex]').innerHTML")
    page.get_by_role("slider", name="Rows end at x =").press("Home")
    page.wait_for_url(re.compile(r"edge=4.5"), timeout=COLD)
    wait_until_another(page, root, before)
    wait_ready(page)
    page.reload()
    wait_ready(page)
    expect(page.get_by_role("slider", name="Rows end at x =")).to_have_value("4.5")
    page.go_back()
    page.wait_for_url(re.compile(r"^((?!edge=).)*$"))
    wait_ready(page)
    expect(page.get_by_role("slider", name="Rows end at x =")).to_have_value("6")
    assert_no_exception(page)


def test_it_fits_every_screen_and_is_accessible(page, serve):
    open_page(page, serve(APP))
    for (width, _), scheme in opening_screens(page, "beyond"):
        screenshot(page, f"beyond-{width}-{scheme}")
