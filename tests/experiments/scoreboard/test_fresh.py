"""A cell computed now: the process is asked, answers, fails, and ends with the job."""

import json
import os
import time

import pytest

from gbuq_core.errors import Cancelled, InvalidData, MissingPackage
from gbuq_core.experiments.scoreboard import fresh
from gbuq_core.experiments.scoreboard.fresh import FreshCell, run_cell, why_not_run
from gbuq_core.jobs import JobRunner
from tests.job_parts import HANG

ANSWER = {"scores": {"crps": 0.25}, "seconds": 1.5}


def make_checkout(folder, script):
    """A checkout whose runner is this script."""
    room = folder / "benchmarks" / "tables"
    room.mkdir(parents=True)
    for package in (room, room.parent):
        (package / "__init__.py").write_text("")
    (room / "apart.py").write_text(script)
    return folder


def answering(**answer):
    """A script that writes down what it is asked, and answers."""
    full = {"result": None, "refusal": "", "missing": False, **answer}
    return (
        "import sys\nline = sys.stdin.readline()\nopen('asked.json', 'w').write(line)\n"
        f"print({json.dumps(full)!r})\n"
    )


def test_the_process_is_asked_for_the_cell_and_its_scores_come_back(tmp_path):
    root = make_checkout(tmp_path, answering(result=ANSWER))
    cell = run_cell("macau", "linear", "ibug:xgboost", 2, checkout=root)
    assert cell == FreshCell(table="macau", set="linear", method="ibug:xgboost", split=2, **ANSWER)
    request = json.loads((tmp_path / "asked.json").read_text())
    assert request[:4] == [["macau", "linear", 2, "ibug:xgboost"], None, "small", {}]


def test_the_folder_of_the_sets_is_named_by_the_variable(tmp_path, monkeypatch):
    root = make_checkout(tmp_path, answering(result=ANSWER))
    data = tmp_path / "data"
    data.mkdir()
    monkeypatch.delenv(fresh.DATA_FOLDER, raising=False)
    assert fresh.DATA_FOLDER in why_not_run(["boston"], checkout=root)
    monkeypatch.setenv(fresh.DATA_FOLDER, str(data))
    assert "no such file" in why_not_run(["boston"], checkout=root)
    with pytest.raises(InvalidData, match=r"boston\.csv\.gz"):
        run_cell("ours", "boston", "sgb", files=["boston"], checkout=root)
    for file in ("boston.csv.gz", "boston_splits.npz"):
        (data / file).write_text("")
    assert why_not_run(["boston"], checkout=root) == ""
    run_cell("ours", "boston", "sgb", files=["boston"], checkout=root)
    assert json.loads((tmp_path / "asked.json").read_text())[1] == str(data)


def test_an_installed_package_has_no_runner(tmp_path):
    assert "start the app from a checkout" in why_not_run([], checkout=tmp_path)
    assert why_not_run([]) == ""


@pytest.mark.parametrize(("missing", "error"), [(True, MissingPackage), (False, InvalidData)])
def test_a_refusal_is_told_as_the_runner_says_it(tmp_path, missing, error):
    root = make_checkout(tmp_path, answering(refusal="It is not installed.", missing=missing))
    with pytest.raises(error, match=r"^It is not installed\.$"):
        run_cell("macau", "linear", "pgbm", checkout=root)


@pytest.mark.parametrize("first", ["", "import sys\nsys.stdin.readline()\n"])
def test_a_process_that_fails_is_one_sentence_with_its_last_words(tmp_path, first):
    root = make_checkout(tmp_path, f"{first}raise ValueError('no rows')")
    with pytest.raises(InvalidData, match=r"exit code 1: ValueError: no rows\. Run its command"):
        run_cell("macau", "linear", "sgb", checkout=root)


def is_there(number):
    """Whether a process runs, or has ended and waits for its parent."""
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_stopped_job_ends_the_process(tmp_path):
    script = f"import os, sys, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep({HANG})\n"
    root = make_checkout(tmp_path, script)
    runner = JobRunner()
    job = runner.want("ann", "cell", lambda job: run_cell("macau", "linear", "sgb", checkout=root))
    deadline = time.monotonic() + HANG
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    number = int((tmp_path / "pid").read_text())
    assert is_there(number)
    runner.release("ann")
    with pytest.raises(Cancelled):
        job.result(timeout=HANG)
    assert not is_there(number)


def test_a_cell_of_the_checkout_is_computed():
    cell = run_cell("macau", "one_dimensional", "forest")
    assert cell.scores["crps"] > 0.0
    assert cell.seconds > 0.0
