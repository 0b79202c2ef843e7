"""``--publish``: the same file for the same results, equal to what is committed."""

import doctest
import json
import random
import subprocess
from pathlib import Path

import pytest

from benchmarks.protocols import PROTOCOLS
from benchmarks.tables import __main__ as command
from benchmarks.tables import publish as publishing
from benchmarks.tables.board import BOARD_FILE, TASKS, read_board
from benchmarks.tables.cells import Cell, Cells, Result
from benchmarks.tables.publish import (
    FINDINGS,
    README,
    BadFindings,
    board_text,
    publish,
    read_findings,
    short_number,
    sum_up,
    task_of,
)


def result_of(table, name, split, method, effort="small", **scores):
    return Result(
        table=table, set=name, split=split, method=method, scores=scores, seconds=1.23456789,
        peak_memory=123456789, seed=split, settings={"effort": effort}, version="1", machine="m",
    )  # fmt: skip


RESULTS = [
    result_of("sglb", name, split, method, nll=1.0 / (3 + split), rmse=2e-7 / 3)
    for name in ("boston", "digits")
    for method in ("sgb", "sglb:single")
    for split in range(3)
] + [result_of("macau", "linear", 0, "macau_linear", crps=20.123456789)]


def test_examples():
    failed, tried = doctest.testmod(publishing)
    assert (failed, tried > 0) == (0, True)


def test_what_is_published_is_read_again(tmp_path):
    path = tmp_path / "board.json"
    findings = tmp_path / "FINDINGS.md"
    findings.write_text("# Findings\n\n## One\nWhy it is.\n\nCells: sglb/*/sgb/nll, macau/*/*/*\n")
    sentence = publish(RESULTS, path, findings)
    assert sentence.startswith("board.json has 13 cells and ")
    board = read_board(path)
    table = board.table("sglb")
    for result in RESULTS[:12]:
        expected = {key: short_number(value) for key, value in result.scores.items()}
        results = [
            r for r in table.results_of(result.set, result.method) if r.split == result.split
        ]
        assert [dict(each.scores) for each in results] == [expected]
        assert (results[0].seconds, results[0].peak_memory) == (1.23457, 123457000)
    assert (table.effort, table.versions, table.machines) == ("small", ("1",), ("m",))
    assert board.table("ours").results == ()
    assert board.table("ours").effort == ""
    assert [finding.title for finding in board.findings] == ["One"]
    assert board.findings[0].text == "Why it is."
    for key, protocol in PROTOCOLS.items():
        read = board.table(key)
        assert read.published.keys() == protocol.published.keys()
        for where, number in protocol.published.items():
            # Six significant digits.
            assert read.published[where].value == pytest.approx(number.value, rel=5e-6)
            assert read.published[where].table == number.table
        assert read.words == protocol.words
        assert {each.task for each in read.sets} <= set(TASKS)


def test_the_order_of_results_changes_nothing():
    mixed = random.Random(0).sample(RESULTS, len(RESULTS))
    assert board_text(mixed, "") == board_text(RESULTS, "")


def test_a_board_of_every_wanted_cell_is_small():
    rich = [
        result_of(key, name, split, method,
                  **{score.key: split + 1 / 3 for score in protocol.scores})
        for key, protocol in PROTOCOLS.items()
        for name in protocol.sets
        for method in protocol.methods_on(name)
        for split in range(min(3, protocol.sets[name]))
    ]  # fmt: skip
    text = board_text(rich, "")
    assert len(text) < 1_000_000
    content = json.loads(text)
    assert sum(len(table["results"]["set"]) for table in content["tables"]) == len(rich) > 1000


@pytest.mark.parametrize(
    ("bad", "sentence"),
    [
        (result_of("x", "boston", 0, "sgb"), "belongs to no table of today"),
        (result_of("sglb", "x", 0, "sgb"), "belongs to no table of today"),
        (result_of("sglb", "boston", 0, "x"), "belongs to no table of today"),
        (result_of("sglb", "boston", 0, "sgb", unheard=1.0), "belongs to no table of today"),
        (result_of("sglb", "boston", 0, "sgb", "smoke"), "'smoke', which is no number to publish"),
        (result_of("sglb", "wine", 0, "sgb", "full"), "of the efforts full and small: keep one"),
    ],
)
def test_results_that_do_not_belong_there_are_refused(bad, sentence):
    with pytest.raises(ValueError, match=sentence):
        board_text([*RESULTS, bad], "")


