"""Two clocks in Chromium: the sliders move the band without a request, and a link restores it."""

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import (
    DESKTOP,
    assert_accessible,
    assert_no_exception,
    screens,
    screenshot,
    wait_ready,
)

APP = Path(__file__).resolve().parents[2] / "app.py"
QUICK = "data=wave&rows=100&trees=100&members=2"  # small enough for a busy machine
COLD = 240_000  # ms: kernels may have to be compiled first, on a machine that does other things too
ROOT = ".st-key-two_clocks .gbuq-curves"
# Figures of a page are numbered in the order in which they were mounted.
BAND = "node => node.querySelector('svg[tabindex] .panel').innerHTML.replace(/hatch-\\d+/g, '')"


def open_page(page, url, query=QUICK):
    page.goto(f"{url}/two_clocks?{query}")
    page.get_by_text("with plain early stopping").first.wait_for(timeout=COLD)
    wait_ready(page)
    root = page.locator(ROOT).first
    root.wait_for()
    return root


def clocks_of(root):
    return json.loads(root.get_attribute("data-dials"))


def test_sliders_move_the_band_in_the_browser_and_the_address_follows_on_release(page, serve):
    url, sent = serve(APP), []
    # What the browser says to the server goes through a socket.
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    root = open_page(page, url)
    sent.clear()
    before, band = clocks_of(root), root.evaluate(BAND)
    # As a finger does while it drags: "input", and no "change" yet.
    slider = root.get_by_role("slider", name="Trees for the scale")
    slider.evaluate(
        "node => { node.value = 0; node.dispatchEvent(new Event('input', {bubbles: true})); }"
    )
    page.wait_for_function(
        f"([node, before]) => ({BAND})(node) !== before", arg=[root.element_handle(), band]
    )
    assert clocks_of(root)[1] == 5
    assert clocks_of(root)[0] == before[0]
    assert sent == []
    assert "clocks=" not in page.url
    # Let go.
    slider.evaluate("node => node.dispatchEvent(new Event('change', {bubbles: true}))")
    page.wait_for_url(re.compile(rf"clocks={before[0]}\.5(&|$)"))
    assert sent
    wait_ready(page)
    root.get_by_role("button", name="View").click()
    root.get_by_role("checkbox").uncheck()
    page.wait_for_url(re.compile(r"clocks=\d+\.5\.plain"))
    wait_ready(page)
    assert clocks_of(root)[2] == 1
    assert_no_exception(page)


def test_nothing_overflows_and_a_button_goes_to_a_way_to_stop_whose_scores_are_said(page, serve):
    root = open_page(page, serve(APP))
    for window, scheme in screens(page):
        assert_accessible(page)
        if window == DESKTOP:
            box = root.bounding_box()
            assert box["y"] + box["height"] < window[1]
        screenshot(page, f"two-clocks-{window[0]}-{scheme}")
    # What follows is done on the phone.
    root.get_by_role("button", name="All trees", exact=True).click()
    page.wait_for_url(re.compile(r"clocks=100\.100\.plain"))
    wait_ready(page)
    assert clocks_of(root) == [100, 100, 1]
    expect(root.locator(".gbuq-curves-said")).to_contain_text("90 % intervals hold")
    slider = root.get_by_role("slider", name="Trees for the mean")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_url(re.compile(r"clocks=5\.100\.plain"))
    wait_ready(page)
    assert clocks_of(root) == [5, 100, 1]
    expect(slider).to_be_focused()  # so that the next key moves it, too
    assert_no_exception(page)
