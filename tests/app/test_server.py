"""A server for others: its limits are told on the page, its log holds nothing of a table."""

import asyncio
import io
import json
import logging
import re
import runpy
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections import deque
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from starlette.formparsers import MultiPartParser
from streamlit import config
from streamlit.runtime.pages_manager import PagesManager
from streamlit.testing.v1 import AppTest

from gbuq_core import parallel
from gbuq_core.jobs import RUNNER
from gbuq_core.session_limits import SessionLimits
from pages._ui import journal, limiting
from pages._ui.site_map import PAGES
from pages._ui.your_data import training
from tests.app.your_data_page import csv_of, drop, open_page, rows_of, says, settle, texts
from tests.browser.conftest import start_server, stop_server

SERVER = Path(__file__).resolve().parents[2] / "server.py"
MARKS = ("Mxcolumn", "Mxcell", "Mxfile", "Mxtarget")


@pytest.fixture
def limits():
    def set_to(**given):
        RUNNER.limits = SessionLimits(**given)

    limiting.limit_sessions()  # once a process; the first page would take back what a test sets
    yield set_to
    RUNNER.limits = SessionLimits()


@pytest.fixture
def log(monkeypatch):
    """The log of a server, and all that other loggers write."""
    written = io.StringIO()
    factory, shown = logging.getLogRecordFactory(), warnings.showwarning
    monkeypatch.setattr(journal.LOG, "handlers", [])
    monkeypatch.setattr("sys.stderr", written)
    others = logging.StreamHandler(written)
    logging.getLogger().addHandler(others)
    journal.start_log()
    yield written
    logging.captureWarnings(False)
    logging.setLogRecordFactory(factory)
    warnings.showwarning = shown
    logging.getLogger().removeHandler(others)
    journal.LOG.setLevel(logging.NOTSET)
    journal.LOG.propagate = True
    parallel._PAGES_FIRST.clear()


def lines_of(log):
    return [json.loads(line) for line in log.getvalue().splitlines() if line.startswith("{")]


def marked():
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    town = rng.choice(["Mxcell", "Bonn"], 80)
    return csv_of(Mxcolumn=x, town=town, Mxtarget=x + (town == "Bonn") + rng.normal(size=80))


def totals(at):
    return rows_of(at).sort_values("row")["total"].to_numpy()


def test_the_log_tells_fits_and_errors_and_nothing_of_the_table(log, monkeypatch):
    at = drop(open_page(), marked(), "Mxfile.csv")
    assert not at.exception
    fits = [line for line in lines_of(log) if line["event"] == "fit" and line["slot"] == "score"]
    own = next(line for line in fits if line["rows"] == 80)
    assert own["outcome"] == "done"
    assert (own["page"], own["columns"], own["level"]) == ("your_data", 3, "info")
    assert own["seconds"] > 0

    def fail(table, target, **_):
        warnings.warn(f"{target} of {table.source.name} is odd", stacklevel=1)
        raise ValueError(f"could not convert string to float: 'Mxcell' in {target}")

    monkeypatch.setattr(training, "score_table", fail)
    at = settle(at.number_input(key="seed").set_value(3).run())
    failure = next(text for text in texts(at) if text.startswith("The fit failed (ValueError)"))
    (failed,) = [line for line in lines_of(log) if line.get("outcome") == "failed"]
    assert failed["reference"] in failure
    assert any("test_server.py" in place for place in failed["at"])
    assert failed["level"] == "error"
    journal.note_error(KeyError("Mxcolumn"), "page")
    logging.getLogger("streamlit.error_util").error("Uncaught", exc_info=KeyError("Mxcolumn"))
    assert "UserWarning" in log.getvalue()
    for mark in MARKS:
        assert mark not in log.getvalue()


def test_each_limit_is_told_in_a_sentence_and_the_table_before_stays(limits):
    limits(upload_megabytes=1)
    at = drop(open_page(), marked(), "Mxfile.csv")
    before = totals(at)

    def expect(part):
        assert not at.exception
        assert says(at, part), texts(at)
        np.testing.assert_array_equal(totals(at), before)

    limits(upload_megabytes=1, rows=100)
    drop(at, csv_of(x=np.arange(101.0), y=np.arange(101.0)), "longer.csv")
    expect("The table has 101 rows, more than the 100 that this server allows")
    long_cells = ["long" * 3000] * 85
    drop(at, csv_of(x=np.arange(85.0), y=long_cells), "large.csv")
    expect("The file has 1.02 MB, more than the 1 MB")  # the browser refuses what is much larger
    limits(upload_megabytes=1, held_megabytes=1)
    drop(at, csv_of(x=np.arange(83.0), y=long_cells[:83]), "large.csv")
    expect("more than the 1 MB that this server allows a visitor")
    limits(upload_megabytes=1, fits_per_hour=1)
    RUNNER._counted[next(iter(RUNNER._files))] = deque([time.monotonic()])
    drop(at, marked().replace(b"Bonn", b"Kiel"), "other.csv")
    expect("You have run 1 fit in the last hour, and this server allows 1")


