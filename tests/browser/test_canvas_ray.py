"""Drawing a straight line over the maps, with the mouse, a finger and the keyboard."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import expect

from gbuq_core.figures.canvas.panels import Line, Marker
from tests.browser.conftest import PHONE
from tests.browser.figure import Figure, draw_figure
from tests.browser.sheets import fields

CELL = 1200 / 20  # axis units of one of 20 cells
MAPS = fields(20, 0.0)
# A marker in cell (10, 10) and a line from cell (5, 5) to cell (14, 18).
GRIPPED = replace(
    MAPS, markers=[Marker(30, 30)], lines=[Line([-270, 510], [-270, 270], arrow=True)]
)


def centre(row: int, column: int) -> tuple[float, float]:
    """The middle of a cell in axis units."""
    return -600 + (column + 0.5) * CELL, -600 + (row + 0.5) * CELL


def wait_for_mark(figure: Figure, row: int, column: int, panel: int, there: bool = True) -> None:
    """Wait until something, or nothing, lies over the middle of a cell: drawn a frame later."""
    figure.page.wait_for_function(
        """([node, index, row, column, there]) => {
          const view = node.getRootNode().gbuqSheet.view, panel = view.views[index];
          const { map } = panel.place, { nx, ny } = view.sheet;
          const x = (map.x + ((column + 0.5) / nx) * map.w) * view.ratio;
          const y = (map.y + ((ny - row - 0.5) / ny) * map.h) * view.ratio;
          return panel.over.getContext('2d').getImageData(x, y, 1, 1).data[3] > 200 === there;
        }""",
        arg=[figure.root.element_handle(), panel, row, column, there],
    )


def assert_ray(figure: Figure, start: tuple[int, int], end: tuple[int, int]) -> None:
    """The line sent runs from one cell's middle to another's, to the pixel's rounding."""
    ray = figure.sent()["ray"]
    # The mouse stands on whole pixels, of which a map has some 340 for 1200 units.
    assert ray == pytest.approx([*centre(*start), *centre(*end)], abs=8)


def test_a_line_is_drawn_with_the_mouse_and_a_click_still_chooses_a_cell(page):
    figure = draw_figure(page, MAPS, select=True, ray=True)
    toggle = figure.root.get_by_role("button", name="Draw a line")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    expect(figure.root.get_by_text("Drag to draw a line")).to_be_visible()
    figure.drag((10, 10), (14, 18), panel=1)
    assert_ray(figure, (10, 10), (14, 18))
    for panel in range(3):
        wait_for_mark(figure, 12, 14, panel)  # the line is shown on every map
        wait_for_mark(figure, 16, 14, panel, there=False)
    figure.click(3, 4, panel=2)
    assert figure.sent() == {"panel": 2, "frame": 0, "row": 3, "column": 4}
    figure.root.get_by_role("button", name="Draw a line").click()
    figure.drag((2, 2), (3, 3))
    assert figure.sent() == {"panel": 0, "frame": 0, "runs": [[42, 2], [62, 2]]}


def test_a_marker_and_the_end_of_a_line_are_dragged(page):
    figure = draw_figure(page, GRIPPED, select=True, ray=True, grips=True)
    figure.drag((10, 10), (12, 13), (16, 6), panel=1)
    assert figure.sent() == {"panel": 1, "frame": 0, "row": 16, "column": 6}
    figure.drag((14, 18), (3, 15), panel=2)
    assert_ray(figure, (5, 5), (3, 15))
    # Beside them a drag selects as ever.
    figure.drag((2, 2), (3, 3))
    assert figure.sent() == {"panel": 0, "frame": 0, "runs": [[42, 2], [62, 2]]}


def test_without_cells_only_lines_can_be_chosen(page):
    figure = draw_figure(page, MAPS, ray=True)
    assert figure.root.get_by_role("button", name="Draw a line").count() == 0
    expect(figure.root.get_by_label("Select a rectangle")).to_be_hidden()
    figure.click(3, 4)
    assert figure.data("sent") is None
    figure.drag((3, 4), (3, 5), (3, 4))
    assert figure.data("sent") is None, "back where it began there is no line"
    wait_for_mark(figure, 3, 4, panel=2, there=False)
    figure.drag((3, 4), (16, 9))
    assert_ray(figure, (3, 4), (16, 9))


def test_a_line_ends_at_the_edge_of_the_map(page):
    figure = draw_figure(page, MAPS, ray=True)
    start = figure.place(10, 10)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0], start[1] - 2000, steps=4)
    page.mouse.up()
    figure.wait_for("node.dataset.sent")
    x, y = centre(10, 10)
    assert figure.sent()["ray"] == pytest.approx([x, y, x, 600], abs=8)


def test_the_keyboard_sets_both_ends(page):
    figure = draw_figure(page, MAPS, select=True, ray=True)
    live = figure.root.locator("[aria-live]")
    toggle = figure.root.get_by_role("button", name="Draw a line")
    panel = figure.root.locator(".gbuq-panel").first
    panel.focus()
    page.keyboard.press("l")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("ArrowUp")  # the cursor starts in the middle, at (10, 10)
    page.keyboard.press("Enter")
    expect(live).to_have_text("Line from x: 30 · y: 90; Enter sets its end")
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    figure.wait_for("node.getRootNode().gbuqSheet.view.state.ray !== null")
    assert figure.data("sent") is None
    page.keyboard.press("Enter")
    assert figure.sent()["ray"] == pytest.approx([30, 90, 390, 90])
    expect(live).to_have_text("Line to x: 390 · y: 90")


def test_escape_takes_a_line_back(page):
    figure = draw_figure(page, MAPS, ray=True)
    figure.root.locator(".gbuq-panel").first.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert figure.data("sent") is None, "that was a new start"
    assert figure.root.evaluate("node => node.getRootNode().gbuqSheet.view.state.ray") is None


@pytest.mark.parametrize("viewport", [PHONE], indirect=True, ids=["phone"])
def test_a_finger_draws_after_resting_and_drags_an_end_at_once(new_page):
    page = new_page(has_touch=True, is_mobile=True)
    figure = draw_figure(page, MAPS, ray=True)
    touch = page.context.new_cdp_session(page)
    start, end = figure.place(5, 5), figure.place(12, 15)

    def send(kind: str, *point: float):
        points = [{"x": point[0], "y": point[1]}] if point else []
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    send("touchStart", *start)
    figure.wait_for("node.getRootNode().gbuqSheet.view.state.drag")  # it has rested long enough
    for share in (0.5, 1.0):
        send("touchMove", *(a + share * (b - a) for a, b in zip(start, end, strict=True)))
    send("touchEnd")
    figure.wait_for("node.dataset.sent")
    assert_ray(figure, (5, 5), (12, 15))
    # What can be taken hold of moves without a rest, and the page does not scroll.
    figure = draw_figure(page, GRIPPED, select=True, ray=True, grips=True)
    start, end = figure.place(14, 18), figure.place(8, 15)
    send("touchStart", *start)
    for share in (0.5, 1.0):
        send("touchMove", *(a + share * (b - a) for a, b in zip(start, end, strict=True)))
    send("touchEnd")
    figure.wait_for("node.dataset.sent")
    assert_ray(figure, (5, 5), (8, 15))
