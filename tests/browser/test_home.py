"""Start in Chromium: slider by keyboard, links, phones, themes; a console error fails any test."""

import re
import time
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError, expect

from tests.browser.conftest import (
    DESKTOP,
    PHONE,
    WAIT,
    screenshot,
    wait_ready,
)
from tests.browser.figure import unfold
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
SLIDER = ".st-key-rows input[type=range]"
# The drawn paths of the figure as one string.
DRAWN = (
    "[...document.querySelectorAll('.st-key-wave *')]"
    ".flatMap(node => [...node.shadowRoot?.querySelectorAll('.gbuq-curves > svg path') ?? []])"
    ".map(path => path.getAttribute('d')).join('')"
)
CHANGED = f"(before) => {{ const now = {DRAWN}; return now && now !== before; }}"


def at(query):
    """The address that ends with a query."""
    return re.compile(re.escape(query) + "$")


def open_home(page, url, query=""):
    page.goto(f"{url}/{query}")
    wait_ready(page)
    page.wait_for_function(f"{DRAWN}.length > 100", timeout=2 * WAIT)


def box_of(part):
    """Where a part of the drawing is, which has none while it is just drawn anew."""
    part.wait_for()
    while (box := part.bounding_box()) is None:
        part.wait_for()
    return box


def drag_rows(page, to, rows):
    """Drag the slider to a share of its track until the picture is of so many rows; hold it there.

    A run of the page that ends just then takes the thumb back: it is taken once more.
    """
    for last in (False, False, True):
        thumb, track = (
            page.locator(f".st-key-rows {part}").first.bounding_box()
            for part in ("[data-testid=stSliderThumbValue]", "[role=group] > div")
        )
        y = track["y"] + track["height"] / 2
        page.mouse.move(thumb["x"] + thumb["width"] / 2, y)
        page.mouse.down()
        page.mouse.move(track["x"] + 1 + to * (track["width"] - 2), y, steps=5)
        drawn = page.locator(f".gbuq-curves svg[aria-label^='A prediction from {rows} ']")
        try:
            drawn.wait_for(timeout=WAIT if last else 10_000)
            break
        except TimeoutError:
            if last:
                raise
            page.mouse.up()


def test_a_slider_refits_in_place_while_dragged_and_is_remembered_in_the_address(page, serve):
    url = serve(APP)
    open_home(page, url, "?rows=800")
    node = page.locator(".gbuq-curves").element_handle()
    before = page.evaluate(DRAWN)
    page.locator(SLIDER).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(CHANGED, arg=before)
    assert node.evaluate("node => node.isConnected")  # other numbers in the figure that was there
    page.wait_for_url(at("rows=1000"))
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"(before) => {DRAWN} === before", arg=before)
    page.wait_for_url(at("rows=800"))  # a bare address opens at fewer rows
    # A dragged slider is followed; the address waits until it is let go.
    drag_rows(page, 1.0, "12,800")
    assert at("rows=800").search(page.url)
    assert node.evaluate("node => node.isConnected")
    page.mouse.up()
    page.wait_for_url(at("rows=12800"))
    wait_ready(page)
    assert page.locator(".gbuq-curves svg[aria-label^='A prediction from 12,800']").count() == 1
    # Dragged away and back, the picture is of what the thumb says. A thumb let go in a hurry
    # may stand a step from the pointer, so keys take it to its end.
    drag_rows(page, 0.0, "100")
    track = page.locator(".st-key-rows [role=group] > div").first.bounding_box()
    page.mouse.move(track["x"] + track["width"] - 1, track["y"] + track["height"] / 2, steps=5)
    page.mouse.up()
    wait_ready(page)
    rows = page.locator(".st-key-rows [data-testid=stSliderThumbValue]").first.inner_text()
    shown = f".gbuq-curves svg[aria-label^='A prediction from {int(rows):,} ']"
    page.locator(shown).wait_for()
    page.locator(SLIDER).focus()
    page.keyboard.press("End")
    page.wait_for_url(at("rows=12800"))
    # So is the stretch of rare rows, which is dragged by the bar above it.
    page.locator(".gbuq-curves").first.scroll_into_view_if_needed()
    wait_ready(page)
    bar = box_of(page.locator(".gbuq-curves .grip rect").first)
    x, y = bar["x"] + bar["width"] / 2, bar["y"] + 3
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - bar["width"] / 2, y, steps=5)
    page.mouse.move(x - bar["width"], y, steps=5)  # 1.5, its own width
    page.locator(".gbuq-curves svg[aria-label*='From 1.6 to 2.9']").wait_for()
    assert at("rows=12800").search(page.url)
    page.mouse.up()
    page.wait_for_url(at("rows=12800&rare=1.5"))
    expect(page.locator(".st-key-rare input[type=range]")).to_have_value("1.5")
    # Its right end changes its width; so do keys, which move it too.
    wait_ready(page)
    right = x - bar["width"] / 2
    page.mouse.move(right, y)
    page.mouse.down()
    page.mouse.move(right + bar["width"] / 3, y, steps=5)
    page.mouse.up()
    page.wait_for_url(at("rows=12800&rare=1.5&rare_width=2"))
    wait_ready(page)
    figure = page.locator(".gbuq-curves > svg")
    figure.focus()
    page.keyboard.down("Shift")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    page.locator(".gbuq-curves svg[aria-label*='From 1.8 to 3.5']").wait_for()
    assert at("&rare=1.5&rare_width=2").search(page.url)
    page.keyboard.up("Shift")
    page.wait_for_url(at("rows=12800&rare=1.7&rare_width=1.9"))


