"""`gbuq explain` and `gbuq report`: the same numbers as `gbuq score` and as Python."""

import re

import numpy as np
import pandas as pd
import pytest
from command_parts import printed, record_of
from tolerances import SAME_SUM

from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidParameter
from gbuq_core.tables import ScorePlan, explain_row, read_table, score_table

MODEL = ["--trees", "30", "--depth", "3", "--ensemble", "virtual", "--seed", "3"]
QUICK = [*MODEL, "--unfamiliarity", "no"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    x, group = rng.uniform(-2, 2, 120), rng.choice(["a", "<b>b</b>"], 120)
    frame = pd.DataFrame({"x": x, "group": group, "y": x**2 + rng.normal(0, 0.1, 120)}).round(6)
    frame["class"] = np.where(frame.y > 1.0, "high", "low")
    file = tmp_path_factory.mktemp("told") / "rows.csv"
    frame.to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def scored(path):
    plan = ScorePlan(n_trees=30, depth=3, ensemble="virtual", seed=3)
    return score_table(read_table(path), "y", plan=plan)


def test_a_row_is_explained_with_the_numbers_of_python(path, scored, capsys):
    words = ["explain", str(path), "--target", "y", "--row", "7", *QUICK]
    record = record_of(capsys, *words)
    own = explain_row(scored, 6)
    assert record["prediction"] == scored.frame["prediction"].iloc[6]
    assert record["true_value"] == scored.frame["y"].iloc[6]
    assert record["members"]["mean"] == own.member_loc.tolist()
    assert record["uncertainty"]["knowledge"] == own.uncertainty.knowledge[0]
    effects = {effect["column"]: effect["knowledge"] for effect in record["effects"]}
    assert effects == {effect.column: effect.knowledge for effect in own.effects}
    totals = [abs(effect["total"]) for effect in record["effects"]]
    assert totals == sorted(totals, reverse=True)
    assert record["unfamiliarity"] is None
    assert main([*words, "--quiet"]) == 0
    streams = capsys.readouterr()
    assert streams.err == ""
    lines = streams.out.splitlines()
    assert lines[0] == "Row 7 (line 8 of the file)"
    assert lines[1].startswith("Predicted ")
    assert "members predict from" in lines[2]
    assert lines[3].startswith("Its interval of 90 % is ")
    assert lines[4].startswith("Column  Value ")
    assert lines[4].endswith("Data (variance)  Knowledge (variance)  Width")
    assert {line.split()[0] for line in lines[5:]} == {"x", "group", "class"}


@pytest.fixture(scope="module")
def with_gaps(path, tmp_path_factory):
    """The rows with two lines that are skipped and a blank one, as CSV."""
    lines = path.read_text().splitlines()
    for place, line in ((4, "broken"), (9, ""), (12, "too,many,cells,in,here")):
        lines.insert(place, line)
    file = tmp_path_factory.mktemp("gaps") / "gaps.csv"
    file.write_text("\n".join(lines))
    return file


def test_row_numbers_lead_to_the_row_in_the_file(with_gaps, tmp_path, capsys):
    lines = with_gaps.read_text().splitlines()  # the header is line 0
    plan = ScorePlan(n_trees=30, depth=3, ensemble="virtual", seed=3)
    scored = score_table(read_table(with_gaps), "y", plan=plan)
    for number in (5, 123):
        words = ["explain", str(with_gaps), "--target", "y", "--row", str(number), *QUICK]
        record = record_of(capsys, *words)
        assert record["row"] == number
        assert record["line"] == number + 1  # the header is line 1
        assert record["true_value"] == float(lines[number].split(",")[2])
        lines_said = [notice for notice in record["notices"] if "skipped" in notice]
        assert "lines 5 and 13; " in lines_said[0]
    for number in (4, 9, 12):
        with pytest.raises(InvalidParameter, match=f"Row {number} of the file is blank, or has"):
            scored.scored.find_row(number)
    numbered = scored.frame.set_index("row_in_file").y
    for number in (1, 5, 123):  # others are where rows were left out, or blank
        assert numbered[number] == float(lines[number].split(",")[2])
    out = tmp_path / "report.html"
    assert main(["report", str(with_gaps), "--target", "y", "--out", str(out), *QUICK]) == 0
    numbers = scored.scored.row_numbers
    most = int(numbers[np.argmax(scored.predictions.uncertainty.total)])
    assert most > 3  # above which numbers are not places
    text = out.read_text()
    assert f"<td>{most}</td>" in text


def test_a_row_with_most_of_the_squared_error_is_told_of(path, tmp_path, capsys):
    totals = tmp_path / "totals.csv"
    totals.write_text(f"{path.read_text()}120,Total,9000,high\n")
    out = ["--out", str(tmp_path / "scored.csv")]
    assert main(["score", str(totals), "--target", "y", *out, *QUICK]) == 0
    streams = capsys.readouterr()
    assert (
        'Warning: Row 121 has 100 % of the squared error of the 121 rows held out: its "y" is'
        in (streams.err)
    )
    assert len(pd.read_csv(tmp_path / "scored.csv")) == 121


def test_a_row_of_classes_is_explained_with_its_unfamiliarity(path, capsys):
    words = ["explain", str(path), str(path), "--target", "class", "--drop", "y", "--row", "3"]
    record = record_of(capsys, *words, *MODEL)
    assert (record["task"], record["unit"]) == ("classification", "nats")
    assert record["prediction"] in ("high", "low")
    assert record["true_value"] in record["classes"]
    np.testing.assert_allclose(
        np.sum(record["members"]["probabilities"], axis=1), 1.0, rtol=SAME_SUM
    )
    assert 0.0 <= record["unfamiliarity"] <= 1.0
    assert any(sentence.startswith("How unfamiliar it is") for sentence in record["words"])
    assert any("give these probabilities: high" in sentence for sentence in record["words"])


def test_the_report_is_the_pages_and_runs_nothing_of_a_file(path, tmp_path, scored, capsys):
    out = tmp_path / "report.html"
    words = ["report", str(path), "--target", "y", "--group", "group", "--out", str(out), *QUICK]
    record = record_of(capsys, *words)
    assert record["scores"]["rmse"] == scored.scores.rmse
    text = out.read_text(encoding="utf-8")
    for heading in (
        "In words",
        "Rejection",
        "Coverage",
        "Where does it fail?",
        "The same in Python",
    ):
        assert heading in text
    assert "<b>b</b>" not in text
    assert not re.search(r"(src|href)=.https?:", text)
    assert "python -m gbuq_core score rows.csv --target=y" in text


def test_a_method_without_members_is_told(path, tmp_path, capsys):
    words = [str(path), "--target", "y", "--drop", "class", "--method", "quantile"]
    more = ["--unfamiliarity", "no"]
    assert "members" not in printed(capsys, "explain", *words, "--row", "7", "--quiet", *more)
    out = tmp_path / "report.html"
    assert main(["report", *words, "--out", str(out), "--quiet", *more]) == 0
    assert "Where does it fail?" in out.read_text(encoding="utf-8")
