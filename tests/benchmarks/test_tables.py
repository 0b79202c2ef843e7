"""The runner of the papers' tables: its cells, their order, a kill, time limits, its sentences."""

import doctest
import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tolerances import NEAR_ZERO

from benchmarks.protocols import PROTOCOLS, data
from benchmarks.report import load_split
from benchmarks.tables import __main__ as command
from benchmarks.tables import apart, cells, machine, protocol, running
from benchmarks.tables.apart import Answer, Children, Request, compute_apart
from benchmarks.tables.cells import FIELDS, BadResult, Cell, Cells, Result, finite, parse_result
from benchmarks.tables.comparing import set_beside
from benchmarks.tables.protocol import Published
from benchmarks.tables.report import report_lines
from benchmarks.tables.running import Runner, Wanted, list_cells, needed_by

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--tables", "sglb", "--sets", "wine_cultivars", "--effort", "smoke")


def result_of(cell, value=1.0, **settings):
    return Result(
        **cell._asdict(), scores={"nll": value}, seconds=2.0, peak_memory=1, seed=cell.split,
        settings={"effort": "small", **settings}, version="1", machine="a machine",
    )  # fmt: skip


@pytest.mark.parametrize("module", [cells, machine, protocol, running])
def test_examples(module):
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)


def test_a_result_has_exactly_its_fields(tmp_path):
    assert FIELDS == (
        "table", "set", "split", "method", "scores", "seconds", "peak_memory", "seed", "settings",
        "version", "machine",
    )  # fmt: skip
    cell = Cell("sglb", "boston", 0, "sglb:single")
    store = Cells(tmp_path / "results")
    assert store.get(cell) is None
    store.put(result_of(cell))
    (path,) = tmp_path.glob("results/*")
    assert ":" not in path.name
    content = json.loads(path.read_text())
    assert tuple(content) == FIELDS
    assert store.get(cell) == next(iter(store)) == result_of(cell)
    for bad in ({**content, "more": 1}, {**content, "scores": {"nll": "low"}}, [content]):
        with pytest.raises(BadResult, match=r"\.$"):
            parse_result(bad)
    path.write_text("{")
    with pytest.raises(BadResult, match=r"it is no JSON\.$"):
        store.get(cell)


def test_a_score_that_is_no_number_is_left_out():
    assert finite({"a": np.float64(1.0), "b": np.nan, "c": np.inf}) == {"a": 1.0}


def test_a_table_is_read_as_it_is_printed():
    numbers = protocol.published_numbers(
        "2", "nll", "sgb sglb", {"power": "2.72(0.12) -", "wine": "-1 5"}, splits=4
    )
    assert numbers["power", "sgb", "nll"] == Published(2.72, 0.06, "2", 0.005)
    assert ("power", "sglb", "nll") not in numbers
    assert numbers["wine", "sgb", "nll"] == Published(-1.0, None, "2", 0.5)
    with pytest.raises(ValueError, match="no number"):
        protocol.published_numbers("2", "nll", "sgb", {"power": "?"})


@pytest.mark.parametrize("key", PROTOCOLS)
def test_every_method_has_a_cost_and_every_set_its_rows(key):
    table = PROTOCOLS[key]
    assert set(table.methods) == set(table.seconds)
    for name in table.sets:
        assert set(table.methods_on(name)) <= set(table.methods)
        assert all(table.estimate(name, each, "small") > 0 for each in table.methods_on(name))
    assert {where[0] for where in table.published} <= set(table.sets)


def test_numbers_of_the_first_paper():
    numbers = PROTOCOLS["sglb"].published
    assert numbers["energy", "virtual_sglb", "nll"].value == 0.70
    assert numbers["protein", "virtual_sglb", "auroc_knowledge"].value == pytest.approx(0.94)
    assert numbers["boston", "sgb:single", "rmse"] == Published(
        3.06, pytest.approx(0.68 / np.sqrt(20)), "2", pytest.approx(0.005)
    )
    assert ("power", "sgb:single", "prr_knowledge") not in numbers


