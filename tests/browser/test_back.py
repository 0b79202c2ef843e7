"""Back in Chromium: several knobs that are set at once are one step."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import assert_no_exception, wait_ready

APP = Path(__file__).resolve().parents[1] / "app" / "apps" / "two_pages.py"
PAGES = Path(__file__).resolve().parents[2] / "app.py"


def open_first(page, serve):
    """The first page, once what keeps the steps of the history listens; how many there are."""
    page.goto(f"{serve(APP)}/?rows=30")
    page.get_by_text("link [").wait_for()
    wait_ready(page)
    page.wait_for_function("window.gbuqLeaving")
    return page.evaluate("history.length")


def test_a_preset_is_one_step_back_and_forward(page, serve):
    steps = open_first(page, serve)
    page.get_by_role("button", name="Paper settings").first.click()
    # The link that the page writes says when all widgets have their values.
    page.get_by_text(re.compile(r"link \[.*trees=1000&step=80\]")).wait_for()
    page.wait_for_url(re.compile("step=80"))
    wait_ready(page)
    assert page.evaluate("history.length") == steps + 1
    there = page.url
    page.go_back()
    page.wait_for_url(re.compile(r"\?rows=30$"))
    page.get_by_text(re.compile(r"values .*'SGB'\).*\('rows', 30\).*\('trees', 100\)")).wait_for()
    page.go_forward()
    page.wait_for_url(there)
    page.get_by_text(re.compile(r"link \[.*trees=1000&step=80\]")).wait_for()
    assert_no_exception(page)


def test_back_leads_to_the_page_before_as_it_was_left(page, serve):
    steps = open_first(page, serve)
    page.get_by_role("link", name="Right").click()
    page.get_by_role("heading", name="Right").wait_for()
    page.wait_for_url(re.compile("/right$"))
    wait_ready(page)
    assert page.evaluate("history.length") == steps + 1
    page.go_back()
    page.wait_for_url(re.compile(r"\?rows=30$"))
    page.get_by_text(re.compile(r"values .*\('rows', 30\)")).wait_for()
    wait_ready(page)
    # Keys step through the story, and each step is one step of the history.
    page.get_by_role("button", name="Present").click()
    page.wait_for_url(re.compile("present=1"))
    wait_ready(page)
    steps = page.evaluate("history.length")
    page.keyboard.press("ArrowRight")
    page.get_by_text("Six trees. (2 of 3)").wait_for()
    page.wait_for_url(re.compile("present=2"))
    wait_ready(page)
    assert page.evaluate("history.length") == steps + 1
    assert "trees=6" in page.url
    page.go_back()
    page.get_by_text("(1 of 3)").wait_for()
    wait_ready(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Present").wait_for()
    assert page.url.endswith("?rows=30")
    assert_no_exception(page)


def test_an_address_that_is_written_out_is_no_step_of_its_own(page, serve):
    steps = open_first(page, serve)
    opened = page.get_by_text("values [('size', 10)]")
    for at_first in (True, False):
        page.get_by_role("link", name="Opened").click()
        page.wait_for_url(re.compile(r"/opened\?size=10$"))
        opened.wait_for()
        wait_ready(page)
        assert page.evaluate("history.length") == steps + 1
        if at_first:
            page.go_back()
            page.wait_for_url(re.compile(r"\?rows=30$"))
            page.get_by_text(re.compile(r"values .*\('rows', 30\)")).wait_for()
            wait_ready(page)
    # A reader who was faster than the page: Back to an address that nobody has written out.
    page.evaluate("history.replaceState({}, '', '/opened')")
    page.get_by_role("link", name="Right").click()
    page.get_by_text("values [('trees', 20)]").wait_for()
    wait_ready(page)
    page.go_back()
    page.wait_for_url(re.compile(r"/opened\?size=10$"))
    opened.wait_for()
    wait_ready(page)
    assert page.evaluate("history.length") == steps + 2
    assert_no_exception(page)


def test_back_undoes_a_knob_and_forward_does_it_again(page, serve):
    page.goto(f"{serve(PAGES)}/heart")
    slider = page.get_by_role("slider", name="Training rows per cell")
    slider.wait_for()
    page.wait_for_function("window.gbuqLeaving")
    wait_ready(page)
    steps, before = page.evaluate("history.length"), slider.get_attribute("aria-valuetext")
    first = page.url
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).not_to_have_url(first)
    wait_ready(page)
    assert page.evaluate("history.length") == steps + 1
    moved, after = page.url, slider.get_attribute("aria-valuetext")
    assert after != before
    page.go_back()
    expect(slider).to_have_attribute("aria-valuetext", before)
    assert page.url == first
    page.go_forward()
    expect(slider).to_have_attribute("aria-valuetext", after)
    assert page.url == moved
    wait_ready(page)
    # A key that stays pressed: Streamlit writes each value, and all are one step.
    page.evaluate(
        "[3, 4].forEach((n) => history.replaceState({}, '', `${location.origin}/heart?rows=${n}`))"
    )
    assert page.url.endswith("/heart?rows=4")
    page.go_back()
    expect(page).to_have_url(moved)
