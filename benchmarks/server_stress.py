"""A server in bad company: ten visitors, fits killed, uploads broken off, a full disk, no home.

``python -m benchmarks.server_stress`` starts `server.py` with a home that nobody can write to
(``/sys``, on Linux) and with a limit on the size of files that it may write (64 kB, so that
whatever goes to a disk fails, as on a full one). Somebody sees every page once, so that all
libraries are loaded. Then one visitor alone moves a knob of the view on Your data, once a second.
Then ten are there for ten minutes: this one, one that keeps a file open, and eight that go from
page to page, move a control before the fit of the one before has ended, press Stop, leave a page
while it fits, upload files, break off uploads half-way, and vanish without closing their
connection.

The bars: no crash and no error in the log or on a page; the file is still open at the end; the
memory of the last fifth of the time is within a tenth of that of the middle fifth; the 95th
percentile of the knob's answer is below twice the quiet one. The visitors are no browsers (see
`tests.server_client`): ten Chromiums would take both cores of a small machine. They live in a
process of their own. How busy the machine was with other things is printed. It exits with 1 after a
crash or an error; the other bars depend on the machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row, megabytes, report
from tests.browser.conftest import free_port, stop_server
from tests.server_client import MOVABLE, Client

SERVER = Path(__file__).resolve().parents[1] / "server.py"
MOST_GROWTH, MOST_SLOWER = 0.1, 2.0
_PAGES = ("", "spiral", "heart", "gaussians", "heteroscedastic", "novelty", "neighbours",
          "two_clocks", "your_data", "your_data")  # fmt: skip
_VISITORS = 10  # with the one that measures and the one that keeps a file
_QUIET_SECONDS, _READY_SECONDS = 60.0, 900.0
_LARGEST_FILE = 64 * 1024  # bytes that the server may write into a file
_KNOB = "Members used"


def table_of(n_rows: int, seed: int) -> bytes:
    """A table as CSV."""
    values = np.random.default_rng(seed).normal(size=(n_rows, 3)).round(4)
    lines = [f"{a},{b},{c},{a + b:.4f}" for a, b, c in values]
    return ("a,b,c,y\n" + "\n".join(lines)).encode()


def start(folder: Path) -> tuple[subprocess.Popen[bytes], str, list[str]]:
    """Start the server; its log is collected, line by line, as it writes it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("STREAMLIT_")}
    environment |= {"HOME": "/sys", "TMPDIR": str(folder), "GBUQ_SEEDS": "asked"}
    port = free_port()
    command = [sys.executable, "-m", "streamlit", "run", str(SERVER), f"--server.port={port}"]
    command += ["--server.address=127.0.0.1", "--server.headless=true"]
    process = subprocess.Popen(
        command,
        cwd=SERVER.parent,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE,) * 2),
    )
    log: list[str] = []

    def collect() -> None:
        for line in process.stdout or ():
            log.append(line.decode(errors="replace").rstrip())

    threading.Thread(target=collect, daemon=True).start()
    return process, f"http://127.0.0.1:{port}", log


def wait_until_ready(url: str) -> float:
    """Seconds until ``/ready`` says so."""
    began = time.monotonic()
    while time.monotonic() - began < _READY_SECONDS:
        try:
            with urllib.request.urlopen(f"{url}/ready", timeout=5) as answer:
                if answer.status == 200:
                    return time.monotonic() - began
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise RuntimeError("the server did not become ready")


def look_around(url: str) -> None:
    """See every page once, as somebody did on a server in use: libraries, kernels, caches."""
    client = Client(url)
    for page in dict.fromkeys(_PAGES):
        client.open(page)
        client.settle(120.0)
    client.close()


def knob_seconds(client: Client, seconds: float) -> list[float]:
    """How long each answer to a step of the view's knob took, once a second or as they come."""
    took: list[float] = []
    knob, step = client.named(_KNOB), -1
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        took.append(client.move(knob, step))
        if len(took) % 16 == 0:
            step = -step
        client.wait(max(0.2, 1.0 - took[-1]))
    return took