@pytest.fixture
def data_dir(tmp_path, rng):
    for name, columns in (("power", 3), ("protein", 4)):
        X = 7.0 + 3.0 * rng.normal(size=(300, columns))
        table = pd.DataFrame(X).add_prefix("x").assign(target=X[:, 0] + rng.normal(size=300))
        table.to_csv(tmp_path / f"{name}.csv.gz", index=False)
        np.savez(tmp_path / f"{name}_splits.npz", test_0=np.arange(30), test_1=np.arange(30, 60))
    return tmp_path


def test_rows_are_held_out_as_said(data_dir):
    rows = data.regression_rows(data_dir, "power", 0)
    assert [len(each) for each in (rows.y_fit, rows.y_val, rows.y_test)] == [216, 54, 30]
    whole = load_split(data_dir, "power", 0)
    np.testing.assert_array_equal(np.sort(rows.y_all), np.sort(whole.y_train))
    np.testing.assert_array_equal(rows.y_test, whole.y_test)
    other = data.regression_rows(data_dir, "power", 0)
    np.testing.assert_array_equal(rows.X_val, other.X_val)
    classes = data.class_rows("breast_cancer", 3)
    shares = [len(each) / 569 for each in (classes.y_fit, classes.y_val, classes.y_test)]
    assert shares == pytest.approx([0.65, 0.15, 0.2], abs=0.005)  # whole rows
    assert len(data.class_rows("digits", 0, smoke=True).y_test) == 24


def test_foreign_rows_are_the_first_columns_on_other_scales(data_dir):
    X = np.random.default_rng(1).normal([0.0, 100.0, -5.0], [1.0, 10.0, 0.1], (200, 3))
    foreign = data.foreign_rows(data_dir, "power", X, 300, 0)
    # All 300 rows of the other set were drawn, so their moments are those they were scaled to.
    np.testing.assert_allclose(foreign.mean(axis=0), X.mean(axis=0), atol=NEAR_ZERO)
    np.testing.assert_allclose(foreign.std(axis=0), X.std(axis=0))
    theirs = pd.read_csv(data_dir / "protein.csv.gz").to_numpy()[:, :3]
    standard = (theirs - theirs.mean(axis=0)) / theirs.std(axis=0)
    for ours, each in zip(foreign.T, standard.T, strict=True):
        back = (ours - ours.mean()) / ours.std()
        np.testing.assert_allclose(np.sort(back), np.sort(each), atol=NEAR_ZERO)


def test_columns_of_foreign_rows_come_round_again():
    X = np.random.default_rng(1).normal(size=(50, 64))
    foreign = data.foreign_rows(None, "digits", X, 40, 0)
    assert foreign.shape == (40, 64)
    assert np.isfinite(foreign).all()
    assert not np.allclose(foreign[:, 0], foreign[:, 30])  # other rows of the same column


def test_the_small_setting_fits_into_ninety_minutes_of_two_cores():
    todo = list_cells(Wanted(tuple(PROTOCOLS), None, None, None, "small"))
    assert sum(running.estimate_seconds(cell, "small") for cell in todo) / 2 < 90 * 60
    splits = {cell.split for cell in todo if cell[:2] == ("ibug", "protein")}
    assert splits == {0, 1, 2}
    full = list_cells(Wanted(("ibug",), ("protein",), None, 3, "full"))
    assert {cell.split for cell in full} == {0, 1, 2}


def test_what_papers_have_without_standard_errors_gets_more_splits():
    def count(*given):
        return len(list_cells(Wanted(*given, "small")))

    assert count(("soft_trees",), ("exploration",), ("vst",), None) == 20
    assert count(("soft_trees",), ("exploration",), ("vst",), 4) == 4
    assert count(("sglb",), ("boston",), ("sglb", "vrf"), None) == 10 + 3
    assert count(("sglb",), ("protein",), ("sglb", "vrf"), None) == 5 + 3
    assert count(("sglb",), ("digits",), ("sglb",), None) == 3


