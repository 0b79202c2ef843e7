"""`gbuq fit` and what uses its file: the same numbers as one `gbuq score`, and as Python."""

import json

import numpy as np
import pandas as pd
import pytest
from command_parts import printed, record_of

from gbuq_core.__main__ import main
from gbuq_core.projects import fit_project, score_project
from gbuq_core.tables import Edits, ScorePlan, read_table

MODEL = ["--trees", "30", "--depth", "3", "--ensemble", "virtual", "--seed", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, new rows, and a project that was fitted on the table."""
    path = tmp_path_factory.mktemp("fit")
    rng = np.random.default_rng(0)
    x, group = rng.uniform(-2, 2, 150), rng.choice(["a", "b"], 150)
    frame = pd.DataFrame({"x": x, "code": rng.integers(0, 3, 150), "group": group})
    frame = frame.assign(y=x**2 + (group == "a") + rng.normal(0, 0.1, 150)).round(6)
    frame[:120].to_csv(path / "rows.csv", index=False)
    frame[120:].drop(columns="y").to_csv(path / "new.csv", index=False)
    assert fit(path, "--quiet") == 0
    return path


def fit(path, *more, out="rows.gbuq"):
    words = ["fit", path / "rows.csv", "--target", "y", "--category", "code", "--out", path / out]
    return main([*map(str, words), *MODEL, *more])


def score(*words):
    return main(["score", *map(str, words)])


def test_one_seed_gives_the_same_numbers_everywhere(folder, capsys):
    direct, later = folder / "direct.csv", folder / "later.csv"
    rows, new = folder / "rows.csv", folder / "new.csv"
    words = ["--target", "y", "--category", "code", *MODEL, "--unfamiliarity", "no", "--quiet"]
    assert score(rows, new, "--out", direct, *words) == 0
    assert score(new, "--project", folder / "rows.gbuq", "--out", later, "--quiet") == 0
    assert direct.read_bytes() == later.read_bytes()
    assert capsys.readouterr() == ("", "")
    plan = ScorePlan(n_trees=30, depth=3, ensemble="virtual", seed=3)
    project = fit_project(read_table(rows), "y", edits=Edits.of({"code": "category"}), plan=plan)
    frame = score_project(project, read_table(new, to_score=True)).frame
    written = pd.read_csv(later)
    for name in ("prediction", "lower_90", "data_uncertainty", "knowledge_uncertainty"):
        np.testing.assert_array_equal(written[name], frame[name])


def test_what_was_fitted_is_told(folder, capsys):
    assert fit(folder, "--json", out="again.gbuq") == 0
    fitted = json.loads(capsys.readouterr().out)
    assert (fitted["rows"], fitted["task"], fitted["plan"]["seed"]) == (120, "regression", 3)
    assert fitted["scores"]["rmse"] > 0
    text = printed(capsys, "info", str(folder / "rows.gbuq"))
    assert 'The project is about "rows.csv", with 120 rows and 4 columns.' in text
    record = record_of(capsys, "info", str(folder / "rows.gbuq"))
    assert (record["holds"], record["target"], record["holds_rows"]) == ("project", "y", False)
    assert record["scores"]["rmse"] == fitted["scores"]["rmse"]
    assert (
        score(
            folder / "new.csv",
            "--project",
            folder / "rows.gbuq",
            "--json",
            "--out",
            folder / "j.csv",
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["rows"] == 30


def test_what_flatters_or_spoils_the_scores_is_told(folder, capsys):
    lines = (folder / "rows.csv").read_text().splitlines()
    header, rows = f"{lines[0]},net", [f"{line},{line.split(',')[-1]}" for line in lines[1:]]
    total = "0,0,a,9000.5,9000.5"
    (folder / "odd.csv").write_text("\n".join([header, *rows[:40], total, *rows[40:]]))
    plan = [*MODEL[:-2], "--target", "y", "--out", str(folder / "odd.gbuq")]
    # Of seeds, some hold the row out.
    warnings = ""
    for seed in range(5):
        assert main(["fit", str(folder / "odd.csv"), *plan, "--seed", str(seed)]) == 0
        warnings += capsys.readouterr().err
    assert 'The column "net" orders the rows exactly as the target does' in warnings
    assert "Row 41 has 100 % of the squared error of the 25 rows held out" in warnings


def test_models_of_other_methods_score_the_same_rows(folder, tmp_path):
    train, new = str(folder / "rows.csv"), str(folder / "new.csv")
    options = ["--target", "y", "--method", "vst", "--depth", "1", "--quiet"]
    project, kept, plain = (tmp_path / name for name in ("p.gbuq", "kept.csv", "plain.csv"))
    assert main(["fit", train, *options, "--out", str(project)]) == 0
    assert score(new, "--project", project, "--quiet", "--out", kept) == 0
    assert score(train, new, *options, "--unfamiliarity", "no", "--out", plain) == 0
    assert kept.read_bytes() == plain.read_bytes()


def test_rows_that_a_project_holds_are_scored_again(folder, tmp_path, capsys):
    assert fit(folder, "--with-data", "--quiet", out="whole.gbuq") == 0
    out = tmp_path / "out.csv"
    code = score("--project", folder / "whole.gbuq", "--out", out)
    sentence = capsys.readouterr().err
    assert (code, "give a second file" in sentence) == (
        2,
        True,
    )  # its models learnt from those rows
