"""What can be taken away from Your data: code, a line for the terminal, a page."""

import json
import re
import runpy
import shlex
from html import escape

import numpy as np
import pandas as pd
import pytest

from gbuq_core.__main__ import main
from gbuq_core.lenses.lens import Seen
from gbuq_core.lenses.register import reader_choices
from gbuq_core.lenses.report import lens_sections, result_page
from gbuq_core.tables import (
    ScorePlan,
    add_unfamiliarity,
    measure_unfamiliarity,
    read_table,
    score_table,
    scoring,
)
from gbuq_core.tables.checking import rows_to_check
from gbuq_core.tables.words import describe_table
from gbuq_core.unfamiliarity import UnfamiliarityScore
from tests.app.your_data_page import NASTY, csv_of, numbers, open_page, rows_of, settle
from tests.page_parts import curves_of

SETTINGS = {
    "virtual": {
        "trees": "100", "depth": "3", "rate": "0.2", "step": "5", "start": "0.3", "members": "4",
        "seed": "3", "task": "regression",
    },
    "independent": {
        "method": "SGB", "ensemble": "independent", "trees": "50", "models": "3", "members": "2",
    },
    "cyclical": {
        "method": "cbSGLB", "trees": "100", "rate": "0.05", "burn_in": "3", "members": "5",
    },
    "catboost": {"engine": "CatBoost", "trees": "50", "rate": "0.1", "step": "10"},
    "all trees": {"clocks": "false", "trees": "50", "step": "5"},
}  # fmt: skip


@pytest.fixture
def trained_once(monkeypatch):
    """Page, code and line train what is the same to the last bit once; all else is trained anew."""
    fit_rows, fit = scoring.fit_rows, UnfamiliarityScore.fit
    models, measured = {}, {}

    def cells(X):
        return repr(X.dtypes), X.to_csv()

    def rows_once(plan, training, rows):
        parts = repr(plan), repr(training.target), repr(training.split), training.y.tobytes()
        key = *parts, *cells(training.X), rows.tobytes()
        if key not in models:
            models[key] = fit_rows(plan, training, rows)
        return models[key]

    def measured_once(self, *given):
        X, y, groups = given
        key = repr(self.get_params()), *cells(X), y.tobytes(), repr(groups)
        if key not in measured:
            measured[key] = vars(fit(self, *given)).copy()
        vars(self).update(measured[key])
        return self

    monkeypatch.setattr(scoring, "fit_rows", rows_once)
    monkeypatch.setattr(UnfamiliarityScore, "fit", measured_once)


@pytest.mark.usefixtures("trained_once")
@pytest.mark.parametrize("case", SETTINGS)
def test_the_copied_code_and_the_copied_line_give_the_numbers_of_the_page(
    case, tmp_path, monkeypatch
):
    at = open_page(numbers(), table="your file", **SETTINGS[case])
    code = next(c.value for c in at.code if "score_table" in c.value)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_bytes(numbers())
    made = {}
    exec(compile(code, "copied", "exec"), made)
    shown = rows_of(at).sort_values("row")
    frame = made["scored"].frame
    np.testing.assert_array_equal(shown["total"], np.sqrt(frame["total_uncertainty"]))
    np.testing.assert_array_equal(shown["prediction"], frame["prediction"])
    (tmp_path / "scored.csv").unlink()
    line = code.strip().splitlines()[-1].removeprefix("# ")
    words = shlex.split(line)
    assert words[:4] == ["python", "-m", "gbuq_core", "score"]
    assert main([*words[3:], "--quiet"]) == 0
    written = pd.read_csv(tmp_path / "scored.csv")
    for name in ("prediction", "total_uncertainty", "knowledge_uncertainty"):
        np.testing.assert_array_equal(written[name], frame[name])


@pytest.mark.parametrize("kind", ["regression", "classes"])
def test_the_page_to_take_away_is_small_complete_and_escaped(kind):
    rng = np.random.default_rng(5)
    target = "<script>alert(1)</script>"
    truth = rng.normal(size=80) if kind == "regression" else [NASTY[i % 2] for i in range(80)]
    frame = pd.DataFrame({NASTY[0]: rng.normal(size=80), "x": range(80), target: truth})
    table = read_table(frame.to_csv(index=False).encode())
    scored = score_table(
        table, target, plan=ScorePlan(ensemble="virtual", n_trees=40, learning_rate=0.1)
    )
    page = result_page(scored, "std", "print('<b>')").decode()
    assert len(page) < 6e6
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "Content-Security-Policy" in page
    assert re.search(r"(src|href)=.https?:", page) is None
    pictures = curves_of(page)
    assert len(pictures) == 4  # rows, rejection, coverage or calibration, trees in use
    shown = [layer for layer in pictures[0]["panels"][0]["layers"] if layer["kind"] == "dots"]
    assert sorted(at for layer in shown for at in layer["at"]) == list(range(80))  # one a row
    rows = np.argsort(-scored.predictions.uncertainty.total, kind="stable")[:20] + 1
    listed = re.findall(r"<tr><td>(\d+)</td>", page)
    checks = [str(check.row + 1) for check in rows_to_check(scored)]
    assert listed == [*checks, *(str(row) for row in rows)]
    for sentence in describe_table(scored):
        assert escape(sentence) in page


