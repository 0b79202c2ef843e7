"""Heart in Chromium: sliders, painting by clicks, the trees' player, links, phones, themes."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import (
    DESKTOP,
    screenshot,
    wait_ready,
)
from tests.browser.figure import Figure, after, play_and_pause, press, turn, unfold
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
# Small enough for a busy machine, large enough to separate the heart.
QUICK = "rows=100&trees=200&step=20&every=true"  # all maps


def open_heart(page, url, query=QUICK):
    page.goto(f"{url}/heart?{query}")
    wait_ready(page, canvases=1)
    figure = Figure(page)
    # A panel a map and a row a method: the picture is complete once both methods are in it.
    page.get_by_role("group", name="virtual SGLB: knowledge").wait_for()
    wait_ready(page, canvases=1)
    return figure


def knowledge(figure, row, column, title="SGLB: knowledge"):
    """The number that the read-out gives."""
    text = figure.hover(row, column)[title].split(" standard")[0]
    digits = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
    return float(text.replace(" × 10", "e").translate(digits))


def test_the_trees_play_clicks_and_drags_empty_cells_and_sliders_move_the_maps(page, serve):
    figure = open_heart(page, serve(APP))
    at_the_end = figure.colour(0, 0, panel=3)
    play_and_pause(page, figure)
    assert figure.colour(0, 0, panel=3) != at_the_end
    figure.root.locator(".gbuq-scrub").press("End")
    figure.wait_for_frame(int(figure.data("frames")) - 1)
    assert knowledge(figure, 8, 0) < 1e-3
    after(page, figure, lambda: figure.click(8, 0, panel=3))
    page.wait_for_url("**cells=80*")
    page.mouse.move(0, 0)
    assert knowledge(figure, 8, 0) > 1e-3
    after(page, figure, lambda: figure.click(8, 0))
    page.wait_for_function("!location.search.includes('cells')")
    (left, top), (right, bottom) = figure.place(7, 0), figure.place(8, 2)
    edge = (right - left) / 5  # 0.4 of a cell beyond the centres

    def drag():
        page.mouse.move(left - edge, top - edge)
        page.mouse.down()
        page.mouse.move(right + edge, bottom + edge, steps=8)
        page.mouse.up()

    after(page, figure, drag)
    page.wait_for_url("**cells=70.71.72.80.81.82*")
    unfold(page, "Export")
    page.get_by_text("23 cells have no training rows").wait_for()
    for label in ("Compare methods", "All settings"):
        unfold(page, label)
    costs = page.get_by_text("Fitted: SGLB")
    before = costs.inner_text()
    after(page, figure, lambda: turn(figure, "start"))
    # The measured seconds differ from fit to fit, so the same text is the same fit.
    expect(costs).to_have_text(before)
    after(page, figure, lambda: turn(figure, "step"))
    page.wait_for_url("**step=25*")
    after(page, figure, lambda: press(page, "trees"))
    page.wait_for_url("**trees=300*")


def test_the_page_opens_with_two_maps_one_control_and_the_answer_and_shows_all_when_asked(
    page, serve
):
    figure = open_heart(page, serve(APP), "")
    answer = page.get_by_role("button", name="empty cells than in any cell with rows")
    for window, scheme in opening_screens(page, "heart"):
        assert figure.data("beside") == "0,3"  # the noise, and knowledge
        for panel in (0, 3) if window == DESKTOP else (3,):  # a phone's map takes its width
            box = figure.root.locator(".gbuq-panel").nth(panel).bounding_box()
            assert box["y"] + box["height"] < window[1]
        if window == DESKTOP:
            box = answer.bounding_box()
            assert box["y"] + box["height"] < window[1]
        screenshot(page, f"heart-{window[0]}-{scheme}")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    figure.root.get_by_role("button", name="View").click()
    colours = figure.root.locator(".gbuq-knob[data-knob=colours]")
    # A knob that is taken shows a map that it changes; the answer is on that one, or waits.
    box = figure.root.locator(".gbuq-knob[data-knob=step] input").bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + box["height"] / 2)
    page.mouse.down()
    assert figure.data("beside") == "0,7"
    page.mouse.move(box["x"] + box["width"], box["y"] + box["height"] / 2, steps=4)
    said = "getComputedStyle(document.querySelector('.st-key-first-verdict'), '::after').content"
    assert "follows" in page.evaluate(said)
    page.mouse.up()
    page.wait_for_url("**map=virtual*")
    expect(answer).to_contain_text(re.compile("^virtual SGLB is less sure in"))
    wait_ready(page, canvases=1)
    assert "follows" not in page.evaluate(said)
    figure.root.locator(".gbuq-scrub").press("Home")
    expect(colours).to_be_visible()
    figure.root.locator(".gbuq-knob[data-knob=every] input").check()
    page.wait_for_url("**every=true*")
    wait_ready(page, canvases=1)
    shown = figure.root.locator(".gbuq-panel").evaluate_all(
        "panels => panels.filter((panel) => panel.checkVisibility()).length"
    )
    assert shown == 8
    answer.click()
    page.get_by_text("Holds").first.wait_for(state="attached")
