"""Pages whose own tests open them with other settings: what a reader meets there."""

from pathlib import Path

import pytest

from benchmarks.first_screens import ADDRESSES, OTHERS, PICTURES
from pages._ui.site_map import EXPERIMENTS, PAGES
from tests.browser.conftest import wait_ready
from tests.browser.first_screen import opening_screens

APP = Path(__file__).resolve().parents[2] / "app.py"
HERE = (
    "explore", "lessons", "lessons?lesson=Heart", "heteroscedastic", "soft_trees", "neighbours",
    "two_clocks",
)  # fmt: skip


def test_every_page_is_looked_at():
    assert {*OTHERS, *PICTURES} == {entry.url_path for entry in PAGES}
    assert {*PICTURES} == {entry.url_path for entry in EXPERIMENTS}


@pytest.mark.parametrize("address", HERE)
def test_a_page_opens_with_few_controls_and_words_and_a_large_picture(page, serve, address):
    page.goto(f"{serve(APP)}/{address}")
    wait_ready(page)
    assert len(list(opening_screens(page, address))) == 2


@pytest.mark.parametrize("address", [each for each in ADDRESSES if each not in HERE])
def test_every_other_page_is_looked_at_while_its_own_test_has_it_open(address):
    name = address.partition("?")[0] or "home"
    own = Path(__file__).with_name(f"test_{name}.py").read_text("utf-8")
    assert f'in opening_screens(page, "{address}"):\n' in own
