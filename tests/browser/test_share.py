"""The Share button in Chromium: the link of the page as it is, with a clipboard and without one."""

from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import screens, wait_ready

APP = Path(__file__).resolve().parents[2] / "app.py"
NONE = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"  # without https
NEITHER = f"{NONE} document.execCommand = () => false;"  # nor the command that was before it


def test_one_click_copies_the_link_of_the_page(page, serve):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"{serve(APP)}/lessons?lesson=Heart&part=2")
    wait_ready(page)
    clipboard = page.evaluate_handle("navigator.clipboard")
    share, field = page.get_by_role("button", name="Share"), page.get_by_label("Copy this link")
    for without in ("", NONE, NEITHER):  # one after the other is taken away
        page.evaluate(without)
        for (width, _), _scheme in screens(page):
            clipboard.evaluate("it => it.writeText('')")
            share.focus()
            page.keyboard.press("Enter")
            shown_link = field if without == NEITHER else page.get_by_text("Copied.", exact=True)
            box = shown_link.bounding_box()
            assert 0 <= box["x"] <= width - box["width"]
            if without == NEITHER:
                page.keyboard.press("Control+c")
                page.keyboard.press("Escape")
            expect(field).to_be_hidden()
            expect(share).to_be_focused()
            assert clipboard.evaluate("it => it.readText()") == page.url