def test_cells_are_listed_and_those_that_tune_come_first():
    wanted = Wanted(("sglb",), ("protein", "boston"), ("sglb", "sglb:single"), 9, "small")
    cells = list_cells(wanted)
    assert len(cells) == 2 * (9 + 5)  # protein has five splits
    cell = Cell("sglb", "boston", 2, "sglb")
    others = [Cell("sglb", "boston", *each) for each in
              ((2, "sglb:single"), (0, "sglb"), (0, "sglb:single"))]  # fmt: skip
    assert list(needed_by(cell, "small")) == others
    assert list(needed_by(cell, "full")) == others[:1]
    # As paper 1 does it, where the choice turns from split to split.
    power = [each._replace(set="power") for each in (cell, others[0])]
    assert list(needed_by(power[0], "small")) == power[1:]


class Computed:
    """Stands for processes: answers at once, and notes what was asked."""

    def __init__(self, refuse=()):
        self.asked = []
        self._refuse = refuse

    def __call__(self, request, children=None):
        self.asked.append(request)
        if request.cell.method in self._refuse:
            return Answer(None, f"{request.cell} failed.")
        return Answer(result_of(request.cell, depth=len(self.asked)))

    def each(self, fn, shared, items):
        """As a cluster: in any order."""
        for index in reversed(range(len(items))):
            yield index, self(items[index])


@pytest.mark.parametrize("where", ["processes", "cluster"])
def test_settings_are_handed_on_and_resuming_computes_the_rest(tmp_path, monkeypatch, where):
    def run(computed, methods, resume=True):
        monkeypatch.setattr(running, "compute_apart", computed)
        lines.clear()
        cluster = computed if where == "cluster" else None
        computed.n_workers = 2
        todo = list_cells(Wanted(("sglb",), ("boston",), methods, 2, "small"))
        runner = Runner(Cells(tmp_path), tmp_path, "small", 60.0, lines.append)
        return runner.run(todo, resume, 2, cluster)

    lines = []
    assert run(Computed(), ("sglb:single",)).computed == 2
    second = Computed(refuse=("sgb",))
    outcome = run(second, ("sgb", "sglb:single", "sglb"))
    assert [each.cell.method for each in second.asked].count("sglb:single") == 0
    assert outcome.computed == 2
    assert len(outcome.failures) == 2
    known = {each.cell: each.known for each in second.asked}
    first = known[Cell("sglb", "boston", 0, "sglb")]
    assert first["sglb:single"]["depth"] == 1
    assert sorted(known[Cell("sglb", "boston", 1, "sglb")]) == ["sglb", "sglb:single"]
    assert lines[0].startswith("4 of 6 cells to compute, 2 are stored. About ")
    assert "left" in lines[1]
    again = Computed()
    run(again, ("sglb:single",), resume=False)
    assert len(again.asked) == 2


def test_a_cell_takes_no_longer_than_its_limit():
    request = Request(Cell("sglb", "wine_cultivars", 0, "vrf"), None, "smoke", {}, 0.01)
    answer = compute_apart(request)
    assert answer.result is None
    assert (
        answer.refusal == "sglb/wine_cultivars/0/vrf took longer than 0.01 s: raise --time-limit."
    )


def test_a_process_that_fails_says_why():
    answer = compute_apart(Request(Cell("sglb", "no such set", 0, "vrf"), "/", "smoke", {}, 60.0))
    assert answer.result is None
    assert "failed with exit code 1: " in answer.refusal
    assert "FileNotFoundError" in answer.refusal


def start(out, *more):
    # A shell that starts the tests in the background has them and their children ignore Ctrl-C.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return _start(out, *more)
    finally:
        signal.signal(signal.SIGINT, before)