def test_the_page_is_as_it_was_left_after_a_visit_to_another(page, serve):
    open_home(page, serve(APP))
    page.locator(SLIDER).focus()
    page.keyboard.press("End")
    page.wait_for_url(at("rows=12800"))
    page.locator(".gbuq-curves svg[aria-label^='A prediction from 12,800']").wait_for()
    page.get_by_role("link", name="Learn").first.click()
    page.wait_for_url("**/lessons**")
    page.locator(SLIDER).wait_for(state="detached")
    assert "rows=" not in page.url
    page.get_by_role("link", name="Start").first.click()
    page.wait_for_selector(f"{SLIDER}[aria-valuetext='12800']")
    page.wait_for_url(at("rows=12800"))


def test_a_bad_link_is_explained_and_leaves_the_address(page, serve):
    open_home(page, serve(APP), "?rows=7&zap=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&%3Cb%3E=1")
    notice = page.locator(".st-key-note-link")
    notice.wait_for()
    text = notice.inner_text()
    assert 'the link says "7"; 2000 is used for "Training rows".' in text
    assert '"zap"' in text
    assert '"<b>"' in text
    assert notice.locator("img, b, a").count() == 0
    page.wait_for_url(at("/"))
    page.locator(SLIDER).focus()
    page.keyboard.press("ArrowRight")
    notice.wait_for(state="detached")
    page.wait_for_url(at("rows=2500"))
    wait_ready(page)


def test_what_can_be_taken_away_is_of_the_picture(page, serve, tmp_path):
    open_home(page, serve(APP), "?rows=200")
    page.locator(".gbuq-curves svg[aria-label^='A prediction from 200']").wait_for()
    unfold(page, "Export")
    table = downloaded(page, "Data (CSV)")
    content = Path(table.path()).read_text().splitlines()
    assert content[0].startswith("x,prediction,total_uncertainty,")
    assert len(content) == 71
    contents = {}
    page.get_by_role("button", name="View").click()
    for name in ("SVG", "PNG"):
        saved = downloaded(page, f"Save the picture as {name}")
        assert saved.suggested_filename == f"uncertainty-200-rows.{name.lower()}"
        contents[name] = Path(saved.path()).read_bytes()
    assert contents["SVG"].startswith(b"<svg")
    assert b"<title>A prediction from 200" in contents["SVG"]
    assert contents["PNG"].startswith(b"\x89PNG")
    page.get_by_role("button", name="Copy Python").click()
    page.get_by_text("make_wave(n=200").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_text("make_wave(n=200").first.wait_for(state="hidden")
    # A page that draws itself without a server.
    file = tmp_path / "wave.html"
    downloaded(page, "Page (HTML)").save_as(file)
    page.goto(file.as_uri())
    page.locator(".gbuq-curves > svg path").nth(7).wait_for(state="attached")


