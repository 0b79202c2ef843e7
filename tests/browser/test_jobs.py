"""Long fits in Chromium: progress, cancel, one fit for two sessions, and a tab that is closed."""

from contextlib import suppress
from pathlib import Path

from playwright.sync_api import TimeoutError as PlaywrightTimeout

from tests.browser.conftest import wait_ready

APP = Path(__file__).resolve().parents[1] / "app" / "apps" / "slow_fits.py"
BAR = "[data-testid=stProgress]"


def open_page(page, url):
    page.goto(url)
    wait_ready(page)
    page.get_by_text("slow: done").wait_for()
    return page


def ask_for(page, seconds):
    box = page.locator(".st-key-seconds input")
    box.fill(str(seconds))
    box.press("Enter")


def wait_until_running(page, count):
    """Rerun the page until it sees so many fits in the process."""
    for _ in range(60):
        page.get_by_role("button", name="Look again").click()
        with suppress(PlaywrightTimeout):
            page.get_by_text(f"running in the process: {count}", exact=True).wait_for(timeout=500)
            return
    raise AssertionError(page.locator("[data-testid=stMain]").inner_text())


def test_a_long_fit_shows_progress_keeps_the_old_result_and_can_be_cancelled(page, serve):
    open_page(page, serve(APP))
    ask_for(page, 40)
    page.locator(BAR).wait_for()
    page.get_by_text("slow: running, counted 0.01, fresh False").wait_for()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_text("slow: cancelled, counted 0.01, fresh False").wait_for()
    page.locator(BAR).wait_for(state="detached")
    wait_until_running(page, 0)
    page.get_by_role("button", name="Start again").click()
    page.locator(BAR).wait_for()
    # Progress ends by itself in the new result.
    ask_for(page, 3)
    page.get_by_text("slow: done, counted 3.0, fresh True").wait_for()
    page.locator(BAR).wait_for(state="detached")


def test_two_sessions_share_a_fit_and_the_last_closed_tab_stops_it(new_page, serve):
    url = serve(APP)
    first, second, watcher = (open_page(new_page(private=True), url) for _ in range(3))
    ask_for(first, 41)
    first.locator(BAR).wait_for()
    ask_for(second, 41)
    second.locator(BAR).wait_for()
    wait_until_running(watcher, 1)
    first.close()
    watcher.wait_for_timeout(1000)
    wait_until_running(watcher, 1)
    second.close()
    wait_until_running(watcher, 0)
