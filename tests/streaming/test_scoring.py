"""A file scored block by block has the numbers of the whole file, also after a kill."""

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidParameter, TableError
from gbuq_core.streaming import (
    BlockScorer,
    open_blocks,
    sample_table,
    score_in_blocks,
    scoring,
    survey_file,
    surveying,
)
from gbuq_core.streaming.sampling import draw_rows
from gbuq_core.tables import (
    ScorePlan,
    add_unfamiliarity,
    infer_schema,
    measure_drift,
    measure_unfamiliarity,
    prepare_training,
    read_table,
    score_table,
    with_intervals,
)
from gbuq_core.tables.drifting import ColumnCounts, SecondCounts

PLAN = ScorePlan(ensemble="virtual", n_trees=20, n_jobs=1)


def text_of(n_rows, classes=False, first=0):
    rng = np.random.default_rng(first)
    lines = ["x,word,day,z,y"]
    for i in range(first, first + n_rows):
        x, z = rng.normal(), "" if i % 11 == 0 else f"{rng.normal():.3f}"
        y = "abc"[int(x > 0) + int(x > 1)] if classes else f"{x + i % 3:.4f}"
        lines.append(f"{x:.5f},w{i % 4},2021-{i % 12 + 1:02d}-{i % 27 + 1:02d},{z},{y}")
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "train.csv").write_text(text_of(120))
    new = text_of(90, first=1000)
    new += "9.5,w77,2021-01-01,,\n1,w1,2021-02-02,oops,3\n"  # foreign, without a target, unreadable
    (folder / "new.csv").write_text(new)
    pd.read_csv(folder / "new.csv").to_parquet(folder / "new.parquet", row_group_size=40)
    return folder


@pytest.mark.parametrize(
    ("classes", "conformal", "measures"),
    [(False, True, True), (True, False, False)],
)
def test_blocks_of_any_size_get_the_numbers_of_the_whole_file(
    tmp_path, monkeypatch, classes, conformal, measures
):
    path = tmp_path / "new.csv"
    path.write_text(text_of(11, classes, first=1000) + "9.5,w77,2021-01-01,,\n")
    table = read_table(text_of(120, classes).encode())
    training = prepare_training(table, infer_schema(table), "y")
    whole = score_table(table, "y", new=read_table(path, to_score=True), plan=PLAN)
    whole = with_intervals(whole, 0.8, conformal)
    far = None
    if measures:
        far = measure_unfamiliarity(training, whole.scored, 0, 1)
        whole = add_unfamiliarity(whole, far)
    file = open_blocks(path, to_score=True)
    # Trained with a block of one row; the measures are those of the whole file, which learn from
    # the training table only.
    survey = survey_file(file, training)
    base = BlockScorer.train(table, training, file, survey, PLAN, None, 0.8, conformal, False, 1)
    for n_rows in (1, 5):
        monkeypatch.setattr(surveying, "_SURVEY_ROWS", n_rows)
        scorer = BlockScorer(base.base, survey_file(file, training), far)
        blocks, facts = zip(*(scorer.score(block) for block in file.blocks(n_rows)), strict=True)
        pd.testing.assert_frame_equal(
            pd.concat(blocks, ignore_index=True), whole.frame, check_exact=True, rtol=0, atol=0
        )
        counts = SecondCounts.from_json(scoring._added_up(facts)["drift"])
        # Whole rows are counted, so nothing is rounded.
        drift = repr(measure_drift(whole))
        assert repr(scorer.measure_drift(counts)) == drift
        assert "'w77'" in drift


def run(files, out, *more, new="new.csv"):
    return main([*words_for(files, out, new), *more])


def words_for(files, out, new="new.csv"):
    names = [str(files / "train.csv"), str(files / new)]
    model = ["--trees", "20", "--ensemble", "virtual", "--unfamiliarity", "no"]
    return ["score", *names, "--target", "y", "--out", str(out), *model]