@pytest.mark.parametrize(
    "cell",
    ["sglb/boston/sgb", "x/*/*/*", "sglb/x/*/*", "sglb/*/x/*", "sglb/*/*/x", "ibug/digits/*/*"],
)
def test_findings_that_name_no_cell_are_refused(cell):
    with pytest.raises(BadFindings, match=r"'Why' names .*with \* for any"):
        read_findings(f"## Why\nBecause.\n\nCells: sglb/boston/sgb/nll, {cell}\n")


def test_sections_of_findings():
    text = (
        "# Findings\nwords\n\n## One\nA\n\n### Sub\nB\n\nCells: sglb/boston/sgb/nll,\n"
        "sglb/*/sgb/rmse\n\nC\n\n## Without\nD\n\n## Two\nCells: `macau/*/*/crps`.\nE\n"
    )
    first, second = read_findings(text)
    assert first["cells"] == ["sglb/boston/sgb/nll", "sglb/*/sgb/rmse"]
    assert first["text"].startswith("A\n\n### Sub\nB")
    assert first["text"].endswith("C")
    assert (second["title"], second["cells"], second["text"]) == ("Two", ["macau/*/*/crps"], "E")


def test_tasks():
    assert task_of("spiral") == task_of("shifts_weather") == "classification"
    assert task_of("linear_halves") == "regression"


def test_methods_that_nobody_here_can_run_are_not_waited_for(tmp_path):
    path = tmp_path / "board.json"
    for results, there in (([], False), ([result_of("ibug", "power", 0, "pgbm", crps=1.0)], True)):
        publish(results, path, tmp_path / "none.md")
        wanted = read_board(path).table("ibug").wanted
        assert (("power", "pgbm") in wanted) == there
        assert wanted["power", "ibug"] == 3


def test_the_option_writes_the_file_and_runs_nothing(tmp_path, capsys, monkeypatch):
    store = Cells(tmp_path / "results")
    store.put(result_of("sglb", "boston", 0, "sgb", nll=1.0))
    path = tmp_path / "board.json"
    monkeypatch.setattr(command, "publish", lambda results: publish(results, path))
    assert command.run(["--publish", "--out", str(store.folder)]) == 0
    assert "board.json has 1 cells" in capsys.readouterr().out
    assert read_board(path).table("sglb").values("boston", "sgb", "nll") == {0: 1.0}
    store.put(result_of("sglb", "boston", 1, "sgb", "smoke", nll=1.0))
    with pytest.raises(command.BadArgument, match="compute it anew"):
        command.run(["--publish", "--out", str(store.folder)])
    assert store.get(Cell("sglb", "boston", 1, "sgb")) is not None


def committed():
    """The names of the results that the repository holds."""
    root = command.RESULTS.parents[1]
    asked = ["git", "-C", str(root), "ls-files", "--", str(command.RESULTS)]
    listed = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.split()
    paths = [Path(name) for name in listed]  # folders in it are other benchmarks'
    return {path.name for path in paths if path.parent.name == "results"}


def test_the_published_board_is_what_the_committed_results_say():
    names, store = committed(), Cells(command.RESULTS)
    if not names:
        pytest.skip("no results are committed yet")
    results = [result for result in store if store.path_of(result.cell).name in names]
    findings = FINDINGS.read_text("utf-8") if FINDINGS.exists() else ""
    assert BOARD_FILE.read_text(encoding="utf-8") == board_text(results, findings), (
        "run python -m benchmarks.tables --publish"
    )
    readme = README.read_text(encoding="utf-8")
    assert "| paper |" in readme
    assert sum_up(readme, read_board()) == readme
