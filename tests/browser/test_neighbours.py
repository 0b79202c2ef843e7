"""Neighbours in Chromium: clicks on three kinds of pictures, a range, links, phones, themes."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import assert_no_exception, screens, screenshot, wait_ready
from tests.browser.figure import Figure

APP = Path(__file__).resolve().parents[2] / "app.py"
# Small enough for a busy machine.
QUICK = "rows=200&trees=20&k=15"
OVERFLOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
COLD = 180_000  # ms: kernels may have to be compiled first, on a machine that does other things too
PICTURES = {"1d": "neighbours-course", "2d": "neighbours-maps", "table": "neighbours-rows"}


def open_neighbours(page, url, query=QUICK, kind="1d"):
    page.goto(f"{url}/neighbours?{query}")
    picture = page.locator(f".st-key-{PICTURES[kind]} :is(.gbuq-curves > svg, .gbuq)").first
    picture.wait_for(timeout=COLD)
    page.get_by_text("In the 90 % interval").wait_for(timeout=COLD)
    wait_ready(page)
    return picture


def chosen(page):
    """The sentence about what is looked at."""
    return page.get_by_text(re.compile(r"IBUG predicts")).first.inner_text()


def assert_on_the_first_screen(page, picture, kind):
    """Nothing overflows, on a desk or a phone, and the picture is seen without scrolling."""
    for window, scheme in screens(page):
        assert not page.evaluate(OVERFLOW)
        box = picture.bounding_box()
        assert box["y"] + box["height"] < window[1]
        screenshot(page, f"neighbours-{kind}-{window[0]}-{scheme}")


def test_a_click_on_the_curves_chooses_x_a_drag_moves_it_and_the_link_remembers_it(
    page, new_page, serve
):
    url = serve(APP)
    picture = open_neighbours(page, url)
    assert chosen(page).startswith("At x = 7:")
    box = picture.bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 60)
    page.wait_for_url(re.compile(r"[?&]x=\d"))
    wait_ready(page)
    expect(page.get_by_text("At x = 7:")).to_have_count(0)
    # Neighbours and density follow the pointer, and a knob of the bar, without the server.
    clicked, before = page.url, chosen(page)
    page.wait_for_function("globalThis.gbuqNear?.size > 2")
    box = picture.bounding_box()
    x, y = box["x"] + 0.3 * box["width"], box["y"] + 60
    density = picture.locator(".aside")
    page.mouse.move(x, y)
    drawn = density.get_attribute("d")
    page.mouse.move(x + 200, y, steps=3)
    expect(density).not_to_have_attribute("d", drawn)
    page.mouse.move(x, y - 300)
    expect(density).to_have_attribute("d", drawn)
    # The place is dragged, and its neighbours with it; the address waits until it is let go.
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 90, y, steps=6)
    expect(density).not_to_have_attribute("d", drawn)
    assert page.url == clicked
    page.mouse.up()
    page.wait_for_url(lambda address: address != clicked)
    wait_ready(page)
    said = chosen(page)
    other = new_page(private=True)
    open_neighbours(other, url, page.url.split("?")[1])
    assert chosen(other) == said
    for earlier in (before, "At x = 7:"):  # the sentence stands above the box that holds x
        page.go_back()
        page.get_by_text(earlier).first.wait_for()


def test_a_bad_link_is_explained_and_the_keyboard_reads_and_chooses(page, serve):
    picture = open_neighbours(page, serve(APP), QUICK + "&x=99&scales=9&what=1")
    text = page.locator(".st-key-note-link").inner_text()
    assert "x must be a number from -3 to 13" in text
    assert "scales must be two whole numbers from 0 to 100" in text
    assert '"what"' in text
    picture.focus()
    page.keyboard.press("End")
    page.get_by_text(re.compile(r"^x 13\b")).first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**x=13*")
    page.get_by_text("There are no training rows here").first.wait_for()


def test_a_click_on_a_map_chooses_and_a_range_marks_cells_lists_rows_and_is_in_the_link(
    page, serve
):
    picture = open_neighbours(page, serve(APP), QUICK + "&data=Ripples", "2d")
    Figure(page).click(10, 10)
    page.wait_for_url("**x1=-0.65*")
    page.get_by_text("At x1 = -0.65, x2 = -0.65: IBUG").first.wait_for()
    wait_ready(page)
    # A drag that begins at the place carries it along; elsewhere it chooses the cells' middle.
    Figure(page).drag((10, 10), (10, 16), (10, 20))
    page.wait_for_url("**x1=-0.3*")
    wait_ready(page)
    low = page.locator(".st-key-scales [role=slider], .st-key-scales input[type=range]").first
    low.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**scales=5&scales=100*")
    page.get_by_text("Percentiles 5 to 100 are scales from").first.wait_for()
    page.get_by_role("heading", name="Rows with a scale in this range").wait_for()
    assert_on_the_first_screen(page, picture.locator(".gbuq-panel").first, "2d")
    assert_no_exception(page)


def test_a_click_on_a_dot_chooses_the_row(page, serve):
    picture = open_neighbours(page, serve(APP), "trees=20&k=15&data=Diabetes", "table")
    before = chosen(page)
    picture.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_url("**diabetes_row=2*")
    page.get_by_text("Held-out row 2 of 88: IBUG").first.wait_for()
    assert chosen(page) != before
    assert_on_the_first_screen(page, picture, "table")


def test_nothing_overflows_and_the_curves_are_on_the_first_screen(page, serve):
    assert_on_the_first_screen(page, open_neighbours(page, serve(APP)), "1d")
