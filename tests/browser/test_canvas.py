"""The canvas figure in Chromium: what it draws, says, plays and sends back."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import expect

from gbuq_core.figures.colour import colour_table
from tests.browser.conftest import PHONE, screens, screenshot, wait_ready
from tests.browser.figure import Figure, draw_figure, open_figure, put_sheet, runs_as_cells
from tests.browser.sheets import chains, fields, heart, labels

APP = Path(__file__).parent / "apps" / "canvas_app.py"
TITLE = "<b>Bold</b> & co"
CASES = ("heart", "fields", "chains", "labels", "training", "charts")  # of the app's ?case=all
_TEXT = "node => node.getRootNode().gbuqSheet.view.theme.text"
# The greys of a strip's lines, which are in the ink of the page's text.
_DOTS = """node => {
  const { ink } = node.getRootNode().gbuqSheet.view.strips[0];
  const { data } = ink.getContext('2d').getImageData(0, 0, ink.width, ink.height);
  let darkest = 255;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at + 3] === 255) darkest = Math.min(darkest, Math.max(...data.slice(at, at + 3)));
  }
  return darkest;
}"""


@pytest.fixture(scope="module")
def url(serve) -> str:
    return serve(APP)


def test_figures_fit_their_page_and_have_their_colours_in_both_schemes(page, url):
    """Maps, points, labels, and charts with and without maps, one under the other."""
    page.goto(f"{url}/?case=all")
    wait_ready(page, canvases=len(CASES))
    figures = {case: Figure(page, at) for at, case in enumerate(CASES)}
    maps, table = figures["fields"], colour_table("cividis")
    values = maps.hover(30, 10, panel=1)
    data = float(values["Data uncertainty"].split()[0])
    index = min(255, int(data / 1.1 * 256))
    # The read-out has four digits, so the value may fall into a neighbouring colour.
    near = table[max(0, index - 1) : index + 2].tolist()
    texts, dots = [], []
    for window, scheme in screens(page):
        screenshot(page, f"canvas-{window[0]}-{scheme}", full_page=True)
        for case, figure in figures.items():
            check_that_it_fits(figure, window, case)
            check_that_strips_fit(figure, window)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        maps.place(30, 10, panel=1)  # scrolls it into view
        assert maps.colour(30, 10, panel=1)[:3] in near
        assert len({tuple(maps.colour(r, 20, panel=1)) for r in range(5, 35, 3)}) > 5
        texts.append({figure.root.evaluate(_TEXT) for figure in figures.values()})
        charts = figures["charts"]
        charts.root.locator(".gbuq-strip").first.scroll_into_view_if_needed()
        charts.wait_for("!node.getRootNode().gbuqSheet.view.strips[0].stale")
        dots.append(charts.root.evaluate(_DOTS))
    light, dark = texts
    assert (len(light), len(dark)) == (1, 1)
    assert light != dark
    assert dots[0] != dots[1], "dots in the page's own ink"


def check_that_it_fits(figure, window, case):
    inner = figure.root.evaluate(
        "node => [node.scrollWidth - node.clientWidth, node.scrollHeight - node.clientHeight]"
    )
    assert max(inner) <= 0
    boxes = [panel.bounding_box() for panel in figure.root.locator(".gbuq-panel").all()]
    root = figure.root.bounding_box()
    paired = window == PHONE and len(boxes) > 1
    for box in boxes[:2] if paired else boxes:
        assert box["x"] + box["width"] <= root["x"] + root["width"] + 1
        assert box["y"] + box["height"] <= root["y"] + root["height"] + 1
    if paired:
        truth, first, *rest = boxes
        assert {box["y"] for box in boxes} == {truth["y"]}
        assert truth["x"] + truth["width"] <= first["x"], "side by side on a phone"
        # The others are swiped.
        turned = [first["x"] + i * first["width"] for i in range(1, len(rest) + 1)]
        assert [box["x"] for box in rest] == pytest.approx(turned, abs=1)
    else:
        assert len({(round(box["height"]), round(box["x"])) for box in boxes}) <= 6
    if window == PHONE:
        # With two maps there is nothing to turn to.
        assert figure.root.locator(".gbuq-pager").is_visible() == (paired and len(boxes) > 2)
    elif len(boxes) > 1:
        assert boxes[0]["y"] == boxes[1]["y"], "side by side on a desktop"


def check_that_strips_fit(figure, window):
    strips = [box.bounding_box() for box in figure.root.locator(".gbuq-strip").all()]
    root = figure.root.bounding_box()
    for box in strips:
        assert box["x"] + box["width"] <= root["x"] + root["width"] + 1
        assert box["y"] + box["height"] <= root["y"] + root["height"] + 1
    for above, below in pairwise(strips):
        beside = above["x"] + above["width"] <= below["x"]
        assert beside or above["y"] + above["height"] <= below["y"]
    maps = [panel.bounding_box() for panel in figure.root.locator(".gbuq-panel").all()]
    if maps and strips:
        foot = max(box["y"] + box["height"] for box in maps)
        assert min(box["y"] for box in strips) >= foot
    if window == PHONE and strips:
        assert len({box["x"] for box in strips}) == 1, "one column on a phone"


def test_blank_cells_show_the_page_and_hatching_is_visible(page):
    figure = draw_figure(page, labels(TITLE))
    # Pixels of the blank, hatched cell: some transparent, some lines.
    seen = figure.root.evaluate(
        """node => {
          const view = node.getRootNode().gbuqSheet.view;
          const { map } = view.views[0].place;
          const context = view.views[0].base.getContext('2d');
          const x = map.x + map.w / 3 + 20, y = map.y + 20;
          const { data } = context.getImageData(x, y, 40, 40);
          let blank = 0;
          for (let i = 3; i < data.length; i += 4) blank += data[i] === 0;
          return blank / 1600;
        }"""
    )
    assert 0.4 < seen < 0.95


def test_the_readout_gives_every_panel_its_exact_value(page):
    figure = draw_figure(page, chains())
    values = figure.hover(24, 35, panel=1)
    grid = np.linspace(-6, 6, 60)
    density = np.exp(-0.5 * ((grid[35] - 1) ** 2 + (grid[24] + 1) ** 2) / 4)
    assert list(values) == ["Target density", "Estimate"]
    # 60 x 60 x 401 values from 0 to 1 travel in 253 steps; the read-out shows four digits.
    half_a_step = 0.5 / 253 + 5e-5
    assert float(values["Target density"]) == pytest.approx(density, abs=half_a_step)
    assert float(values["Estimate"]) == pytest.approx(density, abs=half_a_step)
    place = figure.readout.locator(".gbuq-place").inner_text()
    assert place == "column: 1.1 · row: −1.1"
    page.mouse.move(5, 5)
    expect(figure.readout).to_be_hidden()


def test_what_is_chosen_reaches_python_and_nothing_is_drawn_for_it(page, url):
    page.add_init_script(
        """{
          const original = requestAnimationFrame;
          window.askedFrames = 0;
          window.requestAnimationFrame = (callback) => {
            if (new Error().stack.includes('gbuq_canvas')) window.askedFrames += 1;
            return original(callback);
          };
        }"""
    )
    figure = open_figure(page, url, "case=fields&frames=5&select=both")
    # Nothing is drawn while nothing happens.
    figure.hover(3, 3)
    page.wait_for_timeout(200)
    asked, drawn = page.evaluate("askedFrames"), figure.draws()
    assert asked > 0, "the count works"
    page.wait_for_timeout(500)
    assert page.evaluate("askedFrames") == asked
    assert figure.draws() == drawn
    # A rerun that changes nothing draws nothing.
    figure.click(7, 2, panel=1)
    expect(page.get_by_text("event: clicked=(1, 7, 2) dragged=0 frame=4")).to_be_visible()
    wait_ready(page)
    assert figure.draws() == drawn
    figure.drag((2, 3), (5, 6), panel=1)
    expect(page.get_by_text("event: clicked=None dragged=16 frame=4")).to_be_visible()
    figure.root.get_by_role("button", name="Draw a line").click()
    figure.drag((10, 10), (14, 18), panel=2)
    expect(page.get_by_text("event: clicked=None dragged=0 frame=4")).to_be_visible()
    expect(page.get_by_text("ray: [")).to_be_visible()


def test_upward_axes_count_from_below_words_name_the_maps_and_a_narrow_window_shows_two(page):
    figure = draw_figure(page, fields(20, 0.0))
    figure.click(0, 3)
    assert figure.sent() == {"panel": 0, "frame": 0, "row": 0, "column": 3}
    low = figure.root.locator(".gbuq-panel").first.bounding_box()
    assert figure.place(0, 3)[1] > low["y"] + low["height"] / 2
    assert figure.root.get_attribute("aria-label") == (
        "3 heatmaps: Total uncertainty; Data uncertainty; Knowledge uncertainty, over x and y."
    )
    images = figure.root.get_by_role("img")
    label = images.nth(1).get_attribute("aria-label")
    assert label.startswith("Data uncertainty: from ")
    assert "cells hatched" in label
    panels = figure.root.locator(".gbuq-panel")
    wide = [panel.bounding_box()["y"] for panel in panels.all()]
    assert len(set(wide)) == 1
    page.set_viewport_size({"width": 500, "height": 900})
    figure.wait_for("node.classList.contains('gbuq-narrow')")
    assert figure.data("beside") == "0,1"
    figure.root.get_by_role("button", name="Next map").click()
    figure.wait_for("node.dataset.beside === '0,2'")
    # Another size keeps the map that was chosen.
    page.set_viewport_size({"width": 520, "height": 900})
    figure.root.get_by_label("Map beside the truth").select_option(index=0)
    figure.wait_for("node.dataset.beside === '0,1'")
    page.set_viewport_size({"width": 1440, "height": 900})
    figure.wait_for("!node.classList.contains('gbuq-narrow')")
    assert [panel.bounding_box()["y"] for panel in panels.all()] == wide


def test_without_select_nothing_is_sent(page):
    figure = draw_figure(page, heart(5, 0), select=False)
    figure.click(1, 1)
    figure.drag((1, 1), (4, 4))
    assert figure.data("sent") is None
    expect(figure.root.locator(".gbuq-modes")).to_be_hidden()


def test_the_keyboard_and_a_drag_read_and_select(page):
    figure = draw_figure(page, heart(5, 0))
    live = figure.root.locator("[aria-live]")
    page.get_by_label("Look closer").focus()
    page.keyboard.press("Tab")
    first = figure.root.locator(".gbuq-panel").first
    expect(first).to_be_focused()
    assert first.evaluate("node => getComputedStyle(node).outlineStyle") == "solid"
    expect(live).to_contain_text("feature 2: 4 · feature 1: 4: SGB: total ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    expect(live).to_contain_text("feature 2: 5 · feature 1: 3: SGB: total ")
    expect(live).to_contain_text("hatched; SGB: data ")
    page.keyboard.press("PageDown")
    expect(figure.root.locator(".gbuq-panel").nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    assert figure.sent() == {"panel": 1, "frame": 4, "row": 3, "column": 5}
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    assert runs_as_cells(figure.sent(), 9) == {(3, 4), (3, 5), (4, 4), (4, 5)}
    figure.drag((2, 3), (5, 6), panel=1)
    touched = {(row, column) for row in range(2, 6) for column in range(3, 7)}
    assert runs_as_cells(figure.sent(), 9) == touched


def test_space_plays_and_pauses_and_comma_steps(page):
    figure = draw_figure(page, heart(200, 0))
    figure.root.locator(".gbuq-panel").first.focus()
    page.keyboard.press(" ")
    figure.wait_for("node.dataset.playing === '1' && Number(node.dataset.frame) > 1")
    page.keyboard.press(" ")
    figure.wait_for("node.dataset.playing === '0'")
    held = figure.frame()
    page.keyboard.press(",")
    figure.wait_for_frame(held - 1)
    page.keyboard.press(".")
    figure.wait_for_frame(held)


def test_playing_draws_in_the_browser_alone_and_ends_at_the_last_frame(page):
    figure = draw_figure(page, heart(40, 0))
    assert figure.frame() == 39
    assert figure.root.locator(".gbuq-frame").inner_text() == "tree 1000 of 1000"
    page.get_by_label("Speed").select_option("0.5")  # a busy machine, too, is in time to pause
    drawn = figure.draws()
    before = figure.colour(4, 4, panel=2)
    page.get_by_label("Play", exact=True).click()
    figure.wait_for_frame(1, 38)
    page.get_by_label("Pause", exact=True).click()
    assert figure.colour(4, 4, panel=2) != before
    page.get_by_label("Speed").select_option("4")
    page.get_by_label("Play", exact=True).click()
    figure.wait_for("node.dataset.playing === '0' && node.dataset.frame === '39'")
    page.wait_for_timeout(300)
    assert figure.frame() == 39, "no loop"
    # Of 40 frames at 16 a second a slow machine draws fewer, but more than the first and the last.
    assert figure.draws() - drawn > 8
    assert page.evaluate("gbuqSent") == 0, "the server hears nothing"


def test_a_sheet_that_greets_plays_once_by_itself_and_not_for_readers_who_want_less_motion(page):
    sheet = replace(heart(200, 0), greets=True)
    page.emulate_media(reduced_motion="reduce")
    figure = draw_figure(page, sheet)
    assert figure.data("playing") == "0"
    assert figure.frame() == 199
    page.emulate_media(reduced_motion="no-preference")
    figure = draw_figure(page, sheet)
    figure.wait_for("Number(node.dataset.frame) < 199")
    figure.root.get_by_role("button", name="Pause").click()
    figure.wait_for("node.dataset.playing === '0'")
    put_sheet(page, replace(heart(200, 1), greets=True))  # new data find the reader there
    assert figure.data("playing") == "0"


def test_maps_that_stand_together_share_a_narrow_window_and_count_as_they_play(page):
    sheet = fields(20, 0.0, 20)
    panels = [
        replace(panel, subtitle=[f"{n} found" for n in range(20)]) for panel in sheet.panels[:2]
    ]
    sheet = replace(sheet, panels=panels, beside=(), together=2)
    page.set_viewport_size({"width": 500, "height": 900})
    figure = draw_figure(page, sheet)
    assert figure.data("beside") is None
    boxes = [panel.bounding_box() for panel in figure.root.locator(".gbuq-panel").all()]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[1]["x"] + boxes[1]["width"] <= 500
    heading = """node => {
      const { base, place, ratio } = node.getRootNode().gbuqSheet?.view.views[1]
        ?? node.parentElement.gbuqSheet.view.views[1];
      const { data } = base.getContext('2d').getImageData(0, 0, place.w * ratio, 40 * ratio);
      return data.reduce((sum, value, at) => (sum * 31 + value * (at % 97)) % 1000003, 7);
    }"""
    before = figure.root.evaluate(heading)
    figure.root.locator(".gbuq-scrub").press("Home")
    figure.wait_for_frame(0)
    assert figure.root.evaluate(heading) != before


def test_scrubbing_follows_the_slider(page):
    figure = draw_figure(page, heart(20, 0))
    scrub = page.get_by_role("slider", name="tree")
    scrub.focus()
    page.keyboard.press("Home")
    figure.wait_for_frame(0)
    page.keyboard.press("ArrowRight")
    figure.wait_for_frame(1)
    expect(scrub).to_have_attribute("aria-valuetext", "tree 100 of 1000")
    box = scrub.bounding_box()
    page.mouse.move(box["x"] + 7, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=10)
    figure.wait_for_frame(7, 12)  # frames follow while the button is held
    page.mouse.up()
    held = figure.frame()
    page.get_by_label("Step forward").click()
    figure.wait_for_frame(held + 1)
    page.get_by_label("Step back").click()
    figure.wait_for_frame(held)


def test_new_data_keep_frame_place_and_play_state(page, url):
    figure = open_figure(page, url, "case=heart&frames=50")
    page.get_by_role("slider", name="tree").focus()
    page.keyboard.press("Home")
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    figure.wait_for_frame(7)
    figure.root.evaluate("node => { node.dataset.mine = 'same node'; }")
    values = figure.hover(2, 6, panel=3)
    digest = figure.data("digest")
    colour = figure.colour(2, 6, panel=5)
    page.get_by_role("slider", name="Seed").focus()
    page.keyboard.press("ArrowRight")
    figure.wait_for("node.dataset.digest !== x", digest)
    assert figure.data("mine") == "same node"
    assert figure.frame() == 7
    assert figure.data("cell") == "2,6"
    assert figure.values() != values
    assert figure.values().keys() == values.keys()
    assert figure.colour(2, 6, panel=5) != colour
    wait_ready(page, canvases=1)
    digest = figure.data("digest")
    page.get_by_label("Speed").select_option("0.25")  # it must not end before the new data come
    page.get_by_label("Play", exact=True).click()
    page.get_by_role("slider", name="Seed").focus()
    page.keyboard.press("ArrowRight")
    figure.wait_for("node.dataset.digest !== x", digest)
    assert figure.data("playing") == "1"
    assert figure.frame() >= 7


@pytest.mark.parametrize("viewport", [PHONE], indirect=True, ids=["phone"])
def test_a_finger_taps_scrolls_and_selects_after_resting(new_page, url):
    page = new_page(has_touch=True, is_mobile=True)
    page.set_viewport_size({"width": PHONE[0], "height": 400})  # so low that the page scrolls
    figure = open_figure(page, url, "case=heart&frames=5")
    page.touchscreen.tap(*figure.place(1, 7))
    expect(page.get_by_text("event: clicked=(0, 1, 7)")).to_be_attached()
    expect(figure.readout).to_be_visible()
    touch = page.context.new_cdp_session(page)

    def send(kind: str, point=None):
        points = [] if point is None else [{"x": point[0], "y": point[1]}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    start, end = figure.place(2, 2), figure.place(5, 5)
    drag = "node.getRootNode().gbuqSheet.view.state.drag"
    send("touchStart", start)
    figure.wait_for(drag)  # the finger has rested long enough
    for share in (0.3, 0.6, 1.0):
        send("touchMove", [a + share * (b - a) for a, b in zip(start, end, strict=True)])
    send("touchEnd")
    figure.wait_for("'runs' in JSON.parse(node.dataset.sent)")
    touched = {(row, column) for row in range(2, 6) for column in range(2, 6)}
    assert runs_as_cells(figure.sent(), 9) == touched
    # A quick swipe belongs to the page: it scrolls, and selects nothing.
    sent = figure.data("sent")
    start = figure.place(5, 5)
    top = figure.root.bounding_box()["y"]
    for _ in range(9):  # on a busy machine the finger may rest too long before it moves
        send("touchStart", start)
        send("touchMove", (start[0], start[1] - 20))
        if not figure.root.evaluate(f"node => Boolean({drag})"):
            break
        send("touchCancel")
    for up in (60, 120):
        send("touchMove", (start[0], start[1] - up))
    send("touchEnd")
    figure.wait_for("node.getBoundingClientRect().top < x", top)
    assert figure.data("sent") == sent


def test_user_text_is_shown_as_it_is(page):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    figure = draw_figure(page, labels(TITLE))
    values = figure.hover(0, 0)
    assert values == {"<b>Bold</b> & co": "1.5 <b>unit</b>"}
    place = figure.readout.locator(".gbuq-place").inner_text()
    assert place == "category & more: <img src=x onerror=alert(1)> · row: [link](javascript:0)"
    assert figure.hover(0, 1) == {"<b>Bold</b> & co": "no value"}
    assert figure.hover(1, 0) == {"<b>Bold</b> & co": "10⁻⁷ <b>unit</b>"}
    assert figure.root.locator("img, b b, script, a").count() == 0
    assert dialogs == []


def test_a_figure_behind_a_tab_is_drawn_when_the_tab_opens(page, url):
    page.goto(f"{url}/?case=heart&frames=5&hidden=1")
    page.locator(".gbuq").wait_for(state="attached")
    wait_ready(page)
    page.get_by_role("tab", name="second").click()
    figure = Figure(page)
    figure.wait_for("node.dataset.ready === '1'")
    assert figure.hover(4, 4, panel=2)["SGB: knowledge"].endswith(" variance of y")


def test_two_sessions_do_not_see_each_other(new_page, url):
    left = open_figure(new_page(), url, "case=heart&frames=5")
    right = open_figure(new_page(private=True), url, "case=heart&frames=5")
    left.click(0, 1)
    expect(left.page.get_by_text("event: clicked=(0, 0, 1)")).to_be_visible()
    expect(right.page.get_by_text("event: clicked=None")).to_be_visible()
    assert isinstance(right, Figure)
    assert right.data("sent") is None
