"""What axe-core finds on each page as it opens, on a desktop and on a phone: nothing serious."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe

from pages._ui.site_map import PAGES
from tests.browser.conftest import screens, wait_ready

APP = Path(__file__).resolve().parents[2] / "app.py"
SERIOUS = ("serious", "critical")
NOT_OURS = {"exclude": [["[data-testid=stSidebarNav]"]]}  # Streamlit's menu on a phone


@pytest.mark.parametrize("url_path", [entry.url_path for entry in PAGES])
def test_axe_finds_nothing_serious(page, serve, url_path):
    page.goto(f"{serve(APP)}/{url_path}")
    wait_ready(page)
    for window, scheme in screens(page):
        problems = [
            (problem["id"], node["html"][:120])
            for problem in Axe().run(page, NOT_OURS).response["violations"]
            if problem["impact"] in SERIOUS
            for node in problem["nodes"]
        ]
        assert not problems, (window, scheme)
