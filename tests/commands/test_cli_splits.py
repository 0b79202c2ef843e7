"""`python -m gbuq_core score --split` and `--scale`: what they write."""

import shlex

import numpy as np
import pandas as pd
from command_parts import frame_of

from gbuq_core.__main__ import main
from gbuq_core.tables import Edits, ReadOptions, ScorePlan, read_table, score_table
from gbuq_core.tables.code import TableRecipe, table_code, table_command
from gbuq_core.tables.cutting import Cut

FAST = ["--method", "sglb", "--trees", "40", "--depth", "3", "--learning-rate", "0.1"]


def score(*arguments):
    return main(["score", *map(str, arguments)])


def test_rows_are_split_by_group_or_time_and_learnt_on_a_log_scale(tmp_path, capsys, monkeypatch):
    frame = frame_of()
    frame["patient"] = [f"p{k}" for k in np.random.default_rng(0).integers(0, 24, len(frame))]
    frame["day"] = pd.date_range("2021-01-01", periods=len(frame)).strftime("%Y-%m-%d")
    frame["y"] = np.exp(frame.y)
    path, out = tmp_path / "rows.csv", tmp_path / "scored.csv"
    frame.to_csv(path, index=False)
    quick = [*FAST, "--unfamiliarity", "no"]
    assert score(path, "--target", "y", "--out", out, *quick) == 0
    notices = capsys.readouterr().err
    assert "same units" not in notices  # a patient has no level here
    assert notices.count("choose Split: by time") == 1  # as a warning, not as a note as well
    group = ["--split", "group", "--split-column", "patient"]
    assert score(path, "--target", "y", "--out", out, *quick, *group) == 0
    notices = capsys.readouterr().err
    assert "split by group: 24 values" in notices
    assert 'Warning: The column "patient"' not in notices
    assert pd.read_csv(out).groupby("patient").fold.nunique().max() == 1
    # The copied command line gives the same table as code.
    plan = ScorePlan(
        n_trees=40, depth=3, learning_rate=0.1, split="time", split_column="day", scale="log"
    )
    recipe = TableRecipe(
        source="rows.csv",
        is_builtin=False,
        options=ReadOptions(),
        edits=Edits(),
        target="y",
        task=None,
        second="",
        plan=plan,
        cut=Cut(),
    )
    monkeypatch.chdir(tmp_path)
    assert main([*shlex.split(table_command(recipe))[3:], "--quiet"]) == 0
    written = pd.read_csv("scored.csv")
    made = score_table(read_table(path), "y", plan=plan).frame
    np.testing.assert_array_equal(written.lower_90, made.lower_90)
    assert (written.lower_90 > 0).all()
    assert written.day[written.fold == 1].min() > written.day[written.in_training].max()
    assert "split='time', split_column='day', scale='log')" in table_code(recipe)
