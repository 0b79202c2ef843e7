"""The cards of Explore and Learn: wherever one is pressed, its page opens."""

from pathlib import Path

import pytest

from tests.browser.conftest import DESKTOP, PHONE, wait_ready

APP = Path(__file__).resolve().parents[2] / "app.py"
# Of every card: how many links it has, and whether that one lies over its picture, its question and
# its corners.
_COVERED = """() => [...document.querySelectorAll('[class*="st-key-card-"]')].filter(
  (card) => card.checkVisibility()  // those about tables lie in a fold
).map((card) => {
  card.scrollIntoView({ block: 'center' });
  const links = card.querySelectorAll('a');
  const box = card.getBoundingClientRect();
  const places = [card, ...card.querySelectorAll('img, [data-testid=stText]')].map((part) => {
    const at = part.getBoundingClientRect();
    return [at.x + at.width / 2, at.y + at.height / 2];
  });
  places.push([box.left + 4, box.top + 4], [box.right - 4, box.bottom - 4]);
  const over = places.map(([x, y]) => document.elementFromPoint(x, y)?.closest('a') === links[0]);
  return [links.length, places.length, over.every(Boolean)];
})"""


@pytest.mark.parametrize("colour_scheme", ["light", "dark"], indirect=True)
@pytest.mark.parametrize("viewport", [DESKTOP, PHONE], indirect=True)
@pytest.mark.parametrize("address", ["explore", "lessons"])
def test_the_whole_of_every_card_is_its_one_link(page, serve, address):
    page.goto(f"{serve(APP)}/{address}")
    wait_ready(page)
    cards = page.evaluate(_COVERED)
    assert len(cards) >= 8
    assert set(map(tuple, cards)) == {(1, 5, True)}


@pytest.mark.parametrize("part", ["img", "[data-testid=stText]"])
def test_a_picture_opens_its_page_and_so_does_a_question(page, serve, part):
    page.goto(f"{serve(APP)}/explore")
    wait_ready(page)
    spot = page.locator(f".st-key-card-heart {part}").bounding_box()
    page.mouse.click(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    page.wait_for_url("**/heart")


def test_a_finger_opens_a_lesson_and_so_does_a_key(new_page, serve):
    page = new_page(has_touch=True, viewport={"width": PHONE[0], "height": PHONE[1]})
    page.goto(f"{serve(APP)}/lessons")
    wait_ready(page)
    picture = page.locator(".st-key-card-heart img")
    picture.scroll_into_view_if_needed()
    spot = picture.bounding_box()
    page.touchscreen.tap(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    page.wait_for_url("**lesson=Heart*")
    page.go_back()
    page.get_by_role("heading", name="What do the pictures teach?").wait_for()
    wait_ready(page)
    page.get_by_role("link", name="Heart", exact=True).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**lesson=Heart*")
