"""Own points in Chromium: clicks on a line and in a plane, the link, screens."""

import re
from pathlib import Path

from tests.browser.conftest import assert_no_exception, screenshot, wait_ready
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
COLD = 240_000  # ms: kernels may have to be compiled first, on a machine that does other things too
FIVE = "points=-2_1~-1_0~0_-1~1_0~2_1"


def open_page(page, url, query=""):
    page.goto(f"{url}/own_points?{query}")
    page.locator(".st-key-own-line svg, .st-key-own-plane canvas").first.wait_for(timeout=COLD)
    page.get_by_text("notices most").wait_for(timeout=COLD)
    wait_ready(page)


def test_a_click_places_a_point_for_every_method_and_another_one_takes_it_away(page, serve):
    open_page(page, serve(APP), FIVE)
    panels = page.locator(".st-key-own-line .panel")
    assert panels.count() == 8
    box = panels.nth(2).bounding_box()  # any panel takes it
    at = box["x"] + 0.6 * box["width"], box["y"] + 0.3 * box["height"]
    page.mouse.click(*at)
    page.get_by_text("6 points.").wait_for()
    page.wait_for_url(re.compile(r"points=.*~"))
    wait_ready(page)
    page.mouse.click(*at)
    page.get_by_text("5 points.").wait_for()
    page.get_by_role("button", name="Clear").click()
    page.get_by_text("Training needs at least 5 points").wait_for()
    page.get_by_role("button", name="Start again").click()
    page.get_by_text("40 points.").wait_for()
    assert_no_exception(page)


def test_a_click_in_a_plane_adds_a_point_of_the_chosen_colour(page, serve):
    open_page(page, serve(APP), "where=in+a+plane&adds=orange")
    page.get_by_text("28 points.").wait_for()
    box = page.locator(".st-key-own-plane canvas").first.bounding_box()
    page.mouse.click(box["x"] + 0.8 * box["width"], box["y"] + 0.5 * box["height"])
    page.get_by_text("29 points.").wait_for()
    page.wait_for_url(re.compile(r"plane=.*_1(&|$)"))
    address = page.url
    page.reload()
    page.get_by_text("29 points.").wait_for(timeout=COLD)
    assert page.url == address
    assert_no_exception(page)


def test_it_fits_every_screen_and_is_accessible(page, serve):
    open_page(page, serve(APP))
    for (width, _), scheme in opening_screens(page, "own_points"):
        screenshot(page, f"own-points-{width}-{scheme}")
