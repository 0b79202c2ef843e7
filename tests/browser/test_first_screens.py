"""What a reader meets on each page as it opens, in three sizes, light and dark."""

from pathlib import Path

import pytest

from benchmarks.first_screens import ADDRESSES, OTHERS, PICTURES, beyond_bars, first_screens
from pages._ui.site_map import EXPERIMENTS, PAGES
from tests.browser.conftest import wait_ready

APP = Path(__file__).resolve().parents[2] / "app.py"


def test_every_page_is_looked_at():
    assert {*OTHERS, *PICTURES} == {entry.url_path for entry in PAGES}
    assert {*PICTURES} == {entry.url_path for entry in EXPERIMENTS}


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_opens_with_few_controls_and_words_and_a_large_picture(page, serve, address):
    page.goto(f"{serve(APP)}/{address}")
    wait_ready(page)
    seen = {where: beyond_bars(address, found) for where, found in first_screens(page)}
    assert len(seen) == 6
    assert {where: beyond for where, beyond in seen.items() if beyond} == {}
