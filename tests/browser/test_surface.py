"""A map as a surface: the browser loads plotly when the section is opened, not before."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PHONE, screenshot, wait_ready
from tests.browser.figure import unfold

APP = Path(__file__).resolve().parents[2] / "app.py"
CHART = ".st-key-surface-heart .js-plotly-plot"


@pytest.mark.parametrize("viewport", [PHONE], indirect=True)
def test_plotly_comes_with_the_open_section_and_the_address_says_so(page, serve, viewport):
    asked = []
    page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1].lower()))
    page.goto(f"{serve(APP)}/heart?rows=30&trees=100")
    wait_ready(page, canvases=1)
    section = page.get_by_text("As a surface (3-D)")
    unfold(page, "Why")
    expect(section).to_be_visible()
    assert [name for name in asked if "plotly" in name] == []
    section.click()
    page.locator(CHART).wait_for()
    assert [name for name in asked if "plotly" in name] != []
    expect(page.locator(CHART).get_by_text("standard deviation").first).to_be_visible()
    page.wait_for_url("**/heart?*surface=true*")
    wait_ready(page)
    screenshot(page, "surface-phone")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    section.click()
    page.locator(CHART).wait_for(state="detached")