def _start(out, *more):
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.tables", *SMALL, "--out", str(out), *more],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def living_cells():
    """Processes that compute a cell."""
    numbers = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"benchmarks.tables.apart" in (folder / "cmdline").read_bytes():
                numbers.append(int(folder.name))
        except OSError:  # it ended meanwhile
            continue
    return numbers


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks at processes in /proc")
def test_nothing_is_lost_by_a_kill(tmp_path):
    first = start(tmp_path, "--methods", "vrf,forests", "--splits", "1", "--jobs", "1")
    while not list(tmp_path.glob("*.json")):
        assert first.poll() is None, first.stdout.read()
        time.sleep(0.02)
    before = set(living_cells())
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    kept = {path: (path.read_text(), path.stat().st_mtime_ns) for path in tmp_path.glob("*.json")}
    assert len(kept) == 1
    while before & set(living_cells()):  # they end by themselves, or the test never does
        time.sleep(0.02)
    second = start(tmp_path, "--methods", "vrf,forests", "--splits", "1", "--resume")
    output = second.communicate()[0]
    assert second.returncode == 0, output
    assert "1 of 2 cells to compute, 1 " in output
    for path, (text, written) in kept.items():
        assert (path.read_text(), path.stat().st_mtime_ns) == (text, written)
    results = list(Cells(tmp_path))
    assert {(each.split, each.method) for each in results} == {(0, "vrf"), (0, "forests")}
    assert all(each.seconds > 0 and each.peak_memory > 1e7 for each in results)
    assert all(each.effort == "smoke" and "core" in each.machine for each in results)
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.slow
def test_an_interrupted_run_ends_its_cells_in_one_sentence(tmp_path):
    run = start(tmp_path, "--methods", "vrf,forests", "--splits", "9", "--jobs", "1")
    while not list(tmp_path.glob("*.json")):
        assert run.poll() is None, run.stdout.read()
        time.sleep(0.02)
    os.kill(run.pid, signal.SIGINT)  # of the runner alone: Ctrl-C does not reach its cells either
    output = run.communicate()[0]
    assert run.returncode == 130
    assert output.splitlines()[-1] == (
        "Interrupted. What was computed is stored: go on with --resume."
    )
    assert "Traceback" not in output
    assert 0 < len(list(Cells(tmp_path))) < 18
    assert not list(tmp_path.glob("*.part"))


def test_a_full_disk_ends_a_run_in_one_sentence(tmp_path, capsys, monkeypatch):
    def write_text(path, text):
        written.append(path)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return written_by_system(path, text)

    written, written_by_system = [], Path.write_text
    monkeypatch.setattr(Path, "write_text", write_text)
    monkeypatch.setattr(running, "compute_apart", Computed())
    given = [*SMALL, "--methods", "vrf", "--splits", "4", "--jobs", "1", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["tables", *given])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == (
        f"The result of sglb/wine_cultivars/2/vrf cannot be written to {tmp_path}: No space left "
        "on device. The results before it are stored: make room, and go on with --resume.\n"
    )
    assert [each.split for each in Cells(tmp_path)] == [0, 1]
    assert not list(tmp_path.glob("*.part"))


def test_a_folder_that_cannot_be_is_told_before_anything_runs(tmp_path, capsys, monkeypatch):
    computed = Computed()
    monkeypatch.setattr(running, "compute_apart", computed)
    (tmp_path / "file").touch()
    given = [*SMALL, "--methods", "vrf", "--out", str(tmp_path / "file")]
    monkeypatch.setattr(sys, "argv", ["tables", *given])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"{tmp_path / 'file'} cannot hold results: File exists.\n"
    assert computed.asked == []


def test_a_process_that_cannot_start_is_a_failure_of_its_cell(monkeypatch):
    def no_file():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(apart.tempfile, "TemporaryFile", no_file)
    answer = compute_apart(Request(Cell("sglb", "wine_cultivars", 0, "vrf"), None, "smoke", {}, 9))
    assert answer.refusal == (
        "sglb/wine_cultivars/0/vrf could not be started: No space left on device."
    )