def _roam(url: str, seed: int, until: float, queue: Any) -> None:
    """One visitor that does what it should not, over and over."""
    rng = random.Random(seed)
    tally = {"runs": 0, "killed": 0, "uploads": 0, "refused": 0, "broken_off": 0, "vanished": 0}
    exceptions: list[str] = []
    while time.time() < until:
        client = Client(url)
        try:
            client.open(rng.choice(_PAGES))
            for _ in range(rng.randrange(4, 30)):
                if time.time() > until:
                    break
                _act(client, rng, tally)
                tally["runs"] += 1
                if rng.random() < 0.6:  # the others leave no time for the fit to end
                    client.wait(rng.uniform(0.0, 2.0))
        except Exception as error:  # a visitor that fails is a finding, not the end
            exceptions.append(f"visitor: {type(error).__name__}: {error}")
        exceptions += client.exceptions
        tally["vanished"] += 1
        client.vanish() if rng.random() < 0.7 else client.close()
    queue.put((tally, exceptions))


def _act(client: Client, rng: random.Random, tally: dict[str, int]) -> None:
    what = rng.random()
    stop = client.named("Stop") or client.named("Cancel")
    if what < 0.08:
        tally["killed"] += bool(client._auto)
        client.open(rng.choice(_PAGES))
    elif stop and what < 0.3:
        tally["killed"] += 1
        client.press(stop)
    elif what < 0.4 and client.page == "your_data":
        n_rows = rng.choice((150, 400, 800))
        tally["uploads"] += 1
        tally["refused"] += client.send_file("t.csv", table_of(n_rows, rng.randrange(99))) != 204
    elif what < 0.46 and client.page == "your_data":
        tally["broken_off"] += 1
        client.send_file("large.csv", table_of(60_000, 1), gone_after=rng.randrange(10, 1_500_000))
    else:
        movable = [key for key, (kind, _) in client.widgets.items() if kind in MOVABLE]
        if movable:
            tally["killed"] += bool(client._auto)
            client.move(rng.choice(movable), rng.choice((-1, 1)))


