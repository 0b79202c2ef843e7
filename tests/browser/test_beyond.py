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
ROOT = ".st-key-beyond .gbuq-curves"


def open_page(page, url, query=""):
    page.goto(f"{url}/beyond?{query}")
    root = page.locator(ROOT).first
    root.wait_for(timeout=COLD)
    wait_ready(page)
    return root


def drawn(page, edge):
    return page.locator(f"{ROOT} svg[aria-label^='150 training rows lie between 0 and {edge},']")


def test_the_end_of_the_rows_is_dragged_in_the_picture_or_moved_by_its_slider(page, serve):
    root = open_page(page, serve(APP))
    bare, answer = page.url, page.locator(".st-key-first-verdict")
    top = root.bounding_box()["y"]
    ball = page.locator(f"{ROOT} .grip circle").first.bounding_box()
    plot = page.locator(f"{ROOT} .grip rect").first.bounding_box()
    x, y = ball["x"] + ball["width"] / 2, plot["y"] + plot["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 30, y, steps=3)
    page.mouse.move(x - 400, y, steps=8)  # no row may lie left of 4.5
    drawn(page, "4.5").wait_for(timeout=COLD)
    expect(answer).to_contain_text("with trees alone; the law follows.")
    assert page.url == bare
    assert root.bounding_box()["y"] == top
    page.mouse.up()
    page.wait_for_url(re.compile(r"edge=4.5"), timeout=COLD)
    expect(answer).to_contain_text("with the law and", timeout=COLD)
    wait_ready(page)
    assert root.bounding_box()["y"] == top
    root.locator("svg[tabindex]").focus()
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_url(re.compile(r"edge=4.6"), timeout=COLD)
    drawn(page, "4.6").wait_for()
    wait_ready(page)
    for _ in range(2):
        page.go_back()
        wait_ready(page)
    assert page.url == bare
    drawn(page, "6").wait_for()
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
