"""How commands end: nobody reads, Ctrl-C, and outputs that cannot be written."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_parts import frame_of
from full_disk import fill_disk

from gbuq_core.__main__ import main
from gbuq_core.commands.parser import run_command

ROOT = Path(__file__).resolve().parents[2]
FAST = ["--trees=20", "--depth=3", "--ensemble=virtual", "--unfamiliarity=no"]
TRAINED = ["rows.csv", "--target=y"]
LONG = "--trees=100000"
# Forked, because one process after the other would load the same packages and kernels again, and
# look through all of it for garbage at its end. The fit starts no thread, which a fork would lose.
FORKED = """
import gc, io, json, os, signal, sys, threading, time
from gbuq_core import BoostedEnsembleRegressor, jobs, lenses, projects, tables
from gbuq_core.__main__ import main

for package in (lenses, projects, tables):
    for name in package.__all__:
        getattr(package, name)
rows = [[k % 5, k % 3] for k in range(60)]
few = {"n_trees": 3, "truncation_step": 1, "stopping": None}
BoostedEnsembleRegressor(ensemble="virtual", n_jobs=1, **few).fit(rows, range(60))
gc.collect()
gc.freeze()

def interrupt():
    while not any(job.done for job in seen):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

seen = []
begin = jobs.Job.__init__
jobs.Job.__init__ = lambda job, *rest: (begin(job, *rest), seen.append(job))[0]
signal.signal(signal.SIGINT, signal.default_int_handler)
ends = []
for out, interrupted, words in json.loads(sys.argv[1]):
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        os.close(readable)
        if out.startswith("nobody"):
            nobody, target = os.pipe()
            os.close(nobody)
        else:
            target = os.open(out, os.O_WRONLY)
        os.dup2(target, 1)
        os.dup2(target if out == "nobody at all" else writable, 2)
        os.close(writable)
        if out == "nobody at all":  # as with PYTHONUNBUFFERED=1
            raw = io.FileIO(1, "w", closefd=False)
            sys.stdout = sys.__stdout__ = io.TextIOWrapper(raw, write_through=True)
        if interrupted:
            threading.Thread(target=interrupt, daemon=True).start()
        sys.exit(main(words))
    os.close(writable)
    with open(readable) as words_written:
        text = words_written.read()
    ends.append((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text))
