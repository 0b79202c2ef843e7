"""Line charts of a figure in Chromium: cursor, growing lines, reading, scrubbing, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import expect

from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Strip, StripLine
from gbuq_core.figures.standalone import standalone_html
from tests.browser.conftest import PHONE
from tests.browser.figure import Figure, draw_figure, put_sheet
from tests.browser.sheets import charts, trails, training

SVG = "{http://www.w3.org/2000/svg}"

# Where x lies on a strip, in client pixels, and the middle of the plot's height.
_PLACE = """(node, [index, x]) => {
  const view = (node.getRootNode().gbuqSheet ?? node.parentElement.gbuqSheet).view.strips[index];
  const box = view.base.getBoundingClientRect();
  const { plot } = view.place;
  const [lo, hi] = view.strip.xLimits;
  return [box.left + plot.x + (x - lo) / (hi - lo) * plot.w, box.top + plot.y + plot.h / 2];
}"""
# First and last x (axis units) with anything drawn on a strip's canvas, and how many pixels.
_DRAWN = """(node, [index, name]) => {
  const view = (node.getRootNode().gbuqSheet ?? node.parentElement.gbuqSheet).view.strips[index];
  const canvas = view[name], { plot } = view.place;
  const { data, width } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let [first, last, count] = [Infinity, -Infinity, 0];
  for (let at = 3; at < data.length; at += 4) {
    if (!data[at]) continue;
    const px = ((at >> 2) % width) / view.ratio + view.inner.x + 0.5 / view.ratio;
    [first, last, count] = [Math.min(first, px), Math.max(last, px), count + 1];
  }
  const [lo, hi] = view.strip.xLimits;
  const value = (px) => lo + (px - plot.x) / plot.w * (hi - lo);
  return count ? [value(first), value(last), count] : [null, null, 0];
}"""
_PIXELS = """(node, [index, name]) => {
  const view = (node.getRootNode().gbuqSheet ?? node.parentElement.gbuqSheet).view.strips[index];
  return view[name].toDataURL();
}"""


def place(figure: Figure, strip: int, x: float) -> tuple[float, float]:
    figure.root.locator(".gbuq-strip").nth(strip).scroll_into_view_if_needed()
    return tuple(figure.root.evaluate(_PLACE, [strip, x]))


def drawn(figure: Figure, strip: int, canvas: str) -> list:
    return figure.root.evaluate(_DRAWN, [strip, canvas])


def pixels(figure: Figure, strip: int, canvas: str) -> str:
    return figure.root.evaluate(_PIXELS, [strip, canvas])


def go_to(figure: Figure, frame: int) -> None:
    slider = figure.root.locator(".gbuq-scrub")
    slider.fill(str(frame))
    assert figure.frame() == frame


def tops(figure: Figure, kind: str) -> list[float]:
    return [box.bounding_box()["y"] for box in figure.root.locator(kind).all()]


def test_strips_in_the_maps_columns_share_their_edges(page):
    figure = draw_figure(page, replace(training(100, 400, 0), strip_columns=4))
    edges = figure.root.evaluate(
        """node => {
          const { views, strips } = node.getRootNode().gbuqSheet.view;
          const edge = ({ place }) => [place.x + place.map.x, place.map.w];
          const foot = ({ place }) => [place.x + place.plot.x, place.plot.w];
          return [views.map(edge), strips.map(foot)];
        }"""
    )
    for of_map, of_strip in zip(*edges, strict=True):
        # Maps have whole pixels a cell, strips whole pixels in all.
        assert of_strip == pytest.approx(of_map, abs=1)
    assert len(set(tops(figure, ".gbuq-strip"))) == 1
    page.set_viewport_size({"width": 500, "height": 900})
    figure.wait_for("node.classList.contains('gbuq-narrow')")
    maps, strips = (
        [box.bounding_box() for box in figure.root.locator(kind).all()]
        for kind in (".gbuq-panel", ".gbuq-strip")
    )
    for of_map, of_strip in zip(maps, strips, strict=True):
        assert of_strip["y"] >= of_map["y"] + of_map["height"]
        assert of_strip["x"] == pytest.approx(of_map["x"], abs=1), "each under its map"


@pytest.mark.parametrize("viewport", [PHONE], indirect=True, ids=["phone"])
def test_what_is_scrolled_away_is_drawn_when_it_comes_back(page):
    figure = draw_figure(page, training(100, 400, 0))
    page.set_viewport_size({"width": 390, "height": 150})
    stale = "node.getRootNode().gbuqSheet.view.strips[1].stale"
    figure.wait_for("!node.getRootNode().gbuqSheet.view.strips[1].seen")
    go_to(figure, 24)
    assert figure.root.evaluate(f"node => {stale}")
    figure.root.locator(".gbuq-strip").nth(1).scroll_into_view_if_needed()
    figure.wait_for(f"!{stale}")
    assert 480 < drawn(figure, 1, "ink")[1] < 520


def test_the_cursor_growing_lines_and_a_frames_own_lines_follow_the_scrubber(page):
    figure = draw_figure(page, training(100, 400, 0))
    lines = pixels(figure, 0, "ink")
    for frame in (0, 49, 99):
        go_to(figure, frame)
        first, last, _ = drawn(figure, 0, "over")
        tree = 20 * (frame + 1)
        # The grip is 4 pixels wide to each side; the axis has some 3.5 trees a pixel.
        assert first < tree < last
        assert last - first < 45
    assert pixels(figure, 0, "ink") == lines
    go_to(figure, 24)
    first, last, some = drawn(figure, 1, "ink")
    assert first < 10
    assert 490 < last < 510
    go_to(figure, 74)
    _, last, more = drawn(figure, 1, "ink")
    assert more > 2 * some
    assert 1490 < last < 1510
    go_to(figure, 24)
    assert drawn(figure, 1, "ink")[2] == some, "nothing is left of what was ahead"
    assert drawn(figure, 0, "ink")[1] > 1990, "lines under a cursor are whole"
    go_to(figure, 10)
    early = pixels(figure, 2, "ink")
    go_to(figure, 80)
    assert pixels(figure, 2, "ink") != early
    go_to(figure, 10)
    assert pixels(figure, 2, "ink") == early
    assert drawn(figure, 2, "over")[2] == 0, "its x axis is not the frames' own"
    go_to(figure, 24)
    page.mouse.move(*place(figure, 1, 400))
    expect(figure.readout).to_be_visible()
    page.mouse.move(*place(figure, 1, 900))
    expect(figure.readout).to_be_hidden()
    go_to(figure, 60)
    page.mouse.move(*place(figure, 1, 200))
    expect(figure.readout).to_be_visible()
    values, reading = figure.values(), figure.data("reading")
    digest = figure.data("digest")
    put_sheet(page, training(100, 400, 1))
    figure.wait_for("node.dataset.digest !== x", digest)
    assert (figure.frame(), figure.data("reading")) == (60, reading)
    assert figure.values() != values


def test_a_chart_of_one_frame_is_read_whole_and_named(page):
    figure = draw_figure(page, charts(1))
    page.mouse.move(*place(figure, 0, 9.2))
    figure.wait_for("node.dataset.reading === '0,9'")
    expect(figure.readout).to_be_visible()
    assert figure.readout.locator(".gbuq-place").inner_text() == "index: 9"
    assert figure.values() == {"<b>a</b>": "5", "held": "2.5", "dots": "6"}
    page.mouse.move(*place(figure, 0, 2))
    figure.wait_for("node.dataset.reading === '0,2'")
    assert figure.values() == {"<b>a</b>": "no value", "held": "no value", "dots": "no value"}
    page.mouse.move(*place(figure, 1, 7))
    figure.wait_for("node.dataset.reading === '1,7'")
    assert figure.values()["Grows"] == "49"
    page.mouse.move(5, 5)
    expect(figure.readout).to_be_hidden()
    expect(figure.root.locator(".gbuq-player")).to_be_hidden()
    assert drawn(figure, 0, "over")[2] == 0
    assert drawn(figure, 1, "ink")[1] > 9.9, "lines that grow are whole"
    assert figure.root.locator(".gbuq-panel").count() == 0
    assert figure.root.get_attribute("aria-label") == "2 line charts: Gaps & <i>steps</i>; Grows."
    label = figure.root.get_by_role("img").nth(1).get_attribute("aria-label")
    assert label == "Grows, over index from 0 to 10: Grows from 0 to 100, at the end 100."
    assert figure.root.locator("i b, b b, .gbuq-strip i").count() == 0


def test_clicking_and_dragging_on_a_strip_moves_the_frames(page):
    figure = draw_figure(page, training(100, 400, 0))
    page.mouse.click(*place(figure, 0, 505))
    figure.wait_for_frame(24)
    page.mouse.move(*place(figure, 1, 505))
    page.mouse.down()
    page.mouse.move(*place(figure, 1, 1204), steps=5)
    figure.wait_for_frame(59)  # frames follow while the button is held
    x, y = place(figure, 1, 2000)
    page.mouse.move(x + 60, y)
    figure.wait_for_frame(99)  # and stop at the end
    page.mouse.up()
    page.mouse.move(*place(figure, 1, 100))
    assert figure.frame() == 99
    page.mouse.click(*place(figure, 2, 100))
    assert figure.frame() == 99, "a distance is not a frame"
    assert page.evaluate("gbuqSent") == 0, "the server hears nothing"


def test_the_keyboard_reads_a_strip_and_goes_to_its_frame(page):
    figure = draw_figure(page, charts(6))
    live = figure.root.locator("[aria-live]")
    page.get_by_label("Speed").focus()
    page.keyboard.press("Tab")
    first = figure.root.locator(".gbuq-strip").first
    expect(first).to_be_focused()
    assert first.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    expect(live).to_have_text("Gaps & <i>steps</i>, index: 10: <b>a</b> 4; held 2; dots 5")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(live).to_have_text("Gaps & <i>steps</i>, index: 1: <b>a</b> 2; held 1; dots 3")
    figure.wait_for("node.dataset.reading === '0,1'")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    figure.wait_for_frame(1)
    page.keyboard.press(".")
    figure.wait_for_frame(2)
    page.keyboard.press("PageDown")
    expect(figure.root.locator(".gbuq-strip").nth(1)).to_be_focused()
    page.keyboard.press("End")
    expect(live).to_have_text("Grows, index: 4: Grows 16")


@pytest.mark.parametrize("viewport", [PHONE], indirect=True, ids=["phone"])
def test_a_finger_moves_the_frames(new_page):
    page = new_page(has_touch=True, is_mobile=True)
    figure = draw_figure(page, charts(6))
    page.touchscreen.tap(*place(figure, 0, 4))
    figure.wait_for_frame(2)
    expect(figure.readout).to_be_visible()


def test_points_vanish_both_ways(page):
    figure = draw_figure(page, trails())

    def shown() -> list[int]:
        return [column for column in range(40) if figure.colour(1, column)[3] > 0]

    go_to(figure, 5)
    assert shown() == [0, 1, 2, 3, 4, 5]
    go_to(figure, 25)
    assert shown() == list(range(16, 26))
    go_to(figure, 12)
    assert shown() == list(range(3, 13))


def svg_of(figure: Figure) -> ElementTree.Element:
    with figure.page.expect_download() as waiting:
        figure.page.get_by_label("Save picture as SVG").click()
    return ElementTree.fromstring(Path(waiting.value.path()).read_text("utf-8"))


def test_an_svg_holds_strips_as_text_and_lines(page):
    figure = draw_figure(page, training(100, 400, 0))
    go_to(figure, 24)
    root = svg_of(figure)
    texts = {node.text for node in root.iter(f"{SVG}text")}
    assert {"Training loss", "nats", "members", "exploration", "held out", "walk"} <= texts
    dashed = [node for node in root.iter(f"{SVG}path") if node.get("stroke-dasharray") == "5 4"]
    assert len(dashed) == 2, "in the legend and in the plot"
    widths = [float(node.get("width")) for node in root.iter(f"{SVG}clipPath") for node in node]
    # Two strips with growing lines are cut at a quarter of their width.
    assert len([w for w in widths if 140 < w < 170]) == 2
    stage = figure.root.locator(".gbuq-stage").bounding_box()
    assert float(root.get("height")) > stage["height"]


@pytest.mark.parametrize("viewport", [PHONE], indirect=True, ids=["phone"])
def test_whole_numbers_have_whole_ticks(page):
    figure = draw_figure(page, charts(1))
    texts = {node.text for node in svg_of(figure).iter(f"{SVG}text")}
    assert "5" in texts
    assert not {"7.5", "10.0"} & texts


def test_a_cursor_may_jump_back(page, tmp_path):
    x = np.arange(11.0)
    strip = Strip(title="Jumps", x=x, lines=[StripLine("y", x)], mode="grow", frame_x=[0, 10, 5])
    path = tmp_path / "page.html"
    path.write_text(
        standalone_html(PanelSheet(panels=[], strips=[strip]), title="J"), encoding="utf-8"
    )
    page.goto(path.as_uri())
    figure = Figure(page)
    figure.wait_for("node.dataset.ready === '1'")
    go_to(figure, 1)
    assert drawn(figure, 0, "ink")[1] > 9.9
    go_to(figure, 2)
    assert drawn(figure, 0, "ink")[1] < 5.2


def test_strips_work_in_a_page_without_a_server(page, tmp_path):
    x = np.arange(20.0)
    sheet = PanelSheet(
        panels=[Panel(title="Map", values=np.random.default_rng(1).random((20, 6, 6)))],
        strips=[
            Strip(
                title="Loss",
                x=x,
                lines=[StripLine("train", np.exp(-x / 5))],
                x_label="tree",
                mode="grow",
            )
        ],
    )
    path = tmp_path / "page.html"
    path.write_text(standalone_html(sheet, title="Strips"), encoding="utf-8")
    page.goto(path.as_uri())
    figure = Figure(page)
    figure.wait_for("node.dataset.ready === '1'")
    page.mouse.click(*place(figure, 0, 5))
    figure.wait_for_frame(5)
    assert 4.5 < drawn(figure, 0, "ink")[1] < 5.5
    figure.wait_for("node.dataset.reading === '0,5'")
    assert figure.values() == {"train": "0.3679"}
