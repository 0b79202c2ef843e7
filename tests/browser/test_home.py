"""Home in Chromium: slider by keyboard, links, phones, themes; a console error fails any test."""

from pathlib import Path

import pytest

from tests.browser.conftest import DESKTOP, PHONE, WAIT, screenshot, wait_ready

APP = Path(__file__).resolve().parents[2] / "app.py"
SLIDER = ".st-key-rows input[type=range]"
# The drawn paths of the figure as one string.
DRAWN = (
    "[...document.querySelectorAll('.st-key-wave *')]"
    ".flatMap(node => [...node.shadowRoot?.querySelectorAll('.gbuq-curves > svg path') ?? []])"
    ".map(path => path.getAttribute('d')).join('')"
)
CHANGED = f"(before) => {{ const now = {DRAWN}; return now && now !== before; }}"


def open_home(page, url, query=""):
    page.goto(f"{url}/{query}")
    wait_ready(page)
    page.wait_for_function(f"{DRAWN}.length > 100", timeout=2 * WAIT)


def test_an_arrow_key_refits_and_is_remembered_in_the_address(page, serve):
    url = serve(APP)
    open_home(page, url)
    before = page.evaluate(DRAWN)
    page.locator(SLIDER).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        f"(before) => {{ const now = {DRAWN}; return now && now !== before; }}", arg=before
    )
    page.wait_for_url("**/?rows=1600")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"(before) => {DRAWN} === before", arg=before)
    page.wait_for_function("!location.search")


def test_a_link_restores_the_page_in_a_private_window(new_page, serve):
    url = serve(APP)
    first = new_page()
    open_home(first, url)
    first.locator(SLIDER).focus()
    first.keyboard.press("End")
    first.wait_for_url("**/?rows=12800")
    first.wait_for_function("document.body.innerText.includes('fitted in')")
    second = new_page()
    open_home(second, url, "?" + first.url.split("?")[1])
    assert second.locator(SLIDER).get_attribute("aria-valuetext") == "12800"


def test_a_bad_link_is_explained_in_plain_text_and_leaves_the_address(page, serve):
    open_home(page, serve(APP), "?rows=7&zap=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&%3Cb%3E=1")
    notice = page.locator(".st-key-note-link")
    notice.wait_for()
    text = notice.inner_text()
    assert 'the link says "7"; 800 is used for "Training rows".' in text
    assert '"zap"' in text
    assert '"<b>"' in text
    assert notice.locator("img, b, a").count() == 0
    page.wait_for_function("!location.search")
    page.locator(SLIDER).focus()
    page.keyboard.press("ArrowRight")
    notice.wait_for(state="detached")


def test_going_back_restores_what_the_address_says(page, serve):
    url = serve(APP)
    open_home(page, url, "?rows=400")
    page.goto(f"{url}/?rows=3200")
    wait_ready(page)
    page.go_back()
    page.wait_for_selector(f"{SLIDER}[aria-valuetext='400']")


@pytest.mark.parametrize(
    ("viewport", "colour_scheme"), [(DESKTOP, "light"), (PHONE, "dark")], indirect=True
)
def test_nothing_overflows_and_the_picture_is_on_the_first_screen(
    page, serve, viewport, colour_scheme
):
    open_home(page, serve(APP))
    widths = page.evaluate(
        "[document.documentElement.scrollWidth,"
        " document.querySelector('[data-testid=stMain]').scrollWidth, innerWidth]"
    )
    assert max(widths[:2]) <= widths[2]
    screenshot(page, f"home-{colour_scheme}-{viewport[0]}")
    if viewport == DESKTOP:
        box = page.locator(".gbuq-curves").bounding_box()
        assert box["y"] + box["height"] <= viewport[1]


def test_the_picture_has_words_and_the_downloads_arrive(page, serve):
    open_home(page, serve(APP), "?rows=200")
    page.locator(".gbuq-curves svg[aria-label^='A prediction from 200']").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Data (CSV)").click()
    content = Path(waiting.value.path()).read_text().splitlines()
    assert content[0].startswith('"x","prediction","total_uncertainty"')
    assert len(content) == 71


def test_the_code_in_the_popover_is_the_code_of_the_picture(page, serve):
    open_home(page, serve(APP), "?rows=200")
    page.get_by_role("button", name="Copy Python").click()
    page.wait_for_function("document.body.innerText.includes('make_wave(n=200')")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("document.body.innerText.includes('/?rows=200')")


def test_the_page_is_as_it_was_left_after_a_visit_to_another(page, serve):
    open_home(page, serve(APP))
    page.locator(SLIDER).focus()
    page.keyboard.press("End")
    page.wait_for_url("**/?rows=12800")
    page.get_by_role("link", name="Lessons").first.click()
    page.wait_for_url("**/lessons**")
    page.locator(SLIDER).wait_for(state="detached")
    assert "rows=" not in page.url
    page.get_by_role("link", name="Home").first.click()
    page.wait_for_selector(f"{SLIDER}[aria-valuetext='12800']")
    page.wait_for_url("**/?rows=12800")


def test_values_are_read_by_pointer_and_by_keyboard(page, serve):
    open_home(page, serve(APP))
    figure, readout = page.locator(".gbuq-curves > svg"), page.locator(".gbuq-curves-readout")
    figure.hover(position={"x": 400, "y": 100})
    assert readout.inner_text().startswith("x ")
    page.mouse.move(0, 0)
    figure.focus()
    page.keyboard.press("Home")
    assert readout.inner_text().startswith("x 0 ")
    page.keyboard.press("ArrowRight")
    text = readout.inner_text()
    assert text.startswith("x 0.1 ")
    assert "knowledge std 0." in text
    page.keyboard.press("Escape")
    assert readout.inner_text().startswith("Point at")


def test_the_picture_is_saved_as_svg_and_png(page, serve):
    open_home(page, serve(APP))
    contents = {}
    for name in ("SVG", "PNG"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Save the picture as {name}").click()
        assert waiting.value.suggested_filename == f"uncertainty-800-rows.{name.lower()}"
        contents[name] = Path(waiting.value.path()).read_bytes()
    assert contents["SVG"].startswith(b"<svg")
    assert b"<title>A prediction from 800" in contents["SVG"]
    assert contents["PNG"].startswith(b"\x89PNG")


def test_the_page_for_download_draws_itself_without_a_server(page, serve, tmp_path):
    open_home(page, serve(APP))
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Page (HTML)").click()
    file = tmp_path / "wave.html"
    waiting.value.save_as(file)
    page.goto(file.as_uri())
    page.locator(".gbuq-curves > svg path").first.wait_for(state="attached")
    assert page.locator(".gbuq-curves > svg path").count() >= 8


def test_the_figure_stays_in_place_while_its_numbers_change(page, serve):
    open_home(page, serve(APP))
    node = page.locator(".gbuq-curves").element_handle()
    before = page.evaluate(DRAWN)
    page.locator(SLIDER).focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function(CHANGED, arg=before)
    assert node.evaluate("node => node.isConnected")
