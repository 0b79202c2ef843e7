"""Soft trees in Chromium: points placed by clicks, a link, the tree played, phones, themes."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import (
    PHONE,
    assert_accessible,
    assert_no_exception,
    screens,
    screenshot,
    wait_ready,
)
from tests.browser.figure import Figure

APP = Path(__file__).resolve().parents[2] / "app.py"
# Small enough for a busy machine.
QUICK = "rows=50&steps=200&depth=2&methods=VST"
OWN = QUICK + "&data=Own+points&points=-2_0~-1_1~0_0.5~1_-1~2_0"
COLD = 180_000  # ms: kernels may have to be compiled first, on a machine that does other things too
PICTURE = ".st-key-soft_trees .gbuq-curves svg[tabindex]"


def open_soft_trees(page, url, query=QUICK):
    page.goto(f"{url}/soft_trees?{query}")
    page.get_by_text("Agreement where there are rows").wait_for(state="attached", timeout=COLD)
    wait_ready(page)
    return page.locator(PICTURE).first


def test_a_click_places_a_point_a_drag_moves_it_and_another_click_takes_it_away(page, serve):
    picture = open_soft_trees(page, serve(APP), OWN)
    box = picture.bounding_box()
    at = box["x"] + 0.6 * box["width"], box["y"] + 90
    page.mouse.click(*at)
    page.get_by_text("6 points.").wait_for()
    page.wait_for_url(re.compile(r"points=.*~2_0~0\.\d+_1\.\d+(&|$)"))
    wait_ready(page)
    assert picture.bounding_box()["y"] == box["y"]  # the next click means the same place
    # A point is dragged, and what is trained on it follows; the address waits until it is let go.
    clicked = page.url
    before = picture.locator(".panel").first.inner_html()
    page.mouse.move(*at)
    page.mouse.down()
    at = at[0] + 60, at[1] + 40
    page.mouse.move(*at, steps=5)
    page.wait_for_function(
        "([node, before]) => node.querySelector('.panel').innerHTML !== before",
        arg=[picture.element_handle(), before],
    )
    assert page.url == clicked
    page.mouse.up()
    page.wait_for_url(lambda address: address != clicked)
    page.get_by_text("6 points.").wait_for()
    wait_ready(page)
    page.mouse.click(*at)
    page.get_by_text("5 points.").wait_for()
    wait_ready(page)
    # Clicks that come faster than the page are all kept.
    box = picture.bounding_box()
    for share in (0.3, 0.5, 0.7):
        page.mouse.click(box["x"] + share * box["width"], box["y"] + 90)
    page.get_by_text("8 points.").wait_for()
    assert_no_exception(page)


def test_every_panel_is_read_at_once_the_tree_plays_and_nothing_overflows(page, serve):
    picture = open_soft_trees(page, serve(APP), QUICK + "&methods=Gaussian+process")
    picture.focus()
    page.keyboard.press("Home")
    readout = page.locator(".st-key-soft_trees .gbuq-curves-readout")
    expected = re.compile(r"x \u22122\.2.*truth.*VST .* \u00b1 .*Gaussian process .* \u00b1 ")
    expect(readout).to_have_text(expected)
    page.keyboard.press("Escape")
    tree = page.locator(".st-key-soft_trees-inside-1 .gbuq")
    figure = Figure(page)
    last = figure.frame()
    assert last > 5
    tree.get_by_label("Speed").select_option("0.25")  # it must not end before it is looked at
    tree.get_by_role("button", name=re.compile("play", re.IGNORECASE)).first.click()
    figure.wait_for("Number(node.dataset.frame) < x", last)
    for window, scheme in screens(page):
        assert_accessible(page)
        box = picture.bounding_box()
        assert box["y"] + box["height"] < window[1]  # on a phone one panel, and others by a swipe
        assert box["width"] > (600 if window == PHONE else 1000)
        screenshot(page, f"soft-trees-{window[0]}-{scheme}")
