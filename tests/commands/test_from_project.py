"""`gbuq score`, `explain` and `report` with `--project`: the numbers of the fit."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from command_parts import code_of, printed, record_of, refusal

from gbuq_core.tables import load_builtin

MODEL = ["--trees", "30", "--depth", "3", "--ensemble", "virtual", "--seed", "3"]
CUT = ["--truncation-step", "5", "--most-members", "2"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, new rows, and projects without and with the table."""
    path = tmp_path_factory.mktemp("projects")
    rng = np.random.default_rng(0)
    x, group = rng.uniform(-2, 2, 150), rng.choice(["a", "b"], 150)
    frame = pd.DataFrame({"x": x, "code": rng.integers(0, 3, 150), "group": group})
    frame = frame.assign(y=x**2 + (group == "a") + rng.normal(0, 0.1, 150)).round(6)
    frame[:120].to_csv(path / "rows.csv", index=False, sep=";")
    frame[120:].to_csv(path / "new.csv", index=False)
    fit = ["fit", path / "rows.csv", "--target", "y", "--drop", "code", "--quiet", *MODEL]
    assert code_of(*fit, "--out", path / "new.gbuq") == 0
    assert code_of(*fit, "--with-data", "--level", "0.8", "--out", path / "whole.gbuq") == 0
    return path


