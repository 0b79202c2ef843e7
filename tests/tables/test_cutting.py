"""Cuts of a scored table against training with the same members; words; code."""

import shlex
import sqlite3
import subprocess
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from gbuq_core.__main__ import main
from gbuq_core.errors import InvalidParameter
from gbuq_core.tables import (
    Edits,
    ReadOptions,
    ScorePlan,
    explain_row,
    load_builtin,
    read_table,
    score_table,
)
from gbuq_core.tables import code as table_code
from gbuq_core.tables import cutting as table_room
from gbuq_core.tables.code import TableRecipe, table_command
from gbuq_core.tables.cutting import Cut, cut_table, stage_table
from gbuq_core.tables.words import describe_table, why_no_knowledge

PLAN = ScorePlan(ensemble="virtual", n_trees=60, depth=3, truncation_step=10, learning_rate=0.1)


def scored_builtin(key, **changes):
    loaded = load_builtin(key)
    plan = replace(PLAN, **changes)
    return score_table(loaded.table, loaded.about.target, schema=loaded.schema, plan=plan)


@pytest.fixture(scope="module", params=["diabetes", "wine"])
def scored(request):
    return scored_builtin(request.param)


@pytest.mark.parametrize("key", ["diabetes", "wine"])
def test_a_cut_is_what_training_with_that_step_gives(key):
    scored = scored_builtin(key, stopping=None)
    trained = scored_builtin(key, truncation_step=5, stopping=None)
    seen = cut_table(scored, Cut(step=5))
    for ours, theirs in zip(seen.predictions[:4], trained.predictions[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert seen.scores.nll == trained.scores.nll
    names = list(trained.added.names)
    assert seen.frame[names].equals(trained.frame[names])


@pytest.mark.parametrize("key", ["diabetes", "wine"])
def test_a_cut_leaves_the_clocks_where_they_are(key):
    """What the rows chose belongs to the models; other members stop at the same trees."""
    scored = scored_builtin(key)
    seen = cut_table(scored, Cut(step=5))
    assert seen.clocks is scored.clocks
    model, rows = scored.models[1].estimator, np.flatnonzero(scored.model_of_row == 1)
    members = model.predict_members(scored.training.X.iloc[rows], truncation_step=5)
    if scored.training.target.classes:
        expected = members.mean(axis=0)
        np.testing.assert_array_equal(seen.predictions.probabilities[rows], expected)
    else:
        np.testing.assert_array_equal(seen.predictions.loc[rows], members[..., 0].mean(axis=0))
        assert seen.predictions.df[rows].tolist() == [model.clocks_.df] * len(rows)


def test_a_cut_of_all_members_changes_nothing(scored):
    seen = cut_table(scored, Cut(step=10, start=0.5, members=50))
    assert seen.predictions is scored.predictions
    assert seen.models[0].estimator.n_members == 3


def test_fewer_members_are_the_last_truncations(scored):
    row = explain_row(cut_table(scored, Cut(members=2)), 5)
    everything = explain_row(scored, 5)
    name = "member_probabilities" if row.classes else "member_loc"
    np.testing.assert_array_equal(getattr(row, name), getattr(everything, name)[-2:])


def test_a_step_without_members_is_refused(scored):
    with pytest.raises(InvalidParameter, match="gives no member"):
        cut_table(scored, Cut(step=100))


def test_an_independent_ensemble_is_cut_to_its_first_models():
    scored = scored_builtin("wine", ensemble="independent", n_members=3)
    seen = cut_table(scored, Cut(members=2))
    assert seen.models[0].estimator.n_members == 2
    both = explain_row(seen, 0).member_probabilities
    np.testing.assert_array_equal(both, explain_row(scored, 0).member_probabilities[:2])


STAGED = {
    "virtual": ({}, Cut(7, 0.2, 4)),
    "independent": ({"ensemble": "independent", "n_members": 3}, Cut(members=2)),
    "cyclical": ({"method": "csglb"}, Cut(members=5, burn_in=3)),
}


@pytest.mark.parametrize("kind", STAGED)
@pytest.mark.parametrize("key", ["diabetes", "wine"])
def test_stages_give_what_predicting_gives(key, kind, monkeypatch):
    plan, cut = STAGED[kind]
    scored = scored_builtin(key, **plan)
    slowly = cut_table(scored, cut)
    stages = stage_table(scored)
    monkeypatch.setattr(table_room, "predict_rows", None)  # nothing is predicted any more
    quickly = cut_table(scored, cut, stages)
    for ours, theirs in zip(quickly.predictions[:4], slowly.predictions[:4], strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert quickly.predictions.flagged_columns == slowly.predictions.flagged_columns
    assert quickly.frame.equals(slowly.frame)
    assert quickly.scores.nll == slowly.scores.nll != scored.scores.nll


@pytest.mark.parametrize("stopping", ["two_clocks", None])
def test_stages_beside_a_second_file_and_their_limit(stopping):
    rng = np.random.default_rng(0)
    lines = [
        f"{x:.3f},{g},{2 * x + rng.normal():.3f}"
        for x, g in zip(rng.normal(size=80), "ab" * 40, strict=True)
    ]
    first = read_table(("x,g,y\n" + "\n".join(lines)).encode())
    second = read_table(("y,x,g\n" + "\n".join(f"{i},{i},c" for i in range(20))).encode())
    plan = replace(PLAN, stopping=stopping)
    scored = score_table(first, "y", new=second, plan=plan)
    cut = Cut(5, 0.25)
    slowly, quickly = cut_table(scored, cut), cut_table(scored, cut, stage_table(scored))
    assert quickly.scores.nll == slowly.scores.nll
    assert quickly.new_scores.nll == slowly.new_scores.nll
    assert quickly.predictions.unseen_level.all()  # the second file's category is a new one
    # Trees of the mean, rows of both files, mean and variance, float64.
    n_bytes = 60 * (20 + 16) * 2 * 8
    if stopping:
        parts = [(scored.models[0].estimator, 20)]
        parts += [(kept.model.estimator, len(kept.rows)) for kept in scored.measured]
        assert [n_rows for _, n_rows in parts] == [20, 8, 8]
        n_bytes = sum(model.clocks_.mean_trees * n_rows * 2 * 8 for model, n_rows in parts)
    assert stage_table(scored, most_bytes=n_bytes) is not None
    assert stage_table(scored, most_bytes=n_bytes - 1) is None
    assert stage_table(replace(scored, plan=replace(PLAN, engine="catboost"))) is None


def test_members_of_a_cyclical_model_are_its_last_cycles():
    scored = scored_builtin("diabetes", method="cbsglb", stopping=None)
    model = scored.models[0].estimator
    assert model.member_trees().tolist() == list(range(6, 61, 6))  # a tenth of 60 trees
    seen = cut_table(scored, Cut(burn_in=7))
    assert seen.models[0].estimator.n_members == 3
    everything, left = explain_row(scored, 5), explain_row(seen, 5)
    np.testing.assert_array_equal(left.member_loc, everything.member_loc[-3:])
    assert cut_table(scored, Cut(burn_in=0)).predictions is scored.predictions
    with pytest.raises(InvalidParameter, match="there are only 10 cycles"):
        cut_table(scored, Cut(burn_in=10))
    with pytest.raises(InvalidParameter, match="do not apply to method='cbsglb'"):
        cut_table(scored, Cut(step=5))
    stopped = scored_builtin("diabetes", method="cbsglb")
    assert max(model.estimator.clocks_.mean_trees for model in stopped.models) < 60
    with pytest.raises(InvalidParameter, match="there are only 10 cycles"):
        cut_table(stopped, Cut(burn_in=10))


def test_the_words_say_how_many_rows_were_judged(scored):
    assert f"{len(scored.frame)} rows" in " ".join(describe_table(scored))
    assert scored.held.all()


LONE = {
    "cyclical": ({"method": "csglb"}, Cut(burn_in=9), "lower the burn-in."),
    "virtual": ({}, Cut(step=60), "choose a smaller truncation step or an earlier start."),
    "independent": (
        {"ensemble": "independent", "n_members": 2},
        Cut(members=1),
        "use more members.",
    ),
}


@pytest.mark.parametrize("kind", LONE)
@pytest.mark.parametrize("key", ["diabetes", "wine"])
def test_one_member_left_is_unfamiliar_with_no_row(key, kind):
    plan, cut, remedy = LONE[kind]
    scored = scored_builtin(key, **plan)
    assert why_no_knowledge(scored) == ""
    seen = cut_table(scored, cut)
    assert seen.models[0].estimator.n_members == 1
    words = " ".join(describe_table(seen))
    assert f"With one member there is no knowledge uncertainty: {remedy}" in words
    assert "disagree about" not in words


@pytest.mark.parametrize("step", [5, 10])
def test_beside_a_second_file_a_cut_moves_both_scores_as_training_does(step):
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{2 * x + rng.normal():.3f}" for x in rng.normal(size=80)]
    first = read_table(("x,y\n" + "\n".join(lines)).encode())
    second = read_table(("y,x\n" + "\n".join(f"{i},{i}" for i in range(20))).encode())
    plan = replace(PLAN, stopping=None)
    scored = score_table(first, "y", new=second, plan=plan)
    seen = cut_table(scored, Cut(step=step, start=0.25))
    made = score_table(first, "y", new=second, plan=replace(plan, truncation_step=step))
    made = cut_table(made, Cut(start=0.25))
    assert seen.scores.n_rows == 16  # the held-out fifth
    assert seen.new_scores.n_rows == 20
    assert seen.scores.nll == made.scores.nll != scored.scores.nll
    assert seen.new_scores.nll == made.new_scores.nll != scored.new_scores.nll
    assert cut_table(scored, Cut()).scores is scored.scores
    (kept,) = seen.measured
    assert sorted([*kept.model.rows, *kept.rows]) == list(range(80))
    assert "second file" in describe_table(seen)[0]


def recipe_of(source, target, plan, **more):
    given = {
        "is_builtin": False,
        "options": ReadOptions(),
        "edits": Edits(),
        "task": None,
        "second": "",
        "cut": Cut(),
        **more,
    }
    return TableRecipe(source=source, target=target, plan=plan, **given)


def test_the_command_quotes_what_a_shell_would_run():
    command = table_command(recipe_of("a b; rm x.csv", "$(touch y)", PLAN))
    assert "'a b; rm x.csv'" in command
    assert "'--target=$(touch y)'" in command


def words_of(line):
    """What a shell gives to gbuq when it runs the line; a function stands for Python."""
    script = 'python() { printf "%s\\0" "$@"; }\n' + line
    run = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
    assert run.stderr == ""
    *words, last = run.stdout.split("\0")
    assert last == ""
    assert words[:2] == ["-m", "gbuq_core"]
    return words[2:]


HOSTILE = ("-x='$(touch y)", "a\nb; `touch y`", "k=numeric", "code")


@pytest.mark.parametrize("stopping", ["two_clocks", None])
def test_code_and_line_compute_the_same_whatever_the_names_and_corrections(
    stopping, tmp_path, monkeypatch
):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.integers(0, 4, 60) for name in HOSTILE})
    frame["--y"] = frame[HOSTILE[0]] + rng.normal(size=60)
    frame["key"] = [f"k{i}" for i in range(60)]
    names = ("-first file.csv", "second.csv")
    for name, rows in zip(names, (frame, frame.head(9).drop(columns="--y")), strict=True):
        rows.to_csv(tmp_path / name, index=False, sep=";", decimal=",", encoding="cp1252")
    edits = Edits.of(
        {HOSTILE[0]: "category", "k=numeric": "numeric"},
        {HOSTILE[1]: False, "key": True},
        {"k=numeric": ("2", "-999"), "code": ("3",)},
    )
    plan = replace(PLAN, truncation_step=None, n_trees=50, depth=2, learning_rate=0.2, seed=4)
    recipe = recipe_of(
        names[0],
        "--y",
        replace(plan, stopping=stopping),
        task="regression",
        second=names[1],
        options=ReadOptions(";", "cp1252", ",", header=True),
        edits=edits,
        cut=Cut(5, 0.3, 4),
    )
    monkeypatch.chdir(tmp_path)
    made = {}
    exec(compile(table_code.table_code(recipe), "copied", "exec"), made)
    copied = made["scored"].frame
    (tmp_path / "scored.csv").unlink()
    line = table_command(recipe)
    assert "\n" not in line
    assert main(words_of(line)) == 0
    written = pd.read_csv(tmp_path / "scored.csv")
    assert len(written) == 9
    assert (made["scored"].clocks is None) == (stopping is None)
    for name in ("prediction", "total_uncertainty", "knowledge_uncertainty"):
        np.testing.assert_array_equal(written[name], copied[name])
    assert not (tmp_path / "y").exists()


def test_no_member_left_is_refused(scored):
    with pytest.raises(InvalidParameter, match="number of members must be"):
        cut_table(scored, Cut(members=0))


def test_a_query_and_a_sheet_are_in_the_code_and_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = [k % 9 for k in range(60)]
    frame = pd.DataFrame({"x": x, "y": [2.5 * value for value in x]})
    with sqlite3.connect("rows.db") as rows:
        frame.to_sql("it's", rows, index=False)
    rows.close()
    plan, query = ScorePlan(ensemble="virtual", n_trees=20, depth=2), 'SELECT x, y FROM "it\'s"'
    recipe = recipe_of("query", "y", plan, cut=Cut(step=5), query=query)
    words = shlex.split(table_command(recipe))
    assert words[:4] == ["python", "-m", "gbuq_core", "score"]
    assert main(words[3:]) == 0
    by_command = Path("scored.csv").read_bytes()
    exec(compile(table_code.table_code(recipe), "code", "exec"), {})
    by_code = pd.read_csv("scored.csv")
    pd.testing.assert_frame_equal(by_code, pd.read_csv(BytesIO(by_command)))
    frame.to_excel("book.xlsx", sheet_name="my rows", index=False)
    of_sheet = replace(recipe, query="", source="book.xlsx", options=ReadOptions(sheet="my rows"))
    assert main(shlex.split(table_command(of_sheet))[3:]) == 0
    assert len(pd.read_csv("scored.csv")) == 60


def test_the_command_names_the_settings_of_another_method():
    plan = ScorePlan(method="vsgbm", knobs=(("n_trees", 20), ("depth", 2)))
    assert "--method=vsgbm --trees=20 --depth=2" in table_command(recipe_of("a.csv", "y", plan))
