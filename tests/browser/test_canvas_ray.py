"""Drawing a straight line over the maps, with the mouse, a finger and the keyboard."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE
from tests.browser.figure import Figure, open_figure

APP = Path(__file__).parent / "apps" / "canvas_app.py"
CELL = 1200 / 20  # axis units of one of 20 cells


@pytest.fixture(scope="module")
def url(serve) -> str:
    return serve(APP)


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
    found = figure.sent()["ray"]
    # The mouse stands on whole pixels, of which a map has some 340 for 1200 units.
    assert found == pytest.approx([*centre(*start), *centre(*end)], abs=8)


def test_a_line_is_drawn_with_the_mouse(page, url):
    figure = open_figure(page, url, "case=fields&n=20&select=both")
    toggle = figure.root.get_by_role("button", name="Draw a line")
    toggle.click()
    expect(toggle).to_have_attribute("aria-pressed", "true")
    expect(figure.root.get_by_text("Drag to draw a line")).to_be_visible()
    figure.drag((10, 10), (14, 18), panel=1)
    expect(page.get_by_text("event: clicked=None lassoed=0 frame=0")).to_be_visible()
    expect(page.get_by_text("ray: [")).to_be_visible()
    assert_ray(figure, (10, 10), (14, 18))
    for panel in range(3):
        wait_for_mark(figure, 12, 14, panel)  # the line is shown on every map
        wait_for_mark(figure, 16, 14, panel, there=False)


def test_a_click_still_chooses_a_cell_while_lines_are_drawn(page, url):
    figure = open_figure(page, url, "case=fields&n=20&select=both")
    figure.root.get_by_role("button", name="Draw a line").click()
    figure.click(3, 4, panel=2)
    expect(page.get_by_text("event: clicked=(2, 3, 4)")).to_be_visible()
    figure.root.get_by_role("button", name="Draw a line").click()
    figure.drag((2, 2), (3, 3))
    expect(page.get_by_text("event: clicked=None lassoed=4")).to_be_visible()
    expect(page.get_by_text("ray: None")).to_be_visible()


def test_without_cells_only_lines_can_be_chosen(page, url):
    figure = open_figure(page, url, "case=fields&n=20&select=ray")
    assert figure.root.get_by_role("button", name="Draw a line").count() == 0
    expect(figure.root.get_by_label("Select a rectangle")).to_be_hidden()
    figure.click(3, 4)
    assert figure.data("sent") is None
    figure.drag((3, 4), (3, 5), (3, 4))
    assert figure.data("sent") is None, "back where it began there is no line"
    wait_for_mark(figure, 3, 4, panel=2, there=False)
    figure.drag((3, 4), (16, 9))
    expect(page.get_by_text("ray: [")).to_be_visible()
    assert_ray(figure, (3, 4), (16, 9))


def test_a_line_ends_at_the_edge_of_the_map(page, url):
    figure = open_figure(page, url, "case=fields&n=20&select=ray")
    start = figure.place(10, 10)
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0], start[1] - 2000, steps=4)
    page.mouse.up()
    figure.wait_for("node.dataset.sent")
    x, y = centre(10, 10)
    assert figure.sent()["ray"] == pytest.approx([x, y, x, 600], abs=8)
    expect(page.get_by_text("ray: [")).to_be_visible()


def test_the_keyboard_sets_both_ends(page, url):
    figure = open_figure(page, url, "case=fields&n=20&select=both")
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
    expect(page.get_by_text("ray: [30.0, 90.0, 390.0, 90.0]")).to_be_visible()
    expect(live).to_have_text("Line to x: 390 · y: 90")


def test_escape_takes_a_line_back(page, url):
    figure = open_figure(page, url, "case=fields&n=20&select=ray")
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
def test_a_finger_draws_after_resting(new_page, url):
    page = new_page(has_touch=True, is_mobile=True)
    figure = open_figure(page, url, "case=fields&n=20&select=ray")
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
