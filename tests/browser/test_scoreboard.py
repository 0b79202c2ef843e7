"""Scoreboard in Chromium: another question changes answer, plot, table and address."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import assert_no_exception, screenshot, wait_ready
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
PICTURE = ".st-key-scoreboard-picture"
MARKS = f"{PICTURE} svg.marks"


def open_page(page, address):
    page.goto(address)
    page.locator(MARKS).wait_for()
    wait_ready(page)


def answer_of(page):
    return page.locator(f"{PICTURE} h4").inner_text()


def test_another_question_is_answered_and_its_link_and_back_restore_it(page, serve):
    url = f"{serve(APP)}/scoreboard"
    open_page(page, url)
    for window, scheme in opening_screens(page, "scoreboard"):
        screenshot(page, f"scoreboard-{window[0]}-{scheme}")
    first = answer_of(page)
    assert "?" not in page.url
    page.get_by_role("radio", name="finding wrong predictions", exact=True).focus()
    page.keyboard.press("Space")
    page.wait_for_url(re.compile("purpose=finding"))
    wait_ready(page)
    second = answer_of(page)
    assert second != first
    expect(page.locator(MARKS)).to_contain_text("PRR, % (higher is better)")
    expect(page.locator(f"{PICTURE} [data-testid=stDataFrame]")).to_be_visible()
    link = page.url
    page.reload()
    page.locator(MARKS).wait_for()
    wait_ready(page)
    assert answer_of(page) == second
    page.goto(url)
    page.locator(MARKS).wait_for()
    wait_ready(page)
    page.go_back()
    page.wait_for_url(link)
    wait_ready(page)
    expect(page.locator(f"{PICTURE} h4")).to_have_text(second)
    assert_no_exception(page)