WITHOUT = ["new.gbuq", "rows.csv", "new.csv"]
# The files after a project, and the line that trains on the same.
FILES = {
    "without the table": (
        ["new.gbuq", "rows.csv", "new.csv"],
        ["rows.csv", "new.csv"],
        ["--drop=code"],
    ),
    "with the table": (["whole.gbuq", "new.csv"], ["rows.csv", "new.csv"], ["--drop=code"]),
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("more", [["--unfamiliarity=no"], [*CUT, "--by=knowledge"]])
def test_a_row_is_explained_as_by_the_fit(case, more, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (project, *files), beside, edits = FILES[case]
    row = ["--row", 7, *more]
    later = record_of(capsys, "explain", *files, "--project", project, *row)
    direct = record_of(capsys, "explain", *beside, "--target=y", *edits, *MODEL, *row)
    # A project keeps no lines of the file that it was made from.
    assert later == direct | {"line": None}
    assert later["uncertainty"]["total"] > 0


UNFAMILIAR = ["unfamiliarity", "times_beyond", "novelty", "outside_columns"]
NOT_MEASURED = "Unfamiliar rows and rows of new units were not looked for"


@pytest.mark.parametrize("case", FILES)
def test_the_rows_are_scored_as_by_the_fit(case, folder, tmp_path, capsys, monkeypatch):
    """With their unfamiliarity, which needs the table."""
    monkeypatch.chdir(folder)
    (project, *files), beside, edits = FILES[case]
    level = ["--level=0.8"] if project == "whole.gbuq" else []
    outs = [tmp_path / name for name in ("later.csv", "direct.csv")]
    line = [*beside, "--target=y", *edits, *MODEL, *level, "--quiet"]
    printed(capsys, "score", *line, "--out", outs[1])
    assert code_of("score", *files, "--project", project, "--out", outs[0]) == 0
    assert NOT_MEASURED not in capsys.readouterr().err
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert {*UNFAMILIAR} <= {*pd.read_csv(outs[0])}
    line = ["score", *files, "--project", project, "--out", outs[0], "--unfamiliarity=no"]
    added = record_of(capsys, *line)["added_columns"]
    without = pd.read_csv(outs[0])
    assert not {*UNFAMILIAR} & {*without, *added}
    pd.testing.assert_frame_equal(without, pd.read_csv(outs[1]).drop(columns=UNFAMILIAR))


def test_what_cannot_be_measured_is_told(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    line = ["score", "new.csv", "--project", "new.gbuq", "--out", tmp_path / "out.csv"]
    assert code_of(*line) == 0
    noted = [word for word in capsys.readouterr().err.splitlines() if NOT_MEASURED in word]
    assert noted == [
        f"Note: {NOT_MEASURED}: the project does not hold its table. Name the table before NEW, or "
        "fit with --with-data."
    ]
    assert "unfamiliarity" not in pd.read_csv(tmp_path / "out.csv")
    assert NOT_MEASURED in record_of(capsys, *line)["notices"][-1]
    for quiet in ("--quiet", "--unfamiliarity=no"):
        assert code_of(*line, quiet) == 0
        assert NOT_MEASURED not in capsys.readouterr().err


@pytest.mark.parametrize("case", FILES)
def test_the_report_is_the_one_of_the_fit(case, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    (project, *files), beside, edits = FILES[case]
    level = ["--level=0.8"] if project == "whole.gbuq" else []
    look = ["--group=group", "--fails-by=misses"]
    outs = [tmp_path / name for name in ("later.html", "direct.html")]
    later = record_of(capsys, "report", *files, "--project", project, "--out", outs[0], *look)
    line = [*beside, "--target=y", *edits, *MODEL, *level, *look]
    direct = record_of(capsys, "report", *line, "--out", outs[1])
    parts = [out.read_text(encoding="utf-8").split("The same in Python") for out in outs]
    assert parts[0][0] == parts[1][0]  # the code names more: how the project's table was read
    assert "python -m gbuq_core score rows.csv" in parts[0][1]
    assert later | {"out": "", "bytes": 0} == direct | {"out": "", "bytes": 0}


def test_a_query_needs_no_file(tmp_path, capsys):
    rows = load_builtin("wine").table.data.to_pandas()
    with sqlite3.connect(tmp_path / "rows.db") as database:
        rows.to_sql("wine", database, index=False)
    database.close()
    query = ["--sql", "SELECT * FROM wine", "--url", f"sqlite:///{tmp_path / 'rows.db'}"]
    fit = ["fit", *query, "--target=alcohol", "--out", tmp_path / "query.gbuq", *MODEL]
    printed(capsys, *fit)
    rows.head(20).to_csv(tmp_path / "new.csv", index=False)
    look = ["--row=3", "--unfamiliarity=no"]
    new = tmp_path / "new.csv"
    later = record_of(capsys, "explain", new, *query, "--project", tmp_path / "query.gbuq", *look)
    direct = record_of(capsys, "explain", new, *query, "--target=alcohol", *MODEL, *look)
    assert later == direct | {"line": None}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["new.gbuq"], 'does not hold its table: give "rows.csv" with it'),
        (["new.gbuq", "new.csv"], '"new.csv" is not the table of the project'),
        (["new.gbuq", "rows.csv"], "give a second file"),
        (["whole.gbuq"], "give a second file"),
        (
            ["new.gbuq", "rows.csv", "new.csv", "--row=31"],
            "There is no row 31: the file has 30 rows.",
        ),
        (["new.gbuq", "rows.csv", "--trees=9"], "--trees does not go with --project"),
        (["new.gbuq", "rows.csv", "--seed=9"], "--seed does not go with --project"),
        (["new.gbuq", "rows.csv", "--model", "m.cbm"], "both give a model"),
        (
            ["new.gbuq", "rows.csv", "new.csv", "--burn-in=3"],
            "--burn-in does not go with --method sglb",
        ),
        (["rows.csv"], "not a gbuq project"),
    ],
)
def test_what_a_project_cannot_tell_is_one_sentence(words, sentence, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    project, *more = words
    row = [] if "--row=31" in more else ["--row=1"]
    line = ["explain", *row, *more, "--project", project]
    assert sentence in refusal(capsys, *line)


def test_a_row_of_another_methods_project(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    options = ["rows.csv", "--target=y", "--method=vst", "--depth=1"]
    project = tmp_path / "vst.gbuq"
    printed(capsys, "fit", *options, "--with-data", "--out", project)
    look = ["--row=7", "--unfamiliarity=no"]
    later = record_of(capsys, "explain", "new.csv", "--project", project, *look)
    options.insert(1, "new.csv")
    direct = record_of(capsys, "explain", *options, *look)
    assert later == direct | {"line": None}
    words = ["explain", "new.csv", "--project", project, *look, "--most-members=2"]
    assert "--most-members does not go with --method vst" in refusal(capsys, *words)
