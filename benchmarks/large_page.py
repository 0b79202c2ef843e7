"""A file of 500,000 rows and 50 columns on the page "Your data", in Chromium.

``python -m benchmarks.large_page`` writes a CSV of 225 million bytes (uploads may have 250
million), drops it on the page, presses Run with the default settings, and asks for another page of
the list and for other rows. Times run from the step before to what the reader sees. Memory is that
of the server.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page

from benchmarks.chromium import opened_app
from benchmarks.report import Row, report
from tests.browser.conftest import wait_ready
from tests.browser.figure import unfold

COLUMNS, DIGITS = 50, 6
_LONGEST = 1_800_000  # milliseconds, of any step


def make_csv(rows: int) -> bytes:
    """Numbers of six decimals; the last column, ``y``, depends on the first four."""
    rng = np.random.default_rng(0)
    whole = rng.integers(0, 10**DIGITS, (rows, COLUMNS))
    x = whole / 10**DIGITS
    y = np.sin(6 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * (0.2 + x[:, 3]) * rng.normal(size=rows)
    whole[:, -1] = np.clip(1e5 * (y + 5.0), 0, 10**DIGITS - 1)
    cells = np.full((rows, COLUMNS, DIGITS + 3), ord(","), np.uint8)
    cells[:, :, :2] = np.frombuffer(b"0.", np.uint8)
    for place in range(DIGITS + 1, 1, -1):
        cells[:, :, place] = ord("0") + whole % 10
        whole //= 10
    cells[:, -1, -1] = ord("\n")
    names = [*(f"c{k}" for k in range(COLUMNS - 1)), "y"]
    return ",".join(names).encode() + b"\n" + cells.tobytes()


def measure_page(rows: int = 500_000) -> list[Row]:
    """Drop the file on the page and use it."""
    rows_of_page: list[Row] = []
    with tempfile.TemporaryDirectory() as folder, opened_app() as opened:
        path = Path(folder, "large.csv")
        path.write_bytes(make_csv(rows))
        page = opened.new_page()
        page.set_default_timeout(_LONGEST)
        page.goto(f"{opened.url}/your_data")
        wait_ready(page)
        rows_of_page += _use(page, path, rows, opened.pid)
    return rows_of_page


def _use(page: Page, path: Path, rows: int, pid: int) -> list[Row]:
    size = f"{path.stat().st_size / 1e6:.0f} million bytes"
    measured = [_row(f"before the file of {size}", 0.0, pid)]
    last = time.perf_counter()

    def note(what: str) -> None:
        nonlocal last
        now = time.perf_counter()
        measured.append(_row(what, now - last, pid))
        print(*measured[-1][:2], sep=" | ", flush=True)
        last = time.perf_counter()

    page.locator("input[type=file]").first.set_input_files(path)
    run = page.get_by_role("button", name="Run", exact=True)
    table = page.locator(".st-key-checks li").first
    run.or_(table).first.wait_for()
    note("dropped, read and described")
    if run.count():
        run.click()
    table.wait_for()
    note("trained, and the table drawn")
    cancel = page.locator(".st-key-_jobs_cancel-unfamiliar button")
    if cancel.count():
        cancel.click()
        page.locator(".st-key-jobs-cancelled-unfamiliar").wait_for()
        note("unfamiliarity cancelled")
    wait_ready(page)
    unfold(page, "All rows")
    last = time.perf_counter()
    box = page.get_by_label("Page of the list", exact=False).first
    box.fill("2")
    box.press("Enter")
    page.get_by_text("numbers 1,").first.wait_for()
    note("second page of the list")
    wait_ready(page)
    last = time.perf_counter()
    find = page.get_by_role("textbox", name="Find rows")
    find.fill("c0 > 0.99")
    find.press("Enter")
    page.get_by_text("rows are drawn: those that meet").first.wait_for()
    note("rows found by a condition")
    return measured


def _row(what: str, seconds: float, pid: int) -> Row:
    status = Path(f"/proc/{pid}/status").read_text()
    now, peak = (int(status.split(name)[1].split()[0]) / 1024 for name in ("VmRSS:", "VmHWM:"))
    numbers: dict[str, Any] = {"seconds": seconds, "megabytes": now, "peak_megabytes": peak}
    measured = f"{seconds:.1f} s, {now:,.0f} MB (peak {peak:,.0f})"
    return Row(what, measured, "-", None, numbers)


if __name__ == "__main__":
    report("A large file on the page", measure_page(), None)