def downloaded(page, button):
    with page.expect_download() as waiting:
        page.get_by_role("button", name=button).click()
    return waiting.value


def test_values_are_read_and_nothing_overflows_and_the_picture_is_on_the_first_screen(page, serve):
    open_home(page, serve(APP))
    figure, readout = page.locator(".gbuq-curves > svg"), page.locator(".gbuq-curves-readout")
    figure.hover(position={"x": 400, "y": 100})
    expect(readout).to_have_text(re.compile("^x "))
    page.mouse.move(0, 0)
    figure.focus()
    page.keyboard.press("Home")
    expect(readout).to_have_text(re.compile("^x 0 "))
    page.keyboard.press("ArrowRight")
    expect(readout).to_have_text(re.compile(r"^x 0\.1 .*knowledge, standard deviation 0\."))
    page.keyboard.press("Escape")
    expect(readout).to_have_text(re.compile("^Point at"))
    for window, scheme in opening_screens(page, ""):
        screenshot(page, f"home-{scheme}-{window[0]}")
        if window == DESKTOP:
            box = page.locator(".gbuq-curves").bounding_box()
            assert box["y"] + box["height"] <= window[1]
    # A phone has all settings in a sheet below the picture.
    unfold(page, "All settings")
    sheet = page.locator(".st-key-fold-all-settings details")
    expect(sheet).to_have_css("position", "fixed")
    box, picture = sheet.bounding_box(), page.locator(".st-key-first-picture").bounding_box()
    assert box["y"] + box["height"] == pytest.approx(PHONE[1], abs=1)
    assert picture["y"] < box["y"] / 4
    assert box["height"] <= PHONE[1] / 2
    page.keyboard.press("Escape")
    expect(sheet).not_to_have_attribute("open", "")
    expect(sheet).not_to_have_css("position", "fixed")


def test_the_picture_moves_once_by_itself_and_a_dropped_table_opens(page, serve, tmp_path):
    page.goto(serve(APP))
    grip = page.locator(".gbuq-curves .grip rect").first
    grip.wait_for()
    # It has been at more places than another width of the page alone would give.
    seen, until = set(), time.monotonic() + WAIT / 1000
    while len(seen) < 4 and time.monotonic() < until:
        seen.add(grip.get_attribute("x"))
    assert len(seen) == 4
    page.wait_for_url(at("/"))  # and it is back where it began
    wait_ready(page)
    table = tmp_path / "own.csv"
    table.write_text("x,y\n" + "".join(f"{i % 9},{i % 7}\n" for i in range(80)))
    page.locator(".st-key-upload-at-start input[type=file]").set_input_files(table)
    page.wait_for_url(re.compile("your_data.*table=your"))
    page.get_by_text("own.csv").first.wait_for()


def test_an_unknown_address_says_so_and_an_experiment_marks_explore(page, serve):
    url = serve(APP)
    page.goto(f"{url}/explore")
    wait_ready(page)
    page.goto(f"{url}/no_such_page")
    page.get_by_role("heading", name="There is no page at this address").wait_for()
    assert page.get_by_role("dialog").count() == 0
    page.get_by_test_id("stMain").get_by_role("link", name="Explore").click()
    page.get_by_role("link", name="Two clocks").click()
    page.wait_for_url("**/two_clocks**")
    explore = page.get_by_test_id("stTopNav").get_by_role("link", name="Explore")
    expect(explore).to_have_css("font-weight", "600")