def _visit(url: str, n_visitors: int, until: float, queue: Any) -> None:
    """All visitors but the one that measures; a process of their own."""
    threads = [
        threading.Thread(target=_roam, args=(url, seed, until, queue)) for seed in range(n_visitors)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def keeps_file(client: Client) -> bool:
    """Whether the page still shows the results of the file that has 217 rows."""
    client.rerun()
    client.settle(240.0)
    client.rerun()
    return any("217 rows" in text for text in client.texts)


def wrong_lines(log: list[str]) -> list[str]:
    """What the log says that it should not: a client that left in the middle is no fault."""
    wrong: list[str] = []
    for place, line in enumerate(log):
        if line.startswith("{"):
            record = json.loads(line)
            if record["level"] == "error" or record.get("outcome") == "failed":
                wrong.append(line)
        elif "Exception in ASGI" in line and log[place + 1 : place + 2] != ["ClientDisconnect"]:
            wrong += [line, *log[place + 1 : place + 2]]
        elif line.startswith(("Traceback", "Uncaught app", "Fatal", "Segmentation")):
            wrong += [line, *log[place + 1 : place + 3]]
    return wrong


def busy_before(seconds: float = 10.0) -> float:
    """The share of all cores that other processes take, in percent."""

    def idle_and_all() -> tuple[int, int]:
        fields = [int(text) for text in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
        return fields[3] + fields[4], sum(fields[:8])

    before = idle_and_all()
    time.sleep(seconds)
    after = idle_and_all()
    return 100.0 * (1.0 - (after[0] - before[0]) / (after[1] - before[1]))


def run(minutes: float) -> tuple[dict[str, Any], list[str], list[str]]:
    """The quiet minute, then all visitors; figures, what was wrong, and the log."""
    numbers: dict[str, Any] = {"busy": busy_before()}
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        process, url, log = start(Path(folder))
        try:
            numbers["ready"] = wait_until_ready(url)
            numbers["at_start"] = megabytes(process.pid)
            _say(f"ready after {numbers['ready']:.0f} s with {numbers['at_start']:.0f} MB")
            look_around(url)
            _say(f"every page was seen once: {megabytes(process.pid):.0f} MB")
            knob, keeper = Client(url), Client(url)
            knob.open("your_data", "ensemble=virtual")
            keeper.open("your_data", "ensemble=virtual")
            keeper.settle(240.0)
            numbers["sent"] = keeper.send_file("kept.csv", table_of(217, 5))
            knob.settle(240.0)
            keeper.settle(240.0)
            _say("alone")
            knob_seconds(knob, 10.0)  # the first steps fill caches
            numbers["quiet"] = knob_seconds(knob, min(_QUIET_SECONDS, 60.0 * minutes))
            _say("in company")
            until = time.time() + 60.0 * minutes
            context = multiprocessing.get_context("spawn")
            queue = context.Queue()
            visiting = context.Process(target=_visit, args=(url, _VISITORS - 2, until, queue))
            memory: list[float] = []
            ended = threading.Event()

            def watch() -> None:
                while not ended.wait(1.0) and process.poll() is None:
                    memory.append(megabytes(process.pid))

            visiting.start()
            threading.Thread(target=watch, daemon=True).start()
            numbers["busy_knob"] = knob_seconds(knob, 60.0 * minutes)
            ended.set()
            tallies = [queue.get(timeout=600) for _ in range(_VISITORS - 2)]
            visiting.join()
            _say("all have left")
            numbers["memory"] = memory
            numbers["alive"] = process.poll() is None
            numbers["kept"] = keeps_file(keeper)
            wrong += [text for _, texts in tallies for text in texts]
            wrong += [*knob.exceptions, *keeper.exceptions]
            numbers["tally"] = {k: sum(t[k] for t, _ in tallies) for k in tallies[0][0]}
            knob.close()
            keeper.close()
        finally:
            stop_server(process)
    return numbers, wrong + wrong_lines(log), log


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def _p95(seconds: list[float]) -> float:
    return float(np.quantile(seconds, 0.95))


def main() -> None:
    """Run it and print what was met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--log", type=Path, help="where to keep the server's log")
    options = parser.parse_args()
    numbers, wrong, log = run(options.minutes)
    if options.log:
        options.log.write_text("\n".join(log))
    for text in sorted(set(wrong)):
        print(text[:600])
    memory = numbers["memory"]
    fifth = max(1, len(memory) // 5)
    middle = statistics.median(memory[2 * fifth : 3 * fifth])
    last = statistics.median(memory[-fifth:])
    counts = {name.replace("_", " "): count for name, count in numbers["tally"].items()}
    tally = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    quiet, busy = _p95(numbers["quiet"]), _p95(numbers["busy_knob"])
    curve = " ".join(f"{value:.0f}" for value in memory[:: max(1, len(memory) // 20)])
    print(f"Other processes took {numbers['busy']:.0f} % of all cores before it began.")
    print(f"Visitors: {tally}. Ready after {numbers['ready']:.0f} s.")
    print(f"Memory in MB, twenty times: {curve}")
    report(
        f"{_VISITORS} visitors for {options.minutes:g} minutes on a server without disk and home",
        [
            Row(
                "crashes, errors on pages and in the log",
                str(len(wrong) + (not numbers["alive"])),
                "0",
                not wrong and numbers["alive"],
                {"errors": len(wrong), "alive": numbers["alive"]},
            ),
            Row(
                "the file that was open all the time",
                "there" if numbers["kept"] else "lost",
                "there",
                numbers["kept"],
                {},
            ),
            Row(
                f"memory of the last fifth of the time ({last:.0f} MB) against the middle one "
                f"({middle:.0f} MB)",
                f"{100 * (last / middle - 1):+.0f} %",
                f"+{100 * MOST_GROWTH:.0f} %",
                last / middle - 1 <= MOST_GROWTH,
                {"middle": middle, "last": last, "curve": memory},
            ),
            Row(
                f"95th percentile of a view's knob ({1000 * quiet:.0f} ms alone, "
                f"{1000 * busy:.0f} ms in company; medians "
                f"{1000 * statistics.median(numbers['quiet']):.0f} and "
                f"{1000 * statistics.median(numbers['busy_knob']):.0f} ms)",
                f"{busy / quiet:.1f} x",
                f"{MOST_SLOWER:g} x",
                busy / quiet <= MOST_SLOWER,
                {"quiet": numbers["quiet"], "busy": numbers["busy_knob"]},
            ),
        ],
        options.json,
    )
    if wrong or not numbers["alive"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
