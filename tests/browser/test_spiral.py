"""Spiral in Chromium: sliders, a probed point, a drawn line, the player, links, phones, themes."""

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
# Small enough for a busy machine.
QUICK = "rows=100&members=3&trees=50&chain_trees=200&cycle=40&step=20&depth=4&every=true"
FIGURES = 4  # maps, point, line, burn-in


COLD = 180_000  # ms: kernels may have to be compiled first, on a machine that does other things too


# Level texts that are drawn over an edge of their canvas.
CUT = """(node) => {
  const view = node.getRootNode().gbuqSheet?.view ?? node.parentElement.gbuqSheet.view;
  const proto = CanvasRenderingContext2D.prototype;
  const [own, cut] = [proto.fillText, []];
  proto.fillText = function (text, x, y) {
    const { a, b, e } = this.getTransform();
    const width = a * this.measureText(text).width;
    const share = { center: 0.5, right: 1, end: 1 }[this.textAlign] ?? 0;
    const left = a * x + e - share * width;
    if (b === 0 && (left < -1 || left + width > this.canvas.width + 1)) cut.push(text);
    own.call(this, text, x, y);
  };
  view.drawAll();
  proto.fillText = own;
  return cut;
}"""


def open_spiral(page, url, query=QUICK):
    page.goto(f"{url}/spiral?{query}")
    wait_ready(page, canvases=1)
    # The picture is complete once both methods are in it.
    page.get_by_role("group", name=re.compile("^SGLB: knowledge")).wait_for(timeout=COLD)
    page.get_by_role("group", name=re.compile("^cSGLB: knowledge")).wait_for(timeout=COLD)
    wait_ready(page, canvases=FIGURES)
    return Figure(page)


def test_a_click_a_line_and_sliders_change_picture_and_address_and_views_fit_nothing(page, serve):
    figure = open_spiral(page, serve(APP), QUICK + "&shown=3")
    play_and_pause(page, figure)  # without the server
    point, ray = Figure(page, 1), Figure(page, 2)
    after(page, point, lambda: figure.click(40, 60))
    page.wait_for_url("**px=30*")
    page.get_by_text("At this point").locator("xpath=ancestor::table").wait_for()
    box = page.get_by_label("x", exact=True).first

    def type_it(text):
        box.fill(text)
        box.press("Enter")

    after(page, point, lambda: type_it("12.7"))
    page.wait_for_url(re.compile(r"[?&]px=13(\.0)?(&|$)"))  # a box of floats writes 13.0
    expect(box).to_have_value("13")
    assert page.locator("[class*=st-key-note-knob]").count() == 0

    def draw():
        figure.root.get_by_role("button", name="Draw a line").click()
        figure.drag((40, 40), (70, 10))

    after(page, ray, draw)
    page.wait_for_url("**sx=-4*")
    assert "sy=" in page.url
    for label in ("Compare methods", "All settings"):
        unfold(page, label)
    costs = page.get_by_text("Fitted: SGLB")
    before = costs.inner_text()
    after(page, figure, lambda: turn(figure, "burn_in"))
    page.wait_for_url("**burn_in=1*")
    after(page, figure, lambda: turn(figure, "shown", "ArrowLeft"))
    page.wait_for_url("**shown=2*")
    # The measured seconds differ from fit to fit, so the same text is the same fit.
    expect(costs).to_have_text(before)
    after(page, figure, lambda: press(page, "seed"))
    page.wait_for_url("**seed=1*")


def test_the_page_opens_with_two_maps_the_control_and_the_answer_and_shows_all_when_asked(
    page, serve
):
    page.goto(f"{serve(APP)}/spiral")
    maps = [
        page.get_by_role("group", name=re.compile(f"^{title}"))
        for title in ("True density", "SGLB: knowledge")
    ]
    maps[1].wait_for(timeout=COLD)
    wait_ready(page, canvases=1)
    figure = Figure(page)
    assert figure.root.evaluate(CUT) == []  # "600" is −600 at the left edge
    answer = page.get_by_role("button", name="Trees fail far out")
    control = page.locator(".st-key-noise")
    for window, scheme in opening_screens(page, "spiral"):
        assert figure.data("beside") == "4,3"  # the true density, and knowledge uncertainty
        truth, knowledge, knob, words = (part.bounding_box() for part in (*maps, control, answer))
        assert knowledge["y"] < window[1]
        if window[0] > 480:  # beside the maps, which fill the rest of the screen
            assert min(knob["x"], words["x"]) > knowledge["x"] + knowledge["width"] - 12
            assert words["y"] + words["height"] < window[1]
            assert truth["width"] + knowledge["width"] > 0.66 * window[0]
        else:  # below each other, as wide as the phone
            assert truth["y"] > knowledge["y"] + knowledge["height"]
            assert knowledge["width"] > 0.8 * window[0]
        screenshot(page, f"spiral-{window[0]}-{scheme}")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    figure.root.get_by_role("button", name="View").click()
    figure.root.locator(".gbuq-knob[data-knob=every] input").check()
    page.wait_for_url("**every=true*")
    wait_ready(page, canvases=1)
    panels = figure.root.locator(".gbuq-panel")
    assert len({round(panels.nth(i).bounding_box()["x"]) for i in range(8)}) == 4
