"""Each page fits and is accessible on a desktop and on a phone: where it is looked at."""

from pathlib import Path

import pytest

from pages._ui.site_map import EXPLORE, LESSONS, PAGES
from tests.browser.conftest import assert_accessible, screens, wait_ready

APP = Path(__file__).resolve().parents[2] / "app.py"
HERE = (EXPLORE, LESSONS)  # the cards of lessons; their steps are looked at in their own file


@pytest.mark.parametrize("entry", HERE, ids=lambda entry: entry.url_path)
def test_cards_fit_and_are_accessible(page, serve, entry):
    page.goto(f"{serve(APP)}/{entry.url_path}")
    wait_ready(page)
    for (width, _), _scheme in screens(page):
        assert_accessible(page)
        assert page.locator("[data-testid=stMain]").evaluate("node => node.scrollWidth") <= width


@pytest.mark.parametrize("entry", [entry for entry in PAGES if entry not in HERE])
def test_every_other_page_is_looked_at_while_its_own_test_has_it_open(entry):
    own = Path(__file__).with_name(f"test_{entry.url_path or 'home'}.py").read_text("utf-8")
    _, looks = own.split("in screens(page):\n", 1)
    assert "assert_accessible(page)" in looks