def test_a_process_after_the_end_is_killed(tmp_path):
    children = Children()
    children.end()
    request = Request(Cell("sglb", "wine_cultivars", 0, "vrf"), None, "smoke", {}, 60.0)
    assert "failed with exit code -9" in compute_apart(request, children).refusal


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--tables", "six"], "There is no table 'six': choose from "),
        (["--tables", "sglb", "--sets", "boston,moon"], "There is no set 'moon': choose from "),
        (["--tables", "sglb", "--methods", "xg"], "There is no method 'xg': choose from "),
        (["--tables", ","], "--tables names none"),
        (["--splits", "0"], "--splits must be a whole number from 1 to 20; got '0'."),
        (["--splits", "²"], "--splits must be a whole number"),
        (["--jobs", "many"], "--jobs must be a whole number"),
        (["--time-limit", "-1"], "--time-limit must be a whole number"),
        (["--effort", "huge"], "There is no effort 'huge': choose from smoke, small, full."),
        (["--what"], "Unrecognized arguments: --what: see --help."),
        (["--tables", "sglb", "--sets", "boston"], "sglb/boston is read from a folder: add"),
        (["--tables", "sglb", "--sets", "boston", "--data-dir", "/nowhere"], "/nowhere has no "),
        ([*SMALL, "--methods", "vrf", "--scheduler", "here"], "The scheduler's address must"),
    ],
)  # fmt: skip
def test_bad_arguments_get_one_sentence(given, sentence, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["tables", *given])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    errors = capsys.readouterr().err
    assert errors.startswith(sentence)
    assert errors.endswith(".\n")
    assert errors.count("\n") == 1


def test_results_of_another_effort_are_not_gone_on_with(tmp_path, capsys, monkeypatch):
    Cells(tmp_path).put(result_of(Cell("sglb", "wine_cultivars", 0, "vrf")))
    given = [*SMALL, "--methods", "vrf", "--resume", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["tables", *given])
    with pytest.raises(SystemExit):
        command.main()
    assert "of the effort small: name another --out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("mean", "theirs", "higher", "word"),
    [
        # Values around the mean have a standard error of 0.1 / sqrt(3).
        (1.0, Published(1.1, None, "1", 0.0), False, "same"),
        (1.0, Published(1.2, None, "1", 0.0), False, "better"),
        (1.0, Published(1.2, None, "1", 0.0), True, "worse"),
        (1.0, Published(1.2, 0.1, "1", 0.0), False, "same"),  # theirs varies too
        (1.0, Published(1.2, None, "1", 0.1), False, "same"),  # it may be 1.1, rounded
        (1.0, Published(0.8, None, "1", 0.0), False, "worse"),
        (1.0, None, False, ""),
    ],
)
def test_two_standard_errors_are_worse_or_better(mean, theirs, higher, word):
    beside = set_beside([mean - 0.1, mean, mean + 0.1], theirs, higher)
    assert beside.word == word
    assert set_beside([mean], theirs, higher).word == ""


def test_the_report_has_ours_beside_the_papers():
    three = [result_of(Cell("sglb", "boston", i, "sgb"), 2.0 + 0.1 * i) for i in range(3)]
    text = "\n".join(report_lines(three))
    assert "| SGB | 2.100 (0.058) / 2.46 + |" in text
    assert "1 are better, 0 worse, 0 the same" in text
    assert "3 cells, 0.1 processor minutes; gbuq 1; a machine." in text
    assert report_lines([]) == ["Nothing is stored yet."]


def test_numbers_of_a_smoke_run_are_compared_with_nothing():
    three = [result_of(Cell("sglb", "boston", i, "sgb"), 2.0, effort="smoke") for i in range(3)]
    assert "/ 2.46" not in "\n".join(report_lines(three))
