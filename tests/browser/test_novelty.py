"""Novelty maps in Chromium: a click explains, a lasso asks before it erases, links, themes."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import DESKTOP, assert_no_exception, screens, screenshot, wait_ready
from tests.browser.figure import Figure

APP = Path(__file__).resolve().parents[2] / "app.py"
# Small enough for a busy machine.
QUICK = "rows=200&trees=10"
OVERFLOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
COLD = 180_000  # ms: kernels may have to be compiled first, on a machine that does other things too


def open_novelty(page, url, query=QUICK):
    page.goto(f"{url}/novelty?{query}")
    page.locator(".gbuq[data-ready='1']").first.wait_for(timeout=COLD)
    page.get_by_role("heading", name="The paper and this picture").wait_for(timeout=COLD)
    wait_ready(page, canvases=2)  # the maps, and the trees of the place
    return Figure(page)


def after(page, figure, action):
    """Do something and wait until the maps are others."""
    before = figure.data("digest")
    action()
    figure.wait_for("node.dataset.digest !== x", before)
    wait_ready(page, canvases=2)


def choose_tool(page, name):
    tool = page.get_by_role("radio", name=name, exact=True)
    tool.click()
    expect(tool).to_be_checked()
    wait_ready(page, canvases=2)


def predict(page, *answers):
    asked = page.locator(".st-key-novelty-prediction [role=radiogroup]")
    for i, answer in enumerate(answers):
        asked.nth(i).get_by_text(answer, exact=True).click()
        expect(asked.nth(i).get_by_role("radio", name=answer, exact=True)).to_be_checked()


def test_a_click_explains_a_place_the_link_remembers_it_and_nothing_overflows(
    page, new_page, serve
):
    url = serve(APP)
    figure = open_novelty(page, url)
    after(page, figure, lambda: figure.click(50, 10, panel=1))
    page.wait_for_url(re.compile(r"column=11(\.0)?&row=51"))
    heading = page.get_by_role("heading", name=re.compile("^At x1 = -2.1")).first
    heading.wait_for()
    other = new_page(private=True)
    open_novelty(other, url, page.url.split("?")[1])
    other.get_by_role("heading", name=heading.inner_text()).wait_for()
    # The first maps are on the first screen.
    panels = figure.root.locator(".gbuq-panel")
    for window, scheme in screens(page):
        assert not page.evaluate(OVERFLOW)
        last = panels.nth(5 if window == DESKTOP else 0).bounding_box()
        assert last["y"] + last["height"] < window[1]
        boxes = [panels.nth(i).bounding_box() for i in range(6)]
        assert len({round(box["x"]) for box in boxes}) == (3 if window == DESKTOP else 6)
        screenshot(page, f"novelty-{window[0]}-{scheme}")


def test_a_bad_link_is_explained_and_the_keyboard_chooses_a_cell(page, serve):
    figure = open_novelty(page, serve(APP), QUICK + "&row=99&edits=AQAB&what=1")
    assert "row must be" in page.locator(".st-key-note-link").inner_text()
    page.get_by_text("The edits in the link are damaged").wait_for()
    figure.root.locator(".gbuq-panel").first.focus()
    page.keyboard.press("Home")
    after(page, figure, lambda: page.keyboard.press("Enter"))
    page.wait_for_url(re.compile(r"column=1(\.0)?&"))
    # The maps follow a slider while it is dragged; the address waits until it is let go.
    track = page.locator(".st-key-noise [role=group] > div").first
    track.scroll_into_view_if_needed()
    thumb = page.locator(".st-key-noise [data-testid=stSliderThumbValue]").first.bounding_box()
    box, address, before = track.bounding_box(), page.url, figure.data("digest")
    y = box["y"] + box["height"] / 2
    page.mouse.move(thumb["x"] + thumb["width"] / 2, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 1, y, steps=3)
    figure.wait_for("node.dataset.digest !== x", before)
    assert page.url == address
    page.mouse.up()
    page.wait_for_url("**noise=3&**")
    assert_no_exception(page)


def test_a_lasso_erases_only_after_a_prediction_and_the_link_restores_it(page, new_page, serve):
    url = serve(APP)
    figure = open_novelty(page, url)
    choose_tool(page, "erase")
    after(page, figure, lambda: figure.drag((28, 14), (40, 26), panel=1))
    apply = page.get_by_role("button", name=re.compile("^Erase rows in 169 cells")).first
    expect(apply).to_be_disabled()
    assert "edits=" not in page.url
    predict(page, "rise", "stay")
    expect(apply).to_be_enabled()
    after(page, figure, apply.click)
    page.wait_for_url("**edits=*")
    page.get_by_role("heading", name="What the last edit changed").wait_for()
    page.get_by_text(
        re.compile("^(Right|Wrong): you predicted \u201crise\u201d. Novelty")
    ).wait_for()
    changed = figure.data("digest")
    other = new_page(private=True)
    again = open_novelty(other, url, page.url.split("?")[1])
    other.get_by_text("This edit came with the link").wait_for()
    assert again.data("digest") == changed
    after(page, figure, lambda: page.get_by_role("button", name="Undo").click())
    page.wait_for_function("!location.search.includes('edits')")
