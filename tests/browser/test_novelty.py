"""Novelty maps in Chromium: two maps, a click erases rows and explains a place, links, themes."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import (
    DESKTOP,
    assert_no_exception,
    screenshot,
    wait_ready,
)
from tests.browser.figure import Figure, unfold
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
# Small enough for a busy machine.
QUICK = "rows=200&trees=10"
COLD = 180_000  # ms: kernels may have to be compiled first, on a machine that does other things too


def open_novelty(page, url, query=QUICK):
    page.goto(f"{url}/novelty?{query}")
    page.locator(".gbuq[data-ready='1']").first.wait_for(timeout=COLD)
    wait_ready(page, canvases=1)
    return Figure(page)


def after(page, figure, action):
    """Do something and wait until the maps are others."""
    before = figure.data("digest")
    action()
    figure.wait_for("node.dataset.digest !== x", before)
    wait_ready(page, canvases=1)


def test_a_click_explains_a_place_and_erases_its_rows_and_sliders_are_followed(page, serve):
    figure = open_novelty(page, serve(APP))
    after(page, figure, lambda: figure.click(50, 10, panel=1))
    page.wait_for_url(re.compile(r"column=11(\.0)?&row=51"))
    unfold(page, "Why")
    page.get_by_role("heading", name=re.compile("^At x1 = -2.1")).first.wait_for()
    wait_ready(page, canvases=2)  # the maps, and the trees of the place
    figure.root.locator(".gbuq-panel").first.focus()
    page.keyboard.press("Home")
    after(page, figure, lambda: page.keyboard.press("Enter"))
    page.wait_for_url(re.compile(r"column=1(\.0)?&"))
    assert "erased=" not in page.url  # neither place had rows
    after(page, figure, lambda: figure.click(34, 20, panel=1))
    page.wait_for_url("**erased=21_35*")
    expect(page.get_by_text("of 200 training rows are erased.").first).to_be_visible()
    after(page, figure, lambda: page.get_by_role("button", name="Undo").click())
    page.wait_for_function("!location.search.includes('erased')")
    unfold(page, "All settings")
    # The maps follow a slider while it is dragged; the address waits until it is let go.
    track = page.locator(".st-key-noise [role=group] > div").first
    track.scroll_into_view_if_needed()
    thumb = page.locator(".st-key-noise [data-testid=stSliderThumbValue]").first.bounding_box()
    box, address, before = track.bounding_box(), page.url, figure.data("digest")
    y = box["y"] + box["height"] / 2
    page.mouse.move(thumb["x"] + thumb["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, y, steps=3)
    figure.wait_for("node.dataset.digest !== x", before)
    assert page.url == address
    page.mouse.up()
    page.wait_for_url("**noise=3&**")
    assert_no_exception(page)


def test_the_page_opens_with_two_maps_and_the_answer_and_shows_all_when_asked(page, serve):
    figure = open_novelty(page, serve(APP), "")
    answer = page.get_by_role("button", name=re.compile("^In 9. % of the empty places"))
    panels = figure.root.locator(".gbuq-panel")
    for window, scheme in opening_screens(page, "novelty"):
        assert figure.data("beside") == "0,1"  # the truth, and novelty
        wide = window[0] > 480  # a phone's map takes its width
        for shown in (panels.nth(1), *((panels.nth(0), answer) if wide else ())):
            box = shown.bounding_box()
            assert box["y"] + box["height"] < window[1]
        screenshot(page, f"novelty-{window[0]}-{scheme}")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    figure.root.get_by_role("button", name="View").click()
    figure.root.locator(".gbuq-knob[data-knob=every] input").check()
    page.wait_for_url("**every=true*")
    wait_ready(page, canvases=1)
    boxes = [panels.nth(i).bounding_box() for i in range(6)]
    assert len({round(box["x"]) for box in boxes}) == 3
