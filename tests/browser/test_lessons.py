"""Learn in Chromium: cards, turning steps, opening one in its page, phones."""

import re
from pathlib import Path

from tests.browser.conftest import assert_accessible, screens, screenshot, wait_ready
from tests.browser.figure import Figure

APP = Path(__file__).resolve().parents[2] / "app.py"
NEXT = re.compile(r"Next$")  # not "beside the next", the pin of a picture


def open_lesson(page, url, query=""):
    page.goto(f"{url}/lessons{query}")
    wait_ready(page, canvases=1)
    return Figure(page)


def test_steps_ask_turn_and_stay_in_the_address_and_nothing_overflows(page, serve):
    figure = open_lesson(page, serve(APP), "?part=2")
    page.get_by_role("heading", name="2. Where nothing was ever seen").wait_for()
    # Until the guess only the truth stands there.
    page.get_by_role("group", name="True noise. Arrow").wait_for()
    assert page.get_by_role("group", name="SGLB: knowledge").count() == 0
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_text('Right. You chose "All".').wait_for()
    page.wait_for_url("**answers=.c*")
    page.get_by_role("group", name="SGLB: knowledge").first.wait_for()
    wait_ready(page, canvases=1)
    assert int(figure.data("frames")) > 30
    main = page.get_by_test_id("stMain")
    page.get_by_role("button", name=NEXT).scroll_into_view_if_needed()
    main.evaluate("node => node.scrollTo(0, node.scrollHeight)")
    assert main.evaluate("node => node.scrollTop") > 0
    for part, title in ((3, "Hidden in the total"), (4, "Watch it grow"), (5, "One model")):
        page.get_by_role("button", name=NEXT).click()
        page.wait_for_url(f"**part={part}*")
        page.get_by_role("heading", name=re.compile(rf"^{part}\. {title}")).wait_for()
        page.wait_for_function("document.querySelector('[data-testid=stMain]').scrollTop === 0")
        wait_ready(page, canvases=1)
    page.reload()
    page.get_by_text("(1 of 8 answered)").first.wait_for()
    wait_ready(page, canvases=1)
    for window, scheme in screens(page):
        assert_accessible(page)
        screenshot(page, f"lessons-{window[0]}-{scheme}")
    # A step opens in its page with its settings.
    page.get_by_role("button", name=NEXT).click()
    page.wait_for_url("**part=6*")
    wait_ready(page, canvases=1)
    page.get_by_role("link", name="Open this in Heart").click()
    page.wait_for_url("**/heart?*rate=0.1*")
    page.get_by_role("group", name="virtual SGLB: knowledge").wait_for()
    wait_ready(page, canvases=1)
    assert page.locator(".st-key-note-link").count() == 0


def drag(page, points):
    """Across the chart of a guess, by parts of its width and height."""
    box = page.locator(".gbuq-guess > svg").bounding_box()
    for i, (x, y) in enumerate(points):
        page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"])
        if i == 0:
            page.mouse.down()
    page.mouse.up()


def test_a_range_is_brushed_and_a_line_is_drawn(page, serve):
    url = serve(APP)
    page.goto(f"{url}/lessons?lesson=Two+clocks")
    page.get_by_text("Drag across the chart.").wait_for()
    wait_ready(page)
    drag(page, [(0.25, 0.5), (0.5, 0.5), (0.99, 0.5)])
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Your range and the true one share").wait_for()
    page.wait_for_url(re.compile(r"answers=\d+-100"))
    wait_ready(page, canvases=1)
    page.goto(f"{url}/lessons?lesson=Noise+that+grows")
    page.get_by_text("Drag across the chart to draw.").wait_for()
    wait_ready(page)
    drag(page, [(0.07, 0.8), (0.5, 0.6), (0.99, 0.2)])
    for key in ("ArrowRight", "ArrowUp"):  # the second place, a little higher
        page.locator(".gbuq-guess > svg").press(key)
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Your line is off by").wait_for()
    page.wait_for_url(re.compile(r"answers=[\w-]{17}$"))
    wait_ready(page, canvases=1)


def test_a_card_opens_its_lesson_and_back_leads_to_the_cards(page, serve):
    url = serve(APP)
    open_lesson(page, url, "?lesson=heart&part=2")  # as links said before
    page.get_by_role("heading", name="2. Where nothing was ever seen").wait_for()
    assert page.locator(".st-key-note-link").count() == 0
    page.get_by_role("button", name="Steps (").click()
    page.get_by_role("button", name="All lessons").click()
    page.get_by_role("heading", name="What do the pictures teach?").wait_for()
    page.wait_for_url("**/lessons")
    wait_ready(page)
    page.get_by_role("link", name="25 Gaussians").click()
    page.wait_for_url("**lesson=25*Gaussians*")
    page.get_by_role("heading", name="What makes a chain leave a mode").wait_for()
    wait_ready(page, canvases=1)
    page.go_back()
    page.get_by_role("heading", name="What do the pictures teach?").wait_for()
    page.go_forward()
    page.get_by_role("heading", name="What makes a chain leave a mode").wait_for()
    wait_ready(page, canvases=1)
    assert page.locator(".st-key-note-link").count() == 0
    page.goto(f"{url}/lessons")  # a session that begins with the cards
    wait_ready(page)
    page.get_by_role("link", name="Heart", exact=True).click()
    page.wait_for_url("**lesson=Heart*")
