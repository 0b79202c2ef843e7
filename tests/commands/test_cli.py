"""`python -m gbuq_core score`: what it writes, and one sentence for each bad input."""

import gzip
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_parts import frame_of, refusal
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM

from gbuq_core.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
KINDS = ["total_uncertainty", "data_uncertainty", "knowledge_uncertainty"]
ADDED = ["prediction", "lower_90", "upper_90", *KINDS, *(f"{kind}_std" for kind in KINDS)]
FAMILIARITY = ["unfamiliarity", "times_beyond", "novelty", "outside_columns"]
SMALL = ["--method", "sglb", "--trees", "40", "--depth", "3", "--learning-rate", "0.1"]
FAST = [*SMALL, "--ensemble", "virtual"]
COUNT = list(range(40))


@pytest.fixture
def train(tmp_path):
    path = tmp_path / "train.csv"
    frame_of().to_csv(path, index=False)
    return path


def score(*arguments):
    return main(["score", *map(str, arguments)])


def test_it_writes_the_input_and_the_uncertainties(train, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert score(train, "--target", "y", "--out", out, *FAST) == 0
    frame = pd.read_csv(out)
    assert list(frame.columns[:16]) == ["x", "group", "y", *ADDED, *FAMILIARITY]
    assert len(frame) == 120
    assert sorted(frame.fold.unique()) == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(
        frame.total_uncertainty, frame.data_uncertainty + frame.knowledge_uncertainty, rtol=SAME_SUM
    )
    pd.testing.assert_frame_equal(frame[["x", "group", "y"]], frame_of(), check_dtype=False)
    streams = capsys.readouterr()
    assert "Regression of y." in streams.out
    assert "RMSE" in streams.out
    assert "Traceback" not in streams.err


def test_intervals_have_a_level_and_may_be_conformal(train, tmp_path, capsys):
    out = tmp_path / "out.csv"
    more = ["--target", "y", "--out", out, *FAST, "--unfamiliarity", "no"]
    assert score(train, *more, "--level", "0.8", "--conformal") == 0
    frame = pd.read_csv(out)
    assert list(frame.columns[3:6]) == ["prediction", "lower_80", "upper_80"]
    half = (frame.upper_80 - frame.prediction) / frame.total_uncertainty_std
    factors = half.groupby(frame.fold).agg(lambda part: part.max() - part.min())
    assert (factors < NEAR_ZERO).all()
    few = tmp_path / "few.csv"
    rows = "\n".join(f"{i % 9},{'ab'[i % 2]},{(37 * i) % 101 / 8 + i % 2}" for i in range(240))
    few.write_text(f"x,shop,y\n{rows}\n")
    words = ["--target", "y", "--out", out, *FAST, "--unfamiliarity", "no"]
    assert score(few, *words, "--conformal-by", "shop") == 0
    frame = pd.read_csv(out)
    half = (frame.upper_90 - frame.prediction) / frame.total_uncertainty_std
    factors = half.groupby([frame.fold, frame.shop]).agg(lambda part: part.max() - part.min())
    assert (factors < NEAR_ZERO).all()
    assert half.round(9).nunique() > frame.fold.nunique()
    assert score(few, *words, "--conformal-by", "town") == 2
    assert 'There is no column "town"' in capsys.readouterr().err


def test_a_second_file_and_parquet(train, tmp_path, capsys):
    new, out = tmp_path / "new.csv.gz", tmp_path / "out.parquet"
    new.write_bytes(gzip.compress(frame_of(30, seed=1).to_csv(index=False).encode()))
    assert score(train, new, "--target", "y", "--out", out, *FAST) == 0
    frame = pd.read_parquet(out)
    assert list(frame.columns[:16]) == ["x", "group", "y", *ADDED, *FAMILIARITY]
    assert len(frame) == 30
    assert "On the second file: " in capsys.readouterr().out


def test_a_second_file_may_be_a_single_cell(tmp_path):
    train, new, out = (tmp_path / name for name in ("t.csv", "n.csv", "o.csv"))
    frame_of()[["x", "y"]].to_csv(train, index=False)
    new.write_text("x\n0.5\n")
    assert score(train, new, "--target", "y", "--out", out, *FAST, "--quiet") == 0
    assert pd.read_csv(out).x.tolist() == [0.5]


def test_a_foreign_second_file_is_told_first(train, tmp_path, capsys):
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    frame_of(30, seed=1).assign(x=lambda rows: rows.x + 90.0).to_csv(new, index=False)
    assert score(train, new, "--target", "y", "--out", out, *FAST) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("Warning: The second file is unlike the first: 100 % of its rows")
    assert (pd.read_csv(out).unfamiliarity == 1.0).all()


def test_the_rows_to_label_next_are_a_file_of_their_own(tmp_path, capsys):
    frame = frame_of()
    frame.loc[100:, "y"] = np.nan
    path, out, label = tmp_path / "t.csv", tmp_path / "out.csv", tmp_path / "label.csv"
    frame.to_csv(path, index=False)
    common = [str(path), "--target", "y", "--out", str(out), *FAST, "--quiet"]
    assert score(*common, "--next", str(label), "--next-rows", "5") == 0
    frame = pd.read_csv(label)
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5]
    assert frame["row"].between(101, 120).all()


