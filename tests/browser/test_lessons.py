"""Lessons in Chromium: turning steps, opening one in its page, phones."""

import re
from pathlib import Path

from tests.browser.conftest import screens, screenshot, wait_ready
from tests.browser.figure import Figure, unfold

APP = Path(__file__).resolve().parents[2] / "app.py"
OVERFLOW = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def open_lesson(page, url, query=""):
    page.goto(f"{url}/lessons{query}")
    wait_ready(page, canvases=1)
    return Figure(page)


def test_steps_turn_and_stay_in_the_address_and_nothing_overflows(page, serve):
    figure = open_lesson(page, serve(APP), "?part=2")
    page.get_by_role("heading", name="2. Where nothing was ever seen").wait_for()
    assert int(figure.data("frames")) > 50
    page.get_by_role("button", name="Next").click()
    page.get_by_role("heading", name="3. Hidden in the total").wait_for()
    page.wait_for_url("**part=3*")
    wait_ready(page, canvases=1)
    unfold(page, "Would the total alone have told you?")
    page.get_by_text("Hardly. The total finds the empty cells").wait_for()
    for part in (4, 5):
        page.get_by_role("button", name="Next").click()
        page.wait_for_url(f"**part={part}*")
        page.get_by_role("heading", name=re.compile(rf"^{part}\. ")).wait_for()
        wait_ready(page, canvases=1)
    for window, scheme in screens(page):
        assert not page.evaluate(OVERFLOW)
        screenshot(page, f"lessons-{window[0]}-{scheme}")


def test_a_step_opens_in_its_page_with_its_settings(page, serve):
    open_lesson(page, serve(APP), "?part=6")
    page.get_by_role("link", name="Open this in Heart").click()
    page.wait_for_url("**/heart?*rate=0.1*")
    page.get_by_role("group", name="virtual SGLB: knowledge").wait_for()
    wait_ready(page, canvases=1)
    assert page.locator(".st-key-note-link").count() == 0


def test_the_chooser_and_the_address_name_the_page(page, serve):
    open_lesson(page, serve(APP), "?lesson=heart&part=2")  # as links said before
    page.get_by_role("heading", name="2. Where nothing was ever seen").wait_for()
    assert page.locator(".st-key-note-link").count() == 0
    page.get_by_role("combobox", name="Lesson").click()
    page.get_by_role("option", name="25 Gaussians").click()
    page.wait_for_url("**lesson=25*Gaussians*")
    page.get_by_role("heading", name="What makes a chain leave a mode").wait_for()
    page.reload()
    page.get_by_role("heading", name="What makes a chain leave a mode").wait_for()
    wait_ready(page, canvases=1)
    assert page.locator(".st-key-note-link").count() == 0
