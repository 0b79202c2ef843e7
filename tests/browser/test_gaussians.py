"""25 Gaussians in Chromium: knobs, the race's player, its charts, links, phones, themes."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import (
    DESKTOP,
    screenshot,
    wait_ready,
)
from tests.browser.figure import Figure, after, play_and_pause, press, unfold
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"


# Each time that the answer begins to wait for a play, or is there again.
UNTOLD = """globalThis.untold = [];
new MutationObserver(() => {
  untold.push(document.documentElement.hasAttribute('data-gbuq-untold'));
}).observe(document, { subtree: true, attributeFilter: ['data-gbuq-untold'] });"""


def open_gaussians(page, url):
    page.goto(f"{url}/gaussians")
    wait_ready(page, canvases=1)
    page.get_by_role("group", name="cg-SGLD. Arrow keys").wait_for()
    # On a slow machine the last of the samplers may end before the others.
    expect(page.get_by_test_id("stProgress")).to_have_count(0)
    wait_ready(page, canvases=1)
    return Figure(page)


def test_the_page_opens_with_four_large_maps_and_the_answer_and_shows_all_when_asked(page, serve):
    page.add_init_script(UNTOLD)
    figure = open_gaussians(page, serve(APP))
    answer = page.get_by_role("button", name="cg-SGLD finds 24 of the 25 modes")
    panels = figure.root.locator(".gbuq-panel")
    for window, scheme in opening_screens(page, "gaussians"):
        boxes = [panels.nth(i).bounding_box() for i in range(panels.count())]
        assert len(boxes) == 4
        assert all(box["y"] + box["height"] < window[1] for box in boxes)
        assert all(box["width"] > 130 for box in boxes)
        # On a phone the maps stand two by two, and their counters take the chart's place.
        in_a_row = sum(box["y"] == boxes[0]["y"] for box in boxes)
        assert in_a_row == (4 if window == DESKTOP else 2)
        assert figure.root.locator(".gbuq-strip").is_visible() == (window == DESKTOP)
        if window == DESKTOP:
            box = answer.bounding_box()
            assert box["y"] + box["height"] < window[1]
        screenshot(page, f"gaussians-{window[0]}-{scheme}")
    page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    figure.wait_for_frame(59)  # it played by itself, or was not asked to
    expect(answer).to_be_visible()
    assert page.evaluate("untold") in ([], [True, False])  # its answer waited for the end
    figure.root.get_by_role("button", name="View").click()
    figure.root.locator(".gbuq-knob[data-knob=every] input").check()
    page.wait_for_url("**every=true*")
    expect(panels).to_have_count(5)
    expect(figure.root.locator(".gbuq-strip")).to_have_count(20)
    answer.click()
    page.get_by_text("SGLD is trapped").first.wait_for(state="attached")
    page.keyboard.press("Escape")
    wait_ready(page, canvases=1)
    # A trapped chain is seen and read.
    read = figure.hover(30, 30)  # the middle of the target, a mode
    assert set(read) >= {"Target", "SGLD", "N-SGLD", "clr-SGLD", "cg-SGLD"}
    assert read["SGLD"].startswith("0 ")
    page.mouse.move(0, 0)
    unfold(page, "Export")
    page.get_by_text("SGLD: 1 of 25 modes visited").first.wait_for()
    play_and_pause(page, figure)
    frame = figure.frame()
    figure.root.get_by_role("button", name="Step forward").click()
    figure.wait_for_frame(frame + 1)
    assert page.evaluate("window.gbuqSent") == 0
    unfold(page, "All settings")
    after(page, figure, lambda: press(page, "alpha_max", "ArrowLeft"))
    page.wait_for_url("**alpha_max=9.5*")