@pytest.mark.usefixtures("trained_once")
def test_the_script_and_the_notebook_write_the_file_of_the_page(offered, tmp_path, monkeypatch):
    """Every number of it, bit for bit: what is offered is run where the file is."""
    given = {"table": "your file", "trees": "50", "step": "5", "conformal": "true", "within": "80"}
    at = settle(open_page(numbers(80), **given))
    assert not at.exception
    written = offered["scored.csv"]()
    head = written.split(b"\n", 1)[0].decode().split(",")
    assert head[3:6] == ["prediction", "lower_80", "upper_80"]
    assert {"unfamiliarity", "novelty", "outside_columns", "knowledge_uncertainty_std"} < {*head}
    assert any("conformal intervals of 80 %" in caption.value for caption in at.caption)
    (tmp_path / "table.csv").write_bytes(numbers(80))
    (tmp_path / "your_data.py").write_bytes(offered["your_data.py"]())
    monkeypatch.chdir(tmp_path)
    runpy.run_path("your_data.py", run_name="__main__")
    assert (tmp_path / "scored.csv").read_bytes() == written
    (tmp_path / "scored.csv").unlink()
    made = {}
    for cell in json.loads(offered["your_data.ipynb"]())["cells"]:
        if cell["cell_type"] == "code":
            exec(compile(cell["source"], "cell", "exec"), made)
    assert (tmp_path / "scored.csv").read_bytes() == written
    labels = [button.label for button in at.get("download_button")]
    files = ["All rows (CSV)", "All rows (Parquet)", "Code (Python)", "Notebook", "Page (HTML)"]
    assert labels == files
    report = offered["your-data.html"]()
    assert len(report) < 10e6
    names = [picture["name"] for picture in curves_of(report.decode())]
    assert {"rejection", "coverage", "pit", "groups"} < {*names}
    for heading in ("least familiar rows", "in every group", "Where does it fail?"):
        assert heading in report.decode()
    line = offered["your_data.py"]().decode().strip().splitlines()[-1]
    assert line.endswith("--level=0.8 --conformal")


def test_infinite_intervals_are_named(offered):
    at = open_page(numbers(20), table="your file", conformal="true", within="95")
    assert any("All are infinite" in caption.value for caption in at.caption)
    assert b",-inf,inf," in offered["scored.csv"]()


def test_the_report_says_how_a_second_file_differs():
    table = read_table(numbers(80))
    new = read_table(numbers(40).replace(b"x,z,y", b"z,x,y"), to_score=True)
    scored = score_table(table, "y", new=new, plan=ScorePlan(ensemble="virtual", n_trees=30))
    scored = add_unfamiliarity(scored, measure_unfamiliarity(scored.training, scored.scored))
    sections = {each.heading: each for each in lens_sections(Seen(scored, table, reader_choices()))}
    first = sections["Does the second file look like the first?"]
    assert first.table[0] == ("Column", "Shift (PSI)", "By chance up to")
    assert {line[0] for line in first.table[1:]} == {"x", "z"}
    assert sections["How unfamiliar are its rows?"].curves is not None
    assert len(sections["The 20 least familiar rows"].table) == 21


def test_the_report_says_how_well_each_class_is_found():
    rng = np.random.default_rng(0)
    table = read_table(csv_of(x=rng.normal(size=60), y=[f"c{k % 2}" for k in range(60)]))
    scored = score_table(table, "y", plan=ScorePlan(ensemble="virtual", n_trees=30))
    sections = lens_sections(Seen(scored, table, reader_choices()))
    sections = {each.heading: each for each in sections}
    classes = sections["How well is each class found?"]
    assert sorted(line[0] for line in classes.table) == ["Class", "c0", "c1"]
    assert "Which threshold finds enough of the large errors?" in sections
