"""What a reader meets on each page as it opens, in three sizes."""

from pathlib import Path

import pytest

from benchmarks.first_screens import ADDRESSES, LOOKS, OTHERS, PICTURES, beyond_bars, first_screens
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
    # Controls, words and room have no colours: each size once, and each scheme.
    looks = first_screens(page, (LOOKS[0], LOOKS[4], LOOKS[2]))
    seen = {where: beyond_bars(address, found) for where, found in looks}
    assert len(seen) == 3
    assert {where: beyond for where, beyond in seen.items() if beyond} == {}
