"""Several people at once on Your data: exceptions, answers per minute, memory after they leave.

``python -m benchmarks.sessions`` starts the app and lets six visitors in for ten minutes each: they
upload tables of their own, move knobs, open sections, rows and second files, reload, and some
delete their data. A visitor chooses at random, by a seed of its own. The benchmark counts
exceptions and errors in the browser's console, and measures the server's memory before the
visitors, at its highest, and after the last one has left. The bars: no exception, and memory after
they left within 15 % of that after the warm-up. It takes 19 minutes.

The warm-up is what a server in use has behind it: six visitors for three minutes. They open every
section and every part of the open row, with numbers and with classes as targets, then do as the
visitors do later. Only then are all libraries loaded, all kernels compiled, all threads started,
and the results that the server keeps for everybody are there. These stay in memory, once, whoever
comes later. How many of the sections were opened is printed. The memory after the very first
visitor's minute is printed too: it leaves these costs to the visitors that are measured.

Memory is read when the server has let go of the sessions: Streamlit keeps each one for two minutes
after its tab was closed, for a connection that broke. The files that a tab keeps for a reload stay
for 15 minutes and are counted: they are below 0.1 MB each.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright
from playwright.async_api import Error as BrowserError

from benchmarks.chromium import APP
from benchmarks.report import Row, report
from tests.browser.conftest import _FLAGS, _READY, DESKTOP, _chromium, start_server, stop_server

MOST_GROWTH = 0.15  # of the memory after the warm-up
_ANSWER_MS = 240_000  # many fits wait for two cores
_SETTLE_SECONDS = 135.0  # from the last closed tab until memory is read
_WARM_UP_MINUTES, _FIRST_MINUTES = 3.0, 1.0
_SECTION, _LENS = ".st-key-section button:visible", ".st-key-lens button:visible"
_ZONE = "[data-testid=stFileUploaderDropzoneInput]"


@dataclass
class Tally:
    """What the visitors did and met."""

    answers: int = 0
    unready: int = 0
    exceptions: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)
    opened: set[tuple[bool, str, int]] = field(default_factory=set)  # by a tour


def megabytes(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def table_of(rng: np.random.Generator, classes: bool) -> bytes:
    """A table with numbers, a category, gaps and a target, as CSV."""
    n_rows = int(rng.integers(200, 1500))
    x = rng.normal(size=(n_rows, 4)).round(3)
    town = rng.choice(["Ulm", "Bonn", "Kiel"], n_rows)
    y = x[:, 0] + (town == "Ulm") + 0.3 * rng.normal(size=n_rows)
    frame = pd.DataFrame(x, columns=["a", "b", "c", "d"]).assign(town=town)
    frame.loc[rng.random(n_rows) < 0.05, "b"] = np.nan
    frame["y"] = np.where(y > 0.5, "yes", "no") if classes else y.round(4)
    return frame.to_csv(index=False).encode()


async def _upload(
    page: Page, rng: np.random.Generator, place: int, classes: bool | None = None
) -> None:
    zones = page.locator(_ZONE)
    opens = page.locator(_SECTION).last if place else page.locator(".st-key-open-table button")
    if await opens.count() and (place or not await zones.count()):
        await opens.click()
        await page.wait_for_timeout(500)
    if not await zones.count():
        return
    name = f"table{int(rng.integers(1000))}.csv"
    data = table_of(rng, bool(rng.integers(2)) if classes is None else classes)
    await zones.first.set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})


async def _press(page: Page, rng: np.random.Generator) -> None:
    """Move one slider or switch of the page by a key."""
    controls = page.locator("input[type=range]:visible, [role=slider]:visible")
    n_controls = await controls.count()
    if n_controls:
        await controls.nth(int(rng.integers(n_controls))).focus()
        await page.keyboard.press(str(rng.choice(["ArrowLeft", "ArrowRight"])))


async def _section(page: Page, rng: np.random.Generator) -> None:
    buttons = page.locator(_SECTION if rng.random() < 0.6 else _LENS)
    n_buttons = await buttons.count()
    if n_buttons:
        await buttons.nth(int(rng.integers(n_buttons))).click()


async def _row(page: Page, rng: np.random.Generator) -> None:
    box = page.get_by_role("spinbutton", name="Go to row")
    if await box.count():
        await box.fill(str(int(rng.integers(1, 150))))
        await box.press("Enter")


async def _delete(page: Page) -> None:
    button = page.get_by_role("button", name="Delete my data")
    if await button.count():
        await button.click()


async def _step(page: Page, rng: np.random.Generator) -> None:
    what = rng.choice(
        ["knob", "section", "row", "upload", "second", "reload", "delete"],
        p=[0.3, 0.25, 0.2, 0.12, 0.04, 0.05, 0.04],
    )
    if what == "knob":
        await _press(page, rng)
    elif what == "section":
        await _section(page, rng)
    elif what == "row":
        await _row(page, rng)
    elif what in ("upload", "second"):
        await _upload(page, rng, int(what == "second"))
    elif what == "reload":
        await page.reload()
    else:
        await _delete(page)


async def _answer(page: Page, tally: Tally) -> None:
    """Wait for the page, and count what it shows."""
    try:
        await page.locator(_READY).wait_for(timeout=_ANSWER_MS)
        tally.answers += 1
    except BrowserError:
        tally.unready += 1
    shown = page.locator("[data-testid=stException]")
    if await shown.count():
        tally.exceptions.append(await shown.first.inner_text())


def _tour(first: int) -> list[tuple[bool, str, int]]:
    """Every section and part of the open row for both tasks: whether classes, the bar, the place.

    Visitors who begin elsewhere see different things first, as not all of them get to the end.
    """
    places = [(_SECTION, k % 6) for k in range(first, first + 6)]
    tour = [(_LENS, k) for k in range(5)]
    classes = bool(first % 2)
    both = [*places, *tour] if first % 3 else [*tour, *places]
    return [(task, *place) for task in (classes, not classes) for place in both]


async def _look_around(
    page: Page, rng: np.random.Generator, first: int, until: float, tally: Tally
) -> None:
    """Open one thing after another, with a table of each task, as far as the time goes."""
    task: bool | None = None
    for classes, bar, place in _tour(first):
        if time.monotonic() > until:
            return
        if classes != task:
            task = classes
            await _upload(page, rng, 0, classes)
            await page.wait_for_timeout(1000)
            await _answer(page, tally)
            await _upload(page, rng, 1, classes)
            await page.wait_for_timeout(1000)
            await _answer(page, tally)
        try:
            if bar == _LENS and not await page.locator(_LENS).count():
                await page.locator(_SECTION).first.click(timeout=10_000)
                await _answer(page, tally)
                await _row(page, rng)
                await _answer(page, tally)
            await page.locator(bar).nth(place).click(timeout=10_000)
        except BrowserError as error:  # not there with this table
            if "closed" in str(error):
                raise
            continue
        await page.wait_for_timeout(500)
        await _answer(page, tally)
        tally.opened.add((classes, bar, place))


async def visit(
    browser: Browser, url: str, seconds: float, seed: int, tally: Tally, tour: int | None = None
) -> None:
    """One visitor in a window of its own, from coming to leaving; with a tour at first, or not."""
    rng = np.random.default_rng(seed)
    context = await browser.new_context(viewport={"width": DESKTOP[0], "height": DESKTOP[1]})
    page = await context.new_page()

    def hear(message: ConsoleMessage) -> None:
        # Streamlit asks for its health below the page's own address first, and then at the root.
        # A reload cancels an upload that is under way, as it should.
        expected = "/_stcore/" in message.location.get("url", "") or "CanceledError" in message.text
        if message.type == "error" and not expected:
            tally.console.append(f"{message.text} {message.location.get('url', '')}")

    page.on("console", hear)
    until = time.monotonic() + seconds
    await page.goto(f"{url}/your_data", timeout=_ANSWER_MS)
    await _answer(page, tally)
    while time.monotonic() < until:
        try:
            if tour is not None:
                first, tour = tour, None
                await _look_around(page, rng, first, until, tally)
            await _step(page, rng)
        except BrowserError as error:  # what was to be pressed has just gone
            if "closed" in str(error):
                raise
        await page.wait_for_timeout(int(rng.integers(200, 1500)))
        await _answer(page, tally)
    await context.close()


async def run(url: str, pid: int, visitors: int, minutes: float) -> tuple[Tally, dict[str, float]]:
    """Warm up, let the visitors in, and measure memory."""
    tally, warming = Tally(), Tally()
    warm_up = 60.0 * min(_WARM_UP_MINUTES, minutes)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=_chromium(), args=list(_FLAGS))
        await visit(browser, url, 60.0 * min(_FIRST_MINUTES, minutes), 10_000, warming)
        await asyncio.sleep(10.0)
        first = megabytes(pid)
        everybody = [
            visit(browser, url, warm_up, 20_000 + k, warming, tour=k) for k in range(visitors)
        ]
        await asyncio.gather(*everybody)
        await asyncio.sleep(_SETTLE_SECONDS)
        before, highest = megabytes(pid), 0.0
        print(
            f"Warm-up: {len(warming.opened)} of {len(_tour(0))} sections and parts of the open row "
            f"were opened, {warming.answers} answers."
        )
        tally.exceptions += warming.exceptions
        tally.console += warming.console

        async def watch() -> None:
            nonlocal highest
            while True:
                highest = max(highest, megabytes(pid))
                await asyncio.sleep(1.0)

        watching = asyncio.create_task(watch())
        visits = [visit(browser, url, 60.0 * minutes, seed, tally) for seed in range(visitors)]
        await asyncio.gather(*visits)
        await asyncio.sleep(10.0)
        soon = megabytes(pid)
        await asyncio.sleep(_SETTLE_SECONDS - 10.0)
        watching.cancel()
        after = megabytes(pid)
        await browser.close()
    memory = {"first": first, "before": before, "highest": highest, "soon": soon, "after": after}
    return tally, memory


def main() -> None:
    """Run it and print what was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visitors", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        process, url = start_server(APP, Path(home))
        try:
            tally, memory = asyncio.run(run(url, process.pid, options.visitors, options.minutes))
        finally:
            stop_server(process)
    growth = memory["after"] / memory["before"] - 1.0
    errors = len(tally.exceptions) + len(tally.console)
    for text in sorted({*tally.exceptions, *tally.console}):
        print(text[:600])
    report(
        f"{options.visitors} visitors for {options.minutes:g} minutes",
        [
            Row(
                f"exceptions and console errors, {tally.answers} answers, "
                f"{tally.unready} not in time",
                str(errors),
                "0",
                errors == 0 and not tally.unready,
                {"answers": tally.answers, "unready": tally.unready, "errors": errors},
            ),
            Row(
                f"memory after they left (before {memory['before']:.0f} MB, at most "
                f"{memory['highest']:.0f} MB, after {memory['after']:.0f} MB)",
                f"{100 * growth:+.0f} %",
                f"+{100 * MOST_GROWTH:.0f} %",
                growth <= MOST_GROWTH,
                memory,
            ),
            Row(
                f"the same, against the first visitor's minute ({memory['first']:.0f} MB)",
                f"{100 * (memory['after'] / memory['first'] - 1.0):+.0f} %",
                "",
                None,
                {},
            ),
            Row(
                "memory ten seconds after the last tab was closed, while sessions are stored",
                f"{memory['soon']:.0f} MB",
                "",
                None,
                {},
            ),
        ],
        options.json,
    )


if __name__ == "__main__":
    main()