def test_unfamiliarity_can_be_left_out(train, tmp_path):
    outs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    for out, wish in zip(outs, ("yes", "no"), strict=True):
        options = ["--target", "y", "--out", out, *FAST, "--quiet", "--unfamiliarity", wish]
        assert score(train, *options) == 0
    whole, without = map(pd.read_csv, outs)
    assert whole.unfamiliarity.between(0.0, 1.0).all()
    pd.testing.assert_frame_equal(whole.drop(columns=FAMILIARITY), without)


def test_quiet_says_nothing_and_changes_nothing(train, tmp_path, capsys):
    outs = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert score(train, "--target", "y", "--out", outs[0], *FAST, "--quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert score(train, "--target", "y", "--out", outs[1], *FAST, "--jobs", 1) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()


def test_options_reach_the_fit(tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    frame = frame_of().assign(code=[k % 3 for k in range(120)], y=[k % 7 for k in range(120)])
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="cp1252")
    options = ["--category", "code", "--drop", "x", "--delimiter", ";", "--decimal", ",",
               "--encoding", "cp1252", "--task", "classification", "--ensemble", "independent",
               "--members", "2", "--method", "sgb", "--seed", "3"]  # fmt: skip
    small = [word for word in SMALL if word not in ("--method", "sglb")]
    assert score(path, "--target", "y", "--out", out, *small, *options, "--quiet") == 0
    frame = pd.read_csv(out)
    assert (frame.total_uncertainty <= np.log(7) + NEAR_ZERO).all()
    assert frame.error.isin([0.0, 1.0]).all()


def test_cells_that_a_spreadsheet_would_run_are_escaped(tmp_path):
    path, out = tmp_path / "t.csv", tmp_path / "o.csv"
    frame = frame_of().assign(group=["=1+1", "@x"] * 60)
    frame = frame.rename(columns={"x": "=cmd|' /C calc'!A0"})
    frame.to_csv(path, index=False)
    assert score(path, "--target", "y", "--out", out, *FAST, "--quiet") == 0
    frame = pd.read_csv(out)
    assert frame.columns[0] == "'=cmd|' /C calc'!A0"
    assert set(frame.group) == {"'=1+1", "'@x"}
    assert frame.iloc[:, 0].min() < 0  # negative numbers are numbers still


def columns(**values):
    lines = [",".join(values)]
    lines += [",".join(map(str, row)) for row in zip(*values.values(), strict=True)]
    return "\n".join(lines).encode() + b"\n"


X = [k % 7 for k in COUNT]
Y = [k * 0.5 for k in COUNT]
# One of each step that refuses; all their sentences are those of `gbuq_core.tables`.
BAD_FILES = {
    "header only": (b"x,y\n", "no rows"),
    "few rows": (b"x,y\n1,2\n2,4\n", "Only 2 rows"),
    "constant target": (columns(x=X, y=["5"] * 40), "nothing to learn"),
    "no such column": (columns(x=X, z=Y), 'no column "y"'),
    "no feature": (columns(key=[f"k{k}" for k in COUNT], y=Y), "No column is left"),
    "damaged Parquet": (b"PAR1" + bytes(99), "The Parquet file is damaged"),
}


BAD_SECOND_FILES = {
    "missing column": (b"x,z\n1,2\n2,3\n", 'The column "group" of the first file is missing'),
    "empty second file": (b"", "The file is empty"),
}


@pytest.mark.parametrize("name", [*BAD_FILES, *BAD_SECOND_FILES])
def test_bad_files_end_in_one_sentence(name, train, tmp_path, capsys):
    data, sentence = (BAD_FILES | BAD_SECOND_FILES)[name]
    path, out = tmp_path / "bad.csv", tmp_path / "out.csv"
    path.write_bytes(data)
    files = [path] if name in BAD_FILES else [train, path]
    assert sentence in refusal(capsys, "score", *files, "--target", "y", "--out", out, *FAST)
    assert not out.exists()


def test_text_in_a_regression_target_is_refused(tmp_path, capsys):
    path, out = tmp_path / "t.csv", tmp_path / "out.csv"
    path.write_bytes(columns(x=X, y=["a", "b"] * 20))
    assert "a regression is not possible" in refusal(
        capsys, "score", path, "--target", "y", "--out", out, "--task", "regression"
    )


GOOD_FILES = {
    "column always missing": (columns(x=X, e=[""] * 40, y=Y), "has no values"),
    "target missing in some rows": (columns(x=X, y=["", *Y[1:]]), "1 row has no target"),
    "duplicate and empty names": (
        b"x,x,,y\n" + b"".join(b"%d,%d,%d,%d\n" % (k % 7, k % 3, k % 5, k) for k in COUNT),
        "repeats an earlier name",
    ),
    "a ragged row": (columns(x=X, y=Y) + b"1,2,3\n", "line 42 has 3 cells"),
    "names of all sorts": (
        columns(**{"<b>x</b>": X, "**z** $a_1$": [k % 3 for k in COUNT], "y": Y}),
        "Regression of y",
    ),
}


@pytest.mark.parametrize("name", GOOD_FILES)
def test_odd_files_are_scored_with_a_notice(name, tmp_path, capsys):
    data, notice = GOOD_FILES[name]
    path, out = tmp_path / "odd.csv", tmp_path / "out.csv"
    path.write_bytes(data)
    assert score(path, "--target", "y", "--out", out, *FAST) == 0
    streams = capsys.readouterr()
    assert notice in streams.err + streams.out
    assert pd.read_csv(out).prediction.notna().all()


def test_hundreds_of_columns(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("gbuq_core.unfamiliarity.parts._MOST_NOVELTY_WORK", 1e7)  # of a thousand
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(30, 201))).add_prefix("v")
    path, out = tmp_path / "wide.csv", tmp_path / "out.csv"
    frame.assign(y=range(30)).to_csv(path, index=False)
    options = ["--trees", "2", "--depth", "2", "--learning-rate", "0.1", "--folds", "2"]
    assert score(path, "--target", "y", "--out", out, "--method", "sglb", *options) == 0
    assert "With 201 features" in capsys.readouterr().err
    assert pd.read_csv(out).shape[1] == 202 + 12 + 4  # no novelty: too many columns