def test_models_projects_and_second_files_keep_to_the_limits_too(limits):
    limits(upload_megabytes=1)
    at = drop(open_page(), marked(), "Mxfile.csv")
    before = totals(at)

    def expect(at, *parts):
        assert not at.exception
        for part in parts:
            assert says(at, part), texts(at)
        np.testing.assert_array_equal(totals(at), before)

    limits(upload_megabytes=1, rows=90)
    large = b"tree\n" * 210_000
    drop(at, large, "model.txt", "upload_model")
    expect(
        at, "Your model was not opened. The file has 1.05 MB, more than the 1 MB", "smaller trees"
    )
    at.file_uploader(key="upload_model").set_value(None).run()
    drop(at, large, "old.gbuq", "upload")
    expect(at, "gbuq fit without --with-data", "Nothing on this page has changed.")
    drop(at, csv_of(Mxcolumn=np.arange(91.0), town=["Ulm"] * 91), "new.csv", "upload_second")
    expect(at, "The second file cannot be scored. The table has 91 rows, more than the 90")


def test_an_open_project_counts_as_held(limits):
    at = drop(open_page(), marked(), "Mxfile.csv")
    before = totals(at)
    drop(at, b"not a project" * 70_000, "old.gbuq", "upload")
    assert says(at, "Nothing on this page has changed."), texts(at)
    limits(held_megabytes=1)
    drop(at, csv_of(x=np.arange(90.0), y=["long" * 2600] * 90), "other.csv")
    assert says(at, "more than the 1 MB that this server allows a visitor"), texts(at)
    np.testing.assert_array_equal(totals(at), before)


def test_a_wrong_file_of_limits_ends_the_start_with_a_sentence(tmp_path, monkeypatch, log):
    path = tmp_path / "gbuq.toml"
    path.write_text("[limits]\nfits = 1\n")
    monkeypatch.setenv("GBUQ_CONFIG", str(path))
    limiting.limit_sessions.clear()
    try:
        with pytest.raises(SystemExit, match='sets the limit "fits", which is unknown'):
            runpy.run_path(str(SERVER))
    finally:
        limiting.limit_sessions.clear()


@pytest.fixture
def server(log, monkeypatch):
    """What `server.py` defines."""
    monkeypatch.setattr(config, "_main_script_path", str(SERVER))
    return runpy.run_path(str(SERVER))


def test_the_server_is_ready_once_its_kernels_are_loaded(server, monkeypatch):
    answers = []
    for warm in (False, True):
        monkeypatch.setitem(server["ready"].__globals__, "is_warm", lambda warm=warm: warm)
        answer = asyncio.run(server["ready"](None))
        answers.append((answer.status_code, json.loads(answer.body)))
    assert answers == [(503, {"ready": False}), (200, {"ready": True})]
    assert "/ready" in [route.path for route in server["app"]._user_routes]
    assert PagesManager.uses_pages_directory is False  # a cold one has its own words, too


def test_an_error_that_no_page_expected_is_shown_with_the_reference_of_the_log(log, monkeypatch):
    monkeypatch.setattr(config, "_main_script_path", str(SERVER))
    script = f"""
import runpy
assert runpy.run_path({str(SERVER)!r})["show_error"](KeyError("Mxcolumn")) is True
"""
    at = AppTest.from_string(script, default_timeout=60).run()
    assert not at.exception
    (line,) = lines_of(log)
    assert any(line["reference"] in text for text in texts(at))
    assert (line["what"], line["error"]) == ("page", "KeyError")
    assert "Mxcolumn" not in log.getvalue() + "".join(texts(at))


def test_uploads_stay_in_memory_as_the_page_says():
    AppTest.from_file(str(SERVER.with_name("app.py")), default_timeout=60).run()
    assert MultiPartParser.spool_max_size >= 250 * 2**20


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that nobody can write to")
def test_a_server_starts_without_a_home_and_answers_for_its_health_and_shared_links(tmp_path):
    (tmp_path / "gbuq.toml").write_text("[limits]\nrows = 10\n")
    wanted = {"HOME": "/sys", "GBUQ_CONFIG": str(tmp_path / "gbuq.toml")}
    process, url = start_server(SERVER, tmp_path, **wanted)
    try:
        try:
            answer = urllib.request.urlopen(f"{url}/ready", timeout=60)
        except urllib.error.HTTPError as not_yet:
            answer = not_yet
        assert (answer.status, json.load(answer)["ready"]) in [(200, True), (503, False)]
        for entry in PAGES:
            query = urlencode({"rows": f"<script>{MARKS[0]}</script>"})
            answer = urllib.request.urlopen(f"{url}/{entry.url_path}?{query}", timeout=60)
            html = unescape(answer.read().decode())
            assert answer.headers["Cache-Control"] == "no-cache"
            assert '<script type="module"' in html  # Streamlit's own page
            assert re.findall("<title>(.*)</title>", html) == [entry.tab]
            properties = dict(re.findall('property="([a-z:]+)" content="(.*)">', html))
            assert (properties["og:title"], properties["og:description"]) == (
                entry.tab,
                entry.question,
            )
            assert properties["og:image"].startswith(f"{url}/preview/")
            image = urllib.request.urlopen(properties["og:image"], timeout=60)
            assert image.headers["Content-Type"] == "image/webp"
            assert MARKS[0] not in html
    finally:
        stop_server(process)
    assert "Traceback" not in (tmp_path / "server.log").read_text()
