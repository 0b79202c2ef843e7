"""Heteroscedastic in Chromium: a slider moves the picture, a link restores it, phones, themes."""

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
from tests.browser.figure import unfold

APP = Path(__file__).resolve().parents[2] / "app.py"
# Small enough for a busy machine.
QUICK = "rows=500&trees=20&subsample=0.2&methods=MACAU+%28basic%29&methods=Conformal%2C+linear"
COLD = 180_000  # ms: kernels may have to be compiled first, on a machine that does other things too
ROOT = ".st-key-heteroscedastic .gbuq-curves"
DRAWN = "node => node.querySelector('svg[tabindex]').innerHTML"


def open_heteroscedastic(page, url, query=QUICK):
    page.goto(f"{url}/heteroscedastic?{query}")
    page.get_by_text("RMSE of the mean").wait_for(timeout=COLD, state="attached")
    wait_ready(page)
    return page.locator(ROOT).first


def wait_until_another(page, root, before):
    """Until the picture, which lives in a shadow of its own, is drawn anew."""
    changed = f"([node, before]) => ({DRAWN})(node) !== before"
    page.wait_for_function(changed, arg=[root.element_handle(), before])


def assert_all_panels_are_read_by_the_keyboard(root):
    readout = root.locator(".gbuq-curves-readout")
    pattern = (
        r"x \u221210 .*truth .* \u00b1 .*MACAU \(basic\) .* \u00b1 .*novelty, z-score .*Conformal"
    )
    root.locator("svg[tabindex]").focus()
    root.page.keyboard.press("Home")
    expect(readout).to_have_text(re.compile(pattern))  # every panel and its score at once
    root.page.keyboard.press("Escape")
    expect(readout).to_have_text(re.compile("^Point at"))


def test_the_page_opens_with_one_band_its_names_on_it_and_the_answer_and_shows_all_when_asked(
    page, serve
):
    few = "rows=500&trees=20&subsample=0.2"  # of the methods that the page opens with
    root = open_heteroscedastic(page, serve(APP), few)
    labels = root.locator("text.label")
    panels = root.locator("svg[tabindex] g.panel")
    answer = page.get_by_role(
        "button", name="Among the rows, the 95 % band of MACAU (linear) holds"
    )
    for window, scheme in screens(page):
        assert_accessible(page)
        expect(panels).to_have_count(2)  # the band, and the score below
        names = set(labels.all_text_contents())
        assert {"prediction", "data 95 %", "true mean", "rows", "no rows"} <= names
        assert root.locator("button").filter(visible=True).all_inner_texts() == ["View"]
        drawing = root.locator("svg[tabindex]").bounding_box()
        assert drawing["y"] + drawing["height"] < window[1]
        assert drawing["width"] * drawing["height"] > 0.45 * window[0] * window[1]
        if window == DESKTOP:
            box = answer.bounding_box()
            assert box["y"] + box["height"] < window[1]
        screenshot(page, f"heteroscedastic-{window[0]}-{scheme}")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    root.get_by_role("button", name="View").click()
    root.locator(".gbuq-knob[data-knob=every] input").check()
    page.wait_for_url("**every=true*")
    wait_ready(page)
    expect(panels).to_have_count(6)
    assert_no_exception(page)


def test_a_slider_of_the_view_moves_the_picture_and_the_keyboard_reads_all_panels(page, serve):
    root = open_heteroscedastic(page, serve(APP))
    before = root.evaluate(DRAWN)
    unfold(page, "All settings")
    slider = page.get_by_role("slider", name="Foreign rows up to")
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("right_to=21"))
    wait_until_another(page, root, before)
    wait_ready(page)
    moved = root.evaluate(DRAWN)
    page.get_by_text("Knowledge (dark rim)").click()
    page.wait_for_url(re.compile("show_knowledge=false"))
    wait_until_another(page, root, moved)
    wait_ready(page)
    page.get_by_text("Knowledge (dark rim)").click()
    page.wait_for_url(lambda address: "show_knowledge" not in address)
    wait_ready(page)
    assert_all_panels_are_read_by_the_keyboard(root)
    assert_no_exception(page)