def test_an_input_is_never_overwritten(train, tmp_path, capsys):
    before = train.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(train)
    for out in (train, link, tmp_path / "." / "train.csv"):
        assert "would be overwritten" in refusal(
            capsys, "score", train, "--target", "y", "--out", out
        )
    assert train.read_bytes() == before


def test_an_older_output_is_replaced_as_a_whole(train, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")
    assert score(train, "--target", "nope", "--out", out, *FAST) == 2
    assert out.read_text() == "old"
    assert score(train, "--target", "y", "--out", out, *FAST, "--quiet") == 0
    assert len(pd.read_csv(out)) == 120
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "train.csv"]


def test_as_a_program(train, tmp_path):
    out = tmp_path / "out.csv"
    command = [sys.executable, "-m", "gbuq_core", "score", str(train), "--out", str(out), *SMALL]
    done = subprocess.run(
        [*command, "--target", "y", "--unfamiliarity=no"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0
    # No terminal, no progress; the ensemble and where the models stop had to be decided.
    start, then, *_ = done.stderr.splitlines()
    assert start.startswith("Note: Five independent models of 40 trees are trained for each of 5 ")
    assert then.startswith("Note: The mean uses ")
    assert done.stderr.count("\n") == 2
    assert "Wrote 120 rows" in done.stdout
    assert out.stat().st_mode & 0o444 == 0o444


def test_a_program_that_cannot_score_ends_with_2(train, tmp_path, monkeypatch, capsys):
    monkeypatch.delitem(sys.modules, "gbuq_core.__main__")  # imported under its own name
    arguments = ["score", str(train), "--out", str(tmp_path / "out.csv"), *SMALL, "--target", "z"]
    monkeypatch.setattr(sys, "argv", ["gbuq_core", *arguments])
    with pytest.raises(SystemExit) as stop:
        runpy.run_module("gbuq_core", run_name="__main__")
    assert stop.value.code == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err == 'The table has no column "z": the columns are "x", "group" and "y".\n'


def test_stopping_none_uses_all_trees(train, tmp_path, capsys):
    frames = {}
    for rule in ("two_clocks", "none"):
        out = tmp_path / f"{rule}.csv"
        options = ["--method=sglb", "--trees=200", "--depth=4", f"--stopping={rule}"]
        assert score(train, "--target=y", "--out", out, *options, "--unfamiliarity=no") == 0
        assert ("The mean uses" in capsys.readouterr().err) == (rule == "two_clocks")
        frames[rule] = pd.read_csv(out)
    assert list(frames["none"].columns) == list(frames["two_clocks"].columns)
    # All trees collapse the spread onto the training rows.
    spread = {rule: frame.data_uncertainty.median() for rule, frame in frames.items()}
    assert spread["none"] < 0.8 * spread["two_clocks"]


def test_a_cyclical_method_and_its_burn_in(tmp_path):
    table, out = tmp_path / "t.csv", tmp_path / "o.csv"
    table.write_text("x,y\n" + "".join(f"{i % 9},{i % 9 + 0.1 * (i % 4)}\n" for i in range(60)))
    start = [
        "score",
        str(table),
        "--target",
        "y",
        "--out",
        str(out),
        "--trees",
        "40",
        "--quiet",
        "--learning-rate",
        "0.05",
        "--depth",
        "2",
        "--method",
        "cbsglb",
        "--unfamiliarity=no",
    ]
    assert main(start) == 0
    every = pd.read_csv(out)
    assert main([*start, "--burn-in", "5"]) == 0
    later = pd.read_csv(out)
    assert (every["knowledge_uncertainty"] != later["knowledge_uncertainty"]).any()
    assert main([*start, "--cycle-length", "20", "--burn-in", "1"]) == 0
    assert pd.read_csv(out)["knowledge_uncertainty"].isna().all()  # one member is left


@pytest.mark.parametrize("method", ["gp", "knn", "macau_linear", "forest"])
def test_any_method_of_the_records_scores_a_regression(train, tmp_path, method):
    out = tmp_path / "out.csv"
    options = ["--method", method, "--quiet", "--unfamiliarity=no"]
    assert score(train, "--target", "y", "--out", out, *options) == 0
    frame = pd.read_csv(out)
    assert (frame.total_uncertainty > 0.0).all()
    knowledge = frame.knowledge_uncertainty
    assert knowledge.isna().all() if method == "knn" else (knowledge >= 0.0).all()
    assert np.mean((frame.prediction - frame.y) ** 2) < 0.5 * np.var(frame.y)


def test_a_forest_scores_classes_with_levels_and_gaps_that_it_has_not_seen(tmp_path, capsys):
    frame = frame_of().assign(y=lambda rows: np.where(rows.y > 1.5, "high", "low"))
    new = frame.drop(columns="y").head(4).assign(group=["c", "a", "b", "b"], x=[0, np.nan, 1, 1])
    frame.to_csv(tmp_path / "train.csv", index=False)
    new.to_csv(tmp_path / "new.csv", index=False)
    out, names = tmp_path / "out.csv", ["train.csv", "new.csv"]
    files = [tmp_path / name for name in names]
    options = ["--method", "vrf", "--quiet", "--unfamiliarity=no"]
    assert score(*files, "--target", "y", "--out", out, *options) == 0
    assert score(*files, "--target", "y", "--out", out, "--method", "gp") == 2
    assert "cannot score a table for classification" in capsys.readouterr().err
    frame = pd.read_csv(out)
    assert frame.unseen_level.tolist() == [True, False, False, False]
    assert frame.new_missing.tolist() == [False, True, False, False]
    np.testing.assert_allclose(
        frame.total_uncertainty,
        frame.data_uncertainty + frame.knowledge_uncertainty,
        rtol=CANCELLED,
    )


def test_missing_values_are_refused_by_methods_that_cannot_read_them(tmp_path, capsys):
    frame = frame_of()
    frame.loc[3, "x"] = np.nan
    path = tmp_path / "train.csv"
    frame.to_csv(path, index=False)
    out = tmp_path / "out.csv"
    assert score(path, "--target", "y", "--out", out, "--method", "gp") == 2
    assert "cannot read missing values" in capsys.readouterr().err
    assert score(path, "--target", "y", "--out", out, "--method", "forest", "--quiet") == 0


def compare(*arguments):
    return main(["compare", *map(str, arguments)])


def test_methods_are_compared_and_written(train, tmp_path, capsys):
    out = tmp_path / "compared.csv"
    fast = ["--trees", "40", "--members", "2", "--depth", "3"]
    assert compare(train, "--target", "y", "--methods", "sgb, knn", "--out", out, *fast) == 0
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "Method"
    assert "NLL (nats)" in lines[0]
    assert lines[1].startswith("SGB")
    assert lines[2].startswith("kNN")
    assert lines[3].startswith("120 held-out rows, the same for all")
    assert sum("is best" in line for line in lines) == 4
    frame = pd.read_csv(out)
    assert len(frame) == 10
    assert set(frame.method) == {"SGB", "kNN"}
