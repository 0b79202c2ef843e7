"""Scoreboard in Chromium: chooser and picture in the first screen, filters in the address, runs."""

import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import (
    assert_no_exception,
    screenshot,
    wait_ready,
)
from tests.browser.figure import unfold
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
QUICK = "paper=5+MACAU&view=Beside+the+paper"
CELL = f"{QUICK}&cell=linear+%2F+MACAU+%28basic%29"
PICTURE = ".st-key-scoreboard-picture"


def open_page(page, url, query=QUICK):
    page.goto(f"{url}/scoreboard?{query}")
    page.locator(f"{PICTURE} canvas, {PICTURE} svg.marks").first.wait_for()
    wait_ready(page)


def test_questions_and_answer_stand_alone_in_the_first_screen_and_nothing_overflows(page, serve):
    page.goto(f"{serve(APP)}/scoreboard")
    page.locator(".st-key-board-answer table").wait_for()
    wait_ready(page)
    for window, scheme in opening_screens(page, "scoreboard"):
        assert not page.locator(PICTURE).is_visible()
        assert page.locator(".st-key-board-answer").bounding_box()["y"] < window[1]
        screenshot(page, f"scoreboard-{window[0]}-{scheme}")
    wanted = {"a class": r"task=a(\+|%20)class", "finding foreign rows": "purpose=finding"}
    for name, address in wanted.items():
        page.get_by_role("radio", name=name, exact=True).focus()
        page.keyboard.press("Space")
        page.wait_for_url(re.compile(address))
        wait_ready(page)
    page.get_by_role("button", name="Show these numbers").click()
    page.locator(PICTURE).wait_for()
    assert_no_exception(page)


def test_a_preset_after_back_leaves_no_cell_of_another_paper(page, serve):
    open_page(page, serve(APP), "paper=3+IBUG&view=Beside+the+paper")
    unfold(page, "All settings")
    page.get_by_role("button", name="Paper 4", exact=True).click()
    page.wait_for_url(re.compile(r"paper=4(\+|%20)Soft(\+|%20)trees"))
    wait_ready(page)
    assert "cell=" not in page.url
    page.go_back()
    page.wait_for_url(re.compile(r"paper=3(\+|%20)IBUG"))
    wait_ready(page)
    assert "cell=" not in page.url
    assert_no_exception(page)


def test_a_cell_runs_in_a_process_that_cancel_ends(page, serve):
    open_page(page, serve(APP), CELL)
    page.get_by_role("button", name="Run this cell now").click()
    page.locator("[data-testid=stProgress]").wait_for()
    page.get_by_role("button", name="Cancel").click()
    run = page.get_by_role("button", name="Run this cell now")
    run.wait_for()
    wait_ready(page)
    run.click()
    page.locator(".st-key-table-board-fresh").wait_for()
    wait_ready(page)
    expect(page.locator(".st-key-table-board-fresh")).to_contain_text("CRPS")
    assert_no_exception(page)