@pytest.fixture(scope="module")
def whole(files, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "whole.csv"
    assert run(files, out, "--quiet") == 0
    return out.read_bytes()


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(scoring, "BLOCK_ROWS", 16)
    monkeypatch.setattr(
        scoring.score_in_blocks,
        "__kwdefaults__",
        {
            **scoring.score_in_blocks.__kwdefaults__,
            "block_rows": 8,
            "part_rows": 16,
        },
    )


def test_the_command_streams_the_same_file(files, whole, small_blocks, tmp_path, capsys):
    out = tmp_path / "out.csv"
    assert run(files, out, "--stream", "--json") == 0
    assert out.read_bytes() == whole
    record = json.loads(capsys.readouterr().out)
    assert run(files, tmp_path / "whole.csv", "--json") == 0
    (tmp_path / "whole.csv").unlink()
    drift = json.loads(capsys.readouterr().out)["drift"]
    for name in ("p_value", "effective_rows", "weighted"):  # which take all rows at once
        del drift[name]
    assert record["drift"] == drift
    assert (record["rows"], record["parts"], record["parts_kept"]) == (92, 6, 0)
    assert record["new_scores"]["rows"] == 91
    assert any("It is in row 92" in notice for notice in record["notices"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv"]
    out = tmp_path / "out.parquet"
    assert run(files, out, "--stream", new="new.parquet") == 0
    printed = capsys.readouterr()
    assert "On the second file: NLL" in printed.out
    assert "Drift: " in printed.out
    assert "Wrote 92 rows" in printed.out
    joined = pd.read_parquet(out)
    folder = tmp_path / "parts"
    folder.mkdir()
    assert run(files, folder, "--stream", "--quiet", new="new.parquet") == 0
    pd.testing.assert_frame_equal(pd.read_parquet(folder), joined)
    expected = pd.read_csv(io.BytesIO(whole), float_precision="round_trip")
    assert joined.prediction.tolist() == expected.prediction.tolist()


def test_a_streamed_run_warns_of_leaks_and_heavy_rows_as_one_in_memory_does(tmp_path, capsys):
    """A column that is the target again, and a total whose error is most of the held-out rows'."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(120, 2))
    y = x[:, 0] + 0.5 * x[:, 1]
    y[17] = 5000.0
    rows = pd.DataFrame({"x": x[:, 0], "z": x[:, 1], "again": 3.0 * y, "y": y})
    rows.to_csv(tmp_path / "train.csv", index=False)
    rows.head(30).to_csv(tmp_path / "new.csv", index=False)
    results = {}
    for name, more in (("whole", []), ("streamed", ["--stream"])):
        assert run(tmp_path, tmp_path / f"{name}.csv", "--json", *more) == 0
        results[name] = json.loads(capsys.readouterr().out)
    streamed = results["streamed"]["warnings"]
    assert any('"again" orders the rows exactly' in sentence for sentence in streamed)
    assert any("Row 18 has" in s and "of the squared error of the" in s for s in streamed)
    ours = [s for s in results["whole"]["warnings"] if not s.startswith("Second file:")]
    assert streamed == ours
    notices = " ".join(results["streamed"]["notices"])
    assert "of the second file that have most" in notices
    assert run(tmp_path, tmp_path / "again.csv", "--stream") == 0
    assert 'Warning: The column "again" orders' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--stream"], "--stream needs TRAIN and NEW"),
        (["--train-rows", "50"], "--train-rows needs TRAIN and NEW"),
        (["NEW", "--stream", "--next", "n.csv"], "--next does not go with streaming"),
        (["NEW", "--stream", "--out", "-"], "name a file for --out"),
        (["NEW", "--stream", "--train-rows", "3"], "--train-rows must be at least 10"),
    ],
)
def test_what_cannot_be_streamed_is_refused(files, tmp_path, capsys, words, sentence):
    names = [str(files / "new.csv")] if words[0] == "NEW" else []
    start = ["score", str(files / "train.csv"), *names, "--target", "y"]
    out = [] if "--out" in words else ["--out", str(tmp_path / "o.csv")]
    assert main([*start, *out, *words[len(names) :]]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


CHILD = """
import os, signal, sys
from pathlib import Path
from gbuq_core.__main__ import main
from gbuq_core.streaming import scoring
defaults = scoring.score_in_blocks.__kwdefaults__
defaults.update(block_rows=8, part_rows=16)
real = os.replace
def replace(old, new):
    if Path(new).name == "part-000003.csv":
        os.kill(os.getpid(), signal.SIGKILL)
    real(old, new)
os.replace = replace
main(sys.argv[1:])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_run_goes_on_without_loss_or_duplicates(
    files, whole, small_blocks, tmp_path, capsys
):
    out = tmp_path / "out.csv"
    words = [*words_for(files, out), "--stream"]
    killed = subprocess.run([sys.executable, "-c", CHILD, *words], env=os.environ, timeout=120)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    left = sorted(path.name for path in (tmp_path / "out.csv.parts").glob("part-*"))
    assert left == ["part-000000.csv", "part-000001.csv", "part-000002.csv"]
    for other, sentence in (
        ([], "holds parts of an earlier run"),
        (["--resume", "--seed", "4"], '"plan"'),
        (["--resume", "--missing", "z=0"], '"missing"'),
        (["--resume", "--level", "0.8"], '"level"'),
    ):
        assert main([*words, *other]) == 2
        assert sentence in capsys.readouterr().err
    changed = tmp_path / "new.csv"
    changed.write_text((files / "new.csv").read_text().replace("w77", "w78"))
    assert main([*words[:2], str(changed), *words[3:], "--resume"]) == 2
    assert '"NEW" is not as in the run' in capsys.readouterr().err
    assert main([*words, "--resume", "--jobs", "1"]) == 0
    assert "3 parts of 6 came from the run that was stopped" in capsys.readouterr().err
    assert out.read_bytes() == whole
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.csv", "out.csv"]


def test_a_model_that_came_out_otherwise_is_refused(files, small_blocks, tmp_path, monkeypatch):
    table = read_table(files / "train.csv")

    def score(**more):
        file = open_blocks(files / "new.csv", to_score=True)
        return score_in_blocks(
            table, file, tmp_path / "o.csv", "y", plan=PLAN, unfamiliarity=False, **more
        )

    monkeypatch.setattr(
        scoring.PartFiles, "join", lambda *_: (_ for _ in ()).throw(TableError("x"))
    )
    with pytest.raises(TableError, match="x"):
        score()
    monkeypatch.setattr(BlockScorer, "probe", lambda self: "another")
    with pytest.raises(TableError, match="The model is not the one that wrote the parts"):
        score(resume=True)


def test_a_sample_has_the_shares_of_the_file(tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"{i},{'rare' if i % 50 == 0 else 'usual'},{i * 7 % 1009}" for i in range(1000)]
    path.write_text("i,word,n\n" + "\n".join(rows) + "\n")
    file = open_blocks(path)
    by_class = sample_table(file, "word", 100)
    assert by_class.data["word"].to_pylist().count("rare") == 2
    places = [int(text) for text in by_class.data["i"].to_pylist()]
    assert places == sorted(places)
    assert len(set(places)) == 100
    assert "100 of 1,000 rows" in by_class.notices[-1]
    by_size = np.array([float(text) for text in sample_table(file, "n", 200).data["n"].to_pylist()])
    every = np.array([float(row.split(",")[2]) for row in rows])
    np.testing.assert_array_equal(
        np.histogram(by_size, np.quantile(every, np.linspace(0, 1, 21)))[0], np.full(20, 10)
    )
    assert sample_table(file, "n", 5000).data.equals(read_table(path).data)
    assert sample_table(file, "n", 200, seed=1).data != sample_table(file, "n", 200).data
    with pytest.raises(InvalidParameter, match="at least 10"):
        sample_table(file, "n", 9)


def test_every_stratum_keeps_rows_and_the_sum_is_as_asked(rng):
    strata = rng.choice(np.arange(-1, 30), 5000, p=rng.dirichlet(np.full(31, 0.3))).astype(np.int32)
    sizes = np.bincount(strata[strata >= 0])
    chosen = draw_rows(strata, 500, 3)
    drawn = np.bincount(strata[chosen], minlength=len(sizes))
    assert (drawn >= np.minimum(2, sizes)).all()
    assert (drawn <= sizes).all()
    assert 500 <= len(chosen) <= 500 + 2 * len(sizes)
    assert len(set(chosen.tolist())) == len(chosen)


def test_rare_new_categories_are_counted_without_their_names():
    columns = ({"u": 3, "v": 1, "w": 1},)
    counts = [
        SecondCounts(
            5,
            5,
            0,
            tuple(ColumnCounts(np.zeros(1, int), 0, 0, each) for each in columns),
            np.zeros(20, int),
        )
    ] * 2
    (column,) = SecondCounts.from_json(counts[0].add(counts[1]).as_json(2)).columns
    assert column.new_levels == {"u": 6, "v": 2, "": 2}


def test_names_that_differ_in_case_are_matched(tmp_path):
    table = read_table(text_of(60).encode())
    training = prepare_training(table, infer_schema(table), "y")
    path = tmp_path / "new.csv"
    path.write_text(text_of(40, first=500).replace("x,word", "X,Word ", 1))
    survey = survey_file(open_blocks(path, to_score=True), training)
    notices = " ".join(survey.notices)
    assert 'read as in the first file ("X" as "x" and "Word" as "word")' in notices


def test_rows_that_are_no_data_are_left_out_as_in_one_piece(small_blocks, tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = [f"{'NS'[k % 2]},{rng.integers(9)},{rng.integers(1, 99)}" for k in range(90)]
    far = ["N,9000,5"] * 20
    for name, body in (("train", rows), ("new", rows[:40] + far)):
        z = [int(row.split(",")[1]) for row in body]
        y = [int(row.split(",")[2]) for row in body]
        body.insert(30, f"Zwischensumme,{sum(z[:30])},{sum(y[:30])}")
        body.insert(12, "word,z,y")
        lines = [f"Totaal,{sum(z)},{sum(y)}", "word,z,y", *body, f"Sum,{sum(z)},{sum(y)}"]
        text = "\n".join(["word,z,y", *lines, "Source: us,,"])
        (tmp_path / f"{name}.csv").write_text(text + "\n")
    written = {}
    for way in ("--quiet", "--stream"):
        out = tmp_path / f"scored{way}.csv"
        assert run(tmp_path, out, way, "--level", "0.8") == 0
        written[way] = out.read_text()
        printed = capsys.readouterr()
    assert written["--quiet"] == written["--stream"]
    assert written["--stream"].count("\n") == 61
    numbers = pd.read_csv(io.StringIO(written["--stream"])).row_in_file.tolist()
    assert (numbers[0], numbers[12], numbers[-1]) == (3, 16, 64)
    assert "Second file: Rows 2 and 15 repeat the header and are left out" in printed.err
    assert "Second file: Rows 34 and 65 add up the numbers of the rows above" in printed.err
    assert "Second file: Row 1 adds up the numbers of the rows below" in printed.err
    assert "coverage 50%" not in printed.out.partition("On the second file")[0]
    assert "The coverage measured on the first file is not shown: 33 %" in printed.out
