"""Neighbours in Chromium: clicks on three kinds of pictures, a range, links, phones, themes."""

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
from tests.browser.figure import Figure, unfold

APP = Path(__file__).resolve().parents[2] / "app.py"
# Small enough for a busy machine.
QUICK = "rows=200&trees=20&k=15"
COLD = 180_000  # ms: kernels may have to be compiled first, on a machine that does other things too
# Which maps stand in the window of those that are swiped, or in no such window.
_SEEN = """panels => panels.map((panel) => {
  const [inner, outer] = [panel, panel.closest('.gbuq-track') ?? panel]
    .map((node) => node.getBoundingClientRect());
  return inner.width > 0 && inner.left < outer.right - 4 && inner.right > outer.left + 4;
})"""
PICTURES = {"1d": "neighbours-course", "2d": "neighbours-maps", "table": "neighbours-rows"}


def open_neighbours(page, url, query=QUICK, kind="1d"):
    page.goto(f"{url}/neighbours?{query}")
    picture = page.locator(f".st-key-{PICTURES[kind]} :is(.gbuq-curves > svg, .gbuq)").first
    picture.wait_for(timeout=COLD)
    page.get_by_text("Rows in the 90 % interval").wait_for(timeout=COLD, state="attached")
    wait_ready(page)
    return picture


def chosen(page):
    """The sentence about what is looked at."""
    return answer_of(page).locator("p").inner_text()


def answer_of(page):
    return page.locator(".st-key-first-verdict button")


def assert_on_the_first_screen(page, picture, kind):
    """Nothing overflows, on a desk or a phone, and the picture is seen without scrolling."""
    for window, scheme in screens(page):
        assert_accessible(page)
        box = picture.bounding_box()
        assert box["y"] + box["height"] < window[1]
        screenshot(page, f"neighbours-{kind}-{window[0]}-{scheme}")


def test_the_page_opens_with_one_picture_and_a_click_a_drag_or_the_keyboard_chooses_x(page, serve):
    picture = open_neighbours(page, serve(APP))
    assert_on_the_first_screen(page, picture, "1d")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    wait_ready(page)
    box = answer_of(page).bounding_box()
    assert box["y"] + box["height"] < DESKTOP[1]
    bar = page.locator(".st-key-neighbours-course .gbuq-knob")
    assert [control.is_visible() for control in bar.all()[:2]] == [True, False]
    assert chosen(page).startswith("At x = 7 the model says")
    box = picture.bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 60)
    page.wait_for_url(re.compile(r"[?&]x=\d"))
    wait_ready(page)
    expect(answer_of(page)).not_to_contain_text("At x = 7 ")
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
    for earlier in (before, "At x = 7 the model says"):
        page.go_back()
        expect(answer_of(page)).to_contain_text(earlier)
    wait_ready(page)
    picture.focus()
    page.keyboard.press("End")
    page.get_by_text(re.compile(r"^x 13\b")).first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**x=13*")
    expect(answer_of(page)).to_contain_text("At x = 13, where no training rows are")
    wait_ready(page)
    page.get_by_role("button", name="View: knobs and ways to save").click()
    bar.get_by_text("Trees that count").wait_for()
    page.get_by_role("button", name="Save the picture as PNG").wait_for()
    answer_of(page).click()
    page.get_by_text("The scale follows the noise").first.wait_for()


def test_a_click_on_a_map_chooses_and_a_range_marks_cells_lists_rows_and_is_in_the_link(
    page, serve
):
    picture = open_neighbours(page, serve(APP), QUICK + "&data=Ripples", "2d")
    # It opens with the noise and the neighbours.
    assert sum(picture.locator(".gbuq-panel").evaluate_all(_SEEN)) == 2
    Figure(page).click(10, 10)
    page.wait_for_url("**x1=-0.65*")
    expect(answer_of(page)).to_contain_text("At x1 = -0.65, x2 = -0.65 the model says")
    wait_ready(page)
    # A drag that begins at the place carries it along; elsewhere it chooses the cells' middle.
    Figure(page).drag((10, 10), (10, 16), (10, 20))
    page.wait_for_url("**x1=-0.3*")
    wait_ready(page)
    unfold(page, "All settings")
    low = page.locator(".st-key-scales [role=slider], .st-key-scales input[type=range]").first
    low.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**scales=5&scales=100*")
    unfold(page, "Why")
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
    expect(answer_of(page)).to_contain_text("For held-out row 2 the model says")
    assert chosen(page) != before
    assert_on_the_first_screen(page, picture, "table")