print(json.dumps(ends))
"""
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("ends")
    frame_of(60).to_csv(path / "rows.csv", index=False)
    return path


PRINTING = [
    ["--help"],
    ["score", "--help"],
    ["methods"],
    ["methods", "--json"],
    ["completion", "bash"],
    ["info", "rows.csv"],
    ["explain", *TRAINED, *FAST, "--row=7"],
    ["compare", *TRAINED, "--methods=knn"],
    ["score", *TRAINED, *FAST, "--out=-"],
    ["score", *TRAINED, *FAST, "--out=scored.csv", "--json"],
    ["report", *TRAINED, *FAST, "--out=-"],
    ["fit", *TRAINED, *FAST[:-1], "--out=-"],
]
SOME = [PRINTING[0], PRINTING[2], PRINTING[6], PRINTING[8]]


STOPPED = [
    ["score", *TRAINED, LONG, "--out=kept/out.csv"],
    ["fit", *TRAINED, LONG, "--out=kept/out.gbuq"],
    ["explain", *TRAINED, LONG, "--row=7"],
    ["report", *TRAINED, LONG, "--out=kept/out.html"],
    ["compare", *TRAINED, LONG, "--methods=sgb", "--out=kept/out.csv"],
]


@pytest.fixture(scope="module")
def ended(folder):
    """Commands that nobody reads, that cannot print and that are interrupted: one start for all.

    Of where they wrote and what they were called: exit code and what the standard error got.
    """
    (folder / "kept").mkdir()
    full = SOME if Path("/dev/full").exists() else []
    cases = [("nobody", False, words) for words in PRINTING]
    cases += [("nobody at all", False, words) for words in SOME]
    cases += [("/dev/full", False, words) for words in full]
    cases += [(os.devnull, True, words) for words in STOPPED]
    done = subprocess.run(
        [sys.executable, "-c", FORKED, json.dumps(cases)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    names = [(out, " ".join(words)) for out, _, words in cases]
    return dict(zip(names, json.loads(done.stdout), strict=True))


def of_output(ends, wanted):
    return {name: end for (out, name), end in ends.items() if out == wanted}


def assert_they_end_quietly(ends):
    """Nothing but the exit code of a program whose reader has gone."""
    assert ends
    for name, (code, words) in ends.items():
        assert code == 141, (name, words)
        assert "Traceback" not in words, name
        assert "Exception ignored" not in words, name


@forks
def test_a_reader_that_has_gone_costs_no_word(ended):
    ends = of_output(ended, "nobody")
    assert len(ends) == len(PRINTING)
    assert_they_end_quietly(ends)


@forks
def test_a_reader_of_the_words_about_the_work_may_go_too(ended):
    """``2>&1`` sends them to the same reader."""
    assert_they_end_quietly(of_output(ended, "nobody at all"))


@forks
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_output_is_one_sentence(ended):
    ends = of_output(ended, "/dev/full")
    assert len(ends) == len(SOME)
    for name, (code, words) in ends.items():
        last = words.splitlines()[-1]
        assert code == 2, (name, words)
        assert last == (
            "The output cannot be written (No space left on device): choose another place for it."
        ), name
        assert "Traceback" not in words, name
        assert "Exception ignored" not in words, name


@forks
def test_control_c_stops_every_command_that_trains(ended, folder):
    ends = of_output(ended, os.devnull)
    assert len(ends) == len(STOPPED)
    assert ends == {name: [130, "Stopped; nothing was written.\n"] for name in ends}
    assert list((folder / "kept").iterdir()) == []


def test_control_c_before_any_training(folder, monkeypatch, capsys):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("gbuq_core.tables.read_table", interrupted)
    path = str(folder / "rows.csv")
    for words in (["info", path], ["explain", path, "--target=y", "--row=1"]):
        assert main(words) == 130
        assert capsys.readouterr() == ("", "Stopped; nothing was written.\n")


WRITING = [
    ["score", "--out"],
    ["fit", "--out"],
    ["report", "--out"],
    ["compare", "--methods=knn", "--out"],
]


@pytest.mark.parametrize("command", WRITING)
def test_a_disk_that_is_full_leaves_nothing(command, folder, tmp_path, monkeypatch, capsys):
    fill_disk(monkeypatch)
    name, *more = command
    fast = [] if name == "compare" else FAST[:-1]
    quiet = ["--unfamiliarity=no"] if name in ("score", "report") else []
    line = [name, str(folder / "rows.csv"), "--target=y", *fast, *quiet, *more]
    assert main([*line, str(tmp_path / "out")]) == 2
    streams = capsys.readouterr()
    assert streams.err.splitlines()[-1] == (
        f"{tmp_path / 'out'} cannot be written (No space left on device): choose another output."
    )
    assert "Wrote" not in streams.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", WRITING)
def test_a_folder_that_cannot_be_written_is_told_first(
    command, folder, tmp_path, monkeypatch, capsys
):
    """The superuser may write anywhere, so the system's answer is made up."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    monkeypatch.setattr("gbuq_core.tables.read_table", None)  # nothing is read
    name, *more = command
    line = [name, str(folder / "rows.csv"), "--target=y", *more, str(tmp_path / "out")]
    assert main(line) == 2
    streams = capsys.readouterr()
    sentence = f"{tmp_path / 'out'} cannot be written: check its permissions.\n"
    assert (streams.out, streams.err) == ("", sentence)


def test_an_output_that_is_closed(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    assert main(["methods"]) == 0
    line = ["score", str(folder / "rows.csv"), "--target=y", *FAST, "--out=-", "--quiet"]
    assert main(line) == 2
    assert capsys.readouterr().err == "The standard output is closed: name a file for --out.\n"


def test_other_errors_of_the_system_are_not_hidden(monkeypatch):
    def broken(options):
        raise PermissionError(errno.EACCES, "no")

    monkeypatch.setattr("gbuq_core.commands.methods.run", broken)
    with pytest.raises(PermissionError):
        run_command(["methods"], "gbuq", "1")
